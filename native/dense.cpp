// Dense pieces of the matrix, when the caller really wants the numbers.
#include <cstring>

#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index group_width = 32 * row_block;

// Smaller results are left in the caches, where the caller will soon want them.
constexpr double streamed_bytes = 8e6;

template <class T>
void copy(const T* from, T* to, Index count) {
  std::memcpy(to, from, std::size_t(count) * sizeof(T));
}

}  // namespace

template <class T>
void Plan<T>::dense(T* out, const int64_t* rows, Index count, Index column_start, Index column_stop,
                    int threads) const {
  const Index columns = column_stop - column_start;
  if (count == 0 || columns <= 0) return;
  const Index panel = kernels_.panel, first_column = column_start / panel * panel;
  const Index groups = (column_stop - first_column + group_width - 1) / group_width;
  const Index tasks = (count + row_block - 1) / row_block * groups;
  threads = useful_threads(threads, tasks, double(count) * double(columns));
  const auto write = double(count) * double(columns) * sizeof(T) > streamed_bytes ? kernels_.stream : copy<T>;
  std::vector<Worker> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(*this, 0);

  share_tasks(tasks, threads, [&](int w, Index task) {
    Worker& worker = workers[std::size_t(w)];
    const Index first = task / groups * row_block;
    const Index from = first_column + task % groups * group_width, to = std::min(column_stop, from + group_width);
    worker.load_rows(rows + first, 0, std::min(row_block, count - first));
    for (Index j = from; j < to; j += column_block_) {
      const Index width = std::min(column_block_, to - j);
      const Index skipped = std::max(Index(0), column_start - j);
      for (Index s = 0; s < worker.strips(); ++s) {
        const T* K = worker.evaluate(s, j, width);
        const Index row = first + s * kernels_.strip, end = std::min(count, row + kernels_.strip);
        for (Index i = row; i < end; ++i)
          write(K + (i - row) * worker.step() + skipped, out + i * columns + j + skipped - column_start,
                width - skipped);
      }
    }
    fence_streams();
  });
}

template <class T>
void Plan<T>::symmetric_dense(T* out, Index row_start, Index row_stop, int threads) const {
  const Index n = rows_;
  struct Piece {
    Index i, j;
  };
  std::vector<Piece> pieces;
  for (Index i = row_start; i < row_stop; i += row_block)
    for (Index j = i; j < n; j += group_width) pieces.push_back({i, j});
  threads = useful_threads(threads, Index(pieces.size()), double(row_stop - row_start) * double(n - row_start) / 2);
  const auto write = double(n) * double(n) * sizeof(T) > streamed_bytes ? kernels_.stream : copy<T>;
  std::vector<Worker> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(*this, row_block);

  share_tasks(Index(pieces.size()), threads, [&](int w, Index task) {
    Worker& worker = workers[std::size_t(w)];
    const Piece piece = pieces[std::size_t(task)];
    const Index count = std::min(row_block, n - piece.i), end = std::min(n, piece.j + group_width);
    worker.load_rows(nullptr, piece.i, count);
    for (Index j = piece.j; j < end; j += column_block_) {
      const Index width = std::min(column_block_, end - j), step = worker.step();
      const T* K = worker.evaluate(0, j, width);
      for (Index s = 1; s < worker.strips(); ++s) worker.evaluate(s, j, width);
      for (Index a = 0; a < count; ++a) write(K + a * step, out + (piece.i + a) * n + j, width);
      // The mirrored tile, turned a few columns at a time so that rows are written in long pieces; what
      // lies in the square on the diagonal is already there.
      constexpr Index patch = 16;
      T turned[patch * row_block];
      for (Index b0 = std::min(width, std::max(Index(0), piece.i + row_block - j)); b0 < width; b0 += patch) {
        const Index some = std::min(patch, width - b0);
        for (Index a = 0; a < count; ++a)
          for (Index b = 0; b < some; ++b) turned[b * row_block + a] = K[a * step + b0 + b];
        for (Index b = 0; b < some; ++b) write(turned + b * row_block, out + (j + b0 + b) * n + piece.i, count);
      }
    }
    fence_streams();
  });
}

template void Plan<float>::dense(float*, const int64_t*, Index, Index, Index, int) const;
template void Plan<double>::dense(double*, const int64_t*, Index, Index, Index, int) const;
template void Plan<float>::symmetric_dense(float*, Index, Index, int) const;
template void Plan<double>::symmetric_dense(double*, Index, Index, int) const;

}  // namespace mercer
