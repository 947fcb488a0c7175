// Plans side by side, and the terms that make the difference.
//
// The bytes of a cache are a product of terms, each the quotient of two counts of which the first divides into the
// next:
//
//   positions x layers x share kept x KV heads x elements x bytes x states x allocation
//
// So the ratio of two caches is exactly the product of the ratios of their terms. In a model whose layers are all alike
// a term is what the config says (8 heads, 256 elements of K and V); in others it is the mean over the layers, weighted
// with what they keep.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <kvbudget/compiled.hpp>
#include <kvbudget/input/located_config.hpp>
#include <kvbudget/report/comparison.hpp>

namespace kvbudget {

/// Counts a plan that was made of this config. Where the bare tensors are unknown (an engine knows a model or an
/// element type that nothing else does) the plan stays without counts, and says why.
[[nodiscard]] compared_plan count_plan(const located_config& located, const plan_question& q, named_plan made);

/// The difference of `plan` against `base`, both with counts.
[[nodiscard]] cache_difference difference_of(const compared_plan& plan, const compared_plan& base);

[[nodiscard]] comparison compare(std::vector<compared_plan> plans);

/// kvbudget.compare/1: every plan whole, with its counts; and the differences. Counts are exact, terms are quotients.
[[nodiscard]] nlohmann::json to_json(const comparison& c);
/// The same as text, for those who do not include the JSON library.
[[nodiscard]] std::string to_json_text(const comparison& c);

[[nodiscard]] std::string to_csv(const comparison& c);

[[nodiscard]] std::string to_markdown(const comparison& c);

[[nodiscard]] std::string to_table(const comparison& c);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/report/compare.ipp>
#endif
