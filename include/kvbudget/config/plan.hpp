// One question about one model, and its answer: what the cache takes, and what fits where.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/config/bare.hpp>
#include <kvbudget/config/engines.hpp>
#include <kvbudget/config/locate.hpp>
#include <kvbudget/config/model_length.hpp>
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
    return config::evaluate_bare(located.config, q.types.k, q.types.v, work.value_or(config::workload{}), tokens(),
                                 q.where);
  }
  const config::engine_entry& engine = config::find_engine(q.engine);
  config::json settings = q.settings;
  std::vector<std::string> notes;
  engine.apply_workload(settings, work, q.types);
  for (const char* const limit : {"max_model_len", "n_ctx", "n_seq_max"}) {
    if (settings.contains(limit) && !q.settings.contains(limit)) {
      notes.push_back("planned for " + std::string(limit) + "=" + settings[limit].dump() +
                      ", which is the workload's: set it to what the engine is started with");
    }
  }
  if (engine.knows_device != nullptr && !settings.contains("device") && !q.devices.empty()) {
    if (engine.knows_device(q.device_name)) settings["device"] = q.device_name;
    else notes.push_back("the device's kind is not known to the engine's rules: those of its default device hold");
  }
  engine.apply_placement(settings, q.where);
  if (!devices.empty() && engine.apply_devices != nullptr && !settings.contains("available_memory")) {
    std::vector<bytes> available;
    for (const device_budget& d : devices) available.push_back(d.available_for_cache());
    engine.apply_devices(settings, q.where, available);
  }
  config::evaluation e =
      engine.evaluate(located.config, located.hf_quant_config ? &located.hf_quant_config->root : nullptr, settings);
  e.notes.insert(e.notes.end(), notes.begin(), notes.end());
  return e;
}

/// What the requests of the workload make of an engine's pool. Without a size of its own the pool has just the blocks
/// that they hold; with one, it holds so many such requests, however many the engine's limit would allow.
inline void fill_pool(config::evaluation& e, const config::workload& w) {
  if (!e.pool_use || !e.refusal.empty()) return;
  if (e.layers_of) e.layers = e.layers_of(w);
  if (e.own_capacity) {
    config::pool_capacity& own = *e.own_capacity;
    const std::uint64_t length = config::detail::longest_of(w);
    if (length == own.length || !w.lengths.empty()) return;
    const checked_count one = e.pool_use(config::workload{w.prompt, w.generated, 1, {}});
    if (one == checked_count(0U)) return;
    own.max_sequences = own.bytes / one.value();
    own.max_tokens = (checked_count(own.max_sequences) * length).value();
    own.length = length;
    return;
  }
  checked_count unit = 0U;
  for (const config::pool_bytes& p : e.pools) unit += p.unit_bytes;
  const checked_count held = held_in_pool(e, w);
  const std::uint64_t blocks = unit == checked_count(0U) ? 0 : (held / unit).value();
  for (config::pool_bytes& p : e.pools) {
    p.units = blocks;
    p.bytes = (checked_count(p.unit_bytes) * blocks).value();
    e.devices[p.device].bytes = e.devices[p.device].peak = p.bytes;
  }
  e.total_bytes = held.value();
}

