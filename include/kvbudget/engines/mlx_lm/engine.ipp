// Definitions of engine.hpp.
#pragma once

#include <kvbudget/engines/mlx_lm/engine.hpp>
#include <kvbudget/engines/mlx_lm/evaluate.hpp>

namespace kvbudget::detail::mlx_lm {

KVBUDGET_INLINE engine_answer answer(const located_config& c, const engine_question& q) {
  return evaluate(*c.config, q);
}

}  // namespace kvbudget::detail::mlx_lm
