// Published figures of well-known models, to the digit.
#include <kvbudget/core.hpp>

namespace {

using namespace kvbudget;

// 40 layers, 8 K/V heads of 128, two bytes
constexpr cache_formula eight_heads{repeated{40U, grouped_query_attention(8, 128, f16)}, stored_positions{}};
constexpr cache_formula forty_heads{repeated{40U, grouped_query_attention(40, 128, f16)}, stored_positions{}};

static_assert(eight_heads.bytes_of(request(0_tokens, 1_tokens)) == 163'840_B);
static_assert(eight_heads.bytes_of(request(3072_tokens, 1024_tokens)) == 671'088'640_B);
static_assert(eight_heads.bytes_of(request(3072_tokens, 1024_tokens)) * 8 == 5_GiB);  // 0.625 GiB
static_assert(eight_heads.bytes_of(uniform_batch{request(3072_tokens, 1024_tokens), 6}) == 4'026'531'840_B);
static_assert(eight_heads.bytes_of(uniform_batch{request(3072_tokens, 1024_tokens), 6}) * 4 == 15_GiB);  // 3.75 GiB
static_assert(eight_heads.bytes_of(request(6144_tokens, 2048_tokens)) == 2 * 671'088'640_B);
static_assert(forty_heads.bytes_of(request(3072_tokens, 1024_tokens)) == 5 * 671'088'640_B);

// Qwen2.5-7B: K and V of [1, 4, 8, 128] in each of 28 layers
constexpr full_attention qwen = grouped_query_attention(4, 128, f16);
static_assert(total_footprint(qwen, stored_positions{}, uniform_batch{request(8_tokens, 0_tokens), 1}) ==
              footprint{1U * 4U * 8U * 128U * 2U, 1U * 4U * 8U * 128U * 2U, 0U});
static_assert(total_bytes(repeated{28U, qwen}, stored_positions{}, uniform_batch{request(8_tokens, 0_tokens), 1}) ==
              458'752_B);

// Llama-2-13B, often quoted as 1 MB per token and 4 GB
constexpr cache_formula llama_2_13b{repeated{40U, grouped_query_attention(40, 128, f16)}, stored_positions{}};
static_assert(llama_2_13b.bytes_of(request(1_tokens, 0_tokens)) == 819'200_B);
static_assert(llama_2_13b.bytes_of(request(4096_tokens, 0_tokens)) == 3'355'443'200_B);

// Llama-3-8B in 16 bits at 8,192: weights + cache + 15 %
constexpr cache_formula llama_3_8b{repeated{32U, grouped_query_attention(8, 128, f16)}, stored_positions{}};
constexpr device_budget sixteen_bits{24_GiB, {1, 1}, weight_bytes(8'000'000'000, 16), 0_B, {15, 100}};
static_assert(weight_bytes(8'000'000'000, 16) == 16_GB);
static_assert(llama_3_8b.bytes_of(request(8192_tokens, 0_tokens)) == 1_GiB);
static_assert(sixteen_bits.overhead((1_GiB).count()) == checked_count(2'561'061'274U));  // 2,561,061,273.6 rounded up
static_assert(sixteen_bits.used((1_GiB).count()) == checked_count(16'000'000'000U + 1'073'741'824U + 2'561'061'274U));
static_assert(sixteen_bits.holds((1_GiB).count()));

// ... and with weights of 4 bits at 32,768
constexpr device_budget four_bits{12_GiB, {1, 1}, weight_bytes(8'000'000'000, 4), 0_B, {15, 100}};
static_assert(weight_bytes(8'000'000'000, 4) == 4_GB);
static_assert(llama_3_8b.bytes_of(request(32'768_tokens, 0_tokens)) == 4_GiB);
static_assert(four_bits.overhead((4_GiB).count()) == checked_count(1'244'245'095U));  // 1,244,245,094.4 rounded up
static_assert(four_bits.used((4_GiB).count()) == checked_count(4'000'000'000U + 4'294'967'296U + 1'244'245'095U));
static_assert(four_bits.holds((4_GiB).count()));

// DeepSeek-V3: one latent of 512 and one row of 64 for all heads
constexpr mla_attention latent{{1, 512, bf16}, {1, 64, bf16}};
static_assert(total_bytes(repeated{61U, latent}, stored_positions{}, uniform_batch{request(1_tokens, 0_tokens), 1}) ==
              70'272_B);
// DeepSeek-V3.2 beside it: an index key of 128 in fp8 with a float32 scale
constexpr index_keys index{{1, 128, grouped(fp8_e4m3, 128, f32, 1)}};
static_assert(total_bytes(repeated{61U, layer_pair{latent, index}}, stored_positions{},
                          uniform_batch{request(1_tokens, 0_tokens), 1}) == 70'272_B + bytes(61 * 132));

// gpt-oss-120b: the sliding half of 36 layers counts for the first token too
constexpr full_attention gpt_oss = grouped_query_attention(8, 64, bf16);
static_assert(total_bytes(layer_list{repeated{18U, gpt_oss}, repeated{18U, with_window(gpt_oss, 128_tokens)}},
                          stored_positions{}, uniform_batch{request(1_tokens, 0_tokens), 1}) == 73'728_B);

// Qwen3-32B: heads of 128, not 5120 / 64 = 80
static_assert(total_bytes(repeated{64U, grouped_query_attention(8, 128, bf16)}, stored_positions{},
                          uniform_batch{request(1_tokens, 0_tokens), 1}) == 262'144_B);

// Token computations of a prompt of 4 and three tokens: 4 + 5 + 6 without a cache, 4 + 1 + 1 with one
static_assert(token_computations(request(4_tokens, 3_tokens), false) == checked_count(15U));
static_assert(token_computations(request(4_tokens, 3_tokens), true) == checked_count(6U));
static_assert(token_computations(request(4_tokens, 0_tokens), false) == checked_count(4U));
static_assert(token_computations(request(4_tokens, 0_tokens), true) == checked_count(4U));
static_assert(token_computations(request(4_tokens, 1_tokens), false) == checked_count(4U));
static_assert(token_computations(request(tokens::max(), 3_tokens), false).reason() == failure::overflow);
static_assert(token_computations(request(tokens::max(), 3_tokens), true).reason() == failure::overflow);

}  // namespace
