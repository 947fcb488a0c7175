// Small safetensors and GGUF files, byte by byte, so that each byte can also be wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace testing {

/// A folder that goes when the test does.
class temporary_folder {
 public:
  temporary_folder() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() /
            ("kvbudget-test-" + std::to_string(random()) + std::to_string(random()));
    std::filesystem::create_directory(path_);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  /// Writes a file; returns its path.
  std::string write(std::string_view name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

/// A number, little-endian.
template <class T>
std::string little_endian(T value) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    text += static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  return text;
}

/// Length, JSON, `data` zero bytes.
inline std::string safetensors_file(const std::string& header, std::size_t data) {
  return little_endian(std::uint64_t{header.size()}) + header + std::string(data, '\0');
}

inline std::string gguf_text(std::string_view text) {
  return little_endian(std::uint64_t{text.size()}) + std::string(text);
}

/// A value with its type before it, as gguf-py chooses types: u32, i32, f32, bool, strings, lists of one of them.
inline std::string gguf_value(const nlohmann::json& value, bool with_type = true) {
  const auto typed = [with_type](std::uint32_t type, const std::string& bytes) {
    return (with_type ? little_endian(type) : "") + bytes;
  };
  if (value.is_boolean()) return typed(7, little_endian(std::uint8_t{value.get<bool>()}));
  if (value.is_string()) return typed(8, gguf_text(value.get<std::string>()));
  if (value.is_number_float()) return typed(6, little_endian(std::bit_cast<std::uint32_t>(value.get<float>())));
  if (value.is_number_integer() && value < 0) return typed(5, little_endian(value.get<std::int32_t>()));
  if (value.is_number_integer()) return typed(4, little_endian(value.get<std::uint32_t>()));
  const std::string first = value.empty() ? gguf_value(0) : gguf_value(value[0]);
  std::string list = first.substr(0, 4) + little_endian(std::uint64_t{value.size()});
  for (const auto& entry : value) list += gguf_value(entry, false);
  return typed(9, list);
}

struct gguf_tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

inline std::string gguf_header_of(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  return "GGUF" + little_endian(version) + little_endian(tensors) + little_endian(keys);
}
inline std::string gguf_tensor_info(const gguf_tensor& t) {
  std::string info = gguf_text(t.name) + little_endian(static_cast<std::uint32_t>(t.shape.size()));
  for (const std::uint64_t n : t.shape) info += little_endian(n);
  return info + little_endian(t.type) + little_endian(t.offset);
}

/// Header, infos, and `data` bytes after padding to `alignment`.
inline std::string gguf_file(const nlohmann::json& metadata, const std::vector<gguf_tensor>& tensors, std::size_t data,
                             std::size_t alignment = 32) {
  std::string file = gguf_header_of(tensors.size(), metadata.size());
  for (const auto& entry : metadata.items()) file += gguf_text(entry.key()) + gguf_value(entry.value());
  for (const gguf_tensor& t : tensors) file += gguf_tensor_info(t);
  if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
  return file + std::string(data, '\0');
}

}  // namespace testing
