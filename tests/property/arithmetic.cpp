// Checked arithmetic, sizes as text and the budget of a device against 128-bit arithmetic and plain loops.
#include "random.hpp"
#include "support/catch.hpp"

#include <kvbudget/core/budget.hpp>
#include <kvbudget/input/spelling.hpp>

using namespace kvbudget;

#if defined(__SIZEOF_INT128__)
namespace {

__extension__ typedef unsigned __int128 wide;
constexpr std::uint64_t top = ~std::uint64_t{0};

/// `exact`, or the failure when it needs more than 64 bits.
checked_count narrowed(wide exact) {
  return exact > top ? checked_count::failed(failure::overflow) : checked_count(static_cast<std::uint64_t>(exact));
}

}  // namespace

TEST_CASE("sums, products, quotients and their roundings are exact or fail") {
  testing::random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t a = random.any(), b = random.any();
    CAPTURE(a, b);
    REQUIRE(checked_count(a) + b == narrowed(wide{a} + b));
    REQUIRE(checked_count(a) * b == narrowed(wide{a} * b));
    REQUIRE(checked_count(a) - b == (a >= b ? checked_count(a - b) : checked_count::failed(failure::negative)));
    if (b == 0) {
      REQUIRE((checked_count(a) / b).reason() == failure::division_by_zero);
      REQUIRE(round_up(a, b).reason() == failure::division_by_zero);
      continue;
    }
    REQUIRE(checked_count(a) / b == checked_count(a / b));
    REQUIRE(checked_count(a) % b == checked_count(a % b));
    REQUIRE(div_ceil(a, b) == narrowed((wide{a} + b - 1) / b));
    REQUIRE(round_up(a, b) == narrowed((wide{a} + b - 1) / b * b));
  }
}

TEST_CASE("shares are exact, rounded down") {
  testing::random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t amount = random.any();
    const share s{random.between(0, 1'000'000'000), random.between(1, 1'000'000'000)};
    CAPTURE(amount, s.numerator, s.denominator);
    REQUIRE(s.of(amount) == narrowed(wide{amount} * s.numerator / s.denominator));
  }
}

TEST_CASE("a device holds its weights, the cache and the overhead, and not a byte more") {
  testing::random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const device_budget d{bytes(random.between(0, 3000)),
                          {random.between(0, 100), 100},
                          bytes(random.between(0, 1000)),
                          bytes(random.between(0, 200)),
                          {random.between(0, 60), random.between(1, 100)}};
    CAPTURE(d.capacity.count(), d.utilization.numerator, d.weights.count(), d.fixed_overhead.count(),
            d.overhead_share.numerator, d.overhead_share.denominator);
    // used = weights + cache + fixed + ceil((weights + cache) x share), in whole numbers
    const auto holds = [&](std::uint64_t cache) {
      const std::uint64_t base = d.weights.count() + cache, p = d.overhead_share.numerator,
                          q = d.overhead_share.denominator;
      return base + d.fixed_overhead.count() + (base * p + q - 1) / q <=
             d.capacity.count() * d.utilization.numerator / 100;
    };
    std::uint64_t most = 0;
    while (holds(most + 1)) ++most;
    REQUIRE(d.available_for_cache() == bytes(holds(0) ? most : 0));
    REQUIRE(d.holds(most) == holds(most));
    REQUIRE(d.holds(most + 1) == holds(most + 1));
  }
}

TEST_CASE("sizes are printed as the nearest decimal") {
  testing::random random(4);
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t amount = random.any();
    const std::uint64_t unit = random.one_of({kib, mib, gib, tib, kb, mb, gb, tb, std::uint64_t{1}});
    const auto digits = static_cast<unsigned>(random.between(0, 9));
    CAPTURE(amount, unit, digits);
    wide scale = 1;
    for (unsigned d = 0; d < digits; ++d) scale *= 10;
    wide scaled = wide{amount} * scale / unit;
    const wide rest = wide{amount} * scale % unit;
    if (rest * 2 > unit || (rest * 2 == unit && scaled % 2 != 0)) ++scaled;
    std::string expected;
    for (unsigned d = 0; scaled != 0 || d <= digits; ++d, scaled /= 10) {
      if (d == digits && d != 0) expected.insert(expected.begin(), '.');
      expected.insert(expected.begin(), static_cast<char>('0' + static_cast<int>(scaled % 10)));
    }
    REQUIRE(to_decimal(bytes(amount), unit, digits) == expected);
  }
}

TEST_CASE("sizes read back what is printed in bytes and in whole units") {
  testing::random random(5);
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t amount = random.any();
    REQUIRE(find_bytes(std::to_string(amount)) == bytes(amount));
    for (const auto& unit : detail::size_units) {
      const wide exact = wide{amount} * unit.bytes;
      const auto read = find_bytes(std::to_string(amount) + std::string(unit.name));
      REQUIRE(read.has_value() == (exact <= top));
      if (read) REQUIRE(read->count() == static_cast<std::uint64_t>(exact));
    }
    REQUIRE(find_bytes(to_decimal(bytes(amount), gb, 9) + "GB") == bytes(amount));
    REQUIRE(find_bytes(to_decimal(bytes(amount), tb, 12) + "TB") == bytes(amount));
  }
}
#endif
