// Questions about whole plans: devices, placements, cases, prefixes, movement. Numbers by hand.
#include "evaluating.hpp"

#include <fstream>

#include <kvbudget/kvbudget.hpp>

using namespace kvbudget;
using namespace kvbudget::literals;

namespace {

// 4 layers, 4096 bytes a position and layer in bf16.
constexpr const char* dense = R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "head_dim": 128,
  "num_attention_heads": 16, "num_key_value_heads": 8, "max_position_embeddings": 4096, "vocab_size": 1000,
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"})";
constexpr std::uint64_t position = 4 * 4096;

located_config located(const char* text) { return parse_config(text); }

plan_question question(std::uint64_t prompt, std::uint64_t generated, std::uint64_t sequences) {
  plan_question q;
  q.work = workload{prompt, generated, sequences, {}};
  return q;
}

device_budget device_of(bytes capacity) {
  device_budget d;
  d.capacity = capacity;
  return d;
}

/// A model of four layers in one safetensors file: the header alone counts, the data are a hole.
std::string weights_file() {
  detail::config::json header;
  std::uint64_t at = 0;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
    std::uint64_t size = 2;
    for (const std::uint64_t n : shape) size *= n;
    header[name] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {at, at + size}}};
    at += size;
  };
  add("model.embed_tokens.weight", {1000, 64});
  for (int i = 0; i < 4; ++i) {
    add("model.layers." + std::to_string(i) + ".self_attn.q_proj.weight", {64, 64});
    add("model.layers." + std::to_string(i) + ".input_layernorm.weight", {64});
  }
  add("model.norm.weight", {64});
  add("lm_head.weight", {1000, 64});
  const std::string path = "plan_weights.safetensors";
  const std::string text = header.dump();
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>((text.size() >> (8 * i)) & 0xff));
  out << text;
  out.seekp(static_cast<std::streamoff>(8 + text.size() + at - 1));
  out.put(0);
  return path;
}

}  // namespace

TEST_CASE("every device is reported, and the tightest decides") {
  plan_question q = question(900, 100, 2);
  q.where.pipeline_parallel = 2;
  q.where.stage_layers = {3, 1};
  q.devices = {device_of(bytes(2 * 1000 * 3 * 4096)), device_of(bytes(2 * 1000 * 4096 + 5))};
  const plan_report fits = make_plan(located(dense), q);
  REQUIRE(fits.budget->fits);
  CHECK(fits.answer.total_bytes == 2 * 1000 * position);
  CHECK(fits.budget->devices[0].cache_bytes == checked_count(2U * 1000 * 3 * 4096));
  CHECK(fits.budget->devices[1].cache_bytes == checked_count(2U * 1000 * 4096));
  CHECK(fits.budget->tightest == 0);
  CHECK(fits.budget->max_length->value == 1000);
  q.devices[1] = device_of(bytes(2 * 1000 * 4096 - 1));
  const plan_report small = make_plan(located(dense), q);
  CHECK_FALSE(small.budget->fits);
  CHECK(small.budget->tightest == 1);
  CHECK(small.budget->binding == "the cache does not fit beside weights and overhead on device 1");
  CHECK(small.budget->max_length->value == 999);
}

TEST_CASE("one size of a device stands for all; another number of sizes is refused") {
  plan_question q = question(900, 100, 2);
  q.where.tensor_parallel = 4;
  q.devices = {device_of(1_GiB)};
  CHECK(make_plan(located(dense), q).budget->devices.size() == 4);
  q.devices.resize(3, device_of(1_GiB));
  CHECK(testing::error_of<usage_error>([&] { (void)make_plan(located(dense), q); }).problem() ==
        "the plan has 4 devices");
}

