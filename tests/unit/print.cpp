// What values print of themselves: in a failing test, in streams, in format strings.
#include "support/catch.hpp"

#include <sstream>
#include <string>

#include <kvbudget/report/format.hpp>
#include <kvbudget/ledger/ledger.hpp>
#include <kvbudget/ledger/from_layers.hpp>

using namespace kvbudget;

namespace {

template <class Value>
std::string streamed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("counts print with their unit, in streams, strings and format strings alike") {
  constexpr cache_formula cache{repeated{40, grouped_query_attention(8, 128, bf16)}, stored_positions{}};
  const bytes taken = cache.bytes_of(request(3072_tokens, 1024_tokens));
  CHECK(streamed(taken) == "671088640 B");
  CHECK(streamed(16_tokens) == "16 tokens");
  CHECK(streamed(0_blocks) == "0 blocks");
  CHECK(to_string(bytes::max()) == "18446744073709551615 B");
  CHECK(fmt::format("{}|{:>10}|{:<12}|", taken, 16_tokens, 3_blocks) == "671088640 B| 16 tokens|3 blocks    |");
  CHECK(fmt::format("{:.3g}", taken) == "0.625 GiB");
}

TEST_CASE("a failing check prints both sides") {
  // What Catch prints of an expression's sides is what its StringMaker makes of them.
  CHECK(Catch::StringMaker<bytes>::convert(500_MiB) == "524288000 B");
  CHECK(Catch::StringMaker<limit>::convert({157'286, false, false}) == "at most 157286");
  CHECK(Catch::StringMaker<rejection>::convert(rejection::never_fits) == "never_fits");
  CHECK(Catch::StringMaker<checked_count>::convert(7U) == "7");
}

TEST_CASE("limits, failures and shapes") {
  CHECK(streamed(limit{0, false, true}) == "none fits");
  CHECK(streamed(limit{0, true, false}) == "unbounded");
  CHECK(streamed(checked_count(bytes::max().count()) + 1U) == "failure: overflow");
  CHECK(streamed(failure::no_such_rank) == "no_such_rank");
  CHECK(streamed(footprint{1U, 2U, 3U}) == "K 1 B, V 2 B, other 3 B");
  CHECK(streamed(request(5_tokens, 6_tokens)) == "prompt 5, generated 6");
  CHECK(streamed(request(5_tokens, 6_tokens, 7_tokens)) == "prompt 5, generated 6, encoder 7");
  CHECK(streamed(device_budget{80_GiB, {9, 10}, 15_B, 3_B, {5, 100}}) ==
        "capacity 85899345920 B x 9/10, weights 15 B, overhead 3 B + 5/100");
}

TEST_CASE("leases and rejections") {
  ledger books(admit_resident{},
               byte_pool(repeated{32, grouped_query_attention(8, 128, bf16)}, paged{16_tokens}, 1_GiB));
  const auto granted = books.try_admit(request(30_tokens, 1_tokens));
  CHECK(streamed(granted) == "a lease of 30 tokens");
  CHECK(streamed(books.try_admit(request(30'000_tokens, 1_tokens))) == "no lease: never_fits");
  CHECK(to_string(rejection::beyond_limit) == "beyond_limit");
}

TEST_CASE("plain numbers and characters are printed by whoever printed them before") {
  CHECK(streamed(5) == "5");
  CHECK(streamed('c') == "c");
  std::ostringstream out;
  out << 5_GiB << ' ' << 7U << " x";
  CHECK(out.str() == "5368709120 B 7 x");
}
