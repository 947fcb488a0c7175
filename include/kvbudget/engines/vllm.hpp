// vLLM: groups, blocks and admission of its KV cache, without JSON, printing or allocation.
//
// The rules are those of vLLM 0.32.0. Where public logs of older versions show another rule, `settings::version`
// chooses it: asynchronous scheduling by default since 0.14, the need of a pipeline stage alone since 0.16, the printed
// token count, the reserved null block and prefix caching of hybrids by default since 0.24.
#pragma once

#include <kvbudget/engines/vllm/backends.hpp>
#include <kvbudget/engines/vllm/block_size.hpp>
#include <kvbudget/engines/vllm/groups.hpp>
#include <kvbudget/engines/vllm/inverse.hpp>
#include <kvbudget/engines/vllm/kv_cache_spec.hpp>
#include <kvbudget/engines/vllm/model.hpp>
#include <kvbudget/engines/vllm/plan.hpp>
