// mlx-lm: how its cache classes grow, forward by forward, in closed form.
//
// Source: mlx-lm 0.32.2, mlx_lm/models/cache.py (class names below) and generate_step of mlx_lm/generate.py. A prompt
// is prefilled in full steps and a rest, up to its last token; that one and every generated token are a forward each.
#pragma once

#include <algorithm>
#include <string_view>

#include <kvbudget/core/storage_type.hpp>

namespace kvbudget::detail::mlx_lm {

enum class cache_class : std::uint8_t { kv, rotating, chunked, arrays };

/// One cache object. A row is one position: heads * (k_size + v_size) elements.
struct cache {
  cache_class kind = cache_class::kv;
  std::uint64_t heads = 0;
  std::uint64_t k_size = 0;
  std::uint64_t v_size = 0;
  std::uint64_t window = 0;       ///< max_size of RotatingKVCache, chunk_size of ChunkedKVCache
  std::uint64_t keep = 0;         ///< the first rows, which a RotatingKVCache never drops
  std::uint64_t elements = 0;     ///< ArraysCache: of the model's type
  std::uint64_t float_bytes = 0;  ///< ArraysCache: states in float32, whatever the model's type
  friend constexpr bool operator==(const cache&, const cache&) noexcept = default;
};

/// The lengths of the forwards: `full` of `step` positions, one of `rest` (0: none), then `singles` of one position.
struct forwards {
  std::uint64_t full = 0;
  std::uint64_t step = 1;
  std::uint64_t rest = 0;
  std::uint64_t singles = 0;
  [[nodiscard]] constexpr checked_count positions() const noexcept {
    return checked_count(full) * step + rest + singles;
  }
};

/// The most positions that are computed with.
inline constexpr std::uint64_t max_positions = std::uint64_t{1} << 62U;

/// generate_step: the prefill stops before the last token; the model is called once more than tokens are asked for.
[[nodiscard]] constexpr forwards forwards_of(std::uint64_t prompt, std::uint64_t max_tokens,
                                             std::uint64_t step) noexcept {
  if (prompt == 0) return {0, step, 0, 0};
  return {(prompt - 1) / step, step, (prompt - 1) % step, max_tokens + 1};
}

/// QuantizedKVCache: every KVCache that is no part of a list, once it has `start` positions.
struct quantization {
  std::uint32_t bits = 0;  ///< 0: none
  std::uint32_t group_size = 64;
  std::uint64_t start = 5000;
};

inline constexpr std::uint64_t row_step = 256;  // KVCache.step

[[nodiscard]] constexpr std::uint64_t up_to_step(std::uint64_t n) noexcept {
  return (n + row_step - 1) / row_step * row_step;
}

/// Rows that are filled and rows that are there (KVCache, QuantizedKVCache, ChunkedKVCache).
struct grown_rows {
  std::uint64_t filled = 0;
  std::uint64_t rows = 0;

