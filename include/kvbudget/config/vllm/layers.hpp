// A config's layers, read as vLLM's model classes register their caches: one function for each way of reading.
//
// Sources: model_executor/models and models/ of vLLM 0.32.0 (the file is named at each function), and the
// configuration classes of transformers for layer types that a file leaves out.
#pragma once

#include <cmath>
#include <deque>

#include <kvbudget/config/vllm/architectures.hpp>
#include <kvbudget/config/vllm/fields.hpp>
#include <kvbudget/engines/vllm/model.hpp>
#include <kvbudget/layers.hpp>

namespace kvbudget::vllm {

/// A model with the storage that it refers to.
struct owned_model {
  std::vector<layer_class> classes;
  std::vector<layer_ref> layers;
  vllm::model model;
  std::string architecture;
  std::string refusal;  ///< why vLLM does not take this checkpoint at all

  [[nodiscard]] vllm::model view() const {
    vllm::model m = model;
    m.classes = classes;
    m.layers = layers;
    return m;
  }
};

/// What the speculative_config asks for, as far as it adds layers.
struct draft_request {
  speculative_method method = speculative_method::none;
  const json* draft_config = nullptr;        ///< of a draft with a config of its own
  std::uint64_t num_speculative_tokens = 0;  ///< 0: not given
};

class layer_reader {
 public:
  layer_reader(const config_fields& fields, owned_model& into, draft_request draft)
      : f_(fields), m_(into), draft_(draft) {}

  /// Reads everything. Throws config_error for an architecture that is not known, and for fields that make no sense.
  void read() {
    const std::string name = architecture_name(f_.root(), f_.root_model_type());
    m_.architecture = name;
    const architecture* found = find_architecture(name);
    if (found == nullptr) unknown_architecture(f_.root(), name);
    multimodal_ = (found->flags & multimodal) != 0;
    bool supports_pp = (found->flags & no_pipeline) == 0;
    if (found->reading == reading::wrapper) {
      // A part that names no type is read by the class that the wrapper's class gives it; beside the wrapper's own
      // fields there is only the wrapper's name.
      const std::string_view type = f_.class_model_type();
      const bool flat = f_.text().pointer() == f_.root().pointer();
      const std::string own = f_.model_type();
      const std::string inner = flat ? architecture_of(type) : architecture_name(f_.text(), type.empty() ? own : type);
      found = find_architecture(inner);
      if (found == nullptr || found->reading == reading::wrapper) unknown_architecture(f_.text(), inner);
    }
    flags_ = found->flags;
    reading_ = found->reading;
    read_heads();
    check_heads();
    read_layer_types();
    read_layers();
    if (num_hidden_layers_ == 0) f_.text().fail_missing("num_hidden_layers", "a whole number, at least 1");
    if ((flags_ & qwen2_model) != 0) check_qwen2_windows();
    if (types_ && std::find(types_->begin(), types_->end(), transformers::layer_kind::full) == types_->end()) {
      m_.model.turboquant_finds_no_layers = m_.model.is_hybrid;
    }
    if (draft_.method != speculative_method::none) read_draft();
    m_.model.num_hidden_layers = num_hidden_layers_;
    m_.model.supports_pp = supports_pp;
    read_max_model_len();
    read_vision();
  }

 private:
  static std::string architecture_name(const node& config, std::string_view model_type) {
    if (const auto names = config.array("architectures"); names && !names->value().empty()) {
      return std::string(config_fields::word(*names, 0));
    }
    return architecture_of(model_type);
  }
  static std::string architecture_of(std::string_view model_type) {
    for (const architecture_of_type& t : architectures_of_types) {
      if (t.model_type == model_type) return std::string(t.architecture);
    }
    return {};
  }

  [[noreturn]] static void unknown_architecture(const node& config, const std::string& name) {
    for (const dropped_architecture& d : dropped_architectures) {
      if (d.name == name) {
        throw engine_refusal({config.file(), config.pointer() + "/architectures", name},
                             "supported in vLLM until v" + std::string(d.last_version) + ", and not supported anymore",
                             "an architecture of vLLM 0.32.0");
      }
    }
    const json* const value = config.find("architectures");
    const json* const type = config.find("model_type");
    if (value == nullptr && type == nullptr) config.fail_missing("architectures", "an architecture of vLLM 0.32.0");
    config.fail(value != nullptr ? "architectures" : "model_type", value != nullptr ? *value : *type,
                "the caches of this architecture are not known here", "one of the architectures of vLLM that are");
  }

  // --- shapes of the whole model (transformers_utils/model_arch_config_convertor.py) ---

