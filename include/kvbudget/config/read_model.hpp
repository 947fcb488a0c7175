// From a config to the layers that transformers caches.
#pragma once

#include <kvbudget/config/attention_name.hpp>
#include <kvbudget/config/own_caches.hpp>
#include <kvbudget/config/engine_version.hpp>

namespace kvbudget::detail::transformers {

/// The versions whose rules are known. One outside is answered by the nearest.
inline constexpr config::engine_version oldest_version{4, 57, 6};
inline constexpr config::engine_version newest_version{5, 24, 0};

struct read_options {
  config::engine_version version = newest_version;
  storage_type k_type;      ///< of keys
  storage_type v_type;      ///< of values
  storage_type model_type;  ///< of the states that follow the model's element type
  std::string part;         ///< sub-model of a model that has several; empty: its language model
  /// generate() builds the cross cache from the decoder's config, so that it slides where the decoder does; forward()
  /// alone makes it of full layers.
  bool cache_built_by_generate = false;
  bool windows_are_full = false;  ///< the cache has full layers only, whatever the config says
};

/// A model as transformers caches it.
struct cached_model {
  model layers;                        ///< self attention in order, then cross attention
  std::string model_type;              ///< of the language model
  std::string dtype;                   ///< name of the element type, where one stands for all
  std::string attention;               ///< as attention_name() has it
  std::uint64_t num_layers = 0;        ///< decoder layers as the config counts them
  std::uint64_t prefix_positions = 0;  ///< positions that the model itself puts before every prompt
  bool has_cross_attention = false;
  std::uint64_t encoder_positions = 0;   ///< where the encoder's length is a property of the model (image patches)
  bool encoder_is_prefix = false;        ///< the encoder's states stand before the prompt, in every decoder layer
  bool all_full = true;                  ///< every layer is full attention (a quantized cache wants that)
  bool keeps_position_ids = false;       ///< storage of int64 position ids beside the tensors (qwen4_exp)
  bool keeps_module_state = false;       ///< part of the state is in the modules, not in the cache object
  checked_count conv_row_bytes = 0U;     ///< per sequence: what the slices of module states keep alive after a step
  bool pairs_empty_cross_cache = false;  ///< forward() makes an encoder-decoder cache, encoder or not
  bool has_static_cache = true;
  std::uint64_t layers_of_config = 0;  ///< that a cache made from the config has, where the model has others; else 0
  std::vector<provenance> sources;
  std::vector<std::string> notes;
};

/// Two models of any kind put together.
inline constexpr std::string_view assembled_types[] = {"encoder-decoder", "speech-encoder-decoder",
                                                       "vision-encoder-decoder"};

/// forward() makes an EncoderDecoderCache of these, encoder or not (modeling_X.py of 5.24.0 and of 4.57.6).
inline constexpr std::string_view pairing_types[] = {"megatron-bert", "musicgen_decoder", "musicgen_melody_decoder",
                                                     "rembert", "roc_bert"};
inline constexpr std::string_view pairing_types_before_5[] = {
    "bert",    "bert-generation",      "camembert", "data2vec-text", "electra",        "ernie",
    "roberta", "roberta-prelayernorm", "roformer",  "xlm-roberta",   "xlm-roberta-xl", "xmod",
    "rembert", "megatron-bert",        "roc_bert",  "gpt_bigcode"};

[[nodiscard]] inline kv_row row(std::uint64_t heads, std::uint64_t width, storage_type type) {
  return {heads, width, type};
}

class model_reader {
 public:
  model_reader(const config::document& d, const read_options& o) : c_(d, o.part), o_(o) {}

  [[nodiscard]] cached_model read() {
    const std::string_view type = c_.model_type();
    result_.model_type = std::string(type);
    if (is_one_of(type, types_without_cache) || is_one_of(c_.root_model_type(), types_without_cache)) {
      c_.root().fail("model_type", *c_.root().find("model_type"), "this model type keeps no cache of its own",
                     "a model type that caches");
    }
    if (is_one_of(type, refused_types)) {
      c_.root().fail("model_type", *c_.root().find("model_type"),
                     "this model type's cache (hashed buckets) fits no layer kind of this library",
                     "a model type that `kvbudget models` lists");
    }
    refuse_encoder();
    if (!is_before(5, 4)) {  // since when the classes check them (configuration_utils.py)
      c_.check_properties();
      c_.check_nulls();
    }
    if (type == "rwkv" || type == "xlstm" || type == "xlnet") read_own_cache(type);
    else read_layers();
    result_.sources = c_.sources();
    if (const std::string encoder = bare_encoder(); !encoder.empty()) {
      result_.layers = {};
      result_.attention = config::attention_name({});
      result_.has_static_cache = false;
      result_.has_cross_attention = result_.pairs_empty_cross_cache = false;
      result_.notes.push_back(encoder + " is an encoder here, and keeps no cache");
    }
    if (std::string note = c_.defaults_alone(); !note.empty()) result_.notes.push_back(std::move(note));
    return std::move(result_);
  }

