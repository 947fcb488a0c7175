// Counts of 64 bits that never wrap around.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

#include <kvbudget/core/failure.hpp>

namespace kvbudget {

/// Integers that can stand for a count. `bool` and characters are not numbers here, and 128 bits would be cut.
template <class T>
concept count_like = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) && !std::same_as<T, bool> &&
                     !std::same_as<T, char> && !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
                     !std::same_as<T, char32_t> && !std::same_as<T, wchar_t>;

namespace detail {
template <class T>
constexpr bool is_negative([[maybe_unused]] T value) noexcept {
  if constexpr (std::signed_integral<T>) return value < 0;
  return false;
}
}  // namespace detail

/// A number of things, or the reason why there is none.
///
/// Formulas are written with plain operators on this type; the first failure sticks, as NaN does, and is raised
/// once, where the result is read with `value()`. So one formula serves both the caller who wants an error and the
/// search for the largest length that fits, to which an overflow only means "too large".
class checked_count {
 public:
  constexpr checked_count() noexcept = default;

  template <count_like T>
  constexpr checked_count(T value) noexcept  // NOLINT(google-explicit-constructor): a count is a count
      : value_(detail::is_negative(value) ? 0U : static_cast<std::uint64_t>(value)),
        failure_(detail::is_negative(value) ? failure::negative : failure::none) {}

  [[nodiscard]] static constexpr checked_count failed(failure reason) noexcept {
    checked_count result;
    result.failure_ = reason;
    return result;
  }

  [[nodiscard]] constexpr bool valid() const noexcept { return failure_ == failure::none; }
  [[nodiscard]] constexpr failure reason() const noexcept { return failure_; }

  /// The number. Raises the failure, if there is one.
  [[nodiscard]] constexpr std::uint64_t value() const {
    raise_failure(failure_);
    return value_;
  }

  [[nodiscard]] constexpr std::uint64_t value_or(std::uint64_t other) const noexcept {
    return valid() ? value_ : other;
  }

  /// True when there is a number and it is at most `limit`.
  [[nodiscard]] constexpr bool fits(std::uint64_t limit) const noexcept { return valid() && value_ <= limit; }

  friend constexpr checked_count operator+(checked_count a, checked_count b) noexcept {
    if (!a.valid()) return a;
    if (!b.valid()) return b;
    if (a.value_ > ~std::uint64_t{0} - b.value_) return failed(failure::overflow);
    return a.value_ + b.value_;
  }

  friend constexpr checked_count operator-(checked_count a, checked_count b) noexcept {
    if (!a.valid()) return a;
    if (!b.valid()) return b;
    if (b.value_ > a.value_) return failed(failure::negative);
    return a.value_ - b.value_;
  }

  friend constexpr checked_count operator*(checked_count a, checked_count b) noexcept {
    if (!a.valid()) return a;
    if (!b.valid()) return b;
#if defined(__GNUC__)
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) return failed(failure::overflow);
    return product;
#else
    if (a.value_ != 0 && b.value_ > ~std::uint64_t{0} / a.value_) return failed(failure::overflow);
    return a.value_ * b.value_;
#endif
  }

  /// Rounded down.
  friend constexpr checked_count operator/(checked_count a, checked_count b) noexcept {
    if (!a.valid()) return a;
    if (!b.valid()) return b;
    if (b.value_ == 0) return failed(failure::division_by_zero);
    return a.value_ / b.value_;
  }

  friend constexpr checked_count operator%(checked_count a, checked_count b) noexcept {
    if (!a.valid()) return a;
    if (!b.valid()) return b;
    if (b.value_ == 0) return failed(failure::division_by_zero);
    return a.value_ % b.value_;
  }

  constexpr checked_count& operator+=(checked_count other) noexcept { return *this = *this + other; }
  constexpr checked_count& operator*=(checked_count other) noexcept { return *this = *this * other; }

  friend constexpr bool operator==(checked_count, checked_count) noexcept = default;

 private:
  std::uint64_t value_ = 0;
  failure failure_ = failure::none;
};

/// a / b rounded up.
[[nodiscard]] constexpr checked_count div_ceil(checked_count a, checked_count b) noexcept {
  const checked_count remainder = a % b;
  return remainder.valid() ? a / b + checked_count(remainder.value_or(0) != 0 ? 1U : 0U) : remainder;
}

/// a rounded up to a multiple of b.
[[nodiscard]] constexpr checked_count round_up(checked_count a, checked_count b) noexcept { return div_ceil(a, b) * b; }

/// The smaller one; a failure of either is the result.
[[nodiscard]] constexpr checked_count smaller(checked_count a, checked_count b) noexcept {
  if (!a.valid()) return a;
  if (!b.valid()) return b;
  return a.value_or(0) < b.value_or(0) ? a : b;
}

/// The larger one; a failure of either is the result.
[[nodiscard]] constexpr checked_count larger(checked_count a, checked_count b) noexcept {
  if (!a.valid()) return a;
  if (!b.valid()) return b;
  return a.value_or(0) < b.value_or(0) ? b : a;
}

}  // namespace kvbudget