/// The answers of an engine that plans one replica, put together: each replica has its own devices and its own pool.
[[nodiscard]] inline config::evaluation join_replicas(std::vector<config::evaluation> replicas,
                                                      const std::optional<config::workload>& work) {
  config::evaluation all = replicas.front();
  std::vector<std::uint64_t> room;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    config::evaluation& e = replicas[r];
    if (e.own_capacity) room.push_back(e.own_capacity->max_sequences);
    if (r == 0) continue;
    if (all.refusal.empty()) {
      all.refusal = e.refusal;
      all.too_large = e.too_large;
    }
    for (config::pool_bytes& p : e.pools) {
      p.device += static_cast<std::uint32_t>(all.devices.size());
      all.pools.push_back(std::move(p));
    }
    for (config::device_cache& d : e.devices) {
      d.name = std::to_string(all.devices.size());
      all.devices.push_back(std::move(d));
    }
    all.total_bytes = (checked_count(all.total_bytes) + e.total_bytes).value();
    if (!all.own_capacity || !e.own_capacity) {
      all.own_capacity.reset();
      continue;
    }
    config::pool_capacity& sum = *all.own_capacity;
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
[[nodiscard]] inline config::evaluation evaluate_replicas(const config::located_config& located, const plan_question& q,
                                                          const std::optional<config::workload>& work,
                                                          const std::vector<device_budget>& devices) {
  const std::uint64_t replicas = q.where.data_parallel;
  if (replicas == 1 || q.engine.empty() || !config::find_engine(q.engine).plans_one_replica) {
    config::evaluation e = evaluate(located, q, work, devices);
    if (work) fill_pool(e, *work);
    return e;
  }
  const std::size_t ranks = q.where.devices() / replicas;
  const bool by_device = devices.size() == ranks * replicas;
  plan_question one = q;
  one.where.data_parallel = 1;
  std::vector<config::evaluation> answers;
  config::evaluation last;
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
    const config::workload share = config::device_part{0, nullptr, r, replicas, 0}.share_of(*work);
    fill_pool(answers.back(), share);
    if (auto& pool = answers.back().own_capacity; pool && !work->lengths.empty()) {
      pool->holds = share.lengths.empty() || held_in_pool(answers.back(), share).fits(pool->bytes);
    }
  }
  return join_replicas(std::move(answers), work);
}

/// What is known of the devices when the engine does not run.
[[nodiscard]] inline config::capacity budget_of_refused(const config::evaluation& e,
                                                        const std::vector<device_budget>& devices) {
  config::capacity c;
  c.fits = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    c.devices.push_back({std::to_string(i), devices[i], 0U, 0U, false});
  }
  c.tightest = config::detail::find_tightest(c);
  c.binding = e.refusal;
  return c;
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
  if (!e.refusal.empty()) {
    if (!devices.empty()) result.budget = budget_of_refused(e, devices);
    return result;
  }
  if (!observed.empty()) {
    if (!work)
      throw usage_error({"", "observed", "cache"}, "no workload that was observed",
                        "a prompt and a generation as well");
    if (e.devices.size() > observed.size() && e.devices.back().name == "host" && e.devices.back().bytes == 0) {
      e.devices.pop_back();  // nothing was there to be seen
    }
    if (observed.size() != std::max<std::size_t>(e.devices.size(), 1)) {
      throw usage_error({"", "observed", std::to_string(observed.size())}, "not one figure for each device of the plan",
                        std::to_string(e.devices.size()) + " sizes");
    }
    if (e.devices.empty()) e.devices.push_back(config::device_cache{"0", 0, 0, {}});
    checked_count total = 0U;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      e.devices[i].bytes = e.devices[i].peak = observed[i].count();
      total += observed[i].count();
    }
    e.total_bytes = total.value();
  }
  if (!devices.empty()) result.budget = config::assess(e, work, devices, q.host);
  else if (work && e.own_capacity) result.budget = config::assess_pool(e, *work);
  if (!observed.empty() && result.budget) {
    // They would be computed, and contradict what was observed.
    result.budget->max_length = result.budget->max_sequences = result.budget->max_tokens = std::nullopt;
    e.notes.push_back("the cache was observed: how many sequences or positions fit was not computed beside it");
  }
  return result;
}