  /// KVCache.update_and_fetch: rows that are no whole number of steps are cut to the filled ones before they grow.
  constexpr void add(std::uint64_t n) noexcept {
    if (filled + n > rows) rows = (filled % row_step != 0 ? filled : rows) + up_to_step(n);
    filled += n;
  }
  constexpr void add_singles(std::uint64_t times) noexcept {
    filled += times;
    if (filled > rows) rows += up_to_step(filled - rows);
  }
  /// `times` forwards of `n` positions. What a forward does depends on filled % 256 and on the free rows alone: once
  /// such a pair comes back, whole rounds are skipped.
  constexpr void add(std::uint64_t n, std::uint64_t times) noexcept {
    if (n == 1) return add_singles(times);
    grown_rows mark = *this;
    for (std::uint64_t since_mark = 0, limit = 1; times > 0;) {
      add(n);
      --times;
      ++since_mark;
      if (filled % row_step == mark.filled % row_step && rows - filled == mark.rows - mark.filled) {
        const std::uint64_t skipped = times / since_mark * (filled - mark.filled);
        filled += skipped;
        rows += skipped;
        for (times %= since_mark; times > 0; --times) add(n);
      } else if (since_mark == limit) {
        mark = *this;
        since_mark = 0;
        limit *= 2;
      }
    }
  }
};

[[nodiscard]] constexpr grown_rows kv_rows(const forwards& f) noexcept {
  grown_rows r;
  r.add(f.step, f.full);
  if (f.rest > 0) r.add(f.rest);
  r.add_singles(f.singles);
  return r;
}

/// ChunkedKVCache: before a forward, maybe_trim_front leaves the last `chunk` positions.
constexpr void add_chunked(grown_rows& r, std::uint64_t chunk, std::uint64_t n, std::uint64_t times) noexcept {
  if (r.filled <= chunk && times > 0) {
    const std::uint64_t before_trim = std::min(times, (chunk - r.filled) / n + 1);
    r.add(n, before_trim);
    times -= before_trim;
  }
  if (times == 0) return;
  r = {chunk, chunk};  // and every further forward begins with the same
  r.add(n);
}

[[nodiscard]] constexpr std::uint64_t chunked_rows(const forwards& f, std::uint64_t chunk) noexcept {
  grown_rows r;
  add_chunked(r, chunk, f.step, f.full);
  if (f.rest > 0) add_chunked(r, chunk, f.rest, 1);
  add_chunked(r, chunk, 1, f.singles);
  return r.rows;
}

/// RotatingKVCache with a window above `keep`: _update_concat leaves at most window - 1 rows before the new ones;
/// _update_in_place grows by steps up to the window, and cuts what is above it.
[[nodiscard]] constexpr std::uint64_t rotating_rows(const forwards& f, std::uint64_t window) noexcept {
  std::uint64_t filled = 0, rows = 0, singles = f.singles;
  const auto concatenate = [&](std::uint64_t n) {
    rows = std::min(rows, window - 1) + n;
    filled += n;
  };
  if (f.step == 1) singles += f.full;
  else if (f.full > 0) {
    rows = std::min((f.full - 1) * f.step, window - 1) + f.step;
    filled = f.full * f.step;
  }
  if (f.rest == 1) ++singles;
  else if (f.rest > 0) concatenate(f.rest);
  if (singles == 0) return rows;
  const std::uint64_t wanted = std::min(filled + singles, window);
  if (rows < wanted) rows = std::min(rows + up_to_step(wanted - rows), window);
  return std::min(rows, window);
}

/// Rows of a cache after these forwards.
[[nodiscard]] constexpr std::uint64_t rows_after(const cache& c, const forwards& f) noexcept {
  switch (c.kind) {
    case cache_class::rotating: return rotating_rows(f, c.window);
    case cache_class::chunked: return chunked_rows(f, c.window);
    case cache_class::kv: return kv_rows(f).rows;
    case cache_class::arrays: break;
  }
  return 0;
}

/// K, V and states of a cache, in bytes.
struct cache_bytes {
  checked_count k = 0U;
  checked_count v = 0U;
  checked_count other = 0U;
  [[nodiscard]] constexpr checked_count total() const noexcept { return k + v + other; }
};

/// mx.quantize: `bits` per element in words of 32 bits, a scale and a bias per group in the model's type.
[[nodiscard]] constexpr checked_count quantized_row_bytes(std::uint64_t size, const quantization& q,
                                                          storage_type model) noexcept {
  const checked_count words = checked_count(size) * q.bits / 32U;
  return words * 4U + model.row_bytes(checked_count(size) / q.group_size * 2U);
}

/// Bytes for one sequence. `quantized` as the cache is held, whatever the forwards say.
[[nodiscard]] constexpr cache_bytes bytes_after(const cache& c, const forwards& f, storage_type model,
                                                const quantization& q, bool quantized) noexcept {
  if (!f.positions().fits(max_positions)) {
    const checked_count none = checked_count::failed(failure::overflow);
    return {none, none, none};
  }
  if (c.kind == cache_class::arrays) {
    if (f.positions().value_or(0) == 0) return {};
    return {0U, 0U, model.row_bytes(c.elements) + c.float_bytes};
  }
  const checked_count rows = checked_count(c.heads) * rows_after(c, f);
  if (quantized && c.kind == cache_class::kv) {
    return {rows * quantized_row_bytes(c.k_size, q, model), rows * quantized_row_bytes(c.v_size, q, model), 0U};
  }
  return {model.row_bytes(rows * c.k_size), model.row_bytes(rows * c.v_size), 0U};
}

}  // namespace kvbudget::detail::mlx_lm
