// vLLM: every rule alone with exact numbers, whole models, refusals, options, inverses against a plain search.
#include "support/asking.hpp"
#include "support/catch.hpp"

#include <kvbudget/engines/vllm/evaluate.hpp>

using namespace kvbudget;
using detail::config::json;
using namespace kvbudget::detail::vllm;

namespace {

kv_cache_spec full(std::uint64_t block_size, std::uint64_t heads, std::uint64_t head_size) {
  kv_cache_spec s;
  s.block_size = block_size;
  s.num_heads = s.num_kv_heads = heads;
  s.head_size = s.head_size_v = head_size;
  s.cell_bytes = 2 * head_size * 2;
  s.dcp_sharded = true;
  return s;
}
kv_cache_spec sliding(std::uint64_t block_size, std::uint64_t heads, std::uint64_t head_size, std::uint64_t window) {
  kv_cache_spec s = full(block_size, heads, head_size);
  s.kind = spec_kind::sliding_window;
  s.sliding_window = window;
  return s;
}
kv_cache_spec latent(std::uint64_t block_size, std::uint64_t cell_bytes) {
  kv_cache_spec s = full(block_size, 1, 0);
  s.kind = spec_kind::mla_attention;
  s.cell_bytes = cell_bytes;
  return s;
}
kv_cache_spec state(std::uint64_t bytes, std::uint64_t padded = 0) {
  kv_cache_spec s;
  s.kind = spec_kind::mamba;
  s.state_bytes = bytes;
  s.page_size_padded = padded;
  return s;
}
layer_set layers(const kv_cache_spec& spec, std::uint32_t n) {
  layer_set set;
  set.spec = spec;
  set.num_layers = set.per_stage[0] = n;
  return set;
}
layer_sets sets(std::initializer_list<layer_set> list) {
  layer_sets result;
  for (const layer_set& set : list) result.push_back(set);
  return result;
}
/// Layers of every group, in order.
std::vector<std::uint64_t> sizes(const kv_cache_groups& groups) {
  std::vector<std::uint64_t> result;
  for (const group_family& f : groups.families) {
    for (std::uint32_t j = 0; j < f.count; ++j) result.push_back(shape_of_group(groups, f, j).num_layers);
  }
  return result;
}
using list = std::vector<std::uint64_t>;

detail::config::document document(const json& config) { return {config, "config.json"}; }
engine_answer run(const json& config, const json& options) {
  return evaluate(document(config), nullptr, testing::asked(options));
}
json figures(const json& config, const json& options) { return run(config, options).figures(); }

template <class Error>
json error_of(const json& config, const json& options) {
  try {
    (void)run(config, options);
  } catch (const Error& e) {
    return {{"pointer", e.pointer()}, {"value", e.value()}, {"problem", e.problem()}, {"expected", e.expected()}};
  }
  return nullptr;
}

json llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"num_hidden_layers", 32},
          {"hidden_size", 4096},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"max_position_embeddings", 131072},
          {"dtype", "bfloat16"}};
}
json gpt_oss_20b() {
  return {{"architectures", {"GptOssForCausalLM"}},
          {"model_type", "gpt_oss"},
          {"num_hidden_layers", 24},
          {"hidden_size", 2880},
          {"num_attention_heads", 64},
          {"num_key_value_heads", 8},
          {"head_dim", 64},
          {"sliding_window", 128},
          {"max_position_embeddings", 131072},
          {"dtype", "bfloat16"}};
}
json qwen35_27b() {
  json types = json::array();
  for (int i = 0; i < 64; ++i) types.push_back((i + 1) % 4 == 0 ? "full_attention" : "linear_attention");
  return {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
          {"model_type", "qwen3_5"},
          {"dtype", "bfloat16"},
          {"text_config",
           {{"model_type", "qwen3_5_text"},
            {"num_hidden_layers", 64},
            {"hidden_size", 5120},
            {"num_attention_heads", 24},
            {"num_key_value_heads", 4},
            {"head_dim", 256},
            {"layer_types", types},
            {"linear_key_head_dim", 128},
            {"linear_value_head_dim", 128},
            {"linear_num_key_heads", 16},
            {"linear_num_value_heads", 48},
            {"linear_conv_kernel_dim", 4},
            {"mamba_ssm_dtype", "float32"},
            {"mtp_num_hidden_layers", 1},
            {"max_position_embeddings", 262144}}}};
}
json deepseek_v4_flash() {
  json ratios = {0, 0};
  for (int i = 0; i < 20; ++i) {
    ratios.push_back(4);
    ratios.push_back(128);
  }
  ratios.push_back(4);
  ratios.push_back(0);  // one entry more than layers, for the draft
  return {{"architectures", {"DeepseekV4ForCausalLM"}},
          {"model_type", "deepseek_v4"},
          {"num_hidden_layers", 43},
          {"hidden_size", 4096},
          {"num_attention_heads", 64},
          {"num_key_value_heads", 1},
          {"head_dim", 512},
          {"qk_rope_head_dim", 64},
          {"index_head_dim", 128},
          {"index_topk", 512},
          {"sliding_window", 128},
          {"compress_ratios", ratios},
          {"num_nextn_predict_layers", 1},
          {"max_position_embeddings", 1048576},
          {"dtype", "bfloat16"},
          {"quantization_config", {{"quant_method", "fp8"}}}};
}
json gemma4_26b() {
  json types = json::array();
  for (int i = 0; i < 30; ++i) types.push_back((i + 1) % 6 == 0 ? "full_attention" : "sliding_attention");
  return {{"architectures", {"Gemma4ForConditionalGeneration"}},
          {"model_type", "gemma4"},
          {"text_config",
           {{"model_type", "gemma4_text"},
            {"num_hidden_layers", 30},
            {"hidden_size", 2816},
            {"num_attention_heads", 16},
            {"num_key_value_heads", 8},
            {"head_dim", 256},
            {"global_head_dim", 512},
            {"num_global_key_value_heads", 2},
            {"attention_k_eq_v", true},
            {"num_kv_shared_layers", 0},
            {"sliding_window", 1024},
            {"layer_types", types},
            {"max_position_embeddings", 262144},
            {"use_bidirectional_attention", "vision"},
            {"dtype", "bfloat16"}}}};
}
constexpr std::uint64_t forty_gib = 40 * gib;

}  // namespace

