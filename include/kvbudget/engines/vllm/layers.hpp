// A config's layers, read as vLLM's model classes register their caches: one function for each way of reading.
//
// Sources: model_executor/models and models/ of vLLM 0.32.0 (the file is named at each function), and the
// configuration classes of transformers for layer types that a file leaves out.
#pragma once

#include <kvbudget/engines/vllm/draft_layers.hpp>
#include <kvbudget/engines/vllm/max_model_len.hpp>
#include <kvbudget/engines/vllm/model_shape.hpp>

namespace kvbudget::detail::vllm {

/// The function of each reading.
struct reading_row {
  vllm::reading reading;
  void (*read)(model_builder&);
};
inline constexpr reading_row reading_rows[] = {
    {reading::dense, read_dense},
    {reading::deepseek_v1, read_alike},
    {reading::falcon, read_falcon},
    {reading::dbrx, read_dbrx},
    {reading::cohere2, read_cohere2},
    {reading::gpt_oss, read_gpt_oss},
    {reading::gemma3n, read_gemma3n},
    {reading::gemma4, read_gemma4},
    {reading::step3p5, read_step3p5},
    {reading::mimo_v2, read_mimo_v2},
    {reading::llama4, read_llama4},
    {reading::whisper, read_whisper},
    {reading::nemotron_nas, read_nemotron_nas},
    {reading::falcon_h1, read_falcon_h1},
    {reading::zamba2, read_zamba2},
    {reading::granite_hybrid, read_granite_hybrid},
    {reading::jamba, read_jamba},
    {reading::mamba1, read_mamba1},
    {reading::mamba2, read_mamba2},
    {reading::nemotron_h, read_nemotron_h},
    {reading::gated_delta_net, read_gated_delta_net},
    {reading::lfm2, read_lfm2},
    {reading::kimi_linear, read_kimi_linear},
    {reading::deepseek_mla, read_deepseek_mla},
    {reading::longcat_flash, read_deepseek_mla},
    {reading::deepseek_dsa, read_deepseek_dsa},
    {reading::deepseek_v4, read_deepseek_v4},
    {reading::minimax_m3, read_minimax_m3},
};

[[nodiscard]] inline std::string architecture_of(std::string_view model_type) {
  for (const architecture_of_type& t : architectures_of_types) {
    if (t.model_type == model_type) return std::string(t.architecture);
  }
  return {};
}
[[nodiscard]] inline std::string architecture_name(const node& config, std::string_view model_type) {
  if (const auto names = config.array("architectures"); names && !names->value().empty()) {
    return std::string(config_fields::word(*names, 0));
  }
  return architecture_of(model_type);
}

[[noreturn]] inline void unknown_architecture(const node& config, const std::string& name) {
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

/// The architecture of the language model inside a multimodal one.
[[nodiscard]] inline const architecture& architecture_inside(const config_fields& f) {
  // A part that names no type is read by the class that the wrapper's class gives it; beside the wrapper's own fields
  // there is only the wrapper's name.
  const std::string_view type = f.class_model_type();
  const std::string own = f.model_type();
  const std::string inner =
      f.text_stands_in_root() ? architecture_of(type) : architecture_name(f.text(), type.empty() ? own : type);
  const architecture* const found = find_architecture(inner);
  if (found == nullptr || found->reading == reading::wrapper) unknown_architecture(f.text(), inner);
  return *found;
}

/// is_mm_prefix_lm: images that attend in both directions.
inline void read_vision(model_builder& b) {
  if (!b.multimodal) return;
  const std::string type = b.f.root_model_type();
  if (b.reading == reading::gemma4) {
    b.out.model.mm_prefix = b.f.string("use_bidirectional_attention").value_or("") == "vision";
    // The largest item is a video: 32 frames of 70 soft tokens, their borders and a time stamp.
    b.out.model.largest_mm_item = 32 * (70 + 2 + 6);
    return;
  }
  b.out.model.mm_prefix = type == "gemma3" || type == "paligemma";
}

class layer_reader {
 public:
  layer_reader(const config_fields& fields, owned_model& into, draft_request draft) : b_{fields, into}, draft_(draft) {}

  /// Reads everything. Throws config_error for an architecture that is not known, and for fields that make no sense.
  void read() {
    const bool supports_pp = read_architecture();
    read_shape(b_);
    check_heads(b_);
    read_layer_types(b_);
    for (const reading_row& row : reading_rows) {
      if (row.reading == b_.reading) row.read(b_);
    }
    if (b_.num_hidden_layers == 0) b_.f.text().fail_missing("num_hidden_layers", "a whole number, at least 1");
    if ((b_.flags & qwen2_model) != 0) check_qwen2_windows(b_);
    if (b_.types && std::find(b_.types->begin(), b_.types->end(), transformers::layer_kind::full) == b_.types->end()) {
      b_.out.model.turboquant_finds_no_layers = b_.out.model.is_hybrid;
    }
    read_draft();
    b_.out.model.num_hidden_layers = b_.num_hidden_layers;
    b_.out.model.supports_pp = supports_pp;
    read_max_model_len(b_);
    read_vision(b_);
  }

 private:
  /// How the layers are read; whether the outer class runs in pipeline stages.
  bool read_architecture() {
    const std::string name = architecture_name(b_.f.root(), b_.f.root_model_type());
    b_.out.architecture = name;
    const architecture* found = find_architecture(name);
    if (found == nullptr) unknown_architecture(b_.f.root(), name);
    b_.multimodal = (found->flags & multimodal) != 0;
    const bool supports_pp = (found->flags & no_pipeline) == 0;
    if (found->reading == reading::wrapper) found = &architecture_inside(b_.f);
    b_.flags = found->flags;
    b_.reading = found->reading;
    return supports_pp;
  }

  /// Layers of the draft (config/speculative.py); ngram, suffix and medusa keep nothing.
  void read_draft() {
    b_.drafting = true;
    const drafting d{b_, draft_};
    switch (draft_.method) {
      case speculative_method::mtp: read_mtp(d); break;
      case speculative_method::eagle:
      case speculative_method::eagle3: read_eagle(d); break;
      case speculative_method::draft_model: read_draft_model(); break;
      case speculative_method::dflash:
      case speculative_method::dspark: read_dflash(d); break;
      default: break;
    }
    b_.drafting = false;
  }
  /// A whole model of its own; what has no window of its own has the target's (CacheConfig.sliding_window).
  void read_draft_model() {
    const config_fields fields(draft_config(draft_));
    owned_model other;
    layer_reader reader(fields, other, {});
    reader.b_.imposed_window = b_.common_window;
    reader.read();
    for (const layer_ref& ref : other.layers) b_.add_numbered_anew(other.classes[ref.layer_class], ref.layer);
  }

  model_builder b_;
  draft_request draft_;
};

}  // namespace kvbudget::detail::vllm
