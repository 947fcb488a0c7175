// What mlx-lm's model modules read of a config, and the caches that they make of it.
//
// Source: mlx-lm 0.32.2, ModelArgs of mlx_lm/models/*.py.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/config/layer_kind.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/engine/option_row.hpp>
#include <kvbudget/engines/mlx_lm/rules.hpp>
#include <kvbudget/core/layers.hpp>

namespace kvbudget::detail::mlx_lm {

/// One entry of the prompt cache: a cache object, or a CacheList of several.
struct cache_entry {
  config::layer_kind kind = config::layer_kind::full;
  std::vector<cache> caches;
  bool is_list = false;
  friend bool operator==(const cache_entry&, const cache_entry&) = default;
};

/// The caches of a model. Entries that are alike are kept once.
struct cached_model {
  struct placed {
    std::int64_t layer;
    std::size_t kind;
  };
  std::vector<cache_entry> kinds;
  std::vector<placed> entries;
  std::uint64_t num_layers = 0;
  bool makes_own_cache = false;  ///< and ignores max_kv_size
  bool reads_quantized = true;   ///< its attention takes a QuantizedKVCache
  std::string attention;

  void add(std::uint64_t layer, cache_entry entry) {
    const auto at = std::find(kinds.begin(), kinds.end(), entry);
    entries.push_back({static_cast<std::int64_t>(layer), static_cast<std::size_t>(at - kinds.begin())});
    if (at == kinds.end()) kinds.push_back(std::move(entry));
  }
};

/// How a module comes to the size of a head.
enum class head_size : std::uint8_t {
  divided,           ///< hidden_size // num_attention_heads, whatever head_dim says
  given,             ///< head_dim
  given_or_divided,  ///< head_dim where there is one
};

struct model_row;
class fields;
using make_cache = void (*)(const fields&, cached_model&);

/// A module of mlx_lm/models.
struct model_row {
  std::string_view module_name;
  make_cache make;
  head_size size = head_size::divided;
  bool own_cache = false;    ///< has make_cache
  std::uint64_t period = 0;  ///< where layer_types is missing: every so many layers attend to everything; 0: all
  bool reads_quantized = true;
};

/// Defaults of ModelArgs that are not those of transformers' class, or that transformers has no class for.
struct args_default {
  std::string_view modules;
  std::string_view field;
  std::uint64_t value;  ///< 0: None
};
inline constexpr args_default args_defaults[] = {
    {"cohere2", "hidden_size", 4096},
    {"cohere2", "num_hidden_layers", 32},
    {"cohere2", "num_attention_heads", 32},
    {"cohere2", "num_key_value_heads", 8},
    {"cohere2", "head_dim", 128},
    {"cohere2", "sliding_window", 4096},
    {"cohere2", "sliding_window_pattern", 4},
    {"falcon_h1", "head_dim", 64},
    {"falcon_h1", "mamba_d_ssm", 1536},
    {"gemma3", "num_attention_heads", 8},  // gemma3.py, ModelArgs.__post_init__
    {"gemma3", "num_key_value_heads", 4},
    {"gemma3_text", "num_attention_heads", 4},
    {"gemma3_text", "num_key_value_heads", 1},
    {"gemma3|gemma3_text", "num_hidden_layers", 26},
    {"gemma3|gemma3_text", "head_dim", 256},
    {"gemma3|gemma3_text", "sliding_window", 512},
    {"gemma3|gemma3_text", "sliding_window_pattern", 6},
    {"gemma4|gemma4_text", "num_hidden_layers", 35},
    {"gemma4|gemma4_text", "num_key_value_heads", 1},
    {"gemma4|gemma4_text", "num_kv_shared_layers", 20},
    {"gemma4|gemma4_text", "head_dim", 256},
    {"gemma4|gemma4_text", "global_head_dim", 512},
    {"gemma4|gemma4_text", "sliding_window", 512},
    {"gemma4|gemma4_text", "sliding_window_pattern", 5},
    {"llama|ministral3|olmo2|olmo3|olmoe|phi3|qwen2_moe|smollm3|internlm2|internlm3", "num_key_value_heads", 0},
    {"qwen3_5|qwen3_5_moe", "linear_num_value_heads", 64},
    {"qwen3_5|qwen3_5_moe", "linear_key_head_dim", 192},
    {"qwen3_5|qwen3_5_moe|qwen3_next", "full_attention_interval", 4},
};

/// Where the parts of a composite are that transformers has no class for.
inline constexpr std::string_view text_fields[] = {"text_config"};
/// Here the root is the language model, and transformers' class has it in a text config.
inline constexpr std::string_view root_is_text[] = {"muse_glimmer"};
[[nodiscard]] inline std::string_view same_type(std::string_view published) { return published; }
[[nodiscard]] inline const config::json* no_defaults(std::string_view) { return nullptr; }
inline constexpr config::other_classes own_classes{same_type, text_fields, root_is_text, no_defaults};

/// Fields as ModelArgs has them: the file's word, the default of ModelArgs, that of transformers' class.
class fields {
 public:
  fields(const config::model_config& c, const model_row& row) : config_(&c), row_(&row) {}

