// llama.cpp: the bytes of a context's caches and states, its refusals, the largest n_ctx for a budget.
//
// `load_hparams(metadata)` reads a model, `plan(hparams, settings)` gives what a context allocates, `max_n_ctx` the
// inverse. Nothing here allocates, and everything works in constant expressions. JSON: config/llama_cpp.hpp.
#pragma once

#include <kvbudget/engines/llama_cpp/architectures.hpp>
#include <kvbudget/engines/llama_cpp/hparams.hpp>
#include <kvbudget/engines/llama_cpp/inverse.hpp>
#include <kvbudget/engines/llama_cpp/memory.hpp>
#include <kvbudget/engines/llama_cpp/plan.hpp>
#include <kvbudget/engines/llama_cpp/settings.hpp>

/// What programs call of llama.cpp's rules: `load_hparams(metadata)` reads a model, `plan(hparams, settings)` gives
/// what a context allocates, `max_n_ctx` the inverse.
namespace kvbudget::llama_cpp {

using detail::llama_cpp::command_line_settings;
using detail::llama_cpp::context_plan;
using detail::llama_cpp::find_architecture;
using detail::llama_cpp::hparams;
using detail::llama_cpp::load_hparams;
using detail::llama_cpp::max_n_ctx;
using detail::llama_cpp::metadata;
using detail::llama_cpp::plan;
using detail::llama_cpp::server_settings;
using detail::llama_cpp::settings;

}  // namespace kvbudget::llama_cpp
