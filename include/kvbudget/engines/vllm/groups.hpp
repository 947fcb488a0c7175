// Which layers share blocks: the groups of a model, their page sizes, and the bytes of one block of the common pool.
//
// Source: v1/core/kv_cache_utils.py. The functions have the names that they have there and can be read one by one.
// Layers with equal specs are handled together, so the work depends on the number of different layers only.
#pragma once

#include <kvbudget/engines/vllm/kv_cache_spec.hpp>

namespace kvbudget::vllm {

/// Layers with equal specs: how many of them each pipeline stage has.
struct layer_set {
  kv_cache_spec spec;
  std::uint64_t origins = 0;  ///< bit i: it holds the layers of used class i (plan.hpp)
  std::uint32_t num_layers = 0;
  std::uint32_t per_stage[max_pipeline_stages] = {};
};
/// In the order in which the layers are registered first.
using layer_sets = fixed_vector<layer_set, max_layer_classes>;

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
};

namespace detail {

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

/// False where there are too many different specs.
constexpr bool add_layers(layer_sets& sets, const layer_set& more) {
  for (layer_set& set : sets) {
    if (!(set.spec == more.spec)) continue;
    set.origins |= more.origins;
    set.num_layers += more.num_layers;
    for (std::size_t s = 0; s < max_pipeline_stages; ++s) set.per_stage[s] += more.per_stage[s];
    return true;
  }
  if (sets.size() == max_layer_classes) return false;
  sets.push_back(more);
  return true;
}

enum class merge_result : std::uint8_t { merged, different, window_conflict };

/// KVCacheSpec.merge and its overrides: `into` takes `other` when they may share one group. Full layers may differ in
/// having a window or a chunk, with one value each.
[[nodiscard]] constexpr merge_result merge(kv_cache_spec& into, const kv_cache_spec& other) noexcept {
  if (into == other) return merge_result::merged;
  if (into.kind != other.kind || !into.is_full()) return merge_result::different;
  const auto united = [](std::uint64_t a, std::uint64_t b) { return a != 0 ? a : b; };
  kv_cache_spec a = into, b = other;
  const bool conflict =
      (a.sliding_window != 0 && b.sliding_window != 0 && a.sliding_window != b.sliding_window) ||
      (a.attention_chunk_size != 0 && b.attention_chunk_size != 0 && a.attention_chunk_size != b.attention_chunk_size);
  a.sliding_window = b.sliding_window = united(a.sliding_window, b.sliding_window);
  a.attention_chunk_size = b.attention_chunk_size = united(a.attention_chunk_size, b.attention_chunk_size);
  if (conflict) return merge_result::window_conflict;
  if (!(a == b) || (a.sliding_window != 0 && a.attention_chunk_size != 0)) return merge_result::different;
  into = a;
  return merge_result::merged;
}

}  // namespace detail

/// is_kv_cache_spec_uniform: all layers merge into one spec. Full layers with two different windows are an error there.
[[nodiscard]] constexpr detail::merge_result is_kv_cache_spec_uniform(const layer_sets& sets) noexcept {
  detail::merge_result result = detail::merge_result::merged;
  if (sets.empty()) return result;
  for (const layer_set& set : sets) {
    if (set.spec.kind != sets[0].spec.kind) return detail::merge_result::different;
  }
  kv_cache_spec all = sets[0].spec;
  for (const layer_set& set : sets) {
    const detail::merge_result one = detail::merge(all, set.spec);
    if (one == detail::merge_result::window_conflict) return one;
    if (one == detail::merge_result::different) result = one;
  }
  return result;
}

