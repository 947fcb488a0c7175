// Steps of llama.cpp's converter: recurrent states, and which layers have them.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/engines/llama_cpp/conversion_sizes.hpp>

namespace kvbudget::detail::llama_cpp::steps {

/// Classes of recurrent models write it as their context length.
inline constexpr std::uint32_t a_million = 1U << 20U;

/// The number under the first of these names; null and 0 are as if none were there.
[[nodiscard]] inline std::uint32_t above_0(const conversion& c, std::initializer_list<std::string_view> names,
                                           std::uint32_t otherwise) {
  const std::uint32_t n = c.in.count(names).value_or(0);
  return n != 0 ? n : otherwise;
}

// ---- Mamba ----------------------------------------------------------------------------------------------------------

inline constexpr size_rules mamba_sizes{fixed(a_million), need("hidden_size", "d_model", "dim"), fixed(0), {}};

/// The converter asserts that the inner width is the model's, expanded.
inline void check_inner(const conversion& c, std::uint32_t inner, std::uint32_t width) {
  if (inner == width) return;
  throw config_error({c.in.root().file(), "/intermediate_size", std::to_string(inner)},
                     "not supported by llama.cpp's converter", std::to_string(width));
}
inline void mamba(conversion& c) {
  const std::uint32_t width = c.product(2, c.out.embedding_length, "expand");
  const std::uint32_t inner = above_0(c, {"intermediate_size", "d_inner"}, width);
  check_inner(c, inner, width);
  c.ssm(above_0(c, {"conv_kernel", "d_conv"}, 4), inner, above_0(c, {"state_size", "d_state"}, 16), 0);
}
inline void mamba2(conversion& c) {
  const std::uint32_t width = c.product(above_0(c, {"mamba_expand", "expand"}, 2), c.out.embedding_length, "expand");
  const std::uint32_t inner = above_0(c, {"mamba_d_ssm", "intermediate_size", "d_inner"}, width);
  check_inner(c, inner, width);
  c.ssm(above_0(c, {"conv_kernel", "d_conv"}, 4), inner, above_0(c, {"state_size", "d_state"}, 128),
        above_0(c, {"n_groups"}, 1));
}
inline void jamba(conversion& c) {
  c.ssm(above_0(c, {"mamba_d_conv"}, 4), c.product(c.in.need({"mamba_expand"}), c.out.embedding_length, "mamba_expand"),
        above_0(c, {"mamba_d_state"}, 16), 0);
  const std::uint32_t kv = c.in.need({"num_key_value_heads"});
  const std::uint32_t offset = c.in.need({"attn_layer_offset"});
  const std::uint32_t period = c.in.need({"attn_layer_period"});
  c.out.head_count_kv = made(c.out.block_count, [&](std::uint32_t il) {
    return il >= offset && period != 0 && (il - offset) % period == 0 ? kv : 0U;
  });
}
/// Plamo2Model, whose fields all have numbers of the converter's own.
inline constexpr size_rules plamo2_sizes{
    number_or(2048, "max_position_embeddings"), number_or(4096, "hidden_size"), {}, {}};
inline void plamo2(conversion& c) {
  const std::uint32_t step = c.in.count_or("mamba_step", 2);
  const std::uint32_t n = c.out.block_count;
  const auto is_mamba = [&](std::uint32_t il) {
    if (step == 0 || n <= step / 2) return il != n - 1;
    return il % step != step / 2;
  };
  if (c.in.boolean("mamba_enabled").value_or(true)) {
    const std::uint32_t kv = c.in.count_or("num_key_value_heads", 4);
    const std::uint32_t heads = c.in.count_or("num_attention_heads", 32);
    c.out.head_count_kv = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : kv; });
    c.out.head_count = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : heads; });
  }
  const std::uint32_t head = c.in.count_or("hidden_size_per_head", 128);
  c.head_size(head);
  c.ssm(c.in.count_or("mamba_d_conv", 4), c.product(c.in.count_or("mamba_num_heads", 64), head, "mamba_num_heads"),
        c.in.count_or("mamba_d_state", 64), 0);
}

