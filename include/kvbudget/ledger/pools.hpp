// What a ledger counts: pools of equal units, and the groups of layers that take units as a sequence grows.
#pragma once

#include <cstddef>
#include <kvbudget/core/budget.hpp>
#include <kvbudget/core/pool.hpp>
#include <optional>

namespace kvbudget {

/// Layers that are given blocks together (a KV cache group of vLLM, a cache of llama.cpp).
struct cache_group {
  std::uint64_t units = 0;  ///< units of the pool for every block of `block_size` positions; 0: this group is not used
  tokens block_size{};      ///< 0: `units` for every sequence, whatever its length (recurrent states)
  /// Positions that stay, the newest included; 0: all. Blocks that lie wholly before them are given back. An engine
  /// that computes several positions at once keeps them all meanwhile: add their number less one.
  tokens window{};
};

inline constexpr std::size_t max_groups = 8;

/// A pool of equal units that sequences draw on. A budget in bytes is a pool of `unit_bytes` 1 whose groups take as
/// many units as a block has bytes.
struct ledger_pool {
  const char* name = "kv_cache";
  std::uint64_t capacity = 0;  ///< in units
  bytes unit_bytes{1U};
  cache_group groups[max_groups] = {};
  /// Units that each thread may keep at hand of what it has given back, for what it admits next. Unset: capacity /
  /// 1024.
  std::optional<std::uint64_t> credit{};
};

/// The pool of a plan as one that is drawn on; the null block of vLLM must be left out of its units.
template <class... Groups>
[[nodiscard]] constexpr ledger_pool drawn_on(const pool& p, const Groups&... groups) {
  static_assert(sizeof...(Groups) <= max_groups);
  return {p.name, p.units, p.unit_bytes, {groups...}, {}};
}

namespace detail {

[[nodiscard]] constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > ~std::uint64_t{0} - b ? ~std::uint64_t{0} : a + b;
}

/// A group that grows. In all of these `n` positions are stored, `longest` is the most that ever were (what a window
/// has left behind does not come back), and the whole blocks of the first `shared` positions are counted elsewhere.
struct growing_group {
  std::uint64_t units = 0;
  std::uint64_t block = 1;
  std::uint64_t window = 0;
  std::uint64_t slots = 0;  // what one position fills, see pool_rule::slots_per_unit
  unsigned shift = 0;       // of a block that is a power of two
  bool power_of_two = false;

  [[nodiscard]] constexpr std::uint64_t whole_blocks(std::uint64_t n) const noexcept {
    return power_of_two ? n >> shift : n / block;
  }
  [[nodiscard]] constexpr std::uint64_t rest(std::uint64_t n) const noexcept { return n - whole_blocks(n) * block; }
  [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t n) const noexcept {
    return whole_blocks(n) + (rest(n) != 0 ? 1U : 0U);
  }
  [[nodiscard]] constexpr std::uint64_t left(std::uint64_t longest) const noexcept {
    return window != 0 && longest > window ? longest - window : 0;
  }
  /// The first block that is the sequence's own and still held.
  [[nodiscard]] constexpr std::uint64_t first_block(std::uint64_t longest, std::uint64_t shared) const noexcept {
    const std::uint64_t own = whole_blocks(shared);
    const std::uint64_t kept = whole_blocks(left(longest));
    return own > kept ? own : kept;
  }
  [[nodiscard]] constexpr std::uint64_t held(std::uint64_t n, std::uint64_t longest,
                                             std::uint64_t shared) const noexcept {
    const std::uint64_t first = first_block(longest, shared), end = blocks(n);
    return end > first ? (end - first) * units : 0;
  }
  /// The most of it on the way to `limit`: cache.hpp's rule for a window under `paged`.
  [[nodiscard]] constexpr std::uint64_t reserved(std::uint64_t limit, std::uint64_t shared) const noexcept {
    const std::uint64_t grown = blocks(limit) - whole_blocks(shared);
    if (window == 0) return grown * units;
    const std::uint64_t peak = blocks(window - 1) + 1;
    return (grown < peak ? grown : peak) * units;
  }
  /// Slots of the positions from block `first` on, up to `end`, that are still attended to when there are `n`.
  [[nodiscard]] constexpr std::uint64_t filled(std::uint64_t first, std::uint64_t end, std::uint64_t n) const noexcept {
    const std::uint64_t held_from = first * block, attended_from = left(n);
    const std::uint64_t from = held_from > attended_from ? held_from : attended_from;
    return end > from ? (end - from) * slots : 0;
  }
  /// The most positions, from `n` on, for which the blocks are those of `n`.
  [[nodiscard]] constexpr std::uint64_t quiet_until(std::uint64_t n, std::uint64_t longest) const noexcept {
    const std::uint64_t used = rest(n);
    const std::uint64_t full = used == 0 ? n : saturating_sum(n, block - used);
    if (window == 0) return full;
    const std::uint64_t next = block - rest(left(longest));
    const std::uint64_t leaving = saturating_sum(longest > window ? longest : window, next - 1);
    return full < leaving ? full : leaving;
  }
};

/// A pool as the ledger computes with it.
struct pool_rule {
  // The usual pool, with at most one group that grows, in blocks of a power of two, all of which stay.
  bool plain = false;
  unsigned shift = 0;
  std::uint64_t mask = 0;  // block - 1
  std::uint64_t units = 0;
  std::uint64_t fixed = 0;  // units of every sequence
  std::uint64_t capacity = 0;
  std::uint64_t slots_per_unit = 1;
  std::uint64_t slots_per_position = 0;
  bytes unit_bytes;
  const char* name = "";
  std::uint64_t credit = 0;
  std::size_t size = 0;
  growing_group groups[max_groups] = {};

