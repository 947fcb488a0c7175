// The memory of one llama.cpp context: caches, states, devices, exactly as the engine creates them.
//
// Source: llama.cpp 0.5.0-dev, as in memory.hpp.
#pragma once

#include <kvbudget/engines/llama_cpp/memory.hpp>
#include <kvbudget/engines/llama_cpp/refusals.hpp>

namespace kvbudget::detail::llama_cpp {

/// One llama_kv_cache.
struct cache_plan {
  const char* name = "";    ///< main, base, swa, indexer, csa, hca, lid
  std::uint64_t cells = 0;  ///< per stream
  std::uint32_t n_stream = 0;
  std::uint32_t layers = 0;  ///< layers with a tensor here, be it of 0 bytes
  std::uint64_t k_bytes = 0;
  std::uint64_t v_bytes = 0;
};

/// llama_memory_recurrent.
struct recurrent_plan {
  bool exists = false;
  std::uint32_t cells = 0;    ///< sequences
  std::uint32_t layers = 0;   ///< layers with a state
  std::uint64_t r_bytes = 0;  ///< convolution or token shift
  std::uint64_t s_bytes = 0;  ///< recurrent state
  std::uint64_t p_bytes = 0;  ///< history of an n-gram embedding
};

/// A compressor's state (llama_dsv4_comp_state): kv and score rows in f32.
struct compressor_plan {
  const char* kind = "";  ///< csa, hca, lid
  const char* name = "";  ///< of its pools
  std::uint32_t ratio = 0;
  std::uint32_t rows = 0;
  std::uint64_t row_elements = 0;
  std::uint32_t layers = 0;
  std::uint64_t bytes = 0;
};

/// What one context allocates. With `refused` only the numbers that the engine had settled by then are set.
struct context_plan {
  refusal refused;
  std::uint64_t n_ctx = 0;      ///< of all sequences, after rounding
  std::uint64_t n_ctx_seq = 0;  ///< of one sequence
  std::uint64_t n_batch = 0;
  std::uint64_t n_ubatch = 0;
  std::uint32_t n_seq_max = 0;
  std::uint32_t n_rs_seq = 0;
  fixed_vector<cache_plan, 6> caches;
  recurrent_plan recurrent;
  fixed_vector<compressor_plan, 3> compressors;
  std::uint64_t k_bytes = 0;
  std::uint64_t v_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint32_t cpu = 0;  ///< the device number that stands for the CPU: the one after the last GPU
  std::uint64_t bytes_per_device[max_devices + 1]{};
  std::uint32_t layers_per_device[max_devices + 1]{};  ///< layers that keep something there
  fixed_vector<pool, 10 * (max_devices + 1)> pools;
};

/// What one layer keeps.
struct layer_plan {
  bool attention = false;  ///< it has K or V tensors, be they of 0 bytes
  bool slides = false;
  bool recurrent = false;
  std::uint64_t k_bytes = 0;
  std::uint64_t v_bytes = 0;
  std::uint64_t index_bytes = 0;  ///< index keys
  std::uint64_t r_bytes = 0;
  std::uint64_t s_bytes = 0;
  std::uint64_t p_bytes = 0;
  std::uint64_t compressor_bytes = 0;
  std::uint32_t device = 0;

  [[nodiscard]] constexpr bool keeps_something() const noexcept { return attention || recurrent; }
  [[nodiscard]] constexpr std::uint64_t other_bytes() const noexcept {
    return index_bytes + r_bytes + s_bytes + p_bytes + compressor_bytes;
  }
};

/// What one context is made from, before its sizes.
struct context_parts {
  const hparams& h;
  const settings& s;
  layer_devices where;
  context_numbers numbers;
  memory_shape memory;
  checked_count widest_v;

  constexpr context_parts(const hparams& model, const settings& options) noexcept
      : h(model),
        s(options),
        where(model, options),
        numbers(context_of(model, options)),
        memory(memory_of(model, options)),
        widest_v(widest_v_row(model, options)) {}

