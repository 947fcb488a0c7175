// What a vLLM checkpoint says of its own element types: those of a quantized cache, and the model's dtype.
#pragma once

#include <kvbudget/engines/vllm/layers.hpp>

namespace kvbudget::detail::vllm {

/// transformers_utils/model_arch_config_convertor.py (_normalize_quantization_config) and utils/torch_utils.py
/// (get_kv_cache_quant_algo_string): the cache type that a quantized checkpoint asks for.
class quantization_reader {
 public:
  quantization_reader(const node& root, const node& text, const json* hf_quant_config, owned_model& m) : m_(m) {
    const json* quantization = root.find("quantization_config");
    if (quantization == nullptr) quantization = hf_quant_config;
    if (quantization != nullptr && quantization->is_object()) read(*quantization);
    if (quantization == nullptr) quantization = root.find("compression_config");
    // The layers' quantization config may stand inside the text config too.
    const json* const layers = quantization != nullptr ? quantization : text.find("quantization_config");
    if (layers != nullptr && layers->is_object()) read_compressed_tensors(*layers);
  }

 private:
  static const json* member(const json& object, std::string_view name) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(name);
    return at == object.end() || at->is_null() ? nullptr : &*at;
  }
  static std::string word(const json& object, std::string_view name) {
    const json* const value = member(object, name);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  }
  static std::string cased(std::string text, bool upper) {
    for (char& c : text) {
      if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  }

  /// quant_method, where ModelOpt's own file names an algorithm instead.
  std::string method_of(const json& q) {
    std::string method = cased(word(q, "quant_method"), false);
    const json* const inner = member(q, "quantization");
    const json* const producer = member(q, "producer");
    const bool modelopt = (producer != nullptr && word(*producer, "name") == "modelopt") ||
                          (inner != nullptr && inner->is_object() && inner->contains("modelopt_quant_config"));
    if (!modelopt || inner == nullptr || member(*inner, "quant_algo") == nullptr) return method;
    const std::string algo = cased(word(*inner, "quant_algo"), true);
    if (algo == "FP8" || algo == "FP8_PER_CHANNEL_PER_TOKEN" || algo == "FP8_PB_WO") return "modelopt";
    if (algo == "NVFP4") return "modelopt_fp4";
    m_.refusal = "Unknown ModelOpt quant algo: " + word(*inner, "quant_algo");
    return method;
  }
  /// The scheme of the cache, a name or an object, in the file's own place or in ModelOpt's.
  static const json* cache_scheme(const json& q) {
    const json* const inner = member(q, "quantization");
    const json* scheme = nullptr;
    for (const std::string_view name : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
      if (scheme == nullptr && inner != nullptr) scheme = truthy(*inner, name);
      if (scheme == nullptr) scheme = truthy(q, name);
    }
    return scheme;
  }
  /// get_kv_cache_quant_algo_string.
  static std::string name_of_scheme(const json& scheme) {
    if (scheme.is_string()) return cased(scheme.get<std::string>(), false);
    if (!scheme.is_object() || word(scheme, "type") != "float") return {};
    const json* const bits = member(scheme, "num_bits");
    const json* const dynamic = member(scheme, "dynamic");
    if (bits == nullptr) return {};
    if (*bits == 4) return "nvfp4";
    return *bits == 8 && dynamic != nullptr && *dynamic == false ? "fp8" : "";
  }
  void read(const json& q) {
    if (method_of(q).rfind("modelopt", 0) != 0) return;
    const json* const scheme = cache_scheme(q);
    const std::string name = scheme != nullptr ? name_of_scheme(*scheme) : std::string();
    if (name == "fp8") m_.model.checkpoint_cache_dtype = cache_dtype::fp8_e4m3;
    if (name == "nvfp4") m_.model.checkpoint_cache_dtype = cache_dtype::nvfp4;
  }
  static const json* truthy(const json& object, std::string_view name) {
    const json* const value = member(object, name);
    if (value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty()) ||
        (value->is_structured() && value->empty()) || *value == false) {
      return nullptr;
    }
    return value;
  }
  /// layers/attention/attention.py: a scheme in the checkpoint makes ordinary attention fp8.
  void read_compressed_tensors(const json& q) {
    std::string method = cased(word(q, "quant_method"), false);
    if (method == "compressed_tensors") method = "compressed-tensors";
    const json* const scheme = member(q, "kv_cache_scheme");
    if (method != "compressed-tensors" || scheme == nullptr) return;
    m_.model.checkpoint_fp8_attention = true;
    const std::string strategy = word(*scheme, "strategy");
    m_.model.checkpoint_per_head_scales = strategy == "attn_head";
    // quantization/compressed_tensors/compressed_tensors.py: validate_kv_cache_scheme, asked by ordinary attention.
    const json* const bits = member(*scheme, "num_bits");
    const bool good = word(*scheme, "type") == "float" && bits != nullptr && *bits == 8 &&
                      (strategy == "tensor" || strategy == "attn_head") && truthy(*scheme, "symmetric") != nullptr;
    if (!good && !m_.model.use_mla && m_.refusal.empty()) {
      m_.refusal = "a compressed-tensors kv_cache_scheme must be symmetric float of 8 bits by tensor or attn_head";
    }
  }

  owned_model& m_;
};

/// A config's dtype is looked up in torch; types that attention does not run in become bfloat16.
inline void check_torch_type(const node& where, std::string_view key, std::string_view name) {
  if (name.rfind("torch.", 0) == 0) name.remove_prefix(6);
  for (const std::string_view known : {"bfloat16", "float16", "half", "float32", "float", "float64", "double",
                                       "float8_e4m3fn", "float8_e5m2", "int8", "uint8"}) {
    if (name == known) return;
  }
  where.fail(key, *where.find(key), "not a type of torch", "bfloat16, float16 or float32");
}

/// config/model.py:_get_and_verify_dtype: float32 checkpoints run as bfloat16 unless float32 was asked for.
inline state_dtype model_dtype(const config_fields& f, const std::optional<std::string>& setting) {
  const auto named = [](std::string_view name) {
    if (name.rfind("torch.", 0) == 0) name.remove_prefix(6);
    if (name == "float16" || name == "half") return state_dtype::float16;
    return name == "float32" || name == "float" ? state_dtype::float32 : state_dtype::bfloat16;
  };
  // gemma2 and its kin are unstable in float16: as the config's type it becomes bfloat16, as an option it is refused.
  const std::string type = f.root_model_type();
  const bool unstable = type == "gemma2" || type == "gemma3" || type == "gemma3_text" || type == "glm4";
  if (setting) {
    const state_dtype t = named(*setting);
    if (unstable && t == state_dtype::float16) {
      throw engine_refusal({"", "dtype", *setting}, type + " does not support float16", "bfloat16 or float32");
    }
    return t;
  }
  for (const node* at : {&f.root(), &f.text()}) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      if (at->find(key) == nullptr || !at->find(key)->is_string()) continue;
      const std::string name = at->string(key).value_or("");
      check_torch_type(*at, key, name);
      const state_dtype t = named(name);
      return t == state_dtype::float16 && !unstable ? t : state_dtype::bfloat16;
    }
  }
  return state_dtype::bfloat16;
}

}  // namespace kvbudget::detail::vllm
