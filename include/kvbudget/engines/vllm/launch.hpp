// What vLLM is started with: a model and settings, as one config and one question make them.
#pragma once

#include <kvbudget/engines/vllm/quantization.hpp>
#include <kvbudget/engines/vllm/admission.hpp>
#include <kvbudget/engines/vllm/read_settings.hpp>
#include <kvbudget/engines/vllm/plan.hpp>

namespace kvbudget::detail::vllm {

struct launch {
  owned_model model;
  owned_settings settings;
  std::vector<provenance> sources;
  std::string model_type;

  [[nodiscard]] cache_plan plan() const { return kvbudget::detail::vllm::plan(model.view(), settings.view()); }
};

/// Modules of a draft, and how many tokens it proposes. Throws usage_error where nothing says it.
inline void read_speculation(const config_fields& fields, launch& q) {
  vllm::settings& s = q.settings.settings;
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
}

/// Reads model and settings. Throws config_error, usage_error or engine_refusal.
[[nodiscard]] inline launch read_launch(const config::document& config, const json* hf_quant_config,
                                        const engine_question& question) {
  launch q;
  q.settings = read_settings(question);
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
  quantization_reader(root, fields.text(), hf_quant_config, q.model);
  q.model.model.dtype = model_dtype(fields, q.settings.dtype);
  q.model_type = fields.model_type();
  read_speculation(fields, q);
  q.sources = fields.sources();
  return q;
}

/// Every option in force under its own name.
[[nodiscard]] inline json settings_json(const launch& q, const cache_plan& p) {
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

}  // namespace kvbudget::detail::vllm
