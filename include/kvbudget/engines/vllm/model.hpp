// What vLLM is told: a model as its layers and a few numbers of the whole, and the settings under vLLM's own names.
//
// Everything here is a plain value. A model refers to storage of its caller; nothing in the planning path allocates.
// All rules of this folder are those of vLLM 0.32.0; paths in comments are inside its `vllm` package.
#pragma once

#include <optional>
#include <span>

#include <kvbudget/core/checked.hpp>
#include <kvbudget/core/pool.hpp>

namespace kvbudget::detail::vllm {

/// `--kv-cache-dtype` (config/cache.py: CacheDType). `automatic` is spelled "auto": the model's own type.
enum class cache_dtype : std::uint8_t {
  automatic,
  float16,
  bfloat16,
  fp8,
  fp8_e4m3,
  fp8_e5m2,
  fp8_inc,
  fp8_ds_mla,
  nvfp4_ds_mla,
  turboquant_k8v4,
  turboquant_4bit_nc,
  turboquant_k3v4_nc,
  turboquant_3bit_nc,
  ultraquant_4bit,
  int4_per_token_head,
  int8_per_token_head,
  fp8_per_token_head,
  nvfp4,
  nvfp4_4over6
};
inline constexpr const char* cache_dtype_names[] = {"auto",
                                                    "float16",
                                                    "bfloat16",
                                                    "fp8",
                                                    "fp8_e4m3",
                                                    "fp8_e5m2",
                                                    "fp8_inc",
                                                    "fp8_ds_mla",
                                                    "nvfp4_ds_mla",
                                                    "turboquant_k8v4",
                                                    "turboquant_4bit_nc",
                                                    "turboquant_k3v4_nc",
                                                    "turboquant_3bit_nc",
                                                    "ultraquant_4bit",
                                                    "int4_per_token_head",
                                                    "int8_per_token_head",
                                                    "fp8_per_token_head",
                                                    "nvfp4",
                                                    "nvfp4_4over6"};

/// Types of the model, and of convolution and recurrent states (config/cache.py: MambaDType).
enum class state_dtype : std::uint8_t { automatic, float32, float16, bfloat16 };
inline constexpr const char* state_dtype_names[] = {"auto", "float32", "float16", "bfloat16"};

[[nodiscard]] constexpr std::uint64_t element_bytes(state_dtype t) noexcept {
  return t == state_dtype::float32 ? 4 : 2;
}

/// Bytes of one element: 1 for every quantized type, whatever is packed into it (utils/torch_utils.py).
[[nodiscard]] constexpr std::uint64_t element_bytes(cache_dtype t, state_dtype model_dtype) noexcept {
  switch (t) {
    case cache_dtype::automatic: return element_bytes(model_dtype);
    case cache_dtype::float16:
    case cache_dtype::bfloat16: return 2;
    default: return 1;
  }
}

[[nodiscard]] constexpr bool is_quantized(cache_dtype t) noexcept {
  return t != cache_dtype::automatic && t != cache_dtype::float16 && t != cache_dtype::bfloat16;
}
[[nodiscard]] constexpr bool is_turboquant(cache_dtype t) noexcept {
  return t >= cache_dtype::turboquant_k8v4 && t <= cache_dtype::turboquant_3bit_nc;
}
[[nodiscard]] constexpr bool is_per_token_head(cache_dtype t) noexcept {
  return t >= cache_dtype::int4_per_token_head && t <= cache_dtype::fp8_per_token_head;
}
[[nodiscard]] constexpr bool is_nvfp4(cache_dtype t) noexcept {
  return t == cache_dtype::nvfp4 || t == cache_dtype::nvfp4_4over6;
}
/// v1/kv_cache_interface.py:get_kv_quant_mode FP8_PER_TENSOR: everything that starts with "fp8" but the per-head form.
[[nodiscard]] constexpr bool is_fp8_per_tensor(cache_dtype t) noexcept {
  return t >= cache_dtype::fp8 && t <= cache_dtype::fp8_ds_mla;
}

[[nodiscard]] constexpr bool is_fp8_or_e4m3(cache_dtype t) noexcept {
  return t == cache_dtype::fp8 || t == cache_dtype::fp8_e4m3;
}

/// The attention backends that a CUDA device may get (v1/attention/backends/registry.py), and those that a model brings
/// along itself. `none`: the layer is recurrent.
enum class attention_backend : std::uint8_t {
  none,
  flash_attn,
  flashinfer,
  triton_attn,
  flex_attention,
  turboquant,
  triton_flash_attn,
  triton_flashinfer,
  flash_attn_diffkv,
  triton_attn_diffkv,
  flash_attn_mla,
  flashmla,
  flashinfer_mla,
  cutlass_mla,
  triton_mla,
  flash_attn_mla_sparse,
  flashmla_sparse,
  flashinfer_mla_sparse,
  flashinfer_mla_sparse_sm90,
  flashinfer_mla_sparse_sm120,
  deepseek_v32_indexer,
  flashmla_sparse_dsv4,
  deepseek_v4_indexer,
  deepseek_sparse_swa,
  compressor,
  minimax_m3_sparse,
  minimax_m3_sparse_indexer
};
inline constexpr const char* attention_backend_names[] = {"NONE",
                                                          "FLASH_ATTN",
                                                          "FLASHINFER",
                                                          "TRITON_ATTN",
                                                          "FLEX_ATTENTION",
                                                          "TURBOQUANT",
                                                          "TRITON_FLASH_ATTN",
                                                          "TRITON_FLASHINFER",
                                                          "FLASH_ATTN_DIFFKV",
                                                          "TRITON_ATTN_DIFFKV",
                                                          "FLASH_ATTN_MLA",
                                                          "FLASHMLA",
                                                          "FLASHINFER_MLA",
                                                          "CUTLASS_MLA",
                                                          "TRITON_MLA",
                                                          "FLASH_ATTN_MLA_SPARSE",
                                                          "FLASHMLA_SPARSE",
                                                          "FLASHINFER_MLA_SPARSE",
                                                          "FLASHINFER_MLA_SPARSE_SM90",
                                                          "FLASHINFER_MLA_SPARSE_SM120",
                                                          "DEEPSEEK_V32_INDEXER",
                                                          "FLASHMLA_SPARSE_DSV4",
                                                          "DEEPSEEK_V4_INDEXER",
                                                          "DEEPSEEK_SPARSE_SWA",
                                                          "COMPRESSOR",
                                                          "MINIMAX_M3_SPARSE",
                                                          "MINIMAX_M3_SPARSE_INDEXER"};

/// What kind of module registers the cache.
enum class layer_role : std::uint8_t {
  attention,               ///< layers/attention/attention.py: full, or sliding when `window` is set
  chunked_attention,       ///< layers/attention/chunked_local_attention.py, chunk of `window` tokens
  cross_attention,         ///< layers/attention/cross_attention.py
  diffkv_attention,        ///< models/mimo_v2.py: K and V of different width with a backend of its own
  mla,                     ///< layers/attention/mla_attention.py; `num_kv_heads` is 1, `head_size` latent and rope
  sparse_mla,              ///< the same, attending to the positions that an indexer picks
  dsa_indexer,             ///< models/deepseek_v2.py: DeepseekV32IndexerCache
  minimax_m3_sparse,       ///< models/minimax_m3: block-sparse attention
  minimax_m3_indexer,      ///< models/minimax_m3/common/indexer.py
  deepseek_v4_mla,         ///< models/deepseek_v4/attention.py, one row for `compress_ratio` tokens
  deepseek_v4_indexer,     ///< models/deepseek_v4/attention.py: DeepseekV4IndexerCache
  deepseek_v4_swa,         ///< v1/attention/backends/mla/sparse_swa.py: DeepseekV4SWACache
  deepseek_v4_compressor,  ///< models/deepseek_v4/compressor.py: CompressorStateCache
  recurrent                ///< layers/mamba/abstract.py: a state of fixed size
};

/// model_executor/layers/mamba: which state a recurrent layer keeps.
enum class state_kind : std::uint8_t { mamba1, mamba2, gated_delta_net, kda, short_conv, linear_attention };

/// A recurrent layer before tensor parallelism (layers/mamba/mamba_utils.py: MambaStateShapeCalculator).
struct state_shape {
  state_kind kind = state_kind::mamba2;
  std::uint32_t conv_dim = 0;     ///< channels of the convolution; for mamba2 those of x alone
  std::uint32_t conv_kernel = 1;  ///< keeps conv_kernel - 1 columns, and one more for each speculative token
  std::uint32_t n_groups = 0;     ///< mamba2: groups of B and C, `state_size` channels each, twice
  std::uint32_t state_size = 0;
  std::uint32_t num_heads = 0;      ///< heads of the recurrent state
  std::uint32_t head_elements = 0;  ///< elements of one head's state
  bool flash_kda = false;           ///< KDA with a bounded full-rank gate and heads of 128: FlashKDA may run it
  friend constexpr bool operator==(const state_shape&, const state_shape&) noexcept = default;
};

/// One kind of layer of a model. Sizes are those of the whole model; tensor parallelism divides them later.
struct layer_class {
  layer_role role = layer_role::attention;
  std::uint32_t num_kv_heads = 1;
  std::uint32_t head_size = 0;
  std::uint32_t head_size_v = 0;      ///< 0: the same as head_size
  std::uint32_t window = 0;           ///< tokens of the window or chunk; 0: none
  std::uint32_t compress_ratio = 1;   ///< DeepSeek-V4: tokens per stored row
  bool sinks = false;                 ///< attention sinks: fewer backends qualify
  bool has_indexer = false;           ///< sparse MLA with an indexer of its own
  bool unquantized = false;           ///< keeps the model's type whatever --kv-cache-dtype says
  bool non_causal = false;            ///< a draft whose tokens see one another
  bool replicated_under_dcp = false;  ///< a draft layer outside decode context parallelism
  state_shape state{};
  friend constexpr bool operator==(const layer_class&, const layer_class&) noexcept = default;
};

/// One registered cache, in registration order.
struct layer_ref {
  std::uint16_t layer_class = 0;  ///< index into model::classes
  std::uint32_t layer = 0;        ///< decoder layer
  bool draft = false;             ///< belongs to the draft model: lives on the last pipeline stage
  std::uint32_t named_layer = 0;  ///< of a draft layer: the number in its name, which kv_cache_dtype_skip_layers means

