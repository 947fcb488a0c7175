// A question about a model's cache on some devices, and the answer: the types of make_plan().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/compiled.hpp>
#include <kvbudget/plan/capacity.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/input/model_weights.hpp>

namespace kvbudget {

/// A figure rests on a computation, on a statement of the user, or on a measurement that the user made; or on nothing.
enum class evidence : std::uint8_t { untested, computed, given, estimated, observed };
inline constexpr std::string_view evidence_names[] = {"untested", "computed", "given", "estimated", "observed"};
[[nodiscard]] constexpr std::string_view name_of(evidence b) noexcept {
  return evidence_names[static_cast<std::size_t>(b)];
}

/// Other things on every device: a draft model, a second model with its cache.
struct co_resident {
  std::string name;
  bytes size;
};

/// One of the cases of a capacity check.
struct capacity_case {
  std::string name;
  std::optional<workload> work;  ///< nothing: untested
  std::vector<bytes> observed;   ///< of the cache, by device, in place of the computed figures
};

/// What is asked. Parts that are absent are not answered.
struct plan_question {
  // Elsewhere, so that a file which uses it does not compile what copies and destroys all of its parts.
  plan_question();
  plan_question(const plan_question& other);
  plan_question(plan_question&& other) noexcept;
  plan_question& operator=(const plan_question& other);
  plan_question& operator=(plan_question&& other) noexcept;
  ~plan_question();

  std::string engine = "none";  ///< "none": the bare tensors of the stored positions
  engine_options options;
  cache_types types;
  std::optional<workload> work;
  placement where;

  std::vector<device_budget> devices;       ///< one for all, or one for each; without the co_residents
  std::vector<bytes> weight_sizes;          ///< one for all of the model, or one for each device, the host
                                            ///< last; in place of those of `devices`
  std::optional<model_weights> files;       ///< the same from files
  std::vector<std::string> notes;           ///< on what was given, for the report
  std::vector<std::string> device_sources;  ///< where a known device's capacity comes from
  std::string device_name;                  ///< of the known device, where all are of one kind
  std::optional<device_budget> host;
  evidence weights = evidence::untested;
  evidence overhead = evidence::untested;
  std::vector<co_resident> co_residents;
  std::vector<bytes> observed_cache;  ///< by device, in place of the computed figures

  std::vector<capacity_case> cases;
  std::optional<std::uint64_t> shared_prefix;  ///< positions that all sequences have in common
  std::optional<bytes> transfer_bandwidth;     ///< bytes a second between devices or to the host
  std::optional<bytes> memory_bandwidth;       ///< bytes a second of each device's memory
};

/// What sequences with a common prefix take.
struct prefix_answer {
  std::uint64_t prefix = 0;
  std::uint64_t common_bytes = 0;      ///< of one sequence, in common with the others
  std::uint64_t separate_bytes = 0;    ///< of the workload without sharing
  std::uint64_t together_bytes = 0;    ///< with it
  std::optional<limit> max_sequences;  ///< of the workload's shape that fit with sharing
};

/// What moves: a sequence to another place, and the cache through the processor at every step.
struct movement_answer {
  std::uint64_t sequence_bytes = 0;  ///< of one sequence at its full length
  std::optional<double> transfer_seconds;
  /// Weights and stored positions at the full length; of routed experts those that one token needs, so at least this.
  std::optional<std::uint64_t> read_bytes_per_step;
  std::optional<double> max_tokens_per_second;  ///< of all sequences together, if nothing but memory binds
  std::uint64_t token_computations = 0;         ///< of one sequence, prefill once and decode per token
  std::uint64_t token_computations_without_cache = 0;
};

struct case_answer {
  std::string name;
  std::optional<workload> work;
  evidence rests_on = evidence::untested;
  std::optional<std::uint64_t> cache_bytes;  ///< of a pool of blocks, what the case's requests hold
  std::optional<bool> fits;
  std::string binding;
};

/// One plan: all that a report shows. Parts that were not asked for are absent.
struct plan_report {
  // Elsewhere, so that a file which uses it does not compile what copies and destroys all of its parts.
  plan_report();
  plan_report(const plan_report& other);
  plan_report(plan_report&& other) noexcept;
  plan_report& operator=(const plan_report& other);
  plan_report& operator=(plan_report&& other) noexcept;
  ~plan_report();

  engine_answer answer;
  std::optional<model_weights> files;  ///< of the weights, without the tensors
  std::string source;                  ///< the file as the user named it
  std::string revision;                ///< of a model from the local cache, if known
  std::optional<workload> work;
  std::optional<capacity> budget;
  evidence weights = evidence::untested;
  evidence overhead = evidence::untested;
  evidence cache = evidence::computed;
  std::vector<std::string> device_sources;
  std::vector<co_resident> co_residents;
  std::vector<case_answer> cases;
  std::optional<prefix_answer> prefix;
  std::optional<movement_answer> movement;
};

/// What the workload takes. An engine that sizes its pool by the memory it is given takes more; this is what the
/// workload's requests hold of it. Nothing without an answer or a workload.
[[nodiscard]] inline std::optional<std::uint64_t> workload_bytes(const plan_report& r) {
  if (!r.answer.refusal.empty() || (!r.work && r.answer.engine.empty())) return std::nullopt;
  if (!r.work || !r.answer.pool_use) return r.answer.total_bytes;
  return held_in_pool(r.answer, *r.work).value();
}

/// Whether it fits. Nothing where no device was asked about, and where the weights were not given: the cache alone
/// fits, and whether the rest does is untested.
[[nodiscard]] inline std::optional<bool> fits(const plan_report& r) {
  if (!r.budget) return std::nullopt;
  if (r.budget->fits && r.weights == evidence::untested && !r.budget->devices.empty()) return std::nullopt;
  return r.budget->fits;
}

/// How an answer ends. The numbers are the programs' exit status.
enum class outcome : std::uint8_t {
  answered = 0,
  does_not_fit = 1,
  wrong_usage = 2,
  not_understood = 3,
  engine_refuses = 4
};

[[nodiscard]] inline outcome outcome_of(const plan_report& r) {
  if (!r.answer.refusal.empty()) return r.answer.too_large ? outcome::does_not_fit : outcome::engine_refuses;
  if (r.budget && !r.budget->fits) return outcome::does_not_fit;
  for (const case_answer& c : r.cases) {
    if (c.fits && !*c.fits) return outcome::does_not_fit;
  }
  return outcome::answered;
}

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/plan/question.ipp>
#endif
