// Building a plan: packing the columns in panels, norms, block sizes.
#include "plan.hpp"

#include <algorithm>

#include "worker.hpp"

namespace mercer {
namespace {

// Below this dimension squared distances are formed by differences (two instructions a dimension);
// above, through the dot product (one instruction and a fixed epilogue).
constexpr Index expand_above = 8;

// Strips of kernel values should leave room in a first-level cache of 32 KiB, the packed columns of a
// block in half a second-level cache.
constexpr Index strip_bytes = 16 * 1024;
constexpr Index block_bytes = 512 * 1024;
constexpr Index most_columns = 480;

template <class T>
void half_squared_norms(const T* points, Index count, Index dimension, T* out) {
  for (Index i = 0; i < count; ++i) {
    double sum = 0;
    for (Index k = 0; k < dimension; ++k) sum += double(points[i * dimension + k]) * double(points[i * dimension + k]);
    out[i] = T(sum / 2);
  }
}

}  // namespace

template <class T>
Plan<T>::Plan(const Isa& isa, Index rows, Index columns, const std::vector<Points<T>>& points,
              const std::vector<const T*>& left, const std::vector<const T*>& right, std::vector<Instruction> code)
    : Plan(kernels_of<T>(isa), rows, columns, points, left, right, std::move(code)) {}

template <class T>
Plan<T> Plan<T>::part(const int64_t* rows, Index count, std::vector<std::vector<T>>& storage) const {
  const auto gathered = [&](const T* from, Index width) {
    std::vector<T> values(std::size_t(count * width));
    for (Index i = 0; i < count; ++i)
      std::copy(from + rows[i] * width, from + (rows[i] + 1) * width, values.data() + i * width);
    storage.push_back(std::move(values));
    return static_cast<const T*>(storage.back().data());
  };
  storage.clear();
  storage.reserve(statistics_.size() + left_.size() + right_.size());
  std::vector<Points<T>> points;
  for (const Statistic& s : statistics_) {
    const T* few = gathered(s.points, s.dimension);
    points.push_back({s.kind, s.exponent, s.dimension, few, few, true});
  }
  std::vector<const T*> left, right;
  for (const std::vector<T>& values : left_) left.push_back(gathered(values.data(), 1));
  for (const Buffer<T>& values : right_) right.push_back(gathered(values.get(), 1));
  return Plan(kernels_, count, count, points, left, right, code_);
}

template <class T>
Plan<T>::Plan(const Kernels<T>& kernels, Index rows, Index columns, const std::vector<Points<T>>& points,
              const std::vector<const T*>& left, const std::vector<const T*>& right, std::vector<Instruction> code)
    : kernels_(kernels), rows_(rows), columns_(columns), symmetric_(true), code_(std::move(code)) {
  const Index panel = kernels_.panel;
  padded_columns_ = round_up(columns, panel);
  Index dimensions = 0;
  for (const Points<T>& p : points) {
    Statistic s{};
    s.kind = p.kind;
    s.exponent = p.exponent;
    s.dimension = p.dimension;
    s.symmetric = p.symmetric;
    s.expanded = p.kind == Kind::sqdist && p.dimension > expand_above;
    s.points = p.left;
    pack(s, p.right);
    symmetric_ = symmetric_ && s.symmetric;
    dimensions += p.dimension;
    statistics_.push_back(std::move(s));
  }
  for (const T* values : left) left_.emplace_back(values, values + rows);
  for (const T* values : right) {
    Buffer<T> copy(padded_columns_);
    std::copy(values, values + columns, copy.get());
    right_.push_back(std::move(copy));
  }
  registers_ = int(points.size());
  for (const Instruction& in : code_) registers_ = std::max(registers_, in.dst + 1);

  const Index size = Index(sizeof(T));
  const Index by_strip = strip_bytes / (Index(points.size()) * kernels_.strip * size);
  const Index by_block = block_bytes / (dimensions * size);
  const Index block = std::min({most_columns, by_strip, by_block, padded_columns_});
  column_block_ = std::max(panel, block / panel * panel);
}

template <class T>
void Plan<T>::pack(Statistic& s, const T* right) {
  const Index panel = kernels_.panel, d = s.dimension;
  s.columns = Buffer<T>(padded_columns_ * d);
  for (Index j = 0; j < columns_; ++j) {
    T* to = s.columns.get() + j / panel * panel * d + j % panel;
    for (Index k = 0; k < d; ++k) to[k * panel] = right[j * d + k];
  }
  if (!s.expanded) return;
  s.column_norms = Buffer<T>(padded_columns_);
  half_squared_norms(right, columns_, d, s.column_norms.get());
  if (s.symmetric) return;
  s.row_norms = Buffer<T>(rows_);
  half_squared_norms(s.points, rows_, d, s.row_norms.get());
}

// Right-hand sides one after the other, so that lanes run along the columns; the padding is zero.
template <class T>
Buffer<T> Plan<T>::pack_right_hand_sides(const T* V, Index r, Index& step) const {
  step = padded_columns_ + row_block;
  Buffer<T> packed(step * r);
  constexpr Index together = 64;
  for (Index j0 = 0; j0 < columns_; j0 += together)
    for (Index c = 0; c < r; ++c)
      for (Index j = j0; j < std::min(columns_, j0 + together); ++j) packed.get()[c * step + j] = V[j * r + c];
  return packed;
}

template class Plan<float>;
template class Plan<double>;

}  // namespace mercer
