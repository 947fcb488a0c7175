// Definitions of model_length.hpp.
#pragma once

#include <string>

#include <kvbudget/engines/llama_cpp/gguf_metadata.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/plan/model_length.hpp>

namespace kvbudget {

KVBUDGET_INLINE std::optional<std::uint64_t> longest_context(const located_config& located) {
  const detail::config::document& d = *located.config;
  if (const auto architecture = detail::llama_cpp::gguf_architecture(detail::config::node(d))) {
    const std::string key = *architecture + ".context_length";
    return detail::config::node(d).find(key) == nullptr
               ? std::nullopt
               : detail::config::node(d).count(key, 1, detail::config::max_field_value);
  }
  const detail::config::node root(d);
  if (const auto type = root.string("model_type"); type && detail::config::find_model_type(*type) == nullptr) {
    return std::nullopt;  // an engine may know it; which of its fields is the length is not known here
  }
  const detail::config::model_config c(d);
  for (const char* const name : {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"}) {
    if (const auto n = c.count(name); n && *n > 0) return n;
  }
  return std::nullopt;
}

}  // namespace kvbudget
