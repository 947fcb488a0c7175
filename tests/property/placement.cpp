// Placements, prefixes and mixes over random models: the parts add up, the inverses are exact at their edges.
#include "layers.hpp"
#include "support/catch.hpp"

#include <kvbudget/plan/assess.hpp>
#include <kvbudget/engine/layer_costs.hpp>
#include <kvbudget/core.hpp>

using namespace kvbudget;

namespace {

/// Layers whose heads and states divide by 2 and 4, numbered as in a model.
detail::transformers::cached_model divisible_model(testing::random& r, std::uint64_t layers, bool replicated_kinds) {
  detail::transformers::cached_model m;
  m.num_layers = layers;
  for (std::uint64_t i = 0; i < layers; ++i) {
    cache_layer layer{"layer", {}};
    const kv_row k{4 * r.between(1, 3), 8 * r.between(1, 3), r.one_of({f32, bf16, int8})};
    const kv_row v{k.heads, 8 * r.between(1, 3), k.type};
    switch (r.next() % (replicated_kinds ? 5 : 3)) {
      case 0: layer.parts = {full_attention{k, v}}; break;
      case 1: layer.parts = {sliding_window_attention{k, v, tokens(r.between(1, 30))}}; break;
      case 2: layer.parts = {full_attention{k, v}, recurrent_state{4 * r.between(1, 9), f32}}; break;
      case 3: layer.parts = {mla_attention{k, v}}; break;
      default: layer.parts = {index_keys{k}};
    }
    m.layers.add(static_cast<std::int64_t>(i), layer);
  }
  return m;
}

engine_answer placed(const detail::transformers::cached_model& m, const workload& w, const placement& where) {
  engine_answer e;
  detail::add_costs(e, m, stored_positions{}, w, tokens(), where);
  return e;
}

workload random_workload(testing::random& r) { return {r.between(0, 60), r.between(0, 20), r.between(0, 7), {}}; }

placement random_placement(testing::random& r, std::uint64_t layers) {
  placement where;
  where.tensor_parallel = r.one_of<std::uint64_t>({1, 2, 4});
  where.data_parallel = r.between(1, 3);
  where.attention_data_parallel = r.next() % 4 == 0;
  where.host_layers = r.coin() ? 0 : r.between(0, layers);
  if (r.coin()) {
    const std::uint64_t first = r.between(0, layers);
    where.pipeline_parallel = 2;
    where.stage_layers = {first, layers - first};
  }
  return where;
}

}  // namespace

TEST_CASE("the devices of a placement sum to the single device where nothing is replicated") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    testing::random r(seed);
    const std::uint64_t layers = r.between(1, 6);
    const auto m = divisible_model(r, layers, false);
    const workload w = random_workload(r);
    const placement where = random_placement(r, layers);
    CAPTURE(seed);
    const engine_answer one = placed(m, w, {});
    const engine_answer many = placed(m, w, where);
    REQUIRE(one.devices.size() == 1);
    REQUIRE(many.devices.size() >= where.devices());
    REQUIRE(many.total_bytes == one.total_bytes);
    std::uint64_t sum = 0;
    for (const auto& d : many.devices) {
      sum += d.bytes;
      REQUIRE(d.peak_bytes(w) == checked_count(d.bytes));
    }
    REQUIRE(sum == one.total_bytes);
    for (std::size_t i = 0; i < one.layers.size(); ++i) {
      REQUIRE(one.layers[i].k_bytes == many.layers[i].k_bytes);
      REQUIRE(one.layers[i].other_bytes == many.layers[i].other_bytes);
    }
  }
}

TEST_CASE("what all heads share is on every rank") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::random r(seed);
    detail::transformers::cached_model m;
    m.num_layers = 1;
    m.layers.add(0, cache_layer{"latent", {mla_attention{{1, 64, bf16}, {1, 8, bf16}}, index_keys{{1, 16, int8}}}});
    const workload w = random_workload(r);
    const std::uint64_t ranks = r.between(1, 8);
    placement where;
    where.tensor_parallel = ranks;
    REQUIRE(placed(m, w, where).total_bytes == placed(m, w, {}).total_bytes * ranks);
  }
}

TEST_CASE("context parallel ranks hold every position once") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::random r(seed);
    detail::transformers::cached_model m;
    m.num_layers = 2;
    m.layers.add(0, cache_layer{"full", {full_attention{{2, 8, bf16}, {2, 16, bf16}}}});
    m.layers.add(1, cache_layer{"latent", {mla_attention{{1, 64, bf16}, {1, 8, bf16}}}});
    const workload w = random_workload(r);
    placement where;
    where.context_parallel = r.between(2, 5);
    REQUIRE(placed(m, w, where).total_bytes == placed(m, w, {}).total_bytes);
  }
}

