// vLLM on a config.json: what it allocates, counts and prints.
#pragma once

#include <charconv>
#include <memory>
#include <numeric>

#include <kvbudget/config/vllm/layers.hpp>
#include <kvbudget/config/vllm/settings.hpp>
#include <kvbudget/engines/vllm.hpp>

namespace kvbudget::vllm {

/// A model and the settings for it, as one config and one set of options make them.
struct problem {
  owned_model model;
  owned_settings settings;
  std::vector<config::provenance> sources;
  std::string model_type;

  /// The plan, or the refusal of a checkpoint that vLLM does not take.
  [[nodiscard]] cache_plan plan() const { return kvbudget::vllm::plan(model.view(), settings.view()); }
};

namespace detail {

/// transformers_utils/model_arch_config_convertor.py (_normalize_quantization_config) and utils/torch_utils.py
/// (get_kv_cache_quant_algo_string): the cache type that a quantized checkpoint asks for.
class quantization_reader {
 public:
  quantization_reader(const node& root, const node& text, const json* hf_quant_config, owned_model& m) : m_(m) {
    const json* quantization = root.find("quantization_config");
    if (quantization == nullptr) quantization = hf_quant_config;
    if (quantization != nullptr && quantization->is_object()) read(*quantization);
    if (quantization == nullptr) quantization = root.find("compression_config");
    // The layers' quantization config may stand inside the text config too.
    const json* const layers = quantization != nullptr ? quantization : text.find("quantization_config");
    if (layers != nullptr && layers->is_object()) read_compressed_tensors(*layers);
  }

 private:
  static const json* member(const json& object, std::string_view name) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(name);
    return at == object.end() || at->is_null() ? nullptr : &*at;
  }
  static std::string word(const json& object, std::string_view name) {
    const json* const value = member(object, name);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  }
  static std::string cased(std::string text, bool upper) {
    for (char& c : text) {
      if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  }

  /// quant_method, where ModelOpt's own file names an algorithm instead.
  std::string method_of(const json& q) {
    std::string method = cased(word(q, "quant_method"), false);
    const json* const inner = member(q, "quantization");
    const json* const producer = member(q, "producer");
    const bool modelopt = (producer != nullptr && word(*producer, "name") == "modelopt") ||
                          (inner != nullptr && inner->is_object() && inner->contains("modelopt_quant_config"));
    if (!modelopt || inner == nullptr || member(*inner, "quant_algo") == nullptr) return method;
    const std::string algo = cased(word(*inner, "quant_algo"), true);
    if (algo == "FP8" || algo == "FP8_PER_CHANNEL_PER_TOKEN" || algo == "FP8_PB_WO") return "modelopt";
    if (algo == "NVFP4") return "modelopt_fp4";
    m_.refusal = "Unknown ModelOpt quant algo: " + word(*inner, "quant_algo");
    return method;
  }
  /// The scheme of the cache, a name or an object, in the file's own place or in ModelOpt's.
  static const json* cache_scheme(const json& q) {
    const json* const inner = member(q, "quantization");
    const json* scheme = nullptr;
    for (const std::string_view name : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
      if (scheme == nullptr && inner != nullptr) scheme = truthy(*inner, name);
      if (scheme == nullptr) scheme = truthy(q, name);
    }
    return scheme;
  }
  /// get_kv_cache_quant_algo_string.
  static std::string name_of_scheme(const json& scheme) {
    if (scheme.is_string()) return cased(scheme.get<std::string>(), false);
    if (!scheme.is_object() || word(scheme, "type") != "float") return {};
    const json* const bits = member(scheme, "num_bits");
    const json* const dynamic = member(scheme, "dynamic");
    if (bits == nullptr) return {};
    if (*bits == 4) return "nvfp4";
    return *bits == 8 && dynamic != nullptr && *dynamic == false ? "fp8" : "";
  }
  void read(const json& q) {
    if (method_of(q).rfind("modelopt", 0) != 0) return;
    const json* const scheme = cache_scheme(q);
    const std::string name = scheme != nullptr ? name_of_scheme(*scheme) : std::string();
    if (name == "fp8") m_.model.checkpoint_cache_dtype = cache_dtype::fp8_e4m3;
    if (name == "nvfp4") m_.model.checkpoint_cache_dtype = cache_dtype::nvfp4;
  }
  static const json* truthy(const json& object, std::string_view name) {
    const json* const value = member(object, name);
    if (value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty()) ||
        (value->is_structured() && value->empty()) || *value == false) {
      return nullptr;
    }
    return value;
  }
  /// layers/attention/attention.py: a scheme in the checkpoint makes ordinary attention fp8.
  void read_compressed_tensors(const json& q) {
    std::string method = cased(word(q, "quant_method"), false);
    if (method == "compressed_tensors") method = "compressed-tensors";
    const json* const scheme = member(q, "kv_cache_scheme");
    if (method != "compressed-tensors" || scheme == nullptr) return;
    m_.model.checkpoint_fp8_attention = true;
    const std::string strategy = word(*scheme, "strategy");
    m_.model.checkpoint_per_head_scales = strategy == "attn_head";
    // quantization/compressed_tensors/compressed_tensors.py: validate_kv_cache_scheme, asked by ordinary attention.
    const json* const bits = member(*scheme, "num_bits");
    const bool good = word(*scheme, "type") == "float" && bits != nullptr && *bits == 8 &&
                      (strategy == "tensor" || strategy == "attn_head") && truthy(*scheme, "symmetric") != nullptr;
    if (!good && !m_.model.use_mla && m_.refusal.empty()) {
      m_.refusal = "a compressed-tensors kv_cache_scheme must be symmetric float of 8 bits by tensor or attn_head";
    }
  }

