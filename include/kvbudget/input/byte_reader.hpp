// Reading binary headers: every length is held against the bytes that are really there before it is believed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <kvbudget/input/errors.hpp>

namespace kvbudget::detail {

/// Little-endian values one after another from a stream of `size` bytes. Throws config_error with the byte's place.
class byte_reader {
 public:
  byte_reader(std::istream& stream, std::uint64_t size, std::string file)
      : stream_(&stream), size_(size), file_(std::move(file)) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return size_ - position_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  template <class T>
  requires std::is_unsigned_v<T>
  [[nodiscard]] T number(std::string_view what) {
    unsigned char raw[sizeof(T)];
    require(sizeof(T), what);
    read(reinterpret_cast<char*>(raw), sizeof(T));
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(static_cast<std::uint64_t>(value) << 8U | raw[i]);
    return value;
  }

  [[nodiscard]] std::string text(std::uint64_t length, std::string_view what) {
    require(length, what);
    std::string result(static_cast<std::size_t>(length), '\0');
    read(result.data(), length);
    return result;
  }

  void skip(std::uint64_t length, std::string_view what) {
    require(length, what);
    constexpr std::uint64_t buffered = 4096;  // seeking throws the stream's buffer away
    if (length <= buffered) stream_->ignore(static_cast<std::streamsize>(length));
    else stream_->seekg(static_cast<std::streamoff>(length), std::ios::cur);
    position_ += length;
    check();
  }

  /// `length` bytes are still there.
  void require(std::uint64_t length, std::string_view what) const {
    if (length <= remaining()) return;
    fail(position_, std::to_string(length), std::string(what) + ": longer than what is left of the file (truncated?)",
         "at most " + std::to_string(remaining()) + " bytes");
  }

  [[noreturn]] void fail(std::uint64_t place, std::string value, std::string problem, std::string expected) const {
    throw config_error({file_, "byte " + std::to_string(place), std::move(value)}, std::move(problem),
                       std::move(expected));
  }

 private:
  void read(char* to, std::uint64_t length) {
    stream_->read(to, static_cast<std::streamsize>(length));
    position_ += length;
    check();
  }
  void check() const {
    if (!*stream_) throw config_error({file_, "", ""}, "cannot be read", "a readable file");
  }

  std::istream* stream_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::string file_;
};

/// Opens a file and calls body(stream, size). Throws config_error when it cannot be read.
template <class Body>
auto with_file(const std::string& path, const Body& body) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const auto refuse = [&path](const char* problem, const char* expected) {
    throw config_error({path, "", ""}, problem, expected);
  };
  if (!error && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse("no regular file", "a file, or a link to one");  // opening a pipe would wait for who writes to it
  }
  const std::uint64_t size = error ? 0 : std::filesystem::file_size(path, error);
  if (error) refuse("cannot be read", "a readable file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse("cannot be read", "a readable file");
  return body(stream, size);
}

[[nodiscard]] inline bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// NAME-00002-of-00003.EXTENSION: the number of the part and of the parts; zeros when the name has another form.
struct part_number {
  std::uint64_t part = 0;
  std::uint64_t parts = 0;
};
[[nodiscard]] inline part_number part_of(std::string_view name, std::string_view extension) {
  constexpr std::size_t digits = 5;
  if (!ends_with(name, extension)) return {};
  name.remove_suffix(extension.size());
  if (name.size() < 2 * digits + 5 || name.substr(name.size() - digits - 4, 4) != "-of-") return {};
  const auto number = [](std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::uint64_t{0};
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  };
  return {number(name.substr(name.size() - 2 * digits - 4, digits)), number(name.substr(name.size() - digits))};
}

/// The magic of a GGUF file, whatever its name.
inline constexpr std::string_view gguf_magic = "GGUF";

[[nodiscard]] inline bool is_gguf_file(const std::string& path) {
  std::error_code ignored;  // a pipe would lose what is read here
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char start[4] = {};
  std::ifstream stream(path, std::ios::binary);
  return stream.read(start, 4) && std::string_view(start, 4) == gguf_magic;
}

}  // namespace kvbudget::detail
