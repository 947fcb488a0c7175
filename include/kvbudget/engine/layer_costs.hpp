// The cost of a model's layers under a policy, in the common form of all engines.
#pragma once

#include <kvbudget/core/budget.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/placement_parts.hpp>
#include <kvbudget/config/read_model.hpp>
#include <kvbudget/core/shared_prefix.hpp>

namespace kvbudget::detail {

/// Fills what the model itself says: type, attention, layers, where each quantity came from.
inline void describe(engine_answer& e, const transformers::cached_model& m) {
  e.model_type = m.model_type;
  e.attention = m.attention;
  e.model_layers = m.num_layers;
  e.sources = m.sources;
  e.notes.insert(e.notes.end(), m.notes.begin(), m.notes.end());
}

/// What a workload takes under one policy, layer by layer and device by device.
template <class Policy>
class layer_costing {
 public:
  layer_costing(engine_answer& e, const transformers::cached_model& m, const Policy& policy, const workload& w,
                tokens encoder, const placement& where)
      : e_(e),
        m_(m),
        policy_(policy),
        w_(w),
        where_(where),
        batch_of_{m.prefix_positions + (m.encoder_is_prefix ? encoder.count() : 0), encoder} {
    const std::vector<device_part> parts = parts_of(m.layers, m.num_layers, where);
    for (const device_part& part : parts) add(part);
    e.total_bytes = total_.value();
    add_stages();
    if constexpr (std::same_as<Policy, stored_positions>) add_prefix();
    finish_devices();
    add_layers();
  }

 private:
  /// The request as it reaches the cache: the model's own positions stand before the prompt.
  struct batch_maker {
    std::uint64_t before;
    tokens encoder;
    uniform_batch operator()(const workload& asked) const {
      return {request(tokens(checked_count(asked.prompt) + before), tokens(asked.generated), encoder), asked.sequences};
    }
  };
  /// Ranks with the same layers, sequences and positions are costed once.
  struct costed {
    device_part part;
    std::uint64_t sequences;
    std::vector<footprint> costs;  // of the part's kinds of layers
    std::uint64_t times;
  };

  /// What one layer of a part takes. Context parallelism is a policy around the policy.
  [[nodiscard]] footprint cost_of(const cache_layer& kind, const workload& mine, std::uint64_t context_rank) const {
    const auto under = [&](const auto& applied) {
      if (w_.lengths.empty()) return allocated(applied, kind, batch_of_(mine));
      return allocated(applied, kind, batch_under(applied, ragged_batch<std::uint64_t>(mine.lengths)));
    };
    if (where_.context_parallel == 1) return under(policy_);
    return under(kvbudget::context_parallel<Policy>{policy_, where_.context_parallel, context_rank});
  }

  costed& costs_of(const device_part& part) {
    const workload mine = part.share_of(w_);
    for (costed& c : different_) {
      if (w_.lengths.empty() && c.part.layers == part.layers && c.sequences == mine.sequences &&
          c.part.context_rank == part.context_rank) {
        return c;
      }
    }
    costed c{part, mine.sequences, {}, 0};
    for (const cache_layer& kind : part.layers->layers.kinds()) {
      c.costs.push_back(cost_of(kind, mine, part.context_rank));
      if (where_.context_parallel > 1 && c.costs.back().total().reason() == failure::unsupported_layer) {
        throw usage_error({"", "context-parallel", std::to_string(where_.context_parallel)},
                          "no rule for layers of kind " + kind.kind, "full attention or latents");
      }
    }
    return different_.emplace_back(std::move(c));
  }

  void add(const device_part& part) {
    if (part.device >= e_.devices.size()) {
      e_.devices.resize(part.device + 1);
      curves_.resize(part.device + 1);
    }
    costed& known = costs_of(part);
    ++known.times;
    checked_count bytes_here = e_.devices[part.device].bytes;
    const model& layers = part.layers->layers;
    for (std::size_t i = 0; i < layers.kinds().size(); ++i) {
      const checked_count one = known.costs[i].total();
      const checked_count all = one * layers.count(i);
      e_.pools.push_back(pool_bytes{layers.kinds()[i].kind, static_cast<std::uint32_t>(part.device), one.value(),
                                    layers.count(i), all.value()});
      bytes_here += all;
      total_ += all;
    }
    e_.devices[part.device].bytes = bytes_here.value();
    curves_[part.device].push_back(
        [part, policy = policy_, batch_of = batch_of_, ranks = where_.context_parallel](const workload& asked) {
          const uniform_batch batch = batch_of(part.share_of(asked));
          if (ranks == 1) return peak_total(part.layers->layers, policy, batch);
          return peak_total(part.layers->layers, kvbudget::context_parallel<Policy>{policy, ranks, part.context_rank},
                            batch);
        });
  }