  void read_heads() {
    model& m = m_.model;
    for (const std::string_view name : {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"}) {
      if (reading_ == reading::whisper && name != "decoder_layers") continue;
      if (const auto n = f_.count(name, 1, max_layers)) {
        num_hidden_layers_ = static_cast<std::uint32_t>(*n);
        break;
      }
    }
    const bool attention_free = reading_ == reading::mamba1 || reading_ == reading::mamba2;
    if (!attention_free) {
      for (const std::string_view name : {"num_attention_heads", "n_head", "decoder_attention_heads", "n_heads"}) {
        if (const auto n = f_.count(name, 1)) {
          m.num_attention_heads = static_cast<std::uint32_t>(*n);
          break;
        }
      }
      if (m.num_attention_heads == 0) f_.text().fail_missing("num_attention_heads", "a whole number");
      m.num_kv_heads = m.num_attention_heads;
      for (const std::string_view name :
           {"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"}) {
        if (const auto n = f_.count(name, 1)) {
          m.num_kv_heads = static_cast<std::uint32_t>(*n);
          break;
        }
      }
      // What these classes make of its absence: one head, or nothing that vLLM takes.
      const bool stated = f_.count("num_key_value_heads").has_value();
      if (f_.class_model_type() == "gpt_bigcode" && !stated && f_.flag("multi_query", true)) m.num_kv_heads = 1;
      if (f_.class_model_type() == "nemotron" && !stated) refuse("num_key_value_heads is not a whole number");
      m.head_size = f_.count_or("head_dim", 0);
      if (m.head_size == 0 || (flags_ & ignores_head_dim) != 0) {
        std::optional<std::uint64_t> hidden;
        for (const std::string_view name : {"hidden_size", "n_embd", "d_model"}) {
          if (!hidden) hidden = f_.count(name, 1);
        }
        if (!hidden && m.head_size == 0) f_.text().fail_missing("hidden_size", "a whole number");
        const auto size = static_cast<std::uint32_t>(hidden.value_or(0) / m.num_attention_heads);
        if (m.head_size == 0) m.head_size = size;
        else if (hidden) layer_head_size_ = size;
        if (m.head_size == 0)
          f_.text().fail("hidden_size", *hidden_field(), "less than one element a head", "num_attention_heads or more");
        f_.remember("head_dim", size, "hidden_size / num_attention_heads");
      }
    }
    m.is_attention_free = attention_free;
    m.logits_soft_cap = f_.text().find("attn_logit_softcapping") != nullptr;
    m.has_index_topk = f_.count("index_topk").has_value();
    m.qk_nope_head_dim = f_.count_or("qk_nope_head_dim", 0);
    m.qk_rope_head_dim = f_.count_or("qk_rope_head_dim", 0);
    m.kv_lora_rank = f_.count_or("kv_lora_rank", 0);
  }

  void refuse(std::string problem) {
    if (m_.refusal.empty()) m_.refusal = std::move(problem);
  }
  /// validate_architecture of the configuration classes, and layers/attention/attention.py.
  void check_heads() {
    using enum reading;
    const model& m = m_.model;
    const bool one_shape = reading_ != mimo_v2 && reading_ != step3p5 && reading_ != nemotron_nas &&
                           reading_ != falcon && reading_ != dbrx && reading_ != whisper && reading_ != deepseek_mla &&
                           reading_ != longcat_flash && reading_ != deepseek_dsa && reading_ != deepseek_v4 &&
                           reading_ != kimi_linear;
    if (one_shape && m.num_kv_heads != 0 && m.num_attention_heads % m.num_kv_heads != 0) {
      refuse("num_attention_heads is not a multiple of num_key_value_heads");
    }
    for (const std::string_view type : {"arcee", "aria_text", "cwm", "deepseek_v2", "gemma2", "gemma3_text",
                                        "gemma3n_text", "gpt_neox", "hyperclovax", "llama", "vaultgemma"}) {
      if (f_.class_model_type() != type) continue;
      if (f_.count_in_passing("hidden_size").value_or(0) % std::max(m.num_attention_heads, 1U) != 0)
        refuse("hidden_size is not a multiple of num_attention_heads");
    }
  }
  /// A state's inner width must be that of its heads, where the configuration class checks it.
  void check_state_width(std::uint32_t intermediate, std::string_view heads, std::string_view head_dim) {
    if (f_.class_model_type().empty()) return;
    if (std::uint64_t{f_.required(heads, 1)} * f_.required(head_dim, 1) != intermediate)
      refuse(std::string(heads) + " x " + std::string(head_dim) + " is not the inner width of the state");
  }

  [[nodiscard]] const json* hidden_field() const {
    for (const std::string_view name : {"hidden_size", "n_embd", "d_model"}) {
      if (const json* const value = f_.text().find(f_.key_of(name))) return value;
    }
    return &f_.text().value();
  }

  /// The window of the whole model, where it has one (config/model.py:get_sliding_window); 0 in the file means none.
  /// These classes drop it unless use_sliding_window says so.
  [[nodiscard]] static std::uint32_t window_of(const config_fields& f) {
    const std::string type = f.class_model_type().empty() ? f.model_type() : std::string(f.class_model_type());
    for (const std::string_view asking : {"qwen2", "qwen2_moe", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text",
                                          "qwen3", "qwen3_moe", "mimo"}) {
      if (type == asking && !f.flag("use_sliding_window")) return 0;
    }
    if (type == "qwen3_vl_moe_text") return 0;
    if (const json* const list = f.text().find("sliding_window"); list != nullptr && list->is_array()) return 0;
    return f.count_or("sliding_window", 0);
  }

  [[nodiscard]] std::uint32_t sliding_window() const { return window_of(f_); }

  // --- building blocks ---

  std::uint16_t class_index(const layer_class& layer) {
    for (std::size_t i = m_.classes.size(); i > 0; --i) {
      if (m_.classes[i - 1] == layer) return static_cast<std::uint16_t>(i - 1);
    }
    if (m_.classes.size() == max_layer_classes) {
      f_.text().fail("has more than " + std::to_string(max_layer_classes) + " different kinds of layers",
                     "layers of fewer kinds");
    }
    m_.classes.push_back(layer);
    return static_cast<std::uint16_t>(m_.classes.size() - 1);
  }
  void add(const layer_class& layer, std::uint32_t index) {
    m_.layers.push_back(layer_ref{class_index(layer), index, drafting_, index});
  }
  /// A draft layer whose name counts from 0 again.
  void add_numbered_anew(const layer_class& layer, std::uint32_t k) {
    m_.layers.push_back(layer_ref{class_index(layer), layers() + k, drafting_, k});
  }
  [[nodiscard]] layer_class attention(std::uint32_t window = 0) const {
    layer_class layer;
    layer.num_kv_heads = m_.model.num_kv_heads;
    layer.head_size = layer_head_size_ != 0 ? layer_head_size_ : m_.model.head_size;
    layer.window = window != 0 ? window : common_window_;
    return layer;
  }
  /// A layer whose class hands no cache_config on: no common window, and always the model's type.
  [[nodiscard]] layer_class attention_outside_settings() const {
    layer_class layer = attention();
    layer.window = 0;
    layer.unquantized = true;
    return layer;
  }
  /// A recurrent layer. Its state is that of the model class too, which sizes the blocks.
  [[nodiscard]] layer_class recurrent(const state_shape& state) {
    m_.model.hybrid_state = state;
    layer_class layer;
    layer.role = layer_role::recurrent;
    layer.state = state;
    return layer;
  }
  [[nodiscard]] std::uint32_t layers() const { return num_hidden_layers_; }

  /// A width as the classes compute it: int(factor * size). The factor may be a fraction.
  [[nodiscard]] std::uint32_t scaled(std::string_view factor, std::string_view size, std::uint32_t other) const {
    const double product =
        f_.text().number(f_.key_of(factor)).value_or(static_cast<double>(f_.count_or(factor, other))) *
        static_cast<double>(f_.required(size, 1));
    if (!(product >= 0 && product <= static_cast<double>(config::max_field_value))) {
      f_.text().fail(factor, *f_.text().find(f_.key_of(factor)), "gives a width out of range",
                     "a small positive factor");
    }
    return static_cast<std::uint32_t>(product);
  }

  /// Whether layer i slides by the layer types; without any it does not.
  [[nodiscard]] bool is_sliding(std::uint32_t i) const {
    return types_ && (*types_)[i] == transformers::layer_kind::sliding;
  }
  [[nodiscard]] bool is_linear(std::uint32_t i) const {
    return types_ && (*types_)[i] == transformers::layer_kind::linear;
  }
  /// engine/arg_utils.py: without layer types, or with only sliding ones, the window is that of every attention layer
  /// that has none of its own.
  void read_layer_types() {
    using enum reading;
    const bool reads = reading_ != step3p5 && reading_ != deepseek_mla && reading_ != longcat_flash &&
                       reading_ != deepseek_dsa && reading_ != deepseek_v4 && reading_ != kimi_linear &&
                       reading_ != nemotron_h;
    // vLLM's own class of MiniMax-M3 derives none.
    const bool has_list = reading_ == minimax_m3 ? f_.array("layer_types").has_value() : f_.has_layer_types();
    if (reads && has_list) types_ = f_.layer_kinds(layers());
    bool all_sliding = true;
    for (const transformers::layer_kind kind : types_.value_or(transformers::layer_kinds{})) {
      all_sliding = all_sliding && kind == transformers::layer_kind::sliding;
    }
    if (all_sliding && (types_ || !has_list)) common_window_ = sliding_window();
    if (imposed_window_) common_window_ = *imposed_window_;
  }

  // --- the readings ---

  void read_layers() {
    switch (reading_) {
      case reading::dense: return read_dense();
      case reading::wrapper: return;
      case reading::deepseek_v1:
      case reading::falcon:
      case reading::dbrx: return read_dense_with_own_kv_heads();
      case reading::cohere2: return read_cohere2();
      case reading::gpt_oss: return read_gpt_oss();
      case reading::gemma3n: return read_gemma3n();
      case reading::gemma4: return read_gemma4();
      case reading::step3p5: return read_step3p5(0, layers());
      case reading::mimo_v2: return read_mimo_v2();
      case reading::llama4: return read_llama4();
      case reading::whisper: return read_whisper();
      case reading::nemotron_nas: return read_nemotron_nas();
      case reading::falcon_h1: return read_falcon_h1();
      case reading::zamba2: return read_zamba2();
      case reading::granite_hybrid: return read_granite_hybrid();
      case reading::jamba: return read_jamba();
      case reading::mamba1: return read_mamba1();
      case reading::mamba2: return read_mamba2();
      case reading::nemotron_h: return read_nemotron_h();
      case reading::gated_delta_net: return read_gated_delta_net();
      case reading::lfm2: return read_lfm2();
      case reading::kimi_linear: return read_kimi_linear();
      case reading::deepseek_mla:
      case reading::longcat_flash: return read_deepseek_mla();
      case reading::deepseek_dsa: return read_deepseek_dsa();
      case reading::deepseek_v4: return read_deepseek_v4();
      case reading::minimax_m3: return read_minimax_m3();
    }
  }

  /// Classes that read layer_types give each layer its own window.
  void read_dense() {
    const bool typed = f_.array("layer_types").has_value();
    const bool sinks = (flags_ & sinks_with_windows) != 0 && f_.flag("attention_sinks", typed);
    const std::uint32_t window = (flags_ & by_layer_types) != 0 ? f_.count_or("sliding_window", 0) : 0;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      layer_class layer = attention(is_sliding(i) ? window : 0);
      layer.sinks = sinks;
      add(layer, i);
    }
  }
  /// models/qwen2.py: Qwen2Model, and what is built on it.
  void check_qwen2_windows() {
    if (!types_ || types_->empty()) return;
    bool mixed = false;
    for (const transformers::layer_kind kind : *types_) mixed = mixed || kind != types_->front();
    if (mixed && f_.count("max_window_layers") != layers()) {
      refuse("a sliding window for some but all layers is not supported");
    }
  }

