// kvbudget models: what the program knows.

#include <map>
#include <string>

#include <fmt/format.h>

#include <kvbudget/config/engines.hpp>

#include "command.hpp"

/// Every model type, with the kinds of layers that its class defaults have.
int models() {
  fmt::print("engines: none");
  for (const auto& engine : kvbudget::config::engines) fmt::print(", {}", engine.name);
  fmt::print("\nelement types of the cache: any name that torch, vLLM, SGLang or llama.cpp use\n\n");
  fmt::print("{:<28} kinds of layers with the defaults of the class\n", "model type");
  for (const auto& row : kvbudget::families::model_type_rows) {
    std::string text;
    try {
      const kvbudget::config::document d{kvbudget::config::json{{"model_type", row.model_type}, {"dtype", "bfloat16"}},
                                         ""};
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
