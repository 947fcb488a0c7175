// GGUF as a config: the file gives what the config.json gives, in llama.cpp and without an engine.
#include "support/asking.hpp"
#include "support/catch.hpp"
#include "support/weight_files.hpp"

#include <cstdlib>
#include <set>
#include <sstream>

#include <kvbudget/input/gguf_document.hpp>
#include <kvbudget/engines/llama_cpp/evaluate.hpp>
#include <kvbudget/engines/engines.hpp>
#include <kvbudget/engines/none/evaluate.hpp>
#include <kvbudget/input/locate.hpp>

using namespace kvbudget;
using detail::config::document;
using detail::config::json;
using testing::temporary_folder;

namespace {

/// The keys that a loader must find, whatever they are for. Values of memory are the test's own.
json completed(json metadata) {
  using namespace detail::llama_cpp;
  const std::string name = metadata["general.architecture"];
  const auto add = [&](std::string_view word) {
    const std::string_view key = bare_key(word);
    const std::string full = name + "." + std::string(key);
    const std::string_view type = type_of_key(key);
    if (type == "f32" && metadata.contains(full)) metadata[full] = metadata[full].get<double>();
    if (key == word || metadata.contains(full)) return false;
    if (key == "rope.dimension_sections") metadata[full] = {1, 1, 1, 1};
    else if (type.front() == '[') metadata[full] = json::array({1, 1, 1});
    else if (type == "bool") metadata[full] = true;
    else if (type.substr(0, 3) == "f32") metadata[full] = 0.5;
    else metadata[full] = 1;
    return false;
  };
  any_word(keys_of_all_loaders, add);
  any_word(keys_of_loader(name), add);
  add("attention.layer_norm_rms_epsilon!");
  add("attention.q_lora_rank!");
  add("feed_forward_length!");
  if (!metadata.contains(name + ".expert_used_count") && metadata.contains(name + ".expert_count"))
    add("expert_used_count!");
  return metadata;
}

/// The metadata of a case as a converter writes them: the architecture is named.
json with_architecture(json gguf) {
  const document d{gguf, ""};
  gguf["general.architecture"] = *detail::llama_cpp::gguf_architecture(detail::config::node(d));
  return completed(gguf);
}

document read_back(const json& metadata) {
  const std::string file = testing::gguf_file(metadata, {}, 0);
  std::istringstream stream(file);
  return detail::config::read_gguf_document(stream, file.size(), "model.gguf");
}

json answer_of(const document& d, const json& settings) {
  try {
    return detail::llama_cpp::evaluate(d, testing::asked(settings)).figures();
  } catch (const input_error& e) {
    return e.problem();
  }
}

struct counted {
  std::size_t cases = 0;
  std::size_t runs = 0;
  std::set<std::string> architectures;
};

/// Metadata written, read, and planned with the settings of every run (of every `step`th), against the same from the
/// config.json.
void compare_case(const json& one, counted& n, std::size_t step) {
  if (!one.contains("gguf")) return;
  const document packed{one["gguf"], ""};
  if (!detail::llama_cpp::gguf_architecture(detail::config::node(packed))) return;  // only the layer counts of a split
  const json written = with_architecture(one["gguf"]);
  const document from_file = read_back(written);
  const document from_config{one["config"], "config.json"};
  CAPTURE(one["id"]);
  ++n.cases;
  n.architectures.insert(written["general.architecture"].get<std::string>());
  std::set<std::string> differing;
  for (const auto& entry : written.items()) {
    const json& read = from_file.root.at(entry.key());
    if (read != entry.value() && !read.is_string() && !read.is_number_float()) differing.insert(entry.key());
  }
  // Its prediction layers have no tensors here, and llama.cpp then counts none.
  if (written["general.architecture"] == "deepseek4") differing.erase("deepseek4.nextn_predict_layers");
  CHECK(differing == std::set<std::string>{});
  for (std::size_t i = n.cases % step; i < one["runs"].size(); i += step) {
    const json& run = one["runs"][i];
    CAPTURE(run["name"]);
    CHECK(answer_of(from_file, run["settings"]) == answer_of(from_config, run["settings"]));
    ++n.runs;
  }
}

document gguf(const json& metadata) { return document{metadata, "model.gguf"}; }

const json tiny = {{"llama.attention.layer_norm_rms_epsilon", 0.5},
                   {"general.architecture", "llama"},
                   {"llama.block_count", 2},
                   {"llama.context_length", 4096},
                   {"llama.embedding_length", 256},
                   {"llama.attention.head_count", 4},
                   {"llama.attention.head_count_kv", 2},
                   {"llama.feed_forward_length", 512}};

template <class Body>
config_error refusal(const Body& body) {
  try {
    body();
  } catch (const config_error& e) {
    return e;
  }
  FAIL("accepted");
  throw 0;
}

}  // namespace

