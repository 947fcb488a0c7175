// The steps by which llama.cpp's converter turns a config.json into the GGUF keys that matter for memory.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class). Which class takes which steps
// stands in convert.hpp.
#pragma once

#include <kvbudget/config/llama_cpp/converter_classes.hpp>
#include <kvbudget/config/transformers/layer_kinds.hpp>

namespace kvbudget::llama_cpp::detail {

/// One conversion. Every function writes the keys of one step of set_gguf_parameters.
class conversion {
 public:
  conversion(const hf_source& c, const converter_row& row) : c_(c), row_(row) {
    m_.architecture = find_architecture(row.gguf);
  }

  [[nodiscard]] metadata run() {
    using r = rules;
    if (row_.how == r::openelm) m_.block_count = layers({"num_transformer_layers"});
    else if (row_.how == r::nemotron_h || row_.how == r::nemotron_h_puzzle) m_.block_count = pattern_layers();
    else m_.block_count = layers({"n_layers", "num_hidden_layers", "n_layer", "num_layers"});
    if (row_.how == r::draft) {
      throw config_error({c_.root().file(), "/architectures", '"' + std::string(row_.hf_architecture) + '"'},
                         "a draft model, whose conversion needs the target model", "the target model's config");
    }
    if (m_.block_count > max_layers) return m_;  // refused when it is loaded
    check_fields();
    write();
    check_heads();
    return m_;
  }

 private:
  /// What the classes that read these fields refuse, and the converter would write as it stands.
  void check_fields() const {
    if (const auto window = c_.peek("sliding_window"); window && window->value().is_number()) {
      if (window->value() < 0) window->fail("negative", "a number of positions");
    }
    for (const std::string_view key : {"num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv"}) {
      const auto heads = c_.peek(key);
      if (heads && heads->value() == 0) heads->fail("out of range", "at least 1");
    }
    const auto types = c_.peek("layer_types");
    if (!types || !types->value().is_array() || types->value().empty()) return;
    const std::size_t n = types->value().size();
    if (n != m_.block_count) {
      types->fail(std::to_string(n) + " entries for " + std::to_string(m_.block_count) + " layers",
                  "one entry per layer");
    }
    for (std::size_t i = 0; i < n && i < max_layers; ++i) {
      const config::node kind = types->child(i);
      if (kind.value() == "window_attention" || kind.value() == "sparse_attention") continue;
      (void)transformers::detail::kind_of_word(kind);
    }
  }

  /// The converter would write a file that the engine takes for a model without attention.
  void check_heads() {
    const memory_kind memory = m_.architecture->memory;
    if (memory == memory_kind::none || memory == memory_kind::recurrent || m_.head_count.is_list()) return;
    if (!m_.head_count.given()) {
      // Only whether there are heads matters where K and V are stated.
      if (!m_.head_count_kv.given() || !m_.key_length) c_.fail_missing("num_attention_heads", "a whole number");
      m_.head_count = m_.head_count_kv;
    } else if (m_.head_count[0] == 0) {
      if (const auto heads = c_.field({"num_attention_heads", "n_head", "n_heads"}))
        heads->fail("out of range", "at least 1");
    }
    if (m_.key_length || m_.embedding_length != 0) return;
    if (const auto width = c_.field({"hidden_size", "n_embd", "dim"})) width->fail("out of range", "at least 1");
    c_.fail_missing("hidden_size", "a whole number");
  }

