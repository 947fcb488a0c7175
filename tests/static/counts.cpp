// Units that do not mix, and arithmetic that never wraps around.
#include <type_traits>

#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;

constexpr std::uint64_t top = ~std::uint64_t{0};

// ---- what is a count -----------------------------------------------------------------------------------------------

static_assert(count_like<int> && count_like<unsigned char> && count_like<std::int64_t> && count_like<std::uint64_t>);
static_assert(!count_like<bool> && !count_like<char> && !count_like<char8_t> && !count_like<wchar_t>);
static_assert(!count_like<double> && !count_like<int*> && !count_like<failure>);
#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 wide_integer;
static_assert(!count_like<wide_integer>);  // an integral type to some standard libraries; it would be cut
#endif

static_assert(std::is_constructible_v<bytes, int> && std::is_constructible_v<bytes, checked_count>);
static_assert(!std::is_constructible_v<bytes, bool> && !std::is_constructible_v<bytes, double>);
static_assert(!std::is_constructible_v<tokens, bytes> && !std::is_constructible_v<bytes, blocks>);
static_assert(!std::is_convertible_v<int, bytes> && !std::is_convertible_v<bytes, std::uint64_t>);
static_assert(std::is_convertible_v<int, checked_count> && !std::is_convertible_v<bool, checked_count>);
static_assert(!std::is_convertible_v<checked_count, std::uint64_t>);
static_assert(!std::is_same_v<bytes, tokens> && !std::is_same_v<tokens, blocks>);
static_assert(std::is_trivially_copyable_v<bytes> && sizeof(bytes) == 8);

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept divisible = requires(A a, B b) {
  a / b;
};
static_assert(addable<bytes, bytes> && !addable<bytes, tokens> && !addable<bytes, int>);
static_assert(comparable<tokens, tokens> && !comparable<tokens, blocks> && !comparable<bytes, int>);
static_assert(multipliable<bytes, int> && multipliable<unsigned, bytes>);
static_assert(!multipliable<bytes, bytes> && !multipliable<bytes, bool> && !multipliable<bytes, double>);
static_assert(divisible<bytes, bytes> && divisible<bytes, int> && !divisible<bytes, tokens> && !divisible<bytes, bool>);

// ---- checked_count -------------------------------------------------------------------------------------------------

constexpr checked_count overflowed = checked_count::failed(failure::overflow);
constexpr checked_count negative = checked_count::failed(failure::negative);
constexpr checked_count divided_by_zero = checked_count::failed(failure::division_by_zero);

static_assert(checked_count() == checked_count(0U) && checked_count().valid());
static_assert(checked_count(top).value() == top && checked_count(top).fits(top) && !checked_count(top).fits(top - 1));
static_assert(checked_count(-1) == negative && checked_count(std::int64_t{-1} - 0x7fff'ffff'ffff'ffff) == negative);
static_assert(!checked_count(-1).fits(top) && checked_count(-1).value_or(7) == 7);
static_assert(checked_count(static_cast<signed char>(-128)) == negative);

static_assert(checked_count(top) + 0U == checked_count(top) && checked_count(top) + 1U == overflowed);
static_assert(checked_count(top - 1) + 1U == checked_count(top) && checked_count(top) + top == overflowed);
static_assert(checked_count(5U) - 5U == checked_count(0U) && checked_count(0U) - 1U == negative);
static_assert(checked_count(top) - top == checked_count(0U));
static_assert(checked_count(0U) * top == checked_count(0U) && checked_count(top) * 0U == checked_count(0U));
static_assert(checked_count(top) * 1U == checked_count(top) && checked_count(top) * 2U == overflowed);
static_assert(checked_count(std::uint64_t{1} << 32U) * (std::uint64_t{1} << 32U) == overflowed);
static_assert(checked_count((std::uint64_t{1} << 32U) - 1) * ((std::uint64_t{1} << 32U) + 1) == checked_count(top));
static_assert(checked_count(top) / 2U == checked_count(top / 2) && checked_count(1U) / 0U == divided_by_zero);
static_assert(checked_count(top) % 2U == checked_count(1U) && checked_count(0U) % 0U == divided_by_zero);

// the first failure sticks
static_assert(overflowed + negative == overflowed && negative + overflowed == negative);
static_assert(overflowed * 0U == overflowed && 0U * negative == negative && overflowed - overflowed == overflowed);
static_assert((checked_count(1U) / 0U) * top + top == divided_by_zero);
static_assert(overflowed / 0U == overflowed && overflowed % 0U == overflowed);

static_assert(div_ceil(0U, 16U) == checked_count(0U) && div_ceil(1U, 16U) == checked_count(1U));
static_assert(div_ceil(16U, 16U) == checked_count(1U) && div_ceil(17U, 16U) == checked_count(2U));
static_assert(div_ceil(top, 1U) == checked_count(top) && div_ceil(top, top) == checked_count(1U));
static_assert(div_ceil(top, 2U) == checked_count((top / 2) + 1) && div_ceil(1U, 0U) == divided_by_zero);
static_assert(round_up(0U, 256U) == checked_count(0U) && round_up(100U, 256U) == checked_count(256U));
static_assert(round_up(256U, 256U) == checked_count(256U) && round_up(top, 16U) == overflowed);
static_assert(round_up(top - 15, 16U) == checked_count(top - 15) && round_up(5U, 0U) == divided_by_zero);

static_assert(smaller(3U, 4U) == checked_count(3U) && smaller(4U, 3U) == checked_count(3U));
static_assert(larger(3U, 4U) == checked_count(4U) && larger(4U, 3U) == checked_count(4U));
static_assert(smaller(0U, overflowed) == overflowed && larger(negative, 5U) == negative);

constexpr checked_count compound = [] {
  checked_count n = 3U;
  n += 4U;
  n *= 5U;
  return n;
}();
static_assert(compound == checked_count(35U));

// ---- units ---------------------------------------------------------------------------------------------------------

static_assert(1_KiB == 1'024_B && 1_MiB == 1'048'576_B && 1_GiB == 1'073'741'824_B && 1_TiB == 1'099'511'627'776_B);
static_assert(1_kB == 1'000_B && 1_MB == 1'000'000_B && 1_GB == 1'000'000'000_B && 1_TB == 1'000'000'000'000_B);
static_assert(18'446'744'073'709'551'615_B == bytes::max() && bytes::max().count() == top);
static_assert(17'179'869'183_GiB == bytes::max() - (1_GiB - 1_B));

static_assert(bytes() == 0_B && 2_B + 3_B == 5_B && 3_B - 3_B == 0_B && 3 * 4_B == 12_B &&
              4_B * std::uint8_t{3} == 12_B);
static_assert(10_B / 4 == 2_B && 10_B / 4_B == 2 && 10_B % 4_B == 2_B && 4096_tokens / 16 == 256_tokens);
static_assert(1_GB < 1_GiB && 1_TB > 1_GiB && 2_tokens >= 2_tokens && 1_blocks != 2_blocks);
constexpr bytes accumulated = [] {
  bytes b = 1_KiB;
  b += 1_B;
  b -= 25_B;
  return b;
}();
static_assert(accumulated == 1'000_B);

}  // namespace
