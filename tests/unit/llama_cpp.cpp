// llama.cpp: rules with exact numbers, refusals, options, log lines, the inverse against a plain search.
#include "support/asking.hpp"
#include "support/catch.hpp"

#include <algorithm>

#include <kvbudget/engines/llama_cpp/evaluate.hpp>

using namespace kvbudget;
using detail::config::json;
using detail::llama_cpp::find_architecture;
using detail::llama_cpp::hparams;
using detail::llama_cpp::metadata;
using detail::llama_cpp::refusal_reason;
using detail::llama_cpp::settings;

namespace {

metadata model(const char* architecture, std::uint32_t layers, std::uint32_t heads, std::uint32_t kv,
               std::uint32_t head) {
  metadata m;
  m.architecture = find_architecture(architecture);
  m.block_count = layers;
  m.context_length = 131'072;
  m.embedding_length = heads * head;
  m.head_count = heads;
  m.head_count_kv = kv;
  return m;
}

settings at(std::uint32_t n_ctx) {
  settings s = detail::llama_cpp::command_line_settings();
  s.n_ctx = n_ctx;
  return s;
}

engine_answer evaluate(const char* config_text, const json& options) {
  return detail::llama_cpp::evaluate(detail::config::parse_document(config_text, "config.json"),
                                     testing::asked(options));
}

json evaluate_error(const char* config_text, const json& options) {
  try {
    (void)evaluate(config_text, options);
  } catch (const input_error& e) {
    return {{"pointer", e.pointer()}, {"value", e.value()}, {"problem", e.problem()}, {"what", e.what()}};
  }
  return nullptr;
}

constexpr const char* tiny_llama = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096})";

}  // namespace

