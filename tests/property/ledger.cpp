// Random histories of a ledger against a model that keeps every block as an entry of a set and knows no formula. All is
// compared after each step; a history that fails is made shorter until nothing can be left out of it.
#include <algorithm>
#include <kvbudget/core/layers.hpp>
#include <kvbudget/ledger/ledger.hpp>
#include <kvbudget/ledger/from_layers.hpp>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "random.hpp"
#include "support/catch.hpp"

using namespace kvbudget;

namespace {

// ---- the model
// ---------------------------------------------------------------------------------------------------------

using block_set = std::set<std::uint64_t>;
using group_blocks = std::vector<block_set>;  // of each group of all pools, in order

struct model_run {
  std::uint64_t end = 0;
  group_blocks blocks;
  std::vector<std::uint64_t> filled;  // of each group, in positions
  std::shared_ptr<model_run> parent;
  bool reaches_parent = false;
  int window_holders = 0;
};
using run_pointer = std::shared_ptr<model_run>;

struct model_sequence {
  std::uint64_t n = 0, longest = 0, limit = 0;
  run_pointer run;
  bool in_window = false;  // counted in run->window_holders
  [[nodiscard]] std::uint64_t shared() const { return run ? run->end : 0; }
};

template <class Policy, std::size_t Pools>
class model_ledger {
 public:
  model_ledger(const Policy& policy, const std::array<ledger_pool, Pools>& pools) : policy_(policy), pools_(pools) {
    for (const ledger_pool& p : pools) {
      for (const cache_group& g : p.groups) window_ = std::max(window_, g.window.count());
    }
  }

  /// Blocks of a group that are a sequence's own: those of its positions, but for the shared ones and those left
  /// behind.
  static block_set own(const cache_group& g, std::uint64_t n, std::uint64_t longest, std::uint64_t shared) {
    block_set result;
    const std::uint64_t b = g.block_size.count(), w = g.window.count();
    for (std::uint64_t block = shared / b; block * b < n; ++block) {
      const bool left_behind = w != 0 && block * b + b - 1 + w < longest;  // its last position is before the window
      if (!left_behind) result.insert(result.end(), block);
    }
    return result;
  }
  static std::uint64_t filled(const cache_group& g, const block_set& blocks, std::uint64_t n) {
    std::uint64_t sum = 0;
    for (const std::uint64_t block : blocks) {
      for (std::uint64_t position = block * g.block_size.count(); position < (block + 1) * g.block_size.count();
           ++position) {
        const bool attended = g.window.count() == 0 || position + g.window.count() >= n;
        if (attended && position < n) ++sum;
      }
    }
    return sum;
  }
  static bool used(const cache_group& g) { return g.units != 0; }
  static bool grows(const cache_group& g) { return used(g) && g.block_size.count() != 0; }

  [[nodiscard]] std::uint64_t resident(std::size_t p, std::uint64_t n, std::uint64_t longest,
                                       std::uint64_t shared) const {
    std::uint64_t sum = 0;
    for (const cache_group& g : pools_[p].groups) {
      if (!used(g)) continue;
      sum += grows(g) ? own(g, n, longest, shared).size() * g.units : g.units;
    }
    return sum;
  }
  /// What a sequence has of a pool: all that it will need at once, or what it has now.
  [[nodiscard]] std::uint64_t need(std::size_t p, std::uint64_t n, std::uint64_t longest, std::uint64_t limit,
                                   std::uint64_t shared) const {
    if (!Policy::reserves) return resident(p, n, longest, shared);
    std::uint64_t sum = 0;
    for (const cache_group& g : pools_[p].groups) {
      if (!used(g)) continue;
      std::uint64_t most = grows(g) ? 0 : 1;
      for (std::uint64_t m = shared; grows(g) && m <= limit; ++m)
        most = std::max<std::uint64_t>(most, own(g, m, m, shared).size());
      sum += most * g.units;
    }
    return sum;
  }

