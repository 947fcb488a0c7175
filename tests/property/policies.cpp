// Policies against simulations that keep positions one by one, and against each other.
#include "layers.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <set>

#include <kvbudget/core.hpp>
#include <kvbudget/engines/transformers/rules.hpp>

using namespace kvbudget;

namespace {

const kv_row byte{1, 1, int8};
const kv_row none{0, 0, int8};

/// Positions under a policy of one sequence of `n`.
template <class Layer, class Policy>
std::uint64_t kept(const Layer& layer, const Policy& policy, const request& r) {
  return total_footprint(layer, policy, uniform_batch{r, 1}).total().value();
}
template <class Layer, class Policy>
std::uint64_t kept(const Layer& layer, const Policy& policy, std::uint64_t n) {
  return kept(layer, policy, request(tokens(n), tokens()));
}

/// The most blocks that the positions `is_kept(position, n)` touch while a sequence grows to `n`.
template <class Kept>
std::uint64_t most_blocks(std::uint64_t n, std::uint64_t block, const Kept& is_kept) {
  std::uint64_t most = 0;
  for (std::uint64_t length = 0; length <= n; ++length) {
    std::set<std::uint64_t> touched;
    for (std::uint64_t at = 0; at < length; ++at) {
      if (is_kept(at, length)) touched.insert(at / block);
    }
    most = std::max<std::uint64_t>(most, touched.size());
  }
  return most;
}

}  // namespace

TEST_CASE("pages of a window, of sinks with a window and of chunks: the most blocks that were ever touched") {
  for (std::uint64_t block = 1; block <= 6; ++block) {
    const paged policy{tokens(block)};
    for (std::uint64_t window = 1; window <= 13; ++window) {
      for (std::uint64_t n = 0; n <= 40; ++n) {
        CAPTURE(block, window, n);
        const auto in_window = [&](std::uint64_t at, std::uint64_t length) { return at + window >= length; };
        REQUIRE(kept(sliding_window_attention{byte, none, tokens(window)}, policy, n) ==
                most_blocks(n, block, in_window) * block);
        for (const std::uint64_t sinks : {0U, 1U, 4U, 5U}) {
          CAPTURE(sinks);
          const auto or_sink = [&](std::uint64_t at, std::uint64_t length) {
            return at < sinks || in_window(at, length);
          };
          REQUIRE(kept(sink_window_attention{byte, none, tokens(sinks), tokens(window)}, policy, n) ==
                  most_blocks(n, block, or_sink) * block);
        }
        const auto in_chunk = [&](std::uint64_t at, std::uint64_t length) {
          return at / window == (length - 1) / window;
        };
        const std::uint64_t chunks = most_blocks(n, block, in_chunk) * block;
        const std::uint64_t paid = kept(chunked_local_attention{byte, none, tokens(window)}, policy, n);
        if (window % block == 0) REQUIRE(paid == chunks);
        else REQUIRE((chunks <= paid && paid <= chunks + block));  // never too few
      }
    }
  }
}

TEST_CASE("a DynamicSlidingWindowLayer, slice by slice") {
  testing::random random(11);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t window = random.between(1, 12), prompt = random.between(0, 30), steps = random.between(0, 30);
    CAPTURE(window, prompt, steps);
    // keys = cat(old, new); old = keys[-window + 1:], which is all of them when window is 1
    std::uint64_t alive = 0, view = 0;
    const auto update = [&](std::uint64_t more) {
      alive = view + more;
      view = window == 1 ? alive : std::min(alive, window - 1);
    };
    update(prompt);
    for (std::uint64_t step = 0; step < steps; ++step) update(1);
    const request r{tokens(prompt), tokens(steps)};
    REQUIRE(kept(sliding_window_attention{byte, none, tokens(window)}, detail::transformers::dynamic_cache{}, r) ==
            view);
    REQUIRE(kept(sliding_window_attention{byte, none, tokens(window)}, detail::transformers::dynamic_cache_storage{},
                 r) == alive);
    REQUIRE(kept(chunked_local_attention{byte, none, tokens(window)}, detail::transformers::dynamic_cache{}, r) ==
            view);
  }
}

