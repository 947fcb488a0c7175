// config.json to the GGUF keys that matter for memory, as llama.cpp's converter writes them: one row for each class.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class).
#pragma once

#include <kvbudget/engines/llama_cpp/conversion_latents.hpp>
#include <kvbudget/engines/llama_cpp/conversion_sizes.hpp>
#include <kvbudget/engines/llama_cpp/conversion_states.hpp>
#include <kvbudget/engines/llama_cpp/conversion_windows.hpp>

namespace kvbudget::detail::llama_cpp {

/// What one class writes: first the sizes, then each step in its turn.
struct class_steps {
  rules how;
  size_rules sizes;
  void (*steps[5])(conversion&);
  std::uint32_t (*layers)(const conversion&) = steps::layers;
};

namespace steps {

using r = rules;

// clang-format off
inline constexpr class_steps classes[] = {
    {r::base, base_sizes, {base_rest}},
    {r::no_memory, base_sizes, {base_rest, not_causal}},

    // Heads and widths
    {r::bert, base_sizes, {base_rest, not_causal, bert_positions}},
    {r::nomic, base_sizes, {base_rest, not_causal, nomic_positions}},
    {r::bloom, {{}, {}, need("n_head", "num_attention_heads"), need("n_head", "num_attention_heads")},
     {bloom_width, seq_length}},
    {r::chatglm,
     {{}, need("hidden_size", "n_embed"), need("n_head", "num_attention_heads"),
      may("multi_query_group_num", "num_key_value_heads")},
     {kv_heads_or_all, seq_length}},
    {r::codeshell, {need("n_positions"), need("n_embd"), need("n_head"), need("num_query_groups")}, {}},
    {r::cohere, base_sizes_with(need("model_max_length", "max_position_embeddings")), {base_rest}},
    {r::dbrx, {number_or(2048, "max_seq_len"), need("d_model"), need("n_heads"), {}}, {dbrx_kv_heads}},
    {r::deci, {}, {deci}},
    {r::falcon, {fixed(2048), need("hidden_size"), need("num_attention_heads", "n_head"), {}}, {falcon_kv_heads}},
    {r::gpt2, {need("n_ctx", "n_positions"), need("n_embd"), need("n_head"), {}}, {}},
    {r::gpt_neox, {need("max_position_embeddings"), need("hidden_size"), need("num_attention_heads"), {}}, {}},
    {r::granite, base_sizes, {base_rest, no_head_size}},
    {r::granite_switch, base_sizes, {base_rest, no_head_size, last_layer_is_made}},
    {r::hrm, base_sizes, {base_rest, hrm_passes}},
    {r::hunyuan, base_sizes, {base_rest, hunyuan_positions}},
    {r::jais, {need("n_positions"), need("n_embd"), need("n_head"), {}}, {}},
    {r::llada,
     {number_or(4096, "max_sequence_length"), number_or(4096, "d_model"), base_sizes.head_count,
      base_sizes.head_count_kv},
     {base_rest, not_causal}},
    {r::minicpm3,
     {need("max_position_embeddings"), need("hidden_size"), need("num_attention_heads"), need("num_key_value_heads")},
     {nope_and_rope_key}},
    {r::mpt, {number_or(2048, "max_seq_len"), need("d_model"), need("n_heads"), {}}, {mpt_kv_heads}},
    {r::nanbeige, base_sizes, {base_rest, loops}},
    {r::openelm, {need("max_context_length"), need("model_dim"), {}, {}}, {openelm_heads, needed_head_dim},
     transformer_layers},
    {r::orion,
     base_sizes_with(need("max_sequence_length", "max_position_embeddings", "model_max_length")),
     {base_rest, no_head_size}},
    {r::phi2,
     {need("n_positions", "max_position_embeddings"), need("hidden_size", "n_embd"),
      need("num_attention_heads", "n_head"), need("num_attention_heads", "n_head")},
     {}},
    {r::phi3,
     {need("n_positions", "max_position_embeddings"), need("hidden_size", "n_embd"),
      need("num_attention_heads", "n_head"), may("num_key_value_heads", "n_head_kv")},
     {kv_heads_or_all}},
    // "num_key_value_heads is wrong", says the converter.
    {r::plamo, {fixed(4096), need("hidden_size"), need("num_attention_heads"), fixed(5)}, {}},
    {r::plm, base_sizes, {base_rest, nope_and_rope_key, v_head_dim}},
    {r::refact, {need("n_positions"), need("n_embd"), need("n_head"), fixed(1)}, {}},
    {r::stablelm,
     {need("max_position_embeddings"), need("hidden_size"), need("num_attention_heads"), need("num_key_value_heads")},
     {}},
    {r::starcoder, {need("n_positions"), need("n_embd"), need("n_head"), fixed(1)}, {}},
    {r::t5, {number_or(512, "n_positions"), need("d_model"), need("num_heads"), {}}, {t5_head_size}},

    // Prediction layers
    {r::bailing2, {}, {nextn, base}},
    {r::glm_moe, {}, {nextn, base}},

    // Windows
    {r::afmoe, base_sizes, {base_rest, window_if_given}},
    {r::cohere2, base_sizes, {base_rest, window}},
    {r::cohere2moe, {}, {nextn, base, window, slides_by_types}},
    {r::exaone4, {}, {nextn, base, exaone4_window}},
    {r::gemma, base_sizes, {base_rest, needed_head_dim, kv_heads_or_all}},
    {r::gemma2, base_sizes, {base_rest, needed_head_dim, kv_heads_or_all, window}},
    {r::gemma3, {}, {gemma3}},
    {r::gemma3n, {}, {gemma3, slides_by_types}},
    {r::gemma4, {}, {gemma3, gemma4}},
    {r::gemma4_assistant, {}, {gemma3, gemma4, all_are_nextn}},
    {r::gpt_oss, base_sizes, {base_rest, window}},
    {r::granite_swa, base_sizes, {base_rest, no_head_size, granite_window, granite_slides}},
    {r::laguna, base_sizes, {base_rest, laguna_heads, laguna_window}},
    {r::llama4, base_sizes, {base_rest, llama4_window}},
    {r::mellum, base_sizes, {base_rest, mellum_window}},
    {r::mimo2, {}, {mimo2_nextn, base, mimo2}},
    {r::olmo2, base_sizes, {base_rest, olmo3_window}},
    {r::plamo3, base_sizes, {base_rest, plamo3_window}},
    {r::sliding_types, base_sizes, {base_rest, window, slides_by_types}},
    {r::smallthinker, base_sizes, {base_rest, smallthinker_window}},
    {r::step35, {}, {nextn, base, step35}},

    // Latents, index keys, compressed keys
    {r::deepseek2, {}, {deepseek2}},
    {r::deepseek32, {}, {nextn, deepseek2, indexer}},
    {r::deepseek4, base_sizes, {base_rest, deepseek4}},
    {r::dots3, {}, {dots3}},
    {r::glm_dsa, {}, {nextn, deepseek2, indexer, indexer_types}},
    {r::glm_lite, {}, {nextn, deepseek2}},
    {r::hy_v4, {}, {deepseek2, hy_v4}},
    {r::minimax_m3, base_sizes, {base_rest, minimax_m3}},
    {r::mistral3, {}, {mistral3}},

    // States
    {r::arwkv7, rwkv_sizes, {one_token_shift, wkv_head_size}},
    {r::bailing3, {}, {nextn, base, bailing3}},
    {r::falcon_h1,
     {number_or(0, "max_position_embeddings"), need("hidden_size", "d_model", "dim"), need("num_attention_heads"),
      need("num_key_value_heads")},
     {head_dim, head_dim_of_width, falcon_h1}},
    {r::glm5_next, {}, {nextn, base, glm5_next}},
    {r::granite_hybrid, {}, {granite_hybrid}},
    {r::jamba,
     {need("max_position_embeddings", "n_ctx"), need("hidden_size", "mamba_d_model"), need("num_attention_heads"), {}},
     {jamba}},
    {r::kimi, base_sizes, {base_rest, kimi}},
    {r::lfm2, {}, {lfm2}},
    {r::lfm2_colbert, {}, {lfm2, window}},
    {r::mamba, mamba_sizes, {mamba}},
    {r::mamba2, mamba_sizes, {mamba2}},
    {r::nemotron_h, {}, {nemotron_h}, layers_of_block_types},
    {r::nemotron_h_puzzle, {}, {nemotron_h_puzzle}, layers_of_blocks},
    {r::plamo2, plamo2_sizes, {plamo2}},
    {r::qwen4, base_sizes, {base_rest, gated_delta_net, qwen4}},
    {r::qwen_mtp, {}, {qwen_nextn, base, gated_delta_net}},
    {r::rwkv6, rwkv_sizes, {wkv_head_size}},
    {r::rwkv6qwen2, rwkv_sizes, {one_token_shift, wkv_of_attention_heads}},
    {r::rwkv7, rwkv_sizes, {wkv_head_size_or_dim}},

    {r::draft, {}, {}},  // refused
};
// clang-format on

}  // namespace steps

[[nodiscard]] constexpr const class_steps& steps_of(rules how) {
  for (const class_steps& row : steps::classes) {
    if (row.how == how) return row;
  }
  return steps::classes[0];
}

/// A word of layer_types that some class knows.
inline void check_layer_word(const config::node& kind) {
  if (kind.value() == "window_attention" || kind.value() == "sparse_attention") return;
  (void)transformers::kind_of_word(kind);
}
/// What the classes that read these fields refuse, and the converter would write as it stands.
inline void check_fields(const conversion& c) {
  if (const auto window = c.in.peek("sliding_window"); window && window->value().is_number()) {
    if (window->value() < 0) window->fail("negative", "a number of positions");
  }
  for (const std::string_view key : {"num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv"}) {
    const auto heads = c.in.peek(key);
    if (heads && heads->value() == 0) heads->fail("out of range", "at least 1");
  }
  const auto types = c.in.peek("layer_types");
  if (!types || !types->value().is_array() || types->value().empty()) return;
  const std::size_t n = types->value().size();
  if (n != c.out.block_count) {
    types->fail(std::to_string(n) + " entries for " + std::to_string(c.out.block_count) + " layers",
                "one entry per layer");
  }
  for (std::size_t i = 0; i < n && i < max_layers; ++i) check_layer_word(types->child(i));
}

/// The converter would write a file that the engine takes for a model without attention.
inline void check_heads(conversion& c) {
  const memory_kind memory = c.out.architecture->memory;
  if (memory == memory_kind::none || memory == memory_kind::recurrent || c.out.head_count.is_list()) return;
  if (!c.out.head_count.given()) {
    // Only whether there are heads matters where K and V are stated.
    if (!c.out.head_count_kv.given() || !c.out.key_length) {
      c.in.fail_missing("num_attention_heads", "a whole number");
    }
    c.out.head_count = c.out.head_count_kv;
  } else if (c.out.head_count[0] == 0) {
    const auto heads = c.in.field({"num_attention_heads", "n_head", "n_heads"});
    if (heads) heads->fail("out of range", "at least 1");
  }
  if (c.out.key_length || c.out.embedding_length != 0) return;
  if (const auto width = c.in.field({"hidden_size", "n_embd", "dim"})) width->fail("out of range", "at least 1");
  c.in.fail_missing("hidden_size", "a whole number");
}

/// The GGUF keys of a config.json. Throws config_error.
[[nodiscard]] inline metadata convert(const hf_source& in) {
  const converter_row& row = converter_of(in);
  const class_steps& writes = steps_of(row.how);
  conversion c{in, row, {}};
  c.out.architecture = find_architecture(row.gguf);
  c.out.block_count = writes.layers(c);
  if (row.how == rules::draft) {
    throw config_error({in.root().file(), "/architectures", '"' + std::string(row.hf_architecture) + '"'},
                       "a draft model, whose conversion needs the target model", "the target model's config");
  }
  if (c.out.block_count > max_layers) return c.out;  // refused when it is loaded
  check_fields(c);
  write_sizes(c, writes.sizes);
  for (const auto step : writes.steps) {
    if (step != nullptr) step(c);
  }
  check_heads(c);
  return c.out;
}

}  // namespace kvbudget::detail::llama_cpp
