// vLLM: groups, blocks and admission of its KV cache, without JSON, printing or allocation.
//
// The rules are those of vLLM 0.32.0. Where public logs of older versions show another rule, `settings::version`
// chooses it: asynchronous scheduling by default since 0.14, the need of a pipeline stage alone since 0.16, the printed
// token count, the reserved null block and prefix caching of hybrids by default since 0.24.
#pragma once

#include <kvbudget/engines/vllm/backends.hpp>
#include <kvbudget/engines/vllm/block_pool.hpp>
#include <kvbudget/engines/vllm/block_size.hpp>
#include <kvbudget/engines/vllm/groups.hpp>
#include <kvbudget/engines/vllm/inverse.hpp>
#include <kvbudget/engines/vllm/kv_cache_spec.hpp>
#include <kvbudget/engines/vllm/model.hpp>
#include <kvbudget/engines/vllm/plan.hpp>

/// What programs call of vLLM's rules: `plan(model, settings)` is what it allocates and prints,
/// `largest_max_model_len` and `most_concurrent_requests` are the inverses, `block_pool(plan)` is what a ledger counts.
namespace kvbudget::vllm {

using detail::vllm::block_pool;
using detail::vllm::cache_dtype;
using detail::vllm::cache_plan;
using detail::vllm::largest_max_model_len;
using detail::vllm::layer_class;
using detail::vllm::layer_ref;
using detail::vllm::layer_role;
using detail::vllm::model;
using detail::vllm::most_concurrent_requests;
using detail::vllm::plan;
using detail::vllm::refusal;
using detail::vllm::request;
using detail::vllm::settings;

}  // namespace kvbudget::vllm
