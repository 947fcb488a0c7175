// Layers with a recurrent state, alone or between attention layers.
//
// Sources: model_executor/models and model_executor/layers/mamba of vLLM 0.32.0 (the file is named at each function).
#pragma once

#include <kvbudget/config/states.hpp>
#include <kvbudget/engines/vllm/model_builder.hpp>

namespace kvbudget::detail::vllm {

/// A state's inner width must be that of its heads, where the configuration class checks it.
inline void check_state_width(model_builder& b, std::uint32_t intermediate, std::string_view heads,
                              std::string_view head_dim) {
  if (b.f.class_model_type().empty()) return;
  if (std::uint64_t{b.f.required(heads, 1)} * b.f.required(head_dim, 1) != intermediate)
    b.refuse(std::string(heads) + " x " + std::string(head_dim) + " is not the inner width of the state");
}
[[nodiscard]] inline state_shape mamba2_state(const model_builder& b, std::uint32_t intermediate,
                                              std::string_view groups, std::string_view heads,
                                              std::string_view head_dim, std::string_view state_size,
                                              std::string_view conv_kernel) {
  state_shape s;
  s.kind = state_kind::mamba2;
  s.conv_dim = intermediate;
  s.n_groups = b.f.required(groups, 1);
  s.num_heads = b.f.required(heads, 1);
  s.state_size = b.f.required(state_size, 1);
  s.conv_kernel = b.f.required(conv_kernel, 1);
  s.head_elements = b.elements(b.f.required(head_dim, 1), s.state_size);
  return s;
}
/// The hybrid's layer types, where all that are given are attention, make an ordinary model
/// (config/model.py:is_hybrid).
inline void set_hybrid(model_builder& b) {
  const std::optional<node> types = b.f.root().array("layer_types");
  bool attention_only = types.has_value();
  for (std::size_t i = 0; types && i < types->value().size(); ++i) {
    const std::string_view t = config_fields::word(*types, i);
    attention_only = attention_only && (t == "attention" || t == "full_attention");
  }
  b.out.model.is_hybrid = !attention_only;
}

/// The state of a class whose mamba_d_head may be "auto": what the heads make of the inner width.
[[nodiscard]] inline state_shape state_of_auto_heads(model_builder& b, std::uint32_t intermediate) {
  state_shape shape = mamba2_state(b, intermediate, "mamba_n_groups", "mamba_n_heads", "mamba_n_heads", "mamba_d_state",
                                   "mamba_d_conv");
  const std::uint64_t width = transformers::ssm_head_width(b.f.config(), intermediate, shape.num_heads);
  if (checked_count(width) * shape.num_heads != checked_count(intermediate))
    b.refuse("mamba_n_heads x mamba_d_head is not the inner width of the state");
  shape.head_elements = b.elements(width, shape.state_size);
  return shape;
}

/// models/falcon_h1.py: both in every layer.
inline void read_falcon_h1(model_builder& b) {
  set_hybrid(b);
  const std::uint32_t intermediate =
      b.f.count("mamba_d_ssm") ? b.f.required("mamba_d_ssm", 1) : b.scaled("mamba_expand", "hidden_size", 2);
  const layer_class state = b.recurrent(state_of_auto_heads(b, intermediate));
  // layers/quantization/turboquant/config.py: the list of layers says "hybrid" for all.
  b.out.model.turboquant_finds_no_layers = true;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    b.add(b.attention(), i);
    b.add(state, i);
  }
}

/// models/zamba2.py: a state in every layer; attention is registered first, where layers_block_type says "hybrid".
inline void read_zamba2(model_builder& b) {
  set_hybrid(b);
  const std::uint32_t head_size = b.f.count_or("attention_head_dim", 2 * b.out.model.head_size, 1);
  b.out.model.head_size = head_size;
  const std::optional<node> types = b.f.array("layers_block_type");
  if (!types && b.f.class_model_type() != "zamba2")
    b.f.text().fail_missing("layers_block_type", "an array of layer kinds");
  const auto kinds = types ? transformers::layer_kinds{} : b.f.class_kinds(b.layers());
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const bool hybrid =
        types ? config_fields::word(*types, i) == "hybrid" : kinds[i] == transformers::layer_kind::hybrid;
    if (hybrid) b.add(b.attention(), i);
  }
  const std::uint32_t intermediate = b.scaled("mamba_expand", "hidden_size", 2);
  state_shape shape =
      mamba2_state(b, intermediate, "mamba_ngroups", "n_mamba_heads", "n_mamba_heads", "mamba_d_state", "mamba_d_conv");
  // The class computes the width of a head, and a file that states it has the last word.
  shape.head_elements =
      b.elements(b.f.count("mamba_headdim", 1).value_or(intermediate / shape.num_heads), shape.state_size);
  const layer_class state = b.recurrent(shape);
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(state, i);
}