TEST_CASE("vllm: blocks of one request") {
  admission_limits limits;
  limits.max_model_len = 131072;
  limits.max_in_flight_tokens = 16384;
  limits.max_num_encoder_input_tokens = 8192;
  CHECK(max_admission_blocks_per_request(full(16, 8, 64), limits).value() == 8192);
  // The last 127 tokens, 16384 in flight, and one block because the window starts anywhere.
  CHECK(max_admission_blocks_per_request(sliding(16, 8, 64, 128), limits).value() == 1033);
  kv_cache_spec retained = sliding(16, 8, 64, 128);
  retained.extra_retained_tokens = 2;
  CHECK(max_admission_blocks_per_request(retained, limits).value() == 1034);
  kv_cache_spec chunked = full(16, 8, 64);
  chunked.kind = spec_kind::chunked_local_attention;
  chunked.attention_chunk_size = 8192;
  CHECK(max_admission_blocks_per_request(chunked, limits).value() == (8192 + 16384) / 16);
  kv_cache_spec cross = full(16, 8, 64);
  cross.kind = spec_kind::cross_attention;
  CHECK(max_admission_blocks_per_request(cross, limits).value() == 512);
  kv_cache_spec recurrent = state(1000);
  recurrent.num_speculative_blocks = 2;
  recurrent.num_prefill_checkpoint_blocks = 1;
  CHECK(max_admission_blocks_per_request(recurrent, limits).value() == 3);
  limits.mamba_align = true;
  CHECK(max_admission_blocks_per_request(recurrent, limits).value() == 5);

  limits.max_model_len = 100;  // shorter than the window
  CHECK(max_admission_blocks_per_request(sliding(16, 8, 64, 128), limits).value() == 8);
  limits.max_model_len = 4097;
  limits.decode_context_parallel_size = 8;
  CHECK(max_admission_blocks_per_request(full(16, 8, 64), limits).value() == 33);  // ceil(ceil(4097 / 8) / 16)
}

TEST_CASE("vllm: pages and packings") {
  CHECK(full(16, 8, 64).page_size_bytes().value() == 32768);
  CHECK(state(3207168, 3211264).page_size_bytes().value() == 3211264);
  kv_cache_spec v4 = latent(256, 584);
  v4.tokens_per_state = 4;
  v4.page_alignment = 576;
  CHECK(v4.page_size_bytes().value() == 37440);
  v4.tokens_per_state = 128;
  CHECK(v4.page_size_bytes().value() == 1728);
  // A kernel block of its own is padded again, so 512 tokens are not twice 256.
  v4.block_size = 512;
  v4.stride_kernel_block = 256;
  CHECK(v4.block_stride_alignment().value() == 1728);
  CHECK(full(16, 8, 64).block_stride_alignment().value() == 1);

  const auto token = [](attention_backend b, cache_dtype t) {
    return pack(b, t, 8, 128, 128, 1).token_bytes().value();
  };
  using enum attention_backend;
  CHECK(pack(flash_attn, cache_dtype::automatic, 8, 128, 128, 2).token_bytes().value() == 4096);
  CHECK(token(triton_attn, cache_dtype::int8_per_token_head) == 8 * (256 + 8));
  CHECK(token(triton_attn, cache_dtype::int4_per_token_head) == 8 * (128 + 8));
  CHECK(token(flashinfer, cache_dtype::nvfp4) == 16 * (64 + 8));
  CHECK(token(turboquant, cache_dtype::turboquant_k8v4) == 8 * (128 + 64 + 4));
  CHECK(token(turboquant, cache_dtype::turboquant_4bit_nc) == 8 * (64 + 2 + 64 + 4));
  CHECK(token(turboquant, cache_dtype::turboquant_3bit_nc) == 8 * (48 + 2 + 48 + 4));
}

TEST_CASE("vllm: states and tensor parallelism") {
  state_shape gdn;
  gdn.kind = state_kind::gated_delta_net;
  gdn.conv_dim = 10240;
  gdn.conv_kernel = 4;
  gdn.num_heads = 48;
  gdn.head_elements = 128 * 128;
  CHECK(state_bytes(gdn, 1, 0, 2, 4).bytes.value() == 3207168);
  CHECK(state_bytes(gdn, 2, 2, 2, 4).bytes.value() == 5120 * 5 * 2 + 24 * 128 * 128 * 4);
  CHECK(state_bytes(gdn, 5, 0, 2, 4).reason == refusal::state_not_divisible);
  state_shape mamba = gdn;
  mamba.kind = state_kind::mamba2;
  mamba.n_groups = 1;
  mamba.state_size = 128;
  CHECK(state_bytes(mamba, 8, 0, 2, 2).bytes.value() == (10240 + 2 * 8 * 128) / 8 * 3 * 2 + 6 * 128 * 128 * 2);
  mamba.n_groups = 3;
  CHECK(state_bytes(mamba, 8, 0, 2, 2).reason == refusal::groups_not_divisible);
  state_shape conv = gdn;
  conv.kind = state_kind::short_conv;
  conv.num_heads = 0;
  CHECK(state_bytes(conv, 1, 3, 2, 2).bytes.value() == 10240 * 3 * 2);  // draft tokens do not lengthen it
}

TEST_CASE("vllm: page sizes are unified") {
  // Gemma 4: the larger page stays, the smaller one gets a larger block.
  layer_sets gemma = sets({layers(sliding(16, 8, 256, 1024), 25), layers(full(16, 2, 512), 5)});
  REQUIRE(unify_kv_cache_spec_page_size(gemma) == refusal::none);
  CHECK(gemma[0].spec.block_size == 16);
  CHECK(gemma[1].spec.block_size == 32);
  CHECK(gemma[1].spec.page_size_bytes().value() == 131072);
  // A page that does not divide the largest is padded, and so is a state.
  layer_sets odd = sets({layers(full(16, 3, 64), 4), layers(sliding(16, 8, 64, 128), 4), layers(state(1000), 4)});
  REQUIRE(unify_kv_cache_spec_page_size(odd) == refusal::none);
  CHECK(odd[0].spec.block_size == 16);
  CHECK(odd[0].spec.page_size_padded == 32768);
  CHECK(odd[2].spec.page_size_padded == 32768);
  // Latents are read in whole rows and cannot be padded.
  layer_sets mla = sets({layers(latent(64, 576), 4), layers(latent(64, 656), 4)});
  mla[1].spec.block_size = 128;
  CHECK(unify_kv_cache_spec_page_size(mla) == refusal::pages_cannot_be_unified);
}