  [[nodiscard]] std::uint64_t reserved(std::size_t p) const {
    std::uint64_t sum = runs_of(p);
    for (const auto& s : sequences) sum += need(p, s->n, s->longest, s->limit, s->shared());
    return sum;
  }
  [[nodiscard]] std::uint64_t resident(std::size_t p) const {
    std::uint64_t sum = runs_of(p);
    for (const auto& s : sequences) sum += resident(p, s->n, s->longest, s->shared());
    return sum;
  }
  /// In units x the least common multiple of the block sizes.
  [[nodiscard]] std::uint64_t stored(std::size_t p, std::uint64_t common) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < max_groups; ++i) {
      const cache_group& g = pools_[p].groups[i];
      if (!used(g)) continue;
      for (const auto& s : sequences) {
        sum += grows(g)
                   ? filled(g, own(g, s->n, s->longest, s->shared()), s->n) * g.units * (common / g.block_size.count())
                   : g.units * common;
      }
      if (!grows(g)) continue;
      for (const model_run* r : live_runs()) {
        if (g.window.count() == 0 || r->window_holders != 0) {
          sum += r->filled[p * max_groups + i] * g.units * (common / g.block_size.count());
        }
      }
    }
    return sum;
  }

  [[nodiscard]] bool reaches(const run_pointer& r, std::uint64_t longest) const {
    return r && window_ != 0 && longest < r->end + window_;
  }
  void enter(model_sequence& s) {
    s.in_window = reaches(s.run, s.longest);
    if (s.in_window) ++s.run->window_holders;
  }
  void leave(model_sequence& s) {
    if (!s.in_window) return;
    s.in_window = false;
    leave_run(s.run);
  }
  static void leave_run(run_pointer r) {
    while (r && --r->window_holders == 0) r = r->reaches_parent ? r->parent : nullptr;
  }
  run_pointer make_run(std::uint64_t n, std::uint64_t longest, const run_pointer& parent) const {
    auto r = std::make_shared<model_run>();
    r->end = n;
    r->parent = parent;
    r->blocks.resize(Pools * max_groups);
    r->filled.resize(Pools * max_groups);
    for (std::size_t p = 0; p < Pools; ++p) {
      for (std::size_t i = 0; i < max_groups; ++i) {
        const cache_group& g = pools_[p].groups[i];
        if (!grows(g)) continue;
        block_set blocks = own(g, n, longest, parent ? parent->end : 0);
        blocks.erase(n / g.block_size.count());  // not whole
        r->filled[p * max_groups + i] = filled(g, blocks, n);
        r->blocks[p * max_groups + i] = std::move(blocks);
      }
    }
    return r;
  }
  [[nodiscard]] std::uint64_t units_of(const model_run& r, std::size_t p) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < max_groups; ++i) {
      const cache_group& g = pools_[p].groups[i];
      if (grows(g) && (g.window.count() == 0 || r.window_holders != 0))
        sum += r.blocks[p * max_groups + i].size() * g.units;
    }
    return sum;
  }
  [[nodiscard]] std::set<const model_run*> live_runs() const {
    std::set<const model_run*> all;
    const auto add = [&](const run_pointer& r) {
      for (const model_run* at = r.get(); at != nullptr; at = at->parent.get()) all.insert(at);
    };
    for (const auto& s : sequences) add(s->run);
    for (const run_pointer& r : prefixes) add(r);
    return all;
  }
  [[nodiscard]] std::uint64_t runs_of(std::size_t p) const {
    std::uint64_t sum = 0;
    for (const model_run* r : live_runs()) sum += units_of(*r, p);
    return sum;
  }
  [[nodiscard]] std::uint64_t floor(std::size_t p) const {
    return pools_[p].capacity * policy_.watermark.numerator / policy_.watermark.denominator;
  }
  /// Could a sequence of n positions ever be there, alone?
  [[nodiscard]] bool fits_alone(std::uint64_t n, bool beside_watermark) const {
    for (std::size_t p = 0; p < Pools; ++p) {
      std::uint64_t sum = 0;
      for (const cache_group& g : pools_[p].groups) {
        if (!used(g)) continue;
        const std::uint64_t b = g.block_size.count(), w = g.window.count();
        std::uint64_t most = b == 0 ? 1 : (n + b - 1) / b;
        if (b != 0 && w != 0) most = std::min(most, (w - 1 + b - 1) / b + 1);
        sum += most * g.units;
      }
      if (sum + (beside_watermark ? floor(p) : 0) > pools_[p].capacity) return false;
    }
    return true;
  }
  [[nodiscard]] bool room(const std::array<std::uint64_t, Pools>& after, bool beside_watermark) const {
    for (std::size_t p = 0; p < Pools; ++p) {
      // What does not grow in a pool is not looked at there.
      if (after[p] > reserved(p) && after[p] + (beside_watermark ? floor(p) : 0) > pools_[p].capacity) return false;
    }
    return true;
  }

  std::vector<std::unique_ptr<model_sequence>> sequences;
  std::vector<run_pointer> prefixes;

 private:
  Policy policy_;
  std::array<ledger_pool, Pools> pools_;
  std::uint64_t window_ = 0;
};

