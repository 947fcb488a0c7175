// Every interleaving of two or three threads over the ledger's own code: its words, mutex and condition are replaced by
// ones that hand over to a scheduler before each access. The scheduler runs the threads as fibers of one thread and
// goes through all choices in depth-first order; where all fibers sleep, a wake-up was lost.
#if defined(__linux__)
#include <algorithm>
#include <functional>
#include <kvbudget/ledger/ledger.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/fibers.hpp"

using namespace kvbudget;

namespace {

class scheduler {
 public:
  static scheduler* current;
  static constexpr int outside = testing::fibers::outside;

  /// Runs `bodies` under all schedules, each from a fresh `start()`; calls `after()` at the end of each. Returns how
  /// many. Of more than two threads, those schedules that take a thread off in the middle at most `preemptions` times.
  std::size_t explore(const std::function<void()>& start, const std::vector<std::function<void()>>& bodies,
                      const std::function<void()>& after, std::size_t preemptions = ~std::size_t{0}) {
    current = this;
    preemptions_ = preemptions;
    std::size_t schedules = 0;
    choices_.clear();
    do {
      start();
      run(bodies);
      after();
      ++schedules;
    } while (next_schedule());
    current = nullptr;
    return schedules;
  }

  /// Before each access to what threads share.
  void step() {
    if (running() != outside) fibers_.yield();
  }
  /// Until `ready` says so.
  void block_until(const std::function<bool()>& ready) {
    if (running() != outside) fibers_.block_until(ready);
  }
  [[nodiscard]] int running() const { return fibers_.running(); }

 private:
  struct choice {
    std::size_t taken, of;
  };

  void run(const std::vector<std::function<void()>>& bodies) {
    fibers_.start(bodies);
    std::size_t preempted = 0;
    int last = outside;
    for (std::size_t depth = 0;;) {
      std::vector<int> runnable;
      bool all_done = true;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        all_done = all_done && fibers_.done(i);
        if (fibers_.runnable(i)) runnable.push_back(static_cast<int>(i));
      }
      if (all_done) break;
      if (runnable.empty()) throw std::logic_error("all threads sleep: " + schedule());
      const bool may_go_on = std::find(runnable.begin(), runnable.end(), last) != runnable.end();
      if (may_go_on && preempted == preemptions_) runnable = {last};
      std::size_t taken = 0;
      if (runnable.size() > 1) {
        if (depth == choices_.size()) choices_.push_back({0, runnable.size()});
        taken = choices_[depth++].taken;
      }
      if (may_go_on && runnable[taken] != last) ++preempted;
      last = runnable[taken];
      fibers_.resume(static_cast<std::size_t>(last));
    }
  }
  bool next_schedule() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }
  [[nodiscard]] std::string schedule() const {
    std::string text;
    for (const choice& c : choices_) text += std::to_string(c.taken);
    return text;
  }

  testing::fibers fibers_;
  std::vector<choice> choices_;
  std::size_t preemptions_ = 0;
};
scheduler* scheduler::current = nullptr;

void step() {
  if (scheduler::current != nullptr) scheduler::current->step();
}

/// What decides must be sequentially consistent, which fibers cannot tell: nothing weaker is taken.
void strictly(std::memory_order order) {
  if (order == std::memory_order_seq_cst) return;
  std::fputs("a word that decides has a weaker order\n", stderr);
  std::abort();
}

template <class T>
class scheduled_word {
 public:
  scheduled_word(T value = {}) : value_(value) {}
  using order = std::memory_order;
  static constexpr order strict = std::memory_order_seq_cst;
  [[nodiscard]] T load(order o = strict) const { return strictly(o), step(), value_; }
  void store(T value, order o = strict) { strictly(o), step(), value_ = value; }
  T exchange(T value, order o = strict) { return strictly(o), step(), std::exchange(value_, value); }
  T fetch_add(T n, order o = strict) { return strictly(o), step(), std::exchange(value_, value_ + n); }
  T fetch_sub(T n, order o = strict) { return strictly(o), step(), std::exchange(value_, value_ - n); }
  bool compare_exchange_strong(T& expected, T desired, order o = strict) {
    strictly(o), step();
    if (value_ != expected) return expected = value_, false;
    return value_ = desired, true;
  }
  bool compare_exchange_weak(T& expected, T desired, order o = strict) {
    return compare_exchange_strong(expected, desired, o);
  }

 private:
  T value_;
};

class scheduled_mutex {
 public:
  void lock() {
    step();
    if (locked_) scheduler::current->block_until([this] { return !locked_; });
    locked_ = true;
  }
  /// What follows need not be an access to a word.
  void unlock() {
    locked_ = false;
    step();
  }

 private:
  bool locked_ = false;
};

