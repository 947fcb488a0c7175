// The value of an engine's option from text.
#pragma once

#include <string>

#include <kvbudget/compiled.hpp>
#include <kvbudget/input/json_value.hpp>

namespace kvbudget {

/// `text` as JSON where it is JSON, else as a string: 4096, true, [1, 2], q8_0.
[[nodiscard]] json_value parse_option(const std::string& text);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engine/parse_option.ipp>
#endif
