// Definitions of report.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <vector>
#include <fmt/format.h>
#include <kvbudget/engine/layer_costs.hpp>
#include <kvbudget/input/document.hpp>
#include <kvbudget/plan/question.hpp>
#include <kvbudget/report/format.hpp>
#include <kvbudget/report/sheet.hpp>
#include <kvbudget/input/spelling.hpp>
#include <kvbudget/version.hpp>
#include <kvbudget/report/report.hpp>

namespace kvbudget {

namespace detail {

/// The same layers together: kind, how many, bytes.
struct kind_row {
  std::string kind;
  std::uint64_t layers = 0;
  checked_count k = 0U;
  checked_count v = 0U;
  checked_count other = 0U;
};

[[nodiscard]] inline std::vector<kind_row> rows_by_kind(const engine_answer& e) {
  std::vector<kind_row> rows;
  for (const layer_bytes& l : e.layers) {
    auto at = std::find_if(rows.begin(), rows.end(), [&](const kind_row& r) { return r.kind == l.kind; });
    if (at == rows.end()) at = rows.insert(rows.end(), kind_row{l.kind});
    ++at->layers;
    at->k += l.k_bytes;
    at->v += l.v_bytes;
    at->other += l.other_bytes;
  }
  return rows;
}

[[nodiscard]] inline std::string in_all_units(bytes amount) {
  return fmt::format("{} B  {:.3g}  {:.3G}", grouped_digits(amount.count()), amount, amount);
}
[[nodiscard]] inline std::string in_all_units(checked_count amount) {
  return amount.valid() ? in_all_units(bytes(amount)) : "more than 64 bits hold";
}

[[nodiscard]] inline std::string shown(const std::optional<limit>& answer) {
  if (!answer) return "unknown";
  if (answer->none) return "none";
  return answer->unbounded ? "unbounded" : grouped_digits(answer->value);
}

[[nodiscard]] inline std::string shown(const workload& w) {
  if (!w.lengths.empty()) return fmt::format("{} sequences of different lengths", grouped_digits(w.lengths.size()));
  return fmt::format("{} sequence{} of {} + {} positions (prompt + generation)", grouped_digits(w.sequences),
                     w.sequences == 1 ? "" : "s", grouped_digits(w.prompt), grouped_digits(w.generated));
}

/// Neighbours are in the overhead, so it is known in part where they are.
[[nodiscard]] inline evidence overhead_basis(const plan_report& r) {
  return r.overhead == evidence::untested && !r.co_residents.empty() ? evidence::given : r.overhead;
}

[[nodiscard]] inline std::string shown(evidence b) { return fmt::format("  ({})", name_of(b)); }

/// Without trailing zeros, six digits.
[[nodiscard]] inline std::string shown(double number) { return fmt::format("{:.6g}", number); }

[[nodiscard]] inline config::json as_json(const std::optional<limit>& answer) {
  if (!answer || answer->unbounded) return nullptr;
  return answer->value;
}

template <class T>
[[nodiscard]] config::json json_or_null(const std::optional<T>& value) {
  return value ? config::json(*value) : config::json(nullptr);
}

[[nodiscard]] inline std::string engine_name(const plan_report& r) {
  return r.answer.engine.empty() ? "none (bare tensors of the stored positions)"
                                 : r.answer.engine + " " + r.answer.version;
}

/// A quantity, its value and what it rests on; the rows of CSV and of the Markdown summary.
struct quantity_row {
  std::string name;
  std::string value;
  std::string unit;
  std::string basis;
};

/// The quantities of a plan, part by part.
class quantity_list {
 public:
  explicit quantity_list(const plan_report& r) : r_(r) {
    add_cache();
    if (r.budget) add_budget(*r.budget);
    for (const case_answer& c : r.cases) add_case(c);
    if (r.prefix) add_prefix(*r.prefix);
    if (r.movement) add_movement(*r.movement);
  }
  [[nodiscard]] std::vector<quantity_row> rows() && { return std::move(rows_); }

