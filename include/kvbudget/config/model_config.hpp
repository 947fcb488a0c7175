// A config as its transformers class sees it: the language model's part, attribute aliases, raw class defaults.
//
// Order of a look-up, as in PreTrainedConfig: the file's own word (an explicit null counts), then the defaults of a
// composite whose text config is missing, then the default of the class. What the class makes of the word afterwards is
// its fate. Source of aliases, defaults and fates: families/class_defaults.hpp.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/config/provenance.hpp>
#include <kvbudget/config/class_defaults.hpp>

namespace kvbudget::detail::config {

/// The row of a model type, or nullptr.
inline const families::model_type_row* find_model_type(std::string_view model_type) {
  const auto* const end = std::end(families::model_type_rows);
  const auto* const at = std::lower_bound(
      std::begin(families::model_type_rows), end, model_type,
      [](const families::model_type_row& row, std::string_view name) { return row.model_type < name; });
  return at != end && at->model_type == model_type ? at : nullptr;
}

/// Published model types whose configs are read by another type's class, because their own code only renames it.
/// kimi_k2 and kimi_k25's text part: `architectures` is DeepseekV3ForCausalLM and the remote code subclasses
/// DeepseekV3Config without a change. The others are names that transformers 4.57.6 gives to, or writes for, classes
/// that go by another one today (auto/configuration_auto.py, CONFIG_MAPPING_NAMES, and the classes' own model_type).
struct renamed_model_type {
  std::string_view published;
  std::string_view model_type;
};
inline constexpr renamed_model_type renamed_model_types[] = {
    {"kimi_k2", "deepseek_v3"},          {"code_llama", "llama"},         {"EvollaModel", "evolla"},
    {"Glm4vMoe_text", "glm4v_moe_text"}, {"granitevision", "llava_next"}, {"lfm2-vl", "lfm2_vl"},
    {"nougat", "vision-encoder-decoder"}};

/// What a class takes out of its arguments and keeps under another name, so that it is no field of the class: the value
/// where the file says nothing (Gemma4TextConfig.__post_init__, which makes it the head size of the full layers).
struct popped_default {
  std::string_view model_type;
  std::string_view field;
  families::class_default value;
};
inline constexpr popped_default popped_defaults[] = {
    {"diffusion_gemma_text", "global_head_dim", {0, families::default_kind::integer, 512}},
    {"gemma4_text", "global_head_dim", {0, families::default_kind::integer, 512}},
    {"gemma4_unified_text", "global_head_dim", {0, families::default_kind::integer, 512}}};

/// Classes that an engine has beside those of transformers, or in their place.
struct other_classes {
  /// The model type whose class in transformers reads a published one; any other word: none of them does.
  std::string_view (*class_of)(std::string_view published);
  /// Keys under which a class that transformers does not have keeps its language model.
  std::span<const std::string_view> text_fields;
  /// Composites of which every field of the root goes to the language model where the file has no text config, though
  /// transformers' class of today keeps it.
  std::span<const std::string_view> root_is_text;
  /// What such a class says where the file says nothing: an object, or nullptr.
  const json* (*defaults_of)(std::string_view model_type);
};

/// The row of the class that reads a published model type, or nullptr.
inline const families::model_type_row* find_class(std::string_view published) {
  for (const renamed_model_type& r : renamed_model_types) {
    if (r.published == published) published = r.model_type;
  }
  return find_model_type(published);
}

class model_config {
 public:
  /// One object as the class of `row` reads it; without a class (nullptr) it is what it says and nothing else. For
  /// readers that choose object and class themselves. Throws config_error when it is no object.
  model_config(const node& object, const families::model_type_row* row)
      : text_(object), root_(object), row_(row != nullptr ? row : &no_class), composite_(row_) {
    if (!root_.value().is_object()) root_.fail("not a config", "a JSON object");
    refuse_gguf_metadata(root_);
    published_model_type_ = root_.string("model_type").value_or("");
  }
  /// `part` names the sub-model of a model that has several (bark: semantic, coarse, fine; omni models: thinker).
  /// Throws config_error when the document is not an object, says no model_type or one that is not known.
  explicit model_config(const document& d, std::string_view part = {}) : model_config(node(d), nullptr) {
    if (!root_.string("model_type")) root_.fail_missing("model_type", "the model type of the config's class");
    row_ = composite_ = known(root_, published_model_type_);
    if (!part.empty()) select_part(part);
    else if (row_->text_field != nullptr) select_text_config();
  }
  /// The config as an engine sees it that has `others` too: what transformers has no class for is read as it stands,
  /// without aliases and defaults, and model_type() is empty.
  model_config(const node& root, const other_classes& others) : model_config(root, nullptr) {
    others_ = &others;
    row_ = composite_ = known(root_, published_model_type_);
    if (row_->text_field != nullptr) select_text_config();
    else if (!has_class()) select_text_of_another_class();
    for (const std::string& type : {published_model_type_, text_.string("model_type").value_or("")}) {
      if (other_defaults_ != nullptr) break;
      other_defaults_ = others.defaults_of(type);
      other_class_ = type;
    }
  }

