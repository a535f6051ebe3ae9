// Sharing out numbered tasks among threads: each thread takes the next number until none is left.
#pragma once

#include <algorithm>
#include <atomic>

#include "pool.hpp"
#include "worker.hpp"

namespace mercer {

// How products are cut.  Rectangular: columns are summed in groups, which become tasks of their own when
// there are few row blocks.  Symmetric: rows in up to wanted_groups groups of limited height, columns
// right of them in groups of fixed width.
constexpr Index sum_width = 160 * row_block;
constexpr Index few_blocks = 32;
constexpr Index scatter_width = 32 * row_block;
constexpr Index wanted_groups = 16;
constexpr Index most_group_blocks = 8;
constexpr Index column_group = 16 * row_block;

// A task of a symmetric product: two groups, and how many earlier tasks write to each of them.
struct Match {
  int i, j, before_i, before_j;
};

// body(worker, task) for every task in [0, tasks).  Tasks are started in order, which lets a task wait for
// an earlier one without risk of deadlock.
template <class F>
void share_tasks(Index tasks, int threads, F&& body) {
  std::atomic<Index> next{0};
  auto loop = [&](int worker) {
    const FlushSubnormals flush;
    for (Index task; (task = next.fetch_add(1)) < tasks;) body(worker, task);
  };
  run_on_threads(threads, loop);
}

// Waking a thread costs about as much as this many entries of a cheap kernel.
constexpr double entries_worth_a_thread = 30000;

inline int useful_threads(int threads, Index tasks, double entries) {
  const double most = std::min(double(tasks), entries / entries_worth_a_thread);
  return std::max(1, int(std::min(double(threads), most)));
}

}  // namespace mercer
