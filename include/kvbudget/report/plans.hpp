// Several plans together: each has a name, and an answer or the reason why there is none. Tables of them.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <kvbudget/compiled.hpp>
#include <kvbudget/plan/question.hpp>

namespace kvbudget {

/// One plan among several.
struct named_plan {
  std::string name;
  std::string source;  ///< the config, as the user named it
  std::optional<plan_report> plan;
  outcome result = outcome::answered;
  std::string reason;  ///< why there is no answer, or what binds
};

/// `make` returns a plan_report; what it throws about its input becomes the reason.
template <class Make>
[[nodiscard]] named_plan try_plan(std::string name, std::string source, const Make& make) {
  named_plan p{std::move(name), std::move(source), std::nullopt, outcome::answered, ""};
  const auto failed = [&](outcome result, const std::exception& e) {
    p.result = result;
    p.reason = e.what();
  };
  try {
    p.plan = make();
    p.result = outcome_of(*p.plan);
    if (!p.plan->answer.refusal.empty()) p.reason = p.plan->answer.refusal;
    else if (p.plan->budget && !p.plan->budget->fits) p.reason = p.plan->budget->binding;
  } catch (const usage_error& e) {
    failed(outcome::wrong_usage, e);
  } catch (const engine_refusal& e) {
    failed(outcome::engine_refuses, e);
  } catch (const input_error& e) {
    failed(outcome::not_understood, e);
  } catch (const size_error& e) {
    failed(outcome::wrong_usage, e);
    p.reason = p.name + ": " + p.reason + ": sizes and counts that together stay below 2^64 bytes";
  }
  return p;
}

/// The worst of several: wrong usage, not understood, refused by the engine, does not fit, answered.
[[nodiscard]] outcome worst_of(outcome a, outcome b);

/// What people call a model that they named by a path, on one line: folder/model/config.json and model.gguf are
/// "model".
[[nodiscard]] std::string model_name(std::string_view path);

/// Names of models, the whole paths where the short ones would be equal.
[[nodiscard]] std::vector<std::string> model_names(const std::vector<std::string>& paths);

/// A plan that was made, or what is known of one that was not.
[[nodiscard]] nlohmann::json to_json(const named_plan& p);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/report/plans.ipp>
#endif
