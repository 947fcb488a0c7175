// llama.cpp: rules with exact numbers, refusals, options, log lines, the inverse against a plain search.
#include "support/catch.hpp"

#include <kvbudget/config/llama_cpp.hpp>

using namespace kvbudget;
using config::json;
using llama_cpp::find_architecture;
using llama_cpp::hparams;
using llama_cpp::metadata;
using llama_cpp::refusal_reason;
using llama_cpp::settings;

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
  settings s = llama_cpp::command_line_settings();
  s.n_ctx = n_ctx;
  return s;
}

config::evaluation evaluate(const char* config_text, const json& options) {
  return llama_cpp::evaluate(config::parse_document(config_text, "config.json"), options);
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
    m.sliding_window_pattern = llama_cpp::per_layer::empty_list();
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
    n.sliding_window_pattern = llama_cpp::per_layer::empty_list();
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
  CHECK(p.caches[1].layers == 21);            // only every fourth layer has an indexer since GLM 5.2
  CHECK(p.caches[1].k_bytes == 22'020'096);
  settings s = at(4096);
  s.ctx_type = llama_cpp::context_type::mtp;
  CHECK(plan(h, s).total_bytes == 4'718'592);
  s = at(4096);
  s.type_k = q8_0;
  CHECK(plan(h, s).refused.reason == refusal_reason::different_kv_types);
  CHECK(llama_cpp::describe(plan(h, s).refused, h, s) ==
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
  CHECK(states.recurrent.r_bytes == 23'592'960);   // printed by an engine as 22.50 MiB
  CHECK(states.recurrent.s_bytes == 603'979'776);  // 576.00 MiB
  q.architecture = find_architecture("qwen3next");  // takes no snapshots
  CHECK(plan(load_hparams(q), r).n_rs_seq == 0);
}

TEST_CASE("llama.cpp: DeepSeek-V4 keeps a window, compressed keys and compressor states") {
  metadata m = model("deepseek4", 3, 64, 1, 112);
  m.key_length = m.value_length = 512;
  m.sliding_window = 128;
  m.indexer_key_length = 128;
  m.compress_ratios = llama_cpp::per_layer::empty_list();
  for (const std::uint32_t ratio : {0U, 4U, 128U}) m.compress_ratios.push_back(ratio);
  const hparams h = load_hparams(m);
  settings s = at(32'768);
  const auto p = plan(h, s);
  REQUIRE(p.caches.size() == 5);
  CHECK(p.caches[1].cells == 768);    // 128 + 512, padded
  CHECK(p.caches[1].layers == 3);
  CHECK(p.caches[2].cells == 8192);   // csa
  CHECK(p.caches[3].cells == 256);    // hca
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
  CHECK(reason(h, s) == llama_cpp::refusal{refusal_reason::k_block_does_not_divide_head, 32, 80});
  CHECK(llama_cpp::describe(reason(h, s), h, s) ==
        "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80");
  s.flash_attn = llama_cpp::flash_attention::off;  // without it the head is not looked at, only the row of 160
  CHECK(reason(h, s).reason == refusal_reason::none);
  const hparams one = load_hparams(model("llama", 2, 4, 1, 80));
  CHECK(reason(one, s) == llama_cpp::refusal{refusal_reason::row_is_not_whole_blocks, 32, 80});
  s.type_k = f16;
  s.type_v = q8_0;
  CHECK(reason(h, s).reason == refusal_reason::quantized_v_needs_flash_attn);
  s.flash_attn = llama_cpp::flash_attention::automatic;
  CHECK(reason(h, s).reason == refusal_reason::v_block_does_not_divide_head);
  s = at(512);
  s.type_v = q8_0;
  CHECK(reason(load_hparams(model("grok", 2, 4, 2, 64)), s).reason == refusal_reason::quantized_v_needs_flash_attn);
  s = at(512);
  s.n_seq_max = 257;
  CHECK(reason(h, s).reason == refusal_reason::n_seq_max_too_large);
  s = at(512);
  s.ctx_type = llama_cpp::context_type::mtp;
  CHECK(reason(h, s).reason == refusal_reason::no_mtp_layers);
  s = at(512);
  s.split = llama_cpp::split_mode::tensor;
  s.devices = 2;
  CHECK(reason(load_hparams(model("jamba", 2, 4, 2, 64)), s).reason == refusal_reason::split_mode_tensor_unsupported);
  s.split = llama_cpp::split_mode::none;
  s.main_gpu = 2;
  CHECK(reason(h, s).reason == refusal_reason::main_gpu_out_of_range);
  CHECK(load_hparams(model("llama", 513, 4, 2, 80)).refused.reason == refusal_reason::block_count_out_of_range);
  CHECK(load_hparams(model("llama", 0, 4, 2, 80)).refused.reason == refusal_reason::block_count_out_of_range);
  metadata lists = model("llama", 3, 4, 2, 80);
  lists.head_count_kv = llama_cpp::per_layer::empty_list();
  lists.head_count_kv.push_back(1);
  CHECK(load_hparams(lists).refused.reason == refusal_reason::wrong_array_length);
  CHECK(llama_cpp::log_lines(one, s, plan(h, s)).empty());
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
  s.split = llama_cpp::split_mode::none;
  s.main_gpu = 1;
  CHECK(plan(h, s).bytes_per_device[1] == 16 * layer);
  s.split = llama_cpp::split_mode::layer;
  s.device_memory[0] = std::uint64_t{24} * gib;
  s.device_memory[1] = std::uint64_t{8} * gib;
  CHECK(plan(h, s).layers_per_device[0] == 13);
  CHECK(llama_cpp::plan_of_layer(h, s, 13).device == 1);
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
  v4.compress_ratios = llama_cpp::per_layer::empty_list();
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
          const auto found = llama_cpp::max_n_ctx(h, s, bytes(budget));
          REQUIRE(found.value == search(total, budget));
          REQUIRE(found.none == (found.value == 0));
          const bytes per_device[] = {bytes::max(), bytes(budget / 2)};
          const auto on_second = llama_cpp::max_n_ctx_on_devices(h, s, per_device);
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
  CHECK(llama_cpp::max_n_ctx(load_hparams(mamba), at(0), bytes(1U << 20U)).value == 4'294'967'040U);
}

TEST_CASE("llama.cpp: log lines") {
  const hparams h = load_hparams(model("llama", 28, 24, 8, 128));  // Llama 3.2 3B
  settings s = at(4096);
  s.type_k = q5_1;
  const auto lines = llama_cpp::log_lines(h, s, plan(h, s));
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
  CHECK(llama_cpp::log_lines(hq, r, plan(hq, r)).back() ==
        "llama_memory_recurrent: size =  598.50 MiB (     4 cells,  64 layers,  4 seqs  0 rs_seq), "
        "R (f32):   22.50 MiB, S (f32):  576.00 MiB, P (f32):    0.00 MiB");
}

TEST_CASE("llama.cpp: options") {
  const auto error = [](const json& options) { return evaluate_error(tiny_llama, options); };
  CHECK(evaluate(tiny_llama, {{"n_ctx", 1024}}).figures["total_bytes"] == 1024 * 1024);
  CHECK(evaluate(tiny_llama, {{"ctx-size", 1024}, {"cache-type-k", "q8_0"}}).figures["k_bytes"] == 1024 * 2 * 136);
  CHECK(evaluate(tiny_llama, {{"n_ctx", nullptr}, {"defaults", "c_api"}}).figures["n_ctx"] == 512);
  CHECK(evaluate(tiny_llama, {{"defaults", "command_line"}}).figures["n_ctx"] == 4096);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}}).figures["n_seq_max"] == 4);
  CHECK(evaluate(tiny_llama, json::object()).figures == evaluate(tiny_llama, {{"defaults", "server"}}).figures);
  CHECK(evaluate(tiny_llama, json::object()).settings["defaults"] == "server");
  CHECK(evaluate(tiny_llama, json::object()).settings["swa_full"] == false);
  CHECK(evaluate(tiny_llama, json::object()).notes.at(0).find("llama-server") != std::string::npos);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}}).settings["kv_unified"] == true);
  CHECK(evaluate(tiny_llama, {{"defaults", "server"}, {"parallel", 2}}).settings["kv_unified"] == false);
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
  CHECK(evaluate_error(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": -1})", json::object())["pointer"] ==
        "/num_hidden_layers");
  CHECK(evaluate_error(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 65537})", json::object())["pointer"] ==
        "/num_hidden_layers");
  CHECK(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 600})", json::object()).refusal ==
        "block_count 600 is not between 1 and 512");
  CHECK(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 600})", json::object()).model_layers == 600);
  CHECK(evaluate_error(R"({"architectures": ["DFlashDraftModel"], "num_hidden_layers": 2})", json::object())["pointer"] ==
        "/architectures");
  CHECK(evaluate_error(R"({"general.architecture": "nonesuch", "nonesuch.block_count": 1})", json::object())["value"] ==
        "\"nonesuch\"");
  CHECK_THROWS_AS(evaluate(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 2147483647,
                               "num_attention_heads": 1, "num_key_value_heads": 2147483647})", {{"n_ctx", 1048576}}),
                  size_error);
}