/// The cases of a capacity check: each is computed as the plan is, with the engine's options for its own workload.
[[nodiscard]] inline std::vector<case_answer> answer_cases(const config::located_config& located,
                                                           const plan_question& q) {
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
      a.rests_on = c.observed.empty() ? basis::computed : basis::observed;
      const config::evaluation& e = one.answer;
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

[[nodiscard]] inline std::optional<prefix_answer> answer_prefix(config::evaluation& e, const plan_question& q,
                                                                const std::optional<config::capacity>& budget) {
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
  const auto bytes_of = [&](const config::workload& w) {
    return e.pool_use ? e.pool_use(w) : e.devices.front().peak_bytes(w);
  };
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

/// Bytes of weights that a step leaves alone: routed experts that one token does not need, and of the embedding all but
/// a few rows, where a head of its own is read. 0 where only the size is known. Nothing where it is not known which
/// device holds how much of the experts.
[[nodiscard]] inline std::optional<std::uint64_t> weights_not_read(const config::located_config& located,
                                                                   const plan_question& q) {
  const auto counts = config::find_experts(located.config);
  checked_count rest = 0U;
  if (counts && !(q.files && q.files->bytes_of(tensor_group::experts) == 0)) {
    if (!q.files || counts->per_token == 0 || counts->per_token > counts->experts || q.where.devices() != 1)
      return std::nullopt;
    rest += checked_count(q.files->bytes_of(tensor_group::experts)) / counts->experts *
            (counts->experts - counts->per_token);
  }
  if (q.files && q.where.devices() == 1) rest += config::embedding_beside_head(*q.files);
  return rest.value();
}

[[nodiscard]] inline std::optional<movement_answer> answer_movement(const config::located_config& located,
                                                                    config::evaluation& e, const plan_question& q,
                                                                    const std::vector<bytes>& weights) {
  if (!q.transfer_bandwidth && !q.memory_bandwidth) return std::nullopt;
  if (!q.work || !q.work->lengths.empty() || q.work->sequences == 0) {
    throw usage_error({"", q.transfer_bandwidth ? "transfer-bandwidth" : "memory-bandwidth", ""},
                      "no sequences of one shape", "a prompt and a generation as well");
  }
  for (const auto& [size, name] :
       {std::pair{q.transfer_bandwidth, "transfer-bandwidth"}, std::pair{q.memory_bandwidth, "memory-bandwidth"}}) {
    if (size && *size == bytes())
      throw usage_error({"", name, "0"}, "nothing ever arrives", "bytes a second, such as 25GB");
  }
  movement_answer a;
  const request each(tokens(q.work->prompt), tokens(q.work->generated));
  a.token_computations = token_computations(each, true).value();
  a.token_computations_without_cache = token_computations(each, false).value();
  config::workload one = *q.work;
  one.sequences = 1;
  if (e.pool_use) {
    a.sequence_bytes = e.pool_use(one).value();
  } else if (q.engine.empty()) {
    plan_question alone = q;
    alone.where = {};  // what several ranks keep is moved once
    a.sequence_bytes = evaluate(located, alone, one, {}).total_bytes;
  } else {
    checked_count sum = 0U;
    for (const config::device_cache& d : e.devices) sum += d.peak_bytes ? d.peak_bytes(one) : checked_count(0U);
    a.sequence_bytes = sum.value();
  }
  if (q.transfer_bandwidth) {
    a.transfer_seconds = static_cast<double>(a.sequence_bytes) / static_cast<double>(q.transfer_bandwidth->count());
  }
  if (!q.memory_bandwidth) return a;
  const auto unknown = [&](const std::string& why) {
    e.notes.push_back("bytes read per step are unknown" + why);
    return a;
  };
  if (q.weights == basis::untested) return unknown(" without the weights");
  const std::optional<std::uint64_t> rest = weights_not_read(located, q);
  if (!rest) return unknown(": they depend on where the chosen experts are");

  // Every device reads its weights and the stored positions of its layers and sequences; the engine's padding is not
  // read.
  plan_question bare = q;
  bare.engine.clear();
  bare.settings = config::json::object();
  bare.types = types_in_force(e, q);
  if (q.where.host_layers == 0 && q.where.pipeline_parallel > 1) {
    bare.where.stage_layers.assign(q.where.pipeline_parallel, 0);
    for (const std::uint32_t stage : e.stage_of_layer) {
      if (stage >= q.where.pipeline_parallel) return unknown(" with layers on the host");
      ++bare.where.stage_layers[stage];
    }
  }
  std::vector<config::device_cache> caches;
  try {
    caches = evaluate(located, bare, q.work, {}).devices;
  } catch (const input_error& problem) {
    return unknown(std::string(": ") + problem.what());
  }
  const std::size_t devices = q.where.devices();
  const std::size_t of_replica = devices / q.where.data_parallel;
  checked_count all = 0U;
  double per_second = 0;
  for (std::size_t first = 0; first < devices; first += of_replica) {
    std::uint64_t slowest = 0;  // no device can be faster than its own reading, however the stages overlap
    for (std::size_t i = first; i < first + of_replica; ++i) {
      const bytes own = !weights.empty()    ? weights[i]
                        : q.devices.empty() ? bytes()
                                            : q.devices[q.devices.size() == 1 ? 0 : i].weights;
      const checked_count here = checked_count(own.count()) - *rest + (i < caches.size() ? caches[i].bytes : 0);
      slowest = std::max(slowest, here.value());
      all += here;
    }
    const auto sequences =
        static_cast<double>(equal_part(q.work->sequences, q.where.data_parallel, first / of_replica));
    if (slowest > 0)
      per_second += sequences * static_cast<double>(q.memory_bandwidth->count()) / static_cast<double>(slowest);
  }
  a.read_bytes_per_step = all.value();
  if (per_second > 0) a.max_tokens_per_second = per_second;
  if (!q.files) e.notes.push_back("the weights are taken to be read whole at every step");
  return a;
}

/// The engine's own options of the placement count for the weights and the devices as well; a device that is named is
/// there for the engine too.
inline void settle_placement(plan_question& q) {
  if (q.engine.empty()) return;
  const config::engine_entry& engine = config::find_engine(q.engine);
  const auto take = [&](std::string_view name, std::uint64_t& to) {
    const auto at = q.settings.find(name);
    if (to == 1 && at != q.settings.end() && at->is_number_unsigned() && *at >= 1 && *at <= 1024)
      to = at->get<std::uint64_t>();
  };
  take(engine.tensor_parallel_option, q.where.tensor_parallel);
  take(engine.stages_option, q.where.pipeline_parallel);
  const std::string option(engine.stages_option);
  if (engine.stages_count_devices && !q.devices.empty() && !q.settings.contains(option)) {
    q.settings[option] = q.where.pipeline_parallel;
  }
}

/// Weights on each device, and on the host behind them, as the engine places its layers. Empty when they are in
/// `q.devices` already. Sets what the figure rests on.
[[nodiscard]] inline std::vector<bytes> weights_of_devices(const config::located_config& located, plan_question& q) {
  if (!q.files && q.weight_sizes.empty()) return {};
  plan_question one = q;
  one.where.data_parallel = 1;
  const config::evaluation e = evaluate(located, one, q.work, {});
  if (q.files) {
    q.weights = q.where.tensor_parallel > 1 ? basis::estimated : basis::computed;
    return config::place_weights(*q.files, e, q.where);
  }
  const std::size_t devices = q.where.devices();
  std::vector<bytes> sizes = q.weight_sizes;
  if (sizes.size() == 1) {
    const bool on_host =
        std::find(e.stage_of_layer.begin(), e.stage_of_layer.end(), e.layer_stages) != e.stage_of_layer.end();
    if (q.where.pipeline_parallel > 1 || on_host) {
      throw usage_error({"", "weights", ""}, "one size does not say what each device holds",
                        "one size for each, the host's last, or the files");
    }
    if (q.where.tensor_parallel > 1) {
      sizes[0] = bytes(div_ceil(sizes[0].count(), q.where.tensor_parallel));
      q.weights = basis::estimated;
    }
    sizes.resize(devices, sizes[0]);
  }
  if (sizes.size() == devices) sizes.push_back(bytes());
  if (sizes.size() != devices + 1) {
    throw usage_error({"", "weights", std::to_string(q.weight_sizes.size())}, "not one size for each device",
                      std::to_string(devices) + " sizes, or one more for the host");
  }
  return sizes;
}

/// Puts them into the budgets.
inline void put_weights(const std::vector<bytes>& placed, plan_question& q) {
  if (placed.empty() || q.devices.empty()) return;
  const std::size_t devices = placed.size() - 1;
  if (q.devices.size() == 1) q.devices.resize(devices, q.devices.front());
  if (q.devices.size() != devices) {
    throw usage_error({"", "device", std::to_string(q.devices.size())},
                      "the plan has " + std::to_string(devices) + " devices", "one for all of them, or one for each");
  }
  for (std::size_t i = 0; i < devices; ++i) q.devices[i].weights = placed[i];
  if (q.host) q.host->weights = placed.back();
}

/// A model can be asked for more positions than it is made for.
inline void note_length(const config::document& d, const std::optional<config::workload>& work, config::evaluation& e) {
  if (!work || !e.refusal.empty()) return;
  const std::optional<std::uint64_t> longest = longest_context(d);
  const std::uint64_t asked = config::detail::longest_of(*work);
  if (!longest || asked <= *longest) return;
  e.notes.push_back("sequences of " + std::to_string(asked) + " positions are longer than the " +
                    std::to_string(*longest) + " that the model is made for");
}

/// Parts of the question that this answer does not depend on.
inline void note_irrelevant(const plan_question& q, config::evaluation& e) {
  const auto on_host = [](const config::device_cache& d) { return d.name == "host"; };
  if (q.host && std::none_of(e.devices.begin(), e.devices.end(), on_host)) {
    e.notes.push_back("host-memory is irrelevant: no layer is on the host");
  }
  if (!q.host && !q.devices.empty() &&
      std::any_of(e.devices.begin(), e.devices.end(), [&](const auto& d) { return on_host(d) && d.bytes > 0; })) {
    e.notes.push_back("what is on the host is compared with nothing: its memory was not given (host-memory)");
  }
  if (q.where.attention_data_parallel && q.where.tensor_parallel == 1) {
    e.notes.push_back("attention-data-parallel is irrelevant: there is one tensor-parallel rank");
  }
}

/// An engine may take numbers as mere proportions (llama.cpp); what it makes of them must be what was asked for.
inline void check_stages(const config::evaluation& e, const plan_question& q) {
  if (q.where.stage_layers.empty() || q.where.host_layers > 0 || e.stage_of_layer.empty()) return;
  std::vector<std::uint64_t> placed(q.where.stage_layers.size() + 1, 0);
  for (const std::uint32_t stage : e.stage_of_layer) ++placed[std::min<std::size_t>(stage, placed.size() - 1)];
  placed.pop_back();
  if (placed == q.where.stage_layers) return;
  std::string text;
  for (const std::uint64_t n : placed) text += (text.empty() ? "" : ",") + std::to_string(n);
  throw usage_error({"", "stage-layers", ""}, "the engine would place " + text + " layers",
                    "numbers that add up to " + std::to_string(e.stage_of_layer.size()));
}

}  // namespace detail

/// Answers a question. Throws config_error, usage_error, engine_refusal; raises size_error.
[[nodiscard]] inline plan_report make_plan(const config::located_config& located, plan_question q) {
  detail::settle_placement(q);
  const std::vector<bytes> weights = detail::weights_of_devices(located, q);
  detail::put_weights(weights, q);
  plan_report r;
  detail::assessed now = detail::assess_workload(located, q, q.work, q.observed_cache);
  r.answer = std::move(now.answer);
  r.budget = std::move(now.budget);
  detail::check_stages(r.answer, q);
  detail::note_length(located.config, q.work, r.answer);
  detail::note_irrelevant(q, r.answer);
  r.source = located.config.file;
  r.revision = located.revision;
  r.work = q.work;
  r.weights = q.weights;
  r.overhead = q.overhead;
  r.cache = q.observed_cache.empty() ? basis::computed : basis::observed;
  r.device_sources = q.device_sources;
  r.neighbours = q.neighbours;
  r.cases = detail::answer_cases(located, q);
  if (r.answer.refusal.empty()) {
    r.prefix = detail::answer_prefix(r.answer, q, r.budget);
    r.movement = detail::answer_movement(located, r.answer, q, weights);
  }
  r.answer.notes.insert(r.answer.notes.end(), q.notes.begin(), q.notes.end());
  r.files = std::move(q.files);
  if (r.files) r.files->tensors.clear();
  return r;
}

}  // namespace kvbudget
