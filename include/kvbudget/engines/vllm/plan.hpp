// The whole start-up decision: settings with vLLM's defaults, specs of all layers, groups, blocks, and whether a
// request fits.
//
// Sources: v1/engine/core.py (_initialize_kv_caches), v1/core/kv_cache_utils.py.
#pragma once

#include <kvbudget/engines/vllm/admission.hpp>
#include <kvbudget/engines/vllm/resolve.hpp>
#include <kvbudget/engines/vllm/scheduling.hpp>
#include <kvbudget/engines/vllm/stage_specs.hpp>

namespace kvbudget::detail::vllm {

/// Each kind of layer gets its backend, which may settle the cache type of sparse MLA for the layers after it.
[[nodiscard]] constexpr refusal select_backends(const model& m, used_classes& used, backend_context& context,
                                                resolved_settings& r) {
  for (used_class& u : used) {
    const layer_class& layer = m.classes[u.index];
    u.cache_dtype = u.skipped || layer.unquantized ? cache_dtype::automatic : r.cache_dtype;
    const backend_choice choice = select_backend(layer, u.cache_dtype, context);
    if (choice.reason != refusal::none) return choice.reason;
    u.backend = choice.backend;
    if (layer.role == layer_role::mla || layer.role == layer_role::sparse_mla) {
      const cache_dtype canonical = canonical_cache_dtype(u.backend, u.cache_dtype);
      if (canonical != u.cache_dtype) u.cache_dtype = r.cache_dtype = context.cache_dtype = canonical;
    }
    add_distinct(r.backends, u.backend);
  }
  return refusal::none;
}

/// Chunked layers had no groups of their own once.
[[nodiscard]] constexpr bool runs_without_hybrid_manager(const settings& s, const layer_sets& sets) noexcept {
  if (s.disable_hybrid_kv_cache_manager) return true;
  if (s.rules().chunks_are_grouped()) return false;
  for (const layer_set& set : sets) {
    if (set.spec.kind == spec_kind::chunked_local_attention) return true;
  }
  return false;
}

/// Specs of all layers, and the groups that share blocks; none where that fails.
[[nodiscard]] constexpr refusal resolve_groups(const model& m, const settings& s, bool has_skip_layers,
                                               const backend_context& context, const used_classes& used,
                                               cache_plan& p) {
  refusal reason = add_specs(m, s, has_skip_layers, context, used, p);
  if (reason == refusal::none)
    reason = resolve_layout(p.resolved.backends, p.groups.specs, s.device, p.resolved.layout);
  if (reason == refusal::none) {
    p.groups.size_quarters = s.rules().group_size_quarters();
    form_groups(p.groups, p.resolved.layout, runs_without_hybrid_manager(s, p.groups.specs));
    reason = p.groups.reason;
  }
  if (reason != refusal::none) p.groups = {};
  return reason;
}

/// Settings, layers, backends and groups.
[[nodiscard]] constexpr refusal resolve_layers(const model& m, const settings& s, cache_plan& p) {
  if (const refusal reason = verify_with_parallel_config(m, s); reason != refusal::none) return reason;
  resolved_settings& r = p.resolved;
  if (const refusal reason = resolve(m, s, r); reason != refusal::none) return reason;
  p.max_model_len = r.max_model_len;
  const skip_layers skip = get_skip_layers(m, s, r);
  used_classes used;
  if (const refusal reason = classes_in_use(m, skip, get_pp_indices(m.num_hidden_layers, s), used);
      reason != refusal::none) {
    return reason;
  }
  backend_context context = make_context(m, s, r);
  if (const refusal reason = select_backends(m, used, context, r); reason != refusal::none) return reason;
  if (const refusal reason = resolve_groups(m, s, skip.any(), context, used, p); reason != refusal::none) return reason;
  p.limits = {r.max_model_len, r.max_in_flight_tokens, r.max_num_encoder_input_tokens, s.decode_context_parallel_size,
              r.mamba_align};
  p.memory_is_known =
      s.available_memory.has_value() || !s.stage_memory.empty() || s.num_gpu_blocks_override.has_value();
  return refusal::none;
}

/// Bytes of a block on each stage.
[[nodiscard]] constexpr refusal add_stages(const settings& s, cache_plan& p) {
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    stage_plan now;
    now.bytes_per_block = get_kv_cache_bytes_per_block(p.groups, p.resolved.layout, stage);
    if (now.bytes_per_block == 0) return refusal::page_of_no_bytes;
    p.stages.push_back(now);
  }
  return refusal::none;
}

[[nodiscard]] constexpr std::uint64_t available_bytes(const settings& s, const stage_plan& stage, std::size_t i) {
  if (s.num_gpu_blocks_override) return (checked_count(*s.num_gpu_blocks_override) * stage.bytes_per_block).value();
  return s.stage_memory.empty() ? *s.available_memory : s.stage_memory[i];
}

