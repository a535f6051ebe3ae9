// The inner loops of the programmes over pairs of series, compiled once per instruction set (MERCER_ISA names it).
//
// Signatures.  A segment v of a piecewise linear path has the signature exp(v), of which `order` terms are taken, and a
// path has the product of those of its segments.  Inner products are sums over words of pairs (i, j) of segments that
// do not go back in either path; a segment that is repeated r times at the end of a word has the weight 1 / r!.  With
// T(r, s) the sum over words that end at (i, j), where i was taken r times and j s times in a row,
//   T(1, 1) = a k(i, j),   T(r, 1) = a / r R(r - 1),   T(1, s) = a / s C(s - 1),   T(r, s) = a / (r s) T(r - 1, s - 1),
// where a = <v_i, w_j>, k(i, j) is the inner product of what lies before both segments, R sums T over earlier columns
// of the row, and C over earlier rows of the column.  Every sum is of words with product weights, whatever the order.
#include "paths.hpp"

#include "vec.hpp"

namespace mercer {
namespace {

typedef Vec<double> V;
constexpr int parts = int(path_lanes) / width<double>;
static_assert(parts * width<double> == path_lanes, "whole vectors");

// Arrays of Python need not begin where a vector would.
MERCER_INLINE V read(const double* from) {
  V v;
  memcpy(&v, from, sizeof v);
  return v;
}
MERCER_INLINE void write(double* to, V v) { memcpy(to, &v, sizeof v); }

struct Reciprocals {
  double of[most_orders + 1];
  Reciprocals() {
    of[0] = 0;
    for (int r = 1; r <= int(most_orders); ++r) of[r] = 1.0 / r;
  }
};

void multiply_rows(const PathArguments& a, Index row) {
  const double* x = a.rows + row * a.dimension;
  for (Index j = 0; j < a.column_count; ++j) {
    const double* z = a.columns + j * a.dimension * path_lanes;
    MERCER_UNROLL
    for (int p = 0; p < parts; ++p) {
      V sum{};
      for (Index c = 0; c < a.dimension; ++c)
        sum = multiply_add(splat(x[c]), read(z + c * path_lanes + p * width<double>), sum);
      write(a.scratch + j * path_lanes + p * width<double>, sum);
    }
  }
}

void measure_rows(const PathArguments& a, Index row, Index begin, Index end) {
  const double* x = a.rows + row * a.dimension;
  for (Index j = begin; j < end; ++j) {
    const double* z = a.columns + j * a.dimension * path_lanes;
    MERCER_UNROLL
    for (int p = 0; p < parts; ++p) {
      V sum{};
      for (Index c = 0; c < a.dimension; ++c) {
        const V gap = splat(x[c]) - read(z + c * path_lanes + p * width<double>);
        sum = multiply_add(gap, gap, sum);
      }
      write(a.scratch + j * path_lanes + p * width<double>, sum);
    }
  }
}

// Increments of the static kernel in both arguments.
void difference_table(const PathArguments& a, Index row) {
  for (Index lane = 0; lane < path_lanes; ++lane) {
    const Index count = Index(a.lane_count[lane]);
    const double* now = a.table + row * a.table_step + a.lane_begin[lane];
    const double* next = now + a.table_step;
    double* to = a.scratch + lane;
    for (Index j = 0; j < count; ++j) to[j * path_lanes] = (next[j + 1] - now[j + 1]) - (next[j] - now[j]);
    for (Index j = count; j < a.column_count; ++j) to[j * path_lanes] = 0;
  }
}

// One row for one vector of lanes.  `fixed` is the order where the compiler shall know it, else 0.
template <int fixed>
MERCER_INLINE void sum_words(const PathArguments& a, const Reciprocals& one_over, int p) {
  constexpr int most = fixed ? fixed : int(most_orders);
  const int order = fixed ? fixed : int(a.step.order);
  V R[most + 1], T[most + 1][most + 1];
  for (int r = 0; r <= order; ++r) R[r] = V{};
  V left = splat(1.0), diagonal = left;
  double* state = a.state + p * width<double>;
  const double* products = a.scratch + p * width<double>;
  for (Index j = 0; j < a.column_count; ++j, state += order * path_lanes, products += path_lanes) {
    const V step = read(products), up = read(state);
    V total = step * diagonal;
    T[1][1] = total;
    MERCER_UNROLL
    for (int r = 2; r <= order; ++r) {
      const V part = step * splat(one_over.of[r]);
      T[r][1] = part * R[r - 1];
      T[1][r] = part * read(state + (r - 1) * path_lanes);
    }
    MERCER_UNROLL
    for (int r = 2; r <= order; ++r) {
      const V part = step * splat(one_over.of[r]);
      MERCER_UNROLL
      for (int s = 2; s <= order; ++s) T[r][s] = part * splat(one_over.of[s]) * T[r - 1][s - 1];
    }
    MERCER_UNROLL
    for (int r = 1; r <= order; ++r) {
      V across = T[r][1];
      MERCER_UNROLL
      for (int s = 2; s <= order; ++s) across = across + T[r][s];
      total = r == 1 ? across : total + across;
      if (r == order) break;
      V down = T[1][r];
      MERCER_UNROLL
      for (int s = 2; s <= order; ++s) down = down + T[s][r];
      R[r] = R[r] + across;
      double* const column = state + r * path_lanes;
      write(column, read(column) + down);
    }
    left = left + ((up - diagonal) + total);
    diagonal = up;
    write(state, left);
  }
}

// The same by levels: words of every length up to `levels` apart.
void sum_words_by_level(const PathArguments& a, const Reciprocals& one_over, int p) {
  constexpr int most = int(most_orders);
  const int levels = int(a.step.levels), order = int(a.step.order);
  V R[most + 1][most + 1], T[2][most + 1][most + 1], left[most + 1], diagonal[most + 1];
  for (int m = 0; m <= levels; ++m) {
    left[m] = diagonal[m] = m ? V{} : splat(1.0);
    for (int r = 0; r <= order; ++r) R[m][r] = V{};
  }
  double* state = a.state + p * width<double>;
  const double* products = a.scratch + p * width<double>;
  for (Index j = 0; j < a.column_count; ++j, state += a.step.width * path_lanes, products += path_lanes) {
    const V step = read(products);
    const auto column = [&](int m, int s) { return state + ((m - 1) * order + s) * path_lanes; };
    // Sums of a level are brought up to date when the level above has read them.
    const auto update = [&](int m) {
      const auto& t = T[m & 1];
      const int many = m < order ? m : order;
      V total{};
      for (int r = 1; r <= many; ++r) {
        V across = t[r][1], down = t[1][r];
        for (int s = 2; s <= many; ++s) across = across + t[r][s], down = down + t[s][r];
        total = total + across;
        if (r == order) break;
        R[m][r] = R[m][r] + across;
        write(column(m, r), read(column(m, r)) + down);
      }
      const V up = read(column(m, 0));
      left[m] = left[m] + ((up - diagonal[m]) + total);
      diagonal[m] = up;
      write(column(m, 0), left[m]);
    };
    for (int m = 1; m <= levels; ++m) {
      auto& t = T[m & 1];
      const auto& below = T[(m - 1) & 1];
      const int many = m < order ? m : order;
      t[1][1] = step * diagonal[m - 1];
      for (int r = 2; r <= many; ++r) {
        const V part = step * splat(one_over.of[r]);
        t[r][1] = part * R[m - 1][r - 1];
        t[1][r] = part * read(column(m - 1, r - 1));
        for (int s = 2; s <= many; ++s) t[r][s] = part * splat(one_over.of[s]) * below[r - 1][s - 1];
      }
      if (m > 1) update(m - 1);
    }
    update(levels);
  }
}

void add_signatures(const PathArguments& a) {
  const Reciprocals one_over;
  for (Index row = 0; row < a.row_count; ++row) {
    if (a.table) difference_table(a, row);
    else multiply_rows(a, row);
    for (int p = 0; p < parts; ++p) {
      if (a.step.programme == Programme::truncated) {
        sum_words_by_level(a, one_over, p);
        continue;
      }
      switch (a.step.order) {
        case 1: sum_words<1>(a, one_over, p); break;
        case 2: sum_words<2>(a, one_over, p); break;
        case 3: sum_words<3>(a, one_over, p); break;
        case 4: sum_words<4>(a, one_over, p); break;
        default: sum_words<0>(a, one_over, p);
      }
    }
  }
}

// The cheapest way to each pair of elements.  Columns outside the band of a row cost infinity.
void warp(const PathArguments& a) {
  const V infinity = splat(HUGE_VAL);
  double widest = 0;
  for (Index lane = 0; a.band && lane < path_lanes; ++lane) widest = a.band[lane] > widest ? a.band[lane] : widest;
  const Index reach = a.band && widest < double(a.first_row + a.row_count + a.column_count)
                          ? Index(widest)
                          : a.first_row + a.row_count + a.column_count;
  for (Index row = 0; row < a.row_count; ++row) {
    const Index i = a.first_row + row;
    const Index begin = i > reach ? i - reach : 0;
    const Index end = i + reach + 1 < a.column_count ? i + reach + 1 : a.column_count;
    if (begin >= end) continue;
    measure_rows(a, row, begin, end);
    for (int p = 0; p < parts; ++p) {
      double* state = a.state + begin * path_lanes + p * width<double>;
      const double* costs = a.scratch + begin * path_lanes + p * width<double>;
      V left = infinity, diagonal = i == 0 ? V{} : infinity;
      if (begin > 0) {
        diagonal = read(state - path_lanes);
        write(state - path_lanes, infinity);
      }
      const V band = a.band ? read(a.band + p * width<double>) : infinity;
      for (Index j = begin; j < end; ++j, state += path_lanes, costs += path_lanes) {
        const V up = read(state);
        left = read(costs) + minimum(minimum(up, diagonal), left);
        if (a.band) left = select<double>(band >= splat(double(i > j ? i - j : j - i)), left, infinity);
        diagonal = up;
        write(state, left);
      }
    }
  }
}

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)

void MERCER_JOIN(advance_paths_, MERCER_ISA)(const PathArguments& a) {
  if (a.step.programme == Programme::warping) warp(a);
  else add_signatures(a);
}

}  // namespace mercer
