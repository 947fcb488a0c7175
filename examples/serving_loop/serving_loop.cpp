// One device, one load, three ways to admit: a slot of the longest length for every request, blocks as they are needed,
// and blocks of which equal beginnings of prompts are kept once.
//
//   serving_loop [--svg FILE] [TRACE.csv | TRACE.jsonl]...
//
// Without a trace it runs a small synthetic one. With --svg it draws the use of the cache over time, of the last trace.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <kvbudget/report/format.hpp>
#include <kvbudget/core.hpp>
#include <kvbudget/ledger/from_layers.hpp>
#include <kvbudget/ledger/metrics.hpp>
#include <kvbudget/report/report.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace {

using namespace kvbudget;

/// Llama 3.1 8B on 80 GiB, of which 0.9 are used, 3 GiB for all else: what is left for the cache, in blocks of 16
/// tokens.
constexpr full_attention layer = grouped_query_attention(8, 128, bf16);
constexpr bytes weights(16'060'522'240U), gib_80(80 * gib), gib_3(3 * gib), mib_512(512 * mib);
constexpr device_budget card{gib_80, {9, 10}, weights, gib_3, {0, 1}};
constexpr paged blocks_of_16{tokens(16U)};

ledger_pool pool_of(bytes budget) {
  const bytes block = total_bytes(repeated{32, layer}, blocks_of_16, uniform_batch{request(tokens(16U), tokens()), 1});
  return {"kv_cache", budget / block, block, {{1, blocks_of_16.block_size, {}}}, 0U};
}

/// The invariant at every event, and nothing left at the end.
template <class Policy>
serving::outcome run(const serving::trace& t, const Policy& policy, const ledger_pool& pool,
                     const serving::settings& s) {
  ledger books(policy, pool);
  using books_type = decltype(books);
  const std::function<void(const books_type&)> event = [](const books_type& b) {
    const pool_snapshot p = b.snapshot().pools[0];
    if (p.reserved > p.capacity || p.resident > p.reserved) throw std::logic_error("over the budget");
  };
  serving::outcome result = serving::simulate(t, books, s, event);
  const auto end = books.snapshot();
  if (end.sequences != 0 || end.shared_runs != 0 || end.pools[0].reserved != 0 || end.pools[0].stored != bytes()) {
    throw std::logic_error("something is left");
  }
  return result;
}

void print(const char* policy, const serving::outcome& o) {
  fmt::print("  {:<19} {:>6} {:>7} {:>9.1f} {:>8} {:>9} {:>9.2f} {:>7.1f} {:>8.0f}", policy, o.served, o.waited,
             o.waiting_seconds / static_cast<double>(o.requests), o.most_running, o.preempted,
             static_cast<double>(o.most_reserved) / static_cast<double>(gib), 100 * o.wasted_share(), o.seconds);
  if (o.looked_up != 0) fmt::print("   {:L} of {:L} blocks found", o.found, o.looked_up);
  fmt::print("\n");
}

void compare(const serving::trace& t, bytes budget, const std::string& svg) {
  std::uint64_t longest = 0, cancelled = 0;
  for (const serving::arrival& a : t.arrivals) {
    longest = std::max(longest, a.prompt + a.generated);
    cancelled += a.cancelled ? 1 : 0;
  }
  std::uint64_t slot = 4096;  // the smallest power of two that all requests fit into
  while (slot < longest) slot *= 2;
  const ledger_pool pool = pool_of(budget);
  fmt::print("{}: {} requests in {:.0f} s, the longest of {} positions, {} given up\n", t.name, t.arrivals.size(),
             t.arrivals.empty() ? 0.0 : t.arrivals.back().seconds, longest, cancelled);
  fmt::print("{} blocks of {}: {:.2g}\n", pool.capacity, pool.unit_bytes, pool.unit_bytes * pool.capacity);
  fmt::print("  {:<19} {:>6} {:>7} {:>9} {:>8} {:>9} {:>9} {:>7} {:>8}\n", "policy", "served", "waited", "mean s",
             "running", "preempted", "GiB", "waste %", "end s");
  serving::settings s;
  s.reserve_length = slot;
  const serving::outcome slots = run(t, reserve_to_limit{}, pool, s);
  print(fmt::format("slots of {}", slot).c_str(), slots);
  s.reserve_length = 0;
  const serving::outcome blocks = run(t, admit_resident{}, pool, s);
  print("blocks", blocks);
  serving::outcome shared;
  const bool has_ids =
      std::any_of(t.arrivals.begin(), t.arrivals.end(), [](const auto& a) { return !a.hash_ids.empty(); });
  if (has_ids) {
    s.share_prefixes = true;
    shared = run(t, admit_resident{}, pool, s);
    print("blocks, prefixes", shared);
  }
  fmt::print("\n");
  if (svg.empty()) return;
  plot picture;
  picture.title = "The cache over time: " + t.name;
  picture.x_label = "seconds";
  picture.y_label = "GiB";
  picture.lines.push_back({"slots: reserved", slots.reserved, true});
  picture.lines.push_back({"slots: stored", slots.stored, true});
  picture.lines.push_back({"blocks: reserved", blocks.reserved, true});
  picture.limits.push_back(
      {"the device", static_cast<double>((pool.unit_bytes * pool.capacity).count()) / static_cast<double>(gib)});
  std::ofstream out(svg);
  out << to_svg(picture);
  out.close();
  if (!out) throw std::runtime_error(svg + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  std::string svg;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--svg" && i + 1 < argc) svg = argv[++i];
    else files.emplace_back(argv[i]);
  }
  try {
    if (files.empty()) compare(serving::synthetic_trace(), mib_512 * 5U, svg);
    for (const std::string& file : files)
      compare(serving::read_trace(file), card.available_for_cache(), file == files.back() ? svg : "");
  } catch (const input_error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
}
