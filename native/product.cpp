// K @ V for rectangular matrices: a task sweeps the columns for one block of rows.
//
// Sums run in single precision (for single-precision plans) inside a column block and in double beyond.
// Columns are summed in groups of fixed width, and the groups in order; when there are few rows, the
// groups become tasks of their own without changing a bit of the result.
#include "adder.hpp"

namespace mercer {

template <class T>
Index Plan<T>::product_groups(Index blocks) const {
  return blocks < few_blocks ? (columns_ + sum_width - 1) / sum_width : 1;
}

template <class T>
void Plan<T>::product(const T* V, Index r, double* out, Index row_start, Index row_stop, int threads) const {
  const Index rows = row_stop - row_start;
  if (rows <= 0 || r == 0) return;
  std::fill(out + row_start * r, out + row_stop * r, 0.0);
  if (columns_ == 0) return;
  const Index blocks = (rows + row_block - 1) / row_block;
  const Index split = product_groups(blocks);
  const Index tasks = blocks * split;
  threads = useful_threads(threads, tasks, double(rows) * double(columns_));

  Index step = 0;
  const Buffer<T> packed = pack_right_hand_sides(V, r, step);
  Buffer<double> partial(split > 1 ? split * rows * r : 0);
  std::vector<Worker> workers;
  std::vector<Buffer<double>> sums;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back(*this, 0);
    sums.emplace_back(row_block * r);
  }

  share_tasks(tasks, threads, [&](int w, Index task) {
    Worker& worker = workers[std::size_t(w)];
    double* sum = sums[std::size_t(w)].get();
    const Index first = task / split * row_block, count = std::min(row_block, rows - first);
    worker.load_rows(nullptr, row_start + first, count);
    const Index from = split > 1 ? task % split * sum_width : 0;
    const Index to = split > 1 ? std::min(columns_, from + sum_width) : columns_;
    for (Index group = from; group < to; group += sum_width) {
      std::fill(sum, sum + row_block * r, 0.0);
      const Index end = std::min(to, group + sum_width);
      for (Index j = group; j < end; j += column_block_) {
        const Index width = std::min(column_block_, end - j);
        for (Index s = 0; s < worker.strips(); ++s) {
          const T* K = worker.evaluate(s, j, width);
          kernels_.gather({K, worker.step(), worker.padded(width), r, packed.get() + j, nullptr, step,
                           sum + s * kernels_.strip, nullptr, 0});
        }
      }
      double* target = split > 1 ? partial.get() + task % split * rows * r : out + row_start * r;
      for (Index i = 0; i < count; ++i)
        for (Index c = 0; c < r; ++c) target[(first + i) * r + c] += sum[c * row_block + i];
    }
  });

  double* target = out + row_start * r;
  for (Index group = 0; split > 1 && group < split; ++group)
    for (Index i = 0; i < rows * r; ++i) target[i] += partial.get()[group * rows * r + i];
}

template <class T>
void Plan<T>::add_rows(const int64_t* rows, Index count, const T* V, double* out, Index column_start,
                       Index column_stop, int threads) const {
  Adder(*this, threads).add(rows, count, V, out, column_start, column_stop);
}

// An upper bound over all row ranges, for both kinds of product.
template <class T>
Index Plan<T>::workspace(Index r, int threads) const {
  const Index number = Index(sizeof(T)), sum = Index(sizeof(double));
  const Index packed = (padded_columns_ + row_block) * r * number;
  const Index split = product_groups(1);
  const Index partial = split > 1 ? split * std::min(rows_, few_blocks * row_block) * r * sum : 0;
  Index each = Worker::bytes(*this, 0) + row_block * r * sum;
  Index shared = partial;
  if (symmetric_) {
    each += (column_group * sum + column_block_ * number) * r;
    const Index groups = rows_ / (most_group_blocks * row_block) + 2 * wanted_groups;
    shared = std::max(shared, groups * groups / 2 * Index(sizeof(Match)));
  }
  return packed + shared + threads * each;
}

template Index Plan<float>::workspace(Index, int) const;
template Index Plan<double>::workspace(Index, int) const;
template Index Plan<float>::product_groups(Index) const;
template Index Plan<double>::product_groups(Index) const;
template void Plan<float>::add_rows(const int64_t*, Index, const float*, double*, Index, Index, int) const;
template void Plan<double>::add_rows(const int64_t*, Index, const double*, double*, Index, Index, int) const;
template void Plan<float>::product(const float*, Index, double*, Index, Index, int) const;
template void Plan<double>::product(const double*, Index, double*, Index, Index, int) const;

}  // namespace mercer
