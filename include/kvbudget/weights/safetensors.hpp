// The header of a safetensors file.
//
// Source: safetensors src/tensor.rs (SafeTensors::read_metadata, Metadata::validate): eight bytes with the length of
// the header, the header as JSON, then the data of the tensors, covered by them from the first to the last byte. The
// description forbids repeated keys; the reference reader takes the last, here they are an error.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <kvbudget/config/document.hpp>
#include <kvbudget/weights/byte_reader.hpp>
#include <kvbudget/weights/model_weights.hpp>
#include <kvbudget/weights/tensor_types.hpp>

namespace kvbudget {

inline constexpr std::uint64_t max_safetensors_header = 100'000'000;  ///< MAX_HEADER_SIZE of the reference reader

namespace detail {

/// Finds a key that an object has twice. (The parser's own callback would look through all members after each one.)
class repeated_key : public nlohmann::json_sax<config::json> {
 public:
  /// Empty: there is none, or the text is no JSON.
  [[nodiscard]] const std::optional<std::string>& found() const noexcept { return found_; }

  bool start_object(std::size_t) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!open_.back().insert(name).second) found_ = name;
    return !found_;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::unordered_set<std::string>> open_;
  std::optional<std::string> found_;
};

/// A JSON object of which no part has a key twice. Throws config_error.
[[nodiscard]] inline config::document parse_without_repeated_keys(const std::string& text, const std::string& file) {
  config::document d = config::parse_document(text, file);
  if (!d.root.is_object()) config::node(d).fail("not an object", "a JSON object");
  repeated_key keys;
  const bool valid = config::json::sax_parse(text, &keys);
  if (keys.found()) {
    throw config_error({file, "", config::detail::shown(*keys.found())}, "this key is there twice", "each key once");
  }
  if (!valid) throw config_error({file, "", ""}, "not valid JSON (a number that is not finite)", "a JSON object");
  return d;
}

/// A member that must be there, as a list of counts.
[[nodiscard]] inline std::vector<std::uint64_t> counts_of(const config::node& tensor, std::string_view key) {
  const auto list = tensor.array(key);
  if (!list) tensor.fail("no " + std::string(key), "an object with dtype, shape and data_offsets");
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < list->value().size(); ++i) counts.push_back(list->child(i).count(0, ~std::uint64_t{0}));
  return counts;
}

}  // namespace detail

/// The tensors of one file, from the header alone; `file` names it in errors. Throws config_error: a header that is
/// longer than the file or than 100,000,000 bytes, not JSON or with a repeated key; an unknown dtype; data_offsets
/// that overlap, leave a hole, do not end with the file, or are not what dtype and shape need.
[[nodiscard]] inline std::vector<weight_tensor> read_safetensors(std::istream& stream, std::uint64_t size,
                                                                 const std::string& file) {
  detail::byte_reader in(stream, size, file);
  const auto length = in.number<std::uint64_t>("the length of the header");
  if (length > in.remaining() || length > max_safetensors_header) {
    in.fail(0, std::to_string(length), "absurd length of the header of a safetensors file",
            "at most " + std::to_string(std::min(in.remaining(), max_safetensors_header)) + " bytes");
  }
  const config::document header = detail::parse_without_repeated_keys(in.text(length, "the header"), file);
  const std::uint64_t data_size = in.remaining();

  struct placed {
    std::uint64_t begin;
    std::uint64_t end;
    weight_tensor tensor;
  };
  std::vector<placed> tensors;
  const config::node root(header);
  for (const auto& entry : header.root.items()) {
    const std::string& name = entry.key();
    const config::json& value = entry.value();
    if (name == "__metadata__") continue;
    const config::node at = root.child(name, value);
    if (!value.is_object()) at.fail("not an object", "an object with dtype, shape and data_offsets");
    placed p{};
    p.tensor.name = name;
    const auto dtype = at.string("dtype");
    if (!dtype) at.fail("no dtype", "an object with dtype, shape and data_offsets");
    const tensor_type* const type = find_safetensors_type(*dtype);
    if (type == nullptr) {
      at.fail("dtype", value["dtype"], "unknown element type", "a dtype of safetensors: BF16, F8_E4M3 …");
    }
    p.tensor.dtype = type->name;
    p.tensor.shape = detail::counts_of(at, "shape");
    checked_count elements = 1U;
    for (const std::uint64_t n : p.tensor.shape) elements *= n;
    const checked_count bytes = type->bytes_of(elements);
    if (!bytes.valid()) {
      at.fail("shape", value["shape"],
              bytes.reason() == failure::partial_block ? "no whole number of bytes" : "the product overflows",
              "a number of elements that fills whole bytes of " + *dtype + ", less than 2^64");
    }
    const auto offsets = detail::counts_of(at, "data_offsets");
    const auto fail_offsets = [&](const char* problem, std::string expected) {
      at.fail("data_offsets", value["data_offsets"], problem, std::move(expected));
    };
    if (offsets.size() != 2 || offsets[1] < offsets[0]) fail_offsets("not a range", "[begin, end]");
    if (offsets[1] > data_size) {
      fail_offsets("ends beyond the file (truncated?)", "at most " + std::to_string(data_size));
    }
    if (offsets[1] - offsets[0] != bytes.value()) {
      fail_offsets("not the length of its dtype and shape", std::to_string(bytes.value()) + " bytes");
    }
    p.tensor.elements = elements.value();
    p.tensor.bytes = bytes.value();
    p.begin = offsets[0];
    p.end = offsets[1];
    tensors.push_back(std::move(p));
  }
  std::sort(tensors.begin(), tensors.end(), [](const placed& a, const placed& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t covered = 0;
  std::vector<weight_tensor> result;
  for (placed& p : tensors) {
    if (p.begin != covered) {
      const config::json& value = header.root[p.tensor.name];
      root.child(p.tensor.name, value)
          .fail("data_offsets", value["data_offsets"],
                p.begin < covered ? "overlaps another tensor" : "leaves a hole before it",
                "begins at " + std::to_string(covered));
    }
    covered = p.end;
    result.push_back(std::move(p.tensor));
  }
  if (covered != data_size) {
    in.fail(8 + length + covered, std::to_string(data_size - covered) + " bytes", "belong to no tensor",
            "tensors that cover the file to its end");
  }
  return result;
}

}  // namespace kvbudget
