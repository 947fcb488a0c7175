// Definitions of engine.hpp.
#pragma once

#include <kvbudget/engines/vllm/engine.hpp>
#include <kvbudget/engines/vllm/evaluate.hpp>

namespace kvbudget::detail::vllm {

KVBUDGET_INLINE engine_answer answer(const located_config& c, const engine_question& q) {
  return evaluate(*c.config, c.hf_quant_config ? &c.hf_quant_config->root : nullptr, q);
}

}  // namespace kvbudget::detail::vllm
