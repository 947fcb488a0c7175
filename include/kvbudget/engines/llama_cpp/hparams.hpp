// What llama.cpp makes of the keys of a GGUF file: its layers and their sizes.
//
// Source: llama.cpp 0.5.0-dev, src/llama-model.cpp (llama_model_base::load_hparams, load_swa_pattern),
// src/llama-hparams.cpp (n_embd_r, n_embd_s, set_swa_pattern …), load_arch_hparams of src/models/*.cpp.
#pragma once

#include <kvbudget/engines/llama_cpp/metadata.hpp>

namespace kvbudget::detail::llama_cpp {

/// What one layer is, after the architecture's rules.
struct layer_facts {
  std::uint32_t head_count_kv = 0;
  std::uint32_t compress_ratio = 0;
  bool slides = false;
  bool recurrent = false;
  bool indexer = false;
  bool has_ffn = true;
};

/// llama_hparams: what the engine goes by when it creates its memory.
struct hparams {
  const llama_cpp::architecture* architecture = nullptr;
  refusal refused;                ///< why the engine does not load this file
  std::uint32_t block_count = 0;  ///< as the file says, whatever becomes of it
  std::uint32_t n_ctx_train = 0;
  std::uint32_t n_embd = 0;
  std::uint32_t n_layer_all = 0;  ///< with the layers for multi-token prediction
  std::uint32_t n_layer_nextn = 0;
  bool router_layer = false;
  bool causal_attn = true;
  std::uint32_t n_layer_kv = 0;  ///< the first so many layers have a cache
  std::uint32_t n_head = 0;      ///< of layer 0
  std::uint32_t n_embd_head_k_full = 0;
  std::uint32_t n_embd_head_v_full = 0;
  std::uint32_t n_embd_head_k_swa = 0;
  std::uint32_t n_embd_head_v_swa = 0;
  bool is_mla = false;
  bool has_window = false;     ///< swa_type is not NONE
  bool draft_of_dsv4 = false;  ///< one window over all layers, prediction layers included (dflash)
  std::uint32_t n_swa = 0;
  std::uint32_t n_layer_dense_lead = 0;
  std::uint32_t indexer_head_size = 0;
  std::uint32_t indexer_kpool = 0;
  std::uint32_t indexer_top_k = 0;
  checked_count n_embd_r;        ///< elements of a layer's convolution or token-shift state
  checked_count n_embd_s;        ///< elements of a layer's recurrent state
  checked_count ple_conv_state;  ///< elements of the n-gram embedding's history, kept on `ple_layer`
  std::uint32_t ple_layer = max_layers;
  layer_facts layers[max_layers]{};

  /// Layers of the model proper.
  [[nodiscard]] constexpr std::uint32_t n_layer() const noexcept { return n_layer_all - n_layer_nextn; }
  [[nodiscard]] constexpr std::uint32_t n_embd_head_k(std::uint32_t il) const noexcept {
    return layers[il].slides ? n_embd_head_k_swa : n_embd_head_k_full;
  }
  [[nodiscard]] constexpr std::uint32_t n_embd_head_v(std::uint32_t il) const noexcept {
    return layers[il].slides ? n_embd_head_v_swa : n_embd_head_v_full;
  }
};

/// A draft on a DeepSeek-V4 backbone (models/dflash.cpp): every layer slides, and none may be compressed.
constexpr void load_backbone_window(const metadata& m, hparams& h) noexcept {
  h.n_swa = m.sliding_window.value_or(0);
  h.has_window = h.draft_of_dsv4 = true;
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    h.layers[il].slides = true;
    if (m.compress_ratios[il] != 0) {
      h.refused = {refusal_reason::unusable_value, 0, m.compress_ratios[il], "attention.compress_ratios"};
    }
  }
  if (!m.sliding_window) h.refused = {refusal_reason::missing_key, 0, 0, "attention.sliding_window"};
  else if (h.n_swa == 0) h.refused = {refusal_reason::unusable_value, 0, 0, "attention.sliding_window"};
}

