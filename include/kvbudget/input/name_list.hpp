// Names that must differ: all in one piece of memory, for the many that a header may hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvbudget::detail {

/// Takes names one after another and finds one that is there twice. Scopes nest: what was added since a mark can be
/// looked at and dropped.
class name_list {
 public:
  void add(std::string_view name) {
    places_.push_back({std::hash<std::string_view>{}(name), text_.size(), name.size()});
    text_ += name;
  }
  [[nodiscard]] std::size_t mark() const noexcept { return places_.size(); }

  /// One of the names since `from` that is there twice.
  [[nodiscard]] std::optional<std::string> repeated(std::size_t from = 0) {
    const auto begin = places_.begin() + static_cast<std::ptrdiff_t>(from);
    std::sort(begin, places_.end(), [this](const place& a, const place& b) {
      return a.hash != b.hash ? a.hash < b.hash : text_of(a) < text_of(b);
    });
    const auto at = std::adjacent_find(begin, places_.end(), [this](const place& a, const place& b) {
      return a.hash == b.hash && text_of(a) == text_of(b);
    });
    if (at == places_.end()) return std::nullopt;
    return std::string(text_of(*at));
  }
  /// Drops the names since `from`, which were added last.
  void drop(std::size_t from) {
    std::size_t end = text_.size();
    for (std::size_t i = from; i < places_.size(); ++i) end = std::min(end, places_[i].begin);
    text_.resize(end);
    places_.resize(from);
  }

 private:
  struct place {
    std::size_t hash;
    std::size_t begin;
    std::size_t size;
  };
  [[nodiscard]] std::string_view text_of(const place& p) const noexcept {
    return std::string_view(text_).substr(p.begin, p.size);
  }

  std::string text_;
  std::vector<place> places_;
};

}  // namespace kvbudget::detail
