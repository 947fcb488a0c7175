// The architectures of vLLM 0.32.0 whose caches are known here, and how their layers are read.
//
// A name maps to a reading, as vLLM's registry maps it to a class (model_executor/models/registry.py). What a reading
// does is in layers.hpp. Architectures that vLLM runs through transformers (models/transformers/base.py) are `dense`.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvbudget::detail::vllm {

enum class reading : std::uint8_t {
  dense,    ///< one attention layer per decoder layer, all of one shape
  wrapper,  ///< multimodal: the language model inside has its own architecture or model type
  deepseek_v1,
  falcon,
  dbrx,
  cohere2,
  gpt_oss,
  gemma3n,
  gemma4,
  step3p5,
  mimo_v2,
  llama4,
  whisper,
  nemotron_nas,
  falcon_h1,
  zamba2,
  granite_hybrid,
  jamba,
  mamba1,
  mamba2,
  nemotron_h,
  gated_delta_net,
  lfm2,
  kimi_linear,
  deepseek_mla,
  longcat_flash,
  deepseek_dsa,
  deepseek_v4,
  minimax_m3
};

/// How a dense reading departs from the usual one.
enum reading_flag : std::uint8_t {
  plain = 0,
  by_layer_types = 1,    ///< layer_types[i] "sliding_attention" gives layer i the window
  qwen2_model = 2,       ///< models/qwen2.py: Qwen2Model, which wants layers of one kind
  ignores_head_dim = 4,  ///< the head size is hidden_size / num_attention_heads whatever head_dim says
  multimodal = 8,
  no_pipeline = 32,         ///< the class does not implement SupportsPP
  sinks_with_windows = 16,  ///< attention sinks where layer_types is given (Granite SWA)
};

struct architecture {
  std::string_view name;
  vllm::reading reading;
  std::uint8_t flags = plain;
};

