// kvbudget: what a model's KV cache takes, and what fits. See `kvbudget --help`.

#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <kvbudget/config/bare.hpp>
#include <kvbudget/config/engines.hpp>
#include <kvbudget/config/locate.hpp>
#include <kvbudget/report.hpp>

namespace {

using kvbudget::config::json;
using kvbudget::config::workload;

/// Exit status, by the programs' contract.
enum status { answered = 0, does_not_fit = 1, wrong_usage = 2, not_understood = 3, engine_refuses = 4 };

/// What the command line said, still as text.
struct command {
  std::string config;
  std::string engine;
  std::vector<std::string> set;
  std::string kv_dtype, k_dtype, v_dtype;
  std::string prompt, generate, sequences, lengths;
  std::string device, weights, overhead, utilization = "1";
  std::string parameters, weight_bits;
  std::string format = "table";
};

[[noreturn]] void fail_usage(std::string option, std::string value, std::string problem, std::string expected) {
  throw kvbudget::usage_error({"", std::move(option), std::move(value)}, std::move(problem), std::move(expected));
}

/// A number of things: digits, nothing else.
std::uint64_t count_of(const std::string& text, const std::string& option) {
  kvbudget::checked_count n = 0U;
  bool digits = !text.empty();
  for (const char c : text) {
    digits = digits && c >= '0' && c <= '9';
    if (digits) n = n * 10U + static_cast<unsigned>(c - '0');
  }
  if (!digits || !n.valid()) fail_usage(option, text, "not a whole number", "digits, at most 2^64 - 1");
  return n.value();
}

/// The options of --set: VALUE is JSON if it parses as JSON, else a string.
json settings_of(const command& c) {
  json settings = json::object();
  for (const std::string& text : c.set) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) fail_usage("--set", text, "no '='", "OPTION=VALUE");
    const std::string name = text.substr(0, equals);
    json value = json::parse(text.substr(equals + 1), nullptr, false);
    if (value.is_discarded()) value = text.substr(equals + 1);
    if (settings.contains(name) && settings[name] != value) {
      fail_usage("--set " + name, value.dump(), "set twice with different values", settings[name].dump());
    }
    settings[name] = std::move(value);
  }
  return settings;
}

std::optional<workload> workload_of(const command& c) {
  if (!c.lengths.empty()) {
    if (!c.prompt.empty() || !c.generate.empty() || !c.sequences.empty()) {
      fail_usage("--lengths", c.lengths, "given together with --prompt, --generate or --sequences", "one of the two");
    }
    workload w;
    for (std::size_t from = 0; from <= c.lengths.size();) {
      const std::size_t to = std::min(c.lengths.find(',', from), c.lengths.size());
      w.lengths.push_back(count_of(c.lengths.substr(from, to - from), "--lengths"));
      from = to + 1;
    }
    w.sequences = w.lengths.size();
    return w;
  }
  if (c.prompt.empty() && c.generate.empty()) {
    if (!c.sequences.empty()) fail_usage("--sequences", c.sequences, "no length", "--prompt and --generate as well");
    return std::nullopt;
  }
  if (c.prompt.empty() || c.generate.empty()) {
    fail_usage(c.prompt.empty() ? "--prompt" : "--generate", "", "missing: a prompt without its generation is no budget",
               "both --prompt and --generate (0 is a number)");
  }
  return workload{count_of(c.prompt, "--prompt"), count_of(c.generate, "--generate"),
                  c.sequences.empty() ? 1 : count_of(c.sequences, "--sequences"), {}};
}

/// Two names of one element type are no contradiction.
bool means_the_same(const json& a, const json& b) {
  if (a == b) return true;
  if (!a.is_string() || !b.is_string()) return false;
  const auto type = kvbudget::find_storage_type(a.get_ref<const std::string&>());
  return type && type == kvbudget::find_storage_type(b.get_ref<const std::string&>());
}

/// Puts a workload option under the engine's own name; a contradiction is an error.
void put(json& settings, const std::string& name, const json& value, const std::string& option) {
  if (settings.contains(name) && !settings[name].is_null() && !means_the_same(settings[name], value)) {
    fail_usage(option, value.dump(), "contradicts --set " + name + "=" + settings[name].dump(), "one of the two");
  }
  settings[name] = value;
}