TEST_CASE("a GGUF file gives the same llama.cpp plan as its config.json") {
  counted n;
  const document cases = detail::config::read_document(KVBUDGET_SOURCE_DIR "/tests/data/llama_cpp.json");
  for (const json& one : cases.root) compare_case(one, n, 7);
  CHECK(n.cases > 100);
  CHECK(n.runs > 500);
  CHECK(n.architectures.size() > 60);
}

TEST_CASE("all measured llama.cpp cases through a GGUF file", "[.truth]") {
  const char* const folder = std::getenv("KVBUDGET_TRUTH_DIR");
  REQUIRE(folder != nullptr);
  counted n;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "llama.cpp")) {
    compare_case(detail::config::read_document(entry.path().string()).root, n, 1);
  }
  CHECK(n.cases > 100);
  WARN(n.cases << " cases, " << n.runs << " runs, " << n.architectures.size() << " architectures");
}

TEST_CASE("metadata become plain JSON; vocabularies are skipped") {
  json metadata = {{"general.architecture", "llama"},
                   {"a.u32", 7},
                   {"a.i32", -7},
                   {"a.f32", 0.5},
                   {"a.bool", true},
                   {"a.list", {1, 2, 3}},
                   {"a.flags", {true, false}},
                   {"a.none", json::array()}};
  metadata["a.words"] = json::array({"<s>", "</s>", "a"});
  metadata["a.long"] = json(std::vector<int>(1025, 1));
  metadata["a.text"] = std::string(4097, 'x');
  const document d = read_back(metadata);
  CHECK(d.file == "model.gguf");
  CHECK(d.root["general.architecture"] == "llama");
  CHECK(d.root["a.u32"] == 7);
  CHECK(d.root["a.i32"] == -7);
  CHECK(d.root["a.f32"] == 0.5);
  CHECK(d.root["a.bool"] == true);
  CHECK(d.root["a.list"] == json({1, 2, 3}));
  CHECK(d.root["a.flags"] == json({true, false}));
  CHECK(d.root["a.none"] == json::array());
  CHECK(d.root["a.words"] == "a list of 3 str");
  CHECK(d.root["a.long"] == "a list of 1025 u32");
  CHECK(d.root["a.text"] == "a string of 4097 bytes");
  CHECK(d.root.size() == metadata.size());
}

TEST_CASE("a list that was skipped is no missing key") {
  json metadata = tiny;
  metadata["llama.attention.head_count_kv"] = json(std::vector<int>(2000, 2));
  const config_error e =
      refusal([&] { (void)detail::llama_cpp::evaluate(read_back(metadata), testing::asked(json::object())); });
  CHECK(e.pointer() == "/llama.attention.head_count_kv");
  CHECK(e.value() == "\"a list of 2000 u32\"");
}

namespace {

/// A file of `metadata` in which one key has a value of another type.
std::string with_type(json metadata, const std::string& key, std::uint32_t type, const std::string& value) {
  metadata.erase(key);
  std::string file = testing::gguf_header_of(0, metadata.size() + 1);
  for (const auto& entry : metadata.items())
    file += testing::gguf_text(entry.key()) + testing::gguf_value(entry.value());
  return file + testing::gguf_text(key) + testing::little_endian(type) + value;
}

std::string refusal_of_file(const std::string& file, const json& settings = {{"n_ctx", 256}}) {
  std::istringstream stream(file);
  return detail::llama_cpp::evaluate(detail::config::read_gguf_document(stream, file.size(), "m"),
                                     testing::asked(settings))
      .refusal;
}

}  // namespace