// clang-format off
inline constexpr architecture architectures[] = {
  // Decoders of one kind of attention.
  {"LlamaForCausalLM", reading::dense, by_layer_types}, {"LLaMAForCausalLM", reading::dense, by_layer_types},
  {"InternLM3ForCausalLM", reading::dense, by_layer_types}, {"IQuestCoderForCausalLM", reading::dense, by_layer_types},
  {"TeleChat3ForCausalLM", reading::dense, by_layer_types}, {"TeleChat2ForCausalLM", reading::dense, by_layer_types},
  {"MistralForCausalLM", reading::dense, by_layer_types}, {"Ministral3ForCausalLM", reading::dense, by_layer_types},
  {"MixtralForCausalLM", reading::dense}, {"MiniMaxM2ForCausalLM", reading::dense},
  {"Qwen2ForCausalLM", reading::dense, qwen2_model | ignores_head_dim},
  {"Qwen2MoeForCausalLM", reading::dense, ignores_head_dim},
  {"Qwen3ForCausalLM", reading::dense, qwen2_model},
  {"Qwen3MoeForCausalLM", reading::dense},
  {"MiMoForCausalLM", reading::dense, ignores_head_dim},
  {"SmolLM3ForCausalLM", reading::dense, by_layer_types},
  {"GPT2LMHeadModel", reading::dense, ignores_head_dim}, {"GPTBigCodeForCausalLM", reading::dense, by_layer_types},
  {"GPTNeoXForCausalLM", reading::dense, by_layer_types}, {"GPTJForCausalLM", reading::dense, ignores_head_dim},
  {"OPTForCausalLM", reading::dense, ignores_head_dim}, {"BloomForCausalLM", reading::dense, ignores_head_dim},
  {"PhiForCausalLM", reading::dense, by_layer_types}, {"Phi3ForCausalLM", reading::dense, by_layer_types},
  {"PhiMoEForCausalLM", reading::dense}, {"StableLmForCausalLM", reading::dense, ignores_head_dim},
  {"Starcoder2ForCausalLM", reading::dense, by_layer_types}, {"GemmaForCausalLM", reading::dense},
  {"Gemma2ForCausalLM", reading::dense, by_layer_types}, {"Gemma3ForCausalLM", reading::dense, by_layer_types},
  {"Rnj1ForCausalLM", reading::dense, by_layer_types}, {"ApertusForCausalLM", reading::dense, by_layer_types},
  {"ArceeForCausalLM", reading::dense, by_layer_types}, {"AfmoeForCausalLM", reading::dense, by_layer_types},
  {"Exaone4ForCausalLM", reading::dense, by_layer_types}, {"ExaoneMoeForCausalLM", reading::dense, by_layer_types},
  {"ExaoneMoEForCausalLM", reading::dense, by_layer_types}, {"ExaoneForCausalLM", reading::dense},
  {"Olmo3ForCausalLM", reading::dense, by_layer_types}, {"Olmo2ForCausalLM", reading::dense, by_layer_types},
  {"OlmoForCausalLM", reading::dense, by_layer_types}, {"OlmoeForCausalLM", reading::dense, ignores_head_dim},
  {"CohereForCausalLM", reading::dense}, {"Cohere2ForCausalLM", reading::cohere2},
  {"SeedOssForCausalLM", reading::dense, by_layer_types}, {"HeliumForCausalLM", reading::dense, by_layer_types},
  {"CwmForCausalLM", reading::dense, by_layer_types}, {"GlmForCausalLM", reading::dense, by_layer_types},
  {"Glm4ForCausalLM", reading::dense}, {"Glm4MoeForCausalLM", reading::dense},
  {"GraniteForCausalLM", reading::dense, by_layer_types | sinks_with_windows},
  {"GraniteSWAForCausalLM", reading::dense, by_layer_types | sinks_with_windows},
  {"GraniteMoeForCausalLM", reading::dense, by_layer_types | sinks_with_windows | ignores_head_dim},
  {"GraniteMoeSharedForCausalLM", reading::dense, by_layer_types | sinks_with_windows | ignores_head_dim},
  {"GraniteMoeSWAForCausalLM", reading::dense, by_layer_types | sinks_with_windows | ignores_head_dim},
  {"Ernie4_5ForCausalLM", reading::dense, by_layer_types}, {"Ernie4_5_MoeForCausalLM", reading::dense},
  {"InternLM2ForCausalLM", reading::dense, ignores_head_dim}, {"MiniCPMForCausalLM", reading::dense, ignores_head_dim},
  {"NemotronForCausalLM", reading::dense}, {"OrionForCausalLM", reading::dense, ignores_head_dim},
  {"SolarForCausalLM", reading::dense},
  {"HYV3ForCausalLM", reading::dense}, {"HyperCLOVAXForCausalLM", reading::dense},
  {"BailingMoeForCausalLM", reading::dense}, {"BailingMoeV2ForCausalLM", reading::dense},
  {"ChatGLMModel", reading::dense, ignores_head_dim},
  {"ChatGLMForConditionalGeneration", reading::dense, ignores_head_dim},
  {"DeciLMForCausalLM", reading::nemotron_nas}, {"FalconForCausalLM", reading::falcon},
  {"DbrxForCausalLM", reading::dbrx, ignores_head_dim}, {"DeepseekForCausalLM", reading::deepseek_v1, ignores_head_dim},
  // Several kinds of attention.
  {"GptOssForCausalLM", reading::gpt_oss}, {"Gemma3nForCausalLM", reading::gemma3n, no_pipeline},
  {"Gemma3nForConditionalGeneration", reading::gemma3n, multimodal | no_pipeline},
  {"Gemma4ForCausalLM", reading::gemma4},
  {"Gemma4ForConditionalGeneration", reading::gemma4, multimodal},
  {"Gemma4UnifiedForConditionalGeneration", reading::gemma4, multimodal}, {"Step3p5ForCausalLM", reading::step3p5},
  {"MiMoV2FlashForCausalLM", reading::mimo_v2}, {"MiMoV2ForCausalLM", reading::mimo_v2},
  {"Llama4ForCausalLM", reading::llama4}, {"Llama4ForConditionalGeneration", reading::llama4, multimodal},
  {"WhisperForConditionalGeneration", reading::whisper, multimodal | no_pipeline},
  // Recurrent layers.
  {"FalconH1ForCausalLM", reading::falcon_h1}, {"Zamba2ForCausalLM", reading::zamba2, no_pipeline},
  {"GraniteMoeHybridForCausalLM", reading::granite_hybrid, ignores_head_dim},
  {"JambaForCausalLM", reading::jamba, ignores_head_dim},
  {"MambaForCausalLM", reading::mamba1}, {"FalconMambaForCausalLM", reading::mamba1},
  {"Mamba2ForCausalLM", reading::mamba2, no_pipeline}, {"NemotronHForCausalLM", reading::nemotron_h},
  {"NemotronHPuzzleForCausalLM", reading::nemotron_h}, {"Qwen3NextForCausalLM", reading::gated_delta_net},
  {"Qwen3_5ForCausalLM", reading::gated_delta_net}, {"Qwen3_5MoeForCausalLM", reading::gated_delta_net},
  {"Qwen3_5ForConditionalGeneration", reading::gated_delta_net, multimodal},
  {"Qwen3_5MoeForConditionalGeneration", reading::gated_delta_net, multimodal},
  {"OlmoHybridForCausalLM", reading::gated_delta_net, ignores_head_dim},
  {"Lfm2ForCausalLM", reading::lfm2, ignores_head_dim},
  {"Lfm2MoeForCausalLM", reading::lfm2, ignores_head_dim},
  {"Lfm2VlForConditionalGeneration", reading::lfm2, multimodal | ignores_head_dim},
  {"KimiLinearForCausalLM", reading::kimi_linear}, {"KimiK3ForConditionalGeneration", reading::kimi_linear, multimodal},
  // Latent attention.
  {"DeepseekV2ForCausalLM", reading::deepseek_mla}, {"DeepseekV3ForCausalLM", reading::deepseek_mla},
  {"AXK1ForCausalLM", reading::deepseek_mla}, {"Glm4MoeLiteForCausalLM", reading::deepseek_mla},
  {"PanguUltraMoEForCausalLM", reading::deepseek_mla},
  {"KimiVLForConditionalGeneration", reading::deepseek_mla, multimodal},
  {"KimiK25ForConditionalGeneration", reading::deepseek_mla, multimodal},
  {"LongcatFlashForCausalLM", reading::longcat_flash}, {"DeepseekV32ForCausalLM", reading::deepseek_dsa},
  {"GlmMoeDsaForCausalLM", reading::deepseek_dsa}, {"DeepseekV4ForCausalLM", reading::deepseek_v4},
  {"MiniMaxM3SparseForCausalLM", reading::minimax_m3},
  {"MiniMaxM3SparseForConditionalGeneration", reading::minimax_m3, multimodal},
  // Multimodal models around one of the above.
  {"Qwen2VLForConditionalGeneration", reading::wrapper, multimodal},
  {"Qwen2_5_VLForConditionalGeneration", reading::wrapper, multimodal},
  {"Qwen3VLForConditionalGeneration", reading::wrapper, multimodal},
  {"Qwen3VLMoeForConditionalGeneration", reading::wrapper, multimodal},
  {"Gemma3ForConditionalGeneration", reading::wrapper, multimodal},
  {"PaliGemmaForConditionalGeneration", reading::wrapper, multimodal},
  {"Mistral3ForConditionalGeneration", reading::wrapper, multimodal},
  {"LlavaForConditionalGeneration", reading::wrapper, multimodal},
  {"LlavaNextForConditionalGeneration", reading::wrapper, multimodal},
  {"LlavaOnevisionForConditionalGeneration", reading::wrapper, multimodal},
  {"InternVLForConditionalGeneration", reading::wrapper, multimodal},
  {"InternVLChatModel", reading::wrapper, multimodal},
  {"Idefics3ForConditionalGeneration", reading::wrapper, multimodal | no_pipeline},
  {"SmolVLMForConditionalGeneration", reading::wrapper, multimodal | no_pipeline},
  {"Cohere2VisionForConditionalGeneration", reading::wrapper, multimodal},
  {"Qwen2AudioForConditionalGeneration", reading::wrapper, multimodal},
  {"VoxtralForConditionalGeneration", reading::wrapper, multimodal},
  {"Step3p7ForConditionalGeneration", reading::wrapper, multimodal},
  {"Glm4vForConditionalGeneration", reading::wrapper, multimodal},
  {"Glm4vMoeForConditionalGeneration", reading::wrapper, multimodal},
};

