// What a class makes of a field: its own, computed, overwritten, ignored, or a reason not to load. Figures were
// measured with transformers 5.24.0 (tensors after a real forward), refusals are its exceptions.
#include "evaluating.hpp"

using namespace kvbudget;
using testing::bytes_of;
using testing::error_of;
using testing::evaluate;
using testing::json;
using testing::source_of;

namespace {

json options(const char* text) { return json::parse(text); }
const json one_token = options(R"({"seq_len": 1, "dtype": "bfloat16"})");

std::uint64_t bytes_of_token(std::string_view config) { return bytes_of(config, one_token); }

/// Where the refusal points.
std::string refused_at(std::string_view config, const json& o = one_token) {
  return error_of<config_error>([&] { (void)evaluate(config, o); }).pointer();
}

bool notes_say(const engine_answer& e, std::string_view words) {
  for (const std::string& note : e.notes) {
    if (note.find(words) != note.npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("fields of the text part at the root, as Qwen2.5-VL-7B publishes them") {
  const auto e =
      evaluate(R"({"model_type": "qwen2_5_vl", "hidden_size": 3584, "num_attention_heads": 28, "num_hidden_layers": 28,
                              "num_key_value_heads": 4, "sliding_window": 32768, "use_sliding_window": false, "max_window_layers": 28,
                              "vision_config": {"hidden_size": 1280}})",
               one_token);
  CHECK(e.total_bytes == 57'344);
  CHECK(source_of(e, "num_key_value_heads") == "/num_key_value_heads");
  CHECK(!notes_say(e, "class defaults"));
}

TEST_CASE("the text part under another key, and a window at the root beside it") {
  CHECK(
      bytes_of(
          R"({"model_type": "unlimited_ocr", "sliding_window": 4, "language_config": {"hidden_size": 256, "num_hidden_layers": 3,
                     "num_attention_heads": 2, "num_key_value_heads": 1}})",
          options(R"({"seq_len": 9, "decode_steps": 2, "dtype": "bfloat16"})")) == 16'896);
}

TEST_CASE("a root whose fields nobody reads: class defaults, and a note that says so") {
  const auto e = evaluate(
      R"({"model_type": "llava", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4})", one_token);
  CHECK(e.total_bytes == 524'288);  // LlamaConfig's own
  CHECK(notes_say(e, "class defaults of llama alone"));
}

TEST_CASE("what the class computes and the file restates: the file has the last word") {
  // tiiuae/falcon-mamba-7b states intermediate_size 8192 beside expand 16
  CHECK(
      bytes_of_token(
          R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "state_size": 16, "conv_kernel": 4,
                           "expand": 16, "intermediate_size": 8192})") == 37'748'736);
  CHECK(
      bytes_of(
          R"({"model_type": "cohere2", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "head_dim": 32, "sliding_window": 16})",
          options(R"({"seq_len": 9, "decode_steps": 2, "dtype": "bfloat16"})")) == 8'448);
}

TEST_CASE("a field that the class sets whatever the file says") {
  CHECK(bytes_of(
            R"({"model_type": "deepseek_ocr2_text", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
                     "num_key_value_heads": 2, "head_dim": 32})",
            options(R"({"seq_len": 9, "decode_steps": 2, "dtype": "bfloat16"})")) == 4'224);
}

TEST_CASE("fields that a class does not have are ignored") {
  CHECK(bytes_of(R"({"model_type": "gpt2", "n_layer": 6, "n_head": 4, "n_embd": 128, "num_key_value_heads": 1})",
                 options(R"({"seq_len": 18, "dtype": "bfloat16"})")) == 55'296);
  const char* const plain[] = {
      R"({"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)",
      R"({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)",
      R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)"};
  for (const std::string text : plain) {
    CAPTURE(text);
    CHECK(bytes_of_token(text + R"(, "num_decoder_layers": 7, "decoder_attention_heads": 2})") == 512);
  }
}

TEST_CASE("head sizes under their own names") {
  CHECK(
      bytes_of(
          R"({"model_type": "switch_transformers", "d_model": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 6, "d_kv": 16})",
          options(R"({"seq_len": 9, "decode_steps": 2, "encoder_seq_len": 7, "dtype": "bfloat16"})")) == 13'824);
  CHECK(
      bytes_of(
          R"({"model_type": "cpmant", "num_hidden_layers": 5, "num_attention_heads": 1, "hidden_size": 32, "dim_head": 64})",
          options(R"({"seq_len": 19, "dtype": "float16"})")) == 65'280);
}

TEST_CASE("another name of a field comes last: head_dim is qk_rope_head_dim") {
  CHECK(
      bytes_of(
          R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
                     "head_dim": 128})",
          options(R"({"seq_len": 9, "decode_steps": 2, "dtype": "bfloat16"})")) == 14'080);
}

TEST_CASE("the root's dtype is the whole model's since 5.0, the text part's before") {
  const char* const both =
      R"({"model_type": "gemma3", "dtype": "bfloat16", "text_config": {"model_type": "gemma3_text", "dtype": "float32",
                               "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}})";
  CHECK(bytes_of(both, options(R"({"seq_len": 1})")) == 128);
  CHECK(bytes_of(both, options(R"({"seq_len": 1, "version": "4.57.6"})")) == 256);
}

TEST_CASE("encoders keep nothing: the class that the file names decides") {
  const std::string fields = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)";
  const struct {
    const char* type;
    const char* name;
    std::uint64_t bytes;
  } rows[] = {{"bert", "BertModel", 0},
              {"bert", "BertForSequenceClassification", 0},
              {"bert", "BertLMHeadModel", 512},
              {"electra", "ElectraForPreTraining", 0},
              {"xlm-roberta", "XLMRobertaForMaskedLM", 0},
              {"big_bird", "BigBirdModel", 0},
              {"roberta", "RobertaForCausalLM", 512},
              {"llama", "LlamaForSequenceClassification", 512}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const std::string config = R"({"model_type": ")" + std::string(row.type) + R"(", "architectures": [")" + row.name +
                               R"("], )" + fields + "}";
    const auto e = evaluate(config, one_token);
    CHECK(e.total_bytes == row.bytes);
    CHECK(notes_say(e, "keeps no cache") == (row.bytes == 0));
  }
  CHECK(bytes_of_token(R"({"model_type": "bert", "architectures": ["BertModel"], "is_decoder": true, )" + fields +
                       "}") == 512);
  CHECK(refused_at(R"({"model_type": "t5", "architectures": ["T5EncoderModel"]})") == "/architectures");
}

