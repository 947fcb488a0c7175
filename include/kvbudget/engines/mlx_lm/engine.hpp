// mlx-lm from the outside: a config and a question in, the engine's figures out.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>
#include <kvbudget/engines/mlx_lm/options.hpp>

namespace kvbudget::detail::mlx_lm {

/// Throws config_error, usage_error, size_error.
[[nodiscard]] engine_answer answer(const located_config& located, const engine_question& question);

/// The engine as it is registered.
inline constexpr engine definition = {
    .name = "mlx-lm",
    .also = "mlx",
    .options = option_rows,
    .plans_one_replica = false,
    .figures = R"({"total_bytes": 1, "tokens_yielded": 1, "num_cache_entries": 1,
                   "layer_groups": [{"layers": 1, "cache_class": 1, "bytes": 1}]})",
    .measured_with = "{}",
    .answer = answer,
};

}  // namespace kvbudget::detail::mlx_lm

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/mlx_lm/engine.ipp>
#endif
