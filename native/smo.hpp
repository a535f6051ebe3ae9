// Sequential minimal optimisation on a stored matrix: the inner loop of all support vector machines.
//
//   min  1/2 b'Kb - t'b + epsilon |b|_1   over  lower <= b <= upper,  with the sum of b fixed in each group.
//
// slope = t - Kb is kept up to date.  A coefficient that rises gains slope + rise, one that falls gives up
// slope + fall, where rise and fall are -+epsilon by the sign of b, or infinite where the box forbids the
// move.  A step moves weight from j to i: i has the largest gain of its group, j the best decrease of the
// objective along (i, j) to second order.  Lanes keep the first index of their best value, so that ties go
// to the smallest index whatever the width.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

constexpr double infinite = __builtin_huge_val();
// Of the diagonal entries of a pair: below that the curvature along it is rounding.  Relative, so that a
// kernel times a constant takes the same steps.
constexpr double least_curvature = 0.5e-12;

// The curvature along a pair whose diagonal entries add up to `own`, or 0 where these say nothing: then a
// step goes to the end of the box.
MERCER_INLINE double curvature_of(double own, double common) {
  const double curvature = own - 2 * common, least = own > 0 ? least_curvature * own : 0;
  return curvature > least ? curvature : least;
}

template <class V>
MERCER_INLINE V any_load(const void* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}

MERCER_INLINE Vec<double> widened(const double* p) { return any_load<Vec<double>>(p); }
MERCER_INLINE Vec<double> widened(const float* p) {
#if defined(__GNUC__)
  typedef float Half __attribute__((vector_size(MERCER_VECTOR_BYTES / 2), may_alias));
  return __builtin_convertvector(any_load<Half>(p), Vec<double>);
#else
  Vec<double> v;
  for (int i = 0; i < width<double>; ++i) v.lane[i] = double(p[i]);
  return v;
#endif
}

// The largest value seen, and where.
struct Best {
  double value;
  Index at;
  MERCER_INLINE void see(double x, Index index) {
    if (x > value || (x == value && index < at)) {
      value = x;
      at = index;
    }
  }
};

// The largest fraction above / below of each lane; below is never negative.  Fractions are compared by
// their cross products, because divisions are slow.
struct LaneBest {
  Vec<double> above, below = splat(1.0), at = splat(-1.0);

  explicit LaneBest(double least) : above(splat(least)) {}
  MERCER_INLINE void see(Vec<double> x, Vec<double> index) {
    const Flags<double> better = not_at_least(above, x);
    above = where(better, x, above);
    at = where(better, index, at);
  }
  MERCER_INLINE void see_fraction(Vec<double> over, Vec<double> under, Vec<double> index) {
    const Flags<double> better = not_at_least(above * under, over * below);
    above = where(better, over, above);
    below = where(better, under, below);
    at = where(better, index, at);
  }
  MERCER_INLINE void reduce(Best& best) const {
    double over[width<double>], under[width<double>], places[width<double>];
    memcpy(over, &above, sizeof above);
    memcpy(under, &below, sizeof below);
    memcpy(places, &at, sizeof at);
    for (int i = 0; i < width<double>; ++i)
      if (places[i] >= 0) best.see(over[i] / under[i], Index(places[i]));
  }
};

MERCER_INLINE Vec<double> lane_numbers() {
  double numbers[width<double>];
  for (int i = 0; i < width<double>; ++i) numbers[i] = double(i);
  return any_load<Vec<double>>(numbers);
}

// Chains of comparisons are long: several run side by side.
constexpr int chains = 4;

// body(first of a vector, its lane numbers, chain) for whole vectors of [from, to); returns where they end.
template <class F>
MERCER_INLINE Index for_vectors(Index from, Index to, F body) {
  constexpr int w = width<double>;
  Vec<double> index[chains];
  MERCER_UNROLL for (int c = 0; c < chains; ++c) index[c] = lane_numbers() + splat(double(from + c * w));
  const Vec<double> far = splat(double(chains * w));
  Index k = from;
  for (; k + chains * w <= to; k += chains * w)
    MERCER_UNROLL for (int c = 0; c < chains; ++c) {
      body(k + c * w, index[c], c);
      index[c] = index[c] + far;
    }
  for (int c = 0; k + w <= to; k += w, ++c) body(k, lane_numbers() + splat(double(k)), c % chains);
  return k;
}

