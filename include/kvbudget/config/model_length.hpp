// For how many positions a model is made.
#pragma once

#include <optional>

#include <kvbudget/config/gguf.hpp>
#include <kvbudget/config/llama_cpp/gguf_metadata.hpp>
#include <kvbudget/config/model_config.hpp>

namespace kvbudget {

/// The positions that a model is made for: max_position_embeddings by whichever name its config has it, or the
/// context_length of GGUF metadata. Nothing where neither says one. Throws config_error.
[[nodiscard]] inline std::optional<std::uint64_t> longest_context(const config::document& d) {
  if (const auto architecture = llama_cpp::gguf_architecture(config::node(d))) {
    const std::string key = *architecture + ".context_length";
    return config::node(d).find(key) == nullptr ? std::nullopt : config::node(d).count(key, 1, config::max_field_value);
  }
  const config::node root(d);
  if (const auto type = root.string("model_type"); type && config::find_model_type(*type) == nullptr) {
    return std::nullopt;  // an engine may know it; which of its fields is the length is not known here
  }
  const config::model_config c(d);
  for (const char* const name : {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"}) {
    if (const auto n = c.count(name); n && *n > 0) return n;
  }
  return std::nullopt;
}

}  // namespace kvbudget
