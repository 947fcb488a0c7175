// The header of a GGUF file: metadata and tensor infos; and the parts of a split model.
//
// Source: llama.cpp ggml/src/gguf.cpp (gguf_init_from_reader), src/llama-model-loader.cpp (splits), src/llama.cpp
// (llama_split_path). Versions 2 and 3 are read, little-endian, as llama.cpp does: it refuses version 1 (counts of 32
// bits) and files of the other byte order.
#pragma once

#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/input/loader_keys.hpp>
#include <kvbudget/input/byte_reader.hpp>
#include <kvbudget/input/model_weights.hpp>
#include <kvbudget/input/name_list.hpp>
#include <kvbudget/input/tensor_types.hpp>

namespace kvbudget {

/// What stands before the data of a GGUF file.
struct gguf_header {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  /// By key. Of a list of strings, of one with more than 1,024 entries and of a string of more than 4,096 bytes only
  /// the kind and length are kept, as text: vocabularies are large, and nothing here needs them. Of a file with more
  /// keys or longer lists than any model has, what no loader of llama.cpp reads is left out.
  detail::config::json metadata = detail::config::json::object();
  detail::config::json value_types = detail::config::json::object();  ///< see detail::config::document
  std::vector<weight_tensor> tensors;
  std::uint64_t data_end = 0;  ///< where the last tensor ends in the file: the file must be that long
};

namespace detail {

inline constexpr std::uint64_t max_gguf_header = std::uint64_t{1} << 28U;  // published ones have some 10 MB
inline constexpr std::uint64_t max_gguf_name = 65'535;
inline constexpr std::uint64_t max_kept_string = 4'096;
inline constexpr std::uint64_t max_kept_list = 1'024;     // llama.cpp knows at most 512 layers
inline constexpr std::uint64_t max_kept_values = 65'536;  // of keys that nobody reads; published files have some 100
inline constexpr std::uint64_t max_ggml_name = 63;        // GGML_MAX_NAME with its end
inline constexpr std::uint32_t gguf_u32 = 4;
inline constexpr std::uint32_t gguf_i32 = 5;
inline constexpr std::uint32_t gguf_f32 = 6;
inline constexpr std::uint32_t gguf_bool = 7;
inline constexpr std::uint32_t gguf_string = 8;
inline constexpr std::uint32_t gguf_array = 9;

struct gguf_value_type {
  std::string_view name;
  std::uint32_t bytes;  ///< of one value; 0: its length stands before it
};
inline constexpr gguf_value_type gguf_value_types[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2}, {"u32", 4},
                                                       {"i32", 4}, {"f32", 4}, {"bool", 1}, {"str", 0}, {"arr", 0},
                                                       {"u64", 8}, {"i64", 8}, {"f64", 8}};

class gguf_parser {
 public:
  gguf_parser(std::istream& stream, std::uint64_t size, std::string file)
      : in_(stream, std::min(size, max_gguf_header), std::move(file)) {}

  [[nodiscard]] gguf_header read() {
    if (in_.text(4, "the magic") != gguf_magic) in_.fail(0, "", "no GGUF file", "the magic \"GGUF\"");
    header_.version = in_.number<std::uint32_t>("the version");
    if (header_.version != 0 && (header_.version & 0xffffU) == 0) {
      in_.fail(4, std::to_string(header_.version), "a big-endian GGUF file",
               "a little-endian one, as llama.cpp reads it here");
    }
    if (header_.version != 2 && header_.version != 3) {
      in_.fail(4, std::to_string(header_.version), "a version of GGUF that llama.cpp does not read", "2 or 3");
    }
    const std::uint64_t tensors = count("the number of tensors", 24);      // name, dimensions, type, offset
    const std::uint64_t pairs = count("the number of metadata keys", 13);  // key of at least one byte, type, value
    for (std::uint64_t i = 0; i < pairs; ++i) read_pair();
    if (const auto twice = names_.repeated()) {
      throw config_error({in_.file(), *twice, ""}, "this key is there twice", "each key once");
    }
    names_.drop(0);
    read_alignment();
    checked_count offset = 0U;
    checked_count end = 0U;
    header_.tensors.reserve(static_cast<std::size_t>(tensors));
    for (std::uint64_t i = 0; i < tensors; ++i) {
      header_.tensors.push_back(read_tensor(offset));
      end = offset + header_.tensors.back().bytes;
      offset = round_up(end, header_.alignment);
      if (!offset.valid()) {
        fail_tensor(header_.tensors.back().name, "the sum of the tensors overflows", "less than 2^64");
      }
    }
    if (const auto twice = names_.repeated()) fail_tensor(*twice, "declared twice", "one tensor of a name");
    const checked_count data_end = round_up(in_.position(), header_.alignment) + end;
    if (!data_end.valid()) in_.fail(in_.position(), "", "the sum of the tensors overflows", "less than 2^64");
    header_.data_end = tensors == 0 ? in_.position() : data_end.value();
    return std::move(header_);
  }

