// Sharing out the strips of half a matrix.  Each has column sums of its own, which are added up in the order of the
// strips, so that the result does not depend on who did what.
#include "half.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "tasks.hpp"
#include "versions.hpp"

namespace mercer {
namespace {

constexpr Index piece_width = 8192;   // columns whose sums stay in the cache, and that are added up in T
constexpr Index summed_width = 4096;  // columns whose sums of all strips are added up together
constexpr Index reduced_rows = 256, added_rows = 16;  // of a task, and rows whose sums are added up in T
constexpr Index combined_width = 2048, combined_rows = 512;  // of a task, and rows whose sums are added up in T

template <class T>
using Use = void (*)(const HalfArguments<T>&);

}  // namespace

template <class T>
void multiply_half(const std::vector<HalfStrip<T>>& strips, const Sides<T>& sides, const Isa& isa) {
  const Use<T> use = MERCER_VERSION(Use<T>, isa, use_half);
  const Index n = sides.n, count = sides.count, tasks = Index(strips.size());
  std::vector<Index> first, place;  // of each strip: its first row, and where its column sums begin
  Index row = 0, room = 0;
  for (const HalfStrip<T>& strip : strips) {
    first.push_back(row);
    place.push_back(room);
    row += strip.rows;
    room += round_up(n - row, alignment / Index(sizeof(T)));
  }
  Buffer<T> down(room * count);
  const double entries = double(n) * double(n) / 2;
  share_tasks(tasks, useful_threads(sides.threads, tasks, entries), [&](int, Index task) {
    const HalfStrip<T>& strip = strips[std::size_t(task)];
    const Index start = first[std::size_t(task)], whole = n - start, square = strip.rows;
    for (Index i = 0; i < strip.rows; i += half_rows) {
      const Index rows = std::min(half_rows, strip.rows - i);
      for (Index s = 0; s < count; ++s) {
        const T* v = sides.V + s * n;
        T* sums_down = down.get() + s * room + place[std::size_t(task)];
        double sums[half_rows] = {};
        for (Index j = 0; j < whole;) {
          const bool diagonal = j < square;
          const Index columns = std::min(piece_width, (diagonal ? square : whole) - j);
          use({strip.K + i * whole + j, whole, rows, columns, v + start + j, diagonal ? nullptr : v + start + i,
               diagonal ? nullptr : sums_down + (j - square), sums});
          j += columns;
        }
        std::copy(sums, sums + rows, sides.out + s * n + start + i);
      }
    }
  });
  const Index parts = (n + summed_width - 1) / summed_width;
  share_tasks(parts * count, useful_threads(sides.threads, parts * count, double(room * count)), [&](int, Index task) {
    const Index s = task / parts, from = task % parts * summed_width, to = std::min(n, from + summed_width);
    double* out = sides.out + s * n;
    for (std::size_t t = 0; t < strips.size(); ++t) {
      const Index begin = first[t] + strips[t].rows;  // the column of its first sum
      const T* sums = down.get() + s * room + place[t];
      for (Index j = std::max(from, begin); j < to; ++j) out[j] += double(sums[j - begin]);
    }
  });
}

template <class T>
void multiply_long(const T* A, Index rows, const Sides<T>& sides, const Isa& isa) {
  const Use<T> use = MERCER_VERSION(Use<T>, isa, use_half);
  const Index n = sides.n, tasks = (rows + half_rows - 1) / half_rows;
  const double entries = double(rows) * double(n);
  share_tasks(tasks, useful_threads(sides.threads, tasks, entries), [&](int, Index task) {
    const Index i = task * half_rows, some = std::min(half_rows, rows - i);
    for (Index s = 0; s < sides.count; ++s) {
      double sums[half_rows] = {};
      for (Index j = 0; j < n; j += piece_width)
        use({A + i * n + j, n, some, std::min(piece_width, n - j), sides.V + s * n + j, nullptr, nullptr, sums});
      std::copy(sums, sums + some, sides.out + s * rows + i);
    }
  });
}

template <class T>
void combine_long(const T* A, Index columns, const Sides<T>& sides, const Isa& isa) {
  const Use<T> use = MERCER_VERSION(Use<T>, isa, use_half);
  const Index n = sides.n, least = (columns + combined_width - 1) / combined_width;
  const int threads = useful_threads(sides.threads, (columns + alignment - 1) / alignment, double(n) * double(columns));
  // As many tasks for each thread: sums of a column are the same however columns are shared.
  const Index pieces = std::max(Index(1), round_up(least, threads));
  const Index share = std::max(alignment, round_up((columns + pieces - 1) / pieces, alignment));
  const Index tasks = (columns + share - 1) / share;
  const Buffer<T> nothing(combined_width);  // for the row sums, which nobody asks for
  Buffer<T> all(combined_width * threads);
  share_tasks(tasks, threads, [&](int worker, Index task) {
    const Index from = task * share, width = std::min(share, columns - from);
    T* const down = all.get() + worker * combined_width;
    for (Index s = 0; s < sides.count; ++s) {
      const T* const weights = sides.V + s * n;
      double* const out = sides.out + s * columns + from;
      std::fill(out, out + width, 0.0);
      for (Index first = 0; first < n; first += combined_rows) {
        std::fill(down, down + width, T(0));
        double sums[half_rows];
        for (Index i = first; i < std::min(n, first + combined_rows); i += half_rows)
          use({A + i * columns + from, columns, std::min(half_rows, n - i), width, nothing.get(), weights + i, down, sums});
        for (Index j = 0; j < width; ++j) out[j] += double(down[j]);
      }
    }
  });
}

template <class T>
void reduce_long(const T* A, Index rows, const Sides<T>& sides, const Remainder& rest, const Isa& isa) {
  const Use<T> use = MERCER_VERSION(Use<T>, isa, use_half);
  const Index n = sides.n, count = sides.count, tasks = (rows + reduced_rows - 1) / reduced_rows;
  const Index room = round_up(n, alignment / Index(sizeof(T)));
  const int threads = useful_threads(sides.threads, tasks, 2 * double(rows) * double(n));
  Buffer<double> all(tasks * count * room);
  Buffer<T> added(threads * room);
  share_tasks(tasks, threads, [&](int worker, Index task) {
    T* const down = added.get() + worker * room;
    double* const all_down = all.get() + task * count * room;
    std::fill(all_down, all_down + count * room, 0.0);
    const Index stop = std::min(rows, (task + 1) * reduced_rows);
    for (Index s = 0; s < count; ++s) {
      const T* const v = sides.V + s * n;
      double* const image = all_down + s * room;
      for (Index first = task * reduced_rows; first < stop; first += added_rows) {
        std::fill(down, down + n, T(0));
        for (Index i = first; i < std::min(stop, first + added_rows); i += half_rows) {
          const Index some = std::min(half_rows, stop - i);
          double sums[half_rows] = {}, unused[half_rows];
          T weights[half_rows];
          const T *here = A + i * n, *next = i + 2 * half_rows <= stop ? here + half_rows * n : nullptr;
          for (Index j = 0; j < n; j += piece_width)
            use({here + j, n, some, std::min(piece_width, n - j), v + j, nullptr, nullptr, sums, next ? next + j : nullptr});
          for (Index k = 0; k < some; ++k) {
            const double scale = rest.scale[i + k];
            weights[k] = T(scale * (rest.right[s * rows + i + k] - sums[k]));
            sides.out[s * rows + i + k] = double(weights[k]) / scale;
          }
          use({here, n, some, n, v, weights, down, unused, next ? next + half_rows / 2 * n : nullptr});
        }
        for (Index j = 0; j < n; ++j) image[j] += double(down[j]);
      }
    }
  });
  const Index parts = (n + summed_width - 1) / summed_width;
  share_tasks(parts * count, useful_threads(sides.threads, parts * count, double(tasks * count * n)), [&](int, Index task) {
    const Index s = task / parts, from = task % parts * summed_width, to = std::min(n, from + summed_width);
    double* const image = rest.image + s * n;
    std::fill(image + from, image + to, 0.0);
    for (Index t = 0; t < tasks; ++t)
      for (Index j = from; j < to; ++j) image[j] += all.get()[(t * count + s) * room + j];
  });
}

template void multiply_half(const std::vector<HalfStrip<float>>&, const Sides<float>&, const Isa&);
template void multiply_half(const std::vector<HalfStrip<double>>&, const Sides<double>&, const Isa&);
template void multiply_long(const float*, Index, const Sides<float>&, const Isa&);
template void multiply_long(const double*, Index, const Sides<double>&, const Isa&);
template void combine_long(const float*, Index, const Sides<float>&, const Isa&);
template void combine_long(const double*, Index, const Sides<double>&, const Isa&);
template void reduce_long(const float*, Index, const Sides<float>&, const Remainder&, const Isa&);
template void reduce_long(const double*, Index, const Sides<double>&, const Remainder&, const Isa&);

}  // namespace mercer
