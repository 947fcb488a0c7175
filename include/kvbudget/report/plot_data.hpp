// What a plot shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvbudget {

/// One point, in the units that the labels of the axes name. What is not finite or beyond 10^300 is left out.
struct plot_point {
  double x = 0;
  double y = 0;
};

/// Points joined in their order. A point that is left out is a gap.
struct plot_line {
  std::string name{};
  std::vector<plot_point> points{};
  bool steps = false;  ///< a value holds until the next point, as of something that is measured at moments
};

/// A height that must not be exceeded, such as what a device holds.
struct plot_limit {
  std::string name{};
  double y = 0;
};

/// One layer of a stack, from below in the order of `plot::areas`. The stack exists where each layer has a point.
struct plot_area {
  std::string name{};
  std::vector<plot_point> points{};
  bool steps = false;
};

enum class plot_scale : std::uint8_t {
  linear,
  logarithmic  ///< to base two; points at or below zero are left out
};

/// What is drawn. y starts at zero; x where the points start, or at zero when that is near. Positions that are powers
/// of two or multiples of 256 get ticks in Ki and Mi, all others 1-2-5.
struct plot {
  std::string title{};
  std::string subtitle{};
  std::string x_label{};
  std::string y_label{};
  std::vector<plot_area> areas{};
  std::vector<plot_line> lines{};
  std::vector<plot_limit> limits{};
  plot_scale x_scale = plot_scale::linear;
  /// Where x is no number: x = 0, 1, 2 … stand for these. Areas are then bars, and points are not joined.
  std::vector<std::string> x_names{};
};

}  // namespace kvbudget