  [[nodiscard]] constexpr std::uint32_t skip_index() const noexcept { return draft ? named_layer : layer; }
};

/// What a "auto" cache type may turn into for this architecture (model_executor/models/config.py).
enum class cache_dtype_rule : std::uint8_t { none, deepseek_v32, glm_moe_dsa, deepseek_v4 };

/// A model as the planner needs it. The head counts here are vLLM's model-level numbers, from which block sizes of
/// hybrids are derived; the layers have their own (config/model_arch.py,
/// transformers_utils/model_arch_config_convertor.py).
struct model {
  std::span<const layer_class> classes;
  std::span<const layer_ref> layers;
  std::uint32_t num_hidden_layers = 0;
  std::uint32_t num_attention_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_size = 0;
  std::uint64_t max_model_len = 2048;  ///< derived from the config
  bool max_model_len_is_known = true;  ///< false: the config has none, and any --max-model-len is taken
  state_dtype dtype = state_dtype::bfloat16;
  state_dtype ssm_dtype = state_dtype::automatic;  ///< the config's word on the recurrent state
  std::optional<state_shape> hybrid_state{};       ///< of the model class, which block sizes follow on every rank
  cache_dtype checkpoint_cache_dtype = cache_dtype::automatic;  ///< what the quantized checkpoint asks for
  bool checkpoint_fp8_attention = false;    ///< compressed-tensors with a kv_cache_scheme: ordinary attention is fp8
  bool checkpoint_per_head_scales = false;  ///< that scheme is by head
  cache_dtype_rule dtype_rule = cache_dtype_rule::none;
  bool use_mla = false;
  bool is_hybrid = false;
  bool is_attention_free = false;
  bool is_encoder_decoder = false;
  bool mm_prefix = false;                   ///< images attend in both directions
  bool mixed_head_sizes = false;            ///< Gemma 4: one FlashAttention version for two head sizes
  bool logits_soft_cap = false;             ///< attn_logit_softcapping
  bool turboquant_finds_no_layers = false;  ///< the config of a hybrid does not name its full-attention layers
  bool supports_pp = true;                  ///< the model class implements SupportsPP
  bool needs_kv_head_per_rank = false;      ///< the model class divides KV heads by ranks and does not replicate them
  std::uint32_t largest_mm_item = 0;        ///< tokens of the largest multimodal item, where one must fit into a batch
  std::uint32_t qk_nope_head_dim = 0;
  std::uint32_t qk_rope_head_dim = 0;
  std::uint32_t kv_lora_rank = 0;
  bool has_index_topk = false;
  std::uint32_t max_position_embeddings = 0;
};

/// A CUDA device as vLLM asks about it.
struct device {
  std::uint32_t major = 9;
  std::uint32_t minor = 0;
  std::uint32_t memory_gib = 80;
  bool is_a100 = false;
};

enum class usage_context : std::uint8_t { openai_api_server, llm_class };

enum class speculative_method : std::uint8_t {
  none,
  ngram,
  ngram_gpu,
  mtp,
  eagle,
  eagle3,
  draft_model,
  medusa,
  suffix,
  dflash,
  dspark
};
inline constexpr const char* speculative_method_names[] = {
    "none", "ngram", "ngram_gpu", "mtp", "eagle", "eagle3", "draft_model", "medusa", "suffix", "dflash", "dspark"};

/// A vLLM release, compared as major, minor, patch.
struct version {
  std::uint32_t major = 0;
  std::uint32_t minor = 32;
  std::uint32_t patch = 0;
  friend constexpr auto operator<=>(const version&, const version&) noexcept = default;
};

/// What the check at start-up compares with a stage's memory.
enum class fit_check : std::uint8_t {
  layers_of_stage,  ///< what a request needs in the layers of that stage
  first_group,      ///< the blocks of the first group, of the whole model's layers (from 0.17: of the stage's)
  all_groups        ///< the blocks of all groups
};

/// The releases from which a rule holds, where it changes a figure: read in the releases' sources, and measured where
/// tests/data/vllm.json or tests/unit/vllm.cpp have the figure.
struct release_rules {
  vllm::version at{};

