// vLLM's options in JSON: option names and values as its command line has them.
#pragma once

#include <charconv>

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/config/vllm/layers.hpp>

namespace kvbudget::vllm {

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

namespace detail {

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

}  // namespace detail

/// Whether `device` takes this text.
[[nodiscard]] inline bool is_known_device(const std::string& text) {
  try {
    (void)detail::parse_device(text);
    return true;
  } catch (const usage_error&) {
    return false;
  }
}

namespace detail {

inline version parse_version(const std::string& text) {
  const config::engine_version v = config::engine_version::parse(text);
  return {v.major_number, v.minor_number, v.patch_number};
}

class settings_reader {
 public:
  settings_reader(const json& options, const std::string& file) : at_(options, "", file) {
    if (!options.is_object() && !options.is_null()) fail("", options, "not an object", "an object of options");
  }

  owned_settings read() {
    owned_settings result;
    settings& s = result.settings;
    check_names();
    if (const json* const v = at_.find("version"); v != nullptr && v->is_number()) {
      fail("version", *v, "a number, which cannot tell 0.20 from 0.2", "text such as \"0.20.2\"");
    }
    if (const auto text = string("version")) s.version = parse_version(*text);
    if (const auto text = string("device")) s.device = parse_device(*text);
    if (const auto text = string("usage_context")) {
      s.usage_context = static_cast<usage_context>(
          one_of("usage_context", *text, usage_context_names, std::size(usage_context_names)));
    }
    constexpr std::uint64_t any = ~std::uint64_t{0} >> 1U;
    if (const json* const list = at_.find("available_memory"); list != nullptr && list->is_array()) {
      for (const json& entry : *list) {
        if (!entry.is_number_unsigned()) fail("available_memory", entry, "not a number of bytes", "one for each stage");
        result.stage_memory.push_back(entry.get<std::uint64_t>());
      }
    } else {
      s.available_memory = count("available_memory", 0, any);
    }
    if (const auto bytes = count("kv_cache_memory_bytes", 0, any)) {
      if (s.available_memory && *s.available_memory != *bytes) {
        fail("kv_cache_memory_bytes", *at_.find("kv_cache_memory_bytes"), "contradicts available_memory",
             "one of the two");
      }
      s.available_memory = bytes;
    }
    if (const json* const length = at_.find("max_model_len")) {
      if ((length->is_number_integer() && *length == -1) || (length->is_string() && *length == "auto"))
        s.auto_fit_max_model_len = true;
      else s.max_model_len = count("max_model_len", 1, any_length);
    }
    s.max_num_batched_tokens = count("max_num_batched_tokens", 1, any_length);
    s.max_num_seqs = count("max_num_seqs", 1, any_length);
    s.block_size = count("block_size", 1, any_block);
    s.num_gpu_blocks_override = count("num_gpu_blocks_override", 1, any);
    s.mamba_block_size = count("mamba_block_size", 1, any_block);
    if (const auto text = string("kv_cache_dtype")) s.kv_cache_dtype = parse_cache_dtype(*text);
    if (const auto text = string("mamba_cache_dtype")) s.mamba_cache_dtype = parse_state("mamba_cache_dtype", *text);
    if (const auto text = string("mamba_ssm_cache_dtype"))
      s.mamba_ssm_cache_dtype = parse_state("mamba_ssm_cache_dtype", *text);
    if (const auto text = string("dtype")) {
      static constexpr const char* names[] = {"auto", "half", "float16", "bfloat16", "float", "float32"};
      one_of("dtype", *text, names, std::size(names));
      if (*text != "auto") result.dtype = *text == "half" ? "float16" : *text == "float" ? "float32" : *text;
    }
    s.tensor_parallel_size = static_cast<std::uint32_t>(count("tensor_parallel_size", 1, 1024).value_or(1));
    s.pipeline_parallel_size = static_cast<std::uint32_t>(count("pipeline_parallel_size", 1, 1024).value_or(1));
    s.decode_context_parallel_size =
        static_cast<std::uint32_t>(count("decode_context_parallel_size", 1, 1024).value_or(1));
    if (!result.stage_memory.empty() && result.stage_memory.size() != s.pipeline_parallel_size) {
      fail("available_memory", *at_.find("available_memory"), "not one number for each pipeline stage",
           std::to_string(s.pipeline_parallel_size) + " numbers, or one for all");
    }
    s.enable_prefix_caching = boolean("enable_prefix_caching");
    s.enable_chunked_prefill = boolean("enable_chunked_prefill");
    s.async_scheduling = boolean("async_scheduling");
    s.disable_hybrid_kv_cache_manager = boolean("disable_hybrid_kv_cache_manager").value_or(false);
    if (const auto text = string("attention_backend")) s.backend = parse_backend(*text);
    read_skip_layers(result);
    read_layer_partition(result);
    read_speculation(result);
    if (const json* const overrides = at_.find("hf_overrides")) {
      if (!overrides->is_object()) fail("hf_overrides", *overrides, "not an object", "an object of config fields");
      result.hf_overrides = *overrides;
    }
    return result;
  }

