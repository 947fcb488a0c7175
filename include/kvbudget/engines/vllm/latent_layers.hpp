// Layers of latent attention, with indexers, compressed rows, or linear attention beside them.
//
// Sources: model_executor/models and models/ of vLLM 0.32.0 (the file is named at each function).
#pragma once

#include <kvbudget/engines/vllm/recurrent_layers.hpp>

namespace kvbudget::detail::vllm {

inline void set_mla(model_builder& b) {
  model& m = b.out.model;
  m.use_mla = true;
  m.kv_lora_rank = b.f.required("kv_lora_rank", 1);
  m.head_size = b.elements(std::uint64_t{m.kv_lora_rank} + m.qk_rope_head_dim, 1);
}
[[nodiscard]] inline layer_class mla_layer(const model_builder& b) {
  layer_class layer;
  layer.role = layer_role::mla;
  layer.head_size = b.out.model.head_size;
  return layer;
}

/// model_executor/layers/mamba/kda: three convolutions, and a state of head_dim x head_dim for each head.
[[nodiscard]] inline state_shape kda_state(const model_builder& b, const node& linear) {
  const auto field = [&](std::string_view name, std::uint64_t other) {
    const auto value = linear.count(name, 1);
    if (!value && other == 0) linear.fail_missing(name, "a whole number");
    return value.value_or(other);
  };
  state_shape s;
  s.kind = state_kind::kda;
  const std::uint64_t head_dim = field("head_dim", 0);
  s.num_heads = static_cast<std::uint32_t>(field("num_heads", 0));
  s.conv_dim = b.elements(3, b.elements(s.num_heads, head_dim));
  s.conv_kernel = static_cast<std::uint32_t>(field("short_conv_kernel_size", 4));
  s.head_elements = b.elements(head_dim, head_dim);
  s.flash_kda = linear.boolean("use_full_rank_gate").value_or(false) && linear.find("gate_lower_bound") != nullptr &&
                head_dim == 128;
  return s;
}
/// models/kimi_k3 (Kimi-Linear too): KDA where linear_attn_config lists the layer (counted from 1), else MLA.
inline void read_kimi_linear(model_builder& b) {
  set_hybrid(b);
  set_mla(b);
  const std::optional<node> linear = b.f.object("linear_attn_config");
  std::vector<char> is_kda(std::size_t{b.layers()} + 1, 0);
  const std::optional<node> listed = linear ? linear->array("kda_layers") : std::nullopt;
  for (std::size_t i = 0; listed && i < listed->value().size(); ++i) {
    const std::uint64_t at = config_fields::number(*listed, i);
    if (at < is_kda.size()) is_kda[at] = 1;
  }
  state_shape s;
  if (linear) s = kda_state(b, *linear);
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(is_kda[i + 1] != 0 ? b.recurrent(s) : mla_layer(b), i);
}

/// models/deepseek_v2.py; models/longcat_flash.py has two attention modules in every layer.
inline void read_deepseek_mla(model_builder& b) {
  set_mla(b);
  const std::uint32_t modules = b.reading == reading::longcat_flash ? 2 : 1;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    for (std::uint32_t k = 0; k < modules; ++k) b.add(mla_layer(b), i);
  }
}

/// models/deepseek_v32/attention.py: an indexer's keys beside the latent, where the layer does not share another's.
inline void add_sparse_mla(model_builder& b, std::uint32_t i, bool has_indexer) {
  if (has_indexer) {
    layer_class indexer;
    indexer.role = layer_role::dsa_indexer;
    indexer.head_size = b.f.required("index_head_dim", 1);
    b.add(indexer, i);
  }
  layer_class layer = mla_layer(b);
  layer.role = layer_role::sparse_mla;
  layer.has_indexer = has_indexer;
  b.add(layer, i);
}
/// index_topk_pattern: "S" where the layer takes the picks of one before it.
[[nodiscard]] inline bool shares_index(const node& pattern, std::uint32_t i) {
  const json& value = pattern.value();
  if (value.is_array()) return i < value.size() && config_fields::word(pattern, i) == "S";
  if (!value.is_string()) return false;
  const std::string& letters = value.get_ref<const std::string&>();
  return i < letters.size() && letters[i] == 'S';
}
inline void read_deepseek_dsa(model_builder& b) {
  set_mla(b);
  b.out.model.dtype_rule =
      b.f.model_type() == "glm_moe_dsa" ? cache_dtype_rule::glm_moe_dsa : cache_dtype_rule::deepseek_v32;
  const std::optional<node> shares = b.f.field("index_topk_pattern");
  const std::uint32_t frequency = b.f.count_or("index_topk_freq", 1, 1);
  const std::uint32_t offset = b.f.count_or("index_skip_topk_offset", 2);
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const std::uint32_t past = i + 1 > offset ? i + 1 - offset : 0;
    const bool skips = shares ? shares_index(*shares, i) : past % frequency != 0;
    add_sparse_mla(b, i, !skips);
  }
}

/// models/deepseek_v4: for every layer a window's rows; compressed rows and the states of their compressor where the
/// layer's ratio is above 1; and an indexer with a compressor of its own where it is 4.
inline void add_deepseek_v4(model_builder& b, std::uint32_t i, std::uint32_t ratio) {
  const std::uint32_t head_dim = b.out.model.head_size;
  layer_class layer;
  layer.head_size = head_dim;
  layer.compress_ratio = ratio;
  if (ratio == 4) {
    const std::uint32_t index_head_dim = b.f.required("index_head_dim", 1);
    layer_class indexer = layer;
    indexer.head_size = index_head_dim;
    indexer.role = layer_role::deepseek_v4_indexer;
    b.add(indexer, i);
    indexer.role = layer_role::deepseek_v4_compressor;
    b.add(indexer, i);
  }
  layer.role = layer_role::deepseek_v4_swa;
  layer.compress_ratio = 1;
  layer.window = b.f.required("sliding_window", 1);
  b.add(layer, i);
  if (ratio <= 1) return;
  layer.compress_ratio = ratio;
  layer.window = 0;
  layer.role = layer_role::deepseek_v4_mla;
  b.add(layer, i);
  layer.role = layer_role::deepseek_v4_compressor;
  b.add(layer, i);
}
inline void read_deepseek_v4(model_builder& b) {
  b.out.model.use_mla = true;
  b.out.model.dtype_rule = cache_dtype_rule::deepseek_v4;
  b.out.model.head_size = b.f.required("head_dim", 1);
  const std::optional<node> ratios = b.f.array("compress_ratios");
  if (!ratios) b.f.text().fail_missing("compress_ratios", "an array of whole numbers");
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const std::uint64_t ratio = std::max<std::uint64_t>(1, config_fields::number(*ratios, i));
    if (ratio != 1 && ratio != 4 && ratio != 128) ratios->child(i).fail("not a known compression", "0, 1, 4 or 128");
    add_deepseek_v4(b, i, static_cast<std::uint32_t>(ratio));
  }
}

}  // namespace kvbudget::detail::vllm
