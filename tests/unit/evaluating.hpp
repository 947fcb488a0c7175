// Configs as text, answered by the transformers engine; and the error that something raises.
#pragma once

#include "support/asking.hpp"
#include "support/catch.hpp"

#include <kvbudget/engines/transformers/evaluate.hpp>

namespace testing {

using kvbudget::detail::config::json;

inline kvbudget::detail::config::document parse(std::string_view text) {
  return kvbudget::detail::config::parse_document(text, "config.json");
}

/// The options as a program would read them from a command line: {"seq_len": 8}.
inline kvbudget::engine_answer evaluate(std::string_view config, const json& options = json::object()) {
  return kvbudget::detail::transformers::evaluate(parse(config), asked(options));
}

/// Bytes of `options` with the config's own element type.
inline std::uint64_t bytes_of(std::string_view config, const json& options) {
  return evaluate(config, options).total_bytes;
}

/// The exception that `body` throws; a failed test when it throws none, or one of another type.
template <class Error, class Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  FAIL("nothing was thrown");
  throw 0;
}

/// The source of a quantity; empty when it was not read.
inline std::string source_of(const kvbudget::engine_answer& e, std::string_view quantity) {
  for (const auto& s : e.sources) {
    if (s.quantity == quantity) return s.source;
  }
  return {};
}

}  // namespace testing