/// llama_model_base::load_swa_pattern: is there a window, and how wide is it?
constexpr void load_window_width(const metadata& m, hparams& h) noexcept {
  const architecture& a = *h.architecture;
  const std::uint32_t given = m.sliding_window.value_or(0);
  h.n_swa = m.sliding_window.value_or(a.window);
  switch (a.window_when) {
    case window_rule::never: h.n_swa = 0; return;
    case window_rule::always: h.has_window = true; return;
    case window_rule::of_64_layers: h.has_window = h.n_layer() == 64; return;
    case window_rule::chunked: h.has_window = !m.sliding_window || given > 0; break;
    case window_rule::if_given:
    case window_rule::fixed:
    case window_rule::attention_layers:
    case window_rule::draft: h.has_window = given > 0; break;
  }
  const bool own_width = a.window_when == window_rule::fixed || a.window_when == window_rule::chunked;
  if (own_width && h.has_window) h.n_swa = a.window;
}

/// llama_hparams::set_swa_pattern: which layers slide, by the file's array or the architecture's period.
constexpr void load_window_pattern(const metadata& m, hparams& h) noexcept {
  const architecture& a = *h.architecture;
  const bool listed = m.sliding_window_pattern.is_list();
  if (a.pattern == pattern_rule::all || listed) {
    for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
      h.layers[il].slides = a.pattern == pattern_rule::all || m.sliding_window_pattern[il] != 0;
    }
    return;
  }
  if (a.pattern == pattern_rule::in_file) {
    h.refused = {refusal_reason::missing_key, 0, 0, "attention.sliding_window_pattern"};
    return;
  }
  const std::uint32_t period = m.sliding_window_pattern.given() ? m.sliding_window_pattern[0] : a.period;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    h.layers[il].slides =
        period == 0 || (a.pattern == pattern_rule::period ? il % period < period - 1 : il % period != 0);
  }
}

constexpr void load_window(const metadata& m, hparams& h) noexcept {
  const architecture& a = *h.architecture;
  load_window_width(m, h);
  if (a.window_when == window_rule::draft && m.hyper_connection_count > 0) return load_backbone_window(m, h);
  if (!h.has_window) return;
  if (a.window_when == window_rule::attention_layers) {
    for (std::uint32_t il = 0; il < h.n_layer(); ++il) h.layers[il].slides = !h.layers[il].recurrent;
    return;
  }
  if (!m.sliding_window && a.window == 0) {
    h.refused = {refusal_reason::missing_key, 0, 0, "attention.sliding_window"};
    return;
  }
  load_window_pattern(m, h);
}

constexpr void load_recurrent_layers(const metadata& m, hparams& h) noexcept {
  const architecture& a = *h.architecture;
  const std::uint32_t interval = m.full_attention_interval.value_or(a.recurrent_interval);
  if (a.recurrent == recurrent_rule::interval && !m.recurrent_layers.given() && interval == 0) {  // divided by
    h.refused = {refusal_reason::unusable_value, 0, 0, "full_attention_interval"};
    return;
  }
  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    layer_facts& l = h.layers[il];
    const bool in_trunk = il < h.n_layer();
    switch (a.recurrent) {
      case recurrent_rule::none: break;
      case recurrent_rule::all:
      case recurrent_rule::every_layer_is_both: l.recurrent = true; break;
      case recurrent_rule::no_kv_heads: l.recurrent = in_trunk && l.head_count_kv == 0; break;
      case recurrent_rule::no_kv_heads_no_ffn: l.recurrent = in_trunk && l.head_count_kv == 0 && !l.has_ffn; break;
      case recurrent_rule::interval:
        if (m.recurrent_layers.given()) l.recurrent = m.recurrent_layers[il] != 0;
        else l.recurrent = in_trunk && (il + 1) % interval != 0;
        break;
    }
  }
}

constexpr void load_indexer(const metadata& m, hparams& h) noexcept {
  const bool new_glm = h.n_ctx_train >= 1'048'576;  // GLM 5.2 and later share indexers
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    bool own = false;
    if (h.architecture->indexer == indexer_rule::every_layer) own = true;
    else if (m.indexer_types.given()) own = m.indexer_types[il] != 0;
    else if (h.architecture->indexer == indexer_rule::all_or_file) own = true;
    // Layers 0 … 2, then every fourth; the engine's list ends after 78 layers.
    else if (h.architecture->indexer == indexer_rule::glm_or_file) own = !new_glm || il < 2 || (il < 78 && il % 4 == 2);
    h.layers[il].indexer = own;
  }
}

