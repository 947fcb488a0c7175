// Plans side by side, and the terms that make the difference.
//
// The bytes of a cache are a product of terms, each the quotient of two counts of which the first divides into the
// next:
//
//   positions x layers x share kept x KV heads x elements x bytes x states x allocation
//
// So the ratio of two caches is exactly the product of the ratios of their terms. In a model whose layers are all alike
// a term is what the config says (8 heads, 256 elements of K and V); in others it is the mean over the layers, weighted
// with what they keep.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <kvbudget/plans.hpp>

namespace kvbudget {

/// Counts of one plan, from what is asked to the bytes that the engine allocates.
struct cache_counts {
  std::uint64_t positions = 0;        ///< of all sequences together
  std::uint64_t layers = 0;           ///< that keep keys and values (or a latent) by position
  std::uint64_t layer_positions = 0;  ///< positions kept, summed over layers
  std::uint64_t head_positions = 0;   ///< times the heads of each; a latent counts as one
  std::uint64_t elements = 0;         ///< times the elements of K and V in a head
  std::uint64_t position_bytes = 0;   ///< bytes of those elements
  std::uint64_t stored_bytes = 0;     ///< with states, index keys and all else: the bare tensors
  std::uint64_t allocated_bytes = 0;  ///< of the plan: windows, blocks, padding and copies as the engine has them
};

/// What the engine makes of the layers of one kind.
struct kind_counts {
  std::string kind;
  std::uint64_t stored_bytes = 0;
  double allocated_bytes = 0;
};

/// One term of the product.
struct cache_term {
  const char* name;
  double value;
};

/// Names of the terms, in their order. The first six have no meaning for a cache of states alone.
inline constexpr std::array<const char*, 8> cache_term_names = {"positions",
                                                                "layers that keep positions",
                                                                "share of positions kept",
                                                                "KV heads",
                                                                "elements of K and V per head",
                                                                "bytes per element",
                                                                "states and other parts",
                                                                "as the engine allocates"};

/// One plan of a comparison.
struct compared_plan {
  named_plan result;
  std::optional<cache_counts> counts;  ///< nothing where there is no plan, or no bytes
  std::vector<kind_counts> kinds;

  /// `numerator` over `denominator` of term i of cache_term_names.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> term(std::size_t i) const {
    const cache_counts& c = *counts;
    switch (i) {
      case 0: return {c.positions, 1};
      case 1: return {c.layers, 1};
      case 2: return {c.layer_positions, (checked_count(c.positions) * c.layers).value()};
      case 3: return {c.head_positions, c.layer_positions};
      case 4: return {c.elements, c.head_positions};
      case 5: return {c.position_bytes, c.elements};
      case 6: return {c.stored_bytes, c.position_bytes};
      default: return {c.allocated_bytes, c.stored_bytes};
    }
  }
  [[nodiscard]] double value(std::size_t i) const {
    const auto [numerator, denominator] = term(i);
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
  /// Something is kept by position, so that all terms have a meaning.
  [[nodiscard]] bool has_positions() const { return counts->position_bytes > 0; }
};

/// How one plan differs from another: the terms that are not the same.
struct cache_difference {
  struct part {
    std::size_t term;  ///< of cache_term_names
    double here;
    double there;
    double factor;  ///< here / there; the product of all parts is the ratio
  };
  std::size_t plan = 0;  ///< in the comparison
  std::size_t against = 0;
  double ratio = 1;
  std::vector<part> parts;  ///< in the order of the terms; the first is where the two begin to differ
  std::size_t largest = 0;  ///< of the parts, the one that makes most of the difference

