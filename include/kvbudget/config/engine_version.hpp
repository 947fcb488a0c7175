// Versions of engines, compared number by number.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <kvbudget/input/errors.hpp>

namespace kvbudget::detail::config {

/// "5.24.0"; what follows the numbers (".dev0", "rc1") is ignored.
struct engine_version {
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;
  std::uint32_t patch_number = 0;

  friend constexpr auto operator<=>(const engine_version&, const engine_version&) noexcept = default;

  [[nodiscard]] std::string text() const {
    return std::to_string(major_number) + "." + std::to_string(minor_number) + "." + std::to_string(patch_number);
  }

  /// Throws usage_error when the text does not start with a number of at most four digits.
  static engine_version parse(std::string_view text) {
    engine_version result;
    std::uint32_t* const parts[] = {&result.major_number, &result.minor_number, &result.patch_number};
    std::size_t at = 0;
    for (std::uint32_t* part : parts) {
      std::size_t digits = 0;
      while (at + digits < text.size() && text[at + digits] >= '0' && text[at + digits] <= '9') {
        if (digits == 4) break;
        *part = *part * 10 + static_cast<std::uint32_t>(text[at + digits++] - '0');
      }
      if (digits == 0 && part == parts[0]) {
        throw usage_error({"", "version", std::string(text)}, "not a version", "numbers such as 5.24.0");
      }
      at += digits;
      if (digits == 0 || at >= text.size() || text[at] != '.') break;
      ++at;
    }
    return result;
  }
};

}  // namespace kvbudget::detail::config
