// config.json to the GGUF keys that matter for memory, as llama.cpp's converter writes them.
//
// Source: llama.cpp 0.5.0-dev, conversion/*.py (set_gguf_parameters of each model class). One `rules` value per
// class, or per group of classes that write the same keys; named after the class.
#pragma once

#include <kvbudget/config/llama_cpp/hf_source.hpp>

namespace kvbudget::llama_cpp::detail {

enum class rules : std::uint8_t {
  base, afmoe, arwkv7, bailing2, bailing3, bert, bloom, chatglm, codeshell, cohere, cohere2, cohere2moe, dbrx, deci,
  deepseek2, deepseek32, deepseek4, dots3, draft, embedding_gemma, exaone4, exaone_moe, falcon, falcon_h1, gemma,
  gemma2, gemma3, gemma3n, gemma4, gemma4_assistant, glm_moe, glm5_next, glm_dsa, glm_lite, gpt2, gpt_neox, gpt_oss,
  granite, granite_hybrid, granite_swa, granite_switch, hrm, hunyuan, hy_v4, jais, jamba, kimi, laguna, lfm2,
  lfm2_colbert, llada, llama4, mamba, mamba2, maple, mellum, mimo2, minicpm3, minimax_01, minimax_m3, mistral3, mpt,
  muse_glimmer, nanbeige, nemotron_h, nemotron_h_puzzle, neox_like_orion, no_memory, nomic, olmo2, openelm, phi2, phi3,
  phimoe, plamo, plamo2, plamo3, plm, qwen_mtp, qwen3_tts, qwen4, refact, rwkv6, rwkv6qwen2, rwkv7, smallthinker,
  sliding_types, stablelm, starcoder, step35, t5, unsupported
};

/// A class name in `architectures`, the GGUF architecture that its converter class writes, and the class's rules.
struct converter_row {
  std::string_view hf_architecture;
  std::string_view gguf;
  rules how = rules::base;
};

// clang-format off
inline constexpr converter_row converters[] = {
    {"AfmoeForCausalLM", "afmoe", rules::afmoe}, {"ApertusForCausalLM", "apertus"}, {"ArceeForCausalLM", "arcee"},
    {"ArcticForCausalLM", "arctic"}, {"AudioFlamingo3ForConditionalGeneration", "qwen2"},
    {"BaiChuanForCausalLM", "baichuan"}, {"BaichuanForCausalLM", "baichuan"}, {"BailingMoeForCausalLM", "bailingmoe"},
    {"BailingMoeV2ForCausalLM", "bailingmoe2", rules::bailing2},
    {"BailingMoeV3ForCausalLM", "bailingmoe3", rules::bailing3},
    {"BailingMoeV3VLForConditionalGeneration", "bailingmoe3", rules::bailing3},
    {"BambaForCausalLM", "granitehybrid", rules::granite_hybrid}, {"BertForMaskedLM", "bert", rules::bert},
    {"BertForSequenceClassification", "bert", rules::bert}, {"BertModel", "bert", rules::bert},
    {"BitNetForCausalLM", "bitnet"}, {"BitnetForCausalLM", "bitnet"}, {"BloomForCausalLM", "bloom", rules::bloom},
    {"BloomModel", "bloom", rules::bloom}, {"CamembertModel", "bert", rules::bert},
    {"ChameleonForCausalLM", "chameleon"}, {"ChameleonForConditionalGeneration", "chameleon"},
    {"ChatGLMForConditionalGeneration", "chatglm", rules::chatglm}, {"ChatGLMModel", "chatglm", rules::chatglm},
    {"CodeShellForCausalLM", "codeshell", rules::codeshell}, {"CogVLMForCausalLM", "cogvlm"},
    {"Cohere2ForCausalLM", "cohere2", rules::cohere2}, {"Cohere2MoeForCausalLM", "cohere2moe", rules::cohere2moe},
    {"CohereForCausalLM", "command-r", rules::cohere}, {"DFlash2DraftModel", "dflash", rules::draft},
    {"DFlashDraftModel", "dflash", rules::draft}, {"DSparkDraftModel", "dflash", rules::draft},
    {"DSparkSpeculator", "dflash", rules::draft}, {"DbrxForCausalLM", "dbrx", rules::dbrx},
    {"DeciLMForCausalLM", "deci", rules::deci}, {"DeepseekForCausalLM", "deepseek"},
    {"DeepseekOCRForCausalLM", "deepseek2", rules::deepseek2}, {"DeepseekV2ForCausalLM", "deepseek2", rules::deepseek2},
    {"DeepseekV32ForCausalLM", "deepseek32", rules::deepseek32},
    {"DeepseekV3ForCausalLM", "deepseek2", rules::deepseek2},
    {"DeepseekV4DSparkModel", "dflash", rules::draft}, {"DeepseekV4ForCausalLM", "deepseek4", rules::deepseek4},
    {"DistilBertForMaskedLM", "bert", rules::bert}, {"DistilBertForSequenceClassification", "bert", rules::bert},
    {"DistilBertModel", "bert", rules::bert}, {"Dots1ForCausalLM", "dots1"},
    {"Dots3NoteForCausalLM", "dots3note", rules::dots3}, {"Dots3NoteForConditionalGeneration", "dots3note", rules::dots3},
    {"Dots3NoteTextForCausalLM", "dots3note", rules::dots3}, {"DotsOCRForCausalLM", "qwen2"},
    {"DreamModel", "dream", rules::no_memory}, {"Eagle3DraftModel", "eagle3", rules::draft},
    {"Eagle3LlamaForCausalLM", "eagle3", rules::draft}, {"Eagle3Speculator", "eagle3", rules::draft},
    {"Ernie4_5ForCausalLM", "ernie4_5"}, {"Ernie4_5_ForCausalLM", "ernie4_5"},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5-moe"}, {"EuroBertModel", "eurobert", rules::bert},
    {"Exaone4ForCausalLM", "exaone4", rules::exaone4}, {"Exaone4_5_ForConditionalGeneration", "exaone4", rules::exaone4},
    {"ExaoneForCausalLM", "exaone"}, {"ExaoneMoEForCausalLM", "exaone-moe", rules::exaone_moe},
    {"ExaoneMoeForCausalLM", "exaone-moe", rules::exaone_moe}, {"FalconForCausalLM", "falcon", rules::falcon},
    {"FalconH1ForCausalLM", "falcon-h1", rules::falcon_h1}, {"FalconMambaForCausalLM", "mamba", rules::mamba},
    {"GPT2LMHeadModel", "gpt2", rules::gpt2}, {"GPTBigCodeForCausalLM", "starcoder", rules::starcoder},
    {"GPTNeoXForCausalLM", "gptneox", rules::gpt_neox}, {"GPTRefactForCausalLM", "refact", rules::refact},
    {"Gemma2ForCausalLM", "gemma2", rules::gemma2}, {"Gemma3ForCausalLM", "gemma3", rules::gemma3},
    {"Gemma3ForConditionalGeneration", "gemma3", rules::gemma3},
    {"Gemma3TextModel", "gemma-embedding", rules::embedding_gemma}, {"Gemma3nForCausalLM", "gemma3n", rules::gemma3n},
    {"Gemma3nForConditionalGeneration", "gemma3n", rules::gemma3n},
    {"Gemma4AssistantForCausalLM", "gemma4-assistant", rules::gemma4_assistant},
    {"Gemma4DSparkModel", "dflash", rules::draft}, {"Gemma4ForCausalLM", "gemma4", rules::gemma4},
    {"Gemma4ForConditionalGeneration", "gemma4", rules::gemma4},
    {"Gemma4UnifiedAssistantForCausalLM", "gemma4-assistant", rules::gemma4_assistant},
    {"Gemma4UnifiedForConditionalGeneration", "gemma4", rules::gemma4}, {"GemmaForCausalLM", "gemma", rules::gemma},
    {"Glm4ForCausalLM", "glm4"}, {"Glm4MoeForCausalLM", "glm4moe", rules::glm_moe},
    {"Glm4MoeLiteForCausalLM", "deepseek2", rules::glm_lite}, {"Glm4vForConditionalGeneration", "glm4"},
    {"Glm4vMoeForConditionalGeneration", "glm4moe", rules::glm_moe},
    {"Glm5NextForConditionalGeneration", "glm5-next", rules::glm5_next}, {"GlmForCausalLM", "chatglm", rules::chatglm},
    {"GlmMoeDsaForCausalLM", "glm-dsa", rules::glm_dsa}, {"GlmOcrForConditionalGeneration", "glm4", rules::glm_moe},
    {"GptOssForCausalLM", "gpt-oss", rules::gpt_oss}, {"GraniteForCausalLM", "granite", rules::granite},
    {"GraniteMoeForCausalLM", "granitemoe", rules::granite},
    {"GraniteMoeHybridForCausalLM", "granitehybrid", rules::granite_hybrid},
    {"GraniteMoeSWAForCausalLM", "granite_swa", rules::granite_swa},
    {"GraniteMoeSharedForCausalLM", "granitemoe", rules::granite},
    {"GraniteSWAForCausalLM", "granite_swa", rules::granite_swa},
    {"GraniteSwitchForCausalLM", "graniteswitch", rules::granite_switch}, {"Grok1ForCausalLM", "grok"},
    {"GrokForCausalLM", "grok"}, {"GroveMoeForCausalLM", "grovemoe"}, {"HYV3ForCausalLM", "hy_v3", rules::glm_moe},
    {"HYV4ForCausalLM", "hy_v4", rules::hy_v4}, {"HrmTextForCausalLM", "hrm_text", rules::hrm},
    {"HunYuanDenseV1ForCausalLM", "hunyuan-dense", rules::hunyuan},
    {"HunYuanMoEV1ForCausalLM", "hunyuan-moe", rules::hunyuan},
    {"HunYuanVLForConditionalGeneration", "hunyuan_vl", rules::base}, {"IQuestCoderForCausalLM", "llama"},
    {"InternLM2ForCausalLM", "internlm2"}, {"InternLM3ForCausalLM", "llama"},
    {"JAISLMHeadModel", "jais", rules::jais}, {"Jais2ForCausalLM", "jais2"}, {"JambaForCausalLM", "jamba", rules::jamba},
    {"JanusForConditionalGeneration", "llama"}, {"JinaBertForMaskedLM", "jina-bert-v2", rules::bert},
    {"JinaBertModel", "jina-bert-v2", rules::bert}, {"JinaEmbeddingsV5Model", "eurobert", rules::bert},
    {"KORMoForCausalLM", "qwen2"}, {"KimiK25ForConditionalGeneration", "deepseek2", rules::deepseek2},
    {"KimiK3ForConditionalGeneration", "kimi-k3", rules::kimi}, {"KimiLinearForCausalLM", "kimi-linear", rules::kimi},
    {"KimiLinearModel", "kimi-linear", rules::kimi}, {"KimiVLForConditionalGeneration", "deepseek2", rules::deepseek2},
    {"LFM2ForCausalLM", "lfm2", rules::lfm2}, {"LLaDAMoEModel", "llada-moe", rules::no_memory},
    {"LLaDAMoEModelLM", "llada-moe", rules::no_memory}, {"LLaDAModelLM", "llada", rules::llada},
    {"LLaMAForCausalLM", "llama"}, {"LagunaForCausalLM", "laguna", rules::laguna},
    {"Lfm25AudioTokenizer", "lfm2", rules::lfm2_colbert}, {"Lfm2BidirectionalModel", "lfm2", rules::lfm2},
    {"Lfm2DSparkDraftModel", "dflash", rules::draft}, {"Lfm2ForCausalLM", "lfm2", rules::lfm2},
    {"Lfm2Model", "lfm2", rules::lfm2}, {"Lfm2MoeForCausalLM", "lfm2moe", rules::lfm2},
    {"LingDSparkModel", "dflash", rules::draft}, {"Llama4ForCausalLM", "llama4", rules::llama4},
    {"Llama4ForConditionalGeneration", "llama4", rules::llama4}, {"LlamaBidirectionalModel", "llama-embed"},
    {"LlamaForCausalLM", "llama"}, {"LlamaForCausalLMEagle3", "eagle3", rules::draft}, {"LlamaModel", "llama"},
    {"LlavaForConditionalGeneration", "llama"}, {"LlavaStableLMEpochForCausalLM", "stablelm", rules::stablelm},
    {"MPTForCausalLM", "mpt", rules::mpt}, {"MT5ForConditionalGeneration", "t5", rules::t5},
    {"MaincoderForCausalLM", "maincoder"}, {"Mamba2ForCausalLM", "mamba2", rules::mamba2},
    {"MambaForCausalLM", "mamba", rules::mamba}, {"MambaLMHeadModel", "mamba", rules::mamba},
    {"MapleForCausalLM", "maple", rules::sliding_types}, {"MellumForCausalLM", "mellum", rules::mellum},
    {"MiMoV2FlashForCausalLM", "mimo2", rules::mimo2}, {"MiMoV2ForCausalLM", "mimo2", rules::mimo2},
    {"MiniCPM3ForCausalLM", "minicpm3", rules::minicpm3}, {"MiniCPMForCausalLM", "minicpm"},
    {"MiniCPMV4_6ForConditionalGeneration", "qwen35", rules::qwen_mtp}, {"MiniMaxM1ForCausalLM", "minimax-01"},
    {"MiniMaxM2ForCausalLM", "minimax-m2"}, {"MiniMaxM3SparseForCausalLM", "minimax-m3", rules::minimax_m3},
    {"MiniMaxM3SparseForConditionalGeneration", "minimax-m3", rules::minimax_m3}, {"MiniMaxText01ForCausalLM", "minimax-01"},
    {"Ministral3ForCausalLM", "mistral3", rules::mistral3}, {"Mistral3ForConditionalGeneration", "mistral3", rules::mistral3},
    {"MistralForCausalLM", "llama"}, {"MixtralForCausalLM", "llama"}, {"ModernBertForMaskedLM", "modern-bert", rules::bert},
    {"ModernBertForSequenceClassification", "modern-bert", rules::bert}, {"ModernBertModel", "modern-bert", rules::bert},
    {"MuseGlimmerAssistantModel", "dflash", rules::draft},
    {"MuseGlimmerForConditionalGeneration", "muse-glimmer", rules::sliding_types},
    {"NanbeigeForCausalLM", "nanbeige", rules::nanbeige}, {"NemotronForCausalLM", "nemotron"},
    {"NemotronHForCausalLM", "nemotron_h", rules::nemotron_h},
    {"NemotronHPuzzleForCausalLM", "nemotron_h_moe", rules::nemotron_h_puzzle}, {"NeoBERT", "neo-bert", rules::bert},
    {"NeoBERTForSequenceClassification", "neo-bert", rules::bert}, {"NeoBERTLMHead", "neo-bert", rules::bert},
    {"NomicBertModel", "nomic-bert", rules::nomic}, {"OLMoForCausalLM", "olmo"}, {"Olmo2ForCausalLM", "olmo2", rules::olmo2},
    {"Olmo3ForCausalLM", "olmo2", rules::olmo2}, {"OlmoForCausalLM", "olmo"}, {"OlmoeForCausalLM", "olmoe"},
    {"OpenELMForCausalLM", "openelm", rules::openelm}, {"OrionForCausalLM", "orion", rules::neox_like_orion},
    {"PLMForCausalLM", "plm", rules::plm}, {"PLaMo2ForCausalLM", "plamo2", rules::plamo2},
    {"PLaMo3ForCausalLM", "plamo3", rules::plamo3}, {"PaddleOCRVLForConditionalGeneration", "paddleocr"},
    {"PanguEmbeddedForCausalLM", "pangu-embedded"}, {"Phi3ForCausalLM", "phi3", rules::phi3},
    {"Phi4ForCausalLMV", "phi3", rules::phi3}, {"PhiForCausalLM", "phi2", rules::phi2},
    {"PhiMoEForCausalLM", "phimoe", rules::phimoe}, {"Plamo2ForCausalLM", "plamo2", rules::plamo2},
    {"Plamo3ForCausalLM", "plamo3", rules::plamo3}, {"PlamoForCausalLM", "plamo", rules::plamo},
    {"PocketTTSModel", "pockettts"}, {"QWenLMHeadModel", "qwen"}, {"Qwen2AudioForConditionalGeneration", "qwen2"},
    {"Qwen2ForCausalLM", "qwen2"}, {"Qwen2Model", "qwen2"}, {"Qwen2MoeForCausalLM", "qwen2moe"},
    {"Qwen2VLForConditionalGeneration", "qwen2vl"}, {"Qwen2VLModel", "qwen2vl"}, {"Qwen2_5OmniModel", "qwen2vl"},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2vl"}, {"Qwen3ASRForConditionalGeneration", "qwen3vl"},
    {"Qwen3DSparkModel", "dflash", rules::draft}, {"Qwen3ForCausalLM", "qwen3"}, {"Qwen3Model", "qwen3"},
    {"Qwen3MoeForCausalLM", "qwen3moe"}, {"Qwen3NextForCausalLM", "qwen3next", rules::qwen_mtp},
    {"Qwen3OmniMoeForConditionalGeneration", "qwen3vlmoe"}, {"Qwen3TTSForConditionalGeneration", "qwen3tts", rules::qwen3_tts},
    {"Qwen3VLForConditionalGeneration", "qwen3vl"}, {"Qwen3VLMoeForConditionalGeneration", "qwen3vlmoe"},
    {"Qwen3_5ForCausalLM", "qwen35", rules::qwen_mtp}, {"Qwen3_5ForConditionalGeneration", "qwen35", rules::qwen_mtp},
    {"Qwen3_5MoeForCausalLM", "qwen35moe", rules::qwen_mtp},
    {"Qwen3_5MoeForConditionalGeneration", "qwen35moe", rules::qwen_mtp},
    {"Qwen4ExpForCausalLM", "qwen4exp", rules::qwen4}, {"Qwen4ExpForConditionalGeneration", "qwen4exp", rules::qwen4},
    {"RND1", "rnd1", rules::no_memory}, {"RWForCausalLM", "falcon", rules::falcon},
    {"RWKV6Qwen2ForCausalLM", "rwkv6qwen2", rules::rwkv6qwen2}, {"RWKV7ForCausalLM", "rwkv7", rules::rwkv7},
    {"RobertaForSequenceClassification", "bert", rules::bert}, {"RobertaModel", "bert", rules::bert},
    {"RuGPT3XLForCausalLM", "gpt2"}, {"Rwkv6ForCausalLM", "rwkv6", rules::rwkv6}, {"Rwkv7ForCausalLM", "rwkv7", rules::rwkv7},
    {"RwkvHybridForCausalLM", "arwkv7", rules::arwkv7}, {"Sarashina2VisionForCausalLM", "llama"},
    {"SarvamMoEForCausalLM", "bailingmoe2", rules::bailing2}, {"SeedOssForCausalLM", "seed_oss"},
    {"SmallThinkerForCausalLM", "smallthinker", rules::smallthinker}, {"SmolLM3ForCausalLM", "smollm3"},
    {"SolarOpenForCausalLM", "glm4moe", rules::glm_moe}, {"Spark2_5ForCausalLM", "spark2_5", rules::sliding_types},
    {"StableLMEpochForCausalLM", "stablelm", rules::stablelm}, {"StableLmForCausalLM", "stablelm", rules::stablelm},
    {"Starcoder2ForCausalLM", "starcoder2"}, {"Step3p5ForCausalLM", "step35", rules::step35},
    {"Step3p7ForConditionalGeneration", "step35", rules::step35}, {"StepVLForConditionalGeneration", "qwen3"},
    {"T5EncoderModel", "t5encoder", rules::t5}, {"T5ForConditionalGeneration", "t5", rules::t5},
    {"T5WithLMHeadModel", "t5", rules::t5}, {"TalkieForCausalLM", "talkie"}, {"UMT5ForConditionalGeneration", "t5", rules::t5},
    {"UMT5Model", "t5", rules::t5}, {"UnlimitedOCRForCausalLM", "deepseek2", rules::deepseek2},
    {"VLlama3ForCausalLM", "llama"}, {"VoxtralForConditionalGeneration", "llama"},
    {"XLMRobertaForSequenceClassification", "bert", rules::bert}, {"XLMRobertaModel", "bert", rules::bert},
    {"XverseForCausalLM", "xverse"}, {"YoutuForCausalLM", "deepseek2", rules::deepseek2},
    {"YoutuVLForConditionalGeneration", "deepseek2", rules::deepseek2},
    {"modeling_grove_moe.GroveMoeForCausalLM", "grovemoe"}, {"modeling_sarvam_moe.SarvamMoEForCausalLM", "bailingmoe2", rules::bailing2},
};

/// For files without `architectures`, which the converter itself refuses: the class by which they are published.
struct published_class {
  std::string_view model_type;
  std::string_view hf_architecture;
};
inline constexpr published_class published_classes[] = {
    {"afmoe", "AfmoeForCausalLM"}, {"apertus", "ApertusForCausalLM"}, {"arcee", "ArceeForCausalLM"},
    {"baichuan", "BaichuanForCausalLM"}, {"bamba", "BambaForCausalLM"}, {"bert", "BertModel"}, {"bitnet", "BitNetForCausalLM"},
    {"bloom", "BloomForCausalLM"}, {"chameleon", "ChameleonForConditionalGeneration"}, {"chatglm", "ChatGLMModel"},
    {"cohere", "CohereForCausalLM"}, {"cohere2", "Cohere2ForCausalLM"}, {"cohere2_moe", "Cohere2MoeForCausalLM"},
    {"dbrx", "DbrxForCausalLM"}, {"deepseek", "DeepseekForCausalLM"}, {"deepseek_v2", "DeepseekV2ForCausalLM"},
    {"deepseek_v3", "DeepseekV3ForCausalLM"}, {"deepseek_v32", "DeepseekV32ForCausalLM"},
    {"deepseek_v4", "DeepseekV4ForCausalLM"}, {"dots1", "Dots1ForCausalLM"}, {"ernie4_5", "Ernie4_5ForCausalLM"},
    {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM"}, {"exaone", "ExaoneForCausalLM"}, {"exaone4", "Exaone4ForCausalLM"},
    {"exaone_moe", "ExaoneMoeForCausalLM"}, {"falcon", "FalconForCausalLM"}, {"falcon_h1", "FalconH1ForCausalLM"},
    {"falcon_mamba", "FalconMambaForCausalLM"}, {"gemma", "GemmaForCausalLM"}, {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "Gemma3ForConditionalGeneration"}, {"gemma3_text", "Gemma3ForCausalLM"},
    {"gemma3n", "Gemma3nForConditionalGeneration"}, {"gemma3n_text", "Gemma3nForCausalLM"},
    {"gemma4", "Gemma4ForConditionalGeneration"}, {"gemma4_text", "Gemma4ForCausalLM"}, {"glm", "GlmForCausalLM"},
    {"glm4", "Glm4ForCausalLM"}, {"glm4_moe", "Glm4MoeForCausalLM"}, {"glm4_moe_lite", "Glm4MoeLiteForCausalLM"},
    {"glm5_next", "Glm5NextForConditionalGeneration"}, {"glm_moe_dsa", "GlmMoeDsaForCausalLM"}, {"gpt2", "GPT2LMHeadModel"},
    {"gpt_bigcode", "GPTBigCodeForCausalLM"}, {"gpt_neox", "GPTNeoXForCausalLM"}, {"gpt_oss", "GptOssForCausalLM"},
    {"granite", "GraniteForCausalLM"}, {"granitemoe", "GraniteMoeForCausalLM"},
    {"granitemoehybrid", "GraniteMoeHybridForCausalLM"}, {"granitemoeshared", "GraniteMoeSharedForCausalLM"},
    {"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"}, {"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM"},
    {"internlm2", "InternLM2ForCausalLM"}, {"internlm3", "InternLM3ForCausalLM"}, {"jamba", "JambaForCausalLM"},
    {"kimi_k2", "DeepseekV3ForCausalLM"}, {"kimi_linear", "KimiLinearForCausalLM"}, {"laguna", "LagunaForCausalLM"},
    {"lfm2", "Lfm2ForCausalLM"}, {"lfm2_moe", "Lfm2MoeForCausalLM"}, {"llama", "LlamaForCausalLM"},
    {"llama4", "Llama4ForConditionalGeneration"}, {"llama4_text", "Llama4ForCausalLM"}, {"mamba", "MambaForCausalLM"},
    {"mamba2", "Mamba2ForCausalLM"}, {"minicpm", "MiniCPMForCausalLM"}, {"minicpm3", "MiniCPM3ForCausalLM"},
    {"minimax_m2", "MiniMaxM2ForCausalLM"}, {"ministral3", "Ministral3ForCausalLM"}, {"mistral", "MistralForCausalLM"},
    {"mistral3", "Mistral3ForConditionalGeneration"}, {"mixtral", "MixtralForCausalLM"}, {"mpt", "MPTForCausalLM"},
    {"mt5", "MT5ForConditionalGeneration"}, {"nemotron", "NemotronForCausalLM"}, {"nemotron_h", "NemotronHForCausalLM"},
    {"olmo", "OlmoForCausalLM"}, {"olmo2", "Olmo2ForCausalLM"}, {"olmo3", "Olmo3ForCausalLM"}, {"olmoe", "OlmoeForCausalLM"},
    {"phi", "PhiForCausalLM"}, {"phi3", "Phi3ForCausalLM"}, {"phimoe", "PhiMoEForCausalLM"}, {"qwen", "QWenLMHeadModel"},
    {"qwen2", "Qwen2ForCausalLM"}, {"qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"}, {"qwen2_moe", "Qwen2MoeForCausalLM"},
    {"qwen2_vl", "Qwen2VLForConditionalGeneration"}, {"qwen3", "Qwen3ForCausalLM"}, {"qwen3_5", "Qwen3_5ForConditionalGeneration"},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"}, {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"},
    {"qwen3_5_text", "Qwen3_5ForCausalLM"}, {"qwen3_moe", "Qwen3MoeForCausalLM"}, {"qwen3_next", "Qwen3NextForCausalLM"},
    {"qwen3_vl", "Qwen3VLForConditionalGeneration"}, {"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration"},
    {"seed_oss", "SeedOssForCausalLM"}, {"smollm3", "SmolLM3ForCausalLM"}, {"stablelm", "StableLmForCausalLM"},
    {"starcoder2", "Starcoder2ForCausalLM"}, {"t5", "T5ForConditionalGeneration"}, {"umt5", "UMT5ForConditionalGeneration"},
};
// clang-format on

[[nodiscard]] inline const converter_row* find_converter(std::string_view hf_architecture) {
  for (const converter_row& row : converters) {
    if (row.hf_architecture == hf_architecture) return &row;
  }
  return nullptr;
}

/// The converter class of a config. Throws config_error for an architecture the converter does not support.
[[nodiscard]] inline const converter_row& converter_of(const hf_source& c) {
  std::optional<std::string> name = c.hf_architecture();
  if (!name) {
    const auto type = c.text_model_type() ? c.text_model_type() : c.root_model_type();
    for (const auto& candidate : {c.root_model_type(), type}) {
      for (const published_class& p : published_classes) {
        if (!name && candidate == p.model_type) name = p.hf_architecture;
      }
    }
    if (!name) {
      throw config_error({c.root().file(), type ? "/model_type" : "/architectures", type ? '"' + *type + '"' : ""},
                         type ? "no llama.cpp architecture is known for this model type" : "missing",
                         "architectures with a class that llama.cpp's converter supports");
    }
  }
  const converter_row* const row = find_converter(*name);
  if (row == nullptr || row->how == rules::unsupported) {
    throw config_error({c.root().file(), "/architectures", '"' + *name + '"'},
                       "not supported by llama.cpp's converter", "a class that it supports");
  }
  return *row;
}

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
    write();
    return m_;
  }

 private:
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
                                  "max_sequence_length", "model_max_length"}).value_or(0);
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
    if (origin == "DeepseekOCRForCausalLM" || origin == "DeepseekOCR2ForCausalLM" || origin == "UnlimitedOCRForCausalLM") {
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
    // Published files of 7B models leave the number out, and the converter reads it from the plain file.
    const auto kv = c_.count({"num_kv_heads"});
    m_.head_count_kv = kv ? *kv : c_.count_or("n_head_kv", 1);
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
    if (c_.count({"sliding_window_pattern"}) != 1U) sliding_window(c_.need({"sliding_window"}));
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
    ssm(mamba("conv_kernel", "d_conv"), 0, c_.has("ssm_state_size") && !c_.has("mamba_d_state") && !c_.has("state_size") ? c_.need({"ssm_state_size"}) : mamba("state_size", "d_state", "state_dim"),
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
    const std::uint32_t width = moe ? c_.need({"moe_intermediate_size"}) : c_.need({"intermediate_size", "n_inner", "hidden_dim"});
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
  [[nodiscard]] std::uint32_t mamba_model_width() const { return c_.need({"mamba_head_dim", "hidden_size", "d_model"}); }

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
    qwen_mtp();
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
    m_.sliding_window_pattern = made(m_.block_count, [&](std::uint32_t il) { return il < own_layers() ? hybrid[il] : 1U; });
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
    const bool offset = row_.hf_architecture.find("obert") != std::string_view::npos &&
                        row_.hf_architecture != "ModernBertModel";
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
      m_.sliding_window_pattern = made(own_layers(), [&](std::uint32_t il) { return letters[il % letters.size()] == 'L'; });
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

inline void conversion::write() {
  using r = rules;
  switch (row_.how) {
    case r::base: base(); break;
    case r::no_memory: base(); m_.causal = false; break;
    case r::bert: bert(); break;
    case r::afmoe: base(); sliding_window(c_.count({"sliding_window"})); break;
    case r::cohere2:
    case r::gpt_oss: base(); sliding_window(c_.need({"sliding_window"})); break;
    case r::sliding_types: base(); sliding_window(c_.need({"sliding_window"})); sliding_types(0); break;
    case r::bailing2:
    case r::glm_moe: add_nextn(); base(); break;
    case r::bailing3: bailing3(); break;
    case r::bloom:
      m_.embedding_length = c_.need({"hidden_size", "n_embed"});
      m_.head_count = c_.need({"n_head", "num_attention_heads"});
      m_.head_count_kv = m_.head_count;
      m_.context_length = c_.count_or("seq_length", m_.embedding_length);
      break;
    case r::chatglm:
      m_.embedding_length = c_.need({"hidden_size", "n_embed"});
      m_.head_count = c_.need({"n_head", "num_attention_heads"});
      m_.head_count_kv = c_.count({"multi_query_group_num", "num_key_value_heads"}).value_or(m_.head_count[0]);
      m_.context_length = c_.count_or("seq_length", m_.embedding_length);
      break;
    case r::codeshell:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = c_.need({"num_query_groups"});
      break;
    case r::cohere: base(); m_.context_length = c_.need({"model_max_length", "max_position_embeddings"}); break;
    case r::cohere2moe: add_nextn(); base(); sliding_window(c_.need({"sliding_window"})); sliding_types(0); break;
    case r::dbrx: {
      m_.context_length = c_.count_or("max_seq_len", 2048);  // the default of DbrxConfig
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"n_heads"});
      const auto attention = c_.field({"attn_config"});
      m_.head_count_kv = attention ? static_cast<std::uint32_t>(attention->count("kv_n_heads").value_or(1)) : 1U;
      break;
    }
    case r::deci: deci(); break;
    case r::deepseek2: deepseek2(); break;
    case r::glm_lite: add_nextn(); deepseek2(); break;
    case r::deepseek32: add_nextn(); deepseek2(); indexer(); break;
    case r::glm_dsa:
      add_nextn();
      deepseek2();
      indexer();
      if (const auto types = c_.array("indexer_types")) m_.indexer_types = equal_to(*types, "full");
      break;
    case r::glm5_next: glm5_next(); break;
    case r::deepseek4: deepseek4(); break;
    case r::dots3: dots3(); break;
    case r::embedding_gemma: gemma3(); break;
    case r::exaone4: exaone4(); break;
    case r::exaone_moe: exaone4(); break;
    case r::falcon: falcon(); break;
    case r::falcon_h1: falcon_h1(); break;
    case r::gemma:
    case r::gemma2:
      base();
      head_size(c_.need({"head_dim"}));
      if (!m_.head_count_kv.given()) m_.head_count_kv = m_.head_count;
      if (row_.how == r::gemma2) sliding_window(c_.need({"sliding_window"}));
      break;
    case r::gemma3: gemma3(); break;
    case r::gemma3n: gemma3(); sliding_types(5); break;
    case r::gemma4: gemma4(); break;
    case r::gemma4_assistant: gemma4(); m_.nextn_predict_layers = m_.block_count; break;
    case r::gpt2:
      m_.context_length = c_.need({"n_ctx", "n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      break;
    case r::gpt_neox:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      break;
    case r::granite: base(); no_head_size(); break;
    case r::granite_swa:
      base();
      no_head_size();
      sliding_window(c_.count_or("sliding_window", 128));
      if (const auto types = c_.array("layer_types"); types && !types->value().empty()) sliding_types(0);
      else m_.sliding_window_pattern = made(m_.block_count, [](std::uint32_t il) { return il % 4 != 0; });
      break;
    case r::granite_switch:
      base();
      no_head_size();
      if (m_.block_count > 0) --m_.block_count;
      break;
    case r::granite_hybrid: granite_hybrid(); break;
    case r::hrm: {
      const std::uint32_t own = c_.count_or("num_layers_per_stack", 0);
      const checked_count slots = checked_count(own != 0 ? own : m_.block_count) * c_.need({"H_cycles"}) *
                                  (checked_count(c_.need({"L_cycles"})) + 1U);
      m_.block_count = static_cast<std::uint32_t>(smaller(slots, 65'536U).value_or(65'536U));
      base();
      break;
    }
    case r::hunyuan: {
      base();
      auto rope = c_.field({"rope_parameters", "rope_scaling"});
      if (rope && rope->value().is_object()) {
        const auto type = rope->find("rope_type") != nullptr ? rope->string("rope_type") : rope->string("type");
        if (type == "dynamic") m_.context_length = 256U * 1024U;
      }
      break;
    }
    case r::hy_v4: hy_v4(); break;
    case r::jais:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      break;
    case r::jamba: {
      m_.embedding_length = c_.need({"hidden_size", "mamba_d_model"});
      m_.context_length = c_.need({"max_position_embeddings", "n_ctx"});
      m_.head_count = c_.need({"num_attention_heads"});
      const auto or_else = [&](std::string_view key, std::uint32_t otherwise) {
        const std::uint32_t n = c_.count_or(key, 0);
        return n != 0 ? n : otherwise;
      };
      ssm(or_else("mamba_d_conv", 4), product(c_.need({"mamba_expand"}), m_.embedding_length, "mamba_expand"),
          or_else("mamba_d_state", 16), 0);
      const std::uint32_t kv = c_.need({"num_key_value_heads"});
      const std::uint32_t offset = c_.need({"attn_layer_offset"});
      const std::uint32_t period = c_.need({"attn_layer_period"});
      m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) {
        return il >= offset && period != 0 && (il - offset) % period == 0 ? kv : 0U;
      });
      break;
    }
    case r::kimi: kimi(); break;
    case r::laguna: {
      base();
      if (const auto heads = c_.array("num_attention_heads_per_layer"); heads && !heads->value().empty()) {
        m_.head_count = numbers(*heads);
      }
      const std::uint32_t window = c_.count_or("sliding_window", 0);
      if (window > 0) sliding_window(window);
      break;
    }
    case r::lfm2:
    case r::lfm2_colbert: {
      const std::uint32_t kv = c_.need({"num_key_value_heads"});
      base();
      const bool moe = row_.gguf == "lfm2moe";
      if (const auto types = c_.array("layer_types")) {
        m_.head_count_kv = list_of(*types, [&](const config::node& n) {
          return (moe ? n.value() == "full_attention" : n.value() != "conv") ? kv : 0U;
        });
      } else if (const auto indices = c_.array("full_attn_idxs")) {
        const per_layer full = listed(*indices, 0);
        m_.head_count_kv = made(m_.block_count, [&](std::uint32_t il) { return full[il] != 0 ? kv : 0U; });
      } else if (!c_.has_class()) {
        c_.fail_missing("layer_types", "an array");
      } else {
        m_.head_count_kv = made(m_.block_count, [&](std::uint32_t) { return kv; });
      }
      m_.shortconv_l_cache = c_.need({"conv_L_cache"});
      if (row_.hf_architecture == "Lfm2BidirectionalModel") m_.causal = false;
      if (row_.how == r::lfm2_colbert) sliding_window(c_.need({"sliding_window"}));
      break;
    }
    case r::llada:
      base();
      m_.context_length = c_.count_or("max_sequence_length", 4096);
      m_.embedding_length = c_.count_or("d_model", 4096);
      m_.causal = false;
      break;
    case r::llama4: llama4(); break;
    case r::mamba:
    case r::mamba2: {
      const bool second = row_.how == r::mamba2;
      m_.context_length = 1U << 20U;
      m_.embedding_length = c_.need({"hidden_size", "d_model", "dim"});
      const auto or_else = [&](std::initializer_list<std::string_view> keys, std::uint32_t otherwise) {
        const std::uint32_t n = c_.count(keys).value_or(0);
        return n != 0 ? n : otherwise;
      };
      const std::uint32_t expand = second ? or_else({"mamba_expand", "expand"}, 2) : 2U;
      const std::uint32_t width = product(expand, m_.embedding_length, "expand");
      const std::uint32_t inner = second ? or_else({"mamba_d_ssm", "intermediate_size", "d_inner"}, width)
                                         : or_else({"intermediate_size", "d_inner"}, width);
      if (inner != width) {
        throw config_error({c_.root().file(), "/intermediate_size", std::to_string(inner)},
                           "not supported by llama.cpp's converter", std::to_string(width));
      }
      ssm(or_else({"conv_kernel", "d_conv"}, 4), inner, or_else({"state_size", "d_state"}, second ? 128 : 16),
          second ? or_else({"n_groups"}, 1) : 0U);
      m_.head_count = 0;
      break;
    }
    case r::maple:
    case r::muse_glimmer: base(); break;
    case r::mellum:
      base();
      if (c_.boolean("use_sliding_window").value_or(true) && c_.count({"sliding_window"})) {
        sliding_window(c_.count({"sliding_window"}));
        sliding_types(0);
      }
      break;
    case r::mimo2: mimo2(); break;
    case r::minicpm3:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = c_.need({"num_key_value_heads"});
      m_.key_length = c_.need({"qk_nope_head_dim"}) + c_.need({"qk_rope_head_dim"});
      break;
    case r::minimax_01: base(); break;
    case r::minimax_m3: {
      base();
      const config::node sparse = c_.need_object("sparse_attention_config");
      m_.indexer_key_length = static_cast<std::uint32_t>(sparse.count("sparse_index_dim").value_or(0));
      m_.indexer_top_k = static_cast<std::uint32_t>(sparse.count("sparse_topk_blocks").value_or(0));
      const per_layer moe = numbers(c_.need_array("moe_layer_freq"));
      while (m_.leading_dense_block_count < moe.size() && moe[m_.leading_dense_block_count] == 0) {
        ++m_.leading_dense_block_count;
      }
      break;
    }
    case r::mistral3:
      if (c_.text_model_type() == "mistral4" || (!c_.text_model_type() && c_.root_model_type() == "mistral4")) {
        deepseek2();
        m_.architecture = find_architecture("mistral4");
      } else {
        base();
      }
      break;
    case r::mpt: {
      m_.context_length = c_.count_or("max_seq_len", 2048);  // the default of MptConfig
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"n_heads"});
      const auto attention = c_.field({"attn_config"});
      const auto kv = attention ? attention->count("kv_n_heads") : std::nullopt;
      if (kv && *kv != 0) m_.head_count_kv = static_cast<std::uint32_t>(*kv);
      break;
    }
    case r::nanbeige: {
      base();
      const std::uint32_t loops = c_.count_or("num_loops", 1);
      m_.num_loops = loops == 0 ? 1U : loops;
      break;
    }
    case r::nemotron_h: nemotron_h(); break;
    case r::nemotron_h_puzzle: {
      const config::node blocks = c_.need_array("block_configs");
      const per_layer attention = list_of(blocks, [](const config::node& b) {
        const auto kind = b.string("block_type");
        return kind == "attention" || kind == "full_attention" ? 1U : 0U;
      });
      nemotron_h_rest(attention, list_of(blocks, [](const config::node& b) {
        return static_cast<std::uint32_t>(b.count("moe_intermediate_size").value_or(0));
      }));
      break;
    }
    case r::neox_like_orion:
      base();
      no_head_size();
      m_.context_length = c_.need({"max_sequence_length", "max_position_embeddings", "model_max_length"});
      break;
    case r::nomic: {
      base();
      m_.causal = false;
      if (c_.count_or("moe_every_n_layers", 0) != 0) m_.architecture = find_architecture("nomic-bert-moe");
      const std::uint32_t trained = c_.need({"n_positions"});
      m_.context_length = trained == 8192 ? 2048U : trained == 2048 ? 512U : trained;
      break;
    }
    case r::olmo2:
      base();
      if (c_.has("sliding_window")) {
        sliding_window(c_.need({"sliding_window"}));
        sliding_types(4);
      }
      break;
    case r::openelm: {
      m_.context_length = c_.need({"max_context_length"});
      m_.embedding_length = c_.need({"model_dim"});
      m_.head_count = numbers(c_.need_array("num_query_heads"));
      m_.head_count_kv = numbers(c_.need_array("num_kv_heads"));
      head_size(c_.need({"head_dim"}));
      break;
    }
    case r::phi2:
      m_.context_length = c_.need({"n_positions", "max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size", "n_embd"});
      m_.head_count = c_.need({"num_attention_heads", "n_head"});
      m_.head_count_kv = m_.head_count;
      break;
    case r::phi3:
    case r::phimoe:
      m_.context_length = c_.need({"n_positions", "max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size", "n_embd"});
      m_.head_count = c_.need({"num_attention_heads", "n_head"});
      m_.head_count_kv = c_.count({"num_key_value_heads", "n_head_kv"}).value_or(m_.head_count[0]);
      break;
    case r::plamo:
      m_.context_length = 4096;
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = 5;  // "num_key_value_heads is wrong", says the converter
      break;
    case r::plamo2: {
      const std::uint32_t step = c_.count_or("mamba_step", 2);
      const bool enabled = c_.boolean("mamba_enabled").value_or(true);
      const std::uint32_t n = m_.block_count;
      const auto is_mamba = [&](std::uint32_t il) {
        if (step == 0 || n <= step / 2) return il != n - 1;
        return il % step != step / 2;
      };
      if (enabled) {
        const std::uint32_t kv = c_.count_or("num_key_value_heads", 4);
        const std::uint32_t heads = c_.count_or("num_attention_heads", 32);
        m_.head_count_kv = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : kv; });
        m_.head_count = made(n, [&](std::uint32_t il) { return is_mamba(il) ? 0U : heads; });
      }
      m_.context_length = c_.count_or("max_position_embeddings", 2048);
      m_.embedding_length = c_.count_or("hidden_size", 4096);
      const std::uint32_t head = c_.count_or("hidden_size_per_head", 128);
      head_size(head);
      ssm(c_.count_or("mamba_d_conv", 4), product(c_.count_or("mamba_num_heads", 64), head, "mamba_num_heads"),
          c_.count_or("mamba_d_state", 64), 0);
      break;
    }
    case r::plamo3:
      base();
      if (const auto window = c_.count({"window_size", "sliding_window"})) {
        sliding_window(window);
        const auto pattern = c_.field({"sliding_window_pattern"});
        if (pattern && pattern->value().is_array()) m_.sliding_window_pattern = numbers(*pattern);
        else if (pattern) m_.sliding_window_pattern = static_cast<std::uint32_t>(pattern->count());
      }
      break;
    case r::plm:
      base();
      m_.key_length = c_.need({"qk_nope_head_dim"}) + c_.need({"qk_rope_head_dim"});
      m_.value_length = c_.need({"v_head_dim"});
      break;
    case r::qwen_mtp: qwen_mtp(); break;
    case r::qwen4: qwen4(); break;
    case r::qwen3_tts: base(); break;
    case r::refact:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = 1;
      break;
    case r::starcoder:
      m_.context_length = c_.need({"n_positions"});
      m_.embedding_length = c_.need({"n_embd"});
      m_.head_count = c_.need({"n_head"});
      m_.head_count_kv = 1;
      break;
    case r::rwkv6:
    case r::rwkv6qwen2:
    case r::rwkv7:
    case r::arwkv7:
      m_.context_length = 1U << 20U;
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = 0;
      if (row_.how != r::rwkv6) m_.token_shift_count = row_.how == r::rwkv7 ? 2U : 1U;
      if (row_.how == r::rwkv6qwen2) {
        const std::uint32_t heads = c_.need({"num_attention_heads"});
        m_.wkv_head_size = heads == 0 ? 0U : m_.embedding_length / heads;
        m_.head_count_kv = c_.need({"num_key_value_heads"});
      } else {
        m_.wkv_head_size = row_.how == r::rwkv7 ? c_.need({"head_size", "head_dim"}) : c_.need({"head_size"});
      }
      break;
    case r::smallthinker: {
      base();
      const auto layout = c_.array("sliding_window_layout");
      bool any = false;
      if (layout) {
        for (const config::json& l : layout->value()) any = any || l != 0;
      }
      const std::uint32_t window = any ? c_.count_or("sliding_window_size", 0) : 0U;
      if (window != 0) sliding_window(window);
      break;
    }
    case r::stablelm:
      m_.context_length = c_.need({"max_position_embeddings"});
      m_.embedding_length = c_.need({"hidden_size"});
      m_.head_count = c_.need({"num_attention_heads"});
      m_.head_count_kv = c_.need({"num_key_value_heads"});
      break;
    case r::step35: step35(); break;
    case r::t5: {
      const auto positions = c_.count({"n_positions"});
      m_.context_length = positions.value_or(512);
      m_.embedding_length = c_.need({"d_model"});
      m_.head_count = c_.need({"num_heads"});
      head_size(c_.need({"d_kv"}));
      break;
    }
    case r::draft:
    case r::unsupported: break;
  }
}

/// The GGUF keys of a config.json. Throws config_error.
[[nodiscard]] inline metadata convert(const hf_source& c) { return conversion(c, converter_of(c)).run(); }

}  // namespace kvbudget::llama_cpp::detail