TEST_CASE("vllm: groups") {
  const auto groups_of = [](std::initializer_list<layer_set> list, bool no_hybrid = false) {
    return get_kv_cache_groups(sets(list), kv_cache_layout::lbnhc, no_hybrid);
  };
  const kv_cache_spec f = full(16, 8, 64), w = sliding(16, 8, 64, 128);
  SECTION("one kind is one group") {
    const kv_cache_groups g = groups_of({layers(f, 32)});
    CHECK(sizes(g) == list{32});
    CHECK_FALSE(g.families[0].uniform_type);
  }
  SECTION("full layers of several shapes are one group too") {
    const kv_cache_groups g = groups_of({layers(f, 20), layers(full(16, 4, 64), 12)});
    CHECK(sizes(g) == list{32});
    CHECK(g.families[0].uniform_type);
    CHECK(shape_of_group(g, g.families[0], 0).page_size_bytes == 20 * 32768 + 12 * 16384);
  }
  SECTION("the smallest kind sets the size of a group") {
    CHECK(sizes(groups_of({layers(w, 25), layers(f, 5)})) == list{5, 5, 5, 5, 5, 5});
    const kv_cache_groups g = groups_of({layers(w, 26), layers(f, 5)});
    CHECK(sizes(g) == list{5, 5, 4, 4, 4, 4, 5});
    CHECK(g.families[0].padding_layers == 4);
    CHECK(get_kv_cache_bytes_per_block(g, kv_cache_layout::lbnhc, 0) == 5 * 32768);
  }
  SECTION("unless the largest is less than 1.5 times that") {
    CHECK(sizes(groups_of({layers(w, 12), layers(f, 13)})) == list{12, 13});
    CHECK(sizes(groups_of({layers(w, 12), layers(f, 17)})) == list{12, 17});
    CHECK(sizes(groups_of({layers(w, 12), layers(f, 18)})) == list{12, 9, 9});
  }
  SECTION("without the hybrid manager windows become full") {
    const kv_cache_groups g = groups_of({layers(w, 12), layers(f, 12)}, true);
    CHECK(sizes(g) == list{24});
    CHECK(groups_of({layers(state(100), 12), layers(f, 12)}, true).reason == refusal::cannot_promote_local_specs);
    CHECK(groups_of({layers(w, 12), layers(sliding(16, 8, 64, 256), 12), layers(f, 12)}, true).reason ==
          refusal::several_windows_in_one_group);
    CHECK(sizes(groups_of({layers(w, 12)}, true)) == list{12});
  }
  SECTION("latents beside a window fall back to full blocks") {
    const kv_cache_groups g =
        groups_of({layers(latent(16, 1152), 60), layers(sliding(16, 1, 288, 128), 1), layers(latent(16, 700), 3)});
    CHECK(sizes(g) == list{64});
  }
  SECTION("pipeline stages share every group") {
    layer_set windows = layers(w, 25), fulls = layers(f, 5);
    windows.per_stage[0] = 13;
    windows.per_stage[1] = 12;
    fulls.per_stage[0] = 2;
    fulls.per_stage[1] = 3;
    const kv_cache_groups g = groups_of({windows, fulls});
    CHECK(shape_of_group(g, g.families[0], 0, 0).num_layers == 3);
    CHECK(shape_of_group(g, g.families[0], 0, 1).num_layers == 2);
    CHECK(shape_of_group(g, g.families[0], 4, 0).num_layers == 2);
    CHECK(shape_of_group(g, g.families[0], 4, 1).num_layers == 3);
    CHECK(get_kv_cache_bytes_per_block(g, kv_cache_layout::lbnhc, 0) == 3 * 32768);
  }
}

TEST_CASE("vllm: the chunk that wastes least") {
  CHECK(approximate_gcd(std::vector<std::uint32_t>{43, 21, 20}, 21) == 22);
  CHECK(approximate_gcd(std::vector<std::uint32_t>{12, 24, 36}, 1) == 12);
  CHECK(approximate_gcd(std::vector<std::uint32_t>{7, 7}, 1) == 7);
}

TEST_CASE("vllm: backends") {
  backend_context c;
  c.num_heads = 32;
  c.num_kv_heads = 8;
  c.head_size = 128;
  attention_selector s{128};
  using enum attention_backend;
  const auto chosen = [&] { return get_attn_backend(c, s).backend; };
  CHECK(chosen() == flash_attn);
  s.cache_dtype = cache_dtype::fp8_e5m2;
  CHECK(chosen() == flashinfer);
  s.cache_dtype = cache_dtype::int8_per_token_head;
  CHECK(chosen() == triton_attn);
  s.cache_dtype = cache_dtype::turboquant_4bit_nc;
  CHECK(chosen() == turboquant);
  s.sinks = true;
  CHECK(get_attn_backend(c, s).reason == refusal::no_attention_backend);
  s = {128};
  c.device = {10, 0, 180, false};
  CHECK(chosen() == flashinfer);
  CHECK(model_kernel_block_sizes(flashinfer, c) == kernel_block_sizes::range(16, 1024));
  s.head_size = 256;
  c.device = {9, 0, 80, false};
  c.mm_prefix = true;
  CHECK(chosen() == triton_flash_attn);
  c.mm_prefix = false;
  s = {576, cache_dtype::automatic, true};
  CHECK(chosen() == flash_attn_mla);
  s.cache_dtype = cache_dtype::fp8;
  CHECK(chosen() == flashmla);
  c.user_block_size = 16;
  CHECK(chosen() == triton_mla);
  c.user_block_size.reset();
  c.qk_rope_head_dim = 64;
  c.kv_lora_rank = 512;
  c.has_index_topk = true;
  s.use_sparse = true;
  CHECK(chosen() == flashmla_sparse);
  s.cache_dtype = cache_dtype::fp8_e4m3;
  CHECK(chosen() == flashinfer_mla_sparse_sm90);
  CHECK(canonical_cache_dtype(flashmla_sparse, cache_dtype::fp8) == cache_dtype::fp8_ds_mla);
  c.device = {8, 0, 80, true};
  s = {128, cache_dtype::fp8};
  c.user_backend = triton_attn;
  CHECK(get_attn_backend(c, s).reason == refusal::fp8_needs_sm89);

  CHECK(kernel_block_sizes::multiple_of(16).largest_within(36864, 2048) == 16);
  CHECK(kernel_block_sizes::range(16, 64).largest_within(1000, 10) == 64);
  CHECK(kernel_block_sizes::range(16, 64).largest_within(10, 10) == 16);
}

TEST_CASE("vllm: block sizes") {
  backend_context c;
  c.num_heads = 24;
  c.num_kv_heads = 4;
  c.head_size = 256;
  distinct_backends backends;
  add_distinct(backends, attention_backend::flash_attn);
  CHECK(preferred_block_size_for_backends(backends, c).block_size == 16);
  add_distinct(backends, attention_backend::minimax_m3_sparse);
  CHECK(preferred_block_size_for_backends(backends, c).block_size == 128);

  block_size_inputs in{c, attention_backend::flash_attn, 16, cache_dtype::automatic, 4, 256, false, false};
  const aligned_block_size hybrid = align_hybrid_block_size(16, 3207168, in);
  CHECK(hybrid.block_size == 784);
  CHECK(hybrid.mamba_page_size_padded == 3211264);
  in.cache_dtype = cache_dtype::fp8;
  CHECK(align_hybrid_block_size(16, 3207168, in).block_size == 1568);

  // gpt-oss on Blackwell with nvfp4 and unquantized windows.
  in.context.device = {10, 0, 180, false};
  in.first_backend = attention_backend::flashinfer;
  in.cache_dtype = cache_dtype::nvfp4;
  in.num_kv_heads = 8;
  in.head_size = 64;
  const heterogeneous_block_size mixed = align_heterogeneous_kv_block_size(16, 0, in);
  CHECK(mixed.block_size == 64);
  CHECK(mixed.skip_page_size_padded == 36864);
}

