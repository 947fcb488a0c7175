// Several plans together: ranges, sweeps, comparisons and the terms that make a difference.
#include "support/catch.hpp"

#include <kvbudget/input/document.hpp>
#include <kvbudget/kvbudget.hpp>
#include <kvbudget/report/comparison_words.hpp>
#include <kvbudget/report/sheet.hpp>

using namespace kvbudget;

namespace {

using strings = std::vector<std::string>;

located_config example(const std::string& name) {
  return locate_config(std::string(KVBUDGET_SOURCE_DIR) + "/examples/configs/" + name + ".json");
}

plan_question asked(const std::string& engine, std::uint64_t prompt, std::uint64_t sequences = 1) {
  plan_question q;
  q.engine = engine;
  q.work = workload{prompt, 0, sequences, {}};
  return q;
}

compared_plan compared(const std::string& model, const plan_question& q) {
  const auto located = example(model);
  named_plan made = try_plan(model + (q.engine == "none" ? "" : " (" + q.engine + ")"), located.file,
                             [&] { return make_plan(located, q); });
  return count_plan(located, q, std::move(made));
}

double product_of(const cache_difference& d) {
  double product = 1;
  for (const cache_difference::part& p : d.parts) product *= p.factor;
  return product;
}

strings terms_of(const cache_difference& d) {
  strings names;
  for (const cache_difference::part& p : d.parts) names.emplace_back(cache_term_names[p.term]);
  return names;
}

sweep_report sweep_of(const std::string& model, const plan_question& question, const strings& lengths) {
  const auto located = example(model);
  sweep_report r{"length", {{model, {}}}, ""};
  for (const std::string& value : lengths) {
    plan_question q = question;
    q.work->prompt = std::stoull(value);
    r.series[0].points.push_back({value, try_plan(model, located.file, [&] { return make_plan(located, q); })});
  }
  return r;
}

}  // namespace

