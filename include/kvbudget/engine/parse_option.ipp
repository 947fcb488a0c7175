// Definitions of parse_option.hpp.
#pragma once

#include <kvbudget/input/document.hpp>
#include <kvbudget/engine/parse_option.hpp>

namespace kvbudget {

KVBUDGET_INLINE json_value parse_option(const std::string& text) {
  const detail::config::json value = detail::config::json::parse(text, nullptr, false);
  return value.is_discarded() ? json_value(text) : detail::config::value_from(value);
}

}  // namespace kvbudget