TEST_CASE("the inverses of a placement are exact at the edge of every device") {
  constexpr std::uint64_t searched = 80;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::random r(seed);
    const std::uint64_t layers = r.between(1, 5);
    const auto m = divisible_model(r, layers, true);
    workload w = random_workload(r);
    w.sequences = r.between(1, 4);
    placement where = random_placement(r, layers);
    where.host_layers = 0;
    const engine_answer e = placed(m, w, where);
    std::vector<device_budget> devices(e.devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      device_budget& d = devices[i];
      d.weights = bytes(r.between(0, 5000));
      d.fixed_overhead = bytes(r.between(0, 500));
      d.overhead_share = {r.between(0, 30), 100};
      d.utilization = {r.between(80, 100), 100};
      d.capacity = bytes(r.between(0, 4) * e.devices[i].bytes + r.between(0, 9000));
    }
    CAPTURE(seed);
    const capacity c = detail::assess(e, w, devices);
    const auto fits = [&](const workload& asked) {
      const engine_answer at = placed(m, asked, where);
      for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i].holds(at.devices[i].bytes)) return false;
      }
      return true;
    };
    REQUIRE(c.fits == fits(w));
    REQUIRE(c.fits == std::all_of(c.devices.begin(), c.devices.end(), [](const auto& d) { return d.fits; }));
    if (!c.fits) REQUIRE(!c.devices[c.tightest].fits);
    std::uint64_t length = 0;
    const auto at_length = [&](std::uint64_t n) {
      workload asked = w;
      asked.prompt = std::min(n, w.prompt);
      asked.generated = n - asked.prompt;
      return asked;
    };
    while (length < searched && fits(at_length(length + 1))) ++length;
    if (!fits(at_length(0))) REQUIRE(c.max_length->none);
    else if (length < searched) REQUIRE(*c.max_length == limit{length, false, false});
    else REQUIRE(c.max_length->value >= searched);
    if (w.prompt + w.generated == 0) continue;
    std::uint64_t sequences = 0;
    workload asked = w;
    for (; sequences < searched; ++sequences) {
      asked.sequences = sequences + 1;
      if (!fits(asked)) break;
    }
    asked.sequences = 0;
    if (!fits(asked)) REQUIRE(c.max_sequences->none);
    else if (sequences < searched) REQUIRE(*c.max_sequences == limit{sequences, false, false});
    else REQUIRE(c.max_sequences->value >= searched);
  }
}

TEST_CASE("a mix of lengths is repeated until the next one does not fit") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::random r(seed);
    const auto m = divisible_model(r, r.between(1, 4), true);
    workload w;
    for (std::uint64_t i = r.between(1, 5); i > 0; --i) w.lengths.push_back(r.between(0, 40));
    w.sequences = w.lengths.size();
    const engine_answer e = placed(m, w, {});
    device_budget device;
    device.capacity = bytes(r.between(0, 3) * e.total_bytes + r.between(0, 3000));
    CAPTURE(seed);
    const capacity c = detail::assess(e, w, device);
    std::uint64_t n = 0, used = 0;
    for (; n < 200; ++n) {
      used += placed(m, {w.lengths[n % w.lengths.size()], 0, 1, {}}, {}).total_bytes;
      if (used > device.capacity.count()) break;
    }
    if (e.total_bytes == 0) REQUIRE(!c.max_sequences);
    else if (n < 200) REQUIRE(*c.max_sequences == limit{n, false, false});
    else REQUIRE(c.max_sequences->value >= 200);
  }
}

TEST_CASE("a common prefix: between one sequence and all apart, and less with every longer prefix") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    testing::random r(seed);
    const model m = testing::random_model(r);
    const uniform_batch batch{request(tokens(r.between(0, 60)), tokens(r.between(0, 20)), tokens(r.between(0, 5))),
                              r.between(1, 5)};
    const auto check = [&](const auto& policy) {
      const checked_count apart = total_footprint(m, policy, batch).total();
      if (!apart.valid()) return;  // no rule for a kind
      const checked_count alone = total_footprint(m, policy, uniform_batch{batch.each, 1}).total();
      checked_count before = apart;
      for (std::uint64_t prefix = 0; prefix < 90; ++prefix) {
        const checked_count together = total_with_shared_prefix(m, policy, batch, tokens(prefix));
        CAPTURE(seed, prefix);
        REQUIRE(together.valid());
        REQUIRE(together.value() <= before.value());
        REQUIRE(together.value() >= alone.value());
        before = together;
      }
      REQUIRE(total_with_shared_prefix(m, policy, batch, tokens()) == apart);
    };
    check(stored_positions{});
    check(paged{tokens(r.between(1, 20))});
  }
}