/// UniformTypeKVCacheSpecs.is_uniform_type for two specs; the relation is transitive, so one is compared with the
/// first of a bucket.
[[nodiscard]] constexpr bool is_uniform_type(const kv_cache_spec& first, const kv_cache_spec& other) noexcept {
  if (first.block_size != other.block_size || first.dcp_sharded != other.dcp_sharded) return false;
  switch (first.kind) {
    case spec_kind::full_attention:
    case spec_kind::mla_attention: return other.is_full();
    case spec_kind::sliding_window: return other.is_sliding() && first.sliding_window == other.sliding_window;
    case spec_kind::sliding_window_mla:
      return other.kind == spec_kind::sliding_window_mla && first.sliding_window == other.sliding_window;
    case spec_kind::chunked_local_attention:
      return other.kind == first.kind && first.attention_chunk_size == other.attention_chunk_size;
    case spec_kind::cross_attention: return other.kind == first.kind;
    case spec_kind::mamba:
      return other.kind == first.kind && first.num_speculative_blocks == other.num_speculative_blocks &&
             first.num_prefill_checkpoint_blocks == other.num_prefill_checkpoint_blocks &&
             first.page_size_bytes() == other.page_size_bytes();
  }
  return false;
}
[[nodiscard]] constexpr bool is_uniform_type(const layer_sets& sets) noexcept {
  for (const layer_set& set : sets) {
    if (!is_uniform_type(sets[0].spec, set.spec)) return false;
  }
  return true;
}

/// _promote_local_kv_cache_specs: beside full layers, sliding and chunked ones get blocks for all tokens. The page of
/// a promoted layer is recomputed at the full layers' block size.
[[nodiscard]] constexpr refusal promote_local_kv_cache_specs(layer_sets& sets) {
  using detail::merge_result;
  const merge_result before = is_kv_cache_spec_uniform(sets);
  if (before == merge_result::window_conflict) return refusal::several_windows_in_one_group;
  if (before == merge_result::merged || is_uniform_type(sets)) return refusal::none;
  bool has_full = false, has_local = false, one_block_size = true;
  std::uint64_t full_block_size = 0;
  for (const layer_set& set : sets) {
    has_local = has_local || set.spec.is_sliding() || set.spec.kind == spec_kind::chunked_local_attention;
    if (!set.spec.is_full()) continue;
    has_full = true;
    one_block_size = one_block_size && (full_block_size == 0 || full_block_size == set.spec.block_size);
    full_block_size = set.spec.block_size;
  }
  if (has_full && has_local) {
    layer_sets promoted;
    for (const layer_set& set : sets) {
      layer_set next = set;
      kv_cache_spec& spec = next.spec;
      if (spec.kind == spec_kind::sliding_window_mla) return refusal::promoted_compressor;
      if (spec.is_sliding() || spec.kind == spec_kind::chunked_local_attention) {
        if (one_block_size) spec.block_size = full_block_size;
        if (spec.page_size_padded != 0) {
          spec.page_size_padded = larger(spec.page_size_padded, spec.unpadded_page_size_bytes()).value();
        }
        spec.kind = spec_kind::full_attention;
        spec.extra_retained_tokens = 0;
      }
      detail::add_layers(promoted, next);
    }
    sets = promoted;
  }
  const merge_result after = is_kv_cache_spec_uniform(sets);
  if (after == merge_result::window_conflict) return refusal::several_windows_in_one_group;
  return after == merge_result::merged || is_uniform_type(sets) ? refusal::none : refusal::cannot_promote_local_specs;
}

/// unify_hybrid_kv_cache_specs: --disable-hybrid-kv-cache-manager. Caches that decode context parallelism shards and
/// those that it replicates are promoted apart.
[[nodiscard]] constexpr refusal unify_hybrid_kv_cache_specs(layer_sets& sets) {
  layer_sets parts[2];
  for (const layer_set& set : sets) parts[set.spec.is_attention() && !set.spec.dcp_sharded ? 1 : 0].push_back(set);
  for (layer_sets& part : parts) {
    if (part.empty()) continue;
    const refusal reason = promote_local_kv_cache_specs(part);
    if (reason != refusal::none) return reason;
  }
  if (parts[1].empty() || parts[0].empty()) {
    sets = parts[0].empty() ? parts[1] : parts[0];
    return refusal::none;
  }
  sets = parts[0];
  for (const layer_set& set : parts[1]) detail::add_layers(sets, set);
  return refusal::none;
}

