// Which attention backend a layer gets, and which block sizes its kernels take.
//
// Sources: platforms/cuda.py (_get_backend_priorities), v1/attention/backend.py (validate_configuration),
// v1/attention/backends/fa_utils.py (get_flash_attn_version) and the classes in v1/attention/backends.
#pragma once

#include <kvbudget/engines/vllm/model.hpp>

namespace kvbudget::vllm {

/// What backend selection depends on beside the layer: the parts of model and settings that are settled by then.
struct backend_context {
  vllm::device device{};
  std::optional<std::uint64_t> user_block_size{};  ///< --block-size; the default does not constrain the choice
  attention_backend user_backend = attention_backend::none;
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;  ///< of the whole model
  state_dtype model_dtype = state_dtype::bfloat16;
  std::uint64_t num_heads = 0;     ///< query heads per rank
  std::uint64_t num_kv_heads = 0;  ///< KV heads per rank, model level
  std::uint64_t head_size = 0;     ///< model level
  bool mm_prefix = false;
  bool logits_soft_cap = false;
  bool per_head_scales = false;  ///< the checkpoint scales K and V head by head
  bool use_dcp = false;
  std::uint32_t forced_flash_attn_version = 0;
  std::uint32_t qk_nope_head_dim = 0;
  std::uint32_t qk_rope_head_dim = 0;
  std::uint32_t kv_lora_rank = 0;
  bool has_index_topk = false;
};

/// Block sizes of one backend's kernels: exact numbers, or any multiple of one number.
class kernel_block_sizes {
 public:
  constexpr kernel_block_sizes() noexcept = default;
  [[nodiscard]] static constexpr kernel_block_sizes multiple_of(std::uint32_t n) noexcept {
    kernel_block_sizes result = exactly(n);
    result.multiple_ = true;
    return result;
  }
  [[nodiscard]] static constexpr kernel_block_sizes exactly(std::uint32_t n) noexcept { return range(n, n); }
  /// The powers of two from `first` to `last`.
  [[nodiscard]] static constexpr kernel_block_sizes range(std::uint32_t first, std::uint32_t last) noexcept {
    kernel_block_sizes result;
    result.first_ = first;
    result.last_ = last;
    return result;
  }

  [[nodiscard]] constexpr bool is_multiple() const noexcept { return multiple_; }
  [[nodiscard]] constexpr std::uint64_t smallest() const noexcept { return first_; }
  [[nodiscard]] constexpr std::uint64_t largest() const noexcept { return last_; }

  /// v1/attention/backend.py:supports_block_size. A block may hold several kernel blocks.
  [[nodiscard]] constexpr bool supports(std::uint64_t block_size) const noexcept { return block_size % first_ == 0; }

  /// layers/attention/attention.py:_largest_kernel_block_within: the largest size whose page fits into the budget,
  /// else the smallest one.
  [[nodiscard]] constexpr std::uint64_t largest_within(std::uint64_t page_budget, std::uint64_t per_token) const {
    const std::uint64_t most = (checked_count(page_budget) / per_token).value();
    if (multiple_) return most < first_ ? first_ : most / first_ * first_;
    std::uint64_t best = first_;
    for (std::uint64_t size = first_; size <= last_; size *= 2) {
      if (size <= most) best = size;
    }
    return best;
  }

  friend constexpr bool operator==(const kernel_block_sizes&, const kernel_block_sizes&) noexcept = default;