 private:
  static constexpr std::uint64_t any_length = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t any_block = std::uint64_t{1} << 30U;
  static constexpr const char* usage_context_names[] = {"openai_api_server", "llm_class"};
  static constexpr const char* option_names[] = {"version",
                                                 "device",
                                                 "usage_context",
                                                 "available_memory",
                                                 "kv_cache_memory_bytes",
                                                 "max_model_len",
                                                 "max_num_batched_tokens",
                                                 "max_num_seqs",
                                                 "block_size",
                                                 "num_gpu_blocks_override",
                                                 "kv_cache_dtype",
                                                 "kv_cache_dtype_skip_layers",
                                                 "dtype",
                                                 "tensor_parallel_size",
                                                 "pipeline_parallel_size",
                                                 "pp_layer_partition",
                                                 "decode_context_parallel_size",
                                                 "enable_prefix_caching",
                                                 "enable_chunked_prefill",
                                                 "async_scheduling",
                                                 "disable_hybrid_kv_cache_manager",
                                                 "attention_backend",
                                                 "mamba_block_size",
                                                 "mamba_cache_dtype",
                                                 "mamba_ssm_cache_dtype",
                                                 "speculative_config",
                                                 "hf_overrides"};

  [[noreturn]] static void fail(std::string_view option, const json& value, std::string problem, std::string expected) {
    throw usage_error({"", std::string(option), config::detail::shown(value)}, std::move(problem), std::move(expected));
  }
  static std::string listed(const char* const* names, std::size_t n) {
    std::string text = "one of ";
    for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + std::string(names[i]);
    return text;
  }
  /// Config errors about an option are errors of usage.
  template <class Read>
  static auto as_usage(Read read) {
    try {
      return read();
    } catch (const config_error& e) {
      std::string option = e.pointer();
      if (!option.empty()) option.erase(0, 1);
      throw usage_error({"", std::move(option), e.value()}, e.problem(), e.expected());
    }
  }
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest, std::uint64_t highest) const {
    return as_usage([&] { return at_.count(name, lowest, highest); });
  }
  std::optional<bool> boolean(std::string_view name) const {
    return as_usage([&] { return at_.boolean(name); });
  }
  std::optional<std::string> string(std::string_view name) const {
    return as_usage([&] { return at_.string(name); });
  }
  static std::size_t one_of(std::string_view option, const std::string& value, const char* const* names,
                            std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (value == names[i]) return i;
    }
    fail(option, json(value), "unknown value", listed(names, n));
  }

