// What llama.cpp refuses when it creates a context.
//
// Source: llama.cpp 0.5.0-dev, src/llama-context.cpp (llama_init_from_model, llama_context).
#pragma once

#include <kvbudget/engines/llama_cpp/memory.hpp>

namespace kvbudget::detail::llama_cpp {

[[nodiscard]] constexpr bool is_quantized(storage_type t) noexcept { return t.block_elements > 1; }

/// The model, before there is a context.
[[nodiscard]] constexpr refusal refusal_of_loading(const hparams& h, const settings& s) noexcept {
  if (s.split == split_mode::tensor && !h.architecture->split_mode_tensor) {
    return {refusal_reason::split_mode_tensor_unsupported};
  }
  if (h.refused) return h.refused;
  const bool one_gpu = s.split == split_mode::none && s.devices > 0 && s.main_gpu >= 0;
  if (one_gpu && static_cast<std::uint32_t>(s.main_gpu) >= s.devices) return {refusal_reason::main_gpu_out_of_range};
  return {};
}

/// Blocks of a quantized type must divide the heads of every layer, where flash attention reads them.
[[nodiscard]] constexpr refusal refusal_of_heads(const hparams& h, storage_type t, refusal_reason why,
                                                 std::uint32_t (hparams::*head_of)(std::uint32_t) const noexcept) {
  if (!is_quantized(t)) return {};
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    const std::uint32_t head = (h.*head_of)(il);
    if (head % t.block_elements != 0) return {why, t.block_elements, head};
  }
  return {};
}

/// The types of the cache, and whether flash attention is there for them.
[[nodiscard]] constexpr refusal refusal_of_types(const hparams& h, const settings& s) noexcept {
  const bool flash = may_use_flash_attention(h, s);
  if (s.split == split_mode::tensor && !flash) return {refusal_reason::split_mode_tensor_needs_flash_attn};
  const bool one_type = h.is_mla || h.architecture->memory == memory_kind::dsv4;
  if (one_type && !(s.type_k == s.type_v)) return {refusal_reason::different_kv_types};
  if (!flash) return is_quantized(s.type_v) ? refusal{refusal_reason::quantized_v_needs_flash_attn} : refusal{};
  const refusal of_k =
      refusal_of_heads(h, s.type_k, refusal_reason::k_block_does_not_divide_head, &hparams::n_embd_head_k);
  if (of_k) return of_k;
  return refusal_of_heads(h, s.type_v, refusal_reason::v_block_does_not_divide_head, &hparams::n_embd_head_v);
}

/// What kind of context it is, and for how many sequences.
[[nodiscard]] constexpr refusal refusal_of_context(const hparams& h, const settings& s) noexcept {
  if (s.ctx_type == context_type::mtp && (h.n_layer_nextn == 0 || h.router_layer)) {
    return {refusal_reason::no_mtp_layers};
  }
  if (s.n_seq_max > max_sequences) return {refusal_reason::n_seq_max_too_large};
  if (h.architecture->needs_target_context) return {refusal_reason::needs_target_context};
  const std::uint64_t outputs = context_of(h, s).n_outputs_max;
  if (s.n_seq_max > outputs || outputs == 0) {
    return {refusal_reason::n_seq_max_over_outputs, 0, static_cast<std::uint32_t>(outputs)};
  }
  if (s.split == split_mode::tensor) return {refusal_reason::split_mode_tensor_not_computed};
  return {};
}

/// The checks in the engine's order.
[[nodiscard]] constexpr refusal refusal_of(const hparams& h, const settings& s) noexcept {
  if (const refusal r = refusal_of_loading(h, s)) return r;
  if (s.n_batch == 0 && s.n_ubatch == 0) return {refusal_reason::no_batch};
  if (s.n_ctx == 0 && h.n_ctx_train == 0) return {refusal_reason::no_context_length};
  if (const refusal r = refusal_of_types(h, s)) return r;
  return refusal_of_context(h, s);
}

}  // namespace kvbudget::detail::llama_cpp
