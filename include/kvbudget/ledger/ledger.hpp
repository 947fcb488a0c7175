// Admission at run time: whether the next request, or the next block of a running one, fits.
//
//   ledger books(reserve_to_limit{}, ledger_pool{"kv_cache", 28'000, 2_MiB, {{1, 16_tokens}}});
//   if (auto lease = books.try_admit(request(3072_tokens, 1024_tokens))) … else lease.why()
//
// Admitting, extending and giving back allocate nothing and, while nobody waits, take no lock: a compare-exchange per
// pool, and one more where a thread's credit does not suffice; before a refusal the credit of all threads is collected.
// Who waits does so under a mutex, and whoever gives units back meanwhile takes it to wake him.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <kvbudget/ledger/lease.hpp>
#include <kvbudget/ledger/waiting.hpp>

namespace kvbudget {

/// A request is given the units for its whole length, prompt and generation, when it is admitted. No lease ever stalls
/// and none need be preempted; what is reserved and not yet stored is wasted.
struct reserve_to_limit {
  static constexpr bool reserves = true;
  static constexpr share watermark{0, 1};
};

/// A request is given the units of its prompt, if `watermark` of each pool stays free, and takes further ones as it
/// grows, as block-based engines do. More is admitted; but a lease can find no room to grow, and then it must wait for
/// another one to end, or one must be preempted and computed again. The default is that of vLLM before its v1 scheduler
/// (vllm/core/block_manager.py, watermark: 0.01).
struct admit_resident {
  static constexpr bool reserves = false;
  share watermark{1, 100};
};

/// Counts what sequences take of `Pools` pools, all or nothing, from any number of threads. Not movable; leases and
/// prefixes must end before it, and calls must have returned; it aborts with a message if they have not ended. A prefix
/// in a pool with windows keeps the blocks of its windows as long as its handle lives.
template <class Policy = admit_resident, std::size_t Pools = 1, class Threading = standard_threading>
class ledger {
 public:
  static_assert(Pools > 0);
  using policy_type = Policy;
  using units = std::array<std::uint64_t, Pools>;
  using lease = basic_lease<ledger>;
  using prefix = basic_shared_prefix<ledger>;
  using time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t pools = Pools;
  /// Positions of one sequence; a lease counts them in 32 bits.
  static constexpr std::uint64_t max_sequence_length = 0xffff'fffeU;

  /// Raises an overflow where a pool needs more than 64 bits in bytes or positions, or has a share with denominator 0,
  /// and a failure where a pool has no group that takes units of it.
  ledger(const Policy& policy, const std::array<ledger_pool, Pools>& given) : rules_(rules_of(given)), words_(rules_) {
    const auto bound = [&](const units& floor) {
      const limit most = largest_that_fits([&](std::uint64_t n) {
        for (std::size_t p = 0; p < Pools; ++p) {
          if (!(rules_[p].peak(n) + floor[p]).fits(rules_[p].capacity)) return false;
        }
        return true;
      });
      if (most.none) return std::uint64_t{0};
      return most.value < max_sequence_length ? most.value + 1 : max_sequence_length + 1;
    };
    longest_end_ = bound(units{});
    for (std::size_t p = 0; p < Pools; ++p) {
      floor_[p] = policy.watermark.of(rules_[p].capacity).value();
      if (rules_[p].largest_window() > largest_window_) largest_window_ = rules_[p].largest_window();
      plain_ = plain_ && rules_[p].plain;
      if (rules_[p].size != 0 && rules_[p].mask < smallest_mask_) smallest_mask_ = rules_[p].mask;
    }
    prompt_end_ = bound(floor_);
    plain_end_ = plain_ ? prompt_end_ : 0;
  }
  ledger(const Policy& policy, const ledger_pool& only) requires(Pools == 1)
      : ledger(policy, std::array<ledger_pool, Pools>{only}) {}
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  ~ledger() {
    const ledger_snapshot<Pools> end = snapshot();
    bool empty = end.sequences == 0 && end.shared_runs == 0 && end.waiting == 0;
    for (const pool_snapshot& p : end.pools) empty = empty && p.reserved == 0;
    if (empty) return;
    std::fprintf(stderr, "kvbudget: a ledger ends before %llu leases, %llu shared runs and %llu waiting requests do\n",
                 static_cast<unsigned long long>(end.sequences), static_cast<unsigned long long>(end.shared_runs),
                 static_cast<unsigned long long>(end.waiting));
    std::abort();
  }

