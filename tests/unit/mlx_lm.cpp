// mlx-lm: whole models, refusals, options, notes, the common question, and the curve for the inverses.
#include "evaluating.hpp"

#include <kvbudget/engines/engines.hpp>
#include <kvbudget/engines/mlx_lm/evaluate.hpp>

using namespace kvbudget;
using detail::config::json;
using testing::asked;
using testing::error_of;

namespace {

constexpr const char* llama = R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"})";
constexpr const char* qwen3 = R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 2,
  "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "torch_dtype": "bfloat16"})";
constexpr const char* gpt_oss = R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 4,
  "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128, "dtype": "bfloat16"})";
constexpr const char* deepseek = R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 2,
  "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "torch_dtype": "bfloat16"})";
constexpr const char* lfm2 = R"({"model_type": "lfm2", "hidden_size": 256, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "conv_L_cache": 3, "layer_types": ["conv", "full_attention"],
  "dtype": "float16"})";

engine_answer answer(std::string_view text, const engine_question& question) {
  return detail::mlx_lm::evaluate(testing::parse(text), question);
}
engine_answer answer(std::string_view text, const json& options) { return answer(text, asked(options)); }
bool notes_say(const engine_answer& e, std::string_view words) {
  return std::any_of(e.notes.begin(), e.notes.end(), [&](const std::string& n) { return n.find(words) != n.npos; });
}
json asking(std::uint64_t prompt, std::uint64_t max_tokens, json more = json::object()) {
  more["prompt_tokens"] = prompt;
  more["max_tokens"] = max_tokens;
  return more;
}

}  // namespace

TEST_CASE("mlx-lm: it is registered under both names") {
  CHECK(&find_engine("mlx-lm") == &find_engine("mlx"));
  CHECK(find_engine("mlx").name == "mlx-lm");
}

TEST_CASE("mlx-lm: rows come in steps of 256") {
  CHECK(answer(llama, asking(1, 1)).total_bytes == 33554432);
  CHECK(answer(llama, asking(256, 0)).total_bytes == 33554432);
  CHECK(answer(llama, asking(256, 1)).total_bytes == 2 * 33554432);
  const engine_answer e = answer(llama, asking(4097, 2, {{"prefill_step_size", 1000}, {"batch", 3}}));
  CHECK(e.total_bytes == 3 * 32 * 8 * std::uint64_t{4256} * 256 * 2);
  CHECK(e.figures()["tokens_yielded"] == 2);
  CHECK(e.model_layers == 32);
  CHECK(e.attention == "GQA");
  CHECK(e.layers.size() == 32);
  CHECK(e.layers[31].kind == "full_attention");
  CHECK_FALSE(e.bytes_per_token.has_value());
  CHECK(notes_say(e, "256 positions"));
}

TEST_CASE("mlx-lm: a window is cut by the first single position, and is larger before") {
  const engine_answer e = answer(gpt_oss, asking(1000, 3));
  const std::uint64_t row = 8 * 64 * 2 * 2;
  CHECK(e.total_bytes == 2 * row * (128 + 1024));
  CHECK(e.devices.at(0).peak == 2 * row * (999 + 1024));
  CHECK(e.layers[0].kind == "sliding_attention");
  CHECK(e.layers[1].kind == "full_attention");
  CHECK(e.figures()["layer_groups"][0]["cache_class"] == "RotatingKVCache");
}

TEST_CASE("mlx-lm: max_kv_size is for models without a cache of their own") {
  CHECK(answer(qwen3, asking(1000, 3, {{"max_kv_size", 512}})).total_bytes == 2 * 512 * 8 * 256 * 2);
  const engine_answer ignored = answer(llama, asking(1000, 3, {{"max_kv_size", 512}}));
  CHECK(ignored.total_bytes == answer(llama, asking(1000, 3)).total_bytes);
  CHECK(notes_say(ignored, "max_kv_size changes nothing"));
}

