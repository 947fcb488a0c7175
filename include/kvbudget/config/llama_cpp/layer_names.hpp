// What llama.cpp's layers are called: by the words that every engine's answer has for them.
#pragma once

#include <string>

#include <kvbudget/config/attention_name.hpp>
#include <kvbudget/config/transformers/layer_kinds.hpp>
#include <kvbudget/engines/llama_cpp.hpp>

namespace kvbudget::llama_cpp::detail {

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

/// What layer `il` keeps, whatever the sizes.
struct kept_parts {
  bool attention = false;
  bool state = false;
  bool index_keys = false;
};
[[nodiscard]] inline std::string kind_of(const hparams& h, std::uint32_t il, const kept_parts& kept) {
  using kind = transformers::layer_kind;
  const layer_facts& l = h.layers[il];
  const auto name = [](kind k) { return std::string(transformers::name_of(k)); };
  if (kept.state && kept.attention) return name(l.slides ? kind::hybrid_sliding : kind::hybrid);
  if (kept.state) return name(h.architecture->states == state_rule::short_conv ? kind::conv : kind::linear);
  if (h.architecture->memory == memory_kind::dsv4 && l.compress_ratio == csa_ratio)
    return name(kind::compressed_sparse);
  if (h.architecture->memory == memory_kind::dsv4 && l.compress_ratio == hca_ratio) {
    return name(kind::heavily_compressed);
  }
  if (kept.index_keys) return name(kind::indexed);
  if (!l.slides) return name(kind::full);
  return name(h.architecture->window_when == window_rule::chunked ? kind::chunked : kind::sliding);
}

}  // namespace kvbudget::llama_cpp::detail