  [[nodiscard]] constexpr bool from(std::uint32_t minor, std::uint32_t patch = 0) const noexcept {
    return at >= version{0, minor, patch};
  }
  [[nodiscard]] constexpr bool is_known() const noexcept { return from(11) && at < version{0, 34, 0}; }
  /// Kinds of layers share a group size where the largest has less than so many quarters of the smallest's layers.
  [[nodiscard]] constexpr std::uint32_t group_size_quarters() const noexcept { return from(18) ? 6 : from(12) ? 5 : 4; }
  [[nodiscard]] constexpr fit_check check() const noexcept {
    return from(19) ? fit_check::all_groups : from(14) ? fit_check::first_group : fit_check::layers_of_stage;
  }
  [[nodiscard]] constexpr bool checks_whole_model() const noexcept { return from(14) && !from(17); }
  [[nodiscard]] constexpr bool reserves_null_block() const noexcept { return from(29); }
  [[nodiscard]] constexpr bool short_gib() const noexcept { return from(14); }
  [[nodiscard]] constexpr bool modelopt_cache_type() const noexcept { return from(14); }
  [[nodiscard]] constexpr bool compressed_tensors_cache_type() const noexcept { return from(15); }
  [[nodiscard]] constexpr bool nvfp4_cache_type() const noexcept { return from(20); }
  [[nodiscard]] constexpr bool deepseek_v32_is_packed() const noexcept { return !from(18); }
  [[nodiscard]] constexpr bool async_by_default() const noexcept { return from(14); }
  [[nodiscard]] constexpr bool async_with_drafts() const noexcept { return from(28); }
  [[nodiscard]] constexpr bool hybrid_prefix_caching() const noexcept { return from(28); }
  [[nodiscard]] constexpr bool counts_tokens_of_all_groups() const noexcept { return from(20, 2); }
  [[nodiscard]] constexpr bool counts_tokens_in_flight_twice() const noexcept { return from(26); }
  [[nodiscard]] constexpr bool prints_one_line() const noexcept { return from(28); }
  [[nodiscard]] constexpr bool large_devices_batch_16384() const noexcept { return from(28); }
  [[nodiscard]] constexpr bool retains_tokens_for_drafts() const noexcept { return from(28); }
  [[nodiscard]] constexpr bool prefill_checkpoints() const noexcept { return from(29); }
  [[nodiscard]] constexpr bool chunks_are_grouped() const noexcept { return from(13); }
  /// Gated delta nets in align mode: one more block, and blocks of a multiple of 64 tokens.
  [[nodiscard]] constexpr bool delta_nets_align_to_64() const noexcept { return from(33); }
};

/// Options of the engine under vLLM's names; what is not given has vLLM's default.
struct settings {
  vllm::version version{};
  vllm::device device{};
  vllm::usage_context usage_context = usage_context::openai_api_server;
  std::optional<std::uint64_t> available_memory{};  ///< bytes left for the cache on each device
  std::span<const std::uint64_t> stage_memory{};    ///< the same by pipeline stage, where they differ
  std::optional<std::uint64_t> max_model_len{};
  bool auto_fit_max_model_len = false;  ///< --max-model-len -1
  std::optional<std::uint64_t> max_num_batched_tokens{};
  std::optional<std::uint64_t> max_num_seqs{};
  std::optional<std::uint64_t> block_size{};
  std::optional<std::uint64_t> num_gpu_blocks_override{};
  cache_dtype kv_cache_dtype = cache_dtype::automatic;
  std::span<const std::uint32_t> kv_cache_dtype_skip_layers{};  ///< ascending
  bool skip_sliding_window_layers = false;                      ///< "sliding_window" in that list
  state_dtype mamba_cache_dtype = state_dtype::automatic;
  state_dtype mamba_ssm_cache_dtype = state_dtype::automatic;
  std::optional<std::uint64_t> mamba_block_size{};
  std::uint32_t tensor_parallel_size = 1;
  std::uint32_t pipeline_parallel_size = 1;
  std::span<const std::uint32_t> pp_layer_partition{};  ///< VLLM_PP_LAYER_PARTITION: layers of each stage
  std::uint32_t decode_context_parallel_size = 1;
  std::optional<bool> enable_prefix_caching{};
  std::optional<bool> enable_chunked_prefill{};
  std::optional<bool> async_scheduling{};
  bool disable_hybrid_kv_cache_manager = false;
  attention_backend backend = attention_backend::none;  ///< none: vLLM chooses
  vllm::speculative_method speculative_method = speculative_method::none;
  std::uint32_t num_speculative_tokens = 0;
  std::uint32_t num_nextn_predict_layers = 1;  ///< modules of an MTP draft, as its config says

