// Options of engines as JSON values: typed access, and an error that lists what is known.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/config/document.hpp>

namespace kvbudget::config {

/// Options by name. null means not given.
class settings_reader {
 public:
  /// Throws usage_error when `settings` holds an option that is not in `known`.
  settings_reader(const json& settings, std::vector<std::string_view> known)
      : settings_(&settings), known_(std::move(known)) {
    if (!settings.is_object()) throw usage_error({"", "settings", detail::shown(settings)}, "not an object", "options");
    for (const auto& [name, value] : settings.items()) {
      bool found = false;
      for (const std::string_view k : known_) found = found || k == name;
      if (!found) throw usage_error({"", name, detail::shown(value)}, "unknown option", "one of " + joined(known_));
    }
  }

  [[nodiscard]] const json* find(std::string_view name) const {
    const auto at = settings_->find(name);
    return at == settings_->end() || at->is_null() ? nullptr : &*at;
  }

  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest = 0,
                                                   std::uint64_t highest = std::uint64_t{1} << 62U) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number_unsigned() || (value->is_number_integer() && value->get<std::int64_t>() >= 0)) {
      const auto number = value->get<std::uint64_t>();
      if (number >= lowest && number <= highest) return number;
    }
    fail(name, *value, "unusable value",
         "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest));
  }
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) fail(name, *value, "unusable value", "true or false");
    return value->get<bool>();
  }
  [[nodiscard]] std::optional<std::string> string(std::string_view name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) fail(name, *value, "unusable value", "a string");
    return value->get<std::string>();
  }
  /// One of several words.
  [[nodiscard]] std::string word(std::string_view name, std::string_view otherwise,
                                 std::initializer_list<std::string_view> words) const {
    const auto value = string(name);
    if (!value) return std::string(otherwise);
    for (const std::string_view w : words) {
      if (w == *value) return *value;
    }
    fail(name, json(*value), "unknown value", "one of " + joined(words));
  }

  [[noreturn]] void fail(std::string_view name, const json& value, std::string problem, std::string expected) const {
    throw usage_error({"", std::string(name), detail::shown(value)}, std::move(problem), std::move(expected));
  }

 private:
  template <class Words>
  static std::string joined(const Words& words) {
    std::string text;
    for (const std::string_view w : words) {
      text += text.empty() ? "" : ", ";
      text += w;
    }
    return text;
  }

  const json* settings_;
  std::vector<std::string_view> known_;
};

}  // namespace kvbudget::config
