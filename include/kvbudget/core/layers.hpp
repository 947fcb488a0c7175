// Many layers as one value: uniform models, mixed models, arrays.
#pragma once

#include <cstddef>

#include <kvbudget/core/cache.hpp>

namespace kvbudget {

/// No model has more; a number above it is an error in the input, not a large model.
inline constexpr std::uint64_t max_layers = 65'536;

/// `count` equal layers. They are costed once.
template <class Layer>
struct repeated {
  std::uint64_t count = 0;
  Layer layer;
};
template <class Count, class Layer>
repeated(Count, Layer) -> repeated<Layer>;

/// Layers of different kinds one after the other; each part may be a single layer, `repeated`, or a list again.
template <class... Parts>
struct layer_list;

template <class First>
struct layer_list<First> {
  First first;
};
template <class First, class... Rest>
struct layer_list<First, Rest...> {
  First first;
  layer_list<Rest...> rest;

  constexpr layer_list(First head, Rest... tail) : first(head), rest{tail...} {}
};
template <class... Parts>
layer_list(Parts...) -> layer_list<Parts...>;

/// Layers of one type in a container: std::array, std::vector.
template <class T>
concept layer_range = requires(const T& layers) {
  layers.begin();
  layers.end();
  *layers.begin() == *layers.begin();
};

namespace detail {

/// How many layers there are, and each different one (some perhaps more than once).
template <class Layers>
struct layers_of {
  static constexpr checked_count count(const Layers&) noexcept { return 1U; }
  template <class Visit>
  static constexpr void visit(const Layers& layer, const Visit& f) {
    f(layer);
  }
};

template <class First, class Second>
struct layers_of<layer_pair<First, Second>> {
  static constexpr checked_count count(const layer_pair<First, Second>&) noexcept { return 1U; }
  template <class Visit>
  static constexpr void visit(const layer_pair<First, Second>& pair, const Visit& f) {
    layers_of<First>::visit(pair.first, f);
    layers_of<Second>::visit(pair.second, f);
  }
};

template <class Layer>
struct layers_of<repeated<Layer>> {
  static constexpr checked_count count(const repeated<Layer>& layers) noexcept {
    return layers_of<Layer>::count(layers.layer) * layers.count;
  }
  template <class Visit>
  static constexpr void visit(const repeated<Layer>& layers, const Visit& f) {
    layers_of<Layer>::visit(layers.layer, f);
  }
};

template <class First, class... Rest>
struct layers_of<layer_list<First, Rest...>> {
  static constexpr checked_count count(const layer_list<First, Rest...>& layers) noexcept {
    if constexpr (sizeof...(Rest) == 0) return layers_of<First>::count(layers.first);
    else return layers_of<First>::count(layers.first) + layers_of<layer_list<Rest...>>::count(layers.rest);
  }
  template <class Visit>
  static constexpr void visit(const layer_list<First, Rest...>& layers, const Visit& f) {
    layers_of<First>::visit(layers.first, f);
    if constexpr (sizeof...(Rest) != 0) layers_of<layer_list<Rest...>>::visit(layers.rest, f);
  }
};

template <layer_range Layers>
struct layers_of<Layers> {
  static constexpr checked_count count(const Layers& layers) noexcept {
    std::uint64_t n = 0;
    for (auto at = layers.begin(); at != layers.end() && n <= max_layers; ++at) ++n;
    return n;
  }
  template <class Visit>
  static constexpr void visit(const Layers& layers, const Visit& f) {
    for (auto at = layers.begin(), before = at; at != layers.end(); before = at++) {
      if (at == before || !(*at == *before)) layers_of<std::remove_cvref_t<decltype(*at)>>::visit(*at, f);
    }
  }
};

template <class Policy, class Layers, class Batch>
struct layers_cost {
  static constexpr footprint of(const Policy& policy, const Layers& layer,
                                const Batch& batch) requires caches<Policy, Layers, Batch> {
    return allocated(policy, layer, batch);
  }
};

/// There is a cost; asked of every part, so that a list with one kind that has no rule has none either.
template <class Policy, class Layers, class Batch>
concept has_cost = requires(const Policy& p, const Layers& l, const Batch& b) {
  { layers_cost<Policy, Layers, Batch>::of(p, l, b) } -> std::same_as<footprint>;
};

template <class Policy, class Layer, class Batch>
struct layers_cost<Policy, repeated<Layer>, Batch> {
  static constexpr footprint of(const Policy& policy, const repeated<Layer>& layers,
                                const Batch& batch) requires has_cost<Policy, Layer, Batch> {
    return layers_cost<Policy, Layer, Batch>::of(policy, layers.layer, batch) * layers.count;
  }
};

template <class Policy, class First, class... Rest, class Batch>
struct layers_cost<Policy, layer_list<First, Rest...>, Batch> {
  static constexpr footprint of(const Policy& policy, const layer_list<First, Rest...>& layers,
                                const Batch& batch) requires(has_cost<Policy, First, Batch> &&
                                                             (has_cost<Policy, Rest, Batch> && ...)) {
    const footprint first = layers_cost<Policy, First, Batch>::of(policy, layers.first, batch);
    if constexpr (sizeof...(Rest) == 0) {
      return first;
    } else {
      return first + layers_cost<Policy, layer_list<Rest...>, Batch>::of(policy, layers.rest, batch);
    }
  }
};

/// Runs of equal layers are costed once; a batch that must be walked makes it worth looking further back.
template <class Policy, layer_range Layers, class Batch>
struct layers_cost<Policy, Layers, Batch> {
  using layer_type = std::remove_cvref_t<decltype(*std::declval<const Layers&>().begin())>;

