// The cache classes of transformers: what they hold after a prefill and after steps.
#include <array>

#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::detail::transformers;

constexpr kv_row row{2, 64, bf16};  // 256 bytes a position
constexpr full_attention full{row, row};
constexpr sliding_window_attention window_8{row, row, 8_tokens};
constexpr sliding_window_attention window_1{row, row, 1_tokens};
constexpr chunked_local_attention chunk_8{row, row, 8_tokens};
constexpr cross_attention cross{row, row};
constexpr cross_attention cross_window{row, row, 8_tokens};

template <class Layer, class Policy>
constexpr std::uint64_t kept(const Layer& layer, const Policy& policy, const request& r) {
  return (total_footprint(layer, policy, uniform_batch{r, 3}).k / 256U / 3U).value();
}
constexpr request prefill(std::uint64_t n) { return request(tokens(n), 0_tokens, 30_tokens); }
constexpr request steps(std::uint64_t n, std::uint64_t m) { return request(tokens(n), tokens(m), 30_tokens); }

constexpr dynamic_cache dynamic;
constexpr dynamic_cache_storage storage;
constexpr static_cache of_100{100_tokens, 0_tokens};

// A window of w keeps w - 1: the next position makes it full
static_assert(kept(full, dynamic, prefill(37)) == 37 && kept(full, dynamic, steps(37, 5)) == 42);
static_assert(kept(window_8, dynamic, prefill(6)) == 6 && kept(window_8, dynamic, prefill(7)) == 7);
static_assert(kept(window_8, dynamic, prefill(8)) == 7 && kept(window_8, dynamic, prefill(1000)) == 7);
static_assert(kept(window_8, dynamic, steps(3, 2)) == 5 && kept(window_8, dynamic, steps(30, 9)) == 7);
static_assert(kept(chunk_8, dynamic, prefill(1000)) == 7 && kept(chunk_8, dynamic, prefill(5)) == 5);
// ... but a window of one keeps everything: the slice [-0:] is the whole
static_assert(kept(window_1, dynamic, prefill(37)) == 37 && kept(window_1, dynamic, steps(37, 5)) == 42);

// The storage behind a slice: the whole prompt until the first step, then w - 1 old positions and the new one
static_assert(kept(full, storage, steps(37, 5)) == 42);
static_assert(kept(window_8, storage, prefill(1000)) == 1000 && kept(window_8, storage, steps(1000, 1)) == 8);
static_assert(kept(window_8, storage, prefill(5)) == 5 && kept(window_8, storage, steps(5, 1)) == 6);
static_assert(kept(window_8, storage, steps(5, 2)) == 7 && kept(window_8, storage, steps(5, 3)) == 8);
static_assert(kept(window_8, storage, steps(5, 4)) == 8 && kept(chunk_8, storage, prefill(1000)) == 1000);
static_assert(kept(window_1, storage, steps(37, 5)) == 42);

// A static cache takes the full window, or all that was reserved
static_assert(kept(full, of_100, prefill(8)) == 100 && kept(window_8, of_100, prefill(1)) == 8);
static_assert(kept(window_8, static_cache{5_tokens, 0_tokens}, prefill(1)) == 5 &&
              kept(chunk_8, of_100, prefill(1)) == 8);
static_assert(kept(window_1, of_100, prefill(1)) == 1);
static_assert(total_footprint(full, of_100, uniform_batch{steps(90, 11), 1}).total().reason() ==
              failure::exceeds_reservation);
static_assert(kept(full, of_100, steps(90, 10)) == 100);

// Cross attention holds the encoder's positions
static_assert(kept(cross, dynamic, prefill(5)) == 30 && kept(cross_window, dynamic, prefill(5)) == 7);
static_assert(kept(cross, of_100, prefill(5)) == 30 && kept(cross_window, of_100, prefill(5)) == 8);
static_assert(kept(cross, static_cache{100_tokens, 64_tokens}, prefill(5)) == 64);

// One tensor a batch: all as long as the longest
constexpr std::uint32_t lengths[] = {10, 30, 20};
static_assert(total_bytes(full, dynamic, ragged_batch<std::uint32_t>(lengths)) == bytes(3 * 30 * 512));