TEST_CASE("vllm: whole models") {
  SECTION("gpt-oss-20b") {
    const json f = figures(gpt_oss_20b(), {{"available_memory", forty_gib}});
    CHECK(f["bytes_per_block"] == 393216);
    CHECK(f["blocks_per_request"] == 9225);
    CHECK(f["groups"].size() == 2);
  }
  SECTION("Qwen3.5-27B") {
    const engine_answer e = run(qwen35_27b(), {{"available_memory", forty_gib}});
    CHECK(e.figures()["bytes_per_block"] == 51380224);
    CHECK(e.figures()["blocks_per_request"] == 341);
    CHECK(e.settings()["block_size"] == 784);
    CHECK(e.attention == "hybrid");
    CHECK(e.state_bytes_per_sequence == 6ULL * 51380224);
    // One draft layer makes a fifth group of attention, and every state longer.
    const json f = figures(qwen35_27b(), {{"speculative_config", {{"method", "mtp"}, {"num_speculative_tokens", 1}}}});
    CHECK(f["groups"].size() == 4);
    CHECK(f["groups"][3]["num_layers"] == 17);
  }
  SECTION("DeepSeek-V4-Flash") {
    const json f = figures(deepseek_v4_flash(), {{"max_model_len", 4096}, {"available_memory", forty_gib}});
    CHECK(f["bytes_per_block"] == 1002240);
    CHECK(f["blocks_per_request"] == 1684);
    CHECK(f["groups"][0]["num_layers"] == 22);
    CHECK(f["groups"][2]["num_layers"] == 62);
    CHECK(f["kv_cache_layout"] == "BLHNC");
    CHECK(figures(deepseek_v4_flash(), {{"block_size", 64}}).contains("error"));
    CHECK(figures(deepseek_v4_flash(), {{"disable_hybrid_kv_cache_manager", true}}).contains("error"));
    CHECK(figures(deepseek_v4_flash(), {{"kv_cache_dtype", "nvfp4"}}).contains("error"));
    CHECK(figures(deepseek_v4_flash(), {{"block_size", 512}})["bytes_per_block"] == 2021760);
  }
  SECTION("Gemma-4-26B") {
    const json f = figures(gemma4_26b(), {{"available_memory", forty_gib}});
    CHECK(f["bytes_per_block"] == 5 * 131072);
    CHECK(f["groups"].size() == 6);
    CHECK(f["groups"][5]["spec"]["block_size"] == 32);
    CHECK(f["attention_backends"] == json({"TRITON_FLASH_ATTN"}));
    CHECK(run(gemma4_26b(), {{"kv_cache_dtype", "fp8"}}).settings()["block_size"] == 64);
    CHECK(figures(gemma4_26b(), {{"kv_cache_dtype", "fp8"}, {"block_size", 32}})["attention_backends"] ==
          json({"TRITON_ATTN"}));
    const engine_answer a100 = run(gemma4_26b(), {{"device", "A100"}});
    CHECK(a100.settings()["max_num_batched_tokens"] == 2496);
  }
  SECTION("a linear model says what a token costs") {
    const engine_answer e = run(llama(), {{"available_memory", forty_gib}, {"tensor_parallel_size", 2}});
    CHECK(e.bytes_per_token == 131072);  // on both ranks
    CHECK(e.pools.size() == 2);
    CHECK(e.total_bytes == 2 * e.pools[0].bytes);
    std::uint64_t sum = 0;
    for (const layer_bytes& l : e.layers) sum += l.k_bytes + l.v_bytes + l.other_bytes;
    CHECK(sum == 2 * e.figures()["request_bytes"].get<std::uint64_t>());
  }
}

TEST_CASE("vllm: measured cases") {
  // vllm-random.json: kinds that random configs found.
  json cases = detail::config::read_document(KVBUDGET_SOURCE_DIR "/tests/data/vllm.json").root;
  for (const json& c : detail::config::read_document(KVBUDGET_SOURCE_DIR "/tests/data/vllm-random.json").root)
    cases.push_back(c);
  std::size_t runs = 0;
  for (const json& c : cases) {
    const detail::config::document config{c["config"], "config.json"};
    const json* const quant = c.contains("hf_quant_config") ? &c["hf_quant_config"] : nullptr;
    for (const json& r : c["runs"]) {
      ++runs;
      json options = r["settings"];
      options["version"] = c["engine_version"];
      const engine_answer e = evaluate(config, quant, testing::asked(options));
      INFO(c["id"].get<std::string>() << " " << r["name"].get<std::string>());
      std::string different;
      for (const auto& [name, expected] : r["expect"].items()) {
        if (name == "error" ? !e.refusal.empty() : name == "groups" || e.figures().value(name, json()) == expected)
          continue;
        different += name + " ";
      }
      if (r["expect"].contains("error") != !e.refusal.empty()) different += "error ";
      const json groups = r["expect"].value("groups", json::array());
      const auto compare = [&different](const json& expected, const json& computed) {
        if (expected.size() != computed.size()) different += "groups ";
        for (std::size_t i = 0; i < expected.size() && i < computed.size(); ++i) {
          const json &a = expected[i], &b = computed[i];
          if (a["num_layers"] != b["num_layers"] || a["blocks_per_request"] != b["blocks_per_request"] ||
              a["spec"]["block_size"] != b["spec"]["block_size"] ||
              a["spec"]["page_size_bytes"] != b["spec"]["page_size_bytes"]) {
            different += "groups[" + std::to_string(i) + "] ";
          }
        }
      };
      if (!groups.empty() && groups[0].is_array()) {
        for (std::size_t s = 0; s < groups.size(); ++s) compare(groups[s], e.figures()["groups"][s]);
      } else if (!groups.empty()) {
        compare(groups, e.figures()["groups"]);
      }
      CHECK(different == "");
    }
  }
  CHECK(runs == 1364 + 13);
}

