// The fields of a config as vLLM sees them: those of transformers' class where vLLM takes it, and of vLLM's own
// classes.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/config/layer_kinds.hpp>

namespace kvbudget::detail::vllm {

using config::json;
using config::node;

/// Model types that another class reads in vLLM than in transformers: the model type of that class where transformers
/// has it, else nothing, and what the class says where the file says nothing (transformers_utils/config.py:
/// _CONFIG_REGISTRY, transformers_utils/configs/X.py).
struct own_class {
  std::string_view model_type;
  std::string_view class_of;
  std::string_view defaults;
};
// clang-format off
inline constexpr own_class own_classes[] = {
  {"chatglm", "",
   R"({"num_layers":28,"hidden_size":4096,"num_attention_heads":32,"multi_query_group_num":1,"seq_length":2048})"},
  {"deepseek_v32", "deepseek_v3", ""},
  {"deepseek_v4", "", R"({"max_position_embeddings":1048576})"},
  {"kimi_linear", "",
   R"({"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"max_position_embeddings":4096,)"
   R"("num_nextn_predict_layers":0})"},
  {"minimax_m3_vl", "",
   R"({"hidden_size":6144,"num_hidden_layers":60,"num_attention_heads":64,"num_key_value_heads":4,"head_dim":128,)"
   R"("max_position_embeddings":524288,"sparse_attention_config":{"sparse_index_dim":128,"sparse_attention_freq":[)"
   R"(0,0,0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,)"
   R"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}})"},
  {"minimax_m3_vl_text", "", ""},
  {"RefinedWeb", "", R"({"hidden_size":64,"n_layer":2,"n_head":8,"n_head_kv":1,"multi_query":true})"},
  {"RefinedWebModel", "", R"({"hidden_size":64,"n_layer":2,"n_head":8,"n_head_kv":1,"multi_query":true})"},
  {"step3p5", "",
   R"({"hidden_size":5120,"num_hidden_layers":48,"num_attention_heads":40,"num_attention_groups":8,)"
   R"("max_seq_len":4096,"num_nextn_predict_layers":0})"},
};
// clang-format on

inline std::string_view class_in_vllm(std::string_view published) {
  for (const own_class& c : own_classes) {
    if (c.model_type == published) return c.class_of;
  }
  return published;
}
inline const json* defaults_in_vllm(std::string_view model_type) {
  static const std::vector<json> parsed = [] {
    std::vector<json> all;
    for (const own_class& c : own_classes) all.push_back(c.defaults.empty() ? json() : json::parse(c.defaults));
    return all;
  }();
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (own_classes[i].model_type == model_type && !parsed[i].is_null()) return &parsed[i];
  }
  return nullptr;
}
inline constexpr std::string_view text_fields[] = {"text_config", "llm_config", "language_config"};
/// Glm4vConfig and Glm4vMoeConfig of transformers 5.19.
inline constexpr std::string_view root_is_text[] = {"glm4v", "glm4v_moe"};
inline constexpr config::other_classes classes_of_vllm{class_in_vllm, text_fields, root_is_text, defaults_in_vllm};

/// The text config (hf_text_config) of a config (hf_config), and look-ups in it.
class config_fields {
 public:
  explicit config_fields(const node& root) : c_(root, classes_of_vllm) { c_.check_properties(); }

  [[nodiscard]] const config::model_config& config() const noexcept { return c_; }
  [[nodiscard]] const node& root() const noexcept { return c_.root(); }
  [[nodiscard]] const node& text() const noexcept { return c_.text(); }
  [[nodiscard]] bool text_stands_in_root() const { return text().pointer() == root().pointer(); }
  [[nodiscard]] std::string model_type() const { return text().string("model_type").value_or(root_model_type()); }
  [[nodiscard]] const std::string& root_model_type() const noexcept { return c_.published_model_type(); }

  /// The model type whose class reads the text part; empty where transformers has none.
  [[nodiscard]] std::string_view class_model_type() const noexcept { return c_.model_type(); }

