// llama.cpp in constant expressions: a model that is known at compile time is planned at compile time.
#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::literals;
using namespace kvbudget::detail::llama_cpp;

// Llama 3.1 8B
constexpr hparams llama = [] {
  metadata m;
  m.architecture = find_architecture("llama");
  m.block_count = 32;
  m.context_length = 131'072;
  m.embedding_length = 4096;
  m.head_count = 32;
  m.head_count_kv = 8;
  return load_hparams(m);
}();

constexpr settings with(std::uint32_t n_ctx, storage_type type) {
  settings s = command_line_settings();
  s.n_ctx = n_ctx;
  s.type_k = s.type_v = type;
  return s;
}

// The presets
static_assert(settings().n_ctx == 512 && settings().swa_full && settings().n_seq_max == 1);
static_assert(command_line_settings().n_ctx == 0 && !command_line_settings().swa_full);
static_assert(server_settings().n_seq_max == 4 && server_settings().kv_unified);

// 32 layers x 2 x 8 x 128 elements; q8_0 takes 34 bytes for 32 elements
static_assert(plan(llama, with(32'768, f16)).total_bytes == (4_GiB).count());
static_assert(plan(llama, with(32'768, q8_0)).total_bytes == 2'281'701'376);
static_assert(plan(llama, with(32'768, q8_0)).total_bytes <= (8_GiB).count());
static_assert(plan(llama, with(0, f16)).n_ctx == 131'072);
static_assert(plan(llama, with(1000, f16)).n_ctx == 1024 && plan(llama, with(1000, f16)).n_batch == 1000);

// The inverse, with rounding to 256 cells
static_assert(max_n_ctx(llama, with(0, f16), 4_GiB).value == 32'768);
static_assert(max_n_ctx(llama, with(0, f16), bytes((4_GiB).count() - 1)).value == 32'512);
static_assert(max_n_ctx(llama, with(0, f16), 1_MiB).none);

// Gemma 3: five of six layers keep a window
constexpr hparams gemma = [] {
  metadata m;
  m.architecture = find_architecture("gemma3");
  m.block_count = 26;
  m.context_length = 32'768;
  m.embedding_length = 1152;
  m.head_count = 4;
  m.head_count_kv = 1;
  m.key_length = m.value_length = 256;
  m.sliding_window = 512;
  return load_hparams(m);
}();
constexpr context_plan gemma_plan = plan(gemma, with(32'768, f16));
static_assert(gemma_plan.caches.size() == 2);
static_assert(gemma_plan.caches[0].layers == 4 && gemma_plan.caches[0].cells == 32'768);
static_assert(gemma_plan.caches[1].layers == 22 && gemma_plan.caches[1].cells == 1024);
static_assert(size_of_pools(gemma_plan.pools).count() == gemma_plan.total_bytes);

// Refusals are values
static_assert(plan(llama, with(512, q8_0)).refused.reason == refusal_reason::none);
static_assert([] {
  settings s = with(512, q8_0);
  s.flash_attn = flash_attention::off;
  return plan(llama, s).refused.reason;
}() == refusal_reason::quantized_v_needs_flash_attn);

static_assert(find_architecture("gpt-oss") != nullptr && find_architecture("no such") == nullptr);

}  // namespace