TEST_CASE("MLA types cached every head until 5.15, those with an indexer until 5.18") {
  const struct {
    const char* type;
    std::uint64_t before, since;
    const char* last;
    const char* first;
  } rows[] = {{"glm_moe_dsa", 5'131'776, 109'824, "5.17.0", "5.18.0"},
              {"deepseek_v32", 5'012'736, 85'888, "5.17.0", "5.18.0"},
              {"glm4_moe_lite", 962'560, 54'144, "5.14.1", "5.15.0"},
              {"minicpm3", 793'600, 35'712, "5.14.1", "5.15.0"}};
  for (const auto& row : rows) {
    CAPTURE(row.type);
    const std::string config = R"({"model_type": ")" + std::string(row.type) + R"("})";
    json o = one_token;
    o["version"] = row.last;
    CHECK(bytes_of(config, o) == row.before);
    o["version"] = row.first;
    CHECK(bytes_of(config, o) == row.since);
  }
}

TEST_CASE("names that transformers 4.57.6 gives its classes") {
  CHECK(bytes_of_token(R"({"model_type": "code_llama"})") == bytes_of_token(R"({"model_type": "llama"})"));
  CHECK(bytes_of_token(R"({"model_type": "lfm2-vl"})") == bytes_of_token(R"({"model_type": "lfm2_vl"})"));
  CHECK(bytes_of_token(R"({"model_type": "granitevision"})") == bytes_of_token(R"({"model_type": "llava_next"})"));
  CHECK(bytes_of_token(R"({"model_type": "EvollaModel"})") == bytes_of_token(R"({"model_type": "evolla"})"));
}

TEST_CASE("head_dim 0 and null: derived in some classes, refused in the others") {
  const std::string fields =
      R"("hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "sliding_window": null, )";
  for (const char* const type : {"mistral", "mixtral", "starcoder2", "stablelm", "persimmon"}) {
    CAPTURE(type);
    const std::string start = R"({"model_type": ")" + std::string(type) + R"(", )" + fields;
    CHECK(bytes_of_token(start + R"("head_dim": 0})") == 256);
  }
  for (const char* const type : {"llama", "qwen2", "qwen3", "gemma2", "phi3"}) {
    CAPTURE(type);
    CHECK(refused_at(R"({"model_type": ")" + std::string(type) + R"(", )" + fields + R"("head_dim": 0})") ==
          "/head_dim");
  }
  CHECK(bytes_of_token(R"({"model_type": "llama", )" + fields + R"("head_dim": null})") == 256);
  CHECK(refused_at(R"({"model_type": "gemma2", )" + fields + R"("head_dim": null})") == "/head_dim");
}

TEST_CASE("configs that transformers does not run") {
  const struct {
    const char* config;
    const char* pointer;
  } rows[] = {
      {R"({"model_type": "bamba"})", "/layer_types"},
      {R"({"model_type": "lfm2", "num_hidden_layers": 3, "layer_types": ["conv", "conv", "conv"]})", "/layer_types"},
      {R"({"model_type": "zamba", "num_hidden_layers": 2})", "/layer_types"},
      {R"({"model_type": "zamba2", "num_hidden_layers": 4})", "/num_hidden_layers"},
      {R"({"model_type": "bamba", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
           "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_expand": 2, "mamba_d_state": 8, "attn_layer_indices": [1]})",
       "/mamba_n_heads"},
      {R"({"model_type": "gemma3n_text", "num_hidden_layers": 4, "num_kv_shared_layers": 1,
           "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]})",
       "/num_kv_shared_layers"},
      {R"({"model_type": "prophetnet", "num_encoder_layers": 2, "num_decoder_layers": 4})", "/num_decoder_layers"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "per_layer_config": {"0": {"num_key_value_heads": 1}}})",
       "/per_layer_config/0/num_key_value_heads"},
      {R"({"model_type": "llama", "per_layer_config": {"0": {"sliding_window": 4}}})", "/per_layer_config"},
      {R"({"model_type": "falcon", "head_dim": 64})", "/head_dim"},
      {R"({"model_type": "deepseek_v3", "v_head_dim": 0})", "/v_head_dim"},
      {R"({"model_type": "deepseek_v3", "qk_rope_head_dim": 0})", "/qk_rope_head_dim"},
      {R"({"model_type": "deepseek_v3", "num_key_value_heads": 0})", "/num_key_value_heads"},
      {R"({"model_type": "gpt_oss", "hidden_size": 0})", "/hidden_size"},
      {R"({"model_type": "llama4_text", "hidden_size": 0})", "/hidden_size"},
      {R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 1, "layer_types": ["full_attention"]})", "/layer_types/0"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.config);
    CHECK(refused_at(row.config) == row.pointer);
  }
  CHECK(refused_at(R"({"model_type": "llama", "dtype": "nvfp4"})", options(R"({"seq_len": 1})")) == "/dtype");
}

