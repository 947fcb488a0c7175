// The shapes of a whole model, from which vLLM derives block sizes, and what its configuration classes check.
//
// Source: transformers_utils/model_arch_config_convertor.py of vLLM 0.32.0.
#pragma once

#include <kvbudget/engines/vllm/model_builder.hpp>

namespace kvbudget::detail::vllm {

/// The first of these fields that the config has.
template <std::size_t N>
[[nodiscard]] std::optional<std::uint32_t> first_count(const config_fields& f, const std::string_view (&names)[N],
                                                       std::uint64_t highest = config::max_field_value) {
  for (const std::string_view name : names) {
    if (const auto n = f.count(name, 1, highest)) return static_cast<std::uint32_t>(*n);
  }
  return std::nullopt;
}

inline constexpr std::string_view layer_fields[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                                    "decoder_layers"};
inline constexpr std::string_view decoder_layer_fields[] = {"decoder_layers"};
inline constexpr std::string_view head_fields[] = {"num_attention_heads", "n_head", "decoder_attention_heads",
                                                   "n_heads"};
inline constexpr std::string_view kv_head_fields[] = {"n_head_kv", "num_kv_heads", "num_key_value_heads",
                                                      "multi_query_group_num", "num_attention_groups"};
inline constexpr std::string_view width_fields[] = {"hidden_size", "n_embd", "d_model"};

inline void read_kv_heads(model_builder& b) {
  model& m = b.out.model;
  m.num_kv_heads = first_count(b.f, kv_head_fields).value_or(m.num_attention_heads);
  // What these classes make of its absence: one head, or nothing that vLLM takes.
  if (b.f.count("num_key_value_heads")) return;
  if (b.f.class_model_type() == "gpt_bigcode" && b.f.flag("multi_query", true)) m.num_kv_heads = 1;
  if (b.f.class_model_type() == "nemotron") b.refuse("num_key_value_heads is not a whole number");
}

[[noreturn]] inline void fail_width(const config_fields& f) {
  std::string_view stated = width_fields[0];
  for (const std::string_view name : width_fields) {
    if (f.in_file(name)) stated = name;
  }
  f.fail(stated, "less than one element a head", "num_attention_heads or more");
}

/// head_dim, else the width divided by the heads; some classes divide whatever head_dim says.
inline void read_head_size(model_builder& b) {
  model& m = b.out.model;
  m.head_size = b.f.count_or("head_dim", 0);
  if (m.head_size != 0 && (b.flags & ignores_head_dim) == 0) return;
  const std::optional<std::uint32_t> width = first_count(b.f, width_fields);
  if (!width && m.head_size == 0) b.f.text().fail_missing("hidden_size", "a whole number");
  const std::uint32_t size = width.value_or(0) / m.num_attention_heads;
  if (m.head_size == 0) m.head_size = size;
  else if (width) b.layer_head_size = size;
  if (m.head_size == 0) fail_width(b.f);
  b.f.derived("head_dim", size, "hidden_size / num_attention_heads");
}

/// The shapes of the whole model.
inline void read_shape(model_builder& b) {
  model& m = b.out.model;
  const auto layers = b.reading == reading::whisper ? first_count(b.f, decoder_layer_fields, max_layers)
                                                    : first_count(b.f, layer_fields, max_layers);
  b.num_hidden_layers = layers.value_or(0);
  m.is_attention_free = b.reading == reading::mamba1 || b.reading == reading::mamba2;
  if (!m.is_attention_free) {
    m.num_attention_heads = first_count(b.f, head_fields).value_or(0);
    if (m.num_attention_heads == 0) b.f.text().fail_missing("num_attention_heads", "a whole number");
    read_kv_heads(b);
    read_head_size(b);
  }
  m.logits_soft_cap = b.f.field("attn_logit_softcapping").has_value();
  m.has_index_topk = b.f.count("index_topk").has_value();
  m.qk_nope_head_dim = b.f.count_or("qk_nope_head_dim", 0);
  m.qk_rope_head_dim = b.f.count_or("qk_rope_head_dim", 0);
  m.kv_lora_rank = b.f.count_or("kv_lora_rank", 0);
}

/// One number of heads for all layers of ordinary attention.
[[nodiscard]] constexpr bool has_one_shape(reading r) noexcept {
  using enum reading;
  return r != mimo_v2 && r != step3p5 && r != nemotron_nas && r != falcon && r != dbrx && r != whisper &&
         r != deepseek_mla && r != longcat_flash && r != deepseek_dsa && r != deepseek_v4 && r != kimi_linear;
}

/// validate_architecture of the configuration classes, and layers/attention/attention.py.
inline void check_heads(model_builder& b) {
  const model& m = b.out.model;
  if (has_one_shape(b.reading) && m.num_kv_heads != 0 && m.num_attention_heads % m.num_kv_heads != 0) {
    b.refuse("num_attention_heads is not a multiple of num_key_value_heads");
  }
  for (const std::string_view type : {"arcee", "aria_text", "cwm", "deepseek_v2", "gemma2", "gemma3_text",
                                      "gemma3n_text", "gpt_neox", "hyperclovax", "llama", "vaultgemma"}) {
    if (b.f.class_model_type() != type) continue;
    const auto width = b.f.field("hidden_size");
    if (width && width->count() % std::max(m.num_attention_heads, 1U) != 0)
      b.refuse("hidden_size is not a multiple of num_attention_heads");
  }
}

}  // namespace kvbudget::detail::vllm
