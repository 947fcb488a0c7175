#include "command.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <kvbudget/engine/parse_option.hpp>
#include <kvbudget/input/read_weights.hpp>
#include <kvbudget/input/spelling.hpp>
#include <kvbudget/plan/known_devices.hpp>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/version.hpp>

using kvbudget::workload;

void fail_usage(std::string option, std::string value, std::string problem, std::string expected) {
  throw kvbudget::usage_error({"", std::move(option), std::move(value)}, std::move(problem), std::move(expected));
}

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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

namespace {

/// Options that take one value, as text.
struct text_option {
  const char* name;  ///< without dashes
  std::string command::*text;
  const char* help;
};
constexpr text_option text_options[] = {
    {"engine", &command::engine, "whose cache; none: the bare tensors of the stored positions"},
    {"kv-dtype", &command::kv_dtype, "element type of the cache"},
    {"k-dtype", &command::k_dtype, "element type of the keys"},
    {"v-dtype", &command::v_dtype, "element type of the values"},
    {"prompt", &command::prompt, "positions of the prompt"},
    {"generate", &command::generate, "positions that are generated"},
    {"sequences", &command::sequences, "how many sequences of this shape (1)"},
    {"lengths", &command::lengths, "sequences of different lengths: 3072,1024,..."},
    {"long-prompt", &command::long_prompt, "a second case: the same sequences with this prompt"},
    {"most-sequences", &command::most_sequences, "a third case: so many sequences of the usual length"},
    {"tensor-parallel", &command::tensor_parallel, "ranks that divide the K/V heads (1)"},
    {"pipeline-parallel", &command::pipeline_parallel, "stages that divide the layers (1)"},
    {"stage-layers", &command::stage_layers, "layers of each stage: 20,20,21; else equal parts, or the engine's rule"},
    {"context-parallel", &command::context_parallel, "ranks that divide the positions of every sequence (1)"},
    {"data-parallel", &command::data_parallel, "whole replicas, to which the sequences are dealt (1)"},
    {"host-layers", &command::host_layers, "the first so many layers are on the host (0)"},
    {"host-memory", &command::host_memory, "memory of the host for them"},
    {"device", &command::device, "memory of a device: 24GiB, 80GB, or a known name; one for all, or a,b,c"},
    {"weights", &command::weights, "bytes of the weights, one for each device as a,b,c, or the path of their files"},
    {"parameters", &command::parameters, "number of weights, as the rough form"},
    {"weight-bits", &command::weight_bits, "bits of a weight, beside --parameters"},
    {"overhead", &command::overhead, "everything else: a size, or a percentage of weights plus cache"},
    {"utilization", &command::utilization, "share of the device that may be used (1)"},
    {"shared-prefix", &command::shared_prefix, "positions with which all sequences begin alike"},
    {"transfer-bandwidth", &command::transfer_bandwidth, "bytes a second to another place: 25GB"},
    {"memory-bandwidth", &command::memory_bandwidth, "bytes a second of a device's memory: 3350GB"},
};

/// Options that may be given several times.
struct repeated_option {
  const char* name;
  std::vector<std::string> command::*texts;
  const char* help;
};
constexpr repeated_option repeated_options[] = {
    {"set", &command::set,
     "OPTION=VALUE, an engine's own option under its own name (see `kvbudget engines`); repeatable"},
    {"co-resident", &command::co_resident,
     "NAME=SIZE, another thing on every device: a draft model, a second model; repeatable"},
    {"observed", &command::observed,
     "NAME=SIZE, measured, in place of what is computed: cache (one for each device as a,b,c), weights, overhead, or a "
     "case: usual, long, concurrent; repeatable"},
};

}  // namespace

void add_plan_options(CLI::App& app, command& c) {
  for (const text_option& o : text_options) app.add_option(std::string("--") + o.name, c.*o.text, o.help);
  app.add_flag("--attention-data-parallel", c.attention_data_parallel,
               "the tensor-parallel ranks keep whole heads, of their own sequences");
  for (const repeated_option& o : repeated_options) {
    app.add_option(std::string("--") + o.name, c.*o.texts, o.help)->allow_extra_args(false);
  }
}

