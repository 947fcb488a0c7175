// How ranks and pipeline stages divide a model.
//
// Sources: config/model.py (verify_with_parallel_config), distributed/utils.py (get_pp_indices).
#pragma once

#include <kvbudget/engines/vllm/model.hpp>

namespace kvbudget::detail::vllm {

[[nodiscard]] constexpr std::uint64_t heads_per_rank(std::uint64_t heads, std::uint64_t tp) noexcept {
  return heads / tp > 0 ? heads / tp : 1;
}

/// The pipeline's stages, as VLLM_PP_LAYER_PARTITION may name them.
[[nodiscard]] constexpr refusal verify_stages(const model& m, const settings& s) {
  if (s.pipeline_parallel_size > 1 && !m.supports_pp) return refusal::no_pipeline_parallelism;
  if (s.pipeline_parallel_size > max_pipeline_stages) return refusal::more_stages_than_supported;
  if (s.pp_layer_partition.empty()) return refusal::none;
  std::uint64_t sum = 0;
  for (const std::uint32_t n : s.pp_layer_partition) sum += n;
  const bool names_all = s.pp_layer_partition.size() == s.pipeline_parallel_size && sum == m.num_hidden_layers;
  return names_all ? refusal::none : refusal::layer_partition_mismatch;
}

/// Decode context parallelism shares the replicas of a KV head.
[[nodiscard]] constexpr refusal verify_decode_context(const model& m, const settings& s) {
  const std::uint64_t tp = s.tensor_parallel_size, dcp = s.decode_context_parallel_size;
  if (dcp <= 1) return refusal::none;
  if (tp % dcp != 0) return refusal::dcp_does_not_divide_tp;
  if (m.use_mla || m.num_kv_heads == 0) return refusal::none;
  if (tp <= m.num_kv_heads) return refusal::dcp_needs_replicated_kv_heads;
  if (dcp > tp / m.num_kv_heads) return refusal::dcp_exceeds_replicas;
  return m.num_attention_heads / m.num_kv_heads % dcp != 0 ? refusal::dcp_splits_query_groups : refusal::none;
}

/// The layer has KV heads that the ranks share out; latents and states are held in another way.
[[nodiscard]] constexpr bool is_divided_by_heads(layer_role role) noexcept {
  using enum layer_role;
  return role == attention || role == chunked_attention || role == cross_attention || role == diffkv_attention ||
         role == minimax_m3_sparse;
}

/// What the layers assert: either number divides the other.
[[nodiscard]] constexpr refusal verify_kv_heads(const model& m, const settings& s) {
  const std::uint64_t tp = s.tensor_parallel_size;
  for (const layer_class& layer : m.classes) {
    const std::uint64_t heads = layer.num_kv_heads;
    if (!is_divided_by_heads(layer.role) || heads == 0) continue;
    if (heads >= tp ? heads % tp != 0 : tp % heads != 0) return refusal::kv_heads_not_divisible;
    if (heads < tp && m.needs_kv_head_per_rank) return refusal::fewer_kv_heads_than_ranks;
  }
  return refusal::none;
}

constexpr void verify_sizes_above_zero(const settings& s) {
  if (s.tensor_parallel_size == 0 || s.decode_context_parallel_size == 0 || s.pipeline_parallel_size == 0 ||
      s.block_size == std::uint64_t{0} || s.mamba_block_size == std::uint64_t{0}) {
    division_by_a_size_of_zero();
  }
}

/// config/model.py:verify_with_parallel_config, and what the layers assert.
[[nodiscard]] constexpr refusal verify_with_parallel_config(const model& m, const settings& s) {
  verify_sizes_above_zero(s);
  if (m.num_attention_heads % s.tensor_parallel_size != 0) return refusal::attention_heads_not_divisible;
  if (const refusal reason = verify_stages(m, s); reason != refusal::none) return reason;
  if (const refusal reason = verify_decode_context(m, s); reason != refusal::none) return reason;
  return verify_kv_heads(m, s);
}

/// distributed/utils.py:get_pp_indices: first layer of every stage. A remainder goes one each to the stages before the
/// last, from the back.
struct stage_bounds {
  std::uint64_t first[max_pipeline_stages + 1] = {};
  std::uint32_t stages = 1;

  [[nodiscard]] constexpr std::uint32_t stage_of(const layer_ref& ref) const noexcept {
    if (ref.draft) return stages - 1;
    std::uint32_t s = 0;
    while (s + 1 < stages && ref.layer >= first[s + 1]) ++s;
    return s;
  }
};
[[nodiscard]] constexpr stage_bounds get_pp_indices(std::uint64_t num_hidden_layers, const settings& s) noexcept {
  stage_bounds bounds;
  const std::uint32_t pp = s.pipeline_parallel_size;
  bounds.stages = pp;
  const std::uint64_t remainder = num_hidden_layers % pp;
  for (std::uint32_t stage = 0; stage < pp; ++stage) {
    const std::uint64_t extra = stage + 2 <= pp && pp - 2 - stage < remainder ? 1 : 0;
    const std::uint64_t layers =
        s.pp_layer_partition.empty() ? num_hidden_layers / pp + extra : s.pp_layer_partition[stage];
    bounds.first[stage + 1] = bounds.first[stage] + layers;
  }
  return bounds;
}

}  // namespace kvbudget::detail::vllm
