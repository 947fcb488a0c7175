// The caches that mlx-lm's model modules make of a config.
//
// Source: mlx-lm 0.32.2, make_cache of mlx_lm/models/*.py, and what their attention and mixers keep there. A model
// without make_cache has a KVCache for every layer (make_prompt_cache of cache.py).
#pragma once

#include <kvbudget/engines/mlx_lm/fields.hpp>

namespace kvbudget::detail::mlx_lm {

using config::layer_kind;

[[nodiscard]] inline cache kv(std::uint64_t heads, std::uint64_t k_size, std::uint64_t v_size) {
  return {cache_class::kv, heads, k_size, v_size};
}
[[nodiscard]] inline cache kv(const fields& f) {
  const std::uint64_t size = f.size_of_head();
  return kv(f.kv_heads(), size, size);
}
[[nodiscard]] inline cache latent(const fields& f) {
  return kv(1, f.required("kv_lora_rank"), f.required("qk_rope_head_dim"));
}
[[nodiscard]] inline cache_entry full(cache c) { return {layer_kind::full, {c}}; }
[[nodiscard]] inline cache_entry sliding(cache c, std::uint64_t window) {
  c.kind = cache_class::rotating;
  c.window = window;
  return {layer_kind::sliding, {c}};
}
[[nodiscard]] inline cache_entry state(checked_count elements, checked_count floats) {
  cache c{cache_class::arrays};
  c.elements = elements.value();
  c.float_bytes = (floats * 4U).value();
  return {layer_kind::linear, {c}};
}

/// Model without make_cache, or with one that makes as many KVCaches as there are layers.
inline void every_layer(const fields& f, cached_model& m) {
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(f)));
}
/// Keys and values for every query head, whatever num_key_value_heads says.
inline void every_layer_all_heads(const fields& f, cached_model& m) {
  const std::uint64_t size = f.size_of_head();
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(f.heads(), size, size)));
}
inline void every_layer_latent(const fields& f, cached_model& m) {
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(latent(f)));
}

/// layer_types, or what the module makes where there are none.
[[nodiscard]] inline std::vector<std::string> layer_types(const fields& f) {
  std::vector<std::string> types = f.words("layer_types");
  if (!types.empty()) return types;
  std::uint64_t period = f.row().period;
  if (const auto pattern = f.count("sliding_window_pattern", 1); pattern && period != 0) period = *pattern;
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    types.emplace_back(period == 0 || (i + 1) % period == 0 ? "full_attention" : "sliding_attention");
  }
  return types;
}
inline void by_layer_types(const fields& f, cached_model& m) {
  const std::vector<std::string> types = layer_types(f);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "sliding_attention" && types[i] != "full_attention") {
      f.config()
          .array("layer_types")
          ->child(i)
          .fail("not a layer of this model type", "full_attention or sliding_attention");
    }
    m.add(i, types[i] == "full_attention" ? full(kv(f)) : sliding(kv(f), f.required("sliding_window")));
  }
}
/// layer_types is not looked at.
inline void by_pattern(const fields& f, cached_model& m) {
  const std::uint64_t period = f.required("sliding_window_pattern");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    m.add(i, (i + 1) % period == 0 ? full(kv(f)) : sliding(kv(f), f.required("sliding_window")));
  }
}

/// gemma4_text.py: the last layers have no cache of their own; full layers have heads of another size.
inline void gemma4(const fields& f, cached_model& m) {
  const std::vector<std::string> types = layer_types(f);
  const std::uint64_t layers = f.layers(), shared = f.count("num_kv_shared_layers").value_or(0);
  const bool one_projection = f.config().boolean("attention_k_eq_v").value_or(false);
  for (std::uint64_t i = 0; shared < layers && i < layers - shared && i < types.size(); ++i) {
    if (types[i] != "full_attention") {
      m.add(i, sliding(kv(f.kv_heads(), f.required("head_dim"), f.required("head_dim")), f.required("sliding_window")));
      continue;
    }
    const auto global = f.count("global_head_dim");
    const std::uint64_t size = global && *global != 0 ? *global : f.required("head_dim");
    const auto heads = one_projection ? f.count("num_global_key_value_heads", 1) : std::nullopt;
    m.add(i, full(kv(heads.value_or(f.kv_heads()), size, size)));
  }
}

