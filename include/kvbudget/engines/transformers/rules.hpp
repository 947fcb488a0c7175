// Hugging Face transformers: what its cache classes hold.
//
// Source: transformers 5.24.0, src/transformers/cache_utils.py (class names below), generation/utils.py. The tensors
// are counted as the cache returns them; `dynamic_cache_storage` counts what their views keep alive.
#pragma once

#include <kvbudget/core/layers.hpp>

namespace kvbudget::detail::transformers {

/// DynamicCache: grows with the sequence. DynamicLayer keeps every position; DynamicSlidingWindowLayer keeps the last
/// window - 1 (the next one makes the window full); chunked layers use the same class.
struct dynamic_cache {};

/// The storage behind a DynamicCache. A sliding layer returns a slice of what it was given, so right after a prefill
/// longer than the window all positions are still alive, and after a decode step window - 1 old ones and the new one.
struct dynamic_cache_storage {};

/// StaticCache: `max_cache_len` positions from the start, min(window, max_cache_len) in sliding and chunked layers.
/// Cross attention has `cross_max_cache_len` (0: the encoder's length).
struct static_cache {
  tokens max_cache_len;
  tokens cross_max_cache_len;
};

// ---- DynamicCache ------------------------------------------------------------------------------------------------

/// Positions of a DynamicSlidingWindowLayer. A window of 1 would keep none, but the slice [-0:] keeps them all
/// (DynamicSlidingWindowLayer.update).
[[nodiscard]] constexpr checked_count kept_of_window(checked_count n, tokens window) noexcept {
  return window.count() <= 1 ? n : smaller(n, window.count() - 1);
}
/// Positions that the storage of such a layer still holds.
[[nodiscard]] constexpr checked_count alive_of_window(const request& r, tokens window) noexcept {
  if (r.generated.count() == 0) return r.prompt.count();
  return kept_of_window(checked_count(r.prompt.count()) + (r.generated.count() - 1), window) + 1U;
}

[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const full_attention&,
                                                const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const mla_attention&, const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const index_keys&, const request& r) noexcept {
  return r.length();
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const cross_attention& l,
                                                const request& r) noexcept {
  return l.window.count() == 0 ? checked_count(r.encoder.count()) : kept_of_window(r.encoder.count(), l.window);
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const sliding_window_attention& l,
                                                const request& r) noexcept {
  return kept_of_window(r.length(), l.window);
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const chunked_local_attention& l,
                                                const request& r) noexcept {
  return kept_of_window(r.length(), l.chunk);
}

/// RecurrentGemma until 5.4 (modeling_recurrent_gemma.py): the module's own buffer; a prompt longer than the window
/// leaves a slice of itself in it.
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const ring_buffer_attention& l,
                                                const request&) noexcept {
  return l.window.count();
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache_storage&, const ring_buffer_attention& l,
                                                const request& r) noexcept {
  return r.generated.count() == 0 ? larger(r.prompt.count(), l.window.count()) : checked_count(l.window.count());
}

/// `mems` of XLNet: slices of what the last forward pass returned.
[[nodiscard]] constexpr checked_count positions(const dynamic_cache&, const segment_memory& l,
                                                const request& r) noexcept {
  return smaller(r.length(), l.length.count());
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache_storage&, const segment_memory&,
                                                const request& r) noexcept {
  return r.length();
}

template <class Layer>
requires(std::same_as<Layer, full_attention> || std::same_as<Layer, mla_attention> || std::same_as<Layer, index_keys>)
    [[nodiscard]] constexpr checked_count
    positions(const dynamic_cache_storage&, const Layer& l, const request& r) noexcept {
  return positions(dynamic_cache{}, l, r);
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache_storage&, const sliding_window_attention& l,
                                                const request& r) noexcept {
  return alive_of_window(r, l.window);
}
[[nodiscard]] constexpr checked_count positions(const dynamic_cache_storage&, const chunked_local_attention& l,
                                                const request& r) noexcept {
  return alive_of_window(r, l.chunk);
}

