// An engine's answer to a plan's question, for all replicas, against the devices.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/engine/placement_parts.hpp>
#include <kvbudget/engines/engines.hpp>
#include <kvbudget/plan/assess.hpp>
#include <kvbudget/plan/question.hpp>

namespace kvbudget::detail {

[[nodiscard]] inline std::vector<device_budget> with_co_residents(std::vector<device_budget> devices,
                                                                  const std::vector<co_resident>& co_residents) {
  for (device_budget& d : devices) {
    for (const co_resident& n : co_residents) d.fixed_overhead += n.size;
  }
  return devices;
}

/// The engine's answer for one workload on what the devices leave.
[[nodiscard]] inline engine_answer evaluate(const located_config& located, const plan_question& q,
                                            const std::optional<workload>& work,
                                            const std::vector<device_budget>& devices) {
  engine_question asked{q.options, q.types, work, q.where, {}, std::nullopt};
  for (const device_budget& d : devices) asked.available.push_back(d.available_for_cache());
  if (!q.devices.empty()) asked.device_name = q.device_name;
  return find_engine(q.engine).answer(located, asked);
}

/// What the requests of the workload make of an engine's pool. Without a size of its own the pool has just the blocks
/// that they hold; with one, it holds so many such requests, however many the engine's limit would allow.
inline void fill_pool(engine_answer& e, const workload& w) {
  if (!e.pool_use || !e.refusal.empty()) return;
  if (e.layers_of) e.layers = e.layers_of(w);
  if (e.own_capacity) {
    pool_capacity& own = *e.own_capacity;
    const std::uint64_t length = longest_of(w);
    if (length == own.length || !w.lengths.empty()) return;
    const checked_count one = e.pool_use(workload{w.prompt, w.generated, 1, {}});
    if (one == checked_count(0U)) return;
    own.max_sequences = own.bytes / one.value();
    own.max_tokens = (checked_count(own.max_sequences) * length).value();
    own.length = length;
    return;
  }
  checked_count unit = 0U;
  for (const pool_bytes& p : e.pools) unit += p.unit_bytes;
  const checked_count held = held_in_pool(e, w);
  const std::uint64_t blocks = unit == checked_count(0U) ? 0 : (held / unit).value();
  for (pool_bytes& p : e.pools) {
    p.units = blocks;
    p.bytes = (checked_count(p.unit_bytes) * blocks).value();
    e.devices[p.device].bytes = e.devices[p.device].peak = p.bytes;
  }
  e.total_bytes = held.value();
}

/// The answers of an engine that plans one replica, put together: each replica has its own devices and its own pool.
[[nodiscard]] inline engine_answer join_replicas(std::vector<engine_answer> replicas,
                                                 const std::optional<workload>& work) {
  engine_answer all = replicas.front();
  std::vector<std::uint64_t> room;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    engine_answer& e = replicas[r];
    if (e.own_capacity) room.push_back(e.own_capacity->max_sequences);
    if (r == 0) continue;
    if (all.refusal.empty()) {
      all.refusal = e.refusal;
      all.too_large = e.too_large;
    }
    for (pool_bytes& p : e.pools) {
      p.device += static_cast<std::uint32_t>(all.devices.size());
      all.pools.push_back(std::move(p));
    }
    for (device_cache& d : e.devices) {
      d.name = std::to_string(all.devices.size());
      all.devices.push_back(std::move(d));
    }
    all.total_bytes = (checked_count(all.total_bytes) + e.total_bytes).value();
    if (!all.own_capacity || !e.own_capacity) {
      all.own_capacity.reset();
      continue;
    }
    pool_capacity& sum = *all.own_capacity;
    sum.max_length = std::min(sum.max_length, e.own_capacity->max_length);
    if (sum.holds) sum.holds = *sum.holds && e.own_capacity->holds.value_or(true);
    sum.max_tokens = (checked_count(sum.max_tokens) + e.own_capacity->max_tokens).value();
  }
  if (all.layers_of && work) all.layers = all.layers_of(*work);
  // The requests of a prefix would have to be sent to the same replica.
  all.common_bytes = nullptr;
  all.sequences_add_up = false;
  if (all.own_capacity) {
    all.own_capacity->max_sequences = largest_that_fits([&](std::uint64_t n) {
                                        for (std::size_t r = 0; r < room.size(); ++r) {
                                          if (equal_part(n, room.size(), r) > room[r]) return false;
                                        }
                                        return true;
                                      }).value;
  }
  all.replicas = replicas.size();
  all.notes.push_back("figures of the engine are those of the first of " + std::to_string(replicas.size()) +
                      " replicas");
  return all;
}

