// kvbudget-verify: measured cases against the library, figure by figure.
//
//   kvbudget-verify PATH... [--select KEY=VALUE[,VALUE...]]... [--allow-unsupported GLOB]... [--format json]

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/config/model_config.hpp>
#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/engines.hpp>

namespace {

using kvbudget::detail::config::document;
using kvbudget::detail::config::json;

struct selection {
  std::string key;
  std::vector<std::string> values;
};

struct options {
  std::vector<std::string> paths;
  std::vector<selection> select;
  std::vector<std::string> allow_unsupported;
  bool as_json = false;
};

struct figure {
  std::string name;
  json expected;
  json computed;
};

struct outcome {
  std::string case_id;
  std::string run;
  std::string id;  // both, as --allow-unsupported sees them
  std::string status;
  std::string reason;  // of an unsupported run
  std::vector<figure> figures;
};

/// '*' any text, '?' any character. Without recursion, so that no pattern takes exponential time.
bool matches_glob(std::string_view text, std::string_view glob) {
  std::size_t t = 0, g = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++t, ++g;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

/// The part of `value` that is compared, in the shape of `spec`.
json reduced(const json& value, const json& spec) {
  if (spec.is_array()) {
    if (!value.is_array()) return value;
    json list = json::array();
    for (const json& entry : value) list.push_back(entry.is_array() ? reduced(entry, spec) : reduced(entry, spec[0]));
    return list;
  }
  if (spec.is_object()) {
    if (!value.is_object()) return value;
    json object = json::object();
    for (const auto& [key, inner] : spec.items()) {
      if (value.contains(key)) object[key] = reduced(value[key], inner);
    }
    return object;
  }
  return value;
}

/// Differences between what the engine did and what the library says, in the figures that the engine's entry names; in
/// lists of objects only in the named members. Everything else in `expect` explains.
std::vector<figure> compare(const json& compared, const json& expect, const json& computed) {
  std::vector<figure> differences;
  const bool refused = expect.contains("error");
  const bool says_no = computed.contains("error");
  if (refused != says_no) {
    differences.push_back({"error", expect.value("error", json()), computed.value("error", json())});
    return differences;
  }
  for (const auto& [name, spec] : compared.items()) {
    if (!expect.contains(name) || expect[name].is_null()) continue;
    const json expected = reduced(expect[name], spec);
    const json ours = computed.contains(name) ? reduced(computed[name], spec) : json();
    if (expected != ours) differences.push_back({name, expected, ours});
  }
  return differences;
}

std::string text_model_type(const json& config, const std::string& file) {
  try {
    const document d{config, file};
    return std::string(kvbudget::detail::config::model_config(d).model_type());
  } catch (const std::exception&) {
    const json& text = config.contains("text_config") ? config["text_config"] : config;
    return text.is_object() && text.contains("model_type") && text["model_type"].is_string() ? text["model_type"]
                                                                                             : json("");
  }
}

bool is_selected(const json& one, const json& run, const std::string& text_type, const options& o) {
  return std::all_of(o.select.begin(), o.select.end(), [&](const selection& s) {
    json value;
    if (s.key == "model_type") value = text_type;
    else if (s.key == "engine" || s.key == "config_form" || s.key == "engine_version") value = one.value(s.key, json());
    else if (s.key == "name" || s.key == "run") value = run.value("name", json());
    else value = run["settings"].value(s.key, json());
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    return std::find(s.values.begin(), s.values.end(), text) != s.values.end();
  });
}

outcome verify_run(const json& one, const json& run, const std::shared_ptr<const document>& config, const options& o) {
  outcome result;
  result.case_id = one.value("id", "");
  result.run = run.value("name", "");
  result.id = result.case_id + "/" + result.run;
  try {
    const kvbudget::engine& engine = kvbudget::find_engine(one.value("engine", ""));
    json settings = json::parse(engine.measured_with);
    settings.update(run.at("settings"));
    settings["version"] = one.value("engine_version", json());
    kvbudget::located_config located{config, nullptr, config->file};
    if (one.contains("hf_quant_config"))
      located.hf_quant_config = std::make_shared<const document>(document{one["hf_quant_config"], ""});
    kvbudget::engine_question question;
    question.options = kvbudget::detail::options_from(settings);
    const auto answer = engine.answer(located, question);
    result.figures = compare(json::parse(engine.figures), run.at("expect"), answer.figures());
    result.status = result.figures.empty() ? "matched" : "differed";
  } catch (const std::exception& e) {
    result.status = "unsupported";
    result.reason = e.what();
    for (const std::string& glob : o.allow_unsupported) {
      if (matches_glob(result.id, glob)) result.status = "allowed";
    }
  }
  return result;
}

void verify_case(const json& one, const std::string& file, const options& o, std::vector<outcome>& results) {
  if (!one.is_object() || !one.contains("runs") || !one.contains("config")) return;
  const std::string text_type = text_model_type(one["config"], file);
  const auto config = std::make_shared<const document>(document{one["config"], file});
  for (const json& run : one["runs"]) {
    if (!is_selected(one, run, text_type, o)) continue;
    results.push_back(verify_run(one, run, config, o));
    const outcome& r = results.back();
    if (o.as_json) continue;
    if (r.status == "unsupported") fmt::print("{}: {}: unsupported: {}\n", file, r.id, r.reason);
    for (const figure& f : r.figures) {
      fmt::print("{}: {}: {}: expected {}, computed {}\n", file, r.id, f.name, f.expected.dump(), f.computed.dump());
    }
  }
}

void verify_path(const std::filesystem::path& path, const options& o, std::vector<outcome>& results) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) verify_path(file, o, results);
    return;
  }
  const document d = kvbudget::detail::config::read_document(path.string());
  if (d.root.is_array()) {
    for (const json& one : d.root) verify_case(one, d.file, o, results);
  } else {
    verify_case(d.root, d.file, o, results);
  }
}

