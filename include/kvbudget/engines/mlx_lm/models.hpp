// Which caches mlx-lm's models make: a table by model type.
//
// Source: mlx-lm 0.32.2, mlx_lm/models/*.py and mlx_lm/utils.py (_get_classes).
#pragma once

#include <kvbudget/config/attention_name.hpp>
#include <kvbudget/engines/mlx_lm/make_cache.hpp>

namespace kvbudget::detail::mlx_lm {

/// MODEL_REMAPPING of mlx_lm/utils.py.
struct renamed_module {
  std::string_view model_type;
  std::string_view module_name;
};
inline constexpr renamed_module renamed_modules[] = {{"mistral", "llama"},
                                                     {"llava", "mistral3"},
                                                     {"phi-msft", "phixtral"},
                                                     {"falcon_mamba", "mamba"},
                                                     {"joyai_llm_flash", "deepseek_v3"},
                                                     {"kimi_k2", "deepseek_v3"},
                                                     {"qwen2_5_vl", "qwen2_vl"},
                                                     {"minimax_m2", "minimax"},
                                                     {"iquestcoder", "llama"},
                                                     {"xverse", "llama"},
                                                     {"gemma4_unified", "gemma4"}};

/// The modules of mlx_lm/models whose caches are known here.
inline constexpr model_row model_rows[] = {
    {.module_name = "Klear", .make = every_layer},
    {.module_name = "afm7", .make = afm7, .own_cache = true, .reads_quantized = false},
    {.module_name = "afmoe", .make = by_layer_types, .size = head_size::given, .own_cache = true},
    {.module_name = "apertus", .make = every_layer},
    {.module_name = "baichuan_m1", .make = baichuan_m1, .own_cache = true},
    {.module_name = "bailing_hybrid",
     .make = bailing_hybrid,
     .size = head_size::given_or_divided,
     .own_cache = true,
     .reads_quantized = false},
    {.module_name = "bailing_moe", .make = every_layer},
    {.module_name = "bailing_moe_linear",
     .make = bailing_linear,
     .size = head_size::given_or_divided,
     .own_cache = true},
    {.module_name = "bitnet", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "cohere", .make = every_layer},
    {.module_name = "cohere2", .make = by_pattern, .size = head_size::given, .own_cache = true},
    {.module_name = "dbrx", .make = dbrx},
    {.module_name = "deepseek", .make = every_layer},
    {.module_name = "deepseek_v2", .make = every_layer_expanded},
    {.module_name = "deepseek_v3", .make = every_layer_latent, .reads_quantized = false},
    {.module_name = "deepseek_v32", .make = indexed_latents, .own_cache = true},
    {.module_name = "dots1", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "ernie4_5", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "ernie4_5_moe", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "exaone", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "exaone4", .make = exaone4, .size = head_size::given, .own_cache = true},
    {.module_name = "exaone_moe", .make = by_layer_types, .size = head_size::given, .own_cache = true},
    {.module_name = "falcon_h1", .make = falcon_h1, .size = head_size::given, .own_cache = true},
    {.module_name = "gear", .make = gear, .size = head_size::given, .own_cache = true},
    {.module_name = "gemma", .make = every_layer, .size = head_size::given},
    {.module_name = "gemma2", .make = every_layer, .size = head_size::given, .reads_quantized = false},
    {.module_name = "gemma3", .make = by_pattern, .size = head_size::given, .own_cache = true},
    {.module_name = "gemma3_text", .make = by_pattern, .size = head_size::given, .own_cache = true},
    {.module_name = "gemma3n", .make = gemma3n, .size = head_size::given, .own_cache = true},
    {.module_name = "gemma4", .make = gemma4, .size = head_size::given, .own_cache = true, .period = 5},
    {.module_name = "gemma4_text", .make = gemma4, .size = head_size::given, .own_cache = true, .period = 5},
    {.module_name = "glm", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "glm4", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "glm4_moe", .make = every_layer, .size = head_size::given},
    {.module_name = "glm4_moe_lite", .make = every_layer_latent, .reads_quantized = false},
    {.module_name = "glm_moe_dsa", .make = indexed_latents, .own_cache = true},
    {.module_name = "gpt2", .make = every_layer_all_heads},
    {.module_name = "gpt_bigcode", .make = gpt_bigcode},
    {.module_name = "gpt_neox", .make = every_layer_all_heads},
    {.module_name = "gpt_oss", .make = by_layer_types, .size = head_size::given, .own_cache = true, .period = 2},
    {.module_name = "gptj", .make = every_layer_all_heads},
    {.module_name = "granite", .make = every_layer},
    {.module_name = "granitemoe", .make = every_layer},
    {.module_name = "granitemoehybrid", .make = granite_hybrid, .own_cache = true},
    {.module_name = "helium", .make = every_layer},
    {.module_name = "hunyuan", .make = every_layer},
    {.module_name = "hunyuan_v1_dense", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "internlm2", .make = every_layer},
    {.module_name = "internlm3", .make = every_layer},
    {.module_name = "iquestloopcoder", .make = loop_coder, .size = head_size::given, .own_cache = true},
    {.module_name = "jamba", .make = jamba, .own_cache = true},
    {.module_name = "kimi_k25", .make = every_layer_latent, .reads_quantized = false},
    {.module_name = "kimi_k3", .make = kimi_linear, .own_cache = true, .reads_quantized = false},
    {.module_name = "kimi_linear", .make = kimi_linear, .own_cache = true, .reads_quantized = false},
    {.module_name = "kimi_vl", .make = every_layer_latent, .reads_quantized = false},
    {.module_name = "laguna", .make = by_layer_types, .size = head_size::given, .own_cache = true},
    {.module_name = "lfm2", .make = lfm2, .own_cache = true},
    {.module_name = "lfm2-vl", .make = lfm2, .own_cache = true},
    {.module_name = "lfm2_moe", .make = lfm2, .own_cache = true},
    {.module_name = "lille-130m", .make = every_layer},
    {.module_name = "llama", .make = by_layer_types, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "llama4", .make = llama4, .size = head_size::given, .own_cache = true},
    {.module_name = "llama4_text", .make = every_layer, .size = head_size::given},
    {.module_name = "longcat_flash", .make = longcat_flash, .own_cache = true},
    {.module_name = "mamba", .make = mamba, .own_cache = true},
    {.module_name = "mamba2", .make = mamba2, .own_cache = true},
    {.module_name = "mellum", .make = by_layer_types, .size = head_size::given, .own_cache = true},
    {.module_name = "mimo", .make = every_layer},
    {.module_name = "mimo_v2_flash", .make = mimo_v2, .size = head_size::given, .own_cache = true},
    {.module_name = "minicpm", .make = every_layer},
    {.module_name = "minicpm3", .make = minicpm3},
    {.module_name = "minimax", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "minimax_m3_vl", .make = minimax_m3, .size = head_size::given, .own_cache = true},
    {.module_name = "ministral3", .make = by_layer_types, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "mistral3", .make = mistral3, .size = head_size::given_or_divided},
    {.module_name = "mistral4", .make = every_layer_latent, .reads_quantized = false},
    {.module_name = "mixtral", .make = every_layer},
    {.module_name = "muse_glimmer", .make = by_layer_types, .size = head_size::given, .own_cache = true, .period = 4},
    {.module_name = "muse_spark", .make = by_layer_types, .size = head_size::given, .own_cache = true},
    {.module_name = "nanbeige", .make = nanbeige, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "nanochat", .make = every_layer},
    {.module_name = "nemotron", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "nemotron-nas", .make = nemotron_nas, .own_cache = true},
    {.module_name = "nemotron_h", .make = nemotron_h, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "olmo", .make = every_layer_all_heads},
    {.module_name = "olmo2", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "olmo3",
     .make = by_layer_types,
     .size = head_size::given_or_divided,
     .own_cache = true,
     .period = 4},
    {.module_name = "olmo_hybrid", .make = olmo_hybrid, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "olmoe", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "openelm", .make = openelm, .size = head_size::given},
    {.module_name = "phi", .make = every_layer, .reads_quantized = false},
    {.module_name = "phi3", .make = every_layer},
    {.module_name = "phi3small", .make = every_layer, .reads_quantized = false},
    {.module_name = "phimoe", .make = every_layer},
    {.module_name = "phixtral", .make = every_layer_all_heads, .reads_quantized = false},
    {.module_name = "pixtral", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "plamo", .make = plamo, .reads_quantized = false},
    {.module_name = "plamo2", .make = plamo2, .own_cache = true, .reads_quantized = false},
    {.module_name = "plamo3", .make = plamo3, .size = head_size::given, .own_cache = true},
    {.module_name = "qwen", .make = qwen},
    {.module_name = "qwen2", .make = every_layer},
    {.module_name = "qwen2_moe", .make = every_layer},
    {.module_name = "qwen2_vl", .make = every_layer},
    {.module_name = "qwen3", .make = every_layer, .size = head_size::given},
    {.module_name = "qwen3_5", .make = by_interval, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "qwen3_5_moe", .make = by_interval, .size = head_size::given_or_divided, .own_cache = true},
    {.module_name = "qwen3_moe", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "qwen3_next", .make = by_interval, .size = head_size::given, .own_cache = true},
    {.module_name = "qwen3_vl", .make = every_layer, .size = head_size::given},
    {.module_name = "qwen3_vl_moe", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "recurrent_gemma", .make = recurrent_gemma, .own_cache = true},
    {.module_name = "rwkv7", .make = rwkv7, .own_cache = true},
    {.module_name = "seed_oss", .make = every_layer, .size = head_size::given},
    {.module_name = "smollm3", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "solar_open", .make = every_layer, .size = head_size::given},
    {.module_name = "spark2_5", .make = by_layer_types, .size = head_size::given, .own_cache = true, .period = 4},
    {.module_name = "stablelm", .make = every_layer, .reads_quantized = false},
    {.module_name = "starcoder2", .make = every_layer},
    {.module_name = "step3p5", .make = step3p5, .size = head_size::given, .own_cache = true},
    {.module_name = "talkie", .make = every_layer_all_heads, .size = head_size::given},
    {.module_name = "telechat3", .make = every_layer, .size = head_size::given_or_divided},
    {.module_name = "youtu_llm", .make = every_layer_expanded},
};

[[nodiscard]] inline const model_row* find_row(std::string_view model_type) {
  for (const renamed_module& r : renamed_modules) {
    if (r.model_type == model_type) model_type = r.module_name;
  }
  for (const model_row& row : model_rows) {
    if (row.module_name == model_type) return &row;
  }
  return nullptr;
}

[[nodiscard]] inline std::string attention_of(const fields& f, const cached_model& m) {
  config::attention_counts counts;
  for (const cache_entry& e : m.kinds) {
    for (const cache& c : e.caches) {
      if (c.kind == cache_class::arrays) {
        counts.recurrent = true;
      } else {
        counts.attention = true;
        counts.kv_heads = std::max(counts.kv_heads, c.heads);
      }
    }
  }
  counts.latent = f.row().make == every_layer_latent || f.row().make == indexed_latents;
  if (counts.attention && !counts.latent) counts.heads = f.heads_if_one_number().value_or(0);
  return std::string(config::attention_name(counts));
}

/// Throws config_error for model types that mlx-lm does not have, or that have no row here.
[[nodiscard]] inline cached_model read_model(const config::model_config& c) {
  const model_row* const row = find_row(c.published_model_type());
  if (row == nullptr) {
    const config::json* const type = c.root().find("model_type");
    if (type == nullptr) c.root().fail_missing("model_type", "a model type of mlx-lm");
    c.root().fail("model_type", *type, "a model type whose caches in mlx-lm are not known here",
                  "a model type that mlx_lm/models has, such as llama");
  }
  const fields f(c, *row);
  cached_model m;
  m.makes_own_cache = row->own_cache;
  m.reads_quantized = row->reads_quantized;
  row->make(f, m);
  if (m.num_layers == 0) m.num_layers = f.layers();
  m.attention = attention_of(f, m);
  return m;
}

}  // namespace kvbudget::detail::mlx_lm
