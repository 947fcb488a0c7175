// From layers and a budget in bytes to a pool: what each block and each sequence takes, to the byte.
#pragma once

#include <kvbudget/core/layers.hpp>
#include <kvbudget/ledger/pools.hpp>

namespace kvbudget {

namespace detail {

/// A cache policy that gives one block of positions to the layers with this window, none to those with another. States
/// are kept once under every policy. A layer that is neither has no rule here, and its model no pool.
struct one_block_of_group {
  tokens block_size;
  tokens window;  // 0: those that keep everything
};
[[nodiscard]] constexpr checked_count positions(const one_block_of_group& g, const full_attention&,
                                                const request&) noexcept {
  return g.window.count() == 0 ? g.block_size.count() : 0;
}
[[nodiscard]] constexpr checked_count positions(const one_block_of_group& g, const mla_attention&,
                                                const request&) noexcept {
  return g.window.count() == 0 ? g.block_size.count() : 0;
}
[[nodiscard]] constexpr checked_count positions(const one_block_of_group& g, const index_keys&,
                                                const request&) noexcept {
  return g.window.count() == 0 ? g.block_size.count() : 0;
}
[[nodiscard]] constexpr checked_count positions(const one_block_of_group& g, const sliding_window_attention& layer,
                                                const request&) noexcept {
  return layer.window.count() != 0 && g.window == layer.window ? g.block_size.count() : 0;
}

}  // namespace detail

/// The pool of a paged cache that all layers share, in bytes: full, latent and sliding attention, index keys and
/// recurrent states. At its limit a sequence takes what total_bytes(layers, policy, …) says of it. Raises a failure for
/// a block size of zero, for layers of other kinds, and for more than six different windows.
template <class Layers>
requires cacheable<Layers, detail::one_block_of_group>
[[nodiscard]] constexpr ledger_pool byte_pool(const Layers& layers, const paged& policy, bytes budget) {
  if (policy.block_size.count() == 0) division_by_a_size_of_zero();
  ledger_pool result;
  result.capacity = budget.count();
  const auto bytes_of = [&](tokens window) {
    return total_bytes(layers, detail::one_block_of_group{policy.block_size, window},
                       uniform_batch{request(tokens(1U), tokens()), 1});
  };
  const bytes states = bytes_of(tokens::max());
  std::size_t size = 0;
  const auto add = [&](bytes amount, tokens block_size, tokens window) {
    if (amount.count() == 0) return;
    if (size == max_groups) list_is_longer_than_its_capacity();
    result.groups[size++] = {amount.count(), block_size, window};
  };
  add(states, tokens(), tokens());
  add(bytes_of(tokens()) - states, policy.block_size, tokens());
  detail::layers_of<Layers>::visit(layers, [&](const auto& layer) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(layer)>, sliding_window_attention>) {
      if (layer.window.count() == 0) return;
      for (const cache_group& g : result.groups) {
        if (g.window == layer.window) return;
      }
      add(bytes_of(layer.window) - states, policy.block_size, layer.window);
    }
  });
  return result;
}

}  // namespace kvbudget
