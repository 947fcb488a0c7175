// What fits: an engine's answer against the budgets of the devices.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/core/budget.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/input/errors.hpp>

namespace kvbudget {

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

}  // namespace kvbudget
