// The architectures of llama.cpp and what its source says of their memory: data only.
//
// Read from llama.cpp 0.5.0-dev (ggml 0.25.3, as vendored in llama-cpp-python 0.3.36): src/llama-arch.cpp (names,
// llm_arch_is_recurrent, llm_arch_is_hybrid, llm_arch_supports_rs_rollback, llm_arch_supports_sm_tensor),
// src/llama-model.cpp (create_memory) and load_arch_hparams of src/models/*.cpp (windows, patterns, recurrent layers).
#pragma once

#include <cstdint>
#include <string_view>

namespace kvbudget::detail::llama_cpp {

/// Which memory module llama_model::create_memory builds.
enum class memory_kind : std::uint8_t {
  none,        ///< no memory at all: encoders and diffusion models
  attention,   ///< llama_kv_cache, or llama_kv_cache_iswa where a window is in force
  recurrent,   ///< llama_memory_recurrent
  hybrid,      ///< llama_memory_hybrid(_iswa): an attention cache and recurrent states
  hybrid_idx,  ///< llama_memory_hybrid_idx: the same, and index keys
  dsa,         ///< llama_kv_cache_dsa: MLA and index keys
  dsa_iswa,    ///< llama_kv_cache_dsa_iswa: MLA, index keys, and a second MLA cache for the window
  msa,         ///< llama_kv_cache_msa: grouped-query attention and index keys
  dsv4         ///< llama_kv_cache_dsv4: window, compressed keys, index keys, compressor states
};

/// When a sliding window is in force.
enum class window_rule : std::uint8_t {
  never,
  if_given,          ///< when the file has a window above 0
  always,            ///< whatever the file says; `window` where it says nothing
  fixed,             ///< `window` when the file has one above 0
  chunked,           ///< chunks of `window` unless the file says 0 (llama4)
  of_64_layers,      ///< always, in models of exactly 64 layers (exaone4)
  attention_layers,  ///< if_given, on every layer that is not recurrent (lfm2)
  draft              ///< on every layer of a DeepSeek-V4 backbone (hyper connections), else if_given (dflash)
};

/// Which layers slide, where the file has no pattern of its own.
enum class pattern_rule : std::uint8_t {
  period,              ///< every `period`-th layer is dense, the last of each group
  period_dense_first,  ///< the same, the first of each group
  all,                 ///< all layers, those for multi-token prediction included
  in_file              ///< the file must have the array
};

/// Which layers are recurrent.
enum class recurrent_rule : std::uint8_t {
  none,
  all,
  no_kv_heads,         ///< head_count_kv 0
  no_kv_heads_no_ffn,  ///< head_count_kv 0 and feed_forward_length 0; attention layers have no FFN either (nemotron_h)
  interval,            ///< the file's array, else all but every `recurrent_interval`-th
  every_layer_is_both  ///< attention and state in each layer (falcon-h1)
};

/// What a layer's states are made of: which of the file's keys the loader reads for them.
enum class state_rule : std::uint8_t {
  none,
  mamba,         ///< ssm.conv_kernel, inner_size, state_size
  mamba_groups,  ///< the same, and ssm.group_count
  kda,           ///< kda.head_dim and ssm.conv_kernel
  short_conv,    ///< shortconv.l_cache
  wkv,           ///< wkv.head_size and token_shift_count
  lightning      ///< head_size^2 per head (minimax-01)
};

/// Which layers have an indexer of their own.
enum class indexer_rule : std::uint8_t {
  every_layer,  ///< deepseek32
  all_or_file,  ///< the file's indexer types, else all (glm5-next)
  glm_or_file,  ///< the file's, else all for contexts below 1048576 and a fixed pattern above (glm-dsa)
  none_or_file  ///< the file's, else none (hy_v4, dots3note)
};

/// One row. Names are those of GGUF's general.architecture.
struct architecture {
  std::string_view name;
  memory_kind memory = memory_kind::attention;
  window_rule window_when = window_rule::never;
  std::uint32_t window = 0;
  pattern_rule pattern = pattern_rule::in_file;
  std::uint32_t period = 0;
  recurrent_rule recurrent = recurrent_rule::none;
  std::uint32_t recurrent_interval = 0;
  indexer_rule indexer = indexer_rule::every_layer;
  bool causal = true;
  bool rs_rollback = false;                ///< keeps n_rs_seq snapshots of its states
  bool split_mode_tensor = true;           ///< runs with split_mode=tensor
  bool flash_attn = true;                  ///< false: forced off (grok)
  bool mtp_context_is_attention = false;   ///< the multi-token-prediction context has a plain cache, though hybrid
  bool recurrent_in_trunk_only = false;    ///< neither part of the hybrid looks at the prediction layers
  std::int32_t kv_layers_from_start = -1;  ///< only that many layers have a cache (gemma3n)
  bool shares_kv_from_file = false;        ///< the file says how many last layers share (gemma4)
  bool value_is_latent = false;           ///< value_length is kv_lora_rank, whatever the file says (kimi-k3, glm5-next)
  bool key_length_without_heads = false;  ///< reads key_length although layer 0 has no heads (plamo2)
  state_rule states = state_rule::none;
  bool latent = false;                ///< reads key_length_mla and value_length_mla
  bool loops = false;                 ///< reads num_loops (nanbeige)
  bool ngrams = false;                ///< reads ple.* (qwen4exp)
  bool has_encoder = false;           ///< llama_model_has_encoder
  bool has_router_layer = false;      ///< one single-head layer more (graniteswitch)
  bool needs_target_context = false;  ///< a draft that shares its target's cache (gemma4-assistant)
};

using mk = memory_kind;
using wr = window_rule;
using pr = pattern_rule;
using rr = recurrent_rule;
using ir = indexer_rule;
using sr = state_rule;

inline constexpr architecture architectures[] = {
    {.name = "llama"},
    {.name = "llama4", .window_when = wr::chunked, .window = 8192, .pattern = pr::period, .period = 4},
    {.name = "deci"},
    {.name = "falcon"},
    {.name = "grok", .split_mode_tensor = false, .flash_attn = false},
    {.name = "gpt2"},
    {.name = "gptneox"},
    {.name = "mpt", .split_mode_tensor = false},
    {.name = "baichuan"},
    {.name = "starcoder"},
    {.name = "refact"},
    {.name = "bert", .memory = mk::none},
    {.name = "modern-bert", .memory = mk::none},
    {.name = "nomic-bert", .memory = mk::none},
    {.name = "nomic-bert-moe", .memory = mk::none},
    {.name = "neo-bert", .memory = mk::none},
    {.name = "jina-bert-v2", .memory = mk::none},
    {.name = "jina-bert-v3", .memory = mk::none},
    {.name = "eurobert", .memory = mk::none},
    {.name = "bloom"},
    {.name = "stablelm"},
    {.name = "qwen"},
    {.name = "qwen2"},
    {.name = "qwen2moe"},
    {.name = "qwen2vl"},
    {.name = "qwen3"},
    {.name = "qwen3moe"},
    {.name = "qwen3next",
     .memory = mk::hybrid,
     .recurrent = rr::interval,
     .recurrent_interval = 4,
     .mtp_context_is_attention = true,
     .recurrent_in_trunk_only = true,
     .states = sr::mamba_groups},
    {.name = "qwen3vl"},
    {.name = "qwen3vlmoe"},
    {.name = "qwen35",
     .memory = mk::hybrid,
     .recurrent = rr::interval,
     .recurrent_interval = 4,
     .rs_rollback = true,
     .mtp_context_is_attention = true,
     .recurrent_in_trunk_only = true,
     .states = sr::mamba_groups},
    {.name = "qwen35moe",
     .memory = mk::hybrid,
     .recurrent = rr::interval,
     .recurrent_interval = 4,
     .rs_rollback = true,
     .mtp_context_is_attention = true,
     .recurrent_in_trunk_only = true,
     .states = sr::mamba_groups},
    {.name = "qwen4exp",
     .memory = mk::hybrid_idx,
     .recurrent = rr::interval,
     .recurrent_interval = 4,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .recurrent_in_trunk_only = true,
     .states = sr::mamba_groups,
     .ngrams = true},
    {.name = "phi2"},
    {.name = "phi3"},
    {.name = "phimoe"},
    {.name = "plamo"},
    {.name = "plamo2",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .split_mode_tensor = false,
     .key_length_without_heads = true,
     .states = sr::mamba_groups},
    {.name = "plamo3", .window_when = wr::if_given, .pattern = pr::period, .period = 8},
    {.name = "codeshell"},
    {.name = "orion"},
    {.name = "internlm2"},
    {.name = "minicpm"},
    {.name = "minicpm3", .split_mode_tensor = false},
    {.name = "gemma"},
    {.name = "gemma2", .window_when = wr::always, .window = 4096, .pattern = pr::period, .period = 2},
    {.name = "gemma3", .window_when = wr::if_given, .pattern = pr::period, .period = 6},
    {.name = "gemma3n",
     .window_when = wr::always,
     .pattern = pr::period,
     .period = 5,
     .split_mode_tensor = false,
     .kv_layers_from_start = 20},
    {.name = "gemma4", .window_when = wr::always, .shares_kv_from_file = true},
    {.name = "gemma4-assistant", .window_when = wr::always, .needs_target_context = true},
    {.name = "gemma-embedding", .memory = mk::none, .causal = false},
    {.name = "starcoder2"},
    {.name = "mamba", .memory = mk::recurrent, .recurrent = rr::all, .split_mode_tensor = false, .states = sr::mamba},
    {.name = "mamba2",
     .memory = mk::recurrent,
     .recurrent = rr::all,
     .split_mode_tensor = false,
     .states = sr::mamba_groups},
    {.name = "maple", .window_when = wr::always},
    {.name = "jamba",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .split_mode_tensor = false,
     .states = sr::mamba},
    {.name = "falcon-h1",
     .memory = mk::hybrid,
     .recurrent = rr::every_layer_is_both,
     .split_mode_tensor = false,
     .states = sr::mamba_groups},
    {.name = "xverse"},
    {.name = "command-r"},
    {.name = "cohere2", .window_when = wr::always, .pattern = pr::period, .period = 4},
    {.name = "cohere2moe", .window_when = wr::always, .pattern = pr::period_dense_first, .period = 4},
    {.name = "dbrx"},
    {.name = "olmo"},
    {.name = "olmo2", .window_when = wr::if_given, .pattern = pr::period, .period = 4, .split_mode_tensor = false},
    {.name = "olmoe", .split_mode_tensor = false},
    {.name = "muse-glimmer", .window_when = wr::always, .pattern = pr::period, .period = 4},
    {.name = "openelm"},
    {.name = "arctic"},
    {.name = "deepseek"},
    {.name = "deepseek2", .split_mode_tensor = false, .latent = true},
    {.name = "deepseek2-ocr"},
    {.name = "deepseek32", .memory = mk::dsa, .split_mode_tensor = false, .latent = true},
    {.name = "deepseek4", .memory = mk::dsv4, .window_when = wr::always, .pattern = pr::all, .rs_rollback = true},
    {.name = "chatglm"},
    {.name = "glm4"},
    {.name = "glm4moe"},
    {.name = "glm-dsa", .memory = mk::dsa, .indexer = ir::glm_or_file, .split_mode_tensor = false, .latent = true},
    {.name = "bitnet", .split_mode_tensor = false},
    {.name = "t5", .split_mode_tensor = false, .has_encoder = true},
    {.name = "t5encoder", .has_encoder = true},
    {.name = "jais"},
    {.name = "jais2"},
    {.name = "nemotron"},
    {.name = "nemotron_h",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads_no_ffn,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .states = sr::mamba_groups},
    {.name = "nemotron_h_moe",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads_no_ffn,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .mtp_context_is_attention = true,
     .states = sr::mamba_groups},
    {.name = "exaone"},
    {.name = "exaone4", .window_when = wr::of_64_layers, .window = 4096, .pattern = pr::period, .period = 4},
    {.name = "exaone-moe", .window_when = wr::always, .window = 128, .pattern = pr::period, .period = 4},
    {.name = "rwkv6", .memory = mk::recurrent, .recurrent = rr::all, .states = sr::wkv},
    {.name = "rwkv6qwen2", .memory = mk::recurrent, .recurrent = rr::all, .states = sr::wkv},
    {.name = "rwkv7", .memory = mk::recurrent, .recurrent = rr::all, .states = sr::wkv},
    {.name = "arwkv7", .memory = mk::recurrent, .recurrent = rr::all, .states = sr::wkv},
    {.name = "granite"},
    {.name = "granitemoe"},
    {.name = "granitehybrid",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .split_mode_tensor = false,
     .states = sr::mamba_groups},
    {.name = "graniteswitch", .has_router_layer = true},
    {.name = "granite_swa", .window_when = wr::always},
    {.name = "chameleon"},
    {.name = "wavtokenizer-dec", .memory = mk::none},
    {.name = "plm"},
    {.name = "bailingmoe"},
    {.name = "bailingmoe2"},
    {.name = "bailingmoe3",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .mtp_context_is_attention = true,
     .states = sr::kda,
     .latent = true},
    {.name = "dots1"},
    {.name = "dots3note",
     .memory = mk::dsa_iswa,
     .window_when = wr::always,
     .indexer = ir::none_or_file,
     .split_mode_tensor = false,
     .latent = true},
    {.name = "arcee"},
    {.name = "afmoe", .window_when = wr::if_given, .pattern = pr::period, .period = 4},
    {.name = "laguna", .window_when = wr::if_given, .pattern = pr::period_dense_first, .period = 4},
    {.name = "ernie4_5"},
    {.name = "ernie4_5-moe"},
    {.name = "hunyuan-moe"},
    {.name = "hunyuan-dense"},
    {.name = "hunyuan_vl"},
    {.name = "hy_v3"},
    {.name = "hy_v4", .memory = mk::dsa, .indexer = ir::none_or_file, .split_mode_tensor = false, .latent = true},
    {.name = "smollm3"},
    {.name = "gpt-oss", .window_when = wr::always, .pattern = pr::period, .period = 2},
    {.name = "lfm2",
     .memory = mk::hybrid,
     .window_when = wr::attention_layers,
     .recurrent = rr::no_kv_heads,
     .rs_rollback = true,
     .states = sr::short_conv},
    {.name = "lfm2moe",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .rs_rollback = true,
     .states = sr::short_conv},
    {.name = "dream", .memory = mk::none, .causal = false},
    {.name = "smallthinker", .window_when = wr::fixed, .window = 4096, .pattern = pr::period_dense_first, .period = 4},
    {.name = "llada", .memory = mk::none, .causal = false},
    {.name = "llada-moe", .memory = mk::none, .causal = false},
    {.name = "seed_oss"},
    {.name = "grovemoe"},
    {.name = "apertus"},
    {.name = "minimax-01",
     .memory = mk::hybrid,
     .recurrent = rr::interval,
     .recurrent_interval = 8,
     .split_mode_tensor = false,
     .recurrent_in_trunk_only = true,
     .states = sr::lightning},
    {.name = "hrm_text"},
    {.name = "minimax-m2", .split_mode_tensor = false},
    {.name = "minimax-m3", .memory = mk::msa, .split_mode_tensor = false},
    {.name = "cogvlm"},
    {.name = "rnd1", .memory = mk::none, .causal = false},
    {.name = "pangu-embedded"},
    {.name = "mistral3"},
    {.name = "eagle3", .has_encoder = true},
    {.name = "dflash", .window_when = wr::draft, .has_encoder = true},
    {.name = "mistral4", .split_mode_tensor = false, .latent = true},
    {.name = "paddleocr"},
    {.name = "mimo2", .window_when = wr::always},
    {.name = "step35", .window_when = wr::always},
    {.name = "spark2_5", .window_when = wr::always},
    {.name = "llama-embed"},
    {.name = "maincoder"},
    {.name = "kimi-linear",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .split_mode_tensor = false,
     .states = sr::kda,
     .latent = true},
    {.name = "kimi-k3",
     .memory = mk::hybrid,
     .recurrent = rr::no_kv_heads,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .value_is_latent = true,
     .states = sr::kda,
     .latent = true},
    {.name = "glm5-next",
     .memory = mk::hybrid_idx,
     .recurrent = rr::no_kv_heads,
     .indexer = ir::all_or_file,
     .rs_rollback = true,
     .split_mode_tensor = false,
     .recurrent_in_trunk_only = true,
     .value_is_latent = true,
     .states = sr::kda,
     .latent = true},
    {.name = "talkie"},
    {.name = "mellum", .window_when = wr::if_given, .pattern = pr::period, .period = 4},
    {.name = "nanbeige", .loops = true},
    {.name = "qwen3tts", .split_mode_tensor = false},
    {.name = "pockettts"},
};

/// The row of an architecture by its GGUF name; nullptr when llama.cpp does not know it.
[[nodiscard]] constexpr const architecture* find_architecture(std::string_view name) noexcept {
  for (const architecture& row : architectures) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace kvbudget::detail::llama_cpp