/// Memory and blocks of each stage; the engine has as many blocks as the tightest.
constexpr void add_memory(const settings& s, cache_plan& p) {
  const bool whole_model_on_one_stage = s.rules().checks_whole_model();
  const bool reserves_null_block = s.rules().reserves_null_block();
  p.check = s.rules().check();
  std::uint64_t whole_model_block = 0;
  for (const stage_plan& stage : p.stages) {
    whole_model_block = (checked_count(whole_model_block) + stage.bytes_per_block).value();
  }
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    stage_plan& stage = p.stages[i];
    stage.admission_block_bytes = whole_model_on_one_stage ? whole_model_block : stage.bytes_per_block;
    if (!p.memory_is_known) continue;
    const std::uint64_t available = available_bytes(s, stage, i);
    const std::uint64_t null_block = reserves_null_block ? stage.bytes_per_block : 0;
    stage.usable_bytes = available > null_block ? available - null_block : 0;
    const std::uint64_t blocks = s.num_gpu_blocks_override.value_or(available / stage.bytes_per_block);
    if (i == 0 || blocks < p.num_blocks) p.num_blocks = blocks;
  }
}

/// --max-model-len -1: what fits on every stage.
[[nodiscard]] constexpr refusal fit_max_model_len(const settings& s, cache_plan& p) {
  if (!s.auto_fit_max_model_len || !p.memory_is_known) return refusal::none;
  for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
    const std::uint64_t fitting = estimate_max_model_len(p, stage, p.resolved.max_model_len);
    if (fitting < p.max_model_len) p.max_model_len = fitting;
  }
  p.auto_fitted = p.max_model_len < p.resolved.max_model_len;
  if (p.max_model_len == 0) return refusal::auto_fit_fits_nothing;
  p.limits.max_model_len = p.max_model_len;
  return refusal::none;
}

/// check_enough_kv_cache_memory on each stage; the first that is too small says why.
constexpr void check_stages(cache_plan& p) {
  p.blocks_per_request = blocks_per_request(p.groups, p.limits).value();
  p.estimated_max_model_len = p.resolved.max_model_len;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    stage_plan& stage = p.stages[i];
    stage.request_bytes = checked_bytes(p, i, p.limits).value();
    stage.allocated_bytes = (checked_count(stage.bytes_per_block) * p.num_blocks).value();
    if (!p.memory_is_known) continue;
    stage.fits = stage.request_bytes <= stage.usable_bytes;
    if (stage.fits) continue;
    stage.estimated_max_model_len = estimate_max_model_len(p, i, p.max_model_len);
    if (stage.estimated_max_model_len < p.estimated_max_model_len) {
      p.estimated_max_model_len = stage.estimated_max_model_len;
    }
    if (p.reason == refusal::none) {
      p.reason = stage.usable_bytes == 0 ? refusal::no_available_memory : refusal::memory_too_small;
    }
  }
}

/// get_kv_cache_capacity; before it the line counted whole blocks of one group's share.
constexpr void count_capacity(const settings& s, cache_plan& p) {
  if (!p.memory_is_known || p.blocks_per_request == 0) return;
  p.max_concurrency = static_cast<double>(p.num_blocks) / static_cast<double>(p.blocks_per_request);
  if (!s.rules().counts_tokens_of_all_groups()) {
    const checked_count blocks = p.num_blocks / p.groups.size();
    p.tokens = (blocks * p.resolved.block_size * s.decode_context_parallel_size).value();
    return;
  }
  const double tokens = p.max_concurrency * static_cast<double>(p.max_model_len);
  if (!(tokens < 1.8e19)) kv_cache_size_overflows_64_bits();
  p.tokens = static_cast<std::uint64_t>(tokens);
}

/// What vLLM allocates for `model` with `settings`, or why it does not start. Raises a size_error where a size does
/// not fit in 64 bits; takes some microseconds and no memory but its result.
///
/// Without available_memory (and without num_gpu_blocks_override) the groups, bytes per block and blocks per request
/// are known all the same.
[[nodiscard]] constexpr cache_plan plan(const model& m, const settings& s) {
  cache_plan p;
  p.reason = resolve_layers(m, s, p);
  if (p.reason != refusal::none) return p;
  if (!p.has_groups()) {
    // Nothing is cached: the pool still has its null block.
    p.num_blocks = 1;
    return p;
  }
  p.reason = add_stages(s, p);
  if (p.reason != refusal::none) return p;
  resolve_scheduling_blocks(s, p);
  add_memory(s, p);
  p.reason = fit_max_model_len(s, p);
  if (p.reason != refusal::none) return p;
  check_stages(p);
  count_capacity(s, p);
  return p;
}

}  // namespace kvbudget::detail::vllm
