// The cache of one layer as vLLM's allocator sees it: its page, and how many of its blocks one request may hold.
//
// Source: v1/kv_cache_interface.py.
#pragma once

#include <kvbudget/engines/vllm/backends.hpp>

namespace kvbudget::detail::vllm {

enum class spec_kind : std::uint8_t {
  full_attention,
  mla_attention,
  sliding_window,
  sliding_window_mla,
  chunked_local_attention,
  cross_attention,
  mamba
};
inline constexpr const char* spec_kind_names[] = {
    "FullAttentionSpec",         "MLAAttentionSpec",   "SlidingWindowSpec", "SlidingWindowMLASpec",
    "ChunkedLocalAttentionSpec", "CrossAttentionSpec", "MambaSpec"};

[[nodiscard]] constexpr std::uint64_t gcd(std::uint64_t a, std::uint64_t b) noexcept {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
[[nodiscard]] constexpr checked_count lcm(std::uint64_t a, std::uint64_t b) noexcept {
  return checked_count(a) / gcd(a, b) * b;
}

/// KVCacheSpec and its subclasses. Two layers share a group only when the fields that vLLM compares are equal.
struct kv_cache_spec {
  spec_kind kind = spec_kind::full_attention;
  std::uint64_t block_size = 16;          ///< tokens of one block
  std::uint64_t num_heads = 1;            ///< head slots of the page
  std::uint64_t cell_bytes = 0;           ///< one head slot of one stored state
  std::uint64_t tokens_per_state = 1;     ///< DeepSeek-V4 stores one row for several tokens
  std::uint64_t page_alignment = 0;       ///< the page itself is rounded up to this; 0: it is not
  std::uint64_t page_size_padded = 0;     ///< 0: none
  std::uint64_t stride_alignment = 0;     ///< bytes between blocks must be a multiple; 0: any
  std::uint64_t stride_kernel_block = 0;  ///< or: whole kernel blocks of up to so many tokens
  std::uint64_t sliding_window = 0;
  std::uint64_t attention_chunk_size = 0;
  std::uint64_t extra_retained_tokens = 0;
  std::uint64_t num_kv_heads = 0;
  std::uint64_t head_size = 0;
  std::uint64_t head_size_v = 0;
  std::uint64_t element_bytes = 2;
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
  std::uint8_t cache_role = 0;     ///< 1: an indexer's keys
  std::uint8_t model_version = 0;  ///< 1: DeepSeek-V4
  bool is_index_group_leader = false;
  bool one_tp_shard = false;  ///< max_tp_shards 1: every tensor-parallel rank holds the same bytes
  bool dcp_sharded = false;
  std::uint64_t state_bytes = 0;                    ///< mamba
  std::uint64_t num_speculative_blocks = 0;         ///< mamba
  std::uint64_t num_prefill_checkpoint_blocks = 0;  ///< mamba
  state_shape state{};

  friend constexpr bool operator==(const kv_cache_spec&, const kv_cache_spec&) noexcept = default;

  [[nodiscard]] constexpr bool is_attention() const noexcept { return kind != spec_kind::mamba; }
  /// isinstance(spec, FullAttentionSpec): MLA and indexers count.
  [[nodiscard]] constexpr bool is_full() const noexcept {
    return kind == spec_kind::full_attention || kind == spec_kind::mla_attention;
  }
  [[nodiscard]] constexpr bool is_sliding() const noexcept {
    return kind == spec_kind::sliding_window || kind == spec_kind::sliding_window_mla;
  }

  /// unpadded_page_size_bytes at any block size.
  [[nodiscard]] constexpr checked_count unpadded_page_size_bytes(std::uint64_t tokens_per_block) const noexcept {
    if (kind == spec_kind::mamba) return state_bytes;
    return checked_count(num_heads) * (checked_count(tokens_per_block) / tokens_per_state) * cell_bytes;
  }
  [[nodiscard]] constexpr checked_count unpadded_page_size_bytes() const noexcept {
    return unpadded_page_size_bytes(block_size);
  }
  /// page_size_bytes: what one block of this layer takes.
  [[nodiscard]] constexpr checked_count page_size_bytes() const noexcept {
    if (page_size_padded != 0) return page_size_padded;
    const checked_count page = unpadded_page_size_bytes();
    return page_alignment != 0 ? round_up(page, page_alignment) : page;
  }

  /// get_block_stride_alignment.
  [[nodiscard]] constexpr checked_count block_stride_alignment() const noexcept {
    if (stride_kernel_block != 0) {
      const std::uint64_t common = gcd(stride_kernel_block, block_size);
      if (common == block_size) return 1U;
      kv_cache_spec kernel = *this;
      kernel.block_size = common;
      return kernel.page_size_bytes();
    }
    return stride_alignment != 0 ? stride_alignment : std::uint64_t{1};
  }
};

/// What bounds the blocks of one request (config/vllm.py: max_in_flight_tokens and others).
struct admission_limits {
  std::uint64_t max_model_len = 0;
  std::uint64_t max_in_flight_tokens = 0;  ///< concurrent batches x max_num_batched_tokens
  std::uint64_t max_num_encoder_input_tokens = 0;
  std::uint64_t decode_context_parallel_size = 1;
  bool mamba_align = false;  ///< prefix caching keeps states at block boundaries
};

/// Blocks that one request of max_model_len tokens may hold in this layer's group: max_memory_usage_bytes in pages.
///
/// A window of w tokens holds w - 1 computed tokens and everything that is scheduled but not settled, and one block
/// more because it need not start at a block's edge (SlidingWindowSpec.max_admission_blocks_per_request). A state is
/// kept once, and in align mode at the last boundary too; each speculative token has a state of its own (MambaSpec).
[[nodiscard]] constexpr checked_count max_admission_blocks_per_request(const kv_cache_spec& spec,
                                                                       const admission_limits& limits) noexcept {
  const checked_count length = limits.max_model_len;
  switch (spec.kind) {
    case spec_kind::full_attention:
    case spec_kind::mla_attention: {
      const bool sharded = spec.dcp_sharded && limits.decode_context_parallel_size > 1;
      return div_ceil(sharded ? div_ceil(length, limits.decode_context_parallel_size) : length, spec.block_size);
    }
    case spec_kind::sliding_window:
    case spec_kind::sliding_window_mla: {
      const checked_count kept = checked_count(spec.sliding_window) + spec.extra_retained_tokens +
                                 limits.max_in_flight_tokens - checked_count(1U);
      return div_ceil(smaller(kept, length), spec.block_size) + checked_count(1U);
    }
    case spec_kind::chunked_local_attention:
      return div_ceil(smaller(checked_count(spec.attention_chunk_size) + limits.max_in_flight_tokens, length),
                      spec.block_size);
    case spec_kind::cross_attention: return div_ceil(limits.max_num_encoder_input_tokens, spec.block_size);
    case spec_kind::mamba:
      return limits.mamba_align ? checked_count(2U) + spec.num_speculative_blocks + spec.num_prefill_checkpoint_blocks
                                : checked_count(1U) + spec.num_speculative_blocks;
  }
  return 0U;
}

/// How a backend packs K and V of one token: head slots and bytes of a slot.
struct page_packing {
  std::uint64_t num_heads = 1;
  checked_count cell_bytes;

  [[nodiscard]] constexpr checked_count token_bytes() const noexcept { return checked_count(num_heads) * cell_bytes; }
};

/// layers/quantization/turboquant/config.py: keys of 8 or b bits with a norm, values of b bits with scale and zero,
/// the slot rounded to an even number.
[[nodiscard]] constexpr std::uint64_t turboquant_slot_bytes(cache_dtype type, std::uint64_t head_size) noexcept {
  std::uint64_t key_bits = 4, value_bits = 4;
  if (type == cache_dtype::turboquant_k8v4) key_bits = 8;
  if (type == cache_dtype::turboquant_k3v4_nc) key_bits = 3;
  if (type == cache_dtype::turboquant_3bit_nc) key_bits = value_bits = 3;
  const std::uint64_t key = key_bits == 8 ? head_size : (head_size * key_bits + 7) / 8 + 2;
  const std::uint64_t value = (head_size * value_bits + 7) / 8 + 4;
  return (key + value + 1) / 2 * 2;
}

/// The backends' customize_spec: K and V side by side, unless the type is packed.
[[nodiscard]] constexpr page_packing pack(attention_backend backend, cache_dtype type, std::uint64_t num_kv_heads,
                                          std::uint64_t head_size, std::uint64_t head_size_v,
                                          std::uint64_t element_bytes) noexcept {
  using enum attention_backend;
  const bool triton = backend == triton_attn || backend == triton_flash_attn;
  if (triton && is_per_token_head(type)) {
    // One float32 scale each for K and V behind every head's data.
    const std::uint64_t divisor = type == cache_dtype::int4_per_token_head ? 2 : 1;
    return {num_kv_heads, checked_count(head_size / divisor) + head_size_v / divisor + checked_count(8U)};
  }
  if ((backend == flashinfer || backend == triton_flashinfer) && is_nvfp4(type)) {
    return {num_kv_heads * 2, checked_count(head_size / 2) + head_size / 16};
  }
  if (backend == turboquant && is_turboquant(type)) return {num_kv_heads, turboquant_slot_bytes(type, head_size)};
  return {num_kv_heads, (checked_count(head_size) + head_size_v) * element_bytes};
}

/// Bytes of a recurrent state on one rank, or why it cannot be split.
struct state_size {
  checked_count bytes;
  refusal reason = refusal::none;
};

/// layers/mamba/mamba_utils.py: MambaStateShapeCalculator. Convolution columns grow with the speculative tokens, except
/// for mamba1 and the short convolution.
[[nodiscard]] constexpr state_size state_bytes(const state_shape& s, std::uint64_t tensor_parallel_size,
                                               std::uint64_t num_speculative_tokens, std::uint64_t conv_bytes,
                                               std::uint64_t ssm_bytes) noexcept {
  const checked_count tp = tensor_parallel_size;
  checked_count conv_dim = s.conv_dim;
  checked_count columns = checked_count(s.conv_kernel) - checked_count(1U);
  if (s.kind == state_kind::mamba2) {
    std::uint64_t groups = s.n_groups;
    if (tensor_parallel_size == 0 || groups % tensor_parallel_size != 0) {
      if (groups != 1) return {0U, refusal::groups_not_divisible};
      groups = tensor_parallel_size;
    }
    conv_dim += checked_count(2U) * groups * s.state_size;
  }
  if (s.kind != state_kind::mamba1 && s.kind != state_kind::short_conv) columns += num_speculative_tokens;
  const checked_count remainder = conv_dim % tp + checked_count(s.num_heads) % tp;
  if (remainder.value_or(1) != 0) return {0U, refusal::state_not_divisible};
  return {conv_dim / tp * columns * conv_bytes + checked_count(s.num_heads) / tp * s.head_elements * ssm_bytes,
          refusal::none};
}

}  // namespace kvbudget::detail::vllm
