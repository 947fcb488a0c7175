// Steps of llama.cpp's converter: latents, index keys, compressed keys.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/engines/llama_cpp/conversion_states.hpp>
#include <kvbudget/engines/llama_cpp/conversion_windows.hpp>

namespace kvbudget::detail::llama_cpp::steps {

// ---- multi-head latent attention ------------------------------------------------------------------------------------

/// One head, whose key is the latent and the rope part.
inline void write_latent(conversion& c, std::uint32_t latent, std::uint32_t rope) {
  c.out.kv_lora_rank = latent;
  c.out.key_length = latent + rope;
  c.out.value_length = latent;
  c.out.key_length_mla = c.in.need({"qk_nope_head_dim"}) + rope;
  c.out.value_length_mla = c.in.need({"v_head_dim"});
}
/// DeepseekV2Model. Its OCR models have plain heads.
inline void deepseek2(conversion& c) {
  base(c);
  const auto origin = c.in.root_architecture();
  for (const std::string_view ocr : {"DeepseekOCRForCausalLM", "DeepseekOCR2ForCausalLM", "UnlimitedOCRForCausalLM"}) {
    if (origin != ocr) continue;
    c.out.architecture = find_architecture("deepseek2-ocr");
    return;
  }
  c.out.head_count_kv = 1;
  write_latent(c, c.in.has("kv_lora_rank") ? c.in.need({"kv_lora_rank"}) : 512U, c.in.need({"qk_rope_head_dim"}));
}
/// Mistral3Model: Mistral 4 is written as a DeepSeek-V2 under another name.
inline void mistral3(conversion& c) {
  const auto type = c.in.text_model_type() ? c.in.text_model_type() : c.in.root_model_type();
  if (type != "mistral4") return base(c);
  deepseek2(c);
  c.out.architecture = find_architecture("mistral4");
}

// ---- index keys -----------------------------------------------------------------------------------------------------

inline void indexer(conversion& c) {
  c.out.indexer_key_length = c.in.need({"index_head_dim"});
  c.out.indexer_top_k = c.in.need({"index_topk"});
}
inline void indexer_types(conversion& c) {
  if (const auto types = c.in.array("indexer_types")) c.out.indexer_types = equal_to(*types, "full");
}
/// HYV4Model: which layers have an indexer, by their own list or else by their kinds; nothing when none has.
[[nodiscard]] inline per_layer hy_v4_indexers(const conversion& c) {
  if (const auto types = c.in.array("indexer_types")) return equal_to(*types, "full");
  const auto kinds = c.layer_types();
  if (!kinds) return {};
  const per_layer sparse = list_of(*kinds, [](const config::node& n) {
    return n.value() == "sparse_attention" || n.value() == "deepseek_sparse_attention" ? 1U : 0U;
  });
  return any_of(sparse) ? sparse : per_layer();
}
inline void hy_v4(conversion& c) {
  const per_layer all = hy_v4_indexers(c);
  if (!all.given()) return;
  // The converter writes the model's own layers only.
  c.out.indexer_types = made(c.out.block_count, [&](std::uint32_t il) { return all[il]; });
  indexer(c);
}
/// Dots3Model: layers that slide have latents and heads of their own, and no indexer.
inline void dots3(conversion& c) {
  const per_layer slides = equal_to(c.need_layer_types(), "sliding_attention");
  deepseek2(c);
  const std::uint32_t heads = c.in.need({"num_attention_heads"});
  const std::uint32_t heads_swa = c.in.need({"swa_num_attention_heads"});
  c.out.head_count = made(c.out.block_count, [&](std::uint32_t il) { return slides[il] != 0 ? heads_swa : heads; });
  c.out.sliding_window = c.in.need({"sliding_window_size"});
  c.out.sliding_window_pattern = slides;
  const std::uint32_t latent = c.in.need({"swa_kv_lora_rank"});
  c.out.key_length_swa = latent + c.in.need({"swa_qk_rope_head_dim"});
  c.out.value_length_swa = latent;
  indexer(c);
  c.out.indexer_types = made(c.out.block_count, [&](std::uint32_t il) { return slides[il] == 0; });
}
/// MiniMaxM3Model: the first layers without experts have no index keys.
inline void minimax_m3(conversion& c) {
  const config::node sparse = c.in.need_object("sparse_attention_config");
  c.out.indexer_key_length = static_cast<std::uint32_t>(sparse.count("sparse_index_dim").value_or(0));
  c.out.indexer_top_k = static_cast<std::uint32_t>(sparse.count("sparse_topk_blocks").value_or(0));
  const per_layer moe = numbers(c.in.need_array("moe_layer_freq"));
  std::uint32_t& dense = c.out.leading_dense_block_count;
  while (dense < moe.size() && moe[dense] == 0) ++dense;
}
/// DeepseekV4Model.
inline void deepseek4(conversion& c) {
  window(c);
  indexer(c);
  c.out.compress_ratios = numbers(c.in.need_array("compress_ratios"));
  c.out.hyper_connection_count = c.in.need({"hc_mult"});
}

// ---- latents beside states ------------------------------------------------------------------------------------------

/// KimiLinearModel and KimiK3Model, which alone writes the width of V too.
inline void kimi(conversion& c) {
  const config::node linear = c.in.need_object("linear_attn_config");
  const auto full = linear.array("full_attn_layers");
  if (!full) linear.fail_missing("full_attn_layers", "an array");
  c.out.head_count_kv = listed(*full, 1, c.own_layers());
  kda_sizes(c, linear);
  const std::uint32_t rope = c.in.need({"qk_rope_head_dim"});
  c.out.kv_lora_rank = c.in.need({"kv_lora_rank"});
  c.out.key_length = c.out.kv_lora_rank + rope;
  if (c.row.gguf == "kimi-k3") c.out.value_length = c.out.kv_lora_rank;
  c.out.key_length_mla = c.in.count_or("qk_nope_head_dim", 0) + rope;
  c.out.value_length_mla = c.in.count_or("v_head_dim", 0);
}
/// Glm5NextModel.
inline void glm5_next(conversion& c) {
  const per_layer linear_layer = equal_to(c.need_layer_types(), "linear_attention");
  c.out.head_count_kv = made(c.out.block_count, [&](std::uint32_t il) { return linear_layer[il] != 0 ? 0U : 1U; });
  kda_sizes(c, c.in.need_object("linear_attn_config"));
  write_latent(c, c.in.need({"kv_lora_rank"}), c.in.need({"qk_rope_head_dim"}));
  indexer(c);
  c.out.indexer_kpool = c.in.need({"index_kpool"});
  indexer_types(c);
  c.out.hyper_connection_count = c.in.count_or("hc_mult", 0);
}
/// BailingMoeV3Model: the last layer of each group, and those of a group that is not complete, are attention.
inline void bailing3(conversion& c) {
  const std::uint32_t n = c.own_layers();
  const std::uint32_t group = c.in.need({"layer_group_size"});
  c.out.head_count_kv = made(c.out.block_count, [&](std::uint32_t il) {
    return il >= n || group == 0 || (il + 1) % group == 0 || il >= n / group * group;
  });
  c.out.ssm_conv_kernel = c.in.need({"short_conv_kernel_size"});
  c.out.kda_head_dim = c.in.need({"head_dim"});
  const std::uint32_t rope = c.in.need({"qk_rope_head_dim"});
  c.out.kv_lora_rank = c.in.need({"kv_lora_rank"});
  c.out.key_length = c.out.kv_lora_rank + rope;
  c.out.key_length_mla = c.in.need({"qk_nope_head_dim"}) + rope;
  c.out.value_length_mla = c.in.need({"v_head_dim"});
}
/// Qwen4ExpModel: index keys, and the history of an n-gram embedding on one layer.
inline void qwen4(conversion& c) {
  c.out.hyper_connection_count = c.in.need({"hc_count"});
  c.out.indexer_key_length = c.in.need({"indexer_head_dim"});
  c.out.indexer_top_k = c.in.need({"indexer_budget"});
  const config::node layers_with_ngrams = c.in.need_array("ple_layer_ids");
  if (layers_with_ngrams.value().empty()) return;
  const auto id = layers_with_ngrams.child(std::size_t{0}).count(1, max_layers);
  c.out.ple_layer = static_cast<std::uint32_t>(id - 1);
  c.out.ple_ngram_size = c.in.need({"ngram_size"});
  c.out.ple_conv_kernel = c.in.need({"ple_conv_kernel_size"});
}

}  // namespace kvbudget::detail::llama_cpp::steps
