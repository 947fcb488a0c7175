// The cost of a model's layers under a policy, in the common form of all engines.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/transformers/read_model.hpp>

namespace kvbudget::config {

/// Fills what the model itself says: type, attention, layers, where each quantity came from.
inline void describe(evaluation& e, const transformers::cached_model& m) {
  e.model_type = m.model_type;
  e.attention = m.attention;
  e.model_layers = m.num_layers;
  e.sources = m.sources;
}

/// Layers, pools, total, and the curve for the inverse, of a workload under one policy. `encoder` positions for cross
/// attention. Raises size_error.
template <class Policy>
void add_costs(evaluation& e, const transformers::cached_model& m, const Policy& policy, const workload& w,
               tokens encoder) {
  const std::uint64_t before = m.prefix_positions + (m.encoder_is_prefix ? encoder.count() : 0);
  const auto batch_of = [before, encoder](const workload& asked) {
    return uniform_batch{request(tokens(checked_count(asked.prompt) + before), tokens(asked.generated), encoder),
                         asked.sequences};
  };
  const auto cost_of = [&](const cache_layer& kind) {
    if (w.lengths.empty()) return allocated(policy, kind, batch_of(w));
    return allocated(policy, kind, batch_under(policy, ragged_batch<std::uint64_t>(w.lengths)));
  };
  std::vector<footprint> costs;
  checked_count total = 0U;
  for (std::size_t i = 0; i < m.layers.kinds().size(); ++i) {
    const cache_layer& kind = m.layers.kinds()[i];
    costs.push_back(cost_of(kind));
    const checked_count all = costs[i].total() * m.layers.count(i);
    e.pools.push_back(pool_bytes{kind.kind, 0, costs[i].total().value(), m.layers.count(i), all.value()});
    total += all;
  }
  e.total_bytes = total.value();
  for (const auto& placed : m.layers.layers()) {
    const footprint& cost = costs[placed.kind];
    const std::string& kind = m.layers.kinds()[placed.kind].kind;
    if (kind == "cross_attention" && encoder == tokens()) continue;  // a decoder used alone
    e.layers.push_back(layer_bytes{placed.layer, kind, cost.k.value(), cost.v.value(), cost.other.value()});
  }
  e.peak_bytes = [layers = m.layers, policy, batch_of](const workload& asked) {
    return peak_total(layers, policy, batch_of(asked));
  };
}

/// Bytes per token and per sequence, where every layer keeps every position or none.
inline void add_linear_costs(evaluation& e, const transformers::cached_model& m) {
  checked_count per_token = 0U;
  checked_count per_sequence = 0U;
  bool linear = true;
  for (std::size_t i = 0; i < m.layers.kinds().size(); ++i) {
    for (const layer_part& part : m.layers.kinds()[i].parts) {
      const auto add_row = [&](const auto& p) { per_token += bytes_of_positions(p, 1U).total() * m.layers.count(i); };
      if (const auto* const full = std::get_if<full_attention>(&part)) add_row(*full);
      else if (const auto* const latent = std::get_if<mla_attention>(&part)) add_row(*latent);
      else if (const auto* const index = std::get_if<index_keys>(&part)) add_row(*index);
      else if (const auto* const state = std::get_if<recurrent_state>(&part))
        per_sequence += state->type.row_bytes(state->elements) * m.layers.count(i);
      else if (!std::holds_alternative<shared_kv>(part) && !std::holds_alternative<no_cache>(part)) linear = false;
    }
  }
  e.state_bytes_per_sequence = per_sequence.value();
  if (linear) e.bytes_per_token = per_token.value();
  else e.notes.push_back("bytes per token are not one number: some layers keep only a window, so the next token costs less than the first");
}

/// `layers` of the contract.
[[nodiscard]] inline json layers_as_json(const evaluation& e) {
  json layers = json::array();
  for (const layer_bytes& l : e.layers) {
    layers.push_back({{"layer", l.layer},
                      {"kind", l.kind},
                      {"k_bytes", l.k_bytes},
                      {"v_bytes", l.v_bytes},
                      {"other_bytes", l.other_bytes}});
  }
  return layers;
}

}  // namespace kvbudget::config
