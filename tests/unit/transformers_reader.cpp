// Configs to bytes as transformers allocates them: shapes, layer kinds, options, versions.
#include "evaluating.hpp"

#include <array>

using namespace kvbudget;
using testing::bytes_of;
using testing::evaluate;
using testing::json;
using testing::parse;
using testing::source_of;

namespace {

json options(const char* text) { return json::parse(text); }

/// Positions that each layer keeps, from layers of equal K and V of `row` bytes.
std::vector<std::uint64_t> kept(const engine_answer& e, std::uint64_t row) {
  std::vector<std::uint64_t> result;
  for (const auto& layer : e.layers) result.push_back(layer.k_bytes / row);
  return result;
}

using counts = std::vector<std::uint64_t>;

}  // namespace

// ---- shapes of well-known models
// ---------------------------------------------------------------------------------------

TEST_CASE("attention is named from the config, with the heads of K and V") {
  const struct {
    const char* name;
    const char* config;
    std::uint64_t layers, heads, kv_heads, head_dim;
    const char* attention;
  } rows[] = {
      {"Llama-3.1-8B",
       R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8})",
       32, 32, 8, 128, "GQA"},
      {"Llama-2-13B",
       R"({"model_type": "llama", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40})", 40, 40,
       40, 128, "MHA"},
      {"Qwen2.5-7B",
       R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "use_sliding_window": false})",
       28, 28, 4, 128, "GQA"},
      {"Mistral-7B-v0.3",
       R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window": null})",
       32, 32, 8, 128, "GQA"},
      {"gemma-2-9b-it",
       R"({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256})",
       42, 16, 8, 256, "GQA"},
      {"falcon-7b",
       R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true})",
       32, 71, 1, 64, "MQA"},
      {"Qwen3-32B",
       R"({"model_type": "qwen3", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128})",
       64, 64, 8, 128, "GQA"},
      {"gpt2", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12})", 12, 12, 12, 64, "MHA"},
      {"Qwen-72B's kind",
       R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 64})",
       80, 64, 64, 128, "MHA"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto e = evaluate(row.config, options(R"({"seq_len": 8, "dtype": "float16"})"));
    CHECK(e.attention == row.attention);
    CHECK(e.model_layers == row.layers);
    CHECK(e.layers.size() == row.layers);
    const std::uint64_t tensor = 1 * row.kv_heads * 8 * row.head_dim * 2;  // [1, kv_heads, 8, head_dim]
    for (const auto& layer : e.layers) {
      CHECK(layer.k_bytes == tensor);
      CHECK(layer.v_bytes == tensor);
      CHECK(layer.other_bytes == 0);
    }
    CHECK(e.total_bytes == 2 * row.layers * tensor);
    for (const auto& s : e.sources) {
      if (s.quantity == "num_attention_heads") CHECK(s.value == json_value(row.heads));
      if (s.quantity == "num_key_value_heads") CHECK(s.value == json_value(row.kv_heads));
      if (s.quantity == "head_dim") CHECK(s.value == json_value(row.head_dim));
    }
  }
}

TEST_CASE("Qwen2.5-7B in 16 bits: 8 positions take 458,752 bytes") {
  CHECK(
      bytes_of(
          R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "dtype": "float16"})",
          options(R"({"seq_len": 8})")) == 458'752);
}

TEST_CASE("a llama that says nothing but its type") {
  const auto e = evaluate(R"({"model_type": "llama", "dtype": "bfloat16"})", options(R"({"seq_len": 1})"));
  CHECK(e.total_bytes == 524'288);  // 32 layers x 2 x 32 x 128 x 2
  CHECK(source_of(e, "hidden_size") == "class default of llama (hidden_size)");
}

TEST_CASE("published gemma-3-4b-it states few of its fields; the class has the others") {
  const auto e = evaluate(
      R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "model_type": "gemma3_text", "num_hidden_layers": 34,
                              "sliding_window": 1024}, "torch_dtype": "bfloat16"})",
      options(R"({"seq_len": 4096})"));
  // every 6th of 34 is full: 5 of 4,096 positions, 29 of 1,023; 4 heads of 256
  CHECK(e.total_bytes == (5 * 4096 + 29 * 1023) * 4096ULL);
}

