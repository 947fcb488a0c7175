// Definitions of sweep.hpp.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>
#include <kvbudget/report/plans.ipp>
#include <kvbudget/report/plot.hpp>
#include <kvbudget/report/sweep.hpp>

namespace kvbudget {

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

/// FROM:TO, FROM:TO:STEP or FROM:TO:xFACTOR.
struct number_range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t by = 2;
  bool factor = true;
};

/// Reads values, and errors about them.
class range_parser {
 public:
  range_parser(std::string_view text, const std::string& option, std::size_t most)
      : text_(text), option_(option), most_(most) {}

  [[nodiscard]] std::vector<std::string> values() const {
    const bool range = text_.find(':') != text_.npos && text_.find_first_not_of("0123456789:x") == text_.npos;
    if (range) return numbers_of(read_range());
    const std::vector<std::string> values = split(',');
    for (const std::string& value : values) {
      if (value.empty()) fail("an empty value", "A,B,C or FROM:TO, FROM:TO:STEP, FROM:TO:xFACTOR");
    }
    return values;
  }

 private:
  [[noreturn]] void fail(std::string problem, std::string expected) const {
    throw usage_error({"", option_, std::string(text_)}, std::move(problem), std::move(expected));
  }
  [[nodiscard]] std::vector<std::string> split(char separator) const {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text_.size();) {
      const std::size_t to = std::min(text_.find(separator, from), text_.size());
      parts.emplace_back(text_.substr(from, to - from));
      from = to + 1;
      if (parts.size() > most_) fail("more than " + std::to_string(most_) + " values", "fewer");
    }
    return parts;
  }
  [[nodiscard]] number_range read_range() const {
    const std::vector<std::string> parts = split(':');
    const auto number = [&](const std::string& digits) {
      const auto n = find_count(digits);
      if (!n) fail("not a range", "FROM:TO, FROM:TO:STEP or FROM:TO:xFACTOR");
      return *n;
    };
    if (parts.size() > 3) (void)number("");
    number_range r{number(parts[0]), number(parts[1])};
    if (parts.size() == 3) {
      r.factor = parts[2].substr(0, 1) == "x";
      r.by = number(r.factor ? parts[2].substr(1) : parts[2]);
    }
    if (r.from > r.to) fail("from more to less", "FROM at most TO");
    if (r.factor ? r.by < 2 || r.from == 0 : r.by == 0) {
      fail("a range without an end", "a step of at least 1, or a factor of at least 2 and FROM at least 1");
    }
    return r;
  }
  [[nodiscard]] std::vector<std::string> numbers_of(const number_range& r) const {
    std::vector<std::string> values;
    for (checked_count n = r.from; n.valid() && n.value() < r.to; n = r.factor ? n * r.by : n + r.by) {
      values.push_back(std::to_string(n.value()));
      if (values.size() >= most_) fail("more than " + std::to_string(most_) + " values", "fewer, or a larger step");
    }
    values.push_back(std::to_string(r.to));
    return values;
  }

  std::string_view text_;
  const std::string& option_;
  std::size_t most_;
};

}  // namespace detail

KVBUDGET_INLINE std::vector<std::string> parse_range(std::string_view text, const std::string& option,
                                                     std::size_t most) {
  return detail::range_parser(text, option, most).values();
}

KVBUDGET_INLINE std::vector<std::string> usual_lengths(std::uint64_t longest) {
  return parse_range((longest >= 1024 ? "1024:" : "1:") + std::to_string(longest), "length");
}

