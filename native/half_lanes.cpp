// The inner loop of products with half of a symmetric matrix, compiled once per instruction set (MERCER_ISA names it).
#include "half.hpp"

#include "vec.hpp"

namespace mercer {
namespace {

// Rows of a stored matrix start anywhere.
template <class T>
MERCER_INLINE Vec<T> read(const T* from) {
  Vec<T> v;
  memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
MERCER_INLINE void write(T* to, const Vec<T>& v) { memcpy(to, &v, sizeof v); }

// Rows that are used from the cache leave memory idle, unless others are asked for meanwhile.
template <class T>
MERCER_INLINE void fetch(const T* from) {
#if defined(__GNUC__)
  __builtin_prefetch(from, 0, 2);
#endif
}

template <bool scatter, bool ahead, int rows, class T>
MERCER_INLINE void use_rows(const HalfArguments<T>& a, Index first) {
  const T* K = a.K + first * a.step;
  Vec<T> sum[rows], weight[rows];
  MERCER_UNROLL for (int i = 0; i < rows; ++i) {
    sum[i] = Vec<T>{};
    if constexpr (scatter) weight[i] = splat<T>(a.weights[first + i]);
  }
  Index j = 0;
  for (; j + width<T> <= a.columns; j += width<T>) {
    const Vec<T> v = read(a.v + j);
    Vec<T> down{};
    if constexpr (scatter) down = read(a.down + j);
    if constexpr (ahead)
      MERCER_UNROLL for (int i = 0; i < rows / 2; ++i) fetch(a.ahead + i * a.step + j);
    MERCER_UNROLL for (int i = 0; i < rows; ++i) {
      const Vec<T> k = read(K + i * a.step + j);
      sum[i] = multiply_add(k, v, sum[i]);
      if constexpr (scatter) down = multiply_add(k, weight[i], down);
    }
    if constexpr (scatter) write(a.down + j, down);
  }
  T rest[rows] = {};
  for (; j < a.columns; ++j)
    for (int i = 0; i < rows; ++i) {
      const T k = K[i * a.step + j];
      rest[i] += k * a.v[j];
      if constexpr (scatter) a.down[j] += k * a.weights[first + i];
    }
  for (int i = 0; i < rows; ++i) a.sums[first + i] += double(lane_sum<T>(sum[i])) + double(rest[i]);
}

template <bool scatter, class T>
void use(const HalfArguments<T>& a) {
  if (a.rows < half_rows) {
    for (Index i = 0; i < a.rows; ++i) use_rows<scatter, false, 1, T>(a, i);
  } else if (a.ahead) {
    use_rows<scatter, true, int(half_rows), T>(a, 0);
  } else {
    use_rows<scatter, false, int(half_rows), T>(a, 0);
  }
}

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)

void MERCER_JOIN(use_half_, MERCER_ISA)(const HalfArguments<float>& a) { a.weights ? use<true>(a) : use<false>(a); }
void MERCER_JOIN(use_half_, MERCER_ISA)(const HalfArguments<double>& a) { a.weights ? use<true>(a) : use<false>(a); }

}  // namespace mercer
