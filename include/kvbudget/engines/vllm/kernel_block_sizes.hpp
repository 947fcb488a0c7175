// Which block sizes the kernels of an attention backend take, and which FlashAttention a device runs.
//
// Sources: v1/attention/backends/fa_utils.py (get_flash_attn_version) and the classes in v1/attention/backends.
#pragma once

#include <iterator>

#include <kvbudget/engines/vllm/model.hpp>

namespace kvbudget::detail::vllm {

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

/// What get_flash_attn_version is asked. `head_size` 0: not asked about.
struct flash_attn_query {
  std::uint64_t head_size = 0;
  std::uint64_t head_size_v = 0;  ///< 0: the same
  bool sinks = false;
  std::optional<std::uint64_t> block_size{};
  bool supports_fa4_hd256 = true;

  [[nodiscard]] constexpr bool one_size() const noexcept { return head_size_v == 0 || head_size_v == head_size; }
};
[[nodiscard]] constexpr bool flash_attn_4_is_supported(const device& d) noexcept {
  return d.major == 9 || d.major == 10;
}

/// By device or by force; on Hopper, the fourth version for shapes that the third does not have.
[[nodiscard]] constexpr std::uint32_t usual_flash_attn_version(const backend_context& c,
                                                               const flash_attn_query& q) noexcept {
  std::uint32_t version = c.device.major == 9 ? 3 : c.device.major == 10 ? 4 : 2;
  if (c.forced_flash_attn_version != 0) version = c.forced_flash_attn_version;
  const bool beyond_3 = q.head_size > 256 || (q.sinks && !q.one_size());
  return version == 3 && c.device.major == 9 && beyond_3 ? 4 : version;
}

/// Blackwell's dedicated kernel for heads of 256 reads whole pages of 128 unquantized tokens.
[[nodiscard]] constexpr bool fa4_hd256_runs(const backend_context& c, const flash_attn_query& q) noexcept {
  const bool whole_pages = !q.block_size || *q.block_size % 128 == 0;
  return q.supports_fa4_hd256 && whole_pages && !q.sinks && !c.logits_soft_cap && !is_quantized(c.cache_dtype) &&
         !c.mm_prefix && !c.use_dcp;
}

/// v1/attention/backends/fa_utils.py:get_flash_attn_version.
[[nodiscard]] constexpr std::uint32_t get_flash_attn_version(const backend_context& c,
                                                             const flash_attn_query& q) noexcept {
  const std::uint32_t version = usual_flash_attn_version(c, q);
  if (version != 4 || c.device.major < 10) return version;
  if (q.head_size == 256 && q.one_size()) return fa4_hd256_runs(c, q) ? 4 : 2;
  const bool fits = q.head_size <= 128 || (q.head_size == 192 && q.head_size_v == 128);
  return fits ? 4 : 2;
}

/// fa_utils.py:flash_attn_supports_kv_cache_dtype, for quantized types.
[[nodiscard]] constexpr bool flash_attn_supports(const backend_context& c, cache_dtype type,
                                                 const flash_attn_query& q) noexcept {
  if (!is_fp8_or_e4m3(type)) return false;
  const std::uint32_t version = get_flash_attn_version(c, q);
  if (c.device.major == 9) return version == 3 || (version == 4 && (q.head_size == 0 || q.head_size == 512));
  return c.device.major == 10 && version == 4;
}

/// get_supported_kernel_block_sizes of the backends that say the same for every device and layer, in the order of the
/// enumeration. Those of FlashAttention and FlashInfer stand for devices without special kernels.
struct fixed_block_sizes {
  using enum attention_backend;
  using sizes = kernel_block_sizes;
  struct row {
    attention_backend backend;
    kernel_block_sizes block_sizes;
  };
  // clang-format off
  static constexpr row rows[] = {
      {none, sizes::multiple_of(1)},
      {flash_attn, sizes::multiple_of(16)},
      {flashinfer, sizes::range(16, 64)},
      {triton_attn, sizes::multiple_of(16)},
      {flex_attention, sizes::multiple_of(16)},
      {turboquant, sizes::range(16, 128)},
      {triton_flash_attn, sizes::multiple_of(16)},
      {triton_flashinfer, sizes::exactly(64)},
      {flash_attn_diffkv, sizes::multiple_of(16)},
      {triton_attn_diffkv, sizes::multiple_of(16)},
      {flash_attn_mla, sizes::multiple_of(16)},
      {flashmla, sizes::exactly(64)},
      {flashinfer_mla, sizes::range(32, 64)},
      {cutlass_mla, sizes::exactly(128)},
      {triton_mla, sizes::multiple_of(16)},
      {flash_attn_mla_sparse, sizes::multiple_of(64)},
      {flashmla_sparse, sizes::multiple_of(64)},
      {flashinfer_mla_sparse, sizes::multiple_of(32)},
      {flashinfer_mla_sparse_sm90, sizes::multiple_of(64)},
      {flashinfer_mla_sparse_sm120, sizes::multiple_of(64)},
      {deepseek_v32_indexer, sizes::exactly(64)},
      {flashmla_sparse_dsv4, sizes::exactly(256)},
      {deepseek_v4_indexer, sizes::exactly(256)},
      {deepseek_sparse_swa, sizes::multiple_of(32)},
      {compressor, sizes::multiple_of(1)},
      {minimax_m3_sparse, sizes::exactly(128)},
      {minimax_m3_sparse_indexer, sizes::exactly(128)},
  };
  // clang-format on
  [[nodiscard]] static constexpr bool in_order() noexcept {
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      if (static_cast<std::size_t>(rows[i].backend) != i) return false;
    }
    return std::size(rows) == std::size(attention_backend_names);
  }
};
static_assert(fixed_block_sizes::in_order());

