// The inverses against plain search: exact at the edge, and for every smaller value too.
#include "layers.hpp"
#include "support/catch.hpp"

#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>

using namespace kvbudget;

namespace {

constexpr std::uint64_t searched = 300;

/// The largest n up to `searched` with fits(m) for every m <= n, or a limit beyond it.
template <class Fits>
void check_limit(const limit& computed, const Fits& fits) {
  if (!fits(0)) {
    REQUIRE(computed == limit{0, false, true});
    return;
  }
  std::uint64_t n = 0;
  while (n < searched && fits(n + 1)) ++n;
  CAPTURE(computed.value, n);
  REQUIRE(!computed.none);
  if (n < searched) REQUIRE(computed == limit{n, false, false});
  else REQUIRE(computed.value >= searched);
}

/// A budget that is at, just below or just above the bytes of some length.
template <class Cache>
bytes budget_near(testing::random& random, const Cache& cache, std::uint64_t prompt, tokens encoder,
                  std::uint64_t sequences) {
  const std::uint64_t n = random.between(0, searched + 50);
  const request r(tokens(n < prompt ? n : prompt), tokens(n < prompt ? 0 : n - prompt), encoder);
  const std::uint64_t total = cache.footprint_of(uniform_batch{r, sequences}).total().value_or(5000);
  const std::uint64_t change = random.between(0, 2);
  return bytes(total + change > 0 ? total + change - 1 : 0);
}

template <class Policy>
void check_inverses(std::uint64_t seed, const model& m, const Policy& policy) {
  testing::random random(seed);
  const cache_formula cache{m, policy};
  const std::uint64_t prompt = random.coin() ? 0 : random.between(1, 200), sequences = random.between(1, 3);
  const tokens encoder(random.between(0, 9));
  const bytes budget = budget_near(random, cache, prompt, encoder, sequences);
  CAPTURE(seed, prompt, sequences, encoder.count(), budget.count());
  const auto at = [&](std::uint64_t n) {
    return request(tokens(n < prompt ? n : prompt), tokens(n < prompt ? 0 : n - prompt), encoder);
  };
  const auto total = [&](const request& r, std::uint64_t n) { return cache.footprint_of(uniform_batch{r, n}).total(); };

  check_limit(cache.max_length(budget, sequences, tokens(prompt), encoder),
              [&](std::uint64_t n) { return total(at(n), sequences).fits(budget.count()); });

  // Sequences are held while they grow: every length up to the last must fit.
  const std::uint64_t last = random.between(0, searched);
  CAPTURE(last);
  check_limit(cache.max_sequences(budget, at(last)), [&](std::uint64_t n) {
    for (std::uint64_t length = 0; length <= last; ++length) {
      if (!total(at(length), n).fits(budget.count())) return false;
    }
    return true;
  });
}

}  // namespace

TEST_CASE("general policies: the longest and the most are exact") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    testing::random random(seed);
    const model m = testing::random_model(random);
    check_inverses(seed, m, stored_positions{});
    check_inverses(seed, m, padded{});
    check_inverses(seed, m, paged{tokens(random.between(1, 20))});
    check_inverses(seed, m, static_reservation{tokens(random.between(0, searched))});
  }
}

TEST_CASE("cache classes of transformers: the longest and the most are exact, storage and compression included") {
  for (std::uint64_t seed = 1000; seed < 1400; ++seed) {
    testing::random random(seed);
    model m = testing::random_model(random, true);
    check_inverses(seed, m, detail::transformers::static_cache{tokens(random.between(1, searched)), tokens()});
    // rates that divide each other, as in the models that have them
    for (const std::uint64_t rate : {4U, 32U}) {
      if (random.coin())
        m.add(0, {"compressed", {compressed_keys{testing::random_row(random), rate, random.between(1, 2), f32}}});
    }
    if (random.coin())
      m.add(0, {"ring",
                {ring_buffer_attention{testing::random_row(random), testing::random_row(random),
                                       tokens(random.between(1, 40))}}});
    check_inverses(seed, m, detail::transformers::dynamic_cache{});
    check_inverses(seed, m, detail::transformers::dynamic_cache_storage{});
  }
}

TEST_CASE("quantized caches, whose bytes fall when the residual empties") {
  for (std::uint64_t seed = 2000; seed < 2600; ++seed) {
    testing::random random(seed);
    model m;
    const storage_type k = random.one_of({f32, f16, bf16}), v = random.one_of({f32, f16, bf16});
    for (std::uint64_t i = 0; i < random.between(1, 3); ++i) {
      m.add(0, {"full_attention", {full_attention{{random.between(1, 3), 16, k}, {random.between(1, 3), 16, v}}}});
    }
    detail::transformers::quantized_cache cache;
    cache.backend = random.one_of({detail::transformers::quantization_backend::quanto,
                                   detail::transformers::quantization_backend::hqq,
                                   detail::transformers::quantization_backend::fp8});
    cache.nbits = random.one_of({2U, 4U});
    cache.q_group_size = random.one_of({8U, 16U});
    cache.residual_length = static_cast<std::uint32_t>(random.between(0, 80));
    check_inverses(seed, m, cache);
  }
}

TEST_CASE("tokens of a pool: whole sequences and the longest that goes into the rest") {
  testing::random random(31);
  for (int i = 0; i < 2000; ++i) {
    const cache_formula cache{testing::random_model(random), paged{tokens(random.between(1, 8))}};
    const std::uint64_t length = random.between(1, 40);
    const auto total = [&](std::uint64_t sequences, std::uint64_t rest) {
      const footprint more = cache.footprint_of(uniform_batch{request(tokens(rest), tokens()), rest == 0 ? 0U : 1U});
      return (cache.footprint_of(uniform_batch{request(tokens(length), tokens()), sequences}) + more).total().value();
    };
    const bytes budget(total(random.between(0, 5), random.between(0, length - 1)) + random.between(0, 2));
    CAPTURE(i, length, budget.count());
    const limit computed = cache.max_tokens(budget, tokens(length));
    if (total(1, 0) == 0) {  // nothing is kept
      REQUIRE(computed.unbounded);
      continue;
    }
    std::uint64_t sequences = 0, rest = 0;
    while (total(sequences + 1, 0) <= budget.count()) ++sequences;
    while (rest + 1 < length && total(sequences, rest + 1) <= budget.count()) ++rest;
    REQUIRE(computed == limit{sequences * length + rest, false, false});
  }
}
