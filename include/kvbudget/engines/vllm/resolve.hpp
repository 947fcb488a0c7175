// Settings in force: what was given, else vLLM's default for this model and device.
//
// Sources: engine/arg_utils.py, config/vllm.py, config/model.py.
#pragma once

#include <kvbudget/engines/vllm/cache_dtype.hpp>

namespace kvbudget::detail::vllm {

/// engine/arg_utils.py:get_batch_defaults and _set_default_max_num_seqs_and_batched_tokens_args.
constexpr void resolve_batch_size(const model& m, const settings& s, resolved_settings& r) {
  const bool server = s.usage_context == usage_context::openai_api_server;
  std::uint64_t batched_tokens = server ? 2048 : 8192;
  std::uint64_t seqs = 256;
  if (s.device.memory_gib >= 160 && s.rules().large_devices_batch_16384()) {
    batched_tokens = 16384;
    seqs = 1024;
  } else if (s.device.memory_gib >= 70 && !s.device.is_a100) {
    batched_tokens = server ? 8192 : 16384;
    seqs = 1024;
  }
  seqs = s.max_num_seqs.value_or(seqs);
  if (s.max_num_batched_tokens) {
    batched_tokens = *s.max_num_batched_tokens;
  } else {
    if (!r.enable_chunked_prefill && r.max_model_len > batched_tokens) batched_tokens = r.max_model_len;
    if (m.mm_prefix && m.largest_mm_item > batched_tokens) batched_tokens = m.largest_mm_item;
    batched_tokens = smaller(batched_tokens, checked_count(seqs) * r.max_model_len).value();
  }
  if (!s.max_num_seqs && seqs > batched_tokens) seqs = batched_tokens;
  r.max_num_batched_tokens = batched_tokens;
  r.max_num_seqs = seqs;
  r.max_num_encoder_input_tokens = batched_tokens;
}

/// config/speculative.py:use_eagle, and config/vllm.py:num_prefill_lookahead_tokens less one: what a draft of several
/// MTP modules may read again below the window.
[[nodiscard]] constexpr bool uses_eagle(speculative_method m) noexcept {
  using enum speculative_method;
  return m == eagle || m == eagle3 || m == mtp || m == dflash || m == dspark;
}
/// config/model.py:_get_and_verify_max_len.
[[nodiscard]] constexpr refusal resolve_max_model_len(const model& m, const settings& s, resolved_settings& r) {
  r.max_model_len = m.max_model_len;
  if (s.auto_fit_max_model_len) {
    return m.max_model_len_is_known ? refusal::none : refusal::max_model_len_unknown;
  }
  if (!s.max_model_len) return refusal::none;
  if (m.max_model_len_is_known && *s.max_model_len > m.max_model_len) return refusal::max_model_len_too_long;
  r.max_model_len = *s.max_model_len;
  return refusal::none;
}

/// config/vllm.py: which methods of speculation leave asynchronous scheduling on.
[[nodiscard]] constexpr bool schedules_async_by_default(const settings& s) noexcept {
  using enum speculative_method;
  const speculative_method method = s.speculative_method;
  const bool allowed = method == none || method == ngram_gpu || uses_eagle(method) ||
                       (method == draft_model && s.rules().async_with_drafts());
  return allowed && s.rules().async_by_default();
}

/// engine/arg_utils.py:_set_default_chunked_prefill_and_prefix_caching_args.
constexpr void resolve_scheduling(const model& m, const settings& s, resolved_settings& r) {
  r.enable_chunked_prefill = s.enable_chunked_prefill.value_or(!m.is_encoder_decoder);
  const bool hybrid_default = !m.is_hybrid || s.rules().hybrid_prefix_caching();
  const bool caches = !m.is_attention_free && !m.is_encoder_decoder && hybrid_default;
  r.enable_prefix_caching = s.enable_prefix_caching.value_or(caches);
  r.async_scheduling = s.async_scheduling.value_or(schedules_async_by_default(s));
}

/// What the settings of a batch must not be together.
[[nodiscard]] constexpr refusal verify_batch(const model& m, const resolved_settings& r) {
  if (r.max_num_batched_tokens < r.max_num_seqs) return refusal::batched_tokens_below_sequences;
  if (is_turboquant(r.cache_dtype) && m.is_hybrid && m.turboquant_finds_no_layers)
    return refusal::turboquant_without_layers;
  const bool too_small = !r.enable_chunked_prefill && r.max_num_batched_tokens < r.max_model_len;
  return too_small ? refusal::batched_tokens_below_max_model_len : refusal::none;
}

/// States are kept at block boundaries where prefixes are cached.
[[nodiscard]] constexpr refusal resolve_states(const model& m, const settings& s, resolved_settings& r) {
  r.mamba_align = r.enable_prefix_caching && (m.is_hybrid || m.is_attention_free);
  const bool own_block = s.mamba_block_size && *s.mamba_block_size != r.max_model_len;
  return own_block && !r.enable_prefix_caching ? refusal::mamba_block_size_without_prefix_caching : refusal::none;
}

/// config/model.py:_get_and_verify_max_len and the defaults of config/vllm.py and engine/arg_utils.py.
[[nodiscard]] constexpr refusal resolve(const model& m, const settings& s, resolved_settings& r) {
  if (const refusal reason = resolve_cache_dtype(m, s, r); reason != refusal::none) return reason;
  if (const refusal reason = resolve_max_model_len(m, s, r); reason != refusal::none) return reason;
  resolve_scheduling(m, s, r);
  resolve_batch_size(m, s, r);
  if (const refusal reason = verify_batch(m, r); reason != refusal::none) return reason;
  const std::uint64_t batches =
      s.rules().counts_tokens_in_flight_twice() ? s.pipeline_parallel_size + (r.async_scheduling ? 1U : 0U) : 1U;
  r.max_in_flight_tokens = (checked_count(batches) * r.max_num_batched_tokens).value();
  return resolve_states(m, s, r);
}

}  // namespace kvbudget::detail::vllm
