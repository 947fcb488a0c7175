// One question about one model, and its answer: what the cache takes, and what fits where.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/config/bare.hpp>
#include <kvbudget/config/engines.hpp>
#include <kvbudget/config/locate.hpp>
#include <kvbudget/config/placed_weights.hpp>
#include <kvbudget/config/question.hpp>

namespace kvbudget {

namespace detail {

[[nodiscard]] inline std::vector<device_budget> with_neighbours(std::vector<device_budget> devices,
                                                                const std::vector<neighbour>& neighbours) {
  for (device_budget& d : devices) {
    for (const neighbour& n : neighbours) d.fixed_overhead += n.size;
  }
  return devices;
}

/// The engine's answer for one workload on what the devices leave.
[[nodiscard]] inline config::evaluation evaluate(const config::located_config& located, const plan_question& q,
                                                 const std::optional<config::workload>& work,
                                                 const std::vector<device_budget>& devices) {
  if (q.engine.empty()) {
    if (!q.settings.empty()) {
      throw usage_error({"", q.settings.begin().key(), ""}, "an engine's option, and no engine was named", "an engine");
    }
    return config::evaluate_bare(located.config, q.types.k, q.types.v, work.value_or(config::workload{}), tokens(), q.where);
  }
  const config::engine_entry& engine = config::find_engine(q.engine);
  config::json settings = q.settings;
  engine.apply_workload(settings, work, q.types);
  engine.apply_placement(settings, q.where);
  if (!devices.empty() && engine.apply_devices != nullptr && !settings.contains("available_memory")) {
    std::vector<bytes> available;
    for (const device_budget& d : devices) available.push_back(d.available_for_cache());
    engine.apply_devices(settings, q.where, available);
  }
  return engine.evaluate(located.config, located.hf_quant_config ? &located.hf_quant_config->root : nullptr, settings);
}

/// The engine plans one replica; each replica has its own devices and its own pool.
[[nodiscard]] inline config::evaluation evaluate_replicas(const config::located_config& located, const plan_question& q,
                                                          const std::optional<config::workload>& work,
                                                          const std::vector<device_budget>& devices) {
  const std::uint64_t replicas = q.where.data_parallel;
  if (q.engine != "vllm" || replicas == 1) return evaluate(located, q, work, devices);
  const std::size_t ranks = q.where.devices() / replicas;
  plan_question one = q;
  one.where.data_parallel = 1;
  config::evaluation all;
  for (std::uint64_t r = 0; r < replicas; ++r) {
    std::vector<device_budget> own = devices;
    if (devices.size() == ranks * replicas) {
      const auto from = devices.begin() + static_cast<std::ptrdiff_t>(r * ranks);
      own.assign(from, from + static_cast<std::ptrdiff_t>(ranks));
    }
    config::evaluation e = evaluate(located, one, work, own);
    if (r == 0) {
      all = std::move(e);
      continue;
    }
    if (all.refusal.empty()) {
      all.refusal = e.refusal;
      all.too_large = e.too_large;
    }
    for (config::device_cache& d : e.devices) {
      d.name = std::to_string(all.devices.size());
      all.devices.push_back(std::move(d));
    }
    for (config::pool_bytes& p : e.pools) {
      p.device += static_cast<std::uint32_t>(r * ranks);
      all.pools.push_back(std::move(p));
    }
    all.total_bytes = (checked_count(all.total_bytes) + e.total_bytes).value();
    if (!all.own_capacity || !e.own_capacity) {
      all.own_capacity.reset();
      continue;
    }
    all.pool_use = nullptr;  // the requests of a prefix would have to be sent to the same replica
    all.common_bytes = nullptr;
    all.sequences_add_up = false;
    config::pool_capacity& sum = *all.own_capacity;
    sum.max_length = std::min(sum.max_length, e.own_capacity->max_length);
    sum.max_sequences = (checked_count(sum.max_sequences) + e.own_capacity->max_sequences).value();
    sum.max_tokens = (checked_count(sum.max_tokens) + e.own_capacity->max_tokens).value();
  }
  all.notes.push_back("figures of the engine are those of the first of " + std::to_string(replicas) + " replicas");
  return all;
}

/// The answer to one workload, and whether it fits.
struct assessed {
  config::evaluation answer;
  std::optional<config::capacity> budget;
};
[[nodiscard]] inline assessed assess_workload(const config::located_config& located, const plan_question& q,
                                              const std::optional<config::workload>& work,
                                              const std::vector<bytes>& observed) {
  const std::vector<device_budget> devices = with_neighbours(q.devices, q.neighbours);
  assessed result{evaluate_replicas(located, q, work, devices), std::nullopt};
  config::evaluation& e = result.answer;
  if (!e.refusal.empty()) return result;
  if (!observed.empty()) {
    if (observed.size() != std::max<std::size_t>(e.devices.size(), 1)) {
      throw usage_error({"", "observed", std::to_string(observed.size())}, "not one figure for each device of the plan",
                        std::to_string(e.devices.size()) + " sizes");
    }
    if (e.devices.empty()) e.devices.push_back(config::device_cache{"0", 0, {}});
    checked_count total = 0U;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      e.devices[i].bytes = observed[i].count();
      total += observed[i].count();
    }
    e.total_bytes = total.value();
  }
  if (!devices.empty()) result.budget = config::assess(e, work, devices, q.host);
  return result;
}

/// The cases of a capacity check: each is computed as the plan is, with the engine's options for its own workload.
[[nodiscard]] inline std::vector<case_answer> answer_cases(const config::located_config& located, const plan_question& q) {
  std::vector<case_answer> answers;
  for (const capacity_case& c : q.cases) {
    case_answer a;
    a.name = c.name;
    a.work = c.work;
    if (c.work) {
      const assessed one = assess_workload(located, q, c.work, c.observed);
      a.rests_on = c.observed.empty() ? basis::computed : basis::observed;
      const config::evaluation& e = one.answer;
      if (e.refusal.empty()) a.cache_bytes = e.pool_use && c.observed.empty() ? e.pool_use(*c.work).value() : e.total_bytes;
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

[[nodiscard]] inline std::optional<prefix_answer> answer_prefix(config::evaluation& e, const plan_question& q,
                                                                const std::optional<config::capacity>& budget) {
  if (!q.shared_prefix) return std::nullopt;
  const std::uint64_t prefix = *q.shared_prefix;
  if (!q.work || !q.work->lengths.empty()) {
    throw usage_error({"", "shared-prefix", std::to_string(prefix)}, "no sequences of one shape", "a prompt and a generation as well");
  }
  if (prefix > q.work->prompt) {
    throw usage_error({"", "shared-prefix", std::to_string(prefix)}, "longer than the prompt", std::to_string(q.work->prompt));
  }
  if (!e.common_bytes) {
    e.notes.push_back("no sequence shares memory with another in this engine and placement: a common prefix saves nothing");
    return std::nullopt;
  }
  prefix_answer a;
  a.prefix = prefix;
  a.common_bytes = e.common_bytes(*q.work, prefix).value();
  const std::uint64_t n = q.work->sequences;
  const auto bytes_of = [&](const config::workload& w) { return e.pool_use ? e.pool_use(w) : e.devices.front().peak_bytes(w); };
  a.separate_bytes = bytes_of(*q.work).value();
  a.together_bytes = n == 0 ? 0 : (checked_count(a.separate_bytes) - checked_count(a.common_bytes) * (n - 1)).value();
  if (budget && q.where.data_parallel == 1 && (e.own_capacity || budget->devices.size() == 1)) {
    const std::uint64_t room = e.own_capacity ? e.own_capacity->bytes : budget->available_for_cache().count();
    config::workload one = *q.work;
    one.sequences = 1;
    a.max_sequences = largest_that_fits([&](std::uint64_t m) {
      if (m == 0) return true;
      config::workload asked = one;
      asked.sequences = m;
      return (bytes_of(asked) - checked_count(a.common_bytes) * (m - 1)).fits(room);
    });
  }
  return a;
}

/// Element types of K and V that the options in force name, if they name any.
[[nodiscard]] inline config::cache_types types_in_force(const config::evaluation& e, const plan_question& q) {
  config::cache_types types = q.types;
  for (const char* const name : {"type_k", "kv_cache_dtype", "k_dtype", "dtype"}) {
    const auto at = e.settings.find(name);
    if (types.k || at == e.settings.end() || !at->is_string()) continue;
    types.k = find_storage_type(at->get_ref<const std::string&>());
  }
  for (const char* const name : {"type_v", "v_dtype"}) {
    const auto at = e.settings.find(name);
    if (types.v || at == e.settings.end() || !at->is_string()) continue;
    types.v = find_storage_type(at->get_ref<const std::string&>());
  }
  if (!types.v) types.v = types.k;
  return types;
}

/// Bytes of routed experts that a step of one token leaves alone: 0 in a dense model; nothing where it is not known
/// which device holds how much of them.
[[nodiscard]] inline std::optional<std::uint64_t> experts_not_read(const config::located_config& located, const plan_question& q) {
  const auto counts = config::find_experts(located.config);
  if (!counts || (q.files && q.files->bytes_of(tensor_group::experts) == 0)) return 0;
  if (!q.files || counts->per_token == 0 || counts->per_token > counts->experts || q.devices.size() != 1) return std::nullopt;
  return (checked_count(q.files->bytes_of(tensor_group::experts)) / counts->experts * (counts->experts - counts->per_token)).value();
}

[[nodiscard]] inline std::optional<movement_answer> answer_movement(const config::located_config& located, config::evaluation& e,
                                                                    const plan_question& q) {
  if (!q.transfer_bandwidth && !q.memory_bandwidth) return std::nullopt;
  if (!q.work || !q.work->lengths.empty() || q.work->sequences == 0) {
    throw usage_error({"", "bandwidth", ""}, "no sequences of one shape", "a prompt and a generation as well");
  }
  for (const auto& [size, name] : {std::pair{q.transfer_bandwidth, "transfer-bandwidth"}, std::pair{q.memory_bandwidth, "memory-bandwidth"}}) {
    if (size && *size == bytes()) throw usage_error({"", name, "0"}, "nothing ever arrives", "bytes a second, such as 25GB");
  }
  movement_answer a;
  const request each(tokens(q.work->prompt), tokens(q.work->generated));
  a.token_computations = token_computations(each, true).value();
  a.token_computations_without_cache = token_computations(each, false).value();
  config::workload one = *q.work;
  one.sequences = 1;
  plan_question alone = q;
  alone.where = {};  // what several ranks keep is moved once
  a.sequence_bytes = e.pool_use ? e.pool_use(one).value() : evaluate(located, alone, one, {}).total_bytes;
  if (q.transfer_bandwidth) {
    a.transfer_seconds = static_cast<double>(a.sequence_bytes) / static_cast<double>(q.transfer_bandwidth->count());
  }
  if (!q.memory_bandwidth) return a;

  plan_question bare = q;
  bare.engine.clear();
  bare.settings = config::json::object();
  bare.types = types_in_force(e, q);
  std::vector<std::uint64_t> read;  // by device
  try {
    for (const config::device_cache& d : evaluate(located, bare, q.work, {}).devices) read.push_back(d.bytes);
  } catch (const input_error& problem) {
    e.notes.push_back(std::string("bytes read per step are unknown: ") + problem.what());
    return a;
  }
  if (q.weights == basis::untested) {
    e.notes.push_back("bytes read per step are unknown without the weights");
    return a;
  }
  const std::optional<std::uint64_t> rest = experts_not_read(located, q);
  if (!rest) {
    e.notes.push_back("bytes read per step are unknown: they depend on where the chosen experts are");
    return a;
  }
  checked_count all = 0U;
  checked_count longest = 0U;  // one stage after the other; the ranks of a stage at once
  const std::uint64_t ranks = q.where.tensor_parallel * q.where.context_parallel;
  const std::uint64_t stages = q.where.pipeline_parallel;
  for (std::uint64_t stage = 0; stage < stages; ++stage) {
    std::uint64_t slowest = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const std::size_t i = stage * ranks + rank;
      const std::uint64_t weights = q.devices.empty() ? 0 : q.devices[q.devices.size() == 1 ? 0 : i].weights.count();
      const checked_count here = checked_count(weights) - *rest + (i < read.size() ? read[i] : 0);
      slowest = std::max(slowest, here.value());
      all += here;
    }
    longest += slowest;
  }
  a.read_bytes_per_step = all.value();
  const auto sequences = static_cast<double>(equal_part(q.work->sequences, q.where.data_parallel, 0));
  if (longest.value() > 0) {
    a.max_tokens_per_second = sequences * static_cast<double>(q.where.data_parallel) *
                              static_cast<double>(q.memory_bandwidth->count()) / static_cast<double>(longest.value());
  }
  return a;
}

/// The weights of the files on each device, as the engine places its layers.
inline void put_weights_of_files(const config::located_config& located, plan_question& q) {
  plan_question one = q;
  one.where.data_parallel = 1;
  const config::evaluation e = evaluate(located, one, q.work, {});
  const std::vector<bytes> placed = config::place_weights(*q.files, e, q.where);
  const std::size_t devices = placed.size() - 1;
  if (q.devices.size() == 1) q.devices.resize(devices, q.devices.front());
  if (q.devices.size() != devices) {
    throw usage_error({"", "device", std::to_string(q.devices.size())}, "the plan has " + std::to_string(devices) + " devices",
                      "one for all of them, or one for each");
  }
  for (std::size_t i = 0; i < devices; ++i) q.devices[i].weights = placed[i];
  if (q.host) q.host->weights = placed.back();
  q.weights = q.where.tensor_parallel > 1 ? basis::estimated : basis::computed;
}

}  // namespace detail

/// Answers a question. Throws config_error, usage_error, engine_refusal; raises size_error.
[[nodiscard]] inline plan_report make_plan(const config::located_config& located, plan_question q) {
  plan_report r;
  if (q.files && !q.devices.empty()) detail::put_weights_of_files(located, q);
  detail::assessed now = detail::assess_workload(located, q, q.work, q.observed_cache);
  r.answer = std::move(now.answer);
  r.budget = std::move(now.budget);
  r.source = located.config.file;
  r.revision = located.revision;
  r.work = q.work;
  r.weights = q.weights;
  r.overhead = q.overhead;
  r.cache = q.observed_cache.empty() ? basis::computed : basis::observed;
  r.device_sources = q.device_sources;
  r.neighbours = q.neighbours;
  r.cases = detail::answer_cases(located, q);
  if (r.answer.refusal.empty()) r.prefix = detail::answer_prefix(r.answer, q, r.budget);
  if (r.answer.refusal.empty()) r.movement = detail::answer_movement(located, r.answer, q);
  return r;
}

}  // namespace kvbudget
