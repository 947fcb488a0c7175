// The layers of drafts: the checkpoint's own multi-token prediction, eagle, dflash and dspark.
//
// Sources: config/speculative.py and models/*_mtp.py, models/*_eagle*.py, models/qwen3_dflash.py of vLLM 0.32.0.
#pragma once

#include <kvbudget/engines/vllm/attention_layers.hpp>
#include <kvbudget/engines/vllm/latent_layers.hpp>

namespace kvbudget::detail::vllm {

/// What the speculative_config asks for, as far as it adds layers.
struct draft_request {
  speculative_method method = speculative_method::none;
  const json* draft_config = nullptr;        ///< of a draft with a config of its own
  std::uint64_t num_speculative_tokens = 0;  ///< 0: not given
};

/// A target and the draft that is added to it.
struct drafting {
  model_builder& b;
  const draft_request& request;
};

inline constexpr std::string_view nextn = "num_nextn_predict_layers";
inline constexpr const char* unsupported_mtp = "Unsupported speculative method: 'mtp'";

[[noreturn]] inline void refuse_mtp(std::string problem) {
  throw engine_refusal({"", "speculative_config", "mtp"}, std::move(problem),
                       "a model whose multi-token prediction vLLM runs");
}
inline void check_speculative_tokens(const drafting& d, std::uint64_t modules) {
  const std::uint64_t tokens = d.request.num_speculative_tokens;
  if (modules == 0 || (tokens > modules && tokens % modules != 0)) {
    refuse_mtp("num_speculative_tokens must be divisible by the " + std::to_string(modules) + " predicting modules");
  }
}

/// The modules of the checkpoint's multi-token prediction: `field` of the config, or what the draft's class takes
/// where there is none (0: it fails then). The speculative tokens must be a multiple of what the config says.
[[nodiscard]] inline std::uint32_t mtp_modules(const drafting& d, std::string_view field, std::uint32_t otherwise) {
  const std::optional<std::uint64_t> n = d.b.f.count(field, 0, max_layers);
  if (!n && otherwise == 0) refuse_mtp("the config has no " + std::string(field));
  if (n) check_speculative_tokens(d, *n);
  return static_cast<std::uint32_t>(n.value_or(otherwise));
}
/// deepseek_mtp.py: the target's own layers, after its last.
inline void mtp_of_deepseek(const drafting& d) {
  const std::string type = d.b.f.model_type();
  if (type == "deepseek_v2" || type == "axk1") refuse_mtp(unsupported_mtp);
  const std::uint32_t first = d.b.layers(), n = mtp_modules(d, nextn, 0);
  for (std::uint32_t k = 0; k < n; ++k) d.b.add(mla_layer(d.b), first + k);
}
inline void mtp_of_longcat_flash(const drafting& d) {
  static_cast<void>(mtp_modules(d, nextn, 1));
  d.b.add(mla_layer(d.b), 2 * d.b.layers());
}
inline void mtp_of_deepseek_dsa(const drafting& d) {
  const std::uint32_t first = d.b.layers(), n = mtp_modules(d, nextn, 0);
  for (std::uint32_t k = 0; k < n; ++k) add_sparse_mla(d.b, first + k, true);
}
inline void mtp_of_deepseek_v4(const drafting& d) {
  const std::uint32_t first = d.b.layers(), n = mtp_modules(d, nextn, 0);
  for (std::uint32_t k = 0; k < n; ++k) add_deepseek_v4(d.b, first + k, 1);
}
inline void mtp_of_delta_nets(const drafting& d) {
  const std::string type = d.b.f.model_type();
  if (type == "olmo_hybrid") refuse_mtp(unsupported_mtp);
  const std::uint32_t n = mtp_modules(d, type == "qwen3_next" ? nextn : "mtp_num_hidden_layers", 1);
  for (std::uint32_t k = 0; k < n; ++k) d.b.add_numbered_anew(d.b.attention(), k);
}
inline void mtp_of_nemotron_h(const drafting& d) {
  if (mtp_modules(d, nextn, 0) != 1) refuse_mtp("more than one predicting module is not supported");
  const std::string letters = pattern(d.b, "mtp_layers_block_type", "mtp_hybrid_override_pattern");
  add_pattern(d.b, letters.empty() ? "*E" : letters, d.b.layers(), true);  // the class's default
}
inline void mtp_of_mimo_v2(const drafting& d) { d.b.add_numbered_anew(mimo_v2_layer(d.b, true), 0); }
inline void mtp_of_step3p5(const drafting& d) {
  const std::uint32_t first = d.b.layers();
  add_step3p5(d.b, first, first + mtp_modules(d, nextn, 0));
}
/// models/exaone_moe_mtp.py: layers of the target's types from the first on, outside --kv-cache-dtype.
inline void add_exaone_moe_mtp(model_builder& b, std::uint32_t n) {
  const std::optional<node> own = b.f.array("mtp_layer_types");
  for (std::uint32_t k = 0; k < n; ++k) {
    const bool slides = own && !own->value().empty() ? config_fields::word(*own, k) == "sliding_attention"
                                                     : k < b.layers() && b.is_sliding(k);
    layer_class layer = b.attention_outside_settings();
    layer.window = slides ? b.f.count_or("sliding_window", 0) : 0;
    b.add_numbered_anew(layer, k);
  }
}

[[nodiscard]] inline bool has_dense_mtp(const model_builder& b) {
  const std::string type = b.f.root_model_type();
  return b.out.architecture == "MiMoForCausalLM" || b.out.architecture == "Glm4MoeForCausalLM" ||
         type == "ernie4_5_moe" || type == "hy_v3";
}
inline void mtp_of_dense(const drafting& d) {
  if (d.b.f.model_type() == "exaone_moe") return add_exaone_moe_mtp(d.b, mtp_modules(d, nextn, 1));
  if (!has_dense_mtp(d.b)) refuse_mtp(unsupported_mtp);
  const std::uint32_t first = d.b.layers(), n = mtp_modules(d, nextn, 0);
  for (std::uint32_t k = 0; k < n; ++k) d.b.add(d.b.attention(), first + k);
}
[[noreturn]] inline void mtp_not_known(const drafting&) {
  throw usage_error({"", "speculative_config", "mtp"}, "the draft layers of this architecture are not known here",
                    "another method, or a model whose draft layers are");
}

/// Layers after the target's own, of the checkpoint's own multi-token prediction (config/speculative.py:
/// hf_config_override, and models/*_mtp.py).
struct mtp_row {
  vllm::reading reading;
  void (*read)(const drafting&);
};
inline constexpr mtp_row mtp_rows[] = {
    {reading::dense, mtp_of_dense},
    {reading::deepseek_mla, mtp_of_deepseek},
    {reading::longcat_flash, mtp_of_longcat_flash},
    {reading::deepseek_dsa, mtp_of_deepseek_dsa},
    {reading::deepseek_v4, mtp_of_deepseek_v4},
    {reading::gated_delta_net, mtp_of_delta_nets},
    {reading::nemotron_h, mtp_of_nemotron_h},
    {reading::mimo_v2, mtp_of_mimo_v2},
    {reading::step3p5, mtp_of_step3p5},
    {reading::kimi_linear, mtp_not_known},
    {reading::minimax_m3, mtp_not_known},
};
inline void read_mtp(const drafting& d) {
  for (const mtp_row& row : mtp_rows) {
    if (row.reading == d.b.reading) return row.read(d);
  }
  refuse_mtp(unsupported_mtp);
}

/// The config of a draft that has one.
[[nodiscard]] inline node draft_config(const draft_request& request) {
  if (request.draft_config == nullptr) {
    throw usage_error({"", "speculative_config", ""}, "the draft model's config is not given",
                      "its config.json as \"draft_model_config\"");
  }
  static const std::string file = "draft model";
  return {*request.draft_config, "", file};
}
[[nodiscard]] inline layer_class draft_layer(const model_builder& b, const config_fields& fields) {
  const std::uint32_t heads = fields.required("num_attention_heads", 1);
  layer_class layer;
  layer.num_kv_heads = fields.count_or("num_key_value_heads", heads, 1);
  layer.head_size = fields.count_or("head_dim", 0);
  if (layer.head_size == 0) layer.head_size = fields.required("hidden_size", 1) / heads;
  layer.window = b.common_window;
  return layer;
}
/// models/llama_eagle.py, models/llama_eagle3.py: ordinary attention after the target's layers.
inline void read_eagle(const drafting& d) {
  const config_fields fields(draft_config(d.request));
  const std::uint32_t n = fields.required("num_hidden_layers", 1, max_layers);
  const layer_class layer = draft_layer(d.b, fields);
  for (std::uint32_t k = 0; k < n; ++k) d.b.add(layer, d.b.layers() + k);
}

/// Drafts of dflash whose layers other classes read.
inline void check_dflash_class(const config_fields& fields) {
  const auto names = fields.root().array("architectures");
  if (!names || names->value().empty()) return;
  for (const std::string_view other : {"Laguna", "Gemma4", "K3DSpark", "DSparkV41"}) {
    if (config_fields::word(*names, 0).find(other) != std::string_view::npos)
      names->child(0).fail("the layers of this draft are not known here", "a draft of models/qwen3_dflash.py");
  }
}
/// Which layers of the draft slide: all or none by dflash_config.use_swa, unless the layer types have windows.
struct dflash_windows {
  std::optional<transformers::layer_kinds> types;
  bool use_swa = false;
  bool any_sliding = false;