void set_option(command& c, const std::string& name, const std::string& value) {
  const command defaults;
  for (const text_option& o : text_options) {
    if (name != o.name) continue;
    if (c.*o.text != defaults.*o.text) {
      fail_usage("--" + name, c.*o.text, "given, and to be varied as well", "one of the two");
    }
    c.*o.text = value;
    return;
  }
  for (const repeated_option& o : repeated_options) {
    if (name != o.name) continue;
    (c.*o.texts).push_back(value);
    return;
  }
  if (name == "attention-data-parallel") {
    if (value != "true" && value != "false") {
      fail_usage("--over " + name, value, "not a state of this option", "true or false");
    }
    c.attention_data_parallel = value == "true";
    return;
  }
  c.set.push_back(name + "=" + value);
}

namespace {

/// A value of --set: JSON if it parses as JSON, else a string.
kvbudget::json_value value_of(const std::string& name, const std::string& text) {
  std::size_t nested = 0;
  for (const char letter : text) nested += letter == '[' || letter == '{' ? 1U : 0U;
  if (nested > 1000) fail_usage("--set " + name, "", "too many brackets", "at most 1000");  // comparing recurses
  kvbudget::json_value value = kvbudget::parse_option(text);
  // A release is no number: 0.20 is another one than 0.2.
  const bool number = std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value) ||
                      std::holds_alternative<std::uint64_t>(value);
  return name == "version" && number ? kvbudget::json_value(text) : value;
}

kvbudget::engine_options options_of(const command& c) {
  kvbudget::engine_options options;
  for (const std::string& text : c.set) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) fail_usage("--set", text, "no '='", "OPTION=VALUE");
    const std::string name = text.substr(0, equals);
    kvbudget::json_value value = value_of(name, text.substr(equals + 1));
    const auto at = options.find(name);
    if (at != options.end() && at->second != value) {
      fail_usage("--set " + name, text.substr(equals + 1), "set twice with different values", "one value");
    }
    options[name] = std::move(value);
  }
  return options;
}

/// The workload; without --sequences, as many as the engine's own option says.
std::optional<workload> workload_of(const command& c, const kvbudget::plan_question& q) {
  if (!c.lengths.empty()) {
    if (!c.prompt.empty() || !c.generate.empty() || !c.sequences.empty()) {
      fail_usage("--lengths", c.lengths, "given together with --prompt, --generate or --sequences", "one of the two");
    }
    workload w;
    for (const std::string& length : split(c.lengths)) w.lengths.push_back(count_of(length, "--lengths"));
    w.sequences = w.lengths.size();
    return w;
  }
  if (c.prompt.empty() && c.generate.empty()) {
    if (!c.sequences.empty()) fail_usage("--sequences", c.sequences, "no length", "--prompt and --generate as well");
    return std::nullopt;
  }
  if (c.prompt.empty() || c.generate.empty()) {
    fail_usage(c.prompt.empty() ? "--prompt" : "--generate", "",
               "missing: a prompt without its generation is no budget", "both --prompt and --generate (0 is a number)");
  }
  workload w{count_of(c.prompt, "--prompt"), count_of(c.generate, "--generate"), 1, {}};
  if (!c.sequences.empty()) w.sequences = count_of(c.sequences, "--sequences");
  if (c.sequences.empty()) w.sequences = kvbudget::sequences_of(q).value_or(1);
  return w;
}

/// --kv-dtype, --k-dtype and --v-dtype, which must agree.
kvbudget::cache_types cache_types_of(const command& c) {
  kvbudget::cache_types types;
  if (!c.kv_dtype.empty()) types.k = types.v = kvbudget::parse_storage_type(c.kv_dtype, "--kv-dtype");
  const auto own = [&](const std::string& text, const std::string& option,
                       std::optional<kvbudget::storage_type>& type) {
    if (text.empty()) return;
    const auto parsed = kvbudget::parse_storage_type(text, option);
    if (type && *type != parsed) fail_usage(option, text, "contradicts --kv-dtype " + c.kv_dtype, "one of the two");
    type = parsed;
  };
  own(c.k_dtype, "--k-dtype", types.k);
  own(c.v_dtype, "--v-dtype", types.v);
  types.said = !c.kv_dtype.empty() ? c.kv_dtype : c.k_dtype == c.v_dtype ? c.k_dtype : "";
  return types;
}

