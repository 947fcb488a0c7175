// One config read for three engines: layer by layer they keep the same kinds, heads, widths and windows, or the
// difference is known, with its reason in the engine's source.
#include "evaluating.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <kvbudget/engines/llama_cpp/cached_model.hpp>
#include <kvbudget/engines/vllm/evaluate.hpp>

using namespace kvbudget;
using detail::config::json;

namespace {

// ---- what an engine makes of a config ------------------------------------------------------------------------------

/// A layer's number, and whether it is the cross attention of that layer.
using layer_name = std::pair<std::int64_t, bool>;

struct layer_facts {
  std::string kind;
  std::uint64_t kv_heads = 0;
  std::uint64_t k_width = 0;  ///< of one head; of a latent both parts together
  std::uint64_t v_width = 0;
  std::uint64_t window = 0;
};
struct reading {
  std::string attention;
  std::map<layer_name, layer_facts> layers;
  std::string refused;  ///< why the engine does not read the config; empty when it does
};

void add_rows(layer_facts& f, const kv_row& k, const kv_row& v, tokens window = {}) {
  f.kv_heads = k.heads;
  f.k_width = k.head_size;
  f.v_width = v.head_size;
  f.window = window.count();
}
struct add_part {
  layer_facts& f;

  void operator()(const full_attention& p) const { add_rows(f, p.k, p.v); }
  void operator()(const sliding_window_attention& p) const { add_rows(f, p.k, p.v, p.window); }
  void operator()(const ring_buffer_attention& p) const { add_rows(f, p.k, p.v, p.window); }
  void operator()(const reference_window_attention& p) const { add_rows(f, p.k, p.v, p.window); }
  void operator()(const chunked_local_attention& p) const { add_rows(f, p.k, p.v, p.chunk); }
  void operator()(const cross_attention& p) const { add_rows(f, p.k, p.v); }
  void operator()(const mla_attention& p) const {
    f.kv_heads = 1;
    f.k_width = p.latent.head_size + p.rope.head_size;
  }
  template <class Other>
  void operator()(const Other&) const {}  // no heads
};

reading reading_of(const detail::transformers::cached_model& m) {
  reading r;
  r.attention = m.attention;
  for (const auto& placed : m.layers.layers()) {
    const cache_layer& layer = m.layers.kinds()[placed.kind];
    const bool keeps = std::any_of(layer.parts.begin(), layer.parts.end(), [](const layer_part& p) {
      return !std::holds_alternative<no_cache>(p) && !std::holds_alternative<shared_kv>(p);
    });
    if (!keeps || placed.layer < 0) continue;
    layer_facts& f = r.layers[{placed.layer, layer.kind == detail::config::cross_attention_word}];
    f.kind = layer.kind;
    for (const layer_part& part : layer.parts) std::visit(add_part{f}, part);
  }
  return r;
}

reading by_transformers(const detail::config::document& d) {
  detail::transformers::read_options options;
  options.k_type = options.v_type = options.model_type = bf16;
  return reading_of(detail::transformers::read_model(d, options));
}

reading by_llama_cpp(const detail::config::document& d) {
  return reading_of(detail::llama_cpp::read_cached_model(d, f16, f16));
}

reading by_vllm(const detail::config::document& d) {
  using detail::vllm::layer_role;
  const engine_answer e = detail::vllm::evaluate(d, nullptr, {});
  reading r;
  r.refused = e.refusal;
  if (!r.refused.empty()) return r;
  r.attention = e.attention;
  const detail::vllm::launch q = detail::vllm::read_launch(d, nullptr, {});
  for (const detail::vllm::layer_ref& ref : q.model.layers) {
    const detail::vllm::layer_class& c = q.model.classes[ref.layer_class];
    layer_facts& f = r.layers[{ref.layer, c.role == layer_role::cross_attention}];
    if (c.role == layer_role::recurrent || c.role == layer_role::dsa_indexer ||
        c.role == layer_role::minimax_m3_indexer || c.role == layer_role::deepseek_v4_compressor ||
        c.role == layer_role::deepseek_v4_indexer || c.role == layer_role::deepseek_v4_mla) {
      continue;  // beside or without the rows of all positions
    }
    const bool one_row =
        c.role == layer_role::mla || c.role == layer_role::sparse_mla || c.role == layer_role::deepseek_v4_swa;
    f.kv_heads = c.num_kv_heads;
    f.k_width = c.head_size;
    f.v_width = one_row ? 0 : c.head_size_v != 0 ? c.head_size_v : c.head_size;
    f.window = c.window;
  }
  for (const layer_bytes& l : e.layers) {
    if (l.layer >= 0) r.layers[{l.layer, l.kind == detail::config::cross_attention_word}].kind = l.kind;
  }
  return r;
}

struct engine_reader {
  std::string_view name;
  reading (*read)(const detail::config::document&);
};
constexpr engine_reader readers[] = {{"transformers", by_transformers}, {"vllm", by_vllm}, {"llama.cpp", by_llama_cpp}};

reading read_by(const engine_reader& engine, const detail::config::document& d) {
  try {
    return engine.read(d);
  } catch (const input_error& e) {
    reading r;
    r.refused = e.what();
    return r;
  }
}

// ---- what differs --------------------------------------------------------------------------------------------------

using aspects = std::set<std::string>;

template <class Field>
bool any_differs(const reading& a, const reading& b, Field field) {
  return std::any_of(a.layers.begin(), a.layers.end(), [&](const auto& entry) {
    const auto other = b.layers.find(entry.first);
    return other != b.layers.end() && entry.second.*field != other->second.*field;
  });
}
aspects differences(const reading& a, const reading& b) {
  aspects result;
  if (a.attention != b.attention) result.insert("attention");
  const auto same_name = [](const auto& x, const auto& y) { return x.first == y.first; };
  if (!std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same_name)) {
    result.insert("layers");
  }
  if (any_differs(a, b, &layer_facts::kind)) result.insert("kind");
  if (any_differs(a, b, &layer_facts::kv_heads)) result.insert("heads");
  if (any_differs(a, b, &layer_facts::k_width)) result.insert("K");
  if (any_differs(a, b, &layer_facts::v_width)) result.insert("V");
  if (any_differs(a, b, &layer_facts::window)) result.insert("window");
  return result;
}

