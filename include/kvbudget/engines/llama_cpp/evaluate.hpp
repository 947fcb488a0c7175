// llama.cpp from the outside: a config.json (or GGUF metadata) and a question in, the engine's figures and log lines
// out.
#pragma once

#include <string>
#include <vector>

#include <kvbudget/engines/llama_cpp/convert.hpp>
#include <kvbudget/engines/llama_cpp/gguf_metadata.hpp>
#include <kvbudget/engines/llama_cpp/layer_names.hpp>
#include <kvbudget/engines/llama_cpp/log_lines.hpp>
#include <kvbudget/engines/llama_cpp/refusal_words.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/engines/llama_cpp/read_settings.hpp>

namespace kvbudget::detail::llama_cpp {

/// The word in the engine's figures, as measured cases have it.
[[nodiscard]] inline std::string measured_kind(const layer_plan& l) {
  if (!l.attention) return "recurrent";
  return std::string(l.slides ? "sliding_attention" : "full_attention") + (l.recurrent ? "+recurrent" : "");
}

[[nodiscard]] inline config::json recurrent_json(const recurrent_plan& r) {
  return {{"r_bytes", r.r_bytes},
          {"s_bytes", r.s_bytes},
          {"p_bytes", r.p_bytes},
          {"recurrent_cells", r.cells},
          {"recurrent_layers", r.layers}};
}
[[nodiscard]] inline config::json caches_json(const settings& s, const context_plan& p) {
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
  return caches;
}

/// The engine's figures under the names of its own structures.
[[nodiscard]] inline config::json figures_json(const hparams& h, const settings& s, const context_plan& p) {
  config::json f = {
      {"total_bytes", p.total_bytes}, {"k_bytes", p.k_bytes}, {"v_bytes", p.v_bytes},   {"n_ctx", p.n_ctx},
      {"n_ctx_seq", p.n_ctx_seq},     {"n_batch", p.n_batch}, {"n_ubatch", p.n_ubatch}, {"n_seq_max", p.n_seq_max},
      {"n_rs_seq", p.n_rs_seq}};
  if (p.recurrent.exists) f.update(recurrent_json(p.recurrent));
  f["caches"] = caches_json(s, p);
  config::json layers = config::json::array();
  config::json per_device = config::json::object();
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    const layer_plan l = plan_of_layer(h, s, il);
    if (!l.keeps_something()) continue;
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
  f["log"] = log_lines(h, s, p);
  return f;
}

[[nodiscard]] inline std::vector<layer_bytes> layers_of(const hparams& h, const settings& s) {
  std::vector<layer_bytes> layers;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    const layer_plan l = plan_of_layer(h, s, il);
    if (!l.keeps_something()) continue;
    layers.push_back({il, kind_of(h, il, l.attention, l.recurrent), l.k_bytes, l.v_bytes, l.other_bytes()});
  }
  return layers;
}