TEST_CASE("falcon with the new architecture caches K and V repeated to all heads") {
  const auto e = evaluate(
      R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
                              "new_decoder_architecture": true})",
      options(R"({"seq_len": 1, "dtype": "bfloat16"})"));
  CHECK(e.total_bytes == 60ULL * 2 * 128 * 64 * 2);
}

// ---- one model in three forms
// ------------------------------------------------------------------------------------------

TEST_CASE("folded, as an array and as JSON: the same bytes under every policy") {
  // gemma-3-like: 24 layers, every 6th full
  const full_attention full = grouped_query_attention(4, 256, bf16);
  const sliding_window_attention sliding = with_window(full, 1024_tokens);
  const layer_list folded{repeated{4U, layer_list{repeated{5U, sliding}, full}}};
  std::array<std::variant<full_attention, sliding_window_attention>, 24> array;
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i % 6 == 5) array[i] = full;
    else array[i] = sliding;
  }
  const detail::config::document d = parse(
      R"({"model_type": "gemma3_text", "num_hidden_layers": 24, "num_attention_heads": 8, "num_key_value_heads": 4,
                                       "head_dim": 256, "sliding_window": 1024})");
  detail::transformers::read_options o;
  o.k_type = o.v_type = o.model_type = bf16;
  const model read = detail::transformers::read_model(d, o).layers;
  CHECK(read.kinds().size() == 2);
  CHECK(read.layers().size() == 24);

  const auto same = [&](const auto& policy, const auto& batch) {
    const footprint expected = total_footprint(folded, policy, batch);
    CHECK(expected.total().valid());
    CHECK(total_footprint(array, policy, batch) == expected);
    CHECK(total_footprint(read, policy, batch) == expected);
  };
  const std::uint32_t lengths[] = {1, 1023, 1024, 5000, 0};
  for (const std::uint64_t n : {0U, 1U, 1023U, 1024U, 1025U, 8000U}) {
    const uniform_batch batch{request(tokens(n), 3_tokens), 5};
    same(stored_positions{}, batch);
    same(padded{}, batch);
    same(static_reservation{8192_tokens}, batch);
    same(paged{16_tokens}, batch);
    same(detail::transformers::dynamic_cache{}, batch);
    same(detail::transformers::dynamic_cache_storage{}, batch);
    same(detail::transformers::static_cache{8192_tokens, 0_tokens}, batch);
  }
  same(stored_positions{}, ragged_batch<std::uint32_t>(lengths));
  same(padded{}, ragged_batch<std::uint32_t>(lengths));
  same(paged{256_tokens}, ragged_batch<std::uint32_t>(lengths));
  same(detail::transformers::dynamic_cache{}, ragged_batch<std::uint32_t>(lengths));
  CHECK(cache_formula{read, stored_positions{}}.max_length(8_GiB, 3) ==
        cache_formula{folded, stored_positions{}}.max_length(8_GiB, 3));
}

// ---- kinds of layers
// ---------------------------------------------------------------------------------------------------

TEST_CASE("layer_types, old words and new") {
  const char* const config =
      R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "sliding_window": 8,
      "attention_chunk_size": 6, "layer_types": ["full_attention", "sliding_attention", "chunked_attention", "attention"], "dtype": "float16"})";
  CHECK(kept(evaluate(config, options(R"({"seq_len": 20})")), 128) == counts{20, 7, 5, 20});
  CHECK(kept(evaluate(config, options(R"({"seq_len": 20, "cache": "static", "max_cache_len": 32})")), 128) ==
        counts{32, 8, 6, 32});
}

TEST_CASE("a flat sliding_window makes every layer slide; a chunk size every layer chunked; null neither") {
  const std::string tail =
      R"(, "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "dtype": "float16"})";
  const json twenty = options(R"({"seq_len": 20})");
  CHECK(kept(evaluate(R"({"model_type": "mistral", "sliding_window": 8)" + tail, twenty), 128) == counts{7, 7});
  CHECK(kept(evaluate(R"({"model_type": "mistral", "sliding_window": null)" + tail, twenty), 128) == counts{20, 20});
  CHECK(kept(evaluate(R"({"model_type": "mistral")" + tail, twenty), 128) == counts{20, 20});  // the class says 4,096
  CHECK(kept(evaluate(R"({"model_type": "llama", "attention_chunk_size": 8)" + tail, twenty), 128) == counts{7, 7});
}

