// llama.cpp's options as far as they matter for memory, and its three sets of defaults.
//
// Source: llama.cpp 0.5.0-dev, include/llama.h (llama_context_params, llama_model_params), common/common.h,
// tools/server/server.cpp.
#pragma once

#include <kvbudget/core/storage_type.hpp>

namespace kvbudget::detail::llama_cpp {

inline constexpr std::uint32_t max_devices = 16;  ///< LLAMA_MAX_DEVICES

enum class flash_attention : std::uint8_t { automatic, on, off };
enum class context_type : std::uint8_t { standard, mtp };
enum class split_mode : std::uint8_t { none, layer, row, tensor };

/// llama_context_params and llama_model_params, as far as they matter for memory, under their own names.
/// The initial values are those of the C API (llama_context_default_params, llama_model_default_params).
struct settings {
  std::uint32_t n_ctx = 512;  ///< positions of all sequences together; 0: the model's context length
  std::uint32_t n_batch = 2048;
  std::uint32_t n_ubatch = 512;  ///< 0: n_batch
  std::uint32_t n_seq_max = 1;
  storage_type type_k = f16;
  storage_type type_v = f16;
  flash_attention flash_attn = flash_attention::automatic;
  bool kv_unified = false;     ///< one buffer for all sequences
  bool swa_full = true;        ///< sliding layers get full-length caches too
  bool offload_kqv = true;     ///< caches beside their layers; false: all on the CPU
  std::uint32_t n_rs_seq = 0;  ///< snapshots of recurrent states for rollback
  context_type ctx_type = context_type::standard;
  bool load_mtp = false;                 ///< has no influence on caches
  bool one_output_per_sequence = false;  ///< n_outputs_max as llama-server sets it; else n_batch outputs
  std::int32_t n_gpu_layers = -1;        ///< the last so many layers, the output layer counting as one; negative: all
  llama_cpp::split_mode split = llama_cpp::split_mode::layer;
  std::int32_t main_gpu = 0;
  std::uint32_t devices = 0;  ///< number of GPUs
  /// Proportions per device; all 0: by free memory, here `device_memory`, or equal parts where that is 0 as well.
  float tensor_split[max_devices]{};
  std::uint64_t device_memory[max_devices]{};
};

/// Defaults of the command-line tools (common/common.h: common_params).
[[nodiscard]] constexpr settings command_line_settings() noexcept {
  settings s;
  s.n_ctx = 0;
  s.swa_full = false;
  return s;
}

/// Defaults of llama-server without --parallel (tools/server/server.cpp): four sequences in one buffer. An explicit
/// number of sequences leaves kv_unified off.
[[nodiscard]] constexpr settings server_settings() noexcept {
  settings s = command_line_settings();
  s.n_seq_max = 4;
  s.kv_unified = true;
  s.one_output_per_sequence = true;
  return s;
}

}  // namespace kvbudget::detail::llama_cpp
