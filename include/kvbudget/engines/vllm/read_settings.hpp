// The settings that vLLM's options and the common question make.
#pragma once

#include <charconv>

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/engines/vllm/layers.hpp>
#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/vllm/options.hpp>

namespace kvbudget::detail::vllm {

/// Settings with the storage they refer to.
struct owned_settings {
  vllm::settings settings;
  std::vector<std::uint32_t> skip_layers;
  std::vector<std::uint32_t> layer_partition;
  std::vector<std::uint64_t> stage_memory;
  std::optional<std::string> dtype;  ///< of the model; nothing: the config's
  json hf_overrides;                 ///< null or an object
  json draft_config;                 ///< null or an object
  std::optional<std::uint32_t> num_speculative_tokens;
  std::vector<std::string> notes;

  [[nodiscard]] vllm::settings view() const {
    vllm::settings s = settings;
    s.kv_cache_dtype_skip_layers = skip_layers;
    s.pp_layer_partition = layer_partition;
    s.stage_memory = stage_memory;
    return s;
  }
};

/// A type of --kv-cache-dtype by vLLM's name, or by the usual short one of an unquantized type.
[[nodiscard]] inline std::optional<cache_dtype> find_cache_dtype(std::string_view text) {
  if (text == "bf16") return cache_dtype::bfloat16;
  if (text == "f16" || text == "fp16") return cache_dtype::float16;
  for (std::size_t i = 0; i < std::size(cache_dtype_names); ++i) {
    if (text == cache_dtype_names[i]) return static_cast<cache_dtype>(i);
  }
  return std::nullopt;
}

/// A device by any text that holds its name, or "sm90" and "80GB".
struct known_device {
  std::string_view name;
  std::uint32_t major, minor, memory_gib;
};
// clang-format off
inline constexpr known_device known_devices[] = {
  {"gb300", 10, 3, 288}, {"b300", 10, 3, 288}, {"gb200", 10, 0, 180}, {"b200", 10, 0, 180}, {"gh200", 9, 0, 96},
  {"h200", 9, 0, 141}, {"h100", 9, 0, 80}, {"h800", 9, 0, 80}, {"h20", 9, 0, 96}, {"a100", 8, 0, 80},
  {"a800", 8, 0, 80}, {"a10g", 8, 6, 24}, {"a10", 8, 6, 24}, {"a40", 8, 6, 48}, {"a6000", 8, 6, 48},
  {"l40s", 8, 9, 48}, {"l40", 8, 9, 48}, {"l4", 8, 9, 24}, {"5090", 12, 0, 32}, {"4090", 8, 9, 24},
  {"3090", 8, 6, 24}, {"pro 6000", 12, 0, 96},
};
// clang-format on

inline device parse_device(const std::string& text) {
  std::string lower = text;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  device d;
  bool known = false;
  for (const known_device& k : known_devices) {
    if (lower.find(k.name) == std::string::npos) continue;
    d = {k.major, k.minor, k.memory_gib, k.name == "a100"};
    known = true;
    break;
  }
  const auto digits = [&lower](std::size_t at) {
    std::uint32_t value = 0;
    std::from_chars(lower.data() + at, lower.data() + lower.size(), value);
    return value;
  };
  if (const std::size_t at = lower.find("sm"); at != std::string::npos) {
    const std::uint32_t sm = digits(at + 2);
    if (sm >= 70 && sm < 1000) {
      d.major = sm / 10;
      d.minor = sm % 10;
      known = true;
    }
  }
  if (const std::size_t at = lower.find("gb"); at != std::string::npos && at > 0) {
    std::size_t from = at;
    while (from > 0 && lower[from - 1] == ' ') --from;
    const std::size_t end = from;
    while (from > 0 && lower[from - 1] >= '0' && lower[from - 1] <= '9') --from;
    if (from < end) d.memory_gib = digits(from);
  }
  if (!known) {
    throw usage_error({"", "device", text}, "not a known CUDA device",
                      "a name such as H100, B200 or A100, or its compute capability as sm90");
  }
  return d;
}

/// Whether `device` takes this text.
[[nodiscard]] inline bool is_known_device(const std::string& text) {
  try {
    (void)parse_device(text);
    return true;
  } catch (const usage_error&) {
    return false;
  }
}

inline version parse_version(const std::string& text) {
  const config::engine_version v = config::engine_version::parse(text);
  return {v.major_number, v.minor_number, v.patch_number};
}

[[nodiscard]] inline std::string listed(const char* const* names, std::size_t n) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + std::string(names[i]);
  return text;
}

/// Options, with what the question says beside them.
class settings_reader {
 public:
  explicit settings_reader(const engine_question& q) : in_(option_rows, q.options), q_(q) {}

