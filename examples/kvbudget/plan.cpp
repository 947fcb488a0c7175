// kvbudget CONFIG: one plan.

#include <fmt/format.h>

#include <kvbudget/engines/engines.hpp>
#include <kvbudget/input/locate.hpp>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/report/report.hpp>

#include "command.hpp"

kvbudget::plan_report answer(const kvbudget::located_config& config, const kvbudget::plan_question& question) {
  return make_plan(config, question);
}

int plan(int argc, char** argv) {
  CLI::App app{
      "kvbudget: exact bytes of a model's KV cache, and what fits on a device\n"
      "  kvbudget CONFIG [options]              one plan\n"
      "  kvbudget sweep CONFIG... [options]     the same over a range of lengths, or of any option\n"
      "  kvbudget compare CONFIG... [options]   several models, engines or cache types side by side\n"
      "  kvbudget models                        the model types and engines it knows\n"
      "  kvbudget engines [NAME]                the engines, or one engine's own options"};
  command c;
  app.add_option("config", c.configs, "a config.json, a GGUF file, a folder that holds one, '-', or a cached model id")
      ->type_name("CONFIG");
  add_plan_options(app, c);
  app.add_option("--format", c.format, "table, json, csv or markdown");
  if (parse(app, argc, argv)) return answered;
  if (c.configs.size() != 1) {
    fail_usage("CONFIG", c.configs.empty() ? "" : c.configs[1], c.configs.empty() ? "missing" : "a second one",
               "a config.json, a GGUF file, a folder, '-', a model id, or: sweep, compare, models");
  }
  check_format(c.format, "table, json, csv, markdown");
  const kvbudget::plan_question question = question_of(c);
  (void)kvbudget::find_engine(question.engine);  // before a file is read
  const kvbudget::plan_report report = answer(kvbudget::locate_config(c.configs.front()), question);
  if (c.format == "json") fmt::print("{}\n", to_json_text(report));
  else if (c.format == "csv") fmt::print("{}", to_csv(report));
  else if (c.format == "markdown") fmt::print("{}", to_markdown(report));
  else fmt::print("{}", to_table(report));
  return status_of(report);
}
