// Which kind of cache each layer has: explicit lists, patterns, and what the class does when neither is stated.
//
// Source: transformers 5.24.0, cache_utils.py get_layer_types_and_kwargs and configuration_utils.py (vocabulary), and
// `__post_init__` or the layer_types property in models/X/configuration_X.py for a rule of model type X.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kvbudget/config/engine_version.hpp>
#include <kvbudget/config/layer_kind.hpp>
#include <kvbudget/config/model_config.hpp>
#include <kvbudget/core/layers.hpp>

namespace kvbudget::detail::transformers {

using config::model_config;

/// `per_layer_config`: fields that single layers override (integrations/heterogeneity/configuration_utils.py). Its keys
/// are layer numbers, written as strings and often padded with zeros.
class layer_overrides {
 public:
  /// `n` decoder layers.
  layer_overrides(const model_config& c, std::size_t n) : config_(&c) {
    const auto table = c.object("per_layer_config");
    if (!table) return;
    const std::uint64_t counted = c.count_or("num_hidden_layers", n);  // the encoder's of a model with two halves
    for (const auto& [key, value] : table->value().items()) {
      std::uint64_t layer = 0;
      bool number = !key.empty() && key.size() <= 8;
      for (const char digit : key) {
        number = number && digit >= '0' && digit <= '9';
        if (number) layer = layer * 10 + static_cast<std::uint64_t>(digit - '0');
      }
      const config::node place = table->child(key, value);
      if (!number) place.fail("the key is not a layer number", "keys such as \"07\"");
      if (!value.is_object()) place.fail("not an object", "an object of fields");
      if (layer >= counted) place.fail("beyond the last layer", "layer numbers below num_hidden_layers");
      layers_.emplace(layer, place);
    }
    check(counted);
  }

  [[nodiscard]] bool empty() const noexcept { return layers_.empty(); }

  /// The field in layer `i`: the override, else the model's.
  [[nodiscard]] std::optional<std::uint64_t> count(std::size_t i, std::string_view field) const {
    if (const auto at = layers_.find(i); at != layers_.end() && at->second.value().contains(field)) {
      return at->second.count(field);  // null too
    }
    return config_->count(field);
  }

 private:
  /// A model that does not know of differing layers asks the whole config, which then has no answer. Fields that only
  /// the caches ask for may differ in any model, if all of the `n` layers have them.
  void check(std::uint64_t n) const {
    std::map<std::string_view, std::uint64_t> stated;
    for (const auto& [layer, place] : layers_) {
      for (const auto& [field, value] : place.value().items()) {
        if (field == "skip") {
          place.fail("parts of a layer are left out, which this library does not follow", "whole layers");
        }
        if (model_config::is_cache_field(field)) ++stated[field];
        if (is_difference(field, value) && model_asks_once(field)) {
          place.fail(field, value, "this class reads one value for all layers", "the field of the whole config");
        }
      }
    }
    for (const auto& [field, layers] : stated) {
      if (layers == n || config_->field(field) || config_->in_file(field) ||
          config_->fate(field) == families::field_fate::declared)
        continue;
      config_->fail("per_layer_config", std::string(field) + " is stated for some layers, and not for the whole config",
                    "the field in the whole config, or in every layer");
    }
  }
  /// What says the same as the whole config is none.
  [[nodiscard]] bool is_difference(const std::string& field, const config::json& value) const {
    const auto whole = config_->field(field);
    return model_config::is_cache_field(field) && !(whole && whole->value() == value);
  }
  [[nodiscard]] bool model_asks_once(const std::string& field) const {
    const auto fate = config_->fate(field);
    const bool model_asks = fate && !(fate == families::field_fate::read && is_for_caches(field));
    // Gemma 4 asks each layer, but the whole config for the window of its masks.
    const bool for_masks = field == "sliding_window" && !config_->model_type().starts_with("dots3") &&
                           !config_->model_type().starts_with("step3");
    return model_asks && (for_masks || !config_->layers_may_differ());
  }
  [[nodiscard]] static bool is_for_caches(std::string_view field) {
    return field == "sliding_window" || field == "attention_chunk_size";
  }

