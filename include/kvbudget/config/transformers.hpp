// transformers from the outside: a config and options in, the engine's figures out.
#pragma once

#include <kvbudget/config/layer_costs.hpp>
#include <kvbudget/config/settings.hpp>
#include <kvbudget/config/transformers/read_model.hpp>
#include <kvbudget/spelling.hpp>

namespace kvbudget::transformers {

enum class cache_kind : std::uint8_t { dynamic, static_, quantized, mems };

/// Options under the names that generate(), the cache classes and their configs use.
struct settings {
  config::engine_version version = newest_version;
  cache_kind cache = cache_kind::dynamic;
  std::optional<storage_type> dtype;  ///< of model and cache
  std::uint64_t batch = 1;
  std::uint64_t seq_len = 0;       ///< prefill, all at once
  std::uint64_t decode_steps = 0;  ///< one position each
  std::uint64_t max_cache_len = 0;
  std::uint64_t encoder_seq_len = 0;
  std::uint64_t cross_max_cache_len = 0;
  quantized_cache quantization;
  std::string part;
  bool cache_built_by_generate = false;
  bool created_by_generate = false;
  std::optional<std::uint64_t> images_per_sequence;
  config::placement where;  ///< stages of a device_map: whole layers on each device
  std::vector<std::string> notes;
};

/// Element types that a model in torch can have.
inline constexpr std::string_view torch_types[] = {"float32", "float16", "bfloat16"};
inline constexpr const char* torch_types_text = "bfloat16, float16 or float32";

namespace detail {
/// 0, or the last axis, which Quanto calls -1 and HQQ 1.
[[nodiscard]] inline std::uint32_t axis(const config::settings_reader& in, std::string_view name, bool quanto) {
  const config::json* const value = in.find(name);
  if (value == nullptr) return 0;
  // A number above the signed ones would compare equal to -1.
  if (value->is_number_integer() && (!value->is_number_unsigned() || value->get<std::uint64_t>() <= 1)) {
    const auto number = value->get<std::int64_t>();
    if (number == 0) return 0;
    if (number == (quanto ? -1 : 1)) return 1;
  }
  in.fail(name, *value, "unusable value", quanto ? "0 or -1" : "0 or 1");
}

/// Options of QuantizedCache (cache_utils.py).
[[nodiscard]] inline quantized_cache read_quantization(const config::settings_reader& in,
                                                       config::engine_version version) {
  quantized_cache q;
  const std::string backend = in.word("backend", "quanto", {"quanto", "hqq", "HQQ", "fp8"});
  q.backend = backend == "fp8"      ? quantization_backend::fp8
              : backend == "quanto" ? quantization_backend::quanto
                                    : quantization_backend::hqq;
  if (q.backend == quantization_backend::fp8) {
    if (version < config::engine_version{5, 21, 0}) {
      in.fail("backend", *in.find("backend"), "not in transformers " + version.text(), "quanto or hqq before 5.21");
    }
    for (const std::string_view group : {"nbits", "q_group_size", "residual_length", "axis_key", "axis_value"}) {
      if (const config::json* const value = in.find(group)) {
        in.fail(group, *value, "the fp8 backend quantizes whole tensors", "no such option, or another backend");
      }
    }
    return q;
  }
  q.nbits = static_cast<std::uint32_t>(in.count("nbits", 1, 8).value_or(4));
  const bool quanto = q.backend == quantization_backend::quanto;
  const bool known_bits = quanto ? q.nbits == 2 || q.nbits == 4
                                 : q.nbits == 1 || q.nbits == 2 || q.nbits == 3 || q.nbits == 4 || q.nbits == 8;
  if (!known_bits) {
    throw usage_error({"", "nbits", std::to_string(q.nbits)}, "the backend does not quantize to so many bits",
                      quanto ? "2 or 4" : "1, 2, 3, 4 or 8");
  }
  q.q_group_size = static_cast<std::uint32_t>(in.count("q_group_size", 1, 1U << 20U).value_or(64));
  q.residual_length = static_cast<std::uint32_t>(in.count("residual_length", 0, 1U << 30U).value_or(128));
  q.axis_key = axis(in, "axis_key", quanto);
  q.axis_value = axis(in, "axis_value", quanto);
  return q;
}

/// Options that belong to one kind of cache.
struct option_owner {
  std::string_view option;
  cache_kind cache;
  const char* name;
};
inline constexpr option_owner option_owners[] = {{"max_cache_len", cache_kind::static_, "static"},
                                                 {"cross_max_cache_len", cache_kind::static_, "static"},
                                                 {"backend", cache_kind::quantized, "quantized"},
                                                 {"nbits", cache_kind::quantized, "quantized"},
                                                 {"q_group_size", cache_kind::quantized, "quantized"},
                                                 {"residual_length", cache_kind::quantized, "quantized"},
                                                 {"axis_key", cache_kind::quantized, "quantized"},
                                                 {"axis_value", cache_kind::quantized, "quantized"},
                                                 {"use_mems", cache_kind::mems, "mems"}};

/// A note for every option that this kind of cache does not look at.
inline void note_idle_options(const config::settings_reader& in, settings& s) {
  for (const option_owner& o : option_owners) {
    if (o.cache == s.cache || in.find(o.option) == nullptr) continue;
    s.notes.push_back(std::string(o.option) + " is for cache=" + o.name + " and changes nothing here");
  }
  for (const std::string_view option : {"output_field", "tiles_per_image", "image_size"}) {
    if (in.find(option) != nullptr) s.notes.push_back(std::string(option) + " changes no byte");
  }
}
}  // namespace detail

/// Throws usage_error for unknown options and values.
[[nodiscard]] inline settings read_settings(const config::json& options) {
  const config::settings_reader in(options, {"version",
                                             "cache",
                                             "dtype",
                                             "batch",
                                             "seq_len",
                                             "decode_steps",
                                             "max_cache_len",
                                             "encoder_seq_len",
                                             "cross_max_cache_len",
                                             "backend",
                                             "nbits",
                                             "q_group_size",
                                             "residual_length",
                                             "axis_key",
                                             "axis_value",
                                             "use_mems",
                                             "part",
                                             "cache_built_by",
                                             "images_per_sequence",
                                             "tiles_per_image",
                                             "image_size",
                                             "created_by",
                                             "output_field",
                                             "pipeline_stages",
                                             "stage_layers"});
  settings s;
  if (const auto version = in.string("version")) {
    s.version = config::engine_version::parse(*version);
    if (s.version < oldest_version || newest_version < s.version) {
      const config::engine_version nearest = s.version < oldest_version ? oldest_version : newest_version;
      s.notes.push_back("transformers " + *version + " is outside the known versions " + oldest_version.text() +
                        " to " + newest_version.text() + "; answered as " + nearest.text());
      s.version = nearest;
    }
  }
  const std::string cache = in.word("cache", "dynamic", {"dynamic", "static", "quantized", "mems"});
  s.cache = cache == "static"      ? cache_kind::static_
            : cache == "quantized" ? cache_kind::quantized
            : cache == "mems"      ? cache_kind::mems
                                   : cache_kind::dynamic;
  if (const auto dtype = in.string("dtype"); dtype && *dtype != "auto") {
    s.dtype = parse_storage_type(*dtype, "dtype");
    if (!is_one_of(name_of(*s.dtype), torch_types)) {
      in.fail("dtype", *in.find("dtype"), "not an element type that a model in torch can have", torch_types_text);
    }
  }
  s.batch = in.count("batch").value_or(1);
  s.seq_len = in.count("seq_len").value_or(0);
  s.decode_steps = in.count("decode_steps").value_or(0);
  s.max_cache_len = in.count("max_cache_len", 1).value_or(0);
  s.encoder_seq_len = in.count("encoder_seq_len").value_or(0);
  s.cross_max_cache_len = in.count("cross_max_cache_len").value_or(0);
  if (s.cache == cache_kind::static_ && s.max_cache_len == 0) {
    throw usage_error({"", "max_cache_len", ""}, "missing", "the length of a static cache");
  }

  s.quantization = detail::read_quantization(in, s.version);
  if (in.boolean("use_mems") == false && s.cache == cache_kind::mems) {
    throw usage_error({"", "use_mems", "false"}, "contradicts cache=mems", "true, or no such option");
  }
  detail::note_idle_options(in, s);

  s.part = in.string("part").value_or("");
  const std::string built_by =
      in.word("cache_built_by", "forward-default", {"forward-default", "generate-dynamic", "generate-static"});
  s.cache_built_by_generate = built_by != "forward-default";
  s.images_per_sequence = in.count("images_per_sequence");
  s.created_by_generate = in.string("created_by").value_or("") == "generate";
  s.where.pipeline_parallel = in.count("pipeline_stages", 1, 1024).value_or(1);
  if (const config::json* const stages = in.find("stage_layers")) {
    if (!stages->is_array()) in.fail("stage_layers", *stages, "not a list", "the layers of each stage");
    for (const config::json& n : *stages) {
      if (!n.is_number_unsigned()) in.fail("stage_layers", n, "not a number of layers", "the layers of each stage");
      s.where.stage_layers.push_back(n.get<std::uint64_t>());
    }
  }
  return s;
}

namespace detail {

/// The element type that the config states. Before 5.0 the language model has its own part's; since then the root's is
/// the whole model's (modeling_utils.py, _get_dtype).
[[nodiscard]] inline std::optional<storage_type> stated_dtype(const config::document& d,
                                                              config::engine_version version) {
  const config::node root(d);
  if (!d.root.is_object()) root.fail("not a config", "a JSON object");
  std::vector<config::node> places;
  for (const std::string_view key : {"text_config", "decoder", "decoder_config"}) {
    const config::json* const member = root.find(key);
    if (member != nullptr && member->is_object()) places.push_back(root.child(key, *member));
  }
  const bool root_wins = !(version < config::engine_version{5, 0, 0});
  places.insert(root_wins ? places.begin() : places.end(), root);
  for (const config::node& place : places) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const config::json* const value = place.find(key);
      if (value == nullptr || value->is_object()) continue;
      const auto name = place.string(key);
      if (const auto type = find_storage_type(*name)) {
        if (is_one_of(name_of(*type), torch_types)) return type;
        place.fail(key, *value, "not an element type that a model in torch can have", torch_types_text);
      }
      if (*name != "auto") place.fail(key, *value, "unknown element type", "a torch dtype such as \"bfloat16\"");
    }
  }
  return std::nullopt;
}