 private:
  void read_own_cache(std::string_view type) {
    result_.all_full = false;
    result_.has_static_cache = false;
    const bool remembers = type == "xlnet";  // hidden states, from which K and V of all heads are made anew
    result_.attention = config::attention_name({.attention = remembers, .recurrent = !remembers});
    result_.layers = type == "rwkv"    ? rwkv(c_, o_.model_type)
                     : type == "xlstm" ? xlstm(c_, o_.model_type, is_before(5, 0))
                                       : xlnet(c_, o_.k_type);
    result_.num_layers = c_.count("num_hidden_layers").value_or(result_.layers.layers().size());
  }

  /// A class that has no decoder takes no cache: T5EncoderModel and its like, and heads on an encoder.
  void refuse_encoder() const {
    const std::string name = c_.architecture();
    for (const std::string_view ending : {"EncoderModel", "ForAudioClassification"}) {
      if (!name.ends_with(ending)) continue;
      c_.root().fail("architectures", c_.root().value()["architectures"], "an encoder, which has no cache",
                     "a class that generates");
    }
  }

  /// BERT and its like: the bare model caches only as a decoder, and other heads than a causal one hand no cache on
  /// (modeling_bert.py, BertModel.forward). The name of such a class, or nothing.
  [[nodiscard]] std::string bare_encoder() const {
    const std::string name = c_.architecture();
    if (name.empty() || !c_.caches_as_decoder()) return {};
    for (const std::string_view causal : {"ForCausalLM", "LMHeadModel", "Decoder"}) {
      if (name.ends_with(causal)) return {};
    }
    const bool bare = name.ends_with("Model") || name.ends_with("Encoder");
    return bare && c_.boolean("is_decoder").value_or(false) ? std::string() : name;
  }

  /// Decoder layers as the cache counts them.
  [[nodiscard]] std::uint64_t read_layer_count() {
    std::string_view field = "num_hidden_layers";
    for (const std::string_view own : {"decoder_layers", "num_decoder_layers"}) {
      if (c_.reads(own) && c_.count(own)) field = own;
    }
    const std::string_view type = c_.model_type();
    if (type == "longcat_flash") field = "num_layers";
    if (type == "nemotron_h" && !c_.count(field)) field = {};  // the list of layers says how many there are
    std::uint64_t n = field.empty() ? 0 : c_.required_count(field, 1);
    // T5 and its like take the number of num_layers, before another name of that is set.
    if (field == "num_hidden_layers" && c_.reads("num_decoder_layers")) {
      n = c_.count_while_computed(field, 1).value_or(n);
    }
    // HRM runs a stack several times, and every pass has a cache of its own.
    if (type == "hrm_text" && !c_.count("num_layers_per_stack")) {
      const checked_count passes =
          checked_count(c_.required_count("H_cycles", 1)) * (c_.required_count("L_cycles", 1) + 1);
      n = (passes * n).value();
    }
    if (type == "longcat_flash") n *= 2;  // two attentions per layer
    check_layer_count(c_, field, n);
    return n;
  }

  void read_layers() {
    const std::uint64_t n = read_layer_count();
    layer_kinds kinds = read_layer_kinds(c_, n, o_.version);
    result_.num_layers = kinds.size();
    check_attention(kinds);
    if (o_.windows_are_full) {
      std::replace(kinds.begin(), kinds.end(), layer_kind::sliding, layer_kind::full);
      std::replace(kinds.begin(), kinds.end(), layer_kind::chunked, layer_kind::full);
    }
    if (c_.reads("num_decoder_layers")) count_layers_of_config(n);
    apply_loops(kinds);
    share_kv(kinds);
    check_lists(n);
    const attention_rows rows(c_, kinds.size(), o_.version);
    if (c_.model_type() == "mllama_text_model") cross_layers_ = listed_layers("cross_attention_layers");
    if (c_.model_type() == "qwen4_exp_text") embedding_layers_ = listed_layers("ple_layer_ids");
    add_layers(rows, kinds);
    add_model_state(rows, kinds);
    add_cross_attention(rows, kinds);
    describe(rows, kinds);
  }