constexpr auto too_late = std::chrono::steady_clock::time_point::min();

/// Times out at once or never; a spurious wake-up is not needed to be correct, and would hide a lost one.
class scheduled_condition {
 public:
  std::cv_status wait_until(std::unique_lock<scheduled_mutex>& lock, std::chrono::steady_clock::time_point deadline) {
    if (deadline == too_late) return std::cv_status::timeout;
    notified_ = false;
    lock.unlock();
    scheduler::current->block_until([this] { return notified_; });
    lock.lock();
    return std::cv_status::no_timeout;
  }
  void notify_one() { notified_ = true; }

 private:
  bool notified_ = false;
};

struct scheduled_threading {
  template <class T>
  using word = scheduled_word<T>;
  using mutex = scheduled_mutex;
  using condition = scheduled_condition;
  template <class T>
  using mark = std::atomic<T>;
  static constexpr std::size_t shards = 2;
  /// The first two fibers have a shard of their own, a third one has none.
  static std::uintptr_t this_thread() noexcept {
    const int running = scheduler::current != nullptr ? scheduler::current->running() : scheduler::outside;
    return running > 0 ? static_cast<std::uintptr_t>(running) + 1 : 1U;
  }
  static std::uint32_t& home() noexcept {
    static std::uint32_t homes[4] = {};
    return homes[this_thread()];
  }
};

constexpr auto forever = std::chrono::steady_clock::time_point::max();

template <std::size_t Pools>
class scene {
 public:
  using books_type = ledger<admit_resident, Pools, scheduled_threading>;
  using lease = typename books_type::lease;

  using numbers = std::array<std::uint64_t, Pools>;

  scene(numbers capacities, numbers credits, numbers blocks = all(1)) {
    for (std::size_t p = 0; p < Pools; ++p) {
      pools_[p] = {"pool", capacities[p], bytes(1U), {{1, tokens(blocks[p]), {}}}, credits[p]};
    }
  }
  scene(numbers capacities, std::uint64_t credit) : scene(capacities, all(credit)) {}
  /// All schedules of `bodies` on a fresh ledger, which is empty again at the end of each.
  std::size_t run(const std::function<void(scene&)>& prepare, const std::vector<std::function<void(scene&)>>& bodies,
                  const std::function<void(scene&)>& check, std::size_t preemptions = ~std::size_t{0}) {
    std::vector<std::function<void()>> bound;
    for (const auto& body : bodies) bound.emplace_back([this, &body] { body(*this); });
    return scheduler_.explore(
        [&] {
          books.reset();
          books = std::make_unique<books_type>(admit_resident{{0, 1}}, pools_);
          prepare(*this);
        },
        bound,
        [&] {
          check(*this);
          for (lease& l : leases) l.release();
          const auto end = books->snapshot();
          for (const pool_snapshot& p : end.pools) {
            if (p.reserved != 0) throw std::logic_error("a leak");
          }
          if (end.sequences != 0 || end.waiting != 0) throw std::logic_error("something is left");
        },
        bodies.size() > 2 ? 3 : preemptions);
  }
  /// Never over the budget, looked at from another thread at any moment.
  void look() {
    const auto now = books->snapshot();
    for (std::size_t p = 0; p < Pools; ++p) {
      if (now.pools[p].reserved > pools_[p].capacity) throw std::logic_error("over the budget");
    }
  }
  std::unique_ptr<books_type> books;
  lease leases[3];

 private:
  static numbers all(std::uint64_t n) {
    numbers result;
    result.fill(n);
    return result;
  }
  std::array<ledger_pool, Pools> pools_{};
  scheduler scheduler_;
};

constexpr request of(std::uint64_t n, std::uint64_t more = 0) { return {tokens(n), tokens(more)}; }
void require(bool good, const char* what) {
  if (!good) throw std::logic_error(what);
}

}  // namespace

TEST_CASE("two that want the last units: exactly one is admitted") {
  for (const std::uint64_t credit : {0U, 2U, 4U}) {
    scene<1> s({4}, credit);
    const std::size_t schedules =
        s.run([](auto& at) { at.leases[2] = at.books->try_admit(of(1)); },
              {[](auto& at) { at.leases[0] = at.books->try_admit(of(2)); },
               [](auto& at) { at.leases[1] = at.books->try_admit(of(2)); }},
              [](auto& at) {
                require(static_cast<bool>(at.leases[0]) != static_cast<bool>(at.leases[1]), "not exactly one");
              });
    CHECK(schedules > 20);
  }
}