/// Written once, by the prefill.
[[nodiscard]] constexpr checked_count positions(const dynamic_cache_storage&, const cross_attention&,
                                                const request& r) noexcept {
  return r.encoder.count();
}

// ---- StaticCache ---------------------------------------------------------------------------------------------------

/// A layer that keeps every position has no place for one more than was reserved (StaticLayer.update).
template <class Layer>
requires(std::same_as<Layer, full_attention> || std::same_as<Layer, mla_attention> || std::same_as<Layer, index_keys>)
    [[nodiscard]] constexpr checked_count positions(const static_cache& c, const Layer&, const request& r) noexcept {
  if (!r.length().fits(c.max_cache_len.count())) return checked_count::failed(failure::exceeds_reservation);
  return c.max_cache_len.count();
}
[[nodiscard]] constexpr checked_count positions(const static_cache& c, const sliding_window_attention& l,
                                                const request&) noexcept {
  return smaller(c.max_cache_len.count(), l.window.count());
}
[[nodiscard]] constexpr checked_count positions(const static_cache& c, const chunked_local_attention& l,
                                                const request&) noexcept {
  return smaller(c.max_cache_len.count(), l.chunk.count());
}
[[nodiscard]] constexpr checked_count positions(const static_cache& c, const cross_attention& l,
                                                const request& r) noexcept {
  const std::uint64_t n = c.cross_max_cache_len.count() != 0 ? c.cross_max_cache_len.count() : r.encoder.count();
  return l.window.count() == 0 ? checked_count(n) : smaller(n, l.window.count());
}

// ---- Prompt kept whole, generation in a window (UnlimitedOcr…ReferenceSlidingWindowLayer) ---------------------------

[[nodiscard]] constexpr footprint reference_window(const reference_window_attention& l, checked_count prompt,
                                                   checked_count window, std::uint64_t sequences) noexcept {
  const footprint kept = bytes_of_positions(l, window * sequences);
  return {kept.k, kept.v, bytes_of_positions(l, prompt * sequences).total()};
}

[[nodiscard]] constexpr footprint allocated(const dynamic_cache&, const reference_window_attention& l,
                                            const uniform_batch& b) noexcept {
  return reference_window(l, b.each.prompt.count(), kept_of_window(b.each.generated.count(), l.window), b.sequences);
}
[[nodiscard]] constexpr footprint allocated(const dynamic_cache_storage&, const reference_window_attention& l,
                                            const uniform_batch& b) noexcept {
  const request generated(tokens(), b.each.generated);
  return reference_window(l, b.each.prompt.count(), alive_of_window(generated, l.window), b.sequences);
}
[[nodiscard]] constexpr footprint allocated(const static_cache& c, const reference_window_attention& l,
                                            const uniform_batch& b) noexcept {
  const checked_count window = smaller(c.max_cache_len.count(), l.window.count());
  return reference_window(l, smaller(b.each.prompt.count(), checked_count(c.max_cache_len.count()) - window), window,
                          b.sequences);
}

// ---- Compressed keys (DeepseekV4HCACache, DeepseekV4CSACache; there is no static form)
// -------------------------------

[[nodiscard]] constexpr footprint allocated(const dynamic_cache&, const compressed_keys& l,
                                            const uniform_batch& b) noexcept {
  return allocated(stored_positions{}, l, b);
}
/// The waiting rows are slices of all that the last forward pass projected: the whole prompt after a prefill, what
/// waited before and the new position after a decode step.
[[nodiscard]] constexpr footprint allocated(const dynamic_cache_storage&, const compressed_keys& l,
                                            const uniform_batch& b) noexcept {
  const checked_count waiting =
      b.each.generated.count() == 0 ? checked_count(b.each.prompt.count()) : (b.each.length() - 1U) % l.rate + 1U;
  return kvbudget::detail::compressed(l, b.each.length(), waiting) * b.sequences;
}

// ---- QuantizedCache
// --------------------------------------------------------------------------------------------------

