// Numbers that are the same in every run and on every machine (splitmix64, Steele, Lea and Flood 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace testing {

class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e37'79b9'7f4a'7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d0'49bb'1331'11ebU;
    return z ^ (z >> 31U);
  }
  /// In [lowest, highest].
  std::uint64_t between(std::uint64_t lowest, std::uint64_t highest) {
    return lowest + next() % (highest - lowest + 1);
  }
  bool coin() { return next() % 2 == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(next() % values.size()));
  }
  /// Of any size: small numbers, powers of two and their co_residents, the largest.
  std::uint64_t any() {
    switch (next() % 4) {
      case 0: return next() % 16;
      case 1: return ~std::uint64_t{0} - next() % 16;
      case 2: return (std::uint64_t{1} << next() % 64U) + next() % 3 - 1;
      default: return next() >> next() % 64U;
    }
  }
  std::vector<std::uint32_t> lengths(std::size_t most, std::uint64_t longest) {
    std::vector<std::uint32_t> result(next() % (most + 1));
    for (std::uint32_t& n : result) n = static_cast<std::uint32_t>(between(0, longest));
    return result;
  }

 private:
  std::uint64_t state_;
};

}  // namespace testing
