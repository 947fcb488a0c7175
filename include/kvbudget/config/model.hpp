// A model at run time: its layers by kind, equal ones stored once.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <kvbudget/core/layers.hpp>

namespace kvbudget {

/// One thing that a layer keeps. Closed by default; a caller with a kind of its own names it: basic_layer_part<Mine>.
template <class... Extra>
using basic_layer_part =
    std::variant<full_attention, sliding_window_attention, chunked_local_attention, sink_window_attention,
                 ring_buffer_attention, reference_window_attention, mla_attention, index_keys, cross_attention,
                 recurrent_state, segment_memory, compressed_keys, shared_kv, no_cache, Extra...>;

/// A layer: one part, or several side by side (a latent and index keys, attention and a state).
template <class... Extra>
struct basic_cache_layer {
  std::string kind;  ///< the field's name for it: full_attention, sliding_attention, linear_attention …
  std::vector<basic_layer_part<Extra...>> parts;

  friend bool operator==(const basic_cache_layer&, const basic_cache_layer&) = default;
};

template <class... Extra>
class basic_model {
 public:
  using layer_type = basic_cache_layer<Extra...>;

  /// A layer as it stands in the model. -1 is what belongs to the cache as a whole.
  struct placed_layer {
    std::int64_t layer;
    std::size_t kind;  ///< index into kinds()
  };

  /// Adds a layer; returns its kind, an index into kinds(). Raises model_has_more_than_65536_layers().
  std::size_t add(std::int64_t layer, const layer_type& value) {
    if (layers_.size() == max_layers) model_has_more_than_65536_layers();
    // The newest first, and not all of very many: a file must not be able to make this quadratic.
    std::size_t kind = kinds_.size();
    for (std::size_t back = 1; back <= kinds_.size() && back <= 256; ++back) {
      if (kinds_[kinds_.size() - back] == value) {
        kind = kinds_.size() - back;
        break;
      }
    }
    if (kind == kinds_.size()) {
      kinds_.push_back(value);
      counts_.push_back(0);
    }
    add_another(layer, kind);
    return kind;
  }
  /// Adds a layer that is equal to an earlier one.
  void add_another(std::int64_t layer, std::size_t kind) {
    if (layers_.size() == max_layers) model_has_more_than_65536_layers();
    ++counts_.at(kind);
    layers_.push_back(placed_layer{layer, kind});
  }

  /// The different layers; the cost of a cache grows with their number. (Where there are more than 256 of them, some
  /// may be equal.)
  [[nodiscard]] const std::vector<layer_type>& kinds() const noexcept { return kinds_; }
  /// How many layers are of kinds()[i].
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return counts_[i]; }
  /// All layers in order.
  [[nodiscard]] const std::vector<placed_layer>& layers() const noexcept { return layers_; }

 private:
  std::vector<layer_type> kinds_;
  std::vector<std::uint64_t> counts_;
  std::vector<placed_layer> layers_;
};

using layer_part = basic_layer_part<>;
using cache_layer = basic_cache_layer<>;
using model = basic_model<>;

/// What one of several kinds takes. A policy that has no rule for the kind at hand gives failure::unsupported_layer.
template <class Policy, class Batch, class... Kinds>
[[nodiscard]] constexpr footprint allocated(const Policy& policy, const std::variant<Kinds...>& part,
                                            const Batch& batch) {
  return std::visit(
      [&](const auto& p) -> footprint {
        if constexpr (caches<Policy, std::remove_cvref_t<decltype(p)>, Batch>) {
          return allocated(policy, p, batch);
        } else {
          return {0U, 0U, checked_count::failed(failure::unsupported_layer)};
        }
      },
      part);
}

/// What one layer takes: the sum of its parts.
template <class Policy, class Batch, class... Extra>
[[nodiscard]] footprint allocated(const Policy& policy, const basic_cache_layer<Extra...>& layer, const Batch& batch) {
  footprint sum{0U, 0U, 0U};
  for (const auto& part : layer.parts) sum = sum + kvbudget::allocated(policy, part, batch);
  return sum;
}

namespace detail {

template <class... Kinds>
struct layers_of<std::variant<Kinds...>> {
  static constexpr checked_count count(const std::variant<Kinds...>&) noexcept { return 1U; }
  template <class Visit>
  static constexpr void visit(const std::variant<Kinds...>& part, const Visit& f) {
    std::visit(f, part);
  }
};

template <class... Extra>
struct layers_of<basic_model<Extra...>> {
  static checked_count count(const basic_model<Extra...>& m) noexcept { return m.layers().size(); }
  template <class Visit>
  static void visit(const basic_model<Extra...>& m, const Visit& f) {
    for (const auto& kind : m.kinds()) {
      for (const auto& part : kind.parts) std::visit(f, part);
    }
  }
};

template <class Policy, class... Extra, class Batch>
struct layers_cost<Policy, basic_model<Extra...>, Batch> {
  static footprint of(const Policy& policy, const basic_model<Extra...>& m, const Batch& batch) {
    footprint sum{0U, 0U, 0U};
    for (std::size_t i = 0; i < m.kinds().size(); ++i) {
      sum = sum + kvbudget::allocated(policy, m.kinds()[i], batch) * m.count(i);
    }
    return sum;
  }
};
}  // namespace detail

}  // namespace kvbudget
