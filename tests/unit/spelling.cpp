// Sizes, shares and element types as people write them; sizes as they are printed.
#include "support/catch.hpp"

#include <kvbudget/input/spelling.hpp>

using namespace kvbudget;

TEST_CASE("sizes with every unit") {
  STATIC_REQUIRE(find_bytes("24GiB") == 24_GiB);
  STATIC_REQUIRE(find_bytes("80GB") == 80_GB);
  STATIC_REQUIRE(find_bytes("1000000") == 1_MB);
  STATIC_REQUIRE(find_bytes("512 MiB") == 512_MiB);
  STATIC_REQUIRE(find_bytes("7B") == 7_B);
  STATIC_REQUIRE(find_bytes("3KiB") == 3_KiB);
  STATIC_REQUIRE(find_bytes("2TiB") == 2_TiB);
  STATIC_REQUIRE(find_bytes("5kB") == 5_kB);
  STATIC_REQUIRE(find_bytes("5KB") == 5_kB);
  STATIC_REQUIRE(find_bytes("6MB") == 6_MB);
  STATIC_REQUIRE(find_bytes("9TB") == 9_TB);
  STATIC_REQUIRE(find_bytes("0") == 0_B);
  STATIC_REQUIRE(find_bytes("007") == 7_B);
}

TEST_CASE("fractions of a size are exact, or no size") {
  STATIC_REQUIRE(find_bytes("1.5GiB") == 1536_MiB);
  STATIC_REQUIRE(find_bytes("0.5KiB") == 512_B);
  STATIC_REQUIRE(find_bytes("1.0") == 1_B);
  STATIC_REQUIRE(find_bytes("1.1GB") == 1'100_MB);
  STATIC_REQUIRE(find_bytes("0.000000001GB") == 1_B);
  STATIC_REQUIRE(find_bytes("24.000000001GB") == 24_GB + 1_B);
  STATIC_REQUIRE(find_bytes("1.500000000000000000GiB") == 1536_MiB);
  STATIC_REQUIRE(!find_bytes("0.1GiB"));  // 107,374,182.4 bytes
  STATIC_REQUIRE(!find_bytes("1.5"));
  STATIC_REQUIRE(!find_bytes("0.0000000001GB"));
}

TEST_CASE("the largest size, and one more") {
  STATIC_REQUIRE(find_bytes("18446744073709551615") == bytes::max());
  STATIC_REQUIRE(!find_bytes("18446744073709551616"));
  STATIC_REQUIRE(find_bytes("17179869183GiB") == 17'179'869'183_GiB);
  STATIC_REQUIRE(!find_bytes("17179869184GiB"));
  STATIC_REQUIRE(!find_bytes("99999999999999999999999999999999"));
  STATIC_REQUIRE(!find_bytes("0.00000000000000000000000000000001GB"));
}

TEST_CASE("what is no size") {
  for (const char* text :
       {"",      " ",       "G",      "GiB",    "24G",     "24g",   "24M",      "24K",  "24k",    "24T",   "24Gb",
        "24gib", "24 GiB ", " 24GiB", "-1",     "+1",      "-1GiB", "1e9",      "0x10", "1,000",  "1'000", "1.",
        ".5GiB", "1..5GiB", "1.5.5",  "24GiBs", "24\tGiB", "nan",   "Infinity", "١",    "24GiB24"}) {
    CAPTURE(text);
    CHECK(!find_bytes(text));
    CHECK_THROWS_AS(parse_bytes(text, "--device"), usage_error);
  }
  CHECK(!find_bytes(std::string_view("1\0", 2)));
}

TEST_CASE("24G is refused as ambiguous, and the error names option, value and the units") {
  try {
    (void)parse_bytes("24G", "--device");
    FAIL("accepted");
  } catch (const usage_error& e) {
    CHECK(e.pointer() == "--device");
    CHECK(e.value() == "24G");
    CHECK(e.problem() == "ambiguous: binary or decimal");
    CHECK(std::string(e.what()) ==
          "--device: 24G: ambiguous: binary or decimal: "
          "a number with B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, or a number of bytes");
  }
}

TEST_CASE("shares") {
  STATIC_REQUIRE(find_share("0.9")->of(1000U) == checked_count(900U));
  STATIC_REQUIRE(find_share("15%")->of(1000U) == checked_count(150U));
  STATIC_REQUIRE(find_share("2.5%")->of(1000U) == checked_count(25U));
  STATIC_REQUIRE(find_share("1")->of(1000U) == checked_count(1000U));
  STATIC_REQUIRE(find_share("0")->of(1000U) == checked_count(0U));
  for (const char* text : {"", "%", ".", ".9", "1.", "0.9.1", "-1", "a", "0,9", "15 %", "123456789", "nan", "%5"}) {
    CAPTURE(text);
    CHECK(!find_share(text));
    CHECK_THROWS_AS(parse_share(text, "--utilization"), usage_error);
  }
}

TEST_CASE("sizes are printed to the digits asked for, rounded to nearest, ties to even") {
  CHECK(to_gib(3_GiB) == "3.00");
  CHECK(to_gib(bytes(671'088'640), 3) == "0.625");
  CHECK(to_gib(bytes(4'026'531'840)) == "3.75");
  CHECK(to_gib(1536_MiB, 0) == "2");
  CHECK(to_gib(2560_MiB, 0) == "2");  // a tie: 2 is even
  CHECK(to_gib(2560_MiB + 1_B, 0) == "3");
  CHECK(to_gb(9'995_MB) == "10.00");  // a tie with a carry through all digits
  CHECK(to_gb(9'985_MB) == "9.98");
  CHECK(to_gb(9'985_MB + 1_B) == "9.99");
  CHECK(to_gb(9'994'999'999_B) == "9.99");
  CHECK(to_gb(999'999'999'999_B, 3) == "1000.000");
  CHECK(to_gb(999_MB, 0) == "1");
  CHECK(to_gb(499'999'999_B, 0) == "0");
  CHECK(to_gb(1_B, 9) == "0.000000001");
  CHECK(to_gb(1_B, 10) == "0.0000000010");
  CHECK(to_gb(0_B, 1) == "0.0");
  CHECK(to_gib(bytes::max(), 2) == "17179869184.00");
  CHECK(to_gib(bytes::max(), 12) == "17179869183.999999999069");
  CHECK(to_gb(bytes::max(), 9) == "18446744073.709551615");
  CHECK(to_decimal(bytes::max(), 1, 0) == "18446744073709551615");
  CHECK(to_decimal(bytes::max(), tib, 3) == "16777216.000");
}

TEST_CASE("Llama-3-8B: weights, cache, overhead and their sum in GiB") {
  const auto printed = [](const bytes& b) { return to_gib(b, 1); };
  const auto row = [&](const device_budget& d, const bytes& cache) {
    return printed(d.weights) + " " + printed(cache) + " " + printed(bytes(d.overhead(cache.count()))) + " " +
           printed(bytes(d.used(cache.count())));
  };
  const cache_formula cache{repeated{32U, grouped_query_attention(8, 128, f16)}, stored_positions{}};
  CHECK(row({24_GiB, {1, 1}, weight_bytes(8'000'000'000, 16), 0_B, {15, 100}},
            cache.bytes_of(request(8192_tokens, 0_tokens))) == "14.9 1.0 2.4 18.3");
  CHECK(row({24_GiB, {1, 1}, weight_bytes(8'000'000'000, 4), 0_B, {15, 100}},
            cache.bytes_of(request(32'768_tokens, 0_tokens))) == "3.7 4.0 1.2 8.9");
}

TEST_CASE("Llama-3-8B: a sweep of lengths, and the cache's share of the total") {
  const cache_formula cache{repeated{32U, grouped_query_attention(8, 128, f16)}, stored_positions{}};
  const device_budget device{24_GiB, {1, 1}, weight_bytes(8'000'000'000, 16), 0_B, {15, 100}};
  const struct {
    std::uint64_t positions;
    std::uint64_t mebibytes;
    std::uint64_t per_mille;
  } rows[] = {{512, 64, 3}, {1024, 128, 7}, {2048, 256, 14}, {4096, 512, 28}, {8192, 1024, 54}, {16'384, 2048, 102}};
  for (const auto& row : rows) {
    CAPTURE(row.positions);
    const bytes size = cache.bytes_of(request(tokens(row.positions), tokens()));
    CHECK(size == bytes(row.mebibytes * mib));
    CHECK((size.count() * 1000) / device.used(size.count()).value() == row.per_mille);
  }
}

TEST_CASE("element types by all their usual names") {
  const struct {
    storage_type type;
    std::initializer_list<const char*> names;
  } rows[] = {
      {f32, {"float32", "f32", "fp32", "float", "F32", "torch.float32"}},
      {f16, {"float16", "f16", "fp16", "half", "F16", "torch.float16", "torch.half"}},
      {bf16, {"bfloat16", "bf16", "BF16", "torch.bfloat16"}},
      {fp8_e4m3,
       {"fp8", "fp8_e4m3", "e4m3", "float8_e4m3fn", "fp8_e4m3fn", "F8_E4M3", "torch.float8_e4m3fn", "float8_e4m3fnuz"}},
      {fp8_e5m2, {"fp8_e5m2", "e5m2", "float8_e5m2", "F8_E5M2", "torch.float8_e5m2", "float8_e5m2fnuz"}},
      {int8, {"int8", "i8", "I8", "torch.int8"}},
      {int4, {"int4", "i4"}},
      {int2, {"int2", "i2"}},
      {int64, {"int64", "I64", "torch.int64"}},
      {q8_0, {"q8_0"}},
      {q4_0, {"q4_0"}},
      {q4_1, {"q4_1"}},
      {q5_0, {"q5_0"}},
      {q5_1, {"q5_1"}},
      {iq4_nl, {"iq4_nl"}},
      {nvfp4, {"nvfp4"}},
      {mxfp4, {"mxfp4", "fp4_e2m1"}},
      {mxfp8, {"mxfp8"}},
  };
  std::size_t names = 0;
  for (const auto& row : rows) {
    for (const char* name : row.names) {
      CAPTURE(name);
      REQUIRE(find_storage_type(name));
      CHECK(*find_storage_type(name) == row.type);
      CHECK(parse_storage_type(name) == row.type);
      if (std::string_view(name).substr(0, 6) != "torch.") ++names;
    }
    CHECK(find_storage_type(name_of(row.type)) == row.type);
  }
  CHECK(names == std::size(detail::type_spellings));  // a new spelling belongs in this table
}

TEST_CASE("element types that are none") {
  for (const char* name :
       {"", "auto", "float64", "fp4", "q4_K", "Q8_0", "torch.", "torch.torch.f16", "bf16 ", "int16", "turbo8"}) {
    CAPTURE(name);
    CHECK(!find_storage_type(name));
  }
  try {
    (void)parse_storage_type("int16", "--kv-dtype");
    FAIL("accepted");
  } catch (const usage_error& e) {
    CHECK(e.pointer() == "--kv-dtype");
    CHECK(e.value() == "int16");
    CHECK(e.expected().find("bfloat16") != std::string::npos);
    CHECK(e.expected().find("q8_0") != std::string::npos);
  }
}

TEST_CASE("types in groups say their geometry") {
  CHECK(name_of(bf16) == "bfloat16");
  CHECK(name_of(fp8_e4m3) == "fp8_e4m3");
  CHECK(name_of(mxfp4) == "fp4_e2m1");
  CHECK(name_of(grouped(int4, 64, f16, 2)) == "int4 (64 elements in 36 bytes)");
  CHECK(name_of(grouped(fp8_e4m3, 128, f32, 1)) == "fp8_e4m3 (128 elements in 132 bytes)");
}
