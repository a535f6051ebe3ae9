// Sharing out the strips of half a matrix.  Each has column sums of its own, which are added up in the order of the
// strips, so that the result does not depend on who did what.
#include "half.hpp"

#include <algorithm>
#include <string>

#include "buffer.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index piece_width = 8192;   // columns whose sums stay in the cache, and that are added up in T
constexpr Index summed_width = 4096;  // columns whose sums of all strips are added up together

template <class T>
using Use = void (*)(const HalfArguments<T>&);

template <class T>
Use<T> use_of(const Isa& isa) {
  const std::string name = isa.name;
#ifdef MERCER_X86_ISAS
  if (name == "avx512") return static_cast<Use<T>>(use_half_avx512);
  if (name == "avx2") return static_cast<Use<T>>(use_half_avx2);
#endif
  return static_cast<Use<T>>(use_half_baseline);
}

}  // namespace

template <class T>
void multiply_half(const HalfProduct<T>& product, const Isa& isa) {
  const Use<T> use = use_of<T>(isa);
  const Index n = product.n, sides = product.sides, tasks = Index(product.strips.size());
  std::vector<Index> first, place;  // of each strip: its first row, and where its column sums begin
  Index row = 0, room = 0;
  for (const HalfStrip<T>& strip : product.strips) {
    first.push_back(row);
    place.push_back(room);
    row += strip.rows;
    room += round_up(n - row, alignment / Index(sizeof(T)));
  }
  Buffer<T> down(room * sides);
  const double entries = double(n) * double(n) / 2;
  share_tasks(tasks, useful_threads(product.threads, tasks, entries), [&](int, Index task) {
    const HalfStrip<T>& strip = product.strips[std::size_t(task)];
    const Index start = first[std::size_t(task)], whole = n - start, square = strip.rows;
    for (Index i = 0; i < strip.rows; i += half_rows) {
      const Index rows = std::min(half_rows, strip.rows - i);
      for (Index s = 0; s < sides; ++s) {
        const T* v = product.V + s * n;
        T* sums_down = down.get() + s * room + place[std::size_t(task)];
        double sums[half_rows] = {};
        for (Index j = 0; j < whole;) {
          const bool diagonal = j < square;
          const Index columns = std::min(piece_width, (diagonal ? square : whole) - j);
          use({strip.K + i * whole + j, whole, rows, columns, v + start + j, diagonal ? nullptr : v + start + i,
               diagonal ? nullptr : sums_down + (j - square), sums});
          j += columns;
        }
        std::copy(sums, sums + rows, product.out + s * n + start + i);
      }
    }
  });
  const Index parts = (n + summed_width - 1) / summed_width;
  share_tasks(parts * sides, useful_threads(product.threads, parts * sides, double(room * sides)), [&](int, Index task) {
    const Index s = task / parts, from = task % parts * summed_width, to = std::min(n, from + summed_width);
    double* out = product.out + s * n;
    for (std::size_t t = 0; t < product.strips.size(); ++t) {
      const Index begin = first[t] + product.strips[t].rows;  // the column of its first sum
      const T* sums = down.get() + s * room + place[t];
      for (Index j = std::max(from, begin); j < to; ++j) out[j] += double(sums[j - begin]);
    }
  });
}

template <class T>
void multiply_long(const LongProduct<T>& product, const Isa& isa) {
  const Use<T> use = use_of<T>(isa);
  const Index n = product.n, tasks = (product.rows + half_rows - 1) / half_rows;
  const double entries = double(product.rows) * double(n);
  share_tasks(tasks, useful_threads(product.threads, tasks, entries), [&](int, Index task) {
    const Index i = task * half_rows, rows = std::min(half_rows, product.rows - i);
    for (Index s = 0; s < product.sides; ++s) {
      double sums[half_rows] = {};
      for (Index j = 0; j < n; j += piece_width)
        use({product.A + i * n + j, n, rows, std::min(piece_width, n - j), product.V + s * n + j, nullptr, nullptr, sums});
      std::copy(sums, sums + rows, product.out + s * product.rows + i);
    }
  });
}

template void multiply_long(const LongProduct<float>&, const Isa&);
template void multiply_long(const LongProduct<double>&, const Isa&);
template void multiply_half(const HalfProduct<float>&, const Isa&);
template void multiply_half(const HalfProduct<double>&, const Isa&);

}  // namespace mercer