// ---- classes that look for names with and without "mamba_" in front (FalconH1Model, GraniteHybridModel) -------------

/// The names of one number, in the order in which the classes look.
struct mamba_names {
  std::string_view names[6];
};
inline constexpr mamba_names conv_kernel_names{{"conv_kernel", "d_conv", "mamba_conv_kernel", "mamba_d_conv"}};
inline constexpr mamba_names state_size_names{{"state_size", "d_state", "mamba_state_size", "mamba_d_state"}};
inline constexpr mamba_names state_dim_names{
    {"state_size", "d_state", "state_dim", "mamba_state_size", "mamba_d_state", "mamba_state_dim"}};
inline constexpr mamba_names group_names{{"n_groups", "mamba_n_groups"}};
inline constexpr mamba_names num_group_names{{"n_groups", "num_groups", "mamba_n_groups", "mamba_num_groups"}};
inline constexpr mamba_names expand_or_head_names{{"expand", "num_heads", "mamba_expand", "mamba_num_heads"}};
inline constexpr mamba_names head_names{{"num_heads", "mamba_num_heads"}};

[[nodiscard]] inline std::uint32_t mamba_number(const conversion& c, const mamba_names& of) {
  for (const std::string_view name : of.names) {
    if (!name.empty() && c.in.has(name)) return c.in.need({name});
  }
  for (const std::string_view name : of.names) {
    if (name.starts_with("mamba_")) c.in.fail_missing(name, "a whole number");
  }
  c.in.fail_missing(of.names[0], "a whole number");
}

/// The head's width where the config says none.
inline void head_dim_of_width(conversion& c) {
  if (!c.out.key_length) c.head_size(c.out.head_count[0] == 0 ? 0U : c.out.embedding_length / c.out.head_count[0]);
}
inline void falcon_h1(conversion& c) {
  const auto inner = c.in.count({"mamba_d_ssm"});
  c.ssm(mamba_number(c, conv_kernel_names),
        inner ? *inner : c.product(c.in.need({"mamba_expand"}), c.out.embedding_length, "mamba_expand"),
        mamba_number(c, state_size_names), mamba_number(c, group_names));
}

inline void granite_hybrid_attention(conversion& c, const per_layer& is_attention) {
  base(c);
  no_head_size(c);
  const bool nemotron = c.in.has("ssm_state_size") && !c.in.has("state_size") && !c.in.has("mamba_d_state");
  c.ssm(mamba_number(c, conv_kernel_names), 0,
        nemotron ? c.in.need({"ssm_state_size"}) : mamba_number(c, state_dim_names), mamba_number(c, num_group_names));
  const auto said = c.in.count({"num_key_value_heads", "n_head_kv"});
  if (!said && !c.in.has_class()) c.in.fail_missing("num_key_value_heads", "a whole number");
  const std::uint32_t kv = said.value_or(c.out.head_count[0]);  // in place of null, classes write all heads
  c.out.head_count_kv = made(c.out.block_count, [&](std::uint32_t il) { return is_attention[il] != 0 ? kv : 0U; });
}

