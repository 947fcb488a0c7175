// Why llama.cpp refuses, in words.
#pragma once

#include <string>
#include <string_view>

#include <kvbudget/engines/llama_cpp/cache_types.hpp>
#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace kvbudget::detail::llama_cpp {

/// The engine's message where it has one. What stands in braces is a number or a name of the case at hand.
struct refusal_words {
  refusal_reason reason;
  std::string_view words;
};
inline constexpr refusal_words refusals[] = {
    {refusal_reason::none, ""},
    {refusal_reason::block_count_out_of_range, "block_count {block_count} is not between 1 and 512"},
    {refusal_reason::nextn_layers_exceed_block_count, "nextn_predict_layers exceeds block_count"},
    {refusal_reason::missing_key, "key not found in model: {key}"},
    {refusal_reason::wrong_type, "key {key} has wrong type {found} but expected type {expected}"},
    {refusal_reason::wrong_array_length, "key {key} has wrong array length"},
    {refusal_reason::unusable_value, "key {key} is {head}, with which the engine does not load the model"},
    {refusal_reason::no_layer_slides, "the model has a sliding window, and no layer that uses it"},
    {refusal_reason::shared_layer_has_no_source,
     "layers that share K and V find no layer of their kind to share with (an assertion of the engine)"},
    {refusal_reason::no_context_length, "n_ctx and the model's context length cannot both be zero"},
    {refusal_reason::no_batch, "n_batch and n_ubatch cannot both be zero"},
    {refusal_reason::n_seq_max_too_large, "n_seq_max must be <= 256"},
    {refusal_reason::n_seq_max_over_outputs,
     "n_seq_max {n_seq_max} exceeds the {head} outputs of a batch (n_batch): "
     "GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max)"},
    {refusal_reason::different_kv_types, "model does not support different K ({type_k}) and V ({type_v}) cache types"},
    {refusal_reason::quantized_v_needs_flash_attn, "quantized V cache requires flash_attn to be enabled"},
    {refusal_reason::k_block_does_not_divide_head,
     "K cache type {type_k} with block size {block} does not divide n_embd_head_k={head}"},
    {refusal_reason::v_block_does_not_divide_head,
     "V cache type {type_v} with block size {block} does not divide n_embd_head_v={head}"},
    {refusal_reason::row_is_not_whole_blocks,
     "a cache row of {head} elements is no whole number of blocks of {block} (an assertion of ggml)"},
    {refusal_reason::no_mtp_layers, "context type MTP requested but model doesn't contain MTP layers"},
    {refusal_reason::main_gpu_out_of_range, "invalid value for main_gpu: {main_gpu} (available devices: {devices})"},
    {refusal_reason::split_mode_tensor_unsupported,
     "LLAMA_SPLIT_MODE_TENSOR not implemented for architecture '{architecture}'"},
    {refusal_reason::split_mode_tensor_needs_flash_attn, "SPLIT_MODE_TENSOR requires flash_attn to be enabled"},
    {refusal_reason::split_mode_tensor_not_computed, "split_mode tensor is not computed"},
    {refusal_reason::needs_target_context, "architecture '{architecture}' requires ctx_other to be set"},
};

/// The engine's reason, in the words of its own message where it has one.
[[nodiscard]] inline std::string describe(const refusal& r, const hparams& h, const settings& s) {
  const std::string architecture(h.architecture->name);
  const std::pair<std::string_view, std::string> facts[] = {
      {"{architecture}", architecture},
      {"{key}", architecture + "." + std::string(r.key)},
      {"{found}", std::string(r.found)},
      {"{expected}", std::string(r.expected)},
      {"{head}", std::to_string(r.head)},
      {"{block}", std::to_string(r.block)},
      {"{block_count}", std::to_string(h.block_count)},
      {"{type_k}", type_name(s.type_k)},
      {"{type_v}", type_name(s.type_v)},
      {"{n_seq_max}", std::to_string(s.n_seq_max)},
      {"{main_gpu}", std::to_string(s.main_gpu)},
      {"{devices}", std::to_string(s.devices)},
  };
  std::string said;
  for (const refusal_words& row : refusals) {
    if (row.reason == r.reason) said = row.words;
  }
  for (const auto& [name, fact] : facts) {
    if (const std::size_t at = said.find(name); at != said.npos) said.replace(at, name.size(), fact);
  }
  return said;
}

}  // namespace kvbudget::detail::llama_cpp
