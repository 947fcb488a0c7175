// Cache policies: how many positions of a layer are allocated.
//
// A policy is a small value with an overload set found by argument-dependent lookup:
//
//   checked_count positions(policy, layer, request)     slots that one sequence takes in that layer
//   footprint     allocated(policy, layer, batch)       bytes that a batch takes; only where positions do not suffice
//   void          peaks(policy, layer, request, at)     only where bytes can shrink as a sequence grows: calls
//   at(earlier)
//                                                       for earlier states of the request that may have taken more
//
// An overload may raise: nothing that calls it is noexcept. A policy without a fitting overload does not satisfy
// `caches`, so an unknown combination does not compile. Engines bring policies of their own (engines/); the ones here
// are the field's general ones.
#pragma once

#include <kvbudget/core/layer.hpp>
#include <kvbudget/core/request.hpp>

namespace kvbudget {

/// Exactly the positions that later steps read: all of them, min(n, window), min(n, chunk), min(n, sinks + window).
struct stored_positions {};

/// Every sequence takes as much as the longest of its batch.
struct padded {};

/// Every sequence is given `max_length` positions when it starts, whatever it uses of them.
struct static_reservation {
  tokens max_length;
};

/// Whole blocks of `block_size` positions.
struct paged {
  tokens block_size;
};

/// A policy that keeps a batch as one tensor: sequences of different lengths are padded to the longest.
template <class Policy>
inline constexpr bool pads_to_longest = false;
template <>
inline constexpr bool pads_to_longest<padded> = true;
template <>
inline constexpr bool pads_to_longest<static_reservation> = true;

/// The batch as the policy sees it.
template <class Policy, class Batch>
[[nodiscard]] constexpr const Batch& batch_under(const Policy&, const Batch& batch) noexcept {
  return batch;
}
template <class Policy, class Length>
requires pads_to_longest<Policy>
[[nodiscard]] constexpr uniform_batch batch_under(const Policy&, const ragged_batch<Length>& batch) noexcept {
  return {request(tokens(batch.longest()), tokens()), batch.size()};
}

// ---- stored positions -------------------------------------------------------------------------------------------

[[nodiscard]] constexpr checked_count positions(const stored_positions&, const full_attention&,
                                                const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const mla_attention&,
                                                const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const index_keys&, const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const sliding_window_attention& l,
                                                const request& r) noexcept {
  return smaller(r.length(), l.window.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const chunked_local_attention& l,
                                                const request& r) noexcept {
  return smaller(r.length(), l.chunk.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const sink_window_attention& l,
                                                const request& r) noexcept {
  return smaller(r.length(), checked_count(l.sinks.count()) + l.window.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const ring_buffer_attention& l,
                                                const request& r) noexcept {
  return smaller(r.length(), l.window.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const reference_window_attention& l,
                                                const request& r) noexcept {
  return checked_count(r.prompt.count()) + smaller(r.generated.count(), l.window.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const segment_memory& l,
                                                const request& r) noexcept {
  return smaller(r.length(), l.length.count());
}
[[nodiscard]] constexpr checked_count positions(const stored_positions&, const cross_attention& l,
                                                const request& r) noexcept {
  return l.window.count() == 0 ? checked_count(r.encoder.count()) : smaller(r.encoder.count(), l.window.count());
}

// ---- policies that are made of the stored positions ----------------------------------------------------------------

template <positional_layer Layer>
[[nodiscard]] constexpr checked_count positions(const padded&, const Layer& layer, const request& r) {
  return positions(stored_positions{}, layer, r);  // batch_under() has made every request the longest
}

template <positional_layer Layer>
[[nodiscard]] constexpr checked_count positions(const static_reservation& policy, const Layer& layer,
                                                const request& r) {
  if (!r.length().fits(policy.max_length.count())) return checked_count::failed(failure::exceeds_reservation);
  return positions(stored_positions{}, layer, request(policy.max_length, tokens(), r.encoder));
}

template <positional_layer Layer>
[[nodiscard]] constexpr checked_count positions(const paged& policy, const Layer& layer, const request& r) {
  return round_up(positions(stored_positions{}, layer, r), policy.block_size.count());
}

/// A window of w positions that has moved on touches up to ceil((w - 1) / block) + 1 blocks: its first and its last
/// block are both partly used. This is the peak over the life of the sequence, which is what must be at hand.
[[nodiscard]] constexpr checked_count positions(const paged& policy, const sliding_window_attention& layer,
                                                const request& r) noexcept {
  const checked_count block = policy.block_size.count();
  if (layer.window.count() == 0) return 0U;
  const checked_count peak = div_ceil(layer.window.count() - 1, block) + 1U;
  return smaller(div_ceil(r.length(), block), peak) * block;
}

/// The blocks of the sinks stay; the window moves on as above.
[[nodiscard]] constexpr checked_count positions(const paged& policy, const sink_window_attention& layer,
                                                const request& r) noexcept {
  const checked_count block = policy.block_size.count();
  const checked_count sinks = div_ceil(layer.sinks.count(), block);
  const checked_count window = layer.window.count() == 0 ? 0U : div_ceil(layer.window.count() - 1, block) + 1U;
  return smaller(div_ceil(r.length(), block), sinks + window) * block;
}

/// A chunk that is a whole number of blocks starts with a block; any other can lie across two of them at its ends.
[[nodiscard]] constexpr checked_count positions(const paged& policy, const chunked_local_attention& layer,
                                                const request& r) noexcept {
  const checked_count block = policy.block_size.count();
  const checked_count rest = checked_count(layer.chunk.count()) % block;
  if (!rest.valid() || rest == checked_count(0U)) return round_up(smaller(r.length(), layer.chunk.count()), block);
  const checked_count peak = div_ceil(layer.chunk.count() - 1, block) + 1U;
  return smaller(div_ceil(r.length(), block), peak) * block;
}

// ---- from positions to bytes ----------------------------------------------------------------------------------------

/// A policy that says how many positions of `Layer` one sequence takes.
template <class Policy, class Layer>
concept counts_positions = positional_layer<Layer> && requires(const Policy& p, const Layer& l, const request& r) {
  { positions(p, l, r) } -> std::same_as<checked_count>;
};

/// Bytes of a uniform batch: positions of one sequence x row x sequences.
template <class Policy, class Layer>
requires counts_positions<Policy, Layer>
[[nodiscard]] constexpr footprint allocated(const Policy& policy, const Layer& layer, const uniform_batch& batch) {
  return bytes_of_positions(layer, positions(policy, layer, batch.each) * batch.sequences);
}

/// Bytes of a ragged batch: the sum of the positions of its sequences x row. One pass over the lengths.
template <class Policy, class Layer, class Length>
requires counts_positions<Policy, Layer>
[[nodiscard]] constexpr footprint allocated(const Policy& policy, const Layer& layer,
                                            const ragged_batch<Length>& batch) {
  checked_count sum = 0U;
  for (const Length length : batch) sum += positions(policy, layer, request(tokens(length), tokens()));
  return bytes_of_positions(layer, sum);
}

namespace detail {

/// Sum of min(length, cap). 32-bit halves are summed apart, which cannot overflow for fewer than 2^32 sequences and
/// leaves a loop that compilers turn into vector code; one check at the end.
template <class Length>
[[nodiscard]] constexpr checked_count sum_of_lengths(const ragged_batch<Length>& batch, std::uint64_t cap) noexcept {
  constexpr std::size_t chunk = std::size_t{1} << 31U;
  checked_count sum = 0U;
  for (const Length* from = batch.begin(); from != batch.end();) {
    const std::size_t left = static_cast<std::size_t>(batch.end() - from);
    const Length* const to = from + (left < chunk ? left : chunk);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if constexpr (sizeof(Length) <= 4) {
      if (cap >= std::uint64_t{static_cast<Length>(~Length{0})}) {
        for (; from != to; ++from) low += *from;
      } else {
        for (; from != to; ++from) low += *from < cap ? std::uint64_t{*from} : cap;
      }
    } else {
      for (; from != to; ++from) {
        const std::uint64_t n = *from < cap ? std::uint64_t{*from} : cap;
        low += n & 0xffff'ffffU;
        high += n >> 32U;
      }
    }
    sum += checked_count(high) * (std::uint64_t{1} << 32U) + low;
  }
  return sum;
}

}  // namespace detail

template <class Length>
[[nodiscard]] constexpr footprint allocated(const stored_positions&, const full_attention& layer,
                                            const ragged_batch<Length>& batch) noexcept {
  return bytes_of_positions(layer, detail::sum_of_lengths(batch, ~std::uint64_t{0}));
}
template <class Length>
[[nodiscard]] constexpr footprint allocated(const stored_positions&, const mla_attention& layer,
                                            const ragged_batch<Length>& batch) noexcept {
  return bytes_of_positions(layer, detail::sum_of_lengths(batch, ~std::uint64_t{0}));
}
template <class Length>
[[nodiscard]] constexpr footprint allocated(const stored_positions&, const sliding_window_attention& layer,
                                            const ragged_batch<Length>& batch) noexcept {
  return bytes_of_positions(layer, detail::sum_of_lengths(batch, layer.window.count()));
}

namespace detail {
/// Of n positions: floor(n / rate) compressed rows; `waiting` rows of kv and of gate, `streams` rows wide; and where
/// groups overlap (streams > 1) one whole group of kv and gate, once there has been one.
[[nodiscard]] constexpr footprint compressed(const compressed_keys& l, checked_count n,
                                             checked_count waiting) noexcept {
  const checked_count row = l.row.row_bytes();
  checked_count sum = n / l.rate * row + waiting * row * l.streams * 2U;
  if (l.streams > 1 && (n / l.rate).value_or(1) > 0) {
    sum += checked_count(l.rate) * (row + l.gate_type.row_bytes(checked_count(l.row.heads) * l.row.head_size));
  }
  return {0U, 0U, sum};
}
}  // namespace detail

[[nodiscard]] constexpr footprint allocated(const stored_positions&, const compressed_keys& l,
                                            const uniform_batch& b) noexcept {
  return detail::compressed(l, b.each.length(), b.each.length() % l.rate) * b.sequences;
}
template <class Length>
[[nodiscard]] constexpr footprint allocated(const stored_positions&, const compressed_keys& l,
                                            const ragged_batch<Length>& batch) noexcept {
  footprint sum{0U, 0U, 0U};
  for (const Length n : batch) sum = sum + detail::compressed(l, n, checked_count(n) % l.rate);
  return sum;
}

namespace detail {
/// The request when it had `n` positions.
[[nodiscard]] constexpr request earlier(const request& r, std::uint64_t n) {
  const std::uint64_t prompt = n < r.prompt.count() ? n : r.prompt.count();
  return request(tokens(prompt), tokens(n - prompt), r.encoder);
}
}  // namespace detail

/// The waiting rows are compressed; there were most of them just before. Exact for layers whose rates divide each
/// other (4 and 128).
template <class At>
constexpr void peaks(const stored_positions&, const compressed_keys& l, const request& r, const At& at) {
  const std::uint64_t n = r.length().value_or(0);
  if (l.rate > 1 && n >= l.rate) at(detail::earlier(r, n - n % l.rate - 1));
}

namespace detail {
[[nodiscard]] constexpr checked_count sequences_of(const uniform_batch& batch) noexcept { return batch.sequences; }
template <class Length>
[[nodiscard]] constexpr checked_count sequences_of(const ragged_batch<Length>& batch) noexcept {
  return batch.size();
}
}  // namespace detail

/// A state is kept once per sequence, under every policy.
template <class Policy, class Batch>
[[nodiscard]] constexpr footprint allocated(const Policy&, const recurrent_state& layer, const Batch& batch) noexcept {
  return {0U, 0U, layer.type.row_bytes(layer.elements) * detail::sequences_of(batch)};
}
template <class Policy, class Batch>
[[nodiscard]] constexpr footprint allocated(const Policy&, const shared_kv&, const Batch&) noexcept {
  return {0U, 0U, 0U};
}
template <class Policy, class Batch>
[[nodiscard]] constexpr footprint allocated(const Policy&, const no_cache&, const Batch&) noexcept {
  return {0U, 0U, 0U};
}

/// `Policy` has a rule for `Layer`.
template <class Policy, class Layer, class Batch = uniform_batch>
concept caches = requires(const Policy& p, const Layer& l, const Batch& b) {
  { allocated(p, l, b) } -> std::same_as<footprint>;
};

template <class Policy, class First, class Second, class Batch>
requires caches<Policy, First, Batch> && caches<Policy, Second, Batch>
[[nodiscard]] constexpr footprint allocated(const Policy& policy, const layer_pair<First, Second>& pair,
                                            const Batch& batch) {
  return allocated(policy, pair.first, batch) + allocated(policy, pair.second, batch);
}

}  // namespace kvbudget
