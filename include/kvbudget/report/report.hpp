// Reports: a table for people, JSON, CSV and Markdown. The only header that prints.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>
#include <kvbudget/compiled.hpp>
#include <kvbudget/plan/question.hpp>

namespace kvbudget {

/// JSON by the programs' contract: kvbudget.plan/1. Integers are exact.
[[nodiscard]] nlohmann::json to_json(const plan_report& r);
/// The same as text, for those who do not include the JSON library.
[[nodiscard]] std::string to_json_text(const plan_report& r);

/// JSON as text. Bytes of a name that are no UTF-8 are replaced.
[[nodiscard]] std::string to_text(const nlohmann::json& value);

/// quantity,value,unit,basis: one row each.
[[nodiscard]] std::string to_csv(const plan_report& r);

[[nodiscard]] std::string to_markdown(const plan_report& r);

/// A table for people: what was asked and whether it fits, then the figures, then where they come from.
[[nodiscard]] std::string to_table(const plan_report& r);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/report/report.ipp>
#endif
