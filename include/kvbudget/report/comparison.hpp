// Plans side by side: the types of compare().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kvbudget/report/plans.hpp>

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

}  // namespace kvbudget
