// The layers of a model as llama.cpp caches them, as plain cache layers, for an answer without an engine.
#pragma once

#include <kvbudget/config/llama_cpp.hpp>
#include <kvbudget/config/transformers/read_model.hpp>

namespace kvbudget::llama_cpp {

namespace detail {

/// What one cache of the engine keeps of layer `il`, whatever the cells.
[[nodiscard]] inline layer_part part_of(const cache_shape& c, const hparams& h, std::uint32_t il, storage_type k,
                                        storage_type v) {
  const layer_facts& l = h.layers[il];
  const std::uint64_t width = c.row == row_rule::heads ? h.n_embd_head_k(il) : row_of(c, h, il, 0U).k.value();
  const kv_row keys{c.row == row_rule::heads ? l.head_count_kv : 1U, width, k};
  const kv_row values = c.k_only ? kv_row{0, 0, v} : kv_row{l.head_count_kv, h.n_embd_head_v(il), v};
  switch (c.cells) {
    case cell_rule::window: return sliding_window_attention{keys, values, tokens(h.n_swa)};
    // Rows that wait until their group is complete are kept in f32, twice where groups overlap (compressors_of).
    case cell_rule::csa: return compressed_keys{keys, csa_ratio, 2, f32};
    case cell_rule::hca: return compressed_keys{keys, hca_ratio, 1, f32};
    case cell_rule::context: break;
  }
  if (c.row != row_rule::heads) return index_keys{keys};
  if (c.k_only) return mla_attention{keys, values};
  return full_attention{keys, values};
}

}  // namespace detail

/// Which layers the engine caches, and what of them: latents as one row of K, as it keeps them; recurrent states in
/// f32, with one position less than the convolution is wide. Prediction layers are left out, as in the engine's own
/// context. Throws config_error, also where the engine would not load the file.
[[nodiscard]] inline transformers::cached_model read_cached_model(const config::document& d, storage_type k,
                                                                  storage_type v) {
  const hparams h = read_model(d);
  const settings s;
  if (h.refused) throw config_error({d.file, "", ""}, describe(h.refused, h, s), "a model that llama.cpp loads");
  transformers::cached_model m;
  m.model_type = h.architecture->name;
  m.attention = detail::attention_of(h);
  m.num_layers = h.n_layer();
  const detail::memory_shape memory = detail::memory_of(h, s);
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    cache_layer layer;
    detail::kept_parts kept;
    for (const detail::cache_shape& c : memory.caches) {
      if (!detail::contains(c, h, il)) continue;
      kept.attention = true;
      kept.index_keys = kept.index_keys || c.row != detail::row_rule::heads;
      layer.parts.push_back(detail::part_of(c, h, il, k, v));
    }
    if (memory.recurrent && detail::is_stateful(h, il)) {
      kept.state = true;
      const checked_count history = il == h.ple_layer ? h.ple_conv_state : checked_count(0U);
      layer.parts.push_back(recurrent_state{(h.n_embd_r + h.n_embd_s + history).value(), f32});
    }
    if (layer.parts.empty()) continue;
    layer.kind = detail::kind_of(h, il, kept);
    m.layers.add(il, layer);
  }
  return m;
}

}  // namespace kvbudget::llama_cpp
