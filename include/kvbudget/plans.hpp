// Several plans together: each has a name, and an answer or the reason why there is none. Tables of them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/config/plan.hpp>
#include <kvbudget/report.hpp>

namespace kvbudget {

/// One plan among several.
struct named_plan {
  std::string name;
  std::string source;               ///< the config, as the user named it
  std::optional<plan_report> plan;
  outcome result = outcome::answered;
  std::string reason;               ///< why there is no answer, or what binds
};

/// `make` returns a plan_report; what it throws about its input becomes the reason.
template <class Make>
[[nodiscard]] named_plan try_plan(std::string name, std::string source, const Make& make) {
  named_plan p{std::move(name), std::move(source), std::nullopt, outcome::answered, ""};
  const auto failed = [&](outcome result, const std::exception& e) {
    p.result = result;
    p.reason = e.what();
  };
  try {
    p.plan = make();
    p.result = outcome_of(*p.plan);
    if (!p.plan->answer.refusal.empty()) p.reason = p.plan->answer.refusal;
    else if (p.plan->budget && !p.plan->budget->fits) p.reason = p.plan->budget->binding;
  } catch (const usage_error& e) {
    failed(outcome::wrong_usage, e);
  } catch (const engine_refusal& e) {
    failed(outcome::engine_refuses, e);
  } catch (const input_error& e) {
    failed(outcome::not_understood, e);
  } catch (const size_error& e) {
    failed(outcome::wrong_usage, e);
    p.reason = p.name + ": " + p.reason + ": sizes and counts that together stay below 2^64 bytes";
  }
  return p;
}

/// The gravest of several: wrong usage, not understood, refused by the engine, does not fit, answered.
[[nodiscard]] inline outcome gravest(outcome a, outcome b) {
  for (const outcome o :
       {outcome::wrong_usage, outcome::not_understood, outcome::engine_refuses, outcome::does_not_fit}) {
    if (a == o || b == o) return o;
  }
  return outcome::answered;
}

/// What the workload takes. An engine that sizes its pool by the memory it is given takes more; this is what the
/// workload's requests hold of it. Nothing without an answer or a workload.
[[nodiscard]] inline std::optional<std::uint64_t> workload_bytes(const plan_report& r) {
  if (!r.answer.refusal.empty() || (!r.work && r.answer.engine.empty())) return std::nullopt;
  if (!r.work || !r.answer.pool_use) return r.answer.total_bytes;
  if (r.work->lengths.empty()) return r.answer.pool_use(*r.work).value();
  checked_count sum = 0U;
  for (const std::uint64_t n : r.work->lengths) sum += r.answer.pool_use(config::workload{n, 0, 1, {}});
  return sum.value();
}

/// The positions that a model is made for: max_position_embeddings by whichever name its config has it, or the
/// context_length of GGUF metadata. Nothing where neither says one. Throws config_error.
[[nodiscard]] inline std::optional<std::uint64_t> longest_context(const config::document& d) {
  if (const auto architecture = llama_cpp::gguf_architecture(config::node(d))) {
    const std::string key = *architecture + ".context_length";
    return config::node(d).find(key) == nullptr ? std::nullopt : config::node(d).count(key, 1, config::max_field_value);
  }
  const config::model_config c(d);
  for (const char* const name : {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"}) {
    if (const auto n = c.count(name); n && *n > 0) return n;
  }
  return std::nullopt;
}

/// What people call a model that they named by a path: folder/model/config.json and model.gguf are "model".
[[nodiscard]] inline std::string model_name(std::string_view path) {
  if (path == "-") return "standard input";
  const auto drop = [&](std::string_view ending) {
    const bool ends = path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
    if (ends) path.remove_suffix(ending.size());
    return ends;
  };
  while (drop("/")) {}
  if (!drop("/config.json") && !drop("_config.json") && !drop(".json") && !drop(".gguf")) {
    return std::string(path);  // a folder, or org/name
  }
  return std::string(path.substr(path.find_last_of('/') + 1));
}

/// Names of models, the whole paths where the short ones would be equal.
[[nodiscard]] inline std::vector<std::string> model_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(model_name(path));
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? names : paths;
}

/// A plan that was made, or what is known of one that was not.
[[nodiscard]] inline config::json to_json(const named_plan& p) {
  if (p.plan) return to_json(*p.plan);
  return {{"schema", "kvbudget.plan/1"}, {"model", {{"source", p.source}}}, {"error", p.reason}};
}

namespace detail {

/// One value of a table: as programs read it, and as people do.
struct cell {
  std::string exact;
  std::string shown;
};
[[nodiscard]] inline cell count_cell(std::uint64_t n) { return {std::to_string(n), grouped_digits(n)}; }
[[nodiscard]] inline cell text_cell(const std::string& text) { return {text, text}; }

struct column {
  std::string name;   ///< in CSV
  std::string title;  ///< for people
  bool number = true;
};

/// A table in three forms. A column without any value is left out, except in CSV.
struct sheet {
  std::vector<column> columns;
  std::vector<std::vector<cell>> rows;

