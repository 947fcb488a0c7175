// kvbudget sweep CONFIG...: one option over a range of values.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/sweep.hpp>

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

/// The command line with one more option, as if the user had written it.
command with(std::vector<std::string> arguments, const std::vector<std::pair<std::string, std::string>>& more) {
  CLI::App app;
  command c;
  std::vector<std::string> over;
  add_options(app, c, over);
  for (const auto& [name, value] : more) {
    if (name == "length") {
      command before;
      CLI::App reader;
      add_options(reader, before, over);
      std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
      reader.parse(reversed);
      if (!before.prompt.empty() && !before.generate.empty()) {
        fail_usage("--over", "length", "both --prompt and --generate are given", "one of them, which then stays");
      }
      const std::uint64_t length = count_of(value, "--over length");
      const std::string& fixed = before.prompt.empty() ? before.generate : before.prompt;
      const std::uint64_t kept = fixed.empty() ? 0 : count_of(fixed, before.prompt.empty() ? "--generate" : "--prompt");
      if (kept > length)
        fail_usage("--over length", value, "shorter than the part of it that stays", fixed + " or more");
      const std::string rest = std::to_string(length - kept);
      if (before.prompt.empty()) arguments.insert(arguments.end(), {"--prompt", rest});
      else arguments.insert(arguments.end(), {"--generate", rest});
      if (fixed.empty()) arguments.insert(arguments.end(), {"--generate", "0"});
    } else if (const CLI::Option* const option = app.get_option_no_throw("--" + name);
               option != nullptr && name != "over" && name != "format") {
      const bool takes_value = option->get_items_expected_max() > 0;
      if (takes_value) arguments.insert(arguments.end(), {"--" + name, value});
      else if (value == "true") arguments.push_back("--" + name);
      else if (value != "false") fail_usage("--over " + name, value, "not a state of this option", "true or false");
    } else {
      arguments.insert(arguments.end(), {"--set", name + "=" + value});
    }
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    throw kvbudget::usage_error({}, e.what(), "one option over which to sweep, and not given otherwise");
  }
  return c;
}

}  // namespace

status status_of(const std::vector<const kvbudget::named_plan*>& plans) {
  kvbudget::outcome all = kvbudget::outcome::answered;
  for (const kvbudget::named_plan* const p : plans) all = gravest(all, p->result);
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
  if (over.size() > 2) fail_usage("--over", over[2], "a third option", "at most two");
  std::vector<range> ranges;
  for (const std::string& text : over) {
    ranges.push_back(range_of(text));
    for (const char* const other : {"config", "help", "version", "over", "format", "shared-prefix", "long-prompt",
                                    "most-sequences", "observed", "transfer-bandwidth", "memory-bandwidth"}) {
      if (ranges.back().name == other)
        fail_usage("--over", other, "changes no figure of a sweep", "length, sequences, kv-dtype, device …");
    }
  }
  if (ranges.size() == 2 && ranges[0].name == ranges[1].name)
    fail_usage("--over", ranges[1].name, "given twice", "two options");
  const std::vector<std::string> arguments(argv + 1, argv + argc);

  std::vector<kvbudget::config::located_config> models;
  for (const std::string& config : c.configs) models.push_back(kvbudget::config::locate_config(config));
  const std::vector<std::string> names = kvbudget::model_names(c.configs);
  const range lines = ranges.size() == 2 ? ranges[1] : range{"", {""}};

  kvbudget::sweep_report report;
  report.option = ranges.empty() ? "length" : ranges[0].name;
  report.second_option = lines.name;
  std::size_t points = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<std::string> values;
    if (!ranges.empty()) {
      values = ranges[0].values;
    } else if (const auto longest = kvbudget::longest_context(models[i].config)) {
      values = kvbudget::usual_lengths(*longest);
    } else {
      fail_usage("--over", "", "missing, and the config does not say for which length the model is made",
                 "length=FROM:TO");
    }
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
                                   std::vector<std::pair<std::string, std::string>> more = {{report.option, value}};
                                   if (ranges.size() == 2) more.emplace_back(lines.name, line);
                                   return answer(models[i], question_of(with(arguments, more)));
                                 })});
      }
      report.series.push_back(std::move(series));
    }
  }

  std::vector<const kvbudget::named_plan*> plans;
  for (const auto& series : report.series) {
    for (const auto& point : series.points) plans.push_back(&point.result);
  }
  if (std::any_of(plans.begin(), plans.end(), [](const auto* p) { return p->plan.has_value(); })) {
    if (c.format == "json") fmt::print("{}\n", kvbudget::to_text(to_json(report)));
    else if (c.format == "csv") fmt::print("{}", to_csv(report));
    else if (c.format == "markdown") fmt::print("{}", to_markdown(report));
    else if (c.format == "svg") fmt::print("{}", to_svg(to_plot(report)));
    else fmt::print("{}", to_table(report));
  }
  return status_of(plans);
}
