// Heads and widths of K and V, windows and index keys of each layer.
//
// Source: transformers 5.24.0, models/X/configuration_X.py and the attention class in models/X/modeling_X.py.
#pragma once

#include <kvbudget/config/layer_kinds.hpp>

namespace kvbudget::detail::transformers {

/// One position of a layer: K and V as heads x width.
struct row_shape {
  std::uint64_t k_heads = 0;
  std::uint64_t k_width = 0;
  std::uint64_t v_heads = 0;
  std::uint64_t v_width = 0;
  bool latent = false;
};

/// Types whose K and V are one latent of kv_lora_rank and one row of qk_rope_head_dim.
inline constexpr std::string_view mla_types[] = {"axk1",
                                                 "axk2",
                                                 "bailing_hybrid",
                                                 "deepseek_v2",
                                                 "deepseek_v3",
                                                 "deepseek_v32",
                                                 "dots3_note_text",
                                                 "glm4_moe_lite",
                                                 "glm5_next_text",
                                                 "glm_moe_dsa",
                                                 "hy_v4",
                                                 "hy_v4_vl_text",
                                                 "kimi_linear",
                                                 "longcat_flash",
                                                 "minicpm3",
                                                 "mistral4",
                                                 "mistral_large4_text",
                                                 "sarvam_mla",
                                                 "youtu"};

template <class Words>
[[nodiscard]] constexpr bool is_one_of(std::string_view word, const Words& words) noexcept {
  for (const std::string_view w : words) {
    if (w == word) return true;
  }
  return false;
}

/// Reads the shapes of one model. Quantities that all layers share are read once.
class attention_rows {
 public:
  /// `n` decoder layers.
  attention_rows(const model_config& c, std::size_t n, config::engine_version version)
      : c_(&c), overrides_(c, n), type_(c.model_type()), version_(version), mla_(is_one_of(type_, mla_types)) {
    if (type_ == "mistral_large4_text") rope_ = no_rope_flags(c, n);
    (void)c.count("hidden_size", 1);
    check_windows();
    if (c.heads_divide() && !(version < config::engine_version{5, 4, 0})) check_heads();
    if (mla_) check_latent_widths();
  }

  /// Layers of one kind can differ from each other.
  [[nodiscard]] bool differ_by_layer() const noexcept { return !overrides_.empty() || !rope_.empty(); }

  /// Query heads of the decoder, for naming the attention and for deriving a head size.
  [[nodiscard]] std::uint64_t num_attention_heads(std::size_t i = 0) const {
    if (type_ == "moonshine") return encoder_heads();
    for (const std::string_view field : {"decoder_attention_heads", "num_decoder_attention_heads"}) {
      if (!c_->reads(field)) continue;
      if (const auto heads = c_->count(field, 1)) return *heads;
    }
    if (type_ == "jetmoe") {  // every expert of a token has all K/V heads (configuration_jetmoe.py)
      const auto own = c_->count("num_attention_heads", 1);
      const checked_count computed =
          checked_count(c_->required_count("num_key_value_heads", 1)) * c_->count_or("num_experts_per_tok", 2, 1);
      return own ? *own : computed.value();
    }
    const auto heads = overrides_.count(i, "num_attention_heads");
    if (!heads) c_->fail_missing("num_attention_heads", "a whole number");
    if (*heads == 0) c_->fail("num_attention_heads", "zero", "at least 1");
    return *heads;
  }

  [[nodiscard]] std::uint64_t hidden_size() const {
    if (type_ == "bloom" || type_ == "falcon") {  // a legacy name that wins (configuration_bloom.py, _falcon.py)
      if (const auto legacy = c_->count("n_embed", 1)) return *legacy;
    }
    return c_->required_count("hidden_size", 1);
  }

  /// hidden_size / num_attention_heads, which must divide but where the class is known to round down.
  [[nodiscard]] std::uint64_t derived_head_dim(std::size_t i = 0) const {
    const std::uint64_t hidden = hidden_size();
    const std::uint64_t heads = num_attention_heads(i);
    // Rounded down, a head of odd width has no rotary embedding, but where that covers only a part of it.
    const bool odd = hidden / heads % 2 != 0 && type_ != "glm4_moe" && type_ != "bamba";
    if (hidden % heads != 0 && (c_->heads_divide() || !c_->reads("head_dim") || odd)) {
      fail_heads(hidden, "a divisor of hidden_size, or a head_dim of its own");
    }
    c_->derived("head_dim", hidden / heads, "hidden_size / num_attention_heads");
    return hidden / heads;
  }