TEST_CASE("qwen: use_sliding_window, from max_window_layers on") {
  const auto qwen = [&](const char* type, const char* fields) {
    return kept(evaluate(std::string(R"({"model_type": ")") + type +
                             R"(", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 4, "head_dim": 16, "dtype": "float16", )" +
                             fields + "}",
                         options(R"({"seq_len": 20})")),
                128);
  };
  CHECK(qwen("qwen2", R"("use_sliding_window": true, "sliding_window": 8, "max_window_layers": 2)") ==
        counts{20, 20, 7, 7});
  CHECK(qwen("qwen3", R"("use_sliding_window": true, "sliding_window": 8, "max_window_layers": 0)") ==
        counts{7, 7, 7, 7});
  CHECK(qwen("qwen2", R"("use_sliding_window": false, "sliding_window": 8, "max_window_layers": 2)") ==
        counts{20, 20, 20, 20});
  CHECK(qwen("qwen2", R"("sliding_window": 8, "max_window_layers": 2)") == counts{20, 20, 20, 20});
  CHECK(qwen("qwen2", R"("use_sliding_window": true, "sliding_window": null, "max_window_layers": 2)") ==
        counts{20, 20, 20, 20});
  CHECK(qwen("qwen2_moe", R"("use_sliding_window": true, "sliding_window": 8, "max_window_layers": 3)") ==
        counts{7, 20, 7, 20});
  CHECK(qwen("qwen3_moe", R"("use_sliding_window": true, "sliding_window": 8)") == counts{7, 7, 7, 7});
  CHECK(qwen("qwen3_moe", R"("use_sliding_window": false, "sliding_window": 8)") == counts{20, 20, 20, 20});
}

TEST_CASE("patterns of classes that list no layers") {
  const auto pattern = [&](const std::string& fields, std::uint64_t layers) {
    return kept(
        evaluate(
            "{" + fields + R"(, "num_hidden_layers": )" + std::to_string(layers) +
                R"(, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "sliding_window": 8, "dtype": "float16"})",
            options(R"({"seq_len": 20})")),
        128);
  };
  CHECK(pattern(R"("model_type": "gemma2")", 4) == counts{7, 20, 7, 20});
  CHECK(pattern(R"("model_type": "gpt_oss")", 3) == counts{7, 20, 7});
  CHECK(pattern(R"("model_type": "gemma3_text")", 7) == counts{7, 7, 7, 7, 7, 20, 7});
  CHECK(pattern(R"("model_type": "gemma3_text", "sliding_window_pattern": 2)", 4) == counts{7, 20, 7, 20});
  CHECK(pattern(R"("model_type": "cohere2")", 5) == counts{7, 7, 7, 20, 7});
  CHECK(pattern(R"("model_type": "olmo3")", 5) == counts{7, 7, 7, 20, 7});
}

TEST_CASE("a window of one keeps everything in a dynamic cache and one position in a static one") {
  const char* const config =
      R"({"model_type": "mistral", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
                                 "sliding_window": 1, "dtype": "float16"})";
  CHECK(kept(evaluate(config, options(R"({"seq_len": 20, "decode_steps": 3})")), 128) == counts{23});
  CHECK(kept(evaluate(config, options(R"({"seq_len": 5, "cache": "static", "max_cache_len": 32})")), 128) == counts{1});
}

TEST_CASE("storage after a long prefill and after a step") {
  const char* const config =
      R"({"model_type": "mistral", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
                                 "sliding_window": 8, "dtype": "float16"})";
  const auto storage = [&](const char* o) {
    return evaluate(config, options(o)).figures()["storage_bytes"].get<std::uint64_t>();
  };
  CHECK(bytes_of(config, options(R"({"seq_len": 100})")) == 2 * 7 * 256);
  CHECK(storage(R"({"seq_len": 100})") == 2 * 100 * 256);
  CHECK(storage(R"({"seq_len": 100, "decode_steps": 1})") == 2 * 8 * 256);
  CHECK(storage(R"({"seq_len": 100, "cache": "static", "max_cache_len": 200})") == 2 * 8 * 256);
}

TEST_CASE("Llama 4: chunked where there is a rotary embedding") {
  const auto e = evaluate(
      R"({"model_type": "llama4_text", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
      "head_dim": 16, "attention_chunk_size": 8, "dtype": "float16"})",
      options(R"({"seq_len": 20})"));
  CHECK(kept(e, 128) == counts{7, 7, 7, 20});
}