/// Who quantizes (QuantoQuantizedLayer, HQQQuantizedLayer, Fp8QuantizedLayer).
enum class quantization_backend : std::uint8_t { quanto, hqq, fp8 };

/// QuantizedCache: the prompt is quantized at once, whatever its length; generated positions collect unquantized until
/// `residual_length` of them are there, and then everything is quantized again (QuantizedLayer.update). Only models
/// whose layers are all full attention have one.
struct quantized_cache {
  quantization_backend backend = quantization_backend::quanto;
  std::uint32_t nbits = 4;
  std::uint32_t q_group_size = 64;
  std::uint32_t residual_length = 128;
  std::uint32_t axis_key = 0;
  std::uint32_t axis_value = 0;
};

struct quantized_split {
  checked_count quantized;
  checked_count residual;
};

/// Positions by state after prompt and generation.
[[nodiscard]] constexpr quantized_split split_of(const quantized_cache& c, const request& r) noexcept {
  if (c.backend == quantization_backend::fp8) return {r.length(), 0U};
  const std::uint64_t flush = c.residual_length == 0 ? 1 : c.residual_length;
  const std::uint64_t residual = r.generated.count() % flush;
  return {checked_count(r.prompt.count()) + (r.generated.count() - residual), residual};
}

/// Bytes of the quantized part of one tensor, [sequences, heads, positions, head_size]. `row.type` is that of the
/// unquantized cache: scales and zero points (or shifts) have it too. Elements that do not fill whole groups cannot be
/// quantized.
[[nodiscard]] constexpr checked_count quantized_tensor(const quantized_cache& c, const kv_row& row,
                                                       std::uint64_t sequences, checked_count positions,
                                                       std::uint32_t axis) noexcept {
  const checked_count elements = checked_count(row.heads) * row.head_size * sequences * positions;
  if (c.backend == quantization_backend::fp8) return elements + 4U;  // e4m3 and one float32 scale
  const bool quanto = c.backend == quantization_backend::quanto;
  const checked_count groups = elements / c.q_group_size;
  // Quanto's groups lie within one index of the axis: a sequence (0), or a place in the head (the last axis).
  const std::uint64_t slices = !quanto ? 1 : axis == 0 ? sequences : row.head_size;
  if (slices != 0 && (elements / slices % c.q_group_size).value_or(0) != 0) {
    return checked_count::failed(failure::partial_block);
  }
  const checked_count scales = row.type.row_bytes(groups * 2U);
  // Both pack along the rows of a matrix of groups. HQQ has q_group_size rows for axis 0 and as many columns for
  // axis 1; Quanto the other way round.
  const bool group_is_column = quanto ? axis != 0 : axis == 0;
  const checked_count rows = group_is_column ? checked_count(c.q_group_size) : groups;
  const checked_count columns = group_is_column ? groups : checked_count(c.q_group_size);
  const std::uint32_t together = 8U / c.nbits;
  if (quanto) return div_ceil(rows, together) * columns + scales;                 // packed.py, pack_weights
  const checked_count packed = c.nbits == 3 ? div_ceil(rows, 10U) * columns * 4U  // ten 3-bit numbers in an int32
                                            : rows / together * columns;
  return packed + scales;
}

[[nodiscard]] constexpr checked_count quantized_rows(const quantized_cache& c, const kv_row& row,
                                                     const quantized_split& n, std::uint64_t sequences,
                                                     std::uint32_t axis) noexcept {
  const checked_count width = checked_count(row.heads) * row.head_size * sequences;
  return quantized_tensor(c, row, sequences, n.quantized, axis) + row.type.row_bytes(width * n.residual);
}

[[nodiscard]] constexpr footprint quantized(const quantized_cache& c, const kv_row& k, const kv_row& v,
                                            const uniform_batch& b) noexcept {
  const quantized_split n = split_of(c, b.each);
  return {quantized_rows(c, k, n, b.sequences, c.axis_key), quantized_rows(c, v, n, b.sequences, c.axis_value), 0U};
}

