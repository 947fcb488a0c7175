// On which device llama.cpp puts a layer.
//
// Source: llama.cpp 0.5.0-dev, src/llama-model.cpp (load_tensors).
#pragma once

#include <kvbudget/engines/llama_cpp/hparams.hpp>
#include <kvbudget/engines/llama_cpp/settings.hpp>

namespace kvbudget::detail::llama_cpp {

/// The device number of the CPU: the one after the last GPU.
[[nodiscard]] constexpr std::uint32_t cpu_device(const settings& s) noexcept {
  return s.devices < max_devices ? s.devices : max_devices;
}

/// Layers to devices (llama_model_base::load_tensors).
class layer_devices {
 public:
  constexpr layer_devices(const hparams& h, const settings& s) noexcept
      : cpu_(cpu_device(s)), use_gpus_(s.offload_kqv && s.devices > 0) {
    if (!use_gpus_) return;
    if (s.split == split_mode::none) {
      if (s.main_gpu < 0) {
        use_gpus_ = false;
        return;
      }
      first_ = static_cast<std::uint32_t>(s.main_gpu);
      used_ = 1;
    } else {
      used_ = cpu_;
    }
    bool given = false;
    for (std::uint32_t d = 0; d < used_; ++d) given = given || s.tensor_split[d] != 0.0F;
    bool known = true;
    for (std::uint32_t d = 0; d < used_; ++d) known = known && s.device_memory[d] != 0;
    float sum = 0.0F;
    for (std::uint32_t d = 0; d < used_; ++d) {
      sum += given ? s.tensor_split[d] : known ? static_cast<float>(s.device_memory[d]) : 1.0F;
      split_[d] = sum;
    }
    for (std::uint32_t d = 0; d < used_; ++d) split_[d] /= sum;
    const std::uint64_t all = std::uint64_t{h.n_layer_all} + 1;  // the output layer is one of them
    const std::uint64_t asked = s.n_gpu_layers < 0 ? all : static_cast<std::uint64_t>(s.n_gpu_layers);
    offloaded_ = static_cast<std::uint32_t>(asked < all ? asked : all);
    gpu_start_ = static_cast<std::uint32_t>(all - offloaded_);
  }

  [[nodiscard]] constexpr std::uint32_t cpu() const noexcept { return cpu_; }

  [[nodiscard]] constexpr std::uint32_t device_of(std::uint32_t il) const noexcept {
    if (!use_gpus_ || il < gpu_start_ || il - gpu_start_ >= offloaded_) return cpu_;
    if (used_ == 1) return first_;
    // In float, as the engine computes it: the rounding decides where a layer falls.
    const float at = static_cast<float>(il - gpu_start_) / static_cast<float>(offloaded_);
    for (std::uint32_t d = 0; d < used_; ++d) {
      if (split_[d] > at) return first_ + d;
    }
    return cpu_;
  }

 private:
  std::uint32_t cpu_;
  bool use_gpus_;
  std::uint32_t first_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t offloaded_ = 0;
  std::uint32_t gpu_start_ = 0;
  float split_[max_devices]{};
};

}  // namespace kvbudget::detail::llama_cpp
