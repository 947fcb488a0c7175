// For how many positions a model is made.
#pragma once

#include <cstdint>
#include <optional>

#include <kvbudget/compiled.hpp>
#include <kvbudget/input/located_config.hpp>

namespace kvbudget {

/// The positions that a model is made for: max_position_embeddings by whichever name its config has it, or the
/// context_length of GGUF metadata. Nothing where neither says one. Throws config_error.
[[nodiscard]] std::optional<std::uint64_t> longest_context(const located_config& located);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/plan/model_length.ipp>
#endif
