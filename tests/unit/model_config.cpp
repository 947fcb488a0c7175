// A config as its class sees it: aliases, nested parts, raw class defaults, null against missing, where each came from.
#include "evaluating.hpp"

#include <algorithm>

using namespace kvbudget;
using detail::config::model_config;
using testing::evaluate;
using testing::parse;
using testing::source_of;

TEST_CASE("attributes are found under the names that the class stores them") {
  const detail::config::document d = parse(R"({"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16})");
  const model_config c(d);
  CHECK(c.count("hidden_size") == 1024);
  CHECK(c.count("num_hidden_layers") == 24);
  CHECK(c.count("num_attention_heads") == 16);
  CHECK(c.in_file("hidden_size"));
  CHECK(!c.in_file("n_positions"));
}

TEST_CASE("an alias belongs to its class: num_heads is a state's in mamba2 and attention's in mpt's kin") {
  const detail::config::document state = parse(R"({"model_type": "mamba2", "num_heads": 7})");
  CHECK(model_config(state).count("num_attention_heads") == std::nullopt);
  CHECK(model_config(state).count("num_heads") == 7);
  const detail::config::document stored = parse(R"({"model_type": "t5", "num_heads": 7})");
  CHECK(model_config(stored).count("num_attention_heads") == 7);
}

TEST_CASE("a field under two names: what the file says under the other name is set last") {
  struct row {
    const char* config;
    const char* field;
    std::uint64_t value;
  };
  // as transformers 5.24.0 loads them
  for (const row& r : {
           row{R"({"model_type": "gpt2", "n_layer": 24, "num_hidden_layers": 3})", "num_hidden_layers", 3},
           row{R"({"model_type": "dbrx", "n_heads": 8, "num_attention_heads": 4})", "n_heads", 4},
           row{R"({"model_type": "mpt", "num_attention_heads": 4, "n_heads": 8})", "num_attention_heads", 4},
           row{R"({"model_type": "t5", "d_kv": 8, "head_dim": 16})", "d_kv", 16},
           row{R"({"model_type": "switch_transformers", "d_kv": 8, "head_dim": 16})", "d_kv",
               8},  // no other name there
           row{R"({"model_type": "step3p5", "num_attention_groups": 16})", "num_key_value_heads", 16},
           row{R"({"model_type": "inkling_text", "sconv_kernel_size": 8})", "conv_kernel_size", 8},
           row{R"({"model_type": "zamba2", "attention_head_dim": 320, "head_dim": 320})", "attention_head_dim", 320},
       }) {
    CAPTURE(r.config);
    const detail::config::document d = parse(r.config);
    CHECK(model_config(d).count(r.field) == r.value);
  }
}

TEST_CASE("a field under two names, neither of which the class declares: the file's order decides, and is not known") {
  const detail::config::document d = parse(R"({"model_type": "zamba2", "attention_head_dim": 320, "head_dim": 640})");
  const auto e = testing::error_of<config_error>([&] { (void)model_config(d).count("attention_head_dim"); });
  CHECK(e.pointer() == "/head_dim");
  CHECK(e.value() == "640");
  CHECK(e.problem().find("/attention_head_dim") != std::string::npos);
}

TEST_CASE("T5's decoder has the layers of num_layers, whatever another name of that says later") {
  const auto layers = [](const std::string& fields) {
    const auto e = evaluate(R"({"model_type": "t5", "dtype": "float32", )" + fields + "}", {{"seq_len", 1}});
    return std::count_if(e.layers.begin(), e.layers.end(), [](const auto& l) { return l.kind == "full_attention"; });
  };
  CHECK(layers(R"("num_hidden_layers": 3)") == 6);
  CHECK(layers(R"("num_hidden_layers": 3, "num_layers": 4)") == 4);
  CHECK(layers(R"("num_hidden_layers": 3, "num_layers": 4, "num_decoder_layers": 2)") == 2);
}

TEST_CASE("missing is the class's default, null is nothing") {
  const detail::config::document missing = parse(R"({"model_type": "qwen2"})");
  CHECK(model_config(missing).count("num_key_value_heads") == 32);
  CHECK(model_config(missing).field("num_key_value_heads").has_value());
  const detail::config::document null = parse(R"({"model_type": "qwen2", "num_key_value_heads": null})");
  CHECK(model_config(null).count("num_key_value_heads") == std::nullopt);
  CHECK(model_config(null).in_file("num_key_value_heads"));
  CHECK(!model_config(null).field("num_key_value_heads").has_value());
  // without a value K and V have as many heads as Q: 32, as the default; with 8 heads they differ
  CHECK(
      evaluate(
          R"({"model_type": "qwen2", "num_attention_heads": 8, "hidden_size": 512, "num_key_value_heads": null, "dtype": "float16"})")
          .attention == "MHA");
  CHECK_THROWS_AS(
      evaluate(R"({"model_type": "qwen2", "num_attention_heads": 8, "hidden_size": 512, "dtype": "float16"})"),
      config_error);
}

