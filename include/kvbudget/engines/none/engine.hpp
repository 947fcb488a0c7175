// No engine: the bare tensors of the stored positions.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>

namespace kvbudget::detail::none {

/// Throws config_error, usage_error, size_error.
[[nodiscard]] engine_answer answer(const located_config& located, const engine_question& question);

/// No engine, as it is registered.
inline constexpr engine definition = {
    .name = "none",
    .also = "",
    .options = {},
    .plans_one_replica = false,
    .figures = R"({"total_bytes": 1})",
    .measured_with = "{}",
    .answer = answer,
};

}  // namespace kvbudget::detail::none

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/none/engine.ipp>
#endif
