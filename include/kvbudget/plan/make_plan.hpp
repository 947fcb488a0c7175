// One question about one model, and its answer: what the cache takes, and what fits where.
#pragma once

#include <kvbudget/compiled.hpp>
#include <kvbudget/input/located_config.hpp>
#include <kvbudget/plan/question.hpp>

namespace kvbudget {

/// Answers a question. Throws config_error, usage_error, engine_refusal; raises size_error.
[[nodiscard]] plan_report make_plan(const located_config& located, plan_question q);

/// The number of sequences that the engine's own option states; nothing where it is not given. Throws usage_error for
/// an unknown engine.
[[nodiscard]] std::optional<std::uint64_t> sequences_of(const plan_question& q);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/plan/make_plan.ipp>
#endif
