// Steps of llama.cpp's converter: layers, heads and widths.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/engines/llama_cpp/conversion.hpp>

namespace kvbudget::detail::llama_cpp::steps {

// ---- the number of layers -------------------------------------------------------------------------------------------

/// A number of layers; more than 65,536 are an error.
[[nodiscard]] inline std::uint32_t layers_in(const conversion& c, std::initializer_list<std::string_view> keys) {
  const auto value = c.in.count(keys, 65'536);
  if (!value) c.in.fail_missing("num_hidden_layers", "a number of layers");
  return *value;
}
[[nodiscard]] inline std::uint32_t layers(const conversion& c) {
  return layers_in(c, {"n_layers", "num_hidden_layers", "n_layer", "num_layers"});
}
[[nodiscard]] inline std::uint32_t transformer_layers(const conversion& c) {
  return layers_in(c, {"num_transformer_layers"});
}
/// A list of kinds goes before num_hidden_layers.
[[nodiscard]] inline std::uint32_t layers_of_list(const conversion& c, std::string_view key) {
  const auto list = c.in.array(key);
  if (!list) return layers_in(c, {"num_hidden_layers"});
  if (list->value().size() > 65'536) list->fail("too many entries", "at most 65536");
  return static_cast<std::uint32_t>(list->value().size());
}
[[nodiscard]] inline std::uint32_t layers_of_block_types(const conversion& c) {
  return layers_of_list(c, "layers_block_type");
}
[[nodiscard]] inline std::uint32_t layers_of_blocks(const conversion& c) {
  return layers_of_list(c, c.in.array("block_configs") ? "block_configs" : "layers_block_type");
}

inline void nextn(conversion& c) { c.add_nextn(c.in.count_or("num_nextn_predict_layers", 0)); }
inline void all_are_nextn(conversion& c) { c.out.nextn_predict_layers = c.out.block_count; }
inline void last_layer_is_made(conversion& c) {
  if (c.out.block_count > 0) --c.out.block_count;
}
/// HrmTextModel: one layer of the engine for each pass through one.
inline void hrm_passes(conversion& c) {
  const std::uint32_t own = c.in.count_or("num_layers_per_stack", 0);
  const checked_count slots = checked_count(own != 0 ? own : c.in.need({"num_hidden_layers"})) *
                              c.in.need({"H_cycles"}) * (checked_count(c.in.need({"L_cycles"})) + 1U);
  c.out.block_count = static_cast<std::uint32_t>(smaller(slots, 65'536U).value_or(65'536U));
}
inline void loops(conversion& c) {
  const std::uint32_t n = c.in.count_or("num_loops", 1);
  c.out.num_loops = n == 0 ? 1U : n;
}

// ---- what all share -------------------------------------------------------------------------------------------------

/// TextModel.set_gguf_parameters.
inline constexpr size_rules base_sizes{
    may("max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length", "model_max_length"),
    may("hidden_size", "n_embd", "dim"), may("num_attention_heads", "n_head", "n_heads"),
    may("num_key_value_heads", "n_kv_heads")};

[[nodiscard]] constexpr size_rules base_sizes_with(const number_rule& context_length) {
  size_rules sizes = base_sizes;
  sizes.context_length = context_length;
  return sizes;
}

inline void head_dim(conversion& c) { c.head_size(c.in.count({"head_dim"})); }
/// The rest of TextModel.set_gguf_parameters.
inline void base_rest(conversion& c) {
  if (c.in.boolean("is_causal") == false) c.out.causal = false;
  head_dim(c);
}
inline void base(conversion& c) {
  write_sizes(c, base_sizes);
  base_rest(c);
}

inline void not_causal(conversion& c) { c.out.causal = false; }
inline void needed_head_dim(conversion& c) { c.head_size(c.in.need({"head_dim"})); }
inline void no_head_size(conversion& c) {
  c.out.key_length.reset();
  c.out.value_length.reset();
}
inline void kv_heads_or_all(conversion& c) {
  if (!c.out.head_count_kv.given()) c.out.head_count_kv = c.out.head_count;
}

// ---- single classes -------------------------------------------------------------------------------------------------

inline void seq_length(conversion& c) { c.out.context_length = c.in.count_or("seq_length", c.out.embedding_length); }
/// Null under the old name is as if it were absent: BloomConfig takes it so.
inline void bloom_width(conversion& c) {
  c.out.embedding_length = c.in.count({"n_embed"}).value_or(c.in.count_or("hidden_size", 0));
}
inline void dbrx_kv_heads(conversion& c) {
  const auto attention = c.in.field({"attn_config"});
  c.out.head_count_kv = attention ? static_cast<std::uint32_t>(attention->count("kv_n_heads").value_or(1)) : 1U;
}
inline void mpt_kv_heads(conversion& c) {
  const auto attention = c.in.field({"attn_config"});
  const auto kv = attention ? attention->count("kv_n_heads") : std::nullopt;
  if (kv && *kv != 0) c.out.head_count_kv = static_cast<std::uint32_t>(*kv);
}
/// Files of multi-query models leave the number out: 1, as in all published GGUF files. Of the others FalconConfig
/// makes the number of heads.
inline void falcon_kv_heads(conversion& c) {
  const auto kv = c.in.count({"num_kv_heads"});
  const bool all_heads = c.in.has_class() && !c.in.boolean("multi_query").value_or(true);
  c.out.head_count_kv = kv ? *kv : c.in.count_or("n_head_kv", all_heads ? c.out.head_count[0] : 1U);
}
inline void t5_head_size(conversion& c) { c.head_size(c.in.need({"d_kv"})); }
inline void openelm_heads(conversion& c) {
  c.out.head_count = numbers(c.in.need_array("num_query_heads"));
  c.out.head_count_kv = numbers(c.in.need_array("num_kv_heads"));
}
inline void laguna_heads(conversion& c) {
  const auto heads = c.in.array("num_attention_heads_per_layer");
  if (heads && !heads->value().empty()) c.out.head_count = numbers(*heads);
}
/// HunYuanMoEModel, HunYuanModel: dynamic scaling means 256 k positions.
inline void hunyuan_positions(conversion& c) {
  const auto rope = c.in.field({"rope_parameters", "rope_scaling"});
  if (!rope || !rope->value().is_object()) return;
  const auto type = rope->find("rope_type") != nullptr ? rope->string("rope_type") : rope->string("type");
  if (type == "dynamic") c.out.context_length = 256U * 1024U;
}
inline void nomic_positions(conversion& c) {
  if (c.in.count_or("moe_every_n_layers", 0) != 0) c.out.architecture = find_architecture("nomic-bert-moe");
  const std::uint32_t trained = c.in.need({"n_positions"});
  c.out.context_length = trained == 8192 ? 2048U : trained == 2048 ? 512U : trained;
}
/// XLMRobertaModel, RobertaModel: positions start after the padding token.
inline void bert_positions(conversion& c) {
  const std::string_view name = c.row.hf_architecture;
  const bool roberta = name.substr(0, 7) == "Roberta" || name.substr(0, 10) == "XLMRoberta";
  const auto pad = roberta ? c.in.count({"pad_token_id"}) : std::nullopt;
  if (pad && c.out.context_length > *pad) c.out.context_length -= *pad + 1;
}
/// MiniCPM3Model, PLMModel: K of the whole head.
inline void nope_and_rope_key(conversion& c) {
  c.out.key_length = c.in.need({"qk_nope_head_dim"}) + c.in.need({"qk_rope_head_dim"});
}
inline void v_head_dim(conversion& c) { c.out.value_length = c.in.need({"v_head_dim"}); }

inline void deci_blocks(conversion& c, const config::node& blocks) {
  const std::uint32_t heads = c.in.need({"num_attention_heads"});
  const auto attention = [](const config::node& block) {
    const auto at = block.object("attention");
    if (!at) block.fail_missing("attention", "an object");
    return *at;
  };
  c.out.head_count = list_of(blocks, [&](const config::node& block) {
    const config::node a = attention(block);
    return a.count("n_heads_in_group") || a.boolean("replace_with_linear").value_or(false) ? heads : 0U;
  });
  c.out.head_count_kv = list_of(blocks, [&](const config::node& block) {
    const auto group = attention(block).count("n_heads_in_group", 1);
    return group ? heads / static_cast<std::uint32_t>(*group) : 0U;
  });
  c.out.context_length = c.in.need({"max_position_embeddings"});
  c.out.embedding_length = c.in.need({"hidden_size"});
  if (heads == 0) c.in.fail_missing("num_attention_heads", "at least 1");
  c.head_size(c.out.embedding_length / heads);
}
/// DeciModel: blocks of a search, or a list of KV heads.
inline void deci(conversion& c) {
  if (const auto blocks = c.in.array("block_configs")) return deci_blocks(c, *blocks);
  base(c);
  if (const auto heads = c.in.array("num_key_value_heads_per_layer")) c.out.head_count_kv = numbers(*heads);
}

}  // namespace kvbudget::detail::llama_cpp::steps