TEST_CASE("mlx-lm: kv_bits quantizes from quantized_kv_start on") {
  const json start_0 = {{"kv_bits", 4}, {"quantized_kv_start", 0}};
  CHECK(answer(qwen3, asking(1000, 2, start_0)).total_bytes == 2 * 1024 * 8 * 2 * (64 + 8));
  CHECK(answer(qwen3, asking(1000, 2, {{"kv_bits", 4}})).total_bytes == answer(qwen3, asking(1000, 2)).total_bytes);
  // Positions written: the prompt and max_tokens.
  const auto from = [&](std::uint64_t start) {
    return answer(qwen3, asking(1000, 2, {{"kv_bits", 4}, {"quantized_kv_start", start}})).figures();
  };
  CHECK(from(1002)["layer_groups"][0]["cache_class"] == "QuantizedKVCache");
  CHECK(from(1003)["layer_groups"][0]["cache_class"] == "KVCache");
  // The prefill is there unquantized before.
  const engine_answer e = answer(qwen3, asking(1000, 2, start_0));
  CHECK(e.devices.at(0).peak == 2 * 1024 * 8 * std::uint64_t{256} * 2);
  // A convolution's state stays as it is.
  CHECK(answer(lfm2, asking(10, 1, {{"kv_bits", 8}, {"quantized_kv_start", 0}})).layers[0].other_bytes == 2 * 256 * 2);
}

TEST_CASE("mlx-lm: what generate_step fails with is a refusal") {
  const json start_0 = {{"kv_bits", 8}, {"quantized_kv_start", 0}};
  const auto refusal = [](std::string_view text, const json& options) { return answer(text, options).refusal; };
  CHECK(refusal(gpt_oss, asking(1000, 2, start_0)).find("RotatingKVCache") != std::string::npos);
  CHECK(refusal(gpt_oss, asking(1000, 2, {{"kv_bits", 8}})).empty());
  CHECK(refusal(qwen3, asking(1000, 2, {{"kv_bits", 8}, {"quantized_kv_start", 0}, {"max_kv_size", 64}}))
            .find("Rotating") != std::string::npos);
  CHECK(refusal(deepseek, asking(1000, 2, start_0)).find("cannot read a quantized cache") != std::string::npos);
  // Quantized after the last forward, it is not read any more.
  CHECK(refusal(deepseek, asking(1000, 2, {{"kv_bits", 8}, {"quantized_kv_start", 1002}})).empty());
  CHECK(refusal(deepseek, asking(1000, 2, {{"kv_bits", 8}, {"quantized_kv_start", 1001}})).find("read") !=
        std::string::npos);
  CHECK(refusal(deepseek, asking(1000, 2, {{"kv_bits", 8}, {"quantized_kv_start", 0}, {"kv_group_size", 128}}))
            .find("groups of 128") != std::string::npos);
  CHECK(refusal(llama, asking(0, 5)).find("at least one token") != std::string::npos);
  CHECK(answer(llama, asking(0, 5)).figures().contains("error"));
  CHECK(refusal(llama, json::object()).empty());
}

TEST_CASE("mlx-lm: options are checked, and none is silent") {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, json>>{{"kv_bits", 7},
                                                                                       {"kv_bits", 1},
                                                                                       {"kv_group_size", 48},
                                                                                       {"max_kv_size", 4},
                                                                                       {"prefill_step_size", 0},
                                                                                       {"dtype", "q8_0"},
                                                                                       {"dtype", "fp8_e4m3"},
                                                                                       {"no_such", 1}}) {
    CAPTURE(name);
    CHECK_THROWS_AS(answer(llama, json{{name, value}}), usage_error);
  }
  const json plain = asking(1000, 30);
  const auto shown = [](const engine_answer& e) {
    json all = {{"figures", e.figures()}, {"notes", e.notes}, {"peak", e.devices.empty() ? 0 : e.devices[0].peak}};
    return all;
  };
  const json before = shown(answer(llama, plain));
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, json>>{{"version", "0.31.0"},
                                                                                       {"dtype", "float32"},
                                                                                       {"prompt_tokens", 3000},
                                                                                       {"max_tokens", 300},
                                                                                       {"batch", 2},
                                                                                       {"prefill_step_size", 700},
                                                                                       {"max_kv_size", 512},
                                                                                       {"kv_group_size", 32},
                                                                                       {"quantized_kv_start", 3}}) {
    CAPTURE(name);
    json changed = plain;
    changed[name] = value;
    CHECK(shown(answer(llama, changed)) != before);
  }
  json late = plain;
  late["kv_bits"] = 4;
  CHECK(notes_say(answer(llama, late), "kv_bits changes nothing"));
  late["quantized_kv_start"] = 0;
  CHECK(shown(answer(llama, late)) != before);
}

