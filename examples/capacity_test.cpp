// A capacity test as a user of the library would write it, with Catch2.

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <kvbudget/kvbudget.hpp>

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

plan_report llama_on_the_card(const std::optional<workload>& work) {
  plan_question question;
  question.work = work;
  question.devices = {card()};
  question.weights = evidence::given;
  return make_plan(locate_config("configs/llama-3.1-8b.json"), question);
}

}  // namespace

TEST_CASE("sixty-four chats fit on the card") {
  const plan_report chats = llama_on_the_card(workload{3072, 1024, 64, {}});
  CHECK(chats.answer.total_bytes == 34'359'738'368);
  CHECK(fits(chats) == true);
}

TEST_CASE("one document of 128k fits, five do not") {
  CHECK(fits(llama_on_the_card(workload{130048, 1024, 1, {}})) == true);
  CHECK(fits(llama_on_the_card(workload{130048, 1024, 5, {}})) == false);
}

TEST_CASE("the longest single document is known to the token") {
  const plan_report any = llama_on_the_card(std::nullopt);
  REQUIRE(any.budget->max_length);
  CHECK(any.budget->max_length->value == 439'205);
}
