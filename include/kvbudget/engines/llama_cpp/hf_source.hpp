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

#include <kvbudget/input/document.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/config/layer_kinds.hpp>
#include <kvbudget/engines/llama_cpp/hparams.hpp>

namespace kvbudget::detail::llama_cpp {

/// By whose classes the converter reads.
inline constexpr config::engine_version converter_transformers{4, 57, 6};

/// Model types that config/model_config.hpp knows, and transformers 4.57.6 has no class for (CONFIG_MAPPING_NAMES).
// clang-format off
inline constexpr std::string_view newer_model_types[] = {
    "afmoe", "apertus1p5", "apertus1p5_text", "audioflamingo3", "axk1", "axk2", "bailing_hybrid", "beam", "canary",
    "canary_decoder", "cohere2_moe", "cohere_asr", "cohere_compass", "cohere_compass_text", "cosmos3_edge",
    "cosmos3_edge_text", "cosmos3_omni", "cwm", "deepseek_ocr2", "deepseek_ocr2_text", "deepseek_v32", "deepseek_v4",
    "diffusion_gemma", "diffusion_gemma_text", "dory", "dots3_note", "dots3_note_text", "ernie4_5_vl_moe",
    "ernie4_5_vl_moe_text", "exaone", "exaone4_5", "exaone_moe", "fast_vlm", "flint", "fun_asr_nano", "gemma4",
    "gemma4_assistant", "gemma4_text", "gemma4_unified", "gemma4_unified_assistant", "gemma4_unified_text", "glm46v",
    "glm4_moe_lite", "glm5_next", "glm5_next_text", "glm_moe_dsa", "glm_ocr", "glm_ocr_text", "glmasr", "glmga",
    "gradium_phonon_tts", "granite4_vision", "granite4_vision_text", "granite_docling", "granite_docling_text",
    "granite_speech_plus", "granite_swa", "granitemoe_swa", "higgs_audio_v2", "hrm_text", "hunyuan_vl",
    "hunyuan_vl_text", "hy_v3", "hy_v4", "hy_v4_vl", "hy_v4_vl_text", "hyperclovax", "hyperclovax_vision_v2",
    "inkling2", "inkling2_loop", "inkling2_loop_text", "inkling2_text", "inkling_mm_model", "inkling_text",
    "internlm3", "iquestcoder", "jais2", "kimi_k2", "kimi_k25", "kimi_linear", "kolibri1", "laguna", "lara_mini",
    "lfm2_moe", "lfm3", "lfm3_vl", "lighton_ocr", "mellum", "mimo_v2_flash", "minicpm3", "minicpm_ocr", "minicpmv4_6",
    "minicpmv4_7", "minimax_m2", "minimax_m3_vl", "minimax_m3_vl_text", "ministral3", "mistral4", "mistral_large4",
    "mistral_large4_text", "molmo2", "molmo2_text", "moonshine_streaming", "moss_transcribe_diarize", "muse_glimmer",
    "muse_glimmer_text", "muse_spark", "muse_spark_text", "musicflamingo", "nanochat", "nemo_speechlm", "nemotron_h",
    "nemotron_h_omni", "olmo_hybrid", "omniasr", "paddleocr_vl", "paddleocr_vl_text", "pi0", "pocket_tts",
    "pp_chart2table", "pp_formulanet", "pp_formulanet_text", "qianfan_ocr", "qwen3_5", "qwen3_5_moe",
    "qwen3_5_moe_text", "qwen3_5_text", "qwen3_asr", "qwen4_exp", "qwen4_exp_text", "sarvam_mla", "sarvam_moe",
    "solar_open", "step3p5", "step3p7", "t5gemma2", "t5gemma2_decoder", "unlimited_ocr", "unlimited_ocr_text",
    "vibevoice", "vibevoice_asr", "video_llama_3", "voxtral_realtime", "voxtral_realtime_text", "youtu", "zaya",
};
// clang-format on

/// The row of a model type that AutoConfig knows, or nullptr.
[[nodiscard]] inline const families::model_type_row* auto_config_row(std::string_view model_type) {
  for (const std::string_view newer : newer_model_types) {
    if (newer == model_type) return nullptr;
  }
  return config::find_class(model_type);
}

class hf_source {
 public:
  /// Throws config_error when the document is not an object.
  explicit hf_source(const config::document& d)
      : root_(d), text_node_(text_part(root_)), root_row_(class_of_root()), whole_(root_, root_row_) {
    const bool merged = root_row_ != nullptr && root_row_->text_field != nullptr &&
                        is_text_part(root_row_->text_field) && is_at(text_node_, root_row_->text_field);
    if (merged) text_.emplace(d);  // as the class has it, be it of defaults alone
    else if (text_node_) text_.emplace(*text_node_, nullptr);
  }

  [[nodiscard]] const config::node& root() const noexcept { return root_; }
  /// The class's defaults are in force.
  [[nodiscard]] bool has_class() const noexcept { return root_row_ != nullptr; }