TEST_CASE("llama.cpp: n_ctx becomes cells") {
  const hparams h = load_hparams(model("llama", 2, 4, 2, 64));  // 2 x 2 x 128 elements a cell in f16: 1024 bytes
  SECTION("padded to 256, batches limited before that") {
    const auto p = plan(h, at(100));
    CHECK(p.n_ctx == 256);
    CHECK(p.n_batch == 100);
    CHECK(p.n_ubatch == 100);
    CHECK(p.total_bytes == 256 * 1024);
  }
  SECTION("n_ctx 0 is the model's context length") { CHECK(plan(h, at(0)).n_ctx == 131'072); }
  SECTION("sequences share what they get, rounded up each") {
    settings s = at(4096);
    s.n_seq_max = 3;
    CHECK(plan(h, s).n_ctx_seq == 1536);
    CHECK(plan(h, s).n_ctx == 4608);
    CHECK(plan(h, s).caches[0].n_stream == 3);
    s.kv_unified = true;
    CHECK(plan(h, s).n_ctx_seq == 4096);
    CHECK(plan(h, s).caches[0].n_stream == 1);
    s.kv_unified = false;
    s.n_ctx = 512;
    s.n_seq_max = 8;
    CHECK(plan(h, s).n_ctx == 2048);
  }
  SECTION("n_ubatch 0 is n_batch") {
    settings s = at(8192);
    s.n_ubatch = 0;
    CHECK(plan(h, s).n_ubatch == 2048);
  }
  SECTION("counts that do not fit in the engine's 32 bits are a failure, and never wrap") {
    settings s = at(4'294'967'295U);
    CHECK_THROWS_AS(plan(h, s), size_error);
    s.n_ctx = 4'294'967'040U;
    CHECK(plan(h, s).n_ctx == 4'294'967'040U);
  }
}

TEST_CASE("llama.cpp: sliding windows") {
  metadata m = model("gemma3", 18, 4, 1, 256);  // gemma-3-270m
  m.sliding_window = 512;
  const hparams h = load_hparams(m);
  settings s = at(1024);
  s.n_seq_max = 3;
  const auto p = plan(h, s);
  CHECK(p.caches[0].cells == 512);  // 1024 / 3 = 341, padded
  CHECK(p.caches[1].cells == 512);
  CHECK(p.caches[1].layers == 15);
  CHECK(p.total_bytes == 27 * mib);
  s.n_seq_max = 4;
  CHECK(plan(h, s).total_bytes == 18 * mib);
  s = at(32'768);
  CHECK(plan(h, s).caches[1].cells == 1024);
  s.n_ubatch = 2048;
  CHECK(plan(h, s).caches[1].cells == 2560);
  s.kv_unified = true;
  s.n_seq_max = 4;
  CHECK(plan(h, s).caches[1].cells == 4096);  // 4 windows + the batch
  s.swa_full = true;
  CHECK(plan(h, s).caches[1].cells == 32'768);

  SECTION("no window in the file: gemma3 is dense, gemma2 has a default of its own") {
    m.sliding_window.reset();
    CHECK(plan(load_hparams(m), at(32'768)).caches.size() == 1);
    m.architecture = find_architecture("gemma2");
    CHECK(plan(load_hparams(m), at(32'768)).caches[1].cells == 4608);
  }
  SECTION("architectures that ignore the window of the file") {
    for (const char* name : {"llama", "qwen2", "phi3", "starcoder2"}) {
      m.architecture = find_architecture(name);
      CHECK(plan(load_hparams(m), at(32'768)).caches.size() == 1);
    }
  }
  SECTION("a window that no layer uses stops the engine") {
    m.architecture = find_architecture("olmo2");
    m.sliding_window_pattern = detail::llama_cpp::per_layer::empty_list();
    for (int i = 0; i < 18; ++i) m.sliding_window_pattern.push_back(0);
    CHECK(load_hparams(m).refused.reason == refusal_reason::no_layer_slides);
  }
  SECTION("the last layers of gemma3n keep nothing") {
    metadata n = model("gemma3n", 35, 8, 2, 256);
    n.sliding_window = 512;
    const auto q = plan(load_hparams(n), at(8192));
    CHECK(q.caches[0].layers + q.caches[1].layers == 20);
  }
  SECTION("gemma4 shares as the file says, if there is a layer of the kind to share with") {
    metadata n = model("gemma4", 6, 8, 2, 256);
    n.sliding_window = 512;
    n.sliding_window_pattern = detail::llama_cpp::per_layer::empty_list();
    for (const std::uint32_t slides : {1U, 1U, 0U, 1U, 1U, 0U}) n.sliding_window_pattern.push_back(slides);
    n.shared_kv_layers = 3;
    CHECK(plan(load_hparams(n), at(8192)).caches[0].layers == 1);
    CHECK(plan(load_hparams(n), at(8192)).caches[1].layers == 2);
    n.shared_kv_layers = 4;
    CHECK(load_hparams(n).refused.reason == refusal_reason::shared_layer_has_no_source);
  }
}

TEST_CASE("llama.cpp: latents, index keys, states") {
  metadata m = model("glm-dsa", 79, 64, 1, 96);
  m.nextn_predict_layers = 1;
  m.context_length = 1'048'576;
  m.key_length = 576;
  m.value_length = m.kv_lora_rank = 512;
  m.key_length_mla = 256;
  m.value_length_mla = 256;
  m.indexer_key_length = 128;
  const hparams h = load_hparams(m);
  auto p = plan(h, at(4096));
  CHECK(p.caches[0].layers == 78);
  CHECK(p.caches[0].k_bytes == 368'050'176);  // 78 x 4096 x 576 x 2
  CHECK(p.caches[0].v_bytes == 0);
  CHECK(p.caches[1].layers == 21);  // only every fourth layer has an indexer since GLM 5.2
  CHECK(p.caches[1].k_bytes == 22'020'096);
  settings s = at(4096);
  s.ctx_type = detail::llama_cpp::context_type::mtp;
  CHECK(plan(h, s).total_bytes == 4'718'592);
  s = at(4096);
  s.type_k = q8_0;
  CHECK(plan(h, s).refused.reason == refusal_reason::different_kv_types);
  CHECK(detail::llama_cpp::describe(plan(h, s).refused, h, s) ==
        "model does not support different K (q8_0) and V (f16) cache types");

  metadata q = model("qwen35", 65, 24, 4, 256);  // Qwen3.5-27B
  q.embedding_length = 5120;
  q.key_length = q.value_length = 256;
  q.nextn_predict_layers = 1;
  q.ssm_conv_kernel = 4;
  q.ssm_inner_size = 6144;
  q.ssm_state_size = 128;
  q.ssm_group_count = 16;
  settings r = at(32'768);
  r.n_rs_seq = 3;
  const auto states = plan(load_hparams(q), r);
  CHECK(states.caches[0].layers == 16);
  CHECK(states.recurrent.layers == 48);
  CHECK(states.recurrent.r_bytes == 23'592'960);    // printed by an engine as 22.50 MiB
  CHECK(states.recurrent.s_bytes == 603'979'776);   // 576.00 MiB
  q.architecture = find_architecture("qwen3next");  // takes no snapshots
  CHECK(plan(load_hparams(q), r).n_rs_seq == 0);
}

TEST_CASE("llama.cpp: DeepSeek-V4 keeps a window, compressed keys and compressor states") {
  metadata m = model("deepseek4", 3, 64, 1, 112);
  m.key_length = m.value_length = 512;
  m.sliding_window = 128;
  m.indexer_key_length = 128;
  m.compress_ratios = detail::llama_cpp::per_layer::empty_list();
  for (const std::uint32_t ratio : {0U, 4U, 128U}) m.compress_ratios.push_back(ratio);
  const hparams h = load_hparams(m);
  settings s = at(32'768);
  const auto p = plan(h, s);
  REQUIRE(p.caches.size() == 5);
  CHECK(p.caches[1].cells == 768);  // 128 + 512, padded
  CHECK(p.caches[1].layers == 3);
  CHECK(p.caches[2].cells == 8192);  // csa
  CHECK(p.caches[3].cells == 256);   // hca
  CHECK(p.caches[4].k_bytes == 8192 * 128 * 2);
  CHECK(p.compressors[0].bytes == 2 * 8 * 1024 * 4);
  CHECK(p.compressors[1].bytes == 2 * 128 * 512 * 4);
  CHECK(p.compressors[2].bytes == 2 * 8 * 256 * 4);
  CHECK(p.total_bytes == size_of_pools(p.pools).count());
  s.kv_unified = true;  // one length for all, and yet a stream for each
  s.n_seq_max = 4;
  CHECK(plan(h, s).total_bytes == 4 * p.total_bytes);
}

TEST_CASE("llama.cpp: what the engine refuses") {
  const hparams h = load_hparams(model("llama", 2, 4, 2, 80));
  const auto reason = [](const hparams& of, const settings& s) { return plan(of, s).refused; };
  settings s = at(512);
  s.type_k = q8_0;
  CHECK(reason(h, s) == detail::llama_cpp::refusal{refusal_reason::k_block_does_not_divide_head, 32, 80});
  CHECK(detail::llama_cpp::describe(reason(h, s), h, s) ==
        "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80");
  s.flash_attn = detail::llama_cpp::flash_attention::off;  // without it the head is not looked at, only the row of 160
  CHECK(reason(h, s).reason == refusal_reason::none);
  const hparams one = load_hparams(model("llama", 2, 4, 1, 80));
  CHECK(reason(one, s) == detail::llama_cpp::refusal{refusal_reason::row_is_not_whole_blocks, 32, 80});
  s.type_k = f16;
  s.type_v = q8_0;
  CHECK(reason(h, s).reason == refusal_reason::quantized_v_needs_flash_attn);
  s.flash_attn = detail::llama_cpp::flash_attention::automatic;
  CHECK(reason(h, s).reason == refusal_reason::v_block_does_not_divide_head);
  s = at(512);
  s.type_v = q8_0;
  CHECK(reason(load_hparams(model("grok", 2, 4, 2, 64)), s).reason == refusal_reason::quantized_v_needs_flash_attn);
  s = at(512);
  s.n_seq_max = 257;
  CHECK(reason(h, s).reason == refusal_reason::n_seq_max_too_large);
  s = at(512);
  s.ctx_type = detail::llama_cpp::context_type::mtp;
  CHECK(reason(h, s).reason == refusal_reason::no_mtp_layers);
  s = at(512);
  s.split = detail::llama_cpp::split_mode::tensor;
  s.devices = 2;
  CHECK(reason(load_hparams(model("jamba", 2, 4, 2, 64)), s).reason == refusal_reason::split_mode_tensor_unsupported);
  s.split = detail::llama_cpp::split_mode::none;
  s.main_gpu = 2;
  CHECK(reason(h, s).reason == refusal_reason::main_gpu_out_of_range);
  CHECK(load_hparams(model("llama", 513, 4, 2, 80)).refused.reason == refusal_reason::block_count_out_of_range);
  CHECK(load_hparams(model("llama", 0, 4, 2, 80)).refused.reason == refusal_reason::block_count_out_of_range);
  metadata lists = model("llama", 3, 4, 2, 80);
  lists.head_count_kv = detail::llama_cpp::per_layer::empty_list();
  lists.head_count_kv.push_back(1);
  CHECK(load_hparams(lists).refused.reason == refusal_reason::wrong_array_length);
  CHECK(detail::llama_cpp::log_lines(one, s, plan(h, s)).empty());
}

TEST_CASE("llama.cpp: layers on devices") {
  const hparams h = load_hparams(model("llama", 16, 4, 2, 64));
  settings s = at(256);
  const std::uint64_t layer = 256 * 512;
  s.devices = 2;
  auto p = plan(h, s);
  CHECK(p.cpu == 2);
  CHECK(p.layers_per_device[0] == 9);  // 17 with the output layer, of which the second device has the last 8
  CHECK(p.layers_per_device[1] == 7);
  s.n_gpu_layers = 1;  // only the output layer
  CHECK(plan(h, s).bytes_per_device[2] == 16 * layer);
  s.n_gpu_layers = 16;
  CHECK(plan(h, s).bytes_per_device[2] == layer);
  s.n_gpu_layers = -1;
  s.tensor_split[1] = 1.0F;
  CHECK(plan(h, s).bytes_per_device[1] == 16 * layer);
  s.offload_kqv = false;
  CHECK(plan(h, s).bytes_per_device[2] == 16 * layer);
  s = at(256);
  s.devices = 2;
  s.split = detail::llama_cpp::split_mode::none;
  s.main_gpu = 1;
  CHECK(plan(h, s).bytes_per_device[1] == 16 * layer);
  s.split = detail::llama_cpp::split_mode::layer;
  s.device_memory[0] = std::uint64_t{24} * gib;
  s.device_memory[1] = std::uint64_t{8} * gib;
  CHECK(plan(h, s).layers_per_device[0] == 13);
  CHECK(detail::llama_cpp::plan_of_layer(h, s, 13).device == 1);
}

TEST_CASE("llama.cpp: the largest n_ctx, against a plain search") {
  metadata gemma = model("gemma3", 12, 4, 1, 64);
  gemma.sliding_window = 300;
  metadata hybrid = model("qwen35", 8, 4, 2, 64);
  hybrid.ssm_conv_kernel = 4;
  hybrid.ssm_inner_size = 256;
  hybrid.ssm_state_size = 16;
  hybrid.ssm_group_count = 2;
  metadata v4 = model("deepseek4", 3, 4, 1, 64);
  v4.sliding_window = 128;
  v4.indexer_key_length = 32;
  v4.compress_ratios = detail::llama_cpp::per_layer::empty_list();
  for (const std::uint32_t ratio : {0U, 4U, 128U}) v4.compress_ratios.push_back(ratio);
  for (const metadata& m : {model("llama", 2, 4, 2, 64), gemma, hybrid, v4}) {
    const hparams h = load_hparams(m);
    for (const std::uint32_t sequences : {1U, 3U}) {
      for (const bool unified : {false, true}) {
        settings s = at(0);
        s.n_seq_max = sequences;
        s.kv_unified = unified;
        s.devices = 2;
        s.one_output_per_sequence = true;
        constexpr std::uint32_t top = 2600;
        std::vector<std::uint64_t> total(top + 1), second(top + 1);
        for (std::uint32_t n = 1; n <= top; ++n) {
          s.n_ctx = n;
          const auto p = plan(h, s);
          total[n] = p.total_bytes;
          second[n] = p.bytes_per_device[1];
        }
        for (std::uint64_t budget = total[1] - 1; budget < total[top]; budget += 1 + total[top] / 23) {
          const auto search = [&](const std::vector<std::uint64_t>& curve, std::uint64_t limit) {
            std::uint32_t n = 0;
            while (n < top && curve[n + 1] <= limit) ++n;
            return n;
          };
          const auto found = detail::llama_cpp::max_n_ctx(h, s, bytes(budget));
          REQUIRE(found.value == search(total, budget));
          REQUIRE(found.none == (found.value == 0));
          const bytes per_device[] = {bytes::max(), bytes(budget / 2)};
          const auto on_second = detail::llama_cpp::max_n_ctx_on_devices(h, s, per_device);
          if (on_second.value <= top) REQUIRE(on_second.value == search(second, budget / 2));
        }
      }
    }
  }
  // A model without a cache that grows takes every n_ctx the engine accepts.
  metadata mamba = model("mamba", 4, 0, 0, 0);
  mamba.embedding_length = 32;
  mamba.ssm_conv_kernel = 4;
  mamba.ssm_inner_size = 64;
  mamba.ssm_state_size = 16;
  CHECK(detail::llama_cpp::max_n_ctx(load_hparams(mamba), at(0), bytes(1U << 20U)).value == 4'294'967'040U);
}

namespace {

/// Every key that changes a cache somewhere, at once.
metadata with_every_key(const char* architecture) {
  metadata m = model(architecture, 8, 4, 2, 64);
  m.feed_forward_length = 0;
  m.sliding_window_pattern = detail::llama_cpp::per_layer::empty_list();
  m.compress_ratios = m.indexer_types = m.recurrent_layers = detail::llama_cpp::per_layer::empty_list();
  m.head_count_kv = detail::llama_cpp::per_layer::empty_list();
  for (std::uint32_t il = 0; il < 8; ++il) {
    m.sliding_window_pattern.push_back(il % 2);
    m.compress_ratios.push_back(architecture == std::string("dflash") ? 0U : il % 2 == 0 ? 4U : 128U);
    m.indexer_types.push_back(il % 4 < 2);
    m.recurrent_layers.push_back(il % 2 == 0);
    const bool by_heads = m.architecture->recurrent == detail::llama_cpp::recurrent_rule::no_kv_heads ||
                          m.architecture->recurrent == detail::llama_cpp::recurrent_rule::no_kv_heads_no_ffn;
    m.head_count_kv.push_back(il % 4 != 0 || !by_heads ? 2 : 0);
  }
  m.sliding_window = 300;
  m.key_length_mla = m.value_length_mla = 96;
  m.kv_lora_rank = 64;
  m.leading_dense_block_count = 3;
  m.full_attention_interval = 2;
  m.ssm_conv_kernel = 4;
  m.ssm_inner_size = 512;
  m.ssm_state_size = 16;
  m.ssm_group_count = 2;
  m.kda_head_dim = 32;
  m.shortconv_l_cache = 3;
  m.wkv_head_size = 64;
  m.indexer_key_length = 32;
  m.indexer_top_k = 8;
  m.indexer_kpool = 4;
  m.hyper_connection_count = 2;
  m.num_loops = 2;
  m.ple_layer = 0;
  m.ple_ngram_size = 3;
  m.ple_conv_kernel = 4;
  return m;
}

}  // namespace

TEST_CASE("llama.cpp: a key that an architecture's loader does not read changes nothing") {
  // The keys, what else they may be, and who reads them (load_arch_hparams of src/models/*.cpp).
  using change = void (*)(metadata&);
  struct row {
    change to;
    std::string readers;
  };
  const std::string mamba =
      " mamba2 plamo2 falcon-h1 granitehybrid nemotron_h nemotron_h_moe qwen3next qwen35 qwen35moe qwen4exp ";
  const std::string kda = " bailingmoe3 kimi-linear kimi-k3 glm5-next ";
  const std::string latent = " deepseek2 mistral4 deepseek32 dots3note glm-dsa hy_v4" + kda;
  const row rows[] = {
      {[](metadata& m) { m.num_loops = 3; }, " nanbeige "},
      {[](metadata& m) { m.kda_head_dim = 64; }, kda},
      {[](metadata& m) { m.shortconv_l_cache = 5; }, " lfm2 lfm2moe "},
      {[](metadata& m) { m.wkv_head_size = 32; }, " rwkv6 rwkv6qwen2 rwkv7 arwkv7 "},
      {[](metadata& m) { m.token_shift_count = 1; }, " rwkv6 rwkv6qwen2 rwkv7 arwkv7 "},
      {[](metadata& m) { m.ssm_conv_kernel = 6; }, " mamba jamba" + mamba + kda},
      {[](metadata& m) { m.ssm_inner_size = 1024; }, " mamba jamba" + mamba},
      {[](metadata& m) { m.ssm_state_size = 64; }, " mamba jamba" + mamba},
      {[](metadata& m) { m.ssm_group_count = 4; }, mamba},
      {[](metadata& m) { m.key_length_mla = m.value_length_mla = 0; }, latent},
      {[](metadata& m) { m.kv_lora_rank = 128; }, ""},  // V is not kept beside a latent
      {[](metadata& m) { m.indexer_key_length = 64; },
       " deepseek32 deepseek4 dots3note glm-dsa glm5-next hy_v4 minimax-m3 qwen4exp "},
      {[](metadata& m) { m.indexer_types = 1; }, " dots3note glm-dsa glm5-next hy_v4 "},
      {[](metadata& m) { m.indexer_kpool = 0; }, " glm5-next "},
      {[](metadata& m) { m.leading_dense_block_count = 1; }, " minimax-m3 "},
      {[](metadata& m) { m.ple_conv_kernel = 6; }, " qwen4exp "},
      {[](metadata& m) { m.shared_kv_layers = 2; }, " gemma4 "},
      {[](metadata& m) {
         m.compress_ratios = detail::llama_cpp::per_layer::empty_list();
         for (int i = 0; i < 8; ++i) m.compress_ratios.push_back(4);
       },
       " deepseek4 dflash "},
      {[](metadata& m) { m.recurrent_layers = 1; }, " minimax-01 qwen3next qwen35 qwen35moe qwen4exp "},
  };
  settings s = at(2048);
  s.n_ubatch = 64;
  std::size_t planned = 0;
  for (const detail::llama_cpp::architecture& a : detail::llama_cpp::architectures) {
    const std::string name(a.name);
    const hparams h = load_hparams(with_every_key(name.c_str()));
    const detail::llama_cpp::context_plan p = plan(h, s);
    INFO(name << " " << detail::llama_cpp::describe(p.refused, h, s));
    // Seven layers of gemma3n and gemma4 cannot share; a draft needs its target.
    if (p.refused) {
      CHECK((name == "gemma3n" || name == "gemma4" || name == "gemma4-assistant"));
      continue;
    }
    ++planned;
    for (const row& r : rows) {
      metadata changed = with_every_key(name.c_str());
      r.to(changed);
      const hparams other = load_hparams(changed);
      const detail::llama_cpp::context_plan q = plan(other, s);
      const bool same = !q.refused && q.total_bytes == p.total_bytes &&
                        detail::llama_cpp::log_lines(other, s, q) == detail::llama_cpp::log_lines(h, s, p);
      CAPTURE(r.readers);
      CHECK(same == (r.readers.find(" " + name + " ") == std::string::npos));
    }
  }
  CHECK(planned > 125);
}

TEST_CASE("llama.cpp: more sequences than outputs of a batch") {
  const hparams h = load_hparams(model("ernie4_5", 5, 1, 2, 72));
  settings s = detail::llama_cpp::settings();
  s.n_ctx = 4096;
  s.n_batch = 64;
  s.n_seq_max = 64;
  CHECK(!plan(h, s).refused);
  s.n_seq_max = 65;
  CHECK(plan(h, s).refused.reason == refusal_reason::n_seq_max_over_outputs);
  s.one_output_per_sequence = true;  // llama-server asks for min(n_batch, n_parallel) outputs
  CHECK(plan(h, s).refused.reason == refusal_reason::n_seq_max_over_outputs);
  s.n_batch = 2048;
  s.n_ctx = 64;  // the batch is limited by the context, what the server asks for is not
  CHECK(!plan(h, s).refused);
  s.one_output_per_sequence = false;
  CHECK(detail::llama_cpp::describe(plan(h, s).refused, h, s).find("65 exceeds the 64 outputs") != std::string::npos);
  s.n_ctx = 4096;
  s.n_batch = 0;
  CHECK(plan(h, s).refused.reason == refusal_reason::n_seq_max_over_outputs);
}

TEST_CASE("llama.cpp: a draft on a DeepSeek-V4 backbone keeps its window only") {
  metadata m = model("dflash", 4, 8, 1, 32);
  m.key_length = m.value_length = 64;
  m.sliding_window = 64;
  m.hyper_connection_count = 2;
  settings s = at(4096);
  const auto p = plan(load_hparams(m), s);
  REQUIRE(p.caches.size() == 2);
  CHECK(p.caches[0].layers == 0);
  CHECK(p.caches[1].layers == 4);
  CHECK(p.caches[1].cells == 768);  // 64 + 512, padded
  CHECK(p.total_bytes == 4U * 768 * 64 * 2 * 2);
  m.compress_ratios = 4;
  CHECK(load_hparams(m).refused.key == "attention.compress_ratios");
  m.compress_ratios = detail::llama_cpp::per_layer();
  m.sliding_window.reset();
  CHECK(load_hparams(m).refused.reason == refusal_reason::missing_key);
  m.hyper_connection_count = 0;
  CHECK(plan(load_hparams(m), s).caches.size() == 1);
  m.sliding_window = 64;  // the pattern must be in the file then
  CHECK(load_hparams(m).refused.key == "attention.sliding_window_pattern");
}

TEST_CASE("llama.cpp: sizes of 0 are refused by their keys") {
  const auto key = [](const metadata& m) { return std::string(load_hparams(m).refused.key); };
  metadata m = model("llama", 2, 4, 2, 64);
  CHECK(key(m).empty());
  m.embedding_length = 0;  // from which the size of a head is taken
  CHECK(key(m) == "attention.key_length");
  m = model("llama", 2, 0, 2, 64);
  m.embedding_length = 256;
  CHECK(key(m) == "attention.head_count");
  CHECK(key(model("llama", 2, 4, 0, 64)) == "attention.head_count_kv");
  CHECK(key(model("falcon-h1", 2, 4, 0, 64)) == "attention.head_count_kv");
  m = model("llama", 2, 4, 2, 64);
  m.key_length = 0;
  CHECK(key(m) == "attention.key_length");
  m.key_length = 64;
  m.value_length = 0;
  CHECK(key(m) == "attention.value_length");
  m = model("mamba", 2, 0, 0, 0);
  m.embedding_length = 64;
  CHECK(key(m) == "ssm.conv_kernel");
  m.ssm_conv_kernel = 4;
  CHECK(key(m) == "ssm.inner_size");
  m.ssm_inner_size = 128;
  CHECK(key(m) == "ssm.state_size");
  m.architecture = find_architecture("rwkv7");
  CHECK(key(m) == "wkv.head_size");
  m.architecture = find_architecture("lfm2");
  CHECK(key(m) == "shortconv.l_cache");
  m.shortconv_l_cache = 3;
  m.embedding_length = 0;
  CHECK(key(m) == "embedding_length");
  m.architecture = find_architecture("kimi-linear");
  CHECK(key(m) == "kda.head_dim");
  m = model("nanbeige", 2, 4, 2, 64);
  m.num_loops = 0;
  CHECK(key(m) == "num_loops");
  m = with_every_key("qwen35");
  m.recurrent_layers = detail::llama_cpp::per_layer();
  m.full_attention_interval = 0;
  CHECK(key(m) == "full_attention_interval");
}

TEST_CASE("llama.cpp: lines that the engine prints when it creates a cache") {
  const auto lines = [](const metadata& m, const settings& s) {
    const hparams h = load_hparams(m);
    const auto p = plan(h, s);
    INFO(detail::llama_cpp::describe(p.refused, h, s));
    REQUIRE(!p.refused);
    return detail::llama_cpp::log_lines(h, s, p);
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& line) {
    return std::find(all.begin(), all.end(), line) != all.end();
  };
  settings s = at(4096);
  s.n_seq_max = 3;
  CHECK(lines(model("llama", 2, 4, 2, 64), s).front() ==
        "llama_context: n_ctx is not divisible by n_seq_max - rounding down to 4608");
  s = at(4096);
  s.swa_full = true;
  metadata gemma = model("gemma3", 12, 4, 1, 64);
  gemma.sliding_window = 300;
  CHECK(has(lines(gemma, s),
            "llama_kv_cache_iswa: using full-size SWA cache (ref: https://github.com/ggml-org/llama.cpp/"
            "pull/13194#issuecomment-2868343055)"));
  s.swa_full = false;
  CHECK(!has(lines(gemma, s),
             "llama_kv_cache_iswa: using full-size SWA cache (ref: https://github.com/ggml-org/llama.cpp/"
             "pull/13194#issuecomment-2868343055)"));
  metadata deci = model("deci", 2, 4, 2, 64);
  deci.head_count_kv = detail::llama_cpp::per_layer::empty_list();
  deci.head_count_kv.push_back(2);
  deci.head_count_kv.push_back(4);
  const std::string padding =
      "llama_kv_cache: the V embeddings have different sizes across layers and FA is not enabled - "
      "padding V cache to 256";
  CHECK(!has(lines(deci, s), padding));
  s.flash_attn = detail::llama_cpp::flash_attention::off;
  CHECK(has(lines(deci, s), padding));
  s = at(4096);

  auto v4 = lines(with_every_key("deepseek4"), s);
  CHECK(has(v4, "llama_kv_cache_dsv4: creating DSV4 raw KV cache"));
  CHECK(has(v4, "llama_kv_cache_dsv4: creating DSV4 HCA compressed KV cache, size = 32 cells"));
  CHECK(has(v4, "llama_kv_cache_dsv4: creating DSV4 lightning-indexer compressor state"));
  CHECK(has(v4, "llama_dsv4_comp_state:        CPU DSV4 csa state buffer size =     0.03 MiB"));
  CHECK(std::count_if(v4.begin(), v4.end(), [](const std::string& l) { return l.find(" KV buffer size") != l.npos; }) ==
        4);
  const auto dots = lines(with_every_key("dots3note"), s);
  CHECK(has(dots, "llama_kv_cache_dsa_iswa: creating DSA KV cache, size = 4096 cells"));
  CHECK(has(dots, "llama_kv_cache_dsa: creating main KV cache, size = 4096 cells"));
  CHECK(has(dots, "llama_kv_cache_dsa: creating indexer KV cache, size = 4096 cells"));
  CHECK(has(dots, "llama_kv_cache_dsa_iswa: creating SWA KV cache, size = 1024 cells"));
  CHECK(
      has(lines(with_every_key("minimax-m3"), s), "llama_kv_cache_msa: creating indexer KV cache, size = 4096 cells"));
  CHECK(has(lines(with_every_key("deepseek32"), s), "llama_kv_cache_dsa: creating main KV cache, size = 4096 cells"));
  CHECK(has(lines(with_every_key("qwen4exp"), s), "operator(): creating indexer KV cache, size = 4096 cells"));
}

TEST_CASE("llama.cpp: what other readers of a config.json refuse") {
  const auto of = [](const std::string& more) {
    return evaluate_error(
        (R"({"architectures": ["Olmo3ForCausalLM"], "model_type": "olmo3", "hidden_size": 256, "num_hidden_layers": 2,
      "num_attention_heads": 4, "max_position_embeddings": 4096, "sliding_window": 128)" +
         more + "}")
            .c_str(),
        json::object());
  };
  CHECK(of(R"(, "num_key_value_heads": 2, "layer_types": ["sliding_attention", "full_attention"])") == nullptr);
  CHECK(of(R"(, "num_key_value_heads": 0)")["pointer"] == "/num_key_value_heads");
  CHECK(of(R"(, "num_key_value_heads": 2, "layer_types": ["sliding_attention"])")["pointer"] == "/layer_types");
  CHECK(of(R"(, "num_key_value_heads": 2, "layer_types": ["sliding_attention", "sliding"])")["pointer"] ==
        "/layer_types/1");
  CHECK(of(R"(, "num_key_value_heads": 2, "sliding_window": -1)")["pointer"] == "/sliding_window");
  // Also where the converter does not look at it.
  CHECK(evaluate_error(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
                          "sliding_window": -4})",
                       json::object())["pointer"] == "/sliding_window");
}

TEST_CASE("llama.cpp: every option changes something, is refused, or a note says that it does not") {
  const std::pair<const char*, json> options[] = {{"n_batch", 128},
                                                  {"n_ubatch", 64},
                                                  {"n_seq_max", 2},
                                                  {"type_k", "q8_0"},
                                                  {"type_v", "bf16"},
                                                  {"flash_attn", "off"},
                                                  {"kv_unified", true},
                                                  {"kv_unified", false},
                                                  {"swa_full", true},
                                                  {"offload_kqv", false},
                                                  {"n_rs_seq", 2},
                                                  {"ctx_type", "mtp"},
                                                  {"load_mtp", true},
                                                  {"n_gpu_layers", 1},
                                                  {"split_mode", "none"},
                                                  {"split_mode", "row"},
                                                  {"tensor_split", {3, 1}},
                                                  {"main_gpu", 1},
                                                  {"device_memory", {1000, 3000}},
                                                  {"n_ctx", 2048}};
  const char* const configs[] = {
      tiny_llama, R"({"architectures": ["MambaForCausalLM"], "model_type": "mamba", "num_hidden_layers": 2,
    "hidden_size": 64, "vocab_size": 100})",
      R"({"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "num_hidden_layers": 4,
    "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "sliding_window": 512})"};
  for (const char* const config : configs) {
    for (const char* const defaults : {"server", "c_api"}) {
      for (const int devices : {0, 1, 2}) {
        json asked = {{"defaults", defaults}, {"devices", devices}};
        const auto before = evaluate(config, asked);
        for (const auto& [name, value] : options) {
          json more = asked;
          more[name] = value;
          CAPTURE(config, more);
          const auto after = evaluate(config, more);
          bool noted = false;
          for (const std::string& n : after.notes) noted = noted || n.find(std::string(name) + " has no effect") == 0;
          const bool default_value = before.settings().contains(name) && before.settings()[name] == value;
          CHECK((after.figures() != before.figures() || noted || default_value));
        }
      }
    }
  }
}

TEST_CASE("llama.cpp: a multi-query file without its number of KV heads") {
  const char* const falcon = R"({"architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": 4544,
    "num_hidden_layers": 2, "num_attention_heads": 71, "multi_query": true, "new_decoder_architecture": false})";
  const auto e = evaluate(falcon, {{"n_ctx", 256}});
  CHECK(e.figures()["k_bytes"] == 2 * 256 * 64 * 2);
  CHECK(
      std::any_of(e.notes.begin(), e.notes.end(), [](const std::string& n) { return n.find("states 71") != n.npos; }));
}

TEST_CASE("llama.cpp: log lines") {
  const hparams h = load_hparams(model("llama", 28, 24, 8, 128));  // Llama 3.2 3B
  settings s = at(4096);
  s.type_k = q5_1;
  const auto lines = detail::llama_cpp::log_lines(h, s, plan(h, s));
  CHECK(lines.back() ==
        "llama_kv_cache: size =  308.00 MiB (  4096 cells,  28 layers,  1/1 seqs), K (q5_1):   84.00 MiB, "
        "V (f16):  224.00 MiB");
  CHECK(lines[lines.size() - 2] == "llama_kv_cache:        CPU KV buffer size =   308.00 MiB");
  CHECK(lines.front() == "llama_context: n_seq_max             = 1");

  metadata q = model("qwen35", 65, 24, 4, 256);
  q.nextn_predict_layers = 1;
  q.ssm_conv_kernel = 4;
  q.ssm_inner_size = 6144;
  q.ssm_state_size = 128;
  q.ssm_group_count = 16;
  settings r = at(131'072);
  r.n_seq_max = 4;
  r.kv_unified = true;
  const hparams hq = load_hparams(q);
  CHECK(detail::llama_cpp::log_lines(hq, r, plan(hq, r)).back() ==
        "llama_memory_recurrent: size =  598.50 MiB (     4 cells,  64 layers,  4 seqs  0 rs_seq), "
        "R (f32):   22.50 MiB, S (f32):  576.00 MiB, P (f32):    0.00 MiB");
}

TEST_CASE("llama.cpp: options") {
  const auto error = [](const json& options) { return evaluate_error(tiny_llama, options); };
  CHECK(evaluate(tiny_llama, {{"n_ctx", 1024}}).figures()["total_bytes"] == 1024 * 1024);
  CHECK(evaluate(tiny_llama, {{"ctx-size", 1024}, {"cache-type-k", "q8_0"}}).figures()["k_bytes"] == 1024 * 2 * 136);
  CHECK(evaluate(tiny_llama, {{"n_ctx", nullptr}, {"defaults", "c_api"}}).figures()["n_ctx"] == 512);
  CHECK(evaluate(tiny_llama, {{"defaults", "command_line"}}).figures()["n_ctx"] == 4096);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}}).figures()["n_seq_max"] == 4);
  CHECK(evaluate(tiny_llama, json::object()).figures() == evaluate(tiny_llama, {{"defaults", "server"}}).figures());
  CHECK(evaluate(tiny_llama, json::object()).settings()["defaults"] == "server");
  CHECK(evaluate(tiny_llama, json::object()).settings()["swa_full"] == false);
  CHECK(evaluate(tiny_llama, json::object()).notes.at(0).find("llama-server") != std::string::npos);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}}).settings()["kv_unified"] == true);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}, {"parallel", 2}}).settings()["kv_unified"] == false);
  CHECK(error({{"n_ctxx", 1}})["pointer"] == "n_ctxx");
  CHECK(error({{"n_ctxx", 1}})["what"].get<std::string>().find("kv_unified") != std::string::npos);
  CHECK(error({{"type_k", "q3_k"}})["what"].get<std::string>().find("iq4_nl") != std::string::npos);
  for (const json& bad : {json(-1), json(1.5), json("x"), json(4294967296), json(true)}) {
    CHECK(error({{"n_ctx", bad}})["pointer"] == "n_ctx");
  }
  CHECK(error({{"flash_attn", "maybe"}})["pointer"] == "flash_attn");
  CHECK(error({{"devices", 17}})["pointer"] == "devices");
  CHECK(error({{"tensor_split", {-1.0}}})["pointer"] == "tensor_split");
  CHECK(error({{"tensor_split", json::array({json::object()})}})["pointer"] == "tensor_split");
  CHECK(error({{"n_gpu_layers", 9007199254740992}})["pointer"] == "n_gpu_layers");
  CHECK(error({{"ctx-size", 1}, {"n_ctx", 2}})["problem"] == "given twice with different values");
  CHECK(error(json::array())["problem"] == "not an object");
  CHECK(error({{"split_mode", "tensor"}, {"devices", 2}})["pointer"] == "split_mode");
}

