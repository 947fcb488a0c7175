// The largest n_ctx of which a llama.cpp context fits in a budget: the inverse of plan.hpp.
#pragma once

#include <kvbudget/core/budget.hpp>
#include <kvbudget/engines/llama_cpp/plan.hpp>

namespace kvbudget::detail::llama_cpp {

/// The inverse: the bytes of a context as a function of n_ctx alone, everything else being fixed.
///
/// Bytes never shrink as n_ctx grows: cells are n_ctx rounded up, n_batch and n_ubatch grow with n_ctx until they
/// reach their settings, and the window's cells with them. So a bisection is exact.
class context_curve {
 public:
  /// Raises row_is_not_a_whole_number_of_blocks() where the engine stops with that.
  constexpr context_curve(const hparams& h, const settings& s) : hparams_(&h), settings_(&s), memory_(memory_of(h, s)) {
    settings at_one = s;
    at_one.n_ctx = s.n_seq_max > 0 ? s.n_seq_max : 1;  // a batch has an output for each sequence, see refusal_of
    const context_plan smallest = plan(h, at_one);
    refused_ = smallest.refused;
    cpu_ = smallest.cpu;
    if (refused_) return;
    for (std::uint32_t d = 0; d <= cpu_; ++d) fixed_[d] = smallest.bytes_per_device[d];
    const layer_devices where(h, s);
    const checked_count widest_v = widest_v_row(h, s);
    for (std::size_t i = 0; i < memory_.caches.size(); ++i) {
      const unit_sums u = sums_of(memory_.caches[i], h, s, where, widest_v);
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
    const context_numbers c = context_of(*hparams_, s);
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
  memory_shape memory_;
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

}  // namespace kvbudget::detail::llama_cpp
