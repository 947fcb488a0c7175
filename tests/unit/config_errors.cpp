// Everything that a config or an option can get wrong: the file, the JSON pointer, the value and what was expected.
#include "evaluating.hpp"
#include "support/growth.hpp"

using namespace kvbudget;
using testing::error_of;
using testing::evaluate;
using testing::json;

namespace {

/// A config with the fields of `fields` in front: the last of a repeated key counts, so these are added behind.
std::string with(std::string_view type, std::string_view fields) {
  return R"({"model_type": ")" + std::string(type) + R"(", "dtype": "float16")" + (fields.empty() ? "" : ", ") +
         std::string(fields) + "}";
}

config_error refused(const std::string& config) {
  INFO(config.substr(0, 300));
  return error_of<config_error>([&] { (void)evaluate(config, json::parse(R"({"seq_len": 4})")); });
}

struct refusal {
  const char* fields;
  const char* pointer;
  const char* value;
  const char* problem;
  const char* expected;
};

template <std::size_t N>
void check(std::string_view type, const refusal (&rows)[N]) {
  for (const refusal& row : rows) {
    CAPTURE(type, row.fields);
    const config_error e = refused(with(type, row.fields));
    CHECK(e.file() == "config.json");
    CHECK(e.pointer() == row.pointer);
    CHECK(e.value() == row.value);
    CHECK(e.problem() == row.problem);
    CHECK(e.expected() == row.expected);
  }
}

constexpr const char* from_0 = "a whole number from 0 to 2147483647";
constexpr const char* from_1 = "a whole number from 1 to 2147483647";

}  // namespace

TEST_CASE("a document that is no config") {
  for (const char* text : {"[]", "1", "null", "\"llama\"", "Infinity"}) {
    CAPTURE(text);
    const config_error e = refused(text);
    if (std::string_view(text) == "Infinity") CHECK(e.problem() == "missing, and the class has no default for it");
    else CHECK(e.problem() == "not a config");
  }
}

TEST_CASE("the model type") {
  const auto about_type = [](const char* text) {
    const config_error e = refused(text);
    CHECK(e.pointer() == "/model_type");
    return e;
  };
  CHECK(about_type("{}").problem() == "missing, and the class has no default for it");
  CHECK(about_type(R"({"model_type": null})").problem() == "missing, and the class has no default for it");
  CHECK(about_type(R"({"model_type": 5})").problem() == "not a string");
  for (const char* text :
       {R"({"model_type": ""})", R"({"model_type": "no_such_model"})", R"({"model_type": "LLAMA"})"}) {
    const config_error e = about_type(std::string(text).insert(1, "\"dtype\": \"float16\", ").c_str());
    CHECK(e.problem() == "unknown model type");
    CHECK(e.expected() == "one of the types that `kvbudget models` lists");
  }
  CHECK(about_type(R"({"model_type": "reformer", "dtype": "float16"})").value() == "\"reformer\"");
  CHECK(about_type(R"({"model_type": "openai-gpt", "dtype": "float16"})").problem() ==
        "this model type keeps no cache of its own");
  CHECK(about_type(R"({"model_type": "xlm", "dtype": "float16"})").problem() ==
        "this model type keeps no cache of its own");
}

TEST_CASE("the model type of a language model's part is not guessed either") {
  const config_error e = refused(with("llava", R"("text_config": {"model_type": "no_such_model"})"));
  CHECK(e.pointer() == "/text_config/model_type");
  CHECK(e.value() == "\"no_such_model\"");
  CHECK(e.problem() == "unknown model type");
  const config_error kind = refused(with("llava", R"("text_config": {"model_type": ["llama"]})"));
  CHECK(kind.pointer() == "/text_config/model_type");
  CHECK(kind.problem() == "not a string");
  const config_error list = refused(with("llava", R"("text_config": [1])"));
  CHECK(list.pointer() == "/text_config");
  CHECK(list.problem() == "not an object");
}

