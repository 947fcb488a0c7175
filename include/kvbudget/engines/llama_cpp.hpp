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
