// What an engine is to the planner, the programs and the reports: a name, a table of options, and one function.
#pragma once

#include <string_view>

#include <kvbudget/input/located_config.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/option_row.hpp>
#include <kvbudget/engine/question.hpp>

namespace kvbudget {

/// An engine: registered in engines/engines.hpp.
struct engine {
  std::string_view name;           ///< "vllm"
  std::string_view also;           ///< other names for it, separated by '|'
  option_table options;            ///< its own options; their words about common parts are what the planner goes by
  bool plans_one_replica;          ///< replicas are as many plans, each with its own devices
  std::string_view figures;        ///< JSON: which of its figures measured cases are compared by
  std::string_view measured_with;  ///< JSON: options of measured cases that do not say otherwise
  /// Throws config_error, usage_error, size_error.
  engine_answer (*answer)(const located_config&, const engine_question&);
};

}  // namespace kvbudget