  [[nodiscard]] std::string csv() const {
    const auto quoted = [](const std::string& text) {
      if (text.find_first_of(",\"\r\n") == text.npos) return text;
      std::string out = "\"";
      for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
      return out + '"';
    };
    std::string out;
    for (const column& c : columns) out += (out.empty() ? "" : ",") + c.name;
    out += '\n';
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + quoted(row[i].exact);
      out += '\n';
    }
    return out;
  }

  [[nodiscard]] std::string markdown() const {
    std::string head = "|";
    std::string line = "|";
    const std::vector<std::size_t> used = columns_used();
    for (const std::size_t i : used) {
      head += ' ' + columns[i].title + " |";
      line += columns[i].number ? " ---: |" : " --- |";
    }
    std::string out = head + '\n' + line + '\n';
    for (const auto& row : rows) {
      out += '|';
      for (const std::size_t i : used) {
        out += ' ';
        for (const char c : row[i].shown) out += c == '|' ? "\\|" : std::string(1, c);
        out += " |";
      }
      out += '\n';
    }
    return out;
  }

  [[nodiscard]] std::string text() const {
    const std::vector<std::size_t> used = columns_used();
    std::vector<std::size_t> widths(columns.size());
    for (const std::size_t i : used) {
      widths[i] = columns[i].title.size();
      for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].shown.size());
    }
    std::string out;
    const auto add = [&](const auto& text_of) {
      std::string line;
      for (const std::size_t i : used) {
        const std::string text = text_of(i);
        const std::string space(widths[i] - text.size(), ' ');
        line += (line.empty() ? "" : "  ") + (columns[i].number ? space + text : text + space);
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    };
    add([&](std::size_t i) { return columns[i].title; });
    for (const auto& row : rows) add([&](std::size_t i) { return row[i].shown; });
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> columns_used() const {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto has_value = [&](const auto& row) { return !row[i].shown.empty(); };
      if (std::any_of(rows.begin(), rows.end(), has_value)) used.push_back(i);
    }
    return used;
  }
};

[[nodiscard]] inline cell size_cell(std::uint64_t n) { return {std::to_string(n), fmt::format("{:.3g}", bytes(n))}; }

/// Bytes, and GiB. Empty where the plan says none.
[[nodiscard]] inline std::vector<cell> cache_cells(const named_plan& p) {
  if (p.plan) {
    if (const auto cache = workload_bytes(*p.plan)) {
      return {count_cell(*cache), {to_gib(bytes(*cache), 6), fmt::format("{:.3g}", bytes(*cache))}};
    }
  }
  return {cell(), cell()};
}

[[nodiscard]] inline std::string shown(outcome o) {
  switch (o) {
    case outcome::answered: return "";
    case outcome::does_not_fit: return "does not fit";
    case outcome::wrong_usage: return "wrong usage";
    case outcome::not_understood: return "not understood";
    case outcome::engine_refuses: return "refused";
  }
  return "";
}

/// What the tightest device of a plan holds.
struct device_use {
  std::uint64_t weights = 0;
  std::uint64_t overhead = 0;
  std::uint64_t cache = 0;
  std::uint64_t usable = 0;
  std::string name;  ///< of the device, where there are several

  [[nodiscard]] checked_count total() const { return checked_count(weights) + overhead + cache; }
};

/// Fits, does not, or is refused by the engine; empty where no device was asked about.
[[nodiscard]] inline cell verdict_cell(const std::optional<plan_report>& plan) {
  if (!plan || !plan->budget) return {};
  if (!plan->answer.refusal.empty() && !plan->answer.too_large) return {"", "refused"};
  return plan->budget->fits ? cell{"1", "fits"} : cell{"0", "does not fit"};
}

[[nodiscard]] inline std::optional<device_use> device_use_of(const plan_report& r) {
  if (!r.budget || !workload_bytes(r)) return std::nullopt;
  const config::device_share& d = r.budget->devices[r.budget->tightest];
  const bool alone = r.budget->devices.size() == 1;
  const bool computed_pool = alone && r.answer.pool_use && r.cache == basis::computed;
  // Of a pool on several devices only the whole is known by workload.
  if (!alone && r.answer.pool_use && r.cache == basis::computed) return std::nullopt;
  const std::uint64_t cache = computed_pool ? *workload_bytes(r) : d.cache_bytes.value();
  return device_use{d.budget.weights.count(), d.budget.overhead(cache).value(), cache, d.budget.usable().count(),
                    alone ? "" : d.name};
}

}  // namespace detail

}  // namespace kvbudget