  [[nodiscard]] owned_settings read() {
    read_start();
    read_memory();
    read_lengths();
    read_types();
    read_placement();
    read_switches();
    read_skip_layers();
    read_speculation();
    if (const json* const overrides = in_.find("hf_overrides")) {
      if (!overrides->is_object()) in_.fail("hf_overrides", "not an object", "an object of config fields");
      result_.hf_overrides = *overrides;
    }
    return std::move(result_);
  }

 private:
  void read_start() {
    if (const auto text = in_.text("version")) s_.version = parse_version(*text);
    if (const auto text = in_.text("device")) s_.device = parse_device(*text);
    else if (q_.device_name && is_known_device(*q_.device_name)) s_.device = parse_device(*q_.device_name);
    else if (q_.device_name) {
      result_.notes.push_back("the device's kind is not known to the engine's rules: those of its default device hold");
    }
    s_.usage_context = in_.word("usage_context", s_.usage_context);
  }

  /// Each worker counts the blocks that its own memory holds; the fewest are used (v1/core/kv_cache_utils.py). Of the
  /// devices that were asked about, each stage has those of its ranks.
  void read_memory() {
    if (const json* const list = in_.find("available_memory")) {
      if (list->is_array()) {
        for (const json& entry : *list) result_.stage_memory.push_back(bytes_of(entry));
      } else {
        s_.available_memory = bytes_of(*list);
      }
    }
    if (const auto size = in_.count("kv_cache_memory_bytes")) {
      if (s_.available_memory && *s_.available_memory != *size) {
        in_.fail("kv_cache_memory_bytes", "contradicts available_memory", "one of the two");
      }
      s_.available_memory = size;
    }
    if (in_.has("available_memory") || q_.available.empty()) return;
    const std::size_t ranks = q_.available.size() == 1 ? 1 : q_.available.size() / q_.where.pipeline_parallel;
    std::vector<std::uint64_t> by_stage;
    for (std::size_t first = 0; first < q_.available.size(); first += ranks) {
      const auto from = q_.available.begin() + static_cast<std::ptrdiff_t>(first);
      by_stage.push_back(std::min_element(from, from + static_cast<std::ptrdiff_t>(ranks))->count());
    }
    if (by_stage.size() > 1) result_.stage_memory = std::move(by_stage);
    else s_.available_memory = by_stage.front();
  }
  [[nodiscard]] std::uint64_t bytes_of(const json& value) const {
    if (value.is_number_integer() && value >= 0 && value.get<std::uint64_t>() <= any_size) {
      return value.get<std::uint64_t>();
    }
    in_.fail("available_memory", value, "not a number of bytes", "bytes, or a list of them, one for each stage");
  }

  /// vLLM plans for max_model_len and reports how many such requests its pool holds. -1 and "auto": as long as the
  /// memory allows.
  void read_lengths() {
    const json* const length = in_.find("max_model_len");
    if (length != nullptr && ((length->is_number_integer() && *length == -1) || *length == "auto")) {
      s_.auto_fit_max_model_len = true;
    } else if (length != nullptr) {
      const bool whole = length->is_number_integer() && *length >= 1 && *length <= any_length;
      if (!whole) in_.fail("max_model_len", "unusable value", "a whole number from 1 to 2^40, -1 or auto");
      s_.max_model_len = length->get<std::uint64_t>();
    }
    s_.max_num_batched_tokens = in_.count("max_num_batched_tokens");
    s_.max_num_seqs = in_.count("max_num_seqs");
    s_.block_size = in_.count("block_size");
    s_.num_gpu_blocks_override = in_.count("num_gpu_blocks_override");
    s_.mamba_block_size = in_.count("mamba_block_size");
    if (!q_.work || s_.auto_fit_max_model_len) return;
    const std::uint64_t asked = kvbudget::detail::longest_of(*q_.work);
    if (s_.max_model_len) {
      if (asked <= *s_.max_model_len) return;
      throw usage_error({"", "prompt", std::to_string(asked)},
                        "longer than max_model_len=" + std::to_string(*s_.max_model_len),
                        "requests within the engine's limit");
    }
    if (asked == 0 || asked > any_length) {
      throw usage_error({"", "prompt", std::to_string(asked)}, "no max_model_len", "a length from 1 to 2^40");
    }
    s_.max_model_len = asked;
    result_.notes.push_back(kvbudget::detail::planned_for("max_model_len", asked));
  }

