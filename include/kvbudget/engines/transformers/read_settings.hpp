// The settings that transformers' options and the common question make.
#pragma once

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/config/read_model.hpp>
#include <kvbudget/config/stated_dtype.hpp>
#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/transformers/options.hpp>
#include <kvbudget/engines/transformers/rules.hpp>

namespace kvbudget::detail::transformers {

enum class cache_kind : std::uint8_t { dynamic, static_, quantized, mems };
inline constexpr std::string_view cache_kind_names[] = {"dynamic", "static", "quantized", "mems"};

/// Options under the names that generate(), the cache classes and their configs use.
struct settings {
  config::engine_version version = newest_version;
  cache_kind cache = cache_kind::dynamic;
  std::optional<storage_type> dtype;  ///< of model and cache
  std::uint64_t batch = 1;
  std::uint64_t seq_len = 0;       ///< prefill, all at once
  std::uint64_t decode_steps = 0;  ///< one position each
  std::uint64_t max_cache_len = 0;
  std::uint64_t encoder_seq_len = 0;
  std::uint64_t cross_max_cache_len = 0;
  quantized_cache quantization;
  std::string part;
  bool cache_built_by_generate = false;
  bool created_by_generate = false;
  std::optional<std::uint64_t> images_per_sequence;
  placement where;  ///< stages of a device_map: whole layers on each device
  std::vector<std::string> notes;
};

/// 0, or the last axis, which Quanto calls -1 and HQQ 1.
[[nodiscard]] inline std::uint32_t axis(const kvbudget::detail::option_reader& in, std::string_view name, bool quanto) {
  const config::json* const value = in.find(name);
  if (value == nullptr) return 0;
  // A number above the signed ones would compare equal to -1.
  if (value->is_number_integer() && (!value->is_number_unsigned() || value->get<std::uint64_t>() <= 1)) {
    const auto number = value->get<std::int64_t>();
    if (number == 0) return 0;
    if (number == (quanto ? -1 : 1)) return 1;
  }
  in.fail(name, *value, "unusable value", quanto ? "0 or -1" : "0 or 1");
}

/// Options of QuantizedCache (cache_utils.py).
[[nodiscard]] inline quantized_cache read_quantization(const kvbudget::detail::option_reader& in,
                                                       config::engine_version version) {
  quantized_cache q;
  const std::string backend = in.text("backend").value_or("quanto");
  q.backend = backend == "fp8"      ? quantization_backend::fp8
              : backend == "quanto" ? quantization_backend::quanto
                                    : quantization_backend::hqq;
  if (q.backend == quantization_backend::fp8) {
    if (version < config::engine_version{5, 21, 0}) {
      in.fail("backend", *in.find("backend"), "not in transformers " + version.text(), "quanto or hqq before 5.21");
    }
    for (const std::string_view group : {"nbits", "q_group_size", "residual_length", "axis_key", "axis_value"}) {
      if (const config::json* const value = in.find(group)) {
        in.fail(group, *value, "the fp8 backend quantizes whole tensors", "no such option, or another backend");
      }
    }
    return q;
  }
  q.nbits = static_cast<std::uint32_t>(in.count("nbits").value_or(4));
  const bool quanto = q.backend == quantization_backend::quanto;
  const bool known_bits = quanto ? q.nbits == 2 || q.nbits == 4
                                 : q.nbits == 1 || q.nbits == 2 || q.nbits == 3 || q.nbits == 4 || q.nbits == 8;
  if (!known_bits) {
    throw usage_error({"", "nbits", std::to_string(q.nbits)}, "the backend does not quantize to so many bits",
                      quanto ? "2 or 4" : "1, 2, 3, 4 or 8");
  }
  q.q_group_size = static_cast<std::uint32_t>(in.count("q_group_size").value_or(64));
  q.residual_length = static_cast<std::uint32_t>(in.count("residual_length").value_or(128));
  q.axis_key = axis(in, "axis_key", quanto);
  q.axis_value = axis(in, "axis_value", quanto);
  return q;
}

/// Options that belong to one kind of cache.
struct option_owner {
  std::string_view option;
  cache_kind cache;
  const char* name;
};
inline constexpr option_owner option_owners[] = {{"max_cache_len", cache_kind::static_, "static"},
                                                 {"cross_max_cache_len", cache_kind::static_, "static"},
                                                 {"backend", cache_kind::quantized, "quantized"},
                                                 {"nbits", cache_kind::quantized, "quantized"},
                                                 {"q_group_size", cache_kind::quantized, "quantized"},
                                                 {"residual_length", cache_kind::quantized, "quantized"},
                                                 {"axis_key", cache_kind::quantized, "quantized"},
                                                 {"axis_value", cache_kind::quantized, "quantized"},
                                                 {"use_mems", cache_kind::mems, "mems"}};

/// A note for every option that this kind of cache does not look at.
inline void note_idle_options(const kvbudget::detail::option_reader& in, settings& s) {
  for (const option_owner& o : option_owners) {
    if (o.cache == s.cache || in.find(o.option) == nullptr) continue;
    s.notes.push_back(std::string(o.option) + " is for cache=" + o.name + " and changes nothing here");
  }
  for (const std::string_view option : {"output_field", "tiles_per_image", "image_size"}) {
    if (in.find(option) != nullptr) s.notes.push_back(std::string(option) + " changes no byte");
  }
}

inline void read_version(const kvbudget::detail::option_reader& in, settings& s) {
  const auto version = in.text("version");
  if (!version) return;
  s.version = config::engine_version::parse(*version);
  if (!(s.version < oldest_version) && !(newest_version < s.version)) return;
  const config::engine_version nearest = s.version < oldest_version ? oldest_version : newest_version;
  s.notes.push_back("transformers " + *version + " is outside the known versions " + oldest_version.text() + " to " +
                    newest_version.text() + "; answered as " + nearest.text());
  s.version = nearest;
}

/// transformers has one element type for K and V. Nothing: the config's.
inline void read_dtype(const kvbudget::detail::option_reader& in, const cache_types& asked, settings& s) {
  if (asked.k != asked.v) {
    throw usage_error({"", "k-dtype", asked.k ? name_of(*asked.k) : ""},
                      "transformers keeps K and V in one element type", "kv-dtype");
  }
  std::optional<storage_type> own;
  if (const auto name = in.text("dtype"); name && (*name != "auto" || asked.k)) {
    own = find_storage_type(*name);
    if (asked.k && own != asked.k) in.contradict("dtype", config::shown(name_of(*asked.k)), "kv-dtype");
    own = parse_storage_type(*name, "dtype");
  }
  s.dtype = own ? own : asked.k;
  if (s.dtype && !is_one_of(name_of(*s.dtype), config::torch_types)) {
    in.fail("dtype", config::json(name_of(*s.dtype)), "not an element type that a model in torch can have",
            config::torch_types_text);
  }
}

/// One tensor for the whole batch: sequences of different lengths are padded to the longest.
inline void read_workload(const kvbudget::detail::option_reader& in, const std::optional<workload>& asked,
                          settings& s) {
  std::optional<std::uint64_t> prompt, generated, sequences;
  if (asked) {
    prompt = asked->prompt;
    generated = asked->generated;
    sequences = asked->sequences;
    if (!asked->lengths.empty()) {
      prompt = *std::max_element(asked->lengths.begin(), asked->lengths.end());
      generated = 0;
    }
  }
  s.seq_len = in.agreed("seq_len", in.count("seq_len"), prompt, "prompt").value_or(0);
  s.decode_steps = in.agreed("decode_steps", in.count("decode_steps"), generated, "generate").value_or(0);
  s.batch = in.agreed("batch", in.count("batch"), sequences, "sequences").value_or(1);
}

[[noreturn]] inline void refuse_placement(const char* option, const char* expected) {
  throw usage_error({"", option, ""}, "not computed for transformers", expected);
}

/// device_map with whole layers on each device. (Layers that accelerate offloads are run on the device, so that their
/// cache is there as well: accelerate hooks.py, AlignDevicesHook.)
inline void read_placement(const kvbudget::detail::option_reader& in, const placement& asked, settings& s) {
  if (asked.tensor_parallel > 1) {
    refuse_placement("tensor-parallel", "pipeline-parallel (device_map), or no engine");
  }
  if (asked.context_parallel > 1) refuse_placement("context-parallel", "pipeline-parallel (device_map)");
  if (asked.data_parallel > 1) refuse_placement("data-parallel", "one plan for each process");
  if (asked.host_layers > 0) refuse_placement("host-layers", "its layers are run on a device, and cached there");
  std::optional<std::uint64_t> stages;
  std::optional<std::vector<std::uint64_t>> layers, own_layers;
  if (asked.pipeline_parallel > 1) {
    stages = asked.pipeline_parallel;
    if (!asked.stage_layers.empty()) layers = asked.stage_layers;
  }
  if (const config::json* const list = in.find("stage_layers")) {
    if (!list->is_array()) in.fail("stage_layers", *list, "not a list", "the layers of each stage");
    own_layers.emplace();
    for (const config::json& n : *list) {
      if (!n.is_number_integer() || n < 0) {
        in.fail("stage_layers", n, "not a number of layers", "the layers of each stage");
      }
      own_layers->push_back(n.get<std::uint64_t>());
    }
  }
  s.where.pipeline_parallel =
      in.agreed("pipeline_stages", in.count("pipeline_stages"), stages, "pipeline-parallel").value_or(1);
  s.where.stage_layers =
      in.agreed("stage_layers", own_layers, layers, "stage-layers").value_or(std::vector<std::uint64_t>());
}

/// Throws usage_error for unknown options and values, and for options that contradict the question.
[[nodiscard]] inline settings read_settings(const engine_question& q) {
  const kvbudget::detail::option_reader in(option_rows, q.options);
  settings s;
  read_version(in, s);
  s.cache = in.word("cache", cache_kind::dynamic);
  read_dtype(in, q.types, s);
  read_workload(in, q.work, s);
  s.max_cache_len = in.count("max_cache_len").value_or(0);
  s.encoder_seq_len = in.count("encoder_seq_len").value_or(0);
  s.cross_max_cache_len = in.count("cross_max_cache_len").value_or(0);
  if (s.cache == cache_kind::static_ && s.max_cache_len == 0) {
    throw usage_error({"", "max_cache_len", ""}, "missing", "the length of a static cache");
  }
  s.quantization = read_quantization(in, s.version);
  if (in.boolean("use_mems") == false && s.cache == cache_kind::mems) {
    throw usage_error({"", "use_mems", "false"}, "contradicts cache=mems", "true, or no such option");
  }
  note_idle_options(in, s);
  s.part = in.text("part").value_or("");
  s.cache_built_by_generate = in.text("cache_built_by").value_or("forward-default") != "forward-default";
  s.images_per_sequence = in.count("images_per_sequence");
  s.created_by_generate = in.text("created_by").value_or("") == "generate";
  read_placement(in, q.where, s);
  return s;
}

}  // namespace kvbudget::detail::transformers