/// --kv-dtype, --k-dtype and --v-dtype, which must agree.
kvbudget::config::cache_types cache_types_of(const command& c) {
  kvbudget::config::cache_types types;
  if (!c.kv_dtype.empty()) types.k = types.v = kvbudget::parse_storage_type(c.kv_dtype, "--kv-dtype");
  const auto own = [&](const std::string& text, const std::string& option, std::optional<kvbudget::storage_type>& type) {
    if (text.empty()) return;
    const auto parsed = kvbudget::parse_storage_type(text, option);
    if (type && *type != parsed) fail_usage(option, text, "contradicts --kv-dtype " + c.kv_dtype, "one of the two");
    type = parsed;
  };
  own(c.k_dtype, "--k-dtype", types.k);
  own(c.v_dtype, "--v-dtype", types.v);
  return types;
}

kvbudget::config::evaluation evaluate(const command& c, const kvbudget::config::located_config& model,
                                      const std::optional<workload>& work,
                                      const std::optional<kvbudget::device_budget>& device) {
  json settings = settings_of(c);
  const auto types = cache_types_of(c);
  if (c.engine.empty()) {
    if (!settings.empty()) fail_usage("--set", settings.begin().key(), "no engine was named", "--engine NAME");
    return kvbudget::config::evaluate_bare(model.config, types.k, types.v, work.value_or(workload{}));
  }
  const auto& engine = kvbudget::config::find_engine(c.engine);
  engine.apply_workload(settings, work, types, put);
  if (device && engine.apply_device != nullptr && !settings.contains("available_memory")) {
    engine.apply_device(settings, *device, put);
  }
  return engine.evaluate(model.config, model.hf_quant_config ? &model.hf_quant_config->root : nullptr, settings);
}

/// What was said of the device. Nothing without --device.
std::optional<kvbudget::device_budget> device_of(const command& c) {
  const bool more = !c.weights.empty() || !c.overhead.empty() || !c.parameters.empty() || c.utilization != "1";
  if (c.device.empty()) {
    if (more) fail_usage("--device", "", "missing", "a size such as 80GiB, beside --weights, --overhead or --utilization");
    return std::nullopt;
  }
  kvbudget::device_budget device;
  device.capacity = kvbudget::parse_bytes(c.device, "--device");
  device.utilization = kvbudget::parse_share(c.utilization, "--utilization");
  if (!c.weights.empty()) {
    if (!c.parameters.empty()) fail_usage("--parameters", c.parameters, "given together with --weights", "one of the two");
    device.weights = kvbudget::parse_bytes(c.weights, "--weights");
  } else if (!c.parameters.empty()) {
    if (c.weight_bits.empty()) fail_usage("--weight-bits", "", "missing", "the bits of a weight, beside --parameters");
    double number = 0;
    try {
      std::size_t used = 0;
      number = std::stod(c.parameters, &used);
      if (used != c.parameters.size()) number = -1;
    } catch (const std::exception&) {
      number = -1;
    }
    if (!(number >= 0 && number <= 1e18)) fail_usage("--parameters", c.parameters, "not a number of parameters", "8e9");
    const std::uint64_t bits = count_of(c.weight_bits, "--weight-bits");
    device.weights = kvbudget::weight_bytes(static_cast<std::uint64_t>(number), bits);
  }
  if (!c.overhead.empty()) {
    if (c.overhead.back() == '%') device.overhead_share = kvbudget::parse_share(c.overhead, "--overhead");
    else device.fixed_overhead = kvbudget::parse_bytes(c.overhead, "--overhead");
  }
  return device;
}

int plan(const command& c) {
  const auto work = workload_of(c);
  const auto device = device_of(c);
  if (!c.engine.empty()) (void)kvbudget::config::find_engine(c.engine);
  const auto model = kvbudget::config::locate_config(c.config);

  kvbudget::plan_report report;
  report.answer = evaluate(c, model, work, device);
  report.source = model.config.file;
  report.revision = model.revision;
  report.work = work;
  if (device && report.answer.refusal.empty()) report.budget = assess(report.answer, work, *device);
  report.weights_given = !c.weights.empty() || !c.parameters.empty();
  report.weights_basis = c.weights.empty() ? "computed from parameters x bits" : "given";
  report.overhead_given = !c.overhead.empty();

  if (c.format == "json") fmt::print("{}\n", to_json(report).dump(2));
  else if (c.format == "csv") fmt::print("{}", to_csv(report));
  else if (c.format == "markdown") fmt::print("{}", to_markdown(report));
  else fmt::print("{}", to_table(report));

  if (!report.answer.refusal.empty()) return report.answer.too_large ? does_not_fit : engine_refuses;
  return report.budget && !report.budget->fits ? does_not_fit : answered;
}