/// llama_hparams::n_embd_r and n_embd_s, of the keys that the architecture's loader reads.
constexpr void load_states(const metadata& m, hparams& h) noexcept {
  const checked_count n_embd = h.n_embd;
  const checked_count heads = h.n_head;
  const checked_count kernel_less_one = m.ssm_conv_kernel > 0 ? m.ssm_conv_kernel - 1 : 0U;
  switch (h.architecture->states) {
    case state_rule::none: break;
    case state_rule::mamba:
    case state_rule::mamba_groups: {
      const std::uint32_t groups = h.architecture->states == state_rule::mamba_groups ? m.ssm_group_count : 0U;
      h.n_embd_r = kernel_less_one * (checked_count(m.ssm_inner_size) + checked_count(2U) * groups * m.ssm_state_size);
      h.n_embd_s = checked_count(m.ssm_state_size) * m.ssm_inner_size;
      break;
    }
    case state_rule::kda: {
      const checked_count kda = m.kda_head_dim;
      const checked_count kernel = m.ssm_conv_kernel > 0 ? kernel_less_one : checked_count(3U);
      h.n_embd_r = checked_count(3U) * kernel * heads * kda;  // Q, K and V
      h.n_embd_s = kda * kda * heads;
      break;
    }
    case state_rule::short_conv:
      if (m.shortconv_l_cache != 0) h.n_embd_r = n_embd * (m.shortconv_l_cache - 1);
      break;
    case state_rule::wkv:
      if (m.wkv_head_size != 0) h.n_embd_r = checked_count(m.token_shift_count) * n_embd;
      h.n_embd_s = n_embd * m.wkv_head_size;
      break;
    case state_rule::lightning: h.n_embd_s = checked_count(h.n_embd_head_k_full) * h.n_embd_head_k_full * heads; break;
  }
  if (h.architecture->ngrams && m.ple_layer && m.ple_conv_kernel > 0) {
    h.ple_layer = *m.ple_layer;
    h.ple_conv_state = checked_count(m.ple_conv_kernel - 1) * m.ple_ngram_size * m.hyper_connection_count * n_embd;
  }
}

/// Does the loader read attention.indexer.* (and may it find indexer types there)?
[[nodiscard]] constexpr bool reads_indexer(const architecture& a) noexcept {
  switch (a.memory) {
    case memory_kind::hybrid_idx:
    case memory_kind::dsa:
    case memory_kind::dsa_iswa:
    case memory_kind::msa:
    case memory_kind::dsv4: return true;
    default: return false;
  }
}
[[nodiscard]] constexpr bool reads_indexer_types(const metadata& m) noexcept {
  const architecture& a = *m.architecture;
  if (!reads_indexer(a) || a.indexer == indexer_rule::every_layer) return false;
  return a.memory != memory_kind::dsa || a.indexer != indexer_rule::none_or_file || m.indexer_top_k > 0;  // hy_v4
}

/// Lists must have one entry a layer, where the loader looks at them.
constexpr void check_lists(const metadata& m, hparams& h) noexcept {
  const architecture& a = *m.architecture;
  struct checked_list {
    const per_layer& values;
    std::uint32_t length;
    std::string_view key;
    bool read;
  };
  const bool recurrent = a.recurrent == recurrent_rule::interval;
  for (const checked_list& c :
       {checked_list{m.head_count, m.block_count, "attention.head_count", true},
        checked_list{m.head_count_kv, m.block_count, "attention.head_count_kv", true},
        checked_list{m.feed_forward_length, m.block_count, "feed_forward_length", true},
        checked_list{m.recurrent_layers, m.block_count, "attention.recurrent_layers", recurrent},
        checked_list{m.compress_ratios, m.block_count, "attention.compress_ratios", a.ngrams},
        checked_list{m.indexer_types, h.n_layer(), "attention.indexer.types",
                     reads_indexer_types(m) && a.memory != memory_kind::dsa_iswa}}) {
    if (c.read && c.values.is_list() && c.values.size() != c.length) {
      h.refused = {refusal_reason::wrong_array_length, 0, 0, c.key};
    }
  }
  if (a.memory == memory_kind::dsv4 && m.compress_ratios.size() < h.n_layer_all) {
    h.refused = {refusal_reason::wrong_array_length, 0, 0, "attention.compress_ratios"};
  }
}