KVBUDGET_INLINE detail::config::json to_json(const sweep_report& r) {
  detail::config::json plans = detail::config::json::array();
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) {
      detail::config::json plan = to_json(p.result);
      const auto number = detail::find_count(p.value);
      plan["swept"] = {{"option", r.option},
                       {"value", number ? detail::config::json(*number) : detail::config::json(p.value)},
                       {"series", s.name}};
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

/// The longest and the most of a budget.
[[nodiscard]] inline cell limit_cell(const std::optional<limit>& value) {
  if (!value) return {};
  return {value->unbounded ? "unbounded" : std::to_string(value->value), shown(value)};
}

[[nodiscard]] inline std::vector<cell> row_of(const sweep_point& p, const std::string& series, bool several) {
  const auto number = find_count(p.value);
  std::vector<cell> row = {{series, several ? series : ""}, {}, number ? count_cell(*number) : text_cell(p.value)};
  const auto& plan = p.result.plan;
  if (plan) row[1].exact = plan->answer.engine.empty() ? "none" : plan->answer.engine;
  for (const cell& c : cache_cells(p.result)) row.push_back(c);
  for (cell& c : device_cells(plan ? device_use_of(*plan) : std::nullopt)) row.push_back(std::move(c));
  const bool asked = plan && plan->budget;
  row.push_back(verdict_cell(plan));
  row.push_back(asked ? limit_cell(plan->budget->max_length) : cell());
  row.push_back(asked ? limit_cell(plan->budget->max_sequences) : cell());
  const std::string& reason = p.result.reason;
  row.push_back(reason.empty() ? cell() : cell{reason, (asked ? "" : shown(p.result.result) + ": ") + reason});
  return row;
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
  for (const sweep_series& s : r.series) {
    for (const sweep_point& p : s.points) out.rows.push_back(row_of(p, s.name, r.series.size() > 1));
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
  const workload& w = *first->work;
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

KVBUDGET_INLINE std::string to_json_text(const sweep_report& r) { return to_text(to_json(r)); }

KVBUDGET_INLINE std::string to_csv(const sweep_report& r) { return detail::sheet_of(r).csv(); }

KVBUDGET_INLINE std::string to_markdown(const sweep_report& r) {
  return detail::common_terms(r) + "\n\n" + detail::sheet_of(r).markdown();
}

KVBUDGET_INLINE std::string to_table(const sweep_report& r) {
  std::string out;
  std::vector<std::string> seen;
  for (const sweep_series& s : r.series) {
    const auto made =
        std::find_if(s.points.begin(), s.points.end(), [](const sweep_point& p) { return p.result.plan; });
    if (made == s.points.end() || std::find(seen.begin(), seen.end(), made->result.source) != seen.end()) continue;
    seen.push_back(made->result.source);
    const engine_answer& e = made->result.plan->answer;
    out +=
        fmt::format("{:<12} {}: {}, {} layers, {}\n", seen.size() == 1 ? "model" : "",
                    r.second_option.empty() ? s.name : made->result.source, e.model_type, e.model_layers, e.attention);
  }
  return out + fmt::format("{:<12} {}\n\n", "engine", detail::common_terms(r)) + detail::sheet_of(r).text();
}

namespace detail {

/// A sweep as a plot. Values that are no numbers stand side by side.
class sweep_plot {
 public:
  explicit sweep_plot(const sweep_report& r) : r_(r) {
    const bool length = r.option == "length";
    against_ = length ? "context length" : r.option == "kv-dtype" ? "element type of the cache" : r.option;
    p_.title = fmt::format("KV cache{} against {}", r.series.size() == 1 ? " of " + r.series[0].name : "", against_);
    p_.subtitle = common_terms(r);
    p_.x_label = length ? "context length (tokens)" : against_;
    p_.y_label = "GiB";
    for (const sweep_series& s : r.series) {
      for (const sweep_point& point : s.points) numbers_ = numbers_ && find_count(point.value);
    }
    const plan_report* const first = first_plan(r);
    if (r.series.size() == 1 && first != nullptr && first->budget) draw_device(*first);
    else draw_lines();
  }
  [[nodiscard]] plot result() && { return std::move(p_); }

 private:
  static double gib_of(std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(gib); }
  double x_of(const std::string& value) {
    if (numbers_) return static_cast<double>(*find_count(value));
    const auto at = std::find(p_.x_names.begin(), p_.x_names.end(), value);
    const auto index = at - p_.x_names.begin();
    if (at == p_.x_names.end()) p_.x_names.push_back(value);
    return static_cast<double>(index);
  }

  /// The cache of each series as a line.
  void draw_lines() {
    for (const sweep_series& s : r_.series) {
      plot_line& line = p_.lines.emplace_back();
      line.name = s.name;
      for (const sweep_point& point : s.points) {
        line.points.push_back({x_of(point.value), std::numeric_limits<double>::quiet_NaN()});
        if (!point.result.plan) continue;
        if (const auto cache = workload_bytes(*point.result.plan)) line.points.back().y = gib_of(*cache);
      }
    }
  }

  /// Weights, overhead and cache as a stack, and what the device holds as a limit. Of several devices the tightest.
  void draw_device(const plan_report& first) {
    p_.title = fmt::format("Weights, overhead and KV cache of {} against {}", r_.series[0].name, against_);
    p_.areas = {{"weights"}, {"overhead"}, {"KV cache"}};
    plot_line usable{"usable", {}, false};
    std::size_t unanswered = 0;
    for (const sweep_point& point : r_.series[0].points) {
      const auto use = point.result.plan ? device_use_of(*point.result.plan) : std::nullopt;
      const double x = x_of(point.value);
      if (!use) {
        ++unanswered;
        continue;
      }
      const std::uint64_t parts[] = {use->weights.value_or(0), use->overhead.value_or(0), use->cache};
      for (std::size_t i = 0; i < 3; ++i) p_.areas[i].points.push_back({x, gib_of(parts[i])});
      usable.points.push_back({x, gib_of(use->usable)});
    }
    if (unanswered > 0) {
      p_.subtitle +=
          fmt::format("; {} of {} points have no answer and are not drawn", unanswered, r_.series[0].points.size());
    }
    if (first.weights == evidence::untested) p_.areas[0].name = "weights: not given";
    if (first.overhead == evidence::untested && first.co_residents.empty()) p_.areas[1].name = "overhead: not given";
    draw_usable(std::move(usable));
  }
  void draw_usable(plot_line usable) {
    const auto same = [&](const plot_point& q) { return q.y == usable.points.front().y; };
    if (!std::all_of(usable.points.begin(), usable.points.end(), same)) p_.lines.push_back(std::move(usable));
    else if (!usable.points.empty()) {
      p_.limits.push_back({fmt::format("usable: {:.2f} GiB", usable.points.front().y), usable.points.front().y});
    }
  }

  const sweep_report& r_;
  plot p_;
  std::string against_;
  bool numbers_ = true;
};

}  // namespace detail

KVBUDGET_INLINE plot to_plot(const sweep_report& r) { return detail::sweep_plot(r).result(); }

}  // namespace kvbudget