TEST_CASE("a GGUF file without a key that its loader needs is refused by the key's name") {
  const auto without = [](json metadata, const char* key) {
    metadata.erase(key);
    return refusal_of_file(testing::gguf_file(metadata, {}, 0));
  };
  CHECK(without(tiny, "llama.attention.head_count_kv").empty());
  for (const char* key : {"llama.block_count", "llama.context_length", "llama.embedding_length",
                          "llama.attention.layer_norm_rms_epsilon", "llama.feed_forward_length"}) {
    CHECK(without(tiny, key) == "key not found in model: " + std::string(key));
  }
  CHECK(without(tiny, "llama.attention.head_count").find("llama.attention.head_count ") != std::string::npos);
  // What each of the other loaders needs beside that.
  std::size_t keys = 0;
  for (const detail::llama_cpp::architecture& a : detail::llama_cpp::architectures) {
    const std::string name(a.name);
    json metadata = completed({{"general.architecture", name}});
    detail::llama_cpp::any_word(detail::llama_cpp::keys_of_loader(name), [&](std::string_view word) {
      const std::string_view bare = detail::llama_cpp::bare_key(word);
      const std::string key = name + "." + std::string(bare);
      if (bare == word) return false;
      ++keys;
      json one_less = metadata;
      one_less.erase(key);
      CHECK(refusal_of_file(testing::gguf_file(one_less, {}, 0)) == "key not found in model: " + key);
      return false;
    });
  }
  CHECK(keys > 250);
  // Experts, as llama_model_base::load_hparams asserts them.
  const auto with = [](std::initializer_list<std::pair<const char*, int>> more) {
    json metadata = tiny;
    for (const auto& [key, value] : more) metadata[key] = value;
    return refusal_of_file(testing::gguf_file(metadata, {}, 0));
  };
  CHECK(with({{"llama.expert_count", 8}, {"llama.expert_used_count", 2}}).empty());
  CHECK(with({{"llama.expert_count", 8}}).find("llama.expert_used_count is 0") != std::string::npos);
  CHECK(with({{"llama.expert_used_count", 2}}).find("llama.expert_used_count is 2") != std::string::npos);
  CHECK(with({{"llama.expert_count", 8}, {"llama.expert_used_count", 2}, {"llama.expert_group_count", 3}})
            .find("llama.expert_group_count is 3") != std::string::npos);
  CHECK(with({{"llama.embedding_length", 0}}).find("llama.embedding_length is 0") != std::string::npos);
  CHECK(with({{"llama.feed_forward_length", 0}}).find("llama.feed_forward_length is 0") != std::string::npos);
  // A part of the metadata, as a measured case has it, need not have what memory does not depend on.
  json part = tiny;
  part.erase("general.architecture");
  part.erase("llama.attention.layer_norm_rms_epsilon");
  CHECK(detail::llama_cpp::evaluate(gguf(part), testing::asked({{"n_ctx", 256}})).refusal.empty());
  part.erase("llama.context_length");
  CHECK(detail::llama_cpp::evaluate(gguf(part), testing::asked({{"n_ctx", 256}})).refusal ==
        "key not found in model: llama.context_length");
  // Conditions in the loaders: lite DeepSeek models have no q_lora_rank, PLE keys come together.
  json deepseek = completed(
      {{"general.architecture", "deepseek2"}, {"deepseek2.block_count", 27}, {"deepseek2.attention.head_count", 4}});
  deepseek.erase("deepseek2.attention.q_lora_rank");
  CHECK(refusal_of_file(testing::gguf_file(deepseek, {}, 0)).find("key not found") == std::string::npos);
  deepseek["deepseek2.block_count"] = 28;
  CHECK(refusal_of_file(testing::gguf_file(deepseek, {}, 0)) ==
        "key not found in model: deepseek2.attention.q_lora_rank");
}

