// A server in steps: it admits from its queue, computes one position of every running sequence, and ends some of them.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <kvbudget/plot.hpp>
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

/// Runs all requests of a trace through a ledger of one pool. `event` is called after everything that changes it.
template <class Ledger>
outcome simulate(const trace& t, Ledger& books, const settings& s, const std::function<void(const Ledger&)>& event) {
  using namespace kvbudget;
  struct job {
    const arrival* from;
    std::uint64_t done = 0;  // positions generated so far; after a preemption they are part of the prompt
    bool tried = false;
    bool admitted_before = false;
    typename Ledger::lease lease{};
  };
  outcome result;
  prefix_cache<Ledger> cache;
  std::deque<job> queue;
  std::vector<job> running;
  result.requests = t.arrivals.size();
  struct {
    double since = 0, reserved = 0, stored = 0;
    std::uint64_t samples = 0;
  } point;
  double now = 0;
  std::size_t next = 0, steps = 0;

  const auto admit = [&](job& j) {
    const arrival& a = *j.from;
    const std::uint64_t prompt = a.prompt + j.done, left = a.generated - j.done;
    const std::uint64_t generated = std::max(left, s.reserve_length > prompt ? s.reserve_length - prompt : 0);
    const request r{tokens(prompt), tokens(generated)};
    if (!s.share_prefixes) {
      j.lease = books.try_admit(r);
      return j.lease.why();
    }
    const auto& shared = cache.hold(books, a.hash_ids, a.prompt, true, !std::exchange(j.tried, true));
    do {
      j.lease = books.try_admit(r, shared);
    } while (j.lease.why() == rejection::no_room && cache.evict(shared));
    return j.lease.why();
  };
  const auto preempt_last = [&] {
    job& last = running.back();
    last.lease.release();
    ++result.preempted;
    queue.push_front(std::move(last));
    running.pop_back();
    event(books);
  };

  while (next < t.arrivals.size() || !queue.empty() || !running.empty()) {
    if (queue.empty() && running.empty()) now = std::max(now, t.arrivals[next].seconds);
    for (; next < t.arrivals.size() && t.arrivals[next].seconds <= now; ++next) queue.push_back({&t.arrivals[next]});

    // Given up by their users.
    const auto gone = [&](const job& j) { return j.from->cancelled && *j.from->cancelled <= now; };
    const std::size_t before = queue.size() + running.size();
    queue.erase(std::remove_if(queue.begin(), queue.end(), gone), queue.end());
    running.erase(std::remove_if(running.begin(), running.end(), gone), running.end());
    if (before != queue.size() + running.size()) {
      result.cancelled += before - queue.size() - running.size();
      event(books);
    }

    // First come, first served.
    while (!queue.empty()) {
      job& j = queue.front();
      const rejection why = admit(j);
      event(books);
      if (why == rejection::never_fits) {
        ++result.refused;
        queue.pop_front();
        continue;
      }
      if (why != rejection::none) break;
      if (!j.admitted_before) {
        const double waited = now - j.from->seconds;
        result.waiting_seconds += waited;
        if (waited > s.step_seconds) ++result.waited;
      }
      j.admitted_before = true;
      running.push_back(std::move(j));
      queue.pop_front();
    }
    result.most_running = std::max<std::uint64_t>(result.most_running, running.size());

    // One position for each; who has no room takes it from the one that came last.
    for (std::size_t i = 0; i < running.size(); ++i) {
      job& j = running[i];
      bool there = true;
      while (j.lease.extend(j.lease.length() + tokens(1U)) == rejection::no_room) {
        if (cache.evict()) continue;
        there = i + 1 != running.size();
        preempt_last();
        if (!there) break;
      }
      if (there) ++running[i].done;
    }
    const auto finished = [](const job& j) { return j.done >= j.from->generated; };
    const std::size_t all = running.size();
    running.erase(std::remove_if(running.begin(), running.end(), finished), running.end());
    if (all != running.size()) {
      result.served += all - running.size();
      event(books);
    }

    now += s.step_seconds;
    if (++steps % 10 != 0) continue;
    for (job& j : running) j.lease.publish();
    const pool_snapshot p = books.snapshot().pools[0];
    result.reserved_sum += static_cast<double>(p.reserved_bytes().count());
    result.wasted_sum += static_cast<double>(p.wasted().count());
    // Means over a sixtieth of the trace each; who takes longer than a fifth more is not drawn to the end.
    point.reserved += static_cast<double>(p.reserved_bytes().count());
    point.stored += static_cast<double>(p.stored.count());
    ++point.samples;
    const double span = std::max(1.0, t.arrivals.back().seconds);
    if (now - point.since < span / 60 || now > 1.2 * span) continue;
    const double unit = static_cast<double>(point.samples) * static_cast<double>(gib);
    result.reserved.push_back({point.since, point.reserved / unit});
    result.stored.push_back({point.since, point.stored / unit});
    point.since = now;
    point.reserved = point.stored = 0;
    point.samples = 0;
  }
  result.seconds = now;
  const pool_snapshot end = books.snapshot().pools[0];
  result.most_reserved = (end.unit_bytes * end.high_water).count();
  result.looked_up = cache.looked_up;
  result.found = cache.found;
  return result;
}

}  // namespace serving
