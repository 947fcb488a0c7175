// Bytes, tokens and blocks: three counts that do not mix.
//
// Bytes are exact 64-bit integers everywhere; GiB (2^30) and GB (10^9) appear only where a number is printed.
#pragma once

#include <kvbudget/core/checked.hpp>

namespace kvbudget {

namespace detail {

/// The operators that every unit shares. `Unit` is the type itself, so that diagnostics name it.
template <class Unit>
class amount {
 public:
  constexpr amount() noexcept = default;

  /// Raises a failure on a negative number.
  template <count_like T>
  constexpr explicit amount(T count) : count_(checked_count(count).value()) {}

  /// Raises the failure that `count` carries.
  constexpr explicit amount(checked_count count) : count_(count.value()) {}

  [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] static constexpr Unit max() noexcept { return Unit(~std::uint64_t{0}); }

  friend constexpr Unit operator+(Unit a, Unit b) { return Unit(checked_count(a.count()) + b.count()); }
  friend constexpr Unit operator-(Unit a, Unit b) { return Unit(checked_count(a.count()) - b.count()); }
  template <count_like T>
  friend constexpr Unit operator*(Unit a, T factor) {
    return Unit(checked_count(a.count()) * factor);
  }
  template <count_like T>
  friend constexpr Unit operator*(T factor, Unit a) {
    return Unit(checked_count(a.count()) * factor);
  }
  /// Rounded down.
  template <count_like T>
  friend constexpr Unit operator/(Unit a, T divisor) {
    return Unit(checked_count(a.count()) / divisor);
  }
  /// How often `b` goes into `a`, rounded down.
  friend constexpr std::uint64_t operator/(Unit a, Unit b) { return (checked_count(a.count()) / b.count()).value(); }
  friend constexpr Unit operator%(Unit a, Unit b) { return Unit(checked_count(a.count()) % b.count()); }

  constexpr Unit& operator+=(Unit other) { return self() = self() + other; }
  constexpr Unit& operator-=(Unit other) { return self() = self() - other; }

  friend constexpr bool operator==(const Unit& a, const Unit& b) noexcept { return a.count() == b.count(); }
  friend constexpr std::strong_ordering operator<=>(const Unit& a, const Unit& b) noexcept {
    return a.count() <=> b.count();
  }

 private:
  constexpr Unit& self() noexcept { return static_cast<Unit&>(*this); }
  std::uint64_t count_ = 0;
};

}  // namespace detail

/// A number of bytes. Arithmetic is exact: an overflow or a negative difference raises a failure.
class bytes : public detail::amount<bytes> {
 public:
  using amount::amount;
};

/// A number of token positions.
class tokens : public detail::amount<tokens> {
 public:
  using amount::amount;
};

/// A number of blocks (pages) of a paged cache.
class blocks : public detail::amount<blocks> {
 public:
  using amount::amount;
};

inline constexpr std::uint64_t kib = std::uint64_t{1} << 10U;
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t tib = std::uint64_t{1} << 40U;
inline constexpr std::uint64_t kb = 1'000;
inline constexpr std::uint64_t mb = 1'000'000;
inline constexpr std::uint64_t gb = 1'000'000'000;
inline constexpr std::uint64_t tb = 1'000'000'000'000;

/// `using namespace kvbudget::literals;` gives 24_GiB, 80_GB, 4096_tokens.
inline namespace literals {

constexpr bytes operator""_B(unsigned long long n) { return bytes(n); }
constexpr bytes operator""_KiB(unsigned long long n) { return bytes(n) * kib; }
constexpr bytes operator""_MiB(unsigned long long n) { return bytes(n) * mib; }
constexpr bytes operator""_GiB(unsigned long long n) { return bytes(n) * gib; }
constexpr bytes operator""_TiB(unsigned long long n) { return bytes(n) * tib; }
constexpr bytes operator""_kB(unsigned long long n) { return bytes(n) * kb; }
constexpr bytes operator""_MB(unsigned long long n) { return bytes(n) * mb; }
constexpr bytes operator""_GB(unsigned long long n) { return bytes(n) * gb; }
constexpr bytes operator""_TB(unsigned long long n) { return bytes(n) * tb; }
constexpr tokens operator""_tokens(unsigned long long n) { return tokens(n); }
constexpr blocks operator""_blocks(unsigned long long n) { return blocks(n); }

}  // namespace literals

}  // namespace kvbudget
