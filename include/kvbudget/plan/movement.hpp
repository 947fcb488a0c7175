// What moves: a sequence to another place, and the cache through the processor at every step.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kvbudget/plan/device_weights.hpp>
#include <kvbudget/plan/evaluate.hpp>

namespace kvbudget::detail {

/// Bytes of weights that a step leaves alone: routed experts that one token does not need, and of the embedding all but
/// a few rows, where a head of its own is read. 0 where only the size is known. Nothing where it is not known which
/// device holds how much of the experts.
[[nodiscard]] inline std::optional<std::uint64_t> weights_not_read(const located_config& located,
                                                                   const plan_question& q) {
  const auto counts = find_experts(*located.config);
  checked_count rest = 0U;
  if (counts && !(q.files && q.files->bytes_of(tensor_group::experts) == 0)) {
    if (!q.files || counts->per_token == 0 || counts->per_token > counts->experts || q.where.devices() != 1)
      return std::nullopt;
    rest += checked_count(q.files->bytes_of(tensor_group::experts)) / counts->experts *
            (counts->experts - counts->per_token);
  }
  if (q.files && q.where.devices() == 1) rest += embedding_beside_head(*q.files);
  return rest.value();
}

/// Throws usage_error where the bandwidths cannot be asked about.
inline void check_movement(const plan_question& q) {
  if (!q.work || !q.work->lengths.empty() || q.work->sequences == 0) {
    throw usage_error({"", q.transfer_bandwidth ? "transfer-bandwidth" : "memory-bandwidth", ""},
                      "no sequences of one shape", "a prompt and a generation as well");
  }
  for (const auto& [size, name] :
       {std::pair{q.transfer_bandwidth, "transfer-bandwidth"}, std::pair{q.memory_bandwidth, "memory-bandwidth"}}) {
    if (size && *size == bytes()) {
      throw usage_error({"", name, "0"}, "nothing ever arrives", "bytes a second, such as 25GB");
    }
  }
}

/// Of one sequence at its full length, wherever it is.
[[nodiscard]] inline std::uint64_t bytes_of_sequence(const located_config& located, const engine_answer& e,
                                                     const plan_question& q) {
  workload one = *q.work;
  one.sequences = 1;
  if (e.pool_use) return e.pool_use(one).value();
  if (e.engine.empty()) {
    plan_question alone = q;
    alone.where = {};  // what several ranks keep is moved once
    return evaluate(located, alone, one, {}).total_bytes;
  }
  checked_count sum = 0U;
  for (const device_cache& d : e.devices) sum += d.peak_bytes ? d.peak_bytes(one) : checked_count(0U);
  return sum.value();
}

/// The stored positions on each device without the engine's padding, which is not read. Nothing, and why, where that is
/// not known.
struct read_caches {
  std::vector<device_cache> devices;
  std::string unknown;
};
[[nodiscard]] inline read_caches stored_positions_of(const located_config& located, const engine_answer& e,
                                                     const plan_question& q) {
  plan_question bare = q;
  bare.engine = "none";
  bare.options.clear();
  if (!bare.types.k) bare.types.k = e.types.k;
  if (!bare.types.v) bare.types.v = e.types.v;
  if (q.where.host_layers == 0 && q.where.pipeline_parallel > 1) {
    bare.where.stage_layers.assign(q.where.pipeline_parallel, 0);
    for (const std::uint32_t stage : e.stage_of_layer) {
      if (stage >= q.where.pipeline_parallel) return {{}, " with layers on the host"};
      ++bare.where.stage_layers[stage];
    }
  }
  try {
    return {evaluate(located, bare, q.work, {}).devices, {}};
  } catch (const input_error& problem) {
    return {{}, std::string(": ") + problem.what()};
  }
}

/// Every device reads its weights and the stored positions of its layers and sequences. `rest`: of the weights, what is
/// not read.
inline void add_steps(movement_answer& a, const plan_question& q, const std::vector<bytes>& weights, std::uint64_t rest,
                      const std::vector<device_cache>& caches) {
  const std::size_t devices = q.where.devices();
  const std::size_t of_replica = devices / q.where.data_parallel;
  checked_count all = 0U;
  double per_second = 0;
  for (std::size_t first = 0; first < devices; first += of_replica) {
    std::uint64_t slowest = 0;  // no device can be faster than its own reading, however the stages overlap
    for (std::size_t i = first; i < first + of_replica; ++i) {
      const bytes own = !weights.empty()    ? weights[i]
                        : q.devices.empty() ? bytes()
                                            : q.devices[q.devices.size() == 1 ? 0 : i].weights;
      const checked_count here = checked_count(own.count()) - rest + (i < caches.size() ? caches[i].bytes : 0);
      slowest = std::max(slowest, here.value());
      all += here;
    }
    const auto sequences =
        static_cast<double>(equal_part(q.work->sequences, q.where.data_parallel, first / of_replica));
    if (slowest > 0) {
      per_second += sequences * static_cast<double>(q.memory_bandwidth->count()) / static_cast<double>(slowest);
    }
  }
  a.read_bytes_per_step = all.value();
  if (per_second > 0) a.max_tokens_per_second = per_second;
}

[[nodiscard]] inline std::optional<movement_answer> answer_movement(const located_config& located, engine_answer& e,
                                                                    const plan_question& q,
                                                                    const std::vector<bytes>& weights) {
  if (!q.transfer_bandwidth && !q.memory_bandwidth) return std::nullopt;
  check_movement(q);
  movement_answer a;
  const request each(tokens(q.work->prompt), tokens(q.work->generated));
  a.token_computations = token_computations(each, true).value();
  a.token_computations_without_cache = token_computations(each, false).value();
  a.sequence_bytes = bytes_of_sequence(located, e, q);
  if (q.transfer_bandwidth) {
    a.transfer_seconds = static_cast<double>(a.sequence_bytes) / static_cast<double>(q.transfer_bandwidth->count());
  }
  if (!q.memory_bandwidth) return a;
  const auto unknown = [&](const std::string& why) {
    e.notes.push_back("bytes read per step are unknown" + why);
    return a;
  };
  if (q.weights == evidence::untested) return unknown(" without the weights");
  const std::optional<std::uint64_t> rest = weights_not_read(located, q);
  if (!rest) return unknown(": they depend on where the chosen experts are");
  const read_caches caches = stored_positions_of(located, e, q);
  if (!caches.unknown.empty()) return unknown(caches.unknown);
  add_steps(a, q, weights, *rest, caches.devices);
  if (!q.files) e.notes.push_back("the weights are taken to be read whole at every step");
  return a;
}

}  // namespace kvbudget::detail