  /// A number of layers; more than 65,536 are an error.
  [[nodiscard]] std::uint32_t layers(std::initializer_list<std::string_view> keys) const {
    const auto value = c_.count(keys, 65'536);
    if (!value) c_.fail_missing("num_hidden_layers", "a number of layers");
    return *value;
  }

  /// Layers of a model whose list of kinds goes before num_hidden_layers.
  [[nodiscard]] std::uint32_t pattern_layers() const {
    for (const std::string_view key : {"block_configs", "layers_block_type"}) {
      if (row_.how == rules::nemotron_h && key == "block_configs") continue;
      if (const auto list = c_.array(key)) {
        if (list->value().size() > 65'536) list->fail("too many entries", "at most 65536");
        return static_cast<std::uint32_t>(list->value().size());
      }
    }
    return layers({"num_hidden_layers"});
  }

  void base() {
    m_.context_length = c_.count({"max_position_embeddings", "n_ctx", "n_positions", "max_length",
                                  "max_sequence_length", "model_max_length"})
                            .value_or(0);
    m_.embedding_length = c_.count({"hidden_size", "n_embd", "dim"}).value_or(0);
    if (const auto n = c_.count({"num_attention_heads", "n_head", "n_heads"})) m_.head_count = *n;
    if (const auto n = c_.count({"num_key_value_heads", "n_kv_heads"})) m_.head_count_kv = *n;
    if (c_.boolean("is_causal") == false) m_.causal = false;
    head_size(c_.count({"head_dim"}));
  }
  void head_size(std::optional<std::uint32_t> size) {
    if (!size) return;
    m_.key_length = *size;
    m_.value_length = *size;
  }
  void no_head_size() {
    m_.key_length.reset();
    m_.value_length.reset();
  }

  /// Layers for multi-token prediction after the model's own.
  void add_nextn(std::uint32_t n) {
    m_.nextn_predict_layers = n;
    m_.block_count += n;
  }
  void add_nextn() { add_nextn(c_.count_or("num_nextn_predict_layers", 0)); }

  /// A list with one entry per layer. More than 512 are an error: the engine has no room for them.
  template <class Entry>
  [[nodiscard]] per_layer list_of(const config::node& array, const Entry& entry) const {
    if (array.value().size() > max_layers) array.fail("too many entries", "at most 512 layers");
    per_layer result = per_layer::empty_list();
    for (std::size_t i = 0; i < array.value().size(); ++i) result.push_back(entry(array.child(i)));
    return result;
  }
  [[nodiscard]] per_layer numbers(const config::node& array) const {
    return list_of(array, [](const config::node& n) { return static_cast<std::uint32_t>(n.count()); });
  }
  [[nodiscard]] per_layer equal_to(const config::node& array, std::string_view word) const {
    return list_of(array, [word](const config::node& n) { return n.value() == word ? 1U : 0U; });
  }
  template <class Entry>
  [[nodiscard]] per_layer made(std::uint32_t n, const Entry& entry) const {
    per_layer result = per_layer::empty_list();
    for (std::uint32_t il = 0; il < n && il < max_layers; ++il) result.push_back(entry(il));
    return result;
  }
  [[nodiscard]] std::uint32_t own_layers() const { return m_.block_count - m_.nextn_predict_layers; }

  void sliding_window(std::optional<std::uint32_t> window) { m_.sliding_window = window; }
  /// Which layers slide, by layer_types; where the class derives that list, all but every `period`-th.
  void sliding_types(std::uint32_t period) {
    if (const auto types = c_.array("layer_types")) {
      m_.sliding_window_pattern = equal_to(*types, "sliding_attention");
    } else if (period != 0) {
      m_.sliding_window_pattern = made(own_layers(), [period](std::uint32_t il) { return (il + 1) % period != 0; });
    } else {
      c_.fail_missing("layer_types", "an array");
    }
  }

  /// Multi-head latent attention: one head, whose key is the latent and the rope part.
  void mla(std::uint32_t latent, std::uint32_t rope) {
    m_.kv_lora_rank = latent;
    m_.key_length = latent + rope;
    m_.value_length = latent;
    m_.key_length_mla = c_.need({"qk_nope_head_dim"}) + rope;
    m_.value_length_mla = c_.need({"v_head_dim"});
  }
  void deepseek2() {
    base();
    const auto origin = c_.root_architecture();
    if (origin == "DeepseekOCRForCausalLM" || origin == "DeepseekOCR2ForCausalLM" ||
        origin == "UnlimitedOCRForCausalLM") {
      m_.architecture = find_architecture("deepseek2-ocr");
      return;
    }
    m_.head_count_kv = 1;
    mla(c_.has("kv_lora_rank") ? c_.need({"kv_lora_rank"}) : 512U, c_.need({"qk_rope_head_dim"}));
  }
  void indexer() {
    m_.indexer_key_length = c_.need({"index_head_dim"});
    m_.indexer_top_k = c_.need({"index_topk"});
  }
  void ssm(std::uint32_t kernel, std::uint32_t inner, std::uint32_t state, std::uint32_t groups) {
    m_.ssm_conv_kernel = kernel;
    m_.ssm_inner_size = inner;
    m_.ssm_state_size = state;
    m_.ssm_group_count = groups;
  }
  [[nodiscard]] std::uint32_t product(std::uint32_t a, std::uint32_t b, std::string_view field) const {
    const checked_count p = checked_count(a) * b;
    if (!p.fits(~std::uint32_t{0})) {
      throw config_error({c_.root().file(), std::string("/") + std::string(field), std::to_string(a)}, "out of range",
                         "a product with " + std::to_string(b) + " below 2^32");
    }
    return static_cast<std::uint32_t>(p.value());
  }

  void falcon() {
    m_.context_length = 2048;
    m_.embedding_length = c_.need({"hidden_size"});
    m_.head_count = c_.need({"num_attention_heads", "n_head"});
    // Files of multi-query models leave the number out: 1, as in all published GGUF files. Of the others FalconConfig
    // makes the number of heads.
    const auto kv = c_.count({"num_kv_heads"});
    const bool all_heads = c_.has_class() && !c_.boolean("multi_query").value_or(true);
    m_.head_count_kv = kv ? *kv : c_.count_or("n_head_kv", all_heads ? m_.head_count[0] : 1U);
  }

  void deci() {
    const auto blocks = c_.array("block_configs");
    if (!blocks) {
      base();
      if (const auto heads = c_.array("num_key_value_heads_per_layer")) m_.head_count_kv = numbers(*heads);
      return;
    }
    const std::uint32_t heads = c_.need({"num_attention_heads"});
    m_.head_count = per_layer::empty_list();
    const auto attention = [](const config::node& block) {
      const auto at = block.object("attention");
      if (!at) block.fail_missing("attention", "an object");
      return *at;
    };
    m_.head_count = list_of(*blocks, [&](const config::node& block) {
      const config::node a = attention(block);
      return a.count("n_heads_in_group") || a.boolean("replace_with_linear").value_or(false) ? heads : 0U;
    });
    m_.head_count_kv = list_of(*blocks, [&](const config::node& block) {
      const auto group = attention(block).count("n_heads_in_group", 1);
      return group ? heads / static_cast<std::uint32_t>(*group) : 0U;
    });
    m_.context_length = c_.need({"max_position_embeddings"});
    m_.embedding_length = c_.need({"hidden_size"});
    if (heads == 0) c_.fail_missing("num_attention_heads", "at least 1");
    head_size(m_.embedding_length / heads);
  }

  void gemma3() {
    base();
    m_.context_length = c_.count_or("max_position_embeddings", 131'072);
    m_.head_count = c_.count_or("num_attention_heads", 8);
    head_size(c_.count_or("head_dim", 256));
    m_.head_count_kv = c_.count_or("num_key_value_heads", 4);
    if (c_.count({"sliding_window_pattern"}) == 1U) return;
    std::uint32_t window = c_.need({"sliding_window"});
    // Gemma3TextConfig halves the window of bidirectional models.
    if (c_.has_class() && c_.boolean("use_bidirectional_attention").value_or(false)) window = window / 2 + 1;
    sliding_window(window);
  }

  void gemma4() {
    gemma3();
    m_.shared_kv_layers = c_.need({"num_kv_shared_layers"});
    const config::node types = c_.need_array("layer_types");
    m_.sliding_window_pattern = equal_to(types, "sliding_attention");
    // The full layers' own sizes: a field, or the first full layer's entry in per_layer_config.
    const auto of_full_layers = [&](std::string_view field, std::string_view key) -> std::optional<std::uint32_t> {
      if (const auto value = c_.count({field})) return value;
      const auto configs = c_.field({"per_layer_config"});
      if (!configs || !configs->value().is_object()) return std::nullopt;
      for (std::size_t il = 0; il < types.value().size() && il < max_layers; ++il) {
        if (types.value()[il] != "full_attention") continue;
        const auto layer = configs->object(std::to_string(il));
        if (!layer) continue;
        if (const auto value = layer->count(key)) return static_cast<std::uint32_t>(*value);
      }
      return std::nullopt;
    };
    const auto full = of_full_layers("global_head_dim", "head_dim");
    if (!full) c_.fail_missing("global_head_dim", "the head size of full-attention layers");
    m_.key_length_swa = m_.value_length_swa = c_.need({"head_dim"});
    head_size(full);
    const auto kv_full = of_full_layers("num_global_key_value_heads", "num_key_value_heads");
    const auto kv_swa = c_.count({"num_key_value_heads"});
    if (kv_full && kv_swa) {
      const per_layer& slides = m_.sliding_window_pattern;
      m_.head_count_kv = made(slides.size(), [&](std::uint32_t il) { return slides[il] != 0 ? *kv_swa : *kv_full; });
    }
  }

  /// Names with and without "mamba_" in front, as FalconH1Model and GraniteHybridModel look for them.
  [[nodiscard]] std::uint32_t mamba(std::string_view a, std::string_view b = {}, std::string_view d = {}) const {
    for (const std::string_view prefix : {"", "mamba_"}) {
      for (const std::string_view key : {a, b, d}) {
        const std::string name = std::string(prefix) + std::string(key);
        if (!key.empty() && c_.has(name)) return c_.need({name});
      }
    }
    c_.fail_missing(std::string("mamba_") + std::string(a), "a whole number");
  }

  void falcon_h1() {
    m_.context_length = c_.count_or("max_position_embeddings", 0);
    m_.embedding_length = c_.need({"hidden_size", "d_model", "dim"});
    m_.head_count = c_.need({"num_attention_heads"});
    m_.head_count_kv = c_.need({"num_key_value_heads"});
    head_size(c_.count({"head_dim"}));
    if (!m_.key_length) head_size(m_.head_count[0] == 0 ? 0U : m_.embedding_length / m_.head_count[0]);
    const auto inner = c_.count({"mamba_d_ssm"});
    ssm(mamba("conv_kernel", "d_conv"),
        inner ? *inner : product(c_.need({"mamba_expand"}), m_.embedding_length, "mamba_expand"),
        mamba("state_size", "d_state"), mamba("n_groups"));
  }

  void granite_hybrid_attention(const per_layer& is_attention) {
    base();
    no_head_size();
    const bool nemotron = c_.has("ssm_state_size") && !c_.has("state_size") && !c_.has("mamba_d_state");
    ssm(mamba("conv_kernel", "d_conv"), 0,
        nemotron ? c_.need({"ssm_state_size"}) : mamba("state_size", "d_state", "state_dim"),
        mamba("n_groups", "num_groups"));
    const std::uint32_t kv = c_.need({"num_key_value_heads", "n_head_kv"});
    m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return is_attention[il] != 0 ? kv : 0U; });
  }

  void granite_hybrid() {
    per_layer is_attention;
    if (const auto types = c_.array("layer_types"); types && !types->value().empty()) {
      is_attention = equal_to(*types, "attention");
    } else if (const auto indices = c_.array("attn_layer_indices"); indices && !indices->value().empty()) {
      is_attention = listed(*indices, 0);
    } else {
      const std::uint32_t period = c_.need({"attn_layer_period"});
      const std::uint32_t offset = c_.need({"attn_layer_offset"});
      is_attention = made(m_.block_count, [&](std::uint32_t il) { return period != 0 && il % period == offset; });
    }
    bool any_state = false;
    for (std::uint32_t il = 0; il < m_.block_count; ++il) any_state = any_state || is_attention[il] == 0;
    granite_hybrid_attention(is_attention);
    m_.ssm_inner_size = product(mamba("expand", "num_heads"), m_.embedding_length, "mamba_expand");
    const bool bamba = row_.hf_architecture == "BambaForCausalLM";
    if (any_state && !bamba) m_.context_length = 1U << 20U;
    if (!any_state) {
      const bool experts = c_.count({"num_experts_per_tok", "num_experts_per_token"}).value_or(0) != 0;
      m_.architecture = find_architecture(experts ? "granitemoe" : "granite");
    }
  }

  /// 1 for the layers in a list of indices that starts at `first`.
  [[nodiscard]] per_layer listed(const config::node& indices, std::uint64_t first) const {
    const per_layer values = numbers(indices);
    return made(own_layers(), [&](std::uint32_t il) {
      for (std::uint32_t i = 0; i < values.size(); ++i) {
        if (values[i] == il + first) return 1U;
      }
      return 0U;
    });
  }

  /// Per layer: is it attention, does it have a feed-forward part. From a string of letters or a list of words.
  void nemotron_h() {
    const bool moe = c_.has("num_experts_per_tok");
    if (moe) m_.architecture = find_architecture("nemotron_h_moe");
    auto pattern = c_.field({"hybrid_override_pattern"});
    if (!pattern) pattern = c_.array("layers_block_type");
    if (!pattern) c_.fail_missing("hybrid_override_pattern", "a pattern of layer kinds");
    per_layer attention = per_layer::empty_list();
    per_layer ffn = per_layer::empty_list();
    const std::uint32_t width =
        moe ? c_.need({"moe_intermediate_size"}) : c_.need({"intermediate_size", "n_inner", "hidden_dim"});
    if (pattern->value().is_string()) {
      const auto letters = pattern->value().get<std::string>();
      if (letters.size() != m_.block_count) pattern->fail("wrong length", "one letter per layer");
      for (const char letter : letters) {
        attention.push_back(letter == '*');
        ffn.push_back(letter == (moe ? 'E' : '-') ? width : 0U);
      }
    } else {
      if (!pattern->value().is_array()) pattern->fail("not a pattern", "a string or an array");
      if (pattern->value().size() != m_.block_count) pattern->fail("wrong length", "one entry per layer");
      attention = list_of(*pattern, [](const config::node& n) {
        return n.value() == "attention" || n.value() == "full_attention" ? 1U : 0U;
      });
      ffn = list_of(*pattern, [&](const config::node& n) { return n.value() == "moe" ? width : 0U; });
    }
    if (moe) {
      add_nextn();
      for (std::uint32_t i = 0; i < m_.nextn_predict_layers && attention.size() < max_layers; ++i) {
        attention.push_back(1);
        ffn.push_back(width);
      }
    }
    nemotron_h_rest(attention, ffn);
  }
  void nemotron_h_rest(const per_layer& attention, const per_layer& ffn) {
    granite_hybrid_attention(attention);
    m_.context_length = 1U << 20U;
    m_.ssm_inner_size = product(mamba("num_heads"), mamba_model_width(), "mamba_num_heads");
    m_.feed_forward_length = ffn;
    const auto head = c_.has("head_dim") ? c_.count({"head_dim"}) : c_.count({"attention_head_dim"});
    if (!head) c_.fail_missing("head_dim", "a head size");
    head_size(head);
  }
  [[nodiscard]] std::uint32_t mamba_model_width() const {
    return c_.need({"mamba_head_dim", "hidden_size", "d_model"});
  }

  void kimi() {
    base();
    const bool k3 = row_.how == rules::kimi && row_.gguf == "kimi-k3";
    const config::node linear = c_.need_object("linear_attn_config");
    const auto full = linear.array("full_attn_layers");
    if (!full) linear.fail_missing("full_attn_layers", "an array");
    m_.head_count_kv = listed(*full, 1);
    m_.ssm_conv_kernel = static_cast<std::uint32_t>(linear.count("short_conv_kernel_size").value_or(0));
    m_.kda_head_dim = static_cast<std::uint32_t>(linear.count("head_dim").value_or(0));
    const std::uint32_t rope = c_.need({"qk_rope_head_dim"});
    m_.kv_lora_rank = c_.need({"kv_lora_rank"});
    m_.key_length = m_.kv_lora_rank + rope;
    if (k3) m_.value_length = m_.kv_lora_rank;  // kimi-linear leaves the head size there
    m_.key_length_mla = c_.count_or("qk_nope_head_dim", 0) + rope;
    m_.value_length_mla = c_.count_or("v_head_dim", 0);
  }

  void glm5_next() {
    add_nextn();
    base();
    const config::node types = c_.need_array("layer_types");
    const per_layer linear_layer = equal_to(types, "linear_attention");
    m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return linear_layer[il] != 0 ? 0U : 1U; });
    const config::node linear = c_.need_object("linear_attn_config");
    m_.ssm_conv_kernel = static_cast<std::uint32_t>(linear.count("short_conv_kernel_size").value_or(0));
    m_.kda_head_dim = static_cast<std::uint32_t>(linear.count("head_dim").value_or(0));
    mla(c_.need({"kv_lora_rank"}), c_.need({"qk_rope_head_dim"}));
    indexer();
    m_.indexer_kpool = c_.need({"index_kpool"});
    if (const auto indexer_types = c_.array("indexer_types")) m_.indexer_types = equal_to(*indexer_types, "full");
    m_.hyper_connection_count = c_.count_or("hc_mult", 0);
  }

