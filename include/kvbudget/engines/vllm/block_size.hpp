// How many tokens one block holds: what all backends accept, raised for recurrent states and for unquantized layers.
//
// Source: platforms/interface.py (update_block_size_for_backend and the functions it calls).
#pragma once

#include <kvbudget/engines/vllm/kv_cache_spec.hpp>

namespace kvbudget::detail::vllm {

inline constexpr std::uint64_t default_block_size = 16;  ///< config/cache.py: CacheConfig.DEFAULT_BLOCK_SIZE

/// Distinct backends in layer order, recurrent layers left out (_find_non_ssm_backends).
using distinct_backends = fixed_vector<attention_backend, 32>;

constexpr void add_distinct(distinct_backends& backends, attention_backend backend) {
  if (backend == attention_backend::none) return;
  for (const attention_backend known : backends) {
    if (known == backend) return;
  }
  backends.push_back(backend);
}

struct block_size_choice {
  std::uint64_t block_size = default_block_size;
  refusal reason = refusal::none;
};

/// _preferred_block_size_for_backends: one backend takes the default or its own preference; several take the default
/// if all accept it, else the smallest common multiple of one size each.
[[nodiscard]] constexpr block_size_choice preferred_block_size_for_backends(const distinct_backends& backends,
                                                                            const backend_context& c) {
  using enum attention_backend;
  if (backends.size() == 1) {
    const kernel_block_sizes sizes = model_kernel_block_sizes(backends[0], c);
    if (backends[0] == deepseek_sparse_swa) return {256, refusal::none};
    return {sizes.supports(default_block_size) ? default_block_size : sizes.smallest(), refusal::none};
  }
  bool all_accept = true;
  for (const attention_backend b : backends) {
    all_accept = all_accept && model_kernel_block_sizes(b, c).supports(default_block_size);
  }
  if (all_accept) return {};
  // All sizes of one backend are powers of two times its smallest, and supports() only asks for the smallest: the
  // smallest candidate that all accept is the common multiple of the smallest sizes.
  checked_count common = 1U;
  for (const attention_backend b : backends) {
    common = lcm(common.value(), model_kernel_block_sizes(b, c).smallest());
  }
  return {common.value(), refusal::none};
}

/// What the adjustments below start from.
struct block_size_inputs {
  backend_context context{};
  attention_backend first_backend = attention_backend::none;
  std::uint64_t backend_alignment = 1;                     ///< common multiple of every backend's smallest kernel block
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;  ///< of the whole model, as the backends settled it
  std::uint64_t num_kv_heads = 0;                          ///< per rank, model level
  std::uint64_t head_size = 0;                             ///< model level
  bool use_mla = false;
  bool has_skip_layers = false;
};

/// One token of one attention layer at model level, packed as `backend` does, in type `type`.
[[nodiscard]] constexpr std::uint64_t token_page_bytes(const block_size_inputs& in, attention_backend backend,
                                                       cache_dtype type) {
  return pack(backend, type, in.num_kv_heads, in.head_size, in.head_size, element_bytes(type, in.context.model_dtype))
      .token_bytes()
      .value();
}

struct aligned_block_size {
  std::uint64_t block_size = default_block_size;
  std::uint64_t mamba_page_size_padded = 0;  ///< 0: the state needs no padding
};

/// _align_hybrid_block_size: the block grows until an attention page holds the largest recurrent state; the states'
/// pages are padded to it. MLA kernels need blocks of 128 tokens.
[[nodiscard]] constexpr aligned_block_size align_hybrid_block_size(std::uint64_t block_size,
                                                                   std::uint64_t largest_state,
                                                                   const block_size_inputs& in) {
  aligned_block_size result{block_size, 0};
  if (largest_state == 0) return result;
  std::uint64_t one_token = 0;
  if (in.use_mla) {
    one_token = (checked_count(in.head_size) * element_bytes(in.cache_dtype, in.context.model_dtype)).value();
  } else if (is_turboquant(in.cache_dtype)) {
    one_token = token_page_bytes(in, attention_backend::turboquant, in.cache_dtype);
    if (in.has_skip_layers) {
      const std::uint64_t plain = token_page_bytes(in, attention_backend::none, cache_dtype::automatic);
      one_token = lcm(one_token, plain).value();
    }
  } else {
    one_token = token_page_bytes(in, in.first_backend, in.cache_dtype);
  }
  const kernel_block_sizes sizes = model_kernel_block_sizes(in.first_backend, in.context);
  std::uint64_t align = sizes.smallest() > block_size ? sizes.smallest() : block_size;
  if (in.use_mla && align < 128) align = 128;
  const std::uint64_t block =
      round_up(checked_count(align) * div_ceil(largest_state, checked_count(align) * one_token), in.backend_alignment)
          .value();
  if (block > result.block_size) result.block_size = block;
  const std::uint64_t page = (checked_count(result.block_size) * one_token).value();
  if (page != largest_state) result.mamba_page_size_padded = page;
  return result;
}

struct heterogeneous_block_size {
  std::uint64_t block_size = default_block_size;
  std::uint64_t skip_page_size_padded = 0;  ///< 0: pages agree per token
  std::uint64_t mamba_page_size_padded = 0;
  refusal reason = refusal::none;
};

/// _align_heterogeneous_kv_block_size: with layers that stay unquantized, the block of the quantized ones grows until
/// its page holds an unquantized kernel block; sliding layers and states are padded to that page.
[[nodiscard]] constexpr heterogeneous_block_size align_heterogeneous_kv_block_size(std::uint64_t block_size,
                                                                                   std::uint64_t mamba_page_size_padded,
                                                                                   const block_size_inputs& in) {
  heterogeneous_block_size result{block_size, 0, mamba_page_size_padded, refusal::none};
  const std::uint64_t primary = token_page_bytes(in, in.first_backend, in.cache_dtype);
  const std::uint64_t padded = token_page_bytes(in, in.first_backend, cache_dtype::automatic);
  if (padded < primary) result.reason = refusal::padded_page_smaller;
  if (padded <= primary) return result;
  const std::uint64_t kernel = model_kernel_block_sizes(in.first_backend, in.context).smallest();
  const std::uint64_t align = kernel > block_size ? kernel : block_size;
  const checked_count needed = larger(checked_count(padded) * kernel, mamba_page_size_padded);
  const std::uint64_t block = (checked_count(align) * div_ceil(needed, checked_count(align) * primary)).value();
  if (block > result.block_size) result.block_size = block;
  result.skip_page_size_padded = (checked_count(result.block_size) * primary).value();
  if (mamba_page_size_padded != 0) result.mamba_page_size_padded = result.skip_page_size_padded;
  return result;
}

}  // namespace kvbudget::detail::vllm