  dflash_windows(const config_fields& fields, const std::optional<node>& own, std::uint32_t n)
      : types(fields.layer_kinds(n)), use_swa(own && own->boolean("use_swa").value_or(false)) {
    for (std::uint32_t k = 0; types && k < n; ++k) any_sliding = any_sliding || type_slides(k);
  }
  [[nodiscard]] bool type_slides(std::uint32_t k) const {
    return types && (*types)[k] == transformers::layer_kind::sliding;
  }
  [[nodiscard]] bool slides(std::uint32_t k) const {
    return !types || (use_swa && !any_sliding) ? use_swa : type_slides(k);
  }
};
[[nodiscard]] inline std::uint32_t dflash_window(const config_fields& fields, const std::optional<node>& own) {
  const auto stated = own ? own->count("swa_window_size") : std::nullopt;
  const auto window = static_cast<std::uint32_t>(stated.value_or(window_of(fields)));
  if (window == 0) {
    throw engine_refusal({"", "speculative_config", ""}, "the draft's sliding layers have no window",
                         "dflash_config.swa_window_size or sliding_window in the draft's config");
  }
  return window;
}
/// models/qwen3_dflash.py, on which models/qwen3_dspark.py is built: one attention module a layer, with windows by
/// dflash_config and layer_types, and tokens that mostly see one another.
inline void read_dflash(const drafting& d) {
  const config_fields fields(draft_config(d.request));
  check_dflash_class(fields);
  const std::uint32_t n = fields.required("num_hidden_layers", 1, max_layers);
  const std::optional<node> own = fields.object("dflash_config");
  const dflash_windows windows(fields, own, n);
  std::optional<bool> causal = fields.boolean("is_causal");
  if (!causal && own) causal = own->boolean("causal");
  layer_class layer = draft_layer(d.b, fields);
  layer.sinks = fields.flag("add_swa_attention_sink_bias");
  if (own) layer.sinks = own->boolean("attention_sink_bias").value_or(layer.sinks);
  for (std::uint32_t k = 0; k < n; ++k) layer.non_causal = layer.non_causal || !causal.value_or(windows.type_slides(k));
  for (std::uint32_t k = 0; k < n; ++k) {
    layer.window = windows.slides(k) ? dflash_window(fields, own) : d.b.common_window;
    d.b.add(layer, d.b.layers() + k);
  }
}

}  // namespace kvbudget::detail::vllm