  /// Layers of one kind are equal unless something says otherwise, so most models build one value per kind.
  void add_layers(const attention_rows& rows, const layer_kinds& kinds) {
    const bool per_layer = rows.differ_by_layer() || c_.field("indexer_types") || c_.field("kv_source_layers") ||
                           c_.field("ple_layer_ids") || !indexers_on_every_layer();
    std::optional<std::size_t> built[static_cast<std::size_t>(layer_kind::none) + 1];
    // MiniMax-01 adds layers as they are used, and linear ones behind the last full one never are.
    std::size_t listed = kinds.size();
    while (c_.model_type() == "minimax" && listed > 0 && kinds[listed - 1] == layer_kind::linear) --listed;
    for (std::size_t i = 0; i < listed; ++i) {
      if (kinds[i] == layer_kind::none && is_before(5, 23) && shares_kv_) continue;
      auto& known = built[static_cast<std::size_t>(kinds[i])];
      const bool special = per_layer || is_vision_cross(i);
      if (!special && known) {
        result_.layers.add_another(static_cast<std::int64_t>(i), *known);
        continue;
      }
      const std::size_t kind = result_.layers.add(static_cast<std::int64_t>(i), build(rows, i, kinds));
      if (!special) known = kind;
    }
  }

  /// A cache that is made from the config counts the encoder's layers where the class does not call the decoder's
  /// decoder_layers (configuration_utils.py, get_text_config); ProphetNet's own forward() makes it so.
  void count_layers_of_config(std::uint64_t decoder_layers) {
    const bool prophetnet = c_.model_type() == "prophetnet";
    const std::uint64_t counted = c_.required_count(prophetnet ? "num_encoder_layers" : "num_hidden_layers");
    if (counted >= decoder_layers) return;
    result_.layers_of_config = counted;
    if (prophetnet) {
      c_.fail("num_decoder_layers", "more than num_encoder_layers, which the cache counts", "at most as many");
    }
  }

  /// Lists of MLP types have one entry a layer, although no cache depends on them.
  void check_lists(std::uint64_t n) const {
    const auto types = c_.array("mlp_layer_types");
    if (!types || types->value().size() == n) return;
    // Without layer_types the class does not compare, and the model runs out of entries only where there are too few.
    if (types->value().size() < n || c_.in_file("layer_types")) {
      types->fail("not as many as layers", "one entry a layer");
    }
  }

  /// Positions are counted by an attention layer: a model that has some, and none in this config, does not run
  /// (cache_utils.py, Cache.get_seq_length).
  void check_attention(const layer_kinds& kinds) const {
    for (const std::string_view recurrent : {"mamba", "mamba2", "falcon_mamba"}) {
      if (c_.model_type() == recurrent) return;
    }
    for (const layer_kind kind : kinds) {
      if (kind != layer_kind::linear && kind != layer_kind::conv && kind != layer_kind::none) return;
    }
    if (!kinds.empty()) c_.fail("layer_types", "no layer with attention, which such a model needs", "at least one");
  }

  [[nodiscard]] bool indexers_on_every_layer() const {
    const std::string_view type = c_.model_type();
    return type != "hy_v4" && type != "hy_v4_vl_text" && !c_.field("index_topk_pattern") &&
           !c_.field("index_topk_freq");
  }

