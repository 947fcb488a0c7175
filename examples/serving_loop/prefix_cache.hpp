// Prompts' blocks that stay for the next request with the same beginning, until their room is needed.
#pragma once

#include <algorithm>
#include <kvbudget/ledger/ledger.hpp>
#include <list>
#include <unordered_map>
#include <vector>

namespace serving {

/// One shared prefix of the ledger for every block of 512 positions, each behind the one before it.
template <class Ledger>
class prefix_cache {
 public:
  using prefix = typename Ledger::prefix;

  std::uint64_t looked_up = 0;  // blocks of prompts
  std::uint64_t found = 0;      // of these, blocks that were there already

  /// The longest prefix of `ids` that is there, or has been made as far as there is room. What it finds is counted the
  /// first time that a request looks.
  const prefix& hold(Ledger& books, const std::vector<std::uint64_t>& ids, std::uint64_t prompt, bool only_whole_blocks,
                     bool first_time) {
    const prefix* held = &none_;
    std::uint64_t parent = nobody;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint64_t end = std::min<std::uint64_t>((i + 1) * 512, prompt);
      if (only_whole_blocks && end % 512 != 0) break;
      if (first_time) ++looked_up;
      auto at = nodes_.find(ids[i]);
      if (at != nodes_.end()) {
        if (first_time) ++found;
      } else {
        prefix made;
        do {
          made = books.try_share(kvbudget::tokens(end), *held);
        } while (made.why() == kvbudget::rejection::no_room && evict(*held));
        if (!made) {
          if (first_time) looked_up += blocks_left(i + 1, ids.size(), prompt, only_whole_blocks);
          break;
        }
        at = nodes_.emplace(ids[i], node{std::move(made), parent, 0, by_use_.insert(by_use_.end(), ids[i])}).first;
        if (parent != nobody) ++nodes_.at(parent).children;
      }
      parent = ids[i];
      held = &at->second.shared;
    }
    // Used just now; the last block least, since it can go without the others.
    for (std::uint64_t id = parent; id != nobody; id = nodes_.at(id).parent) {
      by_use_.splice(by_use_.end(), by_use_, nodes_.at(id).position);
    }
    return *held;
  }

  /// Gives back the least recently used block that nobody needs and that `kept` does not end with; false if there is
  /// none.
  bool evict(const prefix& kept) {
    for (auto id = by_use_.begin(); id != by_use_.end(); ++id) {
      const auto at = nodes_.find(*id);
      if (at->second.children != 0 || &at->second.shared == &kept || !at->second.shared.unused()) continue;
      if (at->second.parent != nobody) --nodes_.at(at->second.parent).children;
      by_use_.erase(id);
      nodes_.erase(at);
      return true;
    }
    return false;
  }
  bool evict() { return evict(none_); }

 private:
  static std::uint64_t blocks_left(std::size_t from, std::size_t size, std::uint64_t prompt, bool only_whole_blocks) {
    const std::uint64_t counted = only_whole_blocks ? prompt / 512 : size;
    return counted > from ? counted - from : 0;
  }
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  struct node {
    prefix shared;
    std::uint64_t parent;
    std::uint64_t children;
    std::list<std::uint64_t>::iterator position;
  };
  std::unordered_map<std::uint64_t, node> nodes_;
  std::list<std::uint64_t> by_use_;  // the least recently used first
  prefix none_;
};

}  // namespace serving
