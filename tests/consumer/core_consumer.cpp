#include <cstdio>

#include <kvbudget/core.hpp>

int main() {
  using namespace kvbudget;
  constexpr cache_formula cache{repeated{32U, grouped_query_attention(8, 128, bf16)}, stored_positions{}};
  static_assert(cache.bytes_of(request(4000_tokens, 96_tokens)) == 512_MiB);
  std::printf("%llu\n", static_cast<unsigned long long>(cache.max_length(1_GiB, 1).value));
}
