// The element type that a config states for its model.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/input/spelling.hpp>

namespace kvbudget::detail::config {

/// Element types that a model in torch can have.
inline constexpr std::string_view torch_types[] = {"float32", "float16", "bfloat16"};
inline constexpr const char* torch_types_text = "bfloat16, float16 or float32";

/// The element type that the config states. Before 5.0 the language model has its own part's; since then the root's is
/// the whole model's (modeling_utils.py, _get_dtype).
[[nodiscard]] inline std::optional<storage_type> stated_dtype(const document& d, engine_version version) {
  const node root(d);
  if (!d.root.is_object()) root.fail("not a config", "a JSON object");
  std::vector<node> places;
  for (const std::string_view key : {"text_config", "decoder", "decoder_config"}) {
    const json* const member = root.find(key);
    if (member != nullptr && member->is_object()) places.push_back(root.child(key, *member));
  }
  const bool root_wins = !(version < engine_version{5, 0, 0});
  places.insert(root_wins ? places.begin() : places.end(), root);
  for (const node& place : places) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const json* const value = place.find(key);
      if (value == nullptr || value->is_object()) continue;
      const auto name = place.string(key);
      if (const auto type = find_storage_type(*name)) {
        if (std::find(std::begin(torch_types), std::end(torch_types), name_of(*type)) != std::end(torch_types))
          return type;
        place.fail(key, *value, "not an element type that a model in torch can have", torch_types_text);
      }
      if (*name != "auto") place.fail(key, *value, "unknown element type", "a torch dtype such as \"bfloat16\"");
    }
  }
  return std::nullopt;
}

}  // namespace kvbudget::detail::config
