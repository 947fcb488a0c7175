// A config.json as llama.cpp's converter sees it.
//
// Source: llama.cpp 0.5.0-dev, conversion/base.py (ModelBase.load_hparams, find_hparam, TextModel.__init__,
// get_model_architecture). The converter loads the file through AutoConfig of transformers 4.57.6, so that class
// defaults fill in what a file leaves out; a model type that this version does not know is read as the plain file.
// The text config's entries cover those of the root.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/config/document.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/engines/llama_cpp/hparams.hpp>

namespace kvbudget::llama_cpp::detail {

/// Model types of families/class_defaults.hpp that transformers 4.57.6 has no class for, as far as the converter
/// takes them at all.
inline constexpr std::string_view newer_model_types[] = {"afmoe",
                                                         "audioflamingo3",
                                                         "cohere2_moe",
                                                         "deepseek_ocr2",
                                                         "deepseek_ocr2_text",
                                                         "deepseek_v32",
                                                         "deepseek_v4",
                                                         "dots3_note",
                                                         "dots3_note_text",
                                                         "exaone4_5",
                                                         "exaone_moe",
                                                         "gemma4",
                                                         "gemma4_assistant",
                                                         "gemma4_text",
                                                         "gemma4_unified",
                                                         "gemma4_unified_assistant",
                                                         "gemma4_unified_text",
                                                         "glm46v",
                                                         "glm4_moe_lite",
                                                         "glm5_next",
                                                         "glm5_next_text",
                                                         "glm_moe_dsa",
                                                         "glm_ocr",
                                                         "glm_ocr_text",
                                                         "glmasr",
                                                         "granite4_vision",
                                                         "granite4_vision_text",
                                                         "granite_swa",
                                                         "granitemoe_swa",
                                                         "hrm_text",
                                                         "hunyuan_vl",
                                                         "hunyuan_vl_text",
                                                         "hy_v3",
                                                         "hy_v4",
                                                         "internlm3",
                                                         "jais2",
                                                         "kimi_k25",
                                                         "kimi_linear",
                                                         "laguna",
                                                         "lfm2_moe",
                                                         "mellum",
                                                         "mimo_v2_flash",
                                                         "minicpm3",
                                                         "minicpmv4_6",
                                                         "minimax_m2",
                                                         "minimax_m3_vl",
                                                         "minimax_m3_vl_text",
                                                         "ministral3",
                                                         "mistral4",
                                                         "muse_glimmer",
                                                         "muse_glimmer_text",
                                                         "nemotron_h",
                                                         "paddleocr_vl",
                                                         "paddleocr_vl_text",
                                                         "pocket_tts",
                                                         "qwen3_5",
                                                         "qwen3_5_moe",
                                                         "qwen3_5_moe_text",
                                                         "qwen3_5_text",
                                                         "qwen3_asr",
                                                         "qwen4_exp",
                                                         "qwen4_exp_text",
                                                         "sarvam_moe",
                                                         "solar_open",
                                                         "step3p5",
                                                         "step3p7",
                                                         "unlimited_ocr",
                                                         "unlimited_ocr_text",
                                                         "youtu"};

/// The row of a model type that AutoConfig knows, or nullptr.
[[nodiscard]] inline const families::model_type_row* auto_config_row(std::string_view model_type) {
  for (const std::string_view newer : newer_model_types) {
    if (newer == model_type) return nullptr;
  }
  return config::find_model_type(model_type);
}

class hf_source {
 public:
  /// Throws config_error when the document is not an object.
  explicit hf_source(const config::document& d) : root_(d) {
    if (!d.root.is_object()) root_.fail("not a config", "a JSON object");
    text_ = text_config();
    const auto type = root_.string("model_type");
    root_row_ = type ? auto_config_row(*type) : nullptr;
    if (root_row_ == nullptr || root_row_->text_field == nullptr) {
      // A text config under a class that has none is only another member of the file.
      text_row_ = root_row_;
      return;
    }
    text_row_ = config::find_model_type(root_row_->text_model_type);
    if (text_) {
      if (const auto own = text_->string("model_type")) {
        const auto* const row = auto_config_row(*own);
        if (row == nullptr) root_row_ = text_row_ = nullptr;  // AutoConfig fails on the part, so on the whole
        else if (row->text_field == nullptr) text_row_ = row;
      }
    }
  }

  [[nodiscard]] const config::node& root() const noexcept { return root_; }
  /// The class's defaults are in force.
  [[nodiscard]] bool has_class() const noexcept { return root_row_ != nullptr; }

