// What makes the difference between two plans, in sentences.
#pragma once

#include <string>

#include <fmt/format.h>

#include <kvbudget/report/comparison.hpp>
#include <kvbudget/report/format.hpp>
#include <kvbudget/report/sheet.hpp>

namespace kvbudget::detail {

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

}  // namespace kvbudget::detail