  /// K and V of layer `i`. Throws config_error.
  [[nodiscard]] row_shape at(std::size_t i, layer_kind kind) const {
    if (mla_) return latent(i, kind);
    if (const auto own = of_one_width(i)) return *own;
    if (const auto own = of_kind(i, kind)) return *own;
    return square(kv_heads(i), head_dim(i));
  }

  /// Cross attention of decoder layer `i`.
  [[nodiscard]] row_shape cross_at(std::size_t i) const {
    if (type_ == "dia_decoder") {
      return square(c_->required_count("cross_num_key_value_heads", 1), c_->required_count("cross_head_dim", 1));
    }
    return at(i, layer_kind::full);
  }

  /// `sliding_window` of layer `i` as the class ends up with it; nothing when there is none.
  [[nodiscard]] std::optional<std::uint64_t> window(std::size_t i) const {
    if (is_one_of(type_, optional_window_types) && !c_->boolean("use_sliding_window").value_or(false)) {
      return std::nullopt;
    }
    if (type_ == "modernbert-decoder") {
      // Before 5.0 the class set it after the file's words (configuration_modernbert_decoder.py).
      const bool file_wins = !(version_ < config::engine_version{5, 0, 0}) || is_dump();
      if (const auto own = c_->count("sliding_window"); file_wins && c_->in_file("sliding_window") && own) return own;
      return c_->required_count("local_attention") / 2;
    }
    if (type_ == "mimo_v2_flash") {
      if (const auto legacy = c_->count("sliding_window_size"); legacy && c_->in_file("sliding_window_size"))
        return *legacy + 1;
    }
    auto result = overrides_.count(i, "sliding_window");
    if (type_ == "dots3_note_text" && !result) result = c_->count_or("sliding_window_size", 512);
    if (result && halves_window()) result = *result / 2 + 1;
    return result;
  }

  /// `attention_chunk_size` of layer `i`.
  [[nodiscard]] std::optional<std::uint64_t> chunk(std::size_t i) const {
    return overrides_.count(i, "attention_chunk_size");
  }

  struct index_shape {
    std::uint64_t width = 0;  ///< 0: this layer keeps no index keys
    bool in_float32 = false;
  };

  /// Index keys of an indexed layer.
  [[nodiscard]] index_shape index_at(std::size_t i, std::size_t n) const {
    if (type_ == "minimax_m3_vl_text") {
      const auto sparse = c_->object("sparse_attention_config");
      const auto own = sparse ? sparse->count("sparse_index_dim", 1) : std::nullopt;
      return {own ? *own : c_->count_or("index_head_dim", 128, 1), false};
    }
    if (type_ == "qwen4_exp_text") return {c_->required_count("indexer_head_dim", 1), false};
    const bool shares = type_ == "hy_v4" || type_ == "hy_v4_vl_text" || type_ == "glm_moe_dsa" ||
                        type_ == "glm5_next_text" || type_ == "mistral_large4_text";
    if (shares && !has_indexer(i, n)) return {};
    const std::uint64_t width = c_->required_count("index_head_dim", 1);
    if (type_ == "glm5_next_text") return {2 * width + 1, false};  // key, gate and a pooled score
    return {width, type_ == "dots3_note_text"};
  }