/// The architecture of a model type, where a config (or a wrapper's text config) names none.
struct architecture_of_type { std::string_view model_type, architecture; };
inline constexpr architecture_of_type architectures_of_types[] = {
  {"llama", "LlamaForCausalLM"}, {"mistral", "MistralForCausalLM"}, {"ministral3", "Ministral3ForCausalLM"},
  {"mixtral", "MixtralForCausalLM"}, {"qwen2", "Qwen2ForCausalLM"}, {"qwen2_moe", "Qwen2MoeForCausalLM"},
  {"qwen2_vl_text", "Qwen2ForCausalLM"}, {"qwen2_5_vl_text", "Qwen2ForCausalLM"}, {"qwen2_vl", "Qwen2ForCausalLM"},
  {"qwen2_5_vl", "Qwen2ForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"}, {"qwen3_moe", "Qwen3MoeForCausalLM"},
  {"qwen3_vl_text", "Qwen3ForCausalLM"}, {"qwen3_vl_moe_text", "Qwen3MoeForCausalLM"}, {"gemma", "GemmaForCausalLM"},
  {"gemma2", "Gemma2ForCausalLM"}, {"gemma3_text", "Gemma3ForCausalLM"}, {"phi3", "Phi3ForCausalLM"},
  {"cohere2", "Cohere2ForCausalLM"}, {"step3p5", "Step3p5ForCausalLM"}, {"glm4v_text", "Glm4ForCausalLM"},
  {"glm4v_moe_text", "Glm4MoeForCausalLM"}, {"internlm2", "InternLM2ForCausalLM"},
  {"internlm3", "InternLM3ForCausalLM"},
  {"granite", "GraniteForCausalLM"}, {"granitemoehybrid", "GraniteMoeHybridForCausalLM"},
  {"qwen3_next", "Qwen3NextForCausalLM"}, {"qwen3_5_text", "Qwen3_5ForCausalLM"},
  {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"}, {"qwen3_5", "Qwen3_5ForConditionalGeneration"},
  {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"}, {"gpt_oss", "GptOssForCausalLM"},
  {"deepseek_v2", "DeepseekV2ForCausalLM"}, {"deepseek_v3", "DeepseekV3ForCausalLM"},
  {"kimi_k2", "DeepseekV3ForCausalLM"}, {"deepseek_v32", "DeepseekV32ForCausalLM"},
  {"deepseek_v4", "DeepseekV4ForCausalLM"}, {"glm_moe_dsa", "GlmMoeDsaForCausalLM"},
  {"nemotron_h", "NemotronHForCausalLM"}, {"minimax_m2", "MiniMaxM2ForCausalLM"},
  {"kimi_linear", "KimiLinearForCausalLM"}, {"jamba", "JambaForCausalLM"}, {"mamba", "MambaForCausalLM"},
  {"mamba2", "Mamba2ForCausalLM"}, {"falcon_h1", "FalconH1ForCausalLM"}, {"zamba2", "Zamba2ForCausalLM"},
  {"lfm2", "Lfm2ForCausalLM"}, {"llama4_text", "Llama4ForCausalLM"}, {"gemma3n_text", "Gemma3nForCausalLM"},
  {"gemma4_text", "Gemma4ForCausalLM"}, {"smollm3", "SmolLM3ForCausalLM"}, {"exaone4", "Exaone4ForCausalLM"},
  {"olmo2", "Olmo2ForCausalLM"}, {"olmo3", "Olmo3ForCausalLM"}, {"starcoder2", "Starcoder2ForCausalLM"},
  {"opt", "OPTForCausalLM"}, {"gpt2", "GPT2LMHeadModel"}, {"gpt_neox", "GPTNeoXForCausalLM"},
  {"gpt_bigcode", "GPTBigCodeForCausalLM"}, {"phi", "PhiForCausalLM"}, {"stablelm", "StableLmForCausalLM"},
  {"falcon", "FalconForCausalLM"}, {"cwm", "CwmForCausalLM"}, {"afmoe", "AfmoeForCausalLM"},
  {"exaone_moe", "ExaoneMoeForCausalLM"}, {"granite_swa", "GraniteSWAForCausalLM"},
  {"granitemoe_swa", "GraniteMoeSWAForCausalLM"}, {"olmo_hybrid", "OlmoHybridForCausalLM"},
};

/// Architectures that vLLM dropped, with the last version that had them (registry.py:
/// _PREVIOUSLY_SUPPORTED_MODELS), and that transformers has no class for.
struct dropped_architecture { std::string_view name, last_version; };
inline constexpr dropped_architecture dropped_architectures[] = {
  {"MotifForCausalLM", "0.10.2"}, {"Phi3SmallForCausalLM", "0.9.2"}, {"Phi4FlashForCausalLM", "0.10.2"},
  {"JAISLMHeadModel", "0.22.0"}, {"QWenLMHeadModel", "0.23.0"}, {"InternLMForCausalLM", "0.23.0"},
  {"XverseForCausalLM", "0.23.0"}, {"MiniMaxText01ForCausalLM", "0.23.0"}, {"MiniMaxM1ForCausalLM", "0.23.0"},
  {"BaiChuanForCausalLM", "0.23.0"}, {"BaichuanForCausalLM", "0.23.0"}, {"AquilaModel", "0.24.0"},
  {"AquilaForCausalLM", "0.24.0"}, {"Grok1ModelForCausalLM", "0.24.0"}, {"Grok1ForCausalLM", "0.24.0"},
  {"TeleChatForCausalLM", "0.25.0"}, {"Plamo2ForCausalLM", "0.26.0"}, {"OuroForCausalLM", "0.26.0"},
  {"ArcticForCausalLM", "0.28.0"},
};
// clang-format on

[[nodiscard]] constexpr const architecture* find_architecture(std::string_view name) noexcept {
  for (const architecture& a : architectures) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace kvbudget::detail::vllm