TEST_CASE("shared K and V: the last layers of gemma3n keep nothing") {
  const auto e = evaluate(
      R"({"model_type": "gemma3n_text", "num_hidden_layers": 7, "num_kv_shared_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
      "num_key_value_heads": 4, "head_dim": 16, "sliding_window": 8, "dtype": "float16"})",
      options(R"({"seq_len": 20})"));
  CHECK(kept(e, 128) == counts{7, 7, 7, 7, 20, 0, 0});
}

TEST_CASE("mixed state and attention: jamba and a nemotron pattern") {
  const auto jamba = evaluate(
      R"({"model_type": "jamba", "num_hidden_layers": 2, "attn_layer_period": 2, "attn_layer_offset": 1, "hidden_size": 64,
      "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "dtype": "bfloat16"})",
      options(R"({"seq_len": 20, "batch": 3})"));
  CHECK(jamba.attention == "hybrid");
  CHECK(jamba.layers[0].other_bytes == 3 * (128 * 4 * 2 + 128 * 16 * 4));  // convolution in bfloat16, state in float32
  CHECK(jamba.layers[1].k_bytes == 3 * 20 * 2 * 16 * 2);
  CHECK(
      bytes_of(
          R"({"model_type": "nemotron_h", "hybrid_override_pattern": "*-*E", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "dtype": "bfloat16"})",
          options(R"({"seq_len": 20})")) == 2 * 2 * 20 * 2 * 16 * 2);
}

TEST_CASE("per_layer_config: zero-padded keys override single layers") {
  const auto e = evaluate(
      R"({"model_type": "gemma4_text", "num_hidden_layers": 10, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
      "head_dim": 16, "dtype": "float16", "per_layer_config": {"07": {"head_dim": 32}, "2": {"num_key_value_heads": 2}, "0009": {"head_dim": 16}}})",
      options(R"({"seq_len": 1})"));
  CHECK(kept(e, 1) == counts{128, 128, 64, 128, 128, 128, 128, 256, 128, 128});
}

TEST_CASE("encoder and decoder: whisper-tiny over 1,500 positions") {
  const auto e = evaluate(
      R"({"model_type": "whisper", "decoder_layers": 4, "d_model": 384, "decoder_attention_heads": 6, "dtype": "float16"})",
      options(R"({"seq_len": 4, "encoder_seq_len": 1500})"));
  CHECK(e.total_bytes == 4 * 2 * 384 * 2 * (4 + 1500));
  CHECK(e.layers.size() == 8);
}

TEST_CASE("DeepSeek-V4: windows of K only, compressed keys, an index beside the sparse ones") {
  const char* const config =
      R"({"model_type": "deepseek_v4", "num_hidden_layers": 3, "num_attention_heads": 64, "num_key_value_heads": 1, "head_dim": 512,
      "sliding_window": 128, "index_head_dim": 128, "compress_ratios": [0, 4, 128, 0], "dtype": "bfloat16"})";
  const auto e = evaluate(config, options(R"({"seq_len": 10})"));
  REQUIRE(e.layers.size() == 3);  // the fourth ratio is the MTP layer's
  const auto total = [&](std::size_t i) { return e.layers[i].k_bytes + e.layers[i].v_bytes + e.layers[i].other_bytes; };
  CHECK(total(0) == 10 * 2 * 1024);
  CHECK(total(1) == 10 * 1024 + (2 * 1024 + 2 * 4096 + 4 * 3072) + (2 * 256 + 2 * 1024 + 4 * 768));
  CHECK(total(2) == 10 * 1024 + 10 * 1024 * 2);
  CHECK(evaluate(config, options(R"({"cache": "static", "max_cache_len": 32})")).refusal ==
        "model type deepseek_v4 has no static cache");
  // more takes less: 127 waiting rows are compressed to one
  const auto last = evaluate(config, options(R"({"seq_len": 127})")).layers[2].other_bytes;
  const auto next = evaluate(config, options(R"({"seq_len": 128})")).layers[2].other_bytes;
  CHECK(last == 127 * 2048);
  CHECK(next == 1024);
}

// ---- versions
// ------------------------------------------------------------------------------------------------------------

