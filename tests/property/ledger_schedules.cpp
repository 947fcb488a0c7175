// Random programs of several threads under random schedules, over the ledger's own code: words, counters, mutex and
// condition hand over to a scheduler before each access. Compare-exchanges fail for no reason, waits end late or for no
// reason, and there are fewer shards than threads. At each access the units in the words are counted; where all threads
// rest, nobody who could be served may sleep; and a call that nobody disturbs must answer exactly.
//
// KVBUDGET_SCHEDULES=N runs N times as many seeds.
#if defined(__linux__)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <kvbudget/ledger/ledger.hpp>
#include <memory>
#include <string>
#include <vector>

#include "random.hpp"
#include "support/catch.hpp"
#include "support/fibers.hpp"

using namespace kvbudget;

namespace {

class condition;

/// Who goes on. What a seed does not switch on does not happen in its run.
class schedule {
 public:
  static constexpr int outside = testing::fibers::outside;
  static inline schedule* current = nullptr;

  explicit schedule(std::uint64_t seed) : random_(seed) {
    choose_switches();
    switches_one_in_ = random_.one_of<std::uint64_t>({1, 2, 3, 8, 30});
    at_marks_ = random_.between(0, 3) == 0;
    weak_fails_ = random_.between(0, 2) == 0;
    times_out_ = random_.between(0, 2) == 0;
    wakes_for_nothing_ = random_.between(0, 4) == 0;
  }

  /// Called at each access, and with a text where something is wrong.
  std::function<void()> look;
  /// Called where all rest.
  std::function<void()> rest;

  void run(const std::vector<std::function<void()>>& bodies) {
    fibers_.start(bodies);
    states_.assign(bodies.size(), {});
    while (failure_.empty()) {
      std::vector<std::size_t> runnable, paused, asleep;
      bool all_done = true;
      for (std::size_t i = 0; i < bodies.size(); ++i) {
        all_done = all_done && fibers_.done(i);
        if (fibers_.done(i)) continue;
        if (states_[i].paused) paused.push_back(i);
        else if (states_[i].sleeps_on != nullptr && !fibers_.runnable(i)) asleep.push_back(i);
        else if (fibers_.runnable(i)) runnable.push_back(i);
      }
      if (all_done) return;
      if (runnable.empty()) {
        if (paused.empty() && asleep.empty()) return fail("all wait for the mutex");
        rest();
        if (!failure_.empty()) return;
        // Nobody else will come: what still sleeps must be woken by its time.
        if (paused.empty()) {
          const std::size_t i = any(asleep);
          states_[i].timed_out = true;
          go_on(i);
        } else {
          // One whose call nobody disturbs, or several at once.
          solo_ = paused.size() == 1 || random_.between(0, 2) == 0;
          const std::size_t i = any(paused);
          states_[i].paused = false;
          for (const std::size_t other : paused) {
            if (!solo_ && (paused.size() == 2 || random_.coin())) states_[other].paused = false;
          }
          choose_switches();
          go_on(i);
        }
      } else if (!asleep.empty() && times_out_ && random_.between(0, 15) == 0) {
        const std::size_t i = any(asleep);
        states_[i].timed_out = true;
        go_on(i);
      } else if (!asleep.empty() && wakes_for_nothing_ && random_.between(0, 15) == 0) {
        const std::size_t i = any(asleep);
        states_[i].spurious = true;
        go_on(i);
      } else {
        go_on(any(runnable));
      }
    }
  }