  /// Positions of the encoder are not counted; a group of fixed units can stand for them. no_room where other calls are
  /// moving units at the same time may be wrong by what they move; while nothing else moves it is exact.
  [[nodiscard, gnu::always_inline]] lease try_admit(const request& r) noexcept {
    // The way of most calls, in short and in place; what it does not take, the long one decides.
    const std::uint64_t n = r.prompt.count();
    auto* const own = words_.at_home();
    if (own != nullptr && n < plain_end_ && r.generated.count() < longest_end_ - n && queue_.size() == 0) [[likely]] {
      const std::uint64_t end = n + r.generated.count();
      units need;
      for (std::size_t p = 0; p < Pools; ++p) need[p] = rules_[p].plain_units(Policy::reserves ? end : n);
      if (words_.take_credit(*own, need, floor_)) [[likely]] {
        const place here{own, true};
        here.add(own->admitted, 1);
        count_plain(here, n, 1);
        const std::uint64_t quiet = ((n - 1) | smallest_mask_) + 1;
        return lease(*this, n, end, quiet < end ? quiet : end, need);
      }
    }
    return try_admit_any(r);
  }
  /// The prompt begins with the prefix, whose blocks are there already. One that was refused is refused here as well,
  /// for the same reason, one that was given back or moved from as `released`; one made by prefix() stands for none.
  [[nodiscard, gnu::noinline]] lease try_admit(const request& r, const prefix& shared) noexcept {
    const auto here = words_.here();
    rejection why = possible(r, shared);
    if (why == rejection::none && queue_.size() != 0) why = rejection::others_wait;
    units need;
    if (why == rejection::none) {
      need = admission(r, shared.run_);
      if (take(here, need, floor_)) return granted(here, r, shared.run_, need);
      why = rejection::no_room;
    }
    return refused(here, why);
  }

  /// Waits for its turn and for room, until `deadline` or until `ended_by` is given to cancel().
  [[nodiscard]] lease admit(const request& r, time deadline, const cancellation* ended_by = nullptr) {
    return admit(r, prefix(), deadline, ended_by);
  }
  [[nodiscard]] lease admit(const request& r, const prefix& shared, time deadline,
                            const cancellation* ended_by = nullptr) {
    const auto here = words_.here();
    rejection why = possible(r, shared);
    if (why == rejection::none) {
      const units need = admission(r, shared.run_);
      if (queue_.size() == 0 && take(here, need, floor_)) return granted(here, r, shared.run_, need);
      const auto attempt = [&] {
        bool moved = false;  // nobody else in the queue could have missed it: only its first one looks
        return words_.take(here, need, floor_, moved);
      };
      why = queue_.wait(attempt, deadline, ended_by);
      if (why == rejection::none) return granted(here, r, shared.run_, need);
    }
    return refused(here, why);
  }

  /// Ends all waits of this ledger that have `c`, and those that will be given it.
  void cancel(cancellation& c) { queue_.cancel(c); }

  /// Units for the whole blocks of the first `length` positions of several prompts. Allocates.
  [[nodiscard]] prefix try_share(tokens length) { return try_share(length, prefix()); }
  /// The same behind another prefix: only what is longer is taken.
  [[nodiscard]] prefix try_share(tokens length, const prefix& parent) {
    const std::uint64_t end = length.count();
    if (parent.why_ != rejection::none) return prefix(parent.why_);
    if (!belongs(parent) || end < parent.length().count()) return prefix(rejection::wrong_length);
    if (end >= prompt_end_) return prefix(rejection::never_fits);
    if (queue_.size() != 0) return prefix(rejection::others_wait);
    run* const made = new run;
    made->end = made->longest = end;
    made->parent = parent.run_;
    made->keeps_window_of_parent = parent.run_ != nullptr && windows_reach(parent.run_, end);
    const auto here = words_.here();
    if (!take(here, run_units(made), floor_)) {
      delete made;
      return prefix(rejection::no_room);
    }
    hold(parent.run_, made->keeps_window_of_parent);
    count_run(here, made);
    return prefix(*this, made);
  }

