// A plan: what an engine allocates, as pools of equal units (blocks, cells, rows) on devices.
#pragma once

#include <cstddef>

#include <kvbudget/core/units.hpp>

namespace kvbudget {

/// `units` x `unit_bytes` on one device. Names are string literals of the engine.
struct pool {
  const char* name = "";
  std::uint32_t device = 0;
  bytes unit_bytes;
  std::uint64_t units = 0;

  [[nodiscard]] constexpr bytes size() const { return unit_bytes * units; }
};

/// Storage for at most `Capacity` elements, without allocation. One more raises `failure::too_many_entries`.
template <class T, std::size_t Capacity>
class fixed_vector {
 public:
  constexpr void push_back(const T& value) {
    if (size_ == Capacity) list_is_longer_than_its_capacity();
    values_[size_++] = value;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr const T* begin() const noexcept { return values_; }
  [[nodiscard]] constexpr const T* end() const noexcept { return values_ + size_; }
  [[nodiscard]] constexpr T* begin() noexcept { return values_; }
  [[nodiscard]] constexpr T* end() noexcept { return values_ + size_; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) noexcept { return values_[i]; }

 private:
  T values_[Capacity]{};
  std::size_t size_ = 0;
};

/// Bytes of all pools of a range, or of those on one device.
template <class Pools>
[[nodiscard]] constexpr bytes size_of_pools(const Pools& pools) {
  bytes sum;
  for (const pool& p : pools) sum += p.size();
  return sum;
}
template <class Pools>
[[nodiscard]] constexpr bytes size_of_pools(const Pools& pools, std::uint32_t device) {
  bytes sum;
  for (const pool& p : pools) {
    if (p.device == device) sum += p.size();
  }
  return sum;
}

}  // namespace kvbudget
