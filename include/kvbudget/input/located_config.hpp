// A config and what was published beside it, as programs hand it from the reader to the planner.
#pragma once

#include <memory>
#include <string>

namespace kvbudget {
namespace detail::config {
struct document;
}  // namespace detail::config

/// Made by locate_config() and parse_config().
struct located_config {
  std::shared_ptr<const detail::config::document> config;           ///< a config.json, or the metadata of a GGUF file
  std::shared_ptr<const detail::config::document> hf_quant_config;  ///< of the same folder; may be null
  std::string file;                                                 ///< as the user named it
  std::string revision{};                                           ///< of a model from the local cache, if known
};

}  // namespace kvbudget
