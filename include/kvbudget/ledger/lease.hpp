// What a sequence has of a ledger's pools, and the runs of blocks that sequences share.
#pragma once

#include <kvbudget/ledger/words.hpp>
#include <kvbudget/core/request.hpp>
#include <utility>

namespace kvbudget {

namespace detail {

/// Whole blocks that several sequences share: a prefix, or what a forked sequence had. They are counted once; the last
/// holder gives them back. Those of groups with a window go back as soon as every holder has left the run behind. Made
/// on the heap by try_share() and fork(), and by nothing else.
template <std::size_t Pools, class Threading>
struct shared_run {
  typename Threading::template word<std::uint64_t> references{1};
  typename Threading::template word<std::uint64_t> window_references{1};
  shared_run* parent = nullptr;         // the run before it, held by this one
  bool keeps_window_of_parent = false;  // and still reached by its windows
  std::uint64_t end = 0;                // positions up to here, those of the parents included
  std::uint64_t longest = 0;
  [[nodiscard]] std::uint64_t begin() const noexcept { return parent != nullptr ? parent->end : 0; }
};

}  // namespace detail

/// One sequence's part of a ledger: movable, not copyable, and given back when it ends. An empty one says why the
/// request was not admitted. It belongs to one thread at a time; different leases are independent.
template <class Ledger>
class basic_lease {
 public:
  basic_lease() noexcept = default;
  basic_lease(basic_lease&& other) noexcept { *this = std::move(other); }
  basic_lease& operator=(basic_lease&& other) noexcept {
    if (this == &other) return *this;
    release();
    ledger_ = std::exchange(other.ledger_, nullptr);
    run_ = std::exchange(other.run_, nullptr);
    longest_ = other.longest_;
    grown_ = std::exchange(other.grown_, 0);
    published_ = std::exchange(other.published_, 0);
    quiet_until_ = std::exchange(other.quiet_until_, 0);
    limit_ = other.limit_;
    held_ = other.held_;
    return *this;
  }
  [[gnu::always_inline]] ~basic_lease() {
    if (ledger_ != nullptr) ledger_->end(*this);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return ledger_ != nullptr; }
  /// Why it is empty; none if it is not, or was moved from.
  [[nodiscard]] rejection why() const noexcept {
    return ledger_ != nullptr ? rejection::none : static_cast<rejection>(published_);
  }
  /// Positions that are stored, a shared prefix included.
  [[nodiscard]] tokens length() const noexcept { return tokens(ledger_ != nullptr ? positions() : 0); }
  /// Units of a pool that are this sequence's own: under reserve_to_limit for its whole life, else for its length.
  [[nodiscard]] std::uint64_t units(std::size_t pool) const noexcept { return ledger_ != nullptr ? held_[pool] : 0; }

  /// The sequence has `length` positions now (no fewer than before, else nothing happens). Within a block this touches
  /// nothing of the ledger. no_room says that the sequence must wait, or that one must be preempted: release() its
  /// lease. What was held before is still held then. Never no_room under reserve_to_limit.
  [[nodiscard]] rejection extend(tokens length) noexcept {
    if (length.count() > quiet_until_) return grow(length.count());
    if (length.count() > positions()) grown_ = static_cast<std::uint32_t>(length.count()) - published_;
    return rejection::none;
  }

  /// Drops positions from the end: a rejected draft, a cut. Blocks that a window has left behind do not come back.
  [[nodiscard]] rejection shrink(tokens length) noexcept {
    const std::uint64_t n = length.count();
    if (ledger_ == nullptr) return why_empty();
    if (n > positions() || n < shared()) return rejection::wrong_length;
    const auto here = ledger_->words_.here();
    const std::uint64_t longest = longest_so_far();
    if constexpr (!Ledger::policy_type::reserves) {
      for (std::size_t p = 0; p < Ledger::pools; ++p) {
        const std::uint64_t need = ledger_->rules_[p].held(n, longest, shared());
        ledger_->words_.give(here, p, held_[p] - need);
        held_[p] = need;
      }
    }
    become(here, n, longest);
    ledger_->queue_.wake();
    return rejection::none;
  }

  /// Another sequence with the same positions so far (a beam, a sample). Whole blocks are shared from now on and
  /// counted once; a partial last block and recurrent states are copied. Allocates; an exception leaves everything as
  /// it was.
  [[nodiscard]] basic_lease fork() {
    if (ledger_ == nullptr) return basic_lease(why_empty());
    return ledger_->fork(*this);
  }

  /// Tells the ledger's statistics the length, which otherwise learn it when a block begins.
  void publish() noexcept {
    if (ledger_ != nullptr && grown_ != 0) become(ledger_->words_.here(), positions(), longest_so_far());
  }

  /// Gives everything back. The lease is empty afterwards.
  void release() noexcept {
    if (ledger_ == nullptr) return;
    ledger_->end(*this);
    ledger_ = nullptr;
    run_ = nullptr;
    grown_ = published_ = quiet_until_ = 0;
  }

 private:
  friend Ledger;
  using units_type = typename Ledger::units;

  basic_lease(Ledger& ledger, std::uint64_t n, std::uint64_t limit, std::uint64_t quiet,
              const units_type& held) noexcept
      : ledger_(&ledger),
        published_(static_cast<std::uint32_t>(n)),
        quiet_until_(static_cast<std::uint32_t>(quiet)),
        limit_(static_cast<std::uint32_t>(limit)),
        held_(held) {}
  explicit basic_lease(rejection why) noexcept : published_(static_cast<std::uint32_t>(why)) {}

