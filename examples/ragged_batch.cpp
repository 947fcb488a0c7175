// The same requests under four policies: what is stored, padded, reserved and paged are four different numbers.

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <kvbudget/core.hpp>
#include <kvbudget/report/format.hpp>

int main() {
  using namespace kvbudget;
  // A model with windows of 1,024 in five of six layers.
  const auto full = grouped_query_attention(8, 128, bf16);
  const layer_list layers{repeated{40, with_window(full, 1024_tokens)}, repeated{8, full}};

  const std::vector<std::uint32_t> lengths{350, 4100, 90, 2048, 777};
  const ragged_batch batch(lengths);
  const auto show = [&](std::string_view name, const auto& policy) {
    const bytes amount = total_bytes(layers, policy, batch);
    fmt::print("{:<28} {:>12} = {:.3g}\n", name, amount, amount);
  };
  show("ragged: what is stored", stored_positions{});
  show("paged in blocks of 16", paged{16_tokens});
  show("padded to the longest", padded{});
  show("8,192 reserved for each", static_reservation{8192_tokens});
}