  /// Models that run layers more than once: each pass keeps its own K and V.
  void apply_loops(layer_kinds& kinds) {
    const std::string_view type = c_.model_type();
    if (type == "dory") {
      // Released files list attention and MLP as layers of their own; two make one.
      std::uint64_t halve = 1;
      if (const auto list = c_.array("layer_types")) {
        for (const config::json& word : list->value()) {
          if (word == "mlp") halve = 2;
        }
      }
      if (halve == 2) {
        layer_kinds attention;
        for (std::size_t i = 0; i < kinds.size(); i += 2) attention.push_back(kinds[i]);
        kinds = std::move(attention);
        kinds.resize(result_.num_layers / 2);
        result_.num_layers = kinds.size();
      }
      const std::uint64_t inputs = c_.required_count("n_input_layers") / halve;
      const std::uint64_t outputs = c_.required_count("n_output_layers") / halve;
      const auto own = c_.count("n_recurrent_layers");
      const std::uint64_t recurrent =
          own ? *own / halve : kinds.size() - std::min<std::size_t>(kinds.size(), inputs + outputs);
      if (inputs + recurrent + outputs != kinds.size()) {
        c_.fail("n_input_layers", "input, recurrent and output layers do not add up to num_hidden_layers",
                "n_input_layers + n_recurrent_layers + n_output_layers = num_hidden_layers");
      }
      if (c_.string("recurrent_kv_cache_mode").value_or("per_loop") != "per_loop") return;
      repeat_at_end(kinds, inputs, inputs + recurrent, c_.required_count("n_recurrent_loops", 1));
    } else if (type == "inkling2_loop_text") {
      const auto loop = c_.object("loop_config");
      const auto read = [&](std::string_view key, std::string_view field) {
        const auto value = loop ? loop->count(key) : std::nullopt;
        return value ? *value : c_.required_count(field);
      };
      const std::uint64_t end = std::min<std::uint64_t>(read("core_end", "loop_layer_index_end"), kinds.size());
      const std::uint64_t start = std::min(read("core_start", "loop_layer_index_start"), end);
      const std::uint64_t passes = read("num_passes", "loop_num_passes");
      if (passes == 0) c_.fail("loop_num_passes", "zero", "at least 1");
      const layer_kinds rest(kinds.begin() + static_cast<std::ptrdiff_t>(end), kinds.end());
      kinds.resize(end);
      repeat_at_end(kinds, start, end, passes);
      kinds.insert(kinds.end(), rest.begin(), rest.end());
    }
    check_layer_count(c_, "num_hidden_layers", kinds.size());
  }

  void repeat_at_end(layer_kinds& kinds, std::size_t from, std::size_t to, std::uint64_t passes) const {
    if (from == to) return;
    const checked_count total = checked_count(to - from) * passes + kinds.size();
    if (!total.fits(max_layers))
      c_.fail("num_hidden_layers", "more than 65,536 layers with all passes", "at most 65,536");
    for (std::uint64_t pass = 1; pass < passes; ++pass) {
      for (std::size_t i = from; i < to; ++i) kinds.push_back(layer_kind(kinds[i]));
    }
  }

  /// The last num_kv_shared_layers layers read the K and V of earlier ones.
  void share_kv(layer_kinds& kinds) {
    const std::string_view type = c_.model_type();
    const bool shares = type == "gemma3n_text" || type == "gemma4_text" || type == "gemma4_unified_text" ||
                        type == "diffusion_gemma_text";
    if (!shares) return;
    const std::uint64_t shared = c_.count_or("num_kv_shared_layers", 0);
    if (shared > kinds.size())
      c_.fail("num_kv_shared_layers", "more than there are layers", "at most num_hidden_layers");
    // layer_types[:-0] is empty, so that until 5.14 no layer was known beforehand and every one became a full one.
    if (type == "gemma3n_text" && shared == 0 && is_before(5, 14)) {
      all(kinds, layer_kind::full);
      result_.has_static_cache = false;
      return;
    }
    shares_kv_ = shared > 0;
    for (std::size_t i = kinds.size() - shared; i < kinds.size(); ++i) {
      const auto last_own = kinds.end() - static_cast<std::ptrdiff_t>(shared);
      const bool all_shared = type != "gemma3n_text" && shared == kinds.size();  // the assistants' form
      if (!all_shared && std::find(kinds.begin(), last_own, kinds[i]) == last_own) {
        c_.fail("num_kv_shared_layers", "a layer shares K and V, and no earlier one of its type has any",
                "fewer layers");
      }
    }
    for (std::size_t i = kinds.size() - shared; i < kinds.size(); ++i) kinds[i] = layer_kind::none;
  }