TEST_CASE("ranges") {
  const auto range = [](const char* text) { return parse_range(text, "--over"); };
  CHECK(range("1024:8192") == strings{"1024", "2048", "4096", "8192"});
  CHECK(range("1024:10000") == strings{"1024", "2048", "4096", "8192", "10000"});
  CHECK(range("1:100:x10") == strings{"1", "10", "100"});
  CHECK(range("0:10:4") == strings{"0", "4", "8", "10"});
  CHECK(range("5:5") == strings{"5"});
  CHECK(range("0:0:1") == strings{"0"});
  CHECK(range("4096") == strings{"4096"});
  CHECK(range("bf16,q8_0") == strings{"bf16", "q8_0"});
  CHECK(range("8,4,8") == strings{"8", "4", "8"});
  CHECK(range("24GiB,80GB") == strings{"24GiB", "80GB"});
  CHECK(range("18446744073709551614:18446744073709551615") == strings{"18446744073709551614", "18446744073709551615"});
  CHECK(range("1:10000:1").size() == 10'000);
  for (const char* bad : {"", ",", "1,", "1::2", ":", "1:", ":2", "4:2", "0:4", "1:4:0", "1:4:x1", "0:4:x2", "1:4:x",
                          "1:2:3:4", "1:18446744073709551616", "1:10001:1", "1:18446744073709551615:1", "x:2"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(range(bad), usage_error);
  }
  CHECK_THROWS_AS(range(std::string(10'001, ',').c_str()), usage_error);
  CHECK(usual_lengths(131'072) == strings{"1024", "2048", "4096", "8192", "16384", "32768", "65536", "131072"});
  CHECK(usual_lengths(40'960).back() == "40960");
  CHECK(usual_lengths(512).front() == "1");
  CHECK(usual_lengths(1) == strings{"1"});
}

TEST_CASE("what a model is made for, and what it is called") {
  CHECK(longest_context(example("llama-3.1-8b")) == 131'072);
  CHECK(longest_context(example("deepseek-v3")) == 163'840);
  CHECK(longest_context(parse_config(R"({"model_type":"gpt2"})")) == 1024);  // the class's default
  CHECK(longest_context(parse_config(R"({"model_type":"gemma3","text_config":{"max_position_embeddings":777}})")) ==
        777);
  CHECK(longest_context(parse_config(
            R"({"general.architecture":"llama","llama.context_length":8192,"llama.block_count":1})")) == 8192);
  CHECK(longest_context(parse_config(R"({"model_type":"mamba"})")) == std::nullopt);
  CHECK(model_name("a/b/config.json") == "b");
  CHECK(model_name("a/llama-3.1-8b.json") == "llama-3.1-8b");
  CHECK(model_name("x/Qwen__Qwen3-8B_config.json") == "Qwen__Qwen3-8B");
  CHECK(model_name("x/model-Q4.gguf") == "model-Q4");
  CHECK(model_name("org/name@main") == "org/name@main");
  CHECK(model_name("folder///") == "folder");
  CHECK(model_name("-") == "standard input");
  CHECK(model_names({"a/m.json", "b/n.json"}) == strings{"m", "n"});
  CHECK(model_names({"a/m.json", "b/m.json"}) == strings{"a/m.json", "b/m.json"});
}

TEST_CASE("what is thrown about an input becomes the reason, and the worst_of counts") {
  const auto thrown = [](const auto& e) { return try_plan("n", "s", [&]() -> plan_report { throw e; }); };
  CHECK(thrown(usage_error({"", "o", "v"}, "p", "x")).result == outcome::wrong_usage);
  CHECK(thrown(config_error({"f", "/o", "v"}, "p", "x")).result == outcome::not_understood);
  CHECK(thrown(engine_refusal({"", "o", "v"}, "p", "x")).result == outcome::engine_refuses);
  CHECK(thrown(size_error(failure::overflow, "too large")).reason ==
        "n: too large: sizes and counts that together stay below 2^64 bytes");
  CHECK(thrown(config_error({"f", "/o", "v"}, "p", "x")).reason == "f: /o: v: p: x");
  CHECK_THROWS_AS(thrown(std::bad_alloc()), std::bad_alloc);
  CHECK(worst_of(outcome::answered, outcome::does_not_fit) == outcome::does_not_fit);
  CHECK(worst_of(outcome::engine_refuses, outcome::does_not_fit) == outcome::engine_refuses);
  CHECK(worst_of(outcome::engine_refuses, outcome::not_understood) == outcome::not_understood);
  CHECK(worst_of(outcome::wrong_usage, outcome::engine_refuses) == outcome::wrong_usage);
  CHECK(worst_of(outcome::answered, outcome::answered) == outcome::answered);
}

TEST_CASE("terms of a model whose layers are alike are what its config says") {
  const compared_plan p = compared("llama-3.1-8b", asked("none", 8192, 2));
  REQUIRE(p.counts);
  const cache_counts& c = *p.counts;
  CHECK(c.positions == 16'384);
  CHECK(c.layers == 32);
  CHECK(c.layer_positions == 16'384 * 32);
  CHECK(c.head_positions == 16'384 * 32 * 8);
  CHECK(c.elements == std::uint64_t{16'384} * 32 * 8 * 256);
  CHECK(c.position_bytes == std::uint64_t{16'384} * 131'072);
  CHECK(c.stored_bytes == 2'147'483'648);
  CHECK(c.allocated_bytes == 2'147'483'648);
  const double expected[] = {16'384, 32, 1, 8, 256, 2, 1, 1};
  for (std::size_t i = 0; i < 8; ++i) CHECK(p.value(i) == expected[i]);
}

TEST_CASE("terms of layers that differ are means over what they keep") {
  // 21 of 42 layers keep 4096 of 8192 positions.
  CHECK(compared("gemma-2-9b-it", asked("none", 8192)).value(2) == 0.75);
  CHECK(compared("gemma-2-9b-it", asked("none", 4096)).value(2) == 1);
  // A latent counts as one head of 512 + 64.
  CHECK(compared("deepseek-v3", asked("none", 100)).value(3) == 1);
  CHECK(compared("deepseek-v3", asked("none", 100)).value(4) == 576);
  // 12 layers of attention, 36 with a state of 2,162,688 bytes.
  const compared_plan hybrid = compared("qwen3-next-80b-a3b", asked("none", 8192));
  CHECK(hybrid.value(1) == 12);
  CHECK(hybrid.counts->stored_bytes - hybrid.counts->position_bytes == 77'856'768);
}

TEST_CASE("the ratio is the product of the terms that differ") {
  for (const char* const engine : {"none", "transformers", "llama.cpp", "vllm"}) {
    for (const char* const model : {"llama-3.1-8b", "gemma-2-9b-it", "deepseek-v3", "qwen3-next-80b-a3b"}) {
      for (const std::uint64_t n : {1U, 1000U, 8192U}) {
        CAPTURE(engine, model, n);
        const cache_difference d =
            difference_of(compared(model, asked(engine, n, 3)), compared("llama-3.1-8b", asked("none", 5000)));
        CHECK(std::fabs(product_of(d) / d.ratio - 1) < 1e-12);
      }
    }
  }
}

TEST_CASE("the term that makes the difference") {
  const comparison c = compare(
      {compared("llama-3.1-8b", asked("none", 8192)), compared("gemma-2-9b-it", asked("none", 8192)),
       compared("llama-3.1-8b", asked("transformers", 8192)), compared("gemma-2-9b-it", asked("llama.cpp", 8192))});
  REQUIRE(c.differences.size() == 3);
  const cache_difference& gemma = c.differences[0];
  CHECK(terms_of(gemma) ==
        strings{"layers that keep positions", "share of positions kept", "elements of K and V per head"});
  CHECK(std::string(cache_term_names[gemma.parts[gemma.largest].term]) == "elements of K and V per head");
  CHECK(gemma.ratio == 1.96875);
  CHECK(
      detail::words(c, gemma) ==
      "gemma-2-9b-it takes 1.96875 times what llama-3.1-8b takes (1.969 GiB against 1.000 GiB): layers that keep "
      "positions "
      "42 against 32 (x 1.3125), share of positions kept 75 % against 100 % (x 0.75), elements of K and V per head 512 "
      "against 256 (x 2). First to differ: layers that keep positions; most of it: elements of K and V per head.");
  CHECK(detail::words(c, c.differences[1]) ==
        "llama-3.1-8b (transformers) takes what llama-3.1-8b takes (1.000 GiB against "
        "1.000 GiB): every term is the same.");
  // llama-server keeps the window and a batch, rounded up.
  CHECK(detail::words(c.plans[3]) ==
        "gemma-2-9b-it (llama.cpp): against the bare tensors x 1.04167: sliding_attention x 1.125");
  CHECK(detail::words(c.plans[0]).empty());
}

TEST_CASE("element types differ in one term, and an engine without sizes counts all its sequences") {
  plan_question quantized = asked("llama.cpp", 8192, 4);
  quantized.types = {q8_0, q4_0};
  const comparison c = compare({compared("llama-3.1-8b", asked("llama.cpp", 8192, 4)),
                                compared("llama-3.1-8b", quantized), compared("llama-3.1-8b", asked("vllm", 8192, 4))});
  REQUIRE(c.differences.size() == 2);
  CHECK(terms_of(c.differences[0]) == strings{"bytes per element"});
  CHECK(c.differences[0].ratio == (34.0 + 18.0) / 128);  // blocks of 32 elements: 34 and 18 bytes against 64 each
  CHECK(c.differences[1].ratio == 1);
}

TEST_CASE("a cache of states alone has no terms of positions") {
  const auto located =
      parse_config(R"({"model_type":"mamba","dtype":"float32","num_hidden_layers":2,"hidden_size":8})", "mamba");
  const plan_question q = asked("none", 100);
  const compared_plan mamba = count_plan(located, q, try_plan("mamba", "mamba", [&] { return make_plan(located, q); }));
  REQUIRE(mamba.counts);
  CHECK_FALSE(mamba.has_positions());
  const comparison c = compare({compared("llama-3.1-8b", q), mamba});
  REQUIRE(c.differences.size() == 1);
  CHECK(c.differences[0].only_bytes);
  CHECK(detail::words(c, c.differences[0]).find("the former keeps states alone") != std::string::npos);
  CHECK(to_csv(c).find("mamba,none,") != std::string::npos);
}

TEST_CASE("a plan whose bare tensors are unknown stays, and says so") {
  const auto located =
      parse_config(R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","num_hidden_layers":2,)"
                   R"("hidden_size":256,"num_attention_heads":4,"max_position_embeddings":4096,)"
                   R"("intermediate_size":512,"vocab_size":1000})",
                   "silent");
  plan_question q = asked("vllm", 100);
  q.options = {{"kv_cache_dtype", "fp8_e5m2"}};
  const compared_plan known = count_plan(located, q, try_plan("fp8", "silent", [&] { return make_plan(located, q); }));
  CAPTURE(known.result.reason);
  REQUIRE(known.counts);
  CHECK(known.value(5) == 1);
  plan_question bare = asked("none", 100);
  bare.types = {q8_0, q4_0};
  const comparison c =
      compare({count_plan(located, bare, try_plan("bare", "silent", [&] { return make_plan(located, bare); }))});
  CHECK(to_csv(c).find("\nbare,none,q8_0,q4_0,") != std::string::npos);
  detail::config::json root = located.config->root;
  root["model_type"] = "unheard_of";
  root["architectures"] = {"UnheardOfForCausalLM"};
  const located_config other = parse_config(root.dump());
  const compared_plan unknown = count_plan(other, q, try_plan("fp8", "silent", [&] { return make_plan(located, q); }));
  CHECK_FALSE(unknown.counts);
  CHECK(unknown.result.result == outcome::answered);
  CHECK(unknown.result.reason.find("no terms: ") == 0);
  CHECK(to_table(compare({unknown})).find("  no terms: ") != std::string::npos);
}

TEST_CASE("a comparison in its forms") {
  const auto located = example("llama-3.1-8b");
  plan_question wrong = asked("vllm", 8192);
  wrong.types = {q8_0, q8_0};
  compared_plan refused =
      count_plan(located, wrong, try_plan("llama (vllm)", "llama", [&] { return make_plan(located, wrong); }));
  CHECK(refused.result.result != outcome::answered);
  const comparison c =
      compare({refused, compared("llama-3.1-8b", asked("none", 8192)), compared("gemma-2-9b-it", asked("none", 8192))});
  REQUIRE(c.differences.size() == 1);
  CHECK(c.differences[0].against == 1);
  const detail::config::json j = to_json(c);
  CHECK(j["schema"] == "kvbudget.compare/1");
  CHECK(j["plans"].size() == 3);
  CHECK(j["plans"][0]["error"] == refused.result.reason);
  CHECK(j["plans"][1]["schema"] == "kvbudget.plan/1");
  CHECK(j["plans"][1]["counts"]["allocated_bytes"] == 1'073'741'824);
  CHECK(j["plans"][2]["kinds"][0] == detail::config::json{{"kind", "sliding_attention"},
                                                          {"stored_bytes", 704'643'072},
                                                          {"allocated_bytes", 704'643'072.0}});
  CHECK(j["differences"][0]["first"] == "layers that keep positions");
  CHECK(j["differences"][0]["largest"] == "elements of K and V per head");
  CHECK(to_table(c).find("wrong usage: ") != std::string::npos);
  CHECK(to_markdown(c).find("| llama-3.1-8b |") != std::string::npos);
}

TEST_CASE("a sweep in its forms") {
  const sweep_report r = sweep_of("gemma-2-9b-it", asked("none", 1), {"1024", "4096", "8192"});
  CHECK(to_csv(r) ==
        "model,engine,length,cache_bytes,cache_gib,device,device_cache_bytes,weights_bytes,overhead_bytes,total_bytes,"
        "usable_bytes,fits,max_length,max_sequences,reason\n"
        "gemma-2-9b-it,none,1024,352321536,0.328125,,,,,,,,,,\n"
        "gemma-2-9b-it,none,4096,1409286144,1.312500,,,,,,,,,,\n"
        "gemma-2-9b-it,none,8192,2113929216,1.968750,,,,,,,,,,\n");
  CHECK(to_table(r) ==
        "model        gemma-2-9b-it: gemma2, 42 layers, GQA\n"
        "engine       bare tensors of the stored positions; 1 sequence\n\n"
        "length    cache bytes      cache\n"
        " 1,024    352,321,536  0.328 GiB\n"
        " 4,096  1,409,286,144  1.312 GiB\n"
        " 8,192  2,113,929,216  1.969 GiB\n");
  CHECK(to_markdown(r) ==
        "bare tensors of the stored positions; 1 sequence\n\n"
        "| length | cache bytes | cache |\n| ---: | ---: | ---: |\n| 1,024 | 352,321,536 | 0.328 GiB |\n"
        "| 4,096 | 1,409,286,144 | 1.312 GiB |\n| 8,192 | 2,113,929,216 | 1.969 GiB |\n");
  const detail::config::json j = to_json(r);
  CHECK(j["schema"] == "kvbudget.sweep/1");
  CHECK(j["plans"].size() == 3);
  CHECK(j["plans"][1]["schema"] == "kvbudget.plan/1");
  CHECK(j["plans"][1]["cache"]["total_bytes"] == 1'409'286'144);
  CHECK(j["plans"][1]["swept"] ==
        detail::config::json{{"option", "length"}, {"value", 4096}, {"series", "gemma-2-9b-it"}});
  const plot p = to_plot(r);
  CHECK(p.title == "KV cache of gemma-2-9b-it against context length");
  CHECK(p.areas.empty());
  REQUIRE(p.lines.size() == 1);
  CHECK(p.lines[0].points[2].y == 1.96875);
}

TEST_CASE("a sweep on a device is a stack below its limit, and a plan that fails is a row") {
  plan_question q = asked("none", 1, 4);
  q.devices = {device_budget{24_GiB, {9, 10}, 8_GiB, 1_GiB, {0, 1}}};
  q.weights = q.overhead = evidence::given;
  sweep_report r = sweep_of("llama-3.1-8b", q, {"8192", "32768"});
  r.series[0].points.push_back({"65536", try_plan("x", "x", []() -> plan_report {
                                  throw engine_refusal({"", "n", "65536"}, "longer than it serves", "less");
                                })});
  CHECK(r.series[0].points[1].result.result == outcome::does_not_fit);
  const plot p = to_plot(r);
  REQUIRE(p.areas.size() == 3);
  CHECK(p.areas[0].name == "weights");
  CHECK(p.areas[2].points.size() == 2);
  CHECK(p.areas[2].points[1].y == 16);
  REQUIRE(p.limits.size() == 1);
  CHECK(p.limits[0].name == "usable: 21.60 GiB");
  CHECK(to_csv(r).find(
            "llama-3.1-8b,none,32768,17179869184,16.000000,,,8589934592,1073741824,26843545600,23192823398,0,") !=
        std::string::npos);
  CHECK(to_csv(r).find("llama-3.1-8b,,65536,,,,,,,,,,,,n: 65536: longer than it serves: less\n") != std::string::npos);
  CHECK(to_json(r)["plans"][2]["error"] == "n: 65536: longer than it serves: less");
  CHECK(to_table(r).find("refused: n: 65536") != std::string::npos);
}

TEST_CASE("values that are no numbers stand side by side; a limit that moves is a line") {
  const auto located = example("llama-3.1-8b");
  sweep_report r{"device", {{"llama", {}}}, ""};
  for (const char* const size : {"24GiB", "80GB"}) {
    plan_question q = asked("none", 8192);
    q.devices = {device_budget{parse_bytes(size), {1, 1}, 8_GiB, 0_B, {0, 1}}};
    q.weights = evidence::given;
    r.series[0].points.push_back({size, try_plan("llama", "llama", [&] { return make_plan(located, q); })});
  }
  const plot p = to_plot(r);
  CHECK(p.x_names == strings{"24GiB", "80GB"});
  CHECK(p.limits.empty());
  REQUIRE(p.lines.size() == 1);
  CHECK(p.lines[0].name == "usable");
  CHECK(p.areas[1].name == "overhead: not given");
  CHECK(to_json(r)["plans"][0]["swept"]["value"] == "24GiB");
}

TEST_CASE("tables quote what needs it") {
  detail::sheet s;
  s.columns = {{"a", "A", false}, {"b", "B"}, {"c", "C"}};
  s.rows = {{{"x,\"y\"", "x|y"}, {"1", "1"}, {}}, {{"line\nbreak", "z"}, {"22", "22"}, {}}};
  CHECK(s.csv() == "a,b,c\n\"x,\"\"y\"\"\",1,\n\"line\nbreak\",22,\n");
  CHECK(s.markdown() == "| A | B |\n| --- | ---: |\n| x\\|y | 1 |\n| z | 22 |\n");
  CHECK(s.text() == "A     B\nx|y   1\nz    22\n");
}
