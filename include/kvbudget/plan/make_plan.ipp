// Definitions of make_plan.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/engines.hpp>
#include <kvbudget/plan/common_prefix.hpp>
#include <kvbudget/plan/device_weights.hpp>
#include <kvbudget/plan/evaluate.hpp>
#include <kvbudget/plan/make_plan.hpp>
#include <kvbudget/plan/model_length.hpp>
#include <kvbudget/plan/movement.hpp>

namespace kvbudget {
namespace detail {

/// The engine's own options of the placement count for the weights and the devices as well.
inline void settle_placement(plan_question& q) {
  const option_table table = find_engine(q.engine).options;
  const auto take = [&](common_part part, std::uint64_t& to) {
    const option_row* const row = find_option(table, part);
    if (row == nullptr || to != 1) return;
    for (const auto& [name, value] : q.options) {
      if (find_option(table, name) != row) continue;
      const config::json number = config::to_json(value);
      if (number.is_number_integer() && number >= 1 && number <= 1024) to = number.get<std::uint64_t>();
    }
  };
  take(common_part::tensor_parallel, q.where.tensor_parallel);
  take(common_part::pipeline_parallel, q.where.pipeline_parallel);
}

/// A model can be asked for more positions than it is made for.
inline void note_length(const located_config& d, const std::optional<workload>& work, engine_answer& e) {
  if (!work || !e.refusal.empty()) return;
  const std::optional<std::uint64_t> longest = longest_context(d);
  const std::uint64_t asked = longest_of(*work);
  if (!longest || asked <= *longest) return;
  e.notes.push_back("sequences of " + std::to_string(asked) + " positions are longer than the " +
                    std::to_string(*longest) + " that the model is made for");
}

/// Parts of the question that this answer does not depend on.
inline void note_irrelevant(const plan_question& q, engine_answer& e) {
  const auto on_host = [](const device_cache& d) { return d.name == "host"; };
  if (q.host && std::none_of(e.devices.begin(), e.devices.end(), on_host)) {
    e.notes.push_back("host-memory is irrelevant: no layer is on the host");
  }
  if (!q.host && !q.devices.empty() &&
      std::any_of(e.devices.begin(), e.devices.end(), [&](const auto& d) { return on_host(d) && d.bytes > 0; })) {
    e.notes.push_back("what is on the host is compared with nothing: its memory was not given (host-memory)");
  }
  if (q.where.attention_data_parallel && q.where.tensor_parallel == 1) {
    e.notes.push_back("attention-data-parallel is irrelevant: there is one tensor-parallel rank");
  }
}

/// An engine may take numbers as mere proportions (llama.cpp); what it makes of them must be what was asked for.
inline void check_stages(const engine_answer& e, const plan_question& q) {
  if (q.where.stage_layers.empty() || q.where.host_layers > 0 || e.stage_of_layer.empty()) return;
  std::vector<std::uint64_t> placed(q.where.stage_layers.size() + 1, 0);
  for (const std::uint32_t stage : e.stage_of_layer) ++placed[std::min<std::size_t>(stage, placed.size() - 1)];
  placed.pop_back();
  if (placed == q.where.stage_layers) return;
  std::string text;
  for (const std::uint64_t n : placed) text += (text.empty() ? "" : ",") + std::to_string(n);
  throw usage_error({"", "stage-layers", ""}, "the engine would place " + text + " layers",
                    "numbers that add up to " + std::to_string(e.stage_of_layer.size()));
}

}  // namespace detail

KVBUDGET_INLINE plan_report make_plan(const located_config& located, plan_question q) {
  detail::settle_placement(q);
  const std::vector<bytes> weights = detail::weights_of_devices(located, q);
  detail::put_weights(weights, q);
  plan_report r;
  detail::assessed now = detail::assess_workload(located, q, q.work, q.observed_cache);
  r.answer = std::move(now.answer);
  r.budget = std::move(now.budget);
  detail::check_stages(r.answer, q);
  detail::note_length(located, q.work, r.answer);
  detail::note_irrelevant(q, r.answer);
  r.source = located.file;
  r.revision = located.revision;
  r.work = q.work;
  r.weights = q.weights;
  r.overhead = q.overhead;
  r.cache = q.observed_cache.empty() ? evidence::computed : evidence::observed;
  r.device_sources = q.device_sources;
  r.co_residents = q.co_residents;
  r.cases = detail::answer_cases(located, q);
  if (r.answer.refusal.empty()) {
    r.prefix = detail::answer_prefix(r.answer, q, r.budget);
    r.movement = detail::answer_movement(located, r.answer, q, weights);
  }
  r.answer.notes.insert(r.answer.notes.end(), q.notes.begin(), q.notes.end());
  r.files = std::move(q.files);
  if (r.files) r.files->tensors.clear();
  return r;
}

KVBUDGET_INLINE std::optional<std::uint64_t> sequences_of(const plan_question& q) {
  const option_table table = find_engine(q.engine).options;
  const option_row* const row = detail::find_option(table, common_part::sequences);
  for (const auto& [name, value] : q.options) {
    if (row == nullptr || detail::find_option(table, name) != row) continue;
    const detail::config::json number = detail::config::to_json(value);
    if (number.is_number_integer() && number >= 0) return number.get<std::uint64_t>();
  }
  return std::nullopt;
}

}  // namespace kvbudget
