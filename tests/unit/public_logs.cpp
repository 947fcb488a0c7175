// Figures that engines printed in public logs, digit by digit (tests/data/PUBLIC_LOGS.md). A figure lends only its
// form to ours: the unit, the number of decimals, whether thousands are separated.
#include "support/asking.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <kvbudget/engines/llama_cpp/evaluate.hpp>
#include <kvbudget/engines/vllm/evaluate.hpp>
#include <kvbudget/engines/engines.hpp>

using namespace kvbudget;
using detail::config::json;

namespace {

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// What stands between two texts; nothing when they do not occur.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return "";
  const std::size_t from = at + before.size();
  const std::size_t to = text.find(after, from);
  return to == text.npos ? "" : text.substr(from, to - from);
}

/// A number with as many decimals as `form` has before its unit.
std::string with_decimals_of(const std::string& form, double value) {
  const std::size_t end = std::min(form.find_first_not_of("0123456789."), form.size());
  const std::size_t point = std::min(form.find('.'), end);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(point == end ? 0 : end - point - 1), value);
  return text;
}

/// Bytes in the form of "360.00 MiB". llama.cpp divides in float; the MB and GB of the logs are powers of two.
std::string size_like(const std::string& form, std::uint64_t bytes) {
  const std::string unit = form.substr(std::min(form.find(' '), form.size()));
  if (unit == " GiB" || unit == " GB") return with_decimals_of(form, static_cast<double>(bytes) / 1073741824.0) + unit;
  return with_decimals_of(form, static_cast<double>(static_cast<float>(bytes) / (1024.0F * 1024.0F))) + unit;
}

std::string grouped_like(const std::string& form, std::string number) {
  if (form.find(',') == form.npos) number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  return number;
}

/// The exact figures behind one printed line of llama.cpp or ollama.
std::map<std::string, std::uint64_t> figures_of(const json& figures, const json& line) {
  if (line.contains("device")) {
    const std::string device = line["device"];
    return {{"size", figures["bytes_per_device"].value(device, std::uint64_t{0})}};
  }
  if (line["cache"] == "all") return {{"size", figures["total_bytes"].get<std::uint64_t>()}};
  if (line["cache"] == "recurrent") {
    const std::uint64_t r = figures.value("r_bytes", std::uint64_t{0});
    const std::uint64_t s = figures.value("s_bytes", std::uint64_t{0});
    return {{"R", r}, {"S", s}, {"size", r + s + figures.value("p_bytes", std::uint64_t{0})}};
  }
  for (const json& cache : figures["caches"]) {
    if (cache["name"] != line["cache"]) continue;
    const std::uint64_t k = cache["k_bytes"].get<std::uint64_t>(), v = cache["v_bytes"].get<std::uint64_t>();
    return {{"cells", cache["cells"].get<std::uint64_t>()},
            {"layers", cache["layers"].get<std::uint64_t>()},
            {"K", k},
            {"V", v},
            {"size", k + v}};
  }
  return {};
}

json llama_cpp_line(const engine_answer& e, const json& line) {
  json ours = json::object();
  const auto figures = figures_of(e.figures(), line);
  for (const auto& [key, value] : line.items()) {
    if (key == "cache" || key == "device") ours[key] = value;
    else if (figures.count(key) == 0) ours[key] = "none";
    else if (key == "cells" || key == "layers") ours[key] = std::to_string(figures.at(key));
    else ours[key] = size_like(text_of(value), figures.at(key));
  }
  return ours;
}

/// Whether our own log lines hold these figures too, in one line. Older versions printed other decimals.
bool is_in_log(const engine_answer& e, const json& line) {
  if (!line.contains("cache") || line["cache"] == "all") return true;
  const std::string name = line["cache"] == "recurrent" ? "llama_memory_recurrent: " : "llama_kv_cache: ";
  std::vector<std::string> parts;
  for (const auto& [key, value] : line.items()) {
    const std::string text = text_of(value);
    if (key == "cache") continue;
    if (key == "cells" || key == "layers") {
      parts.push_back(" " + text + " " + key);
    } else {
      if (!ends_with(text, " MiB") || text.find('.') + 3 != text.find(' ')) return true;
      parts.push_back(key == "size" ? "size = " + text : "): " + text);
    }
  }
  const json log = e.figures()["log"];
  for (const json& printed : log) {
    std::string text;
    for (const char c : text_of(printed)) {
      if (c != ' ' || text.empty() || text.back() != ' ') text += c;
    }
    text.insert(std::min(text.find('(') + 1, text.size()), " ");  // "(131072 cells" as "( 512 cells"
    if (text.rfind(name, 0) == 0 && std::all_of(parts.begin(), parts.end(), [&text](const std::string& part) {
          return text.find(part) != text.npos;
        })) {
      return true;
    }
  }
  return false;
}

