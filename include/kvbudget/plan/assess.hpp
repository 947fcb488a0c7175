// What fits: an engine's answer against the budgets of the devices.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kvbudget/input/errors.hpp>
#include <kvbudget/plan/capacity.hpp>

namespace kvbudget::detail {

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

/// What the engine's own pool holds of the workload (of one request without one). A pool that holds too little is too
/// small on every device.
inline void ask_pool(const engine_answer& e, const std::optional<workload>& w, capacity& c) {
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

/// The same where only the engine's pool is known, and nothing of the devices: of own_capacity.
[[nodiscard]] inline capacity assess_pool(const engine_answer& e, const workload& w) {
  capacity c;
  c.has_workload = true;
  c.binding = "nothing binds";
  ask_pool(e, w, c);
  return c;
}

/// An answer against the budgets of the devices.
class assessment {
 public:
  assessment(const engine_answer& e, const std::optional<workload>& w, const std::vector<device_budget>& budgets,
             const std::optional<device_budget>& host)
      : e_(e), w_(w) {
    result_.has_workload = w.has_value();
    add_devices(budgets, host);
    result_.tightest = find_tightest(result_);
    alone_ = !result_.holds_weights();
    say_what_binds();
    if (e.own_capacity) ask_own_pool();
    else if (!caches_.empty() && caches_.front()->peak_bytes) invert();
  }
  [[nodiscard]] capacity result() && { return std::move(result_); }

 private:
  void add(std::string name, const device_budget& budget, const device_cache* cache) {
    device_share share{std::move(name), budget, 0U, 0U, true};
    if (cache != nullptr && (w_ || !e_.engine.empty())) {  // an engine allocates whether there are requests or not
      share.cache_bytes = cache->bytes;
      share.peak_bytes = larger(share.cache_bytes, cache->peak);
    }
    share.fits = share.budget.holds(share.peak_bytes);
    result_.fits = result_.fits && share.fits;
    result_.devices.push_back(std::move(share));
    if (cache != nullptr) caches_.push_back(cache);
  }
  void add_devices(const std::vector<device_budget>& budgets, const std::optional<device_budget>& host) {
    std::size_t devices = e_.devices.empty() ? 1 : 0;
    for (const device_cache& d : e_.devices) devices += d.name == "host" ? 0U : 1U;
    if (budgets.size() != 1 && budgets.size() != devices) {
      throw usage_error({"", "device", std::to_string(budgets.size())},
                        "the plan has " + std::to_string(devices) + " devices", "one for all of them, or one for each");
    }
    if (e_.devices.empty()) add("0", budgets.front(), nullptr);
    std::size_t next = 0;
    for (const device_cache& d : e_.devices) {
      if (d.name != "host") add(d.name, budgets[budgets.size() == 1 ? 0 : next++], &d);
      else if (host) add(d.name, *host, &d);
    }
  }
  void say_what_binds() {
    const bool several = result_.devices.size() > 1;
    const device_share& least = result_.devices[result_.tightest];
    const std::string device = several ? "device " + least.name : "the device";
    std::string& binding = result_.binding;
    if (alone_) binding = "weights and overhead alone exceed " + device;
    else if (!result_.fits) binding = "the cache does not fit beside weights and overhead on " + device;
    else if (!w_) binding = "no workload was given";
    else binding = several ? "nothing binds; the least is left on " + device : "nothing binds";
    if (!alone_ && !result_.fits && least.budget.holds(least.cache_bytes)) {
      binding += ", where it takes " + std::to_string(least.peak_bytes.value_or(0)) + " bytes on the way to its end";
    }
  }
  /// The engine sizes its pool by what is left, and decides itself. Pools fill what there is: the smallest decides.
  void ask_own_pool() {
    const auto room = [&](std::size_t d) { return result_.devices[d].budget.available_for_cache(); };
    for (std::size_t i = 0; result_.fits && i < result_.devices.size(); ++i) {
      if (room(i) < room(result_.tightest)) result_.tightest = i;
    }
    ask_pool(e_, w_, result_);
  }

  /// How long, and how many, every device holds.
  void invert() {
    for (const device_share& d : result_.devices) available_.push_back(d.budget.available_for_cache().count());
    workload base = w_.value_or(workload{});
    base.lengths.clear();
    result_.max_length = longest(base);
    if (w_ && !w_->lengths.empty()) {
      if (e_.sequences_add_up && !alone_) ask_mix();
      return;
    }
    const checked_count length = checked_count(base.prompt) + base.generated;
    if (w_ && !(length == checked_count(0U))) ask_sequences(base, length);
  }
  [[nodiscard]] bool holds(const workload& asked) const {
    for (std::size_t i = 0; i < available_.size(); ++i) {
      if (alone_ || !caches_[i]->peak_bytes(asked).fits(available_[i])) return false;
    }
    return true;
  }
  [[nodiscard]] limit longest(const workload& base) const {
    return largest_that_fits([&](std::uint64_t n) {
      workload asked = base;
      // A prompt without its generation is no budget; without a workload every position may be generated.
      asked.prompt = n < base.prompt ? n : base.prompt;
      asked.generated = n - asked.prompt;
      return holds(asked);
    });
  }
  void ask_mix() {
    std::vector<std::function<checked_count(const workload&)>> curves;
    for (const device_cache* const cache : caches_) curves.push_back(cache->peak_bytes);
    result_.max_sequences = most_of_mix(w_->lengths, curves, available_);
  }
  void ask_sequences(const workload& base, checked_count length) {
    const limit sequences = largest_that_fits([&](std::uint64_t n) {
      workload asked = base;
      asked.sequences = n;
      return holds(asked);
    });
    result_.max_sequences = sequences;
    if (sequences.unbounded || sequences.none) {
      result_.max_tokens = sequences;
    } else if (const checked_count held = length * sequences.value; held.valid()) {
      result_.max_tokens = limit{held.value(), false, false};
    }
  }

  const engine_answer& e_;
  const std::optional<workload>& w_;
  capacity result_;
  std::vector<const device_cache*> caches_;  // of the result's devices, where the cache is known
  std::vector<std::uint64_t> available_;     // on each of them
  bool alone_ = false;                       // weights and overhead alone are too much
};

/// Answers for `w` (absent: only what is left, and the longest single sequence) on the devices of the plan. One budget
/// stands for all devices but the host; without `host` nothing is asked of the host's memory. Raises size_error; throws
/// usage_error where budgets and devices are not equally many.
[[nodiscard]] inline capacity assess(const engine_answer& e, const std::optional<workload>& w,
                                     const std::vector<device_budget>& budgets,
                                     const std::optional<device_budget>& host = std::nullopt) {
  return assessment(e, w, budgets, host).result();
}
[[nodiscard]] inline capacity assess(const engine_answer& e, const std::optional<workload>& w,
                                     const device_budget& device) {
  return assess(e, w, std::vector<device_budget>{device});
}

}  // namespace kvbudget::detail
