// An explicit placement of a model that was read from a config: which device keeps which part of which layer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/errors.hpp>
#include <kvbudget/model.hpp>
#include <kvbudget/placement.hpp>

namespace kvbudget::config {

/// Devices are numbered replica by replica, within it stage by stage, within it rank by rank.
struct placement {
  std::uint64_t tensor_parallel = 1;           ///< ranks that divide the K/V heads of every layer
  std::uint64_t pipeline_parallel = 1;         ///< stages that divide the layers
  std::vector<std::uint64_t> stage_layers{};   ///< layers of each stage; empty: equal parts, or the engine's rule
  std::uint64_t context_parallel = 1;          ///< ranks that divide the positions of every sequence
  std::uint64_t data_parallel = 1;             ///< whole replicas, to which the sequences are dealt
  bool attention_data_parallel = false;        ///< the tensor-parallel ranks keep whole heads, of their own sequences
  std::uint64_t host_layers = 0;               ///< the first so many layers are on the host

  [[nodiscard]] bool divides() const {
    return tensor_parallel > 1 || pipeline_parallel > 1 || context_parallel > 1 || data_parallel > 1 || host_layers > 0;
  }
  /// Without the host.
  [[nodiscard]] std::uint64_t devices() const {
    const checked_count n = checked_count(tensor_parallel) * pipeline_parallel * context_parallel * data_parallel;
    if (!n.fits(max_devices)) throw usage_error({"", "placement", ""}, "too many devices", "at most 4096");
    return n.value();
  }
  static constexpr std::uint64_t max_devices = 4096;
};

/// The layers of one rank of one stage, and of which sequences and positions.
struct device_part {
  std::size_t device = 0;
  model layers;
  std::vector<std::size_t> source;   ///< where each of them stands in the whole model
  std::uint64_t replica = 0;         ///< which share of the sequences
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

namespace detail {

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
                      std::to_string(num_layers) + " layers do not divide into equal stages", "the layers of each stage");
  }
  return std::vector<std::uint64_t>(p.pipeline_parallel, num_layers / p.pipeline_parallel);
}

}  // namespace detail

/// The parts of a model, device by device; the host, if layers are there, comes last. Throws usage_error where the
/// placement does not fit the model.
[[nodiscard]] inline std::vector<device_part> parts_of(const model& whole, std::uint64_t num_layers, const placement& p) {
  const std::size_t host = p.devices();
  const std::vector<std::uint64_t> stages = detail::layers_of_stages(p, num_layers);
  if (p.host_layers > num_layers) {
    throw usage_error({"", "host-layers", std::to_string(p.host_layers)}, "more than the model has",
                      "at most " + std::to_string(num_layers));
  }
  const std::uint64_t attention_ranks = p.attention_data_parallel ? 1 : p.tensor_parallel;
  std::vector<cache_layer> kinds;  // as one rank keeps them
  for (const cache_layer& kind : whole.kinds()) {
    try {
      kinds.push_back(detail::on_rank(kind, attention_ranks));
    } catch (const size_error& e) {
      throw usage_error({"", "tensor-parallel", std::to_string(p.tensor_parallel)}, "a layer of kind " + kind.kind +
                        " does not divide among the ranks", "a number that divides its K/V heads, or a multiple of them");
    }
  }
  std::vector<device_part> parts;
  std::size_t device = 0;
  for (std::uint64_t replica = 0; replica < p.data_parallel; ++replica) {
    std::uint64_t first = 0;
    for (std::uint64_t stage = 0; stage < p.pipeline_parallel; ++stage) {
      const std::uint64_t end = first + stages[stage];
      for (std::uint64_t c = 0; c < p.context_parallel; ++c) {
        for (std::uint64_t rank = 0; rank < p.tensor_parallel; ++rank, ++device) {
          device_part here;
          here.device = device;
          here.context_rank = c;
          here.replicas = p.data_parallel * (p.attention_data_parallel ? p.tensor_parallel : 1);
          here.replica = p.attention_data_parallel ? replica * p.tensor_parallel + rank : replica;
          device_part there = here;
          there.device = host;
          for (std::size_t i = 0; i < whole.layers().size(); ++i) {
            const auto& placed = whole.layers()[i];
            const std::uint64_t layer = placed.layer < 0 ? 0 : static_cast<std::uint64_t>(placed.layer);
            // What stands after the last layer (a draft module) stays with the last stage.
            const bool last = stage + 1 == p.pipeline_parallel;
            if (layer < first || (layer >= end && !last)) continue;
            device_part& part = layer < p.host_layers ? there : here;
            part.layers.add(placed.layer, kinds[placed.kind]);
            part.source.push_back(i);
          }
          parts.push_back(std::move(here));
          if (!there.source.empty()) parts.push_back(std::move(there));
        }
      }
      first = end;
    }
  }
  return parts;
}

}  // namespace kvbudget::config