TEST_CASE("llama.cpp: configs that are not understood") {
  CHECK(evaluate_error(R"({"architectures": ["NoSuchForCausalLM"], "model_type": "llama"})", json::object())["value"] ==
        "\"NoSuchForCausalLM\"");
  CHECK(evaluate_error(R"({"model_type": "no_such"})", json::object())["value"] == "\"no_such\"");
  CHECK(evaluate_error("{}", json::object())["pointer"] == "/architectures");
  CHECK(evaluate_error("[]", json::object())["problem"] == "not a config");
  CHECK(evaluate_error(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": -1})",
                       json::object())["pointer"] == "/num_hidden_layers");
  CHECK(evaluate_error(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 65537})",
                       json::object())["pointer"] == "/num_hidden_layers");
  CHECK(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 600})", json::object()).refusal ==
        "block_count 600 is not between 1 and 512");
  CHECK(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 600})", json::object()).model_layers ==
        600);
  CHECK(evaluate_error(R"({"architectures": ["DFlashDraftModel"], "num_hidden_layers": 2})",
                       json::object())["pointer"] == "/architectures");
  CHECK(evaluate_error(R"({"general.architecture": "nonesuch", "nonesuch.block_count": 1})", json::object())["value"] ==
        "\"nonesuch\"");
  CHECK_THROWS_AS(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 2147483647,
                               "num_attention_heads": 1, "num_key_value_heads": 2147483647})",
                           {{"n_ctx", 1048576}}),
                  size_error);
}

