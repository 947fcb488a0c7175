// What fits: an engine's answer against the budget of a device.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/config/evaluation.hpp>

namespace kvbudget::config {

/// What fits beside the weights, and what decides it.
struct capacity {
  device_budget device;
  checked_count cache_bytes;      ///< what the workload takes
  bool has_workload = false;
  bool fits = true;               ///< the workload does, or without one the weights and the overhead do
  std::string binding;            ///< what binds, in words
  std::optional<limit> max_length;     ///< positions of each of the workload's sequences (of one, without a workload)
  std::optional<limit> max_sequences;  ///< sequences of the workload's length
  std::optional<limit> max_tokens;     ///< positions in a pool of such sequences
};

/// Answers for `w` (absent: only what is left, and the longest single sequence). Raises size_error.
[[nodiscard]] inline capacity assess(const evaluation& e, const std::optional<workload>& w, const device_budget& device) {
  capacity result;
  result.device = device;
  result.has_workload = w.has_value();
  result.cache_bytes = w ? e.total_bytes : 0;
  const bool alone_too_large = !device.holds(0U);
  result.fits = device.holds(result.cache_bytes);
  if (alone_too_large) result.binding = "weights and overhead alone exceed the device";
  else if (!result.fits) result.binding = "the cache does not fit beside weights and overhead";
  else result.binding = w ? "nothing binds" : "no workload was given";
  if (e.own_capacity) {  // the engine sizes its pool by what is left, and decides itself
    const pool_capacity& own = *e.own_capacity;
    result.fits = !alone_too_large && own.max_sequences >= (w ? w->sequences : 1);
    if (!result.fits && !alone_too_large) result.binding = "the pool holds fewer requests of this length";
    result.max_length = limit{own.max_length, false, own.max_length == 0};
    result.max_sequences = limit{own.max_sequences, false, false};
    result.max_tokens = limit{own.max_tokens, false, false};
    return result;
  }
  if (!e.peak_bytes) return result;

  const std::uint64_t available = device.available_for_cache().count();
  const auto holds = [&](const workload& asked) {
    return !alone_too_large && e.peak_bytes(asked).fits(available);
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

}  // namespace kvbudget::config
