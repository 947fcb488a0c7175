// kvbudget models: what the program knows.

#include <fmt/format.h>

#include <kvbudget/engines/engines.hpp>
#include <kvbudget/plan/known_models.hpp>

#include "command.hpp"

/// Every model type, with the kinds of layers that its class defaults have.
int models() {
  fmt::print("engines: ");
  for (const auto& engine : kvbudget::engines()) {
    fmt::print("{}{}", &engine == kvbudget::engines().data() ? "" : ", ", engine.name);
  }
  fmt::print("\nelement types of the cache: any name that torch, vLLM, SGLang or llama.cpp use\n\n");
  fmt::print("{:<28} kinds of layers with the defaults of the class\n", "model type");
  for (const auto& model : kvbudget::known_models()) fmt::print("{:<28} {}\n", model.model_type, model.layers);
  return answered;
}

/// The engines, or one engine's own options as --set takes them.
int engines(const std::string& name) {
  if (name.empty()) {
    for (const auto& engine : kvbudget::engines()) fmt::print("{}\n", engine.name);
    return answered;
  }
  const kvbudget::engine& engine = kvbudget::find_engine(name);
  fmt::print("{:<32} {:<40} {}\n", "option of " + std::string(engine.name), "values", "otherwise");
  for (const kvbudget::option_row& row : engine.options) {
    fmt::print("{:<32} {:<40} {}\n", row.name, values_of(row), row.otherwise);
  }
  return answered;
}
