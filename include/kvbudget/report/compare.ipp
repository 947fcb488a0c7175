// Definitions of compare.hpp.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>
#include <kvbudget/engines/none/evaluate.hpp>
#include <kvbudget/report/plans.ipp>
#include <kvbudget/report/compare.hpp>
#include <kvbudget/report/comparison_words.hpp>

namespace kvbudget {

namespace detail {

/// Rows of K and V, or of a latent and its rope part.
template <class Part>
[[nodiscard]] constexpr std::optional<std::pair<kv_row, kv_row>> rows_of(const Part& part) {
  if constexpr (requires {
                  part.latent;
                  part.rope;
                }) {
    return std::pair{part.latent, part.rope};
  } else if constexpr (requires {
                         part.k;
                         part.v;
                       }) {
    return std::pair{part.k, part.v};
  } else {
    return std::nullopt;
  }
}

/// Fills the counts up to stored_bytes. Raises size_error.
[[nodiscard]] inline cache_counts count_stored(const transformers::cached_model& m, const workload& w) {
  std::vector<std::pair<request, std::uint64_t>> shapes;
  const checked_count before = m.prefix_positions;
  if (w.lengths.empty()) {
    shapes.emplace_back(request(tokens(before + w.prompt), tokens(w.generated)), w.sequences);
  }
  for (const std::uint64_t n : w.lengths) shapes.emplace_back(request(tokens(before + n), tokens()), 1U);

  checked_count positions = 0U, layers = 0U, layer_positions = 0U, head_positions = 0U, elements = 0U,
                bytes_of_rows = 0U;
  checked_count stored = 0U;
  for (const auto& [each, sequences] : shapes) {
    positions += each.length() * sequences;
    stored += total_footprint(m.layers, stored_positions{}, uniform_batch{each, sequences}).total();
  }
  for (std::size_t i = 0; i < m.layers.kinds().size(); ++i) {
    const std::uint64_t count = m.layers.count(i);
    bool keeps = false;
    for (const layer_part& any : m.layers.kinds()[i].parts) {
      std::visit(
          [&](const auto& part) {
            if constexpr (requires { kvbudget::positions(stored_positions{}, part, shapes.front().first); }) {
              const auto rows = rows_of(part);
              if (!rows) return;
              checked_count kept = 0U;
              for (const auto& [each, sequences] : shapes)
                kept += kvbudget::positions(stored_positions{}, part, each) * sequences;
              const auto& [k, v] = *rows;
              const bool latent = std::same_as<std::remove_cvref_t<decltype(part)>, mla_attention>;
              const std::uint64_t heads = latent ? 1 : std::max(k.heads, v.heads);
              const checked_count row_bytes = k.row_bytes() + v.row_bytes();
              if (kept == checked_count(0U) || row_bytes == checked_count(0U)) return;
              keeps = true;
              layer_positions += kept * count;
              head_positions += kept * count * heads;
              elements += kept * count * (checked_count(k.heads) * k.head_size + checked_count(v.heads) * v.head_size);
              bytes_of_rows += row_bytes * kept * count;
            }
          },
          any);
    }
    if (keeps) layers += count;
  }
  cache_counts c;
  c.positions = positions.value();
  c.layers = layers.value();
  c.layer_positions = layer_positions.value();
  c.head_positions = head_positions.value();
  c.elements = elements.value();
  c.position_bytes = bytes_of_rows.value();
  c.stored_bytes = stored.value();
  return c;
}

/// Bytes by the kinds of the bare layers. What an engine says of a layer may stand for one of several sequences, ranks
/// or replicas, so its shares are those of the whole.
[[nodiscard]] inline std::vector<kind_counts> count_kinds(const engine_answer& bare, const engine_answer& e,
                                                          std::uint64_t allocated) {
  std::map<std::int64_t, std::string> kinds;
  std::vector<kind_counts> out;
  const auto of = [&](const std::string& kind) -> kind_counts& {
    const auto at = std::find_if(out.begin(), out.end(), [&](const kind_counts& k) { return k.kind == kind; });
    return at != out.end() ? *at : out.emplace_back(kind_counts{kind, 0, 0});
  };
  const auto bytes_of = [](const layer_bytes& l) {
    return (checked_count(l.k_bytes) + l.v_bytes + l.other_bytes).value();
  };
  for (const layer_bytes& l : bare.layers) {
    kinds.emplace(l.layer, l.kind);
    of(l.kind).stored_bytes += bytes_of(l);
  }
  checked_count listed = 0U;
  for (const layer_bytes& l : e.layers) listed += bytes_of(l);
  if (listed == checked_count(0U)) return out;
  const double scale = static_cast<double>(allocated) / static_cast<double>(listed.value());
  for (const layer_bytes& l : e.layers) {
    const auto known = kinds.find(l.layer);
    of(known == kinds.end() ? l.kind : known->second).allocated_bytes += static_cast<double>(bytes_of(l)) * scale;
  }
  return out;
}

}  // namespace detail

KVBUDGET_INLINE compared_plan count_plan(const located_config& located, const plan_question& q, named_plan made) {
  compared_plan out{std::move(made), std::nullopt, {}};
  const std::uint64_t allocated = out.result.plan ? workload_bytes(*out.result.plan).value_or(0) : 0;
  if (allocated == 0 || !q.work) return out;
  const engine_answer& e = out.result.plan->answer;
  try {
    engine_question bare;
    bare.types = {e.types.k ? e.types.k : q.types.k, e.types.v ? e.types.v : q.types.v, {}};
    bare.work = q.work;
    const detail::config::document& config = *located.config;
    cache_counts counts =
        detail::count_stored(detail::none::read_bare_model(config, bare.types.k, bare.types.v).model, *q.work);
    counts.allocated_bytes = allocated;
    out.kinds = detail::count_kinds(detail::none::evaluate(config, bare), e, allocated);
    out.counts = counts;
  } catch (const input_error& problem) {
    if (out.result.reason.empty()) out.result.reason = std::string("no terms: ") + problem.what();
  } catch (const size_error& problem) {
    if (out.result.reason.empty()) out.result.reason = std::string("no terms: ") + problem.what();
  }
  return out;
}

KVBUDGET_INLINE cache_difference difference_of(const compared_plan& plan, const compared_plan& base) {
  cache_difference d;
  d.ratio = static_cast<double>(plan.counts->allocated_bytes) / static_cast<double>(base.counts->allocated_bytes);
  d.only_bytes = !plan.has_positions() || !base.has_positions();
  // Equal without rounding: a / b == c / d where the lowest terms are the same.
  const auto lowest = [](std::pair<std::uint64_t, std::uint64_t> q) {
    const std::uint64_t g = std::gcd(q.first, q.second);
    return g == 0 ? q : std::pair{q.first / g, q.second / g};
  };
  double most = 0;
  for (std::size_t i = d.only_bytes ? cache_term_names.size() - 1 : 0; i < cache_term_names.size(); ++i) {
    if (d.only_bytes && (plan.counts->stored_bytes == 0 || base.counts->stored_bytes == 0)) break;
    if (lowest(plan.term(i)) == lowest(base.term(i))) continue;
    const cache_difference::part part{i, plan.value(i), base.value(i), plan.value(i) / base.value(i)};
    if (std::fabs(std::log(part.factor)) > most) {
      most = std::fabs(std::log(part.factor));
      d.largest = d.parts.size();
    }
    d.parts.push_back(part);
  }
  return d;
}

KVBUDGET_INLINE comparison compare(std::vector<compared_plan> plans) {
  comparison c{std::move(plans), {}};
  const auto base = std::find_if(c.plans.begin(), c.plans.end(), [](const compared_plan& p) { return p.counts; });
  if (base == c.plans.end()) return c;
  for (auto at = base + 1; at != c.plans.end(); ++at) {
    if (!at->counts) continue;
    cache_difference d = difference_of(*at, *base);
    d.plan = static_cast<std::size_t>(at - c.plans.begin());
    d.against = static_cast<std::size_t>(base - c.plans.begin());
    c.differences.push_back(std::move(d));
  }
  return c;
}

namespace detail {

[[nodiscard]] inline sheet sheet_of(const comparison& c) {
  sheet out;
  out.columns = {{"plan", "plan", false},
                 {"engine", "", false},
                 {"k_dtype", "K", false},
                 {"v_dtype", "V", false},
                 {"cache_bytes", "cache bytes"},
                 {"cache_gib", "cache"},
                 {"ratio", "ratio"},
                 {"positions", "positions"},
                 {"layers", "layers"},
                 {"share_kept", "kept"},
                 {"kv_heads", "KV heads"},
                 {"elements_per_head", "elements"},
                 {"bytes_per_element", "bytes"},
                 {"states", "states"},
                 {"allocation", "allocated"},
                 {"fits", "fits", false},
                 {"reason", "reason", false}};
  const compared_plan* base = nullptr;
  for (const compared_plan& p : c.plans) {
    const auto& plan = p.result.plan;
    std::vector<cell> row = {text_cell(p.result.name), {}, {}, {}};
    if (plan) {
      row[1].exact = plan->answer.engine.empty() ? "none" : plan->answer.engine;
      const cache_types& types = plan->answer.types;
      if (types.k) row[2] = text_cell(name_of(*types.k));
      if (types.v) row[3] = text_cell(name_of(*types.v));
    }
    for (const cell& known : cache_cells(p.result)) row.push_back(known);
    if (p.counts && base == nullptr) base = &p;
    const auto number = [](double value) { return text_cell(fmt::format("{:.6g}", value)); };
    row.push_back(p.counts ? number(difference_of(p, *base).ratio) : cell());
    for (std::size_t i = 0; i < cache_term_names.size(); ++i) {
      const bool known = p.counts && (p.has_positions() || (i == 7 && p.counts->stored_bytes > 0));
      row.push_back(!known  ? cell()
                    : i < 2 ? count_cell(p.term(i).first)
                            : cell{fmt::format("{:.6g}", p.value(i)), shown_term(i, p.value(i))});
    }
    const bool asked = plan && plan->budget;
    row.push_back(verdict_cell(plan));
    const bool tells = !p.result.reason.empty();
    const bool failed = !asked && p.result.result != outcome::answered;
    row.push_back(tells ? cell{p.result.reason, (failed ? shown(p.result.result) + ": " : "") + p.result.reason}
                        : cell());
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace detail

KVBUDGET_INLINE detail::config::json to_json(const comparison& c) {
  using detail::config::json;
  json plans = json::array();
  for (const compared_plan& p : c.plans) {
    json plan = to_json(p.result);
    plan["name"] = p.result.name;
    if (p.counts) {
      const cache_counts& n = *p.counts;
      plan["counts"] = {{"positions", n.positions},
                        {"layers", n.layers},
                        {"layer_positions", n.layer_positions},
                        {"head_positions", n.head_positions},
                        {"elements", n.elements},
                        {"position_bytes", n.position_bytes},
                        {"stored_bytes", n.stored_bytes},
                        {"allocated_bytes", n.allocated_bytes}};
      for (const kind_counts& k : p.kinds) {
        plan["kinds"].push_back(
            {{"kind", k.kind}, {"stored_bytes", k.stored_bytes}, {"allocated_bytes", std::round(k.allocated_bytes)}});
      }
    }
    plans.push_back(std::move(plan));
  }
  json differences = json::array();
  for (const cache_difference& d : c.differences) {
    json parts = json::array();
    for (const cache_difference::part& p : d.parts) {
      parts.push_back({{"term", cache_term_names[p.term]}, {"here", p.here}, {"there", p.there}, {"factor", p.factor}});
    }
    const auto name = [&](std::size_t i) {
      return d.parts.empty() ? json(nullptr) : json(cache_term_names[d.parts[i].term]);
    };
    differences.push_back({{"plan", d.plan},
                           {"against", d.against},
                           {"ratio", d.ratio},
                           {"first", name(0)},
                           {"largest", name(d.largest)},
                           {"terms", std::move(parts)},
                           {"words", detail::words(c, d)}});
  }
  return {{"schema", "kvbudget.compare/1"}, {"plans", std::move(plans)}, {"differences", std::move(differences)}};
}

KVBUDGET_INLINE std::string to_json_text(const comparison& c) { return to_text(to_json(c)); }

KVBUDGET_INLINE std::string to_csv(const comparison& c) { return detail::sheet_of(c).csv(); }

namespace detail {

[[nodiscard]] inline std::string sentences(const comparison& c, const char* before) {
  std::string out;
  for (const cache_difference& d : c.differences) out += before + words(c, d) + '\n';
  for (const compared_plan& p : c.plans) {
    if (const std::string text = words(p); !text.empty()) out += before + text + '\n';
  }
  return out;
}

}  // namespace detail

KVBUDGET_INLINE std::string to_markdown(const comparison& c) {
  return detail::sheet_of(c).markdown() + '\n' + detail::sentences(c, "- ");
}

KVBUDGET_INLINE std::string to_table(const comparison& c) {
  std::string out;
  for (const compared_plan& p : c.plans) {
    if (!p.result.plan || !p.result.plan->work) continue;
    out = fmt::format("workload     {}\n\n", detail::shown(*p.result.plan->work));
    break;
  }
  return out + detail::sheet_of(c).text() + '\n' + detail::sentences(c, "");
}

}  // namespace kvbudget