// ---- histories
// -----------------------------------------------------------------------------------------------------------

/// What it does depends on what there is, so that any part of a history is one too.
struct step {
  enum kind_type : std::uint8_t { admit, extend, shrink, fork, release, move, unwind, share, unshare, kinds } kind;
  std::uint32_t which, a, b;
};

std::string to_string(const std::vector<step>& history) {
  static const char* const names[] = {"admit", "extend", "shrink", "fork",   "release",
                                      "move",  "unwind", "share",  "unshare"};
  std::string text;
  for (const step& s : history) {
    text += std::string("{") + names[s.kind] + ", " + std::to_string(s.which) + ", " + std::to_string(s.a) + ", " +
            std::to_string(s.b) + "} ";
  }
  return text;
}

/// The model with a fault, to see that the comparison finds it.
enum class fault { none, forks_share_partial_blocks };

template <class Policy, std::size_t Pools>
std::optional<std::string> difference(const Policy& policy, const std::array<ledger_pool, Pools>& pools,
                                      const std::vector<step>& history, fault injected = fault::none) {
  ledger<Policy, Pools> books(policy, pools);
  model_ledger<Policy, Pools> m(policy, pools);
  std::vector<typename ledger<Policy, Pools>::lease> leases;
  std::vector<typename ledger<Policy, Pools>::prefix> prefixes;
  std::optional<std::string> found;
  std::size_t at = 0;
  std::uint64_t rejected = 0, stalled = 0, admitted = 0;
  const auto expect = [&](bool same, const std::string& what, std::uint64_t ours, std::uint64_t model) {
    if (!same && !found) {
      found = "step " + std::to_string(at) + ": " + what + " " + std::to_string(ours) + ", in the model " +
              std::to_string(model);
    }
  };
  const auto answer = [&](rejection ours, rejection model) {
    expect(ours == model, "answer", static_cast<std::uint64_t>(ours), static_cast<std::uint64_t>(model));
  };
  std::array<std::uint64_t, Pools> after{};
  for (const step& s : history) {
    const std::size_t lease = leases.empty() ? 0 : s.which % leases.size();
    for (std::size_t p = 0; p < Pools; ++p) after[p] = m.reserved(p);
    switch (s.kind) {
      case step::admit:
      case step::unwind: {
        const std::size_t i = prefixes.empty() ? 0 : s.which % (prefixes.size() + 1);
        const run_pointer run = i == 0 ? nullptr : m.prefixes[i - 1];
        const std::uint64_t prompt = s.a, limit = std::uint64_t{s.a} + s.b;
        rejection expected = rejection::none;
        if (run && prompt < run->end) expected = rejection::wrong_length;
        else if (!m.fits_alone(limit, false) || !m.fits_alone(prompt, true)) expected = rejection::never_fits;
        else {
          for (std::size_t p = 0; p < Pools; ++p) after[p] += m.need(p, prompt, prompt, limit, run ? run->end : 0);
          if (!m.room(after, true)) expected = rejection::no_room;
        }
        const request r(tokens(prompt), tokens(std::uint64_t{s.b}));
        auto made = i == 0 ? books.try_admit(r) : books.try_admit(r, prefixes[i - 1]);
        answer(made.why(), expected);
        (expected == rejection::none ? admitted : rejected) += 1;
        if (!made || expected != rejection::none) break;
        if (s.kind == step::unwind) {
          try {
            const auto owner = std::move(made);
            throw std::runtime_error("the owner's");
          } catch (const std::runtime_error&) {}
          break;
        }
        leases.push_back(std::move(made));
        m.sequences.push_back(std::make_unique<model_sequence>(model_sequence{prompt, prompt, limit, run, false}));
        m.enter(*m.sequences.back());
        break;
      }
      case step::extend: {
        if (leases.empty()) break;
        model_sequence& q = *m.sequences[lease];
        const std::uint64_t n = q.n + s.a % 40, longest = std::max(q.longest, n);
        rejection expected = n > q.limit ? rejection::beyond_limit : rejection::none;
        if (expected == rejection::none) {
          for (std::size_t p = 0; p < Pools; ++p) {
            after[p] += m.need(p, n, longest, q.limit, q.shared());
            after[p] -= m.need(p, q.n, q.longest, q.limit, q.shared());
          }
          if (!m.room(after, false)) expected = rejection::no_room;
        }
        answer(leases[lease].extend(tokens(n)), expected);
        if (expected == rejection::no_room) ++stalled;
        if (expected != rejection::none) break;
        q.n = n;
        q.longest = longest;
        if (q.in_window && !m.reaches(q.run, longest)) m.leave(q);
        break;
      }
      case step::shrink: {
        if (leases.empty()) break;
        model_sequence& q = *m.sequences[lease];
        const std::uint64_t n = s.a % (q.n + 2);
        const rejection expected = n > q.n || n < q.shared() ? rejection::wrong_length : rejection::none;
        answer(leases[lease].shrink(tokens(n)), expected);
        if (expected == rejection::none) q.n = n;
        break;
      }
      case step::fork: {
        if (leases.empty() || leases.size() > 12) break;
        model_sequence& q = *m.sequences[lease];
        run_pointer run = m.make_run(q.n, q.longest, q.run);
        const bool empty =
            std::all_of(run->blocks.begin(), run->blocks.end(), [](const block_set& b) { return b.empty(); });
        if (empty) run = q.run;
        if (!empty) run->window_holders = 1;
        for (std::size_t p = 0; p < Pools; ++p) {
          after[p] -= m.need(p, q.n, q.longest, q.limit, q.shared());
          if (!empty) after[p] += m.units_of(*run, p);
          const std::uint64_t each = m.need(p, q.n, q.longest, q.limit, run ? run->end : 0);
          after[p] += injected == fault::forks_share_partial_blocks ? each : 2 * each;
        }
        const rejection expected = m.room(after, false) ? rejection::none : rejection::no_room;
        auto made = leases[lease].fork();
        answer(made.why(), expected);
        (expected == rejection::none ? admitted : stalled) += 1;
        if (!made || expected != rejection::none) break;
        if (!empty) {
          run->reaches_parent = m.reaches(q.run, q.longest);  // the run takes over the sequence's hold
          run->window_holders = 0;
          q.run = run;
          m.enter(q);
        }
        leases.push_back(std::move(made));
        m.sequences.push_back(std::make_unique<model_sequence>(model_sequence{q.n, q.longest, q.limit, q.run, false}));
        m.enter(*m.sequences.back());
        break;
      }
      case step::release:
      case step::move: {
        if (leases.empty()) break;
        m.leave(*m.sequences[lease]);
        m.sequences.erase(m.sequences.begin() + static_cast<std::ptrdiff_t>(lease));
        if (s.kind == step::release) leases[lease].release();  // and again by erase
        else leases[lease] = typename ledger<Policy, Pools>::lease();
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(lease));
        break;
      }
      case step::share: {
        if (prefixes.size() > 6) break;
        const std::size_t i = s.which % (prefixes.size() + 1);
        const run_pointer parent = i == 0 ? nullptr : m.prefixes[i - 1];
        const std::uint64_t n = s.a;
        const run_pointer run = m.make_run(n, n, parent);
        rejection expected = rejection::none;
        if (parent && n < parent->end) expected = rejection::wrong_length;
        else if (!m.fits_alone(n, true)) expected = rejection::never_fits;
        else {
          run->window_holders = 1;
          for (std::size_t p = 0; p < Pools; ++p) after[p] += m.units_of(*run, p);
          if (!m.room(after, true)) expected = rejection::no_room;
        }
        auto made = i == 0 ? books.try_share(tokens(n)) : books.try_share(tokens(n), prefixes[i - 1]);
        answer(made.why(), expected);
        if (!made || expected != rejection::none) break;
        run->reaches_parent = m.reaches(parent, n);
        if (run->reaches_parent) ++parent->window_holders;
        prefixes.push_back(std::move(made));
        m.prefixes.push_back(run);
        break;
      }
      case step::unshare: {
        if (prefixes.empty()) break;
        const auto i = static_cast<std::ptrdiff_t>(s.which % prefixes.size());
        m.leave_run(m.prefixes[static_cast<std::size_t>(i)]);
        m.prefixes.erase(m.prefixes.begin() + i);
        prefixes.erase(prefixes.begin() + i);
        break;
      }
      case step::kinds: break;
    }
    if (s.b % 2 == 0) {
      for (auto& l : leases) l.publish();
    }
    const ledger_snapshot<Pools> now = books.snapshot();
    for (std::size_t p = 0; p < Pools; ++p) {
      const std::string pool = "pool " + std::to_string(p) + ": ";
      const std::uint64_t reserved = m.reserved(p), resident = m.resident(p);
      expect(now.pools[p].reserved == reserved, pool + "reserved", now.pools[p].reserved, reserved);
      expect(now.pools[p].resident == resident, pool + "resident", now.pools[p].resident, resident);
      expect(now.pools[p].reserved <= pools[p].capacity, pool + "over the budget", now.pools[p].reserved,
             pools[p].capacity);
      if (s.b % 2 == 0) {
        const std::uint64_t common = detail::pool_rule(pools[p]).slots_per_unit;
        const std::uint64_t stored = m.stored(p, common) * pools[p].unit_bytes.count() / common;
        expect(now.pools[p].stored.count() == stored, pool + "stored", now.pools[p].stored.count(), stored);
      }
    }
    expect(now.sequences == m.sequences.size(), "sequences", now.sequences, m.sequences.size());
    expect(now.shared_runs == m.live_runs().size(), "runs", now.shared_runs, m.live_runs().size());
    expect(now.admitted == admitted, "admitted", now.admitted, admitted);
    expect(now.stalled == stalled, "stalled", now.stalled, stalled);
    std::uint64_t sum = 0;
    for (const std::uint64_t n : now.rejected) sum += n;
    expect(sum == rejected, "rejected", sum, rejected);
    if (found) break;
    ++at;
  }
  // In any order: what is shared goes back with the last holder.
  prefixes.clear();
  leases.clear();
  const ledger_snapshot<Pools> end = books.snapshot();
  for (std::size_t p = 0; p < Pools; ++p)
    expect(end.pools[p].reserved == 0, "left at the end", end.pools[p].reserved, 0);
  for (std::size_t p = 0; p < Pools; ++p)
    expect(end.pools[p].stored.count() == 0, "stored at the end", end.pools[p].stored.count(), 0);
  return found;
}

