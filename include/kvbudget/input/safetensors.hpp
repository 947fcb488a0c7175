// The header of a safetensors file.
//
// Source: safetensors src/tensor.rs (SafeTensors::read_metadata, Metadata::validate): eight bytes with the length of
// the header, the header as JSON, then the data of the tensors, covered by them from the first to the last byte. The
// description forbids repeated keys; the reference reader takes the last, here they are an error.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/input/byte_reader.hpp>
#include <kvbudget/input/model_weights.hpp>
#include <kvbudget/input/name_list.hpp>
#include <kvbudget/input/tensor_types.hpp>

namespace kvbudget {

inline constexpr std::uint64_t max_safetensors_header = 100'000'000;  ///< MAX_HEADER_SIZE of the reference reader

namespace detail {

/// Finds a key that an object has twice. (The parser's own callback would look through all members after each one.)
class repeated_key : public nlohmann::json_sax<config::json> {
 public:
  /// Empty: there is none, or the text is no JSON.
  [[nodiscard]] const std::optional<std::string>& found() const noexcept { return found_; }

  bool start_object(std::size_t) override {
    marks_.push_back(names_.mark());
    return true;
  }
  bool end_object() override {
    found_ = names_.repeated(marks_.back());
    names_.drop(marks_.back());
    marks_.pop_back();
    return !found_;
  }
  bool key(string_t& name) override {
    names_.add(name);
    return true;
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
  name_list names_;
  std::vector<std::size_t> marks_;
  std::optional<std::string> found_;
};

/// A JSON object of which no part has a key twice. Throws config_error.
[[nodiscard]] inline config::document parse_without_repeated_keys(const std::string& text, const std::string& file) {
  config::document d = config::parse_document(text, file);
  if (!d.root.is_object()) config::node(d).fail("not an object", "a JSON object");
  repeated_key keys;
  const bool valid = config::json::sax_parse(text, &keys);
  if (keys.found()) {
    throw config_error({file, "", config::shown(*keys.found())}, "this key is there twice", "each key once");
  }
  if (!valid) throw config_error({file, "", ""}, "not valid JSON (a number that is not finite)", "a JSON object");
  return d;
}

/// Dimensions of a tensor; numpy has at most 64.
inline constexpr std::size_t max_dimensions = 64;

/// Takes the tensors out of a header as it is read, and keeps nothing else of it.
class safetensors_header : public nlohmann::json_sax<config::json> {
 public:
  safetensors_header(const std::string& file, std::uint64_t data_size) : file_(file), data_size_(data_size) {}

  /// Throws config_error.
  void read(const std::string& text) {
    if (text.find('\0') != text.npos) {  // which the parser would take for the end
      throw config_error({file_, "", ""}, "not valid JSON (a zero byte)", "a JSON object");
    }
    if (!config::json::sax_parse(text, this)) {
      const bool finite = text.find("NaN") == text.npos && text.find("Infinity") == text.npos;
      const std::string problem = finite ? problem_ : "a number that is not finite";
      throw config_error({file_, "", ""}, "not valid JSON (" + problem + ")", "a JSON object");
    }
  }
  /// In the order of their data, which they cover without a hole up to the end; `data_begin` is its place in the file.
  [[nodiscard]] std::vector<weight_tensor> tensors(std::uint64_t data_begin) {
    std::vector<std::size_t> order(tensors_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](std::size_t x, std::size_t y) {
      return begins_[x] != begins_[y] ? begins_[x] < begins_[y] : tensors_[x].bytes < tensors_[y].bytes;
    });
    std::uint64_t covered = 0;
    for (const std::size_t i : order) {
      const std::uint64_t end = begins_[i] + tensors_[i].bytes;
      if (begins_[i] != covered) {
        name_ = tensors_[i].name;
        fail("/data_offsets", "[" + std::to_string(begins_[i]) + "," + std::to_string(end) + "]",
             begins_[i] < covered ? "overlaps another tensor" : "leaves a hole before it",
             "begins at " + std::to_string(covered));
      }
      covered = end;
    }
    if (covered != data_size_) {
      throw config_error(
          {file_, "byte " + std::to_string(data_begin + covered), std::to_string(data_size_ - covered) + " bytes"},
          "belong to no tensor", "tensors that cover the file to its end");
    }
    for (std::size_t i = 0; i < order.size(); ++i) {  // into this order in place, one cycle after another
      if (order[i] == i) continue;
      weight_tensor first = std::move(tensors_[i]);
      std::size_t to = i;
      for (std::size_t from = order[to]; from != i; from = order[to]) {
        tensors_[to] = std::move(tensors_[from]);
        order[to] = to;
        to = from;
      }
      tensors_[to] = std::move(first);
      order[to] = to;
    }
    return std::move(tensors_);
  }