  [[nodiscard]] ledger_snapshot<Pools> snapshot() const noexcept {
    ledger_snapshot<Pools> s;
    s.admitted = sum([](auto& at) -> auto& { return at.admitted; });
    s.sequences = not_negative(s.admitted - sum([](auto& at) -> auto& { return at.ended; }));
    const std::uint64_t positions = words_.sum([](auto& at) -> auto& { return at.positions; });
    for (std::size_t p = 0; p < Pools; ++p) {
      const detail::pool_rule& rule = rules_[p];
      pool_snapshot& to = s.pools[p];
      to.name = rule.name;
      to.unit_bytes = rule.unit_bytes;
      to.capacity = rule.capacity;
      to.reserved = to.resident = words_.taken(p);
      if constexpr (Policy::reserves)
        to.resident = at_most(to.reserved, sum([p](auto& at) -> auto& { return at.resident[p]; }));
      to.high_water = words_.high_water(p);
      if (to.high_water < to.reserved) to.high_water = to.reserved;
      const std::uint64_t slots = rule.fixed * rule.slots_per_unit * s.sequences + positions * rule.slots_per_position -
                                  words_.sum([p](auto& at) -> auto& { return at.unfilled[p]; });
      to.stored = bytes(rule.bytes_of_slots(at_most(to.resident * rule.slots_per_unit, not_negative(slots))));
    }
    s.shared_runs = sum([](auto& at) -> auto& { return at.runs; });
    s.waiting = queue_.size();
    s.stalled = sum([](auto& at) -> auto& { return at.stalled; });
    for (std::size_t i = 0; i < rejections; ++i) s.rejected[i] = sum([i](auto& at) -> auto& { return at.rejected[i]; });
    return s;
  }

 private:
  friend lease;
  friend prefix;
  template <class>
  friend struct detail::inspection;
  using run = detail::shared_run<Pools, Threading>;
  using words = detail::unit_words<Pools, Threading>;
  using place = typename words::place_type;

  [[nodiscard, gnu::noinline]] lease try_admit_any(const request& r) noexcept {
    queue_.wake();  // whoever waits may have looked while the short way had units of the first pools
    return try_admit(r, prefix());
  }

  static std::array<detail::pool_rule, Pools> rules_of(const std::array<ledger_pool, Pools>& given) {
    std::array<detail::pool_rule, Pools> rules;
    for (std::size_t p = 0; p < Pools; ++p) rules[p] = detail::pool_rule(given[p]);
    return rules;
  }
  static std::uint64_t at_most(std::uint64_t limit, std::uint64_t n) noexcept { return n < limit ? n : limit; }
  /// Of differences: below zero, which can be seen only while something moves, is zero.
  template <class Counter>
  [[nodiscard]] std::uint64_t sum(const Counter& counter) const noexcept {
    return not_negative(words_.sum(counter));
  }
  static std::uint64_t not_negative(std::uint64_t n) noexcept { return n >> 63U != 0 ? 0 : n; }

  [[nodiscard]] bool belongs(const prefix& shared) const noexcept {
    return shared.ledger_ == this || shared.ledger_ == nullptr;
  }
  [[nodiscard]] rejection possible(const request& r, const prefix& shared) const noexcept {
    const std::uint64_t length = detail::saturating_sum(r.prompt.count(), r.generated.count());
    if (shared.why_ != rejection::none) return shared.why_;
    if (!belongs(shared) || r.prompt.count() < shared.length().count()) return rejection::wrong_length;
    if (length >= longest_end_ || r.prompt.count() >= prompt_end_) return rejection::never_fits;
    return shared.run_ == nullptr || fits_beside(shared.run_, r) ? rejection::none : rejection::never_fits;
  }
  /// The prefix is held while the request waits, what of its windows the request itself would leave behind included.
  [[nodiscard]] bool fits_beside(const run* shared, const request& r) const noexcept {
    const units need = admission(r, shared);
    for (std::size_t p = 0; p < Pools; ++p) {
      checked_count sum = checked_count(need[p]) + floor_[p];
      bool windows = true;
      for (const run* at = shared; at != nullptr; windows = windows && at->keeps_window_of_parent, at = at->parent) {
        sum += rules_[p].run_units(false, at->end, at->longest, at->begin());
        if (windows) sum += rules_[p].run_units(true, at->end, at->longest, at->begin());
      }
      if (!sum.fits(rules_[p].capacity)) return false;
    }
    return true;
  }
  [[nodiscard]] units admission(const request& r, const run* shared) const noexcept {
    return needed(r.prompt.count(), r.prompt.count(), r.prompt.count() + r.generated.count(), shared);
  }
  [[nodiscard]] units needed(std::uint64_t n, std::uint64_t longest, std::uint64_t limit,
                             const run* shared) const noexcept {
    const std::uint64_t begin = shared != nullptr ? shared->end : 0;
    units need;
    for (std::size_t p = 0; p < Pools; ++p) {
      if constexpr (Policy::reserves) need[p] = rules_[p].reserved(limit, begin);
      else need[p] = rules_[p].held(n, longest, begin);
    }
    return need;
  }
  [[nodiscard]] bool take(const place& here, const units& n, const units& floor) noexcept {
    bool moved = false;
    const bool taken = words_.take(here, n, floor, moved);
    if (moved) queue_.wake();  // whoever waits may have looked while units were on the move
    return taken;
  }

