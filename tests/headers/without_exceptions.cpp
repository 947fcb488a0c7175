// The core in a build without exceptions and without run-time type information.
#include <kvbudget/core.hpp>

using namespace kvbudget;

bytes cache_of(std::uint64_t layers, tokens prompt, tokens generated) {
  const cache_formula cache{repeated{layers, grouped_query_attention(8, 128, bf16)}, paged{16_tokens}};
  return cache.bytes_of(request(prompt, generated));
}
