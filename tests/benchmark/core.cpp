// Formulas, ragged sums and reading a config, each beside the plainest way to get the same number. The counter `ratio`
// is ours / plain, both measured in turn in the same run, so that it says the same on a slow or a busy machine.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include <kvbudget/engines/transformers/evaluate.hpp>
#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;

using clock = std::chrono::steady_clock;

/// Runs both `repetitions` times per iteration; `each_ns` is one of ours.
template <class Ours, class Plain>
void compare(benchmark::State& state, int repetitions, const Ours& ours, const Plain& plain) {
  double ours_seconds = 0, plain_seconds = 0, calls = 0;
  const auto seconds = [&](const auto& body) {
    const auto start = clock::now();
    for (int i = 0; i < repetitions; ++i) body();
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  for (auto _ : state) {
    plain_seconds += seconds(plain);
    const double all = seconds(ours);
    state.SetIterationTime(all);
    ours_seconds += all;
    calls += repetitions;
  }
  state.counters["each_ns"] = ours_seconds / calls * 1e9;
  state.counters["ratio"] = ours_seconds / plain_seconds;
}

// ---- formulas
// ----------------------------------------------------------------------------------------------------------

constexpr full_attention full = grouped_query_attention(8, 128, bf16);
constexpr sliding_window_attention sliding = with_window(full, 1024_tokens);

void uniform_formula(benchmark::State& state) {
  const cache_formula cache{repeated{32U, full}, stored_positions{}};
  std::uint64_t length = 8192, sequences = 6;
  compare(
      state, 10'000,
      [&] {
        benchmark::DoNotOptimize(length);
        benchmark::DoNotOptimize(cache.bytes_of(uniform_batch{request(tokens(length), 0_tokens), sequences}));
      },
      [&] {
        benchmark::DoNotOptimize(length);
        benchmark::DoNotOptimize(std::uint64_t{32} * 2 * 8 * 128 * 2 * length * sequences);
      });
}
BENCHMARK(uniform_formula)->UseManualTime();

/// Plain arithmetic over each of 126 layers, every 6th of which is full.
std::uint64_t mixed_by_hand(std::uint64_t length, std::uint64_t sequences) {
  std::uint64_t sum = 0;
  for (int i = 0; i < 126; ++i) {
    const std::uint64_t positions = i % 6 == 5 ? length : length < 1024 ? length : 1024;
    benchmark::DoNotOptimize(sum += positions * sequences * 2 * 8 * 128 * 2);
  }
  return sum;
}

template <class Layers>
void compare_mixed(benchmark::State& state, const Layers& layers) {
  std::uint64_t length = 8192, sequences = 6;
  const auto ours = [&] {
    return total_bytes(layers, stored_positions{}, uniform_batch{request(tokens(length), 0_tokens), sequences});
  };
  if (ours() != bytes(mixed_by_hand(length, sequences))) state.SkipWithError("the sums differ");
  compare(
      state, 1'000,
      [&] {
        benchmark::DoNotOptimize(length);
        benchmark::DoNotOptimize(ours());
      },
      [&] {
        benchmark::DoNotOptimize(length);
        benchmark::DoNotOptimize(mixed_by_hand(length, sequences));
      });
}

void mixed_formula_126_layers_folded(benchmark::State& state) {
  compare_mixed(state, layer_list{repeated{21U, layer_list{repeated{5U, sliding}, full}}});
}
BENCHMARK(mixed_formula_126_layers_folded)->UseManualTime();

void mixed_formula_126_layers_array(benchmark::State& state) {
  std::array<std::variant<full_attention, sliding_window_attention>, 126> layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i % 6 == 5) layers[i] = full;
    else layers[i] = sliding;
  }
  compare_mixed(state, layers);
}
BENCHMARK(mixed_formula_126_layers_array)->UseManualTime();

void mixed_formula_126_layers_model(benchmark::State& state) {
  model m;
  for (std::int64_t i = 0; i < 126; ++i) {
    if (i % 6 == 5) m.add(i, {"full_attention", {full}});
    else m.add(i, {"sliding_attention", {sliding}});
  }
  compare_mixed(state, m);
}
BENCHMARK(mixed_formula_126_layers_model)->UseManualTime();

void longest_that_fits_126_layers(benchmark::State& state) {
  const cache_formula cache{layer_list{repeated{21U, layer_list{repeated{5U, sliding}, full}}}, paged{16_tokens}};
  std::uint64_t budget = std::uint64_t{24} * gib;
  for (auto _ : state) {
    benchmark::DoNotOptimize(budget);
    benchmark::DoNotOptimize(cache.max_length(bytes(budget), 8).value);
  }
}
BENCHMARK(longest_that_fits_126_layers);

// ---- a million sequences
// ---------------------------------------------------------------------------------------------------

template <class Length>
std::vector<Length> lengths() {
  std::vector<Length> result(1'000'000);
  std::uint64_t n = 1;
  for (Length& length : result) {
    n = n * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    length = static_cast<Length>(n >> 47U);  // below 131,072
  }
  return result;
}