/// GraniteHybridModel.get_attn_layers.
[[nodiscard]] inline per_layer granite_attention_layers(const conversion& c) {
  // The list of the file only: the class of 4.57.6 leaves it null.
  if (const auto types = c.in.array("layer_types"); types && !types->value().empty()) {
    return equal_to(*types, "attention");
  }
  if (const auto indices = c.in.array("attn_layer_indices"); indices && !indices->value().empty()) {
    return listed(*indices, 0, c.own_layers());
  }
  const std::uint32_t period = c.in.need({"attn_layer_period"});
  const std::uint32_t offset = c.in.need({"attn_layer_offset"});
  return made(c.out.block_count, [&](std::uint32_t il) { return period != 0 && il % period == offset; });
}
inline void granite_hybrid(conversion& c) {
  const per_layer is_attention = granite_attention_layers(c);
  bool any_state = false;
  for (std::uint32_t il = 0; il < c.out.block_count; ++il) any_state = any_state || is_attention[il] == 0;
  granite_hybrid_attention(c, is_attention);
  c.out.ssm_inner_size = c.product(mamba_number(c, expand_or_head_names), c.out.embedding_length, "mamba_expand");
  const bool bamba = c.row.hf_architecture == "BambaForCausalLM";
  if (any_state && !bamba) c.out.context_length = a_million;
  if (any_state) return;
  const bool experts = c.in.count({"num_experts_per_tok", "num_experts_per_token"}).value_or(0) != 0;
  c.out.architecture = find_architecture(experts ? "granitemoe" : "granite");
}

// ---- Nemotron-H -----------------------------------------------------------------------------------------------------

/// Per layer: is it attention, how wide is its feed-forward part.
struct nemotron_layers {
  per_layer attention = per_layer::empty_list();
  per_layer ffn = per_layer::empty_list();
};

inline void write_nemotron(conversion& c, const nemotron_layers& layers) {
  granite_hybrid_attention(c, layers.attention);
  c.out.context_length = a_million;
  const std::uint32_t head_width = c.in.need({"mamba_head_dim", "hidden_size", "d_model"});
  c.out.ssm_inner_size = c.product(mamba_number(c, head_names), head_width, "mamba_num_heads");
  c.out.feed_forward_length = layers.ffn;
  const auto head = c.in.has("head_dim") ? c.in.count({"head_dim"}) : c.in.count({"attention_head_dim"});
  if (!head) c.in.fail_missing("head_dim", "a head size");
  c.head_size(head);
}

/// From a string of letters or a list of words.
[[nodiscard]] inline nemotron_layers layers_of_pattern(const conversion& c, const config::node& pattern, bool moe,
                                                       std::uint32_t width) {
  nemotron_layers layers;
  if (pattern.value().is_string()) {
    const auto letters = pattern.value().get<std::string>();
    if (letters.size() != c.out.block_count) pattern.fail("wrong length", "one letter per layer");
    for (const char letter : letters) {
      layers.attention.push_back(letter == '*');
      layers.ffn.push_back(letter == (moe ? 'E' : '-') ? width : 0U);
    }
    return layers;
  }
  if (!pattern.value().is_array()) pattern.fail("not a pattern", "a string or an array");
  if (pattern.value().size() != c.out.block_count) pattern.fail("wrong length", "one entry per layer");
  layers.attention = list_of(pattern, [](const config::node& n) {
    return n.value() == "attention" || n.value() == "full_attention" ? 1U : 0U;
  });
  layers.ffn = list_of(pattern, [&](const config::node& n) { return n.value() == "moe" ? width : 0U; });
  return layers;
}
inline void nemotron_h(conversion& c) {
  const bool moe = c.in.has("num_experts_per_tok");
  if (moe) c.out.architecture = find_architecture("nemotron_h_moe");
  auto pattern = c.in.field({"hybrid_override_pattern"});
  if (!pattern) pattern = c.in.array("layers_block_type");
  if (!pattern) c.in.fail_missing("hybrid_override_pattern", "a pattern of layer kinds");
  const std::uint32_t width =
      moe ? c.in.need({"moe_intermediate_size"}) : c.in.need({"intermediate_size", "n_inner", "hidden_dim"});
  nemotron_layers layers = layers_of_pattern(c, *pattern, moe, width);
  if (moe) {
    nextn(c);
    for (std::uint32_t i = 0; i < c.out.nextn_predict_layers && layers.attention.size() < max_layers; ++i) {
      layers.attention.push_back(1);
      layers.ffn.push_back(width);
    }
  }
  write_nemotron(c, layers);
}
inline void nemotron_h_puzzle(conversion& c) {
  const config::node blocks = c.in.need_array("block_configs");
  nemotron_layers layers;
  layers.attention = list_of(blocks, [](const config::node& b) {
    const auto kind = b.string("block_type");
    return kind == "attention" || kind == "full_attention" ? 1U : 0U;
  });
  layers.ffn = list_of(blocks, [](const config::node& b) {
    return static_cast<std::uint32_t>(b.count("moe_intermediate_size").value_or(0));
  });
  write_nemotron(c, layers);
}

