// One plan of DeepSeek-V4, with four kinds of cache to a layer and packed groups, one of a uniform model, an inverse.
#include <benchmark/benchmark.h>

#include <vector>

#include <kvbudget/engines/vllm/rules.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::detail::vllm;

layer_class cache(layer_role role, std::uint32_t head_size, std::uint32_t ratio, std::uint32_t window) {
  layer_class c;
  c.role = role;
  c.head_size = head_size;
  c.compress_ratio = ratio;
  c.window = window;
  return c;
}

/// 61 layers, ratios 4 and 128 in turn after two without.
struct deepseek_v4 {
  std::vector<layer_class> classes = {
      cache(layer_role::deepseek_v4_indexer, 128, 4, 0),     cache(layer_role::deepseek_v4_compressor, 128, 4, 0),
      cache(layer_role::deepseek_v4_swa, 512, 1, 128),       cache(layer_role::deepseek_v4_mla, 512, 4, 0),
      cache(layer_role::deepseek_v4_compressor, 512, 4, 0),  cache(layer_role::deepseek_v4_mla, 512, 128, 0),
      cache(layer_role::deepseek_v4_compressor, 512, 128, 0)};
  std::vector<layer_ref> layers;
  detail::vllm::model model;

  deepseek_v4() {
    const auto add = [this](std::uint16_t c, std::uint32_t layer) { layers.push_back(layer_ref{c, layer, false}); };
    for (std::uint32_t i = 0; i < 61; ++i) {
      const bool four = i >= 2 && i % 2 == 0;
      if (four) add(0, i);
      if (four) add(1, i);
      add(2, i);
      if (i < 2) continue;
      add(four ? 3 : 5, i);
      add(four ? 4 : 6, i);
    }
    model.classes = classes;
    model.layers = layers;
    model.num_hidden_layers = 61;
    model.num_attention_heads = 128;
    model.num_kv_heads = 1;
    model.head_size = 512;
    model.use_mla = true;
    model.max_model_len = 1'048'576;
    model.dtype_rule = cache_dtype_rule::deepseek_v4;
  }
};

settings with_memory(std::uint64_t bytes) {
  settings s;
  s.available_memory = bytes;
  return s;
}

void plan_deepseek_v4(benchmark::State& state) {
  const deepseek_v4 v4;
  settings s = with_memory(40 * gib);
  for (auto _ : state) {
    benchmark::DoNotOptimize(s);
    benchmark::DoNotOptimize(plan(v4.model, s));
  }
}
BENCHMARK(plan_deepseek_v4);

void plan_deepseek_v4_that_does_not_fit(benchmark::State& state) {
  const deepseek_v4 v4;
  settings s = with_memory(4 * gib);
  for (auto _ : state) {
    benchmark::DoNotOptimize(s);
    benchmark::DoNotOptimize(plan(v4.model, s).estimated_max_model_len);
  }
}
BENCHMARK(plan_deepseek_v4_that_does_not_fit);

void plan_uniform(benchmark::State& state) {
  std::vector<layer_class> classes(1);
  classes[0].num_kv_heads = 8;
  classes[0].head_size = 128;
  std::vector<layer_ref> layers(126);
  for (std::uint32_t i = 0; i < layers.size(); ++i) layers[i].layer = i;
  model m;
  m.classes = classes;
  m.layers = layers;
  m.num_hidden_layers = 126;
  m.num_attention_heads = 128;
  m.num_kv_heads = 8;
  m.head_size = 128;
  m.max_model_len = 131'072;
  settings s = with_memory(70 * gib);
  for (auto _ : state) {
    benchmark::DoNotOptimize(s);
    benchmark::DoNotOptimize(plan(m, s));
  }
}
BENCHMARK(plan_uniform);

void largest_length_of_deepseek_v4(benchmark::State& state) {
  const deepseek_v4 v4;
  const settings s = with_memory(4 * gib);
  for (auto _ : state) benchmark::DoNotOptimize(largest_max_model_len(v4.model, s));
}
BENCHMARK(largest_length_of_deepseek_v4);

}  // namespace
