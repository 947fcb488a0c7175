// What fits: an engine's answer against the budgets of the devices.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/budget.hpp>
#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/errors.hpp>

namespace kvbudget::config {

/// One device of a plan.
struct device_share {
  std::string name;
  device_budget budget;
  checked_count cache_bytes = 0U;  ///< what the workload takes there
  checked_count peak_bytes = 0U;   ///< the most on the way there
  bool fits = true;                ///< all of that does

  /// What is left beside everything; 0 when it does not fit.
  [[nodiscard]] std::uint64_t headroom() const {
    return fits ? (checked_count(budget.usable().count()) - budget.used(peak_bytes)).value() : 0;
  }
};

/// What fits beside the weights, and what decides it.
struct capacity {
  std::vector<device_share> devices;  ///< none where only the engine's pool is known
  std::size_t tightest = 0;           ///< of them, the one with the least left, or the most too much
  bool has_workload = false;
  bool fits = true;                    ///< the workload does, or without one the weights and the overhead do
  std::string binding;                 ///< what binds, in words
  std::optional<limit> max_length;     ///< positions of each of the workload's sequences (of one, without a workload)
  std::optional<limit> max_sequences;  ///< sequences of the workload's length, or of its mix of lengths in order
  std::optional<limit> max_tokens;     ///< positions in a pool of such sequences

