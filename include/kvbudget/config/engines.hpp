// The engines by name.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/config/llama_cpp.hpp>
#include <kvbudget/config/placement.hpp>
#include <kvbudget/config/transformers.hpp>
#include <kvbudget/config/vllm.hpp>
#include <kvbudget/spelling.hpp>

namespace kvbudget::config {

/// Two names of one element type are no contradiction.
[[nodiscard]] inline bool means_the_same(const json& a, const json& b) {
  if (a == b) return true;
  if (!a.is_string() || !b.is_string()) return false;
  const auto type = find_storage_type(a.get_ref<const std::string&>());
  return type && type == find_storage_type(b.get_ref<const std::string&>());
}

/// Puts what was said otherwise under the engine's own name. Throws usage_error where that is set to something else.
inline void put_option(json& options, const std::string& name, const json& value, const std::string& said_as) {
  if (options.contains(name) && !options[name].is_null() && !means_the_same(options[name], value)) {
    throw usage_error({"", said_as, detail::shown(value)}, "contradicts " + name + "=" + detail::shown(options[name]),
                      "one of the two");
  }
  options[name] = value;
}

/// An engine as programs choose it.
struct engine_entry {
  std::string_view name;
  /// A config, the content of hf_quant_config.json beside it (or nullptr), and options: the engine's figures.
  evaluation (*evaluate)(const document& d, const json* hf_quant_config, const json& options);
  /// A workload and element types in the engine's own options.
  void (*apply_workload)(json& options, const std::optional<workload>& w, const cache_types& types);
  /// The engine's own names of the numbers of tensor-parallel ranks and of stages; empty: it has none.
  std::string_view tensor_parallel_option;
  std::string_view stages_option;
  bool stages_count_devices;  ///< without that option it plans for no device at all (llama.cpp: the host)
  bool plans_one_replica;     ///< replicas are as many plans, each with its own devices
  /// A placement in the engine's own options. Throws usage_error for what the engine does not do.
  void (*apply_placement)(json& options, const placement& where);
  /// What each device leaves for the cache, in the engine's own options; nullptr where the engine does not ask.
  void (*apply_devices)(json& options, const placement& where, const std::vector<bytes>& available);
  /// Whether the engine's rules for the kind of device are known by this name; nullptr where they do not depend on it.
  bool (*knows_device)(const std::string& name);
};

namespace detail {

/// transformers has one element type, and one length for a whole batch.
inline void apply_to_transformers(json& options, const std::optional<workload>& w, const cache_types& types) {
  if (types.k || types.v) {
    if (types.k != types.v) {
      throw usage_error({"", "k-dtype", types.k ? name_of(*types.k) : ""},
                        "transformers keeps K and V in one element type", "kv-dtype");
    }
    put_option(options, "dtype", name_of(*types.k), "kv-dtype");
  }
  if (!w) return;
  workload padded = *w;
  if (!w->lengths.empty()) {  // one tensor: padded to the longest
    padded.prompt = *std::max_element(w->lengths.begin(), w->lengths.end());
    padded.generated = 0;
  }
  put_option(options, "seq_len", padded.prompt, "prompt");
  put_option(options, "decode_steps", padded.generated, "generate");
  put_option(options, "batch", padded.sequences, "sequences");
}

/// The length of every sequence of a workload, for engines that have one limit for all.
[[nodiscard]] inline std::uint64_t longest_of(const workload& w) {
  if (!w.lengths.empty()) return *std::max_element(w.lengths.begin(), w.lengths.end());
  return (checked_count(w.prompt) + w.generated).value();
}

/// A number that the user gave under llama.cpp's own name or an alias; nothing where that is no whole number.
[[nodiscard]] inline std::optional<std::uint64_t> given_to_llama_cpp(const json& options, const char* option) {
  const json named = llama_cpp::detail::by_own_names(options);
  const auto at = named.find(option);
  if (at == named.end() || !at->is_number_integer() || *at < 0) return std::nullopt;
  return at->get<std::uint64_t>();
}

/// Positions of all sequences of a workload together.
[[nodiscard]] inline checked_count positions_of(const workload& w) {
  if (w.lengths.empty()) return (checked_count(w.prompt) + w.generated) * w.sequences;
  checked_count sum = 0U;
  for (const std::uint64_t n : w.lengths) sum += n;
  return sum;
}

/// The workload must fit into the context that the user asked for: all sequences together where they share one buffer,
/// else each of them. Throws usage_error.
inline void check_llama_cpp_limit(const workload& w, std::uint64_t n_ctx, std::uint64_t n_seq_max, bool unified) {
  const auto padded = [](std::uint64_t n) { return round_up(checked_count(n), llama_cpp::detail::cells_pad); };
  const checked_count all = padded(n_ctx);
  const checked_count room = unified ? all : padded((all / std::max<std::uint64_t>(n_seq_max, 1)).value());
  const checked_count asked = unified ? positions_of(w) : checked_count(longest_of(w));
  if (asked.fits(room.value())) return;
  throw usage_error({"", w.lengths.empty() ? "prompt" : "lengths", std::to_string(asked.value())},
                    "beyond n_ctx=" + std::to_string(n_ctx) +
                        (unified ? ", which all sequences share"
                                 : " for " + std::to_string(n_seq_max) + " sequences, which leaves " +
                                       std::to_string(room.value()) + " positions for each"),
                    "at most " + std::to_string(room.value()));
}

/// llama.cpp divides n_ctx among n_seq_max sequences; K and V may differ. A workload within the n_ctx and n_seq_max
/// that the user gives is answered for what the engine allocates for these; one beyond them is a usage error.
inline void apply_to_llama_cpp(json& options, const std::optional<workload>& w, const cache_types& types) {
  options = llama_cpp::detail::by_own_names(options);
  if (types.k) put_option(options, "type_k", name_of(*types.k), "k-dtype");
  if (types.v) put_option(options, "type_v", name_of(*types.v), "v-dtype");
  if (!w) return;
  const checked_count positions = checked_count(longest_of(*w)) * w->sequences;
  if (positions == checked_count(0U)) {
    throw usage_error({"", "prompt", "0"}, "no position: n_ctx 0 is the model's own length in llama.cpp", "at least 1");
  }
  std::uint64_t n_seq_max = w->sequences;
  if (const auto given = given_to_llama_cpp(options, "n_seq_max")) {
    n_seq_max = std::max<std::uint64_t>(*given, 1);
    if (w->sequences > n_seq_max) {
      throw usage_error({"", w->lengths.empty() ? "sequences" : "lengths", std::to_string(w->sequences)},
                        "beyond n_seq_max=" + std::to_string(*given), "at most " + std::to_string(n_seq_max));
    }
  } else {
    put_option(options, "n_seq_max", n_seq_max, "sequences");
  }
  const auto at = options.find("kv_unified");
  const bool unified = at != options.end() && at->is_boolean() && at->get<bool>();
  if (const auto given = given_to_llama_cpp(options, "n_ctx")) {
    if (*given != 0) check_llama_cpp_limit(*w, *given, n_seq_max, unified);
    return;
  }
  const checked_count n_ctx = unified ? positions_of(*w) : checked_count(longest_of(*w)) * n_seq_max;
  put_option(options, "n_ctx", n_ctx.value(), "prompt");
}

/// Whether an option is set to that already, be it in another spelling.
[[nodiscard]] inline bool is_set(const json& options, const std::string& name, const json& value) {
  return options.contains(name) && !options[name].is_null() && means_the_same(options[name], value);
}

/// vLLM plans for max_model_len and reports how many such requests its pool holds.
inline void apply_to_vllm(json& options, const std::optional<workload>& w, const cache_types& types) {
  if (types.k || types.v) {
    if (types.k != types.v) {
      throw usage_error({"", "k-dtype", types.k ? name_of(*types.k) : ""}, "vLLM keeps K and V in one element type",
                        "kv-dtype");
    }
    // Its types of one size are not one: fp8 and fp8_e4m3 may get different backends.
    const bool own_word = vllm::find_cache_dtype(types.said).has_value();
    if (!is_set(options, "kv_cache_dtype", name_of(*types.k))) {
      put_option(options, "kv_cache_dtype", own_word ? types.said : name_of(*types.k), "kv-dtype");
    }
  }
  if (!w) return;
  const auto limit = options.find("max_model_len");  // -1 and "auto": as long as the memory allows
  const bool stated = limit != options.end() && limit->is_number_integer() && *limit > 0;
  if (!stated && limit != options.end() && !limit->is_null()) return;
  if (!stated) options["max_model_len"] = longest_of(*w);
  else if (longest_of(*w) > limit->get<std::uint64_t>()) {
    throw usage_error({"", "prompt", std::to_string(longest_of(*w))},
                      "longer than max_model_len=" + detail::shown(*limit), "requests within the engine's limit");
  }
}

[[noreturn]] inline void refuse_placement(const char* option, const char* engine, const char* expected) {
  throw usage_error({"", option, ""}, std::string("not computed for ") + engine, expected);
}

/// device_map with whole layers on each device. (Layers that accelerate offloads are run on the device, so that their
/// cache is there as well: accelerate hooks.py, AlignDevicesHook.)
inline void place_transformers(json& options, const placement& where) {
  if (where.tensor_parallel > 1) {
    refuse_placement("tensor-parallel", "transformers", "pipeline-parallel (device_map), or no engine");
  }
  if (where.context_parallel > 1)
    refuse_placement("context-parallel", "transformers", "pipeline-parallel (device_map)");
  if (where.data_parallel > 1) refuse_placement("data-parallel", "transformers", "one plan for each process");
  if (where.host_layers > 0)
    refuse_placement("host-layers", "transformers", "its layers are run on a device, and cached there");
  if (where.pipeline_parallel == 1) return;
  put_option(options, "pipeline_stages", where.pipeline_parallel, "pipeline-parallel");
  if (!where.stage_layers.empty()) put_option(options, "stage_layers", where.stage_layers, "stage-layers");
}

/// Whole layers on each GPU (split_mode layer), in parts by tensor_split. The output layer comes after the last one.
inline void place_llama_cpp(json& options, const placement& where) {
  if (where.tensor_parallel > 1) {
    refuse_placement("tensor-parallel", "llama.cpp", "pipeline-parallel: it keeps whole layers on a GPU");
  }
  if (where.context_parallel > 1) refuse_placement("context-parallel", "llama.cpp", "pipeline-parallel");
  if (where.data_parallel > 1) refuse_placement("data-parallel", "llama.cpp", "one plan for each process");
  if (where.host_layers > 0) refuse_placement("host-layers", "llama.cpp", "its own n_gpu_layers");
  if (where.pipeline_parallel > 1) put_option(options, "devices", where.pipeline_parallel, "pipeline-parallel");
  if (!where.stage_layers.empty()) {
    std::vector<std::uint64_t> parts = where.stage_layers;
    for (const std::uint64_t n : parts) {
      if (n > max_layers)
        throw usage_error({"", "stage-layers", std::to_string(n)}, "too many layers", "at most 65536");
    }
    ++parts.back();
    put_option(options, "tensor_split", parts, "stage-layers");
  }
}

inline void place_vllm(json& options, const placement& where) {
  if (where.context_parallel > 1) {
    refuse_placement("context-parallel", "vLLM", "its decode_context_parallel_size, which takes tensor-parallel ranks");
  }
  if (where.host_layers > 0) refuse_placement("host-layers", "vLLM", "it keeps the cache of every layer on a GPU");
  if (where.attention_data_parallel) {
    refuse_placement("attention-data-parallel", "vLLM", "data-parallel: with it attention is not divided");
  }
  if (where.tensor_parallel > 1) put_option(options, "tensor_parallel_size", where.tensor_parallel, "tensor-parallel");
  if (where.pipeline_parallel > 1)
    put_option(options, "pipeline_parallel_size", where.pipeline_parallel, "pipeline-parallel");
  if (!where.stage_layers.empty()) put_option(options, "pp_layer_partition", where.stage_layers, "stage-layers");
}

/// Each worker counts the blocks that its own memory holds; the fewest are used (v1/core/kv_cache_utils.py).
inline void give_memory_to_vllm(json& options, const placement& where, const std::vector<bytes>& available) {
  if (available.size() == 1) {
    put_option(options, "available_memory", available.front().count(), "device");
    return;
  }
  const std::size_t ranks = available.size() / where.pipeline_parallel;
  json by_stage = json::array();
  for (std::size_t stage = 0; stage < where.pipeline_parallel; ++stage) {
    by_stage.push_back(std::min_element(available.begin() + static_cast<std::ptrdiff_t>(stage * ranks),
                                        available.begin() + static_cast<std::ptrdiff_t>((stage + 1) * ranks))
                           ->count());
  }
  if (by_stage.size() == 1) by_stage = by_stage[0];
  put_option(options, "available_memory", by_stage, "device");
}

}  // namespace detail

inline constexpr engine_entry engines[] = {
    {"transformers",
     [](const document& d, const json*, const json& options) { return transformers::evaluate(d, options); },
     detail::apply_to_transformers, "", "pipeline_stages", false, false, detail::place_transformers, nullptr, nullptr},
    {"llama.cpp", [](const document& d, const json*, const json& options) { return llama_cpp::evaluate(d, options); },
     detail::apply_to_llama_cpp, "", "devices", true, false, detail::place_llama_cpp, nullptr, nullptr},
    {"vllm", vllm::evaluate, detail::apply_to_vllm, "tensor_parallel_size", "pipeline_parallel_size", false, true,
     detail::place_vllm, detail::give_memory_to_vllm, vllm::is_known_device},
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
