// The options of an engine as one table: help, errors, and what the planner must know of them come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvbudget {

enum class option_kind : std::uint8_t {
  count,    ///< a whole number of at least 0
  integer,  ///< a whole number of 32 bits
  boolean,
  word,  ///< one of `values`, separated by '|'
  text,  ///< a string; `values` says of what kind
  other  ///< a list, an object, or one of several kinds: the engine checks it itself
};

/// The part of the common question that an option answers as well.
enum class common_part : std::uint8_t {
  none,
  version,
  k_type,
  v_type,
  types,  ///< of K and V alike
  length,
  sequences,
  tensor_parallel,
  pipeline_parallel,
  stage_layers,
  device_kind,
  device_memory
};

/// One option of an engine.
struct option_row {
  std::string_view name;
  option_kind kind = option_kind::other;
  std::string_view values{};     ///< words, separated by '|', or what is expected
  std::string_view otherwise{};  ///< what holds when it is not given, as text
  common_part asks = common_part::none;
  std::uint64_t lowest = 0;  ///< of a count
  std::uint64_t highest = std::uint64_t{1} << 62U;
  std::string_view since{};    ///< the first release that has it; empty: every known one
  std::string_view aliases{};  ///< other spellings, separated by '|'
};

using option_table = std::span<const option_row>;

/// What an option takes, in words.
[[nodiscard]] inline std::string values_of(const option_row& row) {
  std::string text(row.values);
  for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at)) text.replace(at, 1, ", ");
  if (!text.empty()) return text;
  switch (row.kind) {
    case option_kind::count:
      return row.lowest == 0 ? "a whole number" : "a whole number from " + std::to_string(row.lowest);
    case option_kind::integer: return "a whole number";
    case option_kind::boolean: return "true, false";
    default: return "a value";
  }
}

namespace detail {

/// Whether `word` is one of those that `words` lists, separated by '|'.
[[nodiscard]] constexpr bool is_listed(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == word) return true;
    words = end == words.npos ? std::string_view() : words.substr(end + 1);
  }
  return false;
}
/// The place of `word` among those that `words` lists; npos where it is none of them.
[[nodiscard]] constexpr std::size_t place_in(std::string_view words, std::string_view word) {
  for (std::size_t i = 0; !words.empty(); ++i) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == word) return i;
    words = end == words.npos ? std::string_view() : words.substr(end + 1);
  }
  return std::string_view::npos;
}
[[nodiscard]] constexpr const option_row* find_option(option_table table, std::string_view name) {
  for (const option_row& row : table) {
    if (row.name == name || is_listed(row.aliases, name)) return &row;
  }
  return nullptr;
}
/// The option by which an engine answers a part of the common question; nullptr where it has none.
[[nodiscard]] constexpr const option_row* find_option(option_table table, common_part asks) {
  for (const option_row& row : table) {
    if (row.asks == asks) return &row;
  }
  return nullptr;
}

}  // namespace detail

}  // namespace kvbudget