/// models/granitemoehybrid.py.
inline void read_granite_hybrid(model_builder& b) {
  set_hybrid(b);
  layer_class state;
  if (b.out.model.is_hybrid) {  // a config of attention layers alone need not describe a state
    state = b.recurrent(state_of_auto_heads(b, b.scaled("mamba_expand", "hidden_size", 2)));
  }
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const bool linear = b.out.model.is_hybrid && (!b.types || b.is_linear(i));
    b.add(linear ? state : b.attention(), i);
  }
}

[[nodiscard]] inline state_shape mamba1_state(std::uint32_t intermediate, std::uint32_t state_size,
                                              std::uint32_t conv_kernel) {
  state_shape s;
  s.kind = state_kind::mamba1;
  s.conv_dim = s.num_heads = intermediate;
  s.head_elements = state_size;
  s.conv_kernel = conv_kernel;
  return s;
}
/// models/jamba.py.
inline void read_jamba(model_builder& b) {
  set_hybrid(b);
  if (b.f.count_or("attn_layer_offset", 4) >= b.f.count_or("attn_layer_period", 8, 1))
    b.refuse("attn_layer_offset is not below attn_layer_period");
  transformers::layer_kinds kinds(b.layers(), transformers::layer_kind::full);
  transformers::pattern_of("jamba")->fill(b.f.config(), kinds);
  const layer_class state = b.recurrent(mamba1_state(
      b.scaled("mamba_expand", "hidden_size", 2), b.f.required("mamba_d_state", 1), b.f.required("mamba_d_conv", 1)));
  for (std::uint32_t i = 0; i < b.layers(); ++i)
    b.add(kinds[i] == transformers::layer_kind::full ? b.attention() : state, i);
}
/// models/mamba.py.
inline void read_mamba1(model_builder& b) {
  const std::uint32_t intermediate =
      b.f.count("intermediate_size") ? b.f.required("intermediate_size", 1) : b.scaled("expand", "hidden_size", 2);
  const layer_class state =
      b.recurrent(mamba1_state(intermediate, b.f.required("state_size", 1), b.f.required("conv_kernel", 1)));
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(state, i);
}
/// models/mamba2.py.
inline void read_mamba2(model_builder& b) {
  const std::uint32_t intermediate = b.scaled("expand", "hidden_size", 2);
  const layer_class state =
      b.recurrent(mamba2_state(b, intermediate, "n_groups", "num_heads", "head_dim", "state_size", "conv_kernel"));
  check_state_width(b, intermediate, "num_heads", "head_dim");
  for (std::uint32_t i = 0; i < b.layers(); ++i) b.add(state, i);
}