std::vector<step> any_history(testing::random& random, std::size_t size, std::uint64_t longest) {
  std::vector<step> history;
  for (std::size_t i = 0; i < size; ++i) {
    const auto kind =
        static_cast<step::kind_type>(random.coin() ? random.between(0, 1) : random.between(0, step::kinds - 1));
    history.push_back({kind, static_cast<std::uint32_t>(random.between(0, 99)),
                       static_cast<std::uint32_t>(random.between(0, longest)),
                       static_cast<std::uint32_t>(random.between(0, longest))});
  }
  return history;
}

/// Leaves out runs of steps, then makes numbers smaller, as long as it still fails.
template <class Fails>
std::vector<step> shrunk(std::vector<step> history, const Fails& fails) {
  for (std::size_t size = history.size(); size != 0;) {
    const std::size_t before = history.size();
    for (std::size_t at = 0; at < history.size();) {
      std::vector<step> shorter = history;
      const auto from = shorter.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, shorter.size() - at)));
      if (fails(shorter)) history = std::move(shorter);
      else at += size;
    }
    if (history.size() == before || size > 1) size /= 2;
  }
  for (bool again = true; again;) {
    again = false;
    for (step& s : history) {
      for (std::uint32_t step::*number : {&step::which, &step::a, &step::b}) {
        const std::uint32_t was = s.*number;
        for (const std::uint32_t smaller : {std::uint32_t{0}, was / 2, was - 1}) {
          if (was == 0 || s.*number != was) continue;
          s.*number = smaller;
          if (fails(history)) again = true;
          else s.*number = was;
        }
      }
    }
  }
  return history;
}

