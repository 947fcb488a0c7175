// How the work of a function grows with its input, compared within one run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>

/// CPU time of work(8 n) in units of that of work(n): about 8 where the work is linear, 64 where it is quadratic. The
/// least of five tries each, so that what else the machine does is not counted.
template <class Work>
[[nodiscard]] double growth_over_eightfold(const Work& work, std::size_t n) {
  const auto least = [&](std::size_t size) {
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t start = std::clock();
      work(size);
      const double now = static_cast<double>(std::clock() - start);
      best = i == 0 ? now : std::min(best, now);
    }
    return best;
  };
  const double small = least(n);
  return least(8 * n) / std::max(small, 1.0);
}
