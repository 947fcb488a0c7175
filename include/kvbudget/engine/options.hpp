// What was given as options, checked against the engine's table.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <kvbudget/input/document.hpp>
#include <kvbudget/engine/option_row.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/input/spelling.hpp>

namespace kvbudget {

namespace detail {

[[nodiscard]] inline std::string with_commas(std::string_view words) {
  std::string text;
  for (const char c : words) text += c == '|' ? std::string(", ") : std::string(1, c);
  return text;
}

/// The members of an object as options. Throws usage_error for anything else.
[[nodiscard]] inline engine_options options_from(const config::json& object) {
  if (object.is_null()) return {};
  if (!object.is_object()) {
    throw usage_error({"", "options", config::shown(object)}, "not an object", "options by their names");
  }
  engine_options options;
  for (const auto& [name, value] : object.items()) options[name] = config::value_from(value);
  return options;
}

[[nodiscard]] inline config::json to_json(const engine_options& options) {
  config::json object = config::json::object();
  for (const auto& [name, value] : options) object[name] = config::to_json(value);
  return object;
}

/// The note on a limit of an engine that was not given: the workload's own length stands for it.
[[nodiscard]] inline std::string planned_for(std::string_view option, std::uint64_t value) {
  return "planned for " + std::string(option) + "=" + std::to_string(value) +
         ", which is the workload's: set it to what the engine is started with";
}

/// Options by name, checked against the engine's table.
class option_reader {
 public:
  /// Throws usage_error for an option that the table does not have, for one that is given twice with different values
  /// under several spellings, and for values that are not of the option's kind.
  option_reader(option_table table, const engine_options& options) : table_(table) {
    for (const auto& [name, value] : options) {
      const option_row* const row = find_option(table, name);
      const config::json as_json = config::to_json(value);
      if (row == nullptr) {
        throw usage_error({"", name, config::shown(as_json)}, "unknown option", "one of " + names());
      }
      if (as_json.is_null()) continue;
      const std::string own(row->name);
      if (const auto at = given_.find(own); at != given_.end() && *at != as_json) {
        throw usage_error({"", name, config::shown(as_json)}, "given twice with different values", "one value");
      }
      given_[own] = as_json;
      check(*row, as_json);
    }
  }

  [[nodiscard]] const config::json* find(std::string_view name) const {
    const auto at = given_.find(name);
    return at == given_.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const config::json& given() const { return given_; }

  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name) const { return as<std::uint64_t>(name); }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const { return as<std::int64_t>(name); }
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const { return as<bool>(name); }
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const { return as<std::string>(name); }
  /// The place of the word among the option's values: the value of an enumeration in the same order.
  template <class Enumeration>
  [[nodiscard]] Enumeration word(std::string_view name, Enumeration otherwise) const {
    const auto value = text(name);
    return value ? static_cast<Enumeration>(place_in(find_option(table_, name)->values, *value)) : otherwise;
  }

  /// An option, and what the common question says of the same thing. Throws usage_error where they differ.
  template <class T>
  [[nodiscard]] std::optional<T> agreed(std::string_view name, const std::optional<T>& own,
                                        const std::optional<T>& asked, std::string_view said_as) const {
    if (own && asked && !(*own == *asked)) contradict(name, config::shown(config::json(*asked)), said_as);
    return own ? own : asked;
  }
  /// `value` of the common question contradicts the option `name`, which was given.
  [[noreturn]] void contradict(std::string_view name, std::string value, std::string_view said_as) const {
    throw usage_error({"", std::string(said_as), std::move(value)},
                      "contradicts " + std::string(name) + "=" + config::shown(*find(name)), "one of the two");
  }
  [[noreturn]] void fail(std::string_view name, const config::json& value, std::string problem,
                         std::string expected) const {
    throw usage_error({"", std::string(name), config::shown(value)}, std::move(problem), std::move(expected));
  }
  [[noreturn]] void fail(std::string_view name, std::string problem, std::string expected) const {
    fail(name, has(name) ? *find(name) : config::json(), std::move(problem), std::move(expected));
  }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> as(std::string_view name) const {
    const config::json* const value = find(name);
    return value == nullptr ? std::nullopt : std::optional<T>(value->get<T>());
  }
  [[nodiscard]] std::string names() const {
    std::string text;
    for (const option_row& row : table_) text += (text.empty() ? "" : ", ") + std::string(row.name);
    return text;
  }
  void check(const option_row& row, const config::json& value) const {
    const bool whole = value.is_number_integer();
    const bool negative = whole && !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
    switch (row.kind) {
      case option_kind::count:
        if (whole && !negative && value.get<std::uint64_t>() >= row.lowest && value.get<std::uint64_t>() <= row.highest)
          return;
        fail(row.name, value, "unusable value",
             "a whole number from " + std::to_string(row.lowest) + " to " + std::to_string(row.highest));
      case option_kind::integer:
        if (whole &&
            (negative ? value.get<std::int64_t>() >= -0x7fff'ffff : value.get<std::uint64_t>() <= 0x7fff'ffffU))
          return;
        fail(row.name, value, "unusable value", "a whole number of 32 bits");
      case option_kind::boolean:
        if (!value.is_boolean()) fail(row.name, value, "unusable value", "true or false");
        return;
      case option_kind::text:
        if (!value.is_string()) fail(row.name, value, "unusable value", "a string");
        return;
      case option_kind::word:
        if (!value.is_string()) fail(row.name, value, "unusable value", "one of " + with_commas(row.values));
        if (!is_listed(row.values, value.get_ref<const std::string&>())) {
          fail(row.name, value, "unknown value", "one of " + with_commas(row.values));
        }
        return;
      case option_kind::other: return;
    }
  }

  option_table table_;
  config::json given_ = config::json::object();
};

}  // namespace detail
}  // namespace kvbudget