  lease granted(const place& here, const request& r, run* shared, const units& need) noexcept {
    const std::uint64_t n = r.prompt.count();
    return new_lease(here, n, n, n + r.generated.count(), shared, need);
  }
  lease new_lease(const place& here, std::uint64_t n, std::uint64_t longest, std::uint64_t limit, run* shared,
                  const units& need) noexcept {
    hold(shared, windows_reach(shared, longest));
    lease l;
    l.ledger_ = this;
    l.run_ = shared;
    l.published_ = static_cast<std::uint32_t>(n);
    l.longest_ = static_cast<std::uint32_t>(longest);
    l.limit_ = static_cast<std::uint32_t>(limit);
    l.held_ = need;
    l.be_quiet();
    here.add(here.at->admitted, 1);
    count_sequence(here, n, longest, l.shared(), 1);
    return l;
  }
  [[gnu::always_inline]] void end(const lease& l) noexcept {
    auto* const own = words_.at_home();
    if (own == nullptr || !plain_ || l.run_ != nullptr) [[unlikely]]
      return end_any(l);
    const place here{own, true};
    words_.give(here, l.held_);
    here.add(own->ended, 1);
    count_plain(here, l.published_, -1);
    queue_.wake();
  }
  [[gnu::noinline]] void end_any(const lease& l) noexcept {
    const place here = words_.here();
    here.add(here.at->ended, 1);
    count_sequence(here, l.published_, l.longest_, l.shared(), -1);
    words_.give(here, l.held_);
    if (l.run_ != nullptr) drop(here, l.run_, windows_reach(l.run_, l.longest_));
    queue_.wake();
  }
  lease refused(const place& here, rejection why) noexcept {
    here.add(here.at->rejected[static_cast<std::size_t>(why)], 1);
    return lease(why);
  }

  lease fork(lease& from) {
    const std::uint64_t n = from.positions(), longest = from.longest_so_far();
    run* shared = from.run_;
    run* made = nullptr;
    units of_run{};
    if (has_whole_blocks(n, longest, from.shared())) {
      made = new run;
      made->end = n;
      made->longest = longest;
      made->parent = from.run_;
      made->keeps_window_of_parent = windows_reach(from.run_, longest);
      of_run = run_units(made);
      shared = made;
    }
    // The blocks of the run were the lease's. Both then need what is behind it, under their policy.
    const units each = needed(n, longest, from.limit_, shared);
    units more{}, less{};
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::uint64_t need = detail::saturating_sum(detail::saturating_sum(of_run[p], each[p]), each[p]);
      if (need > from.held_[p]) more[p] = need - from.held_[p];
      else less[p] = from.held_[p] - need;
    }
    const place here = words_.here();
    if (!take(here, more, units{})) {
      delete made;
      here.add(here.at->stalled, 1);
      return lease(rejection::no_room);
    }
    words_.give(here, less);
    count_sequence(here, from.published_, from.longest_, from.shared(), -1);
    if (made != nullptr) {
      // The run takes over the lease's hold on the runs before it.
      count_run(here, made);
      from.run_ = made;
      if (!windows_reach(made, longest)) drop_windows(here, made);
    }
    count_sequence(here, n, longest, from.shared(), 1);
    from.published_ = from.positions();
    from.grown_ = 0;
    from.longest_ = static_cast<std::uint32_t>(longest);
    from.held_ = each;
    from.be_quiet();
    lease child = new_lease(here, n, longest, from.limit_, shared, each);
    queue_.wake();
    return child;
  }

  // ---- shared runs
  // ----------------------------------------------------------------------------------------------------

