// What llama.cpp's layers are called: by the words that every engine's answer has for them.
#pragma once

#include <string>

#include <kvbudget/config/attention_name.hpp>
#include <kvbudget/config/layer_kind.hpp>
#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace kvbudget::detail::llama_cpp {

[[nodiscard]] inline std::string attention_of(const hparams& h) {
  if (h.architecture->memory == memory_kind::none) return "none";
  if (h.n_layer_all == 0) return "unknown";  // the file is not loaded
  config::attention_counts counts;
  counts.latent = h.is_mla;
  counts.heads = h.n_head;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    const std::uint64_t kv_heads = h.layers[il].head_count_kv;
    counts.recurrent = counts.recurrent || h.layers[il].recurrent;
    counts.kv_heads = counts.kv_heads < kv_heads ? kv_heads : counts.kv_heads;
  }
  counts.attention = counts.kv_heads > 0 || !counts.recurrent;
  return std::string(config::attention_name(counts));
}

/// Whether layer `il` attends to the positions that an indexer picks, be it the indexer of an earlier layer.
[[nodiscard]] inline bool is_indexed(const hparams& h, std::uint32_t il) {
  const layer_facts& l = h.layers[il];
  const memory_kind memory = h.architecture->memory;
  if (l.recurrent || l.slides || (il >= h.n_layer() && memory != memory_kind::msa)) return false;
  switch (memory) {
    case memory_kind::dsa: return h.architecture->indexer != indexer_rule::none_or_file || h.indexer_top_k > 0;
    case memory_kind::dsa_iswa: return true;
    case memory_kind::hybrid_idx: return h.indexer_head_size > 0;
    case memory_kind::msa: return il >= h.n_layer_dense_lead;
    default: return false;
  }
}

/// The kind of layer `il`, by what it keeps beside the sizes.
[[nodiscard]] inline std::string kind_of(const hparams& h, std::uint32_t il, bool attention, bool state) {
  const layer_facts& l = h.layers[il];
  config::kept_parts kept;
  kept.attention = attention;
  kept.state = state;
  kept.conv_only = h.architecture->states == state_rule::short_conv;
  kept.index_keys = is_indexed(h, il);
  kept.chunks = l.slides && h.architecture->window_when == window_rule::chunked;
  kept.slides = l.slides;
  if (h.architecture->memory == memory_kind::dsv4) kept.positions_of_row = l.compress_ratio;
  return std::string(name_of(config::kind_of(kept)));
}

}  // namespace kvbudget::detail::llama_cpp
