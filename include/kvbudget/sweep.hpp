// One option over a range of values: a plan for each, as a table, CSV, JSON, Markdown or a plot.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/plans.hpp>
#include <kvbudget/plot.hpp>

namespace kvbudget {

/// The plan for one value of the option.
struct sweep_point {
  std::string value;
  named_plan result;
};

/// The plans of one model, or of one model and one value of a second option.
struct sweep_series {
  std::string name;
  std::vector<sweep_point> points;
};

struct sweep_report {
  std::string option;  ///< what is swept: length, sequences, kv-dtype, device, an engine's own option …
  std::vector<sweep_series> series;
  std::string second_option{};  ///< by which the series differ, if not by the model alone
};

/// Most plans of one sweep.
inline constexpr std::size_t max_sweep_points = 10'000;

namespace detail {

[[nodiscard]] inline std::optional<std::uint64_t> find_count(std::string_view digits) {
  checked_count n = 0U;
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10U + static_cast<unsigned>(c - '0');
  }
  return n.valid() ? std::optional(n.value()) : std::nullopt;
}

}  // namespace detail

/// The values of a range: "A,B,C" are themselves; "FROM:TO" doubles, "FROM:TO:STEP" adds and "FROM:TO:xFACTOR"
/// multiplies, and the last value is always TO. Throws usage_error, also for more than `most` values.
[[nodiscard]] inline std::vector<std::string> parse_range(std::string_view text, const std::string& option,
                                                          std::size_t most = max_sweep_points) {
  const auto fail = [&](std::string problem, std::string expected) {
    throw usage_error({"", option, std::string(text)}, std::move(problem), std::move(expected));
  };
  const auto split = [&](char separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t to = std::min(text.find(separator, from), text.size());
      parts.emplace_back(text.substr(from, to - from));
      from = to + 1;
      if (parts.size() > most) fail("more than " + std::to_string(most) + " values", "fewer");
    }
    return parts;
  };
  const bool range = text.find(':') != text.npos && text.find_first_not_of("0123456789:x") == text.npos;
  if (!range) {
    const std::vector<std::string> values = split(',');
    for (const std::string& value : values) {
      if (value.empty()) fail("an empty value", "A,B,C or FROM:TO, FROM:TO:STEP, FROM:TO:xFACTOR");
    }
    return values;
  }
  const std::vector<std::string> parts = split(':');
  const bool factor = parts.size() == 2 || (parts.size() == 3 && parts[2].substr(0, 1) == "x");
  const auto from = detail::find_count(parts[0]);
  const auto to = detail::find_count(parts[1]);
  const auto by =
      parts.size() == 2 ? std::optional<std::uint64_t>(2U) : detail::find_count(factor ? parts[2].substr(1) : parts[2]);
  if (parts.size() > 3 || !from || !to || !by) fail("not a range", "FROM:TO, FROM:TO:STEP or FROM:TO:xFACTOR");
  if (*from > *to) fail("from more to less", "FROM at most TO");
  if (factor ? *by < 2 || *from == 0 : *by == 0) {
    fail("a range without an end", "a step of at least 1, or a factor of at least 2 and FROM at least 1");
  }
  std::vector<std::string> values;
  for (checked_count n = *from; n.valid() && n.value() < *to; n = factor ? n * *by : n + *by) {
    values.push_back(std::to_string(n.value()));
    if (values.size() >= most) fail("more than " + std::to_string(most) + " values", "fewer, or a larger step");
  }
  values.push_back(std::to_string(*to));
  return values;
}

/// Powers of two from 1024 (from 1 for a model that is made for fewer) up to `longest`, and `longest` itself.
[[nodiscard]] inline std::vector<std::string> usual_lengths(std::uint64_t longest) {
  return parse_range((longest >= 1024 ? "1024:" : "1:") + std::to_string(longest), "length");
}

/// kvbudget.sweep/1: every plan whole, with the value of the option for which it is.
[[nodiscard]] inline config::json to_json(const sweep_report& r) {
  config::json plans = config::json::array();
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) {
      config::json plan = to_json(p.result);
      const auto number = detail::find_count(p.value);
      plan["swept"] = {
          {"option", r.option}, {"value", number ? config::json(*number) : config::json(p.value)}, {"series", s.name}};
      plans.push_back(std::move(plan));
    }
  }
  return {{"schema", "kvbudget.sweep/1"}, {"option", r.option}, {"plans", std::move(plans)}};
}