TEST_CASE("placements that a model or an engine does not allow") {
  const auto refused = [](const std::string& engine, auto change) {
    plan_question q = question(900, 100, 2);
    q.engine = engine;
    change(q.where);
    return testing::error_of<usage_error>([&] { (void)make_plan(located(dense), q); }).pointer();
  };
  CHECK(refused("none", [](auto& w) { w.tensor_parallel = 3; }) == "tensor-parallel");
  CHECK(refused("none", [](auto& w) { w.pipeline_parallel = 3; }) == "pipeline-parallel");
  CHECK(refused("none", [](auto& w) { w.host_layers = 5; }) == "host-layers");
  CHECK(refused("none", [](auto& w) {
          w.pipeline_parallel = 2;
          w.stage_layers = {1, 2};
        }) == "stage-layers");
  CHECK(refused("none", [](auto& w) { w.tensor_parallel = w.data_parallel = 1000; }) == "placement");
  CHECK(refused("transformers", [](auto& w) { w.tensor_parallel = 2; }) == "tensor-parallel");
  CHECK(refused("llama.cpp", [](auto& w) { w.tensor_parallel = 2; }) == "tensor-parallel");
  CHECK(refused("llama.cpp", [](auto& w) { w.data_parallel = 2; }) == "data-parallel");
  CHECK(refused("vllm", [](auto& w) { w.context_parallel = 2; }) == "context-parallel");
  CHECK(refused("vllm", [](auto& w) { w.host_layers = 2; }) == "host-layers");
}

TEST_CASE("layers on the host take nothing of the device") {
  plan_question q = question(900, 100, 2);
  q.where.host_layers = 3;
  q.devices = {device_of(bytes(2 * 1000 * 4096))};
  plan_report r = make_plan(located(dense), q);
  CHECK(r.budget->fits);
  CHECK(r.budget->devices.size() == 1);
  CHECK(r.answer.devices[1].name == "host");
  CHECK(r.answer.devices[1].bytes == 2 * 1000 * 3 * 4096);
  q.host = device_of(bytes(2 * 1000 * 3 * 4096 - 1));
  r = make_plan(located(dense), q);
  CHECK_FALSE(r.budget->fits);
  CHECK(r.budget->devices[r.budget->tightest].name == "host");
}

