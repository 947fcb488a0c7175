// transformers from the outside: a config and a question in, the engine's figures out.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>
#include <kvbudget/engines/transformers/options.hpp>

namespace kvbudget::detail::transformers {

/// Throws config_error, usage_error, size_error.
[[nodiscard]] engine_answer answer(const located_config& located, const engine_question& question);

/// The engine as it is registered.
inline constexpr engine definition = {
    .name = "transformers",
    .also = "",
    .options = option_rows,
    .plans_one_replica = false,
    .figures = R"({"total_bytes": 1, "storage_bytes": 1,
                   "layers": [{"layer": 1, "k_bytes": 1, "v_bytes": 1, "other_bytes": 1}]})",
    .measured_with = "{}",
    .answer = answer,
};

}  // namespace kvbudget::detail::transformers

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/transformers/engine.ipp>
#endif