  owned_model& m_;
};

/// A config's dtype is looked up in torch; types that attention does not run in become bfloat16.
inline void check_torch_type(const node& where, std::string_view key, std::string_view name) {
  if (name.rfind("torch.", 0) == 0) name.remove_prefix(6);
  for (const std::string_view known : {"bfloat16", "float16", "half", "float32", "float", "float64", "double",
                                       "float8_e4m3fn", "float8_e5m2", "int8", "uint8"}) {
    if (name == known) return;
  }
  where.fail(key, *where.find(key), "not a type of torch", "bfloat16, float16 or float32");
}

/// config/model.py:_get_and_verify_dtype: float32 checkpoints run as bfloat16 unless float32 was asked for.
inline state_dtype model_dtype(const config_fields& f, const std::optional<std::string>& setting) {
  const auto named = [](std::string_view name) {
    if (name.rfind("torch.", 0) == 0) name.remove_prefix(6);
    if (name == "float16" || name == "half") return state_dtype::float16;
    return name == "float32" || name == "float" ? state_dtype::float32 : state_dtype::bfloat16;
  };
  // gemma2 and its kin are unstable in float16: as the config's type it becomes bfloat16, as an option it is refused.
  const std::string type = f.root_model_type();
  const bool unstable = type == "gemma2" || type == "gemma3" || type == "gemma3_text" || type == "glm4";
  if (setting) {
    const state_dtype t = named(*setting);
    if (unstable && t == state_dtype::float16) {
      throw engine_refusal({"", "dtype", *setting}, type + " does not support float16", "bfloat16 or float32");
    }
    return t;
  }
  for (const node* at : {&f.root(), &f.text()}) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      if (at->find(key) == nullptr || !at->find(key)->is_string()) continue;
      const std::string name = at->string(key).value_or("");
      check_torch_type(*at, key, name);
      const state_dtype t = named(name);
      return t == state_dtype::float16 && !unstable ? t : state_dtype::bfloat16;
    }
  }
  return state_dtype::bfloat16;
}

inline std::string with_thousands(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}
inline std::string fixed(double value, int digits) {
  char buffer[400];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
  return std::string(buffer, result.ptr);
}
/// utils/mem_utils.py:format_gib, a rounded number in Python's short form: 10.0, 9.96. Once it had always two digits.
inline std::string gib_text(std::uint64_t bytes, const version& v) {
  std::string text = fixed(static_cast<double>(bytes) / static_cast<double>(gib), 2);
  if (text.back() == '0' && release_rules{v}.short_gib()) text.pop_back();
  return text;
}

