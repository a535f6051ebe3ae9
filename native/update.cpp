// What is packed once is used often: strips of the left matrix for all columns, and a block of panels of the right one,
// which stays in the second cache, for all strips of a task.  A strip stays in the first cache for the panels of a block.
#include "update.hpp"

#include <vector>

#include "packing.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index most_depth = 256;        // entries of a row of a tile's factors, added up in T
constexpr Index most_rows = 3072;        // whose strips are packed together
constexpr Index packed_rows = row_block / 2;     // at a time
constexpr Index task_columns = 2 * row_block;    // at most, and at least as many as there are rows packed at a time
constexpr Index tasks_of_thread = 8;

// Entries k0 + [0, depth) of columns first + [0, count).
template <class T>
void pack(const Stored<T>& A, Index k0, Index depth, Index first, Index count, Index wide, T* to) {
  const auto plain = [&](Index from, Index until, Index along, Index across) {
    pack_panels(A.data + (k0 + from) * along + first * across, along, across, until - from, count, wide, depth,
                to + from * wide);
  };
  if (!A.symmetric) return plain(0, depth, A.along, A.across);
  // Before the columns' own rows the matrix is told by what lies mirrored, and after them by what lies there.
  const Index above = std::min(depth, std::max(Index(0), first - k0));
  const Index below = std::min(depth, std::max(above, first + count - k0));
  plain(0, above, A.across, A.along);
  plain(below, depth, A.along, A.across);
  for (Index i = 0; i < round_up(count, wide); ++i)
    for (Index k = above; k < below; ++k) {
      const Index row = std::max(k0 + k, first + i), column = std::min(k0 + k, first + i);
      to[i / wide * wide * depth + k * wide + i % wide] = i < count ? A.data[row * A.along + column * A.across] : T(0);
    }
}

// A task: some rows of a chunk and some columns.
struct Rectangle {
  Index row, row_stop, column, column_stop;
};

enum class Share { nothing, some, everything };

Share count_in(Part part, const Rectangle& at) {
  if (part == Part::all) return Share::everything;
  // How far the corner that is deepest inside the triangle, and the one that is farthest outside, are from the diagonal.
  const Index inside = part == Part::upper ? at.column_stop - 1 - at.row : at.row_stop - 1 - at.column;
  const Index outside = part == Part::upper ? at.column - (at.row_stop - 1) : at.row - (at.column_stop - 1);
  return inside < 0 ? Share::nothing : outside < 0 ? Share::some : Share::everything;
}

std::vector<Rectangle> cut(Index row, Index row_stop, Index columns, Part part, int threads) {
  const Index wanted = threads * tasks_of_thread, rows = row_stop - row;
  Index wide = task_columns;
  while (wide > packed_rows && divide_up(columns, wide) * divide_up(rows, row_block) < wanted) wide /= 2;
  const Index parts = divide_up(wanted, divide_up(columns, wide));
  const Index high = std::max(row_block, round_up(divide_up(rows, parts), packed_rows));
  std::vector<Rectangle> found;
  for (Index c = 0; c < columns; c += wide)
    for (Index r = row; r < row_stop; r += high) {
      const Index stop = std::min(columns, c + wide);
      const Rectangle one{r, std::min(row_stop, r + high), c, stop};
      if (count_in(part, one) != Share::nothing) found.push_back(one);
    }
  return found;
}

// A tile that is not whole, or of which a part counts.
template <class T>
void add_some(const T* tile, Index wide, const Rectangle& at, Part part, T* out, Index step) {
  for (Index r = at.row; r < at.row_stop; ++r, tile += wide, out += step) {
    const Index first = part == Part::upper ? std::max(r, at.column) : at.column;
    const Index stop = part == Part::lower ? std::min(r + 1, at.column_stop) : at.column_stop;
    for (Index c = first; c < stop; ++c) out[c - at.column] += tile[c - at.column];
  }
}

}  // namespace

template <class T>
void update(const Update<T>& u, const Isa& isa) {
  if (u.rows == 0 || u.columns == 0 || u.depth == 0) return;
  const Kernels<T>& kernels = kernels_of<T>(isa);
  const Index strip = kernels.strip, panel = kernels.panel;
  const double work = double(u.rows) * double(u.columns) * double(u.depth) / additions_in_entry;
  const Index chunk = std::min(round_up(u.rows, strip), most_rows), most = std::min(u.depth, most_depth);
  Buffer<T> strips(chunk * most);
  struct Scratch {
    Buffer<T> panels, tile;
  };
  std::vector<Scratch> scratch;
  const int threads = useful_threads(u.threads, u.threads * tasks_of_thread, work);
  for (int i = 0; i < threads; ++i) scratch.push_back({Buffer<T>(task_columns * most), Buffer<T>(strip * panel)});

  for (Index first = 0; first < u.rows; first += most_rows) {
    const Index stop = std::min(u.rows, first + most_rows);
    const std::vector<Rectangle> tasks = cut(first, stop, u.columns, u.part, threads);
    for (Index k0 = 0; k0 < u.depth; k0 += most_depth) {
      const Index depth = std::min(most_depth, u.depth - k0), groups = divide_up(stop - first, packed_rows);
      share_tasks(groups, threads, [&](int, Index group) {
        const Index start = first + group * packed_rows, end = std::min(stop, start + packed_rows);
        pack(u.left, k0, depth, start, end - start, strip, strips.get() + (start - first) * depth);
      });
      share_tasks(Index(tasks.size()), threads, [&](int worker, Index number) {
        const Rectangle& task = tasks[std::size_t(number)];
        T *const panels = scratch[std::size_t(worker)].panels.get(), *const tile = scratch[std::size_t(worker)].tile.get();
        pack(u.right, k0, depth, task.column, task.column_stop - task.column, panel, panels);
        for (Index r = task.row; r < task.row_stop; r += strip) {
          const T* const left = strips.get() + (r - first) * depth;
          for (Index c = task.column; c < task.column_stop; c += panel) {
            const Rectangle at{r, std::min(r + strip, u.rows), c, std::min(c + panel, u.columns)};
            const Share share = count_in(u.part, at);
            if (share == Share::nothing) continue;
            const T* const right = panels + (c - task.column) * depth;
            T* const out = u.out + r * u.step + c;
            if (share == Share::everything && at.row_stop - r == strip && at.column_stop - c == panel) {
              kernels.update_tile(left, right, depth, u.factor, out, u.step);
            } else {
              std::memset(tile, 0, Buffer<T>::bytes(strip * panel));
              kernels.update_tile(left, right, depth, u.factor, tile, panel);
              add_some(tile, panel, at, u.part, out, u.step);
            }
          }
        }
      });
    }
  }
}

template void update(const Update<float>&, const Isa&);
template void update(const Update<double>&, const Isa&);

}  // namespace mercer