TEST_CASE("numbers of the wrong kind, in every place that is read") {
  check("llama", {
                     {R"("num_hidden_layers": -1)", "/num_hidden_layers", "-1", "negative", from_1},
                     {R"("num_hidden_layers": 0)", "/num_hidden_layers", "0", "out of range", from_1},
                     {R"("num_hidden_layers": 32.0)", "/num_hidden_layers", "32.0", "not a whole number", from_1},
                     {R"("num_hidden_layers": "32")", "/num_hidden_layers", "\"32\"", "a string", from_1},
                     {R"("num_hidden_layers": true)", "/num_hidden_layers", "true", "a boolean", from_1},
                     {R"("num_hidden_layers": [32])", "/num_hidden_layers", "[32]", "not a number", from_1},
                     {R"("num_hidden_layers": {"n": 32})", "/num_hidden_layers", R"({"n":32})", "not a number", from_1},
                     {R"("num_hidden_layers": Infinity)", "/num_hidden_layers", R"({"__float__":"Infinity"})",
                      "not a number", from_1},
                     {R"("num_hidden_layers": 18446744073709551616)", "/num_hidden_layers", "1.8446744073709552e+19",
                      "out of range", from_1},
                     {R"("num_hidden_layers": 1e300)", "/num_hidden_layers", "1e+300", "out of range", from_1},
                     {R"("num_hidden_layers": null)", "/num_hidden_layers", "null", "this class takes no null here",
                      "a value, or no such field"},
                     {R"("hidden_size": 4294967296)", "/hidden_size", "4294967296", "out of range", from_1},
                     {R"("hidden_size": 0)", "/hidden_size", "0", "out of range", from_1},
                     {R"("hidden_size": null)", "/hidden_size", "null", "this class takes no null here",
                      "a value, or no such field"},
                     {R"("num_attention_heads": 0)", "/num_attention_heads", "0", "zero", "at least 1"},
                     {R"("num_attention_heads": -32)", "/num_attention_heads", "-32", "negative", from_0},
                     {R"("num_attention_heads": null)", "/num_attention_heads", "null", "this class takes no null here",
                      "a value, or no such field"},
                     {R"("num_key_value_heads": 0.5)", "/num_key_value_heads", "0.5", "not a whole number", from_0},
                     {R"("head_dim": -128)", "/head_dim", "-128", "negative", from_0},
                     {R"("head_dim": "128")", "/head_dim", "\"128\"", "a string", from_0},
                     {R"("sliding_window": 0, "layer_types": ["sliding_attention"], "num_hidden_layers": 1)",
                      "/sliding_window", "0", "zero, and there are sliding layers", "at least 1"},
                     {R"("sliding_window": -1)", "/sliding_window", "-1", "negative", from_0},
                     {R"("sliding_window": 1.5)", "/sliding_window", "1.5", "not a whole number", from_0},
                 });
}

TEST_CASE("numbers that do not divide") {
  check("llama", {
                     {R"("num_attention_heads": 31)", "/num_attention_heads", "31", "does not divide hidden_size 4096",
                      "a divisor of hidden_size"},
                     {R"("num_key_value_heads": 5)", "/num_key_value_heads", "5",
                      "does not divide num_attention_heads 32", "a divisor of num_attention_heads"},
                     {R"("num_key_value_heads": 64)", "/num_key_value_heads", "64",
                      "does not divide num_attention_heads 32", "a divisor of num_attention_heads"},
                     {R"("num_key_value_heads": 0)", "/num_key_value_heads", "0",
                      "does not divide num_attention_heads 32", "a divisor of num_attention_heads"},
                 });
  CHECK_NOTHROW(
      evaluate(with("qwen3_moe", R"("num_attention_heads": 31, "num_key_value_heads": 31, "head_dim": 128)")));
}

