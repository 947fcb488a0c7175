// A capacity check that is part of the build: when the model, the length or the device changes so that the cache no
// longer fits, the program does not compile.

#include <cstdio>

#include <kvbudget/core.hpp>

using namespace kvbudget;

// 40 layers, 8 K/V heads of 128, 16 bit: no query heads in sight, because they cost nothing here.
constexpr cache_formula cache{repeated{40, grouped_query_attention(8, 128, bf16)}, stored_positions{}};
constexpr request chat(3072_tokens, 1024_tokens);

static_assert(cache.bytes_of(request(1_tokens, 0_tokens)) == 163'840_B);
static_assert(cache.bytes_of(chat) == 671'088'640_B);
static_assert(cache.bytes_of(uniform_batch{chat, 6}) == 4'026'531'840_B);

constexpr device_budget card{
    .capacity = 24_GiB, .utilization = {9, 10}, .weights = 16_GB, .fixed_overhead = 1_GiB, .overhead_share = {0, 1}};

static_assert(cache.fits(uniform_batch{chat, 6}, card.available_for_cache()), "six chats no longer fit on the card");

int main() {
  const bytes left = card.available_for_cache();
  std::printf("left for the cache: %llu B\n", static_cast<unsigned long long>(left.count()));
  std::printf("chats of 4,096 positions: %llu\n",
              static_cast<unsigned long long>(cache.max_sequences(left, chat).value));
  std::printf("longest single sequence: %llu positions\n",
              static_cast<unsigned long long>(cache.max_length(left, 1).value));
}