  /// Whether layer `i` runs an indexer of its own ("full") or reuses an earlier layer's choice ("shared").
  [[nodiscard]] bool has_indexer(std::size_t i, std::size_t n) const {
    if (const auto types = c_->array("indexer_types")) {
      if (types->value().size() < n) types->fail("shorter than num_hidden_layers", "one entry a layer");
      return is_full(types->child(i));
    }
    if (type_ == "hy_v4" || type_ == "hy_v4_vl_text") return i == 0 || (i - 1) % 4 == 0;
    if (const auto pattern = c_->field("index_topk_pattern")) {
      if (pattern->value().is_array()) {
        if (pattern->value().size() < n) pattern->fail("shorter than num_hidden_layers", "one entry a layer");
        return is_full(pattern->child(i));
      }
      if (!pattern->value().is_string()) pattern->fail("not a string", "a pattern of F and S");
      const auto& text = pattern->value().get_ref<const std::string&>();
      if (text.size() < n) pattern->fail("shorter than num_hidden_layers", "one letter a layer");
      if (text[i] != 'F' && text[i] != 'S') pattern->fail("unknown letter", "a pattern of F and S");
      return text[i] == 'F';
    }
    const std::uint64_t frequency = std::max<std::uint64_t>(c_->count_or("index_topk_freq", 1), 1);
    const std::uint64_t offset = c_->count_or("index_skip_topk_offset", 2);
    return (i + 1 > offset ? i + 1 - offset : 0) % frequency == 0;
  }

  [[nodiscard]] bool is_mla() const noexcept { return mla_; }

 private:
  /// The window is null unless use_sliding_window.
  static constexpr std::string_view optional_window_types[] = {
      "qwen2", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "qwen2_moe", "qwen3", "qwen3_moe"};

  [[nodiscard]] bool is_gemma4() const noexcept {
    return type_ == "gemma4_text" || type_ == "gemma4_unified_text" || type_ == "diffusion_gemma_text";
  }

  /// Gemma's bidirectional models see half a window on each side.
  [[nodiscard]] bool halves_window() const {
    const auto how = c_->field("use_bidirectional_attention");
    if (!how) return false;
    if (type_ == "gemma3_text") {
      // Until 5.16 the halved window was written back.
      return how->value() == true && !(is_dump() && version_ < config::engine_version{5, 16, 0});
    }
    return is_gemma4() && how->value() == "all";
  }

  /// A dump of a live object, which lists the base class's fields as save_pretrained never does: it holds what the
  /// class computed.
  [[nodiscard]] bool is_dump() const { return c_->root().find("chunk_size_feed_forward") != nullptr; }

  static bool is_full(const config::node& entry) {
    if (entry.value() != "full" && entry.value() != "shared") entry.fail("unknown indexer type", "full or shared");
    return entry.value() == "full";
  }

  [[nodiscard]] static row_shape square(std::uint64_t heads, std::uint64_t width) noexcept {
    return {heads, width, heads, width, false};
  }
  [[nodiscard]] row_shape fixed_heads(std::uint64_t heads, std::string_view rule) const {
    c_->derived("num_key_value_heads", heads, rule);
    return square(heads, derived_head_dim());
  }

  [[nodiscard]] std::uint64_t head_dim(std::size_t i) const {
    if (type_ == "jetmoe") return c_->required_count("kv_channels", 1);
    for (const std::string_view own : {"d_kv", "dim_head"}) {  // T5's and CPM-Ant's names
      if (c_->fate(own)) return c_->required_count(own, 1);
    }
    if (!c_->reads("head_dim") || c_->fate("head_dim") == families::field_fate::overwritten) return derived_head_dim(i);
    const auto own = overrides_.count(i, "head_dim");
    if (!own) need("head_dim");
    if (own && (type_ == "helium" || type_ == "bitnet") && *own * num_attention_heads(i) != hidden_size()) {
      c_->fail("head_dim", "heads of this width do not make up hidden_size", "hidden_size / num_attention_heads");
    }
    if (own && *own == 0 && !c_->zero_is_null("head_dim")) c_->fail("head_dim", "zero", "at least 1, or no such field");
    return own && *own != 0 ? *own : derived_head_dim(i);
  }

  /// A field that the class has without a default, and computes with.
  void need(std::string_view field) const {
    const bool declared = c_->fate(field) == families::field_fate::declared;
    if (version_ < config::engine_version{5, 4, 0} || !declared || !c_->null_is_refused(field)) return;
    c_->fail_missing(field, "a whole number, for which the class has no default");
  }

  /// Checked whatever head_dim says (validate_architecture, or the attention's own constructor).
  void check_heads() const {
    const std::uint64_t hidden = hidden_size();
    if (type_ != "moonshine" && hidden % num_attention_heads() != 0) fail_heads(hidden, "a divisor of hidden_size");
  }
  [[noreturn]] void fail_heads(std::uint64_t hidden, const char* expected) const {
    c_->fail("num_attention_heads", "does not divide hidden_size " + std::to_string(hidden), expected);
  }

