// Every kind of layer under every general policy, against numbers worked out by hand.
#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;

constexpr kv_row k{2, 4, f16};  // 16 bytes a position
constexpr kv_row v{2, 1, f32};  //  8 bytes a position

constexpr full_attention full{k, v};
constexpr sliding_window_attention sliding{k, v, 6_tokens};
constexpr chunked_local_attention chunked{k, v, 8_tokens};
constexpr sink_window_attention sinks{k, v, 2_tokens, 6_tokens};
constexpr ring_buffer_attention ring{k, v, 6_tokens};
constexpr reference_window_attention reference{k, v, 6_tokens};
constexpr mla_attention latent{{1, 12, bf16}, {1, 4, bf16}};  // 24 + 8
constexpr index_keys index{{1, 5, int8}};                     // 5
constexpr cross_attention cross{k, v};
constexpr cross_attention cross_window{k, v, 3_tokens};
constexpr segment_memory memory{{1, 10, f16}, 4_tokens};  // 20
constexpr recurrent_state state{30, f32};                 // 120 a sequence

/// K, V and the rest of `sequences` sequences.
template <class Layer, class Policy>
constexpr footprint cost(const Layer& layer, const Policy& policy, const request& each, std::uint64_t sequences = 1) {
  return total_footprint(layer, policy, uniform_batch{each, sequences});
}
constexpr footprint kv(std::uint64_t positions) { return {positions * 16, positions * 8, 0U}; }
constexpr footprint other(std::uint64_t bytes) { return {0U, 0U, bytes}; }
constexpr footprint nothing = other(0);

constexpr request empty(0_tokens, 0_tokens, 5_tokens);
constexpr request one(1_tokens, 0_tokens, 5_tokens);
constexpr request five(3_tokens, 2_tokens, 5_tokens);
constexpr request twenty(7_tokens, 13_tokens, 5_tokens);

// ---- stored positions ----------------------------------------------------------------------------------------------

constexpr stored_positions stored;
static_assert(cost(full, stored, empty) == nothing && cost(full, stored, one) == kv(1));
static_assert(cost(full, stored, twenty) == kv(20) && cost(full, stored, twenty, 3) == kv(60));
static_assert(cost(full, stored, twenty, 0) == nothing);
static_assert(cost(sliding, stored, five) == kv(5) && cost(sliding, stored, twenty) == kv(6));
static_assert(cost(chunked, stored, five) == kv(5) && cost(chunked, stored, twenty) == kv(8));
static_assert(cost(sinks, stored, five) == kv(5) && cost(sinks, stored, twenty) == kv(8));
static_assert(cost(ring, stored, five) == kv(5) && cost(ring, stored, twenty) == kv(6));
static_assert(cost(reference, stored, five) == kv(3 + 2) && cost(reference, stored, twenty) == kv(7 + 6));
static_assert(cost(latent, stored, twenty, 2) == footprint{40U * 24U, 40U * 8U, 0U});
static_assert(cost(index, stored, twenty, 2) == other(200));
static_assert(cost(cross, stored, empty) == kv(5) && cost(cross, stored, twenty) == kv(5));
static_assert(cost(cross, stored, request(9_tokens, 9_tokens)) == nothing);
static_assert(cost(cross_window, stored, twenty) == kv(3) &&
              cost(cross_window, stored, request(9_tokens, 9_tokens, 2_tokens)) == kv(2));
static_assert(cost(memory, stored, request(1_tokens, 2_tokens)) == other(60) &&
              cost(memory, stored, twenty) == other(80));
static_assert(cost(state, stored, empty, 3) == other(360) && cost(state, stored, twenty, 3) == other(360));
static_assert(cost(shared_kv{}, stored, twenty) == nothing && cost(no_cache{}, stored, twenty) == nothing);

// ---- static reservation: the whole length from the start
// --------------------------------------------------------------

constexpr static_reservation reserved{32_tokens};
static_assert(cost(full, reserved, empty) == kv(32) && cost(full, reserved, twenty, 2) == kv(64));
static_assert(cost(sliding, reserved, one) == kv(6) && cost(chunked, reserved, one) == kv(8));
static_assert(cost(sinks, reserved, one) == kv(8) && cost(ring, reserved, one) == kv(6));
static_assert(cost(sliding, static_reservation{4_tokens}, one) == kv(4));
static_assert(cost(latent, reserved, one) == footprint{32U * 24U, 32U * 8U, 0U} &&
              cost(index, reserved, one) == other(160));