  void step() {
    if (running() == outside) return look();
    if (!failure_.empty()) return stop();
    look();
    if (++steps_ > 100'000) fail("does not end");
    if (!failure_.empty()) return stop();
    if (solo_ || !switches()) return;
    fibers_.yield();
    look();
  }
  /// Until `ready`, for a mutex.
  void block_until(const std::function<bool()>& ready) {
    if (running() == outside) return;
    solo_ = false;
    fibers_.block_until(ready);
  }
  /// Until it is notified or woken otherwise; true for a time that is over.
  bool sleep(const condition& c, const bool& notified) {
    state& me = states_[static_cast<std::size_t>(running())];
    me.sleeps_on = &c;
    me.asleep_since = ++clock_;
    solo_ = false;
    me.timed_out = me.spurious = false;
    const std::function<bool()> ready = [&] { return notified || me.timed_out || me.spurious; };
    fibers_.block_until(ready);
    me.sleeps_on = nullptr;
    if (notified && !me.timed_out && times_out_ && random_.coin()) me.timed_out = true;
    if (me.timed_out && ended_alone()) solo_ = true;
    return me.timed_out;
  }
  /// Between calls: until all rest. True if the next call is not disturbed.
  bool pause() {
    states_[static_cast<std::size_t>(running())].paused = true;
    fibers_.yield();
    return solo_;
  }
  void end_solo() { solo_ = false; }
  [[nodiscard]] bool solo() const { return solo_; }

  /// Does not return to who called it: the run is over.
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] int running() const { return fibers_.running(); }
  [[nodiscard]] std::uint64_t clock() { return ++clock_; }
  [[nodiscard]] bool fails_weakly() { return weak_fails_ && running() != outside && random_.between(0, 5) == 0; }
  [[nodiscard]] bool hands_over_at_marks() const { return at_marks_; }
  /// The condition that a fiber sleeps on, if it has been asleep since before `time`.
  [[nodiscard]] const condition* asleep(std::size_t i, std::uint64_t before) const {
    const bool done = fibers_.done(i);
    return !done && states_[i].sleeps_on != nullptr && states_[i].asleep_since < before ? states_[i].sleeps_on
                                                                                        : nullptr;
  }
  [[nodiscard]] std::size_t size() const { return states_.size(); }

 private:
  struct state {
    const condition* sleeps_on = nullptr;
    std::uint64_t asleep_since = 0;
    bool timed_out = false, spurious = false, paused = false;
  };

  /// All the time, or at a few accesses only, so that rare orders of few calls are found as well.
  void choose_switches() {
    few_ = random_.coin();
    const std::uint64_t soon = random_.one_of<std::uint64_t>({6, 12, 25}) * (at_marks_ ? 3 : 1);
    for (std::uint64_t& at : switch_at_) at = random_.coin() ? steps_ + random_.between(1, soon) : 0;
  }
  [[nodiscard]] bool switches() {
    if (!few_) return random_.next() % switches_one_in_ == 0;
    return std::find(switch_at_.begin(), switch_at_.end(), steps_) != switch_at_.end();
  }
  [[nodiscard]] std::size_t any(const std::vector<std::size_t>& of) { return of[random_.next() % of.size()]; }
  void go_on(std::size_t i) {
    do {
      fibers_.resume(i);
    } while (solo_ && fibers_.runnable(i) && failure_.empty() && !states_[i].paused);
    solo_ = false;
  }
  [[nodiscard]] bool ended_alone() const {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const bool rests = fibers_.done(i) || states_[i].paused || states_[i].sleeps_on != nullptr;
      if (static_cast<int>(i) != running() && !rests) return false;
    }
    return true;
  }
  /// Nobody resumes it again.
  void stop() {
    while (true) fibers_.yield();
  }

  testing::random random_;
  static inline testing::fibers fibers_;  // their stacks serve all runs
  std::vector<state> states_;
  std::string failure_;
  std::uint64_t switches_one_in_ = 1, steps_ = 0, clock_ = 0;
  std::array<std::uint64_t, 3> switch_at_{};
  bool few_ = false, at_marks_ = false, weak_fails_ = false, times_out_ = false, wakes_for_nothing_ = false,
       solo_ = false;
};

void step() {
  if (schedule::current != nullptr) schedule::current->step();
}
void fail(const char* what) {
  if (schedule::current != nullptr) schedule::current->fail(what);
}

/// A word of which `Ordered` says that no weaker order than the sequentially consistent one does.
template <class T, bool Ordered>
class checked_word {
 public:
  checked_word(T value = {}) : value_(value) {}
  checked_word(const checked_word&) = delete;
  checked_word& operator=(const checked_word&) = delete;
  ~checked_word() { alive_ = 0; }

