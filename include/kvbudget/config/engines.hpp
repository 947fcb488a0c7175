// The engines by name.
#pragma once

#include <kvbudget/config/transformers.hpp>

namespace kvbudget::config {

/// An engine as programs choose it.
struct engine_entry {
  std::string_view name;
  /// A config, the content of hf_quant_config.json beside it (or nullptr), and options: the engine's figures.
  evaluation (*evaluate)(const document& d, const json* hf_quant_config, const json& options);
};

inline constexpr engine_entry engines[] = {
    {"transformers",
     [](const document& d, const json*, const json& options) { return transformers::evaluate(d, options); }},
};

/// Throws usage_error that lists the known engines.
inline const engine_entry& find_engine(std::string_view name) {
  std::string known;
  for (const engine_entry& e : engines) {
    if (e.name == name) return e;
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  throw usage_error({"", "engine", std::string(name)}, "unknown engine", "one of " + known);
}

}  // namespace kvbudget::config
