// vLLM on a config.json: what it allocates, counts and prints.
#pragma once

#include <map>
#include <memory>
#include <numeric>

#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/engines/vllm/kept_layers.hpp>
#include <kvbudget/engines/vllm/rules.hpp>
#include <kvbudget/engines/vllm/notes.hpp>

namespace kvbudget::detail::vllm {

/// Bytes a token adds on all ranks together, where every group grows with every token; and what a request takes for its
/// states whatever its length. `unit`: of one block on all ranks.
inline void set_curve(engine_answer& e, const launch& q, const cache_plan& p, checked_count unit) {
  checked_count per_token = 0U, states = 0U;
  bool linear = q.settings.settings.decode_context_parallel_size == 1;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    if (spec.kind == spec_kind::mamba) states += unit * family.count * blocks_per_request(p.groups, family, p.limits);
    linear = linear && spec.is_full() && unit.value() % spec.block_size == 0;
    if (linear) per_token += unit / spec.block_size * family.count;
  }
  if (linear) e.bytes_per_token = per_token.value();
  e.state_bytes_per_sequence = states.value();
}

/// The limits as requests of that length see them (blocks_of_request).
inline admission_limits limits_at(const cache_plan& p, std::uint64_t length) {
  admission_limits limits = p.limits;
  limits.max_model_len = length;
  return limits;
}

/// What requests of these lengths hold in every layer, on all ranks together. Layer -1: padding layers and the parts
/// of blocks that a group narrower than the widest leaves empty.
inline std::vector<layer_bytes> layers_of_requests(const launch& q, const cache_plan& p, const workload& w) {
  std::map<named_layer, kept_layer> kept;
  const std::uint32_t tp = q.settings.settings.tensor_parallel_size;
  const auto over_requests = [&](const auto& blocks_of) {
    if (w.lengths.empty()) return blocks_of((checked_count(w.prompt) + w.generated).value()) * w.sequences * tp;
    checked_count sum = 0U;
    for (const std::uint64_t n : w.lengths) sum += blocks_of(n);
    return sum * tp;
  };
  std::vector<std::optional<checked_count>> blocks_of_family(p.groups.families.size());
  const skip_layers skip = get_skip_layers(q.model.model, q.settings.view(), p.resolved);
  const stage_bounds stages = get_pp_indices(q.model.model.num_hidden_layers, q.settings.view());
  checked_count sum = 0U;
  for (const layer_ref& ref : q.model.layers) {
    const layer_class& layer = q.model.classes[ref.layer_class];
    const bool skipped = skip.any() && can_be_skipped(layer.role) && skip.contains(ref.skip_index(), layer.window != 0);
    const auto place = p.place_of(ref.layer_class, skipped, stages.stage_of(ref));
    if (!place) continue;
    const kv_cache_spec& spec = p.groups.specs[place->spec].spec;
    std::optional<checked_count>& known = blocks_of_family[place->family];
    if (!known) {
      known = over_requests([&](std::uint64_t n) {
        return blocks_per_request(p.groups, p.groups.families[place->family], limits_at(p, n));
      });
    }
    const checked_count blocks = *known;
    const std::uint64_t all = (spec.page_size_bytes() * blocks).value();
    sum += all;
    kept[named_layer{ref.layer, layer.role == layer_role::cross_attention}].add(layer, spec, all, blocks);
  }
  std::vector<layer_bytes> list;
  for (const auto& [name, layer] : kept) list.push_back(layer.as_bytes(name));
  checked_count request = 0U;
  for (const stage_plan& stage : p.stages) {
    request += checked_count(stage.bytes_per_block) *
               over_requests([&](std::uint64_t n) { return blocks_per_request(p.groups, limits_at(p, n)); });
  }
  if (!sum.fits(request.value())) return list;
  list.push_back(layer_bytes{-1, std::string(config::padding_word), 0, 0, (request - sum).value()});
  return list;
}

/// Blocks by rank: one pool on every rank; without a memory size, the blocks of one request.
inline void add_pools(engine_answer& e, const cache_plan& p, std::uint32_t tp, bool sized) {
  const std::uint64_t blocks = sized ? p.num_blocks : p.blocks_per_request;
  for (std::uint32_t stage = 0; stage < p.stages.size(); ++stage) {
    const std::uint64_t unit = p.stages[stage].bytes_per_block;
    const std::uint64_t size = (checked_count(unit) * blocks).value();
    e.total_bytes = (checked_count(e.total_bytes) + checked_count(size) * tp).value();
    for (std::uint32_t rank = 0; rank < tp; ++rank) {
      const std::uint32_t device = stage * tp + rank;
      e.pools.push_back(pool_bytes{sized ? "kv_cache_blocks" : "blocks_of_requests", device, unit, blocks, size});
      e.devices.push_back(device_cache{std::to_string(device), size, size, {}});
    }
  }
}