  model_config(const model_config&) = delete;  // what was looked up refers to the object itself
  model_config& operator=(const model_config&) = delete;

  /// As the file says it: "gemma3" for a wrapper.
  [[nodiscard]] const std::string& published_model_type() const noexcept { return published_model_type_; }
  /// Of the class that reads the root: another word than the file's where a type was renamed.
  [[nodiscard]] std::string_view root_model_type() const noexcept { return composite_->model_type; }
  /// The bare model keeps a cache only where `is_decoder` is set.
  [[nodiscard]] bool caches_as_decoder() const noexcept { return !is_composite() && row_->caches_as_decoder; }
  /// hidden_size has to be a multiple of the heads.
  [[nodiscard]] bool heads_divide() const noexcept { return row_->heads_divide; }
  /// The class that the file was saved from; empty when it names none.
  [[nodiscard]] std::string architecture() const {
    const auto names = root_.array("architectures");
    if (!names || names->value().empty()) return {};
    const node first = names->child(0);
    if (!first.value().is_string()) first.fail("not a string", "the name of a class");
    return first.value().get<std::string>();
  }
  /// Whether transformers has the class that reads the language model.
  [[nodiscard]] bool has_class() const noexcept { return row_->model_type[0] != '\0'; }
  /// Of the language model: "gemma3_text".
  [[nodiscard]] std::string_view model_type() const noexcept { return row_->model_type; }
  [[nodiscard]] const node& text() const noexcept { return text_; }
  [[nodiscard]] const node& root() const noexcept { return root_; }
  /// The class default of the composite's own is_encoder_decoder.
  [[nodiscard]] bool composite_is_encoder_decoder() const {
    const auto* const at = find_default(families::class_defaults + composite_->defaults_begin,
                                        composite_->defaults_size, "is_encoder_decoder");
    return at != nullptr && at->value != 0;
  }
  [[nodiscard]] bool is_composite() const noexcept { return row_ != composite_; }

  /// What the class makes of a field; nothing when nobody would read it.
  [[nodiscard]] std::optional<families::field_fate> fate(std::string_view name) const { return fate_in(*row_, name); }
  /// The class or its model knows the field.
  [[nodiscard]] bool reads(std::string_view name) const { return fate(name).has_value(); }
  /// Why nothing of the answer comes from the file: it has no text config, and says nothing in its place. Empty
  /// otherwise.
  [[nodiscard]] std::string defaults_alone() const {
    if (!text_is_missing_ || (root_speaks_ && says_text_field())) return {};
    return "the file has no " + std::string(composite_->text_field) + ", and " + published_model_type_ +
           (root_speaks_ ? " finds no field of it elsewhere" : " takes it from nowhere else") +
           ": the answer rests on the class defaults of " + std::string(row_->model_type) + " alone";
  }
  /// One of the fields that can shape a cache, in some class.
  [[nodiscard]] static bool is_cache_field(std::string_view name) {
    const auto* const end = std::end(families::field_names);
    return std::find(std::begin(families::field_names), end, name) != end;
  }
  /// The model asks for the fields of each layer.
  [[nodiscard]] bool layers_may_differ() const noexcept { return row_->layers_may_differ; }
  /// Null and 0 in the file are as if the field were absent.
  [[nodiscard]] bool zero_is_null(std::string_view name) const {
    const families::class_field* const field = field_in(*row_, name);
    return field != nullptr && field->null == families::null_word::zero_too;
  }
  /// Null cannot stand here, nor stay here.
  [[nodiscard]] bool null_is_refused(std::string_view name) const {
    const families::class_field* const field = field_in(*row_, name);
    return field != nullptr && field->null == families::null_word::refused;
  }
  /// Throws config_error for properties of the class, which a file cannot set.
  void check_properties() const {
    for (std::size_t i = 0; i < row_->fields_size; ++i) {
      const families::class_field& field = families::class_fields[row_->fields_begin + i];
      const char* const name = families::field_names[field.field];
      const found at = field.fate == families::field_fate::refused ? in_object(name) : found{};
      if (at.in_file == nullptr) continue;
      at.where->fail(name, *at.in_file, "a property of this class, which a file cannot set", "no such field");
    }
  }
  /// Throws config_error for nulls that the class does not take.
  void check_nulls() const {
    for (std::size_t i = 0; i < row_->fields_size; ++i) {
      const families::class_field& field = families::class_fields[row_->fields_begin + i];
      const char* const name = families::field_names[field.field];
      const found at = field.null == families::null_word::refused ? in_object(name) : found{};
      if (at.in_file == nullptr || !at.in_file->is_null()) continue;
      at.where->fail(name, *at.in_file, "this class takes no null here", "a value, or no such field");
    }
  }

