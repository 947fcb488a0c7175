// Definitions of engine.hpp.
#pragma once

#include <kvbudget/engines/transformers/engine.hpp>
#include <kvbudget/engines/transformers/evaluate.hpp>

namespace kvbudget::detail::transformers {

KVBUDGET_INLINE engine_answer answer(const located_config& c, const engine_question& q) {
  return evaluate(*c.config, q);
}

}  // namespace kvbudget::detail::transformers