[[nodiscard]] constexpr footprint allocated(const quantized_cache& c, const full_attention& l,
                                            const uniform_batch& b) noexcept {
  return quantized(c, l.k, l.v, b);
}
/// The latent is cached as K, and the row with the position as V.
[[nodiscard]] constexpr footprint allocated(const quantized_cache& c, const mla_attention& l,
                                            const uniform_batch& b) noexcept {
  return quantized(c, l.latent, l.rope, b);
}

// ---- Where bytes shrink as a sequence grows -------------------------------------------------------------------------

/// The residual empties; it was fullest just before.
template <class Layer, class At>
requires(std::same_as<Layer, full_attention> ||
         std::same_as<Layer, mla_attention>) constexpr void peaks(const quantized_cache& c, const Layer&,
                                                                  const request& r, const At& at) {
  const std::uint64_t flush = c.residual_length;
  const std::uint64_t generated = r.generated.count();
  if (c.backend == quantization_backend::fp8 || flush <= 1 || generated < flush) return;
  at(request(r.prompt, tokens(generated - generated % flush - 1), r.encoder));
}

template <class At>
constexpr void peaks(const dynamic_cache&, const compressed_keys& l, const request& r, const At& at) {
  peaks(stored_positions{}, l, r, at);
}

/// A prompt longer than the window is let go with the first step.
template <class Layer, class At>
requires(std::same_as<Layer, sliding_window_attention> || std::same_as<Layer, chunked_local_attention> ||
         std::same_as<Layer, ring_buffer_attention>) constexpr void peaks(const dynamic_cache_storage&, const Layer&,
                                                                          const request& r, const At& at) {
  if (r.generated.count() != 0) at(request(r.prompt, tokens(), r.encoder));
}
template <class At>
constexpr void peaks(const dynamic_cache_storage&, const compressed_keys& l, const request& r, const At& at) {
  const std::uint64_t n = r.length().value_or(0);
  if (r.generated.count() == 0) return;
  at(request(r.prompt, tokens(), r.encoder));
  if (l.rate > 1 && n - n % l.rate > r.prompt.count()) at(kvbudget::detail::earlier(r, n - n % l.rate));
}

/// The cache classes above.
template <class Policy>
concept cache_class = std::same_as<Policy, dynamic_cache> || std::same_as<Policy, dynamic_cache_storage> ||
    std::same_as<Policy, static_cache> || std::same_as<Policy, quantized_cache>;

// ---- Offloading
// ------------------------------------------------------------------------------------------------------

/// Offloaded caches hold the same tensors; all layers live on the host, and the device holds the one at work and the
/// one that is fetched ahead (Cache(offloading=True): prefetch of layer i + 1 while layer i runs).
struct offload_split {
  checked_count host;
  checked_count device;
};

/// From the bytes of each layer in order. `offload_only_non_sliding` leaves sliding layers on the device.
template <class Sizes>
[[nodiscard]] constexpr offload_split split_offloaded(const Sizes& layer_bytes) noexcept {
  offload_split result{0U, 0U};
  checked_count previous = 0U;
  for (const auto& size : layer_bytes) {
    const checked_count here(size);
    result.host += here;
    result.device = larger(result.device, previous + here);
    previous = here;
  }
  return result;
}

}  // namespace kvbudget::detail::transformers

namespace kvbudget {

/// A batch is one tensor in every cache class of transformers.
template <class Policy>
requires detail::transformers::cache_class<Policy>
inline constexpr bool pads_to_longest<Policy> = true;

}  // namespace kvbudget

/// The cache classes as policies of the core: `total_footprint(layers, kvbudget::transformers::static_cache{...},
/// request)`.
namespace kvbudget::transformers {

using detail::transformers::dynamic_cache;
using detail::transformers::dynamic_cache_storage;
using detail::transformers::offload_split;
using detail::transformers::quantized_cache;
using detail::transformers::split_offloaded;
using detail::transformers::static_cache;

}  // namespace kvbudget::transformers
