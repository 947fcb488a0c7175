// The memory of one llama.cpp context: caches, states, devices, exactly as the engine creates them; and the inverse.
//
// Source: llama.cpp 0.5.0-dev, as in memory.hpp.
#pragma once

#include <kvbudget/budget.hpp>
#include <kvbudget/engines/llama_cpp/memory.hpp>

namespace kvbudget::llama_cpp {

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

/// All that one context allocates. Raises a failure when a size does not fit in 64 bits (n_ctx: in 32).
[[nodiscard]] constexpr context_plan plan(const hparams& h, const settings& s) {
  using namespace detail;
  context_plan p;
  p.refused = refusal_of(h, s);
  const placement where(h, s);
  p.cpu = where.cpu();
  if (p.refused) return p;
  const context_numbers c = context_of(h, s);
  p.n_ctx = c.n_ctx.value();
  p.n_ctx_seq = c.n_ctx_seq.value();
  p.n_batch = c.n_batch;
  p.n_ubatch = c.n_ubatch;
  p.n_seq_max = c.n_seq_max;
  p.n_rs_seq = c.n_rs_seq;

  const memory_shape memory = memory_of(h, s);
  const bool flash = s.flash_attn != flash_attention::off && h.architecture->flash_attn;
  const checked_count widest_v = flash || h.is_mla ? checked_count(0U) : widest_v_row(h);
  checked_count total;
  checked_count k_total;
  checked_count v_total;
  checked_count per_device[max_devices + 1];

  for (const cache_shape& shape : memory.caches) {
    const unit_sums u = sums_of(shape, h, s, where, widest_v);
    if (u.bad_row != 0) {
      context_plan refused;
      refused.refused = {refusal_reason::row_is_not_whole_blocks, u.bad_block, u.bad_row};
      refused.cpu = p.cpu;
      return refused;
    }
    cache_plan cache;
    cache.name = shape.name;
    cache.cells = c.cells(shape.cells, h, s).value();
    cache.n_stream = s.kv_unified && !memory.stream_per_sequence ? 1U : c.n_seq_max;
    cache.layers = u.layers;
    const checked_count units = checked_count(cache.cells) * cache.n_stream;
    checked_count k;
    checked_count v;
    for (std::uint32_t d = 0; d <= p.cpu; ++d) {
      const checked_count unit = u.k[d] + u.v[d];
      if (unit == checked_count(0U)) continue;
      k += u.k[d] * units;
      v += u.v[d] * units;
      per_device[d] += unit * units;
      p.pools.push_back({shape.name, d, bytes(unit), units.value()});
    }
    cache.k_bytes = k.value();
    cache.v_bytes = v.value();
    k_total += k;
    v_total += v;
    p.caches.push_back(cache);
  }

  const checked_count snapshots = checked_count(1U) + c.n_rs_seq;
  if (memory.recurrent) {
    p.recurrent.exists = true;
    p.recurrent.cells = c.n_seq_max;
    const checked_count rows = snapshots * c.n_seq_max;
    checked_count unit[max_devices + 1];
    checked_count r;
    checked_count st;
    checked_count ple;
    for (std::uint32_t il = 0; il < h.n_layer() && !memory.states_of_mtp_context; ++il) {
      if (!is_stateful(h, il)) continue;
      ++p.recurrent.layers;
      const checked_count history = il == h.ple_layer ? h.ple_conv_state : checked_count(0U);
      r += h.n_embd_r;
      st += h.n_embd_s;
      ple += history;
      unit[where.device_of(il)] += (h.n_embd_r + h.n_embd_s + history) * f32.block_bytes;
    }
    p.recurrent.r_bytes = (r * f32.block_bytes * rows).value();
    p.recurrent.s_bytes = (st * f32.block_bytes * rows).value();
    p.recurrent.p_bytes = (ple * f32.block_bytes * rows).value();
    for (std::uint32_t d = 0; d <= p.cpu; ++d) {
      if (unit[d] == checked_count(0U)) continue;
      per_device[d] += unit[d] * rows;
      p.pools.push_back({"recurrent", d, bytes(unit[d]), rows.value()});
    }
  }

  if (memory.compressors) {
    const checked_count planes = snapshots * c.n_seq_max;
    for (const compressor_shape& shape : compressors_of(h).all) {
      compressor_plan compressor{shape.kind, shape.name, shape.ratio, shape.rows, shape.row_elements.value(), 0, 0};
      const checked_count row = shape.row_elements * f32.block_bytes;
      const checked_count plane = checked_count(2U) * shape.rows * row;  // kv and score
      checked_count unit[max_devices + 1];
      checked_count sum;
      const cache_shape layers{shape.name, shape.set};
      for (std::uint32_t il = 0; il < h.n_layer(); ++il) {
        if (!contains(layers, h, il)) continue;
        ++compressor.layers;
        unit[where.device_of(il)] += plane;
      }
      for (std::uint32_t d = 0; d <= p.cpu; ++d) {
        if (unit[d] == checked_count(0U)) continue;
        sum += unit[d] * planes;
        per_device[d] += unit[d] * planes;
        p.pools.push_back({shape.name, d, bytes(unit[d]), planes.value()});
      }
      compressor.bytes = sum.value();
      p.compressors.push_back(compressor);
    }
  }

  for (std::uint32_t il = 0; il < h.n_layer_all; ++il) {
    bool keeps = memory.recurrent && !memory.states_of_mtp_context && is_stateful(h, il);
    for (const cache_shape& shape : memory.caches) keeps = keeps || contains(shape, h, il);
    if (keeps) ++p.layers_per_device[where.device_of(il)];
  }
  for (std::uint32_t d = 0; d <= p.cpu; ++d) {
    p.bytes_per_device[d] = per_device[d].value();
    total += per_device[d];
  }
  p.k_bytes = k_total.value();
  p.v_bytes = v_total.value();
  p.total_bytes = total.value();
  return p;
}

/// What layer `il` keeps of `plan(h, s)`, `il` below n_layer_all. All 0 when the engine refuses.
[[nodiscard]] constexpr layer_plan plan_of_layer(const hparams& h, const settings& s, std::uint32_t il) {
  using namespace detail;
  layer_plan layer;
  const placement where(h, s);
  layer.device = where.device_of(il);
  if (refusal_of(h, s)) return layer;
  layer.slides = h.layers[il].slides;
  const context_numbers c = context_of(h, s);
  const memory_shape memory = memory_of(h, s);
  const bool flash = s.flash_attn != flash_attention::off && h.architecture->flash_attn;
  const checked_count widest_v = flash || h.is_mla ? checked_count(0U) : widest_v_row(h);
  for (const cache_shape& shape : memory.caches) {
    if (!contains(shape, h, il)) continue;
    const row_elements row = row_of(shape, h, il, widest_v);
    const checked_count units =
        c.cells(shape.cells, h, s) * (s.kv_unified && !memory.stream_per_sequence ? 1U : c.n_seq_max);
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
  const checked_count rows = (checked_count(1U) + c.n_rs_seq) * c.n_seq_max;
  if (memory.recurrent && !memory.states_of_mtp_context && is_stateful(h, il)) {
    layer.recurrent = true;
    layer.r_bytes = (h.n_embd_r * f32.block_bytes * rows).value();
    layer.s_bytes = (h.n_embd_s * f32.block_bytes * rows).value();
    if (il == h.ple_layer) layer.p_bytes = (h.ple_conv_state * f32.block_bytes * rows).value();
  }
  if (memory.compressors && il < h.n_layer()) {
    for (const compressor_shape& shape : compressors_of(h).all) {
      if (!contains({shape.name, shape.set}, h, il)) continue;
      layer.compressor_bytes += (checked_count(2U) * shape.rows * shape.row_elements * f32.block_bytes * rows).value();
    }
  }
  return layer;
}

/// The inverse: the bytes of a context as a function of n_ctx alone, everything else being fixed.
///
/// Bytes never shrink as n_ctx grows: cells are n_ctx rounded up, n_batch and n_ubatch grow with n_ctx until they
/// reach their settings, and the window's cells with them. So a bisection is exact.
class context_curve {
 public:
  /// Raises row_is_not_a_whole_number_of_blocks() where the engine stops with that.
  constexpr context_curve(const hparams& h, const settings& s)
      : hparams_(&h), settings_(&s), memory_(detail::memory_of(h, s)) {
    settings at_one = s;
    at_one.n_ctx = s.n_seq_max > 0 ? s.n_seq_max : 1;  // a batch has an output for each sequence, see refusal_of
    const context_plan smallest = plan(h, at_one);
    refused_ = smallest.refused;
    cpu_ = smallest.cpu;
    if (refused_) return;
    for (std::uint32_t d = 0; d <= cpu_; ++d) fixed_[d] = smallest.bytes_per_device[d];
    const detail::placement where(h, s);
    const bool flash = s.flash_attn != flash_attention::off && h.architecture->flash_attn;
    const checked_count widest_v = flash || h.is_mla ? checked_count(0U) : detail::widest_v_row(h);
    for (std::size_t i = 0; i < memory_.caches.size(); ++i) {
      const detail::unit_sums u = detail::sums_of(memory_.caches[i], h, s, where, widest_v);
      const checked_count units = checked_count(smallest.caches[i].cells) * smallest.caches[i].n_stream;
      for (std::uint32_t d = 0; d <= cpu_; ++d) {
        unit_[i][d] = u.k[d] + u.v[d];
        fixed_[d] = fixed_[d] - unit_[i][d] * units;
      }
    }
  }

  [[nodiscard]] constexpr const refusal& refused() const noexcept { return refused_; }
  [[nodiscard]] constexpr std::uint32_t cpu() const noexcept { return cpu_; }

  /// Bytes on one device (cpu() for the CPU) of a context of n_ctx positions, 1 … 2^32 - 1.
  [[nodiscard]] constexpr checked_count bytes_on(std::uint32_t device, std::uint32_t n_ctx) const noexcept {
    settings s = *settings_;
    s.n_ctx = n_ctx;
    const detail::context_numbers c = detail::context_of(*hparams_, s);
    if (!c.n_ctx.valid()) return c.n_ctx;
    checked_count sum = fixed_[device];
    for (std::size_t i = 0; i < memory_.caches.size(); ++i) {
      sum += unit_[i][device] * c.cells(memory_.caches[i].cells, *hparams_, s) *
             (s.kv_unified && !memory_.stream_per_sequence ? 1U : c.n_seq_max);
    }
    return sum;
  }
  /// The same on all devices together.
  [[nodiscard]] constexpr checked_count bytes_at(std::uint32_t n_ctx) const noexcept {
    checked_count sum;
    for (std::uint32_t d = 0; d <= cpu_; ++d) sum += bytes_on(d, n_ctx);
    return sum;
  }

 private:
  const hparams* hparams_;
  const settings* settings_;
  detail::memory_shape memory_;
  refusal refused_;
  std::uint32_t cpu_ = 0;
  checked_count fixed_[max_devices + 1];
  checked_count unit_[6][max_devices + 1];
};

/// The largest n_ctx of which every context up to it takes at most `budget` bytes on all devices together. `none`:
/// not even n_ctx 1 fits, or the engine refuses. Every n_ctx the engine accepts: 2^32 - 256.
[[nodiscard]] constexpr limit max_n_ctx(const hparams& h, const settings& s, bytes budget) {
  const context_curve curve(h, s);
  if (curve.refused() || !curve.bytes_at(1).fits(budget.count())) return {0, false, true};
  return largest_that_fits([&](std::uint64_t n) {
    return n == 0 || (n <= ~std::uint32_t{0} && curve.bytes_at(static_cast<std::uint32_t>(n)).fits(budget.count()));
  });
}

/// The same for a budget per device: `budgets[d]` for GPU d, and for the CPU where the list goes on to number
/// `s.devices`; devices beyond the list are not limited.
template <class Budgets>
[[nodiscard]] constexpr limit max_n_ctx_on_devices(const hparams& h, const settings& s, const Budgets& budgets) {
  const context_curve curve(h, s);
  if (curve.refused()) return {0, false, true};
  const auto fits = [&](std::uint64_t n) {
    if (n == 0) return true;
    if (n > ~std::uint32_t{0}) return false;
    std::uint32_t d = 0;
    for (const bytes& budget : budgets) {
      if (d <= curve.cpu() && !curve.bytes_on(d, static_cast<std::uint32_t>(n)).fits(budget.count())) return false;
      ++d;
    }
    return curve.bytes_at(static_cast<std::uint32_t>(n)).valid();
  };
  if (!fits(1)) return {0, false, true};
  return largest_that_fits(fits);
}

}  // namespace kvbudget::llama_cpp