/// One letter of a hybrid pattern, or one word of a list of kinds: M and * own caches, - and E do not.
[[nodiscard]] constexpr char pattern_letter(std::string_view word) {
  if (word == "mamba" || word == "linear_attention") return 'M';
  if (word == "attention" || word == "full_attention") return '*';
  return word.size() == 1 ? word[0] : '-';
}
[[nodiscard]] inline std::string pattern(const model_builder& b, std::string_view list, std::string_view letters) {
  std::string result;
  const auto stated = b.f.in_file(list) ? std::nullopt : b.f.string(letters);
  if (const auto words = b.f.field(list); words && words->value().is_array() && !stated) {
    if (words->value().size() > max_layers) words->fail("too many layers", "at most 65,536");
    for (std::size_t i = 0; i < words->value().size(); ++i) result += pattern_letter(config_fields::word(*words, i));
    return result;
  }
  result = b.f.string(letters).value_or("");
  if (result.size() > max_layers) b.f.fail(letters, "too many layers", "at most 65,536");
  return result;
}
inline void add_pattern(model_builder& b, const std::string& letters, std::uint32_t first, bool numbered_anew = false) {
  const std::uint32_t window = b.f.count_or("sliding_window", 0);
  const std::uint32_t intermediate = b.elements(b.f.required("mamba_num_heads", 1), b.f.required("mamba_head_dim", 1));
  const layer_class state = b.recurrent(
      mamba2_state(b, intermediate, "n_groups", "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "conv_kernel"));
  for (std::uint32_t i = 0; i < letters.size(); ++i) {
    if (letters[i] != '*' && letters[i] != 'M') continue;
    const layer_class layer = letters[i] == '*' ? b.attention(window) : state;
    if (numbered_anew) b.add_numbered_anew(layer, i);
    else b.add(layer, first + i);
  }
}
[[nodiscard]] inline state_dtype parse_state_dtype(const model_builder& b, std::string_view field,
                                                   std::string_view name) {
  for (std::size_t i = 0; i < std::size(state_dtype_names); ++i) {
    if (name == state_dtype_names[i]) return static_cast<state_dtype>(i);
  }
  b.f.fail(field, "not a type of a state", "auto, float32, float16 or bfloat16");
}
/// models/nemotron_h.py: the pattern decides, its length included.
inline void read_nemotron_h(model_builder& b) {
  set_hybrid(b);
  const std::string letters = pattern(b, "layers_block_type", "hybrid_override_pattern");
  if (letters.empty()) b.f.text().fail_missing("hybrid_override_pattern", "a pattern of layers");
  b.num_hidden_layers = static_cast<std::uint32_t>(letters.size());
  b.out.model.ssm_dtype = state_dtype::float32;
  if (const auto dtype = b.f.string("mamba_ssm_cache_dtype"))
    b.out.model.ssm_dtype = parse_state_dtype(b, "mamba_ssm_cache_dtype", *dtype);
  if (letters.find('M') == std::string::npos) b.out.model.ssm_dtype = state_dtype::automatic;
  add_pattern(b, letters, 0);
}

/// model_executor/layers/mamba/gdn: keys, values and queries go through one convolution.
[[nodiscard]] inline state_shape delta_net_state(const model_builder& b) {
  state_shape s;
  s.kind = state_kind::gated_delta_net;
  const transformers::delta_net_heads h = transformers::delta_net_heads_of(b.f.config());
  s.num_heads = static_cast<std::uint32_t>(h.value_heads);
  s.head_elements = b.elements(h.key_dim, h.value_dim);
  const checked_count keys = b.elements(2, b.elements(h.key_dim, h.key_heads));
  s.conv_dim = b.elements((keys + b.elements(h.value_dim, h.value_heads)).value(), 1);
  s.conv_kernel = b.f.required("linear_conv_kernel_dim", 1);
  return s;
}
/// models/qwen3_next.py, models/qwen3_5.py, models/olmo_hybrid.py.
inline void read_gated_delta_net(model_builder& b) {
  set_hybrid(b);
  const state_shape s = delta_net_state(b);
  if (b.f.model_type().rfind("qwen3_5", 0) == 0) {
    if (const auto dtype = b.f.string("mamba_ssm_dtype"))
      b.out.model.ssm_dtype = parse_state_dtype(b, "mamba_ssm_dtype", *dtype);
  }
  const layer_class state = b.recurrent(s);
  std::uint32_t linear_layers = 0;
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    const bool linear = b.is_linear(i);
    linear_layers += linear ? 1 : 0;
    if (!linear && b.types && (*b.types)[i] != transformers::layer_kind::full)
      b.refuse("a layer type of another model");
    b.add(linear ? state : b.attention(), i);
  }
  if (b.f.model_type() == "olmo_hybrid" && (linear_layers == 0 || linear_layers == b.layers()))
    b.refuse("olmo_hybrid must have linear_attention layers and others");
}

/// models/lfm2.py: short convolutions between attention layers.
inline void read_lfm2(model_builder& b) {
  set_hybrid(b);
  state_shape s;
  s.kind = state_kind::short_conv;
  s.conv_dim = b.f.count("conv_dim") ? b.f.required("conv_dim", 1) : b.f.required("hidden_size", 1);
  s.conv_kernel = b.f.count_or("conv_L_cache", 3, 1);
  const layer_class state = b.recurrent(s);
  for (std::uint32_t i = 0; i < b.layers(); ++i) {
    b.add(!b.types || (*b.types)[i] == transformers::layer_kind::full ? b.attention() : state, i);
  }
}

}  // namespace kvbudget::detail::vllm
