// Sharing out numbered tasks among threads: each thread takes the next number until none is left.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>

#include "pool.hpp"
#include "worker.hpp"

namespace mercer {

// How products are cut.  Rectangular: columns are summed in groups, which become tasks of their own when
// there are few row blocks.  Symmetric: rows in up to wanted_groups groups of limited height, columns
// right of them in groups of fixed width.
constexpr Index sum_width = 160 * row_block;
constexpr Index few_blocks = 32;
constexpr Index scatter_width = 32 * row_block;
constexpr Index least_scatter_width = 2 * row_block;
constexpr Index few_groups = 16;
constexpr Index wanted_groups = 16;
constexpr Index most_group_blocks = 8;
constexpr Index column_group = 16 * row_block;

// A task of a symmetric product: two groups, and how many earlier tasks write to each of them.
struct Match {
  int i, j, before_i, before_j;
};

// body(worker, task) for every task in [0, tasks), each once ready(task) holds.  Tasks are started in order,
// which lets a task wait for an earlier one without risk of deadlock.  When a task throws, no other is
// started, none waits any longer, and the exception reaches the caller.
template <class R, class F>
void share_ordered_tasks(Index tasks, int threads, R&& ready, F&& body) {
  std::atomic<Index> next{0};
  std::atomic<bool> failed{false};
  auto loop = [&](int worker) {
    const FlushSubnormals flush;
    try {
      for (Index task; (task = next.fetch_add(1)) < tasks && !failed.load();) {
        while (!ready(task)) {
          if (failed.load()) return;
          std::this_thread::yield();
        }
        body(worker, task);
      }
    } catch (...) {
      failed.store(true);
      throw;
    }
  };
  run_on_threads(threads, loop);
}

template <class F>
void share_tasks(Index tasks, int threads, F&& body) {
  share_ordered_tasks(tasks, threads, [](Index) { return true; }, body);
}

// Waking a thread costs about as much as this many entries of a cheap kernel.
constexpr double entries_worth_a_thread = 30000;
constexpr double additions_in_entry = 16;  // of products of stored matrices, which take about as long

inline int useful_threads(int threads, Index tasks, double entries) {
  const double most = std::min(double(tasks), entries / entries_worth_a_thread);
  return std::max(1, int(std::min(double(threads), most)));
}

}  // namespace mercer
