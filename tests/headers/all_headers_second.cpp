#include <kvbudget/kvbudget.hpp>

kvbudget::bytes from_second(kvbudget::tokens length);

kvbudget::bytes from_second(kvbudget::tokens length) {
  using namespace kvbudget;
  return total_bytes(grouped_query_attention(8, 128, bf16), stored_positions{},
                     uniform_batch{request(length, tokens()), 1});
}
