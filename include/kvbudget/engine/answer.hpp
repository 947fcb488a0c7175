// What an engine makes of one config and one question: the common form for planners, programs and reports.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <kvbudget/config/provenance.hpp>
#include <kvbudget/engine/workload.hpp>

namespace kvbudget {

/// Bytes of one layer as the engine keeps it. Layer -1 stands for what belongs to the cache as a whole.
struct layer_bytes {
  std::int64_t layer = 0;
  std::string kind;
  std::uint64_t k_bytes = 0;
  std::uint64_t v_bytes = 0;
  std::uint64_t other_bytes = 0;
};

/// One pool of equal units, as in core/pool.hpp, with a name of its own.
struct pool_bytes {
  std::string name;
  std::uint32_t device = 0;
  std::uint64_t unit_bytes = 0;
  std::uint64_t units = 0;
  std::uint64_t bytes = 0;
};

/// What an engine that sizes its pool itself says of it.
struct pool_capacity {
  std::uint64_t bytes = 0;          ///< that requests can use
  std::uint64_t length = 0;         ///< positions of a request that the engine plans for
  std::uint64_t max_length = 0;     ///< of one request
  std::uint64_t max_sequences = 0;  ///< requests of that length
  std::uint64_t max_tokens = 0;     ///< positions of such requests
  std::optional<bool> holds{};      ///< requests of different lengths, where no number of equal ones says it
};

/// The cache on one device of a placement.
struct device_cache {
  std::string name;         ///< "0", "1" … in the engine's order; "host" for the host's memory
  std::uint64_t bytes = 0;  ///< of the workload, when all is generated
  std::uint64_t peak = 0;   ///< the most on the way there; differs where bytes shrink (a residual that is quantized)
  /// The most that any workload up to this one takes there: monotone in its length and its sequences, so that it can
  /// be inverted by search. Empty where the engine does not size its cache by a workload.
  std::function<checked_count(const workload&)> peak_bytes;
};

/// The engine's answer. `figures` has the engine's own figures under their contract names; the rest is the same in
/// one form for all engines. With a `refusal` the figures hold what is known all the same, and "error" says why.
struct engine_answer {
  std::string engine;
  std::string version;
  std::function<nlohmann::json()> settings;  ///< every option in force, defaults included, as an object
  std::function<nlohmann::json()> figures;   ///< an object; built when asked for
  std::string refusal;                       ///< why the engine does not run these settings; empty when it does
  bool too_large = false;                    ///< the refusal is only that the memory does not suffice
  cache_types types;                         ///< element types of K and V in force, where they are known

  std::string model_type;
  std::string attention;  ///< MHA, GQA, MQA, MLA, hybrid …
  std::uint64_t model_layers = 0;
  std::vector<provenance> sources;

  std::uint64_t total_bytes = 0;                          ///< on all devices together
  std::optional<std::uint64_t> bytes_per_token;           ///< of one sequence; nothing where the curve is not linear
  std::optional<std::uint64_t> state_bytes_per_sequence;  ///< what a sequence takes whatever its length
  bool sequences_add_up = false;      ///< sequences of different lengths take the sum of what each takes
  std::vector<device_cache> devices;  ///< total_bytes by device; one, unless a placement says more
  /// Where the layers' weights are: the pipeline stage of each, or layer_stages for the host.
  std::vector<std::uint32_t> stage_of_layer;
  std::uint32_t layer_stages = 1;
  bool embedding_on_host = false;
  std::optional<pool_capacity> own_capacity;  ///< where the engine sizes its pool by the memory it is given
  /// What the workload's requests hold of that pool, and of it in each layer. Both on all devices together.
  std::function<checked_count(const workload&)> pool_use;
  std::function<std::vector<layer_bytes>(const workload&)> layers_of;
  /// What one of the workload's sequences has in common with others of the same first positions. Empty where the engine
  /// keeps every sequence apart.
  std::function<checked_count(const workload&, std::uint64_t prefix)> common_bytes;
  std::uint64_t replicas = 1;  ///< whose sequences differ; the engine's figures are those of the first
  std::vector<pool_bytes> pools;
  std::vector<layer_bytes> layers;
  std::vector<std::string> notes;
};

/// What the requests of a workload hold of the engine's pool, on all devices together.
[[nodiscard]] inline checked_count held_in_pool(const engine_answer& e, const workload& w) {
  if (w.lengths.empty()) return e.pool_use(w);
  checked_count sum = 0U;
  for (const std::uint64_t n : w.lengths) sum += e.pool_use(workload{n, 0, 1, {}});
  return sum;
}

}  // namespace kvbudget