 private:
  std::uint32_t first_ = 1;
  std::uint32_t last_ = 1;
  bool multiple_ = false;
};

/// v1/attention/backends/fa_utils.py:get_flash_attn_version. `head_size` 0: not asked about.
struct flash_attn_query {
  std::uint64_t head_size = 0;
  std::uint64_t head_size_v = 0;  ///< 0: the same
  bool sinks = false;
  std::optional<std::uint64_t> block_size{};
  bool supports_fa4_hd256 = true;
};
[[nodiscard]] constexpr bool flash_attn_4_is_supported(const device& d) noexcept {
  return d.major == 9 || d.major == 10;
}

[[nodiscard]] constexpr std::uint32_t get_flash_attn_version(const backend_context& c,
                                                             const flash_attn_query& q) noexcept {
  std::uint32_t version = c.device.major == 9 ? 3 : c.device.major == 10 ? 4 : 2;
  if (c.forced_flash_attn_version != 0) version = c.forced_flash_attn_version;
  const bool one_size = q.head_size_v == 0 || q.head_size_v == q.head_size;
  if (version == 3 && c.device.major == 9 && (q.head_size > 256 || (q.sinks && !one_size))) version = 4;
  if (version != 4 || c.device.major < 10) return version;
  if (q.head_size == 256 && one_size) {
    // The dedicated kernel for heads of 256 reads whole pages of 128 unquantized tokens.
    const bool falls_back = !q.supports_fa4_hd256 || q.sinks || c.logits_soft_cap || is_quantized(c.cache_dtype) ||
                            (q.block_size && *q.block_size % 128 != 0) || c.mm_prefix || c.use_dcp;
    return falls_back ? 2 : 4;
  }
  if (q.head_size > 128 && !(q.head_size == 192 && q.head_size_v == 128)) return 2;
  return version;
}

/// fa_utils.py:flash_attn_supports_kv_cache_dtype, for quantized types.
[[nodiscard]] constexpr bool flash_attn_supports(const backend_context& c, cache_dtype type,
                                                 const flash_attn_query& q) noexcept {
  if (type != cache_dtype::fp8 && type != cache_dtype::fp8_e4m3) return false;
  const std::uint32_t version = get_flash_attn_version(c, q);
  if (c.device.major == 9) return version == 3 || (version == 4 && (q.head_size == 0 || q.head_size == 512));
  return c.device.major == 10 && version == 4;
}

/// The block sizes of a backend. vLLM asks twice: while it settles the block size, with the model's head size and
/// cache type; and for a layer, with the layer's own.
[[nodiscard]] constexpr kernel_block_sizes get_supported_kernel_block_sizes(attention_backend backend,
                                                                            const backend_context& c,
                                                                            std::uint64_t head_size,
                                                                            std::uint64_t head_size_v,
                                                                            cache_dtype type) noexcept {
  using sizes = kernel_block_sizes;
  using enum attention_backend;
  switch (backend) {
    case flash_attn:
    case flash_attn_diffkv:
    case triton_flash_attn:
      if (c.device.major == 9 && (type == cache_dtype::fp8 || type == cache_dtype::fp8_e4m3) && head_size == 512 &&
          get_flash_attn_version(c, {head_size, 0, false, {}, false}) == 4) {
        return sizes::exactly(64);
      }
      if (c.device.major == 10 && head_size == 256 && (head_size_v == 0 || head_size_v == 256) &&
          get_flash_attn_version(c, {head_size, head_size_v, false, {}, true}) == 4) {
        return sizes::exactly(128);
      }
      return sizes::multiple_of(16);
    case flashinfer:
      // The large pages of Blackwell's kernel need several query heads per KV head.
      return c.device.major == 10 && c.num_kv_heads > 0 && c.num_heads / c.num_kv_heads > 1 ? sizes::range(16, 1024)
                                                                                            : sizes::range(16, 64);
    case turboquant: return sizes::range(16, 128);
    case triton_flashinfer:
    case flashmla:
    case deepseek_v32_indexer: return sizes::exactly(64);
    case flashinfer_mla: return sizes::range(32, 64);
    case cutlass_mla:
    case minimax_m3_sparse:
    case minimax_m3_sparse_indexer: return sizes::exactly(128);
    case flash_attn_mla_sparse:
    case flashinfer_mla_sparse_sm90:
    case flashinfer_mla_sparse_sm120:
    case flashmla_sparse: return sizes::multiple_of(64);
    case flashinfer_mla_sparse:
    case deepseek_sparse_swa: return sizes::multiple_of(32);
    case flashmla_sparse_dsv4:
    case deepseek_v4_indexer: return sizes::exactly(256);
    case none:
    case compressor: return sizes::multiple_of(1);
    case triton_attn:
    case triton_attn_diffkv:
    case flex_attention:
    case flash_attn_mla:
    case triton_mla: return sizes::multiple_of(16);
  }
  return sizes::multiple_of(16);
}
[[nodiscard]] constexpr kernel_block_sizes model_kernel_block_sizes(attention_backend backend,
                                                                    const backend_context& c) noexcept {
  return get_supported_kernel_block_sizes(backend, c, c.head_size, 0, c.cache_dtype);
}

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

namespace detail {

[[nodiscard]] constexpr bool is_one_of(std::uint64_t value, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                       std::uint64_t d = 0) noexcept {
  return value == a || value == b || value == c || (d != 0 && value == d);
}

[[nodiscard]] constexpr bool is_fp8_or_e4m3(cache_dtype t) noexcept {
  return t == cache_dtype::fp8 || t == cache_dtype::fp8_e4m3;
}

[[nodiscard]] constexpr bool validate_flash_attn(const backend_context& c, const attention_selector& s) noexcept {
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

[[nodiscard]] constexpr bool validate_flashinfer(const backend_context& c, const attention_selector& s) noexcept {
  const cache_dtype t = s.cache_dtype;
  const std::uint32_t major = c.device.major;
  if (!is_one_of(s.head_size, 64, 128, 256, 512) || major > 12) return false;
  if (is_nvfp4(t)) {
    return major == 10 || (t == cache_dtype::nvfp4 && s.head_size != 64 && !s.sinks);
  }
  if (is_quantized(t) && !is_fp8_or_e4m3(t) && t != cache_dtype::fp8_e5m2) return false;
  return !s.sinks || major == 9 || major == 10 || major == 12;
}

[[nodiscard]] constexpr bool validate_triton(const attention_selector& s) noexcept {
  const cache_dtype t = s.cache_dtype;
  return s.head_size >= 32 &&
         (!is_quantized(t) || is_fp8_or_e4m3(t) || t == cache_dtype::fp8_e5m2 || is_per_token_head(t));
}

}  // namespace detail

/// v1/attention/backend.py:validate_configuration, with what each backend overrides.
[[nodiscard]] constexpr bool validate_configuration(attention_backend backend, const backend_context& c,
                                                    const attention_selector& s) noexcept {
  using enum attention_backend;
  using detail::is_fp8_or_e4m3;
  const cache_dtype t = s.cache_dtype;
  const std::uint32_t major = c.device.major;
  const bool half = c.model_dtype != state_dtype::float32;
  const bool plain = !is_quantized(t);
  const bool plain_or_bf16 = t == cache_dtype::automatic || t == cache_dtype::bfloat16;
  if (major < 8) return false;
  if (c.user_block_size && !model_kernel_block_sizes(backend, c).supports(*c.user_block_size)) return false;
  const bool is_mla = backend >= flash_attn_mla && backend <= flashinfer_mla_sparse_sm120;
  const bool is_sparse = backend >= flash_attn_mla_sparse && backend <= flashinfer_mla_sparse_sm120;
  if (s.use_mla != is_mla || s.use_sparse != is_sparse) return false;
  if (is_mla && (s.sinks || s.sliding_window || c.mm_prefix)) return false;
  if (c.per_head_scales && !is_mla && backend != flash_attn) return false;
  const bool common_mla_head = detail::is_one_of(s.head_size, 320, 512, 576);
  switch (backend) {
    case flash_attn: return half && detail::validate_flash_attn(c, s);
    case flashinfer: return half && s.decoder && !c.mm_prefix && detail::validate_flashinfer(c, s);
    case triton_attn: return !c.use_dcp && detail::validate_triton(s);
    case flex_attention: return !c.use_dcp && plain && !s.sinks;
    case turboquant:
      return half && s.decoder && !s.non_causal && is_turboquant(t) && !s.sinks && !s.sliding_window && !c.mm_prefix &&
             !c.use_dcp;
    case triton_flash_attn: {
      // Both halves must take the layer; only the Triton half sees images (backends/composite.py).
      backend_context causal = c;
      causal.mm_prefix = false;
      const std::uint32_t version = get_flash_attn_version(c, {s.head_size, 0, s.sinks, c.user_block_size, true});
      return major == 9 && half && !c.use_dcp && (s.head_size == 256 || s.head_size == 512) &&
             detail::validate_triton(s) && detail::validate_flash_attn(causal, s) && version >= 3;
    }
    case triton_flashinfer:
      return major == 10 && half && s.decoder && !c.use_dcp && (s.head_size == 256 || s.head_size == 512) &&
             detail::validate_triton(s) && detail::validate_flashinfer(c, s);
    case flash_attn_mla: return half && major == 9 && plain && common_mla_head;
    case flashmla: return half && major == 9 && (plain || is_fp8_or_e4m3(t)) && common_mla_head;
    case flashinfer_mla:
      return half && major == 10 && (plain || is_fp8_or_e4m3(t)) && common_mla_head &&
             detail::is_one_of(c.qk_nope_head_dim, 64, 128, 192);
    case cutlass_mla: return half && major == 10 && (plain || is_fp8_or_e4m3(t)) && common_mla_head;
    case triton_mla: return half && (plain || is_fp8_or_e4m3(t));
    case flash_attn_mla_sparse: return half && major == 9 && plain && !c.use_dcp && c.has_index_topk;
    case flashmla_sparse:
      if (c.model_dtype != state_dtype::bfloat16 || (major != 9 && major != 10)) return false;
      if (s.head_size == 512) {
        if (major != 9 || c.qk_rope_head_dim != 0 || t == cache_dtype::fp8) return false;
      } else if (s.head_size != 576) {
        return false;
      }
      return plain_or_bf16 || t == cache_dtype::fp8 || t == cache_dtype::fp8_ds_mla ||
             (t == cache_dtype::nvfp4_ds_mla && major == 10);
    case flashinfer_mla_sparse: {
      const bool shape = c.qk_rope_head_dim == 0 ? c.qk_nope_head_dim == 256 && c.kv_lora_rank == 512
                                                 : c.qk_nope_head_dim == 128 || c.qk_nope_head_dim == 192;
      return half && major == 10 && (plain || is_fp8_or_e4m3(t)) && (s.head_size == 512 || s.head_size == 576) &&
             shape && c.has_index_topk;
    }
    case flashinfer_mla_sparse_sm90:
      return c.model_dtype == state_dtype::bfloat16 && major == 9 && (plain_or_bf16 || is_fp8_or_e4m3(t)) &&
             (s.head_size == 512 || s.head_size == 576) && c.kv_lora_rank == 512 &&
             (c.qk_rope_head_dim == 0 || c.qk_rope_head_dim == 64) && !c.use_dcp;
    case flashinfer_mla_sparse_sm120:
      return c.model_dtype == state_dtype::bfloat16 && major == 12 &&
             (t == cache_dtype::automatic || is_fp8_or_e4m3(t) || t == cache_dtype::fp8_ds_mla) && c.has_index_topk;
    default: return false;
  }
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

/// What the layer asks the selector for; backends that a model brings along are given without a question.
[[nodiscard]] constexpr backend_choice select_backend(const layer_class& layer, cache_dtype type,
                                                      const backend_context& c) {
  using enum attention_backend;
  const auto fixed = [](attention_backend b) { return backend_choice{b, refusal::none}; };
  attention_selector s{layer.head_size, type, false, false, layer.sinks, layer.window != 0, true, layer.non_causal};
  switch (layer.role) {
    case layer_role::recurrent: return fixed(none);
    case layer_role::dsa_indexer: return fixed(deepseek_v32_indexer);
    case layer_role::minimax_m3_sparse: return fixed(minimax_m3_sparse);
    case layer_role::minimax_m3_indexer: return fixed(minimax_m3_sparse_indexer);
    case layer_role::deepseek_v4_mla: return fixed(flashmla_sparse_dsv4);
    case layer_role::deepseek_v4_indexer: return fixed(deepseek_v4_indexer);
    case layer_role::deepseek_v4_swa: return fixed(deepseek_sparse_swa);
    case layer_role::deepseek_v4_compressor: return fixed(compressor);
    case layer_role::diffkv_attention: {
      if (is_turboquant(type)) return {flash_attn_diffkv, refusal::no_attention_backend};
      const bool below_sm89 = c.device.major == 8 && c.device.minor < 9;
      if (below_sm89 && is_fp8_per_tensor(type)) return {triton_attn_diffkv, refusal::fp8_needs_sm89};
      if (c.device.major == 10 && is_quantized(type)) return {flash_attn_diffkv, refusal::fp8_diffkv_on_sm100};
      if (c.user_backend == flash_attn_diffkv || c.user_backend == triton_attn_diffkv) return fixed(c.user_backend);
      const std::uint32_t version =
          get_flash_attn_version(c, {layer.head_size, layer.head_size_v, layer.sinks, {}, false});
      return fixed(version >= 3 ? flash_attn_diffkv : triton_attn_diffkv);
    }
    case layer_role::mla:
    case layer_role::sparse_mla:
      s.use_mla = true;
      s.use_sparse = layer.role == layer_role::sparse_mla;
      s.sinks = s.sliding_window = false;
      return get_attn_backend(c, s);
    case layer_role::cross_attention: s.decoder = false; return get_attn_backend(c, s);
    case layer_role::chunked_attention:
      // Its layers ask for the packed type even where it is spared.
      if (is_turboquant(c.cache_dtype)) return {none, refusal::no_attention_backend};
      s.sliding_window = false;
      return get_attn_backend(c, s);
    case layer_role::attention: break;
  }
  return get_attn_backend(c, s);
}

/// layers/attention/mla_attention.py:_canonicalize_sparse_mla_kv_cache_dtype.
[[nodiscard]] constexpr cache_dtype canonical_cache_dtype(attention_backend backend, cache_dtype type) noexcept {
  if (backend == attention_backend::flashmla_sparse && is_quantized(type) && type != cache_dtype::nvfp4_ds_mla) {
    return cache_dtype::fp8_ds_mla;
  }
  if (backend == attention_backend::flashinfer_mla_sparse_sm120 &&
      (type == cache_dtype::automatic || detail::is_fp8_or_e4m3(type))) {
    return cache_dtype::fp8_ds_mla;
  }
  return type;
}

/// The memory order of a cache (v1/kv_cache_interface.py: KVCacheLayout); only whether blocks are outermost changes
/// sizes (v1/attention/backends/utils.py:get_supported_kv_cache_layouts).
enum class kv_cache_layout : std::uint8_t { lbnhc, lbhnc, blnhc, blhnc };
inline constexpr const char* kv_cache_layout_names[] = {"LBNHC", "LBHNC", "BLNHC", "BLHNC"};
[[nodiscard]] constexpr bool is_block_outermost(kv_cache_layout l) noexcept { return l >= kv_cache_layout::blnhc; }

}  // namespace kvbudget::vllm
