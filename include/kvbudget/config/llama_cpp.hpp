// llama.cpp from the outside: a config.json (or GGUF metadata) and options in, the engine's figures and log lines out.
#pragma once

#include <string>
#include <vector>

#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/llama_cpp/cache_types.hpp>
#include <kvbudget/config/llama_cpp/convert.hpp>
#include <kvbudget/config/llama_cpp/gguf_metadata.hpp>
#include <kvbudget/config/llama_cpp/layer_names.hpp>
#include <kvbudget/config/llama_cpp/log_lines.hpp>
#include <kvbudget/config/llama_cpp/refusal_words.hpp>
#include <kvbudget/config/settings.hpp>
#include <kvbudget/engines/llama_cpp.hpp>
#include <kvbudget/spelling.hpp>

namespace kvbudget::llama_cpp {

/// The version whose source the rules are read from, and that was measured.
inline constexpr const char* measured_version = "0.5.0-dev (ggml 0.25.3)";

/// An option as C API, command line and logs spell it.
struct option_alias {
  std::string_view spelled;
  std::string_view option;
};
inline constexpr option_alias option_aliases[] = {
    {"ctx-size", "n_ctx"},
    {"batch-size", "n_batch"},
    {"ubatch-size", "n_ubatch"},
    {"parallel", "n_seq_max"},
    {"n_parallel", "n_seq_max"},
    {"cache-type-k", "type_k"},
    {"cache-type-v", "type_v"},
    {"flash-attn", "flash_attn"},
    {"kv-unified", "kv_unified"},
    {"swa-full", "swa_full"},
    {"gpu-layers", "n_gpu_layers"},
    {"split-mode", "split_mode"},
    {"tensor-split", "tensor_split"},
    {"main-gpu", "main_gpu"},
};

namespace detail {

[[nodiscard]] inline storage_type cache_type(const config::settings_reader& in, std::string_view option,
                                             storage_type otherwise) {
  const auto name = in.string(option);
  if (!name) return otherwise;
  std::string known;
  const auto any_spelling = find_storage_type(*name);
  for (const cache_type_name& c : cache_types) {
    if (c.name == *name || (any_spelling && *any_spelling == c.type)) return c.type;
    known += (known.empty() ? "" : ", ") + std::string(c.name);
  }
  in.fail(option, config::json(*name), "no cache type of llama.cpp", "one of " + known);
}

[[nodiscard]] inline std::int32_t integer(const config::settings_reader& in, std::string_view option,
                                          std::int32_t otherwise) {
  const config::json* const value = in.find(option);
  if (value == nullptr) return otherwise;
  if (value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > 0x7fff'ffffU)) {
    const auto number = value->get<std::int64_t>();
    if (number >= -0x7fff'ffff && number <= 0x7fff'ffff) return static_cast<std::int32_t>(number);
  }
  in.fail(option, *value, "unusable value", "a whole number of 32 bits");
}

[[nodiscard]] inline std::uint32_t count32(const config::settings_reader& in, std::string_view option,
                                           std::uint32_t otherwise, std::uint64_t highest = ~std::uint32_t{0}) {
  return static_cast<std::uint32_t>(in.count(option, 0, highest).value_or(otherwise));
}

}  // namespace detail

namespace detail {

/// The options under the C API's own names, aliases resolved. Throws usage_error.
[[nodiscard]] inline config::json by_own_names(const config::json& options) {
  if (!options.is_object()) {
    throw usage_error({"", "settings", config::detail::shown(options)}, "not an object", "options");
  }
  config::json named = config::json::object();
  for (const auto& [name, value] : options.items()) {
    std::string option = name;
    for (const option_alias& a : option_aliases) {
      if (a.spelled == name) option = a.option;
    }
    if (value.is_null()) {
      if (!named.contains(option)) named[option] = value;
      continue;
    }
    if (named.contains(option) && !named[option].is_null() && named[option] != value) {
      throw usage_error({"", name, config::detail::shown(value)}, "given twice with different values", "one value");
    }
    named[option] = value;
  }
  return named;
}

}  // namespace detail

/// The way that most people start it.
inline constexpr const char* default_defaults = "server";

/// Options under llama.cpp's own names, those of its command line included; null means not given. `defaults` chooses
/// what holds otherwise: "server" (the initial value: llama-server), "command_line" or "c_api". `device_memory` lists
/// the free bytes of the GPUs, by which layers are split when tensor_split does not say. Throws usage_error.
[[nodiscard]] inline settings read_settings(const config::json& options) {
  const config::json named = detail::by_own_names(options);
  const config::settings_reader in(
      named, {"version",  "defaults",     "n_ctx",      "n_batch",      "n_ubatch",    "n_seq_max", "type_k",
              "type_v",   "flash_attn",   "kv_unified", "swa_full",     "offload_kqv", "n_rs_seq",  "ctx_type",
              "load_mtp", "n_gpu_layers", "split_mode", "tensor_split", "main_gpu",    "devices",   "device_memory"});
  (void)in.string("version");
  const std::string defaults = in.word("defaults", default_defaults, {"c_api", "command_line", "server"});
  settings s;
  if (defaults == "command_line") s = command_line_settings();
  if (defaults == "server") {
    s = server_settings();
    if (in.find("n_seq_max") != nullptr) s.kv_unified = false;  // only the automatic number of slots shares
  }
  s.n_ctx = detail::count32(in, "n_ctx", s.n_ctx);
  s.n_batch = detail::count32(in, "n_batch", s.n_batch);
  s.n_ubatch = detail::count32(in, "n_ubatch", s.n_ubatch);
  s.n_seq_max = detail::count32(in, "n_seq_max", s.n_seq_max);
  s.n_rs_seq = detail::count32(in, "n_rs_seq", s.n_rs_seq);
  s.type_k = detail::cache_type(in, "type_k", s.type_k);
  s.type_v = detail::cache_type(in, "type_v", s.type_v);
  if (const config::json* const flash = in.find("flash_attn"); flash != nullptr && flash->is_boolean()) {
    s.flash_attn = flash->get<bool>() ? flash_attention::on : flash_attention::off;
  } else {
    const std::string word = in.word("flash_attn", "auto", {"auto", "on", "off"});
    s.flash_attn = word == "auto" ? flash_attention::automatic
                   : word == "on" ? flash_attention::on
                                  : flash_attention::off;
  }
  s.kv_unified = in.boolean("kv_unified").value_or(s.kv_unified);
  s.swa_full = in.boolean("swa_full").value_or(s.swa_full);
  s.offload_kqv = in.boolean("offload_kqv").value_or(s.offload_kqv);
  s.load_mtp = in.boolean("load_mtp").value_or(s.load_mtp);
  s.ctx_type = in.word("ctx_type", "default", {"default", "mtp"}) == "mtp" ? context_type::mtp : context_type::standard;
  s.n_gpu_layers = detail::integer(in, "n_gpu_layers", s.n_gpu_layers);
  const std::string split = in.word("split_mode", "layer", {"none", "layer", "row", "tensor"});
  s.split = split == "none"     ? split_mode::none
            : split == "row"    ? split_mode::row
            : split == "tensor" ? split_mode::tensor
                                : split_mode::layer;
  s.main_gpu = detail::integer(in, "main_gpu", s.main_gpu);
  s.devices = detail::count32(in, "devices", s.devices, max_devices);
  const auto each = [&](std::string_view option, const auto& store) {
    const config::json* const list = in.find(option);
    if (list == nullptr) return;
    if (!list->is_array() || list->size() > max_devices) {
      in.fail(option, *list, "unusable value", "a list of at most 16 numbers");
    }
    for (std::size_t i = 0; i < list->size(); ++i) store(i, (*list)[i]);
  };
  each("tensor_split", [&](std::size_t i, const config::json& value) {
    if (!value.is_number() || !(value.get<double>() >= 0.0 && value.get<double>() <= 1e30)) {
      in.fail("tensor_split", value, "unusable value", "numbers of at least 0");
    }
    s.tensor_split[i] = value.get<float>();
  });
  each("device_memory", [&](std::size_t i, const config::json& value) {
    if (!value.is_number_integer() || value < 0) in.fail("device_memory", value, "unusable value", "numbers of bytes");
    s.device_memory[i] = value.get<std::uint64_t>();
  });
  return s;
}

/// The settings as options, defaults included.
[[nodiscard]] inline config::json to_json(const settings& s) {
  config::json j = {{"n_ctx", s.n_ctx},           {"n_batch", s.n_batch},          {"n_ubatch", s.n_ubatch},
                    {"n_seq_max", s.n_seq_max},   {"type_k", type_name(s.type_k)}, {"type_v", type_name(s.type_v)},
                    {"kv_unified", s.kv_unified}, {"swa_full", s.swa_full},        {"offload_kqv", s.offload_kqv},
                    {"n_rs_seq", s.n_rs_seq},     {"load_mtp", s.load_mtp},        {"n_gpu_layers", s.n_gpu_layers},
                    {"main_gpu", s.main_gpu},     {"devices", s.devices}};
  constexpr const char* flash[] = {"auto", "on", "off"};
  constexpr const char* split[] = {"none", "layer", "row", "tensor"};
  j["flash_attn"] = flash[static_cast<std::size_t>(s.flash_attn)];
  j["split_mode"] = split[static_cast<std::size_t>(s.split)];
  j["ctx_type"] = s.ctx_type == context_type::mtp ? "mtp" : "default";
  return j;
}

/// The model of a config.json, or of GGUF metadata. Throws config_error.
[[nodiscard]] inline hparams read_model(const config::document& d) {
  if (gguf_architecture(config::node(d))) return load_hparams(read_gguf_metadata(d));
  return load_hparams(detail::convert(detail::hf_source(d)));
}

namespace detail {

/// The word in the engine's figures, as measured cases have it.
[[nodiscard]] inline std::string measured_kind(const layer_plan& l) {
  if (!l.attention) return "recurrent";
  return std::string(l.slides ? "sliding_attention" : "full_attention") + (l.recurrent ? "+recurrent" : "");
}

inline void fill_figures(config::evaluation& e, const hparams& h, const settings& s, const context_plan& p) {
  config::json& f = e.figures;
  f["total_bytes"] = p.total_bytes;
  f["k_bytes"] = p.k_bytes;
  f["v_bytes"] = p.v_bytes;
  f["n_ctx"] = p.n_ctx;
  f["n_ctx_seq"] = p.n_ctx_seq;
  f["n_batch"] = p.n_batch;
  f["n_ubatch"] = p.n_ubatch;
  f["n_seq_max"] = p.n_seq_max;
  f["n_rs_seq"] = p.n_rs_seq;
  if (p.recurrent.exists) {
    f["r_bytes"] = p.recurrent.r_bytes;
    f["s_bytes"] = p.recurrent.s_bytes;
    f["p_bytes"] = p.recurrent.p_bytes;
    f["recurrent_cells"] = p.recurrent.cells;
    f["recurrent_layers"] = p.recurrent.layers;
  }
  config::json caches = config::json::array();
  for (const cache_plan& c : p.caches) {
    caches.push_back({{"name", c.name},
                      {"cells", c.cells},
                      {"layers", c.layers},
                      {"n_stream", c.n_stream},
                      {"k_bytes", c.k_bytes},
                      {"v_bytes", c.v_bytes},
                      {"type_k", type_name(s.type_k)},
                      {"type_v", type_name(s.type_v)}});
  }
  f["caches"] = std::move(caches);
  config::json layers = config::json::array();
  config::json per_device = config::json::object();
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    const layer_plan l = plan_of_layer(h, s, il);
    if (!l.keeps_something()) continue;
    e.layers.push_back(config::layer_bytes{il, kind_of(h, il, {l.attention, l.recurrent, l.index_bytes > 0}), l.k_bytes,
                                           l.v_bytes, l.other_bytes()});
    layers.push_back({{"layer", il},
                      {"kind", measured_kind(l)},
                      {"k_bytes", l.k_bytes},
                      {"v_bytes", l.v_bytes},
                      {"other_bytes", l.other_bytes()}});
    per_device[device_name(p, l.device)].push_back(il);
  }
  f["layers"] = std::move(layers);
  f["layers_per_device"] = std::move(per_device);
  config::json bytes_per_device = config::json::object();
  for (std::uint32_t d = 0; d <= p.cpu; ++d) bytes_per_device[device_name(p, d)] = p.bytes_per_device[d];
  f["bytes_per_device"] = std::move(bytes_per_device);
}

}  // namespace detail