// Adds -step (K_i - K_j) to the slopes of [from, to) and finds the largest rise and the smallest fall on
// the way; without rows it only looks.
template <class T>
MERCER_INLINE void update_and_scan(const SmoArguments<T>& s, const T* Ki, const T* Kj, double step, Index from, Index to,
                                   Best& up, double& down) {
  LaneBest best[chains] = {LaneBest(-infinite), LaneBest(-infinite), LaneBest(-infinite), LaneBest(-infinite)};
  Vec<double> lowest[chains];
  MERCER_UNROLL for (int c = 0; c < chains; ++c) lowest[c] = splat(infinite);
  const Vec<double> factor = splat(step);
  const auto look = [&](Index k, Vec<double> index, int c, Vec<double> slope) MERCER_LAMBDA {
    best[c].see(slope + any_load<Vec<double>>(s.rise + k), index);
    lowest[c] = minimum(slope + any_load<Vec<double>>(s.fall + k), lowest[c]);
  };
  Index k;
  if (Ki)
    k = for_vectors(from, to, [&](Index k, Vec<double> index, int c) MERCER_LAMBDA {
      const Vec<double> slope =
          any_load<Vec<double>>(s.slope + k) - factor * (widened(Ki + k) - widened(Kj + k));
      memcpy(s.slope + k, &slope, sizeof slope);
      look(k, index, c, slope);
    });
  else
    k = for_vectors(from, to, [&](Index k, Vec<double> index, int c) MERCER_LAMBDA {
      look(k, index, c, any_load<Vec<double>>(s.slope + k));
    });
  up = {-infinite, -1};
  down = infinite;
  for (int c = 0; c < chains; ++c) {
    best[c].reduce(up);
    double lanes[width<double>];
    memcpy(lanes, &lowest[c], sizeof lowest[c]);
    for (int i = 0; i < width<double>; ++i) down = lanes[i] < down ? lanes[i] : down;
  }
  for (; k < to; ++k) {
    if (Ki) s.slope[k] -= step * (double(Ki[k]) - double(Kj[k]));
    const double rise = s.slope[k] + s.rise[k], fall = s.slope[k] + s.fall[k];
    if (rise > up.value) up = {rise, k};
    if (fall < down) down = fall;
  }
}

// The partner of i: the largest gain^2 / curvature among those that give up less than i gains.
template <class T>
MERCER_INLINE Index partner(const SmoArguments<T>& s, Index i, double rise, Index from, Index to) {
  const T* Ki = s.K + i * s.K_step;
  LaneBest best[chains] = {LaneBest(0), LaneBest(0), LaneBest(0), LaneBest(0)};
  const Vec<double> top = splat(rise), own = splat(s.diagonal[i]), two = splat(2.0),
                    share = splat(least_curvature), zero = splat(0.0);
  Index k = for_vectors(from, to, [&](Index k, Vec<double> index, int c) MERCER_LAMBDA {
    const Vec<double> fall = any_load<Vec<double>>(s.slope + k) + any_load<Vec<double>>(s.fall + k);
    const Vec<double> gain = maximum(top - fall, zero);
    const Vec<double> both = own + any_load<Vec<double>>(s.diagonal + k);
    const Vec<double> curvature = maximum(maximum(both - two * widened(Ki + k), share * both), zero);
    best[c].see_fraction(gain * gain, curvature, index);
  });
  Best found{0, -1};
  for (int c = 0; c < chains; ++c) best[c].reduce(found);
  for (; k < to; ++k) {
    const double gain = rise - (s.slope[k] + s.fall[k]);
    if (!(gain > 0)) continue;
    const double value = gain * gain / curvature_of(s.diagonal[i] + s.diagonal[k], double(Ki[k]));
    if (value > found.value) found = {value, k};
  }
  return found.at;
}