TEST_CASE("DeepSeek-V3: every head until 5.14, one latent from 5.15 on") {
  const char* const config =
      R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "torch_dtype": "bfloat16"})";
  const auto per_token = [&](const char* version) {
    json o = options(R"({"seq_len": 1})");
    if (version != nullptr) o["version"] = version;
    return bytes_of(config, o);
  };
  CHECK(per_token(nullptr) == 70'272);
  CHECK(per_token("5.24.0") == 70'272);
  CHECK(per_token("5.15.0") == 70'272);
  CHECK(per_token("5.14.9") == 4'997'120);
  CHECK(per_token("4.57.6") == 4'997'120);
  CHECK(evaluate(config).attention == "MLA");
}

TEST_CASE("a version outside the known range is answered by the nearest, with a note") {
  const auto at = [&](const char* version) {
    return evaluate(R"({"model_type": "llama", "dtype": "float16"})", json{{"version", version}});
  };
  CHECK(at("5.24.0").notes.empty() == at("4.57.6").notes.empty());
  for (const auto& [asked, answered] : {std::pair{"4.30", "4.57.6"}, std::pair{"3", "4.57.6"},
                                        std::pair{"5.24.1", "5.24.0"}, std::pair{"9999.0", "5.24.0"}}) {
    CAPTURE(asked);
    const auto e = at(asked);
    CHECK(e.version == answered);
    REQUIRE(!e.notes.empty());
    CHECK(e.notes[0] == std::string("transformers ") + asked +
                            " is outside the known versions 4.57.6 to 5.24.0; answered as " + answered);
  }
  CHECK(at("5.3.0.dev0").version == "5.3.0");
  CHECK(at("5.10rc1").version == "5.10.0");
  for (const char* text : {"", "newest", "v5.24", ".5", "-5"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(at(text), usage_error);
  }
}

TEST_CASE("versions are ordered number by number") {
  using detail::config::engine_version;
  STATIC_REQUIRE(engine_version{5, 4, 0} < engine_version{5, 14, 0});
  STATIC_REQUIRE(engine_version{4, 57, 6} < engine_version{5, 0, 0});
  CHECK(engine_version::parse("5.4") == engine_version{5, 4, 0});
  CHECK(engine_version::parse("12.34.56.78").text() == "12.34.56");
  CHECK(engine_version::parse("5..4") == engine_version{5, 0, 0});
  CHECK(engine_version::parse("99999.1") == engine_version{9999, 0, 0});
}

// ---- caches
// ---------------------------------------------------------------------------------------------------------------

TEST_CASE("quantized caches, as measured") {
  const char* const config =
      R"({"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
                                 "hidden_size": 512, "dtype": "bfloat16"})";
  const auto quantized = [&](const char* text) {
    json o = options(text);
    o["cache"] = "quantized";
    return bytes_of(config, o);
  };
  CHECK(quantized(R"({"seq_len": 64})") == 27'648);  // quanto, 4 bits, groups of 64
  CHECK(quantized(R"({"seq_len": 64, "axis_key": -1, "axis_value": -1})") == 27'648);
  CHECK(quantized(R"({"seq_len": 256, "decode_steps": 40, "residual_length": 16})") == 136'704);
  CHECK(quantized(R"({"seq_len": 64, "backend": "hqq", "nbits": 3, "axis_key": 1, "axis_value": 1})") == 23'040);
  CHECK(quantized(R"({"seq_len": 300, "backend": "HQQ", "nbits": 8, "q_group_size": 32})") == 259'200);
  CHECK(quantized(R"({"seq_len": 64, "decode_steps": 5, "backend": "fp8"})") == 53'016);
  CHECK(
      evaluate(R"({"model_type": "gemma2", "dtype": "bfloat16"})", options(R"({"cache": "quantized", "seq_len": 64})"))
          .refusal == "a quantized cache wants full attention in every layer");
}

TEST_CASE("a static cache refuses a request that is longer") {
  const char* const config =
      R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "dtype": "float16"})";
  CHECK(bytes_of(config, options(R"({"cache": "static", "max_cache_len": 32, "seq_len": 30, "decode_steps": 2})")) ==
        32 * 256);
  const auto e =
      evaluate(config, options(R"({"cache": "static", "max_cache_len": 32, "seq_len": 30, "decode_steps": 3})"));
  CHECK(e.refusal == "the request is longer than max_cache_len 32");
  CHECK(e.figures()["error"] == e.refusal);
}

TEST_CASE("a static cache inverts to its own length, a dynamic one to what fits") {
  const char* const config =
      R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "dtype": "float16"})";
  const auto longest = [&](const engine_answer& e, std::uint64_t budget) {
    return largest_that_fits([&](std::uint64_t n) {
      workload w;
      w.generated = n;
      return e.devices.front().peak_bytes(w).fits(budget);
    });
  };
  CHECK(longest(evaluate(config, options(R"({"cache": "static", "max_cache_len": 32})")), 1'000'000) ==
        limit{32, false, false});
  CHECK(longest(evaluate(config), 25'700) == limit{100, false, false});
}

TEST_CASE(
    "the element type: the option, else the file's dtype, else its torch_dtype; the weights' quantization never") {
  const auto total = [&](const std::string& fields, const char* o) {
    return bytes_of(
        R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4)" + fields + "}",
        options(o));
  };
  CHECK(total(R"(, "dtype": "float32")", R"({"seq_len": 1})") == 512);
  CHECK(total(R"(, "torch_dtype": "float16")", R"({"seq_len": 1})") == 256);
  CHECK(total(R"(, "dtype": "float32", "torch_dtype": "float16")", R"({"seq_len": 1})") == 512);
  CHECK(total(R"(, "dtype": "float32")", R"({"seq_len": 1, "dtype": "bfloat16"})") == 256);
  CHECK(total(R"(, "dtype": "auto", "torch_dtype": "float32")", R"({"seq_len": 1, "dtype": "auto"})") == 512);
  CHECK(
      total(
          R"(, "dtype": null, "torch_dtype": "torch.bfloat16", "quantization_config": {"quant_method": "fp8", "bits": 4})",
          R"({"seq_len": 1})") == 256);
  CHECK_THROWS_AS(total("", R"({"seq_len": 1})"), config_error);
  const char* const both =
      R"({"model_type": "llava", "torch_dtype": "float32", "text_config": {"model_type": "llama", "num_hidden_layers": 1,
                               "hidden_size": 64, "num_attention_heads": 4, "dtype": "float16"}})";
  CHECK(bytes_of(both, options(R"({"seq_len": 1})")) == 512);  // since 5.0 the root's
  CHECK(bytes_of(both, options(R"({"seq_len": 1, "version": "4.57.6"})")) == 256);
}

