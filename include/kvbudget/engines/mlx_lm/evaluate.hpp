// mlx-lm from the outside: a config and a question in, the engine's figures out.
#pragma once

#include <array>
#include <memory>

#include <kvbudget/engine/layer_costs.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/engines/mlx_lm/models.hpp>
#include <kvbudget/engines/mlx_lm/read_settings.hpp>

namespace kvbudget::detail::mlx_lm {

/// A model and how it is run: what bytes there are after any forwards.
struct run {
  cached_model model;
  storage_type dtype;
  quantization quantized;
  std::uint64_t step = 2048;

  [[nodiscard]] bool is_quantized(const cache_entry& e, bool converted) const noexcept {
    return converted && !e.is_list && e.caches[0].kind == cache_class::kv;
  }
  [[nodiscard]] cache_bytes entry_bytes(const cache_entry& e, const forwards& f, bool converted) const noexcept {
    cache_bytes sum;
    for (const cache& c : e.caches) {
      const cache_bytes b = bytes_after(c, f, dtype, quantized, is_quantized(e, converted));
      sum = {sum.k + b.k, sum.v + b.v, sum.other + b.other};
    }
    return sum;
  }
  /// maybe_quantize_kv_cache, after every forward.
  [[nodiscard]] bool converts(const forwards& f) const noexcept {
    return quantized.bits != 0 && f.positions().value_or(0) >= quantized.start && f.positions().value_or(0) > 0;
  }
  [[nodiscard]] checked_count total(const forwards& f, bool converted) const {
    std::vector<std::uint64_t> entries(model.kinds.size(), 0);
    for (const cached_model::placed& p : model.entries) ++entries[p.kind];
    checked_count sum = 0U;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      sum += entry_bytes(model.kinds[i], f, converted).total() * entries[i];
    }
    return sum;
  }
  [[nodiscard]] checked_count total(const forwards& f) const { return total(f, converts(f)); }
};

/// The forwards of a request up to the one after which caches are quantized for the first time; all, where none is.
[[nodiscard]] inline forwards until_converted(const forwards& all, std::uint64_t start) {
  forwards f = all;
  start = std::max<std::uint64_t>(start, 1);
  f.full = std::min(all.full, (start + all.step - 1) / all.step);
  if (f.full * f.step >= start) return {f.full, f.step, 0, 0};
  const std::uint64_t prefilled = f.full * f.step + f.rest;
  f.singles = prefilled >= start ? 0 : std::min(all.singles, start - prefilled);
  return f;
}

/// The most that one request holds on its way: at the end of the full steps, of the prefill, after the first single
/// position (which cuts windows), at the end; and as a forward left it that caches are quantized after.
[[nodiscard]] inline checked_count peak_of(const run& r, std::uint64_t prompt, std::uint64_t max_tokens) {
  const forwards all = forwards_of(prompt, max_tokens, r.step);
  if (!all.positions().fits(max_positions)) return checked_count::failed(failure::overflow);
  const forwards moments[] = {{all.full, all.step, 0, 0},
                              {all.full, all.step, all.rest, 0},
                              {all.full, all.step, all.rest, std::min<std::uint64_t>(all.singles, 1)},
                              all};
  checked_count most = 0U;
  for (const forwards& f : moments) most = larger(most, r.total(f));
  if (r.converts(all)) most = larger(most, r.total(until_converted(all, r.quantized.start), false));
  return most;
}

/// Nothing that grows is ever cut to a length that is no multiple of 256.
[[nodiscard]] inline bool grows_by_whole_steps(const run& r) {
  if (r.step % row_step != 0) return false;
  for (const cache_entry& e : r.model.kinds) {
    for (const cache& c : e.caches) {
      if (c.kind == cache_class::chunked && c.window % row_step != 0) return false;
    }
  }
  return true;
}

/// The most that a request of at most these lengths takes. With whole steps a longer prompt never takes less; else a
/// prompt that is shorter by less than two steps may take more.
[[nodiscard]] inline checked_count peak_up_to(const run& r, std::uint64_t prompt, std::uint64_t max_tokens) {
  checked_count most = peak_of(r, prompt, max_tokens);
  if (grows_by_whole_steps(r)) return most;
  for (std::uint64_t less = 1; less < std::min(prompt, 2 * row_step); ++less) {
    most = larger(most, peak_of(r, prompt - less, max_tokens));
  }
  return most;
}