template <class Length, class Layer>
void ragged_sum(benchmark::State& state, const Layer& layer) {
  std::vector<Length> array = lengths<Length>();
  compare(
      state, 1,
      [&] {
        benchmark::DoNotOptimize(array.data());
        benchmark::DoNotOptimize(total_bytes(repeated{32U, layer}, stored_positions{}, ragged_batch<Length>(array)));
      },
      [&] {
        benchmark::DoNotOptimize(array.data());
        benchmark::DoNotOptimize(std::accumulate(array.begin(), array.end(), std::uint64_t{0}));
      });
}
void ragged_sum_32_bits(benchmark::State& state) { ragged_sum<std::uint32_t>(state, full); }
void ragged_sum_64_bits(benchmark::State& state) { ragged_sum<std::uint64_t>(state, full); }
void ragged_sum_32_bits_sliding(benchmark::State& state) { ragged_sum<std::uint32_t>(state, sliding); }
void ragged_sum_64_bits_sliding(benchmark::State& state) { ragged_sum<std::uint64_t>(state, sliding); }
BENCHMARK(ragged_sum_32_bits)->UseManualTime();
BENCHMARK(ragged_sum_64_bits)->UseManualTime();
BENCHMARK(ragged_sum_32_bits_sliding)->UseManualTime();
BENCHMARK(ragged_sum_64_bits_sliding)->UseManualTime();

// ---- reading a config, beside parsing the same text with nlohmann::json
// -----------------------------------------------------

/// As long as the file of an 8B model.
std::string dense_config(const std::string& more = "") {
  return R"({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 128000,
  "eos_token_id": [
    128001,
    128008,
    128009
  ],
  "hidden_act": "silu",
  "hidden_size": 4096,
  "initializer_range": 0.02,
  "intermediate_size": 14336,
  "max_position_embeddings": 131072,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 8,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3"
  },
  "rope_theta": 500000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.42.3",
  "use_cache": true,
  "vocab_size": 128256)" +
         more + "\n}\n";
}

/// A wrapper whose text config lists the kind of each of 62 layers.
std::string mixed_config() {
  std::string types;
  for (int i = 0; i < 62; ++i)
    types += std::string(i == 0 ? "" : ",") + "\n      \"" + (i % 6 == 5 ? "full" : "sliding") + "_attention\"";
  return R"({
  "architectures": ["Gemma3ForConditionalGeneration"],
  "boi_token_index": 255999,
  "eoi_token_index": 256000,
  "eos_token_id": [1, 106],
  "image_token_index": 262144,
  "initializer_range": 0.02,
  "mm_tokens_per_image": 256,
  "model_type": "gemma3",
  "text_config": {
    "attention_bias": false,
    "head_dim": 128,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 5376,
    "intermediate_size": 21504,
    "layer_types": [)" +
         types + R"(
    ],
    "max_position_embeddings": 131072,
    "model_type": "gemma3_text",
    "num_attention_heads": 32,
    "num_hidden_layers": 62,
    "num_key_value_heads": 16,
    "query_pre_attn_scalar": 168,
    "rms_norm_eps": 1e-06,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "rope_theta": 1000000.0,
    "sliding_window": 1024,
    "vocab_size": 262208
  },
  "torch_dtype": "bfloat16",
  "transformers_version": "4.50.0.dev0",
  "vision_config": {
    "hidden_size": 1152,
    "image_size": 896,
    "intermediate_size": 4304,
    "model_type": "siglip_vision_model",
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "patch_size": 14,
    "vision_use_head": false
  }
})";
}

std::string names_of_200_000_modules() {
  std::string names = ",\n  \"quantization_config\": {\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\n";
  for (int i = 0; i < 200'000; ++i) {
    names += std::string(i == 0 ? "" : ",\n") + "\"model.layers." + std::to_string(i / 100) + ".mlp.experts." +
             std::to_string(i % 100) + ".gate\"";
  }
  return names + "]}";
}

void read_config(benchmark::State& state, const std::string& text, int repetitions) {
  detail::transformers::read_options options;
  options.k_type = options.v_type = options.model_type = bf16;
  compare(
      state, repetitions,
      [&] {
        const detail::config::document d = detail::config::parse_document(text, "config.json");
        benchmark::DoNotOptimize(detail::transformers::read_model(d, options).layers.kinds().size());
      },
      [&] { benchmark::DoNotOptimize(nlohmann::json::parse(text).size()); });
}
void read_dense_config(benchmark::State& state) { read_config(state, dense_config(), 100); }
void read_mixed_config(benchmark::State& state) { read_config(state, mixed_config(), 100); }
void read_config_of_200_000_names(benchmark::State& state) {
  read_config(state, dense_config(names_of_200_000_modules()), 1);
}
void read_config_with_infinity(benchmark::State& state) {
  // The parser alone does not take the word, so it is given a number of the same length.
  const std::string text = dense_config(",\n  \"time_step_limit\": [0.0, Infinity]");
  std::string plain = text;
  plain.replace(plain.find("Infinity"), 8, "12345678");
  detail::transformers::read_options options;
  options.k_type = options.v_type = options.model_type = bf16;
  compare(
      state, 100,
      [&] {
        const detail::config::document d = detail::config::parse_document(text, "config.json");
        benchmark::DoNotOptimize(detail::transformers::read_model(d, options).layers.kinds().size());
      },
      [&] { benchmark::DoNotOptimize(nlohmann::json::parse(plain).size()); });
}
BENCHMARK(read_dense_config)->UseManualTime();
BENCHMARK(read_mixed_config)->UseManualTime();
BENCHMARK(read_config_with_infinity)->UseManualTime();
BENCHMARK(read_config_of_200_000_names)->UseManualTime();

}  // namespace