static_assert(cost(cross, reserved, one) == kv(5) && cost(cross_window, reserved, one) == kv(3));
static_assert(cost(memory, reserved, one) == other(80) && cost(state, reserved, one, 2) == other(240));
static_assert(cost(reference, reserved, one) == kv(32));  // any of them may be prompt
static_assert(cost(full, static_reservation{20_tokens}, twenty) == kv(20));
static_assert(cost(full, static_reservation{19_tokens}, twenty).total().reason() == failure::exceeds_reservation);
static_assert(cost(sliding, static_reservation{19_tokens}, twenty).total().reason() == failure::exceeds_reservation);

// ---- pages: whole blocks of four
// --------------------------------------------------------------------------------------

constexpr paged pages{4_tokens};
static_assert(cost(full, pages, empty) == nothing && cost(full, pages, one) == kv(4));
static_assert(cost(full, pages, five) == kv(8) && cost(full, pages, twenty) == kv(20));
static_assert(cost(full, pages, request(20_tokens, 1_tokens), 2) == kv(48));
static_assert(cost(latent, pages, five) == footprint{8U * 24U, 8U * 8U, 0U} && cost(index, pages, five) == other(40));
static_assert(cost(cross, pages, one) == kv(8) && cost(cross_window, pages, one) == kv(4));
static_assert(cost(memory, pages, one) == other(80) && cost(memory, pages, twenty) == other(80));
static_assert(cost(state, pages, one) == other(120) && cost(shared_kv{}, pages, one) == nothing);
static_assert(cost(ring, pages, five) == kv(8) && cost(ring, pages, twenty) == kv(8));
static_assert(cost(reference, pages, twenty) == kv(16));

// A window of 6 that has moved on lies in up to three blocks of 4: positions 7 to 12 are in blocks 1, 2 and 3
static_assert(cost(sliding, pages, one) == kv(4) && cost(sliding, pages, five) == kv(8));
static_assert(cost(sliding, pages, request(9_tokens, 0_tokens)) == kv(12) && cost(sliding, pages, twenty) == kv(12));
constexpr sliding_window_attention of_one{k, v, 1_tokens};
static_assert(cost(of_one, pages, twenty) == kv(4) && cost(of_one, pages, empty) == nothing);
static_assert(cost(sliding_window_attention{k, v, 0_tokens}, pages, twenty) == nothing);
static_assert(cost(sliding_window_attention{k, v, 5_tokens}, pages, twenty) == kv(8));  // 4 to 8, and 7 to 11
static_assert(cost(sliding_window_attention{k, v, tokens::max()}, pages, twenty) == kv(20));

// Two sinks are in block 0 for good, beside the window's three
static_assert(cost(sinks, pages, five) == kv(8) && cost(sinks, pages, request(12_tokens, 0_tokens)) == kv(12));
static_assert(cost(sinks, pages, request(13_tokens, 0_tokens)) == kv(16) && cost(sinks, pages, twenty) == kv(16));
static_assert(cost(sink_window_attention{k, v, 2_tokens, 0_tokens}, pages, twenty) == kv(4));

// Chunks of 8 start with a block; chunks of 7 do not: positions 7 to 13 are in blocks 1, 2 and 3
static_assert(cost(chunked, pages, five) == kv(8) && cost(chunked, pages, twenty) == kv(8));
static_assert(cost(chunked_local_attention{k, v, 7_tokens}, pages, five) == kv(8));
static_assert(cost(chunked_local_attention{k, v, 7_tokens}, pages, request(14_tokens, 0_tokens)) == kv(12));

static_assert(cost(full, paged{1_tokens}, twenty) == kv(20) && cost(full, paged{256_tokens}, one) == kv(256));
static_assert(cost(full, paged{0_tokens}, one).total().reason() == failure::division_by_zero);
static_assert(cost(sliding, paged{0_tokens}, one).total().reason() == failure::division_by_zero);
static_assert(cost(chunked, paged{0_tokens}, one).total().reason() == failure::division_by_zero);
static_assert(cost(sinks, paged{0_tokens}, one).total().reason() == failure::division_by_zero);