TEST_CASE("llama.cpp: class defaults of transformers hold where the converter reads through them") {
  // Qwen3's head size is 128 unless the file says otherwise, whatever hidden_size / heads is.
  const auto qwen = evaluate(R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 2560,
    "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8})",
                             {{"n_ctx", 256}});
  CHECK(qwen.figures()["k_bytes"] == 256 * 8 * 128 * 2);
  // A type that transformers 4.57 does not know is read as the plain file.
  const auto error =
      evaluate_error(R"({"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text"})", json::object());
  CHECK(error["pointer"] == "/num_hidden_layers");
}

TEST_CASE("llama.cpp: measured cases, from the config and from GGUF metadata") {
  const detail::config::document cases =
      detail::config::read_document(std::string(KVBUDGET_SOURCE_DIR) + "/tests/data/llama_cpp.json");
  std::size_t from_gguf = 0;
  for (const json& one : cases.root) {
    const std::string id = one["id"];
    const detail::config::document by_config{one["config"], id};
    const detail::config::document by_gguf{one.value("gguf", json()), id};
    for (const json& run : one["runs"]) {
      INFO(id << " " << run["name"]);
      json settings = run["settings"];
      settings["defaults"] = "c_api";  // as they were measured
      const auto figures = detail::llama_cpp::evaluate(by_config, testing::asked(settings)).figures();
      REQUIRE(run["expect"].contains("error") == figures.contains("error"));
      if (!run["expect"].contains("error")) REQUIRE(run["expect"]["total_bytes"] == figures["total_bytes"]);
      if (by_gguf.root.is_null()) continue;
      ++from_gguf;
      REQUIRE(detail::llama_cpp::evaluate(by_gguf, testing::asked(settings)).figures() == figures);
    }
  }
  CHECK(from_gguf > 4000);
}
