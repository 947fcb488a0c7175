// The exceptions of the edges: files, configs, options, engines. The core has `size_error` (failure.hpp).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace kvbudget {

/// Where an input went wrong. Parts that do not apply are empty.
struct input_location {
  std::string file;     ///< as the caller named it
  std::string pointer;  ///< JSON pointer, or the name of an option
  std::string value;    ///< the value found, as JSON
};

namespace detail {
/// On one line: control characters, and bytes that are no UTF-8, as \xNN. Files name what they like.
[[nodiscard]] inline std::string printable(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(text[at])); };
    const unsigned first = byte(i);
    std::size_t length = first < 0x80                    ? 1
                         : first >= 0xf0 && first < 0xf5 ? 4
                         : first >= 0xe0                 ? 3
                         : first >= 0xc2                 ? 2
                                                         : 0;
    if (first >= 0xf5 || (first < 0x20) || first == 0x7f || i + length > text.size()) length = 0;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0U) != 0x80U) length = 0;
    }
    if (length == 0) {
      out += {'\\', 'x', digits[first >> 4U], digits[first & 15U]};
      length = 1;
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out;
}
}  // namespace detail

/// Base of the errors about input. `what()` is one line: FILE: /json/pointer: VALUE: what is wrong: what was expected.
class input_error : public std::runtime_error {
 public:
  input_error(input_location where, std::string problem, std::string expected)
      : std::runtime_error(line(where, problem, expected)),
        where_(std::move(where)),
        problem_(std::move(problem)),
        expected_(std::move(expected)) {}

  [[nodiscard]] const std::string& file() const noexcept { return where_.file; }
  [[nodiscard]] const std::string& pointer() const noexcept { return where_.pointer; }
  [[nodiscard]] const std::string& value() const noexcept { return where_.value; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const std::string& expected() const noexcept { return expected_; }

 private:
  static std::string line(const input_location& where, const std::string& problem, const std::string& expected) {
    std::string text;
    for (const std::string* part : {&where.file, &where.pointer, &where.value, &problem, &expected}) {
      if (part->empty()) continue;
      if (!text.empty()) text += ": ";
      text += detail::printable(*part);
    }
    return text;
  }

  input_location where_;
  std::string problem_;
  std::string expected_;
};

/// A file that cannot be read, is not JSON, or says something that is not understood.
class config_error : public input_error {
 public:
  using input_error::input_error;
};

/// An option that is unknown, has an unusable value, or contradicts another.
class usage_error : public input_error {
 public:
  using input_error::input_error;
};

/// The engine itself does not run with these settings; `problem()` is its reason.
class engine_refusal : public input_error {
 public:
  using input_error::input_error;
};

}  // namespace kvbudget
