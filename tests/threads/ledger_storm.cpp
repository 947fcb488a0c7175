// Threads that admit, wait, extend, shrink, fork, share and cancel at random, while one looks on; more of them than
// have a shard. Nothing may ever exceed the budget, neither by the ledger's own account nor by what the threads count
// of their leases themselves, and exactly nothing may be left at the end. Once with a window, which takes the long way
// always, and once with pools for which the short one does.
//
//   ledger_storm [OPERATIONS [THREADS [SEED]]]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <kvbudget/ledger/ledger.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "property/random.hpp"

namespace {

using namespace kvbudget;

constexpr tokens block_of_16(16U);
constexpr std::array<ledger_pool, 3> with_window{ledger_pool{"full", 400, bytes(96U), {{1, block_of_16, {}}}, 24U},
                                                 ledger_pool{"window", 260, bytes(64U), {{2, tokens(8U), tokens(21U)}}},
                                                 ledger_pool{"state", 60, bytes(1000U), {{1, {}, {}}}, 4U}};
constexpr std::array<ledger_pool, 3> plain{ledger_pool{"full", 400, bytes(96U), {{1, block_of_16, {}}}, 60U},
                                           ledger_pool{"half", 900, bytes(64U), {{2, tokens(8U), {}}}, 90U},
                                           ledger_pool{"state", 60, bytes(1000U), {{1, {}, {}}}, 4U}};

template <class Policy>
class storm {
 public:
  using books_type = ledger<Policy, 3>;
  using lease = typename books_type::lease;

  explicit storm(const std::array<ledger_pool, 3>& pools) : pools_(pools), books_(Policy{}, pools) {}

  bool run(std::uint64_t operations, std::uint64_t threads, std::uint64_t seed) {
    std::atomic<bool> done{false};
    const auto look = [&] {
      for (const pool_snapshot& p : books_.snapshot().pools) {
        if (p.reserved > p.capacity || p.resident > p.reserved || p.stored > p.resident_bytes() ||
            p.high_water > p.capacity) {
          over_ = true;
        }
      }
    };
    std::thread watch([&] {
      while (!done) {
        look();
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] { work(testing::random(seed * 1000 + t), operations / threads); });
    }
    for (std::thread& t : all) t.join();
    done = true;
    watch.join();
    look();
    const auto end = books_.snapshot();
    bool empty = end.sequences == 0 && end.shared_runs == 0 && end.waiting == 0;
    for (const pool_snapshot& p : end.pools) empty = empty && p.reserved == 0 && p.resident == 0 && p.stored == bytes();
    std::printf(
        "%llu admitted, %llu stalled, %llu found no room, %llu did not overtake, %llu too late, %llu cancelled\n",
        count(end.admitted), count(end.stalled), rejected(end, rejection::no_room),
        rejected(end, rejection::others_wait), rejected(end, rejection::deadline), rejected(end, rejection::cancelled));
    if (over_) std::puts("over the budget");
    if (!empty) std::puts("something is left");
    // Nothing moves any more: the credit of the threads that have ended is to be had.
    bool whole = true;
    for (std::uint64_t n = 0; n < 100 && whole; ++n) {
      std::vector<lease> filling;
      while (filling.size() < 60) filling.push_back(books_.try_admit(request(block_of_16, tokens())));
      for (const lease& l : filling) whole = whole && static_cast<bool>(l);
    }
    if (!whole) std::puts("units are missing");
    return !over_ && empty && whole;
  }

 private:
  static unsigned long long count(std::uint64_t n) { return n; }
  static unsigned long long rejected(const ledger_snapshot<3>& s, rejection why) {
    return s.rejected[static_cast<std::size_t>(why)];
  }

  /// A lease whose own units are counted from after they are taken until before they go back, so that at no moment more
  /// is counted than is taken.
  class counted {
   public:
    counted(storm& of, lease l) : of_(&of), lease_(std::move(l)) { count(1); }
    counted(counted&& other) noexcept : of_(other.of_), lease_(std::move(other.lease_)) {}
    counted& operator=(counted&& other) noexcept {
      if (this == &other) return *this;
      count(~std::uint64_t{0});
      lease_ = std::move(other.lease_);
      return *this;
    }
    ~counted() { count(~std::uint64_t{0}); }
    [[nodiscard]] tokens length() const { return lease_.length(); }
    template <class Change>
    auto changed(const Change& change) {
      count(~std::uint64_t{0});
      auto result = change(lease_);
      count(1);
      return result;
    }