kvbudget::placement placement_of(const command& c) {
  kvbudget::placement where;
  const auto ranks = [](const std::string& text, const std::string& option) {
    const std::uint64_t n = count_of(text, option);
    if (n == 0 || n > 1024) fail_usage(option, text, "unusable value", "a whole number from 1 to 1024");
    return n;
  };
  where.tensor_parallel = ranks(c.tensor_parallel, "--tensor-parallel");
  where.pipeline_parallel = ranks(c.pipeline_parallel, "--pipeline-parallel");
  where.context_parallel = ranks(c.context_parallel, "--context-parallel");
  where.data_parallel = ranks(c.data_parallel, "--data-parallel");
  where.attention_data_parallel = c.attention_data_parallel;
  where.host_layers = count_of(c.host_layers, "--host-layers");
  if (!c.stage_layers.empty()) {
    for (const std::string& n : split(c.stage_layers)) where.stage_layers.push_back(count_of(n, "--stage-layers"));
    if (where.pipeline_parallel == 1) where.pipeline_parallel = where.stage_layers.size();
    if (where.pipeline_parallel != where.stage_layers.size()) {
      fail_usage("--stage-layers", c.stage_layers, "not one number for each stage", c.pipeline_parallel + " numbers");
    }
  }
  (void)where.devices();
  return where;
}

std::pair<std::string, std::string> name_and_size(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) fail_usage(option, text, "no name and size", "NAME=SIZE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<kvbudget::bytes> sizes_of(const std::string& text, const std::string& option) {
  std::vector<kvbudget::bytes> sizes;
  for (const std::string& part : split(text)) sizes.push_back(kvbudget::parse_bytes(part, option));
  return sizes;
}

bool is_size(const std::string& text) {
  const std::string first = split(text).front();
  return !first.empty() && first.front() >= '0' && first.front() <= '9';
}

/// 8B, 8.03e9, 8030261248. A number of a few is no model.
std::uint64_t parameters_of(const std::string& text) {
  double number = -1;
  std::string digits = text;
  double unit = 1;
  for (const auto& [letter, value] : {std::pair{'M', 1e6}, std::pair{'B', 1e9}, std::pair{'T', 1e12}}) {
    if (digits.empty() || digits.back() != letter) continue;
    digits.pop_back();
    unit = value;
    break;
  }
  if (!digits.empty() && digits.find_first_not_of("0123456789.eE+") == digits.npos) {
    try {
      std::size_t used = 0;
      number = std::stod(digits, &used) * unit;
      if (used != digits.size()) number = -1;
    } catch (const std::exception&) {
      number = -1;
    }
  }
  if (!(number >= 1e4 && number <= 1e18)) {
    fail_usage("--parameters", text, "not a number of parameters", "8B, 8e9 or 8030261248");
  }
  return static_cast<std::uint64_t>(number);
}

/// A path. A long list of sizes is none, whatever the system says of its length.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

kvbudget::bytes rough_weights(const command& c) {
  if (c.weight_bits.empty()) fail_usage("--weight-bits", "", "missing", "the bits of a weight, beside --parameters");
  const auto bits = kvbudget::find_share(c.weight_bits);
  if (!bits || c.weight_bits.back() == '%' || bits->numerator == 0 || bits->numerator / bits->denominator > 64) {
    fail_usage("--weight-bits", c.weight_bits, "not the bits of a weight", "a number such as 16, 8.5 or 4.85");
  }
  return kvbudget::weight_bytes(parameters_of(c.parameters), *bits);
}