  void add_stages() {
    e_.layer_stages = static_cast<std::uint32_t>(where_.pipeline_parallel);
    for (std::uint32_t stage = 0; const std::uint64_t layers : layers_of_stages(where_, m_.num_layers)) {
      e_.stage_of_layer.resize(e_.stage_of_layer.size() + layers, stage++);
    }
    for (std::uint64_t i = 0; i < where_.host_layers; ++i) e_.stage_of_layer[i] = e_.layer_stages;
  }
  void add_prefix() {
    e_.sequences_add_up = where_.data_parallel == 1 && !where_.attention_data_parallel;
    if (where_.divides()) return;
    e_.common_bytes = [layers = m_.layers, policy = policy_, batch_of = batch_of_](const workload& asked,
                                                                                   std::uint64_t prefix) {
      const prefix_of<Policy> common{policy, tokens(checked_count(prefix) + batch_of.before)};
      return total_footprint(layers, common, uniform_batch{batch_of(asked).each, 1}).total();
    };
  }
  void finish_devices() {
    for (std::size_t i = 0; i < e_.devices.size(); ++i) {
      device_cache& d = e_.devices[i];
      d.name = where_.host_layers > 0 && i == where_.devices() ? "host" : std::to_string(i);
      d.peak_bytes = [curve = std::move(curves_[i])](const workload& asked) {
        checked_count sum = 0U;
        for (const auto& part : curve) sum += part(asked);
        return sum;
      };
      d.peak = w_.lengths.empty() ? d.peak_bytes(w_).value_or(d.bytes) : d.bytes;
    }
  }
  void add_layers() {
    const auto& layers = m_.layers.layers();
    std::vector<footprint> by_layer(layers.size(), footprint{0U, 0U, 0U});
    for (const costed& c : different_) {
      const stage_part& part = *c.part.layers;
      for (std::size_t i = 0; i < part.source.size(); ++i) {
        footprint& sum = by_layer[part.source[i]];
        sum = sum + c.costs[part.layers.layers()[i].kind] * c.times;
      }
    }
    for (std::size_t i = 0; i < by_layer.size(); ++i) {
      const std::string& kind = m_.layers.kinds()[layers[i].kind].kind;
      if (kind == "cross_attention" && batch_of_.encoder == tokens()) continue;  // a decoder used alone
      e_.layers.push_back(
          layer_bytes{layers[i].layer, kind, by_layer[i].k.value(), by_layer[i].v.value(), by_layer[i].other.value()});
    }
  }

  engine_answer& e_;
  const transformers::cached_model& m_;
  const Policy& policy_;
  const workload& w_;
  const placement& where_;
  batch_maker batch_of_;
  std::vector<costed> different_;
  std::vector<std::vector<std::function<checked_count(const workload&)>>> curves_;  // by device
  checked_count total_ = 0U;
};

/// Layers, pools, totals, and the curves for the inverses, of a workload under one policy, device by device. `encoder`
/// positions for cross attention. Raises size_error; throws usage_error for a placement that does not fit the model.
template <class Policy>
void add_costs(engine_answer& e, const transformers::cached_model& m, const Policy& policy, const workload& w,
               tokens encoder, const placement& where = {}) {
  layer_costing<Policy>(e, m, policy, w, encoder, where);
}

/// Bytes per token and per sequence on all devices together, where every layer keeps every position or none. Of a
/// sequence, each context-parallel rank keeps other positions, and the whole of its states.
inline void add_linear_costs(engine_answer& e, const transformers::cached_model& m, const placement& where = {}) {
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
[[nodiscard]] inline config::json layers_as_json(const std::vector<layer_bytes>& list) {
  config::json layers = config::json::array();
  for (const layer_bytes& l : list) {
    layers.push_back({{"layer", l.layer},
                      {"kind", l.kind},
                      {"k_bytes", l.k_bytes},
                      {"v_bytes", l.v_bytes},
                      {"other_bytes", l.other_bytes}});
  }
  return layers;
}

}  // namespace kvbudget::detail