  /// Layers have a window or a chunk; classes with differing layers check that.
  void check_windows() const {
    const auto bidirectional = c_->field("use_bidirectional_attention");
    if (type_ == "gemma3_text" && bidirectional && bidirectional->value() == true && !c_->field("sliding_window")) {
      c_->fail_missing("sliding_window", "a window, which bidirectional attention halves");
    }
    const bool differing = !overrides_.empty() || is_gemma4() || type_ == "dots3_note_text";
    if (differing && c_->field("attention_chunk_size") && c_->field("sliding_window")) {
      c_->fail("attention_chunk_size", "stated beside sliding_window", "one of the two");
    }
  }
  /// Widths of 0 do not run where the class has others.
  void check_latent_widths() const {
    (void)num_attention_heads();  // at least 1
    for (const std::string_view field : {"v_head_dim", "qk_rope_head_dim", "num_key_value_heads"}) {
      const bool none_is_usual = field == "qk_rope_head_dim" && (type_ == "glm5_next_text" || type_ == "kimi_linear");
      const bool counts = !none_is_usual && c_->fate(field) != families::field_fate::overwritten;
      if (counts && c_->count(field) == 0U) c_->fail(field, "zero", "at least 1");
    }
  }

  /// Moonshine's encoder and decoder share one config, and each attention writes its head counts into it: the encoder's
  /// stand there when the decoder is built (modeling_moonshine.py).
  [[nodiscard]] std::uint64_t encoder_heads() const { return c_->required_count("encoder_num_attention_heads", 1); }

  [[nodiscard]] std::uint64_t kv_heads(std::size_t i) const {
    const std::uint64_t heads = num_attention_heads(i);
    // A decoder with head counts of its own has K and V per head; the attribute would be the encoder's.
    std::optional<std::uint64_t> kv;
    if (type_ == "moonshine") kv = c_->count("encoder_num_key_value_heads");
    else if (c_->reads("num_key_value_heads")) kv = overrides_.count(i, "num_key_value_heads");
    if (!kv && type_ != "moonshine") need("num_key_value_heads");
    if (!kv) {
      c_->derived("num_key_value_heads", heads, "num_attention_heads");
      return heads;
    }
    if (type_ == "jetmoe") return *kv;  // as many for each expert, whatever the heads
    if (type_ == "diffllama" && *kv % 2 != 0) {
      c_->fail("num_key_value_heads", "odd, and V is split in two", "an even number");
    }
    if (*kv == 0 || heads % *kv != 0) {
      c_->fail("num_key_value_heads", "does not divide num_attention_heads " + std::to_string(heads),
               "a divisor of num_attention_heads");
    }
    return *kv;
  }

  /// Releases in which these types cached K and V of every head, after the up-projection: those before the second
  /// column (modeling_X.py of 5.14.1 to 5.18.0).
  [[nodiscard]] bool caches_every_head() const {
    struct gate {
      std::string_view model_type;
      config::engine_version latent_since;
    };
    constexpr config::engine_version plain{5, 15, 0}, indexed{5, 18, 0};
    constexpr gate gates[] = {{"axk2", indexed},         {"deepseek_v2", plain},   {"deepseek_v3", plain},
                              {"deepseek_v32", indexed}, {"glm4_moe_lite", plain}, {"glm_moe_dsa", indexed},
                              {"hy_v4", indexed},        {"longcat_flash", plain}, {"minicpm3", plain},
                              {"mistral4", plain},       {"youtu", plain}};
    for (const gate& g : gates) {
      if (g.model_type == type_) return version_ < g.latent_since;
    }
    return false;
  }

