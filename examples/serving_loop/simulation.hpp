// A server in steps: it admits from its queue, computes one position of every running sequence, and ends some of them.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <kvbudget/report/plot.hpp>
#include <vector>

#include "prefix_cache.hpp"
#include "trace.hpp"

namespace serving {

struct settings {
  double step_seconds = 0.03;        // of one position of all running sequences, however many
  std::uint64_t reserve_length = 0;  // positions that each request is given, whatever it asks for; 0: its own
  bool share_prefixes = false;
};

struct outcome {
  std::uint64_t requests = 0, served = 0, cancelled = 0, refused = 0, preempted = 0, waited = 0;
  std::uint64_t most_running = 0;
  std::uint64_t looked_up = 0, found = 0;      // blocks of 512 positions, whole ones
  double seconds = 0;                          // until the last one ended
  double waiting_seconds = 0;                  // of all from arrival to first admission
  double reserved_sum = 0, wasted_sum = 0;     // bytes, every tenth step
  std::uint64_t most_reserved = 0;             // bytes
  std::vector<kvbudget::plot_point> reserved;  // GiB over seconds
  std::vector<kvbudget::plot_point> stored;

  [[nodiscard]] double wasted_share() const { return reserved_sum == 0 ? 0 : wasted_sum / reserved_sum; }
};

/// A server with a ledger of one pool, and the requests of a trace.
template <class Ledger>
class server {
 public:
  server(const trace& t, Ledger& books, const settings& s, const std::function<void(const Ledger&)>& event)
      : t_(t), books_(books), s_(s), event_(event) {
    result_.requests = t.arrivals.size();
  }

  outcome run() {
    while (next_ < t_.arrivals.size() || !queue_.empty() || !running_.empty()) {
      if (queue_.empty() && running_.empty()) now_ = std::max(now_, t_.arrivals[next_].seconds);
      while (next_ < t_.arrivals.size() && t_.arrivals[next_].seconds <= now_)
        queue_.push_back({&t_.arrivals[next_++]});
      drop_cancelled();
      admit_all();
      compute_one_position();
      end_finished();
      now_ += s_.step_seconds;
      if (++steps_ % 10 == 0) sample();
    }
    result_.seconds = now_;
    const kvbudget::pool_snapshot end = books_.snapshot().pools[0];
    result_.most_reserved = (end.unit_bytes * end.high_water).count();
    result_.looked_up = cache_.looked_up;
    result_.found = cache_.found;
    return std::move(result_);
  }

 private:
  struct job {
    const arrival* from;
    std::uint64_t done = 0;  // positions generated so far; after a preemption they are part of the prompt
    bool tried = false;
    bool admitted_before = false;
    typename Ledger::lease lease{};
  };

  /// Given up by their users.
  void drop_cancelled() {
    const auto gone = [&](const job& j) { return j.from->cancelled && *j.from->cancelled <= now_; };
    const std::size_t before = queue_.size() + running_.size();
    queue_.erase(std::remove_if(queue_.begin(), queue_.end(), gone), queue_.end());
    running_.erase(std::remove_if(running_.begin(), running_.end(), gone), running_.end());
    if (before == queue_.size() + running_.size()) return;
    result_.cancelled += before - queue_.size() - running_.size();
    event_(books_);
  }

  /// First come, first served.
  void admit_all() {
    using kvbudget::rejection;
    while (!queue_.empty()) {
      job& j = queue_.front();
      const rejection why = admit(j);
      event_(books_);
      if (why == rejection::never_fits) {
        ++result_.refused;
        queue_.pop_front();
        continue;
      }
      if (why != rejection::none) break;
      if (!j.admitted_before) {
        const double waited = now_ - j.from->seconds;
        result_.waiting_seconds += waited;
        if (waited > s_.step_seconds) ++result_.waited;
      }
      j.admitted_before = true;
      running_.push_back(std::move(j));
      queue_.pop_front();
    }
    result_.most_running = std::max<std::uint64_t>(result_.most_running, running_.size());
  }
  kvbudget::rejection admit(job& j) {
    using namespace kvbudget;
    const arrival& a = *j.from;
    const std::uint64_t prompt = a.prompt + j.done, left = a.generated - j.done;
    const std::uint64_t generated = std::max(left, s_.reserve_length > prompt ? s_.reserve_length - prompt : 0);
    const request r{tokens(prompt), tokens(generated)};
    if (!s_.share_prefixes) {
      j.lease = books_.try_admit(r);
      return j.lease.why();
    }
    const auto& shared = cache_.hold(books_, a.hash_ids, a.prompt, true, !std::exchange(j.tried, true));
    do {
      j.lease = books_.try_admit(r, shared);
    } while (j.lease.why() == rejection::no_room && cache_.evict(shared));
    return j.lease.why();
  }

  /// One position for each; who has no room takes it from the one that came last.
  void compute_one_position() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      job& j = running_[i];
      bool there = true;
      while (j.lease.extend(j.lease.length() + kvbudget::tokens(1U)) == kvbudget::rejection::no_room) {
        if (cache_.evict()) continue;
        there = i + 1 != running_.size();
        preempt_last();
        if (!there) break;
      }
      if (there) ++running_[i].done;
    }
  }
  void preempt_last() {
    job& last = running_.back();
    last.lease.release();
    ++result_.preempted;
    queue_.push_front(std::move(last));
    running_.pop_back();
    event_(books_);
  }

  void end_finished() {
    const auto finished = [](const job& j) { return j.done >= j.from->generated; };
    const std::size_t all = running_.size();
    running_.erase(std::remove_if(running_.begin(), running_.end(), finished), running_.end());
    if (all == running_.size()) return;
    result_.served += all - running_.size();
    event_(books_);
  }

  /// Means over a sixtieth of the trace each; who takes longer than a fifth more is not drawn to the end.
  void sample() {
    for (job& j : running_) j.lease.publish();
    const kvbudget::pool_snapshot p = books_.snapshot().pools[0];
    result_.reserved_sum += static_cast<double>(p.reserved_bytes().count());
    result_.wasted_sum += static_cast<double>(p.wasted().count());
    point_.reserved += static_cast<double>(p.reserved_bytes().count());
    point_.stored += static_cast<double>(p.stored.count());
    ++point_.samples;
    const double span = std::max(1.0, t_.arrivals.back().seconds);
    if (now_ - point_.since < span / 60 || now_ > 1.2 * span) return;
    const double unit = static_cast<double>(point_.samples) * static_cast<double>(kvbudget::gib);
    result_.reserved.push_back({point_.since, point_.reserved / unit});
    result_.stored.push_back({point_.since, point_.stored / unit});
    point_ = {now_, 0, 0, 0};
  }

  const trace& t_;
  Ledger& books_;
  const settings& s_;
  const std::function<void(const Ledger&)>& event_;
  outcome result_;
  prefix_cache<Ledger> cache_;
  std::deque<job> queue_;
  std::vector<job> running_;
  struct {
    double since = 0, reserved = 0, stored = 0;
    std::uint64_t samples = 0;
  } point_;
  double now_ = 0;
  std::size_t next_ = 0, steps_ = 0;
};

/// Runs all requests of a trace through a ledger of one pool. `event` is called after everything that changes it.
template <class Ledger>
outcome simulate(const trace& t, Ledger& books, const settings& s, const std::function<void(const Ledger&)>& event) {
  return server<Ledger>(t, books, s, event).run();
}

}  // namespace serving
