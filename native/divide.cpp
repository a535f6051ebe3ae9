// A panel of right-hand sides is packed, solved strip by strip with the steps of a triangle with a band, and put back.
#include "divide.hpp"

#include <vector>

#include "packing.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

// The triangle in strips of rows, [strip][column up to its end][row], with reciprocals of the diagonal.
template <class T>
class TriangleRows {
 public:
  TriangleRows(const Stored<T>& L, Index n, Index strip)
      : count(divide_up(n, strip)), strip_(strip), entries_(strip * strip * count * (count + 1) / 2) {
    for (Index i = 0; i < count * strip; ++i) {
      T* const row = entries_.get() + start(i / strip) + i % strip;
      for (Index j = 0; i < n && j < i; ++j) row[j * strip] = L.data[i * L.along + j * L.across];
      row[i * strip] = i < n ? T(1) / L.data[i * L.along + i * L.across] : T(1);  // of rows that do not exist
    }
  }

  const T* operator[](Index s) const { return entries_.get() + start(s); }

  const Index count;

 private:
  Index start(Index s) const { return strip_ * strip_ * s * (s + 1) / 2; }

  const Index strip_;
  Buffer<T> entries_;
};

}  // namespace

template <class T>
void divide(const Division<T>& d, const Isa& isa) {
  if (d.n == 0 || d.columns == 0) return;
  const Kernels<T>& kernels = kernels_of<T>(isa);
  const Index strip = kernels.strip, panel = kernels.panel, tasks = divide_up(d.columns, panel);
  const TriangleRows<T> L(d.triangle, d.n, strip);
  struct Scratch {
    Buffer<T> window, squares;
  };
  std::vector<Scratch> scratch;
  const double work = double(d.n) * double(d.n) * double(d.columns) / 2 / additions_in_entry;
  const int threads = useful_threads(d.threads, tasks, work);
  for (int i = 0; i < threads; ++i) scratch.push_back({Buffer<T>(L.count * strip * panel), Buffer<T>(panel)});
  share_tasks(tasks, threads, [&](int worker, Index task) {
    T* const window = scratch[std::size_t(worker)].window.get();
    const Index first = task * panel, count = std::min(panel, d.columns - first);
    T* const V = d.V + first * d.across;
    pack_panels(V, d.along, d.across, d.n, count, panel, d.n, window);
    for (Index s = 0; s < L.count; ++s)
      kernels.band_step(L[s], s * strip, window + s * strip * panel, panel, window, scratch[std::size_t(worker)].squares.get());
    if (d.across == 1) {
      for (Index k = 0; k < d.n; ++k) std::copy(window + k * panel, window + k * panel + count, V + k * d.along);
      return;
    }
    for (Index i = 0; i < count; ++i)
      for (Index k = 0; k < d.n; ++k) V[k * d.along + i * d.across] = window[k * panel + i];
  });
}

template void divide(const Division<float>&, const Isa&);
template void divide(const Division<double>&, const Isa&);

}  // namespace mercer
