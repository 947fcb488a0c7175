// From a published config.json to a report: what the cache takes in transformers, and what fits on the device.

#include <fmt/format.h>

#include <kvbudget/config/engines.hpp>
#include <kvbudget/report.hpp>

int main() {
  using namespace kvbudget;
  const auto model = config::read_document("configs/gemma-2-9b-it.json");
  const config::workload work{6000, 2000, 4, {}};

  plan_report report;
  report.answer = config::find_engine("transformers")
                      .evaluate(model, nullptr, {{"seq_len", work.prompt}, {"decode_steps", work.generated}, {"batch", work.sequences}});
  report.source = model.file;
  report.work = work;
  device_budget device;
  device.capacity = 80_GiB;
  device.utilization = {9, 10};
  device.weights = 18'483'411'968_B;
  device.overhead_share = {10, 100};
  report.budget = assess(report.answer, work, device);
  report.weights_given = report.overhead_given = true;

  fmt::print("{}", to_table(report));
}
