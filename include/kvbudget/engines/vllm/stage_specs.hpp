// The block size of each pipeline stage, the specs of all its layers, and the memory order that the backends agree on.
//
// Sources: platforms/interface.py (update_block_size_for_backend), v1/attention/backends/utils.py.
#pragma once

#include <kvbudget/engines/vllm/cache_plan.hpp>
#include <kvbudget/engines/vllm/layer_spec.hpp>

namespace kvbudget::detail::vllm {

[[nodiscard]] constexpr backend_context make_context(const model& m, const settings& s,
                                                     const resolved_settings& r) noexcept {
  backend_context c;
  c.device = s.device;
  c.user_block_size = s.block_size;
  c.user_backend = s.backend;
  c.cache_dtype = r.cache_dtype;
  c.model_dtype = m.dtype;
  c.num_heads = m.num_attention_heads / s.tensor_parallel_size;
  c.num_kv_heads = m.num_kv_heads == 0 ? 0 : m.use_mla ? 1 : heads_per_rank(m.num_kv_heads, s.tensor_parallel_size);
  c.head_size = m.head_size;
  c.mm_prefix = m.mm_prefix;
  c.logits_soft_cap = m.logits_soft_cap;
  c.per_head_scales = m.checkpoint_per_head_scales;
  c.use_dcp = s.decode_context_parallel_size > 1;
  c.qk_nope_head_dim = m.qk_nope_head_dim;
  c.qk_rope_head_dim = m.qk_rope_head_dim;
  c.kv_lora_rank = m.kv_lora_rank;
  c.has_index_topk = m.has_index_topk;
  // engine/arg_utils.py: TurboQuant takes the unquantized layers to FlashAttention 2.
  if (is_turboquant(r.cache_dtype)) c.forced_flash_attn_version = 2;
  if (m.mixed_head_sizes) {
    // model_executor/models/config.py:Gemma4Config.
    const bool fp8 = is_fp8_per_tensor(r.cache_dtype) || r.cache_dtype == cache_dtype::fp8_per_token_head;
    if (!flash_attn_4_is_supported(s.device)) {
      if (s.backend == attention_backend::none) c.user_backend = attention_backend::triton_attn;
    } else if ((s.backend == attention_backend::none || s.backend == attention_backend::flash_attn) &&
               !(fp8 && s.device.major == 9)) {
      c.forced_flash_attn_version = 4;
    }
  }
  return c;
}

/// The largest state of the model: of its class, else of its layers.
[[nodiscard]] constexpr refusal largest_state_bytes(const model& m, const settings& s, const backend_context& context,
                                                    const used_classes& used, const resolved_settings& r,
                                                    std::uint64_t& largest) {
  const auto consider = [&](const layer_class& layer) {
    const spec_choice choice = get_kv_cache_spec(layer, used_class{}, m, s, r, context);
    if (choice.spec.state_bytes > largest) largest = choice.spec.state_bytes;
    return choice.reason;
  };
  if (m.hybrid_state) {
    layer_class state;
    state.role = layer_role::recurrent;
    state.state = *m.hybrid_state;
    return consider(state);
  }
  for (const used_class& u : used) {
    const layer_class& layer = m.classes[u.index];
    if (layer.role != layer_role::recurrent) continue;
    if (const refusal reason = consider(layer); reason != refusal::none) return reason;
  }
  return refusal::none;
}

/// The block of a hybrid holds its largest state.
[[nodiscard]] constexpr refusal align_to_states(const model& m, const settings& s, const used_classes& used,
                                                block_size_inputs& in, resolved_settings& r) {
  if (!m.is_hybrid) return refusal::none;
  std::uint64_t largest_state = 0;
  const refusal reason = largest_state_bytes(m, s, in.context, used, r, largest_state);
  if (reason != refusal::none) return reason;
  const bool delta_net = m.hybrid_state && m.hybrid_state->kind == state_kind::gated_delta_net;
  if (delta_net && r.mamba_align && s.rules().delta_nets_align_to_64())
    in.backend_alignment = lcm(in.backend_alignment, 64).value();
  const aligned_block_size aligned = align_hybrid_block_size(r.block_size, largest_state, in);
  r.block_size = aligned.block_size;
  r.mamba_page_size_padded = aligned.mamba_page_size_padded;
  if (r.mamba_align && largest_state != 0) r.mamba_block_size = r.block_size;
  return refusal::none;
}

/// … and a page of the quantized layers an unquantized kernel block, where some layers are spared.
[[nodiscard]] constexpr refusal align_to_skipped_layers(const block_size_inputs& in, resolved_settings& r) {
  if (!in.has_skip_layers) return refusal::none;
  const heterogeneous_block_size aligned =
      align_heterogeneous_kv_block_size(r.block_size, r.mamba_page_size_padded, in);
  if (aligned.reason != refusal::none) return aligned.reason;
  r.block_size = aligned.block_size;
  r.skip_page_size_padded = aligned.skip_page_size_padded;
  r.mamba_page_size_padded = aligned.mamba_page_size_padded;
  return refusal::none;
}

/// update_block_size_for_backend on the worker of one stage: by the backends of the layers that it has.
[[nodiscard]] constexpr refusal resolve_block_sizes(const model& m, const settings& s, bool has_skip_layers,
                                                    const backend_context& context, const used_classes& used,
                                                    const distinct_backends& backends, resolved_settings& r) {
  r.block_size = s.block_size.value_or(default_block_size);
  r.mamba_block_size = r.enable_prefix_caching ? s.mamba_block_size.value_or(r.block_size) : r.max_model_len;
  r.mamba_page_size_padded = r.skip_page_size_padded = 0;
  if (backends.empty()) return refusal::none;
  if (!s.block_size) r.block_size = preferred_block_size_for_backends(backends, context).block_size;
  const std::uint64_t before = r.block_size;
  block_size_inputs in{context,   backends[0],    1, r.cache_dtype, context.num_kv_heads, m.head_size,
                       m.use_mla, has_skip_layers};
  for (const attention_backend b : backends) {
    in.backend_alignment = lcm(in.backend_alignment, model_kernel_block_sizes(b, context).smallest()).value();
  }
  if (const refusal reason = align_to_states(m, s, used, in, r); reason != refusal::none) return reason;
  if (const refusal reason = align_to_skipped_layers(in, r); reason != refusal::none) return reason;
  if (r.block_size == before) return refusal::none;
  for (const attention_backend b : backends) {
    if (!model_kernel_block_sizes(b, context).supports(r.block_size)) return refusal::aligned_block_size_rejected;
  }
  return refusal::none;
}

/// Whether two stages came to the same sizes.
[[nodiscard]] constexpr bool same_block_sizes(const resolved_settings& a, const resolved_settings& b) noexcept {
  return a.block_size == b.block_size && a.mamba_block_size == b.mamba_block_size &&
         a.mamba_page_size_padded == b.mamba_page_size_padded && a.skip_page_size_padded == b.skip_page_size_padded;
}

/// The specs of all layers. Every stage settles the block size by its own layers; mostly all come to the same one.
[[nodiscard]] constexpr refusal add_specs(const model& m, const settings& s, bool has_skip_layers,
                                          const backend_context& context, const used_classes& used, cache_plan& p) {
  resolved_settings of_stage = p.resolved;
  const auto add = [&](std::size_t i, const layer_set& layers) {
    const spec_choice choice = get_kv_cache_spec(m.classes[used[i].index], used[i], m, s, of_stage, context);
    if (choice.reason != refusal::none) return choice.reason;
    layer_set set = layers;
    set.spec = choice.spec;
    set.origins = std::uint64_t{1} << i;
    p.used_class_of[used[i].index][used[i].skipped ? 1 : 0] = static_cast<std::uint8_t>(i);
    return add_layers(p.groups.specs, set) ? refusal::none : refusal::too_many_kinds_of_layers;
  };
  bool alike = true;
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    distinct_backends backends;
    for (const std::uint8_t i : classes_of_stage(used, stage)) add_distinct(backends, used[i].backend);
    const refusal reason = resolve_block_sizes(m, s, has_skip_layers, context, used, backends, of_stage);
    if (reason != refusal::none) return reason;
    if (stage == 0) p.resolved = of_stage;
    alike = alike && same_block_sizes(p.resolved, of_stage);
  }
  if (alike) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (const refusal reason = add(i, used[i].set); reason != refusal::none) return reason;
    }
    return refusal::none;
  }
  for (std::uint32_t stage = 0; stage < s.pipeline_parallel_size; ++stage) {
    const stage_classes classes = classes_of_stage(used, stage);
    distinct_backends backends;
    for (const std::uint8_t i : classes) add_distinct(backends, used[i].backend);
    if (const refusal reason = resolve_block_sizes(m, s, has_skip_layers, context, used, backends, of_stage);
        reason != refusal::none) {
      return reason;
    }
    for (const std::uint8_t i : classes) {
      layer_set layers;
      layers.num_layers = layers.per_stage[stage] = used[i].set.per_stage[stage];
      if (const refusal reason = add(i, layers); reason != refusal::none) return reason;
    }
  }
  return refusal::none;
}

