// Groups of layers: a family is several groups of one kind, a member a list of layers with one page size.
//
// Source: v1/core/kv_cache_utils.py.
#pragma once

#include <kvbudget/engines/vllm/layer_sets.hpp>

namespace kvbudget::detail::vllm {

/// Part of a family of groups: a list of layers with one page size. Layer p of the list belongs to group p % count.
struct group_member {
  std::uint32_t spec = 0;    ///< index into kv_cache_groups::specs; its page and blocks stand for the whole list
  std::uint32_t offset = 0;  ///< position of the first layer in the family's numbering
  std::uint32_t num_layers = 0;
  std::uint32_t per_stage[max_pipeline_stages] = {};
};

/// `count` groups of one kind. A family with several members has groups of mixed page sizes (UniformTypeKVCacheSpecs).
struct group_family {
  std::uint32_t count = 1;
  std::uint32_t first_member = 0;
  std::uint32_t num_members = 0;
  bool uniform_type = false;         ///< the page of a group is the sum of its layers' pages
  std::uint32_t padding_layers = 0;  ///< positions that no layer fills, over all groups of the family
  std::uint64_t specs = 0;           ///< bit i: layers of kv_cache_groups::specs[i] are in this family
};

struct kv_cache_groups {
  layer_sets specs;
  fixed_vector<group_member, max_layer_classes> members;
  fixed_vector<group_family, max_layer_classes> families;
  std::uint32_t size_quarters = 6;  ///< release_rules::group_size_quarters
  refusal reason = refusal::none;

  [[nodiscard]] constexpr std::uint64_t size() const noexcept {
    std::uint64_t n = 0;
    for (const group_family& f : families) n += f.count;
    return n;
  }
  [[nodiscard]] constexpr const kv_cache_spec& first_spec(const group_family& f) const noexcept {
    return specs[members[f.first_member].spec].spec;
  }
};

/// How many of the positions [begin, end) are j modulo k.
[[nodiscard]] constexpr std::uint64_t positions_of_group(std::uint64_t begin, std::uint64_t end, std::uint64_t j,
                                                         std::uint64_t k) noexcept {
  const auto below = [j, k](std::uint64_t x) { return (x + k - 1 - j) / k; };
  return below(end) - below(begin);
}

/// The layers of group `j` of a family that a member contributes: of one stage, or of the whole model (`stage` past
/// the last).
[[nodiscard]] constexpr std::uint64_t member_layers(const group_member& m, std::uint64_t count, std::uint64_t j,
                                                    std::size_t stage) noexcept {
  std::uint64_t begin = m.offset;
  if (stage >= max_pipeline_stages) return positions_of_group(begin, begin + m.num_layers, j, count);
  for (std::size_t s = 0; s < stage; ++s) begin += m.per_stage[s];
  return positions_of_group(begin, begin + m.per_stage[stage], j, count);
}

[[nodiscard]] constexpr group_member as_member(const layer_set& set, std::size_t index, std::uint32_t offset) {
  group_member m;
  m.spec = static_cast<std::uint32_t>(index);
  m.offset = offset;
  m.num_layers = set.num_layers;
  for (std::size_t s = 0; s < max_pipeline_stages; ++s) m.per_stage[s] = set.per_stage[s];
  return m;
}

/// _get_kv_cache_groups_uniform_spec and _get_kv_cache_groups_uniform_type: all layers in one group.
constexpr void put_all_into_one_group(kv_cache_groups& groups, bool uniform_type) {
  for (std::size_t i = 0; i < groups.specs.size(); ++i) {
    groups.members.push_back(as_member(groups.specs[i], i, 0));
  }
  groups.families.push_back(
      group_family{1, 0, static_cast<std::uint32_t>(groups.specs.size()), uniform_type, 0, ~std::uint64_t{0}});
}

[[nodiscard]] constexpr std::uint32_t div_ceil_u32(std::uint32_t a, std::uint32_t b) noexcept {
  return a / b + (a % b != 0 ? 1U : 0U);
}

}  // namespace kvbudget::detail::vllm
