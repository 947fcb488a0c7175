// Settings in force, and the defaults that follow the model and the device.
//
// Sources: engine/arg_utils.py, config/vllm.py, config/model.py.
#pragma once

#include <kvbudget/engines/vllm/block_size.hpp>

namespace kvbudget::detail::vllm {

/// Settings in force: what was given, else the default for this model and device.
struct resolved_settings {
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
  std::uint64_t max_model_len = 0;  ///< before it is fitted to the memory
  std::uint64_t max_num_batched_tokens = 0;
  std::uint64_t max_num_seqs = 0;
  std::uint64_t max_in_flight_tokens = 0;
  std::uint64_t max_num_encoder_input_tokens = 0;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  bool async_scheduling = true;
  bool mamba_align = false;                       ///< mamba_cache_mode "align", else "none"
  std::uint64_t block_size = default_block_size;  ///< before groups are unified
  std::uint64_t mamba_block_size = 0;
  std::uint64_t mamba_page_size_padded = 0;
  std::uint64_t skip_page_size_padded = 0;
  kv_cache_layout layout = kv_cache_layout::lbnhc;
  distinct_backends backends;
};

}  // namespace kvbudget::detail::vllm