  /// vLLM's types of one size are not one: fp8 and fp8_e4m3 may get different backends. So what was said counts.
  void read_types() {
    const auto own = in_.text("kv_cache_dtype");
    if (own) s_.kv_cache_dtype = parse_cache_dtype(*own);
    s_.mamba_cache_dtype = in_.word("mamba_cache_dtype", s_.mamba_cache_dtype);
    s_.mamba_ssm_cache_dtype = in_.word("mamba_ssm_cache_dtype", s_.mamba_ssm_cache_dtype);
    if (const auto text = in_.text("dtype"); text && *text != "auto") {
      result_.dtype = *text == "half" ? "float16" : *text == "float" ? "float32" : *text;
    }
    const cache_types& asked = q_.types;
    if (asked.k != asked.v) {
      throw usage_error({"", "k-dtype", asked.k ? name_of(*asked.k) : ""}, "vLLM keeps K and V in one element type",
                        "kv-dtype");
    }
    if (!asked.k) return;
    if (own) {
      if (find_storage_type(*own) != asked.k) {
        in_.contradict("kv_cache_dtype", config::shown(name_of(*asked.k)), "kv-dtype");
      }
      return;
    }
    const auto said = find_cache_dtype(asked.said);
    s_.kv_cache_dtype = said ? *said : parse_cache_dtype(name_of(*asked.k));
  }

  [[nodiscard]] std::optional<std::uint64_t> ranks(std::string_view option, std::uint64_t asked,
                                                   std::string_view said_as) const {
    return in_.agreed(option, in_.count(option), asked > 1 ? std::optional(asked) : std::nullopt, said_as);
  }
  void read_placement() {
    const placement& where = q_.where;
    const auto refuse = [](const char* option, const char* expected) {
      throw usage_error({"", option, ""}, "not computed for vLLM", expected);
    };
    if (where.context_parallel > 1) {
      refuse("context-parallel", "its decode_context_parallel_size, which takes tensor-parallel ranks");
    }
    if (where.host_layers > 0) refuse("host-layers", "it keeps the cache of every layer on a GPU");
    if (where.attention_data_parallel) {
      refuse("attention-data-parallel", "data-parallel: with it attention is not divided");
    }
    s_.tensor_parallel_size =
        static_cast<std::uint32_t>(ranks("tensor_parallel_size", where.tensor_parallel, "tensor-parallel").value_or(1));
    s_.pipeline_parallel_size = static_cast<std::uint32_t>(
        ranks("pipeline_parallel_size", where.pipeline_parallel, "pipeline-parallel").value_or(1));
    s_.decode_context_parallel_size = static_cast<std::uint32_t>(in_.count("decode_context_parallel_size").value_or(1));
    if (!result_.stage_memory.empty() && result_.stage_memory.size() != s_.pipeline_parallel_size) {
      in_.fail("available_memory", "not one number for each pipeline stage",
               std::to_string(s_.pipeline_parallel_size) + " numbers, or one for all");
    }
    read_layer_partition();
  }

  void read_switches() {
    s_.enable_prefix_caching = in_.boolean("enable_prefix_caching");
    s_.enable_chunked_prefill = in_.boolean("enable_chunked_prefill");
    s_.async_scheduling = in_.boolean("async_scheduling");
    s_.disable_hybrid_kv_cache_manager = in_.boolean("disable_hybrid_kv_cache_manager").value_or(false);
    if (const auto text = in_.text("attention_backend")) s_.backend = parse_backend(*text);
  }