  /// Where one of the two keeps states alone there are no terms but the bytes as a whole.
  bool only_bytes = false;
};

struct comparison {
  std::vector<compared_plan> plans;
  std::vector<cache_difference> differences;  ///< of each plan that has bytes, against the first that has
};

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
[[nodiscard]] inline cache_counts count_stored(const transformers::cached_model& m, const config::workload& w) {
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
[[nodiscard]] inline std::vector<kind_counts> count_kinds(const config::evaluation& bare, const config::evaluation& e,
                                                          std::uint64_t allocated) {
  std::map<std::int64_t, std::string> kinds;
  std::vector<kind_counts> out;
  const auto of = [&](const std::string& kind) -> kind_counts& {
    const auto at = std::find_if(out.begin(), out.end(), [&](const kind_counts& k) { return k.kind == kind; });
    return at != out.end() ? *at : out.emplace_back(kind_counts{kind, 0, 0});
  };
  const auto bytes_of = [](const config::layer_bytes& l) {
    return (checked_count(l.k_bytes) + l.v_bytes + l.other_bytes).value();
  };
  for (const config::layer_bytes& l : bare.layers) {
    kinds.emplace(l.layer, l.kind);
    of(l.kind).stored_bytes += bytes_of(l);
  }
  checked_count listed = 0U;
  for (const config::layer_bytes& l : e.layers) listed += bytes_of(l);
  if (listed == checked_count(0U)) return out;
  const double scale = static_cast<double>(allocated) / static_cast<double>(listed.value());
  for (const config::layer_bytes& l : e.layers) {
    const auto known = kinds.find(l.layer);
    of(known == kinds.end() ? l.kind : known->second).allocated_bytes += static_cast<double>(bytes_of(l)) * scale;
  }
  return out;
}

}  // namespace detail

/// Counts a plan that was made of this config. Where the bare tensors are unknown (an engine knows a model or an
/// element type that nothing else does) the plan stays without counts, and says why.
[[nodiscard]] inline compared_plan count_plan(const config::located_config& located, const plan_question& q,
                                              named_plan made) {
  compared_plan out{std::move(made), std::nullopt, {}};
  const std::uint64_t allocated = out.result.plan ? workload_bytes(*out.result.plan).value_or(0) : 0;
  if (allocated == 0 || !q.work) return out;
  const config::evaluation& e = out.result.plan->answer;
  try {
    const config::cache_types types = detail::types_in_force(e, q);
    cache_counts counts =
        detail::count_stored(config::read_bare_model(located.config, types.k, types.v).model, *q.work);
    counts.allocated_bytes = allocated;
    out.kinds = detail::count_kinds(config::evaluate_bare(located.config, types.k, types.v, *q.work), e, allocated);
    out.counts = counts;
  } catch (const input_error& problem) {
    if (out.result.reason.empty()) out.result.reason = std::string("no terms: ") + problem.what();
  } catch (const size_error& problem) {
    if (out.result.reason.empty()) out.result.reason = std::string("no terms: ") + problem.what();
  }
  return out;
}

/// The difference of `plan` against `base`, both with counts.
[[nodiscard]] inline cache_difference difference_of(const compared_plan& plan, const compared_plan& base) {
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

[[nodiscard]] inline comparison compare(std::vector<compared_plan> plans) {
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

/// The value of a term as people write it.
[[nodiscard]] inline std::string shown_term(std::size_t term, double value) {
  if (term == 2) return fmt::format("{:.4g} %", value * 100);
  return fmt::format("{:.6g}", value);
}

/// One sentence or two.
[[nodiscard]] inline std::string words(const comparison& c, const cache_difference& d) {
  const compared_plan& plan = c.plans[d.plan];
  const compared_plan& base = c.plans[d.against];
  const auto size = [](const compared_plan& p) { return fmt::format("{:.3g}", bytes(p.counts->allocated_bytes)); };
  const bool same = plan.counts->allocated_bytes == base.counts->allocated_bytes;
  std::string out =
      fmt::format("{} takes {} {} takes ({} against {})", plan.result.name,
                  same ? "what" : fmt::format("{:.6g} times what", d.ratio), base.result.name, size(plan), size(base));
  if (d.only_bytes) {
    const char* const alone = plan.has_positions() ? "the latter" : base.has_positions() ? "the former" : "each";
    return out + fmt::format(": {} keeps states alone, whatever the length.", alone);
  }
  if (d.parts.empty()) return out + ": every term is the same.";
  for (std::size_t i = 0; i < d.parts.size(); ++i) {
    const cache_difference::part& p = d.parts[i];
    out += fmt::format("{} {} {} against {} (x {:.6g})", i == 0 ? ":" : ",", cache_term_names[p.term],
                       shown_term(p.term, p.here), shown_term(p.term, p.there), p.factor);
  }
  out += '.';
  if (d.parts.size() > 1) {
    out += fmt::format(" First to differ: {}; most of it: {}.", cache_term_names[d.parts.front().term],
                       cache_term_names[d.parts[d.largest].term]);
  }
  return out;
}

/// What an engine adds to the stored positions, by kinds of layers. Empty where it adds nothing.
[[nodiscard]] inline std::string words(const compared_plan& p) {
  if (!p.counts || p.counts->allocated_bytes == p.counts->stored_bytes) return "";
  std::string parts;
  for (const kind_counts& k : p.kinds) {
    const double stored = static_cast<double>(k.stored_bytes);
    if (std::fabs(k.allocated_bytes - stored) < 0.5) continue;
    parts += parts.empty() ? " " : ", ";
    if (k.stored_bytes == 0) parts += fmt::format("{} {:.0f} B", k.kind, k.allocated_bytes);
    else parts += fmt::format("{} x {:.6g}", k.kind, k.allocated_bytes / stored);
  }
  return fmt::format("{}: against the bare tensors x {:.6g}:{}", p.result.name, p.value(7), parts);
}

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
      const config::cache_types types = types_in_force(plan->answer, {});
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

/// kvbudget.compare/1: every plan whole, with its counts; and the differences. Counts are exact, terms are quotients.
[[nodiscard]] inline config::json to_json(const comparison& c) {
  using config::json;
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

[[nodiscard]] inline std::string to_csv(const comparison& c) { return detail::sheet_of(c).csv(); }

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

[[nodiscard]] inline std::string to_markdown(const comparison& c) {
  return detail::sheet_of(c).markdown() + '\n' + detail::sentences(c, "- ");
}
[[nodiscard]] inline std::string to_table(const comparison& c) {
  std::string out;
  for (const compared_plan& p : c.plans) {
    if (!p.result.plan || !p.result.plan->work) continue;
    out = fmt::format("workload     {}\n\n", detail::shown(*p.result.plan->work));
    break;
  }
  return out + detail::sheet_of(c).text() + '\n' + detail::sentences(c, "");
}

}  // namespace kvbudget