void put_weights(const command& c, kvbudget::plan_question& q) {
  if (!c.weights.empty() && !c.parameters.empty()) {
    fail_usage("--parameters", c.parameters, "given together with --weights", "one of the two");
  }
  if (c.parameters.empty() && !c.weight_bits.empty()) {
    fail_usage("--weight-bits", c.weight_bits, "no number of weights", "--parameters as well");
  }
  if (!c.parameters.empty()) {
    q.weight_sizes = {rough_weights(c)};
    q.weights = kvbudget::evidence::estimated;
  } else if (!c.weights.empty() && is_size(c.weights) && !is_there(c.weights)) {
    q.weight_sizes = sizes_of(c.weights, "--weights");
    q.weights = kvbudget::evidence::given;
  } else if (const auto total = c.weights.empty() ? std::nullopt : kvbudget::total_of_index_alone(c.weights)) {
    q.weight_sizes = {kvbudget::bytes(*total)};
    q.weights = kvbudget::evidence::given;
    q.notes.push_back("the weights are the total that " + c.weights + " states: its shards are not there");
  } else if (!c.weights.empty()) {
    q.files = kvbudget::read_weights(c.weights);
  }
}

/// What was said of the devices. Nothing without --device.
void put_devices(const command& c, kvbudget::plan_question& q) {
  if (c.device.empty()) {
    const bool weights = !c.weights.empty() || !c.parameters.empty();
    const bool more = !c.overhead.empty() || c.utilization != "1" || !c.co_resident.empty() || !c.host_memory.empty();
    if (more || (weights && c.memory_bandwidth.empty())) {
      fail_usage("--device", "", "missing", "a size such as 80GiB, beside --weights, --overhead or --utilization");
    }
    return;
  }
  kvbudget::device_budget any;
  any.utilization = kvbudget::parse_share(c.utilization, "--utilization");
  if (any.utilization.numerator > any.utilization.denominator) {
    fail_usage("--utilization", c.utilization, "more than the device has", "at most 1");
  }
  if (!c.overhead.empty()) {
    if (c.overhead.back() == '%') any.overhead_share = kvbudget::parse_share(c.overhead, "--overhead");
    else any.fixed_overhead = kvbudget::parse_bytes(c.overhead, "--overhead");
    q.overhead = kvbudget::evidence::given;
  }
  if (!c.host_memory.empty()) {
    q.host = any;
    q.host->capacity = kvbudget::parse_bytes(c.host_memory, "--host-memory");
  }
  std::vector<std::string> names;
  for (const std::string& text : split(c.device)) {
    kvbudget::device_budget device = any;
    if (is_size(text)) {
      device.capacity = kvbudget::parse_bytes(text, "--device");
      q.device_sources.push_back("given");
    } else {
      const kvbudget::known_device& known = kvbudget::find_device(text, "--device");
      device.capacity = kvbudget::bytes(known.usable_bytes);
      names.push_back(std::string(known.name));
      std::string source = std::string(known.name) + ": " + std::string(known.source);
      if (known.nominal_gib != 0) source += ", nominal " + std::to_string(known.nominal_gib) + " GB";
      q.device_sources.push_back(std::move(source));
    }
    q.devices.push_back(device);
  }
  const bool one_kind = names.size() == q.devices.size() &&
                        std::count(names.begin(), names.end(), names[0]) == static_cast<std::ptrdiff_t>(names.size());
  if (one_kind) q.device_name = names[0];
}

