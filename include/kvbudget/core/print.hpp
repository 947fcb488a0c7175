// The core's values as text: what a failing test prints of them, and what format.hpp hands to fmt and std::format.
//
// A value prints itself when `text_of(value)` is found by argument-dependent lookup. Nothing is allocated, and no
// header of the standard library is needed: the streams' operator takes any stream with write().
#pragma once

#include <cstddef>

#include <kvbudget/core/budget.hpp>

namespace kvbudget {

/// A short text without allocation. What does not fit is cut.
class short_text {
 public:
  constexpr short_text() noexcept = default;
  constexpr short_text(const char* text) noexcept {  // NOLINT(google-explicit-constructor): a text is a text
    *this << text;
  }

  constexpr short_text& operator<<(const char* text) noexcept {
    for (; *text != '\0'; ++text) *this << *text;
    return *this;
  }
  constexpr short_text& operator<<(char c) noexcept {
    if (size_ < sizeof text_) text_[size_++] = c;
    return *this;
  }
  constexpr short_text& operator<<(std::uint64_t number) noexcept {
    std::uint64_t scale = 1;
    while (number / scale >= 10) scale *= 10;
    for (; scale > 0; scale /= 10) *this << static_cast<char>('0' + number / scale % 10);
    return *this;
  }
  constexpr short_text& operator<<(const short_text& other) noexcept {
    for (std::size_t i = 0; i < other.size_; ++i) *this << other.text_[i];
    return *this;
  }

  [[nodiscard]] constexpr const char* data() const noexcept { return text_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  char text_[240]{};
  std::size_t size_ = 0;
};

[[nodiscard]] constexpr short_text text_of(const bytes& n) noexcept { return short_text() << n.count() << " B"; }
[[nodiscard]] constexpr short_text text_of(const tokens& n) noexcept { return short_text() << n.count() << " tokens"; }
[[nodiscard]] constexpr short_text text_of(const blocks& n) noexcept { return short_text() << n.count() << " blocks"; }
/// The name of the reason, as in the code.
[[nodiscard]] constexpr short_text text_of(const failure& f) noexcept {
  switch (f) {
    case failure::none: return "none";
    case failure::overflow: return "overflow";
    case failure::negative: return "negative";
    case failure::division_by_zero: return "division_by_zero";
    case failure::partial_block: return "partial_block";
    case failure::exceeds_reservation: return "exceeds_reservation";
    case failure::too_many_layers: return "too_many_layers";
    case failure::too_many_entries: return "too_many_entries";
    case failure::block_too_large: return "block_too_large";
    case failure::indivisible: return "indivisible";
    case failure::no_such_rank: return "no_such_rank";
    case failure::unsupported_layer: return "unsupported_layer";
    case failure::unknown_pool: return "unknown_pool";
    case failure::empty_pool: return "empty_pool";
  }
  return "unknown failure";
}
/// The number, or the failure in its place. A template, so that plain numbers, which convert, are not meant.
template <std::same_as<checked_count> Count>
[[nodiscard]] constexpr short_text text_of(const Count& n) noexcept {
  return n.valid() ? short_text() << n.value_or(0) : short_text() << "failure: " << text_of(n.reason());
}
[[nodiscard]] constexpr short_text text_of(const footprint& f) noexcept {
  return short_text() << "K " << text_of(f.k) << " B, V " << text_of(f.v) << " B, other " << text_of(f.other) << " B";
}
[[nodiscard]] constexpr short_text text_of(const limit& most) noexcept {
  if (most.none) return "none fits";
  return most.unbounded ? short_text("unbounded") : short_text("at most ") << most.value;
}
[[nodiscard]] constexpr short_text text_of(const share& part) noexcept {
  return short_text() << part.numerator << '/' << part.denominator;
}
[[nodiscard]] constexpr short_text text_of(const request& r) noexcept {
  short_text text = short_text() << "prompt " << r.prompt.count() << ", generated " << r.generated.count();
  return r.encoder.count() == 0 ? text : text << ", encoder " << r.encoder.count();
}
[[nodiscard]] constexpr short_text text_of(const device_budget& d) noexcept {
  return short_text() << "capacity " << text_of(d.capacity) << " x " << text_of(d.utilization) << ", weights "
                      << text_of(d.weights) << ", overhead " << text_of(d.fixed_overhead) << " + "
                      << text_of(d.overhead_share);
}

/// A value of this library that has a text.
template <class T>
concept prints_itself = requires(const T& value) {
  { text_of(value) } -> std::same_as<short_text>;
};

template <class Stream, prints_itself Value>
requires requires(Stream& out, const short_text& text) { out.write(text.data(), 1); }
Stream& operator<<(Stream& out, const Value& value) {
  const short_text text = text_of(value);
  out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
  return out;
}

}  // namespace kvbudget
