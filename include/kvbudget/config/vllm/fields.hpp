// The fields of a config as vLLM sees them: of the language model's part, with the class's aliases and defaults where
// transformers has the class.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kvbudget/config/document.hpp>
#include <kvbudget/config/evaluation.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/config/transformers/layer_kinds.hpp>

namespace kvbudget::vllm {

using config::json;
using config::node;

/// The text config (hf_text_config) of a config (hf_config), and look-ups in it: the file's own word first, then the
/// class's alias, then the class's default. Models whose class lives in vLLM have no defaults here.
class config_fields {
 public:
  explicit config_fields(const node& root) : root_(root), text_(root) {
    if (!root.value().is_object()) root.fail("not a config", "a JSON object");
    config::refuse_gguf_metadata(root);
    row_ = config::find_model_type(root.string("model_type").value_or(""));
    if (row_ != nullptr && row_->text_field != nullptr) {
      const std::string_view path = row_->text_field;
      for (std::size_t from = 0; from <= path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        if (const auto next = text_.object(path.substr(from, to - from))) text_ = *next;
        from = to + 1;
      }
    }
    // Keys of classes that only vLLM or a checkpoint's own code has.
    if (text_.pointer() == root_.pointer()) {
      for (const std::string_view key : {"text_config", "llm_config", "language_config"}) {
        const json* const found = root.find(key);
        if (found == nullptr || !found->is_object()) continue;
        text_ = root.child(key, *found);
        break;
      }
    }
    if (text_.pointer() == root_.pointer()) {
      // A published shape of composites: the text part's fields stand beside the others.
      if (row_ != nullptr && row_->text_model_type != nullptr) row_ = config::find_model_type(row_->text_model_type);
      return;
    }
    std::string type = text_.string("model_type").value_or("");
    if (type.empty() && row_ != nullptr && row_->text_model_type != nullptr) type = row_->text_model_type;
    row_ = config::find_model_type(type);
  }

  [[nodiscard]] const node& root() const noexcept { return root_; }
  [[nodiscard]] const node& text() const noexcept { return text_; }
  [[nodiscard]] std::string model_type() const {
    return text_.string("model_type").value_or(root_.string("model_type").value_or(""));
  }
  [[nodiscard]] std::string root_model_type() const { return root_.string("model_type").value_or(""); }

  /// The model type whose class reads the text part; empty where transformers has none.
  [[nodiscard]] std::string_view class_model_type() const { return row_ != nullptr ? row_->model_type : ""; }

  /// The config has layer_types, be they its own or its class's.
  [[nodiscard]] bool has_layer_types() const {
    return array("layer_types") || (row_ != nullptr && transformers::detail::pattern_of(row_->model_type) != nullptr);
  }
  /// The kinds of all `n` layers, by the file's layer_types or by what the class makes of its absence. Nothing where
  /// there is neither.
  [[nodiscard]] std::optional<transformers::layer_kinds> layer_kinds(std::uint64_t n) const {
    const std::optional<node> list = array("layer_types");
    const auto* const rule = row_ != nullptr ? transformers::detail::pattern_of(row_->model_type) : nullptr;
    if (!list && (rule == nullptr || rule->ignores_list)) return std::nullopt;
    if (row_ == nullptr || (rule != nullptr && rule->ignores_list)) return kinds_of_words(*list, n);
    config::document part{text_.value(), text_.file()};
    part.root["model_type"] = row_->model_type;
    try {
      return transformers::read_layer_kinds(config::model_config(part), n, transformers_version);
    } catch (const config_error& e) {  // which does not know that this is a part
      throw config_error({e.file(), text_.pointer() + e.pointer(), e.value()}, e.problem(), e.expected());
    }
  }