// RecurrentGemma's own buffer, Transformer-XL's memory
static_assert(kept(ring_buffer_attention{row, row, 8_tokens}, dynamic, prefill(1)) == 8);
static_assert(kept(ring_buffer_attention{row, row, 8_tokens}, storage, prefill(20)) == 20);
static_assert(kept(ring_buffer_attention{row, row, 8_tokens}, storage, steps(20, 1)) == 8);
static_assert(total_footprint(segment_memory{row, 8_tokens}, dynamic, uniform_batch{prefill(20), 1}).other ==
              checked_count(8U * 256U));

// ---- quantized caches: measured with 2 K/V heads of 64
// -----------------------------------------------------------------------

constexpr std::uint64_t quantized(quantization_backend backend, std::uint32_t nbits, std::uint32_t group,
                                  std::uint32_t residual, std::uint32_t axis, storage_type type,
                                  std::uint64_t sequences, std::uint64_t prompt, std::uint64_t generated) {
  const quantized_cache cache{backend, nbits, group, residual, axis, axis};
  const full_attention layer{{2, 64, type}, {2, 64, type}};
  const footprint f =
      total_footprint(layer, cache, uniform_batch{request(tokens(prompt), tokens(generated)), sequences});
  return f.k == f.v && f.other == checked_count(0U) ? f.k.value() : 0;
}
constexpr auto quanto = quantization_backend::quanto;
constexpr auto hqq = quantization_backend::hqq;
constexpr auto fp8 = quantization_backend::fp8;

