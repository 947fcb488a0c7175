// From vLLM's plan to a pool: the blocks that its scheduler hands out, and what each group of layers takes of them.
#pragma once

#include <kvbudget/engines/vllm/plan.hpp>
#include <kvbudget/ledger/pools.hpp>

namespace kvbudget::detail::vllm {

/// All groups of a model draw on one pool of blocks (v1/core/block_pool.py), of which the null block is never handed
/// out. A window keeps the positions in flight too, as in SlidingWindowSpec.max_admission_blocks_per_request. Raises a
/// failure for groups of chunked attention, whose blocks go back a chunk at a time, and where the plan has no number of
/// blocks.
[[nodiscard]] constexpr ledger_pool block_pool(const cache_plan& plan) {
  if (!plan.memory_is_known || plan.stages.empty()) plan_has_no_pool_without_its_memory();
  ledger_pool result{
      "blocks", (checked_count(plan.num_blocks) - 1U).value(), bytes(plan.stages[0].bytes_per_block), {}, {}};
  std::size_t size = 0;
  for (const group_family& family : plan.groups.families) {
    if (size == max_groups) list_is_longer_than_its_capacity();
    const kv_cache_spec& spec = plan.groups.specs[plan.groups.members[family.first_member].spec].spec;
    cache_group& to = result.groups[size++];
    to = {family.count, tokens(spec.block_size), tokens()};
    switch (spec.kind) {
      case spec_kind::full_attention:
      case spec_kind::mla_attention:
        if (spec.dcp_sharded) to.block_size = to.block_size * plan.limits.decode_context_parallel_size;
        break;
      case spec_kind::sliding_window:
      case spec_kind::sliding_window_mla:
        to.window = tokens(checked_count(spec.sliding_window) + spec.extra_retained_tokens +
                           plan.limits.max_in_flight_tokens - checked_count(1U));
        break;
      case spec_kind::cross_attention:
      case spec_kind::mamba:
        to.units = (max_admission_blocks_per_request(spec, plan.limits) * family.count).value();
        to.block_size = tokens();
        break;
      case spec_kind::chunked_local_attention: policy_has_no_rule_for_this_layer();
    }
  }
  return result;
}

}  // namespace kvbudget::detail::vllm
