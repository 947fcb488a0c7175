// JSON documents as they are published, and checked access to their values.
//
// Files are read as Python's json module reads them: a byte order mark, repeated keys (the last one wins) and the
// bare words Infinity, -Infinity and NaN are accepted; comments and trailing text are not. Every number is read
// through one checked function, because the JSON library's own conversions wrap -1, cut 1.5 and take true for 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include <kvbudget/input/errors.hpp>
#include <kvbudget/input/json_value.hpp>

namespace kvbudget::detail::config {

using json = nlohmann::json;

/// A parsed file and the name under which errors speak of it.
struct document {
  json root;
  std::string file;
  /// Of the metadata of a GGUF file the types that JSON does not show ("u64", "[u8]" …), by key; otherwise null.
  json value_types = nullptr;
};

[[nodiscard]] inline json to_json(const json_value& value) {
  return std::visit(
      [](const auto& v) -> json {
        using type = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<type, std::monostate>) return nullptr;
        else if constexpr (std::is_same_v<type, json_text>) return json::parse(v.text, nullptr, false);
        else return v;
      },
      value);
}
[[nodiscard]] inline json_value value_from(const json& value) {
  switch (value.type()) {
    case json::value_t::boolean: return value.get<bool>();
    case json::value_t::number_integer: return value.get<std::int64_t>();
    case json::value_t::number_unsigned: return value.get<std::uint64_t>();
    case json::value_t::number_float: return value.get<double>();
    case json::value_t::string: return value.get<std::string>();
    case json::value_t::array:
    case json::value_t::object: return json_text{value.dump(-1, ' ', false, json::error_handler_t::replace)};
    default: return std::monostate();
  }
}

/// The largest number that any field of a config may hold.
inline constexpr std::uint64_t max_field_value = 0x7fff'ffff;

/// A value as it stands in an error message: its JSON text, cut when it is long. Nested values are only counted:
/// printing recurses, and a published file may nest as deep as it likes.
inline std::string shown(const json& value) {
  bool flat = value.size() <= 8;
  if (value.is_structured()) {
    for (const json& entry : value) flat = flat && !entry.is_structured();
  }
  std::string text = flat ? value.dump(-1, ' ', false, json::error_handler_t::replace)
                          : std::string(value.is_array() ? "an array of " : "an object of ") +
                                std::to_string(value.size()) + " entries";
  if (text.size() > 80) {
    std::size_t end = 77;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;  // no half of a character
    text = text.substr(0, end) + "...";
  }
  return text;
}

/// The number that begins at `i`, as far as its characters go.
inline std::string_view number_at(std::string_view text, std::size_t i) {
  const std::size_t end = text.find_first_not_of("+-.0123456789eE", i);
  return text.substr(i, end == text.npos ? text.npos : end - i);
}

/// An escape \uD800 … \uDFFF at `i` that is no half of a pair; `i` is left behind the pair otherwise.
inline bool is_lone_surrogate(std::string_view text, std::size_t& i) {
  const auto half = [&](std::size_t at, char from, char to) {
    // Letters of either case; digits have this bit set already.
    return text.substr(at, 2) == "\\u" && at + 6 <= text.size() && (text[at + 2] | 0x20) == 'd' &&
           (text[at + 3] | 0x20) >= from && (text[at + 3] | 0x20) <= to;
  };
  if (half(i, 'c', 'f')) return true;
  if (!half(i, '8', '9') && !half(i, 'a', 'b')) return false;
  if (!half(i + 6, 'c', 'f')) return true;
  i += 6;
  return false;
}