static_assert(quantized(quanto, 2, 64, 128, 0, bf16, 1, 64, 0) == 2'560 &&
              quantized(quanto, 2, 64, 128, 0, bf16, 2, 37, 0) == 2'960);
static_assert(quantized(quanto, 2, 32, 128, 1, bf16, 1, 64, 0) == 3'072 &&
              quantized(quanto, 4, 64, 128, 0, bf16, 1, 300, 0) == 21'600);
static_assert(quantized(quanto, 4, 64, 128, 0, f32, 1, 64, 0) == 5'120);
static_assert(quantized(quanto, 4, 64, 128, 0, bf16, 1, 64, 5) == 5'888 &&
              quantized(quanto, 4, 64, 128, 0, bf16, 1, 256, 40) == 28'672);
static_assert(quantized(quanto, 4, 64, 16, 0, bf16, 1, 256, 40) == 22'784 &&
              quantized(quanto, 4, 64, 16, 0, bf16, 2, 37, 16) == 7'632);
static_assert(quantized(quanto, 4, 64, 16, 0, bf16, 1, 64, 16) == 5'760 &&
              quantized(quanto, 4, 32, 32, 0, bf16, 1, 256, 40) == 25'088);
static_assert(quantized(hqq, 1, 64, 128, 0, bf16, 1, 64, 0) == 1'536 &&
              quantized(hqq, 1, 64, 128, 1, bf16, 2, 37, 0) == 1'744);
static_assert(quantized(hqq, 3, 64, 128, 0, bf16, 1, 64, 0) == 4'096 &&
              quantized(hqq, 3, 64, 128, 1, bf16, 1, 64, 0) == 3'840);
static_assert(quantized(hqq, 3, 32, 128, 0, bf16, 1, 300, 0) == 24'000 &&
              quantized(hqq, 3, 32, 128, 1, bf16, 2, 37, 0) == 5'024);
static_assert(quantized(hqq, 3, 64, 128, 0, bf16, 1, 256, 40) == 26'624 &&
              quantized(hqq, 8, 64, 128, 0, bf16, 1, 64, 5) == 9'984);
static_assert(quantized(hqq, 4, 64, 128, 0, f32, 1, 256, 40) == 40'960 &&
              quantized(hqq, 4, 64, 16, 0, f32, 1, 256, 40) == 27'136);
static_assert(quantized(fp8, 4, 64, 128, 0, bf16, 1, 64, 0) == 8'196 &&
              quantized(fp8, 4, 64, 128, 0, bf16, 1, 64, 5) == 8'836);
static_assert(quantized(fp8, 4, 64, 128, 0, f32, 2, 37, 0) == 9'476);

// a residual of 0 or 1 quantizes every step; groups that are not filled cannot be quantized
static_assert(quantized(quanto, 4, 64, 1, 0, bf16, 1, 64, 5) == quantized(quanto, 4, 64, 128, 0, bf16, 1, 69, 0));
static_assert(quantized(quanto, 4, 64, 0, 0, bf16, 1, 64, 5) == quantized(quanto, 4, 64, 128, 0, bf16, 1, 69, 0));
static_assert(total_footprint(full_attention{{1, 32, bf16}, {1, 32, bf16}}, quantized_cache{},
                              uniform_batch{prefill(5), 1})
                  .total()
                  .reason() == failure::partial_block);
static_assert(!caches<quantized_cache, sliding_window_attention>);

// ---- DeepSeek-V4: a row is 1,024 bytes
// -----------------------------------------------------------------------------------------

constexpr compressed_keys sparse{{1, 512, bf16}, 4, 2, f32};
constexpr compressed_keys heavy{{1, 512, bf16}, 128, 1, f32};
template <class Policy>
constexpr std::uint64_t compressed(const compressed_keys& layer, const Policy& policy, const request& r) {
  return total_footprint(layer, policy, uniform_batch{r, 1}).total().value();
}
// 10 positions: 2 compressed rows, 2 waiting in two streams of kv and gate, one whole group of kv and float32 gate
static_assert(compressed(sparse, dynamic, prefill(10)) == 2 * 1024 + 2 * 1024 * 2 * 2 + 4 * (1024 + 2048));
static_assert(compressed(sparse, dynamic, steps(4, 6)) == compressed(sparse, dynamic, prefill(10)));
static_assert(compressed(sparse, dynamic, prefill(3)) == 3 * 1024 * 2 * 2);
static_assert(compressed(heavy, dynamic, prefill(300)) == 2 * 1024 + 44 * 1024 * 2 &&
              compressed(heavy, dynamic, prefill(127)) == 127 * 1024 * 2);
static_assert(compressed(heavy, dynamic, prefill(128)) == 1024);
// the storage of what waits: all of the prompt, later what waited before and the new one
static_assert(compressed(sparse, storage, prefill(10)) == 2 * 1024 + 10 * 1024 * 4 + 4 * 3072);
static_assert(compressed(sparse, storage, steps(8, 1)) == 2 * 1024 + 1 * 1024 * 4 + 4 * 3072);
static_assert(compressed(sparse, storage, steps(8, 4)) == 3 * 1024 + 4 * 1024 * 4 + 4 * 3072);
static_assert(compressed(sparse, storage, steps(8, 5)) == 3 * 1024 + 1 * 1024 * 4 + 4 * 3072);
static_assert(!caches<static_cache, compressed_keys>);
static_assert(total_footprint(compressed_keys{{1, 512, bf16}, 0, 1, f32}, dynamic, uniform_batch{prefill(1), 1})
                  .total()
                  .reason() == failure::division_by_zero);

// ---- prompt whole, generation in a window
// ----------------------------------------------------------------------------------------

constexpr reference_window_attention reference{row, row, 8_tokens};
static_assert(total_footprint(reference, dynamic, uniform_batch{steps(20, 5), 1}) ==
              footprint{5U * 256U, 5U * 256U, 20U * 512U});
// once the window is full it keeps one position less (unlimited_ocr, measured)
static_assert(total_footprint(reference, dynamic, uniform_batch{steps(20, 7), 1}) ==
              footprint{7U * 256U, 7U * 256U, 20U * 512U});
static_assert(total_footprint(reference, dynamic, uniform_batch{steps(20, 50), 2}) ==
              footprint{14U * 256U, 14U * 256U, 40U * 512U});
static_assert(total_footprint(reference, of_100, uniform_batch{steps(20, 50), 1}) ==
              footprint{8U * 256U, 8U * 256U, 20U * 512U});
static_assert(total_footprint(reference, of_100, uniform_batch{steps(99, 1), 1}) ==
              footprint{8U * 256U, 8U * 256U, 92U * 512U});

// ---- offloading: all on the host, two co_residents on the device
// -----------------------------------------------------------------------

constexpr std::array<std::uint64_t, 5> sizes{10, 50, 20, 40, 5};
static_assert(split_offloaded(sizes).host == checked_count(125U) &&
              split_offloaded(sizes).device == checked_count(70U));
static_assert(split_offloaded(std::array<std::uint64_t, 1>{7}).host == checked_count(7U));
static_assert(split_offloaded(std::array<std::uint64_t, 1>{7}).device == checked_count(7U));
static_assert(split_offloaded(std::array<std::uint64_t, 0>{}).host == checked_count(0U));
static_assert(split_offloaded(std::array<std::uint64_t, 2>{~std::uint64_t{0}, 1}).host.reason() == failure::overflow);

}  // namespace