   private:
    void count(std::uint64_t times) {
      for (std::size_t p = 0; p < 3; ++p) {
        const std::uint64_t n = times * lease_.units(p);
        if (n + of_->counted_[p].fetch_add(n, std::memory_order_relaxed) > of_->pools_[p].capacity) of_->over_ = true;
      }
    }
    storm* of_;
    lease lease_;
  };

  void work(testing::random random, std::uint64_t operations) {
    std::vector<counted> leases;
    std::vector<typename books_type::prefix> prefixes;
    const auto keep = [&](lease l) {
      if (l) leases.emplace_back(*this, std::move(l));
    };
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::size_t which = leases.empty() ? 0 : random.next() % leases.size();
      const request r(tokens(random.between(0, 200)), tokens(random.between(0, 200)));
      const std::uint64_t kind = random.between(0, 99);
      if (kind < 25) {
        lease l = books_.try_admit(r);
        if (l.why() == rejection::others_wait) {  // until then nothing would happen
          std::this_thread::yield();
          --i;
        }
        keep(std::move(l));
      } else if (kind < 26) {
        if (random.between(0, 39) != 0) continue;
        // Few wait, since all others are held back meanwhile; not long, and some until another thread cancels them.
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(random.between(0, 100));
        cancellation& mine = cancel_[random.next() % cancel_.size()];
        keep(books_.admit(r, deadline, &mine));
      } else if (kind < 27) {
        if (random.between(0, 39) == 0) books_.cancel(cancel_[random.next() % 8]);
      } else if (kind < 60) {
        if (!leases.empty()) {
          const tokens length = leases[which].length() + tokens(random.between(0, 20));
          if (leases[which].changed([&](lease& l) { return l.extend(length); }) == rejection::no_room) {
            leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(which));  // preempted
          }
        }
      } else if (kind < 64) {
        const tokens length(random.between(0, 100));
        if (!leases.empty()) {
          leases[which].changed([&](lease& l) {
            if (l.shrink(length) != rejection::none) l.publish();
            return true;
          });
        }
      } else if (kind < 70) {
        if (!leases.empty()) keep(leases[which].changed([](lease& l) { return l.fork(); }));
      } else if (kind < 73) {
        if (prefixes.size() < 3) {
          auto p = prefixes.empty()
                       ? books_.try_share(tokens(random.between(0, 100)))
                       : books_.try_share(prefixes[0].length() + tokens(random.between(0, 60)), prefixes[0]);
          if (p) prefixes.push_back(std::move(p));
        }
      } else if (kind < 77) {
        if (!prefixes.empty())
          keep(books_.try_admit(request(prefixes.back().length() + r.prompt, r.generated), prefixes.back()));
      } else if (kind < 79) {
        if (!prefixes.empty()) prefixes.erase(prefixes.begin());
      } else if (!leases.empty()) {
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (leases.size() > 20) leases.erase(leases.begin(), leases.begin() + 10);
    }
  }

  std::array<ledger_pool, 3> pools_;
  books_type books_;
  std::array<std::atomic<std::uint64_t>, 3> counted_{};
  std::atomic<bool> over_{false};
  std::array<cancellation, 64> cancel_{};
};

template <class Policy>
bool run(const char* name, std::uint64_t operations, std::uint64_t threads, std::uint64_t seed) {
  bool good = true;
  for (const auto* pools : {&with_window, &plain}) {
    std::printf("%s, %s: %llu operations, %llu threads\n", name, pools == &plain ? "the short way" : "a window",
                static_cast<unsigned long long>(operations), static_cast<unsigned long long>(threads));
    good = std::make_unique<storm<Policy>>(*pools)->run(operations, threads, seed) && good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::uint64_t operations = argument(1, 200'000), threads = argument(2, 24), seed = argument(3, 1);
  if (threads == 0) return 2;
  const bool resident = run<admit_resident>("admit_resident", operations, threads, seed);
  const bool reserved = run<reserve_to_limit>("reserve_to_limit", operations, threads, seed);
  return resident && reserved ? 0 : 1;
}
