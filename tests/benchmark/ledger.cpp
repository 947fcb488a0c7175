// The ledger beside the least that could decide the same, the plainest that is safe, and a lock. Both sides are
// measured in turn in the same run. Of one thread the best time counts, which is what a busy machine leaves
// undisturbed; of several all of them, since at their best they do not meet. `ratio` is ours / theirs in time for the
// same work: smaller is better. All sides are compiled into the loop, as g++ does by itself with all but ours.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <kvbudget/ledger/ledger.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace kvbudget;
using clock = std::chrono::steady_clock;

constexpr std::uint64_t capacity = std::uint64_t{1} << 28U;
constexpr std::uint64_t units = 4;  // of a prompt of 64 positions in blocks of 16
constexpr request each{64_tokens, 0_tokens};
constexpr bytes block_bytes = 2_MiB;

template <std::size_t Pools>
std::array<ledger_pool, Pools> pools() {
  std::array<ledger_pool, Pools> all;
  for (ledger_pool& p : all) p = {"pool", capacity, block_bytes, {{1, 16_tokens}}, {}};
  return all;
}

/// The least: a compare-exchange loop that takes, a subtraction that gives back.
template <std::size_t Pools>
struct bare {
  struct alignas(64) word {
    std::atomic<std::uint64_t> used{0};
  };
  word words[Pools];
  [[gnu::always_inline]] bool admit_and_release() {
    for (word& w : words) {
      std::uint64_t used = w.used.load();
      do {
        if (used + units > capacity) return false;
      } while (!w.used.compare_exchange_weak(used, used + units));
    }
    benchmark::ClobberMemory();
    for (word& w : words) w.used.fetch_sub(units);
    return true;
  }
};

/// One counter for each pool that everybody adds to and subtracts from, without a limit.
template <std::size_t Pools>
struct counters {
  typename bare<Pools>::word words[Pools];
  [[gnu::always_inline]] bool admit_and_release() {
    for (auto& w : words) w.used.fetch_add(units);
    benchmark::ClobberMemory();
    for (auto& w : words) w.used.fetch_sub(units);
    return true;
  }
};

template <std::size_t Pools>
struct locked {
  std::mutex mutex;
  std::uint64_t used[Pools]{};
  std::uint64_t sequences = 0;
  [[gnu::always_inline]] bool admit_and_release() {
    {
      const std::lock_guard lock(mutex);
      for (const std::uint64_t u : used) {
        if (u + units > capacity) return false;
      }
      for (std::uint64_t& u : used) u += units;
      ++sequences;
    }
    benchmark::ClobberMemory();
    const std::lock_guard lock(mutex);
    for (std::uint64_t& u : used) u -= units;
    --sequences;
    return true;
  }
};

template <class Policy, std::size_t Pools>
struct ours {
  ledger<Policy, Pools> books{Policy{}, pools<Pools>()};
  [[gnu::always_inline]] bool admit_and_release() {
    const auto lease = books.try_admit(each);
    benchmark::DoNotOptimize(lease.units(0));
    return static_cast<bool>(lease);
  }
};

/// Seconds that `threads` threads take for `repetitions` admissions and releases each, from a common start.
template <class Books>
double seconds(Books& books, int threads, int repetitions) {
  const auto work = [&] {
    for (int i = 0; i < repetitions; ++i) benchmark::DoNotOptimize(books.admit_and_release());
  };
  if (threads == 1) {
    const auto start = clock::now();
    work();
    return std::chrono::duration<double>(clock::now() - start).count();
  }
  std::atomic<int> ready{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      ++ready;
      while (ready.load() <= threads) std::this_thread::yield();
      work();
    });
  }
  while (ready.load() != threads) std::this_thread::yield();
  const auto start = clock::now();
  ++ready;
  for (std::thread& t : all) t.join();
  return std::chrono::duration<double>(clock::now() - start).count();
}