TEST_CASE("vllm: lines of public logs") {
  const auto printed = [](const json& config, const json& options) {
    return figures(config, options)["printed"].get<std::string>();
  };
  const auto error = [](const json& config, const json& options) { return run(config, options).refusal; };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };

  json qwen36_35b = qwen35_27b();
  json types = json::array();
  for (int i = 0; i < 40; ++i) types.push_back((i + 1) % 4 == 0 ? "full_attention" : "linear_attention");
  qwen36_35b["text_config"].update({{"num_hidden_layers", 40},
                                    {"num_attention_heads", 16},
                                    {"num_key_value_heads", 2},
                                    {"hidden_size", 2048},
                                    {"linear_num_value_heads", 32},
                                    {"layer_types", types}});
  CHECK(has(printed(qwen36_35b, {{"version", "0.24.0"},
                                 {"enable_prefix_caching", true},
                                 {"max_model_len", 131072},
                                 {"kv_cache_dtype", "fp8"},
                                 {"max_num_seqs", 1},
                                 {"max_num_batched_tokens", 8192},
                                 {"available_memory", 299ULL * 21463040}}),
            "567,978 tokens; Maximum concurrency for 131,072 tokens per request: 4.33x"));
  // The older line counts whole blocks of one group.
  CHECK(figures(qwen36_35b, {{"version", "0.19"},
                             {"kv_cache_dtype", "fp8"},
                             {"max_num_seqs", 4},
                             {"available_memory", 147ULL * 21463040}})["tokens"] == 75456);
  CHECK(has(printed(qwen35_27b(), {{"version", "0.24"},
                                   {"kv_cache_dtype", "fp8"},
                                   {"enable_prefix_caching", true},
                                   {"speculative_config", {{"method", "mtp"}, {"num_speculative_tokens", 2}}},
                                   {"available_memory", 936ULL * 55705600}}),
            "1,394,129 tokens; Maximum concurrency for 262,144 tokens per request: 5.32x"));
  CHECK(has(printed(llama(), {{"version", "0.6"}, {"max_model_len", 29000}, {"num_gpu_blocks_override", 1478}}),
            "23,648 tokens; Maximum concurrency for 29,000 tokens per request: 0.82x"));

  json gpt_oss_120b = gpt_oss_20b();
  gpt_oss_120b["num_hidden_layers"] = 36;
  CHECK(has(
      error(gpt_oss_120b, {{"version", "0.11"}, {"max_num_batched_tokens", 1024}, {"available_memory", 1836089508}}),
      "(4.54 GiB KV cache is needed, which is larger than the available KV cache memory (1.71 GiB)"));

  json coder = llama();
  coder.update({{"architectures", {"Qwen3MoeForCausalLM"}},
                {"model_type", "qwen3_moe"},
                {"num_hidden_layers", 48},
                {"num_key_value_heads", 4},
                {"head_dim", 128},
                {"max_position_embeddings", 262144}});
  // One stage was compared with the need of all; today the 32-layer stage needs 16 GiB.
  json split = {{"version", "0.15.2"},
                {"pipeline_parallel_size", 2},
                {"pp_layer_partition", "16,32"},
                {"available_memory", 34736ULL * 98304}};
  CHECK(has(error(coder, split), "(24.0 GiB KV cache is needed"));
  CHECK(has(error(coder, split), "the estimated maximum model length is 34736."));
  split["version"] = "0.32.0";
  CHECK(figures(coder, split)["request_bytes"] == json({8 * gib, 16 * gib}));
}

TEST_CASE("vllm: releases") {
  const auto at = [](const char* version, std::uint64_t memory) {
    return run(gpt_oss_20b(), {{"version", version}, {"available_memory", memory}});
  };
  // Measured in each release: truth of gpt-oss-20b on an H100 (8,192 batched tokens, asynchronous scheduling).
  CHECK(at("0.16.0", 10 * gib).figures()["tokens"] == 218448);
  CHECK(at("0.20.2", 10 * gib).figures()["tokens"] == 410771);
  CHECK(at("0.24.0", 10 * gib).figures()["tokens"] == 410771);
  CHECK(at("0.28.0", 10 * gib).figures()["tokens"] == 387973);
  CHECK(at("0.11.2", gib)
            .refusal.find("(3.19 GiB KV cache is needed, which is larger than the available KV cache "
                          "memory (1.00 GiB)") != std::string::npos);
  CHECK(at("0.16.0", gib).refusal.empty());  // the first group alone is counted
  CHECK(at("0.16.0", gib).figures()["num_blocks"] == 2730);
  CHECK(at("0.22.1", gib).figures()["estimated_max_model_len"] == 35344);
  CHECK(at("0.28.0", gib).figures()["estimated_max_model_len"] == 27152);

  json mixed = llama();
  const auto groups = [&mixed](int sliding, const char* version) {
    json types = json::array();
    for (int i = 0; i < 10 + sliding; ++i) types.push_back(i < 10 ? "full_attention" : "sliding_attention");
    mixed.update({{"num_hidden_layers", 10 + sliding}, {"layer_types", types}, {"sliding_window", 1024}});
    const json computed = figures(mixed, {{"version", version}, {"max_model_len", 32768}});
    list sizes;
    for (const json& g : computed["groups"]) sizes.push_back(g["num_layers"]);
    return sizes;
  };
  CHECK(groups(12, "0.11.2") == list{10, 6, 6});
  CHECK(groups(12, "0.16.0") == list{10, 12});
  CHECK(groups(14, "0.16.0") == list{10, 7, 7});
  CHECK(groups(14, "0.20.2") == list{10, 14});

  // Gated delta nets in align mode: one more block, blocks of a multiple of 64 tokens.
  const json next = figures(qwen35_27b(), {{"version", "0.33.0"}, {"available_memory", 40 * gib}});
  CHECK(next["bytes_per_block"] == 54525952);
  CHECK(next["tokens"] == 634791);

  for (const char* unknown : {"0.99.0", "0.2.0"}) {
    const auto notes = run(llama(), {{"version", unknown}}).notes;
    CHECK(std::any_of(notes.begin(), notes.end(),
                      [](const std::string& n) { return n.find("is not known here") != std::string::npos; }));
  }
  CHECK(error_of<usage_error>(llama(), {{"version", 0.2}})["pointer"] == "version");
}

TEST_CASE("vllm: layer types that the class derives are the class's own list") {
  std::size_t compared = 0;
  for (const detail::transformers::pattern_rule& rule : detail::transformers::pattern_rules) {
    for (const architecture_of_type& known : architectures_of_types) {
      if (rule.ignores_list || known.model_type != rule.model_type) continue;
      json config = {{"model_type", known.model_type}, {"architectures", {known.architecture}}, {"dtype", "bfloat16"}};
      const detail::config::document file = document(config);
      const config_fields fields{detail::config::node(file)};
      const auto n = fields.count("num_hidden_layers");
      const auto kinds = n ? fields.layer_kinds(*n) : std::nullopt;
      if (!kinds || known.model_type == "step3p5" || known.model_type.starts_with("deepseek")) continue;
      INFO(known.model_type);
      json full = config;
      for (const detail::transformers::layer_kind kind : *kinds)
        full["layer_types"].push_back(detail::transformers::name_of(kind));
      // Some classes need a width from the file, with a list or without.
      if (error_of<config_error>(config, {}) != nullptr) continue;
      CHECK(figures(config, {}) == figures(full, {}));
      ++compared;
    }
  }
  CHECK(compared >= 20);
}

