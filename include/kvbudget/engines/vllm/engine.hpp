// vLLM on a config.json: what it allocates, counts and prints.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>
#include <kvbudget/engines/vllm/options.hpp>

namespace kvbudget::detail::vllm {

/// Throws config_error, usage_error, size_error.
[[nodiscard]] engine_answer answer(const located_config& located, const engine_question& question);

/// The engine as it is registered.
inline constexpr engine definition = {
    .name = "vllm",
    .also = "",
    .options = option_rows,
    .plans_one_replica = true,
    .figures = R"({"bytes_per_block": 1, "num_blocks": 1, "tokens": 1, "max_concurrency": 1, "printed": 1,
                   "request_bytes": 1, "blocks_per_request": 1, "allocated_bytes": 1, "estimated_max_model_len": 1,
                   "auto_fit_max_model_len": 1,
                   "groups": [{"num_layers": 1, "blocks_per_request": 1,
                               "spec": {"block_size": 1, "page_size_bytes": 1}}]})",
    .measured_with = "{}",
    .answer = answer,
};

}  // namespace kvbudget::detail::vllm

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/vllm/engine.ipp>
#endif
