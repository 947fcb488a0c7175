// kvbudget compare CONFIG...: plans side by side, and the terms that make the difference.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/engines/engines.hpp>
#include <kvbudget/input/locate.hpp>
#include <kvbudget/plan/model_length.hpp>
#include <kvbudget/report/compare.hpp>
#include <kvbudget/report/report.hpp>

#include "command.hpp"

namespace {

/// Without a workload: one sequence of the longest length that every model is made for.
void give_workload(command& c, const std::vector<kvbudget::located_config>& models) {
  const bool stated =
      !c.prompt.empty() || !c.generate.empty() || !c.sequences.empty() || !c.lengths.empty() || !c.set.empty();
  if (stated) return;
  std::optional<std::uint64_t> length;
  for (const auto& model : models) {
    const auto longest = kvbudget::longest_context(model);
    if (longest) length = std::min(length.value_or(*longest), *longest);
  }
  if (!length)
    fail_usage("--prompt", "", "missing, and no config says for which length its model is made",
               "--prompt and --generate");
  c.prompt = std::to_string(*length);
  c.generate = "0";
}

/// A plan for each model, engine and element type.
std::vector<kvbudget::compared_plan> plans_of(const command& c, const std::vector<kvbudget::located_config>& models,
                                              const std::vector<std::string>& names,
                                              const std::vector<std::string>& engines,
                                              const std::vector<std::string>& types) {
  std::vector<kvbudget::compared_plan> plans;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const std::string& engine : engines) {
      for (const std::string& type : types) {
        std::string varied = engines.size() > 1 ? engine : "";
        if (types.size() > 1) varied += (varied.empty() ? "" : ", ") + type;
        const std::string name = varied.empty()       ? names[i]
                                 : models.size() == 1 ? varied
                                                      : names[i] + " (" + varied + ")";
        kvbudget::plan_question question;
        auto made = kvbudget::try_plan(name, c.configs[i], [&] {
          command one = c;
          one.engine = engine;
          one.kv_dtype = type;
          question = question_of(one);
          return answer(models[i], question);
        });
        plans.push_back(count_plan(models[i], question, std::move(made)));
      }
    }
  }
  return plans;
}

}  // namespace

int compare(int argc, char** argv) {
  CLI::App app{"kvbudget compare: several models, engines or cache types side by side, and what makes the difference"};
  command c;
  app.add_option("config", c.configs, "as for one plan; the first is what the others are compared with")
      ->type_name("CONFIG");
  add_plan_options(app, c);
  app.get_option("--engine")->description("engines, with commas between them; `kvbudget engines` lists them");
  app.get_option("--kv-dtype")->description("element types of the cache: bf16,fp8");
  app.add_option("--format", c.format, "table, json, csv or markdown");
  if (parse(app, argc, argv)) return answered;
  if (c.configs.empty())
    fail_usage("CONFIG", "", "missing", "a config.json, a GGUF file, a folder, '-', or a model id");
  check_format(c.format, "table, json, csv, markdown");

  std::vector<kvbudget::located_config> models;
  for (const std::string& config : c.configs) models.push_back(kvbudget::locate_config(config));
  give_workload(c, models);
  const std::vector<std::string> names = kvbudget::model_names(c.configs);
  const std::vector<std::string> engines = split(c.engine);
  const std::vector<std::string> types = split(c.kv_dtype);
  const std::size_t most = 1000;
  if (models.size() > most / engines.size() / types.size()) {
    fail_usage("CONFIG", std::to_string(models.size()) + " models", "more than " + std::to_string(most) + " plans",
               "fewer");
  }
  for (const std::string& engine : engines) (void)kvbudget::find_engine(engine);
  const kvbudget::comparison all = kvbudget::compare(plans_of(c, models, names, engines, types));

  std::vector<const kvbudget::named_plan*> results;
  for (const auto& p : all.plans) results.push_back(&p.result);
  if (std::any_of(results.begin(), results.end(), [](const auto* p) { return p->plan.has_value(); })) {
    if (c.format == "json") fmt::print("{}\n", to_json_text(all));
    else if (c.format == "csv") fmt::print("{}", to_csv(all));
    else if (c.format == "markdown") fmt::print("{}", to_markdown(all));
    else fmt::print("{}", to_table(all));
  }
  return status_of(results);
}