/// The engine's answer for all replicas of the placement.
[[nodiscard]] inline engine_answer evaluate_replicas(const located_config& located, const plan_question& q,
                                                     const std::optional<workload>& work,
                                                     const std::vector<device_budget>& devices) {
  const std::uint64_t replicas = q.where.data_parallel;
  if (replicas == 1 || !find_engine(q.engine).plans_one_replica) {
    engine_answer e = evaluate(located, q, work, devices);
    if (work) fill_pool(e, *work);
    return e;
  }
  const std::size_t ranks = q.where.devices() / replicas;
  const bool by_device = devices.size() == ranks * replicas;
  plan_question one = q;
  one.where.data_parallel = 1;
  std::vector<engine_answer> answers;
  engine_answer last;
  std::vector<device_budget> of_last;
  const auto equal = [](const device_budget& x, const device_budget& y) {
    return x.available_for_cache() == y.available_for_cache();
  };
  for (std::uint64_t r = 0; r < replicas; ++r) {
    std::vector<device_budget> own = devices;
    if (by_device) {
      const auto from = devices.begin() + static_cast<std::ptrdiff_t>(r * ranks);
      own.assign(from, from + static_cast<std::ptrdiff_t>(ranks));
    }
    if (r == 0 || !std::equal(own.begin(), own.end(), of_last.begin(), of_last.end(), equal)) {
      last = evaluate(located, one, work, own);
      of_last = own;
    }
    answers.push_back(last);
    if (!work) continue;
    const workload share = device_part{0, nullptr, r, replicas, 0}.share_of(*work);
    fill_pool(answers.back(), share);
    if (auto& pool = answers.back().own_capacity; pool && !work->lengths.empty()) {
      pool->holds = share.lengths.empty() || held_in_pool(answers.back(), share).fits(pool->bytes);
    }
  }
  return join_replicas(std::move(answers), work);
}

/// What is known of the devices when the engine does not run.
[[nodiscard]] inline capacity budget_of_refused(const engine_answer& e, const std::vector<device_budget>& devices) {
  capacity c;
  c.fits = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    c.devices.push_back({std::to_string(i), devices[i], 0U, 0U, false});
  }
  c.tightest = find_tightest(c);
  c.binding = e.refusal;
  return c;
}

/// The answer to one workload, and whether it fits.
struct assessed {
  engine_answer answer;
  std::optional<capacity> budget;
};
/// What was observed, in place of the computed figures. Throws usage_error where it is not one figure for each device.
inline void put_observed(engine_answer& e, const std::vector<bytes>& observed) {
  if (e.devices.size() > observed.size() && e.devices.back().name == "host" && e.devices.back().bytes == 0) {
    e.devices.pop_back();  // nothing was there to be seen
  }
  if (observed.size() != std::max<std::size_t>(e.devices.size(), 1)) {
    throw usage_error({"", "observed", std::to_string(observed.size())}, "not one figure for each device of the plan",
                      std::to_string(e.devices.size()) + " sizes");
  }
  if (e.devices.empty()) e.devices.push_back(device_cache{"0", 0, 0, {}});
  checked_count total = 0U;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    e.devices[i].bytes = e.devices[i].peak = observed[i].count();
    total += observed[i].count();
  }
  e.total_bytes = total.value();
}

[[nodiscard]] inline assessed assess_workload(const located_config& located, const plan_question& q,
                                              const std::optional<workload>& work, const std::vector<bytes>& observed) {
  const std::vector<device_budget> devices = with_co_residents(q.devices, q.co_residents);
  assessed result{evaluate_replicas(located, q, work, devices), std::nullopt};
  engine_answer& e = result.answer;
  if (!e.refusal.empty()) {
    if (!devices.empty()) result.budget = budget_of_refused(e, devices);
    return result;
  }
  if (!observed.empty() && !work) {
    throw usage_error({"", "observed", "cache"}, "no workload that was observed", "a prompt and a generation as well");
  }
  if (!observed.empty()) put_observed(e, observed);
  if (!devices.empty()) result.budget = assess(e, work, devices, q.host);
  else if (work && e.own_capacity) result.budget = assess_pool(e, *work);
  if (!observed.empty() && result.budget) {
    // They would be computed, and contradict what was observed.
    result.budget->max_length = result.budget->max_sequences = result.budget->max_tokens = std::nullopt;
    e.notes.push_back("the cache was observed: how many sequences or positions fit was not computed beside it");
  }
  return result;
}

/// The cases of a capacity check: each is computed as the plan is, with the engine's options for its own workload.
[[nodiscard]] inline std::vector<case_answer> answer_cases(const located_config& located, const plan_question& q) {
  std::vector<case_answer> answers;
  for (const capacity_case& c : q.cases) {
    case_answer a;
    a.name = c.name;
    a.work = c.work;
    if (c.work) {
      assessed one;
      try {
        one = assess_workload(located, q, c.work, c.observed);
      } catch (const size_error& problem) {
        one.answer.refusal = problem.what();
      }
      a.rests_on = c.observed.empty() ? evidence::computed : evidence::observed;
      const engine_answer& e = one.answer;
      if (e.refusal.empty())
        a.cache_bytes = e.pool_use && c.observed.empty() ? e.pool_use(*c.work).value() : e.total_bytes;
      a.binding = one.answer.refusal;
      if (one.budget) {
        a.fits = one.budget->fits;
        a.binding = one.budget->binding;
      } else if (!one.answer.refusal.empty()) {
        a.fits = false;
      }
    }
    answers.push_back(std::move(a));
  }
  return answers;
}

}  // namespace kvbudget::detail