/// unify_kv_cache_spec_page_size: all pages grow to the largest. A state is padded; a page that divides the largest
/// gets a larger block; any other is padded, which sparse MLA cannot be.
[[nodiscard]] constexpr refusal unify_kv_cache_spec_page_size(layer_sets& sets) {
  std::uint64_t max_page_size = 0;
  for (const layer_set& set : sets) max_page_size = larger(max_page_size, set.spec.page_size_bytes()).value();
  layer_sets unified;
  for (const layer_set& set : sets) {
    layer_set next = set;
    kv_cache_spec& spec = next.spec;
    const std::uint64_t page = spec.page_size_bytes().value();
    if (page != max_page_size) {
      if (spec.kind == spec_kind::mamba) {
        spec.page_size_padded = max_page_size;
      } else if ((checked_count(max_page_size) % page).value() == 0) {
        spec.block_size = (checked_count(spec.block_size) * (max_page_size / page)).value();
      } else if (spec.kind != spec_kind::mla_attention) {
        spec.page_size_padded = max_page_size;
      } else {
        return refusal::pages_cannot_be_unified;
      }
      if (spec.page_size_bytes() != checked_count(max_page_size)) return refusal::pages_cannot_be_unified;
    }
    detail::add_layers(unified, next);
  }
  sets = unified;
  return refusal::none;
}

namespace detail {

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

}  // namespace detail

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
    while (bucket < merged.size() &&
           detail::merge(merged[bucket], groups.specs[i].spec) != detail::merge_result::merged) {
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
    family.count = detail::div_ceil_u32(layers_of[b], size);
    family.first_member = static_cast<std::uint32_t>(groups.members.size());
    family.padding_layers = family.count * size - layers_of[b];
    std::uint32_t offset = 0;
    for (std::size_t i = 0; i < groups.specs.size(); ++i) {
      if (bucket_of[i] != b) continue;
      groups.members.push_back(detail::as_member(groups.specs[i], i, offset));
      offset += groups.specs[i].num_layers;
      family.specs |= std::uint64_t{1} << i;
      ++family.num_members;
    }
    groups.families.push_back(family);
  }
}

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

/// _get_packed_kv_cache_groups: layers of mixed page sizes side by side in one block (block-outermost layouts).
///
/// Buckets hold what is uniform in type. A bucket with equally many layers of each page size is a repeating pattern
/// and may be split into groups of the same number of repeats; the others stay whole, except states, which are split
/// until they fit beside what a block needs anyway.
constexpr void get_packed_kv_cache_groups(kv_cache_groups& groups) {
  struct bucket {
    std::size_t first = 0;         // index of the spec that opened it
    std::size_t first_member = 0;  // members: one for each page size
    std::size_t num_members = 0;
    std::uint32_t most = 0;  // get_max_layers_per_page_size
    std::uint32_t num_layers = 0;
    bool balanced = true;
    std::uint64_t specs = 0;
  };
  fixed_vector<bucket, max_layer_classes> buckets;
  std::size_t bucket_of[max_layer_classes] = {};
  const layer_sets& specs = groups.specs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::size_t b = 0;
    while (b < buckets.size() && !is_uniform_type(specs[buckets[b].first].spec, specs[i].spec)) ++b;
    if (b == buckets.size()) {
      buckets.push_back(bucket{});
      buckets[b].first = i;
    }
    bucket_of[i] = b;
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    bucket& now = buckets[b];
    now.first_member = groups.members.size();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (bucket_of[i] != b) continue;
      now.num_layers += specs[i].num_layers;
      now.specs |= std::uint64_t{1} << i;
      std::size_t m = now.first_member;
      while (m < groups.members.size() &&
             specs[groups.members[m].spec].spec.page_size_bytes() != specs[i].spec.page_size_bytes()) {
        ++m;
      }
      if (m == groups.members.size()) {
        groups.members.push_back(detail::as_member(specs[i], i, 0));
      } else {
        groups.members[m].num_layers += specs[i].num_layers;
        for (std::size_t s = 0; s < max_pipeline_stages; ++s) groups.members[m].per_stage[s] += specs[i].per_stage[s];
      }
    }
    now.num_members = groups.members.size() - now.first_member;
    for (std::size_t m = now.first_member; m < groups.members.size(); ++m) {
      const std::uint32_t n = groups.members[m].num_layers;
      now.most = n > now.most ? n : now.most;
      now.balanced = now.balanced && n == groups.members[now.first_member].num_layers;
    }
  }
  std::uint32_t min_repeats = 0;
  fixed_vector<std::uint32_t, max_layer_classes> repeats;
  for (const bucket& b : buckets) {
    if (!b.balanced) continue;
    repeats.push_back(b.most);
    if (b.num_members > 1 && b.most > min_repeats) min_repeats = b.most;
  }
  const std::uint32_t repeats_per_group = min_repeats != 0 ? approximate_gcd(repeats, min_repeats) : 0;
  const auto num_groups_for = [&](const bucket& b) {
    return b.balanced && repeats_per_group != 0 ? detail::div_ceil_u32(b.most, repeats_per_group) : 1U;
  };
  const auto is_state_bucket = [&](const bucket& b) {
    const kv_cache_spec& spec = specs[b.first].spec;
    return spec.kind == spec_kind::mamba || (repeats_per_group == 0 && spec.is_sliding());
  };
  std::uint64_t anchor_bytes = 0;
  for (const bucket& b : buckets) {
    const std::uint32_t n = is_state_bucket(b) ? b.num_layers : num_groups_for(b);
    checked_count widest = 0U;
    for (std::size_t m = b.first_member; m < b.first_member + b.num_members; ++m) {
      widest +=
          specs[groups.members[m].spec].spec.page_size_bytes() * detail::div_ceil_u32(groups.members[m].num_layers, n);
    }
    anchor_bytes = larger(anchor_bytes, widest).value();
  }
  for (const bucket& b : buckets) {
    std::uint32_t count = num_groups_for(b);
    if (is_state_bucket(b)) {
      const std::uint64_t fitting = (checked_count(anchor_bytes) / specs[b.first].spec.page_size_bytes()).value();
      const std::uint64_t states = fitting > 0 ? fitting : 1;
      const std::uint64_t needed = (b.num_layers + states - 1) / states;
      if (needed > count) count = static_cast<std::uint32_t>(needed);
    }
    groups.families.push_back(group_family{count, static_cast<std::uint32_t>(b.first_member),
                                           static_cast<std::uint32_t>(b.num_members), true, 0, b.specs});
  }
}