  using order = std::memory_order;
  static constexpr order strict = std::memory_order_seq_cst;
  [[nodiscard]] T load(order o = strict) const { return access(o), value_; }
  void store(T value, order o = strict) { access(o), value_ = value; }
  T exchange(T value, order o = strict) { return access(o), std::exchange(value_, value); }
  T fetch_add(T n, order o = strict) { return access(o), std::exchange(value_, value_ + n); }
  T fetch_sub(T n, order o = strict) { return access(o), std::exchange(value_, value_ - n); }
  bool compare_exchange_strong(T& expected, T desired, order o = strict, order = strict) {
    access(o);
    if (value_ != expected) return expected = value_, false;
    return value_ = desired, true;
  }
  bool compare_exchange_weak(T& expected, T desired, order o = strict, order = strict) {
    if (schedule::current != nullptr && schedule::current->fails_weakly()) {
      access(o);
      return expected = value_, false;
    }
    return compare_exchange_strong(expected, desired, o);
  }
  /// Not an access.
  [[nodiscard]] T peek() const { return value_; }

 private:
  void access(order o) const {
    if (Ordered && o != strict) fail("a word that decides has a weaker order");
    if (Ordered || (schedule::current != nullptr && schedule::current->hands_over_at_marks())) step();
    if (alive_ != here) fail("a word is used after its end");
  }
  static constexpr std::uint32_t here = 0x5eed'f00dU;
  T value_;
  volatile std::uint32_t alive_ = here;
};

class mutex {
 public:
  void lock() {
    step();
    const std::function<bool()> ready = [this] { return !locked_; };
    if (locked_) schedule::current->block_until(ready);
    locked_ = true;
  }
  void unlock() {
    if (!locked_) fail("a mutex is unlocked twice");
    locked_ = false;
    step();
  }

 private:
  bool locked_ = false;
};

class condition {
 public:
  condition() = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition() { alive_ = 0; }
  std::cv_status wait_until(std::unique_lock<mutex>& lock, std::chrono::steady_clock::time_point) {
    notified_ = false;
    lock.unlock();
    const bool late = schedule::current->sleep(*this, notified_);
    lock.lock();
    return late ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  void notify_one() {
    if (alive_ != here) fail("who has left the queue is notified");
    notified_ = true;
  }
  void notify_all() { notify_one(); }

 private:
  static constexpr std::uint32_t here = 0x5eed'beefU;
  bool notified_ = false;
  volatile std::uint32_t alive_ = here;
};

struct threading {
  template <class T>
  using word = checked_word<T, true>;
  template <class T>
  using mark = checked_word<T, false>;
  using mutex = ::mutex;
  using condition = ::condition;
  static constexpr std::size_t shards = 2;
  static inline std::uint32_t homes[8] = {};
  /// Outside is the first one.
  static std::uintptr_t this_thread() noexcept {
    const int running = schedule::current != nullptr ? schedule::current->running() : schedule::outside;
    return running > 0 ? static_cast<std::uintptr_t>(running) + 1 : 1U;
  }
  static std::uint32_t& home() noexcept { return homes[this_thread()]; }
};

}  // namespace

