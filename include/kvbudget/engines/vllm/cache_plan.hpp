// What a plan consists of.
#pragma once

#include <kvbudget/engines/vllm/groups.hpp>
#include <kvbudget/engines/vllm/resolved_settings.hpp>

namespace kvbudget::detail::vllm {

/// One pipeline stage; every rank of it is alike.
struct stage_plan {
  std::uint64_t bytes_per_block = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t usable_bytes = 0;             ///< without the null block
  std::uint64_t admission_block_bytes = 0;    ///< what one block of a request counts in the check
  std::uint64_t estimated_max_model_len = 0;  ///< where a request does not fit
  bool fits = true;
};

struct cache_plan {
  refusal reason = refusal::none;
  resolved_settings resolved;
  kv_cache_groups groups;
  fixed_vector<stage_plan, max_pipeline_stages> stages;
  admission_limits limits;
  fit_check check = fit_check::all_groups;
  std::uint64_t max_model_len = 0;
  bool auto_fitted = false;                   ///< max_model_len was reduced to what fits
  std::uint64_t estimated_max_model_len = 0;  ///< of the tightest stage, where a request does not fit
  std::uint64_t blocks_per_request = 0;
  bool memory_is_known = false;
  std::uint64_t num_blocks = 0;  ///< the null block included
  double max_concurrency = 0;
  std::uint64_t tokens = 0;
  std::uint64_t scheduler_block_size = 0;
  std::uint64_t hash_block_size = 0;
  std::uint64_t cache_hit_alignment = 0;  ///< prefixes are reused in multiples of this; 0: never
  std::uint64_t kv_tp_replicas = 1;
  /// Which used class a layer's class is, [1] where kv_cache_dtype_skip_layers names the layer.
  std::uint8_t used_class_of[max_layer_classes][2] = {};

  /// The group family and the spec of a layer, in `groups`; nothing where there are no groups.
  struct place {
    std::size_t family = 0;
    std::size_t spec = 0;
  };
  [[nodiscard]] constexpr std::optional<place> place_of(std::uint16_t layer_class, bool skipped,
                                                        std::uint32_t stage) const {
    const std::uint64_t origin = std::uint64_t{1} << used_class_of[layer_class][skipped ? 1 : 0];
    for (std::size_t spec = 0; spec < groups.specs.size(); ++spec) {
      if ((groups.specs[spec].origins & origin) == 0 || groups.specs[spec].per_stage[stage] == 0) continue;
      for (std::size_t family = 0; family < groups.families.size(); ++family) {
        if ((groups.families[family].specs >> spec & 1U) != 0) return place{family, spec};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] constexpr bool has_groups() const noexcept { return !groups.families.empty(); }
};

}  // namespace kvbudget::detail::vllm
