// The layers of a model as llama.cpp caches them, as plain cache layers, for an answer without an engine.
#pragma once

#include <kvbudget/engines/llama_cpp/layer_names.hpp>
#include <kvbudget/engines/llama_cpp/refusal_words.hpp>
#include <kvbudget/engines/llama_cpp/read_model.hpp>
#include <kvbudget/config/read_model.hpp>

namespace kvbudget::detail::llama_cpp {

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
  m.attention = attention_of(h);
  m.num_layers = h.n_layer();
  const memory_shape memory = memory_of(h, s);
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    cache_layer layer;
    bool state = false;
    for (const cache_shape& c : memory.caches) {
      if (!contains(c, h, il)) continue;
      layer.parts.push_back(part_of(c, h, il, k, v));
    }
    const bool attention = !layer.parts.empty();
    if (memory.recurrent && is_stateful(h, il)) {
      state = true;
      const checked_count history = il == h.ple_layer ? h.ple_conv_state : checked_count(0U);
      layer.parts.push_back(recurrent_state{(h.n_embd_r + h.n_embd_s + history).value(), f32});
    }
    if (layer.parts.empty()) continue;
    layer.kind = kind_of(h, il, attention, state);
    m.layers.add(il, layer);
  }
  return m;
}

}  // namespace kvbudget::detail::llama_cpp
