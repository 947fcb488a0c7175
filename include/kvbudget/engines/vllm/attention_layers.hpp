// Layers of ordinary attention: alike, by layer_types, or with shapes of their own.
//
// Sources: model_executor/models and models/ of vLLM 0.32.0 (the file is named at each function).
#pragma once

#include <kvbudget/engines/vllm/model_builder.hpp>

namespace kvbudget::detail::vllm {

/// Classes that read layer_types give each layer its own window.
inline void read_dense(model_builder& b) {
  const bool typed = b.f.array("layer_types").has_value();
  const bool sinks = (b.flags & sinks_with_windows) != 0 && b.f.flag("attention_sinks", typed);
  const std::uint32_t window = (b.flags & by_layer_types) != 0 ? b.f.count_or("sliding_window", 0) : 0;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    layer_class layer = b.attention(b.is_sliding(i) ? window : 0);
    layer.sinks = sinks;
    b.add(layer, i);
  }
}
/// models/qwen2.py: Qwen2Model, and what is built on it.
inline void check_qwen2_windows(model_builder& b) {
  if (!b.types || b.types->empty()) return;
  bool mixed = false;
  for (const transformers::layer_kind kind : *b.types) mixed = mixed || kind != b.types->front();
  if (mixed && b.f.count("max_window_layers") != b.layers()) {
    b.refuse("a sliding window for some but all layers is not supported");
  }
}

/// models/falcon.py: num_kv_heads counts only in the new decoder; the model level's number is another one.
inline void read_falcon(model_builder& b) {
  model& m = b.out.model;
  m.head_size = static_cast<std::uint32_t>(b.f.required("hidden_size", 1) / m.num_attention_heads);
  const bool one_head = b.f.flag("multi_query", true);
  // transformers_utils/configs/falcon.py: the width tells the largest model of the older class.
  const bool largest = b.f.root_model_type().starts_with("RefinedWeb") && b.f.required("hidden_size", 1) == 8192;
  const bool new_decoder = largest || b.f.flag("new_decoder_architecture");
  if (!new_decoder && one_head) m.num_kv_heads = 1;
  layer_class layer = b.attention_outside_settings();
  if (!new_decoder && !one_head) layer.num_kv_heads = m.num_attention_heads;
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(layer, i);
}
/// models/deepseek.py.
inline void read_alike(model_builder& b) {
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(b.attention(), i);
}
/// models/dbrx.py.
inline void read_dbrx(model_builder& b) {
  model& m = b.out.model;
  if (const auto attn = b.f.object("attn_config")) {
    m.num_kv_heads = static_cast<std::uint32_t>(attn->count("kv_n_heads", 1).value_or(m.num_attention_heads));
  }
  read_alike(b);
}

/// models/commandr.py: the window counts the current position on top.
inline void read_cohere2(model_builder& b) {
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(b.attention(b.is_sliding(i) && window != 0 ? window + 1 : 0), i);
}

/// models/gpt_oss.py: every other layer slides, all have sinks; KV heads are never replicated.
inline void read_gpt_oss(model_builder& b) {
  b.out.model.needs_kv_head_per_rank = true;
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    layer_class layer = b.attention(i % 2 == 0 ? window : 0);
    layer.sinks = true;
    b.add(layer, i);
  }
}

/// models/gemma3n.py, models/gemma4.py: the last num_kv_shared_layers layers own nothing.
[[nodiscard]] inline std::uint32_t owning_layers(const model_builder& b) {
  const std::uint32_t shared = b.f.count_or("num_kv_shared_layers", 0);
  return shared < b.layers() ? b.layers() - shared : b.layers();
}
inline void read_gemma3n(model_builder& b) {
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  for (std::uint32_t i = 0; i < owning_layers(b); ++i) b.add(b.attention(b.is_sliding(i) ? window : 0), i);
}
inline void read_gemma4(model_builder& b) {
  model& m = b.out.model;
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  layer_class local = b.attention(window);
  layer_class global = b.attention();
  global.head_size = b.f.required("global_head_dim", 1);
  const bool shared_kv = b.f.flag("attention_k_eq_v");
  if (shared_kv) global.num_kv_heads = b.f.count_or("num_global_key_value_heads", local.num_kv_heads, 1);
  bool has_local = false, has_global = false;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const bool slides = b.is_sliding(i);
    (slides ? has_local : has_global) = true;
    if (i < owning_layers(b)) b.add(slides ? local : global, i);
  }
  // config/model_arch.py: the model-level numbers are the largest of all layers.
  if (has_global) {
    m.head_size = has_local ? std::max(local.head_size, global.head_size) : global.head_size;
    m.num_kv_heads = has_local ? std::max(local.num_kv_heads, global.num_kv_heads) : global.num_kv_heads;
  }
  m.mixed_head_sizes = has_local && has_global && local.head_size != global.head_size;
}

