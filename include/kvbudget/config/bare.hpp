// No engine: the bare tensors of the stored positions.
#pragma once

#include <kvbudget/config/llama_cpp/cached_model.hpp>
#include <kvbudget/config/transformers.hpp>

namespace kvbudget::config {

namespace detail {

/// GGUF metadata: the layers are those that llama.cpp caches.
[[nodiscard]] inline evaluation evaluate_bare_gguf(const document& d, std::optional<storage_type> k,
                                                   std::optional<storage_type> v, const workload& w,
                                                   const placement& where) {
  if (!k || !v) {
    throw config_error({d.file, "", ""}, "GGUF metadata do not say the element type of the cache",
                       "the kv-dtype option");
  }
  const transformers::cached_model m = llama_cpp::read_cached_model(d, *k, *v);
  evaluation e;
  e.settings = {{"k_dtype", name_of(*k)}, {"v_dtype", name_of(*v)}};
  describe(e, m);
  add_costs(e, m, stored_positions{}, w, tokens(), where);
  add_linear_costs(e, m);
  if (e.state_bytes_per_sequence.value_or(0) != 0) e.notes.push_back("recurrent states are in f32, as llama.cpp keeps them");
  e.figures["total_bytes"] = e.total_bytes;
  return e;
}

}  // namespace detail

/// Full and latent layers keep every position, sliding ones min(n, window), recurrent ones their state once. `k` and
/// `v` are the element types of the cache; without them the config's dtype counts, and without that it is an error.
/// `d` is a config.json, or the metadata of a GGUF file, which has no dtype of a cache.
[[nodiscard]] inline evaluation evaluate_bare(const document& d, std::optional<storage_type> k,
                                              std::optional<storage_type> v, const workload& w,
                                              tokens encoder = tokens(), const placement& where = {}) {
  if (llama_cpp::gguf_architecture(node(d))) return detail::evaluate_bare_gguf(d, k, v, w, where);
  const auto stated = transformers::detail::stated_dtype(d);
  if (!stated && !(k && v)) {
    throw config_error({d.file, "/dtype", ""}, "missing, and no element type of the cache was given",
                       "a dtype in the config, or the kv-dtype option");
  }
  transformers::read_options options;
  options.k_type = k ? *k : *stated;
  options.v_type = v ? *v : *stated;
  options.model_type = stated ? *stated : *k;  // states follow the model, not the cache
  const transformers::cached_model m = transformers::read_model(d, options);
  evaluation e;
  e.settings = {{"k_dtype", name_of(options.k_type)}, {"v_dtype", name_of(options.v_type)}};
  describe(e, m);
  add_costs(e, m, stored_positions{}, w, encoder, where);
  add_linear_costs(e, m);
  e.figures["total_bytes"] = e.total_bytes;
  return e;
}

}  // namespace kvbudget::config
