// Reports: a table for people, JSON, CSV and Markdown. The only header that prints.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/config/question.hpp>
#include <kvbudget/format.hpp>
#include <kvbudget/spelling.hpp>
#include <kvbudget/version.hpp>

namespace kvbudget {

namespace detail {

/// 1234567 as 1,234,567.
[[nodiscard]] inline std::string grouped_digits(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// The same layers together: kind, how many, bytes.
struct kind_row {
  std::string kind;
  std::uint64_t layers = 0;
  checked_count k = 0U;
  checked_count v = 0U;
  checked_count other = 0U;
};

[[nodiscard]] inline std::vector<kind_row> rows_by_kind(const config::evaluation& e) {
  std::vector<kind_row> rows;
  for (const config::layer_bytes& l : e.layers) {
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

[[nodiscard]] inline std::string shown(const config::workload& w) {
  if (!w.lengths.empty()) return fmt::format("{} sequences of different lengths", grouped_digits(w.lengths.size()));
  return fmt::format("{} sequence{} of {} + {} positions (prompt + generation)", grouped_digits(w.sequences),
                     w.sequences == 1 ? "" : "s", grouped_digits(w.prompt), grouped_digits(w.generated));
}

/// Neighbours are in the overhead, so it is known in part where they are.
[[nodiscard]] inline basis overhead_basis(const plan_report& r) {
  return r.overhead == basis::untested && !r.neighbours.empty() ? basis::given : r.overhead;
}

[[nodiscard]] inline std::string shown(basis b) { return fmt::format("  ({})", name_of(b)); }

/// Without trailing zeros, six digits.
[[nodiscard]] inline std::string shown(double number) { return fmt::format("{:.6g}", number); }

[[nodiscard]] inline config::json as_json(const std::optional<limit>& answer) {
  if (!answer || answer->unbounded) return nullptr;
  return answer->value;
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

[[nodiscard]] inline std::vector<quantity_row> quantities(const plan_report& r) {
  std::vector<quantity_row> rows;
  const auto add = [&](std::string name, std::uint64_t value, std::string unit, std::string basis) {
    rows.push_back(quantity_row{std::move(name), std::to_string(value), std::move(unit), std::move(basis)});
  };
  const auto add_limit = [&](std::string name, const std::optional<limit>& value, std::string unit) {
    if (!value) return;
    rows.push_back(quantity_row{std::move(name), value->unbounded ? "unbounded" : std::to_string(value->value),
                                std::move(unit), "computed"});
  };
  const config::evaluation& e = r.answer;
  if (r.work || !e.engine.empty()) {
    for (const kind_row& k : rows_by_kind(e)) {
      add("cache_" + k.kind, (k.k + k.v + k.other).value(), "bytes", "computed");
    }
    add("cache_total", e.total_bytes, "bytes", std::string(name_of(r.cache)));
  }
  if (e.bytes_per_token) add("cache_per_token", *e.bytes_per_token, "bytes", "computed");
  if (e.state_bytes_per_sequence) add("state_per_sequence", *e.state_bytes_per_sequence, "bytes", "computed");
  if (r.budget) {
    const config::capacity& b = *r.budget;
    for (const config::device_share& d : b.devices) {
      const std::string of = b.devices.size() == 1 ? "" : "_of_device_" + d.name;
      add("device_capacity" + of, d.budget.capacity.count(), "bytes", "given");
      add("device_usable" + of, d.budget.usable().count(), "bytes", "computed");
      add("weights" + of, d.budget.weights.count(), "bytes", std::string(name_of(r.weights)));
      add("cache" + of, d.cache_bytes.value(), "bytes", std::string(name_of(r.cache)));
      if (d.budget.overhead(d.cache_bytes).valid()) {
        add("overhead" + of, d.budget.overhead(d.cache_bytes).value(), "bytes",
            std::string(name_of(overhead_basis(r))));
      }
      add("available_for_cache" + of, d.budget.available_for_cache().count(), "bytes", "computed");
    }
    add("fits", b.fits ? 1 : 0, "boolean", std::string(name_of(r.cache)));
    if (b.devices.size() > 1) add("tightest_device", b.tightest, "device", "computed");
    add_limit("max_length", b.max_length, "positions");
    add_limit("max_sequences", b.max_sequences, "sequences");
    add_limit("max_tokens", b.max_tokens, "positions");
  }
  for (const case_answer& c : r.cases) {
    if (!c.work) {
      rows.push_back(quantity_row{"case_" + c.name, "", "bytes", "untested"});
      continue;
    }
    if (c.cache_bytes) add("case_" + c.name, *c.cache_bytes, "bytes", std::string(name_of(c.rests_on)));
    if (c.fits) add("case_" + c.name + "_fits", *c.fits ? 1 : 0, "boolean", std::string(name_of(c.rests_on)));
  }
  if (r.prefix) {
    add("shared_prefix_common", r.prefix->common_bytes, "bytes", "computed");
    add("shared_prefix_total", r.prefix->together_bytes, "bytes", "computed");
    add("shared_prefix_saved", r.prefix->separate_bytes - r.prefix->together_bytes, "bytes", "computed");
    add_limit("shared_prefix_max_sequences", r.prefix->max_sequences, "sequences");
  }
  if (r.movement) {
    const auto add_number = [&](std::string name, const std::optional<double>& value, std::string unit) {
      if (value) rows.push_back(quantity_row{std::move(name), shown(*value), std::move(unit), "computed"});
    };
    add("sequence_to_move", r.movement->sequence_bytes, "bytes", "computed");
    add_number("transfer", r.movement->transfer_seconds, "seconds");
    add_number("decode_at_most", r.movement->max_tokens_per_second, "tokens/s");
    if (r.movement->read_bytes_per_step) add("read_per_step", *r.movement->read_bytes_per_step, "bytes", "computed");
    add("token_computations", r.movement->token_computations, "tokens", "computed");
    add("token_computations_without_cache", r.movement->token_computations_without_cache, "tokens", "computed");
  }
  return rows;
}

}  // namespace detail

/// JSON by the programs' contract: kvbudget.plan/1. Integers are exact.
[[nodiscard]] inline config::json to_json(const plan_report& r) {
  using config::json;
  const config::evaluation& e = r.answer;
  json provenance = json::array();
  for (const config::provenance& p : e.sources) {
    provenance.push_back({{"quantity", p.quantity}, {"value", p.value}, {"source", p.source}});
  }
  json out = {{"schema", "kvbudget.plan/1"},
              {"model",
               {{"model_type", e.model_type},
                {"layers", e.model_layers},
                {"attention", e.attention},
                {"source", r.source},
                {"provenance", provenance}}}};
  if (!r.revision.empty()) out["model"]["revision"] = r.revision;
  if (!e.engine.empty()) {
    out["engine"] = {{"name", e.engine}, {"version", e.version}, {"settings", e.settings}, {"figures", e.figures}};
  }
  json pools = json::array();
  for (const config::pool_bytes& p : e.pools) {
    pools.push_back(
        {{"name", p.name}, {"device", p.device}, {"unit_bytes", p.unit_bytes}, {"units", p.units}, {"bytes", p.bytes}});
  }
  json layers = json::array();
  for (const config::layer_bytes& l : e.layers) {
    layers.push_back({{"layer", l.layer},
                      {"kind", l.kind},
                      {"k_bytes", l.k_bytes},
                      {"v_bytes", l.v_bytes},
                      {"other_bytes", l.other_bytes}});
  }
  const auto number_or_null = [](const std::optional<std::uint64_t>& n) { return n ? json(*n) : json(nullptr); };
  out["cache"] = {{"basis", name_of(r.cache)},
                  {"total_bytes", e.refusal.empty() ? json(e.total_bytes) : json(nullptr)},
                  {"bytes_per_token", number_or_null(e.bytes_per_token)},
                  {"state_bytes_per_sequence", number_or_null(e.state_bytes_per_sequence)},
                  {"pools", pools},
                  {"layers", layers}};
  json notes = e.notes;
  if (r.budget) {
    const config::capacity& b = *r.budget;
    json devices = json::array();
    for (std::size_t i = 0; i < b.devices.size(); ++i) {
      const config::device_share& d = b.devices[i];
      devices.push_back(
          {{"device", i},
           {"capacity_bytes", d.budget.capacity.count()},
           {"usable_bytes", d.budget.usable().count()},
           {"weights_bytes", d.budget.weights.count()},
           {"cache_bytes", d.cache_bytes.value()},
           {"peak_bytes", d.peak_bytes.value()},
           {"overhead_bytes",
            d.budget.overhead(d.cache_bytes).valid() ? json(d.budget.overhead(d.cache_bytes).value()) : json(nullptr)},
           {"available_bytes", d.budget.available_for_cache().count()},
           {"weights_basis", name_of(r.weights)},
           {"cache_basis", name_of(r.cache)},
           {"overhead_basis", name_of(detail::overhead_basis(r))},
           {"fits", d.fits}});
      if (!r.device_sources.empty())
        devices.back()["capacity_source"] = r.device_sources[r.device_sources.size() == 1 ? 0 : i];
      if (d.name != std::to_string(i)) devices.back()["name"] = d.name;
    }
    out["budget"] = {{"fits", b.fits},
                     {"limit", b.binding},
                     {"max_tokens", detail::as_json(b.max_tokens)},
                     {"max_sequences", detail::as_json(b.max_sequences)},
                     {"max_length", detail::as_json(b.max_length)},
                     {"tightest_device", b.tightest},
                     {"devices", devices}};
    if (r.work && !b.max_sequences) notes.push_back("max_sequences and max_tokens are unknown for this workload");
    if (b.max_sequences && b.max_sequences->unbounded)
      notes.push_back("max_sequences is unbounded: such sequences take nothing");
    if (b.max_length && b.max_length->unbounded)
      notes.push_back("max_length is unbounded: the cache does not grow with the length");
    if (r.weights == basis::untested) notes.push_back("weights were not given: untested");
    if (r.overhead == basis::untested)
      notes.push_back("activations, runtime and fragmentation were not given: untested");
  }
  if (r.files) {
    json groups = json::object();
    for (std::size_t i = 0; i < std::size(tensor_group_names); ++i) {
      groups[std::string(tensor_group_names[i])] = r.files->bytes_by_group[i];
    }
    out["weights"] = {{"total_bytes", r.files->total_bytes},
                      {"parameters", r.files->parameters},
                      {"by_dtype", r.files->bytes_by_dtype},
                      {"by_group", groups},
                      {"files", r.files->files}};
  }
  for (const neighbour& n : r.neighbours)
    out["budget"]["beside"].push_back({{"name", n.name}, {"bytes", n.size.count()}});
  for (const case_answer& c : r.cases) {
    json row = {{"name", c.name}, {"basis", name_of(c.rests_on)}};
    if (c.work) {
      row["prompt"] = c.work->prompt;
      row["generate"] = c.work->generated;
      row["sequences"] = c.work->sequences;
      row["cache_bytes"] = c.cache_bytes ? json(*c.cache_bytes) : json(nullptr);
      row["fits"] = c.fits ? json(*c.fits) : json(nullptr);
      row["limit"] = c.binding;
    }
    out["cases"].push_back(row);
  }
  if (r.prefix) {
    out["shared_prefix"] = {{"positions", r.prefix->prefix},
                            {"common_bytes", r.prefix->common_bytes},
                            {"separate_bytes", r.prefix->separate_bytes},
                            {"together_bytes", r.prefix->together_bytes},
                            {"saved_bytes", r.prefix->separate_bytes - r.prefix->together_bytes},
                            {"max_sequences", detail::as_json(r.prefix->max_sequences)}};
  }
  if (r.movement) {
    const movement_answer& m = *r.movement;
    const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
    out["movement"] = {{"sequence_bytes", m.sequence_bytes},
                       {"transfer_seconds", or_null(m.transfer_seconds)},
                       {"read_bytes_per_step", or_null(m.read_bytes_per_step)},
                       {"max_tokens_per_second", or_null(m.max_tokens_per_second)},
                       {"token_computations", m.token_computations},
                       {"token_computations_without_cache", m.token_computations_without_cache}};
  }
  out["notes"] = notes;
  return out;
}

/// JSON as text. Bytes of a name that are no UTF-8 are replaced.
[[nodiscard]] inline std::string to_text(const config::json& value) {
  return value.dump(2, ' ', false, config::json::error_handler_t::replace);
}

/// quantity,value,unit,basis: one row each.
[[nodiscard]] inline std::string to_csv(const plan_report& r) {
  std::string out = "quantity,value,unit,basis\n";
  for (const detail::quantity_row& row : detail::quantities(r)) {
    out += fmt::format("{},{},{},{}\n", row.name, row.value, row.unit, row.basis);
  }
  return out;
}

[[nodiscard]] inline std::string to_markdown(const plan_report& r) {
  std::string out = fmt::format("**{}**: {}, {} layers, {}; engine: {}\n\n", r.source, r.answer.model_type,
                                r.answer.model_layers, r.answer.attention, detail::engine_name(r));
  out += "| quantity | value | GiB | GB | basis |\n| --- | ---: | ---: | ---: | --- |\n";
  for (const detail::quantity_row& row : detail::quantities(r)) {
    const bool is_size = row.unit == "bytes" && !row.value.empty();
    const bytes amount = is_size ? parse_bytes(row.value) : bytes();
    out += fmt::format("| {} | {}{} | {} | {} | {} |\n", row.name, row.value, is_size ? " B" : "",
                       is_size ? to_gib(amount, 3) : "", is_size ? to_gb(amount, 3) : "", row.basis);
  }
  return out;
}

/// A table for people.
[[nodiscard]] inline std::string to_table(const plan_report& r) {
  const config::evaluation& e = r.answer;
  std::string out;
  const auto line = [&](std::string_view name, const std::string& text) {
    out += fmt::format("{:<12} {}\n", name, text);
  };
  line("model", fmt::format("{}, {} layers, {}", e.model_type, e.model_layers, e.attention));
  line("source", r.revision.empty() ? r.source : r.source + " (revision " + r.revision + ")");
  line("engine", detail::engine_name(r));
  if (r.work) line("workload", detail::shown(*r.work));
  if (!e.refusal.empty()) line("refused", e.refusal);

  if (e.refusal.empty() && (r.work || !e.engine.empty())) {
    out += fmt::format("\n{:<30} {:>6} {:>19} {:>19} {:>17} {:>19}\n", "layers by kind", "layers", "K bytes", "V bytes",
                       "other bytes", "bytes");
    for (const detail::kind_row& k : detail::rows_by_kind(e)) {
      if (k.kind == "padding" && (k.k + k.v + k.other) == checked_count(0U)) continue;
      out +=
          fmt::format("{:<30} {:>6} {:>19} {:>19} {:>17} {:>19}\n", k.kind, k.layers,
                      detail::grouped_digits(k.k.value()), detail::grouped_digits(k.v.value()),
                      detail::grouped_digits(k.other.value()), detail::grouped_digits((k.k + k.v + k.other).value()));
    }
    out += '\n';
    line("cache", detail::in_all_units(bytes(e.total_bytes)) + detail::shown(r.cache));
    const bool divides =
        r.cache == basis::computed && r.work && r.work->lengths.empty() && r.work->sequences > 1 && !e.own_capacity;
    if (divides && e.total_bytes % r.work->sequences == 0) {
      line("per sequence", detail::in_all_units(bytes(e.total_bytes / r.work->sequences)));
    }
  }
  if (e.bytes_per_token) line("per token", detail::grouped_digits(*e.bytes_per_token) + " B in every sequence");
  if (e.state_bytes_per_sequence.value_or(0) != 0) {
    line("state", detail::grouped_digits(*e.state_bytes_per_sequence) + " B per sequence, whatever its length");
  }

  if (r.files) {
    out += '\n';
    for (std::size_t i = 0; i < std::size(tensor_group_names); ++i) {
      if (r.files->bytes_by_group[i] == 0) continue;
      line(i == 0 ? "weights" : "",
           fmt::format("{:<10} {}", tensor_group_names[i], detail::in_all_units(bytes(r.files->bytes_by_group[i]))));
    }
    for (const auto& [dtype, size] : r.files->bytes_by_dtype)
      line("", fmt::format("{:<10} {}", dtype, detail::in_all_units(bytes(size))));
  }
  if (r.budget) {
    const config::capacity& b = *r.budget;
    out += '\n';
    for (const neighbour& n : r.neighbours)
      line("beside", detail::printable(n.name) + ": " + detail::in_all_units(n.size) + "  (in the overhead)");
    for (std::size_t i = 0; i < b.devices.size(); ++i) {
      const config::device_share& d = b.devices[i];
      const device_budget& budget = d.budget;
      line(b.devices.size() == 1 ? "device" : "device " + d.name,
           detail::in_all_units(budget.capacity) + "  (" +
               (r.device_sources.empty() ? "given" : r.device_sources[r.device_sources.size() == 1 ? 0 : i]) + ")");
      if (budget.usable() != budget.capacity) line("usable", detail::in_all_units(budget.usable()));
      line("weights", r.weights == basis::untested ? std::string("not given: untested")
                                                   : detail::in_all_units(budget.weights) + detail::shown(r.weights));
      line("overhead",
           detail::overhead_basis(r) != basis::untested
               ? detail::in_all_units(budget.overhead(d.cache_bytes)) + detail::shown(detail::overhead_basis(r))
               : std::string("activations and runtime not given: untested"));
      line("for cache", detail::in_all_units(budget.available_for_cache()) + "  (computed)");
      if (b.devices.size() > 1) line("cache", detail::in_all_units(bytes(d.cache_bytes)) + detail::shown(r.cache));
      if (b.has_workload) line("total", detail::in_all_units(budget.used(d.cache_bytes)));
      if (b.devices.size() > 1) out += '\n';
    }
    if (b.has_workload && b.fits) {
      line("verdict",
           b.devices.size() == 1 ? "fits" : "fits; the least is left on device " + b.devices[b.tightest].name);
    } else if (!b.fits) {
      line("verdict", "does not fit: " + b.binding);
    }
    if (b.max_sequences)
      line("sequences", "at most " + detail::shown(b.max_sequences) +
                            (r.work && !r.work->lengths.empty() ? " of these lengths in order" : " of this length"));
    if (b.max_length) {
      const std::uint64_t n = r.work && !e.own_capacity ? r.work->sequences : 1;
      line("length", fmt::format("at most {} positions in {} sequence{}", detail::shown(b.max_length),
                                 detail::grouped_digits(n), n == 1 ? "" : "s"));
    }
    if (b.max_tokens)
      line("tokens", "at most " + detail::shown(b.max_tokens) + " positions in sequences of this length");
  }

  if (!r.cases.empty()) {
    out += fmt::format("\n{:<12} {:>10} {:>10} {:>10} {:>22} {:>12}  {:<9} {}\n", "case", "prompt", "generate",
                       "sequences", "cache bytes", "", "basis", "verdict");
    for (const case_answer& c : r.cases) {
      const auto number = [&](std::uint64_t config::workload::*field) {
        return c.work ? detail::grouped_digits((*c.work).*field) : std::string("-");
      };
      out += fmt::format("{:<12} {:>10} {:>10} {:>10} {:>22} {:>12}  {:<9} {}\n", c.name,
                         number(&config::workload::prompt), number(&config::workload::generated),
                         number(&config::workload::sequences),
                         c.cache_bytes ? detail::grouped_digits(*c.cache_bytes) : "-",
                         c.cache_bytes ? fmt::format("{:.3g}", bytes(*c.cache_bytes)) : "", name_of(c.rests_on),
                         !c.fits   ? ""
                         : *c.fits ? "fits"
                                   : "does not fit: " + c.binding);
      while (out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
    }
  }
  if (r.prefix) {
    out += '\n';
    line("prefix", fmt::format("{} positions in common", detail::grouped_digits(r.prefix->prefix)));
    line("common", detail::in_all_units(bytes(r.prefix->common_bytes)) + "  of every sequence (computed)");
    line("together", detail::in_all_units(bytes(r.prefix->together_bytes)));
    line("saved", detail::in_all_units(bytes(r.prefix->separate_bytes - r.prefix->together_bytes)));
    if (r.prefix->max_sequences)
      line("sequences", "at most " + detail::shown(r.prefix->max_sequences) + " with this prefix");
  }
  if (r.movement) {
    const movement_answer& m = *r.movement;
    out += '\n';
    line("to move", detail::in_all_units(bytes(m.sequence_bytes)) + "  for one sequence (computed)");
    if (m.transfer_seconds) line("transfer", detail::shown(*m.transfer_seconds) + " s");
    if (m.read_bytes_per_step)
      line("per step", detail::in_all_units(bytes(*m.read_bytes_per_step)) + "  read at least (computed)");
    if (m.max_tokens_per_second)
      line("decode", "at most " + detail::shown(*m.max_tokens_per_second) + " tokens/s by memory bandwidth");
    line("computed", fmt::format("{} tokens for one sequence with a cache, {} without",
                                 detail::grouped_digits(m.token_computations),
                                 detail::grouped_digits(m.token_computations_without_cache)));
  }

  if (!e.sources.empty()) {
    out += "\nwhere it comes from\n";
    for (const config::provenance& p : e.sources) {
      out += fmt::format("  {:<26} {:>10}  {}\n", p.quantity, p.value.dump(), p.source);
    }
  }
  if (!e.notes.empty()) {
    out += "\nnotes\n";
    for (const std::string& note : e.notes) out += "  " + note + "\n";
  }
  return out;
}

}  // namespace kvbudget