/// What the backends ask of the memory order.
struct layout_demands {
  bool heads_first = false, only_tokens_first = false, packed = false;
  friend constexpr bool operator==(const layout_demands&, const layout_demands&) noexcept = default;
};
[[nodiscard]] constexpr layout_demands layout_demands_of(const distinct_backends& backends, const device& d) noexcept {
  using enum attention_backend;
  layout_demands asked;
  for (const attention_backend b : backends) {
    asked.heads_first =
        asked.heads_first || (d.major == 10 && (b == flashinfer || b == triton_flashinfer || b == minimax_m3_sparse));
    asked.only_tokens_first = asked.only_tokens_first || b == turboquant || b == flex_attention;
    asked.packed = asked.packed || b == deepseek_v4_indexer;
  }
  return asked;
}

/// v1/attention/backends/utils.py: get_supported_kv_cache_layouts and resolve_kv_cache_layout.
[[nodiscard]] constexpr refusal resolve_layout(const distinct_backends& backends, const layer_sets& sets,
                                               const device& d, kv_cache_layout& layout) {
  const auto [heads_first, only_tokens_first, packed] = layout_demands_of(backends, d);
  if (heads_first && only_tokens_first) return refusal::no_common_layout;
  layout = packed ? kv_cache_layout::blhnc : heads_first ? kv_cache_layout::lbhnc : kv_cache_layout::lbnhc;
  bool sharded = false, replicated = false, one_page_size = true;
  for (const layer_set& set : sets) {
    if (set.spec.is_attention()) (set.spec.dcp_sharded ? sharded : replicated) = true;
    one_page_size = one_page_size && set.spec.page_size_bytes() == sets[0].spec.page_size_bytes();
  }
  if (sharded && replicated && !one_page_size && !packed) {
    if (only_tokens_first) return refusal::no_common_layout;
    layout = heads_first ? kv_cache_layout::blhnc : kv_cache_layout::blnhc;
  }
  return refusal::none;
}

}  // namespace kvbudget::detail::vllm
