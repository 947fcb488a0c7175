// Definitions of known_models.hpp.
#pragma once

#include <map>

#include <kvbudget/config/read_model.hpp>
#include <kvbudget/plan/known_models.hpp>

namespace kvbudget {
namespace detail {

/// The kinds of layers of a model type's class defaults, or why there are none.
[[nodiscard]] inline std::string layers_in_words(std::string_view model_type) {
  try {
    transformers::read_options how;
    how.k_type = how.v_type = how.model_type = bf16;
    const auto m = transformers::read_model(config::document{config::json{{"model_type", model_type}}, ""}, how);
    std::map<std::string, std::uint64_t> kinds;
    for (std::size_t i = 0; i < m.layers.kinds().size(); ++i) kinds[m.layers.kinds()[i].kind] += m.layers.count(i);
    std::string text = m.attention;
    for (const auto& [kind, count] : kinds) text += ", " + std::to_string(count) + " x " + kind;
    return text;
  } catch (const config_error& e) {
    return e.pointer() == "/model_type" ? "refused: " + e.problem() : "no answer from defaults alone: " + e.pointer();
  }
}

}  // namespace detail

KVBUDGET_INLINE std::vector<known_model> known_models() {
  std::vector<known_model> models;
  for (const auto& row : detail::families::model_type_rows) {
    models.push_back({std::string(row.model_type), detail::layers_in_words(row.model_type)});
  }
  return models;
}

}  // namespace kvbudget