/// mimo_v2_flash.py
inline void mimo_v2(const fields& f, cached_model& m) {
  const auto pattern = f.config().array("hybrid_layer_pattern");
  if (!pattern) f.config().fail_missing("hybrid_layer_pattern", "1 for each layer with a window, 0 for others");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    if (i >= pattern->value().size()) pattern->fail("shorter than num_hidden_layers", "an entry for each layer");
    if (pattern->child(i).count() == 1) {
      m.add(i,
            sliding(kv(f.required("swa_num_key_value_heads"), f.required("swa_head_dim"), f.required("swa_v_head_dim")),
                    f.required("sliding_window_size")));
    } else {
      m.add(i, full(kv(f.required("num_key_value_heads"), f.required("head_dim"), f.required("v_head_dim"))));
    }
  }
}

/// llama4.py: chunks, whatever no_rope_layers says.
inline void llama4(const fields& f, cached_model& m) {
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    cache_entry e = full(kv(f));
    if ((i + 1) % 4 != 0) {
      e.kind = layer_kind::chunked;
      e.caches[0].kind = cache_class::chunked;
      e.caches[0].window = f.required("attention_chunk_size");
    }
    m.add(i, std::move(e));
  }
}

/// The state of gated delta nets: convolution over queries, keys and values; a matrix per value head in float32.
[[nodiscard]] inline cache_entry delta_net(const fields& f) {
  const checked_count keys = checked_count(f.required("linear_num_key_heads")) * f.required("linear_key_head_dim");
  const checked_count values =
      checked_count(f.required("linear_num_value_heads")) * f.required("linear_value_head_dim");
  return state((checked_count(f.required("linear_conv_kernel_dim")) - 1U) * (keys * 2U + values),
               values * f.required("linear_key_head_dim"));
}
/// qwen3_5.py, qwen3_next.py: layer_types is not looked at.
inline void by_interval(const fields& f, cached_model& m) {
  const std::uint64_t interval = f.required("full_attention_interval");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, (i + 1) % interval != 0 ? delta_net(f) : full(kv(f)));
}

/// A Mamba-2 mixer: convolution over its values and the two projections of each group; float32 states.
[[nodiscard]] inline cache_entry mamba2_state(std::uint64_t kernel, checked_count inner, checked_count groups,
                                              std::uint64_t state_size) {
  return state((checked_count(kernel) - 1U) * (inner + groups * 2U * state_size), inner * state_size);
}

/// nemotron_h.py: only attention and mixers have a cache.
inline void nemotron_h(const fields& f, cached_model& m) {
  std::string pattern;
  if (const auto own = f.config().field("hybrid_override_pattern");
      own && f.config().in_file("hybrid_override_pattern")) {
    if (own->value().is_string()) pattern = own->value().get<std::string>();
    else
      for (const std::string& word : f.words("hybrid_override_pattern")) pattern += word;
  } else {
    std::vector<std::string> words = f.words("layers_block_type");
    if (words.empty()) words = f.words("layer_types");
    if (words.empty())
      f.config().fail_missing("hybrid_override_pattern", "a letter for each layer, or layers_block_type");
    for (const std::string& word : words) {
      pattern += word == "mamba" ? 'M' : word == "attention" ? '*' : '-';
    }
  }
  m.num_layers = f.limited(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 'M') {
      const checked_count inner = checked_count(f.required("mamba_num_heads")) * f.required("mamba_head_dim");
      m.add(i, mamba2_state(f.required("conv_kernel"), inner, f.required("n_groups"), f.required("ssm_state_size")));
    } else if (pattern[i] == '*') {
      m.add(i, full(kv(f)));
    }
  }
}

/// deepseek_v32.py: every layer has latents and the keys of an indexer, which are there as values too.
inline void indexed_latents(const fields& f, cached_model& m) {
  const std::uint64_t index = f.required("index_head_dim");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    m.add(i, {layer_kind::indexed, {latent(f), kv(1, index, index)}, true});
  }
}