TEST_CASE("a published file with bare Infinity, a byte order mark and repeated keys") {
  CHECK(bytes_of("\xef\xbb\xbf{\"model_type\": \"gpt2\", \"num_hidden_layers\": 99, \"limit\": [0.0, Infinity], "
                 "\"nan\": NaN, \"model_type\": \"llama\","
                 "\"num_hidden_layers\": 1, \"hidden_size\": 64, \"num_attention_heads\": 4, \"dtype\": \"float16\"}",
                 options(R"({"seq_len": 3})")) == 768);
}

TEST_CASE("a quantization_config of 200,000 names changes nothing") {
  std::string names;
  for (int i = 0; i < 200'000; ++i) {
    names.append(i == 0 ? "\"model.layers." : ",\"model.layers.").append(std::to_string(i)).append(".mlp.gate_proj\"");
  }
  CHECK(
      bytes_of(
          R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "dtype": "float16",
                     "quantization_config": {"modules_to_not_convert": [)" +
              names + "]}}",
          options(R"({"seq_len": 3})")) == 768);
}

TEST_CASE("batches and lengths beyond any machine are sums, not loops") {
  const char* const config =
      R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 1, "num_attention_heads": 1, "dtype": "float16"})";
  CHECK(bytes_of(config, options(R"({"seq_len": 1, "batch": 1000000000000000000})")) == 4'000'000'000'000'000'000);
  CHECK(bytes_of(config, options(R"({"seq_len": 1, "batch": 0})")) == 0);
  CHECK_THROWS_AS(bytes_of(config, options(R"({"seq_len": 4611686018427387904, "batch": 2})")), size_error);
  CHECK_THROWS_AS(bytes_of(config, options(R"({"seq_len": 4611686018427387905})")), usage_error);
}

TEST_CASE("options may be written by a program as signed numbers") {
  CHECK(
      bytes_of(
          R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "dtype": "float16"})",
          json{{"seq_len", 3}, {"batch", 2}}) == 1536);
}