template <class Policy, std::size_t Pools>
void check(const Policy& policy, const std::array<ledger_pool, Pools>& pools, std::uint64_t seed, int histories) {
  testing::random random(seed);
  for (int i = 0; i < histories; ++i) {
    const std::vector<step> history = any_history(random, 60, 120);
    if (!difference(policy, pools, history)) continue;
    const auto fails = [&](const std::vector<step>& h) { return difference(policy, pools, h).has_value(); };
    const std::vector<step> least = shrunk(history, fails);
    FAIL(*difference(policy, pools, least) << "\n" << to_string(least));
  }
  SUCCEED();
}

constexpr ledger_pool full_pool(std::uint64_t capacity, std::optional<std::uint64_t> credit = {}) {
  return {"full", capacity, 96_B, {{1, 16_tokens, {}}}, credit};
}
constexpr ledger_pool window_pool(std::uint64_t capacity) {
  return {"window", capacity, 64_B, {{2, 8_tokens, 21_tokens}}, {}};
}
constexpr ledger_pool odd_pool(std::uint64_t capacity) {
  return {"odd", capacity, 1_B, {{3, 6_tokens, {}}, {5, 10_tokens, 13_tokens}}, 20U};
}
constexpr ledger_pool state_pool(std::uint64_t capacity) { return {"state", capacity, 1000_B, {{1, {}, {}}}, {}}; }

}  // namespace