// ---- delta nets -----------------------------------------------------------------------------------------------------

/// Qwen3NextModel, Qwen3_5Model.
inline void gated_delta_net(conversion& c) {
  c.ssm(
      c.in.need({"linear_conv_kernel_dim"}),
      c.product(c.in.need({"linear_value_head_dim"}), c.in.need({"linear_num_value_heads"}), "linear_num_value_heads"),
      c.in.need({"linear_key_head_dim"}), c.in.need({"linear_num_key_heads"}));
  const std::uint32_t n = c.own_layers();
  c.out.full_attention_interval = c.in.count_or("full_attention_interval", 4);
  const auto types = c.layer_types();
  if (!types) return;
  if (types->value().size() != n) types->fail("wrong length", "one entry per layer");
  const per_layer linear = equal_to(*types, "linear_attention");
  c.out.recurrent_layers = made(c.out.block_count, [&](std::uint32_t il) { return il < n ? linear[il] : 0U; });
}
/// Files of Qwen3-Next do not say that the checkpoint has one such layer.
inline void qwen_nextn(conversion& c) {
  const std::uint32_t said = c.in.count_or("mtp_num_hidden_layers", 0);
  c.add_nextn(said != 0 ? said : 1U);
}

/// KimiLinearModel, Glm5NextModel: the sizes of the delta layers stand in a part of their own.
inline void kda_sizes(conversion& c, const config::node& linear) {
  c.out.ssm_conv_kernel = static_cast<std::uint32_t>(linear.count("short_conv_kernel_size").value_or(0));
  c.out.kda_head_dim = static_cast<std::uint32_t>(linear.count("head_dim").value_or(0));
}

// ---- RWKV, short convolutions ---------------------------------------------------------------------------------------

inline constexpr size_rules rwkv_sizes{fixed(a_million), need("hidden_size"), fixed(0), {}};

inline void one_token_shift(conversion& c) { c.out.token_shift_count = 1; }
inline void wkv_head_size(conversion& c) { c.out.wkv_head_size = c.in.need({"head_size"}); }
inline void wkv_head_size_or_dim(conversion& c) { c.out.wkv_head_size = c.in.need({"head_size", "head_dim"}); }
inline void wkv_of_attention_heads(conversion& c) {
  const std::uint32_t heads = c.in.need({"num_attention_heads"});
  c.out.wkv_head_size = heads == 0 ? 0U : c.out.embedding_length / heads;
  c.out.head_count_kv = c.in.need({"num_key_value_heads"});
}

/// LFM2Model, LFM2MoeModel: layers with KV heads are attention.
[[nodiscard]] inline per_layer lfm2_kv_heads(const conversion& c, std::uint32_t kv) {
  const bool moe = c.row.gguf == "lfm2moe";
  return list_of(c.need_layer_types(), [&](const config::node& n) {
    return (moe ? n.value() == "full_attention" : n.value() != "conv") ? kv : 0U;
  });
}
inline void lfm2(conversion& c) {
  const std::uint32_t kv = c.in.need({"num_key_value_heads"});
  base(c);
  c.out.head_count_kv = lfm2_kv_heads(c, kv);
  c.out.shortconv_l_cache = c.in.need({"conv_L_cache"});
  if (c.row.hf_architecture == "Lfm2BidirectionalModel") c.out.causal = false;
}

}  // namespace kvbudget::detail::llama_cpp::steps