/// v1/attention/backends/flash_attn.py: the fourth version has sizes of its own for two head sizes.
[[nodiscard]] constexpr kernel_block_sizes flash_attn_block_sizes(const backend_context& c, std::uint64_t head_size,
                                                                  std::uint64_t head_size_v,
                                                                  cache_dtype type) noexcept {
  const bool hopper_512 = c.device.major == 9 && is_fp8_or_e4m3(type) && head_size == 512;
  if (hopper_512 && get_flash_attn_version(c, {head_size, 0, false, {}, false}) == 4)
    return kernel_block_sizes::exactly(64);
  const bool blackwell_256 = c.device.major == 10 && head_size == 256 && (head_size_v == 0 || head_size_v == 256);
  if (blackwell_256 && get_flash_attn_version(c, {head_size, head_size_v, false, {}, true}) == 4)
    return kernel_block_sizes::exactly(128);
  return kernel_block_sizes::multiple_of(16);
}

/// v1/attention/backends/flashinfer.py: Blackwell's large pages need several query heads per KV head.
[[nodiscard]] constexpr kernel_block_sizes flashinfer_block_sizes(const backend_context& c) noexcept {
  const bool large = c.device.major == 10 && c.num_kv_heads > 0 && c.num_heads / c.num_kv_heads > 1;
  return kernel_block_sizes::range(16, large ? 1024 : 64);
}

/// The block sizes of a backend. vLLM asks twice: while it settles the block size, with the model's head size and
/// cache type; and for a layer, with the layer's own.
[[nodiscard]] constexpr kernel_block_sizes get_supported_kernel_block_sizes(attention_backend backend,
                                                                            const backend_context& c,
                                                                            std::uint64_t head_size,
                                                                            std::uint64_t head_size_v,
                                                                            cache_dtype type) noexcept {
  using enum attention_backend;
  switch (backend) {
    case flash_attn:
    case flash_attn_diffkv:
    case triton_flash_attn: return flash_attn_block_sizes(c, head_size, head_size_v, type);
    case flashinfer: return flashinfer_block_sizes(c);
    default: return fixed_block_sizes::rows[static_cast<std::size_t>(backend)].block_sizes;
  }
}
[[nodiscard]] constexpr kernel_block_sizes model_kernel_block_sizes(attention_backend backend,
                                                                    const backend_context& c) noexcept {
  return get_supported_kernel_block_sizes(backend, c, c.head_size, 0, c.cache_dtype);
}

}  // namespace kvbudget::detail::vllm