TEST_CASE("random histories agree with the model: one pool") {
  check(admit_resident{{0, 1}}, std::array{full_pool(40)}, 1, 40);
  check(admit_resident{{1, 10}}, std::array{full_pool(40, 8)}, 2, 40);
  check(reserve_to_limit{}, std::array{full_pool(60, 10)}, 3, 20);
}

TEST_CASE("random histories agree with the model: windows, odd blocks") {
  check(admit_resident{{1, 20}}, std::array{window_pool(60)}, 4, 30);
  check(reserve_to_limit{}, std::array{window_pool(60)}, 5, 12);
  check(admit_resident{{1, 20}}, std::array{odd_pool(400)}, 6, 30);
  check(reserve_to_limit{}, std::array{odd_pool(600)}, 7, 12);
}

TEST_CASE("random histories agree with the model: several pools at once") {
  const std::array pools{full_pool(40, 6), window_pool(50), state_pool(6), odd_pool(500)};
  check(admit_resident{{1, 20}}, pools, 8, 25);
  check(reserve_to_limit{}, pools, 9, 8);
}

TEST_CASE("a fault is found, and its history made short") {
  const std::array pools{full_pool(10)};
  const admit_resident policy{{0, 1}};
  testing::random random(10);
  const auto fails = [&](const std::vector<step>& h) {
    return difference(policy, pools, h, fault::forks_share_partial_blocks).has_value();
  };
  std::vector<step> history = any_history(random, 200, 120);
  while (!fails(history)) history = any_history(random, 200, 120);
  const std::vector<step> least = shrunk(history, fails);
  // A fork with just enough room for what it does not share: sequences that fill the pool, and the fork.
  CAPTURE(to_string(least));
  CHECK(least.back().kind == step::fork);
  CHECK(least.size() <= 6);
}

TEST_CASE("a pool of layers takes at its limit what the layers take under paged") {
  testing::random random(11);
  for (int i = 0; i < 300; ++i) {
    const full_attention full = grouped_query_attention(random.between(1, 8), 64, bf16);
    const layer_list layers{repeated{random.between(0, 9), full},
                            repeated{random.between(0, 9), with_window(full, tokens(random.between(1, 90)))},
                            repeated{random.between(0, 3), with_window(full, tokens(random.between(1, 90)))},
                            repeated{random.between(0, 3), recurrent_state{random.between(0, 500), bf16}},
                            mla_attention{{1, 512, bf16}, {1, 64, bf16}}};
    const paged policy{tokens(random.between(1, 40))};
    const std::uint64_t prompt = random.between(0, 300), generated = random.between(0, 300);
    const bytes each = total_bytes(layers, policy, uniform_batch{request(tokens(prompt), tokens(generated)), 1});
    CAPTURE(prompt, generated, policy.block_size.count());
    ledger exact(reserve_to_limit{}, byte_pool(layers, policy, each * 3));
    const request r{tokens(prompt), tokens(generated)};
    const auto first = exact.try_admit(r), second = exact.try_admit(r), third = exact.try_admit(r),
               fourth = exact.try_admit(r);
    REQUIRE(first.units(0) == each.count());
    REQUIRE(static_cast<bool>(third));
    REQUIRE(fourth.why() == rejection::no_room);
    if (each.count() != 0) {
      ledger tight(reserve_to_limit{}, byte_pool(layers, policy, each - 1_B));
      REQUIRE(tight.try_admit(r).why() == rejection::never_fits);
    }
  }
}