  /// find_hparam: the value under the first of these keys that is there at all; nothing when that one is null.
  [[nodiscard]] std::optional<config::node> field(std::span<const std::string_view> keys) const {
    for (const std::string_view key : keys) {
      const auto value = entry(key);
      if (!value) continue;
      if (value->value().is_null()) return std::nullopt;
      remember(key, *value);
      return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<config::node> field(std::initializer_list<std::string_view> keys) const {
    return field(std::span(keys.begin(), keys.size()));
  }
  [[nodiscard]] bool has(std::string_view key) const { return entry(key).has_value(); }
  /// A value that is only looked at: it is no source of the plan. nullopt for null.
  [[nodiscard]] std::optional<config::node> peek(std::string_view key) const {
    const auto value = entry(key);
    return value && !value->value().is_null() ? value : std::nullopt;
  }

  /// layer_types, which some classes derive where there is no list.
  [[nodiscard]] std::optional<config::node> layer_types(std::uint32_t layers) const {
    if (const auto list = array("layer_types")) return list;
    const config::model_config& c = text_ && !text_->model_type().empty() ? *text_ : whole_;
    const auto* const rule = transformers::pattern_of(c.model_type());
    if (!has_class() || rule == nullptr || rule->ignores_list) return std::nullopt;
    config::json words = config::json::array();
    for (const transformers::layer_kind kind : transformers::read_layer_kinds(c, layers, converter_transformers)) {
      words.push_back(transformers::name_of(kind));
    }
    return config::node(made_.emplace_back(std::move(words)), "layer_types of " + std::string(c.model_type()),
                        root_.file());
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
    if (const auto at = entry(key); at && at->pointer().starts_with('/'))
      at->fail("null, and the converter needs it", std::move(expected));
    const config::node& where = text_node_ ? *text_node_ : root_;
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
    if (text_node_) {
      if (auto own = first_architecture(*text_node_)) return own;
    }
    return name;
  }
  /// Every single value that was read so far, and where it stood.
  [[nodiscard]] const std::vector<provenance>& sources() const noexcept { return sources_; }

  [[nodiscard]] std::optional<std::string> root_architecture() const { return first_architecture(root_); }
  [[nodiscard]] std::optional<std::string> root_model_type() const { return root_.string("model_type"); }
  [[nodiscard]] std::optional<std::string> text_model_type() const {
    return text_node_ ? text_node_->string("model_type") : std::nullopt;
  }

 private:
  /// What the converter merges over the root, the last of them before the others (load_hparams).
  static constexpr std::string_view text_parts[] = {
      "text_config", "llm_config", "lm_config", "thinker_config/text_config", "language_config", "lfm"};
  [[nodiscard]] static bool is_text_part(std::string_view path) {
    return std::find(std::begin(text_parts), std::end(text_parts), path) != std::end(text_parts);
  }
  /// Of several parts in one file, the converter takes the last, and then it is what it says.
  [[nodiscard]] static bool is_at(const std::optional<config::node>& part, std::string_view path) {
    return !part || part->pointer().substr(1) == path;
  }
  [[nodiscard]] static std::optional<config::node> text_part(const config::node& root) {
    if (!root.value().is_object()) root.fail("not a config", "a JSON object");
    std::optional<config::node> result;
    for (const std::string_view path : text_parts) {
      const std::size_t slash = path.find('/');
      auto at = root.object(path.substr(0, slash));
      if (at && slash != path.npos) at = at->object(path.substr(slash + 1));
      if (at) result = at;
    }
    return result;
  }
  /// AutoConfig fails on the whole where it does not know the part.
  [[nodiscard]] const families::model_type_row* class_of_root() const {
    const auto type = root_.string("model_type");
    const auto* const row = type ? auto_config_row(*type) : nullptr;
    if (row == nullptr || row->text_field == nullptr || !text_node_) return row;
    const auto own = text_node_->string("model_type");
    return own && auto_config_row(*own) == nullptr ? nullptr : row;
  }

  /// The text part's entries cover those of the root.
  [[nodiscard]] std::optional<config::node> entry(std::string_view key) const {
    if (text_) {
      if (auto value = text_->entry(key)) return value;
    }
    if (auto value = whole_.entry(key)) return value;
    // Every class of transformers 4.57 carries generation defaults; the converter takes this one for a context length.
    static const config::json max_length = 20U;
    if (!has_class() || key != "max_length") return std::nullopt;
    return config::node(max_length, class_default, root_.file());
  }

  void remember(std::string_view key, const config::node& value) const {
    if (value.value().is_structured()) return;
    for (const provenance& p : sources_) {
      if (p.quantity == key) return;
    }
    const bool by_class = !value.pointer().starts_with('/');
    sources_.push_back(provenance{std::string(key), config::value_from(value.value()),
                                  by_class ? std::string(class_default) : value.pointer()});
  }

  [[nodiscard]] static std::optional<std::string> first_architecture(const config::node& where) {
    const auto list = where.array("architectures");
    if (!list || list->value().empty()) return std::nullopt;
    const config::node first = list->child(std::size_t{0});
    if (!first.value().is_string()) first.fail("not a string", "the name of a model class");
    return first.value().get<std::string>();
  }

  static constexpr const char* class_default = "class default of transformers 4.57";

  config::node root_;
  std::optional<config::node> text_node_;  ///< in the file
  const families::model_type_row* root_row_;
  config::model_config whole_;
  std::optional<config::model_config> text_;
  mutable std::deque<config::json> made_;
  mutable std::vector<provenance> sources_;
};

}  // namespace kvbudget::detail::llama_cpp
