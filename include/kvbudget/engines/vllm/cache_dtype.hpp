// Which type the cache has: what was asked for, what the checkpoint says, what the architecture makes of it; and which
// layers it leaves alone.
//
// Sources: utils/torch_utils.py (resolve_kv_cache_dtype_string), model_executor/models/config.py.
#pragma once

#include <kvbudget/engines/vllm/resolved_settings.hpp>

namespace kvbudget::detail::vllm {

/// What the settings ask for, else the checkpoint.
[[nodiscard]] constexpr cache_dtype asked_cache_dtype(const model& m, const settings& s) noexcept {
  const release_rules rules = s.rules();
  if (s.kv_cache_dtype != cache_dtype::automatic) return s.kv_cache_dtype;
  const bool reads = is_nvfp4(m.checkpoint_cache_dtype) ? rules.nvfp4_cache_type() : rules.modelopt_cache_type();
  if (reads && m.checkpoint_cache_dtype != cache_dtype::automatic) return m.checkpoint_cache_dtype;
  const bool scheme = m.checkpoint_fp8_attention && !m.use_mla && rules.compressed_tensors_cache_type();
  return scheme ? cache_dtype::fp8 : cache_dtype::automatic;
}

struct cache_dtype_choice {
  cache_dtype type = cache_dtype::automatic;
  refusal reason = refusal::none;
};
/// models/config.py: DeepseekV32ForCausalLM.
[[nodiscard]] constexpr cache_dtype deepseek_v32_cache_dtype(cache_dtype asked, const release_rules& rules) noexcept {
  const bool packed = asked == cache_dtype::automatic || is_fp8_per_tensor(asked);
  if (packed && rules.deepseek_v32_is_packed()) return cache_dtype::fp8_ds_mla;
  return asked == cache_dtype::bfloat16 ? cache_dtype::automatic : asked;
}
/// models/config.py: DeepseekV4ForCausalLM.
[[nodiscard]] constexpr cache_dtype_choice deepseek_v4_cache_dtype(cache_dtype asked) noexcept {
  const bool fp8 =
      asked == cache_dtype::automatic || is_fp8_per_tensor(asked) || asked == cache_dtype::fp8_per_token_head;
  if (!fp8) return {asked, refusal::deepseek_v4_needs_fp8};
  return {cache_dtype::fp8_ds_mla, refusal::none};
}
[[nodiscard]] constexpr cache_dtype_choice architecture_cache_dtype(const model& m, const settings& s,
                                                                    cache_dtype asked) noexcept {
  switch (m.dtype_rule) {
    case cache_dtype_rule::none: break;
    case cache_dtype_rule::deepseek_v32: return {deepseek_v32_cache_dtype(asked, s.rules()), refusal::none};
    case cache_dtype_rule::deepseek_v4: return deepseek_v4_cache_dtype(asked);
    case cache_dtype_rule::glm_moe_dsa:
      if (asked == cache_dtype::automatic && s.device.major == 10) return {cache_dtype::fp8_e4m3, refusal::none};
  }
  return {asked, refusal::none};
}

/// utils/torch_utils.py:resolve_kv_cache_dtype_string and the per-architecture rules of
/// model_executor/models/config.py.
[[nodiscard]] constexpr refusal resolve_cache_dtype(const model& m, const settings& s, resolved_settings& r) noexcept {
  const cache_dtype_choice choice = architecture_cache_dtype(m, s, asked_cache_dtype(m, s));
  r.cache_dtype = choice.type;
  if (choice.reason != refusal::none) return choice.reason;
  return is_nvfp4(r.cache_dtype) && m.use_mla ? refusal::nvfp4_with_mla : refusal::none;
}

/// Which layers --kv-cache-dtype leaves alone. Turboquant spares two layers at each end of a model without recurrent
/// layers (layers/quantization/turboquant/config.py:get_boundary_skip_layers).
struct skip_layers {
  std::span<const std::uint32_t> listed;
  bool sliding_window = false;
  std::uint64_t first_end = 0;                   // layers below
  std::uint64_t last_begin = ~std::uint64_t{0};  // layers from here on, to the model's last one
  std::uint64_t num_hidden_layers = 0;

  [[nodiscard]] constexpr bool any() const noexcept { return !listed.empty() || sliding_window || first_end != 0; }
  [[nodiscard]] constexpr bool contains(std::uint32_t layer, bool has_window) const noexcept {
    if (has_window && sliding_window) return true;
    if (layer < first_end || (layer >= last_begin && layer < num_hidden_layers)) return true;
    std::size_t low = 0, high = listed.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (listed[middle] < layer) low = middle + 1;
      else high = middle;
    }
    return low < listed.size() && listed[low] == layer;
  }
};
[[nodiscard]] constexpr skip_layers get_skip_layers(const model& m, const settings& s,
                                                    const resolved_settings& r) noexcept {
  skip_layers skip{s.kv_cache_dtype_skip_layers, s.skip_sliding_window_layers};
  skip.num_hidden_layers = m.num_hidden_layers;
  if (is_turboquant(r.cache_dtype) && !m.is_hybrid) {
    const std::uint64_t half = m.num_hidden_layers / 2;
    skip.first_end = half < 2 ? half : 2;
    if (skip.first_end != 0) skip.last_begin = m.num_hidden_layers - skip.first_end;
  }
  return skip;
}

[[nodiscard]] constexpr bool can_be_skipped(layer_role role) noexcept {
  return role == layer_role::attention || role == layer_role::chunked_attention ||
         role == layer_role::cross_attention || role == layer_role::diffkv_attention || role == layer_role::mla ||
         role == layer_role::sparse_mla;
}

}  // namespace kvbudget::detail::vllm