options parse(int argc, char** argv) {
  options o;
  const auto value_of = [&](int& i) -> std::string {
    if (i + 1 >= argc) throw kvbudget::usage_error({"", argv[i], ""}, "missing value", "a value");
    return argv[++i];
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--select") {
      const std::string text = value_of(i);
      const std::size_t equals = text.find('=');
      if (equals == text.npos) throw kvbudget::usage_error({"", "--select", text}, "no '='", "KEY=VALUE[,VALUE...]");
      selection s{text.substr(0, equals), {}};
      for (std::size_t from = equals + 1; from <= text.size();) {
        const std::size_t to = std::min(text.find(',', from), text.size());
        s.values.push_back(text.substr(from, to - from));
        from = to + 1;
      }
      o.select.push_back(s);
    } else if (argument == "--allow-unsupported") {
      o.allow_unsupported.push_back(value_of(i));
    } else if (argument == "--format") {
      const std::string format = value_of(i);
      if (format != "json" && format != "text") {
        throw kvbudget::usage_error({"", "--format", format}, "unknown format", "json or text");
      }
      o.as_json = format == "json";
    } else if (argument.substr(0, 2) == "--") {
      throw kvbudget::usage_error({"", std::string(argument), ""}, "unknown option",
                                  "--select, --allow-unsupported or --format");
    } else {
      o.paths.emplace_back(argument);
    }
  }
  if (o.paths.empty()) throw kvbudget::usage_error({}, "no path", "files or folders with measured cases");
  return o;
}

int run(const options& o) {
  std::vector<outcome> results;
  for (const std::string& path : o.paths) {
    if (!std::filesystem::exists(path)) {
      throw kvbudget::config_error({path, "", ""}, "does not exist", "a file or folder");
    }
    verify_path(path, o, results);
  }
  const auto number_of = [&](std::string_view status) {
    return std::count_if(results.begin(), results.end(), [&](const outcome& r) { return r.status == status; });
  };
  const auto matched = number_of("matched"), differed = number_of("differed"), unsupported = number_of("unsupported"),
             allowed = number_of("allowed");
  if (o.as_json) {
    json runs = json::array();
    for (const outcome& r : results) {
      json figures = json::array();
      for (const figure& f : r.figures) {
        figures.push_back({{"name", f.name}, {"expected", f.expected}, {"computed", f.computed}});
      }
      json entry = {{"id", r.case_id}, {"run", r.run}, {"status", r.status}, {"figures", figures}};
      if (!r.reason.empty()) entry["reason"] = r.reason;
      runs.push_back(entry);
    }
    const json all = {{"matched", matched},
                      {"differed", differed},
                      {"unsupported", unsupported},
                      {"allowed", allowed},
                      {"runs", runs}};
    fmt::print("{}\n", all.dump());
  } else {
    fmt::print("{} matched, {} differed, {} unsupported, {} refused as allowed\n", matched, differed, unsupported,
               allowed);
  }
  return differed == 0 && unsupported == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const kvbudget::usage_error& e) {
    fmt::print(stderr, "kvbudget-verify: error: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "kvbudget-verify: error: {}\n", e.what());
    return 3;
  }
}