/// Heads of 0 elements, or none, in an attention layer.
[[nodiscard]] constexpr std::string_view unusable_attention_size(const hparams& h) noexcept {
  const architecture& a = *h.architecture;
  const bool both = a.recurrent == recurrent_rule::every_layer_is_both;
  bool attention = false;
  bool kv_heads = false;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    attention = attention || !h.layers[il].recurrent || both;
    kv_heads = kv_heads || h.layers[il].head_count_kv > 0;
  }
  // Without any KV head a hybrid has no attention layer, but where each layer is both.
  const bool needs_heads = a.memory == memory_kind::attention || kv_heads || both;
  if (a.memory == memory_kind::none || !attention || !needs_heads) return {};
  if (h.n_head == 0 && !a.key_length_without_heads) return "attention.head_count";
  if (!kv_heads && h.n_layer() > 0) return "attention.head_count_kv";
  if (h.n_embd_head_k_full == 0) return "attention.key_length";
  if (h.n_embd_head_v_full == 0 && !h.is_mla) return "attention.value_length";
  return {};
}

/// A size of which a kind of state is made, and the key that has it.
struct state_size {
  state_rule states;
  std::uint32_t metadata::*value;
  std::string_view key;
};
inline constexpr state_size state_sizes[] = {
    {state_rule::short_conv, &metadata::embedding_length, "embedding_length"},
    {state_rule::short_conv, &metadata::shortconv_l_cache, "shortconv.l_cache"},
    {state_rule::wkv, &metadata::embedding_length, "embedding_length"},
    {state_rule::wkv, &metadata::wkv_head_size, "wkv.head_size"},
    {state_rule::kda, &metadata::kda_head_dim, "kda.head_dim"},
    {state_rule::kda, &metadata::ssm_conv_kernel, "ssm.conv_kernel"},
    {state_rule::mamba, &metadata::ssm_conv_kernel, "ssm.conv_kernel"},
    {state_rule::mamba, &metadata::ssm_inner_size, "ssm.inner_size"},
    {state_rule::mamba, &metadata::ssm_state_size, "ssm.state_size"},
};

[[nodiscard]] constexpr std::string_view unusable_state_size(const metadata& m, const hparams& h) noexcept {
  bool recurrent = false;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) recurrent = recurrent || h.layers[il].recurrent;
  if (!recurrent) return {};
  const state_rule said = h.architecture->states;
  const state_rule states = said == state_rule::mamba_groups ? state_rule::mamba : said;
  for (const state_size& size : state_sizes) {
    if (size.states == states && m.*size.value == 0) return size.key;
  }
  return {};
}

/// Sizes of 0 that would make tensors without elements: the engine stops there (llama_model_loader::create_tensor).
constexpr void check_sizes(const metadata& m, hparams& h) noexcept {
  if (h.refused) return;
  std::string_view key = unusable_attention_size(h);
  if (key.empty()) key = unusable_state_size(m, h);
  if (!key.empty()) h.refused = {refusal_reason::unusable_value, 0, 0, key};
}

/// Numbers of layers with which the loader goes no further.
[[nodiscard]] constexpr refusal refusal_of_layers(const metadata& m) noexcept {
  if (m.refused) return m.refused;
  const std::uint32_t loops = m.architecture->loops ? m.num_loops : 1U;
  if (loops == 0) return {refusal_reason::unusable_value, 0, 0, "num_loops"};
  if (m.block_count == 0 || std::uint64_t{m.block_count} * loops > max_layers) {
    return {refusal_reason::block_count_out_of_range};
  }
  if (m.nextn_predict_layers > m.block_count) return {refusal_reason::nextn_layers_exceed_block_count};
  return {};
}

/// What does not depend on a layer.
constexpr void load_model(const metadata& m, hparams& h) noexcept {
  const architecture& a = *m.architecture;
  h.architecture = m.architecture;
  h.block_count = m.block_count;
  h.n_ctx_train = m.context_length;
  h.n_embd = m.embedding_length;
  h.causal_attn = m.causal.value_or(true) && a.causal;
  if (a.memory == memory_kind::msa) h.n_layer_dense_lead = m.leading_dense_block_count;
  if (reads_indexer(a)) {
    h.indexer_head_size = m.indexer_key_length;
    h.indexer_top_k = m.indexer_top_k;
    if (a.indexer == indexer_rule::all_or_file) h.indexer_kpool = m.indexer_kpool;
  }
}

