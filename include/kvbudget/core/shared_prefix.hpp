// Sequences that begin with the same positions: what of their cache they hold in common.
#pragma once

#include <kvbudget/core/layers.hpp>

namespace kvbudget {

/// The part of one sequence's cache under `Policy` that it has in common with others of the same first `prefix`
/// positions, when it has its full length. Whole blocks only, and of a window only what lies in the prefix still.
/// States, cross attention and whatever is not kept by position are never shared.
/// Source: automatic prefix caching of vLLM (docs/design/prefix_caching.md): only full blocks are cached.
template <class Policy>
struct prefix_of {
  Policy policy;
  tokens prefix;
};

namespace detail {

/// Blocks are counted from the start of a sequence: those before `prefix` that are whole, without those before `first`.
[[nodiscard]] constexpr checked_count shared_blocks(std::uint64_t first, std::uint64_t prefix,
                                                    std::uint64_t block) noexcept {
  if (block == 0) return checked_count::failed(failure::division_by_zero);
  const std::uint64_t end = prefix / block;
  const std::uint64_t begin = first / block;
  return checked_count(end > begin ? end - begin : 0) * block;
}

[[nodiscard]] constexpr std::uint64_t block_of(const stored_positions&) noexcept { return 1; }
[[nodiscard]] constexpr std::uint64_t block_of(const paged& p) noexcept { return p.block_size.count(); }

template <class Policy>
[[nodiscard]] constexpr checked_count shared_from(const prefix_of<Policy>& p, std::uint64_t first,
                                                  const request& r) noexcept {
  const checked_count length = r.length();
  if (!length.valid()) return length;
  const std::uint64_t prefix = smaller(p.prefix.count(), length).value();
  return shared_blocks(first, prefix, block_of(p.policy));
}

}  // namespace detail

/// Kept from the first position on.
template <class Policy, class Layer>
requires(std::same_as<Layer, full_attention> || std::same_as<Layer, mla_attention> || std::same_as<Layer, index_keys>)
    [[nodiscard]] constexpr checked_count
    positions(const prefix_of<Policy>& p, const Layer&, const request& r) noexcept {
  return detail::shared_from(p, 0, r);
}
/// Kept from the window's start on.
template <class Policy>
[[nodiscard]] constexpr checked_count positions(const prefix_of<Policy>& p, const sliding_window_attention& layer,
                                                const request& r) noexcept {
  const std::uint64_t n = r.length().value_or(0);
  return detail::shared_from(p, n > layer.window.count() ? n - layer.window.count() : 0, r);
}
/// Kept from the chunk's start on.
template <class Policy>
[[nodiscard]] constexpr checked_count positions(const prefix_of<Policy>& p, const chunked_local_attention& layer,
                                                const request& r) noexcept {
  const std::uint64_t n = r.length().value_or(0);
  if (layer.chunk.count() == 0) return checked_count::failed(failure::division_by_zero);
  return detail::shared_from(p, n == 0 ? 0 : (n - 1) / layer.chunk.count() * layer.chunk.count(), r);
}
template <class Policy, class Layer, class Batch>
requires(std::same_as<Layer, cross_attention> || std::same_as<Layer, sink_window_attention> ||
         std::same_as<Layer, ring_buffer_attention> || std::same_as<Layer, reference_window_attention> ||
         std::same_as<Layer, segment_memory> || std::same_as<Layer, compressed_keys>) [[nodiscard]] constexpr footprint
    allocated(const prefix_of<Policy>&, const Layer&, const Batch&) noexcept {
  return {0U, 0U, 0U};
}
template <class Policy, class Batch>
[[nodiscard]] constexpr footprint allocated(const prefix_of<Policy>&, const recurrent_state&, const Batch&) noexcept {
  return {0U, 0U, 0U};
}

/// A uniform batch whose sequences share their first `prefix` positions: their common part is counted once. The layers
/// may be given in any of the forms that total_bytes takes.
template <class Layers, class Policy>
requires cacheable<Layers, Policy> && cacheable<Layers, prefix_of<Policy>>
[[nodiscard]] constexpr checked_count total_with_shared_prefix(const Layers& layers, const Policy& policy,
                                                               const uniform_batch& batch, tokens prefix) {
  if (batch.sequences == 0) return 0U;
  const checked_count common =
      total_footprint(layers, prefix_of<Policy>{policy, prefix}, uniform_batch{batch.each, 1}).total();
  return total_footprint(layers, policy, batch).total() - common * (batch.sequences - 1);
}

}  // namespace kvbudget
