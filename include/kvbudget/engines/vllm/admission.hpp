// Whether a request fits into the memory of a stage, and the longest that does.
//
// Source: v1/core/kv_cache_utils.py (check_enough_kv_cache_memory, _estimate_max_model_len_from_groups).
#pragma once

#include <kvbudget/engines/vllm/cache_plan.hpp>

namespace kvbudget::detail::vllm {

/// What one request of `limits` counts in the check of a stage.
[[nodiscard]] constexpr checked_count checked_bytes(const cache_plan& p, std::size_t stage,
                                                    const admission_limits& limits) noexcept {
  if (p.check == fit_check::layers_of_stage) {
    checked_count sum = 0U;
    for (const layer_set& set : p.groups.specs) {
      sum += set.spec.page_size_bytes() * set.per_stage[stage] * max_admission_blocks_per_request(set.spec, limits);
    }
    return sum;
  }
  const checked_count block = p.stages[stage].admission_block_bytes;
  if (p.check == fit_check::first_group) return block * blocks_per_request(p.groups, p.groups.families[0], limits);
  return block * blocks_per_request(p.groups, limits);
}

[[nodiscard]] constexpr bool request_fits(const cache_plan& p, std::size_t stage, std::uint64_t length) noexcept {
  admission_limits limits = p.limits;
  limits.max_model_len = length;
  return checked_bytes(p, stage, limits).fits(p.stages[stage].usable_bytes);
}

/// _estimate_max_model_len_from_groups: the largest length up to `longest` whose request fits into the stage, 0 if
/// none does. Sizes of blocks and pages stay as they are.
[[nodiscard]] constexpr std::uint64_t estimate_max_model_len(const cache_plan& p, std::size_t stage,
                                                             std::uint64_t longest) noexcept {
  if (longest == 0 || !request_fits(p, stage, 1)) return 0;
  std::uint64_t fitting = 1, above = longest;
  while (fitting < above) {
    const std::uint64_t middle = above - (above - fitting) / 2;
    if (request_fits(p, stage, middle)) fitting = middle;
    else above = middle - 1;
  }
  return fitting;
}

}  // namespace kvbudget::detail::vllm