  void read_dense_with_own_kv_heads() {
    model& m = m_.model;
    if (reading_ == reading::falcon) {
      m.head_size = static_cast<std::uint32_t>(f_.required("hidden_size", 1) / m.num_attention_heads);
      if (!f_.flag("new_decoder_architecture")) {
        // models/falcon.py: num_kv_heads counts only in the new decoder; the model level's number is another one.
        if (f_.flag("multi_query", true)) m.num_kv_heads = 1;
        const std::uint32_t own = m.num_kv_heads;
        for (std::uint32_t i = 0; i < layers(); ++i) {
          layer_class layer = attention_outside_settings();
          layer.num_kv_heads = f_.flag("multi_query", true) ? own : m.num_attention_heads;
          add(layer, i);
        }
        return;
      }
      for (std::uint32_t i = 0; i < layers(); ++i) add(attention_outside_settings(), i);
      return;
    }
    if (reading_ == reading::dbrx) {
      if (const auto attn = f_.object("attn_config")) {
        m.num_kv_heads = static_cast<std::uint32_t>(attn->count("kv_n_heads", 1).value_or(m.num_attention_heads));
      }
    }
    for (std::uint32_t i = 0; i < layers(); ++i) add(attention(), i);
  }

  /// models/commandr.py: the window counts the current position on top.
  void read_cohere2() {
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    for (std::uint32_t i = 0; i < layers(); ++i) add(attention(is_sliding(i) && window != 0 ? window + 1 : 0), i);
  }

  /// models/gpt_oss.py: every other layer slides, all have sinks; KV heads are never replicated.
  void read_gpt_oss() {
    m_.model.needs_kv_head_per_rank = true;
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    for (std::uint32_t i = 0; i < layers(); ++i) {
      layer_class layer = attention(i % 2 == 0 ? window : 0);
      layer.sinks = true;
      add(layer, i);
    }
  }

  /// models/gemma3n.py, models/gemma4.py: the last num_kv_shared_layers layers own nothing.
  [[nodiscard]] std::uint32_t owning_layers() const {
    const std::uint32_t shared = f_.count_or("num_kv_shared_layers", 0);
    return shared < layers() ? layers() - shared : layers();
  }
  void read_gemma3n() {
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    for (std::uint32_t i = 0; i < owning_layers(); ++i) add(attention(is_sliding(i) ? window : 0), i);
  }
  void read_gemma4() {
    model& m = m_.model;
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    layer_class local = attention(window);
    layer_class global = attention();
    global.head_size = f_.count_or("global_head_dim", 512, 1);
    const bool shared_kv = f_.flag("attention_k_eq_v");
    if (shared_kv) global.num_kv_heads = f_.count_or("num_global_key_value_heads", local.num_kv_heads, 1);
    bool has_local = false, has_global = false;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const bool slides = is_sliding(i);
      (slides ? has_local : has_global) = true;
      if (i < owning_layers()) add(slides ? local : global, i);
    }
    // config/model_arch.py: the model-level numbers are the largest of all layers.
    if (has_global) {
      m.head_size = has_local ? std::max(local.head_size, global.head_size) : global.head_size;
      m.num_kv_heads = has_local ? std::max(local.num_kv_heads, global.num_kv_heads) : global.num_kv_heads;
    }
    m.mixed_head_sizes = has_local && has_global && local.head_size != global.head_size;
  }

  /// models/step3p5.py: layers of attention_other_setting's kind have shapes of their own.
  void read_step3p5(std::uint32_t first, std::uint32_t end) {
    const std::optional<node> types = f_.array("layer_types");
    const std::optional<node> other = f_.object("attention_other_setting");
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    for (std::uint32_t i = first; i < end; ++i) {
      const bool slides = types ? config_fields::word(*types, i) == "sliding_attention" : i % 2 == 0;
      layer_class layer = attention(slides ? window : 0);
      if (other && types && other->string("attention_type").value_or("") == config_fields::word(*types, i)) {
        layer.num_kv_heads =
            static_cast<std::uint32_t>(other->count("num_attention_groups", 1).value_or(layer.num_kv_heads));
        layer.head_size = static_cast<std::uint32_t>(other->count("head_dim", 1).value_or(layer.head_size));
      }
      add(layer, i);
    }
  }

