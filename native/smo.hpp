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
// Of the largest slope: violations from here on are far above what a single-precision sum loses over many steps.
constexpr double least_coarse = 1e-4;
// The squares of slopes between its reciprocal and this fit single precision, with room.
constexpr double most_coarse = 1e14;
// Variables whose numbers single precision still tells apart.
constexpr Index most_counted = Index(1) << 24;
// Steps on single-precision sums for each variable until the exact ones catch up, which takes about one for each.
constexpr Index coarse_steps = 16;

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

// Kernel values as numbers of type S, which are never less precise.
template <class S>
MERCER_INLINE Vec<S> widened(const S* p) { return any_load<Vec<S>>(p); }
template <class S, class = std::enable_if_t<std::is_same_v<S, double>>>
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
};

// The largest fraction above / below of each lane; below is never negative.  Fractions are compared by
// their cross products, because divisions are slow.
template <class S>
struct LaneBest {
  Vec<S> above, below = splat(S(1)), at = splat(S(-1));

  explicit LaneBest(S least) : above(splat(least)) {}
  MERCER_INLINE void see(Vec<S> x, Vec<S> index) {
    const Flags<S> better = not_at_least(above, x);
    above = where(better, x, above);
    at = where(better, index, at);
  }
  MERCER_INLINE void see_fraction(Vec<S> over, Vec<S> under, Vec<S> index) {
    const Flags<S> better = not_at_least(above * under, over * below);
    above = where(better, over, above);
    below = where(better, under, below);
    at = where(better, index, at);
  }
};

template <class S>
MERCER_INLINE Vec<S> lane_numbers() {
  S numbers[width<S>];
  for (int i = 0; i < width<S>; ++i) numbers[i] = S(i);
  return any_load<Vec<S>>(numbers);
}

// Chains of comparisons are long: several run side by side.
constexpr int chains = 4;

template <class S>
MERCER_INLINE S smallest_lane(Vec<S> v) {
  S lanes[width<S>];
  memcpy(lanes, &v, sizeof v);
  for (int half = width<S> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i + half] < lanes[i] ? lanes[i + half] : lanes[i];
  return lanes[0];
}

// The best of all lanes of all chains, of equal ones that with the smallest index.
template <class S>
MERCER_INLINE Best best_of(const LaneBest<S> (&best)[chains]) {
  Vec<S> value[chains], most, at = splat(S(infinite));
  MERCER_UNROLL for (int c = 0; c < chains; ++c) {
    value[c] = best[c].above / best[c].below;
    most = c ? maximum(value[c], most) : value[c];
  }
  const S top = -smallest_lane<S>(splat(S(0)) - most);
  MERCER_UNROLL for (int c = 0; c < chains; ++c)
    at = where(not_at_least(value[c], splat(top)), at, minimum(best[c].at, at));
  const S first = smallest_lane<S>(at);
  return {double(top), first < S(infinite) ? Index(first) : -1};
}

// body(first of a vector, its lane numbers, chain) for whole vectors of [from, to); returns where they end.
template <class S, class F>
MERCER_INLINE Index for_vectors(Index from, Index to, F body) {
  constexpr int w = width<S>;
  Vec<S> index[chains];
  MERCER_UNROLL for (int c = 0; c < chains; ++c) index[c] = lane_numbers<S>() + splat(S(from + c * w));
  const Vec<S> far = splat(S(chains * w));
  Index k = from;
  for (; k + chains * w <= to; k += chains * w)
    MERCER_UNROLL for (int c = 0; c < chains; ++c) {
      body(k + c * w, index[c], c);
      index[c] = index[c] + far;
    }
  for (int c = 0; k + w <= to; k += w, ++c) body(k, lane_numbers<S>() + splat(S(k)), c % chains);
  return k;
}

// What a step reads and writes for every variable, in the precision S of its sums.
template <class S>
struct SmoSums {
  S *slope, *rise, *fall;
  const S* diagonal;
};

