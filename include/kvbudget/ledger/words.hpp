// The words that decide: what is free of each pool, and what threads keep at hand of it.
//
// A unit is always in exactly one place: free, in one thread's credit, or taken. It moves by a compare-exchange that
// takes it away before anything adds it elsewhere, so that no interleaving takes more than there is. All of these have
// sequentially consistent order: waiting.hpp needs it, and on x86-64 it costs nothing.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <kvbudget/ledger/pools.hpp>
#include <kvbudget/ledger/statistics.hpp>
#include <mutex>

namespace kvbudget {

namespace detail {
/// The tests count the units in the words themselves; defined there.
template <class Books>
struct inspection;

/// The shard that the thread found last. Its address differs between threads that live at the same time.
inline thread_local std::uint32_t thread_home = 0;
}  // namespace detail

/// What a ledger is synchronised with. A test brings its own, to run every interleaving of the same code.
struct standard_threading {
  template <class T>
  using word = std::atomic<T>;  ///< what decides
  template <class T>
  using mark = std::atomic<T>;  ///< what only counts, and whose a shard is
  using mutex = std::mutex;
  using condition = std::condition_variable;
  /// Threads that have statistics and credit of their own. Further ones, and those that come after so many have been,
  /// share one shard without credit.
  static constexpr std::size_t shards = 16;
  /// Not zero, and different for threads that live at the same time.
  static std::uintptr_t this_thread() noexcept { return reinterpret_cast<std::uintptr_t>(&detail::thread_home); }
  /// Below `shards`: where this thread looks for its shard first.
  static std::uint32_t& home() noexcept { return detail::thread_home; }
};

namespace detail {

/// One thread's statistics and credit; a thread that ends leaves them to the next one with the same address. Only the
/// owner writes the counters, so that a plain store does. The last shard belongs to all threads that found none of
/// their own, and has no credit.
template <std::size_t Pools, class Threading>
struct alignas(64) shard {
  using counter = typename Threading::template mark<std::uint64_t>;

  typename Threading::template mark<std::uintptr_t> owner{0};  // all threads without a shard read it
  alignas(64) typename Threading::template word<std::uint64_t> credit[Pools]{};
  // Differences: what one thread adds another may take away. Their sums over all shards are right.
  counter admitted{0};
  counter ended{0};
  counter positions{0};       // of leases, those of shared runs included
  counter unfilled[Pools]{};  // slots that these positions do not fill
  counter resident[Pools]{};  // where that is not what is taken
  counter runs{0};
  counter stalled{0};
  counter rejected[rejections]{};
};

/// The calling thread's shard, for the time of one call.
template <std::size_t Pools, class Threading>
struct place {
  shard<Pools, Threading>* at;
  bool own;

  [[gnu::always_inline]] void add(typename shard<Pools, Threading>::counter& counter,
                                  std::uint64_t difference) const noexcept {
    if (own) counter.store(counter.load(std::memory_order_relaxed) + difference, std::memory_order_relaxed);
    else counter.fetch_add(difference, std::memory_order_relaxed);
  }
};

template <std::size_t Pools, class Threading>
class unit_words {
 public:
  using units = std::array<std::uint64_t, Pools>;
  using place_type = place<Pools, Threading>;

  explicit unit_words(const std::array<pool_rule, Pools>& pools) noexcept {
    for (std::size_t p = 0; p < Pools; ++p) {
      pools_[p].capacity = pools[p].capacity;
      pools_[p].credit = pools[p].credit;
      pools_[p].free.store(pools[p].capacity);
    }
  }

  [[nodiscard, gnu::noinline]] place_type here() noexcept {
    const std::uintptr_t me = Threading::this_thread();
    std::uint32_t& home = Threading::home();
    bool unclaimed = false;
    for (const bool claims : {false, true}) {  // first the one that the thread has, wherever it is
      for (std::size_t i = 0; i < Threading::shards; ++i) {
        const std::size_t at = (home + i) % Threading::shards;
        auto& s = shards_[at];
        std::uintptr_t owner = s.owner.load();
        unclaimed = unclaimed || owner == 0;
        if (owner == me || (claims && owner == 0 && s.owner.compare_exchange_strong(owner, me))) {
          home = static_cast<std::uint32_t>(at);
          return {&s, true};
        }
      }
      if (!unclaimed) break;
    }
    return {&shards_[Threading::shards], false};
  }
  /// The calling thread's shard if it is the first one looked at, else null.
  [[nodiscard, gnu::always_inline]] shard<Pools, Threading>* at_home() noexcept {
    auto& s = shards_[Threading::home()];
    return s.owner.load(std::memory_order_relaxed) == Threading::this_thread() ? &s : nullptr;
  }

