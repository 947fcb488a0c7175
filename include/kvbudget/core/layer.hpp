// What one layer keeps: small values that know what one position and one sequence cost, and nothing of engines.
//
// Which positions are kept is the cache policy's business (cache.hpp): kind and policy meet there by overload.
#pragma once

#include <kvbudget/core/storage_type.hpp>

namespace kvbudget {

/// One position of one cached tensor: `heads` x `head_size` elements. The heads are those of K and V
/// (num_key_value_heads), never the query heads.
struct kv_row {
  std::uint64_t heads = 0;
  std::uint64_t head_size = 0;
  storage_type type{};

  friend constexpr bool operator==(const kv_row&, const kv_row&) noexcept = default;

  [[nodiscard]] constexpr checked_count row_bytes() const noexcept {
    return type.row_bytes(checked_count(heads) * head_size);
  }
};

/// Bytes of a layer or of a whole cache by purpose: keys, values, and all else (states, index keys, scales).
struct footprint {
  checked_count k;
  checked_count v;
  checked_count other;

  [[nodiscard]] constexpr checked_count total() const noexcept { return k + v + other; }

  friend constexpr footprint operator+(const footprint& a, const footprint& b) noexcept {
    return {a.k + b.k, a.v + b.v, a.other + b.other};
  }
  friend constexpr footprint operator*(const footprint& a, checked_count n) noexcept {
    return {a.k * n, a.v * n, a.other * n};
  }
  friend constexpr bool operator==(const footprint&, const footprint&) noexcept = default;
};

/// Keeps K and V of every position.
struct full_attention {
  kv_row k;
  kv_row v;
  friend constexpr bool operator==(const full_attention&, const full_attention&) noexcept = default;
};

/// Attends to the last `window` positions, the current one included (`sliding_window`).
struct sliding_window_attention {
  kv_row k;
  kv_row v;
  tokens window;
  friend constexpr bool operator==(const sliding_window_attention&, const sliding_window_attention&) noexcept = default;
};

/// Attends within chunks of `chunk` positions (`attention_chunk_size`, Llama 4).
struct chunked_local_attention {
  kv_row k;
  kv_row v;
  tokens chunk;
  friend constexpr bool operator==(const chunked_local_attention&, const chunked_local_attention&) noexcept = default;
};

/// Keeps the first `sinks` positions and the last `window` ones (StreamingLLM, arXiv:2309.17453).
struct sink_window_attention {
  kv_row k;
  kv_row v;
  tokens sinks;
  tokens window;
  friend constexpr bool operator==(const sink_window_attention&, const sink_window_attention&) noexcept = default;
};

/// Allocates its whole window when the sequence starts and writes around in it.
struct ring_buffer_attention {
  kv_row k;
  kv_row v;
  tokens window;
  friend constexpr bool operator==(const ring_buffer_attention&, const ring_buffer_attention&) noexcept = default;
};

/// Keeps the whole prompt, and a window of the generated positions only.
struct reference_window_attention {
  kv_row k;
  kv_row v;
  tokens window;
  friend constexpr bool operator==(const reference_window_attention&,
                                   const reference_window_attention&) noexcept = default;
};

/// Multi-head latent attention: one row of kv_lora_rank elements and one of qk_rope_head_dim for all heads
/// (DeepSeek-V2, arXiv:2405.04434).
struct mla_attention {
  kv_row latent;
  kv_row rope;
  friend constexpr bool operator==(const mla_attention&, const mla_attention&) noexcept = default;
};

/// Keys of a sparse-attention indexer, kept for every position beside K and V or a latent (DeepSeek-V3.2).
struct index_keys {
  kv_row key;
  friend constexpr bool operator==(const index_keys&, const index_keys&) noexcept = default;
};

/// K and V of the encoder's positions; they do not grow with the generation.
struct cross_attention {
  kv_row k;
  kv_row v;
  tokens window{};  ///< the last positions that are kept; 0: all of them
  friend constexpr bool operator==(const cross_attention&, const cross_attention&) noexcept = default;
};

/// A state of fixed size per sequence: SSM, linear attention, convolution, memory.
struct recurrent_state {
  std::uint64_t elements = 0;
  storage_type type{};
  friend constexpr bool operator==(const recurrent_state&, const recurrent_state&) noexcept = default;
};

/// Hidden states of the last `length` positions, reused as context (Transformer-XL, arXiv:1901.02860).
struct segment_memory {
  kv_row row;
  tokens length;
  friend constexpr bool operator==(const segment_memory&, const segment_memory&) noexcept = default;
};

/// Keys compressed `rate` positions to one, with the rows that wait for their group to be complete
/// (DeepSeek-V4 compressor; transformers models/deepseek_v4/modeling_deepseek_v4.py).
struct compressed_keys {
  kv_row row;                 ///< one compressed key
  std::uint64_t rate = 1;     ///< positions per compressed key
  std::uint64_t streams = 1;  ///< waiting rows per position, for kv and gate each: 2 where neighbouring groups overlap
  storage_type gate_type{};   ///< of the gate rows that are kept for the overlap
  friend constexpr bool operator==(const compressed_keys&, const compressed_keys&) noexcept = default;
};

/// Reads another layer's K and V; keeps nothing itself.
struct shared_kv {
  friend constexpr bool operator==(const shared_kv&, const shared_kv&) noexcept = default;
};

/// Keeps nothing (MLP, MoE, identity).
struct no_cache {
  friend constexpr bool operator==(const no_cache&, const no_cache&) noexcept = default;
};

/// Two parts in one layer: a latent with index keys beside it, attention and a recurrent state in parallel.
template <class First, class Second>
struct layer_pair {
  First first;
  Second second;
  friend constexpr bool operator==(const layer_pair&, const layer_pair&) noexcept = default;
};
template <class First, class Second>
layer_pair(First, Second) -> layer_pair<First, Second>;

/// The kinds whose cost is positions times a row; the policy only says how many positions.
template <class T>
concept positional_layer = requires(const T& layer) {
  { bytes_of_positions(layer, checked_count()) } -> std::same_as<footprint>;
};

namespace detail {
constexpr footprint kv_positions(const kv_row& k, const kv_row& v, checked_count n) noexcept {
  return {k.row_bytes() * n, v.row_bytes() * n, 0U};
}
}  // namespace detail

[[nodiscard]] constexpr footprint bytes_of_positions(const full_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const sliding_window_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const chunked_local_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const sink_window_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const ring_buffer_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const reference_window_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const mla_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.latent, l.rope, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const cross_attention& l, checked_count n) noexcept {
  return detail::kv_positions(l.k, l.v, n);
}
[[nodiscard]] constexpr footprint bytes_of_positions(const segment_memory& l, checked_count n) noexcept {
  return {0U, 0U, l.row.row_bytes() * n};
}
[[nodiscard]] constexpr footprint bytes_of_positions(const index_keys& l, checked_count n) noexcept {
  return {0U, 0U, l.key.row_bytes() * n};
}

/// Grouped-query attention with K and V of one shape: the usual case in one line.
[[nodiscard]] constexpr full_attention grouped_query_attention(std::uint64_t num_key_value_heads,
                                                               std::uint64_t head_size, storage_type k_type,
                                                               storage_type v_type) noexcept {
  return {{num_key_value_heads, head_size, k_type}, {num_key_value_heads, head_size, v_type}};
}
[[nodiscard]] constexpr full_attention grouped_query_attention(std::uint64_t num_key_value_heads,
                                                               std::uint64_t head_size, storage_type type) noexcept {
  return grouped_query_attention(num_key_value_heads, head_size, type, type);
}

/// The same with a sliding window.
[[nodiscard]] constexpr sliding_window_attention with_window(const full_attention& layer, tokens window) noexcept {
  return {layer.k, layer.v, window};
}

}  // namespace kvbudget