  /// Model types whose layers all have heads or widths of a rule of their own.
  [[nodiscard]] std::optional<row_shape> of_one_width(std::size_t i) const {
    if (type_ == "falcon") return falcon();
    if (type_ == "gpt_bigcode") {
      const bool one = c_->boolean("multi_query").value_or(true);
      return fixed_heads(one ? 1 : num_attention_heads(), "multi_query");
    }
    if (type_ == "dbrx") {
      const auto attention = c_->object("attn_config");
      const auto kv = attention ? attention->count("kv_n_heads", 1) : std::nullopt;
      return fixed_heads(kv.value_or(1), "attn_config/kv_n_heads");
    }
    if (type_ == "zamba" || type_ == "zamba2") {
      // The shared block attends over hidden states and embeddings side by side: twice the width.
      const auto width = c_->count("attention_head_dim");
      return square(kv_heads(i), width.value_or(0) != 0 ? *width : 2 * hidden_size() / num_attention_heads());
    }
    return std::nullopt;
  }
  /// The new architecture caches K and V repeated to all query heads (modeling_falcon.py).
  [[nodiscard]] row_shape falcon() const {
    const bool multi = c_->boolean("multi_query").value_or(true);
    const bool grouped = c_->boolean("new_decoder_architecture").value_or(false);
    const bool one = multi && !grouped;
    if (!multi && !grouped && c_->count_or("num_kv_heads", num_attention_heads()) != num_attention_heads()) {
      c_->fail("num_kv_heads", "not the attention heads, and multi_query is off", "no such field, or as many");
    }
    return fixed_heads(one ? 1 : num_attention_heads(), one ? "multi_query" : "repeated to all heads");
  }
  /// Model types whose full and sliding layers differ.
  [[nodiscard]] std::optional<row_shape> of_kind(std::size_t i, layer_kind kind) const {
    const bool slides = kind == layer_kind::sliding || kind == layer_kind::hybrid_sliding;
    if (slides && type_.starts_with("inkling")) {
      return square(c_->required_count("swa_num_key_value_heads", 1), c_->required_count("swa_head_dim", 1));
    }
    if (type_ == "mimo_v2_flash") {
      // Sliding layers have twice the K/V heads (modeling_mimo_v2_flash.py).
      const std::uint64_t heads = kv_heads(i) * (slides ? 2 : 1);
      return row_shape{heads, head_dim(i), heads, c_->required_count("v_head_dim"), false};
    }
    if (is_gemma4() && kind == layer_kind::full && overrides_.empty()) {
      const bool shared_kv_projection = c_->boolean("attention_k_eq_v").value_or(true);
      const auto global = c_->count("num_global_key_value_heads", 1);
      return square(global && shared_kv_projection ? *global : kv_heads(i), c_->required_count("global_head_dim", 1));
    }
    return std::nullopt;
  }

  [[nodiscard]] row_shape latent(std::size_t i, layer_kind kind) const {
    if (caches_every_head()) {
      const std::uint64_t heads = num_attention_heads();
      const auto own = c_->count("v_head_dim");
      return {heads, c_->required_count("qk_nope_head_dim") + c_->required_count("qk_rope_head_dim"), heads,
              own ? *own : derived_head_dim(), false};
    }
    if (type_ == "dots3_note_text" && kind == layer_kind::sliding && overrides_.empty()) {
      // Released files spell the sliding layers' own ranks with a prefix.
      const std::uint64_t rank = c_->count_or("swa_kv_lora_rank", 1024, 1);
      const std::uint64_t width = c_->count_or("swa_head_dim", 256);
      const std::uint64_t nope = c_->count_or("swa_qk_nope_head_dim", 192);
      if (width < nope) c_->fail("swa_head_dim", "smaller than swa_qk_nope_head_dim", "at least that");
      return {1, rank, 1, c_->count("swa_qk_rope_head_dim").value_or(width - nope), true};
    }
    const auto rank = overrides_.count(i, "kv_lora_rank");
    if (!rank) c_->fail_missing("kv_lora_rank", "a whole number");
    std::uint64_t rope = overrides_.count(i, "qk_rope_head_dim").value_or(0);
    if (!rope_.empty() && !rope_[i]) rope = 0;
    return {1, *rank, 1, rope, true};
  }

  const model_config* c_;
  layer_overrides overrides_;
  std::string_view type_;
  config::engine_version version_;
  bool mla_;
  std::vector<bool> rope_;  ///< per layer, where layers without rotary embedding keep no rope row
};

}  // namespace kvbudget::detail::transformers
