// An explicit placement of a model that was read from a config: which device keeps which part of which layer.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/engine/answer.hpp>
#include <kvbudget/input/errors.hpp>
#include <kvbudget/config/model.hpp>
#include <kvbudget/core/placement.hpp>

namespace kvbudget::detail {

/// The layers of one stage, as one rank keeps them.
struct stage_part {
  model layers;
  std::vector<std::size_t> source;  ///< where each of them stands in the whole model
};

/// One rank of one stage, and its share of the sequences and positions.
struct device_part {
  std::size_t device = 0;
  std::shared_ptr<const stage_part> layers;
  std::uint64_t replica = 0;  ///< which share of the sequences
  std::uint64_t replicas = 1;
  std::uint64_t context_rank = 0;

  /// The share of a workload that reaches this part.
  [[nodiscard]] workload share_of(const workload& w) const {
    workload mine = w;
    mine.sequences = equal_part(w.sequences, replicas, replica);
    if (replicas > 1 && !w.lengths.empty()) {
      mine.lengths.clear();
      for (std::size_t i = replica; i < w.lengths.size(); i += replicas) mine.lengths.push_back(w.lengths[i]);
    }
    return mine;
  }
};

[[nodiscard]] inline cache_layer on_rank(const cache_layer& layer, std::uint64_t ranks) {
  cache_layer part = layer;
  for (layer_part& p : part.parts) {
    p = std::visit([&](const auto& kind) -> layer_part { return kvbudget::on_rank(kind, ranks); }, p);
  }
  return part;
}

/// Throws usage_error.
[[nodiscard]] inline std::vector<std::uint64_t> layers_of_stages(const placement& p, std::uint64_t num_layers) {
  if (!p.stage_layers.empty()) {
    checked_count sum = 0U;
    for (const std::uint64_t n : p.stage_layers) sum += n;
    if (p.stage_layers.size() != p.pipeline_parallel || !(sum == checked_count(num_layers))) {
      throw usage_error({"", "stage-layers", ""}, "not the model's layers in as many stages",
                        std::to_string(p.pipeline_parallel) + " numbers that add up to " + std::to_string(num_layers));
    }
    return p.stage_layers;
  }
  if (num_layers % p.pipeline_parallel != 0) {
    throw usage_error({"", "pipeline-parallel", std::to_string(p.pipeline_parallel)},
                      std::to_string(num_layers) + " layers do not divide into equal stages",
                      "the layers of each stage");
  }
  return std::vector<std::uint64_t>(p.pipeline_parallel, num_layers / p.pipeline_parallel);
}

/// The parts of a model, device by device; the host, if layers are there, comes last. Throws usage_error where the
/// placement does not fit the model.
[[nodiscard]] inline std::vector<device_part> parts_of(const model& whole, std::uint64_t num_layers,
                                                       const placement& p) {
  const std::size_t host = p.devices();
  const std::vector<std::uint64_t> stages = layers_of_stages(p, num_layers);
  if (p.host_layers > num_layers) {
    throw usage_error({"", "host-layers", std::to_string(p.host_layers)}, "more than the model has",
                      "at most " + std::to_string(num_layers));
  }
  const std::uint64_t attention_ranks = p.attention_data_parallel ? 1 : p.tensor_parallel;
  std::vector<cache_layer> kinds;  // as one rank keeps them
  for (const cache_layer& kind : whole.kinds()) {
    try {
      kinds.push_back(on_rank(kind, attention_ranks));
    } catch (const size_error& e) {
      throw usage_error({"", "tensor-parallel", std::to_string(p.tensor_parallel)},
                        "a layer of kind " + kind.kind + " does not divide among the ranks",
                        "a number that divides its K/V heads, or a multiple of them");
    }
  }
  std::vector<std::shared_ptr<const stage_part>> here, on_host;  // by stage
  std::uint64_t first = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::uint64_t end = first + stages[stage];
    stage_part device_layers, host_layers;
    for (std::size_t i = 0; i < whole.layers().size(); ++i) {
      const auto& placed = whole.layers()[i];
      const std::uint64_t layer = placed.layer < 0 ? 0 : static_cast<std::uint64_t>(placed.layer);
      // What stands after the last layer (a draft module) stays with the last stage.
      if (layer < first || (layer >= end && stage + 1 != stages.size())) continue;
      stage_part& part = layer < p.host_layers ? host_layers : device_layers;
      part.layers.add(placed.layer, kinds[placed.kind]);
      part.source.push_back(i);
    }
    here.push_back(std::make_shared<const stage_part>(std::move(device_layers)));
    on_host.push_back(std::make_shared<const stage_part>(std::move(host_layers)));
    first = end;
  }
  std::vector<device_part> parts;
  device_part part;
  part.replicas = p.data_parallel * (p.attention_data_parallel ? p.tensor_parallel : 1);
  std::size_t device = 0;
  for (std::uint64_t replica = 0; replica < p.data_parallel; ++replica) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      for (part.context_rank = 0; part.context_rank < p.context_parallel; ++part.context_rank) {
        for (std::uint64_t rank = 0; rank < p.tensor_parallel; ++rank, ++device) {
          part.replica = p.attention_data_parallel ? replica * p.tensor_parallel + rank : replica;
          part.device = device;
          part.layers = here[stage];
          parts.push_back(part);
          if (on_host[stage]->source.empty()) continue;
          part.device = host;
          part.layers = on_host[stage];
          parts.push_back(part);
        }
      }
    }
  }
  return parts;
}

}  // namespace kvbudget::detail