TEST_CASE("lists of layers: words, kinds and lengths") {
  check("llama",
        {
            {R"("num_hidden_layers": 2, "layer_types": ["full_attention"])", "/layer_types", R"(["full_attention"])",
             "1 entries for 2 layers", "one entry a layer"},
            {R"("num_hidden_layers": 1, "layer_types": ["full_attention", "full_attention"])", "/layer_types",
             R"(["full_attention","full_attention"])", "2 entries for 1 layers", "one entry a layer"},
            {R"("num_hidden_layers": 2, "layer_types": [])", "/layer_types", "[]", "0 entries for 2 layers",
             "one entry a layer"},
            {R"("num_hidden_layers": 2, "layer_types": ["full_attention", "Full"])", "/layer_types/1", "\"Full\"",
             "unknown layer type", "full_attention, sliding_attention, chunked_attention, linear_attention …"},
            {R"("num_hidden_layers": 2, "layer_types": ["full_attention", 1])", "/layer_types/1", "1", "not a string",
             "a layer type such as \"full_attention\""},
            {R"("num_hidden_layers": 1, "layer_types": [["full_attention"]])", "/layer_types/0",
             R"(["full_attention"])", "not a string", "a layer type such as \"full_attention\""},
            {R"("num_hidden_layers": 1, "layer_types": "full_attention")", "/layer_types", "\"full_attention\"",
             "not an array", "an array or null"},
            {R"("num_hidden_layers": 1, "layer_types": ["sliding_attention"])", "/sliding_window", "",
             "missing, and the class has no default for it", "at least 1, for the sliding layers"},
            {R"("num_hidden_layers": 1, "layer_types": ["chunked_attention"])", "/attention_chunk_size", "",
             "missing, and the class has no default for it", "at least 1, for the chunked layers"},
            {R"("num_hidden_layers": 1, "layer_types": ["linear_attention"])", "/layer_types",
             R"(["linear_attention"])", "no layer with attention, which such a model needs", "at least one"},
            {R"("num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"])", "/layer_types",
             R"(["linear_attention","full_attention"])",
             "a recurrent layer in a model type without a rule for its state", "attention layers for model type llama"},
        });
  check("llama4_text", {
                           {R"("no_rope_layers": [1, 0])", "/no_rope_layers", "[1,0]", "shorter than num_hidden_layers",
                            "one entry a layer"},
                           {R"("num_hidden_layers": 2, "no_rope_layers": [1, 2])", "/no_rope_layers/1", "2",
                            "out of range", "a whole number from 0 to 1"},
                           {R"("no_rope_layer_interval": 0)", "/no_rope_layer_interval", "0", "out of range", from_1},
                       });
  check("gemma3_text",
        {
            {R"("sliding_window_pattern": 0)", "/sliding_window_pattern", "0", "out of range", from_1},
            {R"("sliding_window_pattern": "LLLG")", "/sliding_window_pattern", "\"LLLG\"", "a string", from_1},
        });
  check("nemotron_h", {
                          {R"("hybrid_override_pattern": "M*X")", "/hybrid_override_pattern", "\"M*X\"",
                           "unknown letter 'X'", "a pattern of M, *, - and E"},
                          {R"("hybrid_override_pattern": 5)", "/hybrid_override_pattern", "5", "not a string",
                           "a pattern of M, *, - and E"},
                      });
  check("deepseek_v4", {
                           {R"("num_hidden_layers": 3, "compress_ratios": [4, 128])", "/compress_ratios", "[4,128]",
                            "shorter than num_hidden_layers", "one entry a layer"},
                           {R"("num_hidden_layers": 2, "compress_ratios": [4, 8])", "/compress_ratios/1", "8",
                            "unknown compression ratio", "0, 4 or 128"},
                       });
  check("jamba", {
                     {R"("attn_layer_period": 0)", "/attn_layer_period", "0", "out of range", from_1},
                     {R"("mamba_expand": 0)", "/mamba_expand", "0", "out of range", "a positive number"},
                     {R"("mamba_expand": Infinity)", "/mamba_expand", R"({"__float__":"Infinity"})",
                      "not a finite number", "a number or null"},
                     {R"("mamba_expand": "2")", "/mamba_expand", "\"2\"", "not a finite number", "a number or null"},
                     {R"("mamba_expand": -2)", "/mamba_expand", "-2", "out of range", "a positive number"},
                     {R"("mamba_d_conv": 0)", "/mamba_d_conv", "0", "out of range", from_1},
                 });
  check("glm_moe_dsa", {
                           {R"("num_hidden_layers": 3, "index_topk_pattern": ["full"])", "/index_topk_pattern",
                            R"(["full"])", "shorter than num_hidden_layers", "one entry a layer"},
                           {R"("num_hidden_layers": 3, "index_topk_pattern": "FS")", "/index_topk_pattern", "\"FS\"",
                            "shorter than num_hidden_layers", "one letter a layer"},
                           {R"("num_hidden_layers": 2, "index_topk_pattern": "FX")", "/index_topk_pattern", "\"FX\"",
                            "unknown letter", "a pattern of F and S"},
                           {R"("num_hidden_layers": 2, "indexer_types": ["full"])", "/indexer_types", R"(["full"])",
                            "shorter than num_hidden_layers", "one entry a layer"},
                           {R"("num_hidden_layers": 1, "indexer_types": ["half"])", "/indexer_types/0", "\"half\"",
                            "unknown indexer type", "full or shared"},
                           {R"("kv_lora_rank": null)", "/kv_lora_rank", "null", "this class takes no null here",
                            "a value, or no such field"},
                           {R"("index_head_dim": 0)", "/index_head_dim", "0", "out of range", from_1},
                       });
}