/// A Mamba mixer: convolution over its values, and a state for each of them, both in the model's type.
[[nodiscard]] inline cache_entry mamba_state(std::uint64_t kernel, checked_count inner, std::uint64_t state_size) {
  return state((checked_count(kernel) - 1U) * inner + inner * state_size, 0U);
}
/// mamba.py
inline void mamba(const fields& f, cached_model& m) {
  const cache_entry e =
      mamba_state(f.required("conv_kernel", 2), f.required("intermediate_size"), f.required("state_size"));
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, e);
}
/// mamba2.py
inline void mamba2(const fields& f, cached_model& m) {
  const std::uint64_t state_size = f.stated("ssm_state_size", 1).value_or(f.required("state_size"));
  const checked_count inner = checked_count(f.required("num_heads")) * f.required("head_dim");
  const cache_entry e = mamba2_state(f.required("conv_kernel", 2), inner, f.required("n_groups"), state_size);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, e);
}
/// jamba.py
inline void jamba(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layers_block_type");
  const checked_count inner = checked_count(f.required("mamba_expand")) * f.hidden();
  const cache_entry mixer = mamba_state(f.required("mamba_d_conv", 2), inner, f.required("mamba_d_state"));
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    const bool attends = i < words.size() ? words[i] == "attention"
                                          : i % f.required("attn_layer_period") == f.required("attn_layer_offset", 0);
    m.add(i, attends ? full(kv(f)) : mixer);
  }
}
/// falcon_h1.py: a mixer beside the attention of every layer.
inline void falcon_h1(const fields& f, cached_model& m) {
  cache_entry e = mamba2_state(f.required("mamba_d_conv", 2), f.required("mamba_d_ssm"), f.required("mamba_n_groups"),
                               f.required("mamba_d_state"));
  e.kind = layer_kind::hybrid;
  e.caches.push_back(kv(f));
  e.is_list = true;
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, e);
}
/// granitemoehybrid.py: layer_types has to be there; other words have no cache.
inline void granite_hybrid(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layer_types");
  if (words.empty()) f.config().fail_missing("layer_types", "mamba or attention for each layer");
  m.num_layers = words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "attention") m.add(i, full(kv(f)));
    if (words[i] != "mamba") continue;
    const checked_count inner = checked_count(f.required("mamba_n_heads")) * f.required("mamba_d_head");
    m.add(i, mamba2_state(f.required("mamba_d_conv", 2), inner, f.required("mamba_n_groups"),
                          f.required("mamba_d_state")));
  }
}
/// plamo2.py
inline void plamo2(const fields& f, cached_model& m) {
  const std::uint64_t size = f.required("hidden_size_per_head"), step = f.required("mamba_step", 2), n = f.layers();
  const bool mixes = f.config().boolean("mamba_enabled").value_or(true);
  const checked_count inner = checked_count(f.required("mamba_num_heads")) * size;
  const cache_entry mixer = mamba2_state(f.required("mamba_d_conv", 2), inner, 0, f.required("mamba_d_state"));
  for (std::uint64_t i = 0; i < n; ++i) {
    const bool mamba = mixes && (n <= step / 2 ? i + 1 != n : i % step != step / 2);
    m.add(i, mamba ? mixer : full(kv(f.kv_heads(), size, size)));
  }
}
/// A short convolution alone (lfm2.py).
inline void lfm2(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layer_types");
  const auto attending = f.config().array("full_attn_idxs");
  if (!attending && words.empty()) f.config().fail_missing("layer_types", "a word for each layer, or full_attn_idxs");
  cache_entry conv = state((checked_count(f.required("conv_L_cache", 2)) - 1U) * f.hidden(), 0U);
  conv.kind = layer_kind::conv;
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    bool attends = !attending && i < words.size() && words[i] == "full_attention";
    if (attending) {
      const config::json& list = attending->value();
      attends = std::find(list.begin(), list.end(), config::json(i)) != list.end();
    }
    m.add(i, attends ? full(kv(f)) : conv);
  }
}
/// Kimi delta attention: a convolution each over queries, keys and values, and a matrix per head in float32.
[[nodiscard]] inline cache_entry kimi_delta(std::uint64_t kernel, checked_count heads, std::uint64_t size) {
  return state((checked_count(kernel) - 1U) * heads * size * 3U, heads * size * size);
}
/// kimi_linear.py: kda_layers counts from 1.
inline void kimi_linear(const fields& f, cached_model& m) {
  const auto own = f.config().object("linear_attn_config");
  if (!own) f.config().fail_missing("linear_attn_config", "an object with kda_layers, num_heads and head_dim");
  const auto part = [&](std::string_view name) {
    const auto value = own->count(name, 1);
    if (!value) own->fail_missing(name, "a whole number");
    return *value;
  };
  const auto linear = own->array("kda_layers");
  if (!linear) own->fail_missing("kda_layers", "a list of layers, counted from 1");
  const cache_entry delta =
      kimi_delta(own->count("short_conv_kernel_size", 2).value_or(4), part("num_heads"), part("head_dim"));
  const config::json& list = linear->value();
  const cache latents = kv(1, f.required("kv_lora_rank"), f.count("qk_rope_head_dim").value_or(0));
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    m.add(i, std::find(list.begin(), list.end(), config::json(i + 1)) != list.end() ? delta : full(latents));
  }
}
/// The last layer of every group attends, and layers after the last whole group.
[[nodiscard]] inline bool ends_group(const fields& f, std::uint64_t i, std::uint64_t n) {
  const std::uint64_t group = f.required("layer_group_size");
  return (i + 1) % group == 0 || i >= n / group * group;
}
/// bailing_moe_linear.py: only its full layers look at head_dim; a matrix per head in the model's type.
inline void bailing_linear(const fields& f, cached_model& m) {
  const std::uint64_t size = f.hidden() / f.heads();
  const cache_entry linear = state(checked_count(f.heads()) * size * size, 0U);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, ends_group(f, i, n) ? full(kv(f)) : linear);
}
/// bailing_hybrid.py; with the architecture BailingMoeV3ForCausalLM bailing_moe_v3.py (MODEL_ARCHITECTURE_REMAPPING).
inline void bailing_hybrid(const fields& f, cached_model& m) {
  const std::uint64_t size = f.size_of_head();
  const bool delta = f.config().architecture() == "BailingMoeV3ForCausalLM";
  const cache_entry linear = delta ? kimi_delta(f.count("short_conv_kernel_size", 2).value_or(4), f.heads(), size)
                                   : state(0U, checked_count(f.heads()) * size * size);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, ends_group(f, i, n) ? full(latent(f)) : linear);
}
/// olmo_hybrid.py
inline void olmo_hybrid(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layer_types");
  for (std::uint64_t i = 0, n = words.empty() ? f.layers() : words.size(); i < n; ++i) {
    const bool linear = words.empty() ? i % 4 != 3 : words[i] == "linear_attention";
    m.add(i, linear ? delta_net(f) : full(kv(f)));
  }
}
/// recurrent_gemma.py: one key and value head, whatever num_key_value_heads says.
inline void recurrent_gemma(const fields& f, cached_model& m) {
  std::vector<std::string> words = f.words("block_types");
  if (words.empty()) words = f.words("_block_types");
  if (words.empty()) f.config().fail_missing("block_types", "recurrent or attention for each layer of a round");
  const std::uint64_t size = f.size_of_head();
  const cache_entry recurrent = state(checked_count(f.required("conv1d_width", 2)) * f.hidden(), 0U);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    m.add(i, words[i % words.size()] == "recurrent" ? recurrent
                                                    : sliding(kv(1, size, size), f.required("attention_window_size")));
  }
}
/// rwkv7.py: two shifted positions and a matrix per head.
inline void rwkv7(const fields& f, cached_model& m) {
  const cache_entry e = state(checked_count(f.hidden()) * 2U + checked_count(f.hidden()) * f.required("head_dim"), 0U);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, e);
}
/// baichuan_m1.py: the last key and value before the convolution, beside the cache.
inline void baichuan_m1(const fields& f, cached_model& m) {
  const auto windows = f.config().array("sliding_window_layers");
  if (!windows) f.config().fail_missing("sliding_window_layers", "a list of layers");
  const config::json& list = windows->value();
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    const bool slides = std::find(list.begin(), list.end(), config::json(i)) != list.end();
    const std::uint64_t heads = (slides ? f.count("num_swa_attention_heads", 1) : std::nullopt).value_or(f.heads());
    const std::uint64_t kv_heads =
        (slides ? f.count("num_swa_key_value_heads", 1) : std::nullopt).value_or(f.kv_heads());
    const cache own = kv(kv_heads, f.hidden() / heads, f.hidden() / heads);
    cache_entry e = slides ? sliding(own, f.required("sliding_window")) : full(own);
    e.kind = slides ? layer_kind::hybrid_sliding : layer_kind::hybrid;
    e.caches.insert(e.caches.begin(), state(checked_count(own.heads) * own.k_size * 2U, 0U).caches[0]);
    e.is_list = true;
    m.add(i, std::move(e));
  }
}
/// gear.py: convolutions over keys and values in place of attention in some layers.
inline void gear(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layer_types");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    const std::string_view word = i < words.size() ? std::string_view(words[i]) : "full_attention";
    if (word == "full_attention") m.add(i, full(kv(f)));
    else if (word == "sliding_attention") m.add(i, sliding(kv(f), f.count("sliding_window", 1).value_or(512)));
    else {
      cache_entry conv = state(
          (checked_count(f.count("conv_L_cache", 2).value_or(3)) - 1U) * f.kv_heads() * f.size_of_head() * 2U, 0U);
      conv.kind = layer_kind::conv;
      m.add(i, std::move(conv));
    }
  }
}
/// gemma3n.py: the last layers have no cache of their own.
inline void gemma3n(const fields& f, cached_model& m) {
  const std::uint64_t layers = f.layers(), shared = f.required("num_kv_shared_layers", 0);
  const std::vector<std::string> words = f.words("layer_types");
  if (words.empty()) f.config().fail_missing("layer_types", "a word for each layer");
  for (std::uint64_t i = 0; shared < layers && i < layers - shared && i < words.size(); ++i) {
    m.add(i, words[i] == "full_attention" ? full(kv(f)) : sliding(kv(f), f.required("sliding_window")));
  }
}
/// step3p5.py: layers with a window may have heads of their own.
inline void step3p5(const fields& f, cached_model& m) {
  const std::vector<std::string> words = f.words("layer_types");
  const auto other = f.config().object("attention_other_setting");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    const bool slides = i < words.size() ? words[i] == "sliding_attention" : i % 2 == 0;
    std::uint64_t heads = f.required("num_attention_groups");
    if (slides && other) heads = other->count("num_attention_groups", 1).value_or(heads);
    const cache own = kv(heads, f.size_of_head(), f.size_of_head());
    m.add(i, slides ? sliding(own, f.count("sliding_window", 1).value_or(512)) : full(own));
  }
}
/// exaone4.py: a pattern of L and G, or none at all.
inline void exaone4(const fields& f, cached_model& m) {
  const auto word = f.config().field("sliding_window_pattern");
  const std::string pattern = word && word->value().is_string() ? word->value().get<std::string>() : "";
  if (word && !word->value().is_string()) word->fail("not a string", "letters L and G, or null");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    const bool local = !pattern.empty() && pattern[i % pattern.size()] == 'L';
    m.add(i, local ? sliding(kv(f), f.required("sliding_window")) : full(kv(f)));
  }
}
/// plamo3.py
inline void plamo3(const fields& f, cached_model& m) {
  const std::uint64_t period = f.count("sliding_window_pattern", 1).value_or(8);
  const std::uint64_t window = f.count("sliding_window", 1).value_or(f.count("window_size", 1).value_or(2048));
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    m.add(i, (i + 1) % period == 0 ? full(kv(f)) : sliding(kv(f), window));
  }
}
/// Keys and values of all heads, made from the latent (deepseek_v2.py, youtu_llm.py).
inline void every_layer_expanded(const fields& f, cached_model& m) {
  const std::uint64_t k = f.required("qk_nope_head_dim", 0) + f.required("qk_rope_head_dim", 0);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(f.heads(), k, f.required("v_head_dim"))));
}
/// minicpm3.py: the same, with values of hidden_size // num_attention_heads.
inline void minicpm3(const fields& f, cached_model& m) {
  const std::uint64_t k = f.required("qk_nope_head_dim", 0) + f.required("qk_rope_head_dim", 0);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(f.heads(), k, f.hidden() / f.heads())));
}
/// longcat_flash.py: two attentions in a layer.
inline void longcat_flash(const fields& f, cached_model& m) {
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, {layer_kind::full, {latent(f), latent(f)}, true});
}
/// iquestloopcoder.py: every layer is run twice, the second time in a window; nanbeige.py: num_loops times.
inline void loop_coder(const fields& f, cached_model& m) {
  every_layer(f, m);
  const std::uint64_t window = f.count("loop_window_size", 1).value_or(64);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, sliding(kv(f), window));
}
inline void nanbeige(const fields& f, cached_model& m) {
  const std::uint64_t loops = f.count("num_loops").value_or(1);
  (void)f.limited((checked_count(loops) * f.layers()).value());
  for (std::uint64_t k = 0; k < loops; ++k) every_layer(f, m);
}
/// afm7.py: the last layers use the cache of the one before them.
inline void afm7(const fields& f, cached_model& m) {
  const std::uint64_t layers = f.layers(), reuse = f.required("num_kv_reuse_layers", 0);
  for (std::uint64_t i = 0; reuse < layers && i < layers - reuse; ++i) m.add(i, full(kv(f)));
}
/// nemotron-nas.py: a number of heads for each layer that attends.
inline void nemotron_nas(const fields& f, cached_model& m) {
  const auto blocks = f.config().array("block_configs");
  if (!blocks) f.config().fail_missing("block_configs", "an entry for each layer");
  const std::uint64_t heads = f.heads(), size = f.size_of_head();
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    if (i >= blocks->value().size()) blocks->fail("shorter than num_hidden_layers", "an entry for each layer");
    const auto attention = blocks->child(i).object("attention");
    if (!attention) blocks->child(i).fail_missing("attention", "an object");
    if (attention->boolean("no_op").value_or(false) || attention->boolean("replace_with_linear").value_or(false))
      continue;
    const auto group = attention->count("n_heads_in_group", 1);
    if (!group) attention->fail_missing("n_heads_in_group", "a whole number");
    m.add(i, full(kv(heads / *group, size, size)));
  }
}
/// gpt_bigcode.py
inline void gpt_bigcode(const fields& f, cached_model& m) {
  const std::uint64_t size = f.size_of_head();
  const std::uint64_t heads = f.config().boolean("multi_query").value_or(true) ? 1 : f.heads();
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(heads, size, size)));
}
/// dbrx.py
inline void dbrx(const fields& f, cached_model& m) {
  const auto attention = f.config().object("attn_config");
  const auto heads = attention ? attention->count("kv_n_heads", 1) : std::nullopt;
  if (!heads) f.config().fail_missing("attn_config", "an object with kv_n_heads");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(*heads, f.size_of_head(), f.size_of_head())));
}
/// openelm.py
inline void openelm(const fields& f, cached_model& m) {
  const auto heads = f.config().array("num_kv_heads");
  if (!heads) f.config().fail_missing("num_kv_heads", "a number for each layer");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    if (i >= heads->value().size()) heads->fail("shorter than num_transformer_layers", "a number for each layer");
    m.add(i, full(kv(heads->child(i).count(1), f.size_of_head(), f.size_of_head())));
  }
}
/// plamo.py: n_shared_head query heads share keys and values.
inline void plamo(const fields& f, cached_model& m) {
  const std::uint64_t heads = div_ceil(checked_count(f.heads()), f.count("n_shared_head", 1).value_or(8)).value();
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(heads, f.size_of_head(), f.size_of_head())));
}
/// qwen.py: heads of kv_channels.
inline void qwen(const fields& f, cached_model& m) {
  const std::uint64_t size = f.count("kv_channels", 1).value_or(128);
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) m.add(i, full(kv(f.heads(), size, size)));
}
/// mistral3.py: the language model's class by its model type; none of them is asked for a cache.
inline void mistral3(const fields& f, cached_model& m) {
  if (f.config().model_type() == "mistral4") {
    m.reads_quantized = false;
    every_layer_latent(f, m);
  } else {
    every_layer(f, m);
  }
}
/// minimax_m3_vl.py: index keys without values beside the cache of sparse layers; a list of one in the others.
inline void minimax_m3(const fields& f, cached_model& m) {
  const auto nested = f.config().object("sparse_attention_config");
  const auto part = [&](std::string_view in_object, std::string_view flat) {
    const auto own = nested ? nested->count(in_object) : std::nullopt;
    return own ? own : f.stated(flat);
  };
  const std::vector<std::string> words = f.words("layer_types");
  auto frequency = f.config().array("sparse_attention_freq");
  if (nested) {
    if (const auto own = nested->array("sparse_attention_freq")) frequency = own;
  }
  const auto block = part("sparse_block_size", "index_block_size");
  for (std::uint64_t i = 0, n = f.layers(); i < n; ++i) {
    bool sparse = block.has_value();
    if (sparse && i < words.size()) sparse = words[i] != "full_attention";
    else if (sparse && frequency && i < frequency->value().size()) sparse = frequency->child(i).count() != 0;
    cache_entry e{sparse ? layer_kind::indexed : layer_kind::full, {kv(f)}, true};
    if (sparse) e.caches.push_back(kv(1, part("sparse_index_dim", "index_head_dim").value_or(0), 0));
    m.add(i, std::move(e));
  }
}

}  // namespace kvbudget::detail::mlx_lm
