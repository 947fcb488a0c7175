// One plan of a model of 61 layers, and the inverse.
#include <benchmark/benchmark.h>

#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::detail::llama_cpp;

hparams deepseek_v32() {
  metadata m;
  m.architecture = find_architecture("deepseek32");
  m.block_count = 62;
  m.nextn_predict_layers = 1;
  m.context_length = 163'840;
  m.embedding_length = 7168;
  m.head_count = 128;
  m.head_count_kv = 1;
  m.key_length = 576;
  m.value_length = m.kv_lora_rank = 512;
  m.key_length_mla = 192;
  m.value_length_mla = 128;
  m.indexer_key_length = 128;
  return load_hparams(m);
}

hparams dense() {
  metadata m;
  m.architecture = find_architecture("llama");
  m.block_count = 61;
  m.embedding_length = 7168;
  m.head_count = 64;
  m.head_count_kv = 8;
  return load_hparams(m);
}

void plan_dense(benchmark::State& state) {
  const hparams h = dense();
  settings s;
  s.n_ctx = 32'768;
  for (auto _ : state) {
    benchmark::DoNotOptimize(s.n_ctx);
    benchmark::DoNotOptimize(plan(h, s).total_bytes);
  }
}
BENCHMARK(plan_dense);

void plan_mla_and_indexer(benchmark::State& state) {
  const hparams h = deepseek_v32();
  settings s;
  s.n_ctx = 32'768;
  for (auto _ : state) {
    benchmark::DoNotOptimize(s.n_ctx);
    benchmark::DoNotOptimize(plan(h, s).total_bytes);
  }
}
BENCHMARK(plan_mla_and_indexer);

void plan_on_four_devices(benchmark::State& state) {
  const hparams h = dense();
  settings s;
  s.n_ctx = 32'768;
  s.devices = 4;
  for (auto _ : state) {
    benchmark::DoNotOptimize(s.n_ctx);
    benchmark::DoNotOptimize(plan(h, s).total_bytes);
  }
}
BENCHMARK(plan_on_four_devices);

void largest_n_ctx(benchmark::State& state) {
  const hparams h = dense();
  const settings s;
  bytes budget(std::uint64_t{24} * gib);
  for (auto _ : state) {
    benchmark::DoNotOptimize(budget);
    benchmark::DoNotOptimize(max_n_ctx(h, s, budget).value);
  }
}
BENCHMARK(largest_n_ctx);

}  // namespace
