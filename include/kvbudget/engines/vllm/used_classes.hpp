// Every kind of layer that occurs, quantized or not, on each pipeline stage.
#pragma once

#include <kvbudget/engines/vllm/cache_dtype.hpp>
#include <kvbudget/engines/vllm/group_families.hpp>
#include <kvbudget/engines/vllm/parallel.hpp>

namespace kvbudget::detail::vllm {

/// Every kind of layer that occurs, quantized or not, in the order of registration.
struct used_class {
  std::uint16_t index = 0;                                 // into model::classes
  bool skipped = false;                                    // kv_cache_dtype_skip_layers
  std::uint64_t order = 0;                                 // stage, then position of the first one
  std::uint64_t first_of_stage[max_pipeline_stages] = {};  // position of the stage's first one
  layer_set set;
  attention_backend backend = attention_backend::none;
  vllm::cache_dtype cache_dtype = cache_dtype::automatic;
};
using used_classes = fixed_vector<used_class, max_layer_classes>;

/// Insertion sort: there are few kinds, and they mostly come in order.
constexpr void sort_by_order(used_classes& used) noexcept {
  for (std::size_t i = 1; i < used.size(); ++i) {
    for (std::size_t j = i; j > 0 && used[j].order < used[j - 1].order; --j) {
      const used_class swapped = used[j];
      used[j] = used[j - 1];
      used[j - 1] = swapped;
    }
  }
}

/// The kinds in the order of registration, stage after stage.
[[nodiscard]] constexpr refusal classes_in_use(const model& m, const skip_layers& skip, const stage_bounds& bounds,
                                               used_classes& used) {
  if (m.classes.size() > max_layer_classes) return refusal::too_many_kinds_of_layers;
  constexpr std::uint8_t unseen = 0xff;
  std::uint8_t slot[max_layer_classes][2] = {};
  for (auto& pair : slot) pair[0] = pair[1] = unseen;
  const bool may_skip = skip.any();
  std::uint64_t position = 0;
  for (const layer_ref& ref : m.layers) {
    const layer_class& layer = m.classes[ref.layer_class];
    const bool skipped = may_skip && can_be_skipped(layer.role) && skip.contains(ref.skip_index(), layer.window != 0);
    const std::uint32_t stage = bounds.stage_of(ref);
    const std::uint64_t order = (std::uint64_t{stage} << 32U) + position++;
    std::uint8_t& at = slot[ref.layer_class][skipped ? 1 : 0];
    if (at == unseen) {
      if (used.size() == max_layer_classes) return refusal::too_many_kinds_of_layers;
      at = static_cast<std::uint8_t>(used.size());
      used.push_back(used_class{});
      used[at].index = ref.layer_class;
      used[at].skipped = skipped;
      used[at].order = order;
    }
    used_class& now = used[at];
    if (order < now.order) now.order = order;
    if (now.set.per_stage[stage] == 0) now.first_of_stage[stage] = order;
    ++now.set.num_layers;
    ++now.set.per_stage[stage];
  }
  sort_by_order(used);
  return refusal::none;
}

/// The classes of which a stage has layers, in the order of its first ones.
using stage_classes = fixed_vector<std::uint8_t, max_layer_classes>;
[[nodiscard]] constexpr stage_classes classes_of_stage(const used_classes& used, std::uint32_t stage) {
  stage_classes list;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i].set.per_stage[stage] != 0) list.push_back(static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 1; i < list.size(); ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (used[list[j]].first_of_stage[stage] > used[list[j - 1]].first_of_stage[stage]) break;
      const std::uint8_t swapped = list[j];
      list[j] = list[j - 1];
      list[j - 1] = swapped;
    }
  }
  return list;
}

}  // namespace kvbudget::detail::vllm