/// The line of update_kv_cache_capacity.
inline std::string printed_capacity(const cache_plan& p, const version& v) {
  if (!release_rules{v}.prints_one_line()) {
    return "GPU KV cache size: " + with_thousands(p.tokens) + " tokens; Maximum concurrency for " +
           with_thousands(p.max_model_len) + " tokens per request: " + fixed(p.max_concurrency, 2) + "x";
  }
  return "GPU KV cache size: " + with_thousands(p.tokens) + " tokens, Maximum concurrency for " +
         with_thousands(p.max_model_len) + " tokens per request: " + fixed(p.max_concurrency, 2) + "x";
}

/// Why the plan does not run, in vLLM's terms.
inline std::string refusal_text(const cache_plan& p, const version& v) {
  if (p.reason != refusal::memory_too_small) return text(p.reason);
  for (const stage_plan& stage : p.stages) {
    if (stage.fits) continue;
    std::string line = "To serve at least one request with the model's max seq len (" +
                       std::to_string(p.max_model_len) + "), (" + gib_text(stage.request_bytes, v) +
                       " GiB KV cache is needed, which is larger than the "
                       "available KV cache memory (" +
                       gib_text(stage.usable_bytes, v) + " GiB).";
    if (stage.estimated_max_model_len > 0) {
      line += " Based on the available memory, the estimated maximum model length is " +
              std::to_string(stage.estimated_max_model_len) + ".";
    }
    return line;
  }
  return text(p.reason);
}

/// The groups of one pipeline stage, or of the whole model (`stage` past the last).
inline json groups_json(const cache_plan& p, std::size_t stage) {
  json list = json::array();
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    const std::uint64_t blocks = blocks_per_request(p.groups, family, p.limits).value();
    for (std::uint32_t j = 0; j < family.count; ++j) {
      const group_shape shape = shape_of_group(p.groups, family, j, stage);
      json group = {{"num_layers", shape.num_layers},
                    {"blocks_per_request", blocks},
                    {"group_bytes_per_block", shape.bytes_per_block},
                    {"spec",
                     {{"type", family.uniform_type ? "UniformTypeKVCacheSpecs"
                                                   : spec_kind_names[static_cast<std::size_t>(spec.kind)]},
                      {"block_size", spec.block_size},
                      {"page_size_bytes", family.uniform_type && shape.num_layers == 0
                                              ? shape_of_group(p.groups, family, j).page_size_bytes
                                              : shape.page_size_bytes}}}};
      json& s = group["spec"];
      if (!family.uniform_type && spec.kind != spec_kind::mamba) {
        s["num_kv_heads"] = spec.num_kv_heads;
        s["head_size"] = spec.head_size;
        s["head_size_v"] = spec.head_size_v;
      }
      if (!family.uniform_type && spec.sliding_window != 0) s["sliding_window"] = spec.sliding_window;
      if (!family.uniform_type && spec.attention_chunk_size != 0) s["attention_chunk_size"] = spec.attention_chunk_size;
      list.push_back(std::move(group));
    }
  }
  return list;
}

inline json figures_json(const cache_plan& p, const version& v) {
  json f = json::object();
  const bool stages = p.stages.size() > 1;
  const bool refused = p.reason != refusal::none;
  const auto per_stage = [&](std::uint64_t stage_plan::*member) {
    if (!stages) return json(p.stages[0].*member);
    json list = json::array();
    for (const stage_plan& s : p.stages) list.push_back(s.*member);
    return list;
  };
  if (!p.stages.empty()) {
    f["bytes_per_block"] = per_stage(&stage_plan::bytes_per_block);
    f["request_bytes"] = per_stage(&stage_plan::request_bytes);
    f["blocks_per_request"] = p.blocks_per_request;
    f["scheduler_block_size"] = p.scheduler_block_size;
    f["hash_block_size"] = p.hash_block_size;
    f["kv_tp_replicas"] = p.kv_tp_replicas;
    // A list for every stage, unless that is out of proportion: then the whole model's, as in a refusal.
    constexpr std::uint64_t most_listed = std::uint64_t{1} << 16U;
    if (stages && !refused && p.groups.size() <= most_listed / p.stages.size()) {
      json list = json::array();
      for (std::size_t s = 0; s < p.stages.size(); ++s) list.push_back(groups_json(p, s));
      f["groups"] = std::move(list);
    } else {
      f["groups"] = groups_json(p, max_pipeline_stages);
    }
  }
  f["kv_cache_layout"] = kv_cache_layout_names[static_cast<std::size_t>(p.resolved.layout)];
  json backends = json::array();
  for (const attention_backend b : p.resolved.backends)
    backends.push_back(attention_backend_names[static_cast<std::size_t>(b)]);
  f["attention_backends"] = std::move(backends);
  if (refused) {
    f["error"] = refusal_text(p, v);
    if (p.reason == refusal::memory_too_small || p.reason == refusal::no_available_memory) {
      f["estimated_max_model_len"] = p.estimated_max_model_len;
    }
    if (p.stages.empty()) return f;
  }
  if (p.auto_fitted) f["auto_fit_max_model_len"] = p.max_model_len;
  if (!p.memory_is_known) return f;
  // What the memory would hold is known beside a refusal too; the line is printed only when the engine comes that far,
  // as the engine of 0.8 and before did.
  f["num_blocks"] = p.num_blocks;
  if (p.stages.empty()) return f;
  f["tokens"] = p.tokens;
  f["max_concurrency"] = p.max_concurrency;
  f["allocated_bytes"] = per_stage(&stage_plan::allocated_bytes);
  if (!refused || v < version{0, 8, 0}) f["printed"] = printed_capacity(p, v);
  return f;
}