/// What requests hold of the pool, and how many of them it holds. `unit`: of one block on all ranks.
inline void add_requests(engine_answer& e, const launch& q, const cache_plan& p, checked_count unit, bool sized) {
  e.pool_use = [p, unit](const workload& w) {
    return unit * blocks_of_request(p, request{w.prompt, w.generated}) * w.sequences;
  };
  if (!sized || p.blocks_per_request == 0) return;
  const std::uint64_t usable = p.num_blocks - 1;  // all but the null block
  e.own_capacity =
      pool_capacity{(unit * usable).value(), p.max_model_len, largest_max_model_len(q.model.view(), q.settings.view()),
                    usable / p.blocks_per_request, p.stages.empty() ? 0 : p.tokens};
  e.sequences_add_up = true;
  e.common_bytes = [p, unit](const workload& w, std::uint64_t prefix) {
    return unit * common_blocks(p, request{w.prompt, w.generated}, prefix);
  };
}

inline void add_model(engine_answer& e, const launch& q, const cache_plan& p) {
  const config::json in_force = settings_json(q, p);
  e.settings = [in_force] { return in_force; };
  e.version = in_force["version"];
  e.types.k = find_storage_type(in_force["kv_cache_dtype"].get_ref<const std::string&>());
  if (!e.types.k) e.types.k = find_storage_type(in_force["dtype"].get_ref<const std::string&>());
  e.types.v = e.types.k;
  e.model_type = q.model_type;
  e.attention = attention_of(q.model);
  e.model_layers = q.model.model.num_hidden_layers;
  e.sources = q.sources;
}

inline void note_release(engine_answer& e, const settings& s) {
  if (s.rules().is_known()) return;
  const bool older = s.version < version{0, 11, 0};
  e.notes.push_back("vLLM " + e.version + " is not known here: the rules are those of " +
                    (older ? "0.11.2" : "0.33.0") + ", the nearest known release");
}

inline void add_stages(engine_answer& e, const launch& q) {
  const stage_bounds bounds = get_pp_indices(e.model_layers, q.settings.view());
  e.layer_stages = bounds.stages;
  for (std::uint32_t layer = 0; layer < e.model_layers; ++layer) {
    e.stage_of_layer.push_back(bounds.stage_of(layer_ref{.layer = layer}));
  }
}

/// vLLM's answer for one config and one question. Figures have the names of vLLM's own values; with a refusal they hold
/// what is known all the same, and "error" says why.
///
/// Throws config_error for configs that make no sense or whose architecture is not known here, usage_error for unknown
/// options or values.
[[nodiscard]] inline engine_answer evaluate(const config::document& config, const json* hf_quant_config,
                                            const engine_question& question) {
  engine_answer e;
  e.engine = "vllm";
  const auto only_error = [](const std::string& why) { return [why] { return config::json{{"error", why}}; }; };
  launch q;
  try {
    q = read_launch(config, hf_quant_config, question);
  } catch (const engine_refusal& r) {
    e.refusal = r.problem();
    e.figures = only_error(r.what());
    e.settings = [options = question.options] { return kvbudget::detail::to_json(options); };
    return e;
  }
  const cache_plan p = q.plan();
  add_model(e, q, p);
  if (!q.model.refusal.empty()) {
    e.refusal = q.model.refusal;
    e.figures = only_error(e.refusal);
    return e;
  }
  const vllm::settings& s = q.settings.settings;
  e.figures = [p, version = s.version] { return figures_json(p, version); };
  if (p.reason != refusal::none) e.refusal = refusal_text(p, s.version);
  e.too_large = p.reason == refusal::memory_too_small || p.reason == refusal::no_available_memory;
  e.notes = q.settings.notes;
  for (std::string& note : explain(q, p)) e.notes.push_back(std::move(note));
  note_release(e, s);
  if (!p.has_groups()) return e;

  add_stages(e, q);
  const bool sized = p.memory_is_known && p.reason == refusal::none;
  add_pools(e, p, s.tensor_parallel_size, sized);
  checked_count unit = 0U;  // of one block on all ranks
  for (const stage_plan& stage : p.stages) unit += checked_count(stage.bytes_per_block) * s.tensor_parallel_size;
  set_curve(e, q, p, unit);
  add_requests(e, q, p, unit, sized);
  if (sized) add_changes(e, q, p);
  if (e.refusal.empty()) add_silent_options(e, config, hf_quant_config, question);
  e.layers = layers_of_requests(q, p, workload{p.max_model_len, 0, 1, {}});
  e.layers_of = [all = std::make_shared<const launch>(std::move(q)), p](const workload& w) {
    return layers_of_requests(*all, p, w);
  };
  return e;
}

}  // namespace kvbudget::detail::vllm
