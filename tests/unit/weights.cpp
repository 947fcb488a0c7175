// Weights from files: exact bytes by type and group, and every way in which a header can be wrong.
#include "support/catch.hpp"
#include "support/weight_files.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <kvbudget/input/gguf.hpp>
#include <kvbudget/input/safetensors.hpp>
#include <kvbudget/input/read_weights.hpp>

using namespace kvbudget;
using nlohmann::json;
using testing::gguf_file;
using testing::gguf_tensor;
using testing::little_endian;
using testing::safetensors_file;
using testing::temporary_folder;

namespace {

std::vector<weight_tensor> safetensors(const std::string& bytes) {
  std::istringstream stream(bytes);
  return read_safetensors(stream, bytes.size(), "model.safetensors");
}
std::vector<weight_tensor> safetensors(const json& header, std::size_t data) {
  return safetensors(safetensors_file(header.dump(), data));
}
gguf_header gguf(const std::string& bytes) {
  std::istringstream stream(bytes);
  return read_gguf_header(stream, bytes.size(), "model.gguf");
}

template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const config_error& e) {
    return e.what();
  }
  return "accepted";
}
std::string error_of(const json& header, std::size_t data) {
  return error_of([&] { (void)safetensors(header, data); });
}
std::string gguf_error(const std::string& bytes) {
  return error_of([&] { (void)gguf(bytes); });
}
std::string path_error(const std::string& path) {
  return error_of([&] { (void)read_weights(path); });
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// A key with a value of any type.
std::string gguf_text_pair(const char* key, std::uint32_t type, const std::string& value) {
  return testing::gguf_text(key) + little_endian(type) + value;
}

json tensor(const char* dtype, const json& shape, std::uint64_t begin, std::uint64_t end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

}  // namespace

TEST_CASE("safetensors: tensors, types and groups") {
  const json header = {{"__metadata__", {{"format", "pt"}}},
                       {"model.embed_tokens.weight", tensor("BF16", {10, 4}, 0, 80)},
                       {"model.layers.0.self_attn.q_proj.weight", tensor("F8_E4M3", {4, 4}, 80, 96)},
                       {"model.layers.1.mlp.experts.0.w1.weight", tensor("F4", {3, 2}, 96, 99)},
                       {"model.norm.weight", tensor("F32", {4}, 99, 115)},
                       {"scalar", tensor("I64", json::array(), 115, 123)},
                       {"nothing", tensor("F16", {0, 7}, 123, 123)}};
  const temporary_folder folder;
  const model_weights w = read_weights(folder.write("model.safetensors", safetensors_file(header.dump() + "   ", 123)));
  CHECK(w.total_bytes == 123);
  CHECK(w.parameters == 40 + 16 + 6 + 4 + 1);
  CHECK(w.tensors.size() == 6);
  CHECK(w.files == std::vector<std::string>{folder / "model.safetensors"});
  CHECK(w.bytes_by_dtype == std::map<std::string, std::uint64_t, std::less<>>{
                                {"BF16", 80}, {"F16", 0}, {"F32", 16}, {"F4", 3}, {"F8_E4M3", 16}, {"I64", 8}});
  CHECK(w.bytes_of(tensor_group::embedding) == 80);
  CHECK(w.bytes_of(tensor_group::attention) == 16);
  CHECK(w.bytes_of(tensor_group::experts) == 3);
  CHECK(w.bytes_of(tensor_group::rest) == 24);
  CHECK(w.tensors[1].name == "model.layers.0.self_attn.q_proj.weight");
  CHECK(w.tensors[1].layer == 0U);
  CHECK(w.tensors[1].shape == std::vector<std::uint64_t>{4, 4});
  CHECK(w.tensors[2].layer == 1U);
  CHECK(w.tensors[2].dtype == "F4");
  CHECK(!w.tensors[0].layer);
  CHECK(safetensors(json::object(), 0).empty());
}

TEST_CASE("safetensors: bytes of every type") {
  for (const tensor_type& t : safetensors_types) {
    CAPTURE(t.name);
    const std::uint64_t bytes = std::uint64_t{t.block_bytes} * 3;
    const std::uint64_t n = std::uint64_t{t.block_elements} * 3;
    CHECK(safetensors({{"t", tensor(std::string(t.name).c_str(), {n}, 0, bytes)}}, bytes)[0].bytes == bytes);
    CHECK(contains(error_of({{"t", tensor(std::string(t.name).c_str(), {n}, 0, bytes + 1)}}, bytes + 1),
                   "not the length"));
  }
  CHECK(std::size(safetensors_types) == 22);
  CHECK(find_safetensors_type("F6_E2M3")->bytes_of(8U) == checked_count(6U));
  CHECK(contains(error_of({{"t", tensor("F6_E2M3", {3, 2}, 0, 5)}}, 5), "/t/shape: [3,2]: no whole number of bytes"));
}

TEST_CASE("safetensors: very many tensors") {
  json header;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    header["model.layers.0.mlp.experts." + std::to_string(i) + ".weight"] = tensor("BF16", {2, 1}, 4 * i, 4 * i + 4);
  }
  const auto tensors = safetensors(header, 80'000);
  CHECK(tensors.size() == 20'000);
  CHECK(tensors[19'999].name == "model.layers.0.mlp.experts.19999.weight");
}

TEST_CASE("safetensors: what is refused, with the place") {
  const auto raw = [](const std::string& bytes) { return error_of([&] { (void)safetensors(bytes); }); };
  CHECK(raw("") ==
        "model.safetensors: byte 0: 8: the length of the header: longer than what is left of the file (truncated?): at "
        "most 0 bytes");
  CHECK(contains(raw("1234567"), "truncated"));
  CHECK(raw(little_endian(std::uint64_t{3}) + "{}") ==
        "model.safetensors: byte 0: 3: absurd length of the header of a safetensors file: at most 2 bytes");
  CHECK(contains(raw(little_endian(~std::uint64_t{0}) + "{}"), "18446744073709551615: absurd length"));
  CHECK(contains(raw(safetensors_file("{", 0)), "not valid JSON"));
  CHECK(contains(raw(safetensors_file("[]", 0)), "not an object"));
  CHECK(contains(raw(safetensors_file(std::string("{}\0 ", 4), 0)), "a zero byte"));
  CHECK(contains(raw(safetensors_file("{\"__metadata__\": {\"a\": NaN}}", 0)),
                 "not valid JSON (a number that is not finite)"));
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":[";
  CHECK(contains(raw(safetensors_file(deep, 0)), "not valid JSON"));
  const std::string one = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  CHECK(raw(safetensors_file("{\"a\":" + one + ",\"a\":" + one + "}", 1)) ==
        "model.safetensors: \"a\": this key is there twice: each key once");
  CHECK(contains(raw(safetensors_file(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1)),
                 "\"dtype\": this key is there twice"));

  CHECK(error_of({{"a", tensor("BF17", {1}, 0, 2)}}, 2) ==
        "model.safetensors: /a/dtype: \"BF17\": unknown element type: a dtype of safetensors: BF16, F8_E4M3 …");
  CHECK(contains(error_of({{"a", 1}}, 0), "/a: 1: not an object"));
  CHECK(contains(error_of({{"a", json::object()}}, 0), "no dtype"));
  CHECK(contains(error_of({{"a", {{"dtype", "U8"}}}}, 0), "no shape"));
  CHECK(contains(error_of({{"a", {{"dtype", "U8"}, {"shape", {1}}}}}, 1), "no data_offsets"));
  CHECK(contains(error_of({{"a", tensor("U8", {-1}, 0, 1)}}, 1), "/a/shape/0: -1: negative"));
  CHECK(contains(error_of({{"a", tensor("U8", {1.5}, 0, 1)}}, 1), "/a/shape/0: 1.5: not a whole number"));
  CHECK(contains(error_of({{"a", tensor("U8", "1", 0, 1)}}, 1), "/a/shape: \"1\": not an array"));
  CHECK(contains(error_of({{"a", tensor("U8", {1ULL << 40U, 1ULL << 40U}, 0, 1)}}, 1), "the product overflows"));
  CHECK(contains(error_of({{"a", tensor("F64", {1ULL << 62U}, 0, 0)}}, 0), "the product overflows"));
  CHECK(contains(error_of({{"a", tensor("U8", {4}, 4, 0)}}, 4), "/a/data_offsets: [4,0]: not a range"));
  CHECK(contains(error_of({{"a", {{"dtype", "U8"}, {"shape", {4}}, {"data_offsets", {0, 4, 8}}}}}, 4), "not a range"));
  CHECK(error_of({{"a", tensor("U8", {4}, 0, 4)}}, 3) ==
        "model.safetensors: /a/data_offsets: [0,4]: ends beyond the file (truncated?): at most 3");
  CHECK(contains(error_of({{"a", tensor("U8", {3}, 0, 4)}}, 4), "not the length of its dtype and shape: 3 bytes"));
  CHECK(error_of({{"a", tensor("U8", {4}, 0, 4)}, {"b", tensor("U8", {4}, 3, 7)}}, 8) ==
        "model.safetensors: /b/data_offsets: [3,7]: overlaps another tensor: begins at 4");
  CHECK(contains(error_of({{"a", tensor("U8", {4}, 0, 4)}, {"b", tensor("U8", {3}, 5, 8)}}, 8),
                 "leaves a hole before it"));
  CHECK(contains(error_of({{"a", tensor("U8", {4}, 1, 5)}}, 5), "leaves a hole before it"));
  CHECK(contains(error_of({{"a", tensor("U8", {4}, 0, 4)}}, 6), "2 bytes: belong to no tensor"));
}

TEST_CASE("groups and layers by the names that Hugging Face and GGUF give") {
  struct row {
    const char* name;
    tensor_group group;
    int layer;
  };
  using enum tensor_group;
  for (const row& r : {row{"model.embed_tokens.weight", embedding, -1},
                       {"transformer.wte.weight", embedding, -1},
                       {"shared.weight", embedding, -1},
                       {"lm_head.weight", embedding, -1},
                       {"language_model.lm_head.weight", embedding, -1},
                       {"output.weight", embedding, -1},
                       {"token_embd.weight", embedding, -1},
                       {"model.norm.weight", rest, -1},
                       {"output_norm.weight", rest, -1},
                       {"token_embd_norm.weight", rest, -1},
                       {"model.layers.12.input_layernorm.weight", rest, 12},
                       {"model.layers.12.post_attention_layernorm.weight", rest, 12},
                       {"model.layers.3.self_attn.q_norm.weight", attention, 3},
                       {"model.layers.3.self_attn.kv_a_proj_with_mqa.weight", attention, 3},
                       {"model.layers.3.linear_attn.in_proj_qkvz.weight", attention, 3},
                       {"gpt_neox.layers.5.attention.query_key_value.weight", attention, 5},
                       {"transformer.h.7.attn.c_attn.weight", attention, 7},
                       {"transformer.h.7.ln_attn.weight", rest, 7},
                       {"decoder.block.2.layer.1.EncDecAttention.q.weight", attention, 2},
                       {"transformer.blocks.1.norm_attn_norm.attn.Wqkv.weight", attention, 1},
                       {"transformer.blocks.1.norm_attn_norm.norm_1.weight", rest, 1},
                       {"backbone.layers.4.mixer.k_proj.weight", attention, 4},
                       {"backbone.layers.4.mixer.in_proj.weight", rest, 4},
                       {"model.layers.3.mlp.experts.127.down_proj.weight", experts, 3},
                       {"model.layers.3.mlp.experts.gate_up_proj_blocks", experts, 3},
                       {"model.layers.3.block_sparse_moe.input_linear.weight", experts, 3},
                       {"model.layers.3.block_sparse_moe.gate.weight", rest, 3},
                       {"model.layers.3.mlp.shared_experts.up_proj.weight", rest, 3},
                       {"model.layers.3.mlp.gate.weight", rest, 3},
                       {"model.layers.3.mlp.down_proj.weight", rest, 3},
                       {"blk.9.ffn_down_exps.weight", experts, 9},
                       {"blk.9.ffn_down_shexp.weight", rest, 9},
                       {"blk.9.ffn_gate_inp.weight", rest, 9},
                       {"blk.9.attn_q_norm.weight", attention, 9},
                       {"blk.9.attn_norm.weight", rest, 9},
                       {"blk.9.attn_output.weight", attention, 9},
                       {"blk.9.ssm_in.weight", rest, 9},
                       {"blk.9.indexer.proj.weight", attention, 9},
                       {"blk.9.nextn.shared_head_head.weight", embedding, 9},
                       {"model.visual.blocks.3.attn.qkv.weight", attention, -1},
                       {"vision_tower.encoder.layers.3.mlp.fc1.weight", rest, -1},
                       {"mtp.layers.0.mlp.down_proj.weight", rest, -1},
                       {"v.blk.3.ffn_up.weight", rest, -1},
                       {"model.layers.99999999999.x", rest, -1},
                       {"model.layers.", rest, -1},
                       {"", rest, -1}}) {
    CAPTURE(r.name);
    CHECK(group_of(r.name) == r.group);
    CHECK(layer_of(r.name) == (r.layer < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(r.layer))));
  }
  CHECK(is_output_head("output.weight"));
  CHECK(is_output_head("model.lm_head.weight"));
  CHECK(!is_output_head("encoder.layer.0.output.dense.weight"));
  CHECK(!is_output_head("token_embd.weight"));
}

TEST_CASE("an index and its shards") {
  const temporary_folder folder;
  folder.write("a.safetensors", safetensors_file(json{{"x", tensor("BF16", {4}, 0, 8)}}.dump(), 8));
  folder.write("b.safetensors",
               safetensors_file(json{{"y", tensor("F32", {4}, 0, 16)}, {"z", tensor("U8", {1}, 16, 17)}}.dump(), 17));
  const auto with_map = [&](const json& map) {
    return folder.write("model.safetensors.index.json",
                        json{{"metadata", {{"total_size", 25}}}, {"weight_map", map}}.dump());
  };
  const json map = {{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"z", "b.safetensors"}};
  const std::string path = with_map(map);
  for (const std::string& from : {path, folder.path()}) {
    const model_weights w = read_weights(from);
    CHECK(w.total_bytes == 25);
    CHECK(w.files.size() == 2);
    CHECK(w.tensors[2].name == "z");
    CHECK(w.files[w.tensors[2].file] == folder / "b.safetensors");
  }
  json wrong = map;
  wrong["x"] = "b.safetensors";
  CHECK(contains(path_error(with_map(wrong)), "/weight_map/x: \"b.safetensors\": this file does not have the tensor"));
  wrong["x"] = "b.safetensors";
  wrong["y"] = "a.safetensors";
  CHECK(contains(path_error(with_map(wrong)), "another file has the tensor"));
  wrong = map;
  wrong.erase("z");
  CHECK(contains(path_error(with_map(wrong)), "b.safetensors: z: not in the index"));
  wrong["q"] = "a.safetensors";
  CHECK(contains(path_error(with_map(wrong)), "/weight_map/q"));
  wrong = map;
  wrong["x"] = "c.safetensors";
  CHECK(contains(path_error(with_map(wrong)), "c.safetensors: cannot be read"));
  for (const json& name :
       {json("../a.safetensors"), json("/etc/passwd"), json(""), json(".."), json(1), json(nullptr)}) {
    wrong["x"] = name;
    CHECK(contains(path_error(with_map(wrong)), "/weight_map/x"));
  }
  folder.write("b.safetensors",
               safetensors_file(json{{"x", tensor("F32", {4}, 0, 16)}, {"y", tensor("U8", {1}, 16, 17)}}.dump(), 17));
  CHECK(contains(path_error(with_map({{"x", "a.safetensors"}, {"y", "b.safetensors"}})), "b.safetensors: x: also in"));
  CHECK(contains(path_error(folder.write("x.safetensors.index.json", "{}")), "/weight_map: missing"));
  CHECK(contains(path_error(folder.write("x.safetensors.index.json", R"({"weight_map":{"a":"b","a":"c"}})")),
                 "there twice"));
}

TEST_CASE("a folder counts every tensor once") {
  const auto file = [](const char* name, std::size_t n) {
    return safetensors_file(json{{name, tensor("U8", {n}, 0, n)}}.dump(), n);
  };
  SECTION("consolidated files beside the model's own") {
    const temporary_folder folder;
    folder.write("consolidated.safetensors", file("layers.0.attention.wq.weight", 7));
    CHECK(read_weights(folder.path()).total_bytes == 7);
    folder.write("model-00001-of-00002.safetensors", file("a", 3));
    CHECK(contains(path_error(folder.path()), "1 of 2 parts are there, and no index"));
    folder.write("model-00002-of-00002.safetensors", file("b", 4));
    CHECK(read_weights(folder.path()).total_bytes == 7);
    CHECK(read_weights(folder.path()).files.size() == 2);
    folder.write("model.safetensors", file("a", 5));
    CHECK(read_weights(folder.path()).total_bytes == 5);
    folder.write("model.safetensors.index.json", R"({"weight_map":{"b":"model-00002-of-00002.safetensors"}})");
    CHECK(read_weights(folder.path()).total_bytes == 4);
    CHECK(read_weights(folder / "consolidated.safetensors").total_bytes == 7);
  }
  SECTION("files of any name") {
    const temporary_folder folder;
    CHECK(contains(path_error(folder.path()), "no weights in this folder"));
    folder.write("one.safetensors", file("a", 3));
    folder.write("two.safetensors", file("b", 4));
    folder.write("notes.txt", "");
    CHECK(read_weights(folder.path()).total_bytes == 7);
    folder.write("two.safetensors", file("a", 4));
    CHECK(contains(path_error(folder.path()), "two.safetensors: a: also in"));
    folder.write("two.safetensors.index.json", R"({"weight_map":{"a":"two.safetensors"}})");
    CHECK(read_weights(folder.path()).total_bytes == 4);
    folder.write("one.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors"}})");
    CHECK(contains(path_error(folder.path()), "several indices"));
  }
  SECTION("GGUF") {
    const temporary_folder folder;
    folder.write("m-q4.gguf", gguf_file(json::object(), {{"a", {32}, 2, 0}}, 32));
    CHECK(read_weights(folder.path()).total_bytes == 18);
    folder.write("m-q8.gguf", gguf_file(json::object(), {{"a", {32}, 8, 0}}, 64));
    CHECK(contains(path_error(folder.path()), "m-q4.gguf, m-q8.gguf: several GGUF models"));
  }
}

TEST_CASE("GGUF: tensors, padding, alignment") {
  const std::vector<gguf_tensor> tensors = {{"token_embd.weight", {256, 3}, 14, 0},              // q6_K: 630 bytes
                                            {"blk.0.attn_q.weight", {32, 2}, 8, 640},            // q8_0: 68 bytes
                                            {"blk.1.ffn_up_exps.weight", {256, 1, 2}, 21, 736},  // iq3_s: 220 bytes
                                            {"output_norm.weight", {5}, 0, 960}};
  const temporary_folder folder;
  const model_weights w =
      read_weights(folder.write("any name", gguf_file({{"general.architecture", "llama"}}, tensors, 980)));
  CHECK(w.total_bytes == 630 + 68 + 220 + 20);
  CHECK(w.parameters == 768 + 64 + 512 + 5);
  CHECK(w.bytes_by_dtype ==
        std::map<std::string, std::uint64_t, std::less<>>{{"f32", 20}, {"iq3_s", 220}, {"q6_K", 630}, {"q8_0", 68}});
  CHECK(w.bytes_of(tensor_group::embedding) == 630);
  CHECK(w.bytes_of(tensor_group::attention) == 68);
  CHECK(w.bytes_of(tensor_group::experts) == 220);
  CHECK(w.bytes_of(tensor_group::rest) == 20);
  CHECK(w.tensors[2].layer == 1U);
  CHECK(w.tensors[2].shape == std::vector<std::uint64_t>{256, 1, 2});

  const std::string cut = folder.write("cut", gguf_file({{"general.architecture", "llama"}}, tensors, 979));
  CHECK(contains(path_error(cut), "the data of the tensors end beyond the file (truncated?)"));
  CHECK(read_gguf_header(cut).metadata["general.architecture"] == "llama");  // a config all the same

  const json aligned = {{"general.alignment", 64}};
  CHECK(gguf(gguf_file(aligned, {{"a", {1}, 24, 0}, {"b", {1}, 24, 64}}, 65, 64)).tensors.size() == 2);
  CHECK(contains(gguf_error(gguf_file(aligned, {{"a", {1}, 24, 0}, {"b", {1}, 24, 32}}, 65, 64)),
                 "model.gguf: b: 32: its data overlap or leave a hole: offset 64"));
  const std::string wide = gguf_text_pair("general.alignment", 10, little_endian(std::uint64_t{64}));
  CHECK(contains(gguf_error(testing::gguf_header_of(0, 1) + wide), "general.alignment: 64: of type u64: of type u32"));
  for (const json& bad : {json(0), json(48), json(-32), json("32"), json(true)}) {
    CHECK(contains(gguf_error(gguf_file({{"general.alignment", bad}}, {}, 0)), "general.alignment"));
  }
}

TEST_CASE("GGUF: bytes of every type") {
  for (const ggml_type_row& row : ggml_types) {
    CAPTURE(row.type.name);
    const std::uint64_t n = row.type.block_elements;
    const gguf_header h = gguf(gguf_file(json::object(), {{"t", {n, 3}, row.number, 0}}, 0));
    CHECK(h.tensors[0].bytes == 3U * row.type.block_bytes);
    CHECK(h.tensors[0].dtype == row.type.name);
    if (n > 1) {  // a row, not the whole, is made of blocks
      CHECK(contains(gguf_error(gguf_file(json::object(), {{"t", {n / 2, 2}, row.number, 0}}, 0)),
                     "whole blocks of " + std::to_string(n)));
    }
  }
  CHECK(std::size(ggml_types) == 35);
  for (const std::uint32_t removed : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 43U, 0xffffffffU}) {
    CHECK(contains(gguf_error(gguf_file(json::object(), {{"t", {256}, removed, 0}}, 0)), "unknown type of a tensor"));
  }
}