/// Bytes of one device by length and number of sequences. More sequences can take less (cells are rounded up for each),
/// so the most of all smaller numbers counts. Beyond the engine's own limits nothing fits.
[[nodiscard]] inline std::function<checked_count(const workload&)> curve_of(const hparams& h, const settings& s,
                                                                            std::uint32_t device) {
  return [h, s, device](const workload& asked) {
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

/// Whose defaults hold where an option was not given.
inline void note_defaults(engine_answer& e, default_set defaults, const settings& s) {
  if (defaults == default_set::c_api) {
    e.notes.push_back("defaults of llama.cpp's C API: n_ctx 512, one sequence, the window's cache kept at full size");
    return;
  }
  const bool server = defaults == default_set::server;
  std::string note = server ? "defaults of llama-server (defaults=c_api asks the C API)"
                            : "defaults of llama.cpp's command-line tools (defaults=c_api asks the C API)";
  note += ": n_ctx of the model, the window's cache as small as it can be";
  if (server) note += ", 4 sequences in one buffer unless n_seq_max is given";
  if (s.n_ctx == 0) note += "; --fit, which is on, takes a shorter n_ctx where device memory does not suffice";
  e.notes.push_back(note);
}

/// Published files of multi-query models leave the number of KV heads out.
inline void note_falcon(engine_answer& e, const hf_source& source, const hparams& h) {
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
inline void note_idle_options(engine_answer& e, const engine_question& question, const hparams& h, const settings& s,
                              const context_plan& p) {
  const config::json in_force = to_json(s);
  const auto tell = [&](const std::string& option, const engine_question& rest) {
    const settings without = read_settings(rest).settings;
    if (in_force.contains(option) && to_json(without)[option] == in_force[option]) return;  // it is the default
    try {
      const context_plan other = plan(h, without);
      if (!same_plan(p, other) || log_lines(h, without, other) != log_lines(h, s, p)) return;
    } catch (const size_error&) {
      return;
    }
    const bool of_devices = option == "n_gpu_layers" || option == "tensor_split" || option == "main_gpu" ||
                            option == "split_mode" || option == "offload_kqv" || option == "device_memory";
    e.notes.push_back(option + " has no effect on this model's memory" +
                      (s.devices == 0 && of_devices ? " without devices" : ""));
  };
  for (const auto& [name, value] : question.options) {
    const std::string option(kvbudget::detail::find_option(option_rows, name)->name);
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (option == "version" || option == "defaults" || option == "n_ctx") continue;
    engine_question rest = question;
    rest.options.erase(name);
    tell(option, rest);
  }
  engine_question rest = question;
  rest.types = {std::nullopt, question.types.v, {}};
  if (question.types.k) tell("type_k", rest);
  rest.types = {question.types.k, std::nullopt, {}};
  if (question.types.v) tell("type_v", rest);
}

/// The model, and what the answer says of it. Throws config_error.
[[nodiscard]] inline hparams read_model(const config::document& d, engine_answer& e) {
  hparams h;
  if (const auto gguf = gguf_architecture(config::node(d))) {
    h = load_hparams(read_gguf_metadata(d));
    e.model_type = *gguf;
  } else {
    const hf_source source(d);
    h = load_hparams(convert(source));
    e.sources = source.sources();
    note_falcon(e, source, h);
    e.model_type = source.text_model_type().value_or(source.root_model_type().value_or(""));
  }
  e.model_layers = h.n_layer_all > 0 ? h.n_layer() : h.block_count;
  e.attention = attention_of(h);
  return h;
}

/// Why the engine does not create the context. Throws usage_error for what it does and is not computed here.
[[nodiscard]] inline std::string refusal_of(const context_plan& p, const hparams& h, const settings& s) {
  if (!p.refused) return {};
  if (p.refused.reason == refusal_reason::split_mode_tensor_not_computed) {
    throw usage_error({"", "split_mode", "\"tensor\""},
                      "not computed: each device's share depends on the storage type of the weights",
                      "layer, none or row");
  }
  return describe(p.refused, h, s);
}

/// What lies on which device, and where the layers' weights are.
inline void add_devices(engine_answer& e, const hparams& h, const settings& s, const context_plan& p) {
  for (std::uint32_t i = 0; i <= p.cpu; ++i) {
    // Without GPUs the cache is in the memory that is budgeted; beside GPUs the host is a device of its own.
    const bool host = i == p.cpu && p.cpu > 0;
    const std::uint64_t here = p.bytes_per_device[i];
    e.devices.push_back(device_cache{host ? "host" : std::to_string(i), here, here, curve_of(h, s, i)});
  }
  settings weights = s;
  weights.offload_kqv = true;  // it moves the cache, not the layers
  const layer_devices layers(h, weights);
  e.layer_stages = std::max(p.cpu, 1U);
  e.embedding_on_host = p.cpu > 0;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) e.stage_of_layer.push_back(layers.device_of(il));
  for (const pool& b : p.pools) {
    e.pools.push_back(pool_bytes{b.name, b.device, b.unit_bytes.count(), b.units, b.size().count()});
  }
  if (s.devices <= 1 || s.split == split_mode::none) return;
  bool given = false;
  for (std::uint32_t i = 0; i < s.devices; ++i) given = given || s.tensor_split[i] != 0.0F || s.device_memory[i] != 0;
  if (!given) e.notes.push_back("llama.cpp splits layers by free memory; equal memory is assumed");
}

/// The engine's figures under the names of its own structures: total_bytes, k_bytes, v_bytes, n_ctx …, caches[],
/// layers[], bytes_per_device, layers_per_device; `error` where the engine refuses. `d` is a config.json, or GGUF
/// metadata as an object. Throws config_error, usage_error, size_error.
[[nodiscard]] inline engine_answer evaluate(const config::document& d, const engine_question& question) {
  const read_result read = read_settings(question);
  const settings& s = read.settings;
  engine_answer e;
  e.engine = "llama.cpp";
  e.version = measured_version;
  e.settings = [s, defaults = read.defaults] {
    config::json all = to_json(s);
    all["defaults"] = default_set_names[static_cast<std::size_t>(defaults)];
    return all;
  };
  e.types = {s.type_k, s.type_v, {}};
  e.notes = read.notes;
  if (const auto version = question.options.find("version"); version != question.options.end()) {
    const auto* const text = std::get_if<std::string>(&version->second);
    if (text != nullptr && text->find("0.5.0-dev") == text->npos) {
      e.notes.push_back("answered by the rules of llama.cpp " + std::string(measured_version));
    }
  }
  note_defaults(e, read.defaults, s);
  const hparams h = read_model(d, e);
  const context_plan p = plan(h, s);
  e.refusal = refusal_of(p, h, s);
  if (!e.refusal.empty()) {
    e.figures = [refusal = e.refusal] { return config::json{{"error", refusal}}; };
    return e;
  }
  e.figures = [h, s, p] { return figures_json(h, s, p); };
  e.total_bytes = p.total_bytes;
  e.layers = layers_of(h, s);
  note_idle_options(e, question, h, s, p);
  add_devices(e, h, s, p);
  if (h.architecture->memory == memory_kind::none) {
    e.notes.push_back("llama.cpp creates no memory for architecture " + std::string(h.architecture->name));
  }
  return e;
}

}  // namespace kvbudget::detail::llama_cpp