/// What the words say, without an access.
template <class Policy, std::size_t Pools>
struct kvbudget::detail::inspection<ledger<Policy, Pools, threading>> {
  using books_type = ledger<Policy, Pools, threading>;
  static std::uint64_t free(const books_type& b, std::size_t p) { return b.words_.pools_[p].free.peek(); }
  static std::uint64_t high_water(const books_type& b, std::size_t p) { return b.words_.pools_[p].high_water.peek(); }
  static std::uint64_t credit(const books_type& b, std::size_t shard, std::size_t p) {
    return b.words_.shards_[shard].credit[p].peek();
  }
  /// A difference of all threads, which may be in the middle of a change.
  static std::uint64_t positions(const books_type& b) {
    std::uint64_t sum = 0;
    for (const auto& s : b.words_.shards_) sum += s.positions.peek();
    return sum;
  }
  static std::uint64_t unfilled(const books_type& b, std::size_t p) {
    std::uint64_t sum = 0;
    for (const auto& s : b.words_.shards_) sum += s.unfilled[p].peek();
    return sum;
  }
  static std::uint64_t resident(const books_type& b, std::size_t p) {
    std::uint64_t sum = 0;
    for (const auto& s : b.words_.shards_) sum += s.resident[p].peek();
    return sum;
  }
  static std::uint64_t waiting(const books_type& b) { return b.queue_.waiting_.peek(); }
  static const condition* first(const books_type& b) {
    return b.queue_.first_ != nullptr ? &b.queue_.first_->changed : nullptr;
  }
  static bool owners_differ(const books_type& b) {
    for (std::size_t i = 0; i < threading::shards; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto a = b.words_.shards_[i].owner.peek();
        if (a != 0 && a == b.words_.shards_[j].owner.peek()) return false;
      }
    }
    return b.words_.shards_[threading::shards].owner.peek() == 0;
  }
};

namespace {

struct shape {
  std::uint64_t n = 0, longest = 0, limit = 0, shared = 0;
};

/// One program on one ledger.
template <class Policy, std::size_t Pools>
class program {
 public:
  using books_type = ledger<Policy, Pools, threading>;
  using look_at = detail::inspection<books_type>;
  using numbers = std::array<std::uint64_t, Pools>;

  explicit program(std::uint64_t seed) : random_(seed), order_(seed * 7 + 1) {
    std::fill(std::begin(threading::homes), std::end(threading::homes), 0U);
    const bool plain = random_.between(0, 2) != 0;
    for (std::size_t p = 0; p < Pools; ++p) {
      ledger_pool& to = pools_[p];
      to.name = "pool";
      to.capacity = random_.between(2, 10);
      to.unit_bytes = bytes(1U);
      to.credit = random_.one_of<std::uint64_t>({0, to.capacity, random_.between(0, to.capacity)});
      const std::uint64_t block = plain ? random_.one_of<std::uint64_t>({1, 2, 4}) : random_.between(1, 4);
      const std::uint64_t window = plain || random_.coin() ? 0 : random_.between(1, 6);
      to.groups[0] = {random_.between(1, 2), tokens(block), tokens(window)};
      if (random_.between(0, 4) == 0) to.groups[1] = {1, {}, {}};
      if (!plain && random_.between(0, 2) == 0)
        to.groups[2] = {1, tokens(random_.between(1, 3)), tokens(random_.between(0, 4))};
    }
    Policy policy{};
    if constexpr (!Policy::reserves) policy.watermark = {random_.between(0, 2) == 0 ? 1U : 0U, 5};
    for (std::size_t p = 0; p < Pools; ++p) floor_[p] = policy.watermark.of(pools_[p].capacity).value();
    books_ = std::make_unique<books_type>(policy, pools_);
    threads_.resize(random_.between(2, 4));
  }

  /// What is wrong, or nothing.
  std::string run() {
    schedule::current = &order_;
    order_.look = [this] { look(); };
    order_.rest = [this] { rest(); };
    prepare();
    std::vector<std::function<void()>> bodies;
    for (std::size_t t = 0; t < threads_.size(); ++t) bodies.emplace_back([this, t] { work(t); });
    if (order_.failure().empty()) order_.run(bodies);
    if (order_.failure().empty()) finish();
    schedule::current = nullptr;
    if (order_.failure().empty()) return {};
    // Nothing ends of a run that went wrong.
    (void)new std::vector<thread>(std::move(threads_));
    (void)new std::vector<typename books_type::prefix>(std::move(prefixes_));
    (void)books_.release();
    return order_.failure();
  }

 private:
  struct held {
    typename books_type::lease lease;
    shape is;
  };
  struct thread {
    std::vector<held> leases;
    std::vector<typename books_type::prefix> prefixes;
    const cancellation* waits_with = nullptr;
    numbers waits_for{};
    bool waits = false;
  };