  constexpr pool_rule() noexcept = default;
  /// Raises an overflow where capacity x bytes, or x positions, needs more than 64 bits, and a failure where no group
  /// takes units, so that the pool would admit for ever.
  constexpr explicit pool_rule(const ledger_pool& p)
      : capacity(p.capacity), unit_bytes(p.unit_bytes), name(p.name), credit(p.credit.value_or(p.capacity / 1024)) {
    checked_count common = 1U;  // the least common multiple of the block sizes
    for (const cache_group& g : p.groups) {
      if (g.units != 0 && g.block_size.count() != 0) {
        std::uint64_t a = common.value(), b = g.block_size.count();
        while (b != 0) {
          const std::uint64_t remainder = a % b;
          a = b;
          b = remainder;
        }
        common = common / a * g.block_size.count();
      }
    }
    slots_per_unit = common.value();
    (void)(checked_count(capacity) * slots_per_unit).value();
    (void)(unit_bytes * capacity);
    checked_count of_every_sequence = 0U;
    for (const cache_group& g : p.groups) {
      if (g.units == 0) continue;
      if (g.block_size.count() == 0) {
        of_every_sequence += g.units;
        continue;
      }
      growing_group& to = groups[size++];
      to.units = g.units;
      to.block = g.block_size.count();
      to.window = g.window.count();
      to.slots = (common / to.block * to.units).value();
      to.power_of_two = (to.block & (to.block - 1)) == 0;
      while (to.power_of_two && std::uint64_t{1} << to.shift != to.block) ++to.shift;
      slots_per_position += to.slots;
    }
    fixed = of_every_sequence.value();
    if (size == 0 && fixed == 0) pool_has_no_group_that_takes_units();
    plain = size == 0 || (size == 1 && groups[0].power_of_two && groups[0].window == 0);
    if (plain && size == 1) {
      shift = groups[0].shift;
      mask = groups[0].block - 1;
      units = groups[0].units;
    }
  }

  /// Units that `n` positions of one sequence can need at most, without any shared.
  [[nodiscard]] constexpr checked_count peak(std::uint64_t n) const noexcept {
    checked_count sum = fixed;
    for (std::size_t i = 0; i < size; ++i) {
      const growing_group& g = groups[i];
      checked_count most = g.blocks(n);
      if (g.window != 0) most = smaller(most, checked_count(g.blocks(g.window - 1)) + 1U);
      sum += most * g.units;
    }
    return sum;
  }
  [[nodiscard]] constexpr std::uint64_t held(std::uint64_t n, std::uint64_t longest,
                                             std::uint64_t shared) const noexcept {
    if (plain && shared == 0) return plain_units(n);
    std::uint64_t sum = fixed;
    for (std::size_t i = 0; i < size; ++i) sum += groups[i].held(n, longest, shared);
    return sum;
  }
  [[nodiscard]] constexpr std::uint64_t reserved(std::uint64_t limit, std::uint64_t shared) const noexcept {
    if (plain && shared == 0) return plain_units(limit);
    std::uint64_t sum = fixed;
    for (std::size_t i = 0; i < size; ++i) sum += groups[i].reserved(limit, shared);
    return sum;
  }
  /// Of the slots that `n` positions would fill, those that are not the sequence's own or are no longer attended to.
  [[nodiscard]] constexpr std::uint64_t unfilled(std::uint64_t n, std::uint64_t longest,
                                                 std::uint64_t shared) const noexcept {
    std::uint64_t sum = n * slots_per_position;
    for (std::size_t i = 0; i < size; ++i) sum -= groups[i].filled(groups[i].first_block(longest, shared), n, n);
    return sum;
  }
  /// Whole blocks of the positions [shared, end) of a sequence, of the groups with a window or of those without.
  [[nodiscard]] constexpr std::uint64_t run_units(bool windows, std::uint64_t end, std::uint64_t longest,
                                                  std::uint64_t shared) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const growing_group& g = groups[i];
      const std::uint64_t first = g.first_block(longest, shared), last = g.whole_blocks(end);
      if ((g.window != 0) == windows && last > first) sum += (last - first) * g.units;
    }
    return sum;
  }
  [[nodiscard]] constexpr std::uint64_t run_filled(bool windows, std::uint64_t end, std::uint64_t longest,
                                                   std::uint64_t shared) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const growing_group& g = groups[i];
      if ((g.window != 0) == windows) sum += g.filled(g.first_block(longest, shared), end - g.rest(end), end);
    }
    return sum;
  }
  [[nodiscard]] constexpr std::uint64_t quiet_until(std::uint64_t n, std::uint64_t longest) const noexcept {
    if (plain) return size == 0 ? ~std::uint64_t{0} : (n + mask) & ~mask;
    std::uint64_t most = ~std::uint64_t{0};
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t quiet = groups[i].quiet_until(n, longest);
      most = quiet < most ? quiet : most;
    }
    return most;
  }
  [[nodiscard]] constexpr std::uint64_t largest_window() const noexcept {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < size; ++i) most = groups[i].window > most ? groups[i].window : most;
    return most;
  }
  [[nodiscard]] constexpr std::uint64_t plain_units(std::uint64_t n) const noexcept {
    return fixed + ((n + mask) >> shift) * units;
  }
  /// Slots in bytes, rounded down.
  [[nodiscard]] constexpr std::uint64_t bytes_of_slots(std::uint64_t slots) const noexcept {
    return slots / slots_per_unit * unit_bytes.count() +
           (checked_count(slots % slots_per_unit) * unit_bytes.count() / slots_per_unit).value_or(0);
  }
};

}  // namespace detail

}  // namespace kvbudget