  /// Layer numbers listed by a field, sorted: a file may list any number of them.
  [[nodiscard]] std::vector<std::uint64_t> listed_layers(std::string_view field) const {
    std::vector<std::uint64_t> result;
    if (const auto list = c_.array(field)) {
      for (std::size_t i = 0; i < list->value().size(); ++i) result.push_back(list->child(i).count());
    }
    std::sort(result.begin(), result.end());
    return result;
  }
  /// Layers that attend to image features only (mllama).
  [[nodiscard]] bool is_vision_cross(std::size_t i) const {
    return std::binary_search(cross_layers_.begin(), cross_layers_.end(), i);
  }

  [[nodiscard]] cache_layer build(const attention_rows& rows, std::size_t i, const layer_kinds& kinds) {
    const layer_kind kind = kinds[i];
    cache_layer layer{std::string(name_of(kind)), {}};
    switch (kind) {
      case layer_kind::none:
        layer.parts.push_back(shares_kv_ ? layer_part(shared_kv{}) : layer_part(no_cache{}));
        break;
      case layer_kind::linear:
        if (c_.model_type() == "minimax") break;  // kept at the level of the cache
        [[fallthrough]];
      case layer_kind::conv: add_state(layer, read_state(c_, needs_rows() ? rows.at(i, kind) : row_shape{}), i); break;
      case layer_kind::compressed_sparse:
      case layer_kind::heavily_compressed: add_compressed(layer, rows, i, kind); break;
      default: add_attention(layer, rows, i, kinds);
    }
    if (kind == layer_kind::hybrid || kind == layer_kind::hybrid_sliding) {
      add_state(layer, read_state(c_, rows.at(i, kind)), i);
    }
    // Until 5.5 LFM2 allocated the convolution of every layer (modeling_lfm2.py of 4.57.6).
    if (kind == layer_kind::full && c_.model_type() == "lfm2" && is_before(5, 5)) {
      add_state(layer, read_state(c_, {}), i);
    }
    return layer;
  }

  [[nodiscard]] bool needs_rows() const { return c_.model_type() == "zaya" || c_.model_type().starts_with("inkling"); }

  void add_attention(cache_layer& layer, const attention_rows& rows, std::size_t i, const layer_kinds& kinds) {
    const layer_kind kind = kinds[i];
    const row_shape shape = rows.at(i, kind);
    most_k_heads_ = std::max(most_k_heads_, shape.k_heads);
    const kv_row k = row(shape.k_heads, shape.k_width, o_.k_type);
    const kv_row v = row(shape.v_heads, shape.v_width, o_.v_type);
    if (is_vision_cross(i)) {
      layer.parts.push_back(cross_attention{k, v, tokens()});
      return;
    }
    switch (kind) {
      case layer_kind::sliding:
        if (c_.model_type() == "recurrent_gemma" && is_before(5, 4)) {
          layer.parts.push_back(ring_buffer_attention{k, v, window(rows, i)});
          break;
        }
        [[fallthrough]];
      case layer_kind::hybrid_sliding: layer.parts.push_back(sliding_window_attention{k, v, window(rows, i)}); break;
      case layer_kind::reference_sliding:
        layer.parts.push_back(reference_window_attention{k, v, window(rows, i)});
        break;
      case layer_kind::chunked: {
        const auto chunk = rows.chunk(i);
        if (!chunk || *chunk == 0) c_.fail_missing("attention_chunk_size", "at least 1, for the chunked layers");
        layer.parts.push_back(chunked_local_attention{k, v, tokens(*chunk)});
        break;
      }
      default:
        // A layer that reuses another's latent still has index keys of its own.
        if (reuses_kv(i)) layer.parts.push_back(shared_kv{});
        else if (shape.latent) layer.parts.push_back(mla_attention{k, v});
        else layer.parts.push_back(full_attention{k, v});
    }
    if (kind == layer_kind::indexed) {
      const auto index = rows.index_at(i, kinds.size());
      if (index.width != 0) {
        layer.parts.push_back(index_keys{row(1, index.width, index.in_float32 ? f32 : o_.k_type)});
      }
      if (c_.model_type() == "qwen4_exp_text") result_.keeps_position_ids = true;
    }
  }

  [[nodiscard]] tokens window(const attention_rows& rows, std::size_t i) const {
    const auto window = rows.window(i);
    if (!window) c_.fail_missing("sliding_window", "at least 1, for the sliding layers");
    if (*window == 0) c_.fail("sliding_window", "zero, and there are sliding layers", "at least 1");
    return tokens(*window);
  }