/// Every option in force under its own name.
inline json settings_json(const problem& q, const cache_plan& p) {
  const settings& s = q.settings.settings;
  const resolved_settings& r = p.resolved;
  json j = {{"version", std::to_string(s.version.major) + "." + std::to_string(s.version.minor) + "." +
                            std::to_string(s.version.patch)},
            {"device", "sm" + std::to_string(s.device.major) + std::to_string(s.device.minor) + " " +
                           std::to_string(s.device.memory_gib) + "GB"},
            {"max_model_len", p.max_model_len},
            {"max_num_batched_tokens", r.max_num_batched_tokens},
            {"max_num_seqs", r.max_num_seqs},
            {"block_size", r.block_size},
            {"kv_cache_dtype", cache_dtype_names[static_cast<std::size_t>(r.cache_dtype)]},
            {"dtype", state_dtype_names[static_cast<std::size_t>(q.model.model.dtype)]},
            {"tensor_parallel_size", s.tensor_parallel_size},
            {"pipeline_parallel_size", s.pipeline_parallel_size},
            {"decode_context_parallel_size", s.decode_context_parallel_size},
            {"enable_prefix_caching", r.enable_prefix_caching},
            {"enable_chunked_prefill", r.enable_chunked_prefill},
            {"async_scheduling", r.async_scheduling},
            {"disable_hybrid_kv_cache_manager", s.disable_hybrid_kv_cache_manager}};
  if (s.available_memory) j["available_memory"] = *s.available_memory;
  if (!q.settings.stage_memory.empty()) j["available_memory"] = q.settings.stage_memory;
  if (s.num_gpu_blocks_override) j["num_gpu_blocks_override"] = *s.num_gpu_blocks_override;
  if (q.model.model.is_hybrid || q.model.model.is_attention_free) j["mamba_block_size"] = r.mamba_block_size;
  if (s.backend != attention_backend::none)
    j["attention_backend"] = attention_backend_names[static_cast<std::size_t>(s.backend)];
  if (s.speculative_method != speculative_method::none) {
    j["speculative_config"] = {{"method", speculative_method_names[static_cast<std::size_t>(s.speculative_method)]},
                               {"num_speculative_tokens", s.num_speculative_tokens}};
  }
  return j;
}

/// Which kinds of layers a model has.
struct attention_kinds {
  bool recurrent = false, latent = false, windows = false, full = false;

  void add(const layer_class& c) {
    switch (c.role) {
      case layer_role::recurrent: recurrent = true; break;
      case layer_role::mla:
      case layer_role::sparse_mla:
      case layer_role::deepseek_v4_mla: latent = true; break;
      case layer_role::attention:
      case layer_role::chunked_attention:
      case layer_role::diffkv_attention: (c.window != 0 ? windows : full) = true; break;
      default: break;
    }
  }
};
inline std::string attention_name(const owned_model& m) {
  attention_kinds has;
  for (const layer_class& c : m.classes) has.add(c);
  if (has.recurrent) return has.full || has.latent || has.windows ? "hybrid" : "none";
  if (has.latent) return "MLA";
  if (has.windows && has.full) return "hybrid";
  const model& v = m.model;
  return v.num_kv_heads == v.num_attention_heads ? "MHA" : v.num_kv_heads == 1 ? "MQA" : "GQA";
}

