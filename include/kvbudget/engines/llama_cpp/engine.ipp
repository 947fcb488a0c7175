// Definitions of engine.hpp.
#pragma once

#include <kvbudget/engines/llama_cpp/engine.hpp>
#include <kvbudget/engines/llama_cpp/evaluate.hpp>

namespace kvbudget::detail::llama_cpp {

KVBUDGET_INLINE engine_answer answer(const located_config& c, const engine_question& q) {
  return evaluate(*c.config, q);
}

}  // namespace kvbudget::detail::llama_cpp