/// The usual case is the plan's own workload: what was measured of one was measured of the other.
void put_observations(const command& c, kvbudget::plan_question& q) {
  std::vector<std::string> seen;
  for (const std::string& text : c.observed) {
    const auto [name, size] = name_and_size(text, "--observed");
    if (std::find(seen.begin(), seen.end(), name == "usual" ? "cache" : name) != seen.end()) {
      fail_usage("--observed", text, "observed twice", "one figure");
    }
    seen.push_back(name == "usual" ? "cache" : name);
    const std::vector<kvbudget::bytes> measured = sizes_of(size, "--observed");
    bool known = name == "cache" || name == "weights" || name == "overhead";
    if (name == "cache" || name == "usual") q.observed_cache = measured;
    for (kvbudget::capacity_case& one : q.cases) {
      if (one.name != name && !(name == "cache" && one.name == "usual")) continue;
      one.observed = measured;
      known = true;
    }
    if (!known) fail_usage("--observed", name, "unknown figure", "cache, weights, overhead, or a case that was given");
    if (name == "weights") {
      q.weight_sizes = measured;
      q.files.reset();
      q.weights = kvbudget::evidence::observed;
    } else if (name == "overhead") {
      if (q.devices.empty()) fail_usage("--observed", name, "no device", "--device as well");
      if (measured.size() != 1) fail_usage("--observed", text, "more than one size", "the same on every device");
      for (kvbudget::device_budget& d : q.devices) {
        d.fixed_overhead = measured.front();
        d.overhead_share = {0, 1};
      }
      q.overhead = kvbudget::evidence::observed;
    }
  }
}

/// Usual, long, and most at once: one dimension is changed at a time.
void put_cases(const command& c, kvbudget::plan_question& q) {
  if (c.long_prompt.empty() && c.most_sequences.empty()) return;
  if (!q.work || !q.work->lengths.empty()) {
    fail_usage(c.long_prompt.empty() ? "--most-sequences" : "--long-prompt", "", "no usual case",
               "--prompt and --generate as well");
  }
  q.cases = {{"usual", q.work, {}}, {"long", {}, {}}, {"concurrent", {}, {}}};
  if (!c.long_prompt.empty()) {
    q.cases[1].work = q.work;
    q.cases[1].work->prompt = count_of(c.long_prompt, "--long-prompt");
  }
  if (!c.most_sequences.empty()) {
    q.cases[2].work = q.work;
    q.cases[2].work->sequences = count_of(c.most_sequences, "--most-sequences");
  }
}

}  // namespace

kvbudget::plan_question question_of(const command& c) {
  kvbudget::plan_question q;
  q.engine = c.engine;
  q.options = options_of(c);
  q.types = cache_types_of(c);
  q.work = workload_of(c, q);
  q.where = placement_of(c);
  put_devices(c, q);
  put_weights(c, q);
  for (const std::string& text : c.co_resident) {
    const auto [name, size] = name_and_size(text, "--co-resident");
    q.co_residents.push_back({name, kvbudget::parse_bytes(size, "--co-resident")});
  }
  put_cases(c, q);
  put_observations(c, q);
  if (!c.shared_prefix.empty()) q.shared_prefix = count_of(c.shared_prefix, "--shared-prefix");
  const auto bandwidth = [](const std::string& text, const char* option) {
    return text.empty() ? std::optional<kvbudget::bytes>() : kvbudget::parse_bytes(text, option);
  };
  q.transfer_bandwidth = bandwidth(c.transfer_bandwidth, "--transfer-bandwidth");
  q.memory_bandwidth = bandwidth(c.memory_bandwidth, "--memory-bandwidth");
  return q;
}

status status_of(const kvbudget::plan_report& report) { return static_cast<status>(outcome_of(report)); }

void check_format(const std::string& format, const std::string& known) {
  std::string rest = known;
  for (std::size_t at = rest.find(", "); at != rest.npos; at = rest.find(", ")) rest.replace(at, 2, ",");
  for (const std::string& name : split(rest)) {
    if (name == format) return;
  }
  fail_usage("--format", format, "unknown format", "one of " + known);
}

bool parse(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("--version",
                       fmt::format("{}.{}.{}", KVBUDGET_VERSION_MAJOR, KVBUDGET_VERSION_MINOR, KVBUDGET_VERSION_PATCH));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return true;
  } catch (const CLI::ParseError& e) {
    throw kvbudget::usage_error({}, e.what(), "options as `kvbudget --help` lists them");
  }
  // A shell's unset variable must not take a check away.
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) fail_usage(option->get_name(), "", "an empty value", "a value, or no such option");
    }
  }
  return false;
}