  [[nodiscard]] bool reuses_kv(std::size_t i) const {
    const auto sources = c_.model_type() == "mistral_large4_text" ? c_.array("kv_source_layers") : std::nullopt;
    if (!sources) return false;
    if (i >= sources->value().size()) sources->fail("shorter than num_hidden_layers", "one entry a layer");
    const std::uint64_t source = sources->child(i).count();
    if (source > i) sources->child(i).fail("a later layer", "an earlier layer, or the layer itself");
    return source != i;
  }

  void add_state(cache_layer& layer, state_shape state, std::size_t i) {
    state_shape extra;  // ple_layer_ids counts from 1
    if (std::binary_search(embedding_layers_.begin(), embedding_layers_.end(), i + 1)) {
      extra = per_layer_embedding_state(c_);
    }
    const bool all_in_model_type = state_in_model_type(c_.model_type(), o_.version);
    const checked_count in_type = state.in_model_type + extra.in_model_type;
    add_part(layer, all_in_model_type ? in_type + state.in_float32 : in_type, o_.model_type);
    if (!all_in_model_type) add_part(layer, state.in_float32, f32);
    add_part(layer, extra.in_int64, int64);
    if (c_.model_type() == "recurrent_gemma") {
      result_.keeps_module_state = !is_before(5, 4);
      // The convolution's window is a slice of itself and the new position.
      const std::uint64_t kept = c_.required_count("conv1d_width", 2) - 1;
      result_.conv_row_bytes = o_.model_type.row_bytes(state.in_model_type / kept);
    }
  }
  [[nodiscard]] bool is_before(std::uint32_t major_number, std::uint32_t minor_number) const {
    return o_.version < config::engine_version{major_number, minor_number, 0};
  }
  static void add_part(cache_layer& layer, checked_count elements, storage_type type) {
    if (elements.value() != 0) layer.parts.push_back(recurrent_state{elements.value(), type});
  }

  /// DeepSeek-V4: a window of K only (V is the same tensor), and compressed keys; sparse layers have an indexer's too.
  void add_compressed(cache_layer& layer, const attention_rows& rows, std::size_t i, layer_kind kind) {
    const std::uint64_t width = c_.required_count("head_dim", 1);
    const bool sparse = kind == layer_kind::compressed_sparse;
    const std::string word(name_of(kind));
    const auto rates = c_.object("compress_rates");
    auto rate = c_.count(sparse ? "compress_rate_csa" : "compress_rate_hca", 1);
    if (!rate && rates) rate = rates->count(word, 1);
    const std::uint64_t every = rate.value_or(sparse ? 4 : 128);
    most_k_heads_ = 1;
    layer.parts.push_back(sliding_window_attention{row(1, width, o_.k_type), kv_row{0, 0, o_.v_type}, window(rows, i)});
    layer.parts.push_back(compressed_keys{row(1, width, o_.k_type), every, sparse ? 2U : 1U, f32});
    if (sparse) {
      const std::uint64_t index = c_.required_count("index_head_dim", 1);
      layer.parts.push_back(compressed_keys{row(1, index, o_.k_type), every, 2, f32});
    }
    result_.has_static_cache = false;
  }

  /// State that belongs to the cache as a whole: MiniMax-01 keeps all its linear states in one place.
  void add_model_state(const attention_rows& rows, const layer_kinds& kinds) {
    if (c_.model_type() != "minimax") return;
    std::uint64_t linear = 0;
    for (const layer_kind kind : kinds) linear += kind == layer_kind::linear ? 1U : 0U;
    const row_shape shape = rows.at(0, layer_kind::full);
    const checked_count elements = checked_count(linear) * rows.num_attention_heads() * shape.k_width * shape.k_width;
    result_.layers.add(-1, states("cache_level", {recurrent_state{elements.value(), o_.model_type}}));
    result_.has_static_cache = false;
  }

  [[nodiscard]] bool attends_to_encoder() const {
    const bool adds = c_.boolean("add_cross_attention").value_or(false);
    const bool has_decoder = c_.reads("decoder_layers") && c_.count("decoder_layers");
    // A decoder made for an encoder always has cross attention; BERT and its like only when they are told so.
    if (is_one_of(c_.root_model_type(), assembled_types)) return adds || has_decoder;
    if (c_.model_type() == "blip_text_model") return c_.boolean("is_decoder").value_or(true);
    if (c_.root_model_type() == "musicgen_melody") return false;  // modeling_musicgen_melody.py concatenates
    // A decoder that was made for an encoder has cross attention, used alone or not.
    return adds || has_decoder || c_.root().boolean("is_encoder_decoder").value_or(c_.composite_is_encoder_decoder()) ||
           c_.boolean("is_encoder_decoder").value_or(false);
  }

