// Where the readings of model classes put layers, and what they have in common.
//
// Source: engine/arg_utils.py and config/model.py of vLLM 0.32.0.
#pragma once

#include <string>
#include <vector>

#include <kvbudget/engines/vllm/architectures.hpp>
#include <kvbudget/engines/vllm/fields.hpp>
#include <kvbudget/engines/vllm/model.hpp>
#include <kvbudget/core/layers.hpp>

namespace kvbudget::detail::vllm {

/// A model with the storage that it refers to.
struct owned_model {
  std::vector<layer_class> classes;
  std::vector<layer_ref> layers;
  vllm::model model;
  std::string architecture;
  std::string refusal;  ///< why vLLM does not take this checkpoint at all

  [[nodiscard]] vllm::model view() const {
    vllm::model m = model;
    m.classes = classes;
    m.layers = layers;
    return m;
  }
};

/// The window of the whole model, where it has one (config/model.py:get_sliding_window); 0 in the file means none.
/// These classes drop it unless use_sliding_window says so.
[[nodiscard]] inline std::uint32_t window_of(const config_fields& f) {
  const std::string type = f.class_model_type().empty() ? f.model_type() : std::string(f.class_model_type());
  for (const std::string_view asking :
       {"qwen2", "qwen2_moe", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "qwen3", "qwen3_moe", "mimo"}) {
    if (type == asking && !f.flag("use_sliding_window")) return 0;
  }
  if (type == "qwen3_vl_moe_text") return 0;
  if (const auto list = f.field("sliding_window"); list && list->value().is_array()) return 0;
  return f.count_or("sliding_window", 0);
}

/// Where the readings put a model's layers, and what they have in common.
struct model_builder {
  const config_fields& f;
  owned_model& out;
  vllm::reading reading = vllm::reading::dense;
  std::uint8_t flags = plain;
  bool multimodal = false;
  bool drafting = false;
  std::uint32_t num_hidden_layers = 0;
  std::uint32_t layer_head_size = 0;              ///< of the layers, where their class ignores head_dim
  std::uint32_t common_window = 0;                ///< of layers without a window of their own
  std::optional<std::uint32_t> imposed_window{};  ///< of a draft: the target's
  std::optional<transformers::layer_kinds> types{};

  [[nodiscard]] std::uint32_t layers() const noexcept { return num_hidden_layers; }

  void refuse(std::string problem) {
    if (out.refusal.empty()) out.refusal = std::move(problem);
  }

  std::uint16_t class_index(const layer_class& layer) {
    for (std::size_t i = out.classes.size(); i > 0; --i) {
      if (out.classes[i - 1] == layer) return static_cast<std::uint16_t>(i - 1);
    }
    if (out.classes.size() == max_layer_classes) {
      f.text().fail("has more than " + std::to_string(max_layer_classes) + " different kinds of layers",
                    "layers of fewer kinds");
    }
    out.classes.push_back(layer);
    return static_cast<std::uint16_t>(out.classes.size() - 1);
  }
  void add(const layer_class& layer, std::uint32_t index) {
    out.layers.push_back(layer_ref{class_index(layer), index, drafting, index});
  }
  /// A draft layer whose name counts from 0 again.
  void add_numbered_anew(const layer_class& layer, std::uint32_t k) {
    out.layers.push_back(layer_ref{class_index(layer), layers() + k, drafting, k});
  }

  [[nodiscard]] layer_class attention(std::uint32_t window = 0) const {
    layer_class layer;
    layer.num_kv_heads = out.model.num_kv_heads;
    layer.head_size = layer_head_size != 0 ? layer_head_size : out.model.head_size;
    layer.window = window != 0 ? window : common_window;
    return layer;
  }
  /// A layer whose class hands no cache_config on: no common window, and always the model's type.
  [[nodiscard]] layer_class attention_outside_settings() const {
    layer_class layer = attention();
    layer.window = 0;
    layer.unquantized = true;
    return layer;
  }
  /// A recurrent layer. Its state is that of the model class too, which sizes the blocks.
  [[nodiscard]] layer_class recurrent(const state_shape& state) {
    out.model.hybrid_state = state;
    layer_class layer;
    layer.role = layer_role::recurrent;
    layer.state = state;
    return layer;
  }

  /// A width as the classes compute it: int(factor * size). The factor may be a fraction.
  [[nodiscard]] std::uint32_t scaled(std::string_view factor, std::string_view size, std::uint32_t other) const {
    const double product =
        f.number(factor).value_or(static_cast<double>(other)) * static_cast<double>(f.required(size, 1));
    if (!(product >= 0 && product <= static_cast<double>(config::max_field_value))) {
      f.fail(factor, "gives a width out of range", "a small positive factor");
    }
    return static_cast<std::uint32_t>(product);
  }
  [[nodiscard]] std::uint32_t elements(std::uint64_t a, std::uint64_t b) const {
    const checked_count product = checked_count(a) * b;
    if (!product.fits(config::max_field_value))
      f.text().fail("gives a state of more than 2^31 elements", "a smaller state");
    return static_cast<std::uint32_t>(product.value());
  }

  /// Whether layer i slides by the layer types; without any it does not.
  [[nodiscard]] bool is_sliding(std::uint32_t i) const {
    return types && (*types)[i] == transformers::layer_kind::sliding;
  }
  [[nodiscard]] bool is_linear(std::uint32_t i) const {
    return types && (*types)[i] == transformers::layer_kind::linear;
  }
};

/// These classes have lists of their own in place of layer_types, or none.
[[nodiscard]] constexpr bool reads_layer_types(reading r) noexcept {
  using enum reading;
  return r != step3p5 && r != deepseek_mla && r != longcat_flash && r != deepseek_dsa && r != deepseek_v4 &&
         r != kimi_linear && r != nemotron_h;
}

/// engine/arg_utils.py: without layer types, or with only sliding ones, the window is that of every attention layer
/// that has none of its own.
inline void read_layer_types(model_builder& b) {
  const bool has_list = b.f.has_layer_types();
  if (reads_layer_types(b.reading) && has_list) b.types = b.f.layer_kinds(b.layers());
  bool all_sliding = true;
  for (const transformers::layer_kind kind : b.types.value_or(transformers::layer_kinds{})) {
    all_sliding = all_sliding && kind == transformers::layer_kind::sliding;
  }
  if (all_sliding && (b.types || !has_list)) b.common_window = window_of(b.f);
  if (b.imposed_window) b.common_window = *b.imposed_window;
}

}  // namespace kvbudget::detail::vllm
