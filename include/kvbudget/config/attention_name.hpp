// One word for the attention of a model, whoever read it.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvbudget::detail::config {

/// What of a model's layers the word depends on. Windows do not count: layers that slide keep the same heads.
struct attention_counts {
  bool attention = false;      ///< some layer attends to positions that it keeps
  bool recurrent = false;      ///< some layer has a state: recurrent, linear attention, convolution
  bool latent = false;         ///< layers keep one latent in place of K and V heads
  std::uint64_t heads = 0;     ///< of the queries
  std::uint64_t kv_heads = 0;  ///< the most that a layer keeps
};

/// "MHA", "GQA", "MQA", "MLA", "hybrid", "recurrent", or "none".
[[nodiscard]] constexpr std::string_view attention_name(const attention_counts& c) noexcept {
  if (c.recurrent) return c.attention ? "hybrid" : "recurrent";
  if (!c.attention) return "none";
  if (c.latent) return "MLA";
  return c.kv_heads == c.heads ? "MHA" : c.kv_heads == 1 ? "MQA" : "GQA";
}

}  // namespace kvbudget::detail::config