TEST_CASE("the language model's part, under its own name and its own type") {
  SECTION("text_config, with a type") {
    const detail::config::document d = parse(
        R"({"model_type": "llava", "hidden_size": 1, "text_config": {"model_type": "mistral", "num_hidden_layers": 5}})");
    const model_config c(d);
    CHECK(c.published_model_type() == "llava");
    CHECK(c.model_type() == "mistral");
    CHECK(c.is_composite());
    CHECK(c.count("num_hidden_layers") == 5);
    CHECK(c.count("num_key_value_heads") == 8);  // of mistral, not of llama
    CHECK(c.count("hidden_size") == 4096);
    CHECK(c.text().pointer() == "/text_config");
  }
  SECTION("text_config without a type: the composite's") {
    const detail::config::document d = parse(R"({"model_type": "llava", "text_config": {}})");
    CHECK(model_config(d).model_type() == "llama");
  }
  SECTION("no text_config, and null") {
    for (const char* text : {R"({"model_type": "gemma3"})", R"({"model_type": "gemma3", "text_config": null})"}) {
      const detail::config::document d = parse(text);
      const model_config c(d);
      CHECK(c.model_type() == "gemma3_text");
      CHECK(c.count("num_hidden_layers") == 26);
      CHECK(c.text().pointer() == "/text_config");
    }
  }
  SECTION("nested twice") {
    const detail::config::document d =
        parse(R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"num_hidden_layers": 3}}})");
    CHECK(model_config(d).count("num_hidden_layers") == 3);
    CHECK(model_config(d).text().pointer() == "/thinker_config/text_config");
  }
  SECTION("published under another name") {
    const detail::config::document d = parse(R"({"model_type": "kimi_k2"})");
    CHECK(model_config(d).model_type() == "deepseek_v3");
    CHECK(model_config(d).published_model_type() == "kimi_k2");
  }
}

TEST_CASE("every quantity remembers the pointer, class default or rule it came from") {
  const auto e = evaluate(
      R"({"model_type": "llava", "text_config": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 512,
                              "num_attention_heads": 8}, "dtype": "float16"})");
  CHECK(source_of(e, "num_hidden_layers") == "/text_config/num_hidden_layers");
  CHECK(source_of(e, "num_attention_heads") == "/text_config/num_attention_heads");
  CHECK(source_of(e, "head_dim") == "hidden_size / num_attention_heads");
  CHECK(source_of(e, "num_key_value_heads") == "num_attention_heads");
  const auto aliased = evaluate(R"({"model_type": "gpt2", "n_layer": 3, "dtype": "float16"})");
  CHECK(source_of(aliased, "num_hidden_layers") == "/n_layer");
  CHECK(source_of(aliased, "hidden_size") == "class default of gpt2 (hidden_size)");
  const auto falcon = evaluate(R"({"model_type": "falcon", "multi_query": true, "dtype": "float16"})");
  CHECK(source_of(falcon, "num_key_value_heads") == "multi_query");
}

TEST_CASE("the table of model types is sorted, without repetition, and its ranges are inside") {
  using namespace detail::families;
  std::string_view previous;
  for (const model_type_row& row : model_type_rows) {
    CAPTURE(row.model_type);
    CHECK(previous < std::string_view(row.model_type));
    previous = row.model_type;
    CHECK(detail::config::find_model_type(row.model_type) == &row);
    REQUIRE(std::size_t{row.defaults_begin} + row.defaults_size <= std::size(class_defaults_detail::values));
    REQUIRE(std::size_t{row.text_defaults_begin} + row.text_defaults_size <= std::size(class_defaults_detail::values));
    CHECK((row.text_field == nullptr) == (row.text_model_type == nullptr));
    if (row.text_model_type != nullptr) {
      REQUIRE(detail::config::find_model_type(row.text_model_type) != nullptr);
      CHECK(detail::config::find_model_type(row.text_model_type)->text_field == nullptr);
    }
    for (std::size_t i = 0; i < row.defaults_size; ++i) {
      const class_default& d = class_defaults[row.defaults_begin + i];
      REQUIRE(d.field < std::size(field_names));
      if (d.kind == default_kind::json_text) REQUIRE(static_cast<std::size_t>(d.value) < std::size(default_texts));
    }
  }
  CHECK(detail::config::find_model_type("") == nullptr);
  CHECK(detail::config::find_model_type("zzz") == nullptr);
  CHECK(detail::config::find_model_type("Llama") == nullptr);
}

TEST_CASE("every model type is answered from its name alone, or refused by a typed error") {
  std::size_t answered = 0;
  for (const detail::families::model_type_row& row : detail::families::model_type_rows) {
    CAPTURE(row.model_type);
    const std::string text = std::string(R"({"model_type": ")") + row.model_type + "\"}";
    try {
      const auto e =
          evaluate(text, testing::json::parse(R"({"seq_len": 4, "encoder_seq_len": 3, "dtype": "bfloat16"})"));
      CHECK(e.total_bytes > 0);
      ++answered;
    } catch (const config_error& e) {
      CHECK(e.file() == "config.json");
      CHECK(!e.problem().empty());
    }
  }
  CHECK(answered >= 330);
}
