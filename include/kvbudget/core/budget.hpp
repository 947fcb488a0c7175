// The inverse questions (how long, how many) and the budget of a device.
#pragma once

#include <kvbudget/core/layers.hpp>

namespace kvbudget {

/// The largest n in [0, 2^64) with fits(m) for every m <= n, for a `fits` that is true up to some n and false after.
struct limit {
  std::uint64_t value = 0;
  bool unbounded = false;  ///< true when every n fits; `value` is then 2^64 - 1
  bool none = false;       ///< true when not even n = 0 fits; `value` is then 0

  friend constexpr bool operator==(const limit&, const limit&) noexcept = default;
};

/// Doubling, then bisection: at most 128 calls of `fits`, which must be monotone (true, then false).
template <class Fits>
[[nodiscard]] constexpr limit largest_that_fits(const Fits& fits) {
  constexpr std::uint64_t top = ~std::uint64_t{0};
  if (!fits(std::uint64_t{0})) return {0, false, true};
  if (fits(top)) return {top, true, false};
  std::uint64_t good = 0;
  std::uint64_t bad = 1;
  while (fits(bad)) {
    good = bad;
    bad = bad > top / 2 ? top : bad * 2;
  }
  while (bad - good > 1) {
    const std::uint64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return {good, false, false};
}

/// The most that the layers take while every sequence of `batch` grows to its length. Most policies only ever grow;
/// where bytes can shrink (a residual empties, a prompt is cut), `peaks(policy, layer, request, at)` names the earlier
/// states that may have taken more.
template <class Layers, class Policy>
requires cacheable<Layers, Policy>
[[nodiscard]] constexpr checked_count peak_total(const Layers& layers, const Policy& policy,
                                                 const uniform_batch& batch) {
  checked_count most = total_footprint(layers, policy, batch).total();
  const auto at = [&](const request& earlier) {
    most = larger(most, total_footprint(layers, policy, uniform_batch{earlier, batch.sequences}).total());
  };
  detail::layers_of<Layers>::visit(layers, [&](const auto& layer) {
    if constexpr (requires { peaks(policy, layer, batch.each, at); }) peaks(policy, layer, batch.each, at);
  });
  return most;
}

/// A cache as one formula: layers x policy. Bytes of a workload, and the exact inverses.
///
/// The inverses hold for every smaller value too: max_length is the largest n such that all lengths up to n fit.
template <class Layers, class Policy>
requires cacheable<Layers, Policy>
struct cache_formula {
  Layers layers;
  Policy policy;

  /// Keys, values and other bytes apart. Failures are in the result.
  template <class Batch>
  requires cacheable<Layers, Policy, Batch>
  [[nodiscard]] constexpr footprint footprint_of(const Batch& batch) const {
    return total_footprint(layers, policy, batch);
  }

  /// Raises a failure.
  template <class Batch>
  requires cacheable<Layers, Policy, Batch>
  [[nodiscard]] constexpr bytes bytes_of(const Batch& batch) const { return bytes(footprint_of(batch).total()); }
  [[nodiscard]] constexpr bytes bytes_of(const request& one) const { return bytes_of(uniform_batch{one, 1}); }

  [[nodiscard]] constexpr bool fits(const uniform_batch& batch, bytes budget) const {
    return peak_total(layers, policy, batch).fits(budget.count());
  }

  /// The largest prompt + generation of `sequences` sequences, the first `prompt` positions of which come at once.
  [[nodiscard]] constexpr limit max_length(bytes budget, std::uint64_t sequences, tokens prompt = tokens(),
                                           tokens encoder = tokens()) const {
    raise_if_never_computable(prompt, encoder);
    return largest_that_fits([&](std::uint64_t n) {
      const std::uint64_t first = n < prompt.count() ? n : prompt.count();
      return fits({request(tokens(first), tokens(n - first), encoder), sequences}, budget);
    });
  }

  /// The most sequences of one shape.
  [[nodiscard]] constexpr limit max_sequences(bytes budget, const request& each) const {
    raise_if_never_computable(each.prompt, each.encoder);
    return largest_that_fits([&](std::uint64_t n) { return fits({each, n}, budget); });
  }

  /// Positions in a pool filled with sequences of `length` positions, and one shorter one in what is left over.
  [[nodiscard]] constexpr limit max_tokens(bytes budget, tokens length) const {
    const request each(length, tokens());
    const limit whole = max_sequences(budget, each);
    if (whole.unbounded || whole.none || length.count() == 0) return whole;
    const limit rest = largest_that_fits([&](std::uint64_t n) {
      if (n >= length.count()) return false;
      const footprint both = footprint_of(uniform_batch{each, whole.value}) +
                             footprint_of(uniform_batch{request(tokens(n), tokens()), n == 0 ? 0U : 1U});
      return both.total().fits(budget.count());
    });
    return {(checked_count(whole.value) * length.count() + rest.value).value(), false, false};
  }

 private:
  /// A row that is no whole number of blocks fits nowhere; that is an error and not the answer 0.
  constexpr void raise_if_never_computable(tokens prompt, tokens encoder) const {
    const tokens first = prompt.count() == 0 ? tokens() : tokens(1U);
    const footprint one = footprint_of(uniform_batch{request(first, tokens(), encoder), 1});
    const failure reason = one.total().reason();
    if (reason != failure::overflow && reason != failure::exceeds_reservation) raise_failure(reason);
  }
};
template <class Layers, class Policy>
cache_formula(Layers, Policy) -> cache_formula<Layers, Policy>;

/// An exact fraction: 0.9 is {9, 10}, 15 % is {15, 100}. At most 10^9 on either side.
struct share {
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 1;

  /// amount x share, rounded down.
  [[nodiscard]] constexpr checked_count of(checked_count amount) const noexcept {
    return amount / denominator * numerator + amount % denominator * numerator / denominator;
  }
};

/// What one device offers a cache.
///
/// capacity x utilization must hold weights + cache + overhead, and the overhead is `fixed_overhead` plus
/// `overhead_share` of weights and cache together. Nothing is divided by a number of devices: the weights are those
/// that sit on this device.
struct device_budget {
  bytes capacity;
  share utilization{1, 1};
  bytes weights;
  bytes fixed_overhead;
  share overhead_share{0, 1};

  /// capacity x utilization, rounded down.
  [[nodiscard]] constexpr bytes usable() const { return bytes(utilization.of(capacity.count())); }

  /// Overhead beside a cache of this size, rounded up.
  [[nodiscard]] constexpr checked_count overhead(checked_count cache) const noexcept {
    const checked_count base = checked_count(weights.count()) + cache;
    const share& p = overhead_share;
    return base / p.denominator * p.numerator + div_ceil(base % p.denominator * p.numerator, p.denominator) +
           fixed_overhead.count();
  }

  /// All that the device holds with a cache of this size.
  [[nodiscard]] constexpr checked_count used(checked_count cache) const noexcept {
    return checked_count(weights.count()) + cache + overhead(cache);
  }

  [[nodiscard]] constexpr bool holds(checked_count cache) const { return used(cache).fits(usable().count()); }

  /// The largest cache that the device holds: (usable - fixed) / (1 + p) - weights; nothing when the rest alone is
  /// too large.
  [[nodiscard]] constexpr bytes available_for_cache() const {
    const limit most = largest_that_fits([&](std::uint64_t cache) { return holds(cache); });
    return bytes(most.value);
  }
};

/// Weights of `parameters` numbers of `bits` bits, rounded up to a byte. It says nothing of scales and zero points;
/// exact weights come from the files.
[[nodiscard]] constexpr bytes weight_bytes(std::uint64_t parameters, share bits) {
  return bytes(div_ceil(checked_count(parameters) * bits.numerator, checked_count(bits.denominator) * 8U));
}
[[nodiscard]] constexpr bytes weight_bytes(std::uint64_t parameters, std::uint64_t bits) {
  return weight_bytes(parameters, share{bits, 1});
}

/// Token computations of a prompt and `generated` further tokens: with a cache the prompt once and then one per
/// step; without one every step computes all positions again.
[[nodiscard]] constexpr checked_count token_computations(const request& r, bool with_cache) noexcept {
  const checked_count p = r.prompt.count();
  const checked_count g = r.generated.count();
  if (g == checked_count(0U)) return p;
  // Without a cache the steps see p, p + 1, … p + g - 1 positions.
  return with_cache ? p + g - 1U : p * g + g * (g - 1U) / 2U;
}

}  // namespace kvbudget