TEST_CASE("a GGUF value of another type than its loader reads is refused") {
  using testing::little_endian;
  const auto refused = [](const char* key, std::uint32_t type, const std::string& value) {
    return refusal_of_file(with_type(tiny, key, type, value));
  };
  for (const char* key :
       {"llama.block_count", "llama.attention.head_count_kv", "llama.context_length", "llama.feed_forward_length"}) {
    CAPTURE(key);
    const std::string prefix = "key " + std::string(key) + " has wrong type ";
    CHECK(refused(key, 10, little_endian(std::uint64_t{2})) == prefix + "u64 but expected type u32");
    CHECK(refused(key, 5, little_endian(std::uint32_t{2})) == prefix + "i32 but expected type u32");
    CHECK(refused(key, 2, little_endian(std::uint16_t{2})) == prefix + "u16 but expected type u32");
    CHECK(refused(key, 6, std::string(4, '\0')) == prefix + "f32 but expected type u32");
    CHECK(refused(key, 8, testing::gguf_text("2")) == prefix + "str but expected type u32");
  }
  CHECK(refused("llama.attention.layer_norm_rms_epsilon", 12, std::string(8, '\0')) ==
        "key llama.attention.layer_norm_rms_epsilon has wrong type f64 but expected type f32");
  const auto list = [](std::uint32_t type, const std::string& entry) {
    return little_endian(type) + little_endian(std::uint64_t{2}) + entry + entry;
  };
  const char* const heads = "llama.attention.head_count_kv";
  CHECK(refused(heads, 9, list(4, little_endian(std::uint32_t{2}))).empty());
  CHECK(refused(heads, 9, list(5, little_endian(std::uint32_t{2}))).empty());
  CHECK(refused(heads, 9, list(10, little_endian(std::uint64_t{2}))) ==
        "key llama.attention.head_count_kv has wrong type [u64] but expected type u32");
  CHECK(refused(heads, 9, list(2, little_endian(std::uint16_t{2}))) ==
        "key llama.attention.head_count_kv has wrong type [u16] but expected type u32");
  CHECK(refused("llama.block_count", 9, list(4, little_endian(std::uint32_t{2}))) ==
        "key llama.block_count has wrong type arr but expected type u32");
  // What nobody reads may be anything.
  CHECK(refused("llama.attention.sliding_window", 10, little_endian(std::uint64_t{2})).empty());
  CHECK(refused("llama.num_loops", 8, testing::gguf_text("x")).empty());
  CHECK(refused("llama.rope.dimension_count", 4, little_endian(std::uint32_t{64})).empty());
  CHECK(refused("llama.rope.dimension_count", 4, little_endian(std::uint32_t{32}))
            .find("llama.rope.dimension_count is 32") != std::string::npos);
}

TEST_CASE("architectures without a loader say what they are") {
  const auto error = [](const char* name) {
    return refusal([&] {
             (void)detail::llama_cpp::evaluate(
                 gguf({{"general.architecture", name}, {std::string(name) + ".block_count", 2}}),
                 testing::asked(json::object()));
           })
        .problem();
  };
  CHECK(error("gptj") == "llama.cpp has the name, and no loader for it");
  CHECK(error("clip") == "a multimodal projector (mmproj), which has no KV cache of its own");
  CHECK(error("none") == "unknown to llama.cpp");
}

