// Failures at run time: what a constant expression refuses to compile throws a size_error here.
#include "support/catch.hpp"

#include <cstring>
#include <string>

#include <kvbudget/core.hpp>
#include <kvbudget/engines/llama_cpp/rules.hpp>
#include <kvbudget/ledger/ledger.hpp>
#include <kvbudget/engines/vllm/block_pool.hpp>

using namespace kvbudget;

namespace {

constexpr stored_positions stored{};

template <class Body>
failure reason_of(const Body& body) {
  try {
    body();
  } catch (const size_error& e) {
    return e.reason();
  }
  return failure::none;
}

}  // namespace

TEST_CASE("arithmetic on units raises its failure") {
  const bytes one(1);
  CHECK(reason_of([&] { (void)(bytes::max() + one); }) == failure::overflow);
  CHECK(reason_of([&] { (void)(bytes::max() * 2); }) == failure::overflow);
  CHECK(reason_of([&] { (void)(one - bytes(2)); }) == failure::negative);
  CHECK(reason_of([&] { (void)(one * -1); }) == failure::negative);
  CHECK(reason_of([&] { (void)(one / 0); }) == failure::division_by_zero);
  CHECK(reason_of([&] { (void)(one / bytes()); }) == failure::division_by_zero);
  CHECK(reason_of([&] { (void)(one % bytes()); }) == failure::division_by_zero);
  CHECK(reason_of([&] { (void)bytes(-1); }) == failure::negative);
  CHECK(reason_of([&] { (void)tokens(checked_count::failed(failure::partial_block)); }) == failure::partial_block);
  CHECK(reason_of([&] { (void)(bytes::max() - one + one); }) == failure::none);
}

TEST_CASE("an operator that fails leaves its left side as it was") {
  bytes total = bytes::max();
  CHECK(reason_of([&] { total += bytes(1); }) == failure::overflow);
  CHECK(total == bytes::max());
}

TEST_CASE("every failure is raised under its own reason, with a text") {
  for (const failure f : {failure::overflow, failure::negative, failure::division_by_zero, failure::partial_block,
                          failure::exceeds_reservation, failure::too_many_layers, failure::too_many_entries,
                          failure::block_too_large, failure::indivisible, failure::no_such_rank,
                          failure::unsupported_layer, failure::unknown_pool, failure::empty_pool}) {
    CAPTURE(static_cast<int>(f));
    CHECK(reason_of([&] { (void)checked_count::failed(f).value(); }) == f);
    try {
      raise_failure(f);
    } catch (const std::exception& e) {
      CHECK(std::string(e.what()).substr(0, 10) == "kvbudget: ");
    }
  }
  CHECK_NOTHROW(raise_failure(failure::none));
}

TEST_CASE("totals and inverses raise what is never computable") {
  const uniform_batch one{request(tokens(10), tokens(0)), 1};
  const full_attention partial = grouped_query_attention(1, 80, q8_0);
  const full_attention whole = grouped_query_attention(1, 96, q8_0);
  CHECK(reason_of([&] { (void)total_bytes(partial, stored, one); }) == failure::partial_block);
  CHECK(reason_of([&] {
          (void)cache_formula{partial, stored}.max_length(bytes(1'000'000), 1);
        }) == failure::partial_block);
  CHECK(reason_of([&] {
          (void)cache_formula{partial, stored}.max_sequences(bytes(1'000'000), one.each);
        }) == failure::partial_block);
  CHECK(reason_of([&] {
          (void)cache_formula{whole, paged{tokens(0)}}.max_length(bytes(1'000'000), 1);
        }) == failure::division_by_zero);
  CHECK(reason_of([&] { (void)total_bytes(repeated{65'537U, whole}, stored, one); }) == failure::too_many_layers);
  CHECK(reason_of([&] {
          (void)cache_formula{repeated{65'537U, whole}, stored}.max_length(bytes(1'000'000), 1);
        }) == failure::too_many_layers);
  CHECK(reason_of([&] { (void)total_bytes(whole, static_reservation{tokens(9)}, one); }) ==
        failure::exceeds_reservation);
  CHECK(reason_of([&] { (void)grouped(int4, 63, f16, 2); }) == failure::partial_block);
  CHECK(reason_of([&] { (void)grouped(int8, 0xffff'ffff, f16, 2); }) == failure::block_too_large);
  CHECK(reason_of([&] { (void)weight_bytes(~std::uint64_t{0}, 16); }) == failure::overflow);
  CHECK(reason_of([&] {
          (void)device_budget{bytes(1), {1, 0}, bytes(), bytes(), {0, 1}}.usable();
        }) == failure::division_by_zero);
}

namespace mine {

/// A policy whose rule raises: its caller hears of it.
struct raising {};
inline checked_count positions(const raising&, const full_attention&, const request&) {
  raise_failure(failure::unsupported_layer);
  return 0U;
}

}  // namespace mine

TEST_CASE("a failure that a policy raises reaches the caller") {
  const full_attention layer = grouped_query_attention(8, 128, bf16);
  const uniform_batch one{request(10_tokens, 0_tokens), 1};
  CHECK(reason_of([&] { (void)total_bytes(layer, mine::raising{}, one); }) == failure::unsupported_layer);
  CHECK(reason_of([&] {
          (void)total_bytes(layer_pair{layer, layer}, mine::raising{}, one);
        }) == failure::unsupported_layer);
  CHECK(reason_of([&] {
          (void)cache_formula{layer, mine::raising{}}.max_length(1_GiB, 1);
        }) == failure::unsupported_layer);
  const std::uint32_t lengths[] = {3, 4};
  CHECK(reason_of([&] { (void)total_bytes(layer, mine::raising{}, ragged_batch<std::uint32_t>(lengths)); }) ==
        failure::unsupported_layer);
  const auto on_rank = [&](std::uint64_t rank) {
    return total_bytes(layer, context_parallel<stored_positions>{{}, 2, rank}, one);
  };
  CHECK(on_rank(1) == 5U * 4096_B);
  CHECK(reason_of([&] { (void)on_rank(2); }) == failure::no_such_rank);
}

TEST_CASE("a failure is named for what failed") {
  fixed_vector<int, 6> six;
  for (int i = 0; i < 6; ++i) six.push_back(i);
  CHECK(reason_of([&] { six.push_back(6); }) == failure::too_many_entries);
  detail::llama_cpp::per_layer list = detail::llama_cpp::per_layer::empty_list();
  for (std::uint32_t i = 0; i < 512; ++i) list.push_back(i);
  CHECK(reason_of([&] { list.push_back(512); }) == failure::too_many_entries);
  CHECK(reason_of([&] { (void)detail::vllm::block_pool(detail::vllm::cache_plan{}); }) == failure::unknown_pool);
  CHECK(reason_of([&] { ledger(admit_resident{}, ledger_pool{"pool", 10, 1_B}); }) == failure::empty_pool);
}
