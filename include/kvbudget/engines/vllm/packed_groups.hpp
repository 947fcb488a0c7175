// Groups of layers with pages of different sizes, side by side in one block (block-outermost layouts).
//
// Source: v1/core/kv_cache_utils.py (_get_packed_kv_cache_groups).
#pragma once

#include <kvbudget/engines/vllm/group_families.hpp>

namespace kvbudget::detail::vllm {

/// _approximate_gcd: the chunk size d in [lowest, max(values)] that wastes least when every value is rounded up to a
/// multiple of d; the larger one of equals.
template <class Values>
[[nodiscard]] constexpr std::uint32_t approximate_gcd(const Values& values, std::uint32_t lowest) {
  std::uint32_t largest = 0;
  for (const std::uint32_t x : values) largest = x > largest ? x : largest;
  std::uint32_t best = lowest;
  std::uint64_t best_padding = ~std::uint64_t{0};
  for (std::uint32_t d = lowest > 1 ? lowest : 1; d <= largest; ++d) {
    std::uint64_t padding = 0;
    for (const std::uint32_t x : values) padding += (d - x % d) % d;
    if (padding <= best_padding) {
      best_padding = padding;
      best = d;
    }
  }
  return best;
}

/// Layers that are uniform in type.
struct type_bucket {
  std::size_t first = 0;         // index of the spec that opened it
  std::size_t first_member = 0;  // members: one for each page size
  std::size_t num_members = 0;
  std::uint32_t most = 0;  // get_max_layers_per_page_size
  std::uint32_t num_layers = 0;
  bool balanced = true;  // equally many layers of each page size: a repeating pattern
  std::uint64_t specs = 0;
};
using type_buckets = fixed_vector<type_bucket, max_layer_classes>;

[[nodiscard]] constexpr type_buckets buckets_of(const layer_sets& specs) {
  type_buckets buckets;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::size_t b = 0;
    while (b < buckets.size() && !is_uniform_type(specs[buckets[b].first].spec, specs[i].spec)) ++b;
    if (b == buckets.size()) {
      buckets.push_back(type_bucket{});
      buckets[b].first = i;
    }
    buckets[b].num_layers += specs[i].num_layers;
    buckets[b].specs |= std::uint64_t{1} << i;
  }
  return buckets;
}

/// The layers of spec `i` into the bucket's member of that page size.
constexpr void add_to_member(kv_cache_groups& groups, std::size_t first_member, std::size_t i) {
  const layer_set& set = groups.specs[i];
  const checked_count page = set.spec.page_size_bytes();
  std::size_t m = first_member;
  while (m < groups.members.size() && groups.specs[groups.members[m].spec].spec.page_size_bytes() != page) ++m;
  if (m == groups.members.size()) {
    groups.members.push_back(as_member(set, i, 0));
    return;
  }
  groups.members[m].num_layers += set.num_layers;
  for (std::size_t s = 0; s < max_pipeline_stages; ++s) groups.members[m].per_stage[s] += set.per_stage[s];
}

constexpr void add_members(kv_cache_groups& groups, type_bucket& bucket) {
  bucket.first_member = groups.members.size();
  for (std::size_t i = 0; i < groups.specs.size(); ++i) {
    if ((bucket.specs >> i & 1U) != 0) add_to_member(groups, bucket.first_member, i);
  }
  bucket.num_members = groups.members.size() - bucket.first_member;
  for (std::size_t m = bucket.first_member; m < groups.members.size(); ++m) {
    const std::uint32_t n = groups.members[m].num_layers;
    bucket.most = n > bucket.most ? n : bucket.most;
    bucket.balanced = bucket.balanced && n == groups.members[bucket.first_member].num_layers;
  }
}

/// How many repeats of its pattern a group takes; 0 where no bucket has a pattern of several page sizes.
[[nodiscard]] constexpr std::uint32_t repeats_per_group(const type_buckets& buckets) {
  std::uint32_t fewest = 0;
  fixed_vector<std::uint32_t, max_layer_classes> repeats;
  for (const type_bucket& b : buckets) {
    if (!b.balanced) continue;
    repeats.push_back(b.most);
    if (b.num_members > 1 && b.most > fewest) fewest = b.most;
  }
  return fewest != 0 ? approximate_gcd(repeats, fewest) : 0;
}

/// How a bucket is split: into groups of so many repeats, or, as states are, until a group fits beside what a block
/// needs anyway.
struct bucket_split {
  std::uint32_t count = 1;
  bool as_states = false;
};
[[nodiscard]] constexpr bucket_split split_of(const layer_sets& specs, const type_bucket& b, std::uint32_t repeats) {
  const kv_cache_spec& spec = specs[b.first].spec;
  return {b.balanced && repeats != 0 ? div_ceil_u32(b.most, repeats) : 1U,
          spec.kind == spec_kind::mamba || (repeats == 0 && spec.is_sliding())};
}

/// The widest group of a bucket in `count` groups.
[[nodiscard]] constexpr checked_count widest_group(const kv_cache_groups& groups, const type_bucket& b,
                                                   std::uint32_t count) {
  checked_count widest = 0U;
  for (std::size_t m = b.first_member; m < b.first_member + b.num_members; ++m) {
    const group_member& member = groups.members[m];
    widest += groups.specs[member.spec].spec.page_size_bytes() * div_ceil_u32(member.num_layers, count);
  }
  return widest;
}

/// _get_packed_kv_cache_groups: layers of mixed page sizes side by side in one block (block-outermost layouts).
///
/// Buckets hold what is uniform in type. A bucket with equally many layers of each page size is a repeating pattern
/// and may be split into groups of the same number of repeats; the others stay whole, except states, which are split
/// until they fit beside what a block needs anyway.
constexpr void get_packed_kv_cache_groups(kv_cache_groups& groups) {
  type_buckets buckets = buckets_of(groups.specs);
  for (type_bucket& b : buckets) add_members(groups, b);
  const std::uint32_t repeats = repeats_per_group(buckets);
  std::uint64_t anchor_bytes = 0;
  for (const type_bucket& b : buckets) {
    const bucket_split split = split_of(groups.specs, b, repeats);
    const std::uint32_t count = split.as_states ? b.num_layers : split.count;
    anchor_bytes = larger(anchor_bytes, widest_group(groups, b, count)).value();
  }
  for (const type_bucket& b : buckets) {
    const bucket_split split = split_of(groups.specs, b, repeats);
    std::uint32_t count = split.count;
    if (split.as_states) {
      const std::uint64_t fitting =
          (checked_count(anchor_bytes) / groups.specs[b.first].spec.page_size_bytes()).value();
      const std::uint64_t states = fitting > 0 ? fitting : 1;
      const std::uint64_t needed = (b.num_layers + states - 1) / states;
      if (needed > count) count = static_cast<std::uint32_t>(needed);
    }
    groups.families.push_back(group_family{count, static_cast<std::uint32_t>(b.first_member),
                                           static_cast<std::uint32_t>(b.num_members), true, 0, b.specs});
  }
}

}  // namespace kvbudget::detail::vllm
