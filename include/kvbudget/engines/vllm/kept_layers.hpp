// What vLLM's layers are called, and keep: by the words that every engine's answer has for them.
#pragma once

#include <compare>
#include <string>

#include <kvbudget/config/attention_name.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/config/layer_kind.hpp>
#include <kvbudget/engines/vllm/model_builder.hpp>
#include <kvbudget/engines/vllm/kv_cache_spec.hpp>

namespace kvbudget::detail::vllm {

/// A draft's layers say nothing of the model.
[[nodiscard]] inline std::string attention_of(const owned_model& m) {
  config::attention_counts counts;
  counts.heads = m.model.num_attention_heads;
  for (const layer_ref& ref : m.layers) {
    if (ref.draft) continue;
    const layer_class& layer = m.classes[ref.layer_class];
    if (layer.role == layer_role::recurrent) {
      counts.recurrent = true;
      continue;
    }
    counts.attention = true;
    counts.latent = counts.latent || layer.role == layer_role::mla || layer.role == layer_role::sparse_mla;
    if (layer.num_kv_heads > counts.kv_heads) counts.kv_heads = layer.num_kv_heads;
  }
  return std::string(config::attention_name(counts));
}

/// Self attention, states and indexers of a decoder layer are one; its cross attention is another, after it.
struct named_layer {
  std::uint32_t layer = 0;
  bool cross = false;
  friend constexpr auto operator<=>(const named_layer&, const named_layer&) noexcept = default;
};

/// The caches of a decoder layer together.
class kept_layer {
 public:
  /// `all` bytes in so many `blocks`.
  void add(const layer_class& layer, const kv_cache_spec& spec, std::uint64_t all, checked_count blocks) {
    const layer_role role = layer.role;
    const bool indexer = role == layer_role::dsa_indexer || role == layer_role::minimax_m3_indexer;
    if (role == layer_role::recurrent) {
      kept_.state = true;
      kept_.conv_only = layer.state.kind == state_kind::short_conv;
    } else if (!indexer) {
      kept_.attention = true;
      kept_.slides = spec.is_sliding();
      kept_.chunks = spec.kind == spec_kind::chunked_local_attention;
    }
    kept_.index_keys =
        kept_.index_keys || indexer || role == layer_role::sparse_mla || role == layer_role::minimax_m3_sparse;
    if (layer.compress_ratio > 1) kept_.positions_of_row = layer.compress_ratio;
    // K and V lie side by side in plain elements; packed types keep scales between them.
    const std::uint64_t row = spec.num_heads * (spec.head_size + spec.head_size_v) * spec.element_bytes;
    checked_count k = 0U, v = 0U;
    if (spec.is_attention() && spec.cache_role == 0 && spec.num_heads * spec.cell_bytes == row) {
      const checked_count element = spec.unpadded_page_size_bytes() / (spec.head_size + spec.head_size_v) * blocks;
      k = element * spec.head_size;
      v = element * spec.head_size_v;
    }
    k_ += k;
    v_ += v;
    other_ += checked_count(all) - k - v;
  }

  [[nodiscard]] layer_bytes as_bytes(const named_layer& name) const {
    const std::string_view word = name.cross ? config::cross_attention_word : name_of(config::kind_of(kept_));
    return {name.layer, std::string(word), k_.value(), v_.value(), other_.value()};
  }

 private:
  config::kept_parts kept_;
  checked_count k_ = 0U;
  checked_count v_ = 0U;
  checked_count other_ = 0U;
};

}  // namespace kvbudget::detail::vllm