  // ---- what is right
  // --------------------------------------------------------------------------------------------------

  static std::uint64_t own(const cache_group& g, std::uint64_t n, std::uint64_t longest, std::uint64_t shared,
                           bool whole) {
    if (g.units == 0) return 0;
    const std::uint64_t b = g.block_size.count(), w = g.window.count();
    if (b == 0) return whole ? 0 : g.units;
    std::uint64_t blocks = 0;
    for (std::uint64_t at = shared / b; at * b < n; ++at) {
      const bool left_behind = w != 0 && at * b + b - 1 + w < longest;
      if (!left_behind && (!whole || (at + 1) * b <= n)) ++blocks;
    }
    return blocks * g.units;
  }
  [[nodiscard]] std::uint64_t need(std::size_t p, const shape& s) const {
    std::uint64_t sum = 0;
    for (const cache_group& g : pools_[p].groups) {
      std::uint64_t most = own(g, s.n, s.longest, s.shared, false);
      if constexpr (Policy::reserves) {
        for (std::uint64_t m = s.shared; m <= s.limit; ++m) most = std::max(most, own(g, m, m, s.shared, false));
      }
      sum += most;
    }
    return sum;
  }
  [[nodiscard]] numbers need(const shape& s) const {
    numbers all;
    for (std::size_t p = 0; p < Pools; ++p) all[p] = need(p, s);
    return all;
  }
  /// Units of the run that positions [shared, n) become.
  [[nodiscard]] numbers run_of(const shape& s) const {
    numbers all{};
    for (std::size_t p = 0; p < Pools; ++p) {
      for (const cache_group& g : pools_[p].groups) all[p] += own(g, s.n, s.longest, s.shared, true);
    }
    return all;
  }
  [[nodiscard]] std::uint64_t left(std::size_t p) const {
    std::uint64_t sum = look_at::free(*books_, p);
    for (std::size_t i = 0; i <= threading::shards; ++i) sum += look_at::credit(*books_, i, p);
    return sum;
  }
  [[nodiscard]] bool room(const numbers& n, const numbers& floor) const {
    for (std::size_t p = 0; p < Pools; ++p) {
      if (n[p] != 0 && n[p] + floor[p] > left(p)) return false;
    }
    return true;
  }
  void require(bool good, const char* what) {
    if (!good) order_.fail(what);
  }

  // ---- what is looked at
  // -----------------------------------------------------------------------------------------------