/// For people: runs of equal layers.
std::string text_of(const reading& r) {
  if (!r.refused.empty()) return "refused: " + r.refused;
  std::string text = r.attention + ":";
  std::string last;
  std::size_t times = 0;
  const auto end_run = [&] {
    if (times > 0) text += " " + std::to_string(times) + " x " + last + ",";
    times = 0;
  };
  for (const auto& [name, f] : r.layers) {
    const std::string now = f.kind + " " + std::to_string(f.kv_heads) + "x" + std::to_string(f.k_width) + "/" +
                            std::to_string(f.v_width) + (f.window != 0 ? " w" + std::to_string(f.window) : "");
    if (now != last) end_run();
    last = now;
    ++times;
  }
  end_run();
  return text;
}

// ---- model types and their classes ----------------------------------------------------------------------------------

/// "Qwen2VLForConditionalGeneration" -> "qwen2vl".
std::string plain_word(std::string_view name) {
  for (const std::string_view ending : {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "Model"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.remove_suffix(ending.size());
      break;
    }
  }
  std::string word;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return word;
}

/// The class by which each model type is published: of the engines' own tables, else the one of the same name.
std::map<std::string, std::string> architectures_by_type() {
  std::map<std::string, std::string> result;
  for (const auto& p : detail::llama_cpp::published_classes) result.emplace(p.model_type, p.hf_architecture);
  for (const auto& a : detail::vllm::architectures_of_types) result.emplace(a.model_type, a.architecture);
  std::map<std::string, std::string> by_word;
  const auto add = [&by_word](std::string_view name) { by_word.emplace(plain_word(name), name); };
  for (const auto& a : detail::vllm::architectures) add(a.name);
  for (const auto& c : detail::llama_cpp::converters) add(c.hf_architecture);
  for (const auto& row : detail::families::model_type_rows) {
    if (const auto at = by_word.find(plain_word(row.model_type)); at != by_word.end()) {
      result.emplace(row.model_type, at->second);
    }
  }
  return result;
}