TEST_CASE("fields that contradict each other") {
  check(
      "kimi_linear",
      {
          {R"("num_hidden_layers": 2, "linear_attn_config": {"full_attn_layers": [1], "kda_layers": []})",
           "/linear_attn_config", "an object of 2 entries", "a layer is in neither list", "every layer in one of them"},
      });
  check("gemma3n_text", {
                            {R"("num_hidden_layers": 4, "num_kv_shared_layers": 5)", "/num_kv_shared_layers", "5",
                             "more than there are layers", "at most num_hidden_layers"},
                        });
}

TEST_CASE("per_layer_config with keys or values that are none") {
  check("llama",
        {
            {R"("per_layer_config": [1])", "/per_layer_config", "[1]", "not an object", "an object or null"},
            {R"("per_layer_config": {"first": {}})", "/per_layer_config/first", "{}", "the key is not a layer number",
             "keys such as \"07\""},
            {R"("per_layer_config": {"-1": {}})", "/per_layer_config/-1", "{}", "the key is not a layer number",
             "keys such as \"07\""},
            {R"("per_layer_config": {"": {}})", "/per_layer_config/", "{}", "the key is not a layer number",
             "keys such as \"07\""},
            {R"("per_layer_config": {"999999999": {}})", "/per_layer_config/999999999", "{}",
             "the key is not a layer number", "keys such as \"07\""},
            {R"("per_layer_config": {"3": 7})", "/per_layer_config/3", "7", "not an object", "an object of fields"},
            {R"("per_layer_config": {"32": {}})", "/per_layer_config/32", "{}", "beyond the last layer",
             "layer numbers below num_hidden_layers"},
            {R"("per_layer_config": {"3": {"skip": ["mlp"]}})", "/per_layer_config/3", "an object of 1 entries",
             "parts of a layer are left out, which this library does not follow", "whole layers"},
        });
  check("gemma4_text", {
                           {R"("per_layer_config": {"03": {"head_dim": -1}})", "/per_layer_config/03/head_dim", "-1",
                            "negative", from_0},
                       });
}

TEST_CASE("booleans and element types of the wrong kind") {
  check("falcon", {
                      {R"("multi_query": 1)", "/multi_query", "1", "not a boolean", "true, false or null"},
                      {R"("multi_query": "yes")", "/multi_query", "\"yes\"", "not a boolean", "true, false or null"},
                  });
  check("llama", {
                     {R"("dtype": "float17")", "/dtype", "\"float17\"", "unknown element type",
                      "a torch dtype such as \"bfloat16\""},
                     {R"("dtype": 16)", "/dtype", "16", "not a string", "a string or null"},
                 });
  const config_error none = refused(R"({"model_type": "llama"})");
  CHECK(none.pointer() == "/dtype");
  CHECK(none.problem() == "missing, and transformers has no default of its own");
}

TEST_CASE("a missing field without a default in the class") {
  check("qwen4_exp_text",
        {{"", "/indexer_head_dim", "", "missing, and the class has no default for it", "a whole number"}});
}