inline const char* kind_name(const kv_cache_spec& spec) {
  switch (spec.kind) {
    case spec_kind::full_attention: return "full_attention";
    case spec_kind::mla_attention: return spec.cache_role == 1 ? "index_keys" : "mla_attention";
    case spec_kind::sliding_window: return "sliding_window_attention";
    case spec_kind::sliding_window_mla: return "sliding_window_mla_attention";
    case spec_kind::chunked_local_attention: return "chunked_local_attention";
    case spec_kind::cross_attention: return "cross_attention";
    case spec_kind::mamba: return "recurrent_state";
  }
  return "";
}

/// What the numbers are made of, for people.
inline std::vector<std::string> explain(const problem& q, const cache_plan& p) {
  std::vector<std::string> notes;
  if (!p.has_groups()) return notes;
  const resolved_settings& r = p.resolved;
  const auto say = [&notes](std::string line) { notes.push_back(std::move(line)); };
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    const std::string groups = std::to_string(family.count) + (family.count == 1 ? " group" : " groups") + " of " +
                               kind_name(spec) + ", blocks of " + std::to_string(spec.block_size) +
                               " tokens: " + std::to_string(blocks_per_request(p.groups, family, p.limits).value()) +
                               " blocks each for one request of max_model_len";
    if (spec.is_sliding()) {
      say(groups + " (a window of " + std::to_string(spec.sliding_window) + " keeps " +
          std::to_string(spec.sliding_window - 1 + spec.extra_retained_tokens) + " tokens, and " +
          std::to_string(r.max_in_flight_tokens) + " in flight, and one block for the window's start)");
    } else if (spec.kind == spec_kind::chunked_local_attention) {
      say(groups + " (a chunk of " + std::to_string(spec.attention_chunk_size) + " tokens, and " +
          std::to_string(r.max_in_flight_tokens) + " in flight)");
    } else if (spec.kind == spec_kind::mamba) {
      say(groups +
          (r.mamba_align ? " (the state, and the last one at a block boundary for prefix caching" : " (the state") +
          (spec.num_prefill_checkpoint_blocks != 0 && r.mamba_align ? ", and a checkpoint of the prefill" : "") +
          (spec.num_speculative_blocks != 0
               ? ", and one for each of " + std::to_string(spec.num_speculative_blocks) + " draft tokens"
               : "") +
          ")");
    } else {
      say(groups);
    }
    if (family.padding_layers != 0) {
      say(std::to_string(family.padding_layers) + " padding layers beside the " + kind_name(spec) +
          " layers: all groups must have equally many");
    }
  }
  for (const layer_set& set : p.groups.specs) {
    const kv_cache_spec& spec = set.spec;
    const std::uint64_t plain = spec.unpadded_page_size_bytes().value();
    const std::uint64_t page = spec.page_size_bytes().value();
    if (page > plain) {
      say(std::to_string(page - plain) + " of " + std::to_string(page) + " bytes of every " + kind_name(spec) +
          " page are padding: all layers share pages of one size");
    }
  }
  if (q.model.model.is_hybrid && r.mamba_page_size_padded != 0 && r.block_size > default_block_size) {
    say("blocks hold " + std::to_string(r.block_size) + " tokens so that an attention page holds a recurrent state");
  }
  if (r.skip_page_size_padded != 0) {
    say("blocks of quantized layers hold " + std::to_string(r.block_size) +
        " tokens so that their page holds an unquantized kernel block");
  }
  if (p.cache_hit_alignment != 0) {
    say("prefixes are reused in multiples of " + std::to_string(p.cache_hit_alignment) +
        " tokens; shorter ones never are");
  }
  if (p.kv_tp_replicas > 1) {
    say("every one of " + std::to_string(p.kv_tp_replicas) + " tensor-parallel ranks holds the same latents");
  }
  return notes;
}

