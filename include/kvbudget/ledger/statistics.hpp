// What a ledger says about itself: why it refuses, how full it is.
#pragma once

#include <array>
#include <cstddef>
#include <kvbudget/core/print.hpp>

namespace kvbudget {

/// Why a request is not admitted, or a lease does not grow.
enum class rejection : std::uint8_t {
  none,
  no_room,       ///< not now: too few units are free
  never_fits,    ///< not even in an empty ledger, the watermark left alone
  others_wait,   ///< requests are waiting; those who do not wait do not overtake them
  beyond_limit,  ///< a lease does not grow beyond prompt + generation of its request
  wrong_length,  ///< a prompt shorter than its prefix, a prefix of another ledger, a lease cut into what it shares
  deadline,      ///< the time to wait is over
  cancelled,     ///< the wait was cancelled
  released       ///< a lease or prefix that was given back or moved from is of no use
};
inline constexpr std::size_t rejections = 9;
inline constexpr const char* rejection_names[rejections] = {"none",        "no_room",      "never_fits",
                                                            "others_wait", "beyond_limit", "wrong_length",
                                                            "deadline",    "cancelled",    "released"};

[[nodiscard]] constexpr short_text text_of(const rejection& why) noexcept {
  return rejection_names[static_cast<std::size_t>(why)];
}

/// One pool at one moment.
struct pool_snapshot {
  const char* name = "";
  bytes unit_bytes;
  std::uint64_t capacity = 0;    ///< units
  std::uint64_t reserved = 0;    ///< units that leases and shared prefixes have
  std::uint64_t resident = 0;    ///< of these, units with a position in them
  std::uint64_t high_water = 0;  ///< the most units ever taken, credit of threads and failed attempts included
  bytes stored;                  ///< bytes of the resident units that hold positions which are still attended to

  [[nodiscard]] constexpr bytes reserved_bytes() const { return unit_bytes * reserved; }
  [[nodiscard]] constexpr bytes resident_bytes() const { return unit_bytes * resident; }
  /// Reserved but not stored.
  [[nodiscard]] constexpr bytes wasted() const { return reserved_bytes() - stored; }
  /// The share of the reserved bytes that stores nothing.
  [[nodiscard]] constexpr double fragmentation() const {
    return reserved == 0 ? 0.0 : static_cast<double>(wasted().count()) / static_cast<double>(reserved_bytes().count());
  }

  friend constexpr bool operator==(const pool_snapshot&, const pool_snapshot&) = default;
};

[[nodiscard]] constexpr short_text text_of(const pool_snapshot& p) noexcept {
  return short_text(p.name) << ": " << p.reserved << " of " << p.capacity << " units of " << text_of(p.unit_bytes)
                            << " reserved";
}

/// All pools at one moment. Exact while nothing moves and all leases have published their length; while something
/// moves the numbers are of several moments of the call; none exceeds the budget.
template <std::size_t Pools>
struct ledger_snapshot {
  std::array<pool_snapshot, Pools> pools{};
  std::uint64_t sequences = 0;                       ///< leases that are out
  std::uint64_t shared_runs = 0;                     ///< runs of shared blocks: prefixes, and what forks have in common
  std::uint64_t waiting = 0;                         ///< requests in the queue
  std::uint64_t admitted = 0;                        ///< since the start; forks are counted too
  std::uint64_t stalled = 0;                         ///< times that a lease found no room to grow or to fork
  std::array<std::uint64_t, rejections> rejected{};  ///< requests by reason, since the start

  friend constexpr bool operator==(const ledger_snapshot&, const ledger_snapshot&) = default;
};

/// One pool as the ledger computes it and as the engine reports it, in units.
struct reconciliation {
  std::uint64_t computed = 0;
  std::uint64_t observed = 0;

  [[nodiscard]] constexpr bool agrees() const noexcept { return computed == observed; }
  /// What the engine has taken and the ledger does not know of: a leak there, or layers that the pool's groups miss.
  [[nodiscard]] constexpr std::uint64_t unaccounted() const noexcept {
    return observed > computed ? observed - computed : 0;
  }
  /// What the ledger holds and the engine does not: leases kept too long, or blocks that the engine shares.
  [[nodiscard]] constexpr std::uint64_t unused() const noexcept {
    return computed > observed ? computed - observed : 0;
  }
};

/// `observed` units in use, as the engine counts them.
[[nodiscard]] constexpr reconciliation reconcile(const pool_snapshot& pool, std::uint64_t observed) noexcept {
  return {pool.reserved, observed};
}
/// A share in use, as vLLM reports it (vllm:kv_cache_usage_perc, 0 to 1), in the nearest number of units.
[[nodiscard]] constexpr reconciliation reconcile_usage(const pool_snapshot& pool, double usage) noexcept {
  if (!(usage > 0)) return {pool.reserved, 0};
  const double units = (usage < 1 ? usage : 1) * static_cast<double>(pool.capacity) + 0.5;
  const std::uint64_t observed = units < 0x1p63 ? static_cast<std::uint64_t>(units) : pool.capacity;
  return {pool.reserved, observed < pool.capacity ? observed : pool.capacity};
}

}  // namespace kvbudget