  const model_config* config_;
  std::map<std::uint64_t, config::node> layers_;
};

using config::layer_kind;
using config::name_of;

using layer_kinds = std::vector<layer_kind>;

[[nodiscard]] inline layer_kind kind_of_word(const config::node& where) {
  if (!where.value().is_string()) where.fail("not a string", "a layer type such as \"full_attention\"");
  const auto& word = where.value().get_ref<const std::string&>();
  for (const config::layer_kind_name& n : config::layer_kind_names) {
    if (n.word == word) return n.kind;
  }
  where.fail("unknown layer type", "full_attention, sliding_attention, chunked_attention, linear_attention …");
}

inline void check_layer_count(const model_config& c, std::string_view field, std::uint64_t n) {
  if (n > max_layers) c.fail(field, "more than 65,536 layers", "at most 65,536");
}

/// A list of layer types in the file or in the class; nothing when there is none.
[[nodiscard]] inline std::optional<layer_kinds> kinds_of_list(const model_config& c, std::string_view field) {
  const auto list = c.array(field);
  if (!list) return std::nullopt;
  check_layer_count(c, field, list->value().size());
  layer_kinds kinds;
  kinds.reserve(list->value().size());
  const config::json* previous = nullptr;
  for (std::size_t i = 0; i < list->value().size(); ++i) {
    const config::json& word = list->value()[i];
    // Neighbours are often equal; that saves most of the look-ups.
    kinds.push_back(previous != nullptr && *previous == word ? kinds.back() : kind_of_word(list->child(i)));
    previous = &word;
  }
  return kinds;
}

// ---- patterns -------------------------------------------------------------------------------------------------------

/// Every `period`-th layer, counted so that layer period - 1 is the first, is `hit`.
inline void every_last(layer_kinds& k, std::uint64_t period, layer_kind hit = layer_kind::full,
                       layer_kind other = layer_kind::sliding) {
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = (i + 1) % period == 0 ? hit : other;
}
/// The same, counted so that layer 0 is the first.
inline void every_first(layer_kinds& k, std::uint64_t period, layer_kind hit = layer_kind::full,
                        layer_kind other = layer_kind::sliding) {
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = i % period == 0 ? hit : other;
}
inline void all(layer_kinds& k, layer_kind kind) { k.assign(k.size(), kind); }

/// A period stated by a field; 0 is an error.
[[nodiscard]] inline std::uint64_t period(const model_config& c, std::string_view field, std::uint64_t otherwise) {
  return c.count_or(field, otherwise, 1);
}

/// Layer indices listed by a field become `kind`; `base` is the number of the first layer.
inline void mark_listed(layer_kinds& k, const config::node& list, layer_kind kind, std::uint64_t base = 0) {
  if (!list.value().is_array()) list.fail("not an array", "an array of layer numbers");
  for (std::size_t i = 0; i < list.value().size(); ++i) {
    const std::uint64_t layer = list.child(i).count(base);
    // Python's `i in list` never meets a number beyond the last layer.
    if (layer - base < k.size()) k[layer - base] = kind;
  }
}

/// qwen2 and its kin: layers from max_window_layers on slide, if the model has a window.
inline void from_max_window_layers(const model_config& c, layer_kinds& k, bool has_window) {
  const std::uint64_t first = c.count_or("max_window_layers", 28);
  for (std::size_t i = 0; i < k.size(); ++i) {
    k[i] = has_window && i >= first ? layer_kind::sliding : layer_kind::full;
  }
}

/// Per-layer 0/1 flags under `field`, else 0 on every `interval`-th layer (`no_rope_layers`).
[[nodiscard]] inline std::vector<bool> no_rope_flags(const model_config& c, std::size_t n) {
  std::vector<bool> flags(n);
  const auto list = c.array("no_rope_layers");
  if (list && !list->value().empty()) {
    if (list->value().size() < n) list->fail("shorter than num_hidden_layers", "one entry a layer");
    for (std::size_t i = 0; i < n; ++i) flags[i] = list->child(i).count(0, 1) != 0;
    return flags;
  }
  const std::uint64_t interval = period(c, "no_rope_layer_interval", 4);
  for (std::size_t i = 0; i < n; ++i) flags[i] = (i + 1) % interval != 0;
  return flags;
}

inline bool has_window(const model_config& c) {
  return c.field("sliding_window").has_value() && c.boolean("use_sliding_window").value_or(false);
}

/// The pattern string of Nemotron-H: M Mamba2, * attention, - MLP, E MoE. It may stand for more layers than the
/// config counts; the string wins.
inline layer_kinds kinds_of_hybrid_pattern(const config::node& where) {
  if (!where.value().is_string()) where.fail("not a string", "a pattern of M, *, - and E");
  const auto& text = where.value().get_ref<const std::string&>();
  if (text.size() > max_layers) where.fail("more than 65,536 layers", "at most 65,536");
  layer_kinds kinds;
  for (const char letter : text) {
    switch (letter) {
      case 'M': kinds.push_back(layer_kind::linear); break;
      case '*': kinds.push_back(layer_kind::full); break;
      case '-':
      case 'E': kinds.push_back(layer_kind::none); break;
      default: where.fail("unknown letter '" + std::string(1, letter) + "'", "a pattern of M, *, - and E");
    }
  }
  return kinds;
}

/// What the class of a model type does when the file has no list. `k` has one entry a layer; a rule may resize it.
struct pattern_rule {
  std::string_view model_type;
  void (*fill)(const model_config& c, layer_kinds& k);
  bool ignores_list = false;  ///< the class computes the kinds, or reads its list in a way of its own
};

inline constexpr layer_kind F = layer_kind::full;
inline constexpr layer_kind S = layer_kind::sliding;
inline constexpr layer_kind L = layer_kind::linear;

inline constexpr auto last_2 = [](const model_config&, layer_kinds& k) { every_last(k, 2); };
inline constexpr auto last_4 = [](const model_config&, layer_kinds& k) { every_last(k, 4); };
inline constexpr auto last_5 = [](const model_config&, layer_kinds& k) { every_last(k, 5); };
inline constexpr auto last_6_and_the_last = [](const model_config&, layer_kinds& k) {
  every_last(k, 6);
  if (!k.empty()) k.back() = F;
};
inline constexpr auto window_pattern_4 = [](const model_config& c, layer_kinds& k) {
  every_last(k, period(c, "sliding_window_pattern", 4));
};
inline constexpr auto window_pattern_6 = [](const model_config& c, layer_kinds& k) {
  every_last(k, period(c, "sliding_window_pattern", 6));
};
inline constexpr auto first_4 = [](const model_config&, layer_kinds& k) { every_first(k, 4); };
inline constexpr auto from_end_4 = [](const model_config&, layer_kinds& k) {
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = (k.size() - 1 - i) % 4 == 0 ? F : S;
};
inline constexpr auto full_interval = [](const model_config& c, layer_kinds& k) {
  every_last(k, period(c, "full_attention_interval", 4), F, L);
};
inline constexpr auto all_full = [](const model_config&, layer_kinds& k) { all(k, F); };
inline constexpr auto all_linear = [](const model_config&, layer_kinds& k) { all(k, L); };
inline constexpr auto all_hybrid = [](const model_config&, layer_kinds& k) { all(k, layer_kind::hybrid); };
inline constexpr auto all_indexed = [](const model_config&, layer_kinds& k) { all(k, layer_kind::indexed); };
inline constexpr auto qwen2_rule = [](const model_config& c, layer_kinds& k) {
  from_max_window_layers(c, k, has_window(c));
};
inline constexpr auto inkling_last_6 = [](const model_config&, layer_kinds& k) {
  every_last(k, 6, layer_kind::hybrid, layer_kind::hybrid_sliding);
};
inline constexpr auto block_types_cycle = [](const model_config& c, layer_kinds& k) {
  const auto types = c.array("block_types");
  if (!types || types->value().empty()) c.fail_missing("block_types", "an array of recurrent and attention");
  for (std::size_t i = 0; i < k.size(); ++i) {
    const config::node type = types->child(i % types->value().size());
    if (!type.value().is_string()) type.fail("not a string", "recurrent or attention");
    k[i] = type.value().get_ref<const std::string&>() == "recurrent" ? L : S;
  }
};

inline constexpr pattern_rule pattern_rules[] = {
    {"afmoe", [](const model_config& c, layer_kinds& k) { every_last(k, period(c, "global_attn_every_n_layers", 4)); }},
    {"axk2", all_indexed},
    {"bailing_hybrid",
     [](const model_config& c, layer_kinds& k) { every_last(k, period(c, "layer_group_size", 6), F, L); }},
    {"bamba",
     [](const model_config& c, layer_kinds& k) {
       all(k, L);
       if (const auto list = c.array("attn_layer_indices")) mark_listed(k, *list, F);
     },
     true},
    {"beam", last_6_and_the_last},
    {"cohere2", window_pattern_4},
    {"cohere2_moe",
     [](const model_config& c, layer_kinds& k) {
       const std::uint64_t prefix = std::min<std::uint64_t>(c.count_or("first_k_dense_replace", 0), k.size());
       const std::uint64_t prefix_period = period(c, "prefix_dense_sliding_window_pattern", 1);
       const std::uint64_t rest_period = period(c, "sliding_window_pattern", 4);
       for (std::size_t i = 0; i < k.size(); ++i) {
         const bool full = i < prefix ? (i + 1) % prefix_period == 0 : (i - prefix + 1) % rest_period == 0;
         k[i] = full ? F : S;
       }
     }},
    {"cohere_compass_text", all_full},
    {"cwm", first_4},
    {"deepseek_v32", all_indexed},
    {"deepseek_v4",
     [](const model_config& c, layer_kinds& k) {
       const auto ratios = c.array("compress_ratios");
       if (!ratios) {
         for (std::size_t i = 0; i < k.size(); ++i) {
           k[i] = i < 2 || i % 2 == 0 ? layer_kind::heavily_compressed : layer_kind::compressed_sparse;
         }
         return;
       }
       // Published lists have entries for the MTP layers behind the model's own.
       if (ratios->value().size() < k.size()) ratios->fail("shorter than num_hidden_layers", "one entry a layer");
       for (std::size_t i = 0; i < k.size(); ++i) {
         switch (ratios->child(i).count()) {
           case 0: k[i] = S; break;
           case 4: k[i] = layer_kind::compressed_sparse; break;
           case 128: k[i] = layer_kind::heavily_compressed; break;
           default: ratios->child(i).fail("unknown compression ratio", "0, 4 or 128");
         }
       }
     }},
    {"diffusion_gemma_text", last_6_and_the_last},
    {"dory", last_4},
    {"dots1", [](const model_config& c,
                 layer_kinds& k) { from_max_window_layers(c, k, c.field("sliding_window").has_value()); }},
    {"dots3_note_text",
     [](const model_config& c, layer_kinds& k) {
       const layer_kind full = c.boolean("use_dsa").value_or(true) ? layer_kind::indexed : F;
       const bool slides = c.boolean("use_sliding_window").value_or(true);
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i < 2 || i % 4 == 1 || !slides ? full : S;
     }},
    {"exaone4", window_pattern_4},
    {"exaone_moe", window_pattern_4},
    {"falcon_h1", all_hybrid, true},
    {"falcon_mamba", all_linear, true},
    {"flint",
     [](const model_config&, layer_kinds& k) {
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i < 2 || i % 4 == 1 || i + 1 == k.size() ? F : S;
     }},
    {"gemma2", last_2},
    {"gemma3_text", window_pattern_6},
    {"gemma3n_text", last_5},
    {"gemma4_text", last_6_and_the_last},
    {"gemma4_unified_text", last_6_and_the_last},
    {"glm5_next_text", [](const model_config&, layer_kinds& k) { every_last(k, 4, layer_kind::indexed, L); }},
    {"glm_moe_dsa", all_indexed},
    {"gpt_oss", last_2},
    {"granite_swa", first_4},
    {"granitemoe_swa", first_4},
    {"granitemoehybrid", all_linear},
    {"hy_v4", all_indexed},
    {"hy_v4_vl_text", all_indexed},
    {"inkling2_loop_text", inkling_last_6},
    {"inkling2_text", inkling_last_6},
    {"inkling_text",
     [](const model_config& c, layer_kinds& k) {
       const auto list = c.array("local_layer_ids");
       if (!list) return inkling_last_6(c, k);
       all(k, layer_kind::hybrid);
       mark_listed(k, *list, layer_kind::hybrid_sliding);
     }},
    {"jamba",
     [](const model_config& c, layer_kinds& k) {
       const std::uint64_t every = period(c, "attn_layer_period", 8);
       const std::uint64_t offset = c.count_or("attn_layer_offset", 4);
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i % every == offset ? F : L;
     },
     true},
    {"kimi_linear",
     [](const model_config& c, layer_kinds& k) {
       const auto linear = c.object("linear_attn_config");
       const auto full_layers = linear ? linear->array("full_attn_layers") : std::nullopt;
       const auto kda_layers = linear ? linear->array("kda_layers") : std::nullopt;
       if (full_layers && kda_layers) {  // counted from 1
         all(k, layer_kind::none);
         mark_listed(k, *full_layers, F, 1);
         mark_listed(k, *kda_layers, L, 1);
         for (const layer_kind kind : k) {
           if (kind == layer_kind::none) linear->fail("a layer is in neither list", "every layer in one of them");
         }
         return;
       }
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i > 0 && i % 4 == 0 ? F : L;
     }},
    {"kolibri1", last_5},
    {"laguna", all_full},
    {"lara_mini",
     [](const model_config&, layer_kinds& k) {
       constexpr layer_kind cycle[] = {L, S, L, F, S};
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = cycle[i % 5];
     }},
    {"lfm2",
     [](const model_config& c, layer_kinds& k) {
       all(k, F);
       const auto list = c.array("full_attn_idxs");
       if (!list) return;
       all(k, layer_kind::conv);
       mark_listed(k, *list, F);
     }},
    {"lfm2_moe", [](const model_config& c, layer_kinds&) { c.fail_missing("layer_types", "one entry a layer"); }},
    {"lfm3",
     [](const model_config&, layer_kinds& k) {
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i % 4 == 2 ? F : i % 4 == 0 && i > 0 ? S : layer_kind::conv;
     }},
    {"llama4_text",
     [](const model_config& c, layer_kinds& k) {
       const std::vector<bool> rope = no_rope_flags(c, k.size());
       const bool chunked = c.field("attention_chunk_size").has_value();
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = rope[i] && chunked ? layer_kind::chunked : F;
     }},
    {"mamba", all_linear, true},
    {"mamba2", all_linear, true},
    {"mellum", all_full},
    {"mimo_v2_flash",
     [](const model_config&, layer_kinds& k) {
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = i == 0 || (i + 1) % 6 == 0 ? F : S;
     }},
    {"minimax", [](const model_config&, layer_kinds& k) { every_first(k, 2, F, L); }},
    {"minimax_m3_vl_text",
     [](const model_config& c, layer_kinds& k) {
       const auto sparse = c.object("sparse_attention_config");
       const auto flags = sparse ? sparse->array("sparse_attention_freq") : std::nullopt;
       if (!flags) return all(k, F);
       if (flags->value().size() < k.size()) flags->fail("shorter than num_hidden_layers", "one entry a layer");
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = flags->child(i).count() != 0 ? layer_kind::indexed : F;
     }},
    {"ministral", [](const model_config& c, layer_kinds& k) { all(k, c.field("sliding_window") ? S : F); }},
    {"mistral_large4_text", all_indexed},
    {"modernbert-decoder",
     [](const model_config& c, layer_kinds& k) { every_first(k, period(c, "global_attn_every_n_layers", 3)); }},
    {"muse_glimmer_text", from_end_4},
    {"muse_spark_text", from_end_4},
    {"nemotron_h",
     [](const model_config& c, layer_kinds& k) {
       if (const auto pattern = c.field("hybrid_override_pattern")) {
         k = kinds_of_hybrid_pattern(*pattern);
       } else if (auto list = kinds_of_list(c, "layer_types")) {
         k = std::move(*list);
       } else {
         k = {L, layer_kind::none, F, layer_kind::none};  // the class: linear attention, MoE, full attention, MLP
       }
     },
     true},
    {"olmo3", last_4},
    {"olmo_hybrid",
     [](const model_config&, layer_kinds& k) {
       every_last(k, 4, F, L);
       if (k.size() < 4 && !k.empty()) k.back() = F;  // at least one full layer
     }},
    {"qwen2", qwen2_rule},
    {"qwen2_5_omni_text", qwen2_rule},
    {"qwen2_5_vl_text", qwen2_rule},
    {"qwen2_moe",
     [](const model_config& c, layer_kinds& k) {
       const bool slides = c.boolean("use_sliding_window").value_or(false);
       const std::uint64_t until = c.count_or("max_window_layers", 28);
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = slides && i % 2 == 0 && i < until ? S : F;
     }},
    {"qwen2_vl_text", qwen2_rule},
    {"qwen3", qwen2_rule},
    {"qwen3_5_moe_text", full_interval},
    {"qwen3_5_text", full_interval},
    {"qwen3_next", full_interval},
    {"qwen4_exp_text",
     [](const model_config& c, layer_kinds& k) {
       every_last(k, period(c, "full_attention_interval", 4), layer_kind::indexed, L);
     }},
    {"recurrent_gemma", block_types_cycle, true},
    {"smollm3",
     [](const model_config& c, layer_kinds& k) {
       const std::vector<bool> rope = no_rope_flags(c, k.size());
       const bool window = has_window(c);
       for (std::size_t i = 0; i < k.size(); ++i) k[i] = window && !rope[i] ? S : F;
     }},
    {"step3p5", all_full},
    {"t5_gemma_module", last_2},
    {"t5gemma2_decoder", window_pattern_6},
    {"unlimited_ocr_text",
     [](const model_config& c, layer_kinds& k) {
       all(k, c.field("sliding_window") ? layer_kind::reference_sliding : F);
     }},
    {"vaultgemma", last_2},
    {"zamba",
     [](const model_config& c, layer_kinds& k) {
       const std::uint64_t every = period(c, "attn_layer_period", 6);
       const std::uint64_t offset = c.count_or("attn_layer_offset", 4);
       for (std::size_t i = 0; i < k.size(); ++i) {
         k[i] = i == 2 || (i > 2 && (i - 3) % every == offset) ? layer_kind::hybrid : L;
       }
     }},
    {"zamba2",
     [](const model_config&, layer_kinds& k) {
       // The list of the released model, whatever num_hidden_layers says.
       k.assign(54, L);
       for (const std::size_t i : {6U, 12U, 18U, 24U, 30U, 36U, 42U, 47U, 51U}) k[i] = layer_kind::hybrid;
     }},
    {"zaya", all_hybrid},
};

/// What a class does to the list afterwards, be it the file's or its own.
inline void finish(const model_config& c, layer_kinds& k) {
  const std::string_view type = c.model_type();
  const auto replace = [&](layer_kind from, layer_kind to) {
    for (layer_kind& kind : k) {
      if (kind == from) kind = to;
    }
  };
  if (type == "glm5_next_text") replace(F, layer_kind::indexed);
  if (type == "dots3_note_text") {  // released files call DSA layers full_attention
    const auto dsa = c.boolean("use_dsa");
    if (dsa.value_or(!c.field("per_layer_config"))) replace(F, layer_kind::indexed);
    else if (dsa) replace(layer_kind::indexed, F);
  }
  const bool ends_full = type == "gemma4_text" || type == "gemma4_unified_text" || type == "diffusion_gemma_text";
  if (ends_full && !k.empty()) k.back() = F;
}

/// Whether layers of a kind run in a model type: those of some ask the cache for index keys or convolutions, or have no
/// mask for the kind (modeling_X.py).
[[nodiscard]] inline bool may_have(std::string_view type, layer_kind kind) {
  const bool indexed = kind == layer_kind::indexed;
  for (const std::string_view t : {"axk2", "deepseek_v32", "glm_moe_dsa", "hy_v4", "hy_v4_vl_text"}) {
    if (t == type) return indexed;
  }
  if (type == "bailing_hybrid" || type == "kimi_linear") return kind == F || kind == L;
  if (type == "lfm2" || type == "lfm2_moe") return kind == F || kind == layer_kind::conv;
  if (type == "glm5_next_text") return indexed || kind == L;
  if (type.starts_with("inkling")) return kind == layer_kind::hybrid || kind == layer_kind::hybrid_sliding;
  return true;
}

[[nodiscard]] constexpr const pattern_rule* pattern_of(std::string_view model_type) noexcept {
  for (const pattern_rule& rule : pattern_rules) {
    if (rule.model_type == model_type) return &rule;
  }
  return nullptr;
}

/// The kind of every layer of a model with `n` decoder layers.
/// Throws config_error for unknown words, lists of the wrong length, periods of 0.
[[nodiscard]] inline layer_kinds read_layer_kinds(const model_config& c, std::uint64_t n,
                                                  config::engine_version version) {
  const pattern_rule* rule = pattern_of(c.model_type());
  // Before 5.0 this class had no layer types, so every layer slid (configuration_qwen2_moe.py of 4.57.6).
  if (c.model_type() == "qwen2_moe" && version < config::engine_version{5, 0, 0}) rule = nullptr;

  if (rule == nullptr || !rule->ignores_list) {
    if (auto kinds = kinds_of_list(c, "layer_types")) {
      if (c.model_type() == "deepseek_v4" && kinds->size() > n) kinds->resize(n);  // entries of MTP layers
      if (kinds->size() != n) {
        c.fail("layer_types", std::to_string(kinds->size()) + " entries for " + std::to_string(n) + " layers",
               "one entry a layer");
      }
      finish(c, *kinds);
      for (std::size_t i = 0; i < kinds->size(); ++i) {
        if (may_have(c.model_type(), (*kinds)[i])) continue;
        c.array("layer_types")->child(i).fail("not a kind of layer that this model type runs", "the class's own kinds");
      }
      return std::move(*kinds);
    }
  }
  layer_kinds kinds(n, layer_kind::full);
  if (rule != nullptr) {
    rule->fill(c, kinds);
    if (c.model_type() == "zamba2" && kinds.size() != n) {  // its list has the released model's length
      c.fail("num_hidden_layers", "the class lists " + std::to_string(kinds.size()) + " layers",
             "as many, or layers_block_type");
    }
  } else if (c.model_type() == "qwen2_moe" || c.model_type() == "qwen3_moe") {
    if (has_window(c)) all(kinds, layer_kind::sliding);
  } else {  // cache_utils.py, get_layer_types_and_kwargs
    const layer_overrides layers(c, n);
    for (std::size_t i = 0; i < n; ++i) {
      if (layers.count(i, "sliding_window")) kinds[i] = layer_kind::sliding;
      else if (layers.count(i, "attention_chunk_size")) kinds[i] = layer_kind::chunked;
    }
  }
  finish(c, kinds);
  return kinds;
}

}  // namespace kvbudget::detail::transformers
