// Steps of llama.cpp's converter: sliding windows, and which layers slide.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/engines/llama_cpp/conversion_sizes.hpp>

namespace kvbudget::detail::llama_cpp::steps {

inline void window(conversion& c) { c.out.sliding_window = c.in.need({"sliding_window"}); }
inline void window_if_given(conversion& c) { c.out.sliding_window = c.in.count({"sliding_window"}); }
inline void laguna_window(conversion& c) {
  if (const std::uint32_t n = c.in.count_or("sliding_window", 0); n > 0) c.out.sliding_window = n;
}
inline void granite_window(conversion& c) { c.out.sliding_window = c.in.count_or("sliding_window", 128); }

/// Which layers slide, by layer_types.
inline void slides_by_types(conversion& c) {
  c.out.sliding_window_pattern = equal_to(c.need_layer_types(), "sliding_attention");
}
/// All but the last of each `period` layers: what some converter classes write where there is no list.
inline void slides_by_period(conversion& c, std::uint32_t period) {
  c.out.sliding_window_pattern = made(c.own_layers(), [period](std::uint32_t il) { return (il + 1) % period != 0; });
}

/// Olmo2Model writes the pattern of Olmo 3 for every file with a window.
inline void olmo3_window(conversion& c) {
  if (!c.in.has("sliding_window")) return;
  window(c);
  if (c.layer_types()) slides_by_types(c);
  else slides_by_period(c, 4);
}
inline void mellum_window(conversion& c) {
  if (!c.in.boolean("use_sliding_window").value_or(true) || !c.in.count({"sliding_window"})) return;
  window(c);
  slides_by_types(c);
}
/// GraniteSWAModel: without a list, all but the first of four.
inline void granite_slides(conversion& c) {
  const auto types = c.layer_types();
  if (types && !types->value().empty()) slides_by_types(c);
  else c.out.sliding_window_pattern = made(c.out.block_count, [](std::uint32_t il) { return il % 4 != 0; });
}
inline void plamo3_window(conversion& c) {
  const auto size = c.in.count({"window_size", "sliding_window"});
  if (!size) return;
  c.out.sliding_window = size;
  const auto pattern = c.in.field({"sliding_window_pattern"});
  if (!pattern) return;
  if (pattern->value().is_array()) c.out.sliding_window_pattern = numbers(*pattern);
  else c.out.sliding_window_pattern = static_cast<std::uint32_t>(pattern->count());
}
inline void smallthinker_window(conversion& c) {
  const auto layout = c.in.array("sliding_window_layout");
  bool any = false;
  if (layout) {
    for (const config::json& l : layout->value()) any = any || l != 0;
  }
  const std::uint32_t size = any ? c.in.count_or("sliding_window_size", 0) : 0U;
  if (size != 0) c.out.sliding_window = size;
}

// ---- gemma ----------------------------------------------------------------------------------------------------------

/// Gemma3Model.
inline constexpr size_rules gemma3_sizes{number_or(131'072, "max_position_embeddings"), base_sizes.embedding_length,
                                         number_or(8, "num_attention_heads"), number_or(4, "num_key_value_heads")};
inline void gemma3(conversion& c) {
  write_sizes(c, gemma3_sizes);
  base_rest(c);
  c.head_size(c.in.count_or("head_dim", 256));
  if (c.in.count({"sliding_window_pattern"}) == 1U) return;
  std::uint32_t size = c.in.need({"sliding_window"});
  // Gemma3TextConfig halves the window of bidirectional models.
  if (c.in.has_class() && c.in.boolean("use_bidirectional_attention").value_or(false)) size = size / 2 + 1;
  c.out.sliding_window = size;
}

/// Gemma4Model: a size of the full layers, as a field or as the first full layer's entry in per_layer_config.
[[nodiscard]] inline std::optional<std::uint32_t> of_full_layers(const conversion& c, const config::node& types,
                                                                 std::string_view field, std::string_view key) {
  if (const auto value = c.in.count({field})) return value;
  const auto configs = c.in.field({"per_layer_config"});
  if (!configs || !configs->value().is_object()) return std::nullopt;
  for (std::size_t il = 0; il < types.value().size() && il < max_layers; ++il) {
    if (types.value()[il] != "full_attention") continue;
    const auto layer = configs->object(std::to_string(il));
    if (!layer) continue;
    if (const auto value = layer->count(key)) return static_cast<std::uint32_t>(*value);
  }
  return std::nullopt;
}
inline void gemma4(conversion& c) {
  c.out.shared_kv_layers = c.in.need({"num_kv_shared_layers"});
  const config::node types = c.need_layer_types();
  c.out.sliding_window_pattern = equal_to(types, "sliding_attention");
  const auto full = of_full_layers(c, types, "global_head_dim", "head_dim");
  if (!full) c.in.fail_missing("global_head_dim", "the head size of full-attention layers");
  c.out.key_length_swa = c.out.value_length_swa = c.in.need({"head_dim"});
  c.head_size(full);
  const auto kv_full = of_full_layers(c, types, "num_global_key_value_heads", "num_key_value_heads");
  const auto kv_swa = c.in.count({"num_key_value_heads"});
  if (!kv_full || !kv_swa) return;
  const per_layer& slides = c.out.sliding_window_pattern;
  c.out.head_count_kv = made(slides.size(), [&](std::uint32_t il) { return slides[il] != 0 ? *kv_swa : *kv_full; });
}

// ---- single classes -------------------------------------------------------------------------------------------------

/// Exaone4Model: a list, a period, or letters such as "LLLG" that repeat (of which its class makes no list).
inline void exaone4_window(conversion& c) {
  const auto size = c.in.count({"sliding_window"});
  if (!size) return;
  c.out.sliding_window = size;
  const auto pattern = c.in.field({"sliding_window_pattern"});
  const bool letters = pattern && pattern->value().is_string() && !c.in.array("layer_types");
  if (!letters && c.layer_types()) return slides_by_types(c);
  if (!pattern) return;
  if (!letters) return slides_by_period(c, static_cast<std::uint32_t>(pattern->count(1)));
  const auto text = pattern->value().get<std::string>();
  if (text.empty()) return;
  c.out.sliding_window_pattern = made(c.own_layers(), [&](std::uint32_t il) { return text[il % text.size()] == 'L'; });
}

/// Llama4Model writes a window of 0 where all layers are full.
inline void llama4_window(conversion& c) {
  const auto types = c.layer_types();
  if (!types) return;
  for (const config::json& t : types->value()) {
    if (t != "full_attention") return;
  }
  c.out.sliding_window = 0;
}

/// Step35Model: heads and KV heads of the layers that slide are their own.
inline void step35(conversion& c) {
  const auto types = c.layer_types();
  const per_layer said = types ? equal_to(*types, "sliding_attention") : per_layer();
  const std::uint32_t n = c.out.block_count;
  c.out.sliding_window_pattern = made(n, [&](std::uint32_t il) { return said[il]; });
  const std::uint32_t heads = c.in.need({"num_attention_heads"});
  const std::uint32_t groups = c.in.need({"num_attention_groups"});
  std::uint32_t heads_swa = heads;
  std::uint32_t groups_swa = groups;
  if (const auto other = c.in.field({"attention_other_setting"}); other && other->value().is_object()) {
    heads_swa = static_cast<std::uint32_t>(other->count("num_attention_heads").value_or(heads));
    groups_swa = static_cast<std::uint32_t>(other->count("num_attention_groups").value_or(groups));
  }
  c.out.head_count = made(n, [&](std::uint32_t il) { return said[il] != 0 ? heads_swa : heads; });
  c.out.head_count_kv = made(n, [&](std::uint32_t il) { return said[il] != 0 ? groups_swa : groups; });
  window(c);
  c.out.value_length = c.in.need({"head_dim"});
}

/// MiMoV2FlashModel. Three prediction layers are the converter's own number; the file says nothing of them.
inline void mimo2_nextn(conversion& c) { c.add_nextn(3); }
inline void mimo2(conversion& c) {
  const per_layer hybrid = numbers(c.in.need_array("hybrid_layer_pattern"));
  const std::uint32_t own = c.own_layers();
  const per_layer slides = made(c.out.block_count, [&](std::uint32_t il) { return il < own ? hybrid[il] : 1U; });
  c.out.sliding_window_pattern = slides;
  const std::uint32_t kv = c.in.need({"num_key_value_heads"});
  const std::uint32_t kv_swa = c.in.need({"swa_num_key_value_heads"});
  c.out.head_count_kv = made(c.out.block_count, [&](std::uint32_t il) { return slides[il] == 1 ? kv_swa : kv; });
  window(c);
  v_head_dim(c);
}

}  // namespace kvbudget::detail::llama_cpp::steps
