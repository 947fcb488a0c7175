// llama.cpp from the outside: a config.json (or GGUF metadata) and a question in, the engine's figures and log lines
// out.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/engine/engine.hpp>
#include <kvbudget/engines/llama_cpp/options.hpp>

namespace kvbudget::detail::llama_cpp {

/// Throws config_error, usage_error, size_error.
[[nodiscard]] engine_answer answer(const located_config& located, const engine_question& question);

/// The engine as it is registered.
inline constexpr engine definition = {
    .name = "llama.cpp",
    .also = "",
    .options = option_rows,
    .plans_one_replica = false,
    .figures = R"({"total_bytes": 1, "k_bytes": 1, "v_bytes": 1, "r_bytes": 1, "s_bytes": 1, "p_bytes": 1,
                   "n_ctx": 1, "n_ctx_seq": 1, "n_batch": 1, "n_ubatch": 1, "n_seq_max": 1, "n_rs_seq": 1,
                   "recurrent_cells": 1, "recurrent_layers": 1, "bytes_per_device": 1, "layers_per_device": 1,
                   "caches": [{"name": 1, "cells": 1, "layers": 1, "n_stream": 1, "k_bytes": 1, "v_bytes": 1}],
                   "layers": [{"layer": 1, "k_bytes": 1, "v_bytes": 1, "other_bytes": 1}]})",
    .measured_with = R"({"defaults": "c_api"})",
    .answer = answer,
};

}  // namespace kvbudget::detail::llama_cpp

#ifndef KVBUDGET_COMPILED
#include <kvbudget/engines/llama_cpp/engine.ipp>
#endif
