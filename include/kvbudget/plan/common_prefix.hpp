// What sequences with a common prefix take.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/plan/question.hpp>

namespace kvbudget::detail {

[[nodiscard]] inline std::optional<prefix_answer> answer_prefix(engine_answer& e, const plan_question& q,
                                                                const std::optional<capacity>& budget) {
  if (!q.shared_prefix) return std::nullopt;
  const std::uint64_t prefix = *q.shared_prefix;
  if (!q.work || !q.work->lengths.empty()) {
    throw usage_error({"", "shared-prefix", std::to_string(prefix)}, "no sequences of one shape",
                      "a prompt and a generation as well");
  }
  if (prefix > q.work->prompt) {
    throw usage_error({"", "shared-prefix", std::to_string(prefix)}, "longer than the prompt",
                      std::to_string(q.work->prompt));
  }
  if (!e.common_bytes) {
    e.notes.push_back(
        "no sequence shares memory with another in this engine and placement: a common prefix saves nothing");
    return std::nullopt;
  }
  prefix_answer a;
  a.prefix = prefix;
  a.common_bytes = e.common_bytes(*q.work, prefix).value();
  const std::uint64_t n = q.work->sequences;
  const auto bytes_of = [&](const workload& w) { return e.pool_use ? e.pool_use(w) : e.devices.front().peak_bytes(w); };
  a.separate_bytes = bytes_of(*q.work).value();
  a.together_bytes = n == 0 ? 0 : (checked_count(a.separate_bytes) - checked_count(a.common_bytes) * (n - 1)).value();
  if (budget && q.where.data_parallel == 1 && (e.own_capacity || budget->devices.size() == 1)) {
    const std::uint64_t room = e.own_capacity ? e.own_capacity->bytes : budget->available_for_cache().count();
    workload one = *q.work;
    one.sequences = 1;
    a.max_sequences = largest_that_fits([&](std::uint64_t m) {
      if (m == 0) return true;
      workload asked = one;
      asked.sequences = m;
      return (bytes_of(asked) - checked_count(a.common_bytes) * (m - 1)).fits(room);
    });
  }
  return a;
}

}  // namespace kvbudget::detail
