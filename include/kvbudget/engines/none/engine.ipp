// Definitions of engine.hpp.
#pragma once

#include <kvbudget/engines/none/engine.hpp>
#include <kvbudget/engines/none/evaluate.hpp>

namespace kvbudget::detail::none {

KVBUDGET_INLINE engine_answer answer(const located_config& c, const engine_question& q) {
  return evaluate(*c.config, q);
}

}  // namespace kvbudget::detail::none
