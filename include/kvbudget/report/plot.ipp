// Definitions of plot.hpp.
#pragma once

#include <kvbudget/report/plot.hpp>
#include <kvbudget/report/svg.hpp>

namespace kvbudget {

KVBUDGET_INLINE std::string to_svg(const plot& p) { return detail::svg::picture(p).svg(); }

}  // namespace kvbudget
