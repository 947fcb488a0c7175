// llama.cpp's own cells, at compile time: Llama 3.1 8B with a q8_0 cache of 32,768 positions fits beside its weights.

#include <cstdio>

#include <kvbudget/engines/llama_cpp/rules.hpp>

using namespace kvbudget;
using namespace kvbudget::llama_cpp;

constexpr hparams model = [] {
  metadata m;  // what the GGUF header says
  m.architecture = find_architecture("llama");
  m.block_count = 32;
  m.context_length = 131'072;
  m.embedding_length = 4096;
  m.head_count = 32;
  m.head_count_kv = 8;
  return load_hparams(m);
}();

constexpr settings options = [] {
  settings s = command_line_settings();
  s.n_ctx = 32'768;
  s.type_k = s.type_v = q8_0;
  return s;
}();

constexpr bytes left_for_the_cache = 8_GiB - 4'920'734'272_B - 512_MiB;  // a card of 8 GiB, Q4_K_M weights, buffers
static_assert(plan(model, options).total_bytes <= left_for_the_cache.count(), "the cache no longer fits");

int main() {
  const context_plan p = plan(model, options);
  std::printf("n_ctx %llu: %llu B in %llu cells\n", static_cast<unsigned long long>(p.n_ctx),
              static_cast<unsigned long long>(p.total_bytes), static_cast<unsigned long long>(p.caches[0].cells));
  std::printf("largest n_ctx that fits: %llu\n",
              static_cast<unsigned long long>(max_n_ctx(model, options, left_for_the_cache).value));
}
