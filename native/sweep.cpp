// Halves of the points, halves of these and so on tell each other their mistakes: the first half tells the second before
// that is visited, and the second the first afterwards.  So each mistake meets each point once, most of them together.
#include "sweep.hpp"

#include "adder.hpp"

namespace mercer {
namespace {

constexpr Index visited_one_by_one = row_block;

template <class T>
class Sweep {
 public:
  Sweep(const Plan<T>& plan, const SweepArguments& arguments, Index first, int threads)
      : points_(arguments), first_(first), adder_(plan, threads) {}

  void visit(Index start, Index stop) {
    const Index blocks = (stop - start + visited_one_by_one - 1) / visited_one_by_one;
    if (blocks <= 1) {
      for (Index i = start; i < stop; ++i)
        if (is_mistake(i)) tell(i, i + 1, start, stop);
      return;
    }
    const Index middle = start + blocks / 2 * visited_one_by_one;
    visit(start, middle);
    tell(start, middle, middle, stop);
    visit(middle, stop);
    tell(middle, stop, start, middle);
  }

 private:
  bool is_mistake(Index i) {
    const int64_t label = points_.label[i];
    const double* value = points_.values + i;
    const int64_t other = rival(value, points_.points, points_.outputs, label);
    const bool right = beats(value, points_.points, points_.outputs, label, other);
    points_.wrong[i] = right ? -1 : other;
    if (!right)
      points_.ledger.learn(i - first_, label, other, points_.weight[i], points_.clock + i - first_ + 1,
                           [](int64_t, double) {});
    return !right;
  }

  // Adds what the mistakes among [from, to) change to the values of [start, stop).
  void tell(Index from, Index to, Index start, Index stop) {
    for (Index q = 0; q < points_.outputs; ++q) {
      double total = 0;
      rows_.clear();
      steps_.clear();
      for (Index i = from; i < to; ++i) {
        if (points_.wrong[i] < 0) continue;
        change(points_.outputs, points_.label[i], points_.wrong[i], points_.weight[i], [&](int64_t changed, double step) {
          if (changed != q) return;
          rows_.push_back(i);
          steps_.push_back(T(step));
          total += step;
        });
      }
      double* values = points_.values + q * points_.points;
      adder_.add(rows_.data(), Index(rows_.size()), steps_.data(), values + start, start, stop);
      if (points_.bias != 0)
        for (Index j = start; j < stop; ++j) values[j] += points_.bias * total;
    }
  }

  SweepArguments points_;
  const Index first_;
  typename Plan<T>::Adder adder_;
  std::vector<int64_t> rows_;
  std::vector<T> steps_;
};

}  // namespace

template <class T>
void sweep(const Plan<T>& plan, const SweepArguments& arguments, Index start, Index stop, int threads) {
  if (start < stop) Sweep<T>(plan, arguments, start, threads).visit(start, stop);
}

template void sweep(const Plan<float>&, const SweepArguments&, Index, Index, int);
template void sweep(const Plan<double>&, const SweepArguments&, Index, Index, int);

}  // namespace mercer
