// What is asked of a cache, whatever the engine: which sequences, which element types, and what sits where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/core/checked.hpp>
#include <kvbudget/input/errors.hpp>
#include <kvbudget/core/storage_type.hpp>

namespace kvbudget {

/// `sequences` of prompt + generated positions each, or sequences of the lengths listed.
struct workload {
  std::uint64_t prompt = 0;
  std::uint64_t generated = 0;
  std::uint64_t sequences = 1;
  std::vector<std::uint64_t> lengths;
};

namespace detail {
/// The length of the longest sequence of a workload, for engines that have one limit for all. Raises size_error.
[[nodiscard]] inline std::uint64_t longest_of(const workload& w) {
  if (!w.lengths.empty()) return *std::max_element(w.lengths.begin(), w.lengths.end());
  return (checked_count(w.prompt) + w.generated).value();
}
}  // namespace detail

/// Element types of a cache as the caller states them; what is missing comes from the engine or the config.
struct cache_types {
  std::optional<storage_type> k;
  std::optional<storage_type> v;
  std::string said{};  ///< the word for both, as it was said: an engine may tell types of one size apart
};

/// Which device keeps which part of which layer. Devices are numbered replica by replica, within it stage by stage,
/// within it rank by rank.
struct placement {
  std::uint64_t tensor_parallel = 1;          ///< ranks that divide the K/V heads of every layer
  std::uint64_t pipeline_parallel = 1;        ///< stages that divide the layers
  std::vector<std::uint64_t> stage_layers{};  ///< layers of each stage; empty: equal parts, or the engine's rule
  std::uint64_t context_parallel = 1;         ///< ranks that divide the positions of every sequence
  std::uint64_t data_parallel = 1;            ///< whole replicas, to which the sequences are dealt
  bool attention_data_parallel = false;       ///< the tensor-parallel ranks keep whole heads, of their own sequences
  std::uint64_t host_layers = 0;              ///< the first so many layers are on the host

  [[nodiscard]] bool divides() const {
    return tensor_parallel > 1 || pipeline_parallel > 1 || context_parallel > 1 || data_parallel > 1 || host_layers > 0;
  }
  /// Without the host. Throws usage_error for more than max_devices.
  [[nodiscard]] std::uint64_t devices() const {
    const checked_count n = checked_count(tensor_parallel) * pipeline_parallel * context_parallel * data_parallel;
    if (!n.fits(max_devices)) throw usage_error({"", "placement", ""}, "too many devices", "at most 4096");
    return n.value();
  }
  static constexpr std::uint64_t max_devices = 4096;
};

}  // namespace kvbudget