namespace detail {

/// Bytes of one device by length and number of sequences. More sequences can take less (cells are rounded up for each),
/// so the most of all smaller numbers counts. Beyond the engine's own limits nothing fits.
[[nodiscard]] inline std::function<checked_count(const config::workload&)> curve_of(const hparams& h, const settings& s,
                                                                                    std::uint32_t device) {
  return [h, s, device](const config::workload& asked) {
    const checked_count length = larger(checked_count(asked.prompt) + asked.generated, 1U);
    checked_count most = 0U;
    for (std::uint64_t n = 1; n <= asked.sequences; ++n) {
      const checked_count n_ctx = length * n;
      if (n > 256 || !n_ctx.fits(~std::uint32_t{0})) return checked_count::failed(failure::overflow);
      settings tried = s;
      tried.n_seq_max = static_cast<std::uint32_t>(n);
      tried.n_ctx = static_cast<std::uint32_t>(n_ctx.value());
      try {
        const context_plan p = plan(h, tried);
        if (p.refused) return checked_count::failed(failure::unsupported_layer);
        most = larger(most, p.bytes_per_device[device]);
      } catch (const size_error& e) {
        return checked_count::failed(e.reason());
      }
    }
    return most;
  };
}

}  // namespace detail

namespace detail {

[[nodiscard]] inline std::string defaults_of(const config::json& options) {
  const auto at = options.find("defaults");
  return at != options.end() && at->is_string() ? at->get<std::string>() : std::string(default_defaults);
}

/// Whose defaults hold where an option was not given.
inline void note_defaults(config::evaluation& e, const config::json& options, const settings& s) {
  const std::string defaults = defaults_of(options);
  if (defaults == "c_api") {
    e.notes.push_back("defaults of llama.cpp's C API: n_ctx 512, one sequence, the window's cache kept at full size");
    return;
  }
  const bool server = defaults == "server";
  std::string note = server ? "defaults of llama-server (defaults=c_api asks the C API)"
                            : "defaults of llama.cpp's command-line tools (defaults=c_api asks the C API)";
  note += ": n_ctx of the model, the window's cache as small as it can be";
  if (server) note += ", 4 sequences in one buffer unless n_seq_max is given";
  if (s.n_ctx == 0) note += "; --fit, which is on, takes a shorter n_ctx where device memory does not suffice";
  e.notes.push_back(note);
}

/// Published files of multi-query models leave the number of KV heads out.
inline void note_falcon(config::evaluation& e, const hf_source& source, const hparams& h) {
  const auto several = source.peek("multi_query");
  if (h.architecture->name != "falcon" || !source.has_class() || source.peek("num_kv_heads") ||
      source.peek("n_head_kv") || (several && several->value() == false) || h.n_head < 2) {
    return;
  }
  e.notes.push_back(
      "one KV head, as in all published GGUF files of multi-query models; the converter of this version "
      "reads through AutoConfig, which states " +
      std::to_string(h.n_head) + ", and writes a file that does not load");
}

[[nodiscard]] inline bool same_plan(const context_plan& a, const context_plan& b) {
  if (!(a.refused == b.refused) || a.caches.size() != b.caches.size()) return false;
  for (std::uint32_t d = 0; d <= max_devices; ++d) {
    if (a.bytes_per_device[d] != b.bytes_per_device[d]) return false;
    if (a.layers_per_device[d] != b.layers_per_device[d]) return false;
  }
  for (std::size_t i = 0; i < a.caches.size(); ++i) {
    const cache_plan& x = a.caches[i];
    const cache_plan& y = b.caches[i];
    if (x.cells != y.cells || x.n_stream != y.n_stream) return false;
    if (x.k_bytes != y.k_bytes || x.v_bytes != y.v_bytes) return false;
  }
  return a.total_bytes == b.total_bytes && a.cpu == b.cpu;
}

/// Says of each option that changes nothing for this model that it does not.
inline void note_idle_options(config::evaluation& e, const config::json& options, const hparams& h, const settings& s,
                              const context_plan& p) {
  const config::json named = by_own_names(options);
  for (const auto& [option, value] : named.items()) {
    if (value.is_null() || option == "version" || option == "defaults" || option == "n_ctx") continue;
    config::json rest = named;
    rest.erase(option);
    const settings without = read_settings(rest);
    const bool default_value = e.settings.contains(option) && to_json(without)[option] == e.settings[option];
    if (default_value) continue;
    try {
      const context_plan other = plan(h, without);
      if (!same_plan(p, other) || log_lines(h, without, other) != log_lines(h, s, p)) continue;
    } catch (const size_error&) {
      continue;
    }
    e.notes.push_back(
        option + " has no effect on this model's memory" +
        (s.devices == 0 && (option == "n_gpu_layers" || option == "tensor_split" || option == "main_gpu" ||
                            option == "split_mode" || option == "offload_kqv" || option == "device_memory")
             ? " without devices"
             : ""));
  }
}

}  // namespace detail

