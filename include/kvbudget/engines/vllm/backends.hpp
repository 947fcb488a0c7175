// Which attention backend a layer gets.
//
// Sources: platforms/cuda.py (_get_backend_priorities), v1/attention/backend.py (validate_configuration) and the
// classes in v1/attention/backends.
#pragma once

#include <initializer_list>

#include <kvbudget/engines/vllm/kernel_block_sizes.hpp>

namespace kvbudget::detail::vllm {

/// v1/attention/selector.py: AttentionSelectorConfig, what one layer asks for.
struct attention_selector {
  std::uint64_t head_size = 0;
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
  bool use_mla = false;
  bool use_sparse = false;
  bool sinks = false;
  bool sliding_window = false;
  bool decoder = true;  ///< false: cross attention
  bool non_causal = false;
};

/// What a layer or its model asks for and some backends do not have.
enum backend_feature : std::uint16_t {
  nothing = 0,
  cross_attention = 1,
  non_causal = 2,
  with_sinks = 4,
  windows = 8,
  images = 16,          // attention in both directions within an image (mm_prefix)
  decode_context = 32,  // decode context parallelism
  no_index = 64,        // the config has no index_topk
  head_scales = 128,    // the checkpoint scales K and V head by head
  beside_latents = with_sinks | windows | images
};
[[nodiscard]] constexpr unsigned features_of(const backend_context& c, const attention_selector& s) noexcept {
  unsigned asked = nothing;
  if (!s.decoder) asked |= cross_attention;
  if (s.non_causal) asked |= non_causal;
  if (s.sinks) asked |= with_sinks;
  if (s.sliding_window) asked |= windows;
  if (c.mm_prefix) asked |= images;
  if (c.use_dcp) asked |= decode_context;
  if (!c.has_index_topk) asked |= no_index;
  if (c.per_head_scales) asked |= head_scales;
  return asked;
}

/// Sets of cache types, one bit each.
using type_set = std::uint32_t;
[[nodiscard]] constexpr type_set only(cache_dtype t) noexcept { return type_set{1} << static_cast<unsigned>(t); }
[[nodiscard]] constexpr type_set types_that(bool (*hold)(cache_dtype)) noexcept {
  type_set set = 0;
  for (std::size_t i = 0; i < std::size(cache_dtype_names); ++i) {
    if (hold(static_cast<cache_dtype>(i))) set |= only(static_cast<cache_dtype>(i));
  }
  return set;
}
[[nodiscard]] constexpr bool is_plain(cache_dtype t) noexcept { return !is_quantized(t); }

enum class query_kind : std::uint8_t { ordinary, mla, sparse_mla };
enum class model_types : std::uint8_t { any, half, bfloat16 };

/// What a backend's class says of itself, one row a backend that the selector may give; conditions on more than one of
/// these are in takes_shape.
struct backend_facts {
  attention_backend backend;
  query_kind kind;
  std::uint8_t first_major, last_major;  // compute capabilities
  model_types dtypes;
  type_set types;
  unsigned refuses;
};
struct selectable_backends {
  using enum attention_backend;
  using enum query_kind;
  using enum model_types;
  static constexpr std::uint8_t later = 0xff;
  static constexpr type_set every = ~type_set{0};
  static constexpr type_set plain = types_that(is_plain);
  static constexpr type_set fp8 = types_that(is_fp8_or_e4m3);
  static constexpr type_set turbo = types_that(is_turboquant);
  static constexpr type_set triton = plain | fp8 | only(cache_dtype::fp8_e5m2) | types_that(is_per_token_head);
  static constexpr type_set unpacked = only(cache_dtype::automatic) | only(cache_dtype::bfloat16);
  static constexpr type_set ds_mla = only(cache_dtype::fp8_ds_mla);
  static constexpr type_set sm120 = only(cache_dtype::automatic) | fp8 | ds_mla;
  static constexpr type_set flashmla_types =
      unpacked | only(cache_dtype::fp8) | ds_mla | only(cache_dtype::nvfp4_ds_mla);
  static constexpr unsigned no_turbo = cross_attention | non_causal | with_sinks | windows | images | decode_context;
  // clang-format off
  static constexpr backend_facts rows[] = {
      {flash_attn, ordinary, 8, later, half, every, nothing},
      {flashinfer, ordinary, 8, 12, half, every, cross_attention | images | head_scales},
      {triton_attn, ordinary, 8, later, any, triton, decode_context | head_scales},
      {flex_attention, ordinary, 8, later, any, plain, decode_context | with_sinks | head_scales},
      {turboquant, ordinary, 8, later, half, turbo, no_turbo | head_scales},
      {triton_flash_attn, ordinary, 9, 9, half, triton, decode_context | head_scales},
      {triton_flashinfer, ordinary, 10, 10, half, triton, cross_attention | decode_context | head_scales},
      {flash_attn_mla, mla, 9, 9, half, plain, beside_latents},
      {flashmla, mla, 9, 9, half, plain | fp8, beside_latents},
      {flashinfer_mla, mla, 10, 10, half, plain | fp8, beside_latents},
      {cutlass_mla, mla, 10, 10, half, plain | fp8, beside_latents},
      {triton_mla, mla, 8, later, half, plain | fp8, beside_latents},
      {flash_attn_mla_sparse, sparse_mla, 9, 9, half, plain, beside_latents | decode_context | no_index},
      {flashmla_sparse, sparse_mla, 9, 10, bfloat16, flashmla_types, beside_latents},
      {flashinfer_mla_sparse, sparse_mla, 10, 10, half, plain | fp8, beside_latents | no_index},
      {flashinfer_mla_sparse_sm90, sparse_mla, 9, 9, bfloat16, unpacked | fp8, beside_latents | decode_context},
      {flashinfer_mla_sparse_sm120, sparse_mla, 12, 12, bfloat16, sm120, beside_latents | no_index},
  };
  // clang-format on
  [[nodiscard]] static constexpr const backend_facts* find(attention_backend backend) noexcept {
    for (const backend_facts& row : rows) {
      if (row.backend == backend) return &row;
    }
    return nullptr;
  }
};

[[nodiscard]] constexpr bool is_one_of(std::uint64_t value, std::initializer_list<std::uint64_t> list) noexcept {
  for (const std::uint64_t one : list) {
    if (value == one) return true;
  }
  return false;
}

[[nodiscard]] constexpr bool flash_attn_takes(const backend_context& c, const attention_selector& s) noexcept {
  const flash_attn_query q{s.head_size, s.head_size, s.sinks, c.user_block_size, true};
  if (s.head_size % 8 != 0 || s.head_size > (flash_attn_4_is_supported(c.device) ? 512U : 256U)) return false;
  if (is_quantized(s.cache_dtype)) {
    if (!flash_attn_supports(c, s.cache_dtype, {}) || !flash_attn_supports(c, s.cache_dtype, q)) return false;
    if (c.mm_prefix && c.device.major == 9 && c.device.minor == 0) return false;
  }
  if (s.sinks && (c.device.major < 9 || get_flash_attn_version(c, {}) < 3)) return false;
  if (c.per_head_scales && get_flash_attn_version(c, {}) < 3) return false;
  return !c.mm_prefix || (flash_attn_4_is_supported(c.device) &&
                          get_flash_attn_version(c, {s.head_size, 0, s.sinks, c.user_block_size, true}) == 4);
}

[[nodiscard]] constexpr bool flashinfer_takes(const backend_context& c, const attention_selector& s) noexcept {
  const cache_dtype t = s.cache_dtype;
  const std::uint32_t major = c.device.major;
  if (!is_one_of(s.head_size, {64, 128, 256, 512})) return false;
  if (is_nvfp4(t)) {
    return major == 10 || (t == cache_dtype::nvfp4 && s.head_size != 64 && !s.sinks);
  }
  if (is_quantized(t) && !is_fp8_or_e4m3(t) && t != cache_dtype::fp8_e5m2) return false;
  return !s.sinks || major == 9 || major == 10 || major == 12;
}

[[nodiscard]] constexpr bool triton_takes(const attention_selector& s) noexcept { return s.head_size >= 32; }

/// backends/composite.py: both halves must take the layer, and only the Triton half sees images.
[[nodiscard]] constexpr bool triton_flash_attn_takes(const backend_context& c, const attention_selector& s) noexcept {
  backend_context causal = c;
  causal.mm_prefix = false;
  return is_one_of(s.head_size, {256, 512}) && flash_attn_takes(causal, s) &&
         get_flash_attn_version(c, {s.head_size, 0, s.sinks, c.user_block_size, true}) >= 3;
}

[[nodiscard]] constexpr bool flashmla_sparse_takes(const backend_context& c, const attention_selector& s) noexcept {
  const cache_dtype t = s.cache_dtype;
  if (t == cache_dtype::nvfp4_ds_mla && c.device.major != 10) return false;
  if (s.head_size != 512) return s.head_size == 576;
  return c.device.major == 9 && c.qk_rope_head_dim == 0 && t != cache_dtype::fp8;
}

[[nodiscard]] constexpr bool flashinfer_mla_sparse_takes(const backend_context& c,
                                                         const attention_selector& s) noexcept {
  const bool shape = c.qk_rope_head_dim == 0 ? c.qk_nope_head_dim == 256 && c.kv_lora_rank == 512
                                             : is_one_of(c.qk_nope_head_dim, {128, 192});
  return shape && is_one_of(s.head_size, {512, 576});
}

/// Head sizes, and what depends on several facts at once.
[[nodiscard]] constexpr bool takes_shape(attention_backend backend, const backend_context& c,
                                         const attention_selector& s) noexcept {
  using enum attention_backend;
  switch (backend) {
    case flash_attn: return flash_attn_takes(c, s);
    case flashinfer: return flashinfer_takes(c, s);
    case triton_attn: return triton_takes(s);
    case triton_flash_attn: return triton_flash_attn_takes(c, s);
    case triton_flashinfer: return is_one_of(s.head_size, {256, 512}) && flashinfer_takes(c, s);
    case flash_attn_mla:
    case flashmla:
    case cutlass_mla: return is_one_of(s.head_size, {320, 512, 576});
    case flashinfer_mla:
      return is_one_of(s.head_size, {320, 512, 576}) && is_one_of(c.qk_nope_head_dim, {64, 128, 192});
    case flashmla_sparse: return flashmla_sparse_takes(c, s);
    case flashinfer_mla_sparse: return flashinfer_mla_sparse_takes(c, s);
    case flashinfer_mla_sparse_sm90:
      return is_one_of(s.head_size, {512, 576}) && c.kv_lora_rank == 512 && is_one_of(c.qk_rope_head_dim, {0, 64});
    default: return true;
  }
}

[[nodiscard]] constexpr bool takes_model_type(model_types dtypes, state_dtype t) noexcept {
  return dtypes == model_types::any || t == state_dtype::bfloat16 ||
         (dtypes == model_types::half && t != state_dtype::float32);
}

/// v1/attention/backend.py:validate_configuration, with what each backend overrides.
[[nodiscard]] constexpr bool validate_configuration(attention_backend backend, const backend_context& c,
                                                    const attention_selector& s) noexcept {
  const backend_facts* const facts = selectable_backends::find(backend);
  const query_kind asked = s.use_sparse ? query_kind::sparse_mla : s.use_mla ? query_kind::mla : query_kind::ordinary;
  if (facts == nullptr || facts->kind != asked) return false;
  if (c.device.major < facts->first_major || c.device.major > facts->last_major) return false;
  if ((facts->refuses & features_of(c, s)) != 0 || (facts->types & only(s.cache_dtype)) == 0) return false;
  if (!takes_model_type(facts->dtypes, c.model_dtype)) return false;
  if (c.user_block_size && !model_kernel_block_sizes(backend, c).supports(*c.user_block_size)) return false;
  return takes_shape(backend, c, s);
}

using backend_list = fixed_vector<attention_backend, 10>;

/// platforms/cuda.py:_get_backend_priorities.
[[nodiscard]] constexpr backend_list get_backend_priorities(const backend_context& c, const attention_selector& s) {
  using enum attention_backend;
  backend_list order;
  const auto add = [&order](auto... backends) { (order.push_back(backends), ...); };
  if (!s.use_mla) {
    if (c.device.major == 10 && !s.non_causal) {
      if (c.mm_prefix) add(triton_flashinfer);
      add(flashinfer, flash_attn, triton_attn, flex_attention, turboquant);
    } else {
      if (c.mm_prefix && c.device.major == 9) add(triton_flash_attn);
      add(flash_attn, flashinfer, triton_attn, flex_attention, turboquant);
    }
  } else if (c.device.major == 10) {
    add(flashinfer_mla, cutlass_mla, flash_attn_mla, flashmla, triton_mla);
    if (is_quantized(s.cache_dtype) || c.num_heads <= 16) add(flashinfer_mla_sparse, flashmla_sparse);
    else add(flashmla_sparse, flashinfer_mla_sparse);
  } else if (c.device.major == 12) {
    add(triton_mla, flashinfer_mla_sparse_sm120);
  } else {
    add(flash_attn_mla, flashmla, flashinfer_mla, triton_mla);
    if (s.head_size == 512) add(flashinfer_mla_sparse_sm90, flash_attn_mla_sparse, flashmla_sparse);
    else add(flash_attn_mla_sparse, flashmla_sparse, flashinfer_mla_sparse_sm90);
  }
  return order;
}

struct backend_choice {
  attention_backend backend = attention_backend::none;
  refusal reason = refusal::none;
};

/// v1/attention/selector.py:get_attn_backend: a backend that the user forces must be valid, else the first valid one.
[[nodiscard]] constexpr backend_choice get_attn_backend(const backend_context& c, const attention_selector& s) {
  backend_choice choice;
  if (c.user_backend != attention_backend::none) {
    choice.backend = c.user_backend;
    if (!validate_configuration(c.user_backend, c, s)) choice.reason = refusal::attention_backend_not_valid;
  } else {
    for (const attention_backend candidate : get_backend_priorities(c, s)) {
      if (choice.backend == attention_backend::none && validate_configuration(candidate, c, s)) {
        choice.backend = candidate;
      }
    }
    if (choice.backend == attention_backend::none) choice.reason = refusal::no_attention_backend;
  }
  if (choice.reason != refusal::none) return choice;
  const bool native_fp8 = c.device.major > 8 || c.device.minor >= 9;
  const bool fp8 = is_fp8_per_tensor(s.cache_dtype) || s.cache_dtype == cache_dtype::fp8_per_token_head;
  const bool triton =
      choice.backend == attention_backend::triton_attn || choice.backend == attention_backend::triton_mla;
  if (triton && fp8 && !native_fp8) choice.reason = refusal::fp8_needs_sm89;
  // The path of FlashMLA that merges partial results is the fp8 one, with fewer than 32 heads.
  if (choice.backend == attention_backend::flashmla_sparse && c.use_dcp &&
      (!is_quantized(s.cache_dtype) || c.num_heads >= 32)) {
    choice.reason = refusal::no_attention_backend;
  }
  return choice;
}

/// The backend that a model brings along for a role; `none` for a recurrent layer, nothing where the selector decides.
[[nodiscard]] constexpr std::optional<attention_backend> backend_of_role(layer_role role) noexcept {
  using enum attention_backend;
  switch (role) {
    case layer_role::recurrent: return none;
    case layer_role::dsa_indexer: return deepseek_v32_indexer;
    case layer_role::minimax_m3_sparse: return minimax_m3_sparse;
    case layer_role::minimax_m3_indexer: return minimax_m3_sparse_indexer;
    case layer_role::deepseek_v4_mla: return flashmla_sparse_dsv4;
    case layer_role::deepseek_v4_indexer: return deepseek_v4_indexer;
    case layer_role::deepseek_v4_swa: return deepseek_sparse_swa;
    case layer_role::deepseek_v4_compressor: return compressor;
    default: return std::nullopt;
  }
}

/// models/mimo_v2.py: K and V of different width take FlashAttention from its third version on, else Triton.
[[nodiscard]] constexpr backend_choice select_diffkv_backend(const layer_class& layer, cache_dtype type,
                                                             const backend_context& c) {
  using enum attention_backend;
  if (is_turboquant(type)) return {flash_attn_diffkv, refusal::no_attention_backend};
  const bool below_sm89 = c.device.major == 8 && c.device.minor < 9;
  if (below_sm89 && is_fp8_per_tensor(type)) return {triton_attn_diffkv, refusal::fp8_needs_sm89};
  if (c.device.major == 10 && is_quantized(type)) return {flash_attn_diffkv, refusal::fp8_diffkv_on_sm100};
  if (c.user_backend == flash_attn_diffkv || c.user_backend == triton_attn_diffkv)
    return {c.user_backend, refusal::none};
  const std::uint32_t version = get_flash_attn_version(c, {layer.head_size, layer.head_size_v, layer.sinks, {}, false});
  return {version >= 3 ? flash_attn_diffkv : triton_attn_diffkv, refusal::none};
}

/// What the layer asks the selector for; backends that a model brings along are given without a question.
[[nodiscard]] constexpr backend_choice select_backend(const layer_class& layer, cache_dtype type,
                                                      const backend_context& c) {
  using enum layer_role;
  if (const auto fixed = backend_of_role(layer.role)) return {*fixed, refusal::none};
  if (layer.role == diffkv_attention) return select_diffkv_backend(layer, type, c);
  // Chunked layers ask for the packed type even where it is spared.
  if (layer.role == chunked_attention && is_turboquant(c.cache_dtype))
    return {attention_backend::none, refusal::no_attention_backend};
  attention_selector s{layer.head_size, type, false, false, layer.sinks, layer.window != 0, true, layer.non_causal};
  s.use_sparse = layer.role == sparse_mla;
  s.use_mla = s.use_sparse || layer.role == mla;
  s.decoder = layer.role != cross_attention;
  if (s.use_mla) s.sinks = false;
  if (s.use_mla || layer.role == chunked_attention) s.sliding_window = false;
  return get_attn_backend(c, s);
}

/// layers/attention/mla_attention.py:_canonicalize_sparse_mla_kv_cache_dtype.
[[nodiscard]] constexpr cache_dtype canonical_cache_dtype(attention_backend backend, cache_dtype type) noexcept {
  if (backend == attention_backend::flashmla_sparse && is_quantized(type) && type != cache_dtype::nvfp4_ds_mla) {
    return cache_dtype::fp8_ds_mla;
  }
  if (backend == attention_backend::flashinfer_mla_sparse_sm120 &&
      (type == cache_dtype::automatic || is_fp8_or_e4m3(type))) {
    return cache_dtype::fp8_ds_mla;
  }
  return type;
}

/// The memory order of a cache (v1/kv_cache_interface.py: KVCacheLayout); only whether blocks are outermost changes
/// sizes (v1/attention/backends/utils.py:get_supported_kv_cache_layouts).
enum class kv_cache_layout : std::uint8_t { lbnhc, lbhnc, blnhc, blhnc };
inline constexpr const char* kv_cache_layout_names[] = {"LBNHC", "LBHNC", "BLNHC", "BLHNC"};
[[nodiscard]] constexpr bool is_block_outermost(kv_cache_layout l) noexcept { return l >= kv_cache_layout::blnhc; }

}  // namespace kvbudget::detail::vllm
