// Model types whose cache is none of transformers' layer classes.
//
// Source: transformers 5.24.0, models/X/modeling_X.py.
#pragma once

#include <kvbudget/config/states.hpp>
#include <kvbudget/config/model.hpp>

namespace kvbudget::detail::transformers {

/// Types that return no cache, or none that their config determines.
inline constexpr std::string_view types_without_cache[] = {"openai-gpt",
                                                           "xlm",
                                                           "gemma4_assistant",
                                                           "gemma4_unified_assistant",
                                                           "muse_glimmer_assistant",
                                                           "blt",
                                                           "vits",
                                                           "fastspeech2_conformer_with_hifigan"};

/// Their state fits no layer kind: buckets whose number depends on the sequence's own length and chunking.
inline constexpr std::string_view refused_types[] = {"reformer"};

[[nodiscard]] inline cache_layer states(std::string kind, std::initializer_list<recurrent_state> parts) {
  cache_layer layer{std::move(kind), {}};
  for (const recurrent_state& part : parts) layer.parts.push_back(part);
  return layer;
}

/// RWKV: five tensors over all layers, [hidden_size, num_hidden_layers]; the last three in float32.
[[nodiscard]] inline model rwkv(const model_config& c, storage_type type) {
  const std::uint64_t layers = c.required_count("num_hidden_layers", 1);
  check_layer_count(c, "num_hidden_layers", layers);
  const std::uint64_t elements = (checked_count(c.required_count("hidden_size", 1)) * layers).value();
  model m;
  for (std::int64_t i = 0; i < 5; ++i) m.add(i, states("own_cache", {recurrent_state{elements, i < 2 ? type : f32}}));
  return m;
}

/// xLSTM: per layer a matrix of qk x v, a vector of qk and a number for each head; today all layers in one state.
[[nodiscard]] inline model xlstm(const model_config& c, storage_type type, bool state_per_layer) {
  const auto width = c.count("hidden_size", 1);
  const std::uint64_t hidden = width ? *width : c.required_count("embedding_dim", 1);
  const auto blocks = c.count("num_hidden_layers", 1);
  const std::uint64_t layers = blocks ? *blocks : c.required_count("num_blocks", 1);
  check_layer_count(c, blocks ? "num_hidden_layers" : "num_blocks", layers);
  const std::uint64_t heads = c.required_count("num_heads", 1);
  const auto dim = [&](std::string_view factor) { return round_up(expanded(c, factor, hidden), 64U) / heads; };
  const checked_count qk = dim("qk_dim_factor");
  const checked_count v = dim("v_dim_factor");
  const checked_count elements = (qk * v + qk + 1U) * heads;
  model m;
  if (!state_per_layer) {
    m.add(-1, states("xLSTMCache", {recurrent_state{(elements * layers).value(), type}}));
    return m;
  }
  for (std::uint64_t i = 0; i < layers; ++i) {
    m.add(static_cast<std::int64_t>(i), states("xLSTMCache", {recurrent_state{elements.value(), type}}));
  }
  return m;
}

/// XLNet: the hidden states of the last mem_len positions of every layer, if asked for.
[[nodiscard]] inline model xlnet(const model_config& c, storage_type type) {
  const std::uint64_t layers = c.required_count("num_hidden_layers", 1);
  check_layer_count(c, "num_hidden_layers", layers);
  const auto length = c.count("mem_len");
  const segment_memory memory{{1, c.required_count("hidden_size", 1), type}, length ? tokens(*length) : tokens::max()};
  model m;
  for (std::uint64_t i = 0; i < layers; ++i) m.add(static_cast<std::int64_t>(i), {"own_cache", {memory}});
  return m;
}

}  // namespace kvbudget::detail::transformers
