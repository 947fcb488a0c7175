// The cache classes of mlx-lm: rows after prefill and steps, against the package's loop written out.
#include <kvbudget/engines/mlx_lm/rules.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::detail::mlx_lm;

constexpr cache full{cache_class::kv, 2, 64, 64};
constexpr cache window_512{cache_class::rotating, 2, 64, 64, 512};
constexpr cache chunk_300{cache_class::chunked, 2, 64, 64, 300};

/// cache.py, step by step.
struct simulated {
  std::uint64_t offset = 0, rows = 0, start = 0, index = 0;

  constexpr void grow(std::uint64_t n) {
    const std::uint64_t held = offset - start;
    if (rows == 0 || held + n > rows) rows = (held % 256 != 0 ? held : rows) + (255 + n) / 256 * 256;
    offset += n;
  }
  constexpr void forward(const cache& c, std::uint64_t n) {
    if (c.kind == cache_class::kv) return grow(n);
    if (c.kind == cache_class::chunked) {
      if (offset - start > c.window) start = offset - c.window, rows = c.window;
      return grow(n);
    }
    if (n > 1) {
      if (rows == 0) rows = n;
      else {
        const std::uint64_t held = index == rows || index < offset ? rows : index;
        rows = (held + 1 > c.window ? c.window - 1 : held) + n;
      }
      index = rows;
      offset += n;
      return;
    }
    if (rows == 0 || (offset >= rows && rows < c.window)) {
      rows += std::min<std::uint64_t>(256, c.window - offset);
      index = offset;
    }
    if (rows > c.window) rows = index = c.window;
    if (index == c.window) index = c.keep;
    ++offset;
    ++index;
  }
};
constexpr std::uint64_t loop(const cache& c, std::uint64_t prompt, std::uint64_t max_tokens, std::uint64_t step) {
  simulated s;
  for (; prompt > 1; prompt -= std::min(step, prompt - 1)) s.forward(c, std::min(step, prompt - 1));
  for (std::uint64_t i = 0; i <= max_tokens; ++i) s.forward(c, 1);
  return s.rows;
}
constexpr std::uint64_t rows(const cache& c, std::uint64_t prompt, std::uint64_t max_tokens,
                             std::uint64_t step = 2048) {
  return rows_after(c, forwards_of(prompt, max_tokens, step));
}
constexpr bool agrees(const cache& c, std::uint64_t step, std::uint64_t stride) {
  for (std::uint64_t prompt = 1; prompt < 1400; prompt += stride) {
    for (const std::uint64_t max_tokens : {0U, 1U, 300U}) {
      if (rows(c, prompt, max_tokens, step) != loop(c, prompt, max_tokens, step)) return false;
    }
  }
  return true;
}

// Rows are cut to what is filled before they grow: 4096 positions in steps of 1000.
static_assert(rows(full, 4097, 2, 1000) == 4256);
static_assert(rows(full, 257, 1) == 512);
static_assert(rows(full, 1, 254) == 256 && rows(full, 1, 255) == 256 && rows(full, 1, 256) == 512);
static_assert(rows(window_512, 100, 3) == 99 + 256);
static_assert(rows(window_512, 5000, 0) == 512);
static_assert(rows_after(window_512, {2, 2048, 0, 0}) == 511 + 2048);  // during the prefill
static_assert(rows(chunk_300, 5000, 3) == 556);

static_assert(agrees(full, 2048, 37) && agrees(full, 1, 237) && agrees(full, 100, 41) && agrees(full, 3, 331));
static_assert(agrees(window_512, 2048, 37) && agrees(window_512, 1, 237) && agrees(window_512, 100, 41));
static_assert(agrees(chunk_300, 2048, 37) && agrees(chunk_300, 1, 237) && agrees(chunk_300, 100, 41));
static_assert(agrees({cache_class::chunked, 1, 1, 1, 512}, 7, 311));

// No length takes long, and none wraps around.
constexpr std::uint64_t huge = std::uint64_t{1} << 61U;
static_assert(rows(full, huge, huge - 1, 3) >= 2 * huge - 1);
static_assert(rows(chunk_300, huge, huge - 1, 2) == 556);
static_assert(rows(window_512, huge, huge - 1, 2) == 512);
static_assert(bytes_after(full, forwards_of(~std::uint64_t{0}, 1, 1), bf16, {}, false).total().reason() ==
              failure::overflow);

// 4 bits and, for 64 elements, a scale and a bias in the model's type.
static_assert(quantized_row_bytes(128, {4, 64, 0}, bf16) == checked_count(128 / 2 + 2 * 2 * 2));
static_assert(quantized_row_bytes(128, {6, 32, 0}, f32) == checked_count(96 + 4 * 2 * 4));
static_assert(!quantized_row_bytes(0, {4, 0, 0}, bf16).valid());

}  // namespace