TEST_CASE("vllm: fields as vLLM's own classes read them") {
  // Kinds found by random configs; figures of vLLM 0.32.0's planning code.
  json exaone = llama();
  exaone.update({{"architectures", {"ExaoneForCausalLM"}}, {"model_type", "exaone"}, {"num_layers", 64}});
  exaone.erase("num_hidden_layers");
  CHECK(figures(exaone, {})["groups"][0]["num_layers"] == 64);

  json gpt_oss = gpt_oss_20b();
  gpt_oss["layer_types"] = json::array();
  for (int i = 0; i < 24; ++i) gpt_oss["layer_types"].push_back("sliding_attention");
  CHECK(figures(gpt_oss, {})["groups"].size() == 1);
  CHECK(figures(gpt_oss, {})["groups"][0]["num_layers"] == 24);

  json mimo = llama();
  mimo.update({{"architectures", {"MiMoForCausalLM"}},
               {"model_type", "mimo"},
               {"hidden_size", 2048},
               {"head_dim", 128},
               {"num_hidden_layers", 8},
               {"num_nextn_predict_layers", 1}});
  CHECK(figures(mimo, {})["groups"][0]["spec"]["head_size"] == 64);
  const json drafts = {{"method", "mtp"}, {"num_speculative_tokens", 1}};
  CHECK(figures(mimo, {{"device", "L40S"},
                       {"kv_cache_dtype", "turboquant_3bit_nc"},
                       {"speculative_config", drafts}})["bytes_per_block"] == 331264);

  json qwen = qwen35_27b();
  qwen["text_config"].erase("mamba_ssm_dtype");
  CHECK(run(qwen, {}).settings()["block_size"] == 400);

  const json stages = figures(
      llama(), {{"kv_cache_dtype", "turboquant_4bit_nc"}, {"pipeline_parallel_size", 2}, {"max_model_len", 8192}});
  CHECK(stages["bytes_per_block"] == json({1048576, 1048576}));
  CHECK(stages["blocks_per_request"] == 1664);
}

TEST_CASE("vllm: drafts of dflash and dspark count") {
  // Figures of vLLM 0.32.0's planning code, H100.
  const auto draft = [](const char* name, json more) {
    json d = {{"architectures", {name}},   {"model_type", "qwen3"},    {"num_hidden_layers", 8},
              {"num_attention_heads", 32}, {"num_key_value_heads", 4}, {"head_dim", 128},
              {"hidden_size", 2048},       {"torch_dtype", "bfloat16"}};
    d.update(more);
    return d;
  };
  const auto planned = [](const json& config, const char* method, const json& d) {
    return figures(config, {{"available_memory", 20 * gib},
                            {"max_model_len", 32768},
                            {"speculative_config",
                             {{"method", method}, {"num_speculative_tokens", 5}, {"draft_model_config", d}}}});
  };
  const json five = {{"num_hidden_layers", 5}, {"num_key_value_heads", 8}, {"hidden_size", 4096}};
  for (const auto& [method, name] : {std::pair{"dflash", "DFlashDraftModel"}, {"dspark", "Qwen3DSparkModel"}}) {
    const json f = planned(llama(), method, draft(name, five));
    CHECK(f["groups"][0]["num_layers"] == 37);
    CHECK(f["bytes_per_block"] == 37 * 65536);
  }
  // An own window of the class counts only with use_sliding_window.
  const json windows = {
      {"num_hidden_layers", 2}, {"sliding_window", 2048}, {"layer_types", {"sliding_attention", "full_attention"}}};
  CHECK(planned(llama(), "dflash", draft("DFlashDraftModel", windows)).contains("error"));
}