  /// The name as it stands in the file. An attribute of the class and the field that it is stored under are one and the
  /// same (attribute_map); what the file says under an attribute is set last. Where the file has none of the spellings
  /// it is the field.
  [[nodiscard]] std::string_view key_of(std::string_view name) const {
    if (row_ == nullptr) return name;
    const auto* const aliases = families::attribute_aliases + row_->aliases_begin;
    std::string_view field = name;
    for (std::size_t i = 0; i < row_->aliases_size; ++i) {
      if (name == families::field_names[aliases[i].attribute]) field = families::field_names[aliases[i].field];
    }
    const json& object = text_.value();
    if (field != name && object.contains(name)) return name;
    for (std::size_t i = 0; i < row_->aliases_size; ++i) {
      const std::string_view attribute = families::field_names[aliases[i].attribute];
      if (field == families::field_names[aliases[i].field] && object.contains(attribute)) return attribute;
    }
    return field;
  }
  [[nodiscard]] bool in_file(std::string_view name) const { return text_.value().contains(key_of(name)); }

  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest = 0,
                                                   std::uint64_t highest = config::max_field_value) const {
    const std::string_view key = key_of(name);
    std::optional<std::uint64_t> result;
    std::string source = text_.pointer() + "/" + std::string(key);
    if (text_.value().contains(key)) {
      result = text_.count(key, lowest, highest);
    } else if (const auto* d = class_default_of(name, key);
               d != nullptr && d->kind == families::default_kind::integer) {
      result = static_cast<std::uint64_t>(d->value);
      source = "class default of " + std::string(row_->model_type) + " (" + std::string(name) + ")";
    }
    if (result) remember(name, *result, source);
    return result;
  }
  /// The same for a check: it is no quantity of the answer.
  [[nodiscard]] std::optional<std::uint64_t> count_in_passing(std::string_view name) const {
    const std::size_t known = sources_.size();
    const auto result = count(name);
    sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(known), sources_.end());
    return result;
  }
  [[nodiscard]] std::uint32_t count_or(std::string_view name, std::uint64_t other, std::uint64_t lowest = 0) const {
    return static_cast<std::uint32_t>(count(name, lowest).value_or(other));
  }
  [[nodiscard]] std::uint32_t required(std::string_view name, std::uint64_t lowest = 0,
                                       std::uint64_t highest = config::max_field_value) const {
    const auto result = count(name, lowest, highest);
    if (!result) text_.fail_missing(name, "a whole number");
    return static_cast<std::uint32_t>(*result);
  }
  [[nodiscard]] bool flag(std::string_view name, bool other = false) const {
    const std::string_view key = key_of(name);
    if (text_.value().contains(key)) return text_.boolean(key).value_or(other);
    const auto* const d = class_default_of(name, key);
    return d != nullptr && d->kind == families::default_kind::boolean ? d->value != 0 : other;
  }
  /// Whatever stands there; nothing for null.
  [[nodiscard]] std::optional<node> field(std::string_view name) const {
    const std::string_view key = key_of(name);
    const json* const value = text_.find(key);
    return value != nullptr ? std::optional(text_.child(key, *value)) : std::nullopt;
  }
  /// A fraction as Python would compute with it.
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    if (const auto value = text_.number(key_of(name))) return value;
    const auto whole = count(name);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const { return text_.boolean(key_of(name)); }
  [[nodiscard]] std::optional<std::string> string(std::string_view name) const { return text_.string(key_of(name)); }
  [[nodiscard]] std::optional<node> array(std::string_view name) const { return text_.array(key_of(name)); }
  [[nodiscard]] std::optional<node> object(std::string_view name) const { return text_.object(key_of(name)); }

  /// Entry `i` of an array of words. Throws config_error when the array is too short or holds something else.
  [[nodiscard]] static std::string_view word(const node& array, std::size_t i) {
    if (i >= array.value().size()) {
      array.fail("has fewer entries than the model has layers", "at least " + std::to_string(i + 1) + " entries");
    }
    const json& entry = array.value()[i];
    if (!entry.is_string()) array.child(i).fail("not a string", "a name");
    return entry.get_ref<const std::string&>();
  }
  /// Entry `i` of an array of numbers or booleans.
  [[nodiscard]] static std::uint64_t number(const node& array, std::size_t i) {
    if (i >= array.value().size()) {
      array.fail("has fewer entries than the model has layers", "at least " + std::to_string(i + 1) + " entries");
    }
    const json& entry = array.value()[i];
    if (entry.is_boolean()) return entry.get<bool>() ? 1 : 0;
    return array.child(i).count();
  }

  [[nodiscard]] const std::vector<config::provenance>& sources() const noexcept { return sources_; }
  /// An error about the field `name`, which stands in the file.
  [[noreturn]] void fail(std::string_view name, std::string problem, std::string expected) const {
    if (const auto value = field(name)) value->fail(std::move(problem), std::move(expected));
    text_.fail(std::move(problem), std::move(expected));
  }
  /// A quantity that no field states.
  void derived(std::string_view quantity, std::uint64_t value, std::string_view rule) const {
    remember(quantity, value, std::string(rule));
  }
  [[nodiscard]] bool text_stands_in_root() const { return text_.pointer() == root_.pointer(); }
  void remember(std::string_view quantity, const json& value, std::string source) const {
    for (const config::provenance& p : sources_) {
      if (p.quantity == quantity) return;
    }
    sources_.push_back(config::provenance{std::string(quantity), value, std::move(source)});
  }

 private:
  /// What vLLM 0.32.0 asks for.
  static constexpr config::engine_version transformers_version{5, 19, 0};

  [[nodiscard]] static transformers::layer_kinds kinds_of_words(const node& list, std::uint64_t n) {
    if (list.value().size() != n) {
      list.fail(std::to_string(list.value().size()) + " entries for " + std::to_string(n) + " layers",
                "one entry a layer");
    }
    transformers::layer_kinds kinds;
    for (std::size_t i = 0; i < n; ++i) kinds.push_back(transformers::detail::kind_of_word(list.child(i)));
    return kinds;
  }

  [[nodiscard]] const families::class_default* class_default_of(std::string_view name, std::string_view key) const {
    if (row_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < row_->defaults_size; ++i) {
      const families::class_default& d = families::class_defaults[row_->defaults_begin + i];
      if (key == families::field_names[d.field] || name == families::field_names[d.field]) return &d;
    }
    return nullptr;
  }

  node root_;
  node text_;
  const families::model_type_row* row_ = nullptr;
  mutable std::vector<config::provenance> sources_;
};

}  // namespace kvbudget::vllm
