// Requests that wait for room, first come, first served.
//
// Nobody who could be served sleeps: a waiter counts itself in `waiting_` before it looks at the units, and whoever
// gives units back looks at `waiting_` afterwards. Both orders are sequentially consistent, so at least one sees the
// other; the mutex is held from the waiter's look until it sleeps, and is taken to wake it.
#pragma once

#include <chrono>
#include <kvbudget/ledger/words.hpp>

namespace kvbudget {

/// Ends waits before their time: ledger::cancel(). It must outlive the waits that it is given to.
class cancellation {
 public:
  [[nodiscard]] bool requested() const noexcept { return requested_.load(); }

 private:
  template <class>
  friend class wait_queue;
  std::atomic<bool> requested_{false};
};

template <class Threading>
class wait_queue {
 public:
  using time = std::chrono::steady_clock::time_point;

  /// How many wait.
  [[nodiscard]] std::uint64_t size() const noexcept { return waiting_.load(); }

  /// To be called after units were given back.
  [[gnu::always_inline]] void wake() {
    if (waiting_.load() != 0) notify();
  }

  void cancel(cancellation& c) {
    c.requested_.store(true);
    const std::lock_guard lock(mutex_);
    for (waiter* w = first_; w != nullptr; w = w->next) {
      if (w->ended_by == &c) w->changed.notify_one();
    }
  }

  /// Calls `attempt` when it is this caller's turn and units have come back, until it returns true. Only the first in
  /// the queue tries, so a large request is not overtaken by small ones.
  template <class Attempt>
  [[nodiscard]] rejection wait(const Attempt& attempt, time deadline, const cancellation* ended_by) {
    std::unique_lock lock(mutex_);
    waiter me{{}, ended_by, last_, nullptr};
    (last_ != nullptr ? last_->next : first_) = &me;
    last_ = &me;
    waiting_.fetch_add(1);
    rejection result = rejection::none;
    for (bool late = false;;) {
      if (ended_by != nullptr && ended_by->requested()) result = rejection::cancelled;
      else if (first_ == &me && attempt()) result = rejection::none;
      else if (late) result = rejection::deadline;
      else {
        late = me.changed.wait_until(lock, deadline) == std::cv_status::timeout;
        continue;
      }
      break;
    }
    (me.previous != nullptr ? me.previous->next : first_) = me.next;
    (me.next != nullptr ? me.next->previous : last_) = me.previous;
    waiting_.fetch_sub(1);
    if (first_ != nullptr) first_->changed.notify_one();
    return result;
  }

 private:
  template <class>
  friend struct detail::inspection;
  struct waiter {
    typename Threading::condition changed;
    const cancellation* ended_by;
    waiter* previous;
    waiter* next;
  };

  [[gnu::noinline]] void notify() {
    const std::lock_guard lock(mutex_);
    if (first_ != nullptr) first_->changed.notify_one();
  }

  typename Threading::mutex mutex_;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
  typename Threading::template word<std::uint64_t> waiting_{0};
};

}  // namespace kvbudget
