// The model classes of llama.cpp's converter: which GGUF architecture each writes, and by which rules.
//
// Source: llama.cpp 0.5.0-dev, the classes registered in conversion/*.py. `rules` has one value per class, or per group
// of classes that write the same keys for memory; they are carried out in convert.hpp.
#pragma once

#include <kvbudget/config/llama_cpp/hf_source.hpp>

namespace kvbudget::llama_cpp::detail {

enum class rules : std::uint8_t {
  base, afmoe, arwkv7, bailing2, bailing3, bert, bloom, chatglm, codeshell, cohere, cohere2, cohere2moe, dbrx, deci,
  deepseek2, deepseek32, deepseek4, dots3, draft, exaone4, falcon, falcon_h1, gemma, gemma2, gemma3, gemma3n, gemma4,
  gemma4_assistant, glm_moe, glm5_next, glm_dsa, glm_lite, gpt2, gpt_neox, gpt_oss, granite, granite_hybrid,
  granite_swa, granite_switch, hrm, hunyuan, hy_v4, jais, jamba, kimi, laguna, lfm2, lfm2_colbert, llada, llama4, mamba,
  mamba2, mellum, mimo2, minicpm3, minimax_m3, mistral3, mpt, nanbeige, nemotron_h, nemotron_h_puzzle, no_memory, nomic,
  olmo2, openelm, orion, phi2, phi3, plamo, plamo2, plamo3, plm, qwen_mtp, qwen4, refact, rwkv6, rwkv6qwen2, rwkv7,
  smallthinker, sliding_types, stablelm, starcoder, step35, t5
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
    {"DeepseekOCRForCausalLM", "deepseek2", rules::deepseek2},
    {"DeepseekV2ForCausalLM", "deepseek2", rules::deepseek2},
    {"DeepseekV32ForCausalLM", "deepseek32", rules::deepseek32},
    {"DeepseekV3ForCausalLM", "deepseek2", rules::deepseek2}, {"DeepseekV4DSparkModel", "dflash", rules::draft},
    {"DeepseekV4ForCausalLM", "deepseek4", rules::deepseek4}, {"DistilBertForMaskedLM", "bert", rules::bert},
    {"DistilBertForSequenceClassification", "bert", rules::bert}, {"DistilBertModel", "bert", rules::bert},
    {"Dots1ForCausalLM", "dots1"}, {"Dots3NoteForCausalLM", "dots3note", rules::dots3},
    {"Dots3NoteForConditionalGeneration", "dots3note", rules::dots3},
    {"Dots3NoteTextForCausalLM", "dots3note", rules::dots3}, {"DotsOCRForCausalLM", "qwen2"},
    {"DreamModel", "dream", rules::no_memory}, {"Eagle3DraftModel", "eagle3", rules::draft},
    {"Eagle3LlamaForCausalLM", "eagle3", rules::draft}, {"Eagle3Speculator", "eagle3", rules::draft},
    {"Ernie4_5ForCausalLM", "ernie4_5"}, {"Ernie4_5_ForCausalLM", "ernie4_5"},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5-moe"}, {"EuroBertModel", "eurobert", rules::bert},
    {"Exaone4ForCausalLM", "exaone4", rules::exaone4},
    {"Exaone4_5_ForConditionalGeneration", "exaone4", rules::exaone4}, {"ExaoneForCausalLM", "exaone"},
    {"ExaoneMoEForCausalLM", "exaone-moe", rules::exaone4}, {"ExaoneMoeForCausalLM", "exaone-moe", rules::exaone4},
    {"FalconForCausalLM", "falcon", rules::falcon}, {"FalconH1ForCausalLM", "falcon-h1", rules::falcon_h1},
    {"FalconMambaForCausalLM", "mamba", rules::mamba}, {"GPT2LMHeadModel", "gpt2", rules::gpt2},
    {"GPTBigCodeForCausalLM", "starcoder", rules::starcoder}, {"GPTNeoXForCausalLM", "gptneox", rules::gpt_neox},
    {"GPTRefactForCausalLM", "refact", rules::refact}, {"Gemma2ForCausalLM", "gemma2", rules::gemma2},
    {"Gemma3ForCausalLM", "gemma3", rules::gemma3}, {"Gemma3ForConditionalGeneration", "gemma3", rules::gemma3},
    {"Gemma3TextModel", "gemma-embedding", rules::gemma3}, {"Gemma3nForCausalLM", "gemma3n", rules::gemma3n},
    {"Gemma3nForConditionalGeneration", "gemma3n", rules::gemma3n},
    {"Gemma4AssistantForCausalLM", "gemma4-assistant", rules::gemma4_assistant},
    {"Gemma4DSparkModel", "dflash", rules::draft}, {"Gemma4ForCausalLM", "gemma4", rules::gemma4},
    {"Gemma4ForConditionalGeneration", "gemma4", rules::gemma4},
    {"Gemma4UnifiedAssistantForCausalLM", "gemma4-assistant", rules::gemma4_assistant},
    {"Gemma4UnifiedForConditionalGeneration", "gemma4", rules::gemma4}, {"GemmaForCausalLM", "gemma", rules::gemma},
    {"Glm4ForCausalLM", "glm4"}, {"Glm4MoeForCausalLM", "glm4moe", rules::glm_moe},
    {"Glm4MoeLiteForCausalLM", "deepseek2", rules::glm_lite}, {"Glm4vForConditionalGeneration", "glm4"},
    {"Glm4vMoeForConditionalGeneration", "glm4moe", rules::glm_moe},
    {"Glm5NextForConditionalGeneration", "glm5-next", rules::glm5_next},
    {"GlmForCausalLM", "chatglm", rules::chatglm}, {"GlmMoeDsaForCausalLM", "glm-dsa", rules::glm_dsa},
    {"GlmOcrForConditionalGeneration", "glm4", rules::glm_moe}, {"GptOssForCausalLM", "gpt-oss", rules::gpt_oss},
    {"GraniteForCausalLM", "granite", rules::granite}, {"GraniteMoeForCausalLM", "granitemoe", rules::granite},
    {"GraniteMoeHybridForCausalLM", "granitehybrid", rules::granite_hybrid},
    {"GraniteMoeSWAForCausalLM", "granite_swa", rules::granite_swa},
    {"GraniteMoeSharedForCausalLM", "granitemoe", rules::granite},
    {"GraniteSWAForCausalLM", "granite_swa", rules::granite_swa},
    {"GraniteSwitchForCausalLM", "graniteswitch", rules::granite_switch}, {"Grok1ForCausalLM", "grok"},
    {"GrokForCausalLM", "grok"}, {"GroveMoeForCausalLM", "grovemoe"}, {"HYV3ForCausalLM", "hy_v3", rules::glm_moe},
    {"HYV4ForCausalLM", "hy_v4", rules::hy_v4}, {"HrmTextForCausalLM", "hrm_text", rules::hrm},
    {"HunYuanDenseV1ForCausalLM", "hunyuan-dense", rules::hunyuan},
    {"HunYuanMoEV1ForCausalLM", "hunyuan-moe", rules::hunyuan}, {"HunYuanVLForConditionalGeneration", "hunyuan_vl"},
    {"IQuestCoderForCausalLM", "llama"}, {"InternLM2ForCausalLM", "internlm2"}, {"InternLM3ForCausalLM", "llama"},
    {"JAISLMHeadModel", "jais", rules::jais}, {"Jais2ForCausalLM", "jais2"},
    {"JambaForCausalLM", "jamba", rules::jamba}, {"JanusForConditionalGeneration", "llama"},
    {"JinaBertForMaskedLM", "jina-bert-v2", rules::bert}, {"JinaBertModel", "jina-bert-v2", rules::bert},
    {"JinaEmbeddingsV5Model", "eurobert", rules::bert}, {"KORMoForCausalLM", "qwen2"},
    {"KimiK25ForConditionalGeneration", "deepseek2", rules::deepseek2},
    {"KimiK3ForConditionalGeneration", "kimi-k3", rules::kimi}, {"KimiLinearForCausalLM", "kimi-linear", rules::kimi},
    {"KimiLinearModel", "kimi-linear", rules::kimi},
    {"KimiVLForConditionalGeneration", "deepseek2", rules::deepseek2}, {"LFM2ForCausalLM", "lfm2", rules::lfm2},
    {"LLaDAMoEModel", "llada-moe", rules::no_memory}, {"LLaDAMoEModelLM", "llada-moe", rules::no_memory},
    {"LLaDAModelLM", "llada", rules::llada}, {"LLaMAForCausalLM", "llama"},
    {"LagunaForCausalLM", "laguna", rules::laguna}, {"Lfm25AudioTokenizer", "lfm2", rules::lfm2_colbert},
    {"Lfm2BidirectionalModel", "lfm2", rules::lfm2}, {"Lfm2DSparkDraftModel", "dflash", rules::draft},
    {"Lfm2ForCausalLM", "lfm2", rules::lfm2}, {"Lfm2Model", "lfm2", rules::lfm2},
    {"Lfm2MoeForCausalLM", "lfm2moe", rules::lfm2}, {"LingDSparkModel", "dflash", rules::draft},
    {"Llama4ForCausalLM", "llama4", rules::llama4}, {"Llama4ForConditionalGeneration", "llama4", rules::llama4},
    {"LlamaBidirectionalModel", "llama-embed"}, {"LlamaForCausalLM", "llama"},
    {"LlamaForCausalLMEagle3", "eagle3", rules::draft}, {"LlamaModel", "llama"},
    {"LlavaForConditionalGeneration", "llama"}, {"LlavaStableLMEpochForCausalLM", "stablelm", rules::stablelm},
    {"MPTForCausalLM", "mpt", rules::mpt}, {"MT5ForConditionalGeneration", "t5", rules::t5},
    {"MaincoderForCausalLM", "maincoder"}, {"Mamba2ForCausalLM", "mamba2", rules::mamba2},
    {"MambaForCausalLM", "mamba", rules::mamba}, {"MambaLMHeadModel", "mamba", rules::mamba},
    {"MapleForCausalLM", "maple", rules::sliding_types}, {"MellumForCausalLM", "mellum", rules::mellum},
    {"MiMoV2FlashForCausalLM", "mimo2", rules::mimo2}, {"MiMoV2ForCausalLM", "mimo2", rules::mimo2},
    {"MiniCPM3ForCausalLM", "minicpm3", rules::minicpm3}, {"MiniCPMForCausalLM", "minicpm"},
    {"MiniCPMV4_6ForConditionalGeneration", "qwen35", rules::qwen_mtp}, {"MiniMaxM1ForCausalLM", "minimax-01"},
    {"MiniMaxM2ForCausalLM", "minimax-m2"}, {"MiniMaxM3SparseForCausalLM", "minimax-m3", rules::minimax_m3},
    {"MiniMaxM3SparseForConditionalGeneration", "minimax-m3", rules::minimax_m3},
    {"MiniMaxText01ForCausalLM", "minimax-01"}, {"Ministral3ForCausalLM", "mistral3", rules::mistral3},
    {"Mistral3ForConditionalGeneration", "mistral3", rules::mistral3}, {"MistralForCausalLM", "llama"},
    {"MixtralForCausalLM", "llama"}, {"ModernBertForMaskedLM", "modern-bert", rules::bert},
    {"ModernBertForSequenceClassification", "modern-bert", rules::bert},
    {"ModernBertModel", "modern-bert", rules::bert}, {"MuseGlimmerAssistantModel", "dflash", rules::draft},
    {"MuseGlimmerForConditionalGeneration", "muse-glimmer", rules::sliding_types},
    {"NanbeigeForCausalLM", "nanbeige", rules::nanbeige}, {"NemotronForCausalLM", "nemotron"},
    {"NemotronHForCausalLM", "nemotron_h", rules::nemotron_h},
    {"NemotronHPuzzleForCausalLM", "nemotron_h_moe", rules::nemotron_h_puzzle}, {"NeoBERT", "neo-bert", rules::bert},
    {"NeoBERTForSequenceClassification", "neo-bert", rules::bert}, {"NeoBERTLMHead", "neo-bert", rules::bert},
    {"NomicBertModel", "nomic-bert", rules::nomic}, {"OLMoForCausalLM", "olmo"},
    {"Olmo2ForCausalLM", "olmo2", rules::olmo2}, {"Olmo3ForCausalLM", "olmo2", rules::olmo2},
    {"OlmoForCausalLM", "olmo"}, {"OlmoeForCausalLM", "olmoe"}, {"OpenELMForCausalLM", "openelm", rules::openelm},
    {"OrionForCausalLM", "orion", rules::orion}, {"PLMForCausalLM", "plm", rules::plm},
    {"PLaMo2ForCausalLM", "plamo2", rules::plamo2}, {"PLaMo3ForCausalLM", "plamo3", rules::plamo3},
    {"PaddleOCRVLForConditionalGeneration", "paddleocr"}, {"PanguEmbeddedForCausalLM", "pangu-embedded"},
    {"Phi3ForCausalLM", "phi3", rules::phi3}, {"Phi4ForCausalLMV", "phi3", rules::phi3},
    {"PhiForCausalLM", "phi2", rules::phi2}, {"PhiMoEForCausalLM", "phimoe", rules::phi3},
    {"Plamo2ForCausalLM", "plamo2", rules::plamo2}, {"Plamo3ForCausalLM", "plamo3", rules::plamo3},
    {"PlamoForCausalLM", "plamo", rules::plamo}, {"PocketTTSModel", "pockettts"}, {"QWenLMHeadModel", "qwen"},
    {"Qwen2AudioForConditionalGeneration", "qwen2"}, {"Qwen2ForCausalLM", "qwen2"}, {"Qwen2Model", "qwen2"},
    {"Qwen2MoeForCausalLM", "qwen2moe"}, {"Qwen2VLForConditionalGeneration", "qwen2vl"}, {"Qwen2VLModel", "qwen2vl"},
    {"Qwen2_5OmniModel", "qwen2vl"}, {"Qwen2_5_VLForConditionalGeneration", "qwen2vl"},
    {"Qwen3ASRForConditionalGeneration", "qwen3vl"}, {"Qwen3DSparkModel", "dflash", rules::draft},
    {"Qwen3ForCausalLM", "qwen3"}, {"Qwen3Model", "qwen3"}, {"Qwen3MoeForCausalLM", "qwen3moe"},
    {"Qwen3NextForCausalLM", "qwen3next", rules::qwen_mtp}, {"Qwen3OmniMoeForConditionalGeneration", "qwen3vlmoe"},
    {"Qwen3TTSForConditionalGeneration", "qwen3tts"}, {"Qwen3VLForConditionalGeneration", "qwen3vl"},
    {"Qwen3VLMoeForConditionalGeneration", "qwen3vlmoe"}, {"Qwen3_5ForCausalLM", "qwen35", rules::qwen_mtp},
    {"Qwen3_5ForConditionalGeneration", "qwen35", rules::qwen_mtp},
    {"Qwen3_5MoeForCausalLM", "qwen35moe", rules::qwen_mtp},
    {"Qwen3_5MoeForConditionalGeneration", "qwen35moe", rules::qwen_mtp},
    {"Qwen4ExpForCausalLM", "qwen4exp", rules::qwen4}, {"Qwen4ExpForConditionalGeneration", "qwen4exp", rules::qwen4},
    {"RND1", "rnd1", rules::no_memory}, {"RWForCausalLM", "falcon", rules::falcon},
    {"RWKV6Qwen2ForCausalLM", "rwkv6qwen2", rules::rwkv6qwen2}, {"RWKV7ForCausalLM", "rwkv7", rules::rwkv7},
    {"RobertaForSequenceClassification", "bert", rules::bert}, {"RobertaModel", "bert", rules::bert},
    {"RuGPT3XLForCausalLM", "gpt2"}, {"Rwkv6ForCausalLM", "rwkv6", rules::rwkv6},
    {"Rwkv7ForCausalLM", "rwkv7", rules::rwkv7}, {"RwkvHybridForCausalLM", "arwkv7", rules::arwkv7},
    {"Sarashina2VisionForCausalLM", "llama"}, {"SarvamMoEForCausalLM", "bailingmoe2", rules::bailing2},
    {"SeedOssForCausalLM", "seed_oss"}, {"SmallThinkerForCausalLM", "smallthinker", rules::smallthinker},
    {"SmolLM3ForCausalLM", "smollm3"}, {"SolarOpenForCausalLM", "glm4moe", rules::glm_moe},
    {"Spark2_5ForCausalLM", "spark2_5", rules::sliding_types},
    {"StableLMEpochForCausalLM", "stablelm", rules::stablelm}, {"StableLmForCausalLM", "stablelm", rules::stablelm},
    {"Starcoder2ForCausalLM", "starcoder2"}, {"Step3p5ForCausalLM", "step35", rules::step35},
    {"Step3p7ForConditionalGeneration", "step35", rules::step35}, {"StepVLForConditionalGeneration", "qwen3"},
    {"T5EncoderModel", "t5encoder", rules::t5}, {"T5ForConditionalGeneration", "t5", rules::t5},
    {"T5WithLMHeadModel", "t5", rules::t5}, {"TalkieForCausalLM", "talkie"},
    {"UMT5ForConditionalGeneration", "t5", rules::t5}, {"UMT5Model", "t5", rules::t5},
    {"UnlimitedOCRForCausalLM", "deepseek2", rules::deepseek2}, {"VLlama3ForCausalLM", "llama"},
    {"VoxtralForConditionalGeneration", "llama"}, {"XLMRobertaForSequenceClassification", "bert", rules::bert},
    {"XLMRobertaModel", "bert", rules::bert}, {"XverseForCausalLM", "xverse"},
    {"YoutuForCausalLM", "deepseek2", rules::deepseek2},
    {"YoutuVLForConditionalGeneration", "deepseek2", rules::deepseek2},
    {"modeling_grove_moe.GroveMoeForCausalLM", "grovemoe"},
    {"modeling_sarvam_moe.SarvamMoEForCausalLM", "bailingmoe2", rules::bailing2},
};

/// For files without `architectures`, which the converter itself refuses: the class by which they are published.
struct published_class {
  std::string_view model_type;
  std::string_view hf_architecture;
};
inline constexpr published_class published_classes[] = {
    {"afmoe", "AfmoeForCausalLM"}, {"apertus", "ApertusForCausalLM"}, {"arcee", "ArceeForCausalLM"},
    {"baichuan", "BaichuanForCausalLM"}, {"bamba", "BambaForCausalLM"}, {"bert", "BertModel"},
    {"bitnet", "BitNetForCausalLM"}, {"bloom", "BloomForCausalLM"},
    {"chameleon", "ChameleonForConditionalGeneration"}, {"chatglm", "ChatGLMModel"}, {"cohere", "CohereForCausalLM"},
    {"cohere2", "Cohere2ForCausalLM"}, {"cohere2_moe", "Cohere2MoeForCausalLM"}, {"dbrx", "DbrxForCausalLM"},
    {"deepseek", "DeepseekForCausalLM"}, {"deepseek_v2", "DeepseekV2ForCausalLM"},
    {"deepseek_v3", "DeepseekV3ForCausalLM"}, {"deepseek_v32", "DeepseekV32ForCausalLM"},
    {"deepseek_v4", "DeepseekV4ForCausalLM"}, {"dots1", "Dots1ForCausalLM"}, {"ernie4_5", "Ernie4_5ForCausalLM"},
    {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM"}, {"exaone", "ExaoneForCausalLM"}, {"exaone4", "Exaone4ForCausalLM"},
    {"exaone_moe", "ExaoneMoeForCausalLM"}, {"falcon", "FalconForCausalLM"}, {"falcon_h1", "FalconH1ForCausalLM"},
    {"falcon_mamba", "FalconMambaForCausalLM"}, {"gemma", "GemmaForCausalLM"}, {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "Gemma3ForConditionalGeneration"}, {"gemma3_text", "Gemma3ForCausalLM"},
    {"gemma3n", "Gemma3nForConditionalGeneration"}, {"gemma3n_text", "Gemma3nForCausalLM"},
    {"gemma4", "Gemma4ForConditionalGeneration"}, {"gemma4_text", "Gemma4ForCausalLM"}, {"glm", "GlmForCausalLM"},
    {"glm4", "Glm4ForCausalLM"}, {"glm4_moe", "Glm4MoeForCausalLM"}, {"glm4_moe_lite", "Glm4MoeLiteForCausalLM"},
    {"glm5_next", "Glm5NextForConditionalGeneration"}, {"glm_moe_dsa", "GlmMoeDsaForCausalLM"},
    {"gpt2", "GPT2LMHeadModel"}, {"gpt_bigcode", "GPTBigCodeForCausalLM"}, {"gpt_neox", "GPTNeoXForCausalLM"},
    {"gpt_oss", "GptOssForCausalLM"}, {"granite", "GraniteForCausalLM"}, {"granitemoe", "GraniteMoeForCausalLM"},
    {"granitemoehybrid", "GraniteMoeHybridForCausalLM"}, {"granitemoeshared", "GraniteMoeSharedForCausalLM"},
    {"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"}, {"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM"},
    {"internlm2", "InternLM2ForCausalLM"}, {"internlm3", "InternLM3ForCausalLM"}, {"jamba", "JambaForCausalLM"},
    {"kimi_k2", "DeepseekV3ForCausalLM"}, {"kimi_linear", "KimiLinearForCausalLM"}, {"laguna", "LagunaForCausalLM"},
    {"lfm2", "Lfm2ForCausalLM"}, {"lfm2_moe", "Lfm2MoeForCausalLM"}, {"llama", "LlamaForCausalLM"},
    {"llama4", "Llama4ForConditionalGeneration"}, {"llama4_text", "Llama4ForCausalLM"}, {"mamba", "MambaForCausalLM"},
    {"mamba2", "Mamba2ForCausalLM"}, {"minicpm", "MiniCPMForCausalLM"}, {"minicpm3", "MiniCPM3ForCausalLM"},
    {"minimax_m2", "MiniMaxM2ForCausalLM"}, {"ministral3", "Ministral3ForCausalLM"},
    {"mistral", "MistralForCausalLM"}, {"mistral3", "Mistral3ForConditionalGeneration"},
    {"mixtral", "MixtralForCausalLM"}, {"mpt", "MPTForCausalLM"}, {"mt5", "MT5ForConditionalGeneration"},
    {"nemotron", "NemotronForCausalLM"}, {"nemotron_h", "NemotronHForCausalLM"}, {"olmo", "OlmoForCausalLM"},
    {"olmo2", "Olmo2ForCausalLM"}, {"olmo3", "Olmo3ForCausalLM"}, {"olmoe", "OlmoeForCausalLM"},
    {"phi", "PhiForCausalLM"}, {"phi3", "Phi3ForCausalLM"}, {"phimoe", "PhiMoEForCausalLM"},
    {"qwen", "QWenLMHeadModel"}, {"qwen2", "Qwen2ForCausalLM"}, {"qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"},
    {"qwen2_moe", "Qwen2MoeForCausalLM"}, {"qwen2_vl", "Qwen2VLForConditionalGeneration"},
    {"qwen3", "Qwen3ForCausalLM"}, {"qwen3_5", "Qwen3_5ForConditionalGeneration"},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"}, {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"},
    {"qwen3_5_text", "Qwen3_5ForCausalLM"}, {"qwen3_moe", "Qwen3MoeForCausalLM"},
    {"qwen3_next", "Qwen3NextForCausalLM"}, {"qwen3_vl", "Qwen3VLForConditionalGeneration"},
    {"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration"}, {"seed_oss", "SeedOssForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"}, {"stablelm", "StableLmForCausalLM"}, {"starcoder2", "Starcoder2ForCausalLM"},
    {"t5", "T5ForConditionalGeneration"}, {"umt5", "UMT5ForConditionalGeneration"},
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
  if (row == nullptr) {
    throw config_error({c.root().file(), "/architectures", '"' + *name + '"'},
                       "not supported by llama.cpp's converter", "a class that it supports");
  }
  return *row;
}

}  // namespace kvbudget::llama_cpp::detail
