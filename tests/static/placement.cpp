// What one rank keeps, what sequences have in common: exact numbers by hand.
#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;
using namespace kvbudget::literals;

constexpr full_attention full = grouped_query_attention(8, 128, bf16);  // 4096 bytes a position
constexpr mla_attention latent{{1, 512, bf16}, {1, 64, bf16}};          // 1152 bytes a position
constexpr recurrent_state state{1000, f32};

// ---- tensor parallel: K/V heads are divided, and replicated below one head a rank
// --------------------------------------

static_assert(heads_per_rank(8, 1) == checked_count(8U) && heads_per_rank(8, 4) == checked_count(2U));
static_assert(heads_per_rank(8, 8) == checked_count(1U) && heads_per_rank(8, 32) == checked_count(1U));
static_assert(heads_per_rank(8, 3).reason() == failure::indivisible &&
              heads_per_rank(8, 12).reason() == failure::indivisible);
static_assert(heads_per_rank(8, 0).reason() == failure::division_by_zero && heads_per_rank(0, 4) == checked_count(0U));

static_assert(on_rank(full, 4) == grouped_query_attention(2, 128, bf16));
static_assert(on_rank(full, 16) == grouped_query_attention(1, 128, bf16));
static_assert(on_rank(with_window(full, 100_tokens), 2) ==
              with_window(grouped_query_attention(4, 128, bf16), 100_tokens));
static_assert(on_rank(cross_attention{full.k, full.v}, 2).k.heads == 4);
static_assert(on_rank(latent, 8) == latent &&
              on_rank(index_keys{{1, 128, fp8_e4m3}}, 8) == index_keys{{1, 128, fp8_e4m3}});
static_assert(on_rank(state, 4) == recurrent_state{250, f32});
static_assert(on_rank(layer_pair{latent, state}, 2) == layer_pair{latent, recurrent_state{500, f32}});
static_assert(on_rank(repeated{32U, full}, 8).layer.k.heads == 1);

// ---- context parallel
// ---------------------------------------------------------------------------------------------------

constexpr request hundred(90_tokens, 10_tokens);
constexpr context_parallel<stored_positions> third(std::uint64_t rank) { return {{}, 3, rank}; }
static_assert(positions(third(0), full, hundred) == checked_count(34U) &&
              positions(third(1), full, hundred) == checked_count(33U));
static_assert(positions(third(2), latent, hundred) == checked_count(33U));
static_assert(positions(context_parallel<paged>{{16_tokens}, 3, 0}, full, hundred) == checked_count(48U));
static_assert(!cacheable<sliding_window_attention, context_parallel<stored_positions>>);
static_assert(cacheable<recurrent_state, context_parallel<stored_positions>>);

// ---- parts of a number
// --------------------------------------------------------------------------------------------------

static_assert(equal_part(10, 4, 0) == 3 && equal_part(10, 4, 1) == 3 && equal_part(10, 4, 2) == 2 &&
              equal_part(10, 4, 3) == 2);

// ---- a prefix in common
// -------------------------------------------------------------------------------------------------

constexpr uniform_batch four{request(100_tokens, 28_tokens), 4};
template <class Layers, class Policy>
constexpr checked_count together(const Layers& layers, const Policy& policy, tokens prefix) {
  return total_with_shared_prefix(layers, policy, four, prefix);
}
static_assert(together(full, stored_positions{}, 50_tokens) == checked_count(4096U * (4 * 128 - 3 * 50)));
static_assert(together(full, paged{16_tokens}, 50_tokens) == checked_count(4096U * (4 * 128 - 3 * 48)));
static_assert(together(full, paged{16_tokens}, 15_tokens) == checked_count(4096U * 4 * 128));
static_assert(together(full, stored_positions{}, 500_tokens) == checked_count(4096U * 128));  // all alike
// A window of 100 of 128 positions begins at position 28.
static_assert(together(with_window(full, 100_tokens), stored_positions{}, 50_tokens) ==
              checked_count(4096U * (4 * 100 - 3 * 22)));
static_assert(together(with_window(full, 100_tokens), stored_positions{}, 28_tokens) == checked_count(4096U * 4 * 100));
// Chunks of 48: the last one begins at 96.
static_assert(together(chunked_local_attention{full.k, full.v, 48_tokens}, stored_positions{}, 100_tokens) ==
              checked_count(4096U * (4 * 48 - 3 * 4)));
static_assert(together(layer_list{repeated{3U, full}, state}, stored_positions{}, 50_tokens) ==
              checked_count(3U * 4096U * (4 * 128 - 3 * 50) + 4U * 4000U));
static_assert(total_with_shared_prefix(full, stored_positions{}, uniform_batch{four.each, 0}, 50_tokens) ==
              checked_count(0U));

}  // namespace
