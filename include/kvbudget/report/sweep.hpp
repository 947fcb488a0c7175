// One option over a range of values: a plan for each, as a table, CSV, JSON, Markdown or a plot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <kvbudget/compiled.hpp>
#include <kvbudget/report/plans.hpp>
#include <kvbudget/report/plot.hpp>

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

/// The values of a range: "A,B,C" are themselves; "FROM:TO" doubles, "FROM:TO:STEP" adds and "FROM:TO:xFACTOR"
/// multiplies, and the last value is always TO. Throws usage_error, also for more than `most` values.
[[nodiscard]] std::vector<std::string> parse_range(std::string_view text, const std::string& option,
                                                   std::size_t most = max_sweep_points);

/// Powers of two from 1024 (from 1 for a model that is made for fewer) up to `longest`, and `longest` itself.
[[nodiscard]] std::vector<std::string> usual_lengths(std::uint64_t longest);

/// kvbudget.sweep/1: every plan whole, with the value of the option for which it is.
[[nodiscard]] nlohmann::json to_json(const sweep_report& r);
/// The same as text, for those who do not include the JSON library.
[[nodiscard]] std::string to_json_text(const sweep_report& r);

[[nodiscard]] std::string to_csv(const sweep_report& r);

[[nodiscard]] std::string to_markdown(const sweep_report& r);

[[nodiscard]] std::string to_table(const sweep_report& r);

/// The plot for a report: the cache of each model as a line; of one model on a device weights, overhead and cache as a
/// stack, and what the device holds as a limit. Of several devices it shows the tightest.
[[nodiscard]] plot to_plot(const sweep_report& r);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/report/sweep.ipp>
#endif