/// Positions that an image adds to the cross-attention layers of mllama: every tile with its class token.
[[nodiscard]] inline std::uint64_t image_positions(const config::document& d, std::uint64_t images) {
  const auto vision = config::node(d).object("vision_config");
  const auto field = [&](std::string_view key, std::uint64_t otherwise) {
    const auto own = vision ? vision->count(key, 1) : std::nullopt;
    return own.value_or(otherwise);  // the defaults of MllamaVisionConfig
  };
  const checked_count patches = checked_count(field("image_size", 448)) / field("patch_size", 14);
  return (checked_count(images) * field("max_num_tiles", 4) * (patches * patches + 1U)).value();
}

/// The empty cross half of a cache that forward() made.
inline void add_empty_cross_layers(config::evaluation& e) {
  const std::size_t n = e.layers.size();
  for (std::size_t i = 0; i < n; ++i) {
    e.layers.push_back(config::layer_bytes{e.layers[i].layer, "cross_attention", 0, 0, 0});
  }
}

}  // namespace detail

/// A policy, chosen at run time. `body` is called with the policy of the settings.
template <class Body>
auto with_policy(const settings& s, const Body& body) {
  switch (s.cache) {
    case cache_kind::static_: return body(static_cache{tokens(s.max_cache_len), tokens(s.cross_max_cache_len)});
    case cache_kind::quantized: return body(s.quantization);
    case cache_kind::dynamic:
    case cache_kind::mems: break;
  }
  return body(dynamic_cache{});
}