  [[nodiscard]] const config::model_config& config() const noexcept { return *config_; }
  [[nodiscard]] const model_row& row() const noexcept { return *row_; }

  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name, std::uint64_t lowest = 0) const {
    if (!config_->in_file(name)) {
      for (const args_default& d : args_defaults) {
        if (d.field != name || !kvbudget::detail::is_listed(d.modules, row_->module_name)) continue;
        if (d.value == 0) return std::nullopt;
        config_->derived(d.field, d.value, "default of mlx_lm.models." + std::string(row_->module_name));
        return d.value;
      }
    }
    return config_->count(name, lowest);
  }
  [[nodiscard]] std::uint64_t required(std::string_view name, std::uint64_t lowest = 1) const {
    const auto value = count(name, lowest);
    if (!value) config_->fail_missing(name, "a whole number");
    return *value;
  }
  /// The first of several spellings.
  [[nodiscard]] std::uint64_t required(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (const auto value = count(name, 1)) return *value;
    }
    return required(*names.begin());
  }
  /// A count that the file states, whatever a class says where it does not.
  [[nodiscard]] std::optional<std::uint64_t> stated(std::string_view name, std::uint64_t lowest = 0) const {
    return config_->in_file(name) ? config_->count(name, lowest) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t layers() const {
    return limited(required({"num_hidden_layers", "num_layers", "n_layer", "n_layers", "num_transformer_layers"}));
  }
  [[nodiscard]] std::uint64_t heads() const {
    return required({"num_attention_heads", "num_heads", "n_head", "n_heads"});
  }
  [[nodiscard]] std::optional<std::uint64_t> heads_if_one_number() const {
    for (const std::string_view name : {"num_attention_heads", "num_heads", "n_head", "n_heads"}) {
      if (const auto value = count(name, 1)) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t hidden() const {
    return required({"hidden_size", "hidden_dim", "n_embd", "d_model", "model_dim"});
  }
  [[nodiscard]] std::uint64_t kv_heads() const {
    for (const std::string_view name : {"num_key_value_heads", "num_kv_heads", "n_kv_heads"}) {
      if (const auto value = count(name, 1)) return *value;
    }
    return heads();
  }
  [[nodiscard]] std::uint64_t size_of_head() const {
    if (row_->size == head_size::given) return required("head_dim");
    if (row_->size == head_size::given_or_divided) {
      if (const auto given = stated("head_dim"); given && *given != 0) return *given;
    }
    return hidden() / heads();
  }
  /// The words of a list with one for each layer, as long as it is; nothing where the file has none.
  [[nodiscard]] std::vector<std::string> words(std::string_view name) const {
    std::vector<std::string> list;
    if (!config_->in_file(name)) return list;
    const auto array = config_->array(name);
    if (!array) return list;
    (void)limited(array->value().size());
    for (std::size_t i = 0; i < array->value().size(); ++i) {
      const config::node word = array->child(i);
      if (!word.value().is_string()) word.fail("not a string", "a type of layer");
      list.push_back(word.value().get<std::string>());
    }
    return list;
  }
  [[nodiscard]] std::uint64_t limited(std::uint64_t layers) const {
    if (layers > max_layers) model_has_more_than_65536_layers();
    return layers;
  }

 private:
  const config::model_config* config_;
  const model_row* row_;
};

}  // namespace kvbudget::detail::mlx_lm