  static std::size_t one_of(std::string_view option, const std::string& value, const char* const* names,
                            std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (value == names[i]) return i;
    }
    throw usage_error({"", std::string(option), config::shown(value)}, "unknown value", listed(names, n));
  }
  static cache_dtype parse_cache_dtype(std::string_view text) {
    if (const auto type = find_cache_dtype(text)) return *type;
    throw usage_error({"", "kv_cache_dtype", config::shown(text)}, "unknown value",
                      listed(cache_dtype_names, std::size(cache_dtype_names)));
  }
  static attention_backend parse_backend(const std::string& text) {
    // Backends that a model brings along cannot be asked for.
    constexpr std::size_t first = 1, end = static_cast<std::size_t>(attention_backend::deepseek_v32_indexer);
    return static_cast<attention_backend>(
        first + one_of("attention_backend", text, attention_backend_names + first, end - first));
  }

  /// Numbers of a program's own making are signed in the JSON library.
  static bool is_layer_number(const json& value) {
    return value.is_number_integer() && value >= 0 && value <= max_layers;
  }

  void read_skip_layers() {
    const json* const list = in_.find("kv_cache_dtype_skip_layers");
    if (list == nullptr) return;
    const std::string_view option = "kv_cache_dtype_skip_layers";
    if (!list->is_array()) in_.fail(option, *list, "not a list", "layer indices and \"sliding_window\"");
    for (const json& entry : *list) {
      if (entry.is_string() && entry == "sliding_window") {
        s_.skip_sliding_window_layers = true;
        continue;
      }
      std::uint32_t index = 0;
      bool good = is_layer_number(entry);
      if (good) index = entry.get<std::uint32_t>();
      if (entry.is_string()) {
        const std::string& text = entry.get_ref<const std::string&>();
        const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), index);
        good = error == std::errc() && next == text.data() + text.size();
      }
      if (!good) in_.fail(option, entry, "not a layer", "a layer index or \"sliding_window\"");
      result_.skip_layers.push_back(index);
    }
    std::sort(result_.skip_layers.begin(), result_.skip_layers.end());
  }

  /// A list, or text as VLLM_PP_LAYER_PARTITION has it: 16,32.
  void read_layer_partition() {
    const std::string expected = "the number of layers of every pipeline stage, as a list or as 16,32";
    std::optional<std::vector<std::uint64_t>> own, asked;
    if (!q_.where.stage_layers.empty()) asked = q_.where.stage_layers;
    if (const json* const list = in_.find("pp_layer_partition")) {
      own.emplace();
      if (list->is_string()) own = numbers_of(list->get_ref<const std::string&>(), expected);
      else if (!list->is_array()) in_.fail("pp_layer_partition", "not a partition", expected);
      else {
        for (const json& entry : *list) {
          if (!is_layer_number(entry)) in_.fail("pp_layer_partition", entry, "not a number of layers", expected);
          own->push_back(entry.get<std::uint64_t>());
        }
      }
    }
    const auto layers = in_.agreed("pp_layer_partition", own, asked, "stage-layers");
    for (std::size_t i = 0; layers && i < layers->size(); ++i) {
      if ((*layers)[i] > max_layers) {
        throw usage_error({"", "stage-layers", std::to_string((*layers)[i])}, "not a number of layers", expected);
      }
      result_.layer_partition.push_back(static_cast<std::uint32_t>((*layers)[i]));
    }
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers_of(const std::string& text, const std::string& expected) const {
    std::vector<std::uint64_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
      std::uint32_t n = 0;
      const auto [next, error] = std::from_chars(at, end, n);
      if (error != std::errc()) in_.fail("pp_layer_partition", "not a partition", expected);
      numbers.push_back(n);
      if (next == end) return numbers;
      if (*next != ',') in_.fail("pp_layer_partition", "not a partition", expected);
      at = next + 1;
    }
  }

  /// config/speculative.py: SpeculativeMethod. Every kind of multi-token prediction is one method.
  static speculative_method parse_method(const std::string& text) {
    if (text.size() > 4 && text.compare(text.size() - 4, 4, "_mtp") == 0) return speculative_method::mtp;
    for (const std::string_view unknown : {"mlp_speculator", "custom_class", "extract_hidden_states"}) {
      if (text == unknown)
        throw usage_error({"", "speculative_config/method", config::shown(text)},
                          "what this method caches is not known here", "another method");
    }
    return static_cast<speculative_method>(
        one_of("speculative_config/method", text, speculative_method_names, std::size(speculative_method_names)));
  }

  /// method and num_speculative_tokens count; what else vLLM takes there is accepted and changes no size.
  void read_speculation() {
    const json* const spec = in_.find("speculative_config");
    if (spec == nullptr) return;
    if (!spec->is_object())
      in_.fail("speculative_config", *spec, "not an object", "an object with method and num_speculative_tokens");
    static const std::string no_file;
    const node inside(*spec, "/speculative_config", no_file);
    try {
      if (const auto method = inside.string("method")) {
        s_.speculative_method = parse_method(*method);
      } else {
        s_.speculative_method =
            inside.find("model") != nullptr ? speculative_method::draft_model : speculative_method::none;
        if (s_.speculative_method == speculative_method::none) inside.fail_missing("method", "a speculative method");
      }
      if (const auto n = inside.count("num_speculative_tokens", 1, 65'536)) {
        result_.num_speculative_tokens = static_cast<std::uint32_t>(*n);
      }
      if (const auto draft = inside.object("draft_model_config")) result_.draft_config = draft->value();
    } catch (const config_error& e) {
      throw usage_error({"", e.pointer().substr(1), e.value()}, e.problem(), e.expected());
    }
  }

  kvbudget::detail::option_reader in_;
  const engine_question& q_;
  owned_settings result_;
  vllm::settings& s_ = result_.settings;
};

/// Throws usage_error for an unknown option or value, naming the known ones, and for options that contradict the
/// question.
[[nodiscard]] inline owned_settings read_settings(const engine_question& q) { return settings_reader(q).read(); }

}  // namespace kvbudget::detail::vllm
