// What sits where: the part of a layer that one rank keeps. Nothing is divided unless a placement says so.
#pragma once

#include <kvbudget/core/layers.hpp>

namespace kvbudget {

/// K/V heads that one of `ranks` tensor-parallel ranks keeps: an equal part; one where the ranks are a whole multiple
/// of the heads, so that several ranks keep the same head. failure::indivisible otherwise.
/// Source: vLLM 0.32 config/model.py:get_num_kv_heads; what does not divide is refused there too.
[[nodiscard]] constexpr checked_count heads_per_rank(std::uint64_t heads, std::uint64_t ranks) noexcept {
  if (ranks == 0) return checked_count::failed(failure::division_by_zero);
  if (heads % ranks == 0) return heads / ranks;
  return ranks % heads == 0 ? checked_count(1U) : checked_count::failed(failure::indivisible);
}

/// Layers with K and V by heads: each rank keeps its heads. Raises failure::indivisible.
template <class Layer>
requires requires(Layer l) {
  l.k.heads;
  l.v.heads;
}
[[nodiscard]] constexpr Layer on_rank(Layer layer, std::uint64_t ranks) {
  layer.k.heads = heads_per_rank(layer.k.heads, ranks).value();
  layer.v.heads = heads_per_rank(layer.v.heads, ranks).value();
  return layer;
}
/// A state is divided into equal parts. Raises failure::indivisible: what a rank would keep twice (the groups of an
/// SSM that has fewer of them than ranks) is the engine's affair.
[[nodiscard]] constexpr recurrent_state on_rank(recurrent_state layer, std::uint64_t ranks) {
  if (ranks == 0) raise_failure(failure::division_by_zero);
  if (layer.elements % ranks != 0) raise_failure(failure::indivisible);
  layer.elements /= ranks;
  return layer;
}
/// All heads read the same latent, index keys, compressed keys or hidden states: every rank keeps them whole.
template <class Layer>
requires(std::same_as<Layer, mla_attention> || std::same_as<Layer, index_keys> ||
         std::same_as<Layer, compressed_keys> || std::same_as<Layer, segment_memory> ||
         std::same_as<Layer, shared_kv> || std::same_as<Layer, no_cache>) [[nodiscard]] constexpr Layer
    on_rank(const Layer& layer, std::uint64_t ranks) {
  if (ranks == 0) raise_failure(failure::division_by_zero);
  return layer;
}
template <class First, class Second>
[[nodiscard]] constexpr layer_pair<First, Second> on_rank(const layer_pair<First, Second>& pair, std::uint64_t ranks) {
  return {on_rank(pair.first, ranks), on_rank(pair.second, ranks)};
}
template <class Layer>
[[nodiscard]] constexpr repeated<Layer> on_rank(const repeated<Layer>& layers, std::uint64_t ranks) {
  return {layers.count, on_rank(layers.layer, ranks)};
}

/// Context parallelism over an inner policy: the positions of a sequence lie in turn on `ranks` ranks, and rank
/// `rank` keeps (n + ranks - 1 - rank) / ranks of n: the first ones one more. A rule for what keeps every position
/// only; states are whole on every rank. Source: vLLM 0.32 admits ceil(n / ranks) on every rank
/// (v1/kv_cache_interface.py, FullAttentionSpec); that the others may hold one less is arithmetic.
template <class Policy>
struct context_parallel {
  Policy inner;
  std::uint64_t ranks = 1;
  std::uint64_t rank = 0;
};

template <class Policy, class Layer>
requires(counts_positions<Policy, Layer> &&
         (std::same_as<Layer, full_attention> || std::same_as<Layer, mla_attention> || std::same_as<Layer, index_keys>))
    [[nodiscard]] constexpr checked_count
    positions(const context_parallel<Policy>& policy, const Layer& layer, const request& r) {
  if (policy.rank >= policy.ranks) return checked_count::failed(failure::no_such_rank);
  const checked_count share = (r.length() + (policy.ranks - 1 - policy.rank)) / policy.ranks;
  if (!share.valid()) return share;
  return positions(policy.inner, layer, request(tokens(share.value()), tokens()));
}

/// Part `index` of `n` things dealt to `parts`: the first ones get one more.
[[nodiscard]] constexpr std::uint64_t equal_part(std::uint64_t n, std::uint64_t parts, std::uint64_t index) noexcept {
  return n / parts + (index < n % parts ? 1U : 0U);
}

}  // namespace kvbudget