/// Every quantized cache: groups have to divide its rows.
[[nodiscard]] inline std::string group_refusal(const run& r) {
  for (const cache_entry& e : r.model.kinds) {
    if (!r.is_quantized(e, true)) continue;
    for (const std::uint64_t size : {e.caches[0].k_size, e.caches[0].v_size}) {
      if (size % r.quantized.group_size == 0) continue;
      return "mx.quantize: heads of " + std::to_string(size) + " elements do not divide into groups of " +
             std::to_string(r.quantized.group_size);
    }
  }
  return {};
}

/// Why generate_step fails with these settings; empty when it does not.
[[nodiscard]] inline std::string refusal_of(const run& r, const settings& s, const forwards& all) {
  if (s.prompt_tokens == 0) return s.asked ? "generate_step wants a prompt of at least one token" : "";
  if (!r.converts(all)) return {};
  for (const cache_entry& e : r.model.kinds) {
    if (!e.is_list && e.caches[0].kind == cache_class::rotating) {
      return "RotatingKVCache has no quantized form, and kv_bits asks for one at " + std::to_string(r.quantized.start) +
             " positions (quantized_kv_start)";
    }
  }
  if (std::string refusal = group_refusal(r); !refusal.empty()) return refusal;
  forwards before_last = all;
  --before_last.singles;
  if (!r.model.reads_quantized && r.converts(before_last)) {
    return "the attention of this model type cannot read a quantized cache (kv_bits)";
  }
  return {};
}

/// Whether any cache is quantized at the end.
[[nodiscard]] inline bool quantizes(const run& r, const forwards& f) {
  return r.converts(f) && std::any_of(r.model.kinds.begin(), r.model.kinds.end(),
                                      [&](const cache_entry& e) { return r.is_quantized(e, true); });
}

/// max_kv_size where make_prompt_cache looks at it: a window over every layer, of which the first 4 positions stay.
inline void apply_max_kv_size(cached_model& m, const settings& s, std::vector<std::string>& notes) {
  if (!s.max_kv_size) return;
  if (m.makes_own_cache) {
    notes.push_back("max_kv_size changes nothing: this model type has a make_cache of its own");
    return;
  }
  for (cache_entry& e : m.kinds) {
    for (cache& c : e.caches) {
      c.kind = cache_class::rotating;
      c.window = *s.max_kv_size;
      c.keep = 4;
    }
    e.kind = config::layer_kind::sliding;
  }
}

[[nodiscard]] inline std::string class_of(const run& r, const cache_entry& e, bool converted) {
  constexpr std::string_view names[] = {"KVCache", "RotatingKVCache", "ChunkedKVCache", "ArraysCache"};
  if (e.is_list) return "CacheList";
  if (r.is_quantized(e, converted)) return "QuantizedKVCache";
  return std::string(names[static_cast<std::size_t>(e.caches[0].kind)]);
}

/// `layer_groups`: entries of the prompt cache that are alike, by their places in it.
[[nodiscard]] inline config::json groups_as_json(const run& r, const forwards& f, std::uint64_t batch) {
  config::json groups = config::json::array();
  const bool converted = r.converts(f);
  for (std::size_t kind = 0; kind < r.model.kinds.size(); ++kind) {
    config::json places = config::json::array();
    for (std::size_t i = 0; i < r.model.entries.size(); ++i) {
      if (r.model.entries[i].kind == kind) places.push_back(i);
    }
    const cache_entry& e = r.model.kinds[kind];
    groups.push_back({{"layers", places},
                      {"cache_class", class_of(r, e, converted)},
                      {"bytes", (r.entry_bytes(e, f, converted).total() * batch).value()}});
  }
  return groups;
}

[[nodiscard]] inline config::json settings_json(const settings& s, std::string_view dtype) {
  config::json out = {{"dtype", dtype},
                      {"prompt_tokens", s.prompt_tokens},
                      {"max_tokens", s.max_tokens},
                      {"batch", s.batch},
                      {"prefill_step_size", s.prefill_step_size}};
  if (s.max_kv_size) out["max_kv_size"] = *s.max_kv_size;
  if (s.quantized.bits == 0) return out;
  out["kv_bits"] = s.quantized.bits;
  out["kv_group_size"] = s.quantized.group_size;
  out["quantized_kv_start"] = s.quantized.start;
  return out;
}

