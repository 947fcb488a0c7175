// How long, how many: the inverses at their edges, and the budget of a device.
#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>

namespace {

using namespace kvbudget;

constexpr full_attention full = grouped_query_attention(8, 128, bf16);  // 4096 bytes a position
constexpr sliding_window_attention sliding = with_window(full, 1024_tokens);
constexpr recurrent_state state{1000, f32};  // 4000 bytes a sequence

constexpr limit exactly(std::uint64_t n) { return {n, false, false}; }
constexpr limit unbounded{~std::uint64_t{0}, true, false};
constexpr limit none{0, false, true};

// ---- the search -----------------------------------------------------------------------------------------------------

static_assert(largest_that_fits([](std::uint64_t) { return true; }) == unbounded);
static_assert(largest_that_fits([](std::uint64_t) { return false; }) == none);
static_assert(largest_that_fits([](std::uint64_t n) { return n == 0; }) == exactly(0));
static_assert(largest_that_fits([](std::uint64_t n) { return n <= 1; }) == exactly(1));
static_assert(largest_that_fits([](std::uint64_t n) { return n <= 1'000'003; }) == exactly(1'000'003));
static_assert(largest_that_fits([](std::uint64_t n) { return n < ~std::uint64_t{0}; }) ==
              exactly(~std::uint64_t{0} - 1));
static_assert(largest_that_fits([](std::uint64_t n) { return n <= std::uint64_t{1} << 63U; }) ==
              exactly(std::uint64_t{1} << 63U));
static_assert(largest_that_fits([](std::uint64_t n) { return n < std::uint64_t{1} << 63U; }) ==
              exactly((std::uint64_t{1} << 63U) - 1));

constexpr int calls_of_the_search(std::uint64_t last) {
  int calls = 0;
  (void)largest_that_fits([&](std::uint64_t n) {
    ++calls;
    return n <= last;
  });
  return calls;
}
static_assert(calls_of_the_search(~std::uint64_t{0} - 1) <= 130 && calls_of_the_search(0) <= 4);

// ---- length and sequences
// ---------------------------------------------------------------------------------------------

constexpr cache_formula dense{repeated{32U, full}, stored_positions{}};  // 131,072 bytes a position
static_assert(dense.max_length(24_GiB, 1) == exactly(196'608));
static_assert(dense.max_length(24_GiB - 1_B, 1) == exactly(196'607) &&
              dense.max_length(24_GiB + 131'071_B, 1) == exactly(196'608));
static_assert(dense.max_length(131'071_B, 1) == exactly(0) && dense.max_length(0_B, 1) == exactly(0));
static_assert(dense.max_length(24_GiB, 7) == exactly(28'086) && dense.max_length(24_GiB, 0) == unbounded);
static_assert(dense.max_length(bytes::max(), 1) == exactly((std::uint64_t{1} << 47U) - 1));
static_assert(dense.max_length(24_GiB, std::uint64_t{1} << 63U) == exactly(0));
static_assert(dense.max_sequences(24_GiB, request(3072_tokens, 1024_tokens)) == exactly(48));
static_assert(dense.max_sequences(24_GiB - 1_B, request(3072_tokens, 1024_tokens)) == exactly(47));
static_assert(dense.max_sequences(24_GiB, request(0_tokens, 0_tokens)) == unbounded);
static_assert(dense.max_sequences(24_GiB, request(tokens::max(), 0_tokens)) == exactly(0));
static_assert(dense.fits(uniform_batch{request(196'608_tokens, 0_tokens), 1}, 24_GiB));
static_assert(!dense.fits(uniform_batch{request(196'608_tokens, 1_tokens), 1}, 24_GiB));

// a state alone takes the same at every length
constexpr cache_formula constant{repeated{10U, state}, stored_positions{}};
static_assert(constant.max_length(40'000_B, 1) == unbounded && constant.max_length(39'999_B, 1) == none);
static_assert(constant.max_length(400'000_B, 10) == unbounded && constant.max_length(400'000_B, 11) == none);
static_assert(constant.max_sequences(399'999_B, request(5_tokens, 5_tokens)) == exactly(9));

// a window is full at 1,024
constexpr cache_formula windows{repeated{2U, sliding}, stored_positions{}};
static_assert(windows.max_length(8_MiB, 1) == unbounded && windows.max_length(8_MiB - 1_B, 1) == exactly(1023));
constexpr cache_formula hybrid{layer_list{repeated{2U, sliding}, full, repeated{3U, state}}, stored_positions{}};
static_assert(hybrid.max_length(8_MiB + 12'000_B + 4096_B * 5000, 1) == exactly(5000));
static_assert(hybrid.max_length(11'999_B, 1) == none && hybrid.max_length(12'000_B, 1) == exactly(0));

// pages, reservation
constexpr cache_formula pages{full, paged{16_tokens}};
static_assert(pages.max_length(65'535_B, 1) == exactly(0) && pages.max_length(65'536_B, 1) == exactly(16));
static_assert(pages.max_length(65'536_B * 5 + 65'535_B, 2) == exactly(32));
constexpr cache_formula fixed{full, static_reservation{4096_tokens}};
static_assert(fixed.max_length(16_MiB, 1) == exactly(4096) && fixed.max_length(1_TiB, 1) == exactly(4096));
static_assert(fixed.max_length(16_MiB - 1_B, 1) == none &&
              fixed.max_sequences(1_GiB, request(1_tokens, 1_tokens)) == exactly(64));
static_assert(fixed.max_sequences(1_GiB, request(4096_tokens, 1_tokens)) == none);

// tokens of a pool: whole sequences, and one shorter one in the rest
static_assert(dense.max_tokens(24_GiB, 4096_tokens) == exactly(196'608));
static_assert(dense.max_tokens(24_GiB - 1_B, 4096_tokens) == exactly(196'607));
static_assert(pages.max_tokens(65'536_B * 10, 24_tokens) == exactly(5 * 24));
static_assert(pages.max_tokens(65'536_B * 11, 24_tokens) == exactly(5 * 24 + 16));
static_assert(constant.max_tokens(85'000_B, 100_tokens) == exactly(200) &&
              windows.max_tokens(8_MiB, 100_tokens) == exactly(1024));

// the prompt at once, the rest one by one; an encoder beside
constexpr cache_formula cross{layer_list{full, cross_attention{full.k, full.v}}, stored_positions{}};
static_assert(cross.max_length(4096_B * 1600, 1, 0_tokens, 1500_tokens) == exactly(100));
static_assert(cross.max_length(4096_B * 1499, 1, 0_tokens, 1500_tokens) == none);
constexpr cache_formula reference{reference_window_attention{full.k, full.v, 100_tokens}, stored_positions{}};
static_assert(reference.max_length(4096_B * 599, 1, 500_tokens) == exactly(599) &&
              reference.max_length(4096_B * 600, 1, 500_tokens) == unbounded);
static_assert(reference.max_length(4096_B * 400, 1, 500_tokens) == exactly(400));

// ---- bytes that shrink on the way: not only the end must fit
// ------------------------------------------------------------

// f32, groups of 64: an element takes 4 bytes waiting and 0.625 quantized; 256 elements a position
constexpr full_attention in_f32{{1, 128, f32}, {1, 128, f32}};
constexpr detail::transformers::quantized_cache quantized{.residual_length = 128};
constexpr cache_formula residual{in_f32, quantized};
constexpr bytes of_length(std::uint64_t n) { return residual.bytes_of(request(0_tokens, tokens(n))); }
static_assert(of_length(127) == bytes(127 * 1024) && of_length(128) == bytes(128 * 160) &&
              of_length(148) == bytes(128 * 160 + 20 * 1024));
static_assert(residual.max_length(bytes(127 * 1024), 1) == exactly(128 + (127 * 1024 - 128 * 160) / 1024));
static_assert(residual.max_length(bytes(127 * 1024 - 1), 1) == exactly(126));  // and not 128, where it is less again
static_assert(residual.max_length(bytes(of_length(255).count() - 1), 1) == exactly(254));
static_assert(residual.max_sequences(bytes(127 * 1024 * 3), request(0_tokens, 128_tokens)) == exactly(3));

// compressed four to one: rows wait until there are four
constexpr compressed_keys four_to_one{{1, 512, bf16}, 4, 1, f32};
constexpr cache_formula compressing{four_to_one, stored_positions{}};
static_assert(compressing.bytes_of(request(3_tokens, 0_tokens)) == 6_KiB &&
              compressing.bytes_of(request(4_tokens, 0_tokens)) == 1_KiB);
static_assert(compressing.max_length(6_KiB - 1_B, 1) == exactly(2) && compressing.max_length(6_KiB, 1) == exactly(6));
static_assert(compressing.max_length(7_KiB, 1) == exactly(10));

// a prompt longer than the window is alive until the first step
constexpr cache_formula storage{sliding, detail::transformers::dynamic_cache_storage{}};
static_assert(storage.max_length(4096_B * 1024, 1, 4000_tokens) == exactly(1024));
static_assert(storage.max_length(4096_B * 3999, 1, 4000_tokens) == exactly(3999));
static_assert(storage.max_length(4096_B * 4000, 1, 4000_tokens) == unbounded);
static_assert(storage.max_sequences(4096_B * 8000, request(4000_tokens, 1_tokens)) == exactly(2));

// StaticCache has no place for one more position
constexpr cache_formula preallocated{full, detail::transformers::static_cache{100_tokens, 0_tokens}};
static_assert(preallocated.max_length(1_GiB, 1) == exactly(100) && preallocated.max_length(4096_B * 99, 1) == none);

// ---- the budget of a device
// ------------------------------------------------------------------------------------------------

static_assert(share{9, 10}.of(100U) == checked_count(90U) && share{1, 3}.of(100U) == checked_count(33U));
static_assert(share{999'999'999, 1'000'000'000}.of(~std::uint64_t{0}) == checked_count(18'446'744'055'262'807'541U));
static_assert(share{1, 0}.of(5U).reason() == failure::division_by_zero && share{0, 7}.of(5U) == checked_count(0U));
static_assert(share{3, 2}.of(~std::uint64_t{0}).reason() == failure::overflow);

constexpr device_budget plain{80_GB, {1, 1}, 16_GB, 1_GB, {0, 1}};
static_assert(plain.usable() == 80_GB && plain.available_for_cache() == 63_GB && plain.holds((63_GB).count()));
static_assert(!plain.holds((63_GB + 1_B).count()) && plain.used(0U) == checked_count((17_GB).count()));
constexpr device_budget with_share{1000_B, {9, 10}, 300_B, 10_B, {15, 100}};
static_assert(with_share.usable() == 900_B && with_share.available_for_cache() == 473_B);  // 773 + 116 + 10
static_assert(with_share.used(473U) == checked_count(899U) && with_share.used(474U) == checked_count(901U));
constexpr device_budget too_small{10_B, {1, 1}, 11_B, 0_B, {0, 1}};
static_assert(too_small.available_for_cache() == 0_B && !too_small.holds(0U));
constexpr device_budget exactly_full{11_B, {1, 1}, 11_B, 0_B, {0, 1}};
static_assert(exactly_full.available_for_cache() == 0_B && exactly_full.holds(0U) && !exactly_full.holds(1U));
constexpr device_budget endless{bytes::max(), {1, 1}, 0_B, 0_B, {0, 1}};
static_assert(endless.available_for_cache() == bytes::max());
static_assert(!endless.holds(checked_count::failed(failure::overflow)));

static_assert(weight_bytes(7, 4) == 4_B && weight_bytes(8, 4) == 4_B && weight_bytes(0, 16) == 0_B &&
              weight_bytes(3, 3) == 2_B);

}  // namespace
