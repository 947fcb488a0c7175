// llama.cpp from the outside: a config.json (or GGUF metadata) and options in, the engine's figures and log lines out.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/llama_cpp/convert.hpp>
#include <kvbudget/config/llama_cpp/gguf_metadata.hpp>
#include <kvbudget/config/settings.hpp>
#include <kvbudget/engines/llama_cpp.hpp>
#include <kvbudget/spelling.hpp>

namespace kvbudget::llama_cpp {

/// The version whose source the rules are read from, and that was measured.
inline constexpr const char* measured_version = "0.5.0-dev (ggml 0.25.3)";

/// The nine cache types of --cache-type-k (common/arg.cpp: kv_cache_types), by ggml's names.
struct cache_type_name {
  std::string_view name;
  storage_type type;
};
inline constexpr cache_type_name cache_types[] = {{"f32", f32},       {"f16", f16},   {"bf16", bf16},
                                                  {"q8_0", q8_0},     {"q4_0", q4_0}, {"q4_1", q4_1},
                                                  {"iq4_nl", iq4_nl}, {"q5_0", q5_0}, {"q5_1", q5_1}};

/// ggml_type_name. "?" for a type that is no cache type.
[[nodiscard]] inline std::string type_name(storage_type t) {
  for (const cache_type_name& c : cache_types) {
    if (c.type == t) return std::string(c.name);
  }
  return "?";
}

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

/// The engine's reason, in the words of its own message where it has one.
[[nodiscard]] inline std::string describe(const refusal& r, const hparams& h, const settings& s) {
  const std::string k = type_name(s.type_k);
  const std::string v = type_name(s.type_v);
  const std::string key = std::string(h.architecture->name) + "." + std::string(r.key);
  const auto does_not_divide = [&](const char* which, const std::string& type, const char* length) {
    return std::string(which) + " cache type " + type + " with block size " + std::to_string(r.block) +
           " does not divide " + length + "=" + std::to_string(r.head);
  };
  switch (r.reason) {
    case refusal_reason::none: return "";
    case refusal_reason::block_count_out_of_range:
      return "block_count " + std::to_string(h.block_count) + " is not between 1 and 512";
    case refusal_reason::nextn_layers_exceed_block_count: return "nextn_predict_layers exceeds block_count";
    case refusal_reason::missing_key: return "key not found in model: " + key;
    case refusal_reason::wrong_type:
      return "key " + key + " has wrong type " + std::string(r.found) + " but expected type " + std::string(r.expected);
    case refusal_reason::wrong_array_length: return "key " + key + " has wrong array length";
    case refusal_reason::unusable_value:
      return "key " + key + " is " + std::to_string(r.head) + ", with which the engine does not load the model";
    case refusal_reason::no_layer_slides: return "the model has a sliding window, and no layer that uses it";
    case refusal_reason::shared_layer_has_no_source:
      return "layers that share K and V find no layer of their kind to share with (an assertion of the engine)";
    case refusal_reason::no_context_length: return "n_ctx and the model's context length cannot both be zero";
    case refusal_reason::no_batch: return "n_batch and n_ubatch cannot both be zero";
    case refusal_reason::n_seq_max_too_large: return "n_seq_max must be <= 256";
    case refusal_reason::n_seq_max_over_outputs:
      return "n_seq_max " + std::to_string(s.n_seq_max) + " exceeds the " + std::to_string(r.head) +
             " outputs of a batch (n_batch): GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max)";
    case refusal_reason::different_kv_types:
      return "model does not support different K (" + k + ") and V (" + v + ") cache types";
    case refusal_reason::quantized_v_needs_flash_attn: return "quantized V cache requires flash_attn to be enabled";
    case refusal_reason::k_block_does_not_divide_head: return does_not_divide("K", k, "n_embd_head_k");
    case refusal_reason::v_block_does_not_divide_head: return does_not_divide("V", v, "n_embd_head_v");
    case refusal_reason::row_is_not_whole_blocks:
      return "a cache row of " + std::to_string(r.head) + " elements is no whole number of blocks of " +
             std::to_string(r.block) + " (an assertion of ggml)";
    case refusal_reason::no_mtp_layers: return "context type MTP requested but model doesn't contain MTP layers";
    case refusal_reason::main_gpu_out_of_range:
      return "invalid value for main_gpu: " + std::to_string(s.main_gpu) +
             " (available devices: " + std::to_string(s.devices) + ")";
    case refusal_reason::split_mode_tensor_unsupported:
      return "LLAMA_SPLIT_MODE_TENSOR not implemented for architecture '" + std::string(h.architecture->name) + "'";
    case refusal_reason::split_mode_tensor_needs_flash_attn:
      return "SPLIT_MODE_TENSOR requires flash_attn to be enabled";
    case refusal_reason::split_mode_tensor_not_computed: return "split_mode tensor is not computed";
    case refusal_reason::needs_target_context:
      return "architecture '" + std::string(h.architecture->name) + "' requires ctx_other to be set";
  }
  return "";
}

/// "GPU0", "GPU1" …, "CPU".
[[nodiscard]] inline std::string device_name(const context_plan& p, std::uint32_t device) {
  return device == p.cpu ? "CPU" : "GPU" + std::to_string(device);
}

namespace detail {

/// printf with "%7.2f" of a number of MiB, computed in float as the engine does.
[[nodiscard]] inline std::string mib(std::uint64_t bytes, int width) {
  char text[64];
  std::snprintf(text, sizeof text, "%*.2f", width,
                static_cast<double>(static_cast<float>(bytes) / (1024.0F * 1024.0F)));
  return text;
}
/// The same in double, as buffer lines are printed.
[[nodiscard]] inline std::string buffer_mib(std::uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%8.2f", static_cast<double>(bytes) / 1024.0 / 1024.0);
  return text;
}
[[nodiscard]] inline std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Bytes per device of the pools of one name, the CPU first: the engine sorts by buffer name.
inline void add_buffer_lines(std::vector<std::string>& lines, const context_plan& p, std::string_view pool_name,
                             const std::string& prefix, const std::string& what) {
  for (std::uint32_t i = 0; i <= p.cpu; ++i) {
    const std::uint32_t d = i == 0 ? p.cpu : i - 1;
    for (const pool& b : p.pools) {
      if (b.device != d || pool_name != b.name) continue;
      lines.push_back(prefix + ": " + right_aligned(device_name(p, d), 10) + what + buffer_mib(b.size().count()) +
                      " MiB");
    }
  }
}

[[nodiscard]] inline flash_attention flash_in_force(const hparams& h, const settings& s) {
  const flash_attention flash = h.architecture->flash_attn ? s.flash_attn : flash_attention::off;
  return flash == flash_attention::automatic && is_quantized(s.type_v) ? flash_attention::on : flash;
}

[[nodiscard]] inline std::string number(std::uint64_t n, std::size_t width) {
  return right_aligned(std::to_string(n), width);
}

/// llama_context's own numbers.
inline void add_context_lines(std::vector<std::string>& lines, const hparams& h, const settings& s,
                              const context_plan& p) {
  const std::string flash_names[] = {"auto", "enabled", "disabled"};
  const std::string context = "llama_context: ";
  if (!s.kv_unified && p.n_ctx != round_up(s.n_ctx == 0 ? h.n_ctx_train : s.n_ctx, cells_pad).value()) {
    lines.push_back(context + "n_ctx is not divisible by n_seq_max - rounding down to " + std::to_string(p.n_ctx));
  }
  lines.push_back(context + "n_seq_max             = " + std::to_string(p.n_seq_max));
  lines.push_back(context + "n_ctx                 = " + std::to_string(p.n_ctx));
  lines.push_back(context + "n_ctx_seq             = " + std::to_string(p.n_ctx_seq));
  lines.push_back(context + "n_batch               = " + std::to_string(p.n_batch));
  lines.push_back(context + "n_ubatch              = " + std::to_string(p.n_ubatch));
  lines.push_back(context + "causal_attn           = " + std::to_string(h.causal_attn ? 1 : 0));
  lines.push_back(context + "flash_attn            = " + flash_names[static_cast<std::size_t>(flash_in_force(h, s))]);
  lines.push_back(context + "kv_unified            = " + std::string(s.kv_unified ? "true" : "false"));
  lines.push_back(context + "n_rs_seq              = " + std::to_string(p.n_rs_seq));
  const std::string trained = " n_ctx_train (" + std::to_string(h.n_ctx_train) + ") -- ";
  const std::string length = context + "n_ctx_seq (" + std::to_string(p.n_ctx_seq) + ")";
  if (p.n_ctx_seq < h.n_ctx_train) {
    lines.push_back(length + " <" + trained + "the full capacity of the model will not be utilized");
  } else if (p.n_ctx_seq > h.n_ctx_train) {
    lines.push_back(length + " >" + trained + "possible training context overflow");
  }
}

/// What the engine says before it creates a cache: the class that creates it, and its number of cells.
inline void add_creation_lines(std::vector<std::string>& lines, const hparams& h, const settings& s,
                               const context_plan& p, const cache_plan& c) {
  const std::string_view name = c.name;
  const auto creating = [&](const char* who, const std::string& what, std::uint64_t cells) {
    lines.push_back(std::string(who) + ": creating " + what + ", size = " + std::to_string(cells) + " cells");
  };
  const auto full_size = [&](const char* who) {
    if (!s.swa_full) return;
    lines.push_back(std::string(who) +
                    ": using full-size SWA cache (ref: https://github.com/ggml-org/llama.cpp/"
                    "pull/13194#issuecomment-2868343055)");
  };
  const bool index_cache = p.caches.size() > 1 && std::string_view(p.caches[1].name) == "indexer";
  switch (h.architecture->memory) {
    case memory_kind::dsv4: {
      if (p.compressors.empty()) break;  // the context of the prediction layers
      const auto compressed = [&](std::uint32_t ratio) { return div_ceil(p.n_ctx_seq, ratio).value(); };
      const char* const who = "llama_kv_cache_dsv4";
      if (name == "base") lines.push_back(std::string(who) + ": creating DSV4 raw KV cache");
      if (name == "csa") creating(who, "DSV4 CSA compressed KV cache", compressed(csa_ratio));
      if (name == "hca") creating(who, "DSV4 HCA compressed KV cache", compressed(hca_ratio));
      if (name == "lid") creating(who, "DSV4 lightning-indexer KV cache", compressed(csa_ratio));
      break;
    }
    case memory_kind::dsa_iswa:
      if (!index_cache) return;
      if (name == "main") {
        full_size("llama_kv_cache_dsa_iswa");
        creating("llama_kv_cache_dsa_iswa", "DSA KV cache", c.cells);
        creating("llama_kv_cache_dsa", "main KV cache", c.cells);
      }
      if (name == "indexer") creating("llama_kv_cache_dsa", "indexer KV cache", c.cells);
      if (name == "swa") creating("llama_kv_cache_dsa_iswa", "SWA KV cache", c.cells);
      return;
    case memory_kind::dsa:
    case memory_kind::msa:
      if (!index_cache) return;
      creating(h.architecture->memory == memory_kind::dsa ? "llama_kv_cache_dsa" : "llama_kv_cache_msa",
               std::string(name) + " KV cache", c.cells);
      return;
    case memory_kind::hybrid_idx:
      if (name == "indexer") creating("operator()", "indexer KV cache", c.cells);  // from within a lambda
      return;
    default: break;
  }
  if (name == "base") {
    full_size("llama_kv_cache_iswa");
    creating("llama_kv_cache_iswa", "non-SWA KV cache", c.cells);
  }
  if (name == "swa") creating("llama_kv_cache_iswa", "    SWA KV cache", c.cells);
}

/// Without flash attention V is kept transposed, as wide as the widest layer's.
inline void add_padding_line(std::vector<std::string>& lines, const hparams& h, const settings& s,
                             const cache_plan& c) {
  if (flash_in_force(h, s) != flash_attention::off || std::string_view(c.name) == "lid") return;
  const bool index_keys = std::string_view(c.name) == "indexer";  // one head in each layer
  std::uint64_t widest = 0;
  bool differ = false;
  const auto width = [&](std::uint32_t il) {
    return std::uint64_t{index_keys ? 1U : h.layers[il].head_count_kv} * h.n_embd_head_v(il);
  };
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    widest = std::max(widest, width(il));
    differ = differ || width(il) != width(0);
  }
  if (!differ) return;
  lines.push_back(
      "llama_kv_cache: the V embeddings have different sizes across layers and FA is not enabled - padding "
      "V cache to " +
      std::to_string(widest));
}

inline void add_cache_lines(std::vector<std::string>& lines, const hparams& h, const settings& s, const context_plan& p,
                            const cache_plan& c) {
  add_creation_lines(lines, h, s, p, c);
  add_padding_line(lines, h, s, c);
  add_buffer_lines(lines, p, c.name, "llama_kv_cache", " KV buffer size = ");
  lines.push_back("llama_kv_cache: size = " + mib(c.k_bytes + c.v_bytes, 7) + " MiB (" + number(c.cells, 6) +
                  " cells, " + number(c.layers, 3) + " layers, " + number(p.n_seq_max, 2) + "/" +
                  std::to_string(c.n_stream) + " seqs), K (" + type_name(s.type_k) + "): " + mib(c.k_bytes, 7) +
                  " MiB, V (" + type_name(s.type_v) + "): " + mib(c.v_bytes, 7) + " MiB");
}

inline void add_compressor_lines(std::vector<std::string>& lines, const context_plan& p, const compressor_plan& c) {
  const std::string who = "llama_dsv4_comp_state";
  const std::string_view kind = c.kind;
  lines.push_back("llama_kv_cache_dsv4: creating DSV4 " +
                  std::string(kind == "csa"   ? "CSA"
                              : kind == "hca" ? "HCA"
                                              : "lightning-indexer") +
                  " compressor state");
  add_buffer_lines(lines, p, c.name, who, " DSV4 " + std::string(kind) + " state buffer size = ");
  lines.push_back(who + ": " + std::string(kind) + " ratio = " + std::to_string(c.ratio) +
                  ", state = " + std::to_string(c.rows) + " x " + std::to_string(c.row_elements) +
                  ", streams = " + std::to_string(p.n_seq_max) + ", rs_seq = " + std::to_string(p.n_rs_seq) +
                  ", layers = " + std::to_string(c.layers) + ", size = " + mib(c.bytes, 7) + " MiB");
}

inline void add_recurrent_lines(std::vector<std::string>& lines, const hparams& h, const context_plan& p) {
  const recurrent_plan& r = p.recurrent;
  add_buffer_lines(lines, p, "recurrent", "llama_memory_recurrent", " RS buffer size = ");
  // The number of layers in this line is the model's, not that of the layers with a state.
  lines.push_back("llama_memory_recurrent: size = " + mib(r.r_bytes + r.s_bytes + r.p_bytes, 7) + " MiB (" +
                  number(r.cells, 6) + " cells, " + number(h.n_layer(), 3) + " layers, " + number(p.n_seq_max, 2) +
                  " seqs " + number(p.n_rs_seq, 2) + " rs_seq), R (f32): " + mib(r.r_bytes, 7) +
                  " MiB, S (f32): " + mib(r.s_bytes, 7) + " MiB, P (f32): " + mib(r.p_bytes, 7) + " MiB");
}

}  // namespace detail