/// The engine's figures under the names of its own structures: total_bytes, k_bytes, v_bytes, n_ctx …, caches[],
/// layers[], bytes_per_device, layers_per_device; `error` where the engine refuses. `d` is a config.json, or GGUF
/// metadata as an object. Throws config_error, usage_error, size_error.
[[nodiscard]] inline config::evaluation evaluate(const config::document& d, const config::json& options) {
  const settings s = read_settings(options);
  config::evaluation e;
  e.engine = "llama.cpp";
  e.version = measured_version;
  e.settings = to_json(s);
  if (const auto version = options.find("version");
      version != options.end() && version->is_string() &&
      version->get_ref<const std::string&>().find("0.5.0-dev") == std::string::npos) {
    e.notes.push_back("answered by the rules of llama.cpp " + std::string(measured_version));
  }
  e.settings["defaults"] = detail::defaults_of(options);
  detail::note_defaults(e, options, s);
  hparams h;
  if (const auto gguf = gguf_architecture(config::node(d))) {
    h = load_hparams(read_gguf_metadata(d));
    e.model_type = *gguf;
  } else {
    const detail::hf_source source(d);
    h = load_hparams(detail::convert(source));
    e.sources = source.sources();
    detail::note_falcon(e, source, h);
    e.model_type = source.text_model_type().value_or(source.root_model_type().value_or(""));
  }
  e.model_layers = h.n_layer_all > 0 ? h.n_layer() : h.block_count;
  e.attention = detail::attention_of(h);
  const context_plan p = plan(h, s);
  if (p.refused) {
    if (p.refused.reason == refusal_reason::split_mode_tensor_not_computed) {
      throw usage_error({"", "split_mode", "\"tensor\""},
                        "not computed: each device's share depends on the storage type of the weights",
                        "layer, none or row");
    }
    e.refusal = describe(p.refused, h, s);
    e.figures["error"] = e.refusal;
    return e;
  }
  detail::fill_figures(e, h, s, p);
  e.figures["log"] = log_lines(h, s, p);
  detail::note_idle_options(e, options, h, s, p);
  e.total_bytes = p.total_bytes;
  for (std::uint32_t i = 0; i <= p.cpu; ++i) {
    // Without GPUs the cache is in the memory that is budgeted; beside GPUs the host is a device of its own.
    const bool host = i == p.cpu && p.cpu > 0;
    const std::uint64_t here = p.bytes_per_device[i];
    e.devices.push_back(config::device_cache{host ? "host" : std::to_string(i), here, here, detail::curve_of(h, s, i)});
  }
  settings weights = s;
  weights.offload_kqv = true;  // it moves the cache, not the layers
  const kvbudget::llama_cpp::detail::placement layers(h, weights);
  e.layer_stages = std::max(p.cpu, 1U);
  e.embedding_on_host = p.cpu > 0;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) e.stage_of_layer.push_back(layers.device_of(il));
  for (const pool& b : p.pools) {
    e.pools.push_back(config::pool_bytes{b.name, b.device, b.unit_bytes.count(), b.units, b.size().count()});
  }
  if (h.architecture->memory == memory_kind::none) {
    e.notes.push_back("llama.cpp creates no memory for architecture " + std::string(h.architecture->name));
  }
  if (s.devices > 1 && s.split != split_mode::none) {
    bool given = false;
    for (std::uint32_t i = 0; i < s.devices; ++i) given = given || s.tensor_split[i] != 0.0F || s.device_memory[i] != 0;
    if (!given) e.notes.push_back("llama.cpp splits layers by free memory; equal memory is assumed");
  }
  return e;
}

}  // namespace kvbudget::llama_cpp