 private:
  void add(std::string name, std::uint64_t value, std::string unit, std::string_view basis = "computed") {
    rows_.push_back({std::move(name), std::to_string(value), std::move(unit), std::string(basis)});
  }
  void add(std::string name, const std::optional<limit>& value, std::string unit) {
    if (!value) return;
    rows_.push_back(
        {std::move(name), value->unbounded ? "unbounded" : std::to_string(value->value), std::move(unit), "computed"});
  }
  void add(std::string name, const std::optional<double>& value, std::string unit) {
    if (value) rows_.push_back({std::move(name), shown(*value), std::move(unit), "computed"});
  }
  /// What was not given is no 0.
  void add_known(std::string name, checked_count value, evidence b) {
    if (b == evidence::untested) rows_.push_back({std::move(name), "", "bytes", "untested"});
    else if (value.valid()) add(std::move(name), value.value(), "bytes", name_of(b));
  }

  void add_cache() {
    const engine_answer& e = r_.answer;
    if (r_.work || !e.engine.empty()) {
      for (const kind_row& k : rows_by_kind(e)) add("cache_" + k.kind, (k.k + k.v + k.other).value(), "bytes");
      add("cache_total", e.total_bytes, "bytes", name_of(r_.cache));
    }
    if (e.bytes_per_token) add("cache_per_token", *e.bytes_per_token, "bytes");
    if (e.state_bytes_per_sequence) add("state_per_sequence", *e.state_bytes_per_sequence, "bytes");
  }
  void add_budget(const capacity& b) {
    for (const device_share& d : b.devices) {
      const std::string of = b.devices.size() == 1 ? "" : "_of_device_" + d.name;
      add("device_capacity" + of, d.budget.capacity.count(), "bytes", "given");
      add("device_usable" + of, d.budget.usable().count(), "bytes");
      add_known("weights" + of, d.budget.weights.count(), r_.weights);
      add("cache" + of, d.cache_bytes.value(), "bytes", name_of(r_.cache));
      add_known("overhead" + of, d.budget.overhead(d.cache_bytes), overhead_basis(r_));
      add("available_for_cache" + of, d.budget.available_for_cache().count(), "bytes");
    }
    if (const auto verdict = fits(r_)) add("fits", *verdict ? 1U : 0U, "boolean", name_of(r_.cache));
    else rows_.push_back({"fits", "", "boolean", "untested"});
    if (b.devices.size() > 1) add("tightest_device", b.tightest, "device");
    add("max_length", b.max_length, "positions");
    add("max_sequences", b.max_sequences, "sequences");
    add("max_tokens", b.max_tokens, "positions");
  }
  void add_case(const case_answer& c) {
    if (!c.work) {
      rows_.push_back({"case_" + c.name, "", "bytes", "untested"});
      return;
    }
    if (c.cache_bytes) add("case_" + c.name, *c.cache_bytes, "bytes", name_of(c.rests_on));
    if (c.fits) add("case_" + c.name + "_fits", *c.fits ? 1U : 0U, "boolean", name_of(c.rests_on));
  }
  void add_prefix(const prefix_answer& p) {
    add("shared_prefix_common", p.common_bytes, "bytes");
    add("shared_prefix_total", p.together_bytes, "bytes");
    add("shared_prefix_saved", p.separate_bytes - p.together_bytes, "bytes");
    add("shared_prefix_max_sequences", p.max_sequences, "sequences");
  }
  void add_movement(const movement_answer& m) {
    add("sequence_to_move", m.sequence_bytes, "bytes");
    add("transfer", m.transfer_seconds, "seconds");
    add("decode_at_most", m.max_tokens_per_second, "tokens/s");
    if (m.read_bytes_per_step) add("read_per_step", *m.read_bytes_per_step, "bytes");
    add("token_computations", m.token_computations, "tokens");
    add("token_computations_without_cache", m.token_computations_without_cache, "tokens");
  }