/// The config with the defaults of its class written out, where the class keeps them: for engines that have no such
/// class.
json spelled_out(const json& minimal) {
  const detail::config::document d = testing::parse(minimal.dump());
  json whole = minimal;
  try {
    const detail::config::model_config c(d);
    json* text = &whole;
    const auto* const row = detail::config::find_model_type(c.root_model_type());
    if (c.is_composite()) {
      text = &whole[json::json_pointer("/" + std::string(row->text_field))];
      (*text)["model_type"] = c.model_type();
    }
    const detail::config::document bare = testing::parse(json{{"model_type", c.model_type()}}.dump());
    const detail::config::model_config alone(bare);
    for (const char* const name : detail::families::field_names) {
      const auto value = c.entry(name);
      if (value && !(value->value().is_null() && !alone.field(name))) (*text)[name] = value->value();
    }
  } catch (const config_error&) {  // a class that transformers does not have
  }
  return whole;
}
// ---- the differences that there are
// ----------------------------------------------------------------------------------

/// What an engine keeps in another way than the first one that reads the config.
struct known_difference {
  std::string_view model_types;  ///< of the root, between blanks
  std::string_view engine;
  aspects differ;
  std::string_view source;  ///< the place in the engine, and what it does there
};
const known_difference known_differences[] = {
    {" cohere2 cohere2_vision ",
     "vllm",
     {"window"},
     "models/commandr.py, CohereAttention: sliding_window + 1, the position itself counts on top"},
    {" kimi_linear ",
     "vllm",
     {"attention", "heads", "K", "kind"},
     "transformers_utils/configs/kimi_linear.py, is_kda_layer: without linear_attn_config every layer is MLA"},
    {" longcat_flash ",
     "vllm",
     {"layers"},
     "models/longcat_flash.py: two attention modules in one layer; transformers numbers them one by one"},
    {" step3p5 ",
     "vllm",
     {"layers"},
     "transformers_utils/configs/step3p5.py: a class of its own, whose default is 48 layers in place of 45"},
    {" exaone4 exaone4_5 ",
     "llama.cpp",
     {"kind", "window"},
     "src/models/exaone4.cpp, load_arch_hparams: only models of 64 layers slide"},
    {" hy_v4 ",
     "llama.cpp",
     {"kind"},
     "conversion/hy_v4.py, indexer_is_full: none but where the file lists indexer_types or sparse layers"},
    {" laguna ",
     "llama.cpp",
     {"kind", "window"},
     "src/models/laguna.cpp, load_arch_hparams: a window means that all but the first of four layers slide"},
    {" minicpm3 ",
     "llama.cpp",
     {"attention", "heads", "K", "V"},
     "src/models/minicpm3.cpp: K and V of all heads are made from the latent before they are kept"},
    {" mistral ", "llama.cpp", {"kind", "window"}, "conversion/llama.py, LlamaModel: no window is written"},
    {" mt5 t5 umt5 ",
     "llama.cpp",
     {"layers"},
     "src/models/t5.cpp, build_attn_inp_cross: K and V of the encoder's states are made anew in every step"},
    {" unlimited_ocr ",
     "llama.cpp",
     {"kind", "window"},
     "conversion/deepseek.py, DeepseekV2Model: the window is written, and the decoder ignores it"},
};

const known_difference* find_known(const std::string& model_type, std::string_view engine) {
  for (const known_difference& k : known_differences) {
    if (k.engine == engine && k.model_types.find(" " + model_type + " ") != k.model_types.npos) return &k;
  }
  return nullptr;
}

/// Model type and engine, and in what the engine differs from the first that reads the config.
using found_differences = std::map<std::pair<std::string, std::string_view>, aspects>;

/// Reads `d` by all engines and adds what differs; how many read it. `words` collects the kinds of layers.
int compare(const detail::config::document& d, const std::string& model_type, found_differences& found,
            std::set<std::string>& words) {
  std::optional<reading> first;
  int readers_of_it = 0;
  std::string shown;
  for (const engine_reader& engine : readers) {
    const reading r = read_by(engine, d);
    shown += std::string(engine.name) + " " + text_of(r) + "\n";
    if (!r.refused.empty()) continue;
    ++readers_of_it;
    for (const auto& [name, layer] : r.layers) words.insert(layer.kind);
    if (!first) {
      first = r;
      continue;
    }
    const aspects differ = differences(*first, r);
    if (differ.empty()) continue;
    const known_difference* const known = find_known(model_type, engine.name);
    INFO(d.file << " " << model_type << ": " << engine.name << " differs\n" << shown);
    CHECK(
        (known != nullptr && std::includes(known->differ.begin(), known->differ.end(), differ.begin(), differ.end())));
    found[{model_type, engine.name}].insert(differ.begin(), differ.end());
  }
  return readers_of_it;
}