TEST_CASE("a share of overhead is of weights plus cache, so that the inverse divides by 1 + p") {
  plan_question q = question(100, 0, 1);
  device_budget d = device_of(bytes(10'000'000));
  d.utilization = {9, 10};
  d.weights = bytes(5'000'000);
  d.overhead_share = {20, 100};
  q.devices = {d};
  q.co_residents = {{"draft", bytes(600'000)}};
  const plan_report r = make_plan(located(dense), q);
  CHECK(r.budget->available_for_cache() == bytes((9'000'000 - 600'000) * 10 / 12 - 5'000'000));
  CHECK(r.budget->max_length->value == 2'000'000 / position);
}

TEST_CASE("cases: usual, long, most at once; computed, observed or untested") {
  plan_question q = question(900, 100, 2);
  q.devices = {device_of(bytes(3000 * position))};
  q.cases = {{"usual", q.work, {}},
             {"long", workload{2900, 100, 2, {}}, {}},
             {"concurrent", {}, {}},
             {"measured", q.work, {bytes(3000 * position + 1)}}};
  const plan_report r = make_plan(located(dense), q);
  REQUIRE(r.cases.size() == 4);
  CHECK(r.cases[0].rests_on == evidence::computed);
  CHECK(r.cases[0].cache_bytes == 2000 * position);
  CHECK(r.cases[0].fits == true);
  CHECK(r.cases[1].cache_bytes == 6000 * position);
  CHECK(r.cases[1].fits == false);
  CHECK(r.cases[2].rests_on == evidence::untested);
  CHECK(!r.cases[2].fits);
  CHECK(r.cases[3].rests_on == evidence::observed);
  CHECK(r.cases[3].cache_bytes == 3000 * position + 1);
  CHECK(r.cases[3].fits == false);
}

TEST_CASE("a measured cache takes the place of the computed one, device by device") {
  plan_question q = question(900, 100, 2);
  q.where.tensor_parallel = 2;
  q.devices = {device_of(bytes(1000))};
  q.observed_cache = {bytes(1000), bytes(1001)};
  const plan_report r = make_plan(located(dense), q);
  CHECK(r.cache == evidence::observed);
  CHECK(r.answer.total_bytes == 2001);
  CHECK(r.budget->devices[0].fits);
  CHECK_FALSE(r.budget->devices[1].fits);
  q.observed_cache.pop_back();
  CHECK(testing::error_of<usage_error>([&] { (void)make_plan(located(dense), q); }).pointer() == "observed");
}

TEST_CASE("a prefix in common is counted once, in whole blocks where the engine has blocks") {
  plan_question q = question(900, 100, 5);
  q.shared_prefix = 500;
  q.devices = {device_of(bytes(4000 * position))};
  const plan_report bare = make_plan(located(dense), q);
  CHECK(bare.prefix->common_bytes == 500 * position);
  CHECK(bare.prefix->separate_bytes == 5000 * position);
  CHECK(bare.prefix->together_bytes == 3000 * position);
  CHECK(bare.prefix->max_sequences->value == 7);  // 500 + 7 x 500

  q.engine = "vllm";
  q.devices = {device_of(bytes(16 * 1000 * position))};  // 1,000 blocks of 16, one of them the null block
  const plan_report vllm = make_plan(located(dense), q);
  CHECK(vllm.answer.figures()["num_blocks"] == 1000);
  CHECK(vllm.prefix->common_bytes == 31 * 16 * position);  // 496 of 500
  CHECK(vllm.prefix->separate_bytes == 5 * 63 * 16 * position);
  CHECK(vllm.prefix->max_sequences->value == (999 - 31) / (63 - 31));
  q.options["enable_prefix_caching"] = false;
  CHECK(make_plan(located(dense), q).prefix->common_bytes == 0);

  q = question(900, 100, 5);
  q.shared_prefix = 901;
  CHECK(testing::error_of<usage_error>([&] { (void)make_plan(located(dense), q); }).problem() ==
        "longer than the prompt");
  q.shared_prefix = 100;
  q.engine = "transformers";
  CHECK_FALSE(make_plan(located(dense), q).prefix);
}

TEST_CASE("movement: a sequence elsewhere, and the cache through the processor at every step") {
  plan_question q = question(900, 100, 4);
  q.transfer_bandwidth = bytes(1000 * position);
  q.memory_bandwidth = bytes(5000 * position);
  device_budget d = device_of(1_GiB);
  d.weights = bytes(1000 * position);
  q.devices = {d};
  q.weights = evidence::given;
  const plan_report r = make_plan(located(dense), q);
  CHECK(r.movement->sequence_bytes == 1000 * position);
  CHECK(*r.movement->transfer_seconds == 1.0);
  CHECK(r.movement->read_bytes_per_step == 5000 * position);
  CHECK(*r.movement->max_tokens_per_second == 4.0);
  CHECK(r.movement->token_computations == 999);
  CHECK(r.movement->token_computations_without_cache == 900 * 100 + 99 * 100 / 2);
  q.weights = evidence::untested;
  CHECK_FALSE(make_plan(located(dense), q).movement->max_tokens_per_second);
  q.transfer_bandwidth = bytes();
  CHECK(testing::error_of<usage_error>([&] { (void)make_plan(located(dense), q); }).pointer() == "transfer-bandwidth");
}

TEST_CASE("weights of files on the devices of a placement") {
  const model_weights files = read_weights(weights_file());
  constexpr std::uint64_t embedding = 1000 * 64 * 2, matrix = 64 * 64 * 2, norm = 64 * 2;
  CHECK(files.total_bytes == 2 * embedding + 4 * (matrix + norm) + norm);
  plan_question q = question(10, 10, 1);
  q.files = files;
  q.devices = {device_of(1_GiB)};
  plan_report r = make_plan(located(dense), q);
  CHECK(r.weights == evidence::computed);
  CHECK(r.budget->devices[0].budget.weights == bytes(files.total_bytes));

  q.where.pipeline_parallel = 2;
  q.where.stage_layers = {1, 3};
  r = make_plan(located(dense), q);
  CHECK(r.budget->devices[0].budget.weights == bytes(embedding + matrix + norm));
  CHECK(r.budget->devices[1].budget.weights == bytes(embedding + 3 * (matrix + norm) + norm));

  q.where = {};
  q.where.tensor_parallel = 2;
  r = make_plan(located(dense), q);
  CHECK(r.weights == evidence::estimated);
  CHECK(r.budget->devices[1].budget.weights == bytes((2 * embedding + 4 * matrix) / 2 + 5 * norm));

  q.where = {};
  q.where.host_layers = 2;
  q.host = device_of(1_GiB);
  r = make_plan(located(dense), q);
  CHECK(r.budget->devices[1].budget.weights == bytes(2 * (matrix + norm)));
  CHECK(r.budget->devices[0].budget.weights == bytes(files.total_bytes - 2 * (matrix + norm)));

  // llama.cpp counts the output layer as the fifth: 3 of 5 on the first of two GPUs; the embedding stays on the host.
  q.where = {};
  q.where.pipeline_parallel = 2;
  q.engine = "llama.cpp";
  r = make_plan(located(dense), q);
  CHECK(r.budget->devices[0].budget.weights == bytes(3 * (matrix + norm)));
  CHECK(r.budget->devices[1].budget.weights == bytes(matrix + norm + embedding + norm));
  CHECK(r.budget->devices[2].budget.weights == bytes(embedding));
}

TEST_CASE("vLLM on stages of different memory, and on replicas") {
  plan_question q = question(900, 100, 2);
  q.engine = "vllm";
  q.where.pipeline_parallel = 2;
  q.devices = {device_of(bytes(16 * 500 * position)), device_of(bytes(16 * 300 * position))};
  plan_report r = make_plan(located(dense), q);
  CHECK(r.answer.figures()["num_blocks"] == 600);  // each stage has half of the layers
  CHECK(r.budget->tightest == 1);
  q.where = {};
  q.where.data_parallel = 2;
  r = make_plan(located(dense), q);
  CHECK(r.answer.figures()["num_blocks"] == 500);
  CHECK(r.budget->max_sequences->value == 9);  // dealt: 5 and 4, and the second replica holds 299 / 63 = 4
  CHECK(r.answer.total_bytes == 16 * 800 * position);
}

TEST_CASE("devices by name") {
  CHECK(find_device("h100 pcie", "device").name == "NVIDIA H100 PCIe 80GB");
  CHECK(find_device("NVIDIA GeForce RTX 4090", "device").usable_bytes == 25426206392);
  CHECK(find_device("rtx4090", "device").name == find_device("RTX 4090", "device").name);
  CHECK(testing::error_of<usage_error>([] { (void)find_device("H100", "device"); }).expected() ==
        "one of NVIDIA H100 PCIe 80GB, NVIDIA H100 SXM5 80GB, NVIDIA H100 NVL 94GB");
  CHECK(testing::error_of<usage_error>([] { (void)find_device("abacus", "device"); }).problem() ==
        "neither a size nor a known device");
  for (const known_device& d : known_devices) {
    CHECK(d.usable_bytes > (1ULL << 32U));
    CHECK((d.nominal_gib == 0 || d.usable_bytes <= (d.nominal_gib << 30U) + (1ULL << 30U)));
    CHECK(!d.source.empty());
  }
}

// ---- a workload in an engine's pool ---------------------------------------------------------------------------------

namespace {

located_config llama_8b() { return locate_config(KVBUDGET_SOURCE_DIR "/examples/configs/llama-3.1-8b.json"); }

std::uint64_t sum_of_layers(const engine_answer& e) {
  std::uint64_t sum = 0;
  for (const layer_bytes& l : e.layers) sum += l.k_bytes + l.v_bytes + l.other_bytes;
  return sum;
}

std::uint64_t sum_of_pools(const engine_answer& e) {
  std::uint64_t sum = 0;
  for (const pool_bytes& p : e.pools) sum += p.bytes;
  return sum;
}

}  // namespace

TEST_CASE("without a device every request of the workload counts in vLLM's pool") {
  plan_question q = question(8192, 0, 32);
  q.engine = "vllm";
  const plan_report r = make_plan(llama_8b(), q);
  CHECK(r.answer.total_bytes == 34'359'738'368);  // 32 x 512 blocks x 2 MiB
  CHECK(sum_of_layers(r.answer) == r.answer.total_bytes);
  CHECK(sum_of_pools(r.answer) == r.answer.total_bytes);
  CHECK(r.answer.devices[0].bytes == r.answer.total_bytes);
  CHECK_FALSE(r.budget);

  q.work = workload{0, 0, 2, {1000, 2000}};
  CHECK(make_plan(llama_8b(), q).answer.total_bytes == 394'264'576);  // 63 + 125 blocks

  q.work = workload{1024, 0, 100, {}};
  for (const std::uint64_t replicas : {1U, 2U, 3U}) {
    q.where.data_parallel = replicas;
    const plan_report divided = make_plan(llama_8b(), q);
    CHECK(divided.answer.total_bytes == 13'421'772'800);
    CHECK(sum_of_layers(divided.answer) == 13'421'772'800);
    CHECK(sum_of_pools(divided.answer) == 13'421'772'800);
    CHECK(divided.answer.devices.size() == replicas);
    CHECK(workload_bytes(divided) == 13'421'772'800);
  }
}

TEST_CASE("a pool whose size is known has a verdict without any device") {
  plan_question q = question(2000, 500, 1600);
  q.engine = "vllm";
  q.options["available_memory"] = 54'000'000'000;
  plan_report r = make_plan(llama_8b(), q);
  REQUIRE(r.budget);
  CHECK(r.budget->devices.empty());
  CHECK(fits(r) == false);
  CHECK(outcome_of(r) == outcome::does_not_fit);
  CHECK(r.budget->max_sequences == limit{164, false, false});
  q.work->sequences = 164;
  r = make_plan(llama_8b(), q);
  CHECK(fits(r) == true);
  CHECK(outcome_of(r) == outcome::answered);
}

TEST_CASE("the engine's limit and the length of the requests are two things") {
  plan_question q = question(1500, 1000, 200);
  q.engine = "vllm";
  q.options["max_model_len"] = 131'072;
  q.options["available_memory"] = 64 * gib;
  plan_report r = make_plan(llama_8b(), q);
  CHECK(r.answer.settings()["max_model_len"] == 131'072);
  CHECK(r.budget->max_sequences == limit{208, false, false});  // 32,767 blocks of 157 each
  CHECK(workload_bytes(r) == 200U * 157U * 2U * mib);
  CHECK(fits(r) == true);
  q.work->prompt = 131'072;
  CHECK_THROWS_AS(make_plan(llama_8b(), q), usage_error);
}

TEST_CASE("per token and per sequence are of all ranks, as the cache beside them is") {
  plan_question q = question(8192, 0, 1);
  q.types.k = q.types.v = bf16;
  for (const char* const engine : {"none", "vllm"}) {
    q.engine = engine;
    q.where.tensor_parallel = 16;  // 8 heads, each on two ranks
    const plan_report r = make_plan(llama_8b(), q);
    CHECK(r.answer.bytes_per_token == 262'144U);
    CHECK(r.answer.total_bytes == 8192U * 262'144U);
  }
}

TEST_CASE("what was not given is untested, and never fits") {
  plan_question q = question(1000, 0, 1);
  q.devices = {device_of(24_GiB)};
  const plan_report r = make_plan(located(dense), q);
  CHECK(r.budget->fits);  // of what is known
  CHECK_FALSE(fits(r));
  CHECK(outcome_of(r) == outcome::answered);
  q.devices = {device_of(bytes(1000 * position - 1))};
  CHECK(fits(make_plan(located(dense), q)) == false);
  q.devices = {device_of(24_GiB)};
  q.devices[0].weights = 8_GiB;
  q.weights = evidence::given;
  CHECK(fits(make_plan(located(dense), q)) == true);
}

TEST_CASE("limits are not computed beside a cache that was observed") {
  plan_question q = question(1000, 0, 1);
  q.devices = {device_of(24_GiB)};
  q.weights = evidence::given;
  q.observed_cache = {30_GiB};
  const plan_report r = make_plan(located(dense), q);
  CHECK(fits(r) == false);
  CHECK_FALSE(r.budget->max_sequences);
  CHECK_FALSE(r.budget->max_length);
  q.engine = "llama.cpp";  // one GPU, and a host that holds nothing
  CHECK(fits(make_plan(located(dense), q)) == false);
}

TEST_CASE("more positions than the model is made for are said to be") {
  const auto says = [](const char* engine, std::uint64_t length) {
    plan_question q = question(length, 0, 1);
    q.engine = engine;
    for (const std::string& note : make_plan(located(dense), q).answer.notes) {
      if (note.find("longer than the 4096 that the model is made for") != note.npos) return true;
    }
    return false;
  };
  for (const char* const engine : {"none", "transformers", "llama.cpp"}) {
    CAPTURE(engine);
    CHECK(says(engine, 4097));
    CHECK_FALSE(says(engine, 4096));
  }
}

TEST_CASE("a type that only engines know is answered as llama.cpp caches it, and says so") {
  const char* const text = R"({"model_type": "baichuan", "architectures": ["BaichuanForCausalLM"],
    "num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 8, "intermediate_size": 2048,
    "max_position_embeddings": 4096, "vocab_size": 1000, "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16"})";
  const plan_report r = make_plan(located(text), question(10, 0, 1));
  CHECK(r.answer.total_bytes == 10U * 2U * 4096U);
  CHECK(r.answer.notes.front().find("llama.cpp") != std::string::npos);
  CHECK_THROWS_AS(
      make_plan(located(R"({"model_type": "nobody_knows", "num_hidden_layers": 2, "torch_dtype": "bfloat16"})"),
                question(10, 0, 1)),
      config_error);
}

TEST_CASE("a cache that the engine allocates whatever is asked of it must fit as well") {
  plan_question q;
  q.engine = "llama.cpp";
  q.options["n_ctx"] = 131'072;
  q.devices = {device_of(24_GiB)};
  q.devices[0].weights = 16_GB;
  q.weights = evidence::given;
  const plan_report r = make_plan(llama_8b(), q);
  CHECK(r.answer.total_bytes == 16 * gib);
  CHECK(r.budget->devices[0].cache_bytes == checked_count(16 * gib));
  CHECK(fits(r) == false);
}

TEST_CASE("replicas of vLLM with requests of different lengths: each holds those that are dealt to it") {
  const auto verdict = [](std::vector<std::uint64_t> lengths) {
    plan_question q;
    q.engine = "vllm";
    q.work = workload{0, 0, lengths.size(), std::move(lengths)};
    q.where.data_parallel = 2;
    q.devices = {device_of(24_GB)};
    q.devices[0].weights = 16_GB;
    q.weights = evidence::given;
    return fits(make_plan(llama_8b(), q));
  };
  // 3,813 usable blocks of 16 tokens in each
  CHECK(verdict({1000, 50'000, 1000}) == true);
  CHECK(verdict({50'000, 50'000, 1000}) == true);
  CHECK(verdict({50'000, 1000, 50'000}) == false);
}

TEST_CASE("a known device is the engine's device too, and a size says nothing of its kind") {
  const auto device = [](const char* name) {
    plan_question q = question(1000, 0, 1);
    q.engine = "vllm";
    q.devices = {device_of(24_GiB)};
    q.device_name = name;
    return make_plan(llama_8b(), q).answer.settings()["device"];
  };
  CHECK(device("NVIDIA GeForce RTX 4090") == "sm89 24GB");
  CHECK(device("NVIDIA T4") == "sm90 80GB");
  CHECK(device("") == "sm90 80GB");
  CHECK_THROWS_AS(find_device("M1", "device"), usage_error);  // and not the SXM of 141 GB
}