/// Bytes a token adds on all ranks together, where every group grows with every token; and what a request takes for its
/// states whatever its length. `unit`: of one block on all ranks.
inline void set_curve(config::evaluation& e, const problem& q, const cache_plan& p, checked_count unit) {
  checked_count per_token = 0U, states = 0U;
  bool linear = q.settings.settings.decode_context_parallel_size == 1;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    if (spec.kind == spec_kind::mamba) states += unit * family.count * blocks_per_request(p.groups, family, p.limits);
    linear = linear && spec.is_full() && unit.value() % spec.block_size == 0;
    if (linear) per_token += unit / spec.block_size * family.count;
  }
  if (linear) e.bytes_per_token = per_token.value();
  e.state_bytes_per_sequence = states.value();
}

/// The limits as requests of that length see them (blocks_of_request).
inline admission_limits limits_at(const cache_plan& p, std::uint64_t length) {
  admission_limits limits = p.limits;
  limits.max_model_len = length;
  return limits;
}

/// What requests of these lengths hold in every layer, on all ranks together. Layer -1: padding layers and the parts
/// of blocks that a group narrower than the widest leaves empty.
inline std::vector<config::layer_bytes> layers_of_requests(const problem& q, const cache_plan& p,
                                                           const config::workload& w) {
  std::vector<config::layer_bytes> list;
  const std::uint32_t tp = q.settings.settings.tensor_parallel_size;
  const auto over_requests = [&](const auto& blocks_of) {
    if (w.lengths.empty()) return blocks_of((checked_count(w.prompt) + w.generated).value()) * w.sequences * tp;
    checked_count sum = 0U;
    for (const std::uint64_t n : w.lengths) sum += blocks_of(n);
    return sum * tp;
  };
  std::vector<std::optional<checked_count>> blocks_of_family(p.groups.families.size());
  const skip_layers skip = get_skip_layers(q.model.model, q.settings.view(), p.resolved);
  const stage_bounds stages = get_pp_indices(q.model.model.num_hidden_layers, q.settings.view());
  checked_count sum = 0U;
  for (const layer_ref& ref : q.model.layers) {
    const layer_class& layer = q.model.classes[ref.layer_class];
    const bool skipped = skip.any() && can_be_skipped(layer.role) && skip.contains(ref.skip_index(), layer.window != 0);
    const auto place = p.place_of(ref.layer_class, skipped, stages.stage_of(ref));
    if (!place) continue;
    const kv_cache_spec& spec = p.groups.specs[place->spec].spec;
    std::optional<checked_count>& known = blocks_of_family[place->family];
    if (!known) {
      known = over_requests([&](std::uint64_t n) {
        return blocks_per_request(p.groups, p.groups.families[place->family], limits_at(p, n));
      });
    }
    const checked_count blocks = *known;
    const std::uint64_t all = (spec.page_size_bytes() * blocks).value();
    sum += all;
    config::layer_bytes bytes{static_cast<std::int64_t>(ref.layer), kind_name(spec), 0, 0, all};
    // K and V lie side by side in plain elements; packed types keep scales between them.
    const std::uint64_t row = spec.num_heads * (spec.head_size + spec.head_size_v) * spec.element_bytes;
    const bool kv = spec.is_attention() && spec.cache_role == 0 && spec.num_heads * spec.cell_bytes == row;
    if (kv) {
      const std::uint64_t k =
          (spec.unpadded_page_size_bytes() / (spec.head_size + spec.head_size_v) * spec.head_size * blocks).value();
      const std::uint64_t v =
          (spec.unpadded_page_size_bytes() / (spec.head_size + spec.head_size_v) * spec.head_size_v * blocks).value();
      bytes.k_bytes = k;
      bytes.v_bytes = v;
      bytes.other_bytes = all - k - v;
    }
    list.push_back(std::move(bytes));
  }
  checked_count request = 0U;
  for (const stage_plan& stage : p.stages) {
    request += checked_count(stage.bytes_per_block) *
               over_requests([&](std::uint64_t n) { return blocks_per_request(p.groups, limits_at(p, n)); });
  }
  if (!sum.fits(request.value())) return list;
  list.push_back(config::layer_bytes{-1, "padding", 0, 0, (request - sum).value()});
  return list;
}

}  // namespace detail

