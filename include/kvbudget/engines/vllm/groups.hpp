// Which layers share blocks: the groups of a model, their page sizes, and the bytes of one block of the common pool.
//
// Source: v1/core/kv_cache_utils.py. The functions have the names that they have there and can be read one by one.
#pragma once

#include <kvbudget/engines/vllm/packed_groups.hpp>

namespace kvbudget::detail::vllm {

/// _get_kv_cache_groups_uniform_page_size: layers of one kind are spread over groups of `size` layers, where size is
/// that of the smallest kind, or of the largest where it is less than 1.5 times that (less in older releases).
/// Group j of k takes layers
/// j, j + k, j + 2k …, so that every pipeline stage has a share of every group.
constexpr void get_kv_cache_groups_uniform_page_size(kv_cache_groups& groups) {
  fixed_vector<kv_cache_spec, max_layer_classes> merged;
  std::size_t bucket_of[max_layer_classes] = {};
  std::uint32_t layers_of[max_layer_classes] = {};
  for (std::size_t i = 0; i < groups.specs.size(); ++i) {
    std::size_t bucket = 0;
    while (bucket < merged.size() && merge(merged[bucket], groups.specs[i].spec) != merge_result::merged) {
      ++bucket;
    }
    if (bucket == merged.size()) merged.push_back(groups.specs[i].spec);
    bucket_of[i] = bucket;
    layers_of[bucket] += groups.specs[i].num_layers;
  }
  std::uint32_t smallest = layers_of[0], largest = layers_of[0];
  for (std::size_t b = 1; b < merged.size(); ++b) {
    smallest = layers_of[b] < smallest ? layers_of[b] : smallest;
    largest = layers_of[b] > largest ? layers_of[b] : largest;
  }
  const bool alike = std::uint64_t{4} * largest < std::uint64_t{groups.size_quarters} * smallest;
  const std::uint32_t size = alike ? largest : smallest;
  for (std::size_t b = 0; b < merged.size(); ++b) {
    group_family family;
    family.count = div_ceil_u32(layers_of[b], size);
    family.first_member = static_cast<std::uint32_t>(groups.members.size());
    family.padding_layers = family.count * size - layers_of[b];
    std::uint32_t offset = 0;
    for (std::size_t i = 0; i < groups.specs.size(); ++i) {
      if (bucket_of[i] != b) continue;
      groups.members.push_back(as_member(groups.specs[i], i, offset));
      offset += groups.specs[i].num_layers;
      family.specs |= std::uint64_t{1} << i;
      ++family.num_members;
    }
    groups.families.push_back(family);
  }
}

[[nodiscard]] constexpr bool has_one_page_size(const layer_sets& sets) noexcept {
  for (const layer_set& set : sets) {
    if (set.spec.page_size_bytes() != sets[0].spec.page_size_bytes()) return false;
  }
  return true;
}

/// MLA beside an ordinary window, and nothing that cannot have blocks for all tokens.
[[nodiscard]] constexpr bool is_mla_beside_a_window(const layer_sets& sets) noexcept {
  bool has_mla = false, has_window = false;
  for (const layer_set& set : sets) {
    const spec_kind kind = set.spec.kind;
    if (kind == spec_kind::sliding_window_mla || kind == spec_kind::chunked_local_attention) return false;
    has_mla = has_mla || kind == spec_kind::mla_attention;
    has_window = has_window || kind == spec_kind::sliding_window;
  }
  return has_mla && has_window;
}

/// _try_get_full_allocation_fallback_groups: where pages cannot be unified, MLA beside an ordinary sliding window gives
/// full blocks to both.
constexpr void try_full_allocation(kv_cache_groups& groups) {
  if (!is_mla_beside_a_window(groups.specs)) return;
  if (promote_local_kv_cache_specs(groups.specs) != refusal::none || !is_uniform_type(groups.specs)) return;
  groups.reason = refusal::none;
  put_all_into_one_group(groups, true);
}

/// get_kv_cache_groups in place: `groups.specs` holds the specs of the layers.
constexpr void form_groups(kv_cache_groups& groups, kv_cache_layout layout, bool disable_hybrid_kv_cache_manager) {
  if (groups.specs.empty()) return;
  if (disable_hybrid_kv_cache_manager) groups.reason = unify_hybrid_kv_cache_specs(groups.specs);
  if (groups.reason != refusal::none) return;

  const merge_result uniform = is_kv_cache_spec_uniform(groups.specs);
  if (uniform == merge_result::window_conflict) groups.reason = refusal::several_windows_in_one_group;
  if (groups.reason != refusal::none) return;
  if (uniform == merge_result::merged || is_uniform_type(groups.specs)) {
    put_all_into_one_group(groups, uniform != merge_result::merged);
    return;
  }

  if (is_block_outermost(layout) && !has_one_page_size(groups.specs)) {
    get_packed_kv_cache_groups(groups);
    return;
  }
  groups.reason = unify_kv_cache_spec_page_size(groups.specs);
  if (groups.reason == refusal::none) get_kv_cache_groups_uniform_page_size(groups);
  else try_full_allocation(groups);
}

/// get_kv_cache_groups: the whole decision, on all layers of the model. `sets` are the specs of the layers in the
/// order of registration, stage after stage.
[[nodiscard]] constexpr kv_cache_groups get_kv_cache_groups(const layer_sets& sets, kv_cache_layout layout,
                                                            bool disable_hybrid_kv_cache_manager) {
  kv_cache_groups groups;
  groups.specs = sets;
  form_groups(groups, layout, disable_hybrid_kv_cache_manager);
  return groups;
}

/// Layers and page of group `j` of a family, of one pipeline stage or of the whole model (`stage` past the last).
struct group_shape {
  std::uint64_t num_layers = 0;
  std::uint64_t page_size_bytes = 0;  ///< of the group's spec: the sum for mixed layers
  std::uint64_t bytes_per_block = 0;  ///< of all its layers
};
[[nodiscard]] constexpr group_shape shape_of_group(const kv_cache_groups& groups, const group_family& family,
                                                   std::uint64_t j, std::size_t stage = max_pipeline_stages) {
  group_shape shape;
  checked_count sum = 0U;
  for (std::size_t m = family.first_member; m < family.first_member + family.num_members; ++m) {
    const group_member& member = groups.members[m];
    const std::uint64_t n = member_layers(member, family.count, j, stage);
    shape.num_layers += n;
    sum += groups.specs[member.spec].spec.page_size_bytes() * n;
  }
  shape.bytes_per_block = sum.value();
  const kv_cache_spec& first = groups.specs[groups.members[family.first_member].spec].spec;
  shape.page_size_bytes = family.uniform_type ? shape.bytes_per_block : first.page_size_bytes().value();
  return shape;
}

/// _get_kv_cache_bytes_per_block: the widest group of a stage. In layer-outermost layouts every page is aligned on its
/// own; in block-outermost ones the whole block is, to all alignments at once.
[[nodiscard]] constexpr std::uint64_t get_kv_cache_bytes_per_block(const kv_cache_groups& groups,
                                                                   kv_cache_layout layout, std::size_t stage) {
  const bool block_outermost = is_block_outermost(layout);
  checked_count widest = 0U;
  for (const group_family& family : groups.families) {
    for (std::uint32_t j = 0; j < family.count; ++j) {
      checked_count sum = 0U;
      for (std::size_t m = family.first_member; m < family.first_member + family.num_members; ++m) {
        const group_member& member = groups.members[m];
        const kv_cache_spec& spec = groups.specs[member.spec].spec;
        const checked_count page = spec.page_size_bytes();
        sum += (block_outermost ? page : round_up(page, spec.block_stride_alignment())) *
               member_layers(member, family.count, j, stage);
      }
      widest = larger(widest, sum);
    }
  }
  if (!block_outermost) return widest.value();
  checked_count alignment = 1U;
  for (const layer_set& set : groups.specs) {
    if (stage < max_pipeline_stages && set.per_stage[stage] == 0) continue;
    alignment = lcm(alignment.value(), set.spec.block_stride_alignment().value());
  }
  return round_up(widest, alignment).value();
}

/// Blocks that one request may hold in one group of a family: the most that any of its layers needs.
[[nodiscard]] constexpr checked_count blocks_per_request(const kv_cache_groups& groups, const group_family& family,
                                                         const admission_limits& limits) noexcept {
  checked_count most = 0U;
  for (std::size_t m = family.first_member; m < family.first_member + family.num_members; ++m) {
    most = larger(most, max_admission_blocks_per_request(groups.specs[groups.members[m].spec].spec, limits));
  }
  return most;
}
/// … and in all groups, those that a pipeline stage has no layers of included.
[[nodiscard]] constexpr checked_count blocks_per_request(const kv_cache_groups& groups,
                                                         const admission_limits& limits) noexcept {
  checked_count sum = 0U;
  for (const group_family& family : groups.families) {
    sum += blocks_per_request(groups, family, limits) * family.count;
  }
  return sum;
}

}  // namespace kvbudget::detail::vllm