TEST_CASE("of a GGUF file with very many keys only those that somebody reads are kept") {
  json metadata = tiny;
  std::string more;
  const std::uint64_t many = 70'000;
  for (std::uint64_t i = 0; i < many; ++i)
    more += testing::gguf_text("x." + std::to_string(i)) + testing::gguf_value(json(1));
  std::string file = testing::gguf_header_of(0, metadata.size() + many);
  file += testing::gguf_text("general.architecture") + testing::gguf_value(metadata["general.architecture"]) + more;
  metadata.erase("general.architecture");
  for (const auto& entry : metadata.items())
    file += testing::gguf_text(entry.key()) + testing::gguf_value(entry.value());
  std::istringstream stream(file);
  const document d = detail::config::read_gguf_document(stream, file.size(), "m");
  CHECK(d.root.size() < 66'000);
  CHECK(detail::llama_cpp::evaluate(d, testing::asked({{"n_ctx", 256}})).total_bytes == 256U * 1024);
  // One of them twice, far apart.
  std::string twice =
      testing::gguf_header_of(0, many + 1) + more + testing::gguf_text("x.7") + testing::gguf_value(json(1));
  std::istringstream again(twice);
  CHECK(refusal([&] { (void)detail::config::read_gguf_document(again, twice.size(), "m"); }).pointer() == "x.7");
}

TEST_CASE("a folder with only a GGUF model") {
  const temporary_folder folder;
  CHECK(refusal([&] { (void)locate_config(folder.path()); }).problem() == "no config.json here");
  folder.write("mmproj-f16.gguf", testing::gguf_file({{"general.architecture", "clip"}}, {}, 0));
  const std::string path = folder.write("m-00001-of-00002.gguf", testing::gguf_file(tiny, {}, 0));
  folder.write("m-00002-of-00002.gguf", testing::gguf_file(json::object(), {}, 0));
  CHECK(locate_config(folder.path()).config->file == path);
  folder.write("other.gguf", testing::gguf_file(tiny, {}, 0));
  CHECK(refusal([&] { (void)locate_config(folder.path()); }).problem() == "several GGUF models");
  folder.write("config.json", R"({"model_type": "llama"})");
  CHECK(locate_config(folder.path()).config->root == json{{"model_type", "llama"}});
}

TEST_CASE("a config has a size limit") {
  const temporary_folder folder;
  const std::string path = folder.write("config.json", std::string(detail::config::max_document_size + 1, ' '));
  CHECK(refusal([&] { (void)locate_config(path); }).problem() == "too long for a config");
  CHECK(refusal([&] { (void)detail::config::read_document("/dev/zero"); }).problem() == "too long for a config");
}

TEST_CASE("deepseek4 has prediction layers only with their tensors") {
  const json metadata = {
      {"general.architecture", "deepseek4"}, {"deepseek4.block_count", 44}, {"deepseek4.nextn_predict_layers", 1}};
  const auto layers_of = [&](const char* tensor) {
    const std::string file = testing::gguf_file(metadata, {{tensor, {1}, 0, 0}}, 4);
    std::istringstream stream(file);
    return detail::config::read_gguf_document(stream, file.size(), "m").root["deepseek4.nextn_predict_layers"];
  };
  CHECK(layers_of("blk.43.nextn.eh_proj.weight") == 1);
  CHECK(layers_of("blk.42.nextn.eh_proj.weight") == 0);
  const temporary_folder folder;  // the tensor is in the second part
  json part = metadata;
  part["split.count"] = 2;
  part["split.no"] = 0;
  const std::string first = folder.write("m-00001-of-00002.gguf", testing::gguf_file(part, {{"a", {1}, 0, 0}}, 4));
  part = {{"split.count", 2}, {"split.no", 1}};
  folder.write("m-00002-of-00002.gguf", testing::gguf_file(part, {{"blk.43.nextn.eh_proj.weight", {1}, 0, 0}}, 4));
  CHECK(detail::config::read_gguf_document(first).root["deepseek4.nextn_predict_layers"] == 1);
}

TEST_CASE("a GGUF file is known by its magic") {
  const temporary_folder folder;
  const std::string path = folder.write("config.json", testing::gguf_file(tiny, {}, 0));
  const located_config found = locate_config(path);
  CHECK(found.config->root == tiny);
  CHECK(found.config->file == path);
  const json settings = {{"n_ctx", 4096}};
  CHECK(detail::llama_cpp::evaluate(*found.config, testing::asked(settings)).total_bytes == 4096U * 2 * 2 * 128 * 2);
  CHECK_THROWS_AS(locate_config(folder.write("short.gguf", "GGUF")), config_error);
  CHECK_THROWS_AS(locate_config(folder.write("none.gguf", "GGU")), config_error);
}

TEST_CASE("only llama.cpp and no engine read GGUF metadata") {
  for (const char* engine : {"transformers", "vllm"}) {
    const config_error e = refusal([&] {
      engine_question question;
      question.work = workload{100, 0, 1, {}};
      (void)find_engine(engine).answer({std::make_shared<const document>(gguf(tiny)), nullptr, "model.gguf"}, question);
    });
    CHECK(std::string(e.what()) ==
          "model.gguf: /general.architecture: \"llama\": GGUF metadata, which only llama.cpp reads: a config.json, or "
          "--engine llama.cpp or none");
  }
  CHECK(detail::llama_cpp::evaluate(gguf(tiny), testing::asked({{"n_ctx", 256}})).total_bytes == 256U * 1024);
}

TEST_CASE("without an engine: positions of a GGUF model's layers") {
  const auto bytes_at = [](const json& metadata, std::uint64_t n, std::uint64_t sequences = 1) {
    return detail::none::evaluate(gguf(completed(metadata)), testing::asked(f16, f16, workload{n, 0, sequences, {}}))
        .total_bytes;
  };
  SECTION("full") {
    CHECK(bytes_at(tiny, 1000) == 1000U * 2 * 2 * 128 * 2);
    const auto e = detail::none::evaluate(gguf(tiny), testing::asked(q8_0, q4_0, workload{1000, 0, 3, {}}));
    CHECK(e.total_bytes == 3U * 1000 * 2 * (4 * 34 + 4 * 18));
    CHECK(e.bytes_per_token == 2U * (4 * 34 + 4 * 18));
    CHECK(e.attention == "GQA");
    CHECK(e.layers.size() == 2);
  }
  SECTION("windows") {
    json m = {{"general.architecture", "gemma2"},
              {"gemma2.block_count", 4},
              {"gemma2.embedding_length", 256},
              {"gemma2.attention.head_count", 4},
              {"gemma2.attention.sliding_window", 512}};
    CHECK(bytes_at(m, 512) == 512U * 4 * 2 * 256 * 2);
    CHECK(bytes_at(m, 1000) == (1000U + 512) * 2 * 2 * 256 * 2);
  }
  SECTION("a latent is one row of K") {
    json m = {{"general.architecture", "deepseek2"},       {"deepseek2.block_count", 3},
              {"deepseek2.embedding_length", 1024},        {"deepseek2.attention.head_count", 16},
              {"deepseek2.attention.head_count_kv", 1},    {"deepseek2.attention.kv_lora_rank", 512},
              {"deepseek2.attention.key_length", 576},     {"deepseek2.attention.value_length", 512},
              {"deepseek2.attention.key_length_mla", 192}, {"deepseek2.attention.value_length_mla", 128}};
    CHECK(bytes_at(m, 10) == 10U * 3 * 576 * 2);
  }
  SECTION("a state is kept once, in f32") {
    json m = {{"general.architecture", "mamba"}, {"mamba.block_count", 2},      {"mamba.embedding_length", 64},
              {"mamba.ssm.conv_kernel", 4},      {"mamba.ssm.inner_size", 128}, {"mamba.ssm.state_size", 16},
              {"mamba.attention.head_count", 0}};
    CHECK(bytes_at(m, 10) == 2U * (3 * 128 + 16 * 128) * 4);
    CHECK(bytes_at(m, 10'000, 5) == 5 * bytes_at(m, 10));
  }
  SECTION("what is not known is asked for") {
    const config_error e =
        refusal([] { (void)detail::none::evaluate(gguf(tiny), testing::asked(f16, std::nullopt, {})); });
    CHECK(e.problem() == "GGUF metadata do not say the element type of the cache");
    json m = tiny;
    m["llama.block_count"] = 513;
    CHECK(refusal([&] { (void)detail::none::evaluate(gguf(m), testing::asked(f16, f16, {})); }).expected() ==
          "a model that llama.cpp loads");
  }
}

TEST_CASE("without an engine: a GGUF file and its config.json agree") {
  const document cases = detail::config::read_document(KVBUDGET_SOURCE_DIR "/tests/data/llama_cpp.json");
  std::size_t seen = 0;
  for (const json& one : cases.root) {
    const std::string id = one["id"].get<std::string>();
    for (const char* name :
         {"gemma-3-4b-text", "deepseek-ai-deepseek-r1", "gpt-oss-defaults", "qwen-qwen3-8b", "command-r7b",
          "zai-org-glm-5.2", "moonshotai-kimi-k2-instruct", "llama4-defaults", "gpt2", "dbrx-132b"}) {
      if (id != std::string("llama.cpp/") + name) continue;
      ++seen;
      for (const std::uint64_t n : {1ULL, 700ULL, 100'000ULL}) {
        CAPTURE(id, n);
        const workload work{n, 24, 3, {}};
        CHECK(detail::none::evaluate(gguf(one["gguf"]), testing::asked(bf16, bf16, work)).total_bytes ==
              detail::none::evaluate(document{one["config"], "config.json"}, testing::asked(bf16, bf16, work))
                  .total_bytes);
      }
    }
  }
  CHECK(seen == 10);
}