namespace detail {

/// What single changed settings would bring on the same memory, where they bring something.
inline void add_changes(config::evaluation& e, const problem& q, const cache_plan& p) {
  const model m = q.model.view();
  const settings now = q.settings.view();
  const auto tell = [&](const std::string& change, const settings& changed) {
    const cache_plan c = kvbudget::vllm::plan(m, changed);
    if (c.reason != refusal::none || c.tokens == p.tokens) return;
    e.notes.push_back("with " + change + ": " + with_thousands(c.tokens) + " tokens instead of " +
                      with_thousands(p.tokens));
  };
  settings changed = now;
  changed.enable_prefix_caching = false;
  tell("enable_prefix_caching=false", changed);
  changed = now;
  changed.max_num_batched_tokens = 2048;
  tell("max_num_batched_tokens=2048", changed);
  changed = now;
  changed.kv_cache_dtype = cache_dtype::fp8;
  if (now.kv_cache_dtype == cache_dtype::automatic) tell("kv_cache_dtype=fp8", changed);
}

}  // namespace detail

/// Reads model and settings. Throws config_error, usage_error or engine_refusal.
[[nodiscard]] inline problem read_problem(const config::document& config, const json* hf_quant_config,
                                          const json& settings) {
  problem q;
  q.settings = read_settings(settings);
  vllm::settings& s = q.settings.settings;
  config::document overridden;
  const config::document* document = &config;
  if (q.settings.hf_overrides.is_object()) {
    if (!config.root.is_object()) node(config).fail("not a config", "a JSON object");
    overridden = config;
    for (const auto& [key, value] : q.settings.hf_overrides.items()) overridden.root[key] = value;
    document = &overridden;
  }
  const node root(*document);
  const config_fields fields(root);
  const draft_request draft{s.speculative_method,
                            q.settings.draft_config.is_object() ? &q.settings.draft_config : nullptr,
                            q.settings.num_speculative_tokens.value_or(0)};
  layer_reader(fields, q.model, draft).read();
  detail::quantization_reader(root, fields.text(), hf_quant_config, q.model);
  q.model.model.dtype = detail::model_dtype(fields, q.settings.dtype);
  q.model_type = fields.model_type();
  s.num_nextn_predict_layers =
      q.model_type.rfind("mimo_v2", 0) == 0 ? 1 : fields.count_or("num_nextn_predict_layers", 1);
  s.num_speculative_tokens = q.settings.num_speculative_tokens.value_or(0);
  if (s.speculative_method != speculative_method::none && !q.settings.num_speculative_tokens) {
    // Multi-token prediction predicts with as many modules as the checkpoint has.
    const std::uint32_t modules =
        fields.count_or("mtp_num_hidden_layers", fields.count_or("num_nextn_predict_layers", 0));
    if (s.speculative_method != speculative_method::mtp || modules == 0) {
      throw usage_error({"", "speculative_config", ""}, "num_speculative_tokens is not given", "a number of tokens");
    }
    s.num_speculative_tokens = modules;
  }
  q.sources = fields.sources();
  return q;
}

namespace detail {

/// Options that some models or other options leave without effect: a note says so.
inline void add_silent_options(config::evaluation& e, const config::document& config, const json* hf_quant_config,
                               const json& settings) {
  if (!settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    // What programs set by themselves, and what says where the figures stand, is no news.
    if (value.is_null() || name == "version" || name == "available_memory" || name == "max_model_len" ||
        name == "tensor_parallel_size" || name == "pipeline_parallel_size" || name == "kv_cache_dtype") {
      continue;
    }
    json others = settings;
    others.erase(name);
    try {
      const problem q = read_problem(config, hf_quant_config, others);
      const cache_plan p = q.plan();
      if (!q.model.refusal.empty() || figures_json(p, q.settings.settings.version) != e.figures) continue;
    } catch (const input_error&) {
      continue;
    }
    e.notes.push_back(name + " changes no size of this model's cache with these settings");
  }
}

}  // namespace detail

