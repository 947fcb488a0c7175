// Models at run time: layers of parts, kinds of one's own, limits; large batches.
#include "support/catch.hpp"
#include "support/growth.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>
#include <kvbudget/config/model.hpp>

using namespace kvbudget;

namespace mine {

/// A layer that keeps `per_sequence` bytes, whatever happens.
struct scratch {
  std::uint64_t per_sequence = 0;
  friend bool operator==(const scratch&, const scratch&) = default;
};
template <class Policy>
constexpr footprint allocated(const Policy&, const scratch& layer, const uniform_batch& batch) {
  return {0U, 0U, checked_count(layer.per_sequence) * batch.sequences};
}

}  // namespace mine

namespace {

const full_attention full = grouped_query_attention(8, 128, bf16);
const sliding_window_attention sliding = with_window(full, 1024_tokens);
const uniform_batch batch{request(3000_tokens, 1000_tokens), 2};

failure reason(const checked_count& n) { return n.reason(); }

}  // namespace

TEST_CASE("equal layers are one kind, counted") {
  model m;
  for (std::int64_t i = 0; i < 126; ++i) {
    if (i % 6 == 5) m.add(i, {"full_attention", {full}});
    else m.add(i, {"sliding_attention", {sliding}});
  }
  REQUIRE(m.kinds().size() == 2);
  CHECK(m.kinds()[0].kind == "sliding_attention");
  CHECK(m.count(0) == 105);
  CHECK(m.count(1) == 21);
  REQUIRE(m.layers().size() == 126);
  CHECK(m.layers()[5].kind == 1);
  CHECK(m.layers()[125].layer == 125);
  CHECK(m.add(126, {"full_attention", {full}}) == 1);
  m.add_another(127, 0);
  CHECK(m.count(1) == 22);
  CHECK(m.count(0) == 106);
  CHECK_THROWS_AS(m.add_another(128, 2), std::out_of_range);
  CHECK(total_bytes(m, stored_positions{}, batch) == bytes((std::uint64_t{22} * 4000 + 106 * 1024) * 2 * 4096));
}

TEST_CASE("a layer is the sum of its parts; layers without any cost nothing") {
  model m;
  m.add(0, {"hybrid", {full, recurrent_state{1000, f32}, index_keys{{1, 64, bf16}}}});
  m.add(1, {"mlp", {}});
  m.add(2, {"shared", {shared_kv{}}});
  m.add(3, {"dummy", {no_cache{}}});
  CHECK(total_footprint(m, stored_positions{}, batch) == footprint{8000U * 2048U, 8000U * 2048U, 8000U + 8000U * 128U});
  CHECK(total_footprint(model(), stored_positions{}, batch) == footprint{0U, 0U, 0U});
}

TEST_CASE("the same parts under another name are another kind") {
  model m;
  m.add(0, {"a", {full}});
  m.add(1, {"b", {full}});
  m.add(2, {"a", {full}});
  CHECK(m.kinds().size() == 2);
  CHECK(m.count(0) == 2);
}

TEST_CASE("many different layers: all are counted, each looked up without a walk over the others") {
  const auto of_different_layers = [](std::uint64_t n) {
    model m;
    for (std::uint64_t i = 0; i < n; ++i) {
      m.add(static_cast<std::int64_t>(i), {"full_attention", {grouped_query_attention(1, i + 1, int8)}});
    }
    return m;
  };
  CHECK(growth_over_eightfold([&](std::size_t n) { (void)of_different_layers(n); }, max_layers / 8) < 30);
  model m = of_different_layers(max_layers);
  // 2 x (1 + 2 + … + 65,536) bytes a position
  CHECK(total_bytes(m, stored_positions{}, uniform_batch{request(1_tokens, 0_tokens), 1}) ==
        bytes(max_layers * (max_layers + 1)));
  CHECK_THROWS_AS(m.add(0, {"full_attention", {full}}), size_error);
  CHECK_THROWS_AS(m.add_another(0, 0), size_error);
  CHECK(m.layers().size() == max_layers);
}