TEST_CASE("a QuantizedLayer, step by step") {
  testing::random random(12);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t residual_length = random.between(1, 12), prompt = random.between(0, 30),
                        steps = random.between(0, 40);
    CAPTURE(residual_length, prompt, steps);
    std::uint64_t quantized = prompt, residual = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (residual + 1 >= residual_length) {
        quantized += residual + 1;
        residual = 0;
      } else {
        ++residual;
      }
    }
    detail::transformers::quantized_cache cache;
    cache.q_group_size = 8;
    cache.residual_length = static_cast<std::uint32_t>(residual_length);
    const full_attention layer{{1, 8, f16}, none};
    // 8 elements, a group: two groups share 8 bytes of 4-bit numbers (Quanto packs rows in pairs), 4 bytes of scale and
    // shift each, 16 as they are
    REQUIRE(kept(layer, cache, request(tokens(prompt), tokens(steps))) ==
            (quantized + 1) / 2 * 8 + quantized * 4 + residual * 16);
  }
}

TEST_CASE("a compressor, step by step") {
  testing::random random(13);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t rate = random.between(1, 9), streams = random.between(1, 2), prompt = random.between(0, 30),
                        steps = random.between(0, 30);
    CAPTURE(rate, streams, prompt, steps);
    std::uint64_t rows = 0, waiting = 0, alive = 0, overlap = 0;
    const auto update = [&](std::uint64_t more) {
      alive = waiting + more;
      rows += alive / rate;
      if (streams > 1 && alive >= rate) overlap = rate;
      waiting = alive % rate;
    };
    update(prompt);
    for (std::uint64_t step = 0; step < steps; ++step) update(1);
    const compressed_keys layer{{1, 1, f16}, rate, streams, f32};  // a row is 2 bytes, a gate row 4
    const request r{tokens(prompt), tokens(steps)};
    REQUIRE(kept(layer, detail::transformers::dynamic_cache{}, r) == rows * 2 + waiting * streams * 4 + overlap * 6);
    REQUIRE(kept(layer, stored_positions{}, r) == rows * 2 + waiting * streams * 4 + overlap * 6);
    REQUIRE(kept(layer, detail::transformers::dynamic_cache_storage{}, r) ==
            rows * 2 + alive * streams * 4 + overlap * 6);
  }
}

TEST_CASE("a ragged batch is the sum of its sequences; padding, pages and reservations are never less") {
  testing::random random(14);
  for (int i = 0; i < 2000; ++i) {
    const model m = testing::random_model(random, true);
    const std::vector<std::uint32_t> lengths = random.lengths(12, 100);
    const ragged_batch<std::uint32_t> ragged(lengths);
    const paged pages{tokens(random.between(1, 20))};
    CAPTURE(i, pages.block_size.count());
    footprint stored_sum{0U, 0U, 0U}, paged_sum{0U, 0U, 0U}, reserved_sum{0U, 0U, 0U};
    const static_reservation reserved{tokens(random.between(ragged.longest(), 120))};
    for (const std::uint32_t n : lengths) {
      const uniform_batch one{request(tokens(n), tokens()), 1};
      stored_sum = stored_sum + total_footprint(m, stored_positions{}, one);
      paged_sum = paged_sum + total_footprint(m, pages, one);
      reserved_sum = reserved_sum + total_footprint(m, reserved, one);
    }
    REQUIRE(total_footprint(m, stored_positions{}, ragged) == stored_sum);
    REQUIRE(total_footprint(m, pages, ragged) == paged_sum);
    REQUIRE(total_footprint(m, reserved, ragged) == reserved_sum);
    const std::uint64_t stored = stored_sum.total().value();
    REQUIRE(stored <= total_footprint(m, pages, ragged).total().value());
    REQUIRE(stored <= total_footprint(m, padded{}, ragged).total().value());
    REQUIRE(total_footprint(m, padded{}, ragged).total().value() <= reserved_sum.total().value());
    const uniform_batch longest{request(tokens(ragged.longest()), tokens()), lengths.size()};
    REQUIRE(total_footprint(m, padded{}, ragged) == total_footprint(m, padded{}, longest));
    REQUIRE(total_footprint(m, detail::transformers::dynamic_cache{}, ragged) ==
            total_footprint(m, detail::transformers::dynamic_cache{}, longest));
  }
}