  /// The config has layer_types, be they its own or its class's.
  [[nodiscard]] bool has_layer_types() const {
    return array("layer_types") || transformers::pattern_of(c_.model_type()) != nullptr;
  }
  /// The kinds of all `n` layers, by the file's layer_types or by what the class makes of its absence. Nothing where
  /// there is neither.
  [[nodiscard]] std::optional<transformers::layer_kinds> layer_kinds(std::uint64_t n) const {
    const std::optional<node> list = array("layer_types");
    const auto* const rule = transformers::pattern_of(c_.model_type());
    if (!list && (rule == nullptr || rule->ignores_list)) return std::nullopt;
    if (!c_.has_class() || (rule != nullptr && rule->ignores_list)) return kinds_of_words(*list, n);
    return class_kinds(n);
  }
  /// What the class makes of all `n` layers, whatever it reads for it.
  [[nodiscard]] transformers::layer_kinds class_kinds(std::uint64_t n) const {
    return transformers::read_layer_kinds(c_, n, transformers_version);
  }

  [[nodiscard]] bool in_file(std::string_view name) const { return c_.in_file(name); }

  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest = 0,
                                                   std::uint64_t highest = config::max_field_value) const {
    return c_.count(name, lowest, highest);
  }
  [[nodiscard]] std::uint32_t count_or(std::string_view name, std::uint64_t other, std::uint64_t lowest = 0) const {
    return static_cast<std::uint32_t>(count(name, lowest).value_or(other));
  }
  [[nodiscard]] std::uint32_t required(std::string_view name, std::uint64_t lowest = 0,
                                       std::uint64_t highest = config::max_field_value) const {
    const auto result = count(name, lowest, highest);
    if (!result) text().fail_missing(name, "a whole number");
    return static_cast<std::uint32_t>(*result);
  }
  [[nodiscard]] bool flag(std::string_view name, bool other = false) const { return c_.boolean(name).value_or(other); }
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const { return c_.boolean(name); }
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    if (c_.in_file(name)) return c_.number(name);
    const auto whole = count(name);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> string(std::string_view name) const { return c_.string(name); }
  [[nodiscard]] std::optional<node> array(std::string_view name) const { return c_.array(name); }
  [[nodiscard]] std::optional<node> object(std::string_view name) const { return c_.object(name); }
  /// Whatever stands there, without being a quantity of the answer; nothing for null.
  [[nodiscard]] std::optional<node> field(std::string_view name) const { return c_.field(name); }

  /// An error about the field `name`, wherever it stands.
  [[noreturn]] void fail(std::string_view name, std::string problem, std::string expected) const {
    c_.fail(name, std::move(problem), std::move(expected));
  }

  /// Entry `i` of an array of words. Throws config_error when the array is too short or holds something else.
  [[nodiscard]] static std::string_view word(const node& array, std::size_t i) {
    check_length(array, i);
    const json& entry = array.value()[i];
    if (!entry.is_string()) array.child(i).fail("not a string", "a name");
    return entry.get_ref<const std::string&>();
  }
  /// Entry `i` of an array of numbers or booleans.
  [[nodiscard]] static std::uint64_t number(const node& array, std::size_t i) {
    check_length(array, i);
    const json& entry = array.value()[i];
    if (entry.is_boolean()) return entry.get<bool>() ? 1 : 0;
    return array.child(i).count();
  }

  [[nodiscard]] std::vector<provenance> sources() const { return c_.sources(); }
  /// A quantity that no field states.
  void derived(std::string_view quantity, std::uint64_t value, std::string_view rule) const {
    c_.derived(quantity, value, rule);
  }

 private:
  /// What vLLM 0.32.0 asks for.
  static constexpr config::engine_version transformers_version{5, 19, 0};

  static void check_length(const node& array, std::size_t i) {
    if (i < array.value().size()) return;
    array.fail("has fewer entries than the model has layers", "at least " + std::to_string(i + 1) + " entries");
  }
  [[nodiscard]] static transformers::layer_kinds kinds_of_words(const node& list, std::uint64_t n) {
    if (list.value().size() != n) {
      list.fail(std::to_string(list.value().size()) + " entries for " + std::to_string(n) + " layers",
                "one entry a layer");
    }
    transformers::layer_kinds kinds;
    for (std::size_t i = 0; i < n; ++i) kinds.push_back(transformers::kind_of_word(list.child(i)));
    return kinds;
  }

  config::model_config c_;
};

}  // namespace kvbudget::detail::vllm