  bool start_object(std::size_t) override {
    wrong_entry("an object");
    if (lists_ == 0 && marks_.size() == 1 && name_ != "__metadata__") begin_tensor();
    else if (lists_ == 0 && marks_.size() == 2 && in_tensor_ && member_ != member::other) wrong_member("an object");
    marks_.push_back(names_.mark());
    return true;
  }
  bool end_object() override {
    if (const auto twice = names_.repeated(marks_.back())) {
      throw config_error({file_, "", config::shown(*twice)}, "this key is there twice", "each key once");
    }
    names_.drop(marks_.back());
    marks_.pop_back();
    if (marks_.size() == 1 && lists_ == 0 && in_tensor_) end_tensor();
    return true;
  }
  bool key(string_t& name) override {
    names_.add(name);
    if (lists_ != 0) return true;
    if (marks_.size() == 1) {
      name_ = name;
    } else if (marks_.size() == 2) {
      member_ = name == "dtype"          ? member::dtype
                : name == "shape"        ? member::shape
                : name == "data_offsets" ? member::offsets
                                         : member::other;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (marks_.empty()) value("an array");
    ++lists_;
    if (lists_ > 1 && at_member(1)) wrong_entry("an array");
    if (lists_ > 1 || marks_.size() > 2) return true;
    if (marks_.size() == 1 && name_ != "__metadata__") wrong_tensor("an array");
    if (in_tensor_ && member_ == member::dtype) wrong_member("an array");
    if (in_tensor_ && member_ == member::shape) has_shape_ = true;
    if (in_tensor_ && member_ == member::offsets) has_offsets_ = true;
    return true;
  }
  bool end_array() override {
    --lists_;
    return true;
  }
  bool null() override { return value("null"); }
  bool boolean(bool is) override { return value(is ? "true" : "false"); }
  bool number_integer(number_integer_t n) override {
    if (n < 0 && at_member(0)) fail_entry(std::to_string(n), "negative");
    return value(std::to_string(n));
  }
  bool number_unsigned(number_unsigned_t n) override {
    if (lists_ == 1 && at_member(0)) return entry(n);
    return value(marks_.size() <= 2 ? std::to_string(n) : "");
  }
  bool number_float(number_float_t n, const string_t&) override {
    if (at_member(0)) fail_entry(config::json(n).dump(), "not a whole number");
    return value(config::json(n).dump());
  }
  bool string(string_t& text) override {
    if (lists_ == 0 && marks_.size() == 2 && in_tensor_ && member_ == member::dtype) {
      take_dtype(text);
      return true;
    }
    return value(marks_.size() <= 2 ? config::shown(text) : "");
  }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    problem_ = e.what();
    return false;
  }

 private:
  enum class member : std::uint8_t { dtype, shape, offsets, other };

  /// Within the list of a shape or of offsets, or within `deeper` lists of it.
  [[nodiscard]] bool at_member(std::size_t deeper) const noexcept {
    return in_tensor_ && marks_.size() == 2 && lists_ == 1 + deeper &&
           (member_ == member::shape || member_ == member::offsets);
  }
  [[nodiscard]] const char* member_name() const noexcept {
    return member_ == member::dtype ? "/dtype" : member_ == member::shape ? "/shape" : "/data_offsets";
  }
  [[noreturn]] void fail(const std::string& place, std::string shown, std::string problem, std::string expected) const {
    std::string pointer = "/";
    for (const char c : name_) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    throw config_error({file_, pointer + place, std::move(shown)}, std::move(problem), std::move(expected));
  }
  [[noreturn]] void wrong_tensor(std::string shown) const {
    fail("", std::move(shown), "not an object", "an object with dtype, shape and data_offsets");
  }
  [[noreturn]] void wrong_member(std::string shown) const {
    if (member_ == member::dtype) fail("/dtype", std::move(shown), "not a string", "a dtype of safetensors");
    fail(member_name(), std::move(shown), "not an array", "an array");
  }
  [[noreturn]] void fail_entry(std::string shown, const char* problem) const {
    const std::size_t index = member_ == member::shape ? tensor_.shape.size() : number_of_offsets_;
    fail(member_name() + ("/" + std::to_string(index)), std::move(shown), problem, "a whole number");
  }
  void wrong_entry(std::string shown) const {
    if (at_member(0) || at_member(1)) fail_entry(std::move(shown), "not a number");
  }

  /// Any value that is no part of a shape or of offsets: right only where nobody looks.
  bool value(const std::string& shown) {
    if (marks_.empty()) throw config_error({file_, "", shown}, "not an object", "a JSON object");
    if (lists_ != 0) {
      wrong_entry(shown);
      return true;
    }
    if (marks_.size() == 1 && name_ != "__metadata__") wrong_tensor(shown);
    if (marks_.size() == 2 && in_tensor_ && member_ != member::other) wrong_member(shown);
    return true;
  }

