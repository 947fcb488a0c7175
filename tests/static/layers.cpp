// Many layers as one value: repeated, listed, in containers, in pairs; layers and policies of one's own.
#include <array>

#include <kvbudget/core.hpp>
#include <kvbudget/config/model.hpp>

namespace {

using namespace kvbudget;

constexpr full_attention full = grouped_query_attention(8, 128, bf16);  // 4096 bytes a position
constexpr sliding_window_attention sliding = with_window(full, 1024_tokens);
constexpr recurrent_state state{1000, f32};  // 4000 bytes a sequence
constexpr uniform_batch batch{request(3000_tokens, 1000_tokens), 2};
constexpr stored_positions stored;

static_assert(total_bytes(full, stored, batch) == bytes(2 * 4000 * 4096));
static_assert(total_bytes(sliding, stored, batch) == bytes(2 * 1024 * 4096));
static_assert(total_bytes(repeated{32U, full}, stored, batch) == 32 * total_bytes(full, stored, batch));
static_assert(total_bytes(repeated{0U, full}, stored, batch) == 0_B);
static_assert(total_bytes(repeated{3U, repeated{4U, full}}, stored, batch) == 12 * total_bytes(full, stored, batch));

// Pairs, lists, lists of lists
static_assert(total_footprint(layer_pair{full, state}, stored, batch) ==
              footprint{2U * 4000U * 2048U, 2U * 4000U * 2048U, 8000U});
static_assert(total_bytes(layer_list{full}, stored, batch) == total_bytes(full, stored, batch));
static_assert(total_bytes(layer_list{full, sliding, state}, stored, batch) ==
              bytes(2 * 4000 * 4096 + 2 * 1024 * 4096 + 8000));
static_assert(total_bytes(layer_list{repeated{2U, full}, layer_list{sliding, repeated{3U, no_cache{}}}}, stored,
                          batch) == bytes(2 * 2 * 4000 * 4096 + 2 * 1024 * 4096));
static_assert(total_bytes(repeated{10U, layer_list{full, repeated{5U, sliding}}}, stored, batch) ==
              bytes(10 * (2 * 4000 * 4096 + 5 * 2 * 1024 * 4096)));
static_assert(total_bytes(repeated{4U, layer_pair{sliding, layer_pair{state, state}}}, stored, batch) ==
              bytes(4 * (2 * 1024 * 4096 + 2 * 8000)));

// Containers
constexpr std::array<full_attention, 3> three{full, grouped_query_attention(1, 64, f16), full};
static_assert(total_bytes(three, stored, batch) == bytes(2 * 4000 * (4096 + 256 + 4096)));
static_assert(total_bytes(std::array<full_attention, 0>{}, stored, batch) == 0_B);

// Ragged: equal layers are costed once, wherever they stand
constexpr std::uint32_t lengths[] = {100, 2000, 7};
constexpr ragged_batch<std::uint32_t> ragged(lengths);
static_assert(total_bytes(three, stored, ragged) == bytes(2107 * (4096 + 256 + 4096)));
static_assert(total_bytes(repeated{5U, sliding}, stored, ragged) == bytes(5 * (100 + 1024 + 7) * 4096));

// ---- a mixed model of 126 layers, in three forms
// --------------------------------------------------------------------------

constexpr auto folded = layer_list{repeated{21U, layer_list{repeated{5U, sliding}, full}}};
using either = std::variant<full_attention, sliding_window_attention>;
constexpr std::array<either, 126> listed = [] {
  std::array<either, 126> layers{};
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = i % 6 == 5 ? either(full) : either(sliding);
  return layers;
}();
static_assert(total_bytes(folded, stored, batch) == bytes(std::uint64_t{21} * 2 * (4000 + 5 * 1024) * 4096));
static_assert(total_footprint(folded, stored, batch) == total_footprint(listed, stored, batch));
static_assert(total_footprint(folded, stored, ragged) == total_footprint(listed, stored, ragged));
static_assert(total_footprint(folded, paged{16_tokens}, batch) == total_footprint(listed, paged{16_tokens}, batch));
static_assert(total_footprint(folded, static_reservation{8192_tokens}, batch) ==
              total_footprint(listed, static_reservation{8192_tokens}, batch));
static_assert(cache_formula{folded, stored}.max_length(40_GiB, 8) ==
              cache_formula{repeated{21U, layer_list{repeated{5U, sliding}, full}}, stored}.max_length(40_GiB, 8));

// ---- more than 65,536 layers, however they are counted
// ----------------------------------------------------------------------

template <class Layers>
constexpr failure reason(const Layers& layers) {
  return total_footprint(layers, stored, batch).total().reason();
}
static_assert(reason(repeated{65'536U, full}) == failure::none);
static_assert(reason(repeated{65'537U, full}) == failure::too_many_layers);
static_assert(reason(repeated{65'537U, no_cache{}}) == failure::too_many_layers);
static_assert(reason(repeated{256U, repeated{256U, full}}) == failure::none);
static_assert(reason(repeated{256U, repeated{257U, full}}) == failure::too_many_layers);
static_assert(reason(layer_list{repeated{40'000U, full}, repeated{25'536U, sliding}}) == failure::none);
static_assert(reason(layer_list{repeated{40'000U, full}, repeated{25'537U, sliding}}) == failure::too_many_layers);
static_assert(reason(repeated{65'536U, layer_pair{full, state}}) == failure::none);  // a pair is one layer
static_assert(reason(repeated{~std::uint64_t{0}, repeated{2U, full}}) == failure::too_many_layers);

// ---- kinds and policies of a user
// ------------------------------------------------------------------------------------------

}  // namespace

namespace mine {

/// Keeps every `stride`-th position.
struct strided_attention {
  kvbudget::kv_row k;
  kvbudget::kv_row v;
  std::uint64_t stride = 1;
  friend constexpr bool operator==(const strided_attention&, const strided_attention&) = default;
};
constexpr kvbudget::footprint bytes_of_positions(const strided_attention& l, kvbudget::checked_count n) {
  return {l.k.row_bytes() * n, l.v.row_bytes() * n, 0U};
}
constexpr kvbudget::checked_count positions(kvbudget::stored_positions, const strided_attention& l,
                                            const kvbudget::request& r) {
  return div_ceil(r.length(), l.stride);
}

/// Doubles what is stored; knows states only of one sequence.
struct mirrored {};
template <kvbudget::positional_layer Layer>
constexpr kvbudget::checked_count positions(mirrored, const Layer& layer, const kvbudget::request& r) {
  return positions(kvbudget::stored_positions{}, layer, r) * 2U;
}

struct knows_only_full {};
constexpr kvbudget::checked_count positions(knows_only_full, const kvbudget::full_attention&,
                                            const kvbudget::request& r) {
  return r.length();
}

}  // namespace mine

namespace {

constexpr mine::strided_attention strided{{8, 128, bf16}, {8, 128, bf16}, 4};
static_assert(total_bytes(strided, stored, uniform_batch{request(10_tokens, 0_tokens), 2}) == bytes(2 * 3 * 4096));
static_assert(total_bytes(strided, paged{2_tokens}, uniform_batch{request(10_tokens, 0_tokens), 2}) ==
              bytes(2 * 4 * 4096));
static_assert(total_bytes(strided, static_reservation{40_tokens}, uniform_batch{request(1_tokens, 0_tokens), 1}) ==
              bytes(10 * 4096));
static_assert(total_bytes(strided, stored, ragged) == bytes((25 + 500 + 2) * 4096));
static_assert(total_bytes(layer_pair{strided, state}, mine::mirrored{},
                          uniform_batch{request(10_tokens, 0_tokens), 2}) == bytes(2 * 2 * 3 * 4096 + 8000));
static_assert(total_bytes(layer_list{full, strided}, mine::mirrored{},
                          uniform_batch{request(10_tokens, 0_tokens), 1}) == bytes(2 * (10 + 3) * 4096));
static_assert(cache_formula{strided, mine::mirrored{}}.max_length(bytes(6 * 4096), 1) == limit{12, false, false});

static_assert(caches<mine::knows_only_full, full_attention> &&
              !caches<mine::knows_only_full, sliding_window_attention>);
static_assert(caches<stored_positions, mine::strided_attention> &&
              !caches<mine::knows_only_full, mine::strided_attention>);
static_assert(caches<mine::knows_only_full, recurrent_state>);  // a state is kept once per sequence under every policy
static_assert(!caches<paged, compressed_keys>);                 // no rule for pages of them
static_assert(!caches<stored_positions, int>);

}  // namespace