/// The lines about memory that llama.cpp prints when it creates this context, digit by digit. Devices are named
/// GPU0 … and CPU, where the engine prints the names of its buffers. None when the engine refuses.
[[nodiscard]] inline std::vector<std::string> log_lines(const hparams& h, const settings& s, const context_plan& p) {
  std::vector<std::string> lines;
  if (p.refused) return lines;
  detail::add_context_lines(lines, h, s, p);
  // A hybrid creates its index cache after the states, all others in the order of the plan.
  const auto is_late = [&](const cache_plan& c) { return p.recurrent.exists && std::string_view(c.name) == "indexer"; };
  for (const cache_plan& c : p.caches) {
    if (!is_late(c)) detail::add_cache_lines(lines, h, s, p, c);
  }
  for (const compressor_plan& c : p.compressors) detail::add_compressor_lines(lines, p, c);
  if (p.recurrent.exists) detail::add_recurrent_lines(lines, h, p);
  for (const cache_plan& c : p.caches) {
    if (is_late(c)) detail::add_cache_lines(lines, h, s, p, c);
  }
  return lines;
}

namespace detail {

[[nodiscard]] inline std::string attention_of(const hparams& h) {
  if (h.architecture->memory == memory_kind::none) return "none";
  if (h.n_layer_all == 0) return "unknown";  // the file is not loaded
  bool recurrent = false;
  bool attention = false;
  std::uint32_t most = 0;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    recurrent = recurrent || h.layers[il].recurrent;
    attention = attention || h.layers[il].head_count_kv > 0;
    most = most < h.layers[il].head_count_kv ? h.layers[il].head_count_kv : most;
  }
  if (recurrent) return attention ? "hybrid" : "recurrent";
  if (h.is_mla) return "MLA";
  return most == h.n_head ? "MHA" : most == 1 ? "MQA" : "GQA";
}

[[nodiscard]] inline std::string kind_of(const layer_plan& l) {
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
    e.layers.push_back(config::layer_bytes{il, kind_of(l), l.k_bytes, l.v_bytes, l.other_bytes()});
    layers.push_back({{"layer", il},
                      {"kind", kind_of(l)},
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
