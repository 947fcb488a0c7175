// Elements to bytes, for every storage type.
#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;

constexpr std::uint64_t row(storage_type type, std::uint64_t elements) { return type.row_bytes(elements).value(); }
constexpr bool is_partial(storage_type type, std::uint64_t elements) {
  return type.row_bytes(elements).reason() == failure::partial_block;
}

// A row of 128 elements
static_assert(row(f32, 128) == 512 && row(f16, 128) == 256 && row(bf16, 128) == 256 && row(int64, 128) == 1024);
static_assert(row(fp8_e4m3, 128) == 128 && row(fp8_e5m2, 128) == 128 && row(int8, 128) == 128);
static_assert(row(int4, 128) == 64 && row(int2, 128) == 32);
static_assert(row(q8_0, 128) == 136 && row(q4_0, 128) == 72 && row(q4_1, 128) == 80);
static_assert(row(q5_0, 128) == 88 && row(q5_1, 128) == 96 && row(iq4_nl, 128) == 72);
static_assert(row(nvfp4, 128) == 72 && row(mxfp4, 128) == 68 && row(mxfp8, 128) == 132);

// One block
static_assert(row(q8_0, 32) == 34 && row(q4_0, 32) == 18 && row(q4_1, 32) == 20 && row(q5_0, 32) == 22);
static_assert(row(q5_1, 32) == 24 && row(iq4_nl, 32) == 18 && row(nvfp4, 16) == 9 && row(mxfp4, 32) == 17);
static_assert(row(mxfp8, 32) == 33 && row(int4, 2) == 1 && row(int2, 4) == 1);

// A row that is no whole number of blocks
static_assert(is_partial(q8_0, 80) && is_partial(q4_0, 31) && is_partial(q4_0, 33) && is_partial(nvfp4, 24));
static_assert(is_partial(int4, 1) && is_partial(int2, 2) && is_partial(mxfp4, 48));
static_assert(!is_partial(q8_0, 0) && row(q8_0, 0) == 0 && row(f16, 1) == 2);

// Sizes at the edge of 64 bits
constexpr std::uint64_t top = ~std::uint64_t{0};
static_assert(row(int8, top) == top && row(int4, top - 1) == top / 2);
static_assert(f16.row_bytes(top).reason() == failure::overflow);
static_assert(q8_0.row_bytes(top - 31).reason() == failure::overflow);
static_assert(f16.row_bytes(checked_count::failed(failure::negative)).reason() == failure::negative);
static_assert(storage_type{element_type::int8, 0, 1}.row_bytes(8U).reason() == failure::division_by_zero);

// Groups with a scale, or with a scale and a zero point
static_assert(grouped(int4, 64, f16, 2) == storage_type{element_type::int4, 64, 36});
static_assert(grouped(int2, 64, bf16, 2) == storage_type{element_type::int2, 64, 20});
static_assert(grouped(int8, 128, f32, 1) == storage_type{element_type::int8, 128, 132});
static_assert(grouped(int4, 32, f16, 0) == storage_type{element_type::int4, 32, 16});
static_assert(grouped(fp8_e4m3, 128, f32, 1) == storage_type{element_type::fp8_e4m3, 128, 132});
static_assert(row(grouped(int4, 64, f16, 2), 128) == 72 && is_partial(grouped(int4, 64, f16, 2), 96));

// K and V of different types and widths: 8 x 128 in q8_0, 8 x 64 in q4_0
constexpr full_attention mixed{{8, 128, q8_0}, {8, 64, q4_0}};
static_assert(total_footprint(mixed, stored_positions{}, uniform_batch{request(10_tokens, 0_tokens), 3}) ==
              footprint{30U * 1088U, 30U * 288U, 0U});
// Heads of 80 are no whole blocks; but 2 heads of 80 are: the row is what counts
static_assert(kv_row{1, 80, q8_0}.row_bytes().reason() == failure::partial_block);
static_assert(kv_row{2, 80, q8_0}.row_bytes() == checked_count(170U));
static_assert(kv_row{top, 2, q8_0}.row_bytes().reason() == failure::overflow);

}  // namespace
