// The kinds of layers, and the word for each in every engine's answer and in a config's layer_types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kvbudget::detail::config {

enum class layer_kind : std::uint8_t {
  full,
  sliding,
  chunked,
  indexed,
  linear,
  conv,
  hybrid,
  hybrid_sliding,
  reference_sliding,
  compressed_sparse,
  heavily_compressed,
  none
};

struct layer_kind_name {
  std::string_view word;
  layer_kind kind;
};

/// The words of `layer_types`, old and new. The first of a kind is the word of all answers.
inline constexpr layer_kind_name layer_kind_names[] = {
    {"full_attention", layer_kind::full},
    {"sliding_attention", layer_kind::sliding},
    {"chunked_attention", layer_kind::chunked},
    {"indexed_attention", layer_kind::indexed},
    {"linear_attention", layer_kind::linear},
    {"conv", layer_kind::conv},
    {"hybrid", layer_kind::hybrid},
    {"hybrid_sliding", layer_kind::hybrid_sliding},
    {"reference_sliding_attention", layer_kind::reference_sliding},
    {"compressed_sparse_attention", layer_kind::compressed_sparse},
    {"heavily_compressed_attention", layer_kind::heavily_compressed},
    {"dummy", layer_kind::none},
    {"mlp", layer_kind::none},
    {"moe", layer_kind::none},
    {"minimax_m3_sparse", layer_kind::indexed},
    {"mamba", layer_kind::linear},
    {"attention", layer_kind::full},
    {"deepseek_sparse_attention", layer_kind::indexed},
    {"qwen_sparse_attention", layer_kind::indexed},
};

[[nodiscard]] constexpr std::string_view name_of(layer_kind kind) noexcept {
  for (const layer_kind_name& n : layer_kind_names) {
    if (n.kind == kind) return n.word;
  }
  return "";
}

/// Entries of an answer's `layers` that are no decoder layer of their own: its cross attention, caches of a model's own
/// form (transformers), and what fills blocks up (vLLM).
inline constexpr std::string_view cross_attention_word = "cross_attention";
inline constexpr std::string_view padding_word = "padding";
inline constexpr std::string_view other_layer_words[] = {cross_attention_word, padding_word, "cache_level", "own_cache",
                                                         "xLSTMCache"};

/// Whether `layers[].kind` of an answer can be this word, whatever engine gives it.
[[nodiscard]] constexpr bool is_layer_word(std::string_view word) noexcept {
  for (const layer_kind_name& n : layer_kind_names) {
    if (n.word == word) return name_of(n.kind) == word;
  }
  return std::find(std::begin(other_layer_words), std::end(other_layer_words), word) != std::end(other_layer_words);
}

/// What a decoder layer keeps, by which engines without kinds of their own name it.
struct kept_parts {
  bool attention = false;
  bool state = false;       ///< recurrent, or of a convolution
  bool conv_only = false;   ///< the state is a convolution's alone
  bool index_keys = false;  ///< of its own, or of an earlier layer
  bool slides = false;
  bool chunks = false;
  std::uint64_t positions_of_row = 1;  ///< of compressed keys (DeepSeek-V4)
};

[[nodiscard]] constexpr layer_kind kind_of(const kept_parts& kept) noexcept {
  using enum layer_kind;
  if (kept.state && kept.attention) return kept.slides ? hybrid_sliding : hybrid;
  if (kept.state) return kept.conv_only ? conv : linear;
  if (kept.positions_of_row == 4) return compressed_sparse;
  if (kept.positions_of_row == 128) return heavily_compressed;
  if (kept.index_keys) return indexed;
  if (kept.chunks) return chunked;
  return kept.slides ? sliding : full;
}

}  // namespace kvbudget::detail::config