  void add_cross_attention(const attention_rows& rows, const layer_kinds& kinds) {
    if (!cross_layers_.empty()) {
      result_.has_cross_attention = true;
      return;
    }
    const bool encoder_decoder = attends_to_encoder();
    result_.pairs_empty_cross_cache =
        !encoder_decoder && (is_before(5, 0) ? is_one_of(c_.model_type(), pairing_types_before_5)
                                             : is_one_of(c_.model_type(), pairing_types));
    if (c_.model_type() == "blip_text_model") result_.pairs_empty_cross_cache = true;
    result_.encoder_is_prefix = c_.root_model_type() == "musicgen_melody";
    if (!encoder_decoder) {
      // The pair of caches is made all the same; its cross half stays empty.
      if (!is_one_of(c_.root_model_type(), assembled_types) && !result_.encoder_is_prefix) return;
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        result_.layers.add(static_cast<std::int64_t>(i), {"cross_attention", {no_cache{}}});
      }
      return;
    }
    result_.has_cross_attention = true;
    if (c_.root_model_type() == "blip") {  // the image's patches and a class token (modeling_blip.py)
      const auto vision = c_.root().object("vision_config");
      std::uint64_t size = 384, patch = 16;  // the defaults of BlipVisionConfig
      if (vision) {
        size = vision->count("image_size", 1).value_or(size);
        patch = vision->count("patch_size", 1).value_or(patch);
      }
      const checked_count side = checked_count(size) / patch;
      result_.encoder_positions = (side * side + 1U).value();
    }
    // Both halves are made from the decoder's config, but in T5Gemma's own forward().
    const bool may_slide = o_.cache_built_by_generate || !c_.root_model_type().starts_with("t5gemma");
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const row_shape shape = rows.cross_at(i);
      const kv_row k = row(shape.k_heads, shape.k_width, o_.k_type);
      const kv_row v = row(shape.v_heads, shape.v_width, o_.v_type);
      const tokens kept = !may_slide                        ? tokens()
                          : kinds[i] == layer_kind::sliding ? window(rows, i)
                          : kinds[i] == layer_kind::chunked ? tokens(rows.chunk(i).value_or(0))
                                                            : tokens();
      result_.layers.add(static_cast<std::int64_t>(i), {"cross_attention", {cross_attention{k, v, kept}}});
    }
  }

  void describe(const attention_rows& rows, const layer_kinds& kinds) {
    config::attention_counts counts;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const layer_kind kind = kinds[i];
      const bool linear = kind == layer_kind::linear || kind == layer_kind::conv;
      const bool both = kind == layer_kind::hybrid || kind == layer_kind::hybrid_sliding;
      counts.recurrent = counts.recurrent || linear || both;
      counts.attention = counts.attention || both || (!linear && kind != layer_kind::none);
      result_.all_full = result_.all_full && kind == layer_kind::full;
    }
    const auto linear_layers = std::count(kinds.begin(), kinds.end(), layer_kind::linear);
    result_.conv_row_bytes *= static_cast<std::uint64_t>(linear_layers);
    if (c_.model_type() == "cpmant") result_.prefix_positions = c_.count_or("prompt_length", 32);
    counts.latent = rows.is_mla();
    if (!counts.recurrent && !counts.latent) {
      counts.heads = rows.num_attention_heads();
      counts.kv_heads = most_k_heads_;
    }
    result_.attention = config::attention_name(counts);
  }

  model_config c_;
  read_options o_;
  cached_model result_;
  std::vector<std::uint64_t> cross_layers_;
  std::vector<std::uint64_t> embedding_layers_;
  std::uint64_t most_k_heads_ = 0;  ///< that a layer keeps
  bool shares_kv_ = false;
};

/// Reads a config. Throws config_error, with the JSON pointer, for whatever it does not determine.
[[nodiscard]] inline cached_model read_model(const config::document& d, const read_options& options) {
  return model_reader(d, options).read();
}

}  // namespace kvbudget::detail::transformers