TEST_CASE("more than 65,536 layers, in whatever way they are counted") {
  const auto too_many = [](const std::string& config) {
    const config_error e = refused(config);
    CHECK(e.problem().find("more than 65,536 layers") == 0);
    return e.pointer();
  };
  CHECK_NOTHROW(evaluate(with("llama", R"("num_hidden_layers": 65536)")));
  CHECK(too_many(with("llama", R"("num_hidden_layers": 65537)")) == "/num_hidden_layers");
  CHECK(too_many(with("llama", R"("num_hidden_layers": 2147483647)")) == "/num_hidden_layers");
  CHECK(too_many(with("gpt2", R"("n_layer": 65537)")) == "/n_layer");
  CHECK(too_many(with("t5", R"("num_decoder_layers": 65537)")) == "/num_decoder_layers");
  CHECK(too_many(with("bart", R"("decoder_layers": 65537)")) == "/decoder_layers");
  CHECK(too_many(with("rwkv", R"("num_hidden_layers": 65537)")) == "/num_hidden_layers");
  CHECK(too_many(with("xlnet", R"("n_layer": 65537)")) == "/n_layer");
  CHECK(too_many(with("xlstm", R"("num_hidden_layers": 65537)")) == "/num_hidden_layers");
  CHECK(too_many(with("longcat_flash", R"("num_layers": 32769)")) == "/num_layers");
  CHECK(too_many(with("hrm_text", R"("num_hidden_layers": 100, "H_cycles": 100, "L_cycles": 100)")) ==
        "/num_hidden_layers");
  CHECK(too_many(with("nemotron_h", R"("hybrid_override_pattern": ")" + std::string(65'537, '*') + "\"")) ==
        "/hybrid_override_pattern");
  CHECK(too_many(with("llava", R"("text_config": {"num_hidden_layers": 65537})")) == "/text_config/num_hidden_layers");
  CHECK(too_many(with("inkling2_loop_text", R"("num_hidden_layers": 24, "loop_num_passes": 2147483647)")) ==
        "/num_hidden_layers");
  std::string words;
  for (int i = 0; i < 65'537; ++i) words += i == 0 ? "\"full_attention\"" : ",\"full_attention\"";
  CHECK(too_many(with("llama", "\"num_hidden_layers\": 1, \"layer_types\": [" + words + "]")) == "/layer_types");
}

TEST_CASE("huge shapes are overflows, not small sizes") {
  const auto overflows = [](const std::string& config) {
    return error_of<size_error>([&] { (void)evaluate(config, json::parse(R"({"seq_len": 4000000000})")); }).reason();
  };
  CHECK(
      overflows(with("llama", R"("hidden_size": 2147483647, "num_attention_heads": 1, "num_hidden_layers": 65536)")) ==
      failure::overflow);
  CHECK(overflows(
            with("llama", R"("hidden_size": 2147483647, "head_dim": 2147483647, "num_attention_heads": 2147483647)")) ==
        failure::overflow);
  CHECK(
      overflows(with(
          "mamba2",
          R"("hidden_size": 1048576, "expand": 1048576, "num_heads": 1048576, "head_dim": 1048576, "state_size": 2147483647)")) ==
      failure::overflow);
}

