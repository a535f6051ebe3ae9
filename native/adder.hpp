// Weighted sums of a few rows of a plan, and the scratch memory for them, kept from one to the next.
#pragma once

#include "tasks.hpp"

namespace mercer {

template <class T>
class Plan<T>::Adder {
 public:
  Adder(const Plan& plan, int threads) : plan_(plan), threads_(threads) {}
  // out[j - column_start] += sum_a V[a] K[rows[a], j] for column_start <= j < column_stop.
  void add(const int64_t* rows, Index count, const T* V, double* out, Index column_start, Index column_stop);

 private:
  struct Scratch {
    Worker worker;
    Buffer<double> sums;
    Buffer<T> weights;
  };

  const Plan& plan_;
  const int threads_;
  std::vector<Scratch> scratch_;
};

// Tasks are groups of columns.  Each has sums of its own, because those of a strip end on a whole panel.
template <class T>
void Plan<T>::Adder::add(const int64_t* rows, Index count, const T* V, double* out, Index column_start,
                         Index column_stop) {
  if (count == 0 || column_stop <= column_start) return;
  const Kernels<T>& kernels = plan_.kernels_;
  const Index panel = kernels.panel, first_column = column_start / panel * panel, columns = column_stop - first_column;
  // Groups are of one width, so that a sum does not depend on the threads, but no thread waits for the last of few.
  const Index wanted = std::max(least_scatter_width, round_up((columns + few_groups - 1) / few_groups, panel));
  const Index group = std::min(scatter_width, wanted), groups = (columns + group - 1) / group;
  const int threads = useful_threads(threads_, groups, double(count) * double(columns));
  while (int(scratch_.size()) < threads)
    scratch_.push_back({Worker(plan_, 0), Buffer<double>(scatter_width + row_block), Buffer<T>(row_block)});

  share_tasks(groups, threads, [&](int w, Index task) {
    Scratch& s = scratch_[std::size_t(w)];
    const Index from = first_column + task * group, to = std::min(column_stop, from + group);
    double* sums = s.sums.get();
    std::fill(sums, sums + s.worker.padded(to - from), 0.0);
    for (Index first = 0; first < count; first += row_block) {
      const Index some = std::min(row_block, count - first);
      s.worker.load_rows(rows + first, 0, some);
      std::copy(V + first, V + first + some, s.weights.get());
      std::fill(s.weights.get() + some, s.weights.get() + round_up(some, kernels.strip), T(0));
      for (Index j = from; j < to; j += plan_.column_block_) {
        const Index width = std::min(plan_.column_block_, to - j), padded = s.worker.padded(width);
        for (Index strip = 0; strip < s.worker.strips(); ++strip) {
          const T* K = s.worker.evaluate(strip, j, width);
          kernels.scatter({K, s.worker.step(), padded, 1, nullptr, s.weights.get() + strip * kernels.strip, 0,
                           sums + j - from, nullptr, 0});
        }
      }
    }
    for (Index j = std::max(from, column_start); j < to; ++j) out[j - column_start] += sums[j - from];
  });
}

}  // namespace mercer
