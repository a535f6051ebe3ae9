// The lengths of the columns of L^-1 Y, where L is a lower triangle with a band and Y has many columns.  Solved in the
// precision of Y; squares of a few strips at a time are added up in it, and those sums in double precision.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "tasks.hpp"

namespace mercer {

constexpr Index panels_together = 8;  // share the entries of L while these are in the first-level cache
constexpr Index steps_between_moves = 16;

// L cut into strips of rows: [strip][column from the left end of its band on][row], with reciprocals of the diagonal.
template <class T>
struct BandRows {
  Index n, width, strip, count;
  Buffer<T> entries;

  // `columns` has for each column of L its entries from the diagonal down.
  BandRows(const double* columns, Index size, Index wide, Index rows)
      : n(size), width(wide), strip(rows), count((n + strip - 1) / strip), entries(count * step()) {
    for (Index i = 0; i < count * strip; ++i) {
      T* const row = entries.get() + i / strip * step() + i % strip;
      const Index left = i / strip * strip - width;  // the column of the matrix that a strip begins with
      if (i >= n) {
        row[(i - left) * strip] = T(1);  // of rows that do not exist
        continue;
      }
      for (Index j = std::max(Index(0), i - width); j < i; ++j) row[(j - left) * strip] = T(columns[j * (width + 1) + i - j]);
      row[(i - left) * strip] = T(1.0 / columns[i * (width + 1)]);
    }
  }

  Index step() const { return (width + strip) * strip; }
};

// A few panels of right-hand sides, solved side by side from the first row to the last.
template <class T>
class BandGroup {
 public:
  BandGroup(const Isa& isa, const BandRows<T>& L)
      : kernels_(kernels_of<T>(isa)), L_(L), panel_(kernels_.panel), rows_(L.width + steps_between_moves * L.strip),
        windows_(panels_together * rows_ * panel_), right_(L.strip * panel_), squares_(panels_together * panel_),
        sums_(panels_together * panel_) {}

  // Columns from `start` on of `right`, which has `columns` of them.
  void solve(const T* right, Index columns, Index start, double* out) {
    const Index stop = std::min(columns, start + panels_together * panel_);
    std::memset(windows_.get(), 0, Buffer<T>::bytes(panels_together * rows_ * panel_));
    std::memset(squares_.get(), 0, Buffer<T>::bytes(panels_together * panel_));
    std::memset(sums_.get(), 0, Buffer<double>::bytes(panels_together * panel_));
    Index at = 0;  // where the window of rows above begins
    for (Index i = 0; i < L_.count; ++i, at += L_.strip) {
      const bool full = at + L_.width + L_.strip > rows_;
      for (Index first = start, p = 0; first < stop; first += panel_, ++p) {
        T* const window = windows_.get() + p * rows_ * panel_;
        if (full) std::memmove(window, window + at * panel_, std::size_t(L_.width * panel_) * sizeof(T));
        const Block block = fetch(right, columns, i * L_.strip, first, std::min(panel_, stop - first));
        kernels_.band_step(L_.entries.get() + i * L_.step(), L_.width, block.data, block.step,
                           window + (full ? 0 : at) * panel_, squares_.get() + p * panel_);
      }
      if (full) {
        at = 0;
        collect();
      }
    }
    collect();
    std::copy(sums_.get(), sums_.get() + (stop - start), out + start);
  }

 private:
  struct Block {
    const T* data;
    Index step;
  };

  void collect() {
    kernels_.widen_add(squares_.get(), sums_.get(), panels_together * panel_);
    std::memset(squares_.get(), 0, Buffer<T>::bytes(panels_together * panel_));
  }

  // A strip of a panel of right-hand sides, where it lies if all of it exists, else a copy with zeros for the rest.
  Block fetch(const T* right, Index columns, Index row, Index first, Index count) {
    const T* const from = right + row * columns + first;
    const Index rows = std::min(L_.strip, L_.n - row);
    ask_for(from, columns, L_.strip, std::min(2 * L_.strip, L_.n - row), count);
    if (rows == L_.strip && count == panel_) return {from, columns};
    std::fill(right_.get(), right_.get() + L_.strip * panel_, T(0));
    for (Index r = 0; r < rows; ++r) std::copy(from + r * columns, from + r * columns + count, right_.get() + r * panel_);
    return {right_.get(), panel_};
  }

  // Rows lie far apart in memory, so that the processor does not foresee the next ones.
  static void ask_for(const T* from, Index columns, Index first, Index last, Index count) {
#if defined(__GNUC__)
    for (Index r = first; r < last; ++r)
      for (Index j = 0; j < count; j += alignment / Index(sizeof(T))) __builtin_prefetch(from + r * columns + j);
#endif
  }

  const Kernels<T>& kernels_;
  const BandRows<T>& L_;
  const Index panel_, rows_;
  Buffer<T> windows_, right_, squares_;
  Buffer<double> sums_;
};

// out[j] = the sum of the squares of column j of L^-1 right; `columns` has for each column of L its entries from the
// diagonal down, right has a row for each row of L.
template <class T>
void band_squares(const Isa& isa, const double* columns, Index n, Index width, const T* right, Index count, double* out,
                  int threads) {
  const Kernels<T>& kernels = kernels_of<T>(isa);
  const BandRows<T> rows(columns, n, width, kernels.strip);
  const Index together = panels_together * kernels.panel, tasks = (count + together - 1) / together;
  // An entry of a cheap kernel takes about as long as eight multiplications and additions.
  const int useful = useful_threads(threads, tasks, double(n) * double(count) * double(width + 1) / 8);
  std::vector<BandGroup<T>> groups;
  for (int worker = 0; worker < useful; ++worker) groups.emplace_back(isa, rows);
  share_tasks(tasks, useful, [&](int worker, Index task) {
    groups[std::size_t(worker)].solve(right, count, task * together, out);
  });
}

}  // namespace mercer