TEST_CASE("vllm: every option changes something, is refused, or is said to change nothing") {
  json windows = llama();
  windows.update({{"num_hidden_layers", 4},
                  {"sliding_window", 1024},
                  {"layer_types", {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}});
  const json models[] = {llama(), gpt_oss_20b(), qwen35_27b(), windows};
  const json tried = {{"version", "0.16.0"},
                      {"device", "A100"},
                      {"usage_context", "llm_class"},
                      {"available_memory", 32 * gib},
                      {"kv_cache_memory_bytes", 32 * gib},
                      {"max_model_len", 3000},
                      {"max_num_batched_tokens", 1000},
                      {"max_num_seqs", 7},
                      {"block_size", 64},
                      {"num_gpu_blocks_override", 9999},
                      {"kv_cache_dtype", "fp8"},
                      {"kv_cache_dtype_skip_layers", {"0"}},
                      {"dtype", "float32"},
                      {"tensor_parallel_size", 2},
                      {"pipeline_parallel_size", 2},
                      {"pp_layer_partition", "1,3"},
                      {"decode_context_parallel_size", 2},
                      {"enable_prefix_caching", false},
                      {"enable_chunked_prefill", false},
                      {"async_scheduling", false},
                      {"disable_hybrid_kv_cache_manager", true},
                      {"attention_backend", "TRITON_ATTN"},
                      {"mamba_block_size", 32},
                      {"mamba_cache_dtype", "float32"},
                      {"mamba_ssm_cache_dtype", "float32"},
                      {"speculative_config", {{"method", "ngram"}, {"num_speculative_tokens", 3}}},
                      {"hf_overrides", {{"vocab_size", 7}}}};
  const std::string known = error_of<usage_error>(llama(), {{"no_such_option", 1}})["expected"];
  CHECK(std::count(known.begin(), known.end(), ',') + 1 == static_cast<std::ptrdiff_t>(tried.size()));
  for (const json& model : models) {
    for (const auto& [name, value] : tried.items()) {
      INFO(name << " for " << model["architectures"][0]);
      CHECK(known.find(name) != std::string::npos);
      json options = name == "kv_cache_memory_bytes" ? json::object() : json{{"available_memory", 64 * gib}};
      const json before = figures(model, options);
      options[name] = value;
      bool heard = false;
      try {
        const engine_answer e = run(model, options);
        heard = e.figures() != before || !e.refusal.empty();
        for (const std::string& note : e.notes) heard = heard || note.find(name) == 0;
      } catch (const usage_error&) {
        heard = true;
      }
      CHECK(heard);
    }
  }
}

TEST_CASE("vllm: refusals") {
  const auto refused = [](const json& config, const json& options) { return run(config, options).refusal; };
  CHECK(refused(llama(), {{"tensor_parallel_size", 3}}) == text(refusal::attention_heads_not_divisible));
  CHECK(refused(gpt_oss_20b(), {{"tensor_parallel_size", 16}}) == text(refusal::fewer_kv_heads_than_ranks));
  CHECK(refused(llama(), {{"max_model_len", 131073}}) == text(refusal::max_model_len_too_long));
  CHECK(refused(gpt_oss_20b(), {{"kv_cache_dtype", "turboquant_4bit_nc"}}) == text(refusal::no_attention_backend));
  CHECK(refused(llama(), {{"attention_backend", "FLASHINFER"}, {"kv_cache_dtype", "int8_per_token_head"}}) ==
        text(refusal::attention_backend_not_valid));
  CHECK(refused(qwen35_27b(), {{"disable_hybrid_kv_cache_manager", true}}) ==
        "Failed to promote local KV cache specs to one unified type.");
  CHECK(refused(qwen35_27b(), {{"enable_prefix_caching", false}, {"mamba_block_size", 512}}) ==
        text(refusal::mamba_block_size_without_prefix_caching));
  CHECK(refused(llama(), {{"decode_context_parallel_size", 2}, {"tensor_parallel_size", 8}}) ==
        text(refusal::dcp_needs_replicated_kv_heads));
  CHECK(refused(llama(), {{"decode_context_parallel_size", 4}, {"tensor_parallel_size", 16}}) ==
        text(refusal::dcp_exceeds_replicas));
  CHECK(refused(gpt_oss_20b(), {{"decode_context_parallel_size", 3}, {"tensor_parallel_size", 8}}) ==
        text(refusal::dcp_does_not_divide_tp));
  CHECK(refused(llama(), {{"kv_cache_dtype", "turboquant_4bit_nc"}, {"device", "B200"}}) ==
        text(refusal::no_common_layout));
  CHECK(refused(llama(), {{"pipeline_parallel_size", 33}}) == text(refusal::more_stages_than_supported));
  CHECK(refused(llama(), {{"pipeline_parallel_size", 2}, {"pp_layer_partition", {16, 17}}}) ==
        text(refusal::layer_partition_mismatch));
  CHECK(refused(llama(), {{"available_memory", 0}}) == text(refusal::no_available_memory));
  CHECK(refused(llama(), {{"max_model_len", -1}, {"available_memory", 4194303}}) ==
        text(refusal::auto_fit_fits_nothing));

  const json small = figures(llama(), {{"available_memory", 10 * gib}});
  CHECK(small["estimated_max_model_len"] == 81904);
  CHECK(small["error"] ==
        "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (10.0 GiB). Based on the available memory, the "
        "estimated maximum model length is 81904.");
  CHECK(figures(llama(), {{"available_memory", 10 * gib}, {"max_model_len", -1}})["auto_fit_max_model_len"] == 81904);

  json dropped = llama();
  dropped["architectures"] = {"MiniMaxM1ForCausalLM"};
  CHECK(refused(dropped, json::object()).find("v0.23.0") != std::string::npos);
  json mixed = llama();
  mixed["quantization_config"] = {{"producer", {{"name", "modelopt"}}},
                                  {"quantization", {{"quant_algo", "MIXED_PRECISION"}}}};
  CHECK(refused(mixed, json::object()) == "Unknown ModelOpt quant algo: MIXED_PRECISION");
}

TEST_CASE("vllm: the cache type of a quantized checkpoint") {
  const auto type = [](const json& quantization, const json* beside = nullptr) {
    json config = llama();
    if (!quantization.is_null()) config["quantization_config"] = quantization;
    return evaluate(document(config), beside, {}).settings()["kv_cache_dtype"].get<std::string>();
  };
  CHECK(type({{"quant_method", "fp8"}}) == "auto");
  CHECK(type({{"quant_method", "modelopt"},
              {"kv_cache_scheme", {{"dynamic", false}, {"num_bits", 8}, {"type", "float"}}}}) == "fp8_e4m3");
  CHECK(type({{"quant_method", "modelopt"},
              {"kv_cache_scheme", {{"dynamic", true}, {"num_bits", 8}, {"type", "float"}}}}) == "auto");
  CHECK(type({{"quant_method", "modelopt_fp4"}, {"kv_cache_quant_algo", "FP8"}}) == "fp8_e4m3");
  CHECK(type({{"quant_method", "compressed-tensors"}, {"kv_cache_scheme", {{"num_bits", 8}}}}) == "fp8");
  CHECK(type({{"quant_method", "compressed-tensors"}, {"kv_cache_scheme", nullptr}}) == "auto");
  CHECK(type({{"kv_cache_scheme", "FP8"}, {"producer", {{"name", "modelopt"}}}}) == "auto");  // no method, no algorithm
  const json beside = {{"producer", {{"name", "modelopt"}}},
                       {"quantization", {{"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}}};
  CHECK(type(nullptr, &beside) == "fp8_e4m3");
  CHECK(type({{"quant_method", "fp8"}}, &beside) == "auto");  // the config's own word wins
  const json no_producer = {{"quantization", {{"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}}};
  CHECK(type(nullptr, &no_producer) == "auto");
}

TEST_CASE("vllm: options") {
  const json unknown = error_of<usage_error>(llama(), {{"block_sise", 16}});
  CHECK(unknown["pointer"] == "block_sise");
  CHECK(unknown["expected"].get<std::string>().find("block_size") != std::string::npos);
  CHECK(error_of<usage_error>(llama(), {{"kv_cache_dtype", "fp9"}})["expected"].get<std::string>().find("nvfp4") !=
        std::string::npos);
  CHECK(error_of<usage_error>(llama(), {{"block_size", 0}})["pointer"] == "block_size");
  CHECK(error_of<usage_error>(llama(), {{"block_size", -16}})["problem"] == "unusable value");
  CHECK(error_of<usage_error>(llama(), {{"block_size", 1.5}})["problem"] == "unusable value");
  CHECK(error_of<usage_error>(llama(), {{"enable_prefix_caching", "on"}})["problem"] == "unusable value");
  CHECK(error_of<usage_error>(llama(), {{"device", "MI300"}})["pointer"] == "device");
  CHECK(error_of<usage_error>(llama(), {{"version", "latest"}})["pointer"] == "version");
  CHECK(error_of<usage_error>(llama(), {{"kv_cache_dtype_skip_layers", {"first"}}})["value"] == "\"first\"");
  CHECK(error_of<usage_error>(llama(), {{"speculative_config", {{"method", "magic"}}}})["value"] == "\"magic\"");
  CHECK(!run(llama(), {{"speculative_config", {{"method", "mtp"}}}}).refusal.empty());
  CHECK(error_of<usage_error>(llama(), {{"speculative_config", {{"method", "ngram"}}}})["pointer"] ==
        "speculative_config");
  CHECK(error_of<usage_error>(
            llama(), {{"speculative_config", {{"method", "eagle3"}, {"num_speculative_tokens", 2}}}})["pointer"] ==
        "speculative_config");
  CHECK(error_of<usage_error>(llama(), {{"attention_backend", "DEEPSEEK_V32_INDEXER"}})["pointer"] ==
        "attention_backend");

  // null is not given; overrides are fields of the config.
  CHECK(figures(llama(), {{"block_size", nullptr}}) == figures(llama(), json::object()));
  CHECK(figures(llama(), {{"hf_overrides", {{"num_key_value_heads", 4}}}})["bytes_per_block"] == 1048576);
  CHECK(run(llama(), {{"device", "NVIDIA H100 80GB (sm90)"}}).settings()["max_num_batched_tokens"] == 8192);
  CHECK(run(llama(), {{"device", "B200"}}).settings()["max_num_batched_tokens"] == 16384);
  CHECK(run(llama(), {{"usage_context", "llm_class"}}).settings()["max_num_batched_tokens"] == 16384);

  const json eagle3 = {
      {"num_hidden_layers", 1}, {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"hidden_size", 4096}};
  const json f = figures(
      llama(),
      {{"speculative_config", {{"method", "eagle3"}, {"num_speculative_tokens", 3}, {"draft_model_config", eagle3}}}});
  CHECK(f["groups"][0]["num_layers"] == 33);
}

TEST_CASE("vllm: configs that make no sense") {
  const auto bad = [](const char* field, const json& value) {
    json config = llama();
    config[field] = value;
    return error_of<config_error>(config, json::object());
  };
  CHECK(bad("num_hidden_layers", -1)["problem"] == "negative");
  CHECK(bad("num_hidden_layers", 65537)["pointer"] == "/num_hidden_layers");
  CHECK(bad("num_hidden_layers", "many")["value"] == "\"many\"");
  CHECK(bad("num_attention_heads", 0)["pointer"] == "/num_attention_heads");
  CHECK(bad("num_key_value_heads", 1.5)["problem"] == "not a whole number");
  CHECK(bad("hidden_size", 16)["pointer"] == "/hidden_size");
  CHECK(bad("architectures", {"SomethingForCausalLM"})["pointer"] == "/architectures");
  CHECK(bad("layer_types", {"full_attention"})["pointer"] == "/layer_types");
  json nothing = json::object();
  CHECK(error_of<config_error>(nothing, json::object())["pointer"] == "/architectures");
  json v4 = deepseek_v4_flash();
  v4["compress_ratios"][2] = 7;
  CHECK(error_of<config_error>(v4, json::object())["pointer"] == "/compress_ratios/2");
  json large = llama();
  large["head_dim"] = detail::config::max_field_value;
  large["num_key_value_heads"] = 2147483616;
  large["num_attention_heads"] = 2147483616;
  CHECK_THROWS_AS(run(large, {{"block_size", 1073741824}}), size_error);
}

TEST_CASE("vllm: inverses") {
  for (const json& config : {llama(), gpt_oss_20b(), qwen35_27b(), deepseek_v4_flash()}) {
    const json options = {{"available_memory", 3 * gib}, {"max_num_batched_tokens", 512}};
    const launch q = read_launch(document(config), nullptr, testing::asked(options));
    const model m = q.model.view();
    const settings s = q.settings.view();
    const auto fits = [&](std::uint64_t length) {
      settings tried = s;
      tried.max_model_len = length;
      return plan(m, tried).reason == refusal::none;
    };
    const std::uint64_t longest = largest_max_model_len(m, s);
    INFO(config["architectures"].dump());
    CHECK(fits(longest));
    CHECK((longest == m.max_model_len || !fits(longest + 1)));
    CHECK(largest_max_model_len(m, s, 1000) == std::min<std::uint64_t>(1000, longest));

    settings sized = s;
    sized.max_model_len = 2048;
    const cache_plan p = plan(m, sized);
    REQUIRE(p.reason == refusal::none);
    const detail::vllm::request mix[] = {{700, 100}, {30, 1}, {1500, 500}};
    std::uint64_t blocks = 0, brute = 0;
    while (true) {
      blocks += blocks_of_request(p, mix[brute % 3]).value();
      if (blocks > p.num_blocks - 1) break;
      ++brute;
    }
    CHECK(most_concurrent_requests(p, mix).value() == brute);
  }
  const launch q =
      read_launch(document(llama()), nullptr, testing::asked({{"available_memory", gib}, {"max_model_len", 2048}}));
  const cache_plan p = q.plan();
  CHECK(p.num_blocks == 512);
  CHECK(most_concurrent_requests(p, {1000, 24}).value() == 511 / 64);
  CHECK(most_concurrent_requests(p, std::span<const detail::vllm::request>()).reason() == failure::division_by_zero);
  CHECK(most_concurrent_requests(p, {~std::uint64_t{0}, 1}).value() == 0);
}

TEST_CASE("vllm: what a division by zero would be") {
  const launch q = read_launch(document(llama()), nullptr, {});
  settings s = q.settings.view();
  s.tensor_parallel_size = 0;
  CHECK_THROWS_AS(plan(q.model.view(), s), size_error);
  s = q.settings.view();
  s.block_size = 0;
  CHECK_THROWS_AS(plan(q.model.view(), s), size_error);
}

TEST_CASE("vllm: fields at the root go to the language model where the class sends them there") {
  // Glm4vConfig and Glm4vMoeConfig of transformers 5.19, which vLLM 0.32 asks for; 40 layers are the class's default.
  const json options = {{"max_model_len", 4096}};
  for (const char* const type : {"glm4v", "glm4v_moe"}) {
    const bool moe = std::string(type) == "glm4v_moe";
    const json config = {
        {"model_type", type},
        {"architectures", {moe ? "Glm4vMoeForConditionalGeneration" : "Glm4vForConditionalGeneration"}},
        {"num_hidden_layers", 33},
        {"num_attention_heads", 16},
        {"num_key_value_heads", 4},
        {"head_dim", 128},
        {"hidden_size", 2048},
        {"dtype", "bfloat16"}};
    CHECK(run(config, options).model_layers == 33);
    // 2 x 33 layers x 16 tokens x 4 heads x 128 elements x 2 bytes
    CHECK(run(config, options).figures().at("bytes_per_block") == 2U * 33U * 16U * 4U * 128U * 2U);
  }
}