// ---- batches of different lengths
// ---------------------------------------------------------------------------------------

constexpr std::uint32_t lengths[] = {3072, 1024, 0, 5};
constexpr ragged_batch<std::uint32_t> ragged(lengths);
constexpr std::uint32_t no_lengths[] = {7};
constexpr ragged_batch<std::uint32_t> nobody(no_lengths, 0);

static_assert(ragged.size() == 4 && ragged.longest() == 3072 && nobody.size() == 0 && nobody.longest() == 0);
static_assert(total_footprint(full, stored, ragged) == kv(4101));
static_assert(total_footprint(full, padded{}, ragged) == kv(4 * 3072));
static_assert(total_footprint(full, static_reservation{4096_tokens}, ragged) == kv(4 * 4096));
static_assert(total_footprint(full, static_reservation{3071_tokens}, ragged).total().reason() ==
              failure::exceeds_reservation);
static_assert(total_footprint(full, pages, ragged) == kv(3072 + 1024 + 0 + 8));
static_assert(total_footprint(sliding, stored, ragged) == kv(6 + 6 + 0 + 5));
static_assert(total_footprint(sliding, padded{}, ragged) == kv(4 * 6));
static_assert(total_footprint(sliding, pages, ragged) == kv(12 + 12 + 0 + 8));
static_assert(total_footprint(chunked, stored, ragged) == kv(8 + 8 + 0 + 5));
static_assert(total_footprint(sinks, stored, ragged) == kv(8 + 8 + 0 + 5));
static_assert(total_footprint(latent, stored, ragged) == footprint{4101U * 24U, 4101U * 8U, 0U});
static_assert(total_footprint(index, stored, ragged) == other(4101 * 5));
static_assert(total_footprint(state, stored, ragged) == other(4 * 120));
static_assert(total_footprint(state, padded{}, ragged) == other(4 * 120));
static_assert(total_footprint(cross, stored, ragged) == nothing);  // no encoder
static_assert(total_footprint(full, stored, nobody) == nothing && total_footprint(full, padded{}, nobody) == nothing);
static_assert(total_footprint(state, pages, nobody) == nothing);
static_assert(total_footprint(layer_pair{full, state}, padded{}, ragged) == kv(4 * 3072) + other(4 * 120));

constexpr std::uint8_t narrow[] = {255, 1, 200};
static_assert(total_footprint(full, stored, ragged_batch<std::uint8_t>(narrow)) == kv(456));
constexpr std::uint64_t wide[] = {0x123'89ab'cdef, std::uint64_t{3} << 33U, 7};
static_assert(total_footprint(full, stored, ragged_batch<std::uint64_t>(wide)) ==
              kv(0x123'89ab'cdef + (std::uint64_t{3} << 33U) + 7));
static_assert(total_footprint(sliding, stored, ragged_batch<std::uint64_t>(wide)) == kv(18));
constexpr std::uint64_t too_wide[] = {~std::uint64_t{0}, 1};
static_assert(total_footprint(full, stored, ragged_batch<std::uint64_t>(too_wide)).total().reason() ==
              failure::overflow);

// ---- absurd numbers neither loop nor wrap
// ---------------------------------------------------------------------------------

constexpr std::uint64_t absurd = std::uint64_t{1} << 63U;
static_assert(cost(full, stored, one, absurd).total().reason() == failure::overflow);
static_assert(cost(full, stored, empty, absurd) == nothing);
static_assert(cost(no_cache{}, stored, twenty, absurd) == nothing);
static_assert(cost(full_attention{{1, 1, int8}, {0, 0, int8}}, stored, one, absurd) == footprint{absurd, 0U, 0U});
static_assert(cost(state, pages, one, absurd).total().reason() == failure::overflow);
static_assert(cost(full, stored, request(tokens::max(), 1_tokens)).total().reason() == failure::overflow);
static_assert(cost(sliding, stored, request(tokens::max(), 0_tokens)) == kv(6));
static_assert(cost(sliding, pages, request(tokens::max(), 0_tokens)) == kv(12));

}  // namespace