/// What Python's json reads and the parser here does not, in a form that it does: the bare words for non-finite
/// numbers, and numbers beyond a double, as {"__float__": "Infinity"}, the spelling of transformers 5; halves of
/// surrogate pairs as the replacement character.
inline std::string with_spelled_exceptions(std::string_view text) {
  constexpr std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  result.reserve(text.size() + 64);
  std::size_t copied = 0;
  const auto replace = [&](std::size_t at, std::size_t size, const std::string& by) {
    result.append(text, copied, at - copied).append(by);
    copied = at + size;
  };
  const auto spelled = [](std::string_view word) { return "{\"__float__\":\"" + std::string(word) + "\"}"; };
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        const std::size_t at = i;
        if (is_lone_surrogate(text, i)) replace(at, 6, "\\ufffd");
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    const auto* const word = std::find_if(std::begin(words), std::end(words),
                                          [&](std::string_view w) { return text.substr(i, w.size()) == w; });
    if (word != std::end(words)) {
      replace(i, word->size(), spelled(*word));
      i = copied - 1;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const std::string number(number_at(text, i));
      if (std::isinf(std::strtod(number.c_str(), nullptr))) {
        replace(i, number.size(), spelled(c == '-' ? words[0] : words[1]));
      }
      i += number.size() - 1;
    }
  }
  return result.append(text, copied, text.npos);
}

/// Parses `text`. Throws config_error with the position when it is not JSON.
inline document parse_document(std::string_view text, std::string file) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  if (text.find('\0') != text.npos) {  // which the parser would take for the end
    throw config_error({std::move(file), "", ""}, "not valid JSON (a zero byte)",
                       "a JSON document as Python's json module reads it");
  }
  json root = json::parse(text, nullptr, false);
  if (!root.is_discarded()) return {std::move(root), std::move(file)};
  try {
    return {json::parse(with_spelled_exceptions(text)), std::move(file)};
  } catch (const json::exception& e) {
    throw config_error({std::move(file), "", ""}, std::string("not valid JSON (") + e.what() + ")",
                       "a JSON document as Python's json module reads it");
  }
}

/// The most bytes of a config: published ones have some 100 kB.
inline constexpr std::size_t max_document_size = std::size_t{16} << 20U;