namespace detail {

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

  bool one_page_size = true;
  for (const layer_set& set : groups.specs) {
    one_page_size = one_page_size && set.spec.page_size_bytes() == groups.specs[0].spec.page_size_bytes();
  }
  if (is_block_outermost(layout) && !one_page_size) {
    get_packed_kv_cache_groups(groups);
    return;
  }
  groups.reason = unify_kv_cache_spec_page_size(groups.specs);
  if (groups.reason == refusal::none) {
    get_kv_cache_groups_uniform_page_size(groups);
    return;
  }

  // _try_get_full_allocation_fallback_groups: MLA beside an ordinary sliding window gives full blocks to both.
  bool has_mla = false, has_window = false;
  for (const layer_set& set : groups.specs) {
    const spec_kind kind = set.spec.kind;
    if (kind == spec_kind::sliding_window_mla || kind == spec_kind::chunked_local_attention) return;
    has_mla = has_mla || kind == spec_kind::mla_attention;
    has_window = has_window || kind == spec_kind::sliding_window;
  }
  if (!has_mla || !has_window || promote_local_kv_cache_specs(groups.specs) != refusal::none ||
      !is_uniform_type(groups.specs)) {
    return;
  }
  groups.reason = refusal::none;
  put_all_into_one_group(groups, true);
}

}  // namespace detail

/// get_kv_cache_groups: the whole decision, on all layers of the model. `sets` are the specs of the layers in the
/// order of registration, stage after stage.
[[nodiscard]] constexpr kv_cache_groups get_kv_cache_groups(const layer_sets& sets, kv_cache_layout layout,
                                                            bool disable_hybrid_kv_cache_manager) {
  kv_cache_groups groups;
  groups.specs = sets;
  detail::form_groups(groups, layout, disable_hybrid_kv_cache_manager);
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
    const std::uint64_t n = detail::member_layers(member, family.count, j, stage);
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
               detail::member_layers(member, family.count, j, stage);
      }
      widest = larger(widest, sum);
    }
  }
  if (!block_outermost) return widest.value();
  checked_count alignment = 1U;
  for (const layer_set& set : groups.specs) {
    if (stage < max_pipeline_stages && set.per_stage[stage] == 0) continue;
    const std::uint64_t one = set.spec.block_stride_alignment().value();
    std::uint64_t a = alignment.value(), b = one;
    while (b != 0) {
      const std::uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    alignment = alignment / a * one;
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

}  // namespace kvbudget::vllm