  /// find_hparam: the value under the first of these keys that is there at all; nothing when that one is null.
  [[nodiscard]] std::optional<config::node> field(std::span<const std::string_view> keys) const {
    for (const std::string_view key : keys) {
      if (const found at = look_up(key); at.place != nullptr) {
        if (at.value->is_null()) return std::nullopt;
        config::node value = at.place->child(key, *at.value);
        remember(key, at, value);
        return value;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<config::node> field(std::initializer_list<std::string_view> keys) const {
    return field(std::span(keys.begin(), keys.size()));
  }
  [[nodiscard]] bool has(std::string_view key) const { return look_up(key).place != nullptr; }
  /// A value that is only looked at: it is no source of the plan. nullopt for null.
  [[nodiscard]] std::optional<config::node> peek(std::string_view key) const {
    const found at = look_up(key);
    if (at.place == nullptr || at.value->is_null()) return std::nullopt;
    return at.place->child(key, *at.value);
  }

  [[nodiscard]] std::optional<std::uint32_t> count(std::span<const std::string_view> keys,
                                                   std::uint64_t highest = config::max_field_value) const {
    const auto value = field(keys);
    if (!value) return std::nullopt;
    return static_cast<std::uint32_t>(value->count(0, highest));
  }
  [[nodiscard]] std::optional<std::uint32_t> count(std::initializer_list<std::string_view> keys,
                                                   std::uint64_t highest = config::max_field_value) const {
    return count(std::span(keys.begin(), keys.size()), highest);
  }
  /// A field without which the converter stops.
  [[nodiscard]] std::uint32_t need(std::initializer_list<std::string_view> keys) const {
    const auto value = count(keys);
    if (!value) fail_missing(*keys.begin(), "a whole number");
    return *value;
  }
  [[nodiscard]] std::uint32_t count_or(std::string_view key, std::uint32_t otherwise) const {
    return count({key}).value_or(otherwise);
  }
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const {
    const auto value = field({key});
    if (!value) return std::nullopt;
    if (!value->value().is_boolean()) value->fail("not a boolean", "true, false or null");
    return value->value().get<bool>();
  }
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const {
    const auto value = field({key});
    if (!value) return std::nullopt;
    if (!value->value().is_string()) value->fail("not a string", "a string or null");
    return value->value().get<std::string>();
  }
  [[nodiscard]] std::optional<config::node> array(std::string_view key) const {
    const auto value = field({key});
    if (value && !value->value().is_array()) value->fail("not an array", "an array or null");
    return value;
  }
  [[nodiscard]] config::node need_array(std::string_view key) const {
    const auto value = array(key);
    if (!value) fail_missing(key, "an array");
    return *value;
  }
  [[nodiscard]] config::node need_object(std::string_view key) const {
    const auto value = field({key});
    if (!value) fail_missing(key, "an object");
    if (!value->value().is_object()) value->fail("not an object", "an object");
    return *value;
  }

  [[noreturn]] void fail_missing(std::string_view key, std::string expected) const {
    const config::node& where = text_ ? *text_ : root_;
    if (const auto at = look_up(key); at.place != nullptr) {
      at.place->fail(key, *at.value, "null, and the converter needs it", std::move(expected));
    }
    throw config_error({where.file(), where.pointer() + "/" + std::string(key), ""},
                       "missing, and the converter needs it", std::move(expected));
  }

  /// The architecture by which the converter chooses its rules: the text config's own, but for wrappers that the
  /// converter reads as a whole. Nothing when the file names none.
  [[nodiscard]] std::optional<std::string> hf_architecture() const {
    std::optional<std::string> name = first_architecture(root_);
    if (!name) {
      if (const auto ssm = root_.object("ssm_cfg")) name = ssm->string("layer").value_or("Mamba") + "ForCausalLM";
    }
    for (const std::string_view whole :
         {"StepVLForConditionalGeneration", "Sarashina2VisionForCausalLM", "Exaone4_5_ForConditionalGeneration",
          "Step3p7ForConditionalGeneration", "KimiK3ForConditionalGeneration"}) {
      if (name == whole) return name;
    }
    if (text_) {
      if (auto own = first_architecture(*text_)) return own;
    }
    return name;
  }
  /// Every single value that was read so far, and where it stood.
  [[nodiscard]] const std::vector<config::provenance>& sources() const noexcept { return sources_; }

  [[nodiscard]] std::optional<std::string> root_architecture() const { return first_architecture(root_); }
  [[nodiscard]] std::optional<std::string> root_model_type() const { return root_.string("model_type"); }
  [[nodiscard]] std::optional<std::string> text_model_type() const {
    return text_ ? text_->string("model_type") : std::nullopt;
  }

 private:
  struct found {
    const config::node* place = nullptr;
    const config::json* value = nullptr;
    bool by_class = false;
  };

  void remember(std::string_view key, const found& at, const config::node& value) const {
    if (at.value->is_structured()) return;
    for (const config::provenance& p : sources_) {
      if (p.quantity == key) return;
    }
    std::string source = at.by_class ? "class default of transformers 4.57" : value.pointer();
    sources_.push_back(config::provenance{std::string(key), *at.value, std::move(source)});
  }

  [[nodiscard]] std::optional<config::node> text_config() const {
    std::optional<config::node> result = root_.object("text_config");
    for (const std::string_view key : {"llm_config", "lm_config"}) {
      if (const auto at = root_.object(key)) result = at;
    }
    if (const auto thinker = root_.object("thinker_config")) {
      if (const auto at = thinker->object("text_config")) result = at;
    }
    for (const std::string_view key : {"language_config", "lfm"}) {
      if (const auto at = root_.object(key)) result = at;
    }
    return result;
  }

  [[nodiscard]] static std::optional<std::string> first_architecture(const config::node& where) {
    const auto list = where.array("architectures");
    if (!list || list->value().empty()) return std::nullopt;
    const config::node first = list->child(std::size_t{0});
    if (!first.value().is_string()) first.fail("not a string", "the name of a model class");
    return first.value().get<std::string>();
  }

  [[nodiscard]] found in_object(const config::node& where, const families::model_type_row* row,
                                std::string_view key) const {
    const config::json& object = where.value();
    if (const auto at = object.find(key); at != object.end()) return {&where, &*at};
    if (row == nullptr) return {};
    for (std::size_t i = 0; i < row->aliases_size; ++i) {  // the class stores it under `key`, the file says its alias
      const families::attribute_alias& alias = families::attribute_aliases[row->aliases_begin + i];
      if (key != families::field_names[alias.field]) continue;
      const auto at = object.find(families::field_names[alias.attribute]);
      if (at != object.end()) return {&where, &*at};
    }
    return {};
  }

  [[nodiscard]] found in_defaults(const config::node& where, std::size_t begin, std::size_t size,
                                  std::string_view key) const {
    for (std::size_t i = begin; i < begin + size; ++i) {
      const families::class_default& d = families::class_defaults[i];
      if (key != families::field_names[d.field]) continue;
      switch (d.kind) {
        case families::default_kind::integer: owned_.emplace_back(static_cast<std::uint64_t>(d.value)); break;
        case families::default_kind::boolean: owned_.emplace_back(d.value != 0); break;
        case families::default_kind::json_text:
          owned_.push_back(config::json::parse(families::default_texts[d.value]));
          break;
        case families::default_kind::null_value: owned_.emplace_back(nullptr); break;
      }
      return {&where, &owned_.back(), true};
    }
    return {};
  }

  [[nodiscard]] found look_up(std::string_view key) const {
    if (text_) {
      if (const found at = in_object(*text_, text_row_, key); at.place != nullptr) return at;
      if (text_row_ != nullptr && text_row_ != root_row_) {
        if (root_row_->merges_text_defaults) {
          const found own = in_defaults(*text_, root_row_->text_defaults_begin, root_row_->text_defaults_size, key);
          if (own.place != nullptr) return own;
        }
        const found at = in_defaults(*text_, text_row_->defaults_begin, text_row_->defaults_size, key);
        if (at.place != nullptr) return at;
      }
    }
    if (const found at = in_object(root_, root_row_, key); at.place != nullptr) return at;
    if (root_row_ == nullptr) return {};
    if (!text_ && text_row_ != root_row_) {  // the class builds a text config of its own defaults
      const found own = in_defaults(root_, root_row_->text_defaults_begin, root_row_->text_defaults_size, key);
      if (own.place != nullptr) return own;
      if (text_row_ != nullptr) {
        const found at = in_defaults(root_, text_row_->defaults_begin, text_row_->defaults_size, key);
        if (at.place != nullptr) return at;
      }
    }
    if (const found at = in_defaults(root_, root_row_->defaults_begin, root_row_->defaults_size, key);
        at.place != nullptr) {
      return at;
    }
    // Every class of transformers 4.57 carries generation defaults; the converter takes this one for a context length.
    if (key == "max_length") return {&root_, &owned_.emplace_back(std::uint64_t{20}), true};
    return {};
  }

  config::node root_;
  std::optional<config::node> text_;
  const families::model_type_row* root_row_ = nullptr;
  const families::model_type_row* text_row_ = nullptr;
  mutable std::deque<config::json> owned_;
  mutable std::vector<config::provenance> sources_;
};

}  // namespace kvbudget::llama_cpp::detail
