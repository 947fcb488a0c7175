// Real traces from end to end, under all three policies, with the invariant checked at every event and nothing left at
// the end; and what the ledger counts of shared prefixes against what is in the file.
//
//   ledger_traces FILE...
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "../examples/serving_loop/simulation.hpp"

namespace {

using namespace kvbudget;

void require(bool good, const std::string& what) {
  if (!good) throw std::logic_error(what);
}

ledger_pool pool_of(std::uint64_t capacity) {
  return {"kv_cache", capacity, bytes(2 * mib), {{1, tokens(16U), {}}}, {}};
}

template <class Books>
void require_empty(const Books& books) {
  const auto end = books.snapshot();
  require(end.sequences == 0 && end.shared_runs == 0 && end.waiting == 0, "a lease is left");
  require(end.pools[0].reserved == 0 && end.pools[0].resident == 0 && end.pools[0].stored == bytes(), "units are left");
}

template <class Policy>
serving::outcome run(const serving::trace& t, const Policy& policy, std::uint64_t capacity, std::uint64_t slot,
                     bool share) {
  ledger books(policy, pool_of(capacity));
  using books_type = decltype(books);
  std::uint64_t events = 0;
  serving::settings s;
  s.reserve_length = slot;
  s.share_prefixes = share;
  const serving::outcome o = serving::simulate<books_type>(t, books, s, [&](const books_type& b) {
    const auto now = b.snapshot();
    const pool_snapshot& p = now.pools[0];
    require(p.reserved <= p.capacity && p.resident <= p.reserved && p.high_water <= p.capacity, "over the budget");
    require(p.stored <= p.resident_bytes(), "more stored than resident");
    require(now.sequences <= now.admitted, "more sequences than admissions");
    if (Policy::reserves) require(p.reserved == now.sequences * (slot / 16), "not a slot for each");
    ++events;
  });
  require_empty(books);
  require(o.served == t.arrivals.size() && o.refused == 0 && o.cancelled == 0, "not all were served");
  require(!Policy::reserves || o.preempted == 0, "a reservation was preempted");
  std::printf("  %s%s: %llu events, %llu preempted, at most %llu at once\n", Policy::reserves ? "slots" : "blocks",
              share ? ", prefixes" : "", static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(o.preempted), static_cast<unsigned long long>(o.most_running));
  return o;
}

/// With room for everything: blocks of prompts, and those of them that were there already.
std::pair<std::uint64_t, std::uint64_t> seen_before(const serving::trace& t, bool only_whole_blocks) {
  ledger books(admit_resident{{0, 1}}, pool_of(std::uint64_t{1} << 40U));
  std::uint64_t blocks = 0;
  std::set<std::uint64_t> distinct;
  std::pair<std::uint64_t, std::uint64_t> result;
  {
    serving::prefix_cache<decltype(books)> cache;
    for (const serving::arrival& a : t.arrivals) {
      const auto& shared = cache.hold(books, a.hash_ids, a.prompt, only_whole_blocks, true);
      const auto lease = books.try_admit(request(tokens(a.prompt), tokens(a.generated)), shared);
      require(static_cast<bool>(lease), "no room without a limit");
      const std::uint64_t end = only_whole_blocks ? a.prompt / 512 * 512 : a.prompt;
      for (std::uint64_t at = 0; at < end; at += 512) {
        if (distinct.insert(a.hash_ids[at / 512]).second) blocks += (end < at + 512 ? end - at : 512) / 16;
      }
    }
    const auto now = books.snapshot();
    require(now.shared_runs == distinct.size(), "not a run for every block that was new");
    require(now.pools[0].reserved == blocks, "blocks that were seen before are counted again");
    result = {cache.found, cache.looked_up};
  }
  require_empty(books);
  return result;
}

void run(const std::string& file) {
  const serving::trace t = serving::read_trace(file);
  std::printf("%s: %zu requests\n", t.name.c_str(), t.arrivals.size());
  std::uint64_t longest = 0;
  for (const serving::arrival& a : t.arrivals) longest = std::max(longest, a.prompt + a.generated);
  std::uint64_t slot = 4096;
  while (slot < longest) slot *= 2;
  // Tight, so that there is something to wait for and to preempt: twice the longest request and ten times.
  run(t, reserve_to_limit{}, 10 * slot / 16, slot, false);
  run(t, admit_resident{}, 2 * slot / 16, 0, false);
  if (t.name == "azure_code_2023.csv") require(t.arrivals.size() == 8'819, "8,819 requests");
  if (t.name == "azure_conv_2023.csv") require(t.arrivals.size() == 19'366, "19,366 requests");
  if (t.name != "mooncake_conversation.jsonl") return;
  require(t.arrivals.size() == 12'031, "12,031 requests");
  run(t, admit_resident{}, 2 * slot / 16, 0, true);
  const serving::outcome unlimited = run(t, admit_resident{}, std::uint64_t{1} << 40U, 0, true);
  require(unlimited.preempted == 0 && unlimited.waited == 0, "somebody waited without a limit");
  const std::pair<std::uint64_t, std::uint64_t> whole{105'592, 276'491}, all{105'710, 288'500};
  require(std::pair(unlimited.found, unlimited.looked_up) == whole,
          "105,592 of 276,491 whole blocks, in the simulation");
  require(seen_before(t, true) == whole, "105,592 of 276,491 whole blocks");
  require(seen_before(t, false) == all, "105,710 of 288,500 blocks, the last ones of prompts included");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) run(argv[i]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return argc > 1 ? 0 : 2;
}
