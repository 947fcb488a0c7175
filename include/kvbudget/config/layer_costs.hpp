// The cost of a model's layers under a policy, in the common form of all engines.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/placement.hpp>
#include <kvbudget/config/transformers/read_model.hpp>
#include <kvbudget/shared_prefix.hpp>

namespace kvbudget::config {

/// Fills what the model itself says: type, attention, layers, where each quantity came from.
inline void describe(evaluation& e, const transformers::cached_model& m) {
  e.model_type = m.model_type;
  e.attention = m.attention;
  e.model_layers = m.num_layers;
  e.sources = m.sources;
  e.notes.insert(e.notes.end(), m.notes.begin(), m.notes.end());
}

/// Layers, pools, totals, and the curves for the inverses, of a workload under one policy, device by device. `encoder`
/// positions for cross attention. Raises size_error; throws usage_error for a placement that does not fit the model.
template <class Policy>
void add_costs(evaluation& e, const transformers::cached_model& m, const Policy& policy, const workload& w,
               tokens encoder, const placement& where = {}) {
  const std::uint64_t before = m.prefix_positions + (m.encoder_is_prefix ? encoder.count() : 0);
  const auto batch_of = [before, encoder](const workload& asked) {
    return uniform_batch{request(tokens(checked_count(asked.prompt) + before), tokens(asked.generated), encoder),
                         asked.sequences};
  };
  // What one layer of a part takes. Context parallelism is a policy around the policy.
  const auto cost_of = [&](const cache_layer& kind, const workload& mine, std::uint64_t context_rank) {
    const auto under = [&](const auto& applied) {
      if (w.lengths.empty()) return allocated(applied, kind, batch_of(mine));
      return allocated(applied, kind, batch_under(applied, ragged_batch<std::uint64_t>(mine.lengths)));
    };
    if (where.context_parallel == 1) return under(policy);
    return under(kvbudget::context_parallel<Policy>{policy, where.context_parallel, context_rank});
  };

  std::vector<std::vector<std::function<checked_count(const workload&)>>> curves;
  checked_count total = 0U;
  // Ranks with the same layers, sequences and positions are costed once.
  struct costed {
    const device_part* part;
    std::uint64_t sequences;
    std::vector<footprint> costs;
    std::uint64_t times;
  };
  std::vector<costed> different;
  const std::vector<device_part> parts = parts_of(m.layers, m.num_layers, where);
  for (const device_part& part : parts) {
    if (part.device >= e.devices.size()) {
      e.devices.resize(part.device + 1);
      curves.resize(part.device + 1);
    }
    const workload mine = part.share_of(w);
    auto known = different.end();
    if (w.lengths.empty()) {
      known = std::find_if(different.begin(), different.end(), [&](const costed& c) {
        return c.part->layers == part.layers && c.sequences == mine.sequences &&
               c.part->context_rank == part.context_rank;
      });
    }
    if (known == different.end()) {
      costed c{&part, mine.sequences, {}, 0};
      for (const cache_layer& kind : part.layers->layers.kinds()) {
        c.costs.push_back(cost_of(kind, mine, part.context_rank));
        if (where.context_parallel > 1 && c.costs.back().total().reason() == failure::unsupported_layer) {
          throw usage_error({"", "context-parallel", std::to_string(where.context_parallel)},
                            "no rule for layers of kind " + kind.kind, "full attention or latents");
        }
      }
      known = different.insert(different.end(), std::move(c));
    }
    ++known->times;
    checked_count bytes_here = e.devices[part.device].bytes;
    const model& layers = part.layers->layers;
    for (std::size_t i = 0; i < layers.kinds().size(); ++i) {
      const checked_count one = known->costs[i].total();
      const checked_count all = one * layers.count(i);
      e.pools.push_back(pool_bytes{layers.kinds()[i].kind, static_cast<std::uint32_t>(part.device), one.value(),
                                   layers.count(i), all.value()});
      bytes_here += all;
      total += all;
    }
    e.devices[part.device].bytes = bytes_here.value();
    curves[part.device].push_back([part, policy, batch_of, ranks = where.context_parallel](const workload& asked) {
      const uniform_batch batch = batch_of(part.share_of(asked));
      if (ranks == 1) return peak_total(part.layers->layers, policy, batch);
      return peak_total(part.layers->layers, kvbudget::context_parallel<Policy>{policy, ranks, part.context_rank},
                        batch);
    });
  }
  std::vector<footprint> by_layer(m.layers.layers().size(), footprint{0U, 0U, 0U});
  for (const costed& c : different) {
    for (std::size_t i = 0; i < c.part->layers->source.size(); ++i) {
      footprint& sum = by_layer[c.part->layers->source[i]];
      sum = sum + c.costs[c.part->layers->layers.layers()[i].kind] * c.times;
    }
  }
  e.total_bytes = total.value();
  e.layer_stages = static_cast<std::uint32_t>(where.pipeline_parallel);
  for (std::uint32_t stage = 0; const std::uint64_t layers : detail::layers_of_stages(where, m.num_layers)) {
    e.stage_of_layer.resize(e.stage_of_layer.size() + layers, stage++);
  }
  for (std::uint64_t i = 0; i < where.host_layers; ++i) e.stage_of_layer[i] = e.layer_stages;
  if constexpr (std::same_as<Policy, stored_positions>) {
    e.sequences_add_up = where.data_parallel == 1 && !where.attention_data_parallel;
    if (!where.divides()) {
      e.common_bytes = [layers = m.layers, policy, batch_of, before](const workload& asked, std::uint64_t prefix) {
        const prefix_of<Policy> common{policy, tokens(checked_count(prefix) + before)};
        return total_footprint(layers, common, uniform_batch{batch_of(asked).each, 1}).total();
      };
    }
  }
  for (std::size_t i = 0; i < e.devices.size(); ++i) {
    e.devices[i].name = where.host_layers > 0 && i == where.devices() ? "host" : std::to_string(i);
    e.devices[i].peak_bytes = [curve = std::move(curves[i])](const workload& asked) {
      checked_count sum = 0U;
      for (const auto& part : curve) sum += part(asked);
      return sum;
    };
    device_cache& d = e.devices[i];
    d.peak = w.lengths.empty() ? d.peak_bytes(w).value_or(d.bytes) : d.bytes;
  }
  for (std::size_t i = 0; i < by_layer.size(); ++i) {
    const std::string& kind = m.layers.kinds()[m.layers.layers()[i].kind].kind;
    if (kind == "cross_attention" && encoder == tokens()) continue;  // a decoder used alone
    e.layers.push_back(layer_bytes{m.layers.layers()[i].layer, kind, by_layer[i].k.value(), by_layer[i].v.value(),
                                   by_layer[i].other.value()});
  }
}

/// Bytes per token and per sequence on all devices together, where every layer keeps every position or none. Of a
/// sequence, each context-parallel rank keeps other positions, and the whole of its states.
inline void add_linear_costs(evaluation& e, const transformers::cached_model& m, const placement& where = {}) {
  checked_count per_token = 0U;
  checked_count per_sequence = 0U;
  bool linear = true;
  const auto add_part = [&](const layer_part& part, std::uint64_t layers, bool first_context_rank) {
    const auto add_row = [&](const auto& p) {
      if (first_context_rank) per_token += bytes_of_positions(p, 1U).total() * layers;
    };
    if (const auto* const full = std::get_if<full_attention>(&part)) add_row(*full);
    else if (const auto* const latent = std::get_if<mla_attention>(&part)) add_row(*latent);
    else if (const auto* const index = std::get_if<index_keys>(&part)) add_row(*index);
    else if (const auto* const state = std::get_if<recurrent_state>(&part))
      per_sequence += state->type.row_bytes(state->elements) * layers;
    else if (!std::holds_alternative<shared_kv>(part) && !std::holds_alternative<no_cache>(part)) linear = false;
  };
  for (const device_part& on_device : parts_of(m.layers, m.num_layers, where)) {
    if (on_device.replica != 0) continue;  // other replicas keep other sequences
    const model& layers = on_device.layers->layers;
    for (std::size_t i = 0; i < layers.kinds().size(); ++i) {
      for (const layer_part& part : layers.kinds()[i].parts) {
        add_part(part, layers.count(i), on_device.context_rank == 0);
      }
    }
  }
  e.state_bytes_per_sequence = per_sequence.value();
  if (linear) e.bytes_per_token = per_token.value();
  else
    e.notes.push_back(
        "bytes per token are not one number: some layers keep only a window, so the next token costs less than the "
        "first");
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