TEST_CASE("layers with windows of their own in a class that does not ask for windows") {  // measured: one layer of 2
                                                                                          // positions
  CHECK(bytes_of(R"({"model_type": "biogpt", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
                     "per_layer_config": {"0": {"sliding_window": 3}}})",
                 options(R"({"seq_len": 9, "decode_steps": 2, "dtype": "bfloat16"})")) == 512);
}

TEST_CASE("a window slides in cross-attention too, but in T5Gemma's own forward()") {
  const char* const m2m =
      R"({"model_type": "m2m_100", "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "decoder_attention_heads": 4,
                              "encoder_attention_heads": 4, "sliding_window": 4})";
  CHECK(bytes_of(m2m, options(R"({"seq_len": 9, "encoder_seq_len": 9, "dtype": "bfloat16"})")) == 2 * 3 * 256);
}

TEST_CASE("quantized latents, and what each backend takes") {
  const char* const small =
      R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "kv_lora_rank": 32,
                                "qk_rope_head_dim": 32, "qk_nope_head_dim": 16, "v_head_dim": 16})";
  const auto quantized = [&](json o) {
    o.update(options(R"({"cache": "quantized", "dtype": "bfloat16"})"));
    return bytes_of(small, o);
  };
  // 42 groups, packed four to a byte along the groups: 11 rows of 32
  CHECK(
      quantized(options(
          R"({"backend": "quanto", "nbits": 2, "q_group_size": 32, "residual_length": 1, "seq_len": 33, "decode_steps": 9})")) ==
      2'080);
  CHECK(
      quantized(options(
          R"({"backend": "hqq", "nbits": 1, "q_group_size": 32, "residual_length": 1, "seq_len": 16, "decode_steps": 1})")) ==
      544);
  CHECK_THROWS_AS(quantized(options(R"({"backend": "fp8", "nbits": 4, "seq_len": 8})")), usage_error);
  CHECK_THROWS_AS(quantized(options(R"({"backend": "fp8", "version": "5.20.0", "seq_len": 8})")), usage_error);
  CHECK_THROWS_AS(quantized(options(R"({"backend": "quanto", "axis_key": 1, "seq_len": 8})")), usage_error);
  CHECK_THROWS_AS(quantized(options(R"({"backend": "hqq", "axis_key": -1, "seq_len": 8})")), usage_error);
}

TEST_CASE("every option changes something, or is refused, or said to be idle") {
  const char* const llama = R"({"model_type": "llama", "num_hidden_layers": 1})";
  for (const char* const idle :
       {"max_cache_len", "nbits", "residual_length", "encoder_seq_len", "images_per_sequence"}) {
    CAPTURE(idle);
    json o = one_token;
    o[idle] = 4;
    CHECK(notes_say(evaluate(llama, o), idle));
  }
  for (const char* const type : {"q4_0", "nvfp4", "int4", "fp8"}) {
    CAPTURE(type);
    json o = one_token;
    o["dtype"] = type;
    CHECK_THROWS_AS(evaluate(llama, o), usage_error);
  }
  json mems = one_token;
  mems["cache"] = "mems";
  CHECK(!evaluate(llama, mems).refusal.empty());
}

TEST_CASE("an array is no config") {
  CHECK(error_of<config_error>([] { (void)evaluate("[]", one_token); }).problem() == "not a config");
  CHECK(error_of<config_error>([] { (void)evaluate("[]"); }).problem() == "not a config");
}