// Adds -step (K_i - K_j) to the slopes of [from, to) and finds the largest rise and the smallest fall on
// the way; without rows it only looks.
template <class T, class S>
MERCER_INLINE void update_and_scan(const SmoSums<S>& s, const T* Ki, const T* Kj, double step, Index from, Index to,
                                   Best& up, double& down) {
  constexpr S least = S(-infinite);
  LaneBest<S> best[chains] = {LaneBest<S>(least), LaneBest<S>(least), LaneBest<S>(least), LaneBest<S>(least)};
  Vec<S> lowest[chains];
  MERCER_UNROLL for (int c = 0; c < chains; ++c) lowest[c] = splat(S(infinite));
  const Vec<S> factor = splat(S(step));
  const auto look = [&](Index k, Vec<S> index, int c, Vec<S> slope) MERCER_LAMBDA {
    best[c].see(slope + any_load<Vec<S>>(s.rise + k), index);
    lowest[c] = minimum(slope + any_load<Vec<S>>(s.fall + k), lowest[c]);
  };
  Index k;
  if (Ki)
    k = for_vectors<S>(from, to, [&](Index k, Vec<S> index, int c) MERCER_LAMBDA {
      const Vec<S> slope = any_load<Vec<S>>(s.slope + k) - factor * (widened<S>(Ki + k) - widened<S>(Kj + k));
      memcpy(s.slope + k, &slope, sizeof slope);
      look(k, index, c, slope);
    });
  else
    k = for_vectors<S>(from, to, [&](Index k, Vec<S> index, int c) MERCER_LAMBDA {
      look(k, index, c, any_load<Vec<S>>(s.slope + k));
    });
  up = best_of(best);
  MERCER_UNROLL for (int c = 1; c < chains; ++c) lowest[0] = minimum(lowest[c], lowest[0]);
  down = double(smallest_lane<S>(lowest[0]));
  for (; k < to; ++k) {
    if (Ki) s.slope[k] -= S(step) * (S(Ki[k]) - S(Kj[k]));
    const double rise = double(s.slope[k] + s.rise[k]), fall = double(s.slope[k] + s.fall[k]);
    if (rise > up.value) up = {rise, k};
    if (fall < down) down = fall;
  }
}

// The partner of i: the largest gain^2 / curvature among those that give up less than i gains.
template <class T, class S>
MERCER_INLINE Index partner(const SmoSums<S>& s, const T* Ki, Index i, double rise, Index from, Index to) {
  LaneBest<S> best[chains] = {LaneBest<S>(0), LaneBest<S>(0), LaneBest<S>(0), LaneBest<S>(0)};
  const Vec<S> top = splat(S(rise)), own = splat(s.diagonal[i]), two = splat(S(2)), share = splat(S(least_curvature)),
               zero = splat(S(0));
  Index k = for_vectors<S>(from, to, [&](Index k, Vec<S> index, int c) MERCER_LAMBDA {
    const Vec<S> fall = any_load<Vec<S>>(s.slope + k) + any_load<Vec<S>>(s.fall + k);
    const Vec<S> gain = maximum(top - fall, zero);
    const Vec<S> both = own + any_load<Vec<S>>(s.diagonal + k);
    const Vec<S> curvature = maximum(maximum(both - two * widened<S>(Ki + k), share * both), zero);
    best[c].see_fraction(gain * gain, curvature, index);
  });
  Best found = best_of(best);
  for (; k < to; ++k) {
    const double gain = rise - double(s.slope[k] + s.fall[k]);
    if (!(gain > 0)) continue;
    const double value = gain * gain / curvature_of(double(s.diagonal[i]) + double(s.diagonal[k]), double(Ki[k]));
    if (value > found.value) found = {value, k};
  }
  return found.at;
}

template <class T, class S>
MERCER_INLINE void mark(const SmoArguments<T>& a, const SmoSums<S>& s, Index i) {
  const double b = a.beta[i];
  s.rise[i] = S(b < a.upper[i] ? (b >= 0 ? -a.epsilon : a.epsilon) : -infinite);
  s.fall[i] = S(b > a.lower[i] ? (b > 0 ? -a.epsilon : a.epsilon) : infinite);
}

