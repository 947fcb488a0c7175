// Options of an engine as JSON, as the measured cases have them.
#pragma once

#include <kvbudget/engine/options.hpp>

namespace testing {

inline kvbudget::engine_question asked(const kvbudget::detail::config::json& options) {
  kvbudget::engine_question question;
  question.options = kvbudget::detail::options_from(options);
  return question;
}

/// Without an engine.
inline kvbudget::engine_question asked(std::optional<kvbudget::storage_type> k, std::optional<kvbudget::storage_type> v,
                                       const kvbudget::workload& work) {
  kvbudget::engine_question question;
  question.types = {k, v, {}};
  question.work = work;
  return question;
}

}  // namespace testing
