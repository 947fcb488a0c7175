// Heads of a gated delta net, as the configuration classes state or derive them.
#pragma once

#include <kvbudget/config/model_config.hpp>

namespace kvbudget::detail::transformers {

struct delta_net_heads {
  std::uint64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
};

/// The fields linear_*. OLMo-Hybrid derives those that are null (configuration_olmo_hybrid.py).
[[nodiscard]] inline delta_net_heads delta_net_heads_of(const config::model_config& c) {
  if (c.model_type() != "olmo_hybrid") {
    return {c.required_count("linear_num_key_heads", 1), c.required_count("linear_num_value_heads", 1),
            c.required_count("linear_key_head_dim", 1), c.required_count("linear_value_head_dim", 1)};
  }
  delta_net_heads h;
  const std::uint64_t heads = c.required_count("num_attention_heads", 1);
  h.key_heads = c.count_or("linear_num_key_heads", heads, 1);
  h.value_heads = c.count_or("linear_num_value_heads", heads, 1);
  // int(0.75 x hidden / heads)
  h.key_dim = c.count_or("linear_key_head_dim", 3 * c.required_count("hidden_size", 1) / (4 * h.key_heads), 1);
  h.value_dim = c.count_or("linear_value_head_dim", 2 * h.key_dim, 1);
  return h;
}

}  // namespace kvbudget::detail::transformers