/// The text of a stream, up to the end or to one byte more than the most.
inline std::string read_limited(std::istream& stream) {
  std::string text;
  char piece[1U << 16U];
  while (text.size() <= max_document_size && stream.read(piece, sizeof piece).gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

/// Throws config_error.
inline void check_document_size(const std::string& text, const std::string& file) {
  if (text.size() <= max_document_size) return;
  throw config_error({file, "", ""}, "too long for a config",
                     "at most " + std::to_string(max_document_size) + " bytes");
}

/// Reads and parses a file. Throws config_error.
inline document read_document(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  std::error_code ignored;  // a folder opens like a file; libc++ then reads it as an empty one
  bool read = stream && !std::filesystem::is_directory(path, ignored);
  try {
    if (read) text = read_limited(stream);
  } catch (const std::ios_base::failure&) {  // a folder opens like a file
    read = false;
  }
  if (!read || stream.bad()) throw config_error({path, "", ""}, "cannot be read", "a readable file");
  check_document_size(text, path);
  return parse_document(text, path);
}

/// The non-finite numbers in both spellings end up as this object.
inline bool is_non_finite(const json& value) {
  return value.is_object() && value.size() == 1 && value.contains("__float__");
}

/// A place in a document: an object or array, with the pointer that leads to it. Cheap to copy; the document must
/// outlive it.
class node {
 public:
  node(const json& value, std::string pointer, const std::string& file)
      : value_(&value), pointer_(std::move(pointer)), file_(&file) {}
  explicit node(const document& d) : node(d.root, "", d.file) {}

  [[nodiscard]] const json& value() const noexcept { return *value_; }
  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }
  [[nodiscard]] const std::string& file() const noexcept { return *file_; }

  /// The member `key`; nullptr when this is no object, or has none, or has null there.
  [[nodiscard]] const json* find(std::string_view key) const {
    if (!value_->is_object()) return nullptr;
    const auto at = value_->find(key);
    return at == value_->end() || at->is_null() ? nullptr : &*at;
  }

  [[nodiscard]] node child(std::string_view key, const json& value) const {
    return {value, pointer_ + "/" + escaped(key), *file_};
  }
  [[nodiscard]] node child(std::size_t index) const {
    return {(*value_)[index], pointer_ + "/" + std::to_string(index), *file_};
  }
  /// The object under `key`, if there is one. Any other kind of value is an error.
  [[nodiscard]] std::optional<node> object(std::string_view key) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (!member->is_object()) fail(key, *member, "not an object", "an object or null");
    return child(key, *member);
  }

  /// A whole number in [lowest, highest]. Negative numbers, fractions, strings, booleans and larger numbers are errors.
  [[nodiscard]] std::uint64_t count(std::uint64_t lowest = 0, std::uint64_t highest = max_field_value) const {
    const auto expected = [&] {
      return "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
    };
    if (value_->is_number_integer()) {
      // What a program puts into a document is a signed number, also when it is not negative.
      if (!value_->is_number_unsigned() && value_->get<std::int64_t>() < 0) fail("negative", expected());
      const auto number = value_->get<std::uint64_t>();
      if (number < lowest || number > highest) fail("out of range", expected());
      return number;
    }
    if (value_->is_number_float()) {
      const double number = value_->get<double>();
      fail(number >= 9.2e18 || number <= -9.2e18 ? "out of range" : "not a whole number", expected());
    }
    fail(value_->is_string() ? "a string" : value_->is_boolean() ? "a boolean" : "not a number", expected());
  }
  /// The same of the member `key`; nothing when it is absent or null.
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view key, std::uint64_t lowest = 0,
                                                   std::uint64_t highest = max_field_value) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (member->is_number_unsigned()) {  // the usual case, without building a pointer
      const auto number = member->get<std::uint64_t>();
      if (number >= lowest && number <= highest) return number;
    }
    return child(key, *member).count(lowest, highest);
  }

  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (!member->is_boolean()) fail(key, *member, "not a boolean", "true, false or null");
    return member->get<bool>();
  }
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (!member->is_string()) fail(key, *member, "not a string", "a string or null");
    return member->get<std::string>();
  }
  /// A finite number, whole or not.
  [[nodiscard]] std::optional<double> number(std::string_view key) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (!member->is_number()) fail(key, *member, "not a finite number", "a number or null");
    return member->get<double>();
  }
  /// The array under `key`, if there is one.
  [[nodiscard]] std::optional<node> array(std::string_view key) const {
    const json* const member = find(key);
    if (member == nullptr) return std::nullopt;
    if (!member->is_array()) fail(key, *member, "not an array", "an array or null");
    return child(key, *member);
  }

  [[noreturn]] void fail(std::string problem, std::string expected) const {
    throw config_error({*file_, pointer_, shown(*value_)}, std::move(problem), std::move(expected));
  }
  [[noreturn]] void fail(std::string_view key, const json& value, std::string problem, std::string expected) const {
    child(key, value).fail(std::move(problem), std::move(expected));
  }
  /// A field that must be there and is not.
  [[noreturn]] void fail_missing(std::string_view key, std::string expected) const {
    throw config_error({*file_, pointer_ + "/" + escaped(key), ""}, "missing, and the class has no default for it",
                       std::move(expected));
  }

 private:
  static std::string escaped(std::string_view key) {
    std::string text;
    for (const char c : key) {
      if (c == '~') text += "~0";
      else if (c == '/') text += "~1";
      else text += c;
    }
    return text;
  }

  const json* value_;
  std::string pointer_;
  const std::string* file_;
};

/// Refuses the metadata of a GGUF file where only a config.json says what is asked. Throws config_error.
inline void refuse_gguf_metadata(const node& root) {
  if (const json* const architecture = root.find("general.architecture")) {
    root.fail("general.architecture", *architecture, "GGUF metadata, which only llama.cpp reads",
              "a config.json, or --engine llama.cpp or none");
  }
}

}  // namespace kvbudget::detail::config
