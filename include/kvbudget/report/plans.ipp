// Definitions of plans.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/report/report.ipp>
#include <kvbudget/report/sheet.hpp>
#include <kvbudget/report/plans.hpp>

namespace kvbudget {

KVBUDGET_INLINE outcome worst_of(outcome a, outcome b) {
  for (const outcome o :
       {outcome::wrong_usage, outcome::not_understood, outcome::engine_refuses, outcome::does_not_fit}) {
    if (a == o || b == o) return o;
  }
  return outcome::answered;
}

KVBUDGET_INLINE std::string model_name(std::string_view path) {
  if (path == "-") return "standard input";
  const auto drop = [&](std::string_view ending) {
    const bool ends = path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
    if (ends) path.remove_suffix(ending.size());
    return ends;
  };
  while (drop("/")) {}
  if (!drop("/config.json") && !drop("_config.json") && !drop(".json") && !drop(".gguf")) {
    return detail::printable(std::string(path));  // a folder, or org/name
  }
  return detail::printable(std::string(path.substr(path.find_last_of('/') + 1)));
}

KVBUDGET_INLINE std::vector<std::string> model_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(model_name(path));
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return names;
  for (std::size_t i = 0; i < paths.size(); ++i) names[i] = detail::printable(paths[i]);
  return names;
}

KVBUDGET_INLINE detail::config::json to_json(const named_plan& p) {
  if (p.plan) return to_json(*p.plan);
  return {{"schema", "kvbudget.plan/1"}, {"model", {{"source", p.source}}}, {"error", p.reason}};
}

namespace detail {

[[nodiscard]] inline cell size_cell(std::uint64_t n) { return {std::to_string(n), fmt::format("{:.3g}", bytes(n))}; }

/// Bytes, and GiB. Empty where the plan says none.
[[nodiscard]] inline std::vector<cell> cache_cells(const named_plan& p) {
  if (p.plan) {
    if (const auto cache = workload_bytes(*p.plan)) {
      return {count_cell(*cache), {to_gib(bytes(*cache), 6), fmt::format("{:.3g}", bytes(*cache))}};
    }
  }
  return {cell(), cell()};
}

[[nodiscard]] inline std::string shown(outcome o) {
  switch (o) {
    case outcome::answered: return "";
    case outcome::does_not_fit: return "does not fit";
    case outcome::wrong_usage: return "wrong usage";
    case outcome::not_understood: return "not understood";
    case outcome::engine_refuses: return "refused";
  }
  return "";
}

/// What the tightest device of a plan holds. Nothing for what was not given.
struct device_use {
  std::optional<std::uint64_t> weights;
  std::optional<std::uint64_t> overhead;
  std::uint64_t cache = 0;
  std::uint64_t usable = 0;
  std::string name;  ///< of the device, where there are several

  /// Of all that was given; nothing without the weights.
  [[nodiscard]] std::optional<std::uint64_t> total() const {
    if (!weights) return std::nullopt;
    return (checked_count(*weights) + overhead.value_or(0) + cache).value();
  }
};

/// Fits, does not, or is refused by the engine; empty where no device was asked about.
[[nodiscard]] inline cell verdict_cell(const std::optional<plan_report>& plan) {
  if (!plan || !plan->budget) return {};
  if (!plan->answer.refusal.empty() && !plan->answer.too_large) return {"", "refused"};
  const std::optional<bool> verdict = fits(*plan);
  if (!verdict) return text_cell("untested");
  return *verdict ? cell{"1", "fits"} : cell{"0", "does not fit"};
}

/// Of a pool of blocks, what the workload's requests hold on one device: as many blocks as on every other.
[[nodiscard]] inline std::uint64_t held_on_device(const plan_report& r, std::size_t device) {
  checked_count unit = 0U, here = 0U;
  for (const pool_bytes& p : r.answer.pools) {
    unit += p.unit_bytes;
    if (p.device == device) here += p.unit_bytes;
  }
  return (checked_count(*workload_bytes(r)) / unit * here).value();
}

[[nodiscard]] inline std::optional<device_use> device_use_of(const plan_report& r) {
  if (!r.budget || r.budget->devices.empty() || !workload_bytes(r)) return std::nullopt;
  const std::size_t tightest = r.budget->tightest;
  const device_share& d = r.budget->devices[tightest];
  const bool pool = r.work && r.answer.pool_use && r.cache == evidence::computed && r.answer.replicas == 1;
  const std::uint64_t cache = pool ? held_on_device(r, tightest) : d.cache_bytes.value();
  const auto known = [](evidence b, checked_count n) {
    return b == evidence::untested ? std::nullopt : std::optional(n.value());
  };
  return device_use{known(r.weights, d.budget.weights.count()), known(overhead_basis(r), d.budget.overhead(cache)),
                    cache, d.budget.usable().count(), r.budget->devices.size() == 1 ? "" : d.name};
}

}  // namespace detail

}  // namespace kvbudget