  void hy_v4() {
    deepseek2();
    const auto types = c_.array("indexer_types");
    if (types) {
      m_.indexer_types = equal_to(*types, "full");
    } else {
      const auto kinds = c_.array("layer_types");
      if (!kinds) return;
      m_.indexer_types = list_of(*kinds, [](const config::node& n) {
        return n.value() == "sparse_attention" || n.value() == "deepseek_sparse_attention" ? 1U : 0U;
      });
      bool any = false;
      for (std::uint32_t il = 0; il < m_.indexer_types.size(); ++il) any = any || m_.indexer_types[il] != 0;
      if (!any) {
        m_.indexer_types = per_layer();
        return;
      }
    }
    const per_layer all = m_.indexer_types;  // the converter writes the model's own layers only
    m_.indexer_types = made(m_.block_count, [&](std::uint32_t il) { return all[il]; });
    indexer();
  }

  void dots3() {
    const config::node types = c_.need_array("layer_types");
    const per_layer slides = equal_to(types, "sliding_attention");
    deepseek2();
    const std::uint32_t heads = c_.need({"num_attention_heads"});
    const std::uint32_t heads_swa = c_.need({"swa_num_attention_heads"});
    m_.head_count = made(m_.block_count, [&](std::uint32_t il) { return slides[il] != 0 ? heads_swa : heads; });
    sliding_window(c_.need({"sliding_window_size"}));
    m_.sliding_window_pattern = slides;
    const std::uint32_t latent = c_.need({"swa_kv_lora_rank"});
    m_.key_length_swa = latent + c_.need({"swa_qk_rope_head_dim"});
    m_.value_length_swa = latent;
    indexer();
    m_.indexer_types = made(m_.block_count, [&](std::uint32_t il) { return slides[il] == 0; });
  }