namespace detail {

/// The tightest device: its name and its cache where there are several, then weights, overhead, all of it, and what
/// may be used.
[[nodiscard]] inline std::vector<cell> device_cells(const std::optional<device_use>& use) {
  if (!use) return std::vector<cell>(6);
  const auto size = [](const std::optional<std::uint64_t>& n) { return n ? size_cell(*n) : text_cell("untested"); };
  const bool several = !use->name.empty();
  return {text_cell(use->name), several ? size_cell(use->cache) : cell(),
          size(use->weights),   size(use->overhead),
          size(use->total()),   size_cell(use->usable)};
}

[[nodiscard]] inline sheet sheet_of(const sweep_report& r) {
  sheet out;
  const std::string series = r.second_option.empty() ? "model" : r.second_option;
  out.columns = {{series, series, false},
                 {r.option == "engine" || series == "engine" ? "engine_name" : "engine", "", false},
                 {r.option, r.option},
                 {"cache_bytes", "cache bytes"},
                 {"cache_gib", "cache"},
                 {"device", "device", false},
                 {"device_cache_bytes", "its cache"},
                 {"weights_bytes", "weights"},
                 {"overhead_bytes", "overhead"},
                 {"total_bytes", "total"},
                 {"usable_bytes", "usable"},
                 {"fits", "fits", false},
                 {"max_length", "longest"},
                 {"max_sequences", "most sequences"},
                 {"reason", "reason", false}};
  const bool several = r.series.size() > 1;
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) {
      const auto number = find_count(p.value);
      std::vector<cell> row = {{s.name, several ? s.name : ""}, {}, number ? count_cell(*number) : text_cell(p.value)};
      const auto& plan = p.result.plan;
      if (plan) row[1].exact = plan->answer.engine.empty() ? "none" : plan->answer.engine;
      for (const cell& c : cache_cells(p.result)) row.push_back(c);
      const auto use = plan ? device_use_of(*plan) : std::nullopt;
      for (cell& c : device_cells(use)) row.push_back(std::move(c));
      const bool asked = plan && plan->budget;
      row.push_back(verdict_cell(plan));
      const auto most = [&](const std::optional<limit>& value) {
        return value ? cell{value->unbounded ? "unbounded" : std::to_string(value->value), shown(value)} : cell();
      };
      row.push_back(asked ? most(plan->budget->max_length) : cell());
      row.push_back(asked ? most(plan->budget->max_sequences) : cell());
      const bool tells = !p.result.reason.empty();
      const std::string kind = asked || !tells ? "" : shown(p.result.result) + ": ";
      row.push_back(tells ? cell{p.result.reason, kind + p.result.reason} : cell());
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

/// The first plan that there is, for what all have in common.
[[nodiscard]] inline const plan_report* first_plan(const sweep_report& r) {
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) {
      if (p.result.plan) return &*p.result.plan;
    }
  }
  return nullptr;
}

/// Does this hold for every plan that there is?
template <class Test>
[[nodiscard]] bool all_plans(const sweep_report& r, const Test& test) {
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) {
      if (p.result.plan && !test(*p.result.plan)) return false;
    }
  }
  return true;
}

/// What the plans have in common, in words.
[[nodiscard]] inline std::string common_terms(const sweep_report& r) {
  const plan_report* const first = first_plan(r);
  if (first == nullptr) return "";
  const bool one_engine = all_plans(r, [&](const plan_report& p) { return p.answer.engine == first->answer.engine; });
  std::string out = !one_engine                    ? "several engines"
                    : first->answer.engine.empty() ? "bare tensors of the stored positions"
                                                   : engine_name(*first);
  if (!first->work) return out;
  const config::workload& w = *first->work;
  const bool one_length = all_plans(r, [&](const plan_report& p) {
    return p.work && p.work->prompt == w.prompt && p.work->generated == w.generated && p.work->lengths == w.lengths;
  });
  const bool one_number =
      all_plans(r, [&](const plan_report& p) { return p.work && p.work->sequences == w.sequences; });
  if (one_length && one_number) return out + "; " + shown(w);
  if (one_number)
    return fmt::format("{}; {} sequence{}", out, grouped_digits(w.sequences), w.sequences == 1 ? "" : "s");
  if (!one_length) return out;
  return fmt::format("{}; sequences of {} + {} positions", out, grouped_digits(w.prompt), grouped_digits(w.generated));
}

}  // namespace detail

