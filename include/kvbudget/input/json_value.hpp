// A value of a config or of an option, typed, without the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace kvbudget {

/// A list or an object as JSON text.
struct json_text {
  std::string text;

  friend bool operator==(const json_text&, const json_text&) = default;
};

/// std::monostate is JSON's null: as an option, it is as if it had not been given.
using json_value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, json_text>;

}  // namespace kvbudget