TEST_CASE("a part without a rule in the policy fails by name") {
  model m;
  m.add(0, {"sliding_attention", {sliding}});
  const detail::transformers::quantized_cache quantized;
  CHECK(reason(total_footprint(m, quantized, batch).total()) == failure::unsupported_layer);
  CHECK_THROWS_AS(total_bytes(m, quantized, batch), size_error);
  m = model();
  m.add(0, {"full_attention", {full}});
  CHECK(total_footprint(m, quantized, batch).total().valid());
}

TEST_CASE("a model with a kind of one's own") {
  basic_model<mine::scratch> m;
  m.add(0, {"full_attention", {full}});
  m.add(1, {"scratch", {mine::scratch{77}, recurrent_state{10, f32}}});
  m.add(2, {"scratch", {mine::scratch{77}, recurrent_state{10, f32}}});
  CHECK(m.kinds().size() == 2);
  CHECK(total_footprint(m, stored_positions{}, batch) ==
        footprint{8000U * 2048U, 8000U * 2048U, 2U * 2U * (77U + 40U)});
  CHECK(total_footprint(m, paged{16_tokens}, batch) == footprint{8000U * 2048U, 8000U * 2048U, 2U * 2U * (77U + 40U)});
  const std::uint32_t lengths[] = {1, 2};  // its rule is for uniform batches only
  CHECK(reason(total_footprint(m, stored_positions{}, ragged_batch<std::uint32_t>(lengths)).total()) ==
        failure::unsupported_layer);
  CHECK(cache_formula{m, stored_positions{}}.max_length(bytes(4096 * 50 + 2 * 117 + 100), 1) ==
        limit{50, false, false});
}

TEST_CASE("the peaks of a model's parts count in its inverses") {
  model m;
  m.add(0, {"compressed", {compressed_keys{{1, 512, bf16}, 128, 1, f32}}});
  const cache_formula cache{m, detail::transformers::dynamic_cache{}};
  CHECK(cache.bytes_of(request(127_tokens, 0_tokens)) == bytes(127 * 2048));
  CHECK(cache.bytes_of(request(128_tokens, 0_tokens)) == bytes(1024));
  CHECK(cache.max_length(bytes(126 * 2048), 1) == limit{126, false, false});
  CHECK(cache.max_length(bytes(127 * 2048), 1) == limit{128 + 126, false, false});  // 1,024 + 126 waiting rows
}

TEST_CASE("a million sequences of different lengths, in 32 and 64 bits") {
  std::vector<std::uint32_t> narrow(1'000'000);
  std::vector<std::uint64_t> wide(narrow.size());
  std::uint64_t sum = 0, cut = 0, pages = 0;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const std::uint64_t n = (i * 2'654'435'761U) % 131'072;
    narrow[i] = static_cast<std::uint32_t>(n);
    wide[i] = n;
    sum += n;
    cut += n < 1024 ? n : 1024;
    pages += (n + 15) / 16 * 16;
  }
  CHECK(total_bytes(repeated{32U, full}, stored_positions{}, ragged_batch(narrow)) == bytes(32 * 4096 * sum));
  CHECK(total_bytes(repeated{32U, full}, stored_positions{}, ragged_batch(wide)) == bytes(32 * 4096 * sum));
  CHECK(total_bytes(sliding, stored_positions{}, ragged_batch(narrow)) == bytes(4096 * cut));
  CHECK(total_bytes(sliding, stored_positions{}, ragged_batch(wide)) == bytes(4096 * cut));
  CHECK(total_bytes(full, paged{16_tokens}, ragged_batch(narrow)) == bytes(4096 * pages));
  CHECK(total_bytes(full, paged{16_tokens}, ragged_batch(wide)) == bytes(4096 * pages));
  CHECK(ragged_batch(narrow).longest() == *std::max_element(narrow.begin(), narrow.end()));
}

TEST_CASE("lengths whose sum needs all 64 bits, and one more") {
  const std::vector<std::uint64_t> fits{~std::uint64_t{0} - 5, 5};
  const std::vector<std::uint64_t> overflows{~std::uint64_t{0} - 5, 6};
  const full_attention byte{{1, 1, int8}, {0, 0, int8}};
  CHECK(total_bytes(byte, stored_positions{}, ragged_batch(fits)) == bytes::max());
  CHECK(reason(total_footprint(byte, stored_positions{}, ragged_batch(overflows)).total()) == failure::overflow);
}