  void look() {
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::uint64_t most = *pools_[p].credit;
      std::uint64_t sum = look_at::free(*books_, p);
      require(sum <= pools_[p].capacity, "more units are free than there are");
      peak_[p] = std::max(peak_[p], pools_[p].capacity - sum);
      for (std::size_t i = 0; i <= threading::shards; ++i) {
        const std::uint64_t credit = look_at::credit(*books_, i, p);
        require(credit <= most, "a thread keeps more than it may");
        require(credit == 0 || i != threading::shards, "the shard of all has credit");
        sum += credit;
      }
      require(sum <= pools_[p].capacity, "there are more units than there are");
    }
    require(look_at::owners_differ(*books_), "a thread has two shards, or one that is not its own");
  }
  void rest() {
    look();
    numbers sum{};
    for (const thread& t : threads_) {
      for (const held& h : t.leases) {
        for (std::size_t p = 0; p < Pools; ++p) sum[p] += h.lease.units(p);
      }
    }
    const auto s = books_->snapshot();
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::uint64_t taken = pools_[p].capacity - left(p);
      require(s.shared_runs == 0 ? taken == sum[p] : taken >= sum[p], "what is taken is not what the leases hold");
      require(s.pools[p].reserved == taken, "the snapshot is not what the words say");
      require(look_at::high_water(*books_, p) == peak_[p], "the high water is not the most that was not free");
    }
    std::uint64_t asleep = 0;
    for (std::size_t t = 0; t < order_.size(); ++t) {
      const condition* const on = order_.asleep(t, ~std::uint64_t{0});
      if (on == nullptr) continue;
      ++asleep;
      const thread& who = threads_[t];
      if (on == look_at::first(*books_)) require(!room(who.waits_for, floor_), "who could be served sleeps");
      require(who.waits_with == nullptr || !who.waits_with->requested(), "who is cancelled sleeps");
    }
    require(s.waiting == asleep, "not as many wait as are counted");
    require((asleep != 0) == (look_at::first(*books_) != nullptr), "the queue is not who sleeps");
  }

  // ---- what threads do
  // -------------------------------------------------------------------------------------------------

  [[nodiscard]] request any_request(std::uint64_t behind) {
    return {tokens(behind + random_.between(0, 5)), tokens(random_.between(0, 4))};
  }
  static shape of(const request& r, std::uint64_t shared) {
    return {r.prompt.count(), r.prompt.count(), r.prompt.count() + r.generated.count(), shared};
  }
  [[nodiscard]] const typename books_type::prefix* any_prefix(thread& t) {
    const std::size_t all = prefixes_.size() + t.prefixes.size();
    if (all == 0) return nullptr;
    const std::size_t i = random_.next() % all;
    return i < prefixes_.size() ? &prefixes_[i] : &t.prefixes[i - prefixes_.size()];
  }
  /// Prefixes for all, and leases and forks of them in different threads.
  void prepare() {
    for (std::uint64_t i = random_.between(0, 2); i != 0; --i) {
      const tokens length(random_.between(1, 3) + (prefixes_.empty() ? 0 : prefixes_.back().length().count()));
      auto made = prefixes_.empty() ? books_->try_share(length) : books_->try_share(length, prefixes_.back());
      if (made) prefixes_.push_back(std::move(made));
    }
    for (std::uint64_t i = random_.between(0, 6); i != 0; --i) {
      thread& t = threads_[random_.next() % threads_.size()];
      thread& other = threads_[random_.next() % threads_.size()];
      admit(t, false);
      if (!t.leases.empty() && random_.coin()) fork(t, t.leases.size() - 1, other);
    }
    if (random_.coin()) prefixes_.clear();  // the leases have them
  }
  void work(std::size_t which) {
    thread& t = threads_[which];
    for (std::uint64_t i = random_.between(2, 8); i != 0; --i) {
      exact_ = random_.between(0, 7) != 0 && order_.pause();
      one_call(t);
      order_.end_solo();
    }
  }
  /// Nobody else has run since the call began: it must be exact.
  [[nodiscard]] bool undisturbed(bool began_alone) const { return began_alone && order_.solo(); }

  void one_call(thread& t) {
    const std::size_t i = t.leases.empty() ? 0 : random_.next() % t.leases.size();
    // Without leases: what gets one, or a cancellation.
    const std::uint64_t kind = random_.between(0, 15);
    switch (t.leases.empty() && (kind == 11 ? t.prefixes.empty() : kind > 5 && kind != 10 && kind != 12) ? kind % 6
                                                                                                         : kind) {
      case 0:
      case 1:
      case 2: return admit(t, false);
      case 3:
      case 4:
      case 5: return admit(t, true);
      case 6:
      case 7:
        if (!t.leases.empty()) extend(t.leases[i]);
        return;
      case 8:
        if (!t.leases.empty()) shrink(t.leases[i]);
        return;
      case 9:
        if (!t.leases.empty()) fork(t, i, t);
        return;
      case 10: return share(t);
      case 11:
        if (!t.prefixes.empty()) t.prefixes.pop_back();
        return;
      case 12: return books_->cancel(ends_[random_.next() % ends_.size()]);
      default:
        if (!t.leases.empty()) {
          held out = std::move(t.leases[i]);
          t.leases.erase(t.leases.begin() + static_cast<std::ptrdiff_t>(i));
          out.lease.release();
        }
    }
  }

  void admit(thread& t, bool waits) {
    const bool alone = exact_;
    const auto* const shared = random_.between(0, 2) == 0 ? any_prefix(t) : nullptr;
    const std::uint64_t behind = shared != nullptr ? shared->length().count() : 0;
    const request r = any_request(behind);
    const shape s = of(r, behind);
    const bool fits = room(need(s), floor_), queue = look_at::waiting(*books_) != 0;
    const std::uint64_t began = order_.clock();
    if (waits) {
      const cancellation* const with = random_.coin() ? &ends_[random_.next() % ends_.size()] : nullptr;
      t.waits_for = need(s);
      t.waits_with = with;
      constexpr auto forever = std::chrono::steady_clock::time_point::max();
      held h{shared != nullptr ? books_->admit(r, *shared, forever, with) : books_->admit(r, forever, with), s};
      const rejection why = h.lease.why();
      if (why == rejection::cancelled) require(with != nullptr && with->requested(), "cancelled by nobody");
      if (why == rejection::no_room || why == rejection::others_wait) order_.fail("who waits is told not to");
      // At the end of its time the first one looks once more.
      if (why == rejection::deadline && order_.solo())
        require(!room(need(s), floor_) || look_at::first(*books_) != nullptr, "late, and there was room");
      if (undisturbed(alone) && fits && !queue)
        require(why == rejection::none || why == rejection::never_fits, "not admitted at once");
      return keep(t, std::move(h), began);
    }
    held h{shared != nullptr ? books_->try_admit(r, *shared) : books_->try_admit(r), s};
    const rejection why = h.lease.why();
    if (undisturbed(alone) && why != rejection::never_fits) {
      const rejection right = queue ? rejection::others_wait : fits ? rejection::none : rejection::no_room;
      require(why == right, "an undisturbed admission is not exact");
    }
    keep(t, std::move(h), began);
  }
  void keep(thread& t, held h, std::uint64_t began) {
    if (!h.lease) {
      ++rejected_[static_cast<std::size_t>(h.lease.why())];
      return;
    }
    ++admitted_;
    not_overtaken(began);
    is_right(h);
    t.leases.push_back(std::move(h));
  }
  /// Nobody who slept when a call began, and still does, may be behind it.
  void not_overtaken(std::uint64_t began) {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      require(order_.asleep(i, began) == nullptr, "who waits is overtaken");
    }
  }
  void is_right(const held& h) {
    for (std::size_t p = 0; p < Pools; ++p) require(h.lease.units(p) == need(p, h.is), "a lease has not what it needs");
    require(h.lease.length().count() == h.is.n, "a lease has another length");
  }
  void extend(held& h) {
    const bool alone = exact_;
    shape s = h.is;
    s.n += random_.between(0, 4);
    s.longest = std::max(s.longest, s.n);
    numbers more{};
    for (std::size_t p = 0; p < Pools; ++p) more[p] = need(p, s) > h.lease.units(p) ? need(p, s) - h.lease.units(p) : 0;
    const bool fits = Policy::reserves || room(more, {});
    const rejection why = h.lease.extend(tokens(s.n));
    if (undisturbed(alone)) {
      const rejection right = s.n > s.limit ? rejection::beyond_limit : fits ? rejection::none : rejection::no_room;
      require(why == right, "an undisturbed lease does not grow exactly");
    }
    if (why == rejection::none) h.is = s;
    if (why == rejection::no_room) ++stalled_;
    is_right(h);
  }
  void shrink(held& h) {
    const std::uint64_t n = random_.between(0, h.is.n);
    const rejection why = h.lease.shrink(tokens(n));
    require((why == rejection::none) == (n >= h.is.shared), "a lease is not cut");
    if (why == rejection::none) h.is.n = n;
    is_right(h);
  }
  void fork(thread& t, std::size_t i, thread& to) {
    const bool alone = exact_;
    held& from = t.leases[i];
    const numbers made = run_of(from.is);
    shape s = from.is;
    if (made != numbers{}) s.shared = s.n;
    numbers more{};
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::uint64_t all = made[p] + 2 * need(p, s);
      more[p] = all > from.lease.units(p) ? all - from.lease.units(p) : 0;
    }
    const bool fits = room(more, {});
    held h{from.lease.fork(), s};
    if (undisturbed(alone)) require(static_cast<bool>(h.lease) == fits, "an undisturbed fork is not exact");
    if (!h.lease) {
      ++stalled_;
      return is_right(from);
    }
    ++admitted_;
    from.is = s;
    is_right(from);
    is_right(h);
    to.leases.push_back(std::move(h));
  }
  void share(thread& t) {
    const bool alone = exact_;
    const auto* const parent = random_.coin() ? any_prefix(t) : nullptr;
    const std::uint64_t behind = parent != nullptr ? parent->length().count() : 0;
    const std::uint64_t n = behind + random_.between(0, 4);
    const bool fits = room(run_of({n, n, n, behind}), floor_), queue = look_at::waiting(*books_) != 0;
    const std::uint64_t began = order_.clock();
    auto made = parent != nullptr ? books_->try_share(tokens(n), *parent) : books_->try_share(tokens(n));
    if (undisturbed(alone) && made.why() != rejection::never_fits) {
      const rejection right = queue ? rejection::others_wait : fits ? rejection::none : rejection::no_room;
      require(made.why() == right, "an undisturbed prefix is not exact");
    }
    if (!made) return;
    not_overtaken(began);
    t.prefixes.push_back(std::move(made));
  }

  /// All goes back, in any order, and nothing is left.
  void finish() {
    rest();
    const auto s = books_->snapshot();
    require(s.admitted == admitted_, "not as many were admitted as are counted");
    require(s.stalled == stalled_, "not as many stalled as are counted");
    require(s.rejected == rejected_, "not as many were refused as are counted");
    std::uint64_t out = 0;
    for (thread& t : threads_) out += t.leases.size();
    require(s.sequences == out, "not as many sequences are out as are counted");
    if (random_.coin()) prefixes_.clear();
    while (out-- != 0 && order_.failure().empty()) {
      thread& t = threads_[random_.next() % threads_.size()];
      t.prefixes.clear();
      if (t.leases.empty()) {
        ++out;
        continue;
      }
      t.leases.pop_back();
    }
    for (thread& t : threads_) t.prefixes.clear();
    prefixes_.clear();
    look();
    const auto end = books_->snapshot();
    require(end.sequences == 0 && end.shared_runs == 0 && end.waiting == 0, "something is left");
    require(look_at::positions(*books_) == 0, "positions are left");
    for (std::size_t p = 0; p < Pools; ++p) {
      require(left(p) == pools_[p].capacity, "units are missing");
      require(look_at::unfilled(*books_, p) == 0, "unfilled slots are left");
      require(!Policy::reserves || look_at::resident(*books_, p) == 0, "resident units are left");
    }
  }

  testing::random random_;
  schedule order_;
  std::array<ledger_pool, Pools> pools_{};
  numbers floor_{}, peak_{};
  std::unique_ptr<books_type> books_;
  std::vector<thread> threads_;
  std::vector<typename books_type::prefix> prefixes_;
  std::array<cancellation, 3> ends_{};
  std::uint64_t admitted_ = 0, stalled_ = 0;
  std::array<std::uint64_t, rejections> rejected_{};
  bool exact_ = false;
};

template <class Policy, std::size_t Pools>
void check(std::uint64_t first, std::uint64_t seeds) {
  const char* const times = std::getenv("KVBUDGET_SCHEDULES");
  if (times != nullptr) seeds *= std::max<std::uint64_t>(1, std::strtoull(times, nullptr, 10));
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::string wrong = std::make_unique<program<Policy, Pools>>(seed)->run();
    if (!wrong.empty()) FAIL("seed " << seed << ": " << wrong);
  }
  SUCCEED();
}

}  // namespace

TEST_CASE("random schedules: one pool") {
  check<admit_resident, 1>(1, 20'000);
  check<reserve_to_limit, 1>(1'000'000, 8'000);
}

TEST_CASE("random schedules: several pools, all or nothing") {
  check<admit_resident, 3>(2'000'000, 24'000);
  check<reserve_to_limit, 2>(3'000'000, 12'000);
}
#endif