/// Published configs: of the examples, and of a folder beside the repository where there is one.
std::vector<std::filesystem::path> published_configs() {
  std::vector<std::filesystem::path> files;
  const char* const told = std::getenv("KVBUDGET_CONFIGS_DIR");
  const std::string source = KVBUDGET_SOURCE_DIR;
  for (const std::string& folder :
       {source + "/examples/configs", told != nullptr ? std::string(told) : source + "/../shared/configs"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json") && !name.ends_with("hf_quant_config.json")) files.push_back(entry.path());
    }
  }
  return files;
}

}  // namespace

TEST_CASE("engines keep the same layers of one config, or it is known in what they differ") {
  found_differences found;
  std::set<std::string> words;
  int compared = 0;
  for (const auto& [type, architecture] : architectures_by_type()) {
    const json minimal = {{"model_type", type}, {"architectures", {architecture}}};
    int most = 0;
    for (const json& config : {minimal, spelled_out(minimal)}) {
      most = std::max(most, compare(testing::parse(config.dump()), type, found, words));
    }
    compared += most > 1 ? 1 : 0;
  }
  CHECK(compared >= 144);  // so that none drops out unseen

  for (const known_difference& k : known_differences) {
    std::istringstream types{std::string(k.model_types)};
    for (std::string type; types >> type;) {
      INFO(type << " by " << k.engine << ": " << k.source);
      CHECK(found[{type, k.engine}] == k.differ);
    }
  }
  for (const std::string& word : words) {
    INFO(word);
    CHECK(detail::config::is_layer_word(word));
  }
}

TEST_CASE("engines keep the same layers of published configs") {
  found_differences found;
  std::set<std::string> words;
  for (const std::filesystem::path& file : published_configs()) {
    const detail::config::document d = detail::config::read_document(file.string());
    CHECK(compare(d, d.root.value("model_type", ""), found, words) > 1);
  }
}

TEST_CASE("transformers and vLLM read what the class says where the file says nothing") {
  struct row {
    const char* config;
    const char* layers;
  };
  // as transformers 5.24.0 and 5.19.0 load them
  for (
      const row& r : {
          // without a text config the composite's own one; one that is there is of the class's defaults
          row{R"("model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"])",
              "GQA: 40 x full_attention 8x128/128,"},
          row{R"("model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "text_config": {})",
              "GQA: 32 x sliding_attention 8x128/128 w4096,"},
          row{R"("model_type": "paligemma", "architectures": ["PaliGemmaForConditionalGeneration"])",
              "MQA: 18 x full_attention 1x256/256,"},
          row{R"("model_type": "paligemma", "architectures": ["PaliGemmaForConditionalGeneration"], "text_config": {})",
              "MHA: 28 x full_attention 16x256/256,"},
          row{R"("model_type": "paligemma", "architectures": ["PaliGemmaForConditionalGeneration"],
                  "text_config": {"model_type": "gemma2", "num_hidden_layers": 2})",
              "GQA: 1 x sliding_attention 4x256/256 w4096, 1 x full_attention 4x256/256,"},
          // Voxtral's are below one that says only a part, whatever type it says
          row{R"("model_type": "voxtral", "architectures": ["VoxtralForConditionalGeneration"])",
              "GQA: 30 x full_attention 8x128/128,"},
          row{R"("model_type": "voxtral", "architectures": ["VoxtralForConditionalGeneration"],
                  "text_config": {"num_hidden_layers": 2})",
              "GQA: 2 x full_attention 8x128/128,"},
          row{R"("model_type": "voxtral", "architectures": ["VoxtralForConditionalGeneration"],
                  "text_config": {"model_type": "gemma2", "num_hidden_layers": 2})",
              "MHA: 1 x sliding_attention 8x128/128 w4096, 1 x full_attention 8x128/128,"},
          // Zamba2's list of layers is under two names
          row{R"("model_type": "zamba2", "architectures": ["Zamba2ForCausalLM"], "num_hidden_layers": 3,
                  "layers_block_type": ["mamba", "hybrid", "mamba"])",
              "hybrid: 1 x linear_attention 0x0/0, 1 x hybrid 32x160/160, 1 x linear_attention 0x0/0,"},
          row{R"("model_type": "zamba2", "architectures": ["Zamba2ForCausalLM"], "num_hidden_layers": 2,
                  "layer_types": ["linear_attention", "hybrid"])",
              "hybrid: 1 x linear_attention 0x0/0, 1 x hybrid 32x160/160,"},
      }) {
    const detail::config::document d = testing::parse("{" + std::string(r.config) + "}");
    CAPTURE(r.config);
    CHECK(text_of(by_transformers(d)) == r.layers);
    CHECK(text_of(by_vllm(d)) == r.layers);
  }
}