template <class T>
MERCER_INLINE void mark(const SmoArguments<T>& s, Index i) {
  const double b = s.beta[i];
  s.rise[i] = b < s.upper[i] ? (b >= 0 ? -s.epsilon : s.epsilon) : -infinite;
  s.fall[i] = b > s.lower[i] ? (b > 0 ? -s.epsilon : s.epsilon) : infinite;
}

template <class T>
SmoResult smo(const SmoArguments<T>& s) {
  for (Index i = 0; i < s.n; ++i) mark(s, i);
  const Index ends[3] = {0, s.second, s.n};
  const T *Ki = nullptr, *Kj = nullptr;
  double step = 0;
  Index count = 0;
  for (;; ++count) {
    Best rises[2];
    double falls[2], violation = -infinite;
    int group = 0;
    for (int g = 0; g < 2; ++g) {
      update_and_scan(s, Ki, Kj, step, ends[g], ends[g + 1], rises[g], falls[g]);
      if (rises[g].value - falls[g] > violation) {
        violation = rises[g].value - falls[g];
        group = g;
      }
    }
    if (!(violation > s.tolerance) || count >= s.max_iter) return {count, violation};
    const Index i = rises[group].at;
    const Index j = partner(s, i, rises[group].value, ends[group], ends[group + 1]);
    if (i < 0 || j < 0 || i == j) return {count, violation};
    Ki = s.K + i * s.K_step;
    Kj = s.K + j * s.K_step;
    step = (rises[group].value - (s.slope[j] + s.fall[j])) / curvature_of(s.diagonal[i] + s.diagonal[j], double(Ki[j]));
    // Coefficients stop at the box, and at 0 where epsilon puts a kink.
    const bool kink = s.epsilon > 0;
    const double end_i = kink && s.beta[i] < 0 ? 0.0 : s.upper[i], end_j = kink && s.beta[j] > 0 ? 0.0 : s.lower[j];
    const double room_i = end_i - s.beta[i], room_j = s.beta[j] - end_j;
    if (room_i < step) step = room_i;
    if (room_j < step) step = room_j;
    s.beta[i] = step == room_i ? end_i : s.beta[i] + step;
    s.beta[j] = step == room_j ? end_j : s.beta[j] - step;
    mark(s, i);
    mark(s, j);
  }
}

// sums[j] += sum_i weights[i] rows[i][j] for j in [from, to), in one order whatever the cut.
template <class T>
void weigh_rows(const T* const* rows, const double* weights, Index count, double* sums, Index from, Index to) {
  constexpr Index together = 4;
  Index i = 0;
  for (; i + together <= count; i += together) {
    const Vec<double> w0 = splat(weights[i]), w1 = splat(weights[i + 1]), w2 = splat(weights[i + 2]),
                      w3 = splat(weights[i + 3]);
    const T *r0 = rows[i], *r1 = rows[i + 1], *r2 = rows[i + 2], *r3 = rows[i + 3];
    Index j = from;
    for (; j + width<double> <= to; j += width<double>) {
      Vec<double> sum = any_load<Vec<double>>(sums + j);
      sum = sum + (w0 * widened(r0 + j) + w1 * widened(r1 + j)) + (w2 * widened(r2 + j) + w3 * widened(r3 + j));
      memcpy(sums + j, &sum, sizeof sum);
    }
    for (; j < to; ++j)
      sums[j] = sums[j] + (weights[i] * double(r0[j]) + weights[i + 1] * double(r1[j])) +
                (weights[i + 2] * double(r2[j]) + weights[i + 3] * double(r3[j]));
  }
  for (; i < count; ++i)
    for (Index j = from; j < to; ++j) sums[j] += weights[i] * double(rows[i][j]);
}

}  // namespace
}  // namespace mercer