  [[nodiscard]] constexpr std::uint32_t streams() const noexcept {
    return s.kv_unified && !memory.stream_per_sequence ? 1U : numbers.n_seq_max;
  }
  /// Rows of a state: one for each sequence, and its snapshots.
  [[nodiscard]] constexpr checked_count state_rows() const noexcept {
    return (checked_count(1U) + numbers.n_rs_seq) * numbers.n_seq_max;
  }
  [[nodiscard]] constexpr bool has_state(std::uint32_t il) const noexcept {
    return memory.recurrent && !memory.states_of_mtp_context && is_stateful(h, il);
  }
  [[nodiscard]] constexpr checked_count history(std::uint32_t il) const noexcept {
    return il == h.ple_layer ? h.ple_conv_state : checked_count(0U);
  }
};

/// A plan in the making: sums are checked, and only become numbers when all is there.
struct plan_sums {
  context_plan& p;
  checked_count k;
  checked_count v;
  checked_count per_device[max_devices + 1];

  constexpr explicit plan_sums(context_plan& made) noexcept : p(made) {}

  /// `units` of what `unit` has on each device. Gives the bytes of all devices.
  constexpr checked_count add_pools(const char* name, const checked_count (&unit)[max_devices + 1],
                                    checked_count units) {
    checked_count sum;
    for (std::uint32_t d = 0; d <= p.cpu; ++d) {
      if (unit[d] == checked_count(0U)) continue;
      const checked_count here = unit[d] * units;
      sum += here;
      per_device[d] += here;
      p.pools.push_back({name, d, bytes(unit[d]), units.value()});
    }
    return sum;
  }
};

/// One llama_kv_cache. Its rows may be no whole number of blocks, which the engine finds out only here.
constexpr refusal add_cache(plan_sums& sums, const context_parts& from, const cache_shape& shape) {
  context_plan& p = sums.p;
  unit_sums unit = sums_of(shape, from.h, from.s, from.where, from.widest_v);
  if (unit.bad_row != 0) return {refusal_reason::row_is_not_whole_blocks, unit.bad_block, unit.bad_row};
  cache_plan cache;
  cache.name = shape.name;
  cache.cells = from.numbers.cells(shape.cells, from.h, from.s).value();
  cache.n_stream = from.streams();
  cache.layers = unit.layers;
  checked_count k;
  checked_count v;
  for (std::uint32_t d = 0; d <= p.cpu; ++d) {
    k += unit.k[d];
    v += unit.v[d];
    unit.k[d] += unit.v[d];
  }
  const checked_count units = checked_count(cache.cells) * cache.n_stream;
  k = k * units;
  v = v * units;
  sums.add_pools(shape.name, unit.k, units);
  cache.k_bytes = k.value();
  cache.v_bytes = v.value();
  sums.k += k;
  sums.v += v;
  p.caches.push_back(cache);
  return {};
}

/// llama_memory_recurrent.
constexpr void add_states(plan_sums& sums, const context_parts& from) {
  const hparams& h = from.h;
  recurrent_plan& states = sums.p.recurrent;
  states.exists = true;
  states.cells = from.numbers.n_seq_max;
  checked_count unit[max_devices + 1];
  checked_count r;
  checked_count s;
  checked_count ple;
  for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
    if (!from.has_state(il)) continue;
    ++states.layers;
    r += h.n_embd_r;
    s += h.n_embd_s;
    ple += from.history(il);
    unit[from.where.device_of(il)] += (h.n_embd_r + h.n_embd_s + from.history(il)) * f32.block_bytes;
  }
  const checked_count rows = from.state_rows();
  states.r_bytes = (r * f32.block_bytes * rows).value();
  states.s_bytes = (s * f32.block_bytes * rows).value();
  states.p_bytes = (ple * f32.block_bytes * rows).value();
  sums.add_pools("recurrent", unit, rows);
}

/// Bytes of a compressor in one layer and one sequence: kv and score.
[[nodiscard]] constexpr checked_count compressor_bytes(const compressor_shape& shape) noexcept {
  return checked_count(2U) * shape.rows * shape.row_elements * f32.block_bytes;
}
constexpr void add_compressor(plan_sums& sums, const context_parts& from, const compressor_shape& shape) {
  compressor_plan compressor{shape.kind, shape.name, shape.ratio, shape.rows, shape.row_elements.value(), 0, 0};
  checked_count unit[max_devices + 1];
  const cache_shape layers{shape.name, shape.set};
  for (std::uint32_t il = 0; il < from.h.n_layer(); ++il) {
    if (!contains(layers, from.h, il)) continue;
    ++compressor.layers;
    unit[from.where.device_of(il)] += compressor_bytes(shape);
  }
  compressor.bytes = sums.add_pools(shape.name, unit, from.state_rows()).value();
  sums.p.compressors.push_back(compressor);
}