/// Every model type, with the kinds of layers that its class defaults have.
int models() {
  fmt::print("engines: none");
  for (const auto& engine : kvbudget::config::engines) fmt::print(", {}", engine.name);
  fmt::print("\nelement types of the cache: any name that torch, vLLM, SGLang or llama.cpp use\n\n");
  fmt::print("{:<28} kinds of layers with the defaults of the class\n", "model type");
  for (const auto& row : kvbudget::families::model_type_rows) {
    std::string text;
    try {
      const kvbudget::config::document d{json{{"model_type", row.model_type}, {"dtype", "bfloat16"}}, ""};
      kvbudget::transformers::settings settings;
      const auto m = kvbudget::transformers::read_model(d, settings);
      std::map<std::string, std::uint64_t> kinds;
      for (std::size_t i = 0; i < m.layers.kinds().size(); ++i) kinds[m.layers.kinds()[i].kind] += m.layers.count(i);
      text = m.attention;
      for (const auto& [kind, count] : kinds) text += fmt::format(", {} x {}", count, kind);
    } catch (const kvbudget::config_error& e) {
      text = e.pointer() == "/model_type" ? "refused: " + e.problem() : "no answer from defaults alone: " + e.pointer();
    }
    fmt::print("{:<28} {}\n", row.model_type, text);
  }
  return answered;
}

int run(int argc, char** argv) {
  CLI::App app{"kvbudget: exact bytes of a model's KV cache, and what fits on a device"};
  app.set_version_flag("--version", fmt::format("{}.{}.{}", KVBUDGET_VERSION_MAJOR, KVBUDGET_VERSION_MINOR,
                                                KVBUDGET_VERSION_PATCH));
  command c;
  app.add_option("config", c.config, "a config.json, a folder that holds one, '-', or a cached model id (or: models)");
  app.add_option("--engine", c.engine, "whose cache; none: the bare tensors of the stored positions");
  app.add_option("--set", c.set, "OPTION=VALUE, an engine's own option under its own name; repeatable")->allow_extra_args(false);
  app.add_option("--kv-dtype", c.kv_dtype, "element type of the cache");
  app.add_option("--k-dtype", c.k_dtype, "element type of the keys");
  app.add_option("--v-dtype", c.v_dtype, "element type of the values");
  app.add_option("--prompt", c.prompt, "positions of the prompt");
  app.add_option("--generate", c.generate, "positions that are generated");
  app.add_option("--sequences", c.sequences, "how many sequences of this shape (1)");
  app.add_option("--lengths", c.lengths, "sequences of different lengths: 3072,1024,...");
  app.add_option("--device", c.device, "memory of the device: 24GiB, 80GB");
  app.add_option("--weights", c.weights, "exact bytes of the weights on this device");
  app.add_option("--parameters", c.parameters, "number of weights, as the rough form");
  app.add_option("--weight-bits", c.weight_bits, "bits of a weight, beside --parameters");
  app.add_option("--overhead", c.overhead, "everything else: a size, or a percentage of weights plus cache");
  app.add_option("--utilization", c.utilization, "share of the device that may be used (1)");
  app.add_option("--format", c.format, "table, json, csv or markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    throw kvbudget::usage_error({}, e.what(), "options as `kvbudget --help` lists them");
  }
  if (c.config.empty()) fail_usage("CONFIG", "", "missing", "a config.json, a folder, '-', a model id, or: models");
  if (c.format != "table" && c.format != "json" && c.format != "csv" && c.format != "markdown") {
    fail_usage("--format", c.format, "unknown format", "table, json, csv or markdown");
  }
  return c.config == "models" ? models() : plan(c);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const kvbudget::usage_error& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return wrong_usage;
  } catch (const kvbudget::engine_refusal& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return engine_refuses;
  } catch (const std::exception& e) {
    fmt::print(stderr, "kvbudget: error: {}\n", e.what());
    return not_understood;
  }
}
