// The grain in which prefixes are hashed and found again, and which ranks hold the same.
//
// Source: v1/core/kv_cache_utils.py (resolve_kv_cache_block_sizes, resolve_cache_hit_alignment_tokens,
// kv_cache_groups_tp_replicas).
#pragma once

#include <kvbudget/engines/vllm/cache_plan.hpp>

namespace kvbudget::detail::vllm {

/// Tokens of a block of the family over all ranks that share its tokens.
[[nodiscard]] constexpr checked_count tokens_of_block(const kv_cache_spec& spec, const settings& s) noexcept {
  return checked_count(spec.block_size) * (spec.dcp_sharded ? s.decode_context_parallel_size : 1U);
}

/// resolve_kv_cache_block_sizes. A common multiple that does not fit in 64 bits stands as 0.
constexpr void resolve_hash_blocks(const settings& s, cache_plan& p) {
  checked_count common = 1U;
  std::uint64_t divisor = 0;
  bool mamba_without_align = false;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.first_spec(family);
    const checked_count block = tokens_of_block(spec, s);
    common =
        common.valid() && block.valid() ? lcm(common.value(), block.value()) : checked_count::failed(failure::overflow);
    divisor = gcd(divisor, block.value_or(0));
    mamba_without_align = mamba_without_align || (spec.kind == spec_kind::mamba && !p.resolved.mamba_align);
  }
  p.scheduler_block_size = common.value_or(0);
  const bool fine = p.groups.size() > 1 && p.resolved.enable_prefix_caching && !mamba_without_align;
  p.hash_block_size = fine ? divisor : p.scheduler_block_size;
}

/// kv_cache_groups_tp_replicas: how many tensor-parallel ranks hold the same bytes in all layers of the first stage.
constexpr void resolve_replicas(const settings& s, cache_plan& p) {
  p.kv_tp_replicas = s.tensor_parallel_size;
  for (const layer_set& set : p.groups.specs) {
    if (!p.stages.empty() && set.per_stage[0] == 0) continue;
    const bool sharded = set.spec.dcp_sharded && s.decode_context_parallel_size > 1;
    const bool replicated = set.spec.is_attention() && set.spec.one_tp_shard && !sharded;
    p.kv_tp_replicas = gcd(p.kv_tp_replicas, replicated ? s.tensor_parallel_size : 1);
  }
}

/// resolve_cache_hit_alignment_tokens. A state at a block boundary can be found again at a finer grain, if every other
/// group can be looked up that way: full attention and states can, windows, chunks and cross attention only at their
/// own block.
[[nodiscard]] constexpr bool hits_at_hash_blocks(const settings& s, const cache_plan& p) noexcept {
  bool aligned_state = false;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.first_spec(family);
    if (spec.kind == spec_kind::mamba) {
      const bool larger_block = s.decode_context_parallel_size == 1 ? spec.block_size > p.hash_block_size
                                                                    : spec.block_size >= p.hash_block_size;
      aligned_state = aligned_state || (p.resolved.mamba_align && larger_block);
    } else if (!spec.is_full() && tokens_of_block(spec, s) != checked_count(p.hash_block_size)) {
      return false;
    }
  }
  return aligned_state && p.groups.size() > 1;
}

constexpr void resolve_scheduling_blocks(const settings& s, cache_plan& p) {
  resolve_hash_blocks(s, p);
  resolve_replicas(s, p);
  if (!p.resolved.enable_prefix_caching) return;
  p.cache_hit_alignment = hits_at_hash_blocks(s, p) ? p.hash_block_size : p.scheduler_block_size;
}

}  // namespace kvbudget::detail::vllm
