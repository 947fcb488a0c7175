// vLLM in constant expressions: a model that is known at compile time is planned at compile time.
#include <kvbudget/engines/vllm/rules.hpp>
#include <kvbudget/engines/vllm/block_pool.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::detail::vllm;

constexpr layer_class attention(std::uint32_t kv_heads, std::uint32_t head_size, std::uint32_t window = 0) {
  layer_class c;
  c.num_kv_heads = kv_heads;
  c.head_size = head_size;
  c.window = window;
  return c;
}

// Llama 3.1 8B
struct llama {
  layer_class classes[1] = {attention(8, 128)};
  layer_ref layers[32] = {};
  constexpr llama() {
    for (std::uint32_t i = 0; i < 32; ++i) layers[i].layer = i;
  }
};
constexpr llama llama_layers;
constexpr model llama_model = [] {
  model m;
  m.classes = llama_layers.classes;
  m.layers = llama_layers.layers;
  m.num_hidden_layers = m.num_attention_heads = 32;
  m.num_kv_heads = 8;
  m.head_size = 128;
  m.max_model_len = 131'072;
  return m;
}();
constexpr settings with_memory(std::uint64_t bytes) {
  settings s;
  s.available_memory = bytes;
  return s;
}

static_assert(plan(llama_model, with_memory(40 * gib)).stages[0].bytes_per_block == 32 * 16 * 4096);
static_assert(plan(llama_model, with_memory(40 * gib)).num_blocks == 20'480);
static_assert(plan(llama_model, with_memory(40 * gib)).blocks_per_request == 8192);
static_assert(plan(llama_model, with_memory(40 * gib)).tokens == 327'680);
// What a ledger counts: all blocks but the null block, and for the longest request as many as vLLM.
static_assert(block_pool(plan(llama_model, with_memory(40 * gib))).capacity == 20'479);
static_assert(kvbudget::detail::pool_rule(block_pool(plan(llama_model, with_memory(40 * gib)))).peak(131'072) ==
              checked_count(8192));
static_assert(plan(llama_model, with_memory(10 * gib)).reason == refusal::memory_too_small);
static_assert(plan(llama_model, with_memory(10 * gib)).estimated_max_model_len == 81'904);
static_assert([] {
  settings s = with_memory(10 * gib);
  s.auto_fit_max_model_len = true;
  return plan(llama_model, s).max_model_len;
}() == 81'904);
static_assert([] {
  settings s;
  s.tensor_parallel_size = 3;
  return plan(llama_model, s).reason;
}() == refusal::attention_heads_not_divisible);

// gpt-oss-20b: windows and full layers in turn.
struct gpt_oss {
  layer_class classes[2] = {attention(8, 64, 128), attention(8, 64)};
  layer_ref layers[24] = {};
  constexpr gpt_oss() {
    for (std::uint16_t i = 0; i < 24; ++i) layers[i] = layer_ref{static_cast<std::uint16_t>(i % 2), i, false};
  }
};
constexpr gpt_oss gpt_oss_layers;
constexpr model gpt_oss_model = [] {
  model m;
  m.classes = gpt_oss_layers.classes;
  m.layers = gpt_oss_layers.layers;
  m.num_hidden_layers = 24;
  m.num_attention_heads = 64;
  m.num_kv_heads = 8;
  m.head_size = 64;
  m.max_model_len = 131'072;
  return m;
}();
static_assert(plan(gpt_oss_model, {}).stages[0].bytes_per_block == 393'216);
static_assert(plan(gpt_oss_model, {}).blocks_per_request == 1033 + 8192);
static_assert(kvbudget::detail::pool_rule(block_pool(plan(gpt_oss_model, with_memory(40 * gib)))).peak(131'072) ==
              checked_count(1033 + 8192));
static_assert(plan(gpt_oss_model, {}).groups.size() == 2);
static_assert(plan(gpt_oss_model, {}).cache_hit_alignment == 16);

// Rules alone
static_assert(kernel_block_sizes::multiple_of(16).supports(784) && !kernel_block_sizes::exactly(64).supports(784));
static_assert(turboquant_slot_bytes(cache_dtype::turboquant_k3v4_nc, 128) == 48 + 2 + 64 + 4);
static_assert(element_bytes(cache_dtype::automatic, state_dtype::float32) == 4);
static_assert(element_bytes(cache_dtype::nvfp4, state_dtype::bfloat16) == 1);
static_assert(version{0, 24, 0} < version{});
static_assert(sizeof(refusal_texts) / sizeof(*refusal_texts) ==
              static_cast<std::size_t>(refusal::auto_fit_fits_nothing) + 1);
static_assert(sizeof(cache_dtype_names) / sizeof(*cache_dtype_names) ==
              static_cast<std::size_t>(cache_dtype::nvfp4_4over6) + 1);
static_assert(sizeof(attention_backend_names) / sizeof(*attention_backend_names) ==
              static_cast<std::size_t>(attention_backend::minimax_m3_sparse_indexer) + 1);
static_assert(sizeof(speculative_method_names) / sizeof(*speculative_method_names) ==
              static_cast<std::size_t>(speculative_method::dspark) + 1);

// The inverses
static_assert(most_concurrent_requests(plan(llama_model, with_memory(40 * gib)), detail::vllm::request{1000, 24})
                  .value() == 20'479 / 64);

}  // namespace