  [[nodiscard]] bool windows_reach(const run* r, std::uint64_t longest) const noexcept {
    return r != nullptr && largest_window_ != 0 && longest < detail::saturating_sum(r->end, largest_window_);
  }
  [[nodiscard]] bool has_whole_blocks(std::uint64_t n, std::uint64_t longest, std::uint64_t begin) const noexcept {
    for (const detail::pool_rule& rule : rules_) {
      if (rule.run_units(false, n, longest, begin) + rule.run_units(true, n, longest, begin) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] units run_units(const run* r) const noexcept {
    units sum;
    for (std::size_t p = 0; p < Pools; ++p) {
      sum[p] = rules_[p].run_units(false, r->end, r->longest, r->begin()) +
               rules_[p].run_units(true, r->end, r->longest, r->begin());
    }
    return sum;
  }
  static void hold(run* r, bool window) noexcept {
    if (r == nullptr) return;
    r->references.fetch_add(1);
    if (window) r->window_references.fetch_add(1);
  }
  void drop(const place& here, run* r, bool window) noexcept {
    if (window) drop_windows(here, r);
    while (r != nullptr && r->references.fetch_sub(1) == 1) {
      run* const parent = r->parent;
      give_back(here, r, false);
      here.add(here.at->runs, ~std::uint64_t{0});
      delete r;
      r = parent;
    }
  }
  void drop_windows(const place& here, run* r) noexcept {
    while (r != nullptr && r->window_references.fetch_sub(1) == 1) {
      give_back(here, r, true);
      r = r->keeps_window_of_parent ? r->parent : nullptr;
    }
  }
  void give_back(const place& here, const run* r, bool windows) noexcept {
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::uint64_t n = rules_[p].run_units(windows, r->end, r->longest, r->begin());
      if constexpr (Policy::reserves) here.add(here.at->resident[p], 0 - n);
      here.add(here.at->unfilled[p], rules_[p].run_filled(windows, r->end, r->longest, r->begin()));
      words_.give(here, p, n);
    }
  }

  // ---- statistics
  // -----------------------------------------------------------------------------------------------------

  void count_sequence(const place& here, std::uint64_t n, std::uint64_t longest, std::uint64_t shared,
                      int sign) noexcept {
    here.add(here.at->positions, sign < 0 ? 0 - n : n);
    for (std::size_t p = 0; p < Pools; ++p) {
      if (shared != 0 || largest_window_ != 0) {
        const std::uint64_t unfilled = rules_[p].unfilled(n, longest, shared);
        here.add(here.at->unfilled[p], sign < 0 ? 0 - unfilled : unfilled);
      }
      if constexpr (Policy::reserves) {
        const std::uint64_t held = rules_[p].held(n, longest, shared);
        here.add(here.at->resident[p], sign < 0 ? 0 - held : held);
      }
    }
  }
  [[gnu::always_inline]] void count_plain(const place& here, std::uint64_t n, int sign) noexcept {
    here.add(here.at->positions, sign < 0 ? 0 - n : n);
    if constexpr (Policy::reserves) {
      for (std::size_t p = 0; p < Pools; ++p) {
        const std::uint64_t held = rules_[p].plain_units(n);
        here.add(here.at->resident[p], sign < 0 ? 0 - held : held);
      }
    }
  }
  void count_run(const place& here, const run* r) noexcept {
    here.add(here.at->runs, 1);
    for (std::size_t p = 0; p < Pools; ++p) {
      for (const bool windows : {false, true}) {
        if constexpr (Policy::reserves) {
          here.add(here.at->resident[p], rules_[p].run_units(windows, r->end, r->longest, r->begin()));
        }
        here.add(here.at->unfilled[p], 0 - rules_[p].run_filled(windows, r->end, r->longest, r->begin()));
      }
    }
  }

  std::array<detail::pool_rule, Pools> rules_;
  units floor_{};
  std::uint64_t longest_end_ = 0;  // positions of a sequence, below this, fit into the empty pools
  std::uint64_t prompt_end_ = 0;   // and beside the watermark
  std::uint64_t plain_end_ = 0;    // the same if all pools are plain, else 0
  std::uint64_t largest_window_ = 0;
  std::uint64_t smallest_mask_ = (std::uint64_t{1} << 40U) - 1;  // of the smallest block, less one
  bool plain_ = true;                                            // all pools are
  words words_;
  wait_queue<Threading> queue_;
};
template <class Policy>
ledger(Policy, ledger_pool) -> ledger<Policy, 1>;
template <class Policy, std::size_t Pools>
ledger(Policy, std::array<ledger_pool, Pools>) -> ledger<Policy, Pools>;

}  // namespace kvbudget