TEST_CASE("lists of an attacker's choice are read in time that grows with their length") {
  const auto numbers = [](std::size_t n) {
    std::string list;
    for (std::size_t i = 0; i < n; ++i) list.append(i == 0 ? "" : ",").append(std::to_string(1'000'000 + i));
    return list;
  };
  const auto grows_like_the_list = [](const auto& config_of_length) {
    return growth_over_eightfold([&](std::size_t n) { (void)evaluate(config_of_length(n)); }, 4'000) < 30;
  };
  CHECK(grows_like_the_list([&](std::size_t n) {
    return with("mllama_text_model",
                "\"num_hidden_layers\": " + std::to_string(n) + ", \"cross_attention_layers\": [" + numbers(n) + "]");
  }));
  CHECK(grows_like_the_list([&](std::size_t n) {
    return with("qwen4_exp_text", "\"num_hidden_layers\": " + std::to_string(n) +
                                      ", \"indexer_head_dim\": 128, \"ple_layer_ids\": [" + numbers(n) + "]");
  }));
  CHECK(grows_like_the_list([&](std::size_t n) {
    std::string overrides;
    for (std::size_t i = 0; i < n; ++i) {
      overrides.append(i == 0 ? "\"" : ",\"")
          .append(std::to_string(i))
          .append("\":{\"head_dim\":")
          .append(std::to_string(i + 1))
          .append("}");
    }
    return with("gemma4_text",
                "\"num_hidden_layers\": " + std::to_string(n) + ", \"per_layer_config\": {" + overrides + "}");
  }));
  CHECK(grows_like_the_list(
      [&](std::size_t n) { return with("bamba", "\"attn_layer_indices\": [1," + numbers(n) + "]"); }));
}

TEST_CASE("passes that add no layer are counted, not walked") {
  // 2,147,483,646 walks would not end while anybody waits.
  CHECK_NOTHROW(
      evaluate(with("inkling2_loop_text",
                    R"("loop_num_passes": 2147483647, "loop_layer_index_start": 3, "loop_layer_index_end": 3)")));
}

TEST_CASE("deep nesting in the places that are read") {
  std::string deep(100'000, '[');
  deep += std::string(100'000, ']');
  for (const char* field :
       {"num_hidden_layers", "layer_types", "dtype", "per_layer_config", "head_dim", "sliding_window", "model_type"}) {
    CAPTURE(field);
    const config_error e = error_of<config_error>([&] {
      (void)evaluate(with("llama", std::string("\"") + field + "\": " + deep), json::parse(R"({"seq_len": 4})"));
    });
    CHECK(e.value().size() < 40);
  }
  CHECK_NOTHROW(evaluate(with("llama", "\"quantization_config\": " + deep)));
}

// ---- options
// ------------------------------------------------------------------------------------------------------------

TEST_CASE("unknown options and values list the known ones") {
  const auto wrong = [](const char* options) {
    return error_of<usage_error>([&] { (void)evaluate(with("llama", ""), json::parse(options)); });
  };
  const usage_error unknown = wrong(R"({"max_len": 5})");
  CHECK(unknown.pointer() == "max_len");
  CHECK(unknown.value() == "5");
  CHECK(unknown.problem() == "unknown option");
  for (const char* name :
       {"version", "cache", "dtype", "batch", "seq_len", "decode_steps", "max_cache_len", "nbits", "residual_length"}) {
    CHECK(unknown.expected().find(name) != std::string::npos);
  }
  const usage_error cache = wrong(R"({"cache": "paged"})");
  CHECK(cache.pointer() == "cache");
  CHECK(cache.value() == "\"paged\"");
  CHECK(cache.problem() == "unknown value");
  CHECK(cache.expected() == "one of dynamic, static, quantized, mems");
  CHECK(wrong(R"({"backend": "bitsandbytes"})").expected() == "one of quanto, hqq, HQQ, fp8");
  CHECK(wrong(R"({"dtype": "float17"})").expected().find("bfloat16") != std::string::npos);
  CHECK(wrong(R"({"version": 5.24})").problem() == "unusable value");
  CHECK(wrong(R"({"version": "newest"})").problem() == "not a version");
  CHECK(wrong(R"({"cache": "static"})").pointer() == "max_cache_len");
  CHECK(wrong(R"({"cache": "static", "max_cache_len": 0})").problem() == "unusable value");
  CHECK(wrong(R"({"cache": true})").problem() == "unusable value");
  CHECK(wrong(R"([1])").problem() == "not an object");
}

TEST_CASE("counts that are none") {
  for (const char* name :
       {"batch", "seq_len", "decode_steps", "max_cache_len", "encoder_seq_len", "cross_max_cache_len",
        "images_per_sequence", "nbits", "q_group_size", "residual_length", "axis_key", "axis_value"}) {
    for (const char* value : {"-2", "1.5", "\"8\"", "true", "[8]", "{}", "1e300", "18446744073709551615"}) {
      CAPTURE(name, value);
      json options;
      options[name] = json::parse(value);
      const usage_error e = error_of<usage_error>([&] { (void)evaluate(with("llama", ""), options); });
      CHECK(e.pointer() == name);
      CHECK(e.problem() == "unusable value");
    }
  }
}

TEST_CASE("null is not given") {
  const auto e = evaluate(
      with("llama", ""),
      json::parse(R"({"cache": null, "batch": null, "seq_len": 1, "dtype": null, "version": null, "part": null})"));
  CHECK(e.total_bytes == 524'288);
}

TEST_CASE("bits that a backend does not know") {
  const auto wrong = [](const char* options) {
    return error_of<usage_error>([&] { (void)evaluate(with("llama", ""), json::parse(options)); }).expected();
  };
  CHECK(wrong(R"({"cache": "quantized", "nbits": 3})") == "2 or 4");
  CHECK(wrong(R"({"cache": "quantized", "nbits": 8})") == "2 or 4");
  CHECK(wrong(R"({"cache": "quantized", "nbits": 5, "backend": "hqq"})") == "1, 2, 3, 4 or 8");
  CHECK(wrong(R"({"nbits": 9})") == "a whole number from 1 to 8");
  CHECK(wrong(R"({"axis_key": 2})") == "0 or -1");
}

TEST_CASE("a part that the config does not have") {
  const usage_error e =
      error_of<usage_error>([&] { (void)evaluate(with("llama", ""), json::parse(R"({"part": "thinker"})")); });
  CHECK(e.pointer() == "part");
  CHECK(e.value() == "thinker");
}