TEST_CASE("Zamba2 without a list of layers has that of the released model") {
  const char* const config = R"({"model_type": "zamba2", "architectures": ["Zamba2ForCausalLM"])";
  const detail::config::document whole = testing::parse(std::string(config) + "}");
  const detail::config::document short_one = testing::parse(std::string(config) + R"(, "num_hidden_layers": 2})");
  for (const engine_reader& engine : {readers[0], readers[1]}) {
    CAPTURE(engine.name);
    std::vector<std::int64_t> hybrid;
    const reading r = engine.read(whole);
    for (const auto& [name, layer] : r.layers) {
      if (layer.kind == "hybrid") hybrid.push_back(name.first);
    }
    CHECK(r.layers.size() == 54);
    CHECK(hybrid == std::vector<std::int64_t>{6, 12, 18, 24, 30, 36, 42, 47, 51});
    CHECK(testing::error_of<config_error>([&] { (void)engine.read(short_one); }).pointer() == "/num_hidden_layers");
  }
}

TEST_CASE("Bamba and Falcon-H1 with a list of layers in the file") {
  const detail::config::document bamba = testing::parse(
      R"({"model_type": "bamba", "architectures": ["BambaForCausalLM"], "num_hidden_layers": 3,
          "attn_layer_indices": [1], "layer_types": ["attention", "mamba", "mamba"]})");
  const detail::config::document falcon =
      testing::parse(R"({"model_type": "falcon_h1", "architectures": ["FalconH1ForCausalLM"], "num_hidden_layers": 2,
                         "layer_types": ["full_attention", "linear_attention"]})");
  const auto refused = [](const engine_reader& engine, const detail::config::document& d) {
    return testing::error_of<config_error>([&] { (void)engine.read(d); }).pointer() == "/layer_types";
  };
  // a property of both classes in the releases of transformers 5, vLLM's included
  CHECK(refused(readers[0], bamba));
  CHECK(refused(readers[0], falcon));
  CHECK(refused(readers[1], falcon));
  // an attribute that nobody asks for in 4.57.6, but for llama.cpp's converter of Bamba
  detail::transformers::read_options old;
  old.version = {4, 57, 6};
  old.k_type = old.v_type = old.model_type = bf16;
  CHECK(text_of(reading_of(detail::transformers::read_model(bamba, old))) ==
        "hybrid: 1 x linear_attention 0x0/0, 1 x full_attention 8x128/128, 1 x linear_attention 0x0/0,");
  CHECK(text_of(reading_of(detail::transformers::read_model(falcon, old))) == "hybrid: 2 x hybrid 8x128/128,");
  CHECK(text_of(by_llama_cpp(bamba)) == "hybrid: 1 x full_attention 8x128/128, 2 x linear_attention 0x0/0,");
  CHECK(text_of(by_llama_cpp(falcon)) == "hybrid: 2 x hybrid 8x128/128,");
}

TEST_CASE("gemma-2's attention has one name, and MiMo's file must have its pattern of layers") {
  const detail::config::document gemma =
      detail::config::read_document(KVBUDGET_SOURCE_DIR "/examples/configs/gemma-2-9b-it.json");
  for (const engine_reader& engine : readers) CHECK(engine.read(gemma).attention == "GQA");
  const detail::config::document mimo =
      testing::parse(R"({"model_type": "mimo_v2_flash", "architectures": ["MiMoV2FlashForCausalLM"]})");
  CHECK(testing::error_of<config_error>([&] { (void)by_vllm(mimo); }).pointer() == "/hybrid_layer_pattern");
}