/// Layers, totals, the device, and the curve for the inverses.
inline void add_costs(engine_answer& e, std::shared_ptr<const run> r, const forwards& f, std::uint64_t batch) {
  const bool converted = r->converts(f);
  std::vector<cache_bytes> of_kind;
  for (const cache_entry& entry : r->model.kinds) of_kind.push_back(r->entry_bytes(entry, f, converted));
  for (const cached_model::placed& p : r->model.entries) {
    const cache_bytes& b = of_kind[p.kind];
    e.layers.push_back(layer_bytes{p.layer, std::string(name_of(r->model.kinds[p.kind].kind)), (b.k * batch).value(),
                                   (b.v * batch).value(), (b.other * batch).value()});
  }
  e.total_bytes = (r->total(f) * batch).value();
  e.stage_of_layer.resize(r->model.num_layers, 0);
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    const std::uint64_t entries = static_cast<std::uint64_t>(
        std::count_if(r->model.entries.begin(), r->model.entries.end(), [&](const auto& p) { return p.kind == kind; }));
    const checked_count one = of_kind[kind].total() * batch;
    e.pools.push_back(
        pool_bytes{std::string(name_of(r->model.kinds[kind].kind)), 0, one.value(), entries, (one * entries).value()});
  }
  device_cache d{"0", e.total_bytes, 0, {}};
  d.peak_bytes = [r](const workload& w) {
    if (w.lengths.empty()) return peak_up_to(*r, w.prompt, w.generated) * w.sequences;
    return peak_up_to(*r, *std::max_element(w.lengths.begin(), w.lengths.end()), 0) * w.lengths.size();
  };
  d.peak = std::max(e.total_bytes, f.positions().value_or(0) == 0
                                       ? 0
                                       : (peak_of(*r, f.full * f.step + f.rest + 1, f.singles - 1) * batch).value());
  e.devices.push_back(std::move(d));
}

/// States alone have a size whatever the length; rows come in steps, so that there is no size of one position.
inline void add_linear_costs(engine_answer& e, const run& r) {
  checked_count states = 0U;
  bool grows = false;
  for (const cached_model::placed& p : r.model.entries) {
    for (const cache& c : r.model.kinds[p.kind].caches) {
      states += bytes_after(c, {0, 1, 0, 1}, r.dtype, {}, false).other;
      grows = grows || c.kind != cache_class::arrays;
    }
  }
  e.state_bytes_per_sequence = states.value();
  if (!grows) e.bytes_per_token = 0;
  else e.notes.push_back("bytes per token are not one number: arrays grow by 256 positions at a time");
}

/// The engine's figures: total_bytes, tokens_yielded, num_cache_entries, layer_groups.
/// Throws config_error, usage_error, size_error.
[[nodiscard]] inline engine_answer evaluate(const config::document& d, const engine_question& question) {
  const settings s = read_settings(question);
  const config::model_config c(config::node(d), own_classes);
  auto r = std::make_shared<run>();
  r->model = read_model(c);
  const auto dtype = s.dtype ? s.dtype : config::stated_dtype(d, config::engine_version{5, 0, 0});
  if (!dtype) {
    throw config_error({d.file, "/dtype", ""}, "missing, and the weights' own type is not known",
                       "a dtype in the config, or the dtype option");
  }
  r->dtype = *dtype;
  r->quantized = s.quantized;
  r->step = s.prefill_step_size;
  engine_answer e;
  e.engine = "mlx-lm";
  e.version = s.version.text();
  e.settings = [s, name = std::string(name_of(*dtype))] { return settings_json(s, name); };
  e.types.k = e.types.v = dtype;
  e.notes = s.notes;
  e.model_type = c.published_model_type();
  e.attention = r->model.attention;
  e.model_layers = r->model.num_layers;
  e.sources = c.sources();
  apply_max_kv_size(r->model, s, e.notes);
  const forwards f = forwards_of(s.prompt_tokens, s.max_tokens, s.prefill_step_size);
  if (!f.positions().fits(max_positions)) kv_cache_size_overflows_64_bits();
  e.refusal = refusal_of(*r, s, f);
  if (!e.refusal.empty()) {
    e.figures = [refusal = e.refusal] { return config::json{{"error", refusal}}; };
    return e;
  }
  if (s.quantized.bits != 0 && !quantizes(*r, f)) {
    e.notes.push_back("kv_bits changes nothing: no KVCache has " + std::to_string(s.quantized.start) +
                      " positions (quantized_kv_start), or none is there that is no part of a list");
  }
  add_costs(e, r, f, s.batch);
  add_linear_costs(e, *r);
  e.figures = [r, f, s, total = e.total_bytes] {
    return config::json{{"total_bytes", total},
                        {"tokens_yielded", s.max_tokens},
                        {"num_cache_entries", r->model.entries.size()},
                        {"layer_groups", groups_as_json(*r, f, s.batch)}};
  };
  return e;
}

}  // namespace kvbudget::detail::mlx_lm