  /// Left for the cache on the tightest device.
  [[nodiscard]] bytes available_for_cache() const { return devices[tightest].budget.available_for_cache(); }
  /// No device is too small for its weights and overhead.
  [[nodiscard]] bool holds_weights() const {
    return std::all_of(devices.begin(), devices.end(), [](const device_share& d) { return d.budget.holds(0U); });
  }
};

namespace detail {

/// Of the devices that cannot hold their weights, else of those that cannot hold the cache, the one with the most too
/// much; else the one with the least left.
[[nodiscard]] inline std::size_t find_tightest(const capacity& c) {
  const bool weights = c.holds_weights();
  const auto excess = [&](const device_share& d) -> std::uint64_t {
    if (!weights && d.budget.holds(0U)) return 0;
    const checked_count used = d.budget.used(weights ? d.peak_bytes : checked_count(0U));
    if (!used.valid()) return ~std::uint64_t{0};
    return used.value() - std::min(used.value(), d.budget.usable().count());
  };
  std::size_t tightest = 0;
  for (std::size_t i = 1; i < c.devices.size(); ++i) {
    const device_share& a = c.devices[i];
    const device_share& b = c.devices[tightest];
    if (excess(a) > excess(b) || (!a.fits && b.fits) || (a.fits && b.fits && a.headroom() < b.headroom())) tightest = i;
  }
  return tightest;
}

/// How many sequences of the lengths, one after the other and again from the first, the devices hold: the largest n for
/// which the first n fit together. Nothing when none of them takes anything.
[[nodiscard]] inline std::optional<limit> most_of_mix(
    const std::vector<std::uint64_t>& lengths, const std::vector<std::function<checked_count(const workload&)>>& curves,
    std::vector<std::uint64_t> room) {
  if (curves.empty()) return std::nullopt;
  const auto one = [&](std::size_t device, std::uint64_t length) { return curves[device](workload{length, 0, 1, {}}); };
  std::uint64_t rounds = ~std::uint64_t{0};
  std::vector<checked_count> round(curves.size(), 0U);
  bool grows = false;
  for (std::size_t d = 0; d < curves.size(); ++d) {
    for (const std::uint64_t length : lengths) round[d] += one(d, length);
    grows = grows || !(round[d] == checked_count(0U));
    if (!round[d].valid()) rounds = 0;
    else if (round[d].value() > 0) rounds = std::min(rounds, room[d] / round[d].value());
  }
  if (!grows) return std::nullopt;
  checked_count count = checked_count(rounds) * lengths.size();
  for (std::size_t d = 0; d < curves.size(); ++d) room[d] -= rounds == 0 ? 0 : (round[d] * rounds).value();
  for (const std::uint64_t length : lengths) {
    for (std::size_t d = 0; d < curves.size(); ++d) {
      const checked_count needed = one(d, length);
      if (!needed.fits(room[d])) return limit{count.value(), false, false};
      room[d] -= needed.value();
    }
    count += 1U;
  }
  return limit{count.value(), false, false};
}

}  // namespace detail

namespace detail {

/// What the engine's own pool holds of the workload (of one request without one). A pool that holds too little is too
/// small on every device.
inline void ask_pool(const evaluation& e, const std::optional<workload>& w, capacity& c) {
  const pool_capacity& own = *e.own_capacity;
  c.max_length = limit{own.max_length, false, own.max_length == 0};
  c.max_sequences = limit{own.max_sequences, false, false};
  c.max_tokens = limit{own.max_tokens, false, false};
  if (own.holds) {  // of replicas, each with requests of its own
    c.max_sequences.reset();
    c.fits = c.fits && *own.holds;
    if (!*own.holds) c.binding = "the pool of a replica holds fewer requests of these lengths";
    for (device_share& d : c.devices) d.fits = d.fits && c.fits;
    return;
  }
  const bool mix = w && !w->lengths.empty() && e.sequences_add_up;
  if (mix) c.max_sequences = most_of_mix(w->lengths, {e.pool_use}, {own.bytes});
  const std::uint64_t asked = w ? w->sequences : 1;
  if (!c.fits || (c.max_sequences && c.max_sequences->value >= asked)) return;
  c.fits = false;
  c.binding = mix ? "the pool holds fewer requests of these lengths" : "the pool holds fewer requests of this length";
  for (device_share& d : c.devices) d.fits = false;
}

}  // namespace detail

/// The same where only the engine's pool is known, and nothing of the devices: of own_capacity.
[[nodiscard]] inline capacity assess_pool(const evaluation& e, const workload& w) {
  capacity c;
  c.has_workload = true;
  c.binding = "nothing binds";
  detail::ask_pool(e, w, c);
  return c;
}

/// Answers for `w` (absent: only what is left, and the longest single sequence) on the devices of the plan. One budget
/// stands for all devices but the host; without `host` nothing is asked of the host's memory. Raises size_error; throws
/// usage_error where budgets and devices are not equally many.
[[nodiscard]] inline capacity assess(const evaluation& e, const std::optional<workload>& w,
                                     const std::vector<device_budget>& budgets,
                                     const std::optional<device_budget>& host = std::nullopt) {
  capacity result;
  result.has_workload = w.has_value();
  std::vector<const device_cache*> caches;  // of the devices below, where the cache is known
  std::size_t devices = e.devices.empty() ? 1 : 0;
  for (const device_cache& d : e.devices) devices += d.name == "host" ? 0U : 1U;
  if (budgets.size() != 1 && budgets.size() != devices) {
    throw usage_error({"", "device", std::to_string(budgets.size())},
                      "the plan has " + std::to_string(devices) + " devices", "one for all of them, or one for each");
  }
  const auto add = [&](std::string name, const device_budget& budget, const device_cache* cache) {
    device_share share{std::move(name), budget, 0U, 0U, true};
    if (cache != nullptr && (w || !e.engine.empty())) {  // an engine allocates whether there are requests or not
      share.cache_bytes = cache->bytes;
      share.peak_bytes = larger(share.cache_bytes, cache->peak);
    }
    share.fits = share.budget.holds(share.peak_bytes);
    result.fits = result.fits && share.fits;
    result.devices.push_back(std::move(share));
    if (cache != nullptr) caches.push_back(cache);
  };
  if (e.devices.empty()) add("0", budgets.front(), nullptr);
  std::size_t next = 0;
  for (const device_cache& d : e.devices) {
    if (d.name != "host") add(d.name, budgets[budgets.size() == 1 ? 0 : next++], &d);
    else if (host) add(d.name, *host, &d);
  }
  const std::size_t count = result.devices.size();
  result.tightest = detail::find_tightest(result);
  const bool alone = !result.holds_weights();
  const std::string device = count > 1 ? "device " + result.devices[result.tightest].name : "the device";
  if (alone) result.binding = "weights and overhead alone exceed " + device;
  else if (!result.fits) result.binding = "the cache does not fit beside weights and overhead on " + device;
  else if (!w) result.binding = "no workload was given";
  else result.binding = count > 1 ? "nothing binds; the least is left on " + device : "nothing binds";
  const device_share& least = result.devices[result.tightest];
  if (!alone && !result.fits && least.budget.holds(least.cache_bytes)) {
    result.binding +=
        ", where it takes " + std::to_string(least.peak_bytes.value_or(0)) + " bytes on the way to its end";
  }
  if (e.own_capacity) {  // the engine sizes its pool by what is left, and decides itself
    for (std::size_t i = 0; result.fits && i < count; ++i) {  // pools fill what there is: the smallest decides
      const auto room = [&](std::size_t d) { return result.devices[d].budget.available_for_cache(); };
      if (room(i) < room(result.tightest)) result.tightest = i;
    }
    detail::ask_pool(e, w, result);
    return result;
  }
  if (caches.empty() || !caches.front()->peak_bytes) return result;

  std::vector<std::uint64_t> available;
  for (const device_share& d : result.devices) available.push_back(d.budget.available_for_cache().count());
  const auto holds = [&](const workload& asked) {
    for (std::size_t i = 0; i < count; ++i) {
      if (alone || !caches[i]->peak_bytes(asked).fits(available[i])) return false;
    }
    return true;
  };
  workload base = w.value_or(workload{});
  base.lengths.clear();
  const checked_count length = checked_count(base.prompt) + base.generated;
  result.max_length = largest_that_fits([&](std::uint64_t n) {
    workload asked = base;
    // A prompt without its generation is no budget; without a workload every position may be generated.
    asked.prompt = n < base.prompt ? n : base.prompt;
    asked.generated = n - asked.prompt;
    return holds(asked);
  });
  if (w && !w->lengths.empty() && e.sequences_add_up && !alone) {
    std::vector<std::function<checked_count(const workload&)>> curves;
    for (const device_cache* const cache : caches) curves.push_back(cache->peak_bytes);
    result.max_sequences = detail::most_of_mix(w->lengths, curves, available);
  }
  if (!w || !w->lengths.empty() || length == checked_count(0U)) return result;
  const limit sequences = largest_that_fits([&](std::uint64_t n) {
    workload asked = base;
    asked.sequences = n;
    return holds(asked);
  });
  result.max_sequences = sequences;
  if (sequences.unbounded || sequences.none) {
    result.max_tokens = sequences;
  } else if (const checked_count tokens_held = length * sequences.value; tokens_held.valid()) {
    result.max_tokens = limit{tokens_held.value(), false, false};
  }
  return result;
}
[[nodiscard]] inline capacity assess(const evaluation& e, const std::optional<workload>& w,
                                     const device_budget& device) {
  return assess(e, w, std::vector<device_budget>{device});
}

}  // namespace kvbudget::config
