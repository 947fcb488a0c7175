// The other way round: the longest length that fits, and how many real requests fit at once.
#pragma once

#include <kvbudget/engines/vllm/plan.hpp>

namespace kvbudget::detail::vllm {

/// One request as users see it.
struct request {
  std::uint64_t prompt = 0;
  std::uint64_t generation = 0;
};

/// The largest --max-model-len with which vLLM starts, at most `longest` (0: the length derived from the config); 0 if
/// there is none. Every length is planned as it would run, so defaults that follow the length are followed.
[[nodiscard]] constexpr std::uint64_t largest_max_model_len(const model& m, const settings& s,
                                                            std::uint64_t longest = 0) {
  settings tried = s;
  tried.auto_fit_max_model_len = false;
  const auto fits = [&](std::uint64_t length) {
    tried.max_model_len = length;
    return plan(m, tried).reason == refusal::none;
  };
  std::uint64_t above = longest != 0 ? longest : m.max_model_len;
  if (m.max_model_len_is_known && above > m.max_model_len) above = m.max_model_len;
  if (above == 0 || !fits(1)) return 0;
  std::uint64_t fitting = 1;
  while (fitting < above) {
    const std::uint64_t middle = above - (above - fitting) / 2;
    if (fits(middle)) fitting = middle;
    else above = middle - 1;
  }
  return fitting;
}

/// Blocks that one request holds at most, at its own length instead of max_model_len.
[[nodiscard]] constexpr checked_count blocks_of_request(const cache_plan& p, const request& r) noexcept {
  admission_limits limits = p.limits;
  const checked_count length = checked_count(r.prompt) + r.generation;
  if (!length.valid()) return length;
  limits.max_model_len = length.value_or(0);
  return blocks_per_request(p.groups, limits);
}

/// Of them, those that the request has in common with others of the same first `prefix` tokens when it has its full
/// length: whole blocks, in multiples of the alignment in which the engine reuses prefixes, and of a window only what
/// it still keeps. States are not shared, and nothing is without prefix caching.
[[nodiscard]] constexpr checked_count common_blocks(const cache_plan& p, const request& r,
                                                    std::uint64_t prefix) noexcept {
  if (!p.resolved.enable_prefix_caching || p.cache_hit_alignment == 0) return 0U;
  const std::uint64_t length = (checked_count(r.prompt) + r.generation).value_or(0);
  // The last token of a prompt is computed in any case (v1/core/kv_cache_manager.py:get_computed_blocks).
  const std::uint64_t most = r.prompt > 0 ? r.prompt - 1 : 0;
  std::uint64_t reused = prefix < most ? prefix : most;
  reused -= reused % p.cache_hit_alignment;
  checked_count sum = 0U;
  for (const group_family& family : p.groups.families) {
    const kv_cache_spec& spec = p.groups.specs[p.groups.members[family.first_member].spec].spec;
    std::uint64_t kept_from = 0;
    if (spec.kind == spec_kind::mamba || spec.kind == spec_kind::cross_attention) continue;
    if (spec.is_sliding()) {
      const std::uint64_t kept = spec.sliding_window - 1 + spec.extra_retained_tokens;
      kept_from = length > kept ? length - kept : 0;
    } else if (spec.kind == spec_kind::chunked_local_attention && length > 0) {
      kept_from = (length - 1) / spec.attention_chunk_size * spec.attention_chunk_size;
    }
    const bool sharded = spec.dcp_sharded && p.limits.decode_context_parallel_size > 1;
    const std::uint64_t block = spec.block_size * (sharded ? p.limits.decode_context_parallel_size : 1);
    const std::uint64_t end = reused / block, begin = kept_from / block;
    if (end > begin) sum += checked_count(end - begin) * family.count;
  }
  return sum;
}

/// How many requests of the mix the pool holds at once, when they arrive in the mix's order again and again: the
/// largest n for which the first n together need no more blocks than there are, the null block left out. The plan must
/// know its memory. An empty mix, or one that needs no blocks, has no answer: failure::division_by_zero.
[[nodiscard]] constexpr checked_count most_concurrent_requests(const cache_plan& p, std::span<const request> mix) {
  checked_count round = 0U;
  for (const request& r : mix) round += blocks_of_request(p, r);
  const checked_count usable = p.num_blocks > 0 ? p.num_blocks - 1 : 0;
  const checked_count rounds = usable / round;
  if (!rounds.valid()) {
    // A round that overflows is only larger than every pool; single requests may still fit.
    if (rounds.reason() != failure::overflow) return rounds;
  }
  const std::uint64_t whole = rounds.value_or(0);
  checked_count left = rounds.valid() ? usable - rounds * round : usable;
  checked_count count = checked_count(whole) * mix.size();
  for (const request& r : mix) {
    const checked_count needed = blocks_of_request(p, r);
    if (!needed.fits(left.value_or(0))) break;
    left = left - needed;
    count += 1U;
  }
  return count;
}
[[nodiscard]] constexpr checked_count most_concurrent_requests(const cache_plan& p, const request& r) {
  return most_concurrent_requests(p, std::span<const request>(&r, 1));
}

}  // namespace kvbudget::detail::vllm
