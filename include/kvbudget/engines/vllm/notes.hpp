// What vLLM's numbers are made of, in words, and the words for its layers.
#pragma once

#include <kvbudget/engine/answer.hpp>
#include <kvbudget/engines/vllm/figures.hpp>
#include <kvbudget/engines/vllm/launch.hpp>

namespace kvbudget::detail::vllm {

[[nodiscard]] inline std::string spec_name(const kv_cache_spec& spec) {
  return spec_kind_names[static_cast<std::size_t>(spec.kind)];
}

/// What the numbers are made of, for people.
inline std::vector<std::string> explain(const launch& q, const cache_plan& p) {
  std::vector<std::string> notes;
  if (!p.has_groups()) return notes;
  const resolved_settings& r = p.resolved;
  const auto say = [&notes](std::string line) { notes.push_back(std::move(line)); };
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    const std::string groups = std::to_string(family.count) + (family.count == 1 ? " group" : " groups") + " of " +
                               spec_name(spec) + ", blocks of " + std::to_string(spec.block_size) +
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
      say(std::to_string(family.padding_layers) + " padding layers beside the " + spec_name(spec) +
          " layers: all groups must have equally many");
    }
  }
  for (const layer_set& set : p.groups.specs) {
    const kv_cache_spec& spec = set.spec;
    const std::uint64_t plain = spec.unpadded_page_size_bytes().value();
    const std::uint64_t page = spec.page_size_bytes().value();
    if (page > plain) {
      say(std::to_string(page - plain) + " of " + std::to_string(page) + " bytes of every " + spec_name(spec) +
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

/// What single changed settings would bring on the same memory, where they bring something.
inline void add_changes(engine_answer& e, const launch& q, const cache_plan& p) {
  const model m = q.model.view();
  const settings now = q.settings.view();
  const auto tell = [&](const std::string& change, const settings& changed) {
    const cache_plan c = kvbudget::detail::vllm::plan(m, changed);
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

/// Options that some models or other options leave without effect: a note says so.
inline void add_silent_options(engine_answer& e, const config::document& config, const json* hf_quant_config,
                               const engine_question& question) {
  const json figures = e.figures();
  for (const auto& [name, value] : question.options) {
    // What says where the figures stand is no news.
    if (std::holds_alternative<std::monostate>(value) || name == "version" || name == "available_memory" ||
        name == "max_model_len" || name == "tensor_parallel_size" || name == "pipeline_parallel_size" ||
        name == "kv_cache_dtype") {
      continue;
    }
    engine_question others = question;
    others.options.erase(name);
    try {
      const launch q = read_launch(config, hf_quant_config, others);
      const cache_plan p = q.plan();
      if (!q.model.refusal.empty() || figures_json(p, q.settings.settings.version) != figures) continue;
    } catch (const input_error&) {
      continue;
    }
    e.notes.push_back(name + " changes no size of this model's cache with these settings");
  }
}

}  // namespace kvbudget::detail::vllm