  /// The way of most calls: all from the own credit. False where that does not do; what was taken is back then.
  [[nodiscard, gnu::always_inline]] bool take_credit(shard<Pools, Threading>& own, const units& n,
                                                     const units& floor) noexcept {
    for (std::size_t p = 0; p < Pools; ++p) {
      std::uint64_t c = own.credit[p].load();
      if (c >= n[p] && pools_[p].free.load() >= floor[p] && own.credit[p].compare_exchange_strong(c, c - n[p]))
        continue;
      while (p-- != 0) own.credit[p].fetch_add(n[p]);
      return false;
    }
    return true;
  }

  /// `n` units of a pool, if at least `floor` stay free. When this fails, `n` units were not free together in the words
  /// as they were read one after the other; what other calls were moving meanwhile may have been missed.
  [[nodiscard]] bool take(const place_type& here, std::size_t p, std::uint64_t n, std::uint64_t floor,
                          bool& moved) noexcept {
    if (n == 0) return true;
    if (here.own && pools_[p].credit != 0) {
      auto& credit = here.at->credit[p];
      std::uint64_t c = credit.load();
      if (c >= n && (floor == 0 || pools_[p].free.load() >= floor) && credit.compare_exchange_strong(c, c - n))
        return true;
    }
    if (take_free(p, n, floor)) return true;
    if (!gather(p)) return false;
    moved = true;
    return take_free(p, n, floor);
  }

  /// Of all pools or of none.
  [[nodiscard, gnu::noinline]] bool take(const place_type& here, const units& n, const units& floor,
                                         bool& moved) noexcept {
    for (std::size_t p = 0; p < Pools; ++p) {
      if (take(here, p, n[p], floor[p], moved)) continue;
      moved = moved || p != 0;
      while (p-- != 0) give(here, p, n[p]);
      return false;
    }
    return true;
  }

  [[gnu::always_inline]] void give(const place_type& here, std::size_t p, std::uint64_t n) noexcept {
    if (n == 0) return;
    // Only the owner adds to its credit, so that it is never more than the most and does not grow after the look.
    if (here.own && n <= pools_[p].credit - here.at->credit[p].load()) [[likely]] {
      here.at->credit[p].fetch_add(n);
    } else {
      pools_[p].free.fetch_add(n);
    }
  }
  [[gnu::always_inline]] void give(const place_type& here, const units& n) noexcept {
    for (std::size_t p = 0; p < Pools; ++p) give(here, p, n[p]);
  }

  /// Units that are taken: never more than the capacity, whatever moves meanwhile.
  [[nodiscard]] std::uint64_t taken(std::size_t p) const noexcept {
    std::uint64_t free = pools_[p].free.load();
    for (const auto& s : shards_) free = saturating_sum(free, s.credit[p].load());
    return free > pools_[p].capacity ? 0 : pools_[p].capacity - free;
  }
  [[nodiscard]] std::uint64_t high_water(std::size_t p) const noexcept { return pools_[p].high_water.load(); }

  /// The sum of a counter over all threads, modulo 2^64.
  template <class Counter>
  [[nodiscard]] std::uint64_t sum(const Counter& counter_of) const noexcept {
    std::uint64_t total = 0;
    for (const auto& s : shards_) total += counter_of(s).load(std::memory_order_relaxed);
    return total;
  }

 private:
  template <class>
  friend struct inspection;
  struct alignas(64) pool_words {
    typename Threading::template word<std::uint64_t> free{0};
    typename Threading::template mark<std::uint64_t> high_water{0};
    std::uint64_t capacity = 0;
    std::uint64_t credit = 0;  // the most that a shard keeps
  };

  bool take_free(std::size_t p, std::uint64_t n, std::uint64_t floor) noexcept {
    pool_words& pool = pools_[p];
    std::uint64_t free = pool.free.load();
    while (free >= n && free - n >= floor) {
      if (!pool.free.compare_exchange_weak(free, free - n)) continue;
      const std::uint64_t taken = pool.capacity - (free - n);
      std::uint64_t most = pool.high_water.load(std::memory_order_relaxed);
      while (taken > most && !pool.high_water.compare_exchange_weak(most, taken, std::memory_order_relaxed)) {}
      return true;
    }
    return false;
  }

  /// Makes the credit of all threads free; false where there was none.
  bool gather(std::size_t p) noexcept {
    if (pools_[p].credit == 0) return false;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < Threading::shards; ++i) {
      auto& credit = shards_[i].credit[p];
      if (credit.load() != 0) sum += credit.exchange(0);
    }
    if (sum != 0) pools_[p].free.fetch_add(sum);
    return sum != 0;
  }

  std::array<pool_words, Pools> pools_{};
  std::array<shard<Pools, Threading>, Threading::shards + 1> shards_{};
};

}  // namespace detail

}  // namespace kvbudget
