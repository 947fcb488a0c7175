// K and V of different types, and layers of different types: what a mixed cache saves, exactly.

#include <fmt/format.h>

#include <kvbudget/core.hpp>
#include <kvbudget/report/format.hpp>

int main() {
  using namespace kvbudget;
  const uniform_batch batch{request(7168_tokens, 1024_tokens), 4};
  const stored_positions policy;
  const auto show = [](std::string_view name, bytes amount) {
    fmt::print("{:<34} {:>12} = {:.3g}\n", name, amount, amount);
  };

  const auto all_16_bit = grouped_query_attention(8, 128, bf16);
  show("32 layers in bf16", total_bytes(repeated{32, all_16_bit}, policy, batch));

  // Per tensor: keys in 8-bit blocks (34 bytes for 32 elements), values in 4-bit ones (18 bytes).
  const auto mixed = grouped_query_attention(8, 128, q8_0, q4_0);
  show("K in q8_0, V in q4_0", total_bytes(repeated{32, mixed}, policy, batch));

  // Per layer: the first and the last two stay in 16 bit.
  const layer_list sensitive{repeated{2, all_16_bit}, repeated{28, mixed}, repeated{2, all_16_bit}};
  show("the same, but for 4 layers", total_bytes(sensitive, policy, batch));

  // 4-bit integers in groups of 64 with a 16-bit scale and zero point each: not 4 bits, but 4.5.
  const storage_type int4_groups = grouped(int4, 64, f16, 2);
  show("int4 in groups of 64", total_bytes(repeated{32, grouped_query_attention(8, 128, int4_groups)}, policy, batch));

  // A row of 80 elements is no whole number of blocks of 32: an error, not a rounded size.
  const auto odd = grouped_query_attention(1, 80, q8_0);
  try {
    show("one head of 80 in q8_0", total_bytes(odd, policy, batch));
  } catch (const size_error& e) {
    fmt::print("one head of 80 in q8_0: {}\n", e.what());
  }
}