  const plan_report& r_;
  std::vector<quantity_row> rows_;
};

[[nodiscard]] inline std::vector<quantity_row> quantities(const plan_report& r) { return quantity_list(r).rows(); }

/// One device of the budget; null for what was not given.
[[nodiscard]] inline config::json device_json(const plan_report& r, std::size_t i) {
  using config::json;
  const device_share& d = r.budget->devices[i];
  const auto known = [](checked_count n, evidence b) {
    return n.valid() && b != evidence::untested ? json(n.value()) : json(nullptr);
  };
  json out = {{"device", i},
              {"capacity_bytes", d.budget.capacity.count()},
              {"usable_bytes", d.budget.usable().count()},
              {"weights_bytes", known(d.budget.weights.count(), r.weights)},
              {"cache_bytes", d.cache_bytes.value()},
              {"peak_bytes", d.peak_bytes.value()},
              {"overhead_bytes", known(d.budget.overhead(d.cache_bytes), overhead_basis(r))},
              {"available_bytes", d.budget.available_for_cache().count()},
              {"weights_basis", name_of(r.weights)},
              {"cache_basis", name_of(r.cache)},
              {"overhead_basis", name_of(overhead_basis(r))},
              {"fits", d.fits && r.weights == evidence::untested ? json(nullptr) : json(d.fits)}};
  if (!r.device_sources.empty()) out["capacity_source"] = r.device_sources[r.device_sources.size() == 1 ? 0 : i];
  if (d.name != std::to_string(i)) out["name"] = d.name;
  return out;
}

[[nodiscard]] inline config::json model_json(const plan_report& r) {
  using config::json;
  const engine_answer& e = r.answer;
  json sources = json::array();
  for (const provenance& p : e.sources) {
    sources.push_back({{"quantity", p.quantity}, {"value", config::to_json(p.value)}, {"source", p.source}});
  }
  json out = {{"model_type", e.model_type},
              {"layers", e.model_layers},
              {"attention", e.attention},
              {"source", r.source},
              {"provenance", sources}};
  if (!r.revision.empty()) out["revision"] = r.revision;
  return out;
}

[[nodiscard]] inline config::json cache_json(const plan_report& r) {
  using config::json;
  const engine_answer& e = r.answer;
  json pools = json::array();
  for (const pool_bytes& p : e.pools) {
    pools.push_back(
        {{"name", p.name}, {"device", p.device}, {"unit_bytes", p.unit_bytes}, {"units", p.units}, {"bytes", p.bytes}});
  }
  return {{"basis", name_of(r.cache)},
          {"total_bytes", e.refusal.empty() ? json(e.total_bytes) : json(nullptr)},
          {"workload_bytes", r.work ? json_or_null(workload_bytes(r)) : json(nullptr)},
          {"bytes_per_token", json_or_null(e.bytes_per_token)},
          {"state_bytes_per_sequence", json_or_null(e.state_bytes_per_sequence)},
          {"pools", pools},
          {"layers", layers_as_json(e.layers)}};
}

[[nodiscard]] inline config::json budget_json(const plan_report& r) {
  using config::json;
  const capacity& b = *r.budget;
  json devices = json::array();
  for (std::size_t i = 0; i < b.devices.size(); ++i) devices.push_back(device_json(r, i));
  return {{"fits", json_or_null(fits(r))},
          {"limit", b.binding},
          {"max_tokens", as_json(b.max_tokens)},
          {"max_sequences", as_json(b.max_sequences)},
          {"max_length", as_json(b.max_length)},
          {"tightest_device", b.tightest},
          {"devices", devices}};
}

/// What a budget leaves unknown or without an end, in words.
[[nodiscard]] inline std::vector<std::string> budget_notes(const plan_report& r) {
  const capacity& b = *r.budget;
  std::vector<std::string> notes;
  if (r.cache != evidence::observed && r.work && !b.max_sequences) {
    notes.push_back("max_sequences and max_tokens are unknown for this workload");
  }
  if (b.max_sequences && b.max_sequences->unbounded) {
    notes.push_back("max_sequences is unbounded: such sequences take nothing");
  }
  if (b.max_length && b.max_length->unbounded) {
    notes.push_back("max_length is unbounded: the cache does not grow with the length");
  }
  if (r.weights == evidence::untested && !b.devices.empty()) {
    notes.push_back("weights were not given: untested; whether all fits cannot be said");
  }
  if (r.overhead == evidence::untested && !b.devices.empty()) {
    notes.push_back("activations, runtime and fragmentation were not given: untested");
  }
  return notes;
}

[[nodiscard]] inline config::json weights_json(const model_weights& files) {
  config::json groups = config::json::object();
  for (std::size_t i = 0; i < std::size(tensor_group_names); ++i) {
    groups[std::string(tensor_group_names[i])] = files.bytes_by_group[i];
  }
  return {{"total_bytes", files.total_bytes},
          {"parameters", files.parameters},
          {"by_dtype", files.bytes_by_dtype},
          {"by_group", groups},
          {"files", files.files}};
}

[[nodiscard]] inline config::json case_json(const case_answer& c) {
  config::json row = {{"name", c.name}, {"basis", name_of(c.rests_on)}};
  if (!c.work) return row;
  row["prompt"] = c.work->prompt;
  row["generate"] = c.work->generated;
  row["sequences"] = c.work->sequences;
  row["cache_bytes"] = json_or_null(c.cache_bytes);
  row["fits"] = json_or_null(c.fits);
  row["limit"] = c.binding;
  return row;
}

[[nodiscard]] inline config::json prefix_json(const prefix_answer& p) {
  return {{"positions", p.prefix},
          {"common_bytes", p.common_bytes},
          {"separate_bytes", p.separate_bytes},
          {"together_bytes", p.together_bytes},
          {"saved_bytes", p.separate_bytes - p.together_bytes},
          {"max_sequences", as_json(p.max_sequences)}};
}

[[nodiscard]] inline config::json movement_json(const movement_answer& m) {
  return {{"sequence_bytes", m.sequence_bytes},
          {"transfer_seconds", json_or_null(m.transfer_seconds)},
          {"read_bytes_per_step", json_or_null(m.read_bytes_per_step)},
          {"max_tokens_per_second", json_or_null(m.max_tokens_per_second)},
          {"token_computations", m.token_computations},
          {"token_computations_without_cache", m.token_computations_without_cache}};
}

}  // namespace detail

KVBUDGET_INLINE detail::config::json to_json(const plan_report& r) {
  using detail::config::json;
  const engine_answer& e = r.answer;
  json out = {{"schema", "kvbudget.plan/1"}, {"model", detail::model_json(r)}, {"cache", detail::cache_json(r)}};
  if (!e.engine.empty()) {
    out["engine"] = {{"name", e.engine}, {"version", e.version}, {"settings", e.settings()}, {"figures", e.figures()}};
  }
  json notes = e.notes;
  if (r.budget) {
    out["budget"] = detail::budget_json(r);
    for (const std::string& note : detail::budget_notes(r)) notes.push_back(note);
  }
  if (r.files) out["weights"] = detail::weights_json(*r.files);
  for (const co_resident& n : r.co_residents) {
    out["budget"]["co_resident"].push_back({{"name", n.name}, {"bytes", n.size.count()}});
  }
  for (const case_answer& c : r.cases) out["cases"].push_back(detail::case_json(c));
  if (r.prefix) out["shared_prefix"] = detail::prefix_json(*r.prefix);
  if (r.movement) out["movement"] = detail::movement_json(*r.movement);
  out["notes"] = notes;
  return out;
}

KVBUDGET_INLINE std::string to_text(const detail::config::json& value) {
  return value.dump(2, ' ', false, detail::config::json::error_handler_t::replace);
}

KVBUDGET_INLINE std::string to_json_text(const plan_report& r) { return to_text(to_json(r)); }

KVBUDGET_INLINE std::string to_csv(const plan_report& r) {
  std::string out = "quantity,value,unit,basis\n";
  for (const detail::quantity_row& row : detail::quantities(r)) {
    out += fmt::format("{},{},{},{}\n", row.name, row.value, row.unit, row.basis);
  }
  return out;
}

KVBUDGET_INLINE std::string to_markdown(const plan_report& r) {
  std::string out = fmt::format("**{}**: {}, {} layers, {}; engine: {}\n\n", detail::printable(r.source),
                                detail::printable(r.answer.model_type), r.answer.model_layers, r.answer.attention,
                                detail::engine_name(r));
  out += "| quantity | value | GiB | GB | basis |\n| --- | ---: | ---: | ---: | --- |\n";
  for (const detail::quantity_row& row : detail::quantities(r)) {
    const bool is_size = row.unit == "bytes" && !row.value.empty();
    const bytes amount = is_size ? find_bytes(row.value).value() : bytes();
    out += fmt::format("| {} | {}{} | {} | {} | {} |\n", row.name, row.value, is_size ? " B" : "",
                       is_size ? to_gib(amount, 3) : "", is_size ? to_gb(amount, 3) : "", row.basis);
  }
  return out;
}

namespace detail {

inline void add_line(std::string& out, std::string_view name, const std::string& text) {
  out += fmt::format("{:<12} {}\n", name, printable(text));
}

/// One line: what binds, or what is not known.
[[nodiscard]] inline std::string verdict_text(const plan_report& r) {
  const capacity& b = *r.budget;
  if (!b.fits) return "does not fit: " + b.binding;
  if (!fits(r)) return "untested: what is known fits, the weights were not given";
  if (b.devices.size() > 1) return "fits; the least is left on device " + b.devices[b.tightest].name;
  return b.has_workload || !r.answer.engine.empty() ? "fits" : "weights and overhead fit; no workload was given";
}

[[nodiscard]] inline std::string heading_text(const plan_report& r) {
  const engine_answer& e = r.answer;
  std::string out;
  add_line(out, "model", fmt::format("{}, {} layers, {}", e.model_type, e.model_layers, e.attention));
  add_line(out, "source", r.revision.empty() ? r.source : r.source + " (revision " + r.revision + ")");
  add_line(out, "engine", engine_name(r));
  if (r.work) add_line(out, "workload", shown(*r.work));
  if (!e.refusal.empty()) add_line(out, "refused", e.refusal);
  if (r.budget && (e.refusal.empty() || e.too_large)) add_line(out, "verdict", verdict_text(r));
  return out;
}

/// Kinds of layers, and the cache as a whole.
[[nodiscard]] inline std::string cache_text(const plan_report& r) {
  const engine_answer& e = r.answer;
  std::string out;
  if (e.refusal.empty() && (r.work || !e.engine.empty())) {
    sheet kinds{{{"", "layers by kind", false},
                 {"", "layers"},
                 {"", "K bytes"},
                 {"", "V bytes"},
                 {"", "other bytes"},
                 {"", "bytes"}},
                {}};
    for (const kind_row& k : rows_by_kind(e)) {
      const checked_count all = k.k + k.v + k.other;
      if (k.kind == "padding" && all == checked_count(0U)) continue;
      kinds.rows.push_back({text_cell(k.kind), count_cell(k.layers), count_cell(k.k.value()), count_cell(k.v.value()),
                            count_cell(k.other.value()), count_cell(all.value())});
    }
    out += '\n' + kinds.text() + '\n';
    add_line(out, "cache", in_all_units(bytes(e.total_bytes)) + shown(r.cache));
    const auto held = r.work ? workload_bytes(r) : std::nullopt;
    if (held && *held != e.total_bytes) {
      add_line(out, "requests",
               in_all_units(bytes(*held)) + (*held < e.total_bytes
                                                 ? "  of it are held at once by the workload's requests"
                                                 : "  would be needed at once by the workload's requests"));
    }
    const bool divides = r.cache == evidence::computed && r.work && r.work->lengths.empty() && r.work->sequences > 1;
    if (divides && held && *held % r.work->sequences == 0) {
      add_line(out, "per sequence", in_all_units(bytes(*held / r.work->sequences)));
    }
  }
  const char* const everywhere = e.devices.size() > 1 ? ", all devices together" : "";
  if (e.bytes_per_token) {
    add_line(out, "per token", grouped_digits(*e.bytes_per_token) + " B in every sequence" + everywhere);
  }
  if (e.state_bytes_per_sequence.value_or(0) != 0) {
    add_line(out, "state",
             grouped_digits(*e.state_bytes_per_sequence) + " B per sequence, whatever its length" + everywhere);
  }
  return out;
}

[[nodiscard]] inline std::string weights_text(const model_weights& files) {
  std::string out = "\n";
  for (std::size_t i = 0; i < std::size(tensor_group_names); ++i) {
    if (files.bytes_by_group[i] == 0) continue;
    add_line(out, out.size() == 1 ? "weights" : "",
             fmt::format("{:<10} {}", tensor_group_names[i], in_all_units(bytes(files.bytes_by_group[i]))));
  }
  for (const auto& [dtype, size] : files.bytes_by_dtype)
    add_line(out, "", fmt::format("{:<10} {}", dtype, in_all_units(bytes(size))));
  return out;
}

/// One device, a line for each quantity.
[[nodiscard]] inline std::string device_text(const plan_report& r) {
  const device_share& d = r.budget->devices.front();
  const device_budget& budget = d.budget;
  std::string out;
  add_line(out, "device",
           in_all_units(budget.capacity) + "  (" + (r.device_sources.empty() ? "given" : r.device_sources[0]) + ")");
  if (budget.usable() != budget.capacity) add_line(out, "usable", in_all_units(budget.usable()));
  add_line(out, "weights",
           r.weights == evidence::untested ? std::string("not given: untested")
                                           : in_all_units(budget.weights) + shown(r.weights));
  add_line(out, "overhead",
           overhead_basis(r) != evidence::untested
               ? in_all_units(budget.overhead(d.cache_bytes)) + shown(overhead_basis(r))
               : std::string("activations and runtime not given: untested"));
  add_line(out, "for cache", in_all_units(budget.available_for_cache()) + "  (computed)");
  if (r.budget->has_workload || !r.answer.engine.empty()) {
    add_line(out, "total", in_all_units(budget.used(d.cache_bytes)));
  }
  return out;
}

/// Several devices, a row each.
[[nodiscard]] inline std::string devices_text(const plan_report& r) {
  sheet devices{{{"", "device", false},
                 {"", "capacity"},
                 {"", "usable"},
                 {"", "weights"},
                 {"", "overhead"},
                 {"", "for cache"},
                 {"", "cache bytes"},
                 {"", "cache"},
                 {"", "total"},
                 {"", "", false},
                 {"", "capacity from", false}},
                {}};
  const auto size = [](checked_count n) {
    return n.valid() ? text_cell(fmt::format("{:.3g}", bytes(n))) : text_cell("too large");
  };
  const cell untested = text_cell("untested");
  for (std::size_t i = 0; i < r.budget->devices.size(); ++i) {
    const device_share& d = r.budget->devices[i];
    const device_budget& budget = d.budget;
    const bool known = overhead_basis(r) != evidence::untested;
    const auto& from = r.device_sources;
    devices.rows.push_back(
        {text_cell(d.name), size(budget.capacity.count()),
         budget.usable() == budget.capacity ? cell() : size(budget.usable().count()),
         r.weights == evidence::untested ? untested : size(budget.weights.count()),
         known ? size(budget.overhead(d.cache_bytes)) : untested, size(budget.available_for_cache().count()),
         count_cell(d.cache_bytes.value()), size(d.cache_bytes), size(budget.used(d.cache_bytes)),
         text_cell(d.fits ? "" : "does not fit"),
         text_cell(from.empty() || from[from.size() == 1 ? 0 : i] == "given" ? "" : from[from.size() == 1 ? 0 : i])});
  }
  std::string out = devices.text() + '\n';
  const auto say = [&](std::string_view name, evidence b) {
    if (b != evidence::untested) add_line(out, name, std::string(name_of(b)));
  };
  say("weights", r.weights);
  say("overhead", overhead_basis(r));
  return out;
}

[[nodiscard]] inline std::string budget_text(const plan_report& r) {
  const capacity& b = *r.budget;
  std::string out = "\n";
  for (const co_resident& n : r.co_residents)
    add_line(out, "beside", n.name + ": " + in_all_units(n.size) + "  (in the overhead)");
  if (b.devices.size() == 1) out += device_text(r);
  else if (!b.devices.empty()) out += devices_text(r);
  if (b.max_sequences)
    add_line(out, "sequences",
             "at most " + shown(b.max_sequences) +
                 (r.work && !r.work->lengths.empty() ? " of these lengths in order" : " of this length"));
  if (b.max_length) {
    const std::uint64_t n = r.work && !r.answer.own_capacity ? r.work->sequences : 1;
    add_line(out, "length",
             fmt::format("at most {} positions in {} sequence{}", shown(b.max_length), grouped_digits(n),
                         n == 1 ? "" : "s"));
  }
  if (b.max_tokens)
    add_line(out, "tokens", "at most " + shown(b.max_tokens) + " positions in sequences of this length");
  return out;
}

[[nodiscard]] inline std::string cases_text(const plan_report& r) {
  sheet cases{{{"", "case", false},
               {"", "prompt"},
               {"", "generate"},
               {"", "sequences"},
               {"", "cache bytes"},
               {"", "cache"},
               {"", "basis", false},
               {"", "verdict", false}},
              {}};
  for (const case_answer& c : r.cases) {
    const auto number = [&](std::uint64_t workload::*field) {
      return c.work ? count_cell((*c.work).*field) : text_cell("-");
    };
    cases.rows.push_back({text_cell(c.name), number(&workload::prompt), number(&workload::generated),
                          number(&workload::sequences), c.cache_bytes ? count_cell(*c.cache_bytes) : text_cell("-"),
                          c.cache_bytes ? text_cell(fmt::format("{:.3g}", bytes(*c.cache_bytes))) : cell(),
                          text_cell(std::string(name_of(c.rests_on))),
                          text_cell(!c.fits   ? ""
                                    : *c.fits ? "fits"
                                              : "does not fit: " + c.binding)});
  }
  return '\n' + cases.text();
}

[[nodiscard]] inline std::string prefix_text(const prefix_answer& p) {
  std::string out = "\n";
  add_line(out, "prefix", fmt::format("{} positions in common", grouped_digits(p.prefix)));
  add_line(out, "common", in_all_units(bytes(p.common_bytes)) + "  of every sequence (computed)");
  add_line(out, "together", in_all_units(bytes(p.together_bytes)));
  add_line(out, "saved", in_all_units(bytes(p.separate_bytes - p.together_bytes)));
  if (p.max_sequences) add_line(out, "sequences", "at most " + shown(p.max_sequences) + " with this prefix");
  return out;
}

[[nodiscard]] inline std::string movement_text(const movement_answer& m) {
  std::string out = "\n";
  add_line(out, "to move", in_all_units(bytes(m.sequence_bytes)) + "  for one sequence (computed)");
  if (m.transfer_seconds) add_line(out, "transfer", shown(*m.transfer_seconds) + " s");
  if (m.read_bytes_per_step)
    add_line(out, "per step", in_all_units(bytes(*m.read_bytes_per_step)) + "  read at least (computed)");
  if (m.max_tokens_per_second)
    add_line(out, "decode", "at most " + shown(*m.max_tokens_per_second) + " tokens/s by memory bandwidth");
  add_line(out, "computed",
           fmt::format("{} tokens for one sequence with a cache, {} without", grouped_digits(m.token_computations),
                       grouped_digits(m.token_computations_without_cache)));
  return out;
}

}  // namespace detail

KVBUDGET_INLINE std::string to_table(const plan_report& r) {
  const engine_answer& e = r.answer;
  std::string out = detail::heading_text(r) + detail::cache_text(r);
  if (r.files) out += detail::weights_text(*r.files);
  if (r.budget) out += detail::budget_text(r);
  if (!r.cases.empty()) out += detail::cases_text(r);
  if (r.prefix) out += detail::prefix_text(*r.prefix);
  if (r.movement) out += detail::movement_text(*r.movement);
  if (!e.sources.empty()) {
    out += "\nwhere it comes from\n";
    for (const provenance& p : e.sources) {
      out += fmt::format("  {:<26} {:>10}  {}\n", p.quantity, detail::config::to_json(p.value).dump(), p.source);
    }
  }
  if (!e.notes.empty()) {
    out += "\nnotes\n";
    for (const std::string& note : e.notes) out += "  " + detail::printable(note) + "\n";
  }
  return out;
}

}  // namespace kvbudget
