// No engine: the bare tensors of the stored positions.
#pragma once

#include <algorithm>
#include <iterator>

#include <kvbudget/engines/llama_cpp/cached_model.hpp>
#include <kvbudget/engine/layer_costs.hpp>
#include <kvbudget/config/stated_dtype.hpp>
#include <kvbudget/config/read_model.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/engine/options.hpp>

namespace kvbudget::detail::none {

using config::document;
using config::node;

/// A model as it is cached without an engine, and the element types of K and V.
struct bare_model {
  transformers::cached_model model;
  storage_type k;
  storage_type v;
};

/// Does transformers know the model type? Throws config_error where the file is no config at all.
[[nodiscard]] inline bool is_known_to_transformers(const document& d) {
  const node root(d);
  const auto type = root.string("model_type");
  if (!type || config::find_model_type(*type) != nullptr) return true;
  return std::any_of(std::begin(config::renamed_model_types), std::end(config::renamed_model_types),
                     [&](const config::renamed_model_type& r) { return r.published == *type; });
}

/// `k` and `v` are the element types of the cache; without them the config's dtype counts, and without that it is an
/// error. `d` is a config.json, or the metadata of a GGUF file, which has no dtype of a cache: its layers are those
/// that llama.cpp caches, as are those of a model type that transformers does not know. Throws config_error.
[[nodiscard]] inline bare_model read_bare_model(const document& d, std::optional<storage_type> k,
                                                std::optional<storage_type> v) {
  if (llama_cpp::gguf_architecture(node(d))) {
    if (!k || !v) {
      throw config_error({d.file, "", ""}, "GGUF metadata do not say the element type of the cache",
                         "the kv-dtype option");
    }
    return {llama_cpp::read_cached_model(d, *k, *v), *k, *v};
  }
  const auto stated = config::stated_dtype(d, transformers::newest_version);
  if (!stated && !(k && v)) {
    throw config_error({d.file, "/dtype", ""}, "missing, and no element type of the cache was given",
                       "a dtype in the config, or the kv-dtype option");
  }
  if (!is_known_to_transformers(d)) {
    const storage_type k_type = k ? *k : *stated, v_type = v ? *v : *stated;
    try {
      bare_model bare{llama_cpp::read_cached_model(d, k_type, v_type), k_type, v_type};
      bare.model.sources.push_back({"layers", bare.model.model_type, "as llama.cpp reads this model type"});
      return bare;
    } catch (const config_error&) {
      // Neither knows it: the error of the reader below names the types that are known.
    }
  }
  transformers::read_options options;
  options.k_type = k ? *k : *stated;
  options.v_type = v ? *v : *stated;
  options.model_type = stated ? *stated : *k;  // states follow the model, not the cache
  return {transformers::read_model(d, options), options.k_type, options.v_type};
}

/// Full and latent layers keep every position, sliding ones min(n, window), recurrent ones their state once. Element
/// types and document as for read_bare_model().
[[nodiscard]] inline engine_answer evaluate(const document& d, const engine_question& q) {
  if (!q.options.empty()) {
    throw usage_error({"", q.options.begin()->first, ""}, "an engine's option, and no engine was named", "an engine");
  }
  const bare_model bare = read_bare_model(d, q.types.k, q.types.v);
  engine_answer e;
  e.types = {bare.k, bare.v, {}};
  e.settings = [types = e.types] {
    return config::json{{"k_dtype", name_of(*types.k)}, {"v_dtype", name_of(*types.v)}};
  };
  describe(e, bare.model);
  add_costs(e, bare.model, stored_positions{}, q.work.value_or(workload{}), tokens(), q.where);
  add_linear_costs(e, bare.model, q.where);
  const bool gguf = llama_cpp::gguf_architecture(node(d)).has_value();
  const bool as_llama_cpp = gguf || !is_known_to_transformers(d);
  if (!gguf && as_llama_cpp) {
    e.notes.push_back("transformers does not know this model type: the layers are those that llama.cpp caches");
  }
  if (e.state_bytes_per_sequence.value_or(0) != 0 && as_llama_cpp) {
    e.notes.push_back("recurrent states are in f32, as llama.cpp keeps them");
  }
  e.figures = [total = e.total_bytes] { return config::json{{"total_bytes", total}}; };
  return e;
}

}  // namespace kvbudget::detail::none