/// The layers that keep something, by device.
constexpr void count_layers(context_plan& p, const context_parts& from) noexcept {
  for (std::uint32_t il = 0; il < from.h.n_layer_all; ++il) {
    bool keeps = from.has_state(il);
    for (const cache_shape& shape : from.memory.caches) keeps = keeps || contains(shape, from.h, il);
    if (keeps) ++p.layers_per_device[from.where.device_of(il)];
  }
}

constexpr void set_numbers(context_plan& p, const context_numbers& c) {
  p.n_ctx = c.n_ctx.value();
  p.n_ctx_seq = c.n_ctx_seq.value();
  p.n_batch = c.n_batch;
  p.n_ubatch = c.n_ubatch;
  p.n_seq_max = c.n_seq_max;
  p.n_rs_seq = c.n_rs_seq;
}

constexpr void set_totals(const plan_sums& sums) {
  context_plan& p = sums.p;
  checked_count total;
  for (std::uint32_t d = 0; d <= p.cpu; ++d) {
    p.bytes_per_device[d] = sums.per_device[d].value();
    total += sums.per_device[d];
  }
  p.k_bytes = sums.k.value();
  p.v_bytes = sums.v.value();
  p.total_bytes = total.value();
}

/// All that one context allocates. Raises a failure when a size does not fit in 64 bits (n_ctx: in 32).
[[nodiscard]] constexpr context_plan plan(const hparams& h, const settings& s) {
  context_plan p;
  p.cpu = cpu_device(s);
  p.refused = refusal_of(h, s);
  if (p.refused) return p;
  const context_parts from(h, s);
  set_numbers(p, from.numbers);
  plan_sums sums(p);
  for (const cache_shape& shape : from.memory.caches) {
    const refusal r = add_cache(sums, from, shape);
    if (!r) continue;
    context_plan refused;
    refused.refused = r;
    refused.cpu = p.cpu;
    return refused;
  }
  if (from.memory.recurrent) add_states(sums, from);
  if (from.memory.compressors) {
    for (const compressor_shape& shape : compressors_of(h).all) {
      add_compressor(sums, from, shape);
    }
  }
  count_layers(p, from);
  set_totals(sums);
  return p;
}

/// What layer `il` keeps of `plan(h, s)`, `il` below n_layer_all. All 0 when the engine refuses.
[[nodiscard]] constexpr layer_plan plan_of_layer(const hparams& h, const settings& s, std::uint32_t il) {
  layer_plan layer;
  layer.device = layer_devices(h, s).device_of(il);
  if (refusal_of(h, s)) return layer;
  layer.slides = h.layers[il].slides;
  const context_parts from(h, s);
  for (const cache_shape& shape : from.memory.caches) {
    if (!contains(shape, h, il)) continue;
    const row_elements row = row_of(shape, h, il, from.widest_v);
    const checked_count units = from.numbers.cells(shape.cells, h, s) * from.streams();
    const std::uint64_t k = (s.type_k.row_bytes(row.k) * units).value();
    const std::uint64_t v = (s.type_v.row_bytes(row.v) * units).value();
    layer.attention = true;
    if (shape.row == row_rule::heads) {
      layer.k_bytes += k;
      layer.v_bytes += v;
    } else {
      layer.index_bytes += k + v;
    }
  }
  const checked_count rows = from.state_rows();
  if (from.has_state(il)) {
    layer.recurrent = true;
    layer.r_bytes = (h.n_embd_r * f32.block_bytes * rows).value();
    layer.s_bytes = (h.n_embd_s * f32.block_bytes * rows).value();
    layer.p_bytes = (from.history(il) * f32.block_bytes * rows).value();
  }
  if (from.memory.compressors && il < h.n_layer()) {
    for (const compressor_shape& shape : compressors_of(h).all) {
      if (!contains(cache_shape{shape.name, shape.set}, h, il)) continue;
      layer.compressor_bytes += (compressor_bytes(shape) * rows).value();
    }
  }
  return layer;
}

}  // namespace kvbudget::detail::llama_cpp
