// A ledger's snapshot in print: a line for people, JSON, and the text format of Prometheus.
#pragma once

#include <fmt/format.h>

#include <kvbudget/ledger/ledger.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kvbudget {

namespace detail {

/// Label values of Prometheus' text format: backslash, quote and line feed are escaped.
inline std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out;
}

}  // namespace detail

/// One line for each pool and one for the requests.
template <std::size_t Pools>
[[nodiscard]] std::string to_text(const ledger_snapshot<Pools>& s) {
  std::string out;
  for (const pool_snapshot& p : s.pools) {
    out += fmt::format(
        "{}: {} of {} units reserved, {} resident, at most {}; {} B reserved, {} B stored, {:.1f} % of it wasted\n",
        p.name, p.reserved, p.capacity, p.resident, p.high_water, p.reserved_bytes().count(), p.stored.count(),
        100 * p.fragmentation());
  }
  std::uint64_t rejected = 0;
  for (const std::uint64_t n : s.rejected) rejected += n;
  out += fmt::format("{} sequences, {} shared runs, {} waiting; {} admitted, {} rejected, {} stalls\n", s.sequences,
                     s.shared_runs, s.waiting, s.admitted, rejected, s.stalled);
  return out;
}

template <std::size_t Pools>
[[nodiscard]] nlohmann::ordered_json to_json(const ledger_snapshot<Pools>& s) {
  nlohmann::ordered_json pools = nlohmann::ordered_json::array(), rejected = nlohmann::ordered_json::object();
  for (const pool_snapshot& p : s.pools) {
    pools.push_back({{"name", p.name},
                     {"unit_bytes", p.unit_bytes.count()},
                     {"capacity", p.capacity},
                     {"reserved", p.reserved},
                     {"resident", p.resident},
                     {"high_water", p.high_water},
                     {"reserved_bytes", p.reserved_bytes().count()},
                     {"resident_bytes", p.resident_bytes().count()},
                     {"stored_bytes", p.stored.count()},
                     {"fragmentation", p.fragmentation()}});
  }
  for (std::size_t i = 1; i < rejections; ++i) rejected[rejection_names[i]] = s.rejected[i];
  return {{"pools", std::move(pools)},      {"sequences", s.sequences}, {"shared_runs", s.shared_runs},
          {"waiting", s.waiting},           {"admitted", s.admitted},   {"stalled", s.stalled},
          {"rejected", std::move(rejected)}};
}

/// Version 0.0.4 of the format: HELP and TYPE, then the samples of each metric together.
template <std::size_t Pools>
[[nodiscard]] std::string to_prometheus(const ledger_snapshot<Pools>& s) {
  std::string out;
  const auto head = [&](std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP kvbudget_{0} {1}\n# TYPE kvbudget_{0} {2}\n", name, help, type);
  };
  const auto of_pools = [&](std::string_view name, std::string_view help, const auto& value) {
    head(name, "gauge", help);
    for (const pool_snapshot& p : s.pools) {
      out += fmt::format("kvbudget_{}{{pool=\"{}\"}} {}\n", name, detail::label_value(p.name), value(p));
    }
  };
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    head(name, type, help);
    out += fmt::format("kvbudget_{} {}\n", name, value);
  };
  of_pools("capacity_bytes", "Bytes of the pool.",
           [](const pool_snapshot& p) { return (p.unit_bytes * p.capacity).count(); });
  of_pools("reserved_bytes", "Bytes that leases and shared prefixes have.",
           [](const pool_snapshot& p) { return p.reserved_bytes().count(); });
  of_pools("resident_bytes", "Bytes of units with a position in them.",
           [](const pool_snapshot& p) { return p.resident_bytes().count(); });
  of_pools("stored_bytes", "Bytes of positions that are attended to.",
           [](const pool_snapshot& p) { return p.stored.count(); });
  of_pools("high_water_bytes", "The most bytes ever taken.",
           [](const pool_snapshot& p) { return (p.unit_bytes * p.high_water).count(); });
  of_pools("reserved_blocks", "Units that leases and shared prefixes have.",
           [](const pool_snapshot& p) { return p.reserved; });
  of_pools("fragmentation_ratio", "Share of the reserved bytes that stores nothing.",
           [](const pool_snapshot& p) { return p.fragmentation(); });
  one("sequences", "gauge", "Leases that are out.", s.sequences);
  one("shared_runs", "gauge", "Runs of shared blocks.", s.shared_runs);
  one("waiting_requests", "gauge", "Requests in the queue.", s.waiting);
  one("admitted_total", "counter", "Requests and forks admitted.", s.admitted);
  one("stalls_total", "counter", "Times that a lease found no room to grow.", s.stalled);
  head("rejected_total", "counter", "Requests not admitted, by reason.");
  for (std::size_t i = 1; i < rejections; ++i) {
    out += fmt::format("kvbudget_rejected_total{{reason=\"{}\"}} {}\n", rejection_names[i], s.rejected[i]);
  }
  return out;
}

}  // namespace kvbudget