/// models/step3p5.py: layers of attention_other_setting's kind have shapes of their own.
inline void add_step3p5(model_builder& b, std::uint32_t first, std::uint32_t end) {
  const std::optional<node> types = b.f.array("layer_types");
  const std::optional<node> other = b.f.object("attention_other_setting");
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  for (std::uint32_t i = first; i < end; ++i) {
    const bool slides = types ? config_fields::word(*types, i) == "sliding_attention" : i % 2 == 0;
    layer_class layer = b.attention(slides ? window : 0);
    if (other && types && other->string("attention_type").value_or("") == config_fields::word(*types, i)) {
      layer.num_kv_heads =
          static_cast<std::uint32_t>(other->count("num_attention_groups", 1).value_or(layer.num_kv_heads));
      layer.head_size = static_cast<std::uint32_t>(other->count("head_dim", 1).value_or(layer.head_size));
    }
    b.add(layer, i);
  }
}

inline void read_step3p5(model_builder& b) { add_step3p5(b, 0, b.layers()); }

/// models/mimo_v2.py: K and V of different width, with a backend of their own.
[[nodiscard]] inline layer_class mimo_v2_layer(const model_builder& b, bool slides) {
  layer_class layer;
  layer.num_kv_heads =
      slides ? b.f.count_or("swa_num_key_value_heads", b.out.model.num_kv_heads, 1) : b.out.model.num_kv_heads;
  layer.head_size = slides ? b.f.count_or("swa_head_dim", b.out.model.head_size, 1) : b.out.model.head_size;
  const std::string_view v = slides ? "swa_v_head_dim" : "v_head_dim";
  layer.head_size_v = b.f.count_or(v, layer.head_size, 1);
  layer.window = slides ? b.f.count_or("sliding_window_size", b.f.count_or("sliding_window", 0)) : 0;
  layer.sinks = slides && b.f.flag("add_swa_attention_sink_bias");
  layer.role = layer.head_size == layer.head_size_v ? layer_role::attention : layer_role::diffkv_attention;
  return layer;
}
inline void read_mimo_v2(model_builder& b) {
  const std::optional<node> pattern = b.f.array("hybrid_layer_pattern");
  if (!pattern) b.f.text().fail_missing("hybrid_layer_pattern", "an array with 1 for each layer that slides");
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    b.add(mimo_v2_layer(b, config_fields::number(*pattern, i) == 1), i);
  }
}

/// models/llama4.py: layers with rope attend within chunks, where there are chunks.
inline void read_llama4(model_builder& b) {
  const std::vector<bool> rope = transformers::no_rope_flags(b.f.config(), b.layers());
  const std::uint32_t chunk = b.f.count_or("attention_chunk_size", 0);
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    layer_class layer = b.attention();
    if (rope[i] && chunk != 0) {
      layer.role = layer_role::chunked_attention;
      layer.window = chunk;
    }
    b.add(layer, i);
  }
}

/// models/whisper.py: self and cross attention in every decoder layer; the encoder keeps nothing.
inline void read_whisper(model_builder& b) {
  model& m = b.out.model;
  m.is_encoder_decoder = true;
  const std::uint32_t heads = b.f.required("decoder_attention_heads", 1);
  m.num_attention_heads = m.num_kv_heads = heads;
  m.head_size = static_cast<std::uint32_t>(b.f.required("d_model", 1) / heads);
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    b.add(b.attention(), i);
    layer_class cross = b.attention();
    cross.role = layer_role::cross_attention;
    b.add(cross, i);
  }
}

/// models/nemotron_nas.py: blocks without attention own nothing, the others have KV heads of their own.
inline void read_nemotron_nas(model_builder& b) {
  const std::optional<node> blocks = b.f.array("block_configs");
  if (!blocks) b.f.text().fail_missing("block_configs", "an array of blocks");
  if (blocks->value().size() < b.layers()) {
    blocks->fail("has fewer entries than the model has layers", std::to_string(b.layers()) + " entries");
  }
  bool first = true;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const node block = blocks->child(i);
    const std::optional<node> attn = block.object("attention");
    if (!attn || attn->boolean("no_op").value_or(false) || attn->boolean("replace_with_linear").value_or(false))
      continue;
    const auto group = attn->count("n_heads_in_group", 1, b.out.model.num_attention_heads);
    if (!group) attn->fail_missing("n_heads_in_group", "a whole number");
    layer_class layer = b.attention();
    layer.num_kv_heads = static_cast<std::uint32_t>(b.out.model.num_attention_heads / *group);
    if (first) b.out.model.num_kv_heads = layer.num_kv_heads;
    first = false;
    b.add(layer, i);
  }
}

/// models/minimax_m3: block-sparse layers have an indexer.
inline void read_minimax_m3(model_builder& b) {
  const std::optional<node> sparse = b.f.object("sparse_attention_config");
  const std::optional<node> frequency = sparse ? sparse->array("sparse_attention_freq") : std::nullopt;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    layer_class layer = b.attention();
    if (frequency && config_fields::number(*frequency, i) != 0) {
      const auto width = sparse->count("sparse_index_dim", 1);
      if (!width) sparse->fail_missing("sparse_index_dim", "a whole number");
      layer_class indexer;
      indexer.role = layer_role::minimax_m3_indexer;
      indexer.head_size = static_cast<std::uint32_t>(*width);
      b.add(indexer, i);
      layer.role = layer_role::minimax_m3_sparse;
    }
    b.add(layer, i);
  }
}

}  // namespace kvbudget::detail::vllm