[[nodiscard]] inline std::string to_csv(const sweep_report& r) { return detail::sheet_of(r).csv(); }
[[nodiscard]] inline std::string to_markdown(const sweep_report& r) {
  return detail::common_terms(r) + "\n\n" + detail::sheet_of(r).markdown();
}
[[nodiscard]] inline std::string to_table(const sweep_report& r) {
  std::string out;
  std::vector<std::string> seen;
  for (const sweep_series& s : r.series) {
    const auto made =
        std::find_if(s.points.begin(), s.points.end(), [](const sweep_point& p) { return p.result.plan; });
    if (made == s.points.end() || std::find(seen.begin(), seen.end(), made->result.source) != seen.end()) continue;
    seen.push_back(made->result.source);
    const config::evaluation& e = made->result.plan->answer;
    out +=
        fmt::format("{:<12} {}: {}, {} layers, {}\n", seen.size() == 1 ? "model" : "",
                    r.second_option.empty() ? s.name : made->result.source, e.model_type, e.model_layers, e.attention);
  }
  return out + fmt::format("{:<12} {}\n\n", "engine", detail::common_terms(r)) + detail::sheet_of(r).text();
}

/// The plot for a report: the cache of each model as a line; of one model on a device weights, overhead and cache as a
/// stack, and what the device holds as a limit. Values that are no numbers stand side by side. Of several devices it
/// shows the tightest.
[[nodiscard]] inline plot to_plot(const sweep_report& r) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  const auto gib_of = [](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(gib); };
  plot p;
  const bool length = r.option == "length";
  const std::string against = length                   ? "context length"
                              : r.option == "kv-dtype" ? "element type of the cache"
                                                       : r.option;
  p.title = fmt::format("KV cache{} against {}", r.series.size() == 1 ? " of " + r.series[0].name : "", against);
  p.subtitle = detail::common_terms(r);
  p.x_label = length ? "context length (tokens)" : against;
  p.y_label = "GiB";
  bool numbers = true;
  for (const sweep_series& s : r.series) {
    for (const sweep_point& point : s.points) numbers = numbers && detail::find_count(point.value);
  }
  const auto x_of = [&](const std::string& value) {
    if (numbers) return static_cast<double>(*detail::find_count(value));
    const auto at = std::find(p.x_names.begin(), p.x_names.end(), value);
    const auto index = at - p.x_names.begin();
    if (at == p.x_names.end()) p.x_names.push_back(value);
    return static_cast<double>(index);
  };
  const plan_report* const first = detail::first_plan(r);
  if (r.series.size() != 1 || first == nullptr || !first->budget) {
    for (const sweep_series& s : r.series) {
      plot_line& line = p.lines.emplace_back();
      line.name = s.name;
      for (const sweep_point& point : s.points) {
        line.points.push_back({x_of(point.value), nothing});
        if (!point.result.plan) continue;
        if (const auto cache = workload_bytes(*point.result.plan)) line.points.back().y = gib_of(*cache);
      }
    }
    return p;
  }
  p.title = fmt::format("Weights, overhead and KV cache of {} against {}", r.series[0].name, against);
  p.areas = {{"weights"}, {"overhead"}, {"KV cache"}};
  plot_line usable{"usable", {}, false};
  std::size_t unanswered = 0;
  for (const sweep_point& point : r.series[0].points) {
    const auto use = point.result.plan ? detail::device_use_of(*point.result.plan) : std::nullopt;
    const double x = x_of(point.value);
    if (!use) {
      ++unanswered;
      continue;
    }
    const std::uint64_t parts[] = {use->weights.value_or(0), use->overhead.value_or(0), use->cache};
    for (std::size_t i = 0; i < 3; ++i) p.areas[i].points.push_back({x, gib_of(parts[i])});
    usable.points.push_back({x, gib_of(use->usable)});
  }
  if (unanswered > 0) {
    p.subtitle +=
        fmt::format("; {} of {} points have no answer and are not drawn", unanswered, r.series[0].points.size());
  }
  if (first->weights == basis::untested) p.areas[0].name = "weights: not given";
  if (first->overhead == basis::untested && first->neighbours.empty()) p.areas[1].name = "overhead: not given";
  const auto same = [&](const plot_point& q) { return q.y == usable.points.front().y; };
  if (!std::all_of(usable.points.begin(), usable.points.end(), same)) p.lines.push_back(std::move(usable));
  else if (!usable.points.empty()) {
    p.limits.push_back({fmt::format("usable: {:.2f} GiB", usable.points.front().y), usable.points.front().y});
  }
  return p;
}

}  // namespace kvbudget