/// vLLM: the same figures out of the lines that we print, or of the settings in force.
json vllm_line(const engine_answer& e, const json& line) {
  const std::string printed = text_of(e.figures().value("printed", json()));
  const std::string padding = " padding layers beside the ";
  std::uint64_t padding_layers = 0, padded_layers = 0;
  for (const std::string& note : e.notes) {
    const std::size_t at = note.find(padding);
    if (at == note.npos) continue;
    padding_layers = std::stoull(note);
    const std::string kind = between(note, padding, " layers");
    const json groups = e.figures()["groups"];
    for (const json& group : groups) {
      if (group["spec"]["type"] == kind) padded_layers += group["num_layers"].get<std::uint64_t>();
    }
  }
  json ours = json::object();
  for (const auto& [key, value] : line.items()) {
    const std::string form = text_of(value);
    std::string text;
    if (key == "tokens") text = between(printed, "GPU KV cache size: ", " tokens");
    if (key == "concurrency") text = between(printed + "\n", "tokens per request: ", "\n");
    if (key == "max_model_len") {
      text = between(e.refusal, "max seq len (", ")");
      if (text.empty()) text = between(printed, "Maximum concurrency for ", " tokens per request");
    }
    if (key == "needed") text = between(e.refusal, "), (", " KV cache is needed");
    if (key == "available") text = between(e.refusal, "available KV cache memory (", ")");
    if (key == "estimated") text = between(e.refusal, "estimated maximum model length is ", ".");
    if (key == "blocks") text = e.figures().value("num_blocks", json()).dump();
    if (key == "block_size") text = e.settings()["block_size"].dump();
    if (key == "padding_layers") text = std::to_string(padding_layers);
    if (key == "padding_share" && padded_layers != 0) {
      const double share = static_cast<double>(padding_layers) / static_cast<double>(padded_layers);
      text = with_decimals_of(form, 100.0 * share) + "%";
    }
    ours[key] = grouped_like(form, text);
  }
  return ours;
}

/// The sizes that are printed as `text` ("5.98 GiB", two decimals, a last zero may be missing): the lowest, and one for
/// every block more that fits.
std::vector<std::uint64_t> memories_printed_as(const std::string& text, std::uint64_t bytes_per_block) {
  const double gib = std::stod(text);
  const auto lowest = static_cast<std::uint64_t>(std::ceil((gib - 0.005) * 1073741824.0));
  const auto highest = static_cast<std::uint64_t>(std::floor((gib + 0.005) * 1073741824.0));
  std::vector<std::uint64_t> list{lowest};
  for (std::uint64_t n = lowest / bytes_per_block + 1; n * bytes_per_block <= highest; ++n) {
    list.push_back(n * bytes_per_block);
  }
  return list;
}

std::uint64_t smallest_block(const engine_answer& e) {
  const json bytes = e.figures()["bytes_per_block"];
  if (!bytes.is_array()) return bytes.get<std::uint64_t>();
  std::uint64_t least = bytes[0].get<std::uint64_t>();
  for (const json& stage : bytes) least = std::min(least, stage.get<std::uint64_t>());
  return least;
}

json vllm_lines(const engine_answer& e, const json& printed) {
  json ours = json::array();
  for (const json& line : printed) ours.push_back(vllm_line(e, line));
  return ours;
}

}  // namespace

TEST_CASE("public logs: the same digits") {
  const detail::config::document file =
      detail::config::read_document(KVBUDGET_SOURCE_DIR "/tests/data/public_logs.json");
  std::map<std::string, int> cases;
  for (const json& one : file.root["cases"]) {
    const std::string engine = one["engine"], id = one["id"], of_config = one["config"];
    INFO(id);
    ++cases[engine];
    REQUIRE(file.root["configs"].contains(of_config));
    REQUIRE(!one["printed"].empty());
    const detail::config::document config{file.root["configs"][of_config], id};
    json settings = one["settings"];
    if (engine != "vllm") {
      if (!settings.contains("defaults")) settings["defaults"] = "c_api";  // what a log did not say was inferred so
      const engine_answer e = detail::llama_cpp::evaluate(config, testing::asked(settings));
      REQUIRE(e.refusal == "");
      for (const json& line : one["printed"]) {
        CHECK(llama_cpp_line(e, line).dump() == line.dump());
        CHECK(is_in_log(e, line));
      }
      continue;
    }
    const auto evaluate = [](const detail::config::document& d, const json* quant, const json& options) {
      return detail::vllm::evaluate(d, quant, testing::asked(options));
    };
    const json& printed = one["printed"];
    if (!one.contains("memory")) {
      CHECK(vllm_lines(evaluate(config, nullptr, settings), printed).dump() == printed.dump());
      continue;
    }
    // The log rounds the memory. All figures must come out of one and the same size.
    const std::uint64_t block = smallest_block(evaluate(config, nullptr, settings));
    std::string all;
    bool reproduced = false;
    const std::vector<std::uint64_t> memories = memories_printed_as(one["memory"], block);
    CHECK(memories.size() <= 32);
    for (const std::uint64_t memory : memories) {
      settings["available_memory"] = memory;
      const json ours = vllm_lines(evaluate(config, nullptr, settings), printed);
      reproduced = reproduced || ours == printed;
      all += "\n" + ours.dump();
    }
    INFO(printed.dump() << " is none of" << all);
    CHECK(reproduced);
  }
  CHECK(cases == std::map<std::string, int>{{"llama.cpp", 28}, {"ollama", 8}, {"ik_llama.cpp", 7}, {"vllm", 16}});
}