  /// What is there under exactly this name once the class has read the file, be it null: nothing under the other name
  /// of a field unless the file says it, null under a field whose default the class computes.
  [[nodiscard]] std::optional<node> entry(std::string_view name) const {
    const found at = look_up(name);
    if (raw_name(name) != name && (at.in_file == nullptr || at.key != name)) return std::nullopt;
    if (at.in_file != nullptr) return at.where->child(at.key, *at.in_file);
    if (at.by_class != nullptr) return node(default_value(*at.by_class), class_default_source(name), text_.file());
    const auto known = fate(name);
    if (!known || *known > families::field_fate::overwritten) return std::nullopt;
    return node(owned_.emplace_back(nullptr), class_default_source(name), text_.file());
  }
  /// The file itself says something under this name (or its alias), be it null.
  [[nodiscard]] bool in_file(std::string_view name) const { return look_up(name).in_file != nullptr; }

  /// A whole number; nothing when it is null everywhere. Throws config_error on any other kind of value.
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest = 0,
                                                   std::uint64_t highest = max_field_value) const {
    return count_at(name, look_up(name), lowest, highest);
  }
  /// The same as the class computes with it: what the file says under other names of the field is set afterwards.
  [[nodiscard]] std::optional<std::uint64_t> count_while_computed(std::string_view name,
                                                                  std::uint64_t lowest = 0) const {
    const std::string_view raw = raw_name(name);
    const found own = in_object(raw);
    return count_at(raw, own.in_file != nullptr ? own : default_of(name, raw), lowest, max_field_value);
  }
  [[nodiscard]] std::uint64_t required_count(std::string_view name, std::uint64_t lowest = 0,
                                             std::uint64_t highest = max_field_value) const {
    const auto result = count(name, lowest, highest);
    if (!result) fail_missing(name, "a whole number");
    return *result;
  }
  [[nodiscard]] std::uint64_t count_or(std::string_view name, std::uint64_t other, std::uint64_t lowest = 0) const {
    return count(name, lowest).value_or(other);
  }

  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const {
    const found at = look_up(name);
    if (at.in_file != nullptr) return at.in_file->is_null() ? std::nullopt : at.where->boolean(at.key);
    if (at.by_other_class != nullptr && at.by_other_class->is_boolean()) return at.by_other_class->get<bool>();
    if (at.by_class == nullptr || at.by_class->kind != families::default_kind::boolean) return std::nullopt;
    return at.by_class->value != 0;
  }
  /// A fraction as Python would compute with it.
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    const auto value = field(name);
    if (!value) return std::nullopt;
    if (!value->value().is_number()) value->fail("not a finite number", "a number or null");
    return value->value().get<double>();
  }
  [[nodiscard]] std::optional<std::string> string(std::string_view name) const {
    const auto value = field(name);
    if (!value) return std::nullopt;
    if (!value->value().is_string()) value->fail("not a string", "a string or null");
    return value->value().get<std::string>();
  }
  [[nodiscard]] std::optional<node> array(std::string_view name) const {
    const auto value = field(name);
    if (value && !value->value().is_array()) value->fail("not an array", "an array or null");
    return value;
  }
  [[nodiscard]] std::optional<node> object(std::string_view name) const {
    const auto value = field(name);
    if (value && !value->value().is_object()) value->fail("not an object", "an object or null");
    return value;
  }
  /// Whatever stands there, with its place; nothing for null.
  [[nodiscard]] std::optional<node> field(std::string_view name) const {
    const found at = look_up(name);
    if (at.in_file != nullptr) {
      if (at.in_file->is_null()) return std::nullopt;
      return at.where->child(at.key, *at.in_file);
    }
    if (at.by_other_class != nullptr) return node(*at.by_other_class, class_default_source(name), text_.file());
    if (at.by_class == nullptr || at.by_class->kind == families::default_kind::null_value) return std::nullopt;
    return node(default_value(*at.by_class), class_default_source(name), text_.file());
  }

  [[noreturn]] void fail_missing(std::string_view name, std::string expected) const {
    const found at = look_up(name);
    if (at.in_file != nullptr) at.where->fail(at.key, *at.in_file, "null, and no rule gives a value for it", expected);
    text_.fail_missing(raw_name(name), std::move(expected));
  }
  /// An error about the field `name`, wherever it stands.
  [[noreturn]] void fail(std::string_view name, std::string problem, std::string expected) const {
    if (const auto value = field(name)) value->fail(std::move(problem), std::move(expected));
    throw config_error({text_.file(), text_.pointer() + "/" + std::string(name), ""}, std::move(problem),
                       std::move(expected));
  }

  /// A quantity that no field states: it came from a rule.
  void derived(std::string_view quantity, std::uint64_t value, std::string_view rule) const {
    remember_unless_known(quantity, value, std::string(rule));
  }

  /// Every quantity that was read so far, and where it stood.
  [[nodiscard]] std::vector<provenance> sources() const {
    std::vector<provenance> result;
    result.reserve(remembered_.size());
    for (const memory& m : remembered_)
      result.push_back(provenance{std::string(m.quantity), value_from(m.value), source_of(m)});
    return result;
  }

 private:
  static constexpr families::model_type_row no_class{"",    0,     0,       0,     0, nullptr, nullptr, 0,     0,
                                                     false, false, nullptr, false, 0, 0,       false,   false, false};

  struct found {
    const json* in_file = nullptr;
    const families::class_default* by_class = nullptr;
    std::string_view key;
    const node* where = nullptr;  // the object that has `in_file`
    const json* by_other_class = nullptr;
  };
  struct memory {
    std::string_view quantity;  // a literal of the reader
    std::uint64_t value;
    std::string_view key;  // the key in the file, or empty
    const node* where;     // and the object that has it
    std::string rule;      // or the rule; both empty: the class default
  };

  [[nodiscard]] std::optional<std::uint64_t> count_at(std::string_view name, const found& at, std::uint64_t lowest,
                                                      std::uint64_t highest) const {
    std::optional<std::uint64_t> result;
    if (at.in_file != nullptr) {
      if (!at.in_file->is_null()) result = at.where->count(at.key, lowest, highest);
    } else if (at.by_class != nullptr && at.by_class->kind == families::default_kind::integer) {
      result = static_cast<std::uint64_t>(at.by_class->value);
    } else if (at.by_other_class != nullptr && at.by_other_class->is_number_unsigned()) {
      result = at.by_other_class->get<std::uint64_t>();
    }
    if (result) remember(name, at, *result);
    return result;
  }

  [[nodiscard]] const families::model_type_row* known(const node& where, std::string_view model_type) const {
    if (others_ != nullptr) model_type = others_->class_of(model_type);
    const auto* const row = find_class(model_type);
    if (row == nullptr && others_ != nullptr) return &no_class;
    if (row == nullptr) {
      where.fail("model_type", *where.find("model_type"), "unknown model type",
                 "one of the types that `kvbudget models` lists");
    }
    return row;
  }

  void select_text_config() {
    const std::string_view path = row_->text_field;
    node at = root_;
    bool missing = false;
    for (std::size_t from = 0; from <= path.size() && !missing;) {
      const std::size_t to = std::min(path.find('/', from), path.size());
      if (const auto next = at.object(path.substr(from, to - from))) at = *next;
      else missing = true;
      from = to + 1;
    }
    const families::model_type_row* const text_row = find_model_type(row_->text_model_type);
    // Without its own text config a composite takes it from another place, or builds one of its own defaults.
    if (missing && row_->other_text_field != nullptr) {
      if (const auto other = root_.object(row_->other_text_field)) at = *other;
      text_is_missing_ = at.pointer().empty();
    } else {
      text_is_missing_ = missing;
    }
    root_is_text_ = row_->root_is_text || root_is_text_elsewhere();
    root_speaks_ = missing && (root_is_text_ || row_->fields_size != 0);
    if (text_is_missing_) {
      static const json empty = json::object();
      text_ = node(empty, root_.pointer() + "/" + std::string(path), root_.file());
    } else {
      text_ = at;
    }
    own_defaults_apply_ = missing || row_->merges_text_defaults;
    row_ = text_row;
    if (!text_is_missing_ && !composite_->fixed_text_class) {
      if (const auto own = text_.string("model_type")) {  // the class that reads it, where it says one
        const auto* const own_row = known(text_, *own);
        if (own_row->text_field == nullptr) row_ = own_row;
      }
    }
    if (root_speaks_ && says_text_field()) own_defaults_apply_ = false;
  }

  [[nodiscard]] bool root_is_text_elsewhere() const {
    if (others_ == nullptr) return false;
    const auto& list = others_->root_is_text;
    return std::find(list.begin(), list.end(), published_model_type_) != list.end();
  }

  void select_text_of_another_class() {
    for (const std::string_view key : others_->text_fields) {
      const json* const part = root_.find(key);
      if (part == nullptr || !part->is_object()) continue;
      text_ = root_.child(key, *part);
      row_ = known(text_, text_.string("model_type").value_or(""));
      return;
    }
  }

  /// The root states some field of the language model.
  [[nodiscard]] bool says_text_field() const {
    for (const auto& [key, value] : root_.value().items()) {
      if (root_has(key) && (reads(key) || !root_is_text_)) return true;
    }
    return false;
  }
  /// The root's word counts for the language model.
  [[nodiscard]] bool root_has(std::string_view name) const {
    return root_speaks_ && (root_is_text_ || fate_in(*composite_, name) == families::field_fate::for_text);
  }

  void select_part(std::string_view part) {
    for (const std::string_view suffix : {"_config", "_acoustics_config"}) {
      const std::string key = std::string(part) + std::string(suffix);
      const auto section = root_.object(key);
      if (!section) continue;
      text_ = *section;
      // The part's own type where it says one; the class names parts "<type>_<part>" otherwise.
      std::string type = text_.string("model_type").value_or(published_model_type_ + "_" + std::string(part));
      if (const auto* const row = find_model_type(type)) {
        row_ = row;
        if (row_->text_field != nullptr) {
          if (const auto inner = text_.object(row_->text_field)) {
            text_ = *inner;
            row_ = known(text_, text_.string("model_type").value_or(row_->text_model_type));
          }
        }
        return;
      }
      text_.fail("a part of unknown model type", "a model type that `kvbudget models` lists");
    }
    throw usage_error({root_.file(), "part", std::string(part)}, "the config has no such part",
                      "the name of one of its *_config objects");
  }

  /// The name under which the class stores the attribute.
  [[nodiscard]] std::string_view raw_name(std::string_view name) const {
    const auto* const aliases = families::attribute_aliases + row_->aliases_begin;
    for (std::size_t i = 0; i < row_->aliases_size; ++i) {
      if (name == families::field_names[aliases[i].attribute]) return families::field_names[aliases[i].field];
    }
    return name;
  }

  /// Most fields are asked for several times.
  [[nodiscard]] found look_up(std::string_view name) const {
    for (const auto& [known_name, at] : looked_up_) {
      if (known_name == name) return at;
    }
    return looked_up_.emplace_back(name, look_up_anew(name)).second;
  }

  [[nodiscard]] found look_up_anew(std::string_view name) const {
    const std::string_view raw = raw_name(name);
    const found at = in_file_as(raw);
    return at.in_file != nullptr ? at : default_of(name, raw);
  }

  /// What the file says of a field under any of its names. The class sets its own fields first, and then what the file
  /// says under other names, in the file's order, which is not known here. Throws config_error where that decides.
  [[nodiscard]] found in_file_as(std::string_view raw) const {
    const auto known = fate(raw);
    const bool declared = known == families::field_fate::declared || known == families::field_fate::overwritten;
    const found own = in_object(raw);
    found last = declared ? found{} : own;
    const auto* const aliases = families::attribute_aliases + row_->aliases_begin;
    for (std::size_t i = 0; i < row_->aliases_size; ++i) {
      if (raw != families::field_names[aliases[i].field]) continue;
      const found at = in_object(families::field_names[aliases[i].attribute]);
      if (at.in_file == nullptr) continue;
      if (last.in_file != nullptr && *last.in_file != *at.in_file) {
        at.where->fail(at.key, *at.in_file,
                       "another value than " + last.where->pointer() + "/" + std::string(last.key) +
                           ", which is the same field: the one that stands later counts",
                       "one of the two");
      }
      last = at;
    }
    return last.in_file != nullptr ? last : own;
  }

  /// What the class says where the file does not.
  [[nodiscard]] found default_of(std::string_view name, std::string_view raw) const {
    for (const std::string_view spelled : {raw, name}) {
      if (own_defaults_apply_) {
        const auto* const own = families::class_defaults + composite_->text_defaults_begin;
        if (const auto* at = find_default(own, composite_->text_defaults_size, spelled)) {
          return {nullptr, at, spelled, nullptr, nullptr};
        }
      }
      const auto* const defaults = families::class_defaults + row_->defaults_begin;
      if (const auto* at = find_default(defaults, row_->defaults_size, spelled))
        return {nullptr, at, spelled, nullptr, nullptr};
    }
    for (const popped_default& d : popped_defaults) {
      if (d.field == name && d.model_type == row_->model_type) return {nullptr, &d.value, name, nullptr, nullptr};
    }
    if (other_defaults_ != nullptr) {
      if (const auto at = other_defaults_->find(name); at != other_defaults_->end())
        return {nullptr, nullptr, name, nullptr, &*at};
    }
    return {};
  }

  /// What the file says under exactly this name, for the language model.
  [[nodiscard]] found in_object(std::string_view name) const {
    for (const node* where : {&root_, &text_}) {
      if (where == &root_ && !root_has(name)) continue;
      if (const auto at = where->value().find(name); at != where->value().end())
        return {&*at, nullptr, name, where, nullptr};
    }
    return {};
  }

  static const families::class_field* field_in(const families::model_type_row& row, std::string_view name) {
    for (std::size_t i = 0; i < row.fields_size; ++i) {
      const families::class_field& field = families::class_fields[row.fields_begin + i];
      const char* const known_name = families::field_names[field.field];
      if (name.starts_with(known_name[0]) && name == known_name) return &field;
    }
    return nullptr;
  }
  static std::optional<families::field_fate> fate_in(const families::model_type_row& row, std::string_view name) {
    const families::class_field* const field = field_in(row, name);
    return field == nullptr ? std::nullopt : std::optional(field->fate);
  }

  static const families::class_default* find_default(const families::class_default* from, std::size_t size,
                                                     std::string_view name) {
    for (std::size_t i = 0; i < size; ++i) {
      const char* const field = families::field_names[from[i].field];
      if (name.starts_with(field[0]) && name == field) return from + i;
    }
    return nullptr;
  }

  /// Defaults as JSON values; kept because nodes only refer to them.
  const json& default_value(const families::class_default& d) const {
    switch (d.kind) {
      case families::default_kind::integer: return owned_.emplace_back(static_cast<std::uint64_t>(d.value));
      case families::default_kind::boolean: return owned_.emplace_back(d.value != 0);
      case families::default_kind::json_text: return owned_.emplace_back(json::parse(families::default_texts[d.value]));
      case families::default_kind::null_value: break;
    }
    return owned_.emplace_back(nullptr);
  }

  [[nodiscard]] std::string class_default_source(std::string_view name) const {
    const std::string type = has_class() ? row_->model_type : other_class_;
    return "class default of " + type + " (" + std::string(name) + ")";
  }
  [[nodiscard]] std::string source_of(const memory& m) const {
    if (!m.rule.empty()) return m.rule;
    if (m.key.empty()) return class_default_source(m.quantity);
    return m.where->pointer() + "/" + std::string(m.key);
  }
  void remember(std::string_view name, const found& at, std::uint64_t value) const {
    for (const memory& m : remembered_) {
      if (m.quantity == name) return;
    }
    remembered_.push_back(memory{name, value, at.in_file != nullptr ? at.key : std::string_view(), at.where, {}});
  }
  void remember_unless_known(std::string_view name, std::uint64_t value, std::string rule) const {
    for (const memory& m : remembered_) {
      if (m.quantity == name) return;
    }
    remembered_.push_back(memory{name, value, {}, nullptr, std::move(rule)});
  }

  node text_;
  node root_;
  std::string published_model_type_;
  const other_classes* others_ = nullptr;
  const json* other_defaults_ = nullptr;
  std::string other_class_;
  const families::model_type_row* row_ = nullptr;
  const families::model_type_row* composite_ = nullptr;
  bool own_defaults_apply_ = false;
  bool text_is_missing_ = false;
  bool root_is_text_ = false;
  bool root_speaks_ = false;  ///< the root may state what the missing text config would
  mutable std::deque<json> owned_;
  mutable std::vector<memory> remembered_;
  mutable std::vector<std::pair<std::string_view, found>> looked_up_;  // names are literals of the reader
};

}  // namespace kvbudget::detail::config
