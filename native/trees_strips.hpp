// In which order the rows of Δ of one tree are computed, so that few of them are kept at a time.
//
// A row is read by its parents alone.  Of the children of a node, the one that needs the most rows comes first, as when
// an expression is computed in few registers: then about log₂ n rows of a binary tree are kept, and two of a chain.
// Leaves are never kept, because their fragments are plain numbers.
//
// Subtrees that occur several times are kept until their last use, or, if they have fewer than `smallest` nodes,
// computed again for every use: that takes more time, at most that of a tree whose subtrees all differ, and less room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trees.hpp"

namespace mercer {

class StripOrder {
 public:
  StripOrder(const Subtrees& trees, const TreeRows& rows, int64_t row)
      : first_(rows.start[row]),
        count_(rows.start[row + 1] - first_),
        start_(1, 0),
        size_(std::size_t(count_), 1),
        uses_(std::size_t(count_), 0) {
    std::vector<int64_t> number(std::size_t(trees.count)), rows_needed(std::size_t(count_), 0);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t t = rows.subtree[first_ + i];
      number[std::size_t(t)] = i;
      for (int64_t c = trees.start[t]; c < trees.start[t + 1]; ++c) {
        const int64_t k = number[std::size_t(trees.child[c])];
        size_[std::size_t(i)] += size_[std::size_t(k)];
        if (trees.leaf(trees.child[c])) continue;
        child_.push_back(k);
        ++uses_[std::size_t(k)];
      }
      const auto begin = child_.begin() + start_.back();
      std::sort(begin, child_.end(), [&](int64_t a, int64_t b) {
        const int64_t more = rows_needed[std::size_t(a)], less = rows_needed[std::size_t(b)];
        return more != less ? more > less : a < b;
      });
      int64_t needed = child_.end() - begin + 1, before = 0;
      for (auto k = begin; k != child_.end(); ++k) needed = std::max(needed, rows_needed[std::size_t(*k)] + before++);
      rows_needed[std::size_t(i)] = needed;
      start_.push_back(int64_t(child_.size()));
    }
  }

  // compute(entry, first) makes the row of an entry of the tree, for the first time or again; release(entry) gives it up.
  template <class Compute, class Release>
  void walk(double smallest, Compute&& compute, Release&& release) const {
    std::vector<int64_t> uses(uses_), held(std::size_t(count_), 0);
    std::vector<char> kept(std::size_t(count_), 0), seen(std::size_t(count_), 0);
    std::vector<Frame> stack;
    const auto give_up = [&](int64_t i) {
      const std::size_t k = std::size_t(i);
      if (held[k] == 0 && (uses[k] == 0 || size_[k] < smallest)) kept[k] = 0, release(first_ + i);
    };
    for (int64_t root = count_ - 1; root >= 0; --root) {
      if (uses_[std::size_t(root)] > 0) continue;  // leaves have no uses: their rows are made for the sum alone
      stack.push_back({root, start_[std::size_t(root)]});
      while (!stack.empty()) {
        Frame& top = stack.back();
        const std::size_t i = std::size_t(top.entry);
        if (top.next < start_[i + 1]) {
          const int64_t k = child_[std::size_t(top.next++)];
          ++held[std::size_t(k)];
          if (!kept[std::size_t(k)]) stack.push_back({k, start_[std::size_t(k)]});
          continue;
        }
        compute(first_ + top.entry, !seen[i]);
        kept[i] = 1;
        for (int64_t c = start_[i]; c < start_[i + 1]; ++c) {
          const int64_t k = child_[std::size_t(c)];
          --held[std::size_t(k)];
          if (!seen[i]) --uses[std::size_t(k)];
          give_up(k);
        }
        seen[i] = 1;
        const int64_t entry = top.entry;
        stack.pop_back();
        if (stack.empty()) give_up(entry);
      }
    }
  }

 private:
  struct Frame {
    int64_t entry, next;
  };

  int64_t first_, count_;
  std::vector<int64_t> start_, child_;  // children with children of their own, in the order of computation
  std::vector<double> size_;                     // nodes of the tree below each entry
  std::vector<int64_t> uses_;
};

}  // namespace mercer