/// vLLM's answer for one config and one set of options. Figures have the names of vLLM's own values; with a refusal
/// they hold what is known all the same, and "error" says why.
///
/// Throws config_error for configs that make no sense or whose architecture is not known here, usage_error for unknown
/// options or values.
[[nodiscard]] inline config::evaluation evaluate(const config::document& config, const json* hf_quant_config,
                                                 const json& settings) {
  config::evaluation e;
  e.engine = "vllm";
  problem q;
  try {
    q = read_problem(config, hf_quant_config, settings);
  } catch (const engine_refusal& r) {
    e.refusal = r.problem();
    e.figures["error"] = std::string(r.what());
    e.settings = settings.is_object() ? settings : json::object();
    return e;
  }
  const cache_plan p = q.plan();
  e.settings = detail::settings_json(q, p);
  e.version = e.settings["version"];
  e.model_type = q.model_type;
  e.attention = detail::attention_name(q.model);
  e.model_layers = q.model.model.num_hidden_layers;
  e.sources = q.sources;
  if (!q.model.refusal.empty()) {
    e.refusal = q.model.refusal;
    e.figures["error"] = e.refusal;
    return e;
  }
  e.figures = detail::figures_json(p, q.settings.settings.version);
  if (p.reason != refusal::none) e.refusal = e.figures["error"];
  e.too_large = p.reason == refusal::memory_too_small || p.reason == refusal::no_available_memory;
  e.notes = detail::explain(q, p);
  if (!q.settings.settings.rules().is_known()) {
    const bool older = q.settings.settings.version < version{0, 11, 0};
    e.notes.push_back("vLLM " + e.version + " is not known here: the rules are those of " +
                      (older ? "0.11.2" : "0.33.0") + ", the nearest known release");
  }
  if (!p.has_groups()) return e;

  const detail::stage_bounds bounds = detail::get_pp_indices(e.model_layers, q.settings.view());
  e.layer_stages = bounds.stages;
  for (std::uint32_t layer = 0; layer < e.model_layers; ++layer) {
    e.stage_of_layer.push_back(bounds.stage_of(layer_ref{.layer = layer}));
  }
  // One pool of blocks on every rank; without a memory size, the blocks of one request.
  const bool sized = p.memory_is_known && p.reason == refusal::none;
  const std::uint64_t blocks = sized ? p.num_blocks : p.blocks_per_request;
  const std::uint32_t tp = q.settings.settings.tensor_parallel_size;
  for (std::uint32_t stage = 0; stage < p.stages.size(); ++stage) {
    const std::uint64_t unit = p.stages[stage].bytes_per_block;
    const std::uint64_t size = (checked_count(unit) * blocks).value();
    e.total_bytes = (checked_count(e.total_bytes) + checked_count(size) * tp).value();
    for (std::uint32_t rank = 0; rank < tp; ++rank) {
      e.pools.push_back(
          config::pool_bytes{sized ? "kv_cache_blocks" : "blocks_of_requests", stage * tp + rank, unit, blocks, size});
      e.devices.push_back(config::device_cache{std::to_string(stage * tp + rank), size, size, {}});
    }
  }
  checked_count unit = 0U;  // of one block on all ranks
  for (const stage_plan& stage : p.stages) unit += checked_count(stage.bytes_per_block) * tp;
  detail::set_curve(e, q, p, unit);
  e.pool_use = [p, unit](const config::workload& w) {
    return unit * blocks_of_request(p, request{w.prompt, w.generated}) * w.sequences;
  };
  if (sized && p.blocks_per_request > 0) {
    const std::uint64_t usable = p.num_blocks - 1;  // all but the null block
    e.own_capacity = config::pool_capacity{(unit * usable).value(), p.max_model_len,
                                           largest_max_model_len(q.model.view(), q.settings.view()),
                                           usable / p.blocks_per_request, e.figures.value("tokens", std::uint64_t{0})};
    e.sequences_add_up = true;
    e.common_bytes = [p, unit](const config::workload& w, std::uint64_t prefix) {
      return unit * common_blocks(p, request{w.prompt, w.generated}, prefix);
    };
  }
  if (sized) detail::add_changes(e, q, p);
  if (e.refusal.empty()) detail::add_silent_options(e, config, hf_quant_config, settings);
  e.layers = detail::layers_of_requests(q, p, config::workload{p.max_model_len, 0, 1, {}});
  e.layers_of = [all = std::make_shared<const problem>(std::move(q)), p](const config::workload& w) {
    return detail::layers_of_requests(*all, p, w);
  };
  return e;
}

}  // namespace kvbudget::vllm
