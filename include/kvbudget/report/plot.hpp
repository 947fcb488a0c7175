// Line plots as SVG, fit for a printed report: black and white suffices, no script, nothing loaded from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kvbudget/compiled.hpp>
#include <kvbudget/report/plot_data.hpp>

namespace kvbudget {

/// An SVG 1.1 document in UTF-8 that needs nothing else. Equal plots give equal text.
///
/// Lines differ by dashes and markers, areas by grey levels and hatching, limits are hatched on the forbidden side, and
/// each is named at its right end, beside a sample of how it looks. Names that would collide are moved apart; long ones
/// lose their middle, and the whole name is in the title of the element.
[[nodiscard]] std::string to_svg(const plot& p);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/report/plot.ipp>
#endif