TEST_CASE("llama.cpp: class defaults of transformers hold where the converter reads through them") {
  // Qwen3's head size is 128 unless the file says otherwise, whatever hidden_size / heads is.
  const auto qwen = evaluate(R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 2560,
    "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8})", {{"n_ctx", 256}});
  CHECK(qwen.figures["k_bytes"] == 256 * 8 * 128 * 2);
  // A type that transformers 4.57 does not know is read as the plain file.
  const auto error = evaluate_error(R"({"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text"})", json::object());
  CHECK(error["pointer"] == "/num_hidden_layers");
}

TEST_CASE("llama.cpp: measured cases, from the config and from GGUF metadata") {
  const config::document cases = config::read_document(std::string(KVBUDGET_SOURCE_DIR) + "/tests/data/llama_cpp.json");
  std::size_t from_gguf = 0;
  for (const json& one : cases.root) {
    const std::string id = one["id"];
    const config::document by_config{one["config"], id};
    const config::document by_gguf{one.value("gguf", json()), id};
    for (const json& run : one["runs"]) {
      INFO(id << " " << run["name"]);
      json settings = run["settings"];
      settings["defaults"] = "c_api";  // as they were measured
      const auto figures = llama_cpp::evaluate(by_config, settings).figures;
      REQUIRE(run["expect"].contains("error") == figures.contains("error"));
      if (!run["expect"].contains("error")) REQUIRE(run["expect"]["total_bytes"] == figures["total_bytes"]);
      if (by_gguf.root.is_null()) continue;
      ++from_gguf;
      REQUIRE(llama_cpp::evaluate(by_gguf, settings).figures == figures);
    }
  }
  CHECK(from_gguf > 4000);
}
