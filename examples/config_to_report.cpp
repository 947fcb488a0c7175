// From a published config.json to a report: what the cache takes in transformers, and what fits on the device.

#include <fmt/format.h>

#include <kvbudget/kvbudget.hpp>

int main() {
  using namespace kvbudget;
  const located_config model = locate_config("configs/gemma-2-9b-it.json");
  plan_question question;
  question.engine = "transformers";
  question.work = workload{6000, 2000, 4, {}};
  device_budget device;
  device.capacity = 80_GiB;
  device.utilization = {9, 10};
  device.weights = 18'483'411'968_B;
  device.overhead_share = {10, 100};
  question.devices = {device};
  question.weights = question.overhead = evidence::given;
  const plan_report report = make_plan(model, question);

  fmt::print("{}", to_table(report));
}