TEST_CASE("mlx-lm: the common question") {
  engine_question q;
  q.work = workload{1000, 8, 2, {}};
  q.types = {f32, f32, {}};
  const engine_answer e = answer(llama, q);
  CHECK(e.total_bytes == 2 * 32 * std::uint64_t{1024} * 8 * 256 * 4);
  CHECK(e.types.k == f32);
  CHECK(e.settings()["prompt_tokens"] == 1000);
  q.options = asked(json{{"max_tokens", 9}}).options;
  CHECK_THROWS_AS(answer(llama, q), usage_error);
  q.options.clear();
  q.types = {f32, bf16, {}};
  CHECK_THROWS_AS(answer(llama, q), usage_error);
  q.types = {};
  q.work->lengths = {1000, 10};
  CHECK(answer(llama, q).total_bytes == 2 * 32 * std::uint64_t{1024} * 8 * 256 * 2);
  for (const auto& where :
       {placement{.tensor_parallel = 2}, placement{.pipeline_parallel = 2}, placement{.context_parallel = 2},
        placement{.data_parallel = 2}, placement{.host_layers = 1}}) {
    q.where = where;
    CHECK_THROWS_AS(answer(llama, q), usage_error);
  }
}

TEST_CASE("mlx-lm: model types, fields and defaults") {
  const auto unknown = error_of<config_error>([] { (void)answer(R"({"model_type": "t5"})", json::object()); });
  CHECK(unknown.pointer() == "/model_type");
  const auto missing = error_of<config_error>(
      [] { (void)answer(R"({"model_type": "lfm2", "hidden_size": 8, "dtype": "float16"})", json::object()); });
  CHECK(missing.pointer() == "/layer_types");
  // mistral is the module llama, whose num_key_value_heads is num_attention_heads where the file has none.
  const char* const mistral = R"({"model_type": "mistral", "hidden_size": 256, "num_hidden_layers": 1,
    "num_attention_heads": 4, "dtype": "float16"})";
  CHECK(answer(mistral, asking(1, 1)).total_bytes == 256 * 4 * 64 * 2 * 2);
  // gemma3_text.py has other defaults than transformers' class.
  const engine_answer gemma = answer(R"({"model_type": "gemma3_text", "dtype": "float16"})", asking(1, 1));
  CHECK(gemma.model_layers == 26);
  CHECK(testing::source_of(gemma, "num_hidden_layers") == "default of mlx_lm.models.gemma3_text");
}

TEST_CASE("mlx-lm: the curve for the inverses never falls") {
  const auto check = [](std::string_view text, const json& options) {
    const auto peak = answer(text, options).devices.at(0).peak_bytes;
    std::uint64_t last = 0;
    for (std::uint64_t n = 0; n < 3000; n += 13) {
      const std::uint64_t now = peak(workload{n, 5, 1, {}}).value();
      CHECK(now >= last);
      last = now;
    }
    for (std::uint64_t m = 0; m < 2000; m += 91)
      CHECK(peak(workload{700, m + 1, 1, {}}).value() >= peak(workload{700, m, 1, {}}).value());
    CHECK(peak(workload{700, 9, 3, {}}).value() == 3 * peak(workload{700, 9, 1, {}}).value());
    CHECK_FALSE(peak(workload{~std::uint64_t{0}, 9, 1, {}}).valid());
    CHECK(peak(workload{std::uint64_t{1} << 40U, std::uint64_t{1} << 40U, 1, {}}).valid());
  };
  check(llama, asking(1, 1));
  check(llama, asking(1, 1, {{"prefill_step_size", 1000}}));
  check(qwen3, asking(1, 1, {{"kv_bits", 4}, {"quantized_kv_start", 1000}, {"prefill_step_size", 512}}));
  check(gpt_oss, asking(1, 1, {{"prefill_step_size", 256}}));
  check(lfm2, asking(1, 1, {{"prefill_step_size", 3}}));
}