TEST_CASE("GGUF: what is refused, with the place") {
  using testing::gguf_header_of;
  using testing::gguf_text;
  CHECK(gguf_error("") ==
        "model.gguf: byte 0: 4: the magic: longer than what is left of the file (truncated?): at most 0 bytes");
  CHECK(gguf_error("GGML1234") == "model.gguf: byte 0: no GGUF file: the magic \"GGUF\"");
  CHECK(contains(gguf_error(gguf_header_of(0, 0, 1)),
                 "byte 4: 1: a version of GGUF that llama.cpp does not read: 2 or 3"));
  CHECK(contains(gguf_error(gguf_header_of(0, 0, 0)), "byte 4: 0: a version"));
  CHECK(contains(gguf_error(gguf_header_of(0, 0, 4)), "byte 4: 4: a version"));
  CHECK(contains(gguf_error(gguf_header_of(0, 0, 0x0300'0000)), "a big-endian GGUF file"));
  CHECK(gguf(gguf_header_of(0, 0, 2)).tensors.empty());
  CHECK(gguf(gguf_header_of(0, 0, 3)).metadata.empty());
  CHECK(gguf_error(gguf_header_of(1, 0)) ==
        "model.gguf: byte 8: 1: the number of tensors: more than what is left of the file can hold: at most 0");
  CHECK(contains(gguf_error(gguf_header_of(~std::uint64_t{0}, 0)), "18446744073709551615: the number of tensors"));
  CHECK(contains(gguf_error(gguf_header_of(0, std::uint64_t{1} << 62U)), "the number of metadata keys"));

  const auto one_key = [](const std::string& rest) { return gguf_header_of(0, 1) + rest + std::string(16, '\0'); };
  CHECK(contains(gguf_error(one_key(little_endian(std::uint64_t{65'536}))), "a metadata key: too long"));
  CHECK(contains(gguf_error(one_key(little_endian(std::uint64_t{100}))), "a metadata key: longer than what is left"));
  CHECK(contains(gguf_error(one_key(gguf_text(""))), "an empty metadata key"));
  const auto value = [&](std::uint32_t type, const std::string& bytes) {
    return gguf_error(gguf_header_of(0, 1) + gguf_text("key") + little_endian(type) + bytes);
  };
  CHECK(contains(value(13, std::string(8, '\0')), "byte 35: 13: unknown type of a value: 0 to 12"));
  CHECK(contains(value(4, "123"), "a value: longer than what is left"));
  CHECK(contains(value(8, little_endian(std::uint64_t{9}) + "12345678"), "a string: longer than what is left"));
  CHECK(contains(value(8, little_endian(~std::uint64_t{0}) + "12345678"), "a string: longer than what is left"));
  const auto list = [&](std::uint32_t type, std::uint64_t n, const std::string& bytes) {
    return value(9, little_endian(type) + little_endian(n) + bytes);
  };
  CHECK(list(4, 2, std::string(8, '\0')) == "accepted");
  CHECK(contains(list(4, 3, std::string(8, '\0')),
                 "byte 43: 3: the length of a list: more than what is left of the file can hold: at most 2"));
  CHECK(contains(list(10, std::uint64_t{1} << 61U, std::string(8, '\0')), "the length of a list"));
  CHECK(contains(list(8, 2, little_endian(std::uint64_t{0}) + little_endian(std::uint64_t{1})),
                 "a string: longer than what is left"));
  CHECK(contains(list(9, 1, std::string(32, '\0')), "a list of lists"));
  CHECK(contains(list(13, 1, std::string(32, '\0')), "unknown type of a value"));
  const std::string pair = gguf_text("key") + little_endian(std::uint32_t{0}) + "1";
  CHECK(gguf_error(gguf_header_of(0, 2) + pair + pair) == "model.gguf: key: this key is there twice: each key once");

  const auto infos = [](const std::vector<gguf_tensor>& tensors) {
    return gguf_error(gguf_file(json::object(), tensors, 0));
  };
  CHECK(contains(infos({{"t", {1, 1, 1, 1, 1}, 0, 0}}), "model.gguf: t: 5: too many dimensions: at most 4"));
  CHECK(contains(infos({{"t", {1ULL << 40U, 1ULL << 40U}, 0, 0}}), "the product of its dimensions overflows"));
  CHECK(contains(infos({{"t", {1ULL << 62U}, 0, 0}}), "the product of its dimensions overflows"));
  CHECK(contains(infos({{"t", {~0ULL}, 24, 0}}), "t: 18446744073709551615: a negative dimension"));
  CHECK(contains(infos({{"t", {1ULL << 62U, 2, 2}, 24, 0}}), "the product of its dimensions overflows"));
  CHECK(contains(infos({{"t", {1ULL << 62U}, 24, 0},
                        {"u", {1ULL << 62U}, 24, 1ULL << 62U},
                        {"v", {1ULL << 62U}, 24, 1ULL << 63U},
                        {"w", {1ULL << 62U}, 24, 3ULL << 62U}}),
                 "the sum of the tensors overflows"));
  CHECK(infos({{std::string(63, 'x'), {8}, 0, 0}}) == "accepted");
  CHECK(contains(infos({{std::string(64, 'x'), {8}, 0, 0}}), "64: the name of a tensor: too long: at most 63 bytes"));
  CHECK(contains(infos({{"t", {8}, 0, 0}, {"u", {8}, 0, 32}, {"t", {8}, 0, 64}}), "model.gguf: t: declared twice"));
  CHECK(contains(infos({{"t", {8}, 0, 0}, {"u", {8}, 0, 0}}),
                 "model.gguf: u: 0: its data overlap or leave a hole: offset 32"));
  CHECK(contains(infos({{"t", {8}, 0, 32}}), "model.gguf: t: 32: its data overlap or leave a hole: offset 0"));
  CHECK(contains(gguf_error(gguf_header_of(1, 0) + gguf_text("t") + std::string(15, '\0')),
                 "the offset of a tensor: longer than what is left"));
  const temporary_folder folder;
  CHECK(
      contains(path_error(folder.write("m.gguf", gguf_file(json::object(), {{"t", {8}, 0, 0}, {"t", {8}, 0, 32}}, 64))),
               "m.gguf: t: declared twice"));
}

TEST_CASE("GGUF: split models") {
  const temporary_folder folder;
  const auto part = [](std::uint32_t no, std::uint32_t count, const char* name, json more = json::object()) {
    more["split.no"] = no;
    more["split.count"] = count;
    more["split.tensors.count"] = 2;
    return gguf_file(more, {{name, {8}, 0, 0}}, 32);
  };
  const std::string first = folder.write("m-00001-of-00002.gguf", part(0, 2, "a", {{"general.architecture", "llama"}}));
  CHECK(contains(path_error(first), "m-00002-of-00002.gguf: cannot be read"));
  const std::string second = folder.write("m-00002-of-00002.gguf", part(1, 2, "b"));
  for (const std::string& from : {first, second, folder.path()}) {
    const model_weights w = read_weights(from);
    CHECK(w.total_bytes == 64);
    CHECK(w.files == std::vector<std::string>{first, second});
  }
  folder.write("m-00002-of-00002.gguf", part(1, 2, "a"));
  CHECK(contains(path_error(first), "m-00002-of-00002.gguf: a: also in"));
  folder.write("m-00002-of-00002.gguf", part(0, 2, "b"));
  CHECK(contains(path_error(first), "not the part that its name says"));
  folder.write("m-00002-of-00002.gguf", part(1, 3, "b"));
  CHECK(contains(path_error(first), "not the part that its name says"));
  folder.write("m-00002-of-00002.gguf",
               gguf_file({{"split.no", 1}, {"split.count", 2}, {"split.tensors.count", 3}}, {{"b", {8}, 0, 0}}, 32));
  CHECK(contains(path_error(first), "/split.tensors.count: 3: not the tensors of all parts together: 2"));
  CHECK(contains(path_error(folder.write("other.gguf", part(0, 2, "a"))),
                 "under another name: a name that ends in -00001-of-00002.gguf"));
  CHECK(contains(path_error(folder.write("big.gguf", part(0, 65'536, "a"))), "/split.count: 65536: out of range"));
  CHECK(read_weights(folder.write("single.gguf", part(0, 1, "a"))).total_bytes == 32);
}

TEST_CASE("an index whose shards are not there gives its total") {
  const temporary_folder folder;
  const json index = {{"metadata", {{"total_size", 16'060'522'496}}},
                      {"weight_map", {{"a", "x.safetensors"}, {"b", "y.safetensors"}}}};
  const std::string path = folder.write("model.safetensors.index.json", index.dump());
  CHECK(total_of_index_alone(path) == 16'060'522'496U);
  CHECK(total_of_index_alone(folder.path()) == 16'060'522'496U);
  CHECK(!total_of_index_alone(folder / "nothing.json"));
  folder.write("x.safetensors", "");
  CHECK(!total_of_index_alone(path));  // a download that is not complete
  CHECK(contains(path_error(path), "x.safetensors"));
  const std::string silent = folder.write("z.safetensors.index.json", R"({"weight_map": {"a": "q.safetensors"}})");
  CHECK(!total_of_index_alone(silent));
}

TEST_CASE("only regular files are opened") {
  const temporary_folder folder;
  REQUIRE(::mkfifo((folder / "model.safetensors").c_str(), 0600) == 0);
  CHECK(contains(path_error(folder.path()), "model.safetensors: no regular file"));
  CHECK(contains(path_error(folder / "model.safetensors"), "no regular file"));
  const temporary_folder loop;
  std::filesystem::create_symlink("b.gguf", loop / "a.gguf");
  std::filesystem::create_symlink("a.gguf", loop / "b.gguf");
  CHECK(contains(path_error(loop / "a.gguf"), "cannot be read"));
  CHECK(contains(path_error(loop.path()), "several GGUF models"));
  std::filesystem::remove(loop / "b.gguf");
  CHECK(contains(path_error(loop.path()), "cannot be read"));
  CHECK(contains(path_error(std::string(5000, 'x')), "cannot be read"));
}

TEST_CASE("safetensors: tensors in any order, and what nobody reads") {
  const std::string header =
      R"({"c": {"data_offsets": [5, 6], "shape": [1], "dtype": "U8"}, "__metadata__": {"x": "y", "z": [{"q": [1]}]},
    "a": {"dtype": "U8", "more": {"shape": 1, "list": [[1], {"dtype": "?"}]}, "shape": [3], "data_offsets": [0, 3]},
    "e": {"dtype": "U8", "shape": [0], "data_offsets": [3, 3]}, "b": {"dtype": "U8", "shape": [2], "data_offsets": [3, 5]}})";
  const auto tensors = safetensors(safetensors_file(header, 6));
  REQUIRE(tensors.size() == 4);
  CHECK(tensors[0].name == "a");
  CHECK(tensors[1].name == "e");
  CHECK(tensors[2].name == "b");
  CHECK(tensors[3].name == "c");
  CHECK(tensors[3].bytes == 1);
  const auto shape = [](const std::string& dimensions) {
    return error_of([&] {
      (void)safetensors(safetensors_file(R"({"a":{"dtype":"U8","data_offsets":[0,1],"shape":)" + dimensions + "}}", 1));
    });
  };
  CHECK(shape("[1]") == "accepted");
  CHECK(contains(shape("[[1]]"), "/a/shape/0: an array: not a number"));
  CHECK(contains(shape("[{}]"), "/a/shape/0: an object: not a number"));
  CHECK(contains(shape("[true]"), "/a/shape/0: true: not a number"));
  CHECK(contains(shape("{}"), "/a/shape: an object: not an array"));
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  CHECK(shape("[" + ones + "]") == "accepted");
  CHECK(contains(shape("[" + ones + ",1]"), "/a/shape: too many dimensions: at most 64"));
}

TEST_CASE("what is no file of weights") {
  const temporary_folder folder;
  CHECK(contains(path_error(folder / "nothing.safetensors"), "nothing.safetensors: cannot be read"));
  CHECK(contains(path_error(folder.write("pytorch_model.bin", "PK\x03\x04 and so on, and so on")), "absurd length"));
  CHECK(contains(path_error(folder.write("config.json", "{}")), "/weight_map: missing"));
}

TEST_CASE("files that the safetensors and gguf packages wrote", "[.packages]") {
  const char* const folder = std::getenv("KVBUDGET_WEIGHT_FILES");
  REQUIRE(folder != nullptr);
  const json expected = detail::config::read_document(std::string(folder) + "/expected.json").root;
  CHECK(expected.size() >= 5);
  for (const auto& [name, want] : expected.items()) {
    CAPTURE(name);
    const model_weights w = read_weights(std::string(folder) + "/" + name);
    json tensors = json::object();
    for (const weight_tensor& t : w.tensors)
      tensors[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"bytes", t.bytes}};
    CHECK(tensors == want["tensors"]);
    CHECK(w.total_bytes == want["total_bytes"]);
    CHECK(w.files.size() == want["files"]);
  }
  const json metadata = read_gguf_header(std::string(folder) + "/every.gguf").metadata;
  CHECK(metadata["general.architecture"] == "llama");
  CHECK(metadata["llama.attention.head_count_kv"] == json({2, 1}));
  CHECK(metadata["general.i64"] == -(std::int64_t{1} << 40U));
  CHECK(metadata["general.u64"] == std::uint64_t{1} << 40U);
  CHECK(metadata["general.i8"] == -1);
  CHECK(metadata["general.f64"] == 0.1);
  CHECK(metadata["general.flags"] == json({true, false}));
  CHECK(metadata["tokenizer.ggml.tokens"] == "a list of 3000 str");
  CHECK(metadata["tokenizer.ggml.scores"] == "a list of 3000 f32");
  CHECK(metadata["tokenizer.chat_template"] == "a string of 16000 bytes");
  CHECK(contains(path_error(std::string(folder) + "/big_endian.gguf"), "a big-endian GGUF file"));
}
