// Which layers have specs that one group can take: layers with equal specs, merged, promoted, with pages of one size.
//
// Source: v1/core/kv_cache_utils.py. The functions have the names that they have there and can be read one by one.
// Layers with equal specs are handled together, so the work depends on the number of different layers only.
#pragma once

#include <kvbudget/engines/vllm/kv_cache_spec.hpp>

namespace kvbudget::detail::vllm {

/// Layers with equal specs: how many of them each pipeline stage has.
struct layer_set {
  kv_cache_spec spec;
  std::uint64_t origins = 0;  ///< bit i: it holds the layers of used class i (plan.hpp)
  std::uint32_t num_layers = 0;
  std::uint32_t per_stage[max_pipeline_stages] = {};
};
/// In the order in which the layers are registered first.
using layer_sets = fixed_vector<layer_set, max_layer_classes>;

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

/// is_kv_cache_spec_uniform: all layers merge into one spec. Full layers with two different windows are an error there.
[[nodiscard]] constexpr merge_result is_kv_cache_spec_uniform(const layer_sets& sets) noexcept {
  merge_result result = merge_result::merged;
  if (sets.empty()) return result;
  for (const layer_set& set : sets) {
    if (set.spec.kind != sets[0].spec.kind) return merge_result::different;
  }
  kv_cache_spec all = sets[0].spec;
  for (const layer_set& set : sets) {
    const merge_result one = merge(all, set.spec);
    if (one == merge_result::window_conflict) return one;
    if (one == merge_result::different) result = one;
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

[[nodiscard]] constexpr bool is_local(const kv_cache_spec& spec) noexcept {
  return spec.is_sliding() || spec.kind == spec_kind::chunked_local_attention;
}

/// The block size that all full layers have; 0 where they differ. Nothing where no layer is full, or none is local.
[[nodiscard]] constexpr std::optional<std::uint64_t> block_size_to_promote_to(const layer_sets& sets) noexcept {
  bool has_full = false, has_local = false, one_size = true;
  std::uint64_t size = 0;
  for (const layer_set& set : sets) {
    has_local = has_local || is_local(set.spec);
    if (!set.spec.is_full()) continue;
    one_size = one_size && (!has_full || size == set.spec.block_size);
    has_full = true;
    size = set.spec.block_size;
  }
  if (!has_full || !has_local) return std::nullopt;
  return one_size ? size : 0;
}

/// Blocks for all tokens, where the layer kept a window or a chunk.
constexpr void promote(kv_cache_spec& spec, std::uint64_t block_size) {
  if (block_size != 0) spec.block_size = block_size;
  if (spec.page_size_padded != 0) {
    spec.page_size_padded = larger(spec.page_size_padded, spec.unpadded_page_size_bytes()).value();
  }
  spec.kind = spec_kind::full_attention;
  spec.extra_retained_tokens = 0;
}

/// _promote_local_kv_cache_specs: beside full layers, sliding and chunked ones get blocks for all tokens. The page of
/// a promoted layer is recomputed at the full layers' block size.
[[nodiscard]] constexpr refusal promote_local_kv_cache_specs(layer_sets& sets) {
  const merge_result before = is_kv_cache_spec_uniform(sets);
  if (before == merge_result::window_conflict) return refusal::several_windows_in_one_group;
  if (before == merge_result::merged || is_uniform_type(sets)) return refusal::none;
  if (const auto block_size = block_size_to_promote_to(sets)) {
    layer_sets promoted;
    for (const layer_set& set : sets) {
      if (set.spec.kind == spec_kind::sliding_window_mla) return refusal::promoted_compressor;
      layer_set next = set;
      if (is_local(next.spec)) promote(next.spec, *block_size);
      add_layers(promoted, next);
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
  for (const layer_set& set : parts[1]) add_layers(sets, set);
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
    add_layers(unified, next);
  }
  sets = unified;
  return refusal::none;
}

}  // namespace kvbudget::detail::vllm
