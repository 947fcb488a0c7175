// The cache that one layer asks for.
//
// Source: get_kv_cache_spec of the layers' classes (named at each role), in model_executor/layers and models.
#pragma once

#include <kvbudget/engines/vllm/used_classes.hpp>

namespace kvbudget::detail::vllm {

/// config/vllm.py:num_prefill_lookahead_tokens less one: what a draft of several MTP modules may read again below the
/// window.
[[nodiscard]] constexpr std::uint64_t extra_retained_tokens(const settings& s) noexcept {
  if (s.speculative_method != speculative_method::mtp || !s.rules().retains_tokens_for_drafts()) return 0;
  const std::uint64_t modules = s.num_nextn_predict_layers;
  const std::uint64_t tokens = s.num_speculative_tokens;
  return (modules < tokens ? modules : tokens) > 1 ? tokens - 1 : 0;
}

struct spec_choice {
  kv_cache_spec spec;
  refusal reason = refusal::none;
};

/// A layer with all that its spec follows.
struct spec_question {
  const layer_class& layer;
  const used_class& used;
  const model& m;
  const settings& s;
  const resolved_settings& r;
  const backend_context& context;
};

/// layers/attention/attention.py and its kin: K and V by head. A window's pages hold what fits into a full layer's.
constexpr void add_heads(const spec_question& q, const kernel_block_sizes& sizes, kv_cache_spec& spec) {
  spec.num_kv_heads = heads_per_rank(q.layer.num_kv_heads, q.s.tensor_parallel_size);
  const page_packing packing =
      pack(q.used.backend, q.used.cache_dtype, spec.num_kv_heads, spec.head_size, spec.head_size_v, spec.element_bytes);
  spec.num_heads = packing.num_heads;
  spec.cell_bytes = packing.cell_bytes.value();
  if (q.layer.role == layer_role::chunked_attention) {
    spec.kind = spec_kind::chunked_local_attention;
    spec.attention_chunk_size = q.layer.window;
  } else if (q.layer.role == layer_role::cross_attention) {
    spec.kind = spec_kind::cross_attention;
  } else if (q.layer.window != 0 && q.layer.role != layer_role::minimax_m3_sparse) {
    spec.kind = spec_kind::sliding_window;
    spec.sliding_window = q.layer.window;
    const std::uint64_t per_token = packing.token_bytes().value();
    const std::uint64_t padded = q.r.skip_page_size_padded;
    const std::uint64_t budget = padded != 0 ? padded : (checked_count(per_token) * q.r.block_size).value();
    spec.block_size = sizes.largest_within(budget, per_token);
    spec.page_size_padded = padded;
  }
}

/// One row of `cell_bytes` a token, the same on every tensor-parallel rank.
constexpr void set_row(kv_cache_spec& spec, std::uint64_t cell_bytes, spec_kind kind) noexcept {
  spec.kind = kind;
  spec.head_size_v = 0;
  spec.cell_bytes = cell_bytes;
  spec.one_tp_shard = true;
}

/// layers/attention/mla_attention.py.
constexpr void add_latent(const spec_question& q, kv_cache_spec& spec) {
  using enum attention_backend;
  const attention_backend backend = q.used.backend;
  std::uint64_t cell = (checked_count(q.layer.head_size) * spec.element_bytes).value();
  if (q.used.cache_dtype == cache_dtype::fp8_ds_mla) cell = 656;
  if (q.used.cache_dtype == cache_dtype::nvfp4_ds_mla) cell = 352;
  set_row(spec, cell, q.layer.window != 0 ? spec_kind::sliding_window_mla : spec_kind::mla_attention);
  spec.sliding_window = q.layer.window;
  spec.is_index_group_leader = q.layer.has_indexer;
  if (backend == flash_attn_mla_sparse || backend == flashinfer_mla_sparse_sm90) spec.stride_alignment = cell;
  if (backend == flashinfer_mla_sparse) spec.stride_alignment = (checked_count(32U) * cell).value();
  if (backend != flashmla_sparse) return;
  if (q.s.device.major == 10 || !is_quantized(q.used.cache_dtype)) spec.stride_alignment = cell;
  else spec.stride_kernel_block = 64;
}

/// Rows of a fixed form: bytes of a row, with 4 bytes of scale for 128 bytes of an indexer's keys.
struct row_form {
  layer_role role;
  spec_kind kind;
  std::uint32_t cell_bytes, bytes_per_element, scale_bytes_per_128;
  std::uint32_t page_alignment, block_size;  ///< block_size 0: that of the model
  std::uint8_t cache_role, model_version;
  bool one_tp_shard;
  bool compressed;  ///< one row for compress_ratio tokens
};
// clang-format off
inline constexpr row_form row_forms[] = {
    {layer_role::dsa_indexer, spec_kind::mla_attention, 0, 1, 4, 0, 0, 1, 0, true, false},
    {layer_role::minimax_m3_indexer, spec_kind::mla_attention, 0, 2, 0, 0, 0, 1, 0, false, false},
    {layer_role::deepseek_v4_mla, spec_kind::mla_attention, 584, 0, 0, 576, 0, 0, 1, true, true},
    {layer_role::deepseek_v4_indexer, spec_kind::mla_attention, 0, 1, 4, 576, 0, 0, 0, true, true},
    {layer_role::deepseek_v4_swa, spec_kind::sliding_window_mla, 584, 0, 0, 576, 64, 0, 1, true, false},
};
// clang-format on
constexpr void add_row(const spec_question& q, kv_cache_spec& spec) {
  for (const row_form& form : row_forms) {
    if (form.role != q.layer.role) continue;
    const std::uint64_t elements = q.layer.head_size;
    set_row(spec, form.cell_bytes + elements * form.bytes_per_element + elements / 128 * form.scale_bytes_per_128,
            form.kind);
    spec.page_alignment = form.page_alignment;
    if (form.block_size != 0) spec.block_size = form.block_size;
    spec.cache_role = form.cache_role;
    spec.model_version = form.model_version;
    spec.one_tp_shard = form.one_tp_shard;
    if (form.compressed) spec.tokens_per_state = q.layer.compress_ratio;
    if (form.kind == spec_kind::sliding_window_mla) spec.sliding_window = q.layer.window;
  }
}

/// models/deepseek_v4/compressor.py: two rows of float32, kv and gate, for each position; twice that where neighbouring
/// groups overlap.
constexpr void add_compressor_states(const spec_question& q, kv_cache_spec& spec) {
  const std::uint64_t ratio = q.layer.compress_ratio;
  const std::uint64_t overlap = ratio == 4 ? 2 : 1;
  set_row(spec, (checked_count(2 * overlap) * q.layer.head_size * checked_count(4U)).value(),
          spec_kind::sliding_window_mla);
  spec.page_alignment = 576;
  spec.block_size = ratio == 4 ? 4 : 8;
  spec.sliding_window = overlap * ratio;
  spec.cache_dtype = cache_dtype::automatic;
}

/// Prefill keeps one more state of these kinds; FlashKDA runs on some devices alone.
[[nodiscard]] constexpr bool checkpoints_prefill(const spec_question& q) noexcept {
  const state_shape& state = q.layer.state;
  const std::uint32_t major = q.s.device.major;
  const bool flash_kda =
      state.flash_kda && q.m.dtype == state_dtype::bfloat16 && (major == 9 || major == 10 || major == 12);
  const bool delta_net = state.kind == state_kind::gated_delta_net && q.s.rules().delta_nets_align_to_64();
  return delta_net || ((state.kind == state_kind::mamba2 || flash_kda) && q.s.rules().prefill_checkpoints());
}

/// layers/mamba/abstract.py, with the types of layers/mamba/mamba_utils.py (MambaStateDtypeCalculator).
[[nodiscard]] constexpr spec_choice recurrent_spec(const spec_question& q) {
  const settings& s = q.s;
  spec_choice result;
  const std::uint64_t conv =
      element_bytes(s.mamba_cache_dtype == state_dtype::automatic ? q.m.dtype : s.mamba_cache_dtype);
  state_dtype ssm = s.mamba_ssm_cache_dtype == state_dtype::automatic ? q.m.ssm_dtype : s.mamba_ssm_cache_dtype;
  if (q.layer.state.kind == state_kind::kda) {
    if (ssm == state_dtype::automatic) ssm = state_dtype::float32;
    if (ssm == state_dtype::float16) result.reason = refusal::kda_state_dtype;
  }
  const std::uint64_t ssm_bytes = ssm == state_dtype::automatic ? conv : element_bytes(ssm);
  const state_size size = state_bytes(q.layer.state, s.tensor_parallel_size, s.num_speculative_tokens, conv, ssm_bytes);
  if (size.reason != refusal::none) result.reason = size.reason;
  kv_cache_spec& spec = result.spec;
  spec.kind = spec_kind::mamba;
  spec.block_size = q.r.mamba_block_size;
  spec.page_size_padded = q.r.mamba_page_size_padded;
  spec.state = q.layer.state;
  spec.state_bytes = size.bytes.value();
  spec.num_speculative_blocks = s.num_speculative_tokens;
  spec.num_prefill_checkpoint_blocks = checkpoints_prefill(q) ? 1 : 0;
  return result;
}

[[nodiscard]] constexpr spec_choice attention_spec(const spec_question& q) {
  spec_choice result;
  kv_cache_spec& spec = result.spec;
  spec.block_size = q.r.block_size;
  spec.dcp_sharded = !q.layer.replicated_under_dcp;
  spec.head_size = q.layer.head_size;
  spec.head_size_v = q.layer.head_size_v != 0 ? q.layer.head_size_v : q.layer.head_size;
  spec.num_kv_heads = 1;
  spec.cache_dtype = q.used.cache_dtype;
  spec.element_bytes = element_bytes(q.used.cache_dtype, q.m.dtype);
  const kernel_block_sizes sizes =
      get_supported_kernel_block_sizes(q.used.backend, q.context, spec.head_size, spec.head_size_v, q.used.cache_dtype);
  if (!sizes.is_multiple()) spec.stride_kernel_block = sizes.largest();
  const layer_role role = q.layer.role;
  if (is_divided_by_heads(role)) add_heads(q, sizes, spec);
  else if (role == layer_role::mla || role == layer_role::sparse_mla) add_latent(q, spec);
  else if (role == layer_role::deepseek_v4_compressor) add_compressor_states(q, spec);
  else add_row(q, spec);
  if (!spec.is_sliding()) return result;
  spec.extra_retained_tokens = extra_retained_tokens(q.s);
  if (spec.dcp_sharded && q.s.decode_context_parallel_size > 1) result.reason = refusal::dcp_with_sliding_window;
  return result;
}

/// get_kv_cache_spec of the layer's class.
[[nodiscard]] constexpr spec_choice get_kv_cache_spec(const layer_class& layer, const used_class& used, const model& m,
                                                      const settings& s, const resolved_settings& r,
                                                      const backend_context& c) {
  const spec_question q{layer, used, m, s, r, c};
  spec_choice result = layer.role == layer_role::recurrent ? recurrent_spec(q) : attention_spec(q);
  if (result.spec.page_size_bytes() == checked_count(0U)) result.reason = refusal::page_of_no_bytes;
  return result;
}

}  // namespace kvbudget::detail::vllm