TEST_CASE("admitting and giving back, with credit that another thread collects") {
  scene<1> s({3}, 3);
  const std::size_t schedules =
      s.run([](auto& at) { at.leases[0] = at.books->try_admit(of(2)); },
            {[](auto& at) { at.leases[0].release(); },
             [](auto& at) {
               at.leases[1] = at.books->try_admit(of(3));
               at.look();
             }},
            [](auto& at) {
              // Nothing moves any more: all is to be had.
              at.leases[1].release();
              require(static_cast<bool>(at.leases[2] = at.books->try_admit(of(3))), "units are missing");
            });
  CHECK(schedules > 100);
}

TEST_CASE("of all pools or of none") {
  scene<2> s({2, 2}, 0);
  const std::size_t schedules = s.run([](auto& at) { at.leases[2] = at.books->try_admit(of(1)); },
                                      {[](auto& at) { at.leases[0] = at.books->try_admit(of(1)); },
                                       [](auto& at) { at.leases[1] = at.books->try_admit(of(1)); }},
                                      [](auto& at) {
                                        // Both may fail, each on what the other was about to give back; never are both
                                        // admitted.
                                        require(!(at.leases[0] && at.leases[1]), "two in the room of one");
                                        const std::uint64_t taken =
                                            (at.leases[0] ? 1U : 0U) + (at.leases[1] ? 1U : 0U) + 1U;
                                        for (const auto& p : at.books->snapshot().pools)
                                          require(p.reserved == taken, "not all or nothing");
                                      });
  CHECK(schedules > 50);
}

TEST_CASE("a rejection while units move is wrong by no more than what moves") {
  // One unit of three is being given back. Who wants two of the two that are free may be told no_room only if a thread
  // was moving units at the time; afterwards it is admitted.
  scene<1> s({3}, 3);
  s.run(
      [](auto& at) {
        at.leases[0] = at.books->try_admit(of(2));
        at.leases[1] = at.books->try_admit(of(1));
        at.leases[0].release();  // two are in the credit of the thread outside
      },
      {[](auto& at) { at.leases[1].release(); }, [](auto& at) { at.leases[2] = at.books->try_admit(of(2)); }},
      [](auto& at) { require(at.leases[2] || at.books->try_admit(of(3)), "units are missing"); });
  SUCCEED();
}

TEST_CASE("who waits is woken by what is given back") {
  for (const std::uint64_t credit : {0U, 1U}) {
    scene<1> s({1}, credit);
    const std::size_t schedules = s.run(
        [](auto& at) { at.leases[0] = at.books->try_admit(of(1)); },
        {[](auto& at) { at.leases[0].release(); }, [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }},
        [](auto& at) { require(static_cast<bool>(at.leases[1]), "not admitted"); });
    CHECK(schedules > 50);
  }
}

TEST_CASE("who waits is woken by those who moved units and failed") {
  // The second wants more than there is and gives back what it had of the first pool.
  scene<2> s({1, 2}, 0);
  s.run([](auto& at) { at.leases[0] = at.books->try_admit(of(1)); },
        {[](auto& at) { at.leases[0].release(); }, [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }},
        [](auto& at) { require(static_cast<bool>(at.leases[1]), "not admitted"); });
  SUCCEED();
}

TEST_CASE("who waits is woken by those whose credit was not enough for all pools") {
  // Credit of the first pool, none of the second: the short way takes, fails and gives back.
  scene<2> s({1, 2}, std::array<std::uint64_t, 2>{1, 0});
  const std::size_t schedules = s.run([](auto& at) { at.books->try_admit(of(1)).release(); },
                                      {[](auto& at) {
                                         at.leases[0] = at.books->try_admit(of(1));
                                         at.leases[0].release();
                                       },
                                       [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }},
                                      [](auto& at) { require(static_cast<bool>(at.leases[1]), "not admitted"); }, 3);
  CHECK(schedules > 50);
}

TEST_CASE("who waits is woken by a large request that had units of the first pool and failed in the second") {
  // Five of the first pool are free and one of the second; five positions want five and two.
  scene<2> s({6, 2}, {0, 0}, {1, 4});
  const std::size_t schedules = s.run([](auto& at) { at.leases[2] = at.books->try_admit(of(1)); },
                                      {[](auto& at) { at.leases[0] = at.books->try_admit(of(5)); },
                                       [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }},
                                      [](auto& at) {
                                        require(!at.leases[0], "more than there is");
                                        require(static_cast<bool>(at.leases[1]), "not admitted");
                                      },
                                      3);
  CHECK(schedules > 100);
}

TEST_CASE("who waits is woken by a lease that grew too far and gave back what it had of the first pool") {
  // Eight of the first pool are free and one of the second; it wants eight and two more.
  scene<2> s({10, 3}, {0, 0}, {1, 4});
  const std::size_t schedules = s.run(
      [](auto& at) {
        at.leases[0] = at.books->try_admit(of(1, 8));
        at.leases[2] = at.books->try_admit(of(1));
      },
      {[](auto& at) { require(at.leases[0].extend(tokens(9U)) == rejection::no_room, "more than there is"); },
       [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }},
      [](auto& at) { require(static_cast<bool>(at.leases[1]), "not admitted"); }, 3);
  CHECK(schedules > 20);
}

