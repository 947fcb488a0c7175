// A plan's weights on its devices.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/plan/placed_weights.hpp>
#include <kvbudget/plan/evaluate.hpp>

namespace kvbudget::detail {

/// Weights on each device, and on the host behind them, as the engine places its layers. Empty when they are in
/// `q.devices` already. Sets what the figure rests on.
[[nodiscard]] inline std::vector<bytes> weights_of_devices(const located_config& located, plan_question& q) {
  if (!q.files && q.weight_sizes.empty()) return {};
  plan_question one = q;
  one.where.data_parallel = 1;
  const engine_answer e = evaluate(located, one, q.work, {});
  if (q.files) {
    q.weights = q.where.tensor_parallel > 1 ? evidence::estimated : evidence::computed;
    return place_weights(*q.files, e, q.where);
  }
  const std::size_t devices = q.where.devices();
  std::vector<bytes> sizes = q.weight_sizes;
  if (sizes.size() == 1) {
    const bool on_host =
        std::find(e.stage_of_layer.begin(), e.stage_of_layer.end(), e.layer_stages) != e.stage_of_layer.end();
    if (q.where.pipeline_parallel > 1 || on_host) {
      throw usage_error({"", "weights", ""}, "one size does not say what each device holds",
                        "one size for each, the host's last, or the files");
    }
    if (q.where.tensor_parallel > 1) {
      sizes[0] = bytes(div_ceil(sizes[0].count(), q.where.tensor_parallel));
      q.weights = evidence::estimated;
    }
    sizes.resize(devices, sizes[0]);
  }
  if (sizes.size() == devices) sizes.push_back(bytes());
  if (sizes.size() != devices + 1) {
    throw usage_error({"", "weights", std::to_string(q.weight_sizes.size())}, "not one size for each device",
                      std::to_string(devices) + " sizes, or one more for the host");
  }
  return sizes;
}

/// Puts them into the budgets.
inline void put_weights(const std::vector<bytes>& placed, plan_question& q) {
  if (placed.empty() || q.devices.empty()) return;
  const std::size_t devices = placed.size() - 1;
  if (q.devices.size() == 1) q.devices.resize(devices, q.devices.front());
  if (q.devices.size() != devices) {
    throw usage_error({"", "device", std::to_string(q.devices.size())},
                      "the plan has " + std::to_string(devices) + " devices", "one for all of them, or one for each");
  }
  for (std::size_t i = 0; i < devices; ++i) q.devices[i].weights = placed[i];
  if (q.host) q.host->weights = placed.back();
}

}  // namespace kvbudget::detail
