// What is asked of a cache: one request, a uniform batch, a ragged batch.
#pragma once

#include <cstddef>

#include <kvbudget/core/units.hpp>

namespace kvbudget {

/// One sequence. A prompt without its generation is no budget, so both must be stated.
struct request {
  tokens prompt;     ///< positions of the prompt (prefill, all at once)
  tokens generated;  ///< positions added one by one after it (decode)
  tokens encoder;    ///< positions of the encoder that cross attention reads; 0 without one

  constexpr request(tokens prompt_positions, tokens generated_positions, tokens encoder_positions = tokens()) noexcept
      : prompt(prompt_positions), generated(generated_positions), encoder(encoder_positions) {}

  /// Positions of prompt and generation.
  [[nodiscard]] constexpr checked_count length() const noexcept {
    return checked_count(prompt.count()) + generated.count();
  }
};

/// `sequences` requests of one shape.
struct uniform_batch {
  request each;
  std::uint64_t sequences = 1;
};

/// Sequences of different lengths, stored elsewhere: `lengths[0 … sequences)` positions each, prompt and generation
/// together. The numbers are only read.
template <std::unsigned_integral Length>
class ragged_batch {
 public:
  constexpr ragged_batch(const Length* lengths, std::size_t sequences) noexcept
      : lengths_(lengths), sequences_(sequences) {}

  /// Over anything contiguous that outlives the batch: std::vector, std::array, std::span.
  template <class Container>
  requires requires(const Container& c) {
    { c.data() } -> std::convertible_to<const Length*>;
    { c.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr explicit ragged_batch(const Container& c) noexcept : lengths_(c.data()), sequences_(c.size()) {}

  template <std::size_t N>
  constexpr explicit ragged_batch(const Length (&lengths)[N]) noexcept : lengths_(lengths), sequences_(N) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return sequences_; }
  [[nodiscard]] constexpr const Length* begin() const noexcept { return lengths_; }
  [[nodiscard]] constexpr const Length* end() const noexcept { return lengths_ + sequences_; }

  [[nodiscard]] constexpr std::uint64_t longest() const noexcept {
    std::uint64_t result = 0;
    for (const Length length : *this) result = length > result ? std::uint64_t{length} : result;
    return result;
  }

 private:
  const Length* lengths_;
  std::size_t sequences_;
};

template <class Container>
requires requires(const Container& c) { *c.data(); }
ragged_batch(const Container& c)->ragged_batch<std::remove_cvref_t<decltype(*c.data())>>;

}  // namespace kvbudget