  void deepseek4() {
    base();
    sliding_window(c_.need({"sliding_window"}));
    indexer();
    m_.compress_ratios = numbers(c_.need_array("compress_ratios"));
    m_.hyper_connection_count = c_.need({"hc_mult"});
  }

  void bailing3() {
    add_nextn();
    base();
    const std::uint32_t n = own_layers();
    const std::uint32_t group = c_.need({"layer_group_size"});
    m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) {
      return il >= n || group == 0 || (il + 1) % group == 0 || il >= n / group * group;
    });
    m_.ssm_conv_kernel = c_.need({"short_conv_kernel_size"});
    m_.kda_head_dim = c_.need({"head_dim"});
    const std::uint32_t rope = c_.need({"qk_rope_head_dim"});
    m_.kv_lora_rank = c_.need({"kv_lora_rank"});
    m_.key_length = m_.kv_lora_rank + rope;
    m_.key_length_mla = c_.need({"qk_nope_head_dim"}) + rope;
    m_.value_length_mla = c_.need({"v_head_dim"});
  }

  void qwen_mtp() {
    // Files of Qwen3-Next do not say that the checkpoint has one such layer.
    const std::uint32_t said = c_.count_or("mtp_num_hidden_layers", 0);
    add_nextn(said != 0 ? said : 1U);
    gated_delta_net();
  }
  void gated_delta_net() {
    base();
    ssm(c_.need({"linear_conv_kernel_dim"}),
        product(c_.need({"linear_value_head_dim"}), c_.need({"linear_num_value_heads"}), "linear_num_value_heads"),
        c_.need({"linear_key_head_dim"}), c_.need({"linear_num_key_heads"}));
    const std::uint32_t n = own_layers();
    const std::uint32_t interval = c_.count_or("full_attention_interval", 4);
    m_.full_attention_interval = interval;
    if (const auto types = c_.array("layer_types")) {
      if (types->value().size() != n) types->fail("wrong length", "one entry per layer");
      const per_layer linear = equal_to(*types, "linear_attention");
      m_.recurrent_layers = made(m_.block_count, [&](std::uint32_t il) { return il < n ? linear[il] : 0U; });
    }
  }

  void qwen4() {
    gated_delta_net();
    m_.hyper_connection_count = c_.need({"hc_count"});
    m_.indexer_key_length = c_.need({"indexer_head_dim"});
    m_.indexer_top_k = c_.need({"indexer_budget"});
    const config::node layers_with_ngrams = c_.need_array("ple_layer_ids");
    if (layers_with_ngrams.value().empty()) return;
    const auto id = layers_with_ngrams.child(std::size_t{0}).count(1, max_layers);
    m_.ple_layer = static_cast<std::uint32_t>(id - 1);
    m_.ple_ngram_size = c_.need({"ngram_size"});
    m_.ple_conv_kernel = c_.need({"ple_conv_kernel_size"});
  }

  void step35() {
    add_nextn();
    base();
    const auto types = c_.array("layer_types");
    const per_layer said = types ? equal_to(*types, "sliding_attention") : per_layer();
    m_.sliding_window_pattern = made(m_.block_count, [&](std::uint32_t il) { return said[il]; });
    const std::uint32_t heads = c_.need({"num_attention_heads"});
    const std::uint32_t groups = c_.need({"num_attention_groups"});
    std::uint32_t heads_swa = heads;
    std::uint32_t groups_swa = groups;
    if (const auto other = c_.field({"attention_other_setting"}); other && other->value().is_object()) {
      heads_swa = static_cast<std::uint32_t>(other->count("num_attention_heads").value_or(heads));
      groups_swa = static_cast<std::uint32_t>(other->count("num_attention_groups").value_or(groups));
    }
    m_.head_count = made(m_.block_count, [&](std::uint32_t il) { return said[il] != 0 ? heads_swa : heads; });
    m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return said[il] != 0 ? groups_swa : groups; });
    sliding_window(c_.need({"sliding_window"}));
    m_.value_length = c_.need({"head_dim"});
  }

  void mimo2() {
    add_nextn(3);  // the converter's own number; the file says nothing of these layers
    base();
    const per_layer hybrid = numbers(c_.need_array("hybrid_layer_pattern"));
    m_.sliding_window_pattern =
        made(m_.block_count, [&](std::uint32_t il) { return il < own_layers() ? hybrid[il] : 1U; });
    const std::uint32_t kv = c_.need({"num_key_value_heads"});
    const std::uint32_t kv_swa = c_.need({"swa_num_key_value_heads"});
    const per_layer& slides = m_.sliding_window_pattern;
    m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return slides[il] == 1 ? kv_swa : kv; });
    sliding_window(c_.need({"sliding_window"}));
    m_.value_length = c_.need({"v_head_dim"});
  }

  void bert() {
    base();
    m_.causal = false;
    const bool offset =
        row_.hf_architecture.find("obert") != std::string_view::npos && row_.hf_architecture != "ModernBertModel";
    if (row_.hf_architecture.substr(0, 7) == "Roberta" || (offset && row_.hf_architecture.substr(0, 3) == "XLM")) {
      const auto pad = c_.count({"pad_token_id"});
      if (pad && m_.context_length > *pad) m_.context_length -= *pad + 1;
    }
  }

  void exaone4() {
    add_nextn();
    base();
    const auto window = c_.count({"sliding_window"});
    if (!window) return;
    sliding_window(window);
    if (const auto types = c_.array("layer_types")) {
      m_.sliding_window_pattern = equal_to(*types, "sliding_attention");
      return;
    }
    const auto pattern = c_.field({"sliding_window_pattern"});
    if (!pattern) return;
    if (pattern->value().is_string()) {  // "LLLG"
      const auto letters = pattern->value().get<std::string>();
      if (letters.empty()) return;
      m_.sliding_window_pattern =
          made(own_layers(), [&](std::uint32_t il) { return letters[il % letters.size()] == 'L'; });
    } else {
      const auto period = static_cast<std::uint32_t>(pattern->count(1));
      m_.sliding_window_pattern = made(own_layers(), [&](std::uint32_t il) { return (il + 1) % period != 0; });
    }
  }

  void llama4() {
    base();
    bool all_full = true;
    if (const auto types = c_.array("layer_types")) {
      for (const config::json& t : types->value()) all_full = all_full && t == "full_attention";
    } else if (c_.has_class()) {  // the class derives the list: layers without rope are full
      const auto no_rope = c_.array("no_rope_layers");
      const std::uint32_t interval = c_.count_or("no_rope_layer_interval", 4);
      all_full = interval == 1;
      if (no_rope && !no_rope->value().empty()) {
        all_full = true;
        for (const config::json& l : no_rope->value()) all_full = all_full && l == 0;
      }
    } else {
      return;
    }
    if (all_full) sliding_window(0);
  }

  void write();

  const hf_source& c_;
  const converter_row& row_;
  metadata m_;
};

}  // namespace kvbudget::llama_cpp::detail
