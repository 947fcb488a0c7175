// The engines by name.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/config/llama_cpp.hpp>
#include <kvbudget/config/transformers.hpp>
#include <kvbudget/config/vllm.hpp>
#include <kvbudget/spelling.hpp>

namespace kvbudget::config {

/// Element types of a cache as the caller states them; what is missing comes from the engine or the config.
struct cache_types {
  std::optional<storage_type> k;
  std::optional<storage_type> v;
};

/// Sets one option of an engine, and complains when it is set to something else already.
using put_option = void (*)(json& options, const std::string& name, const json& value, const std::string& said_as);

/// An engine as programs choose it.
struct engine_entry {
  std::string_view name;
  /// A config, the content of hf_quant_config.json beside it (or nullptr), and options: the engine's figures.
  evaluation (*evaluate)(const document& d, const json* hf_quant_config, const json& options);
  /// A workload and element types in the engine's own options.
  void (*apply_workload)(json& options, const std::optional<workload>& w, const cache_types& types, put_option put);
  /// What a device leaves for the cache, in the engine's own options; nullptr where the engine does not ask.
  void (*apply_device)(json& options, const device_budget& device, put_option put);
};

namespace detail {

/// transformers has one element type, and one length for a whole batch.
inline void apply_to_transformers(json& options, const std::optional<workload>& w, const cache_types& types,
                                  put_option put) {
  if (types.k || types.v) {
    if (types.k != types.v) {
      throw usage_error({"", "--k-dtype", types.k ? name_of(*types.k) : ""},
                        "transformers keeps K and V in one element type", "--kv-dtype");
    }
    put(options, "dtype", name_of(*types.k), "--kv-dtype");
  }
  if (!w) return;
  workload padded = *w;
  if (!w->lengths.empty()) {  // one tensor: padded to the longest
    padded.prompt = *std::max_element(w->lengths.begin(), w->lengths.end());
    padded.generated = 0;
  }
  put(options, "seq_len", padded.prompt, "--prompt");
  put(options, "decode_steps", padded.generated, "--generate");
  put(options, "batch", padded.sequences, "--sequences");
}

/// The length of every sequence of a workload, for engines that have one limit for all.
[[nodiscard]] inline std::uint64_t longest_of(const workload& w) {
  if (!w.lengths.empty()) return *std::max_element(w.lengths.begin(), w.lengths.end());
  return (checked_count(w.prompt) + w.generated).value();
}

/// llama.cpp divides n_ctx among n_seq_max sequences; K and V may differ.
inline void apply_to_llama_cpp(json& options, const std::optional<workload>& w, const cache_types& types,
                               put_option put) {
  if (types.k) put(options, "type_k", name_of(*types.k), "--k-dtype");
  if (types.v) put(options, "type_v", name_of(*types.v), "--v-dtype");
  if (!w) return;
  put(options, "n_seq_max", w->sequences, "--sequences");
  put(options, "n_ctx", (checked_count(longest_of(*w)) * w->sequences).value(), "--prompt");
}

/// vLLM plans for max_model_len and reports how many such requests its pool holds.
inline void apply_to_vllm(json& options, const std::optional<workload>& w, const cache_types& types, put_option put) {
  if (types.k || types.v) {
    if (types.k != types.v) {
      throw usage_error({"", "--k-dtype", types.k ? name_of(*types.k) : ""},
                        "vLLM keeps K and V in one element type", "--kv-dtype");
    }
    put(options, "kv_cache_dtype", name_of(*types.k), "--kv-dtype");
  }
  if (w) put(options, "max_model_len", longest_of(*w), "--prompt");
}

inline void give_memory_to_vllm(json& options, const device_budget& device, put_option put) {
  put(options, "available_memory", device.available_for_cache().count(), "--device");
}

}  // namespace detail

inline constexpr engine_entry engines[] = {
    {"transformers",
     [](const document& d, const json*, const json& options) { return transformers::evaluate(d, options); },
     detail::apply_to_transformers, nullptr},
    {"llama.cpp",
     [](const document& d, const json*, const json& options) { return llama_cpp::evaluate(d, options); },
     detail::apply_to_llama_cpp, nullptr},
    {"vllm", vllm::evaluate, detail::apply_to_vllm, detail::give_memory_to_vllm},
};

/// Throws usage_error that lists the known engines.
inline const engine_entry& find_engine(std::string_view name) {
  std::string known;
  for (const engine_entry& e : engines) {
    if (e.name == name) return e;
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  throw usage_error({"", "engine", std::string(name)}, "unknown engine", "one of " + known);
}

}  // namespace kvbudget::config