  void begin_tensor() {
    in_tensor_ = true;
    tensor_ = weight_tensor{};
    type_ = nullptr;
    elements_ = 1U;
    has_shape_ = has_offsets_ = false;
    number_of_offsets_ = 0;
    member_ = member::other;
  }
  void take_dtype(const std::string& text) {
    type_ = find_safetensors_type(text);
    if (type_ == nullptr) {
      fail("/dtype", config::shown(text), "unknown element type", "a dtype of safetensors: BF16, F8_E4M3 …");
    }
  }
  bool entry(std::uint64_t n) {
    if (member_ == member::offsets) {
      if (number_of_offsets_ < 2) offsets_[number_of_offsets_] = n;
      ++number_of_offsets_;
      return true;
    }
    if (tensor_.shape.size() == max_dimensions) {
      fail("/shape", "", "too many dimensions", "at most " + std::to_string(max_dimensions));
    }
    tensor_.shape.push_back(n);
    elements_ *= n;
    return true;
  }
  [[nodiscard]] std::string shown_shape() const { return config::shown(config::json(tensor_.shape)); }
  [[noreturn]] void fail_offsets(const char* problem, std::string expected) const {
    std::string shown = "an array of " + std::to_string(number_of_offsets_) + " entries";
    if (number_of_offsets_ == 2) shown = "[" + std::to_string(offsets_[0]) + "," + std::to_string(offsets_[1]) + "]";
    fail("/data_offsets", std::move(shown), problem, std::move(expected));
  }
  void end_tensor() {
    in_tensor_ = false;
    const char* const whole = "an object with dtype, shape and data_offsets";
    if (type_ == nullptr) fail("", "", "no dtype", whole);
    if (!has_shape_) fail("", "", "no shape", whole);
    const checked_count bytes = type_->bytes_of(elements_);
    if (!bytes.valid()) {
      fail("/shape", shown_shape(),
           bytes.reason() == failure::partial_block ? "no whole number of bytes" : "the product overflows",
           "a number of elements that fills whole bytes of " + std::string(type_->name) + ", less than 2^64");
    }
    if (!has_offsets_) fail("", "", "no data_offsets", whole);
    if (number_of_offsets_ != 2 || offsets_[1] < offsets_[0]) fail_offsets("not a range", "[begin, end]");
    if (offsets_[1] > data_size_) {
      fail_offsets("ends beyond the file (truncated?)", "at most " + std::to_string(data_size_));
    }
    if (offsets_[1] - offsets_[0] != bytes.value()) {
      fail_offsets("not the length of its dtype and shape", std::to_string(bytes.value()) + " bytes");
    }
    tensor_.name = name_;
    tensor_.dtype = type_->name;
    tensor_.elements = elements_.value();
    tensor_.bytes = bytes.value();
    tensors_.push_back(std::move(tensor_));
    begins_.push_back(offsets_[0]);
  }

  const std::string& file_;
  std::uint64_t data_size_;
  std::vector<weight_tensor> tensors_;
  std::vector<std::uint64_t> begins_;  ///< of their data
  name_list names_;                    ///< keys of the open objects
  std::vector<std::size_t> marks_;     ///< where the keys of each open object begin
  std::size_t lists_ = 0;              ///< open arrays
  std::string problem_;
  std::string name_;  ///< of the tensor
  member member_ = member::other;
  bool in_tensor_ = false;
  weight_tensor tensor_;
  const tensor_type* type_ = nullptr;
  checked_count elements_;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::uint64_t offsets_[2]{};
  std::size_t number_of_offsets_ = 0;
};

}  // namespace detail

/// The tensors of one file, from the header alone; `file` names it in errors. Throws config_error: a header that is
/// longer than the file or than 100,000,000 bytes, not JSON or with a repeated key; an unknown dtype; more than 64
/// dimensions; data_offsets that overlap, leave a hole, do not end with the file, or are not what dtype and shape need.
[[nodiscard]] inline std::vector<weight_tensor> read_safetensors(std::istream& stream, std::uint64_t size,
                                                                 const std::string& file) {
  detail::byte_reader in(stream, size, file);
  const auto length = in.number<std::uint64_t>("the length of the header");
  if (length > in.remaining() || length > max_safetensors_header) {
    in.fail(0, std::to_string(length), "absurd length of the header of a safetensors file",
            "at most " + std::to_string(std::min(in.remaining(), max_safetensors_header)) + " bytes");
  }
  detail::safetensors_header header(file, size - 8 - length);
  header.read(in.text(length, "the header"));
  return header.tensors(8 + length);
}

}  // namespace kvbudget