 private:
  /// A number of things of at least `least` bytes each.
  [[nodiscard]] std::uint64_t count(std::string_view what, std::uint64_t least) {
    const std::uint64_t place = in_.position();
    const auto n = in_.number<std::uint64_t>(what);
    if (n > in_.remaining() / least) {
      in_.fail(place, std::to_string(n), std::string(what) + ": more than what is left of the file can hold",
               "at most " + std::to_string(in_.remaining() / least));
    }
    return n;
  }

  void read_alignment() {
    const auto at = header_.metadata.find("general.alignment");
    if (at == header_.metadata.end()) return;
    if (const auto type = header_.value_types.find("general.alignment"); type != header_.value_types.end()) {
      throw config_error({in_.file(), "general.alignment", config::shown(*at)}, "of type " + type->get<std::string>(),
                         "of type u32");
    }
    const std::uint64_t a = at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
    if (a == 0 || (a & (a - 1)) != 0 || a > max_gguf_header) {
      throw config_error({in_.file(), "general.alignment", config::shown(*at)}, "unusable value", "a power of two");
    }
    header_.alignment = a;
  }

  [[nodiscard]] std::string name(std::string_view what, std::uint64_t longest) {
    const std::uint64_t place = in_.position();
    const auto length = in_.number<std::uint64_t>(what);
    if (length > longest) {
      in_.fail(place, std::to_string(length), std::string(what) + ": too long",
               "at most " + std::to_string(longest) + " bytes");
    }
    return in_.text(length, what);
  }

  void read_pair() {
    const std::uint64_t place = in_.position();
    const std::string key = name("a metadata key", max_gguf_name);
    if (key.empty()) in_.fail(place, "", "an empty metadata key", "a name");
    names_.add(key);
    const std::uint32_t type = value_type();
    const bool needed = is_needed(key);
    config::json value = read_value(type, needed || kept_ < max_kept_values);
    if (value.is_discarded()) return;
    kept_ += 1 + value.size();
    if (needed && kept_ > 2 * max_kept_values) {
      throw config_error({in_.file(), key, ""}, "more keys than a model has", "general.architecture before them");
    }
    const std::string_view shown = type == gguf_array ? "" : gguf_value_types[type].name;
    if (type == gguf_array) note_list_type(key, value);
    else if (type != gguf_u32 && type != gguf_f32 && type != gguf_bool && type != gguf_string)
      header_.value_types[key] = shown;
    if (key == "general.architecture" && value.is_string()) architecture_ = value.get<std::string>() + ".";
    header_.metadata[key] = std::move(value);
  }

  /// The type of a list's entries, where the JSON value does not show one that llama.cpp takes.
  void note_list_type(const std::string& key, const config::json& value) {
    const std::string_view entry = gguf_value_types[list_type_].name;
    const bool plain =
        list_type_ == gguf_u32 || list_type_ == gguf_i32 || list_type_ == gguf_f32 || list_type_ == gguf_bool;
    if (!plain || !value.is_array()) header_.value_types[key] = "[" + std::string(entry) + "]";
  }