  [[nodiscard]] constexpr release_rules rules() const noexcept { return {version}; }
};

/// Limits of the planner's fixed storage. A kind of layer counts twice where some layers of it are left unquantized; no
/// published model has more than ten.
inline constexpr std::size_t max_layer_classes = 32;
inline constexpr std::size_t max_pipeline_stages = 32;

/// Why vLLM does not start.
enum class refusal : std::uint8_t {
  none,
  attention_heads_not_divisible,
  kv_heads_not_divisible,
  fewer_kv_heads_than_ranks,
  state_not_divisible,
  groups_not_divisible,
  dcp_does_not_divide_tp,
  dcp_needs_replicated_kv_heads,
  dcp_exceeds_replicas,
  dcp_splits_query_groups,
  dcp_with_sliding_window,
  no_pipeline_parallelism,
  more_stages_than_supported,
  too_many_kinds_of_layers,
  layer_partition_mismatch,
  max_model_len_too_long,
  max_model_len_unknown,
  batched_tokens_below_sequences,
  batched_tokens_below_max_model_len,
  mamba_block_size_without_prefix_caching,
  kda_state_dtype,
  turboquant_without_layers,
  no_attention_backend,
  attention_backend_not_valid,
  fp8_needs_sm89,
  fp8_diffkv_on_sm100,
  nvfp4_with_mla,
  deepseek_v4_needs_fp8,
  no_common_layout,
  aligned_block_size_rejected,
  padded_page_smaller,
  page_of_no_bytes,
  cannot_promote_local_specs,
  several_windows_in_one_group,
  promoted_compressor,
  pages_cannot_be_unified,
  no_available_memory,
  memory_too_small,
  auto_fit_fits_nothing
};
inline constexpr const char* refusal_texts[] = {
    "",
    "the total number of attention heads must be divisible by tensor_parallel_size",
    "the KV heads of a layer and tensor_parallel_size must divide one another",
    "this model class needs at least one KV head per tensor-parallel rank",
    "a dimension of the recurrent state is not divisible by tensor_parallel_size",
    "if tensor_parallel_size does not divide the number of groups, there must be one group",
    "tensor_parallel_size must be divisible by decode_context_parallel_size",
    "decode context parallelism with GQA needs tensor_parallel_size above the number of KV heads",
    "decode_context_parallel_size exceeds the replicas of a KV head",
    "the query heads per KV head must be divisible by decode_context_parallel_size",
    "decode context parallelism does not support sliding-window layers",
    "pipeline parallelism is not supported for this model",
    "kvbudget knows at most 32 pipeline stages",
    "kvbudget knows at most 32 kinds of layers in one model",
    "VLLM_PP_LAYER_PARTITION must name every stage and add up to the number of hidden layers",
    "max_model_len is greater than the length derived from the config",
    "max_model_len cannot be fitted: the config has no length to start from",
    "max_num_batched_tokens must be greater than or equal to max_num_seqs",
    "without chunked prefill max_num_batched_tokens must not be smaller than max_model_len",
    "mamba_block_size can only be set with enable_prefix_caching",
    "the recurrent state of KDA supports only auto, float32 and bfloat16",
    "turboquant needs a hybrid's full-attention layers, and the config does not name any",
    "no valid attention backend found for these settings",
    "the selected attention backend is not valid for this configuration",
    "the Triton backend needs compute capability 8.9 for an fp8 cache",
    "this model's attention does not support an fp8 cache on sm100",
    "an nvfp4 cache is not supported with MLA",
    "DeepSeek-V4 supports only an fp8 cache",
    "no KV cache layout is supported by all attention backends of the model",
    "the aligned KV cache block size is not supported by every attention backend",
    "an unquantized layer's page would be smaller than a quantized one",
    "the block size holds no row of a compressed cache",
    "Failed to promote local KV cache specs to one unified type.",
    "all attention layers in the same KV cache group must have the same window size",
    "the compressor states of DeepSeek-V4 cannot be promoted to full attention",
    "the page sizes of the layers cannot be unified",
    "no available memory for the cache blocks",
    "the KV cache of one request at max_model_len is larger than the available KV cache memory",
    "not enough memory to serve even a single token"};
[[nodiscard]] constexpr const char* text(refusal r) noexcept { return refusal_texts[static_cast<std::size_t>(r)]; }

}  // namespace kvbudget::detail::vllm
