// E = Y - K V and K^T W E from one sweep: a strip of rows is evaluated once against all columns, tells what is left
// of its targets, and is read again, from the cache, to send that back.
//
// A task is a group of rows with sums of its own; groups are cut by the sizes alone and added up in order.
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index least_group_blocks = 8;
constexpr Index most_groups = 64;

}  // namespace

template <class T>
void Plan<T>::residuals(const T* V, Index r, const double* weights, double* errors, double* out, Index row_start,
                        Index row_stop, int threads) const {
  const Index rows = row_stop - row_start;
  if (rows <= 0 || r == 0 || columns_ == 0) return;
  const Index blocks = (rows + row_block - 1) / row_block;
  const Index group = row_block * std::max(least_group_blocks, (blocks + most_groups - 1) / most_groups);
  const Index groups = (rows + group - 1) / group, strip = kernels_.strip;
  threads = useful_threads(threads, groups, double(rows) * double(columns_));

  Index step = 0;
  const Buffer<T> packed = pack_right_hand_sides(V, r, step);
  Buffer<double> sums(groups * r * padded_columns_);
  struct Scratch {
    Worker worker;
    Buffer<T> values, weighted;
    Buffer<double> images;
  };
  std::vector<Scratch> scratch;
  for (int i = 0; i < threads; ++i)
    scratch.push_back(
        {Worker(*this, 0), Buffer<T>(strip * padded_columns_), Buffer<T>(r * strip), Buffer<double>(r * row_block)});

  share_tasks(groups, threads, [&](int w, Index task) {
    Scratch& own = scratch[std::size_t(w)];
    Worker& worker = own.worker;
    T *values = own.values.get(), *weighted = own.weighted.get();
    double *images = own.images.get(), *sum = sums.get() + task * r * padded_columns_;
    const Index end = std::min(row_stop, row_start + (task + 1) * group);
    for (Index first = row_start + task * group; first < end; first += row_block) {
      worker.load_rows(nullptr, first, std::min(row_block, end - first));
      for (Index s = 0; s < worker.strips(); ++s) {
        const Index at = first + s * strip, count = std::min(strip, end - at);
        std::fill(images, images + r * row_block, 0.0);
        for (Index j = 0; j < columns_; j += column_block_) {
          const Index width = worker.padded(std::min(column_block_, columns_ - j));
          const T* K = worker.evaluate(s, j, std::min(column_block_, columns_ - j));
          kernels_.gather({K, worker.step(), width, r, packed.get() + j, nullptr, step, images, nullptr, 0});
          for (Index i = 0; i < strip; ++i)
            std::copy(K + i * worker.step(), K + i * worker.step() + width, values + i * padded_columns_ + j);
        }
        for (Index c = 0; c < r; ++c)
          for (Index i = 0; i < strip; ++i) {
            double* error = errors + (at + i) * r + c;
            if (i < count) *error -= images[c * row_block + i];
            weighted[c * strip + i] = i < count ? T(weights[at + i] * *error) : T(0);
          }
        for (Index c = 0; c < r; ++c)
          kernels_.scatter({values, padded_columns_, padded_columns_, 1, nullptr, weighted + c * strip, 0,
                            sum + c * padded_columns_, nullptr, 0});
      }
    }
  });
  for (Index task = 0; task < groups; ++task)
    for (Index c = 0; c < r; ++c)
      for (Index j = 0; j < columns_; ++j) out[j * r + c] += sums.get()[(task * r + c) * padded_columns_ + j];
}

template <class T>
Index Plan<T>::residual_workspace(Index r, int threads) const {
  const Index number = Index(sizeof(T)), sum = Index(sizeof(double)), strip = kernels_.strip;
  const Index each = Worker::bytes(*this, 0) + strip * (padded_columns_ + r) * number + r * row_block * sum;
  const Index most = (rows_ + least_group_blocks * row_block - 1) / (least_group_blocks * row_block);
  const Index shared = (padded_columns_ + row_block) * r * number;
  return shared + std::min(most, most_groups) * r * padded_columns_ * sum + threads * each;
}

template void Plan<float>::residuals(const float*, Index, const double*, double*, double*, Index, Index, int) const;
template void Plan<double>::residuals(const double*, Index, const double*, double*, double*, Index, Index, int) const;
template Index Plan<float>::residual_workspace(Index, int) const;
template Index Plan<double>::residual_workspace(Index, int) const;

}  // namespace mercer