  void check_names() const {
    if (!at_.value().is_object()) return;
    for (const auto& [name, value] : at_.value().items()) {
      if (std::find(std::begin(option_names), std::end(option_names), name) == std::end(option_names)) {
        throw usage_error({"", name, ""}, "not an option of vLLM that is known here",
                          listed(option_names, std::size(option_names)));
      }
    }
  }
  static cache_dtype parse_cache_dtype(const std::string& text) {
    if (const auto type = find_cache_dtype(text)) return *type;
    fail("kv_cache_dtype", json(text), "unknown value", listed(cache_dtype_names, std::size(cache_dtype_names)));
  }
  static state_dtype parse_state(std::string_view option, const std::string& text) {
    return static_cast<state_dtype>(one_of(option, text, state_dtype_names, std::size(state_dtype_names)));
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

  void read_skip_layers(owned_settings& result) const {
    const json* const list = at_.find("kv_cache_dtype_skip_layers");
    if (list == nullptr) return;
    const std::string_view option = "kv_cache_dtype_skip_layers";
    if (!list->is_array()) fail(option, *list, "not a list", "layer indices and \"sliding_window\"");
    for (const json& entry : *list) {
      if (entry.is_string() && entry == "sliding_window") {
        result.settings.skip_sliding_window_layers = true;
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
      if (!good) fail(option, entry, "not a layer", "a layer index or \"sliding_window\"");
      result.skip_layers.push_back(index);
    }
    std::sort(result.skip_layers.begin(), result.skip_layers.end());
  }

  void read_layer_partition(owned_settings& result) const {
    const json* const list = at_.find("pp_layer_partition");
    if (list == nullptr) return;
    const std::string_view expected = "the number of layers of every pipeline stage, as a list or as 16,32";
    if (list->is_string()) {
      const std::string& text = list->get_ref<const std::string&>();
      const char* at = text.data();
      const char* const end = at + text.size();
      while (true) {
        std::uint32_t n = 0;
        const auto [next, error] = std::from_chars(at, end, n);
        if (error != std::errc()) fail("pp_layer_partition", *list, "not a partition", std::string(expected));
        result.layer_partition.push_back(n);
        if (next == end) return;
        if (*next != ',') fail("pp_layer_partition", *list, "not a partition", std::string(expected));
        at = next + 1;
      }
    }
    if (!list->is_array()) fail("pp_layer_partition", *list, "not a partition", std::string(expected));
    for (const json& entry : *list) {
      if (!is_layer_number(entry)) {
        fail("pp_layer_partition", entry, "not a number of layers", std::string(expected));
      }
      result.layer_partition.push_back(entry.get<std::uint32_t>());
    }
  }

  /// config/speculative.py: SpeculativeMethod. Every kind of multi-token prediction is one method.
  static speculative_method parse_method(const std::string& text) {
    if (text.size() > 4 && text.compare(text.size() - 4, 4, "_mtp") == 0) return speculative_method::mtp;
    for (const std::string_view unknown : {"mlp_speculator", "custom_class", "extract_hidden_states"}) {
      if (text == unknown)
        fail("speculative_config/method", json(text), "what this method caches is not known here", "another method");
    }
    return static_cast<speculative_method>(
        one_of("speculative_config/method", text, speculative_method_names, std::size(speculative_method_names)));
  }

  /// method and num_speculative_tokens count; what else vLLM takes there is accepted and changes no size.
  void read_speculation(owned_settings& result) const {
    const json* const spec = at_.find("speculative_config");
    if (spec == nullptr) return;
    if (!spec->is_object())
      fail("speculative_config", *spec, "not an object", "an object with method and num_speculative_tokens");
    const node inside(*spec, "/speculative_config", at_.file());
    as_usage([&] {
      if (const auto method = inside.string("method")) {
        result.settings.speculative_method = parse_method(*method);
      } else {
        result.settings.speculative_method =
            inside.find("model") != nullptr ? speculative_method::draft_model : speculative_method::none;
        if (result.settings.speculative_method == speculative_method::none)
          inside.fail_missing("method", "a speculative method");
      }
      if (const auto n = inside.count("num_speculative_tokens", 1, 65'536)) {
        result.num_speculative_tokens = static_cast<std::uint32_t>(*n);
      }
      if (const auto draft = inside.object("draft_model_config")) result.draft_config = draft->value();
      return 0;
    });
  }

  node at_;
};

}  // namespace detail

/// Reads settings. Throws usage_error for an unknown option or value, naming the known ones; null means not given.
[[nodiscard]] inline owned_settings read_settings(const json& options) {
  static const std::string no_file;
  return detail::settings_reader(options, no_file).read();
}

}  // namespace kvbudget::vllm