  /// A key that somebody reads: of the file itself, or of the model's loader.
  [[nodiscard]] bool is_needed(std::string_view key) const {
    if (key == "general.architecture" || key == "general.alignment" || key.substr(0, 6) == "split.") return true;
    if (!architecture_.empty() && key.substr(0, architecture_.size()) != architecture_) return false;
    const std::size_t point = key.find('.');
    return point != key.npos && llama_cpp::is_loader_key(key.substr(point + 1));
  }

  [[nodiscard]] std::uint32_t value_type() {
    const std::uint64_t place = in_.position();
    const auto type = in_.number<std::uint32_t>("the type of a value");
    if (type >= std::size(gguf_value_types)) {
      in_.fail(place, std::to_string(type), "unknown type of a value", "0 to 12");
    }
    return type;
  }

  /// Discarded when it is not to be kept.
  [[nodiscard]] config::json read_value(std::uint32_t type, bool keep) {
    if (type == gguf_array) return read_list(keep);
    if (!keep) {
      in_.skip(type == gguf_string ? in_.number<std::uint64_t>("the length of a string") : gguf_value_types[type].bytes,
               type == gguf_string ? "a string" : "a value");
      return config::json(config::json::value_t::discarded);
    }
    switch (type) {
      case 0: return in_.number<std::uint8_t>("a value");
      case 1: return static_cast<std::int8_t>(in_.number<std::uint8_t>("a value"));
      case 2: return in_.number<std::uint16_t>("a value");
      case 3: return static_cast<std::int16_t>(in_.number<std::uint16_t>("a value"));
      case 4: return in_.number<std::uint32_t>("a value");
      case 5: return static_cast<std::int32_t>(in_.number<std::uint32_t>("a value"));
      case 6: return std::bit_cast<float>(in_.number<std::uint32_t>("a value"));
      case gguf_bool: return in_.number<std::uint8_t>("a value") != 0;
      case gguf_string: {
        const auto length = in_.number<std::uint64_t>("the length of a string");
        if (length <= max_kept_string) return in_.text(length, "a string");
        in_.skip(length, "a string");
        return "a string of " + std::to_string(length) + " bytes";
      }
      case 10: return in_.number<std::uint64_t>("a value");
      case 11: return static_cast<std::int64_t>(in_.number<std::uint64_t>("a value"));
      default: return std::bit_cast<double>(in_.number<std::uint64_t>("a value"));
    }
  }

  [[nodiscard]] config::json read_list(bool keep) {
    const std::uint64_t place = in_.position();
    const std::uint32_t type = list_type_ = value_type();
    if (type == gguf_array) in_.fail(place, "arr", "a list of lists", "a list of numbers, booleans or strings");
    const gguf_value_type& entry = gguf_value_types[type];
    const std::uint64_t n = count("the length of a list", entry.bytes == 0 ? 8 : entry.bytes);
    if (keep && type != gguf_string && n <= max_kept_list) {
      config::json list = config::json::array();
      for (std::uint64_t i = 0; i < n; ++i) list.push_back(read_value(type, true));
      return list;
    }
    if (type != gguf_string) in_.skip(n * entry.bytes, "a list");
    for (std::uint64_t i = 0; type == gguf_string && i < n; ++i) {
      in_.skip(in_.number<std::uint64_t>("the length of a string"), "a string");
    }
    if (!keep) return config::json(config::json::value_t::discarded);
    return "a list of " + std::to_string(n) + " " + std::string(entry.name);
  }

  [[noreturn]] void fail_tensor(const std::string& tensor, std::string problem, std::string expected,
                                std::string value = {}) const {
    throw config_error({in_.file(), tensor, std::move(value)}, std::move(problem), std::move(expected));
  }