/// The model as these settings cache it. Throws config_error when no element type is known.
[[nodiscard]] inline cached_model read_model(const config::document& d, const settings& s) {
  const auto dtype = s.dtype ? s.dtype : detail::stated_dtype(d, s.version);
  if (!dtype) {
    (void)config::model_config(d, s.part);  // what is no config at all is refused as such
    throw config_error({d.file, "/dtype", ""}, "missing, and transformers has no default of its own",
                       "a dtype in the config, or the dtype option");
  }
  read_options options;
  options.version = s.version;
  options.k_type = options.v_type = options.model_type = *dtype;
  options.part = s.part;
  // A static cache is generate()'s, or made like it: both halves from the decoder's config.
  options.cache_built_by_generate = s.cache_built_by_generate || s.cache == cache_kind::static_;
  // Since 5.14 a quantized cache looks at the types of the layers; before it was all full layers.
  options.windows_are_full = s.cache == cache_kind::quantized && s.version < config::engine_version{5, 14, 0};
  cached_model m = read_model(d, options);
  m.dtype = name_of(*dtype);
  return m;
}

/// The request as it reaches the cache.
[[nodiscard]] inline uniform_batch batch_of(const config::document& d, const cached_model& m, const settings& s) {
  std::uint64_t encoder = s.encoder_seq_len != 0 ? s.encoder_seq_len : m.encoder_positions;
  if (s.images_per_sequence) encoder = detail::image_positions(d, *s.images_per_sequence);
  checked_count prompt = checked_count(s.seq_len) + m.prefix_positions;
  if (m.encoder_is_prefix) prompt += encoder;
  return {request(tokens(prompt), tokens(s.decode_steps), tokens(encoder)), s.batch};
}

