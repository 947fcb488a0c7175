// What is asked of an engine: its own options, and what can be asked of every engine. All parts are typed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/engine/workload.hpp>
#include <kvbudget/input/json_value.hpp>
#include <kvbudget/core/units.hpp>

namespace kvbudget {

/// An engine's own options under its own names. Which there are, the engine's table says (engine::options).
using engine_options = std::map<std::string, json_value>;

/// What is asked of an engine. An option that contradicts one of the common parts is a usage error.
struct engine_question {
  engine_options options{};
  cache_types types{};
  std::optional<workload> work{};  ///< nothing: the engine's own defaults
  placement where{};
  std::vector<bytes> available{};  ///< what each device leaves for the cache; empty: no device was asked about
  /// Of the devices, where they are of one known kind; empty for other devices, nothing without devices.
  std::optional<std::string> device_name{};
};

}  // namespace kvbudget