  [[nodiscard]] weight_tensor read_tensor(checked_count expected_offset) {
    weight_tensor t;
    t.name = name("the name of a tensor", max_ggml_name);
    names_.add(t.name);
    const auto dimensions = in_.number<std::uint32_t>("the number of dimensions");
    if (dimensions > 4) fail_tensor(t.name, "too many dimensions", "at most 4", std::to_string(dimensions));
    checked_count elements = 1U;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      t.shape.push_back(in_.number<std::uint64_t>("a dimension"));
      elements *= t.shape.back();
      if (t.shape.back() >> 63U != 0) {
        fail_tensor(t.name, "a negative dimension", "less than 2^63", std::to_string(t.shape.back()));
      }
    }
    const auto number = in_.number<std::uint32_t>("the type of a tensor");
    const tensor_type* const type = find_ggml_type(number);
    if (type == nullptr) {
      fail_tensor(t.name, "unknown type of a tensor", "a type that ggml has", std::to_string(number));
    }
    const std::uint64_t row = t.shape.empty() ? 1 : t.shape[0];
    if (type->bytes_of(row).reason() == failure::partial_block) {
      fail_tensor(t.name, "a row of " + std::to_string(row) + " elements in " + std::string(type->name),
                  "whole blocks of " + std::to_string(type->block_elements));
    }
    const checked_count bytes = type->bytes_of(elements);
    if (!bytes.valid() || !elements.fits(~std::uint64_t{0} >> 1U)) {
      fail_tensor(t.name, "the product of its dimensions overflows", "less than 2^63 elements and 2^64 bytes");
    }
    const auto offset = in_.number<std::uint64_t>("the offset of a tensor");
    if (offset != expected_offset.value()) {
      fail_tensor(t.name, "its data overlap or leave a hole", "offset " + std::to_string(expected_offset.value()),
                  std::to_string(offset));
    }
    t.dtype = type->name;
    t.elements = elements.value();
    t.bytes = bytes.value();
    return t;
  }

  byte_reader in_;
  gguf_header header_;
  name_list names_;           ///< of the keys, then of the tensors
  std::string architecture_;  ///< with a point at its end, once it is known
  std::uint32_t list_type_ = 0;
  std::uint64_t kept_ = 0;
};

}  // namespace detail

/// The header of one file; `file` names it in errors. Tensor data need not be there: the caller compares data_end.
/// Throws config_error: truncated, another version or byte order, a count, a string or a list longer than the file, a
/// list of lists, a repeated key or tensor, a tensor's name of 64 bytes or more, an unknown type, a row of no whole
/// blocks, an offset that is not where llama.cpp wants it (each tensor directly after the one before, aligned), a
/// header of more than 256 MiB.
[[nodiscard]] inline gguf_header read_gguf_header(std::istream& stream, std::uint64_t size, const std::string& file) {
  return detail::gguf_parser(stream, size, file).read();
}
[[nodiscard]] inline gguf_header read_gguf_header(const std::string& path) {
  return detail::with_file(
      path, [&](std::istream& stream, std::uint64_t size) { return read_gguf_header(stream, size, path); });
}

/// The files of a split model, from the header of any part: PREFIX-00001-of-00003.gguf …. One file when it is not
/// split. Throws config_error where the name does not say what the header says.
[[nodiscard]] inline std::vector<std::string> gguf_parts(const std::string& path, const gguf_header& header) {
  const detail::config::document d{header.metadata, path};
  const std::uint64_t parts = detail::config::node(d).count("split.count", 0, 65'535).value_or(0);
  if (parts <= 1) return {path};
  const auto suffix = [parts](std::uint64_t part) {
    char text[32];
    std::snprintf(text, sizeof text, "-%05u-of-%05u.gguf", static_cast<unsigned>(part + 1),
                  static_cast<unsigned>(parts));
    return std::string(text);
  };
  const std::string own = suffix(detail::config::node(d).count("split.no", 0, parts - 1).value_or(0));
  if (path.size() < own.size() || path.compare(path.size() - own.size(), own.size(), own) != 0) {
    throw config_error({path, "split.count", std::to_string(parts)}, "a part of a split model under another name",
                       "a name that ends in " + own);
  }
  const std::string prefix = path.substr(0, path.size() - own.size());
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < parts; ++i) paths.push_back(prefix + suffix(i));
  return paths;
}

}  // namespace kvbudget
