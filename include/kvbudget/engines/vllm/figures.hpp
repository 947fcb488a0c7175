// vLLM's own figures and lines, under the names of its own values.
#pragma once

#include <charconv>
#include <string>

#include <kvbudget/input/document.hpp>
#include <kvbudget/engines/vllm/admission.hpp>
#include <kvbudget/engines/vllm/plan.hpp>

namespace kvbudget::detail::vllm {

using config::json;

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

}  // namespace kvbudget::detail::vllm