TEST_CASE("two that wait, and one that gives back once for both") {
  scene<1> s({2}, 0);
  const std::size_t schedules = s.run(
      [](auto& at) { at.leases[2] = at.books->try_admit(of(2)); },
      {[](auto& at) { at.leases[0] = at.books->admit(of(1), forever); },
       [](auto& at) { at.leases[1] = at.books->admit(of(1), forever); }, [](auto& at) { at.leases[2].release(); }},
      [](auto& at) { require(at.leases[0] && at.leases[1], "not admitted"); });
  CHECK(schedules > 1000);
}

TEST_CASE("a lease grows while another one ends and a third wants to be admitted") {
  scene<1> s({3}, 1);
  const std::size_t schedules = s.run(
      [](auto& at) {
        at.leases[0] = at.books->try_admit(of(1));
        at.leases[1] = at.books->try_admit(of(1, 2));
      },
      {[](auto& at) { at.leases[0].release(); },
       [](auto& at) {
         const rejection grown = at.leases[1].extend(tokens(3U));
         require(at.leases[1].units(0) == (grown == rejection::none ? 3U : 1U), "neither old nor new");
         at.look();
       },
       [](auto& at) { at.leases[2] = at.books->try_admit(of(1)); }},
      [](auto& at) {
        std::uint64_t held = 0;
        for (const auto& l : at.leases) held += l.units(0);
        require(at.books->snapshot().pools[0].reserved == held, "not what the leases hold");
      });
  CHECK(schedules > 1000);
}

TEST_CASE("who waits is woken by a cancellation, and the next by it") {
  scene<1> s({1}, 0);
  std::unique_ptr<cancellation> token;
  const std::size_t schedules = s.run(
      [&](auto& at) {
        token = std::make_unique<cancellation>();
        at.leases[0] = at.books->try_admit(of(1));
      },
      {[&](auto& at) { at.books->cancel(*token); },
       [&](auto& at) { at.leases[1] = at.books->admit(of(1), forever, token.get()); }},
      [](auto& at) { require(at.leases[1].why() == rejection::cancelled, "not cancelled"); });
  CHECK(schedules > 10);
}

TEST_CASE("at the end of its time a request looks once more") {
  // The units come back before it waits, or after it has looked.
  scene<1> s({1}, 0);
  bool back = false;
  std::size_t refused = 0;
  s.run(
      [&](auto& at) {
        at.leases[0] = at.books->try_admit(of(1));
        back = false;
      },
      {[&](auto& at) {
         at.leases[0].release();
         back = true;
       },
       [&](auto& at) {
         const bool was = back;
         at.leases[1] = at.books->admit(of(1), too_late);
         require(at.leases[1] || !was, "late, though there was room");
       }},
      [&](auto& at) { refused += at.leases[1].why() == rejection::deadline ? 1 : 0; });
  CHECK(refused > 0);
}

TEST_CASE("shared blocks go back exactly once, whoever is last") {
  scene<1> s({6}, 0);
  const std::size_t schedules = s.run(
      [](auto& at) {
        at.leases[0] = at.books->try_admit(of(3, 3));
        at.leases[1] = at.leases[0].fork();
        require(at.books->snapshot().pools[0].reserved == 3, "counted twice");
      },
      {[](auto& at) { at.leases[0].release(); },
       [](auto& at) {
         (void)at.leases[1].extend(tokens(4U));
         at.leases[1].release();
       }},
      [](auto& at) { require(at.books->snapshot().pools[0].reserved == 0, "a leak"); });
  CHECK(schedules > 50);
}

TEST_CASE("the scheduler finds a wake-up that is lost") {
  // A waiter that looks before it counts itself, and a giver that looks at the count before it gives.
  struct {
    scheduled_word<std::uint64_t> free{0}, waiting{0};
    scheduled_mutex mutex;
    scheduled_condition changed;
  } broken;
  scheduler all;
  CHECK_THROWS_AS(all.explore(
                      [&] {
                        broken.free = 0;
                        broken.waiting = 0;
                      },
                      {[&] {
                         if (broken.free.load() != 0) return;
                         std::unique_lock lock(broken.mutex);
                         broken.waiting.fetch_add(1);
                         broken.changed.wait_until(lock, forever);
                       },
                       [&] {
                         broken.free.fetch_add(1);
                         if (broken.waiting.load() != 0) broken.changed.notify_one();
                       }},
                      [] {}),
                  std::logic_error);
  scheduler::current = nullptr;
}
#endif