// Steps until the violation, as these sums tell it, is small enough.
template <class T, class S>
SmoResult take_steps(const SmoArguments<T>& a, const SmoSums<S>& s, Index most) {
  for (Index i = 0; i < a.n; ++i) mark(a, s, i);
  const Index ends[3] = {0, a.second, a.n};
  const T *Ki = nullptr, *Kj = nullptr;
  double step = 0;
  for (Index count = 0;; ++count) {
    Best rises[2];
    double falls[2], violation = -infinite;
    int group = 0;
    for (int g = 0; g < 2; ++g) {
      if (ends[g] == ends[g + 1]) continue;
      update_and_scan(s, Ki, Kj, step, ends[g], ends[g + 1], rises[g], falls[g]);
      if (rises[g].value - falls[g] > violation) {
        violation = rises[g].value - falls[g];
        group = g;
      }
    }
    if (!(violation > a.tolerance) || count >= most) return {count, violation};
    const Index i = rises[group].at;
    const Index j =
        i < 0 ? i : partner(s, a.K + i * a.K_step, i, rises[group].value, ends[group], ends[group + 1]);
    if (i < 0 || j < 0 || i == j) return {count, violation};
    Ki = a.K + i * a.K_step;
    Kj = a.K + j * a.K_step;
    step = (rises[group].value - double(s.slope[j] + s.fall[j])) /
           curvature_of(a.diagonal[i] + a.diagonal[j], double(Ki[j]));
    // Coefficients stop at the box, and at 0 where epsilon puts a kink.
    const bool kink = a.epsilon > 0;
    const double end_i = kink && a.beta[i] < 0 ? 0.0 : a.upper[i], end_j = kink && a.beta[j] > 0 ? 0.0 : a.lower[j];
    const double room_i = end_i - a.beta[i], room_j = a.beta[j] - end_j;
    if (room_i < step) step = room_i;
    if (room_j < step) step = room_j;
    a.beta[i] = step == room_i ? end_i : a.beta[i] + step;
    a.beta[j] = step == room_j ? end_j : a.beta[j] - step;
    mark(a, s, i);
    mark(a, s, j);
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
      sum = sum + (w0 * widened<double>(r0 + j) + w1 * widened<double>(r1 + j)) + (w2 * widened<double>(r2 + j) + w3 * widened<double>(r3 + j));
      memcpy(sums + j, &sum, sizeof sum);
    }
    for (; j < to; ++j)
      sums[j] = sums[j] + (weights[i] * double(r0[j]) + weights[i + 1] * double(r1[j])) +
                (weights[i + 2] * double(r2[j]) + weights[i + 3] * double(r3[j]));
  }
  for (; i < count; ++i)
    for (Index j = from; j < to; ++j) sums[j] += weights[i] * double(rows[i][j]);
}

// slope -= K (beta - before): what steps that kept other sums have done to these.
template <class T>
MERCER_INLINE void carry_changes(const SmoArguments<T>& a, const double* before) {
  constexpr Index most = 64;
  const T* rows[most];
  double weights[most];
  Index count = 0;
  for (Index i = 0; i < a.n; ++i) {
    if (a.beta[i] != before[i]) {
      rows[count] = a.K + i * a.K_step;
      weights[count++] = before[i] - a.beta[i];
    }
    if (count == most || i + 1 == a.n) {
      weigh_rows(rows, weights, count, a.slope, 0, a.n);
      count = 0;
    }
  }
}

// By how much the objective has fallen since `beta` and `slope`: the slope along a line is linear.
template <class T>
double decrease_since(const SmoArguments<T>& a, const double* beta, const double* slope) {
  const auto size = [](double b) { return b < 0 ? -b : b; };
  double total = 0;
  for (Index i = 0; i < a.n; ++i)
    total += 0.5 * (slope[i] + a.slope[i]) * (a.beta[i] - beta[i]) - a.epsilon * (size(a.beta[i]) - size(beta[i]));
  return total;
}

// Whether single-precision sums tell violations of the tolerance from their own rounding.
template <class T>
bool fits_single(const SmoArguments<T>& a) {
  double size = 0;
  for (Index i = 0; i < a.n; ++i) size = a.slope[i] > size ? a.slope[i] : -a.slope[i] > size ? -a.slope[i] : size;
  const bool fits = size < most_coarse && size > 1 / most_coarse && a.n < most_counted;
  return fits && a.tolerance >= least_coarse * (size + a.epsilon);
}

// Far from the solution the slopes need few digits, and a step on single-precision sums takes half the time:
// it reads half as much.  What they hide is seen when the exact slopes have caught up, which they do now and then:
// slopes that have grown on the way, or steps that no longer lower the objective, are left to the exact ones.
inline Index step_coarsely(const SmoArguments<double>&) { return 0; }
inline Index step_coarsely(const SmoArguments<float>& a) {
  float *slope = a.single, *rise = slope + a.n, *fall = rise + a.n, *diagonal = fall + a.n;
  Index count = 0;
  while (count < a.max_iter && fits_single(a)) {
    for (Index i = 0; i < a.n; ++i) {
      slope[i] = float(a.slope[i]);
      diagonal[i] = float(a.diagonal[i]);
      a.rise[i] = a.beta[i];
      a.fall[i] = a.slope[i];
    }
    const Index most = coarse_steps * a.n < a.max_iter - count ? coarse_steps * a.n : a.max_iter - count;
    const Index steps = take_steps(a, SmoSums<float>{slope, rise, fall, diagonal}, most).count;
    count += steps;
    if (steps) carry_changes(a, a.rise);
    if (steps < most || !(decrease_since(a, a.rise, a.fall) > 0)) break;
  }
  return count;
}

template <class T>
SmoResult smo(const SmoArguments<T>& a) {
  const Index before = step_coarsely(a);
  const SmoResult found = take_steps(a, SmoSums<double>{a.slope, a.rise, a.fall, a.diagonal}, a.max_iter - before);
  return {before + found.count, found.violation};
}

}  // namespace
}  // namespace mercer