/// Why these settings do not run with this model; empty when they do.
[[nodiscard]] inline std::string refusal_of(const cached_model& m, const settings& s, const uniform_batch& batch) {
  if (s.cache == cache_kind::static_ && !m.has_static_cache) {
    return "model type " + m.model_type + " has no static cache";
  }
  if (s.cache == cache_kind::quantized && !m.all_full) {
    return "a quantized cache wants full attention in every layer";
  }
  if (s.cache == cache_kind::quantized && m.has_cross_attention && batch.each.encoder != tokens()) {
    return "there is no quantized cache for an encoder and a decoder";
  }
  if (s.cache == cache_kind::mems && m.model_type != "xlnet") return "only XLNet keeps mems";
  if (m.layers_of_config != 0 && (s.cache == cache_kind::static_ || s.cache_built_by_generate)) {
    return "a cache made from this config has " + std::to_string(m.layers_of_config) + " layers, and the decoder more";
  }
  const static_cache reserved{tokens(s.max_cache_len), tokens(s.cross_max_cache_len)};
  if (s.cache == cache_kind::static_ &&
      total_footprint(m.layers, reserved, batch).total().reason() == failure::exceeds_reservation) {
    return "the request is longer than max_cache_len " + std::to_string(s.max_cache_len);
  }
  return {};
}

/// What the tensors' storages hold: more than the tensors where those are slices.
[[nodiscard]] inline std::uint64_t storage_bytes(const cached_model& m, const settings& s, const uniform_batch& batch,
                                                 std::uint64_t total) {
  checked_count storage = total;
  if (s.cache == cache_kind::dynamic || s.cache == cache_kind::mems) {
    storage = total_footprint(m.layers, dynamic_cache_storage{}, batch).total();
    if (s.decode_steps > 0) storage += m.conv_row_bytes * s.batch;
  }
  if (m.keeps_position_ids) {
    // The first indexed layer keeps int64 position ids: of the prompt, and for three axes once there was a step.
    storage += s.decode_steps == 0 ? checked_count(s.seq_len) * 8U
                                   : (checked_count(s.seq_len) + s.decode_steps) * s.batch * 24U;
  }
  return storage.value();
}

/// The options in force.
[[nodiscard]] inline config::json resolved(const settings& s, const cached_model& m) {
  config::json out = {{"cache", s.cache == cache_kind::static_     ? "static"
                                : s.cache == cache_kind::quantized ? "quantized"
                                : s.cache == cache_kind::mems      ? "mems"
                                                                   : "dynamic"},
                      {"dtype", m.dtype},
                      {"batch", s.batch},
                      {"seq_len", s.seq_len},
                      {"decode_steps", s.decode_steps}};
  if (s.max_cache_len != 0) out["max_cache_len"] = s.max_cache_len;
  if (s.encoder_seq_len != 0) out["encoder_seq_len"] = s.encoder_seq_len;
  if (s.cross_max_cache_len != 0) out["cross_max_cache_len"] = s.cross_max_cache_len;
  if (s.cache == cache_kind::quantized) {
    const quantized_cache& q = s.quantization;
    out["backend"] = q.backend == quantization_backend::fp8   ? "fp8"
                     : q.backend == quantization_backend::hqq ? "hqq"
                                                              : "quanto";
    out["nbits"] = q.nbits;
    out["q_group_size"] = q.q_group_size;
    out["residual_length"] = q.residual_length;
    out["axis_key"] = q.axis_key;
    out["axis_value"] = q.axis_value;
  }
  if (!s.part.empty()) out["part"] = s.part;
  return out;
}

/// The engine's figures: total_bytes, storage_bytes, layers.
/// Throws config_error, usage_error, size_error.
[[nodiscard]] inline config::evaluation evaluate(const config::document& d, const config::json& options) {
  const settings s = read_settings(options);
  const cached_model m = read_model(d, s);
  config::evaluation e;
  e.engine = "transformers";
  e.version = s.version.text();
  e.settings = resolved(s, m);
  e.notes = s.notes;
  config::describe(e, m);
  const uniform_batch batch = batch_of(d, m, s);
  if (s.encoder_seq_len != 0 && !m.has_cross_attention && !m.encoder_is_prefix) {
    e.notes.push_back("encoder_seq_len changes nothing: this model has no cross-attention");
  }
  if (s.images_per_sequence && m.model_type != "mllama_text_model") {
    e.notes.push_back("images_per_sequence changes nothing: image tokens of this model are positions like any other");
  }
  e.refusal = refusal_of(m, s, batch);
  if (!e.refusal.empty()) {
    e.figures["error"] = e.refusal;
    return e;
  }
  const config::workload work{s.seq_len, s.decode_steps, s.batch, {}};
  with_policy(s, [&](const auto& policy) { config::add_costs(e, m, policy, work, batch.each.encoder, s.where); });
  if (s.cache == cache_kind::dynamic) config::add_linear_costs(e, m);
  if (m.pairs_empty_cross_cache && batch.each.encoder == tokens() && s.cache == cache_kind::dynamic &&
      !s.created_by_generate) {
    detail::add_empty_cross_layers(e);
  }
  e.figures["total_bytes"] = e.total_bytes;
  if (!m.keeps_module_state) e.figures["storage_bytes"] = storage_bytes(m, s, batch, e.total_bytes);
  e.figures["layers"] = config::layers_as_json(e);
  return e;
}

}  // namespace kvbudget::transformers