constexpr void load_heads(const metadata& m, hparams& h) noexcept {
  const architecture& a = *m.architecture;
  h.n_head = m.head_count[0];
  const bool has_heads = h.n_head > 0;
  const std::uint32_t head = has_heads ? h.n_embd / h.n_head : 0U;
  if (has_heads || a.key_length_without_heads) {
    h.n_embd_head_k_full = m.key_length.value_or(head);
    h.n_embd_head_v_full = m.value_length.value_or(head);
  }
  h.n_embd_head_k_swa = m.key_length_swa.value_or(h.n_embd_head_k_full);
  h.n_embd_head_v_swa = m.value_length_swa.value_or(h.n_embd_head_v_full);
  if (a.value_is_latent) h.n_embd_head_v_full = m.kv_lora_rank;
  h.is_mla = a.latent && m.key_length_mla != 0 && m.value_length_mla != 0;
}

/// The layers as the file counts them; a looped model repeats them, and each pass has a cache of its own.
constexpr void load_layers(const metadata& m, hparams& h) noexcept {
  const architecture& a = *m.architecture;
  h.n_layer_all = m.block_count;
  h.n_layer_nextn = m.nextn_predict_layers;
  for (std::uint32_t il = 0; il < m.block_count; ++il) {
    layer_facts& l = h.layers[il];
    l.head_count_kv = m.head_count_kv.given() ? m.head_count_kv[il] : m.head_count[il];
    l.has_ffn = m.feed_forward_length[il] != 0;
    l.compress_ratio = m.compress_ratios[il];
  }
  if (a.loops && m.num_loops > 1) {
    const std::uint32_t trunk = h.n_layer();
    for (std::uint32_t il = trunk; il < trunk * m.num_loops; ++il) h.layers[il] = h.layers[il % trunk];
    h.n_layer_all = trunk * m.num_loops;
  }
  if (a.has_router_layer && h.n_layer() < max_layers) {
    h.n_layer_all = h.n_layer() + 1;
    h.n_layer_nextn = 1;
    h.router_layer = true;
    h.layers[h.n_layer()] = layer_facts{};
    h.layers[h.n_layer()].head_count_kv = 1;
  }
  h.n_layer_kv = h.n_layer_all;
  if (a.kv_layers_from_start >= 0) h.n_layer_kv = static_cast<std::uint32_t>(a.kv_layers_from_start);
  if (a.shares_kv_from_file) {
    h.n_layer_kv = m.shared_kv_layers < h.n_layer_all ? h.n_layer_all - m.shared_kv_layers : 0U;
  }
}

/// A window that no layer uses, and layers that find none to share K and V with.
constexpr void check_windows(hparams& h) noexcept {
  const architecture& a = *h.architecture;
  if (h.has_window && !h.refused && a.memory == memory_kind::attention) {
    bool any = false;
    for (std::uint32_t il = 0; il < h.n_layer_all; ++il) any = any || h.layers[il].slides;
    if (!any) h.refused = {refusal_reason::no_layer_slides};
  }
  if (a.kv_layers_from_start < 0 && !a.shares_kv_from_file) return;
  const std::uint32_t kept = h.n_layer_kv;
  for (std::uint32_t il = kept; il < h.n_layer_all; ++il) {
    const bool slides = h.layers[il].slides;
    if (kept < 2 || h.layers[kept - (slides ? 2 : 1)].slides != slides) {
      h.refused = {refusal_reason::shared_layer_has_no_source};
    }
  }
}

/// What the engine makes of the file's keys. With `refused` the rest is only a part.
[[nodiscard]] constexpr hparams load_hparams(const metadata& m) noexcept {
  hparams h;
  load_model(m, h);
  h.refused = refusal_of_layers(m);
  if (h.refused) return h;
  // In the order in which one needs the other: sizes, layers, their kinds, what hangs on the kinds.
  load_heads(m, h);
  load_layers(m, h);
  check_lists(m, h);
  load_recurrent_layers(m, h);
  load_window(m, h);
  load_indexer(m, h);
  load_states(m, h);
  check_windows(h);
  check_sizes(m, h);
  return h;
}

}  // namespace kvbudget::detail::llama_cpp