template <class Ours, class Theirs>
void compare(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  const int repetitions = threads == 1 ? 5'000 : 200'000 / threads;
  const auto our_books = std::make_unique<Ours>();
  const auto their_books = std::make_unique<Theirs>();
  double our_best = 1e9, their_best = 1e9, our_sum = 0, their_sum = 0;
  for (auto _ : state) {
    const double theirs = seconds(*their_books, threads, repetitions), now = seconds(*our_books, threads, repetitions);
    state.SetIterationTime(now);
    our_best = std::min(our_best, now);
    their_best = std::min(their_best, theirs);
    our_sum += now;
    their_sum += theirs;
  }
  state.counters["pair_ns"] = our_best / repetitions / threads * 1e9;
  state.counters["ratio"] = threads == 1 ? our_best / their_best : our_sum / their_sum;
}

void one_thread(benchmark::internal::Benchmark* b) { b->UseManualTime()->ArgName("threads")->Arg(1); }
void all_threads(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->ArgName("threads");
  for (const int n : {1, 2, 4, 8}) b->Arg(n);
}

using reserving_1 = ours<reserve_to_limit, 1>;
using resident_1 = ours<admit_resident, 1>;
using resident_4 = ours<admit_resident, 4>;
BENCHMARK_TEMPLATE(compare, reserving_1, bare<1>)->Apply(one_thread);
BENCHMARK_TEMPLATE(compare, resident_1, bare<1>)->Apply(one_thread);
BENCHMARK_TEMPLATE(compare, resident_4, bare<4>)->Apply(one_thread);
BENCHMARK_TEMPLATE(compare, resident_1, counters<1>)->Apply(all_threads);
BENCHMARK_TEMPLATE(compare, resident_4, counters<4>)->Apply(all_threads);
BENCHMARK_TEMPLATE(compare, resident_1, locked<1>)->Apply(all_threads);
BENCHMARK_TEMPLATE(compare, resident_4, locked<4>)->Apply(all_threads);

/// Within a block: beside an addition to a number in memory.
void extend_within_a_block(benchmark::State& state) {
  ledger books(admit_resident{}, ledger_pool{"pool", capacity, block_bytes, {{1, tokens(1U << 20U)}}, {}});
  auto lease = books.try_admit(request(1_tokens, tokens(1U << 20U)));
  std::uint64_t n = 1;
  for (auto _ : state) {
    n = n % 1'000'000 + 1;
    benchmark::DoNotOptimize(lease.extend(tokens(n)));
  }
}
BENCHMARK(extend_within_a_block);

/// Every step of one position, block edges included.
void extend_by_one(benchmark::State& state) {
  ledger books(admit_resident{}, pools<1>()[0]);
  auto lease = books.try_admit(request(1_tokens, tokens(1U << 20U)));
  std::uint64_t n = 1;
  for (auto _ : state) {
    if (++n > 1U << 20U) {
      n = 1;
      benchmark::DoNotOptimize(lease.shrink(1_tokens));
    }
    benchmark::DoNotOptimize(lease.extend(tokens(n)));
  }
}
BENCHMARK(extend_by_one);

/// 10^6 leases that stay, and admissions beside them.
template <std::size_t Pools>
void among_a_million(benchmark::State& state) {
  auto books = std::make_unique<ours<admit_resident, Pools>>();
  std::vector<typename ledger<admit_resident, Pools>::lease> resident;
  resident.reserve(1'000'000);
  for (int i = 0; i < 1'000'000; ++i) resident.push_back(books->books.try_admit(each));
  if (!resident.back()) state.SkipWithError("not admitted");
  const auto other = std::make_unique<bare<Pools>>();
  constexpr int repetitions = 5'000;
  double our_best = 1e9, their_best = 1e9;
  for (auto _ : state) {
    their_best = std::min(their_best, seconds(*other, 1, repetitions));
    const double now = seconds(*books, 1, repetitions);
    state.SetIterationTime(now);
    our_best = std::min(our_best, now);
  }
  state.counters["ratio"] = our_best / their_best;
  state.counters["bytes_per_lease"] = sizeof(resident[0]);
}
BENCHMARK_TEMPLATE(among_a_million, 1)->UseManualTime();
BENCHMARK_TEMPLATE(among_a_million, 4)->UseManualTime();

}  // namespace
