// transformers from the outside: a config and a question in, the engine's figures out.
#pragma once

#include <kvbudget/engine/layer_costs.hpp>
#include <kvbudget/config/stated_dtype.hpp>
#include <kvbudget/config/read_model.hpp>
#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engine/question.hpp>
#include <kvbudget/engines/transformers/read_settings.hpp>
#include <kvbudget/input/spelling.hpp>

namespace kvbudget::detail::transformers {

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
inline void add_empty_cross_layers(engine_answer& e) {
  const std::size_t n = e.layers.size();
  for (std::size_t i = 0; i < n; ++i) {
    e.layers.push_back(layer_bytes{e.layers[i].layer, "cross_attention", 0, 0, 0});
  }
}

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
  const auto dtype = s.dtype ? s.dtype : config::stated_dtype(d, s.version);
  if (!dtype) {
    (void)config::model_config(d, s.part);  // what is no config at all is refused as such
    throw config_error({d.file, "/dtype", ""}, "missing, and transformers has no default of its own",
                       "a dtype in the config, or the dtype option");
  }
  read_options how;
  how.version = s.version;
  how.k_type = how.v_type = how.model_type = *dtype;
  how.part = s.part;
  // A static cache is generate()'s, or made like it: both halves from the decoder's config.
  how.cache_built_by_generate = s.cache_built_by_generate || s.cache == cache_kind::static_;
  // Since 5.14 a quantized cache looks at the types of the layers; before it was all full layers.
  how.windows_are_full = s.cache == cache_kind::quantized && s.version < config::engine_version{5, 14, 0};
  cached_model m = read_model(d, how);
  m.dtype = name_of(*dtype);
  return m;
}

/// The request as it reaches the cache.
[[nodiscard]] inline uniform_batch batch_of(const config::document& d, const cached_model& m, const settings& s) {
  std::uint64_t encoder = s.encoder_seq_len != 0 ? s.encoder_seq_len : m.encoder_positions;
  if (s.images_per_sequence) encoder = image_positions(d, *s.images_per_sequence);
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
[[nodiscard]] inline config::json settings_json(const settings& s, const std::string& dtype) {
  config::json out = {{"cache", cache_kind_names[static_cast<std::size_t>(s.cache)]},
                      {"dtype", dtype},
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

/// Options that this model leaves without effect.
inline void note_irrelevant(const cached_model& m, const settings& s, std::vector<std::string>& notes) {
  if (s.encoder_seq_len != 0 && !m.has_cross_attention && !m.encoder_is_prefix) {
    notes.push_back("encoder_seq_len changes nothing: this model has no cross-attention");
  }
  if (s.images_per_sequence && m.model_type != "mllama_text_model") {
    notes.push_back("images_per_sequence changes nothing: image tokens of this model are positions like any other");
  }
}

/// The engine's figures: total_bytes, storage_bytes, layers.
/// Throws config_error, usage_error, size_error.
[[nodiscard]] inline engine_answer evaluate(const config::document& d, const engine_question& question) {
  const settings s = read_settings(question);
  const cached_model m = read_model(d, s);
  engine_answer e;
  e.engine = "transformers";
  e.version = s.version.text();
  e.settings = [s, dtype = m.dtype] { return settings_json(s, dtype); };
  e.types.k = e.types.v = find_storage_type(m.dtype);
  e.notes = s.notes;
  describe(e, m);
  const uniform_batch batch = batch_of(d, m, s);
  note_irrelevant(m, s, e.notes);
  e.refusal = refusal_of(m, s, batch);
  if (!e.refusal.empty()) {
    e.figures = [refusal = e.refusal] { return config::json{{"error", refusal}}; };
    return e;
  }
  const workload work{s.seq_len, s.decode_steps, s.batch, {}};
  with_policy(s, [&](const auto& policy) { add_costs(e, m, policy, work, batch.each.encoder, s.where); });
  if (s.cache == cache_kind::dynamic) add_linear_costs(e, m);
  if (m.pairs_empty_cross_cache && batch.each.encoder == tokens() && s.cache == cache_kind::dynamic &&
      !s.created_by_generate) {
    add_empty_cross_layers(e);
  }
  std::optional<std::uint64_t> storage;
  if (!m.keeps_module_state) storage = storage_bytes(m, s, batch, e.total_bytes);
  e.figures = [total = e.total_bytes, storage, layers = e.layers] {
    config::json figures = {{"total_bytes", total}, {"layers", layers_as_json(layers)}};
    if (storage) figures["storage_bytes"] = *storage;
    return figures;
  };
  return e;
}

}  // namespace kvbudget::detail::transformers