  /// models/mimo_v2.py: K and V of different width, with a backend of their own.
  [[nodiscard]] layer_class mimo_v2_layer(bool slides) const {
    layer_class layer;
    layer.num_kv_heads =
        slides ? f_.count_or("swa_num_key_value_heads", m_.model.num_kv_heads, 1) : m_.model.num_kv_heads;
    layer.head_size = slides ? f_.count_or("swa_head_dim", m_.model.head_size, 1) : m_.model.head_size;
    const std::string_view v = slides ? "swa_v_head_dim" : "v_head_dim";
    layer.head_size_v = f_.count_or(v, layer.head_size, 1);
    layer.window = slides ? f_.count_or("sliding_window_size", f_.count_or("sliding_window", 0)) : 0;
    layer.sinks = slides && f_.flag("add_swa_attention_sink_bias");
    layer.role = layer.head_size == layer.head_size_v ? layer_role::attention : layer_role::diffkv_attention;
    return layer;
  }
  void read_mimo_v2() {
    const std::optional<node> pattern = f_.array("hybrid_layer_pattern");
    for (std::uint32_t i = 0; i < layers(); ++i) {
      add(mimo_v2_layer(pattern && config_fields::number(*pattern, i) == 1), i);
    }
  }

  /// models/llama4.py: layers with rope attend within chunks, where there are chunks.
  void read_llama4() {
    const std::optional<node> no_rope = f_.array("no_rope_layers");
    const std::uint32_t interval = f_.count_or("no_rope_layer_interval", 4, 1);
    const std::uint32_t chunk = f_.count_or("attention_chunk_size", 0);
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const bool rope =
          no_rope && !no_rope->value().empty() ? config_fields::number(*no_rope, i) != 0 : (i + 1) % interval != 0;
      layer_class layer = attention();
      if (rope && chunk != 0) {
        layer.role = layer_role::chunked_attention;
        layer.window = chunk;
      }
      add(layer, i);
    }
  }

  /// models/whisper.py: self and cross attention in every decoder layer; the encoder keeps nothing.
  void read_whisper() {
    model& m = m_.model;
    m.is_encoder_decoder = true;
    const std::uint32_t heads = f_.required("decoder_attention_heads", 1);
    m.num_attention_heads = m.num_kv_heads = heads;
    m.head_size = static_cast<std::uint32_t>(f_.required("d_model", 1) / heads);
    for (std::uint32_t i = 0; i < layers(); ++i) {
      add(attention(), i);
      layer_class cross = attention();
      cross.role = layer_role::cross_attention;
      add(cross, i);
    }
  }

  /// models/nemotron_nas.py: blocks without attention own nothing, the others have KV heads of their own.
  void read_nemotron_nas() {
    const std::optional<node> blocks = f_.array("block_configs");
    if (!blocks) f_.text().fail_missing("block_configs", "an array of blocks");
    if (blocks->value().size() < layers()) {
      blocks->fail("has fewer entries than the model has layers", std::to_string(layers()) + " entries");
    }
    bool first = true;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const node block = blocks->child(i);
      const std::optional<node> attn = block.object("attention");
      if (!attn || attn->boolean("no_op").value_or(false) || attn->boolean("replace_with_linear").value_or(false))
        continue;
      const auto group = attn->count("n_heads_in_group", 1, m_.model.num_attention_heads);
      if (!group) attn->fail_missing("n_heads_in_group", "a whole number");
      layer_class layer = attention();
      layer.num_kv_heads = static_cast<std::uint32_t>(m_.model.num_attention_heads / *group);
      if (first) m_.model.num_kv_heads = layer.num_kv_heads;
      first = false;
      add(layer, i);
    }
  }

  // --- recurrent layers (layers/mamba) ---

  [[nodiscard]] state_shape mamba2_state(std::uint32_t intermediate, std::string_view groups, std::string_view heads,
                                         std::string_view head_dim, std::string_view state_size,
                                         std::string_view conv_kernel) const {
    state_shape s;
    s.kind = state_kind::mamba2;
    s.conv_dim = intermediate;
    s.n_groups = f_.required(groups, 1);
    s.num_heads = f_.required(heads, 1);
    s.state_size = f_.required(state_size, 1);
    s.conv_kernel = f_.required(conv_kernel, 1);
    s.head_elements = elements(f_.required(head_dim, 1), s.state_size);
    return s;
  }
  [[nodiscard]] std::uint32_t elements(std::uint64_t a, std::uint64_t b) const {
    const checked_count product = checked_count(a) * b;
    if (!product.fits(config::max_field_value))
      f_.text().fail("gives a state of more than 2^31 elements", "a smaller state");
    return static_cast<std::uint32_t>(product.value());
  }
  /// The hybrid's layer types, where all that are given are attention, make an ordinary model
  /// (config/model.py:is_hybrid).
  void set_hybrid() {
    const std::optional<node> types = f_.root().array("layer_types");
    bool attention_only = types.has_value();
    for (std::size_t i = 0; types && i < types->value().size(); ++i) {
      const std::string_view t = config_fields::word(*types, i);
      attention_only = attention_only && (t == "attention" || t == "full_attention");
    }
    m_.model.is_hybrid = !attention_only;
  }

  /// models/falcon_h1.py: both in every layer.
  void read_falcon_h1() {
    set_hybrid();
    const std::uint32_t intermediate =
        f_.count("mamba_d_ssm") ? f_.required("mamba_d_ssm", 1) : scaled("mamba_expand", "hidden_size", 2);
    const layer_class state = recurrent(
        mamba2_state(intermediate, "mamba_n_groups", "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_d_conv"));
    check_state_width(intermediate, "mamba_n_heads", "mamba_d_head");
    // layers/quantization/turboquant/config.py: the list of layers says "hybrid" for all.
    m_.model.turboquant_finds_no_layers = true;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      add(attention(), i);
      add(state, i);
    }
  }

  /// models/zamba2.py: a state in every layer; attention is registered first, where layers_block_type says "hybrid".
  void read_zamba2() {
    set_hybrid();
    const std::uint32_t head_size = f_.count_or("attention_head_dim", 2 * m_.model.head_size, 1);
    m_.model.head_size = head_size;
    const std::optional<node> types = f_.array("layers_block_type");
    if (!types) f_.text().fail_missing("layers_block_type", "an array of layer kinds");
    for (std::uint32_t i = 0; i < layers(); ++i) {
      if (config_fields::word(*types, i) == "hybrid") add(attention(), i);
    }
    const layer_class state =
        recurrent(mamba2_state(scaled("mamba_expand", "hidden_size", 2), "mamba_ngroups", "n_mamba_heads",
                               "mamba_headdim", "mamba_d_state", "mamba_d_conv"));
    for (std::uint32_t i = 0; i < layers(); ++i) add(state, i);
  }

  /// models/granitemoehybrid.py.
  void read_granite_hybrid() {
    set_hybrid();
    layer_class state;
    if (m_.model.is_hybrid) {  // a config of attention layers alone need not describe a state
      const std::uint32_t intermediate = scaled("mamba_expand", "hidden_size", 2);
      state_shape shape = mamba2_state(intermediate, "mamba_n_groups", "mamba_n_heads", "mamba_n_heads",
                                       "mamba_d_state", "mamba_d_conv");
      // mamba_d_head "auto", the class's default: what the heads make of the inner width.
      const json* const given = f_.text().find("mamba_d_head");
      const bool stated = given != nullptr && given->is_number();
      const std::uint32_t head_dim = stated ? f_.required("mamba_d_head", 1) : intermediate / shape.num_heads;
      if (std::uint64_t{shape.num_heads} * head_dim != intermediate)
        refuse("mamba_n_heads x mamba_d_head is not the inner width of the state");
      shape.head_elements = elements(head_dim, shape.state_size);
      state = recurrent(shape);
    }
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const bool linear = m_.model.is_hybrid && (!types_ || is_linear(i));
      add(linear ? state : attention(), i);
    }
  }

  [[nodiscard]] static state_shape mamba1_state(std::uint32_t intermediate, std::uint32_t state_size,
                                                std::uint32_t conv_kernel) {
    state_shape s;
    s.kind = state_kind::mamba1;
    s.conv_dim = s.num_heads = intermediate;
    s.head_elements = state_size;
    s.conv_kernel = conv_kernel;
    return s;
  }
  /// models/jamba.py.
  void read_jamba() {
    set_hybrid();
    const std::uint32_t period = f_.count_or("attn_layer_period", 8, 1);
    const std::uint32_t offset = f_.count_or("attn_layer_offset", 4);
    if (offset >= period) refuse("attn_layer_offset is not below attn_layer_period");
    const layer_class state = recurrent(mamba1_state(scaled("mamba_expand", "hidden_size", 2),
                                                     f_.required("mamba_d_state", 1), f_.required("mamba_d_conv", 1)));
    for (std::uint32_t i = 0; i < layers(); ++i) add(i % period == offset ? attention() : state, i);
  }
  /// models/mamba.py.
  void read_mamba1() {
    const std::uint32_t intermediate =
        f_.count("intermediate_size") ? f_.required("intermediate_size", 1) : scaled("expand", "hidden_size", 2);
    const layer_class state =
        recurrent(mamba1_state(intermediate, f_.required("state_size", 1), f_.required("conv_kernel", 1)));
    for (std::uint32_t i = 0; i < layers(); ++i) add(state, i);
  }
  /// models/mamba2.py.
  void read_mamba2() {
    const std::uint32_t intermediate = scaled("expand", "hidden_size", 2);
    const layer_class state =
        recurrent(mamba2_state(intermediate, "n_groups", "num_heads", "head_dim", "state_size", "conv_kernel"));
    check_state_width(intermediate, "num_heads", "head_dim");
    for (std::uint32_t i = 0; i < layers(); ++i) add(state, i);
  }

  /// One letter of a hybrid pattern, or one word of a list of kinds: M and * own caches, - and E do not.
  [[nodiscard]] static char pattern_letter(std::string_view word) {
    if (word == "mamba" || word == "linear_attention") return 'M';
    if (word == "attention" || word == "full_attention") return '*';
    return word.size() == 1 ? word[0] : '-';
  }
  [[nodiscard]] std::string pattern(std::string_view list, std::string_view letters) const {
    std::string result;
    if (const json* const value = f_.text().find(list); value != nullptr && value->is_array()) {
      if (value->size() > max_layers) f_.text().fail(list, *value, "too many layers", "at most 65,536");
      const node array = f_.text().child(list, *value);
      for (std::size_t i = 0; i < value->size(); ++i) result += pattern_letter(config_fields::word(array, i));
      return result;
    }
    result = f_.string(letters).value_or("");
    if (result.size() > max_layers)
      f_.text().fail(letters, *f_.text().find(letters), "too many layers", "at most 65,536");
    return result;
  }
  /// models/nemotron_h.py: the pattern decides, its length included.
  void read_nemotron_h() {
    set_hybrid();
    const std::string letters = pattern("layers_block_type", "hybrid_override_pattern");
    if (letters.empty()) f_.text().fail_missing("hybrid_override_pattern", "a pattern of layers");
    num_hidden_layers_ = static_cast<std::uint32_t>(letters.size());
    m_.model.ssm_dtype = state_dtype::float32;
    if (const auto dtype = f_.string("mamba_ssm_cache_dtype"))
      m_.model.ssm_dtype = parse_state_dtype("mamba_ssm_cache_dtype", *dtype);
    if (letters.find('M') == std::string::npos) m_.model.ssm_dtype = state_dtype::automatic;
    add_pattern(letters, 0);
  }
  void add_pattern(const std::string& letters, std::uint32_t first, bool numbered_anew = false) {
    const std::uint32_t window = f_.count_or("sliding_window", 0);
    const std::uint32_t intermediate = elements(f_.required("mamba_num_heads", 1), f_.required("mamba_head_dim", 1));
    const layer_class state = recurrent(
        mamba2_state(intermediate, "n_groups", "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "conv_kernel"));
    for (std::uint32_t i = 0; i < letters.size(); ++i) {
      if (letters[i] != '*' && letters[i] != 'M') continue;
      const layer_class layer = letters[i] == '*' ? attention(window) : state;
      if (numbered_anew) add_numbered_anew(layer, i);
      else add(layer, first + i);
    }
  }
  [[nodiscard]] state_dtype parse_state_dtype(std::string_view field, std::string_view name) const {
    for (std::size_t i = 0; i < std::size(state_dtype_names); ++i) {
      if (name == state_dtype_names[i]) return static_cast<state_dtype>(i);
    }
    f_.text().fail(field, *f_.text().find(field), "not a type of a state", "auto, float32, float16 or bfloat16");
  }

  /// models/qwen3_next.py, models/qwen3_5.py, models/olmo_hybrid.py.
  void read_gated_delta_net() {
    set_hybrid();
    state_shape s;
    s.kind = state_kind::gated_delta_net;
    const std::uint32_t key_dim = f_.required("linear_key_head_dim", 1);
    const std::uint32_t value_dim = f_.required("linear_value_head_dim", 1);
    const std::uint32_t key_heads = f_.required("linear_num_key_heads", 1);
    s.num_heads = f_.required("linear_num_value_heads", 1);
    s.head_elements = elements(key_dim, value_dim);
    s.conv_dim = elements(2, elements(key_dim, key_heads));
    const checked_count channels = checked_count(s.conv_dim) + elements(value_dim, s.num_heads);
    s.conv_dim = elements(channels.value(), 1);
    s.conv_kernel = f_.required("linear_conv_kernel_dim", 1);
    if (f_.model_type().rfind("qwen3_5", 0) == 0) {
      if (const auto dtype = f_.string("mamba_ssm_dtype"))
        m_.model.ssm_dtype = parse_state_dtype("mamba_ssm_dtype", *dtype);
    }
    const layer_class state = recurrent(s);
    bool any_linear = false, all_linear = true;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const bool linear = is_linear(i);
      any_linear = any_linear || linear;
      all_linear = all_linear && linear;
      if (!linear && types_ && (*types_)[i] != transformers::layer_kind::full) refuse("a layer type of another model");
      add(linear ? state : attention(), i);
    }
    if (f_.model_type() == "olmo_hybrid" && (!any_linear || all_linear))
      refuse("olmo_hybrid must have linear_attention layers and others");
  }

  /// models/lfm2.py: short convolutions between attention layers.
  void read_lfm2() {
    set_hybrid();
    state_shape s;
    s.kind = state_kind::short_conv;
    s.conv_dim = f_.count("conv_dim") ? f_.required("conv_dim", 1) : f_.required("hidden_size", 1);
    s.conv_kernel = f_.count_or("conv_L_cache", 3, 1);
    const layer_class state = recurrent(s);
    for (std::uint32_t i = 0; i < layers(); ++i) {
      add(!types_ || (*types_)[i] == transformers::layer_kind::full ? attention() : state, i);
    }
  }

  // --- latent attention ---

  void set_mla() {
    model& m = m_.model;
    m.use_mla = true;
    m.kv_lora_rank = f_.required("kv_lora_rank", 1);
    m.head_size = elements(std::uint64_t{m.kv_lora_rank} + m.qk_rope_head_dim, 1);
  }
  [[nodiscard]] layer_class mla() const {
    layer_class layer;
    layer.role = layer_role::mla;
    layer.head_size = m_.model.head_size;
    return layer;
  }

  /// models/kimi_k3 (Kimi-Linear too): KDA where linear_attn_config lists the layer (counted from 1), else MLA.
  void read_kimi_linear() {
    set_hybrid();
    set_mla();
    const std::optional<node> linear = f_.object("linear_attn_config");
    state_shape s;
    s.kind = state_kind::kda;
    std::vector<char> is_kda(std::size_t{layers()} + 1, 0);
    if (linear) {
      const std::optional<node> listed = linear->array("kda_layers");
      for (std::size_t i = 0; listed && i < listed->value().size(); ++i) {
        const std::uint64_t at = config_fields::number(*listed, i);
        if (at < is_kda.size()) is_kda[at] = 1;
      }
      const auto field = [&](std::string_view name, std::uint64_t other) {
        const auto value = linear->count(name, 1);
        if (!value && other == 0) linear->fail_missing(name, "a whole number");
        return value.value_or(other);
      };
      const std::uint64_t head_dim = field("head_dim", 0);
      s.num_heads = static_cast<std::uint32_t>(field("num_heads", 0));
      s.conv_dim = elements(3, elements(s.num_heads, head_dim));
      s.conv_kernel = static_cast<std::uint32_t>(field("short_conv_kernel_size", 4));
      s.head_elements = elements(head_dim, head_dim);
      s.flash_kda = linear->boolean("use_full_rank_gate").value_or(false) &&
                    linear->find("gate_lower_bound") != nullptr && head_dim == 128;
    }
    for (std::uint32_t i = 0; i < layers(); ++i) add(is_kda[i + 1] != 0 ? recurrent(s) : mla(), i);
  }

  /// models/deepseek_v2.py; models/longcat_flash.py has two attention modules in every layer.
  void read_deepseek_mla() {
    set_mla();
    const std::uint32_t modules = reading_ == reading::longcat_flash ? 2 : 1;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      for (std::uint32_t k = 0; k < modules; ++k) add(mla(), i);
    }
  }

  /// models/deepseek_v32/attention.py: an indexer's keys beside the latent, where the layer does not share another's.
  void add_sparse_mla(std::uint32_t i, bool has_indexer) {
    if (has_indexer) {
      layer_class indexer;
      indexer.role = layer_role::dsa_indexer;
      indexer.head_size = f_.required("index_head_dim", 1);
      add(indexer, i);
    }
    layer_class layer = mla();
    layer.role = layer_role::sparse_mla;
    layer.has_indexer = has_indexer;
    add(layer, i);
  }
  void read_deepseek_dsa() {
    set_mla();
    m_.model.dtype_rule =
        f_.model_type() == "glm_moe_dsa" ? cache_dtype_rule::glm_moe_dsa : cache_dtype_rule::deepseek_v32;
    const json* const shares = f_.text().find("index_topk_pattern");
    const std::uint32_t frequency = f_.count_or("index_topk_freq", 1, 1);
    const std::uint32_t offset = f_.count_or("index_skip_topk_offset", 2);
    for (std::uint32_t i = 0; i < layers(); ++i) {
      bool skips = false;
      if (shares == nullptr) {
        const std::uint32_t past = i + 1 > offset ? i + 1 - offset : 0;
        skips = past % frequency != 0;
      } else if (shares->is_string()) {
        const std::string& letters = shares->get_ref<const std::string&>();
        skips = i < letters.size() && letters[i] == 'S';
      } else if (shares->is_array()) {
        skips = i < shares->size() && config_fields::word(f_.text().child("index_topk_pattern", *shares), i) == "S";
      }
      add_sparse_mla(i, !skips);
    }
  }

  /// models/deepseek_v4: for every layer a window's rows; compressed rows and the states of their compressor where the
  /// layer's ratio is above 1; and an indexer with a compressor of its own where it is 4.
  void add_deepseek_v4(std::uint32_t i, std::uint32_t ratio) {
    const std::uint32_t head_dim = m_.model.head_size;
    layer_class layer;
    layer.head_size = head_dim;
    layer.compress_ratio = ratio;
    if (ratio == 4) {
      const std::uint32_t index_head_dim = f_.required("index_head_dim", 1);
      layer_class indexer = layer;
      indexer.head_size = index_head_dim;
      indexer.role = layer_role::deepseek_v4_indexer;
      add(indexer, i);
      indexer.role = layer_role::deepseek_v4_compressor;
      add(indexer, i);
    }
    layer.role = layer_role::deepseek_v4_swa;
    layer.compress_ratio = 1;
    layer.window = f_.required("sliding_window", 1);
    add(layer, i);
    if (ratio <= 1) return;
    layer.compress_ratio = ratio;
    layer.window = 0;
    layer.role = layer_role::deepseek_v4_mla;
    add(layer, i);
    layer.role = layer_role::deepseek_v4_compressor;
    add(layer, i);
  }
  void read_deepseek_v4() {
    m_.model.use_mla = true;
    m_.model.dtype_rule = cache_dtype_rule::deepseek_v4;
    m_.model.head_size = f_.required("head_dim", 1);
    const std::optional<node> ratios = f_.array("compress_ratios");
    if (!ratios) f_.text().fail_missing("compress_ratios", "an array of whole numbers");
    for (std::uint32_t i = 0; i < layers(); ++i) {
      const std::uint64_t ratio = std::max<std::uint64_t>(1, config_fields::number(*ratios, i));
      if (ratio != 1 && ratio != 4 && ratio != 128) ratios->child(i).fail("not a known compression", "0, 1, 4 or 128");
      add_deepseek_v4(i, static_cast<std::uint32_t>(ratio));
    }
  }

  /// models/minimax_m3: block-sparse layers have an indexer.
  void read_minimax_m3() {
    const std::optional<node> sparse = f_.object("sparse_attention_config");
    const std::optional<node> frequency = sparse ? sparse->array("sparse_attention_freq") : std::nullopt;
    for (std::uint32_t i = 0; i < layers(); ++i) {
      layer_class layer = attention();
      if (frequency && config_fields::number(*frequency, i) != 0) {
        const auto width = sparse->count("sparse_index_dim", 1);
        if (!width) sparse->fail_missing("sparse_index_dim", "a whole number");
        layer_class indexer;
        indexer.role = layer_role::minimax_m3_indexer;
        indexer.head_size = static_cast<std::uint32_t>(*width);
        add(indexer, i);
        layer.role = layer_role::minimax_m3_sparse;
      }
      add(layer, i);
    }
  }

  // --- draft layers (config/speculative.py) ---

  void read_draft() {
    drafting_ = true;
    switch (draft_.method) {
      case speculative_method::mtp: read_mtp(); break;
      case speculative_method::eagle:
      case speculative_method::eagle3: read_eagle(); break;
      case speculative_method::draft_model: read_draft_model(); break;
      case speculative_method::dflash:
      case speculative_method::dspark: read_dflash(); break;
      default: break;  // ngram, suffix, medusa keep nothing
    }
    drafting_ = false;
  }

  [[noreturn]] static void refuse_mtp(std::string problem) {
    throw engine_refusal({"", "speculative_config", "mtp"}, std::move(problem),
                         "a model whose multi-token prediction vLLM runs");
  }
  /// The modules of the checkpoint's multi-token prediction: `field` of the config, or what the draft's class takes
  /// where there is none (0: it fails then). The speculative tokens must be a multiple of what the config says.
  [[nodiscard]] std::uint32_t mtp_modules(std::string_view field, std::uint32_t otherwise) const {
    const std::optional<std::uint64_t> n = f_.count(field, 0, max_layers);
    if (!n && otherwise == 0) refuse_mtp("the config has no " + std::string(field));
    if (n) check_speculative_tokens(*n);
    return static_cast<std::uint32_t>(n.value_or(otherwise));
  }
  void check_speculative_tokens(std::uint64_t modules) const {
    const std::uint64_t tokens = draft_.num_speculative_tokens;
    if (modules == 0 || (tokens > modules && tokens % modules != 0)) {
      refuse_mtp("num_speculative_tokens must be divisible by the " + std::to_string(modules) + " predicting modules");
    }
  }

  /// Layers after the target's own, of the checkpoint's own multi-token prediction (config/speculative.py:
  /// hf_config_override, and models/*_mtp.py).
  void read_mtp() {
    const std::uint32_t first = layers();
    const std::string_view nextn = "num_nextn_predict_layers";
    switch (reading_) {
      case reading::deepseek_mla: {
        const std::string type = f_.model_type();
        if (type == "deepseek_v2" || type == "axk1") break;
        const std::uint32_t n = mtp_modules(nextn, 0);
        for (std::uint32_t k = 0; k < n; ++k) add(mla(), first + k);
        return;
      }
      case reading::longcat_flash:
        static_cast<void>(mtp_modules(nextn, 1));
        add(mla(), 2 * first);
        return;
      case reading::deepseek_dsa: {
        const std::uint32_t n = mtp_modules(nextn, 0);
        for (std::uint32_t k = 0; k < n; ++k) add_sparse_mla(first + k, true);
        return;
      }
      case reading::deepseek_v4: {
        const std::uint32_t n = mtp_modules(nextn, 0);
        for (std::uint32_t k = 0; k < n; ++k) add_deepseek_v4(first + k, 1);
        return;
      }
      case reading::gated_delta_net: {
        if (f_.model_type() == "olmo_hybrid") break;
        const std::uint32_t n = mtp_modules(f_.model_type() == "qwen3_next" ? nextn : "mtp_num_hidden_layers", 1);
        for (std::uint32_t k = 0; k < n; ++k) add_numbered_anew(attention(), k);
        return;
      }
      case reading::nemotron_h: {
        if (mtp_modules(nextn, 0) != 1) refuse_mtp("more than one predicting module is not supported");
        const std::string letters = pattern("mtp_layers_block_type", "mtp_hybrid_override_pattern");
        add_pattern(letters.empty() ? "*E" : letters, first, true);  // the class's default
        return;
      }
      case reading::mimo_v2: add_numbered_anew(mimo_v2_layer(true), 0); return;
      case reading::step3p5: read_step3p5(first, first + mtp_modules(nextn, 0)); return;
      case reading::dense: {
        if (f_.model_type() == "exaone_moe") return read_exaone_moe_mtp(mtp_modules(nextn, 1));
        if (!has_dense_mtp()) break;
        const std::uint32_t n = mtp_modules(nextn, 0);
        for (std::uint32_t k = 0; k < n; ++k) add(attention(), first + k);
        return;
      }
      case reading::kimi_linear:
      case reading::minimax_m3:
        throw usage_error({"", "speculative_config", "mtp"}, "the draft layers of this architecture are not known here",
                          "another method, or a model whose draft layers are");
      default: break;
    }
    refuse_mtp("Unsupported speculative method: 'mtp'");
  }
  [[nodiscard]] bool has_dense_mtp() const {
    const std::string type = f_.root_model_type();
    return m_.architecture == "MiMoForCausalLM" || m_.architecture == "Glm4MoeForCausalLM" || type == "ernie4_5_moe" ||
           type == "hy_v3";
  }
  /// models/exaone_moe_mtp.py: layers of the target's types from the first on, outside --kv-cache-dtype.
  void read_exaone_moe_mtp(std::uint32_t n) {
    const std::optional<node> own = f_.array("mtp_layer_types");
    for (std::uint32_t k = 0; k < n; ++k) {
      const bool slides = own && !own->value().empty() ? config_fields::word(*own, k) == "sliding_attention"
                                                       : k < layers() && is_sliding(k);
      layer_class layer = attention_outside_settings();
      layer.window = slides ? f_.count_or("sliding_window", 0) : 0;
      add_numbered_anew(layer, k);
    }
  }

  [[nodiscard]] config_fields draft_fields() const {
    if (draft_.draft_config == nullptr) {
      throw usage_error({"", "speculative_config", ""}, "the draft model's config is not given",
                        "its config.json as \"draft_model_config\"");
    }
    static const std::string file = "draft model";
    return config_fields(node(*draft_.draft_config, "", file));
  }
  /// A whole model of its own; what has no window of its own has the target's (CacheConfig.sliding_window).
  void read_draft_model() {
    const config_fields fields = draft_fields();
    owned_model other;
    layer_reader reader(fields, other, {});
    reader.imposed_window_ = common_window_;
    reader.read();
    for (const layer_ref& ref : other.layers) add_numbered_anew(other.classes[ref.layer_class], ref.layer);
  }
  [[nodiscard]] layer_class draft_layer(const config_fields& fields) const {
    const std::uint32_t heads = fields.required("num_attention_heads", 1);
    layer_class layer;
    layer.num_kv_heads = fields.count_or("num_key_value_heads", heads, 1);
    layer.head_size = fields.count_or("head_dim", 0);
    if (layer.head_size == 0) layer.head_size = fields.required("hidden_size", 1) / heads;
    layer.window = common_window_;
    return layer;
  }
  /// models/llama_eagle.py, models/llama_eagle3.py: ordinary attention after the target's layers.
  void read_eagle() {
    const config_fields fields = draft_fields();
    const std::uint32_t n = fields.required("num_hidden_layers", 1, max_layers);
    const layer_class layer = draft_layer(fields);
    for (std::uint32_t k = 0; k < n; ++k) add(layer, layers() + k);
  }
  /// models/qwen3_dflash.py, on which models/qwen3_dspark.py is built: one attention module a layer, with windows by
  /// dflash_config and layer_types, and tokens that mostly see one another.
  void read_dflash() {
    const config_fields fields = draft_fields();
    for (const std::string_view other : {"Laguna", "Gemma4", "K3DSpark", "DSparkV41"}) {
      const auto names = fields.root().array("architectures");
      if (!names || names->value().empty() || config_fields::word(*names, 0).find(other) == std::string_view::npos)
        continue;
      names->child(0).fail("the layers of this draft are not known here", "a draft of models/qwen3_dflash.py");
    }
    const std::uint32_t n = fields.required("num_hidden_layers", 1, max_layers);
    const std::optional<node> own = fields.object("dflash_config");
    const std::optional<transformers::layer_kinds> types = fields.layer_kinds(n);
    bool any_sliding = false;
    for (std::uint32_t k = 0; types && k < n; ++k)
      any_sliding = any_sliding || (*types)[k] == transformers::layer_kind::sliding;
    const bool use_swa = own && own->boolean("use_swa").value_or(false);
    std::optional<bool> causal = fields.text().boolean("is_causal");
    if (!causal && own) causal = own->boolean("causal");
    const auto slides = [&](std::uint32_t k) {
      return !types || (use_swa && !any_sliding) ? use_swa : (*types)[k] == transformers::layer_kind::sliding;
    };
    layer_class layer = draft_layer(fields);
    layer.sinks = fields.flag("add_swa_attention_sink_bias");
    if (own) layer.sinks = own->boolean("attention_sink_bias").value_or(layer.sinks);
    for (std::uint32_t k = 0; k < n; ++k)
      layer.non_causal =
          layer.non_causal || !causal.value_or(types && (*types)[k] == transformers::layer_kind::sliding);
    for (std::uint32_t k = 0; k < n; ++k) {
      layer.window = common_window_;
      if (slides(k)) {
        const auto window = own ? own->count("swa_window_size") : std::nullopt;
        layer.window = static_cast<std::uint32_t>(window.value_or(window_of(fields)));
        if (layer.window == 0) {
          throw engine_refusal({"", "speculative_config", ""}, "the draft's sliding layers have no window",
                               "dflash_config.swa_window_size or sliding_window in the draft's config");
        }
      }
      add(layer, layers() + k);
    }
  }

  // --- lengths and images ---

  /// derive_max_model_len_and_key and config/model.py:_get_and_verify_max_len.
  void read_max_model_len() {
    model& m = m_.model;
    double length = std::numeric_limits<double>::infinity();
    for (const std::string_view name :
         {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
          "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len"}) {
      const std::optional<double> value = length_field(name);
      if (value && *value < length) length = *value;
    }
    // vLLM's own class gives Step-3.5 4096 positions where the file says nothing.
    if (f_.model_type() == "step3p5" && !f_.in_file("max_seq_len")) length = std::min(length, 4096.0);
    if (const auto value = length_field("model_max_length"); value && *value != 0) length = *value;
    m.max_model_len_is_known = length != std::numeric_limits<double>::infinity();
    if (!m.max_model_len_is_known) length = 2048;
    if (f_.root_model_type().find("gemma3") == std::string::npos) length *= rope_factor();
    if (const std::optional<double> original = longrope_length()) m.max_model_len = as_length(*original);
    else m.max_model_len = as_length(length);
    f_.remember("max_model_len", m.max_model_len, "the shortest of the config's lengths");
  }
  [[nodiscard]] std::optional<double> length_field(std::string_view name) const {
    const std::string_view key = f_.key_of(name);
    if (const json* const value = f_.text().find(key)) {
      if (!value->is_number()) return std::nullopt;
      if (value->is_number_integer() && value->get<double>() < 0)
        f_.text().fail(key, *value, "negative", "a positive length");
      return value->get<double>();
    }
    const auto count = f_.count(name);
    return count ? std::optional<double>(static_cast<double>(*count)) : std::nullopt;
  }
  [[nodiscard]] static std::uint64_t as_length(double value) {
    constexpr double highest = 9.0e15;
    return static_cast<std::uint64_t>(value >= 1 ? std::min(value, highest) : 1);
  }

  template <class Visit>
  void for_each_rope(Visit visit) const {
    for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
      const std::optional<node> rope = f_.object(key);
      if (!rope) continue;
      if (rope->find("rope_type") != nullptr || rope->find("type") != nullptr) {
        visit(*rope);
        return;
      }
      for (const auto& [name, value] : rope->value().items()) {
        if (value.is_object()) visit(rope->child(name, value));
      }
      return;
    }
  }
  [[nodiscard]] static std::string rope_type(const node& rope) {
    const json* const type = rope.find("rope_type") != nullptr ? rope.find("rope_type") : rope.find("type");
    return type != nullptr && type->is_string() ? type->get<std::string>() : "default";
  }
  [[nodiscard]] double rope_factor() const {
    double factor = 1;
    for_each_rope([&factor](const node& rope) {
      const std::string type = rope_type(rope);
      for (const std::string_view scaled :
           {"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"}) {
        if (type == scaled) return;
      }
      if (const json* const value = rope.find("factor"); value != nullptr && value->is_number())
        factor = value->get<double>();
    });
    return factor;
  }
  [[nodiscard]] std::optional<double> longrope_length() const {
    bool longrope = false;
    for_each_rope([&longrope](const node& rope) { longrope = longrope || rope_type(rope) == "longrope"; });
    if (!longrope) return std::nullopt;
    return length_field("original_max_position_embeddings");
  }

  /// is_mm_prefix_lm: images that attend in both directions.
  void read_vision() {
    if (!multimodal_) return;
    const std::string type = f_.root_model_type();
    if (reading_ == reading::gemma4) {
      m_.model.mm_prefix = f_.text().string("use_bidirectional_attention").value_or("") == "vision";
      // The largest item is a video: 32 frames of 70 soft tokens, their borders and a time stamp.
      m_.model.largest_mm_item = 32 * (70 + 2 + 6);
      return;
    }
    m_.model.mm_prefix = type == "gemma3" || type == "paligemma";
  }

  const config_fields& f_;
  owned_model& m_;
  draft_request draft_;
  reading reading_ = reading::dense;
  std::uint8_t flags_ = plain;
  bool multimodal_ = false;
  bool drafting_ = false;
  std::uint32_t num_hidden_layers_ = 0;
  std::uint32_t layer_head_size_ = 0;            // of the layers, where their class ignores head_dim
  std::uint32_t common_window_ = 0;              // of layers without a window of their own
  std::optional<std::uint32_t> imposed_window_;  // of a draft: the target's
  std::optional<transformers::layer_kinds> types_;
};

}  // namespace kvbudget::vllm