  [[nodiscard]] rejection why_empty() const noexcept { return why() == rejection::none ? rejection::released : why(); }
  [[nodiscard]] std::uint32_t positions() const noexcept { return published_ + grown_; }
  [[nodiscard]] std::uint32_t longest_so_far() const noexcept {
    return positions() > longest_ ? positions() : longest_;
  }

  [[nodiscard]] std::uint64_t shared() const noexcept { return run_ != nullptr ? run_->end : 0; }

  rejection grow(std::uint64_t n) noexcept {
    if (ledger_ == nullptr) return why_empty();
    if (n > limit_) return rejection::beyond_limit;
    const auto here = ledger_->words_.here();
    std::uint64_t longest = longest_so_far();
    if (n > longest) longest = n;
    if constexpr (!Ledger::policy_type::reserves) {
      units_type need, more{}, less{};
      for (std::size_t p = 0; p < Ledger::pools; ++p) {
        need[p] = ledger_->rules_[p].held(n, longest, shared());
        if (need[p] > held_[p]) more[p] = need[p] - held_[p];
        else less[p] = held_[p] - need[p];
      }
      if (!ledger_->take(here, more, units_type{})) {
        here.add(here.at->stalled, 1);
        return rejection::no_room;
      }
      held_ = need;
      ledger_->words_.give(here, less);
      if (less != units_type{}) ledger_->queue_.wake();
    }
    become(here, n, longest);
    return rejection::none;
  }

  template <class Place>
  void become(const Place& here, std::uint64_t n, std::uint64_t longest) noexcept {
    ledger_->count_sequence(here, published_, longest_, shared(), -1);
    ledger_->count_sequence(here, n, longest, shared(), 1);
    if (run_ != nullptr && ledger_->windows_reach(run_, longest_) && !ledger_->windows_reach(run_, longest)) {
      ledger_->drop_windows(here, run_);
      ledger_->queue_.wake();
    }
    published_ = static_cast<std::uint32_t>(n);
    grown_ = 0;
    longest_ = static_cast<std::uint32_t>(longest);
    be_quiet();
  }

  void be_quiet() noexcept {
    std::uint64_t most = limit_;
    const auto at_most = [&](std::uint64_t n) { most = n < most ? n : most; };
    for (const detail::pool_rule& rule : ledger_->rules_) at_most(rule.quiet_until(published_, longest_));
    if (run_ != nullptr && ledger_->windows_reach(run_, longest_)) {
      at_most(detail::saturating_sum(run_->end, ledger_->largest_window_) - 1);
    }
    quiet_until_ = static_cast<std::uint32_t>(most);
  }

  typename Ledger::run* run_ = nullptr;
  std::uint32_t longest_ = 0;  // the most positions that were ever published; only read where there are windows
  std::uint32_t grown_ = 0;    // positions since then
  Ledger* ledger_ = nullptr;
  std::uint32_t published_ = 0;    // positions that the statistics know; of an empty lease: why
  std::uint32_t quiet_until_ = 0;  // up to this length no unit is taken or given
  std::uint32_t limit_ = 0;
  units_type held_{};
};

/// Blocks of a prefix that several requests have in common. They are counted once, and go back with the last lease that
/// has the prefix, or with this handle if that lives longer. Movable, not copyable.
template <class Ledger>
class basic_shared_prefix {
 public:
  basic_shared_prefix() noexcept = default;
  basic_shared_prefix(basic_shared_prefix&& other) noexcept { *this = std::move(other); }
  basic_shared_prefix& operator=(basic_shared_prefix&& other) noexcept {
    if (this == &other) return *this;
    release();
    ledger_ = std::exchange(other.ledger_, nullptr);
    run_ = std::exchange(other.run_, nullptr);
    why_ = other.why_;
    if (ledger_ != nullptr) other.why_ = rejection::released;
    return *this;
  }
  ~basic_shared_prefix() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return ledger_ != nullptr; }
  /// Why it is empty; none if it is not, or was made without a ledger.
  [[nodiscard]] rejection why() const noexcept { return why_; }
  /// Positions of the prefix, those of its parents included.
  [[nodiscard]] tokens length() const noexcept { return tokens(run_ != nullptr ? run_->end : 0); }
  /// True when nothing but this handle holds the blocks: no lease, and no longer prefix.
  [[nodiscard]] bool unused() const noexcept { return run_ != nullptr && run_->references.load() == 1; }

  void release() noexcept {
    if (ledger_ == nullptr) return;
    why_ = rejection::released;
    Ledger& ledger = *std::exchange(ledger_, nullptr);
    ledger.drop(ledger.words_.here(), std::exchange(run_, nullptr), true);
    ledger.queue_.wake();
  }

 private:
  friend Ledger;
  explicit basic_shared_prefix(rejection why) noexcept : why_(why) {}
  basic_shared_prefix(Ledger& ledger, typename Ledger::run* r) noexcept : ledger_(&ledger), run_(r) {}

  Ledger* ledger_ = nullptr;
  typename Ledger::run* run_ = nullptr;
  rejection why_ = rejection::none;
};

template <class Ledger>
[[nodiscard]] short_text text_of(const basic_lease<Ledger>& lease) noexcept {
  return lease ? short_text("a lease of ") << text_of(lease.length())
               : short_text("no lease: ") << text_of(lease.why());
}

}  // namespace kvbudget