  static constexpr footprint of(const Policy& policy, const Layers& layers,
                                const Batch& batch) requires has_cost<Policy, layer_type, Batch> {
    footprint sum{0U, 0U, 0U};
    for (auto at = layers.begin(); at != layers.end();) {
      auto next = at;
      std::uint64_t run = 0;
      for (; next != layers.end() && *next == *at; ++next) ++run;
      sum = sum + layers_cost<Policy, layer_type, Batch>::of(policy, *at, batch) * run;
      at = next;
    }
    return sum;
  }
};

template <class Policy, layer_range Layers, class Length>
struct layers_cost<Policy, Layers, ragged_batch<Length>> {
  using layer_type = std::remove_cvref_t<decltype(*std::declval<const Layers&>().begin())>;

  static constexpr footprint of(const Policy& policy, const Layers& layers, const ragged_batch<Length>& batch) requires
      has_cost<Policy, layer_type, ragged_batch<Length>> {
    footprint sum{0U, 0U, 0U};
    for (auto at = layers.begin(); at != layers.end(); ++at) {
      bool seen = false;
      for (auto before = layers.begin(); before != at && !seen; ++before) seen = *before == *at;
      if (seen) continue;
      std::uint64_t equal = 0;
      for (auto later = at; later != layers.end(); ++later) equal += *later == *at ? 1U : 0U;
      sum = sum + layers_cost<Policy, layer_type, ragged_batch<Length>>::of(policy, *at, batch) * equal;
    }
    return sum;
  }
};

}  // namespace detail

/// A policy and layers that it has rules for.
template <class Layers, class Policy, class Batch = uniform_batch>
concept cacheable = requires(const Policy& p, const Layers& l, const Batch& b) {
  {
    detail::layers_cost<Policy, std::remove_cvref_t<Layers>, std::remove_cvref_t<decltype(batch_under(p, b))>>::of(
        p, l, batch_under(p, b))
    } -> std::same_as<footprint>;
};

/// What `batch` takes in all `layers` under `policy`. Failures are in the result, not raised.
template <class Layers, class Policy, class Batch>
requires cacheable<Layers, Policy, Batch>
[[nodiscard]] constexpr footprint total_footprint(const Layers& layers, const Policy& policy, const Batch& batch) {
  if (!detail::layers_of<Layers>::count(layers).fits(max_layers)) {
    return {checked_count::failed(failure::too_many_layers), 0U, 0U};
  }
  using batch_type = std::remove_cvref_t<decltype(batch_under(policy, batch))>;
  return detail::layers_cost<Policy, Layers, batch_type>::of(policy, layers, batch_under(policy, batch));
}

/// The same in bytes. Raises a failure (a compile error in a constant expression).
template <class Layers, class Policy, class Batch>
requires cacheable<Layers, Policy, Batch>
[[nodiscard]] constexpr bytes total_bytes(const Layers& layers, const Policy& policy, const Batch& batch) {
  return bytes(total_footprint(layers, policy, batch).total());
}

}  // namespace kvbudget
