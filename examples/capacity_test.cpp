// A capacity test as a user of the library would write it, with Catch2.

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <kvbudget/config/bare.hpp>
#include <kvbudget/config/capacity.hpp>

using namespace kvbudget;

namespace {

/// The card that the service runs on.
device_budget card() {
  device_budget d;
  d.capacity = 80_GiB;
  d.utilization = {9, 10};
  d.weights = 16'060'522'240_B;
  d.overhead_share = {5, 100};
  return d;
}

config::evaluation llama(const config::workload& w) {
  static const auto model = config::read_document("configs/llama-3.1-8b.json");
  return config::evaluate_bare(model, {}, {}, w);
}

}  // namespace

TEST_CASE("sixty-four chats fit on the card") {
  const config::workload chats{3072, 1024, 64, {}};
  const auto answer = llama(chats);
  CHECK(answer.total_bytes == 34'359'738'368);
  CHECK(assess(answer, chats, card()).fits);
}

TEST_CASE("one document of 128k fits, five do not") {
  const config::workload one{130048, 1024, 1, {}};
  const config::workload five{130048, 1024, 5, {}};
  CHECK(assess(llama(one), one, card()).fits);
  CHECK_FALSE(assess(llama(five), five, card()).fits);
}

TEST_CASE("the longest single document is known to the token") {
  const config::workload none;
  const auto longest = assess(llama(none), std::nullopt, card()).max_length;
  REQUIRE(longest);
  CHECK(longest->value == 439'205);
}
