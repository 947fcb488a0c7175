// kvbudget sweep CONFIG...: one option over a range of values.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/input/locate.hpp>
#include <kvbudget/plan/model_length.hpp>
#include <kvbudget/report/report.hpp>
#include <kvbudget/report/sweep.hpp>

#include "command.hpp"

namespace {

/// NAME=VALUES of --over.
struct range {
  std::string name;
  std::vector<std::string> values;
};

range range_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) fail_usage("--over", text, "no '='", "NAME=VALUES");
  return {text.substr(0, equals), kvbudget::parse_range(std::string_view(text).substr(equals + 1), "--over")};
}

void add_options(CLI::App& app, command& c, std::vector<std::string>& over) {
  app.add_option("config", c.configs, "as for one plan; several: a line for each")->type_name("CONFIG");
  add_plan_options(app, c);
  app.add_option(
         "--over", over,
         "NAME=VALUES: length (prompt and generation), an option of this list without its dashes, or an engine's own "
         "option. VALUES: A,B,C or FROM:TO (doubled), FROM:TO:STEP, FROM:TO:xFACTOR. Default: lengths in powers of "
         "two up to what the model is made for. A second --over makes a line for each of its values")
      ->allow_extra_args(false);
  app.add_option("--format", c.format, "table, json, csv, markdown or svg");
}

/// The part of a length that --prompt and --generate leave open.
void set_length(command& c, const std::string& value) {
  if (!c.prompt.empty() && !c.generate.empty()) {
    fail_usage("--over", "length", "both --prompt and --generate are given", "one of them, which then stays");
  }
  const std::uint64_t length = count_of(value, "--over length");
  const bool prompt_stays = !c.prompt.empty();
  std::string& kept = prompt_stays ? c.prompt : c.generate;
  if (kept.empty()) kept = "0";
  const std::uint64_t n = count_of(kept, prompt_stays ? "--prompt" : "--generate");
  if (n > length) fail_usage("--over length", value, "shorter than the part of it that stays", kept + " or more");
  (prompt_stays ? c.generate : c.prompt) = std::to_string(length - n);
}

void vary(command& c, const std::string& name, const std::string& value) {
  if (name == "length") set_length(c, value);
  else set_option(c, name, value);
}

void check_ranges(const std::vector<std::string>& over, const std::vector<range>& ranges) {
  if (over.size() > 2) fail_usage("--over", over[2], "a third option", "at most two");
  for (const range& r : ranges) {
    for (const char* const other : {"config", "help", "version", "over", "format", "shared-prefix", "long-prompt",
                                    "most-sequences", "observed", "transfer-bandwidth", "memory-bandwidth"}) {
      if (r.name == other) {
        fail_usage("--over", other, "changes no figure of a sweep", "length, sequences, kv-dtype, device …");
      }
    }
  }
  if (ranges.size() == 2 && ranges[0].name == ranges[1].name) {
    fail_usage("--over", ranges[1].name, "given twice", "two options");
  }
}

/// The values of the first range, or the usual lengths of the model.
std::vector<std::string> values_of(const std::vector<range>& ranges, const kvbudget::located_config& model) {
  if (!ranges.empty()) return ranges[0].values;
  if (const auto longest = kvbudget::longest_context(model)) return kvbudget::usual_lengths(*longest);
  fail_usage("--over", "", "missing, and the config does not say for which length the model is made", "length=FROM:TO");
}

kvbudget::sweep_report report_of(const command& c, const std::vector<std::string>& over,
                                 const std::vector<range>& ranges) {
  std::vector<kvbudget::located_config> models;
  for (const std::string& config : c.configs) models.push_back(kvbudget::locate_config(config));
  const std::vector<std::string> names = kvbudget::model_names(c.configs);
  const range lines = ranges.size() == 2 ? ranges[1] : range{"", {""}};
  kvbudget::sweep_report report;
  report.option = ranges.empty() ? "length" : ranges[0].name;
  report.second_option = lines.name;
  std::size_t points = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::vector<std::string> values = values_of(ranges, models[i]);
    for (const std::string& line : lines.values) {
      points += values.size();
      if (points > kvbudget::max_sweep_points) {
        fail_usage("--over", over.empty() ? "" : over[0],
                   "more than " + std::to_string(kvbudget::max_sweep_points) + " plans", "fewer");
      }
      kvbudget::sweep_series series;
      series.name = ranges.size() < 2 ? names[i] : models.size() == 1 ? line : names[i] + " (" + line + ")";
      for (const std::string& value : values) {
        series.points.push_back({value, kvbudget::try_plan(series.name, c.configs[i], [&] {
                                   command one = c;
                                   vary(one, report.option, value);
                                   if (ranges.size() == 2) vary(one, lines.name, line);
                                   return answer(models[i], question_of(one));
                                 })});
      }
      report.series.push_back(std::move(series));
    }
  }
  return report;
}

}  // namespace

status status_of(const std::vector<const kvbudget::named_plan*>& plans) {
  kvbudget::outcome all = kvbudget::outcome::answered;
  for (const kvbudget::named_plan* const p : plans) all = kvbudget::worst_of(all, p->result);
  for (const kvbudget::named_plan* const p : plans) {
    if (p->plan || p->result != all) continue;
    fmt::print(stderr, "kvbudget: error: {}\n", p->reason);
    break;
  }
  return static_cast<status>(all);
}

int sweep(int argc, char** argv) {
  CLI::App app{"kvbudget sweep: the same plan over a range of context lengths, or of any option"};
  command c;
  std::vector<std::string> over;
  add_options(app, c, over);
  if (parse(app, argc, argv)) return answered;
  if (c.configs.empty())
    fail_usage("CONFIG", "", "missing", "a config.json, a GGUF file, a folder, '-', or a model id");
  check_format(c.format, "table, json, csv, markdown, svg");
  std::vector<range> ranges;
  for (const std::string& text : over) ranges.push_back(range_of(text));
  check_ranges(over, ranges);
  const kvbudget::sweep_report report = report_of(c, over, ranges);

  std::vector<const kvbudget::named_plan*> plans;
  for (const auto& series : report.series) {
    for (const auto& point : series.points) plans.push_back(&point.result);
  }
  if (std::any_of(plans.begin(), plans.end(), [](const auto* p) { return p->plan.has_value(); })) {
    if (c.format == "json") fmt::print("{}\n", to_json_text(report));
    else if (c.format == "csv") fmt::print("{}", to_csv(report));
    else if (c.format == "markdown") fmt::print("{}", to_markdown(report));
    else if (c.format == "svg") fmt::print("{}", to_svg(to_plot(report)));
    else fmt::print("{}", to_table(report));
  }
  return status_of(plans);
}