TEST_CASE("more positions, sequences or window never take less; blocks of one are what is stored") {
  testing::random random(15);
  for (int i = 0; i < 2000; ++i) {
    const model m = testing::random_model(random);
    const std::uint64_t prompt = random.between(0, 60), steps = random.between(0, 60), encoder = random.between(0, 20),
                        sequences = random.between(0, 4);
    const request r{tokens(prompt), tokens(steps), tokens(encoder)};
    CAPTURE(i, prompt, steps, encoder, sequences);
    const auto grows = [&](const auto& policy) {
      const auto total = [&](const request& each, std::uint64_t n) {
        return total_footprint(m, policy, uniform_batch{each, n}).total().value();
      };
      const std::uint64_t here = total(r, sequences);
      REQUIRE(here <= total(request(tokens(prompt + 1), tokens(steps), tokens(encoder)), sequences));
      REQUIRE(here <= total(request(tokens(prompt), tokens(steps + 1), tokens(encoder)), sequences));
      REQUIRE(here <= total(request(tokens(prompt), tokens(steps), tokens(encoder + 1)), sequences));
      REQUIRE(here == sequences * total(r, 1));
    };
    grows(stored_positions{});
    grows(paged{tokens(random.between(1, 20))});
    grows(static_reservation{tokens(200)});
    REQUIRE(total_footprint(m, static_reservation{tokens(prompt + steps)},
                            uniform_batch{request(tokens(prompt + steps), tokens(), tokens(encoder)), 1}) ==
            total_footprint(m, stored_positions{},
                            uniform_batch{request(tokens(prompt + steps), tokens(), tokens(encoder)), 1}));
    const std::uint64_t window = random.between(1, 60);
    REQUIRE(kept(sliding_window_attention{byte, none, tokens(window)}, stored_positions{}, r) <=
            kept(sliding_window_attention{byte, none, tokens(window + 1)}, stored_positions{}, r));
    REQUIRE(kept(sliding_window_attention{byte, none, tokens(window)}, paged{tokens(1)}, r) ==
            kept(sliding_window_attention{byte, none, tokens(window)}, stored_positions{}, r));
  }
}

TEST_CASE("a model, its layers as a list of variants, and each layer apart: the same bytes") {
  testing::random random(16);
  for (int i = 0; i < 2000; ++i) {
    std::vector<layer_part> parts;
    model m;
    const std::uint64_t layers = random.between(1, 12);
    for (std::uint64_t l = 0; l < layers; ++l) {
      parts.push_back(!parts.empty() && random.coin() ? parts[random.next() % parts.size()]
                                                      : testing::random_part(random, true));
      m.add(static_cast<std::int64_t>(l), {"layer", {parts.back()}});
    }
    const uniform_batch batch{
        request(tokens(random.between(0, 50)), tokens(random.between(0, 50)), tokens(random.between(0, 9))),
        random.between(0, 5)};
    const std::vector<std::uint32_t> lengths = random.lengths(6, 60);
    CAPTURE(i);
    const auto same = [&](const auto& policy, const auto& b) {
      footprint apart{0U, 0U, 0U};
      for (const layer_part& part : parts) apart = apart + total_footprint(part, policy, b);
      REQUIRE(apart.total().valid());
      REQUIRE(total_footprint(m, policy, b) == apart);
      REQUIRE(total_footprint(parts, policy, b) == apart);
    };
    same(stored_positions{}, batch);
    same(paged{tokens(16)}, batch);
    same(static_reservation{tokens(100)}, batch);
    same(detail::transformers::dynamic_cache{}, batch);
    same(detail::transformers::dynamic_cache_storage{}, batch);
    same(detail::transformers::static_cache{tokens(100), tokens()}, batch);
    same(stored_positions{}, ragged_batch(lengths));
    same(paged{tokens(16)}, ragged_batch(lengths));
    same(padded{}, ragged_batch(lengths));
  }
}
