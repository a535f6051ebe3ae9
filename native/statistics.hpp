// Statistics of pairs of points: sums over dimensions of something simple in a_k and b_k.
//
// The micro-kernel holds strip_rows x panel_vectors sums in registers and walks the dimensions once,
// broadcasting a coordinate of each row against a panel of columns; nothing but the panel is loaded
// twice.  A squared distance in many dimensions costs half as much through the dot product,
// |a|^2 + |b|^2 - 2 a.b, at the price of cancellation for near neighbours: those lanes are found by
// comparing with the norms, and computed again by differences.  Sums start at half of the norms, and the
// product is subtracted from them, so that little but additions is left to be done at the end.
#pragma once

#include "bits.hpp"
#include "math.hpp"

namespace mercer {
namespace {

template <class T>
using Tile = Vec<T>[strip_rows][panel_vectors];

template <Kind kind, bool expanded, class T>
MERCER_INLINE void accumulate(Vec<T>& sum, Vec<T> a, Vec<T> b) {
  if constexpr (expanded) {
    sum = multiply_subtract(a, b, sum);
  } else if constexpr (kind == Kind::dot) {
    sum = multiply_add(a, b, sum);
  } else if constexpr (kind == Kind::sqdist) {
    const Vec<T> t = a - b;
    sum = multiply_add(t, t, sum);
  } else if constexpr (kind == Kind::absdist) {
    sum = sum + absolute<T>(a - b);
  } else if constexpr (kind == Kind::chi2) {
    const Vec<T> t = a - b, total = a + b;
    sum = sum + select<T>(total == Vec<T>{}, Vec<T>{}, t * t / total);
  } else if constexpr (kind == Kind::min) {
    sum = sum + minimum(a, b);
  } else {
    sum = sum + select<T>(a == b, splat<T>(T(1)), Vec<T>{});
  }
}

template <class T>
MERCER_INLINE void clear(Tile<T>& sum) {
  MERCER_UNROLL for (int i = 0; i < strip_rows; ++i)
    MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) sum[i][v] = Vec<T>{};
}

// Adds to the sums what the dimensions contribute.
template <Kind kind, bool expanded, class T>
MERCER_INLINE void micro_kernel(const T* a, Index a_step, const T* b, Index dimension, Tile<T>& sum) {
  for (Index k = 0; k < dimension; ++k) {
    Vec<T> column[panel_vectors];
    MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) column[v] = load(b + v * width<T>);
    MERCER_UNROLL for (int i = 0; i < strip_rows; ++i) {
      const Vec<T> row = splat<T>(a[i]);
      MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) accumulate<kind, expanded, T>(sum[i][v], row, column[v]);
    }
    a += a_step;
    b += panel_width<T>;
  }
}

template <Kind kind, class T>
void plain_statistic(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
  const Index panel_size = s.dimension * panel_width<T>;
  for (Index p = 0; p < panels; ++p) {
    Tile<T> sum;
    clear<T>(sum);
    micro_kernel<kind, false, T>(s.rows, s.row_step, s.columns + (first_panel + p) * panel_size, s.dimension, sum);
    T* to = out + p * panel_width<T>;
    MERCER_UNROLL for (int i = 0; i < strip_rows; ++i)
      MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) store(to + i * step + v * width<T>, sum[i][v]);
  }
}

// A squared distance below this part of |a|^2 + |b|^2 has lost too many bits to cancellation.
template <class T>
constexpr T cancelled = T(1) / T(64);

// Rare, so out of line.  Norms that overflow fail as well.  A lane is replaced exactly when it fails the test, never
// because of its neighbours: an entry depends on its two points alone, whichever tile it is computed in.
template <class T>
MERCER_NOINLINE void repair(const StatisticView<T>& s, const T* b, const T* norms, T* to, Index step) {
  Flags<T> bad[strip_rows][panel_vectors];
  int failures = 0;
  for (int i = 0; i < strip_rows; ++i)
    for (int v = 0; v < panel_vectors; ++v) {
      const Vec<T> half = splat<T>(s.row_norms[i]) + load(norms + v * width<T>);
      bad[i][v] = not_above(load(to + i * step + v * width<T>), (half + half) * splat<T>(cancelled<T>));
      failures += any(bad[i][v]);
    }
  Tile<T> direct;
  const bool many = failures > strip_rows;
  clear<T>(direct);
  if (many) micro_kernel<Kind::sqdist, false, T>(s.rows, s.row_step, b, s.dimension, direct);
  for (int i = 0; i < strip_rows; ++i)
    for (int v = 0; v < panel_vectors; ++v) {
      if (!any(bad[i][v])) continue;
      if (!many) {
        Vec<T> sum{};
        for (Index k = 0; k < s.dimension; ++k)
          accumulate<Kind::sqdist, false, T>(sum, splat<T>(s.rows[k * s.row_step + i]),
                                      load(b + k * panel_width<T> + v * width<T>));
        direct[i][v] = sum;
      }
      T* place = to + i * step + v * width<T>;
      store(place, where(bad[i][v], direct[i][v], load(place)));
    }
}

// The test is that of `repair`, both sides of which are multiplied by powers of two here.
template <class T>
void expanded_sqdist(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
  const Index panel_size = s.dimension * panel_width<T>;
  const Vec<T> share = splat<T>(cancelled<T>);
  T limit[strip_rows];
  for (int i = 0; i < strip_rows; ++i) limit[i] = s.row_norms[i] * cancelled<T>;
  for (Index p = 0; p < panels; ++p) {
    const T* b = s.columns + (first_panel + p) * panel_size;
    const T* norms = s.column_norms + (first_panel + p) * panel_width<T>;
    T* to = out + p * panel_width<T>;
    Tile<T> half;
    MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v)
      MERCER_UNROLL for (int i = 0; i < strip_rows; ++i)
        half[i][v] = splat<T>(s.row_norms[i]) + load(norms + v * width<T>);
    micro_kernel<Kind::sqdist, true, T>(s.rows, s.row_step, b, s.dimension, half);
    Flags<T> bad{};
    MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) {
      const Vec<T> column_limit = load(norms + v * width<T>) * share;
      MERCER_UNROLL for (int i = 0; i < strip_rows; ++i) {
        bad = bad | not_above(half[i][v], splat<T>(limit[i]) + column_limit);
        store(to + i * step + v * width<T>, half[i][v] + half[i][v]);
      }
    }
    if (any(bad)) repair<T>(s, b, norms, to, step);
  }
}

// Powers cost so much more than loads that columns may be loaded once a row; a tile of them would not fit the registers.
template <class Power, class T>
void power_distance(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
  const Index panel_size = s.dimension * panel_width<T>;
  const Vec<T> exponent = splat<T>(s.exponent);
  for (Index p = 0; p < panels; ++p)
    for (int i = 0; i < strip_rows; ++i) {
      const T* b = s.columns + (first_panel + p) * panel_size;
      Vec<T> sum[panel_vectors] = {};
      for (Index k = 0; k < s.dimension; ++k, b += panel_width<T>) {
        const Vec<T> row = splat<T>(s.rows[k * s.row_step + i]);
        MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v)
          sum[v] = sum[v] + Power::template of<T>(absolute<T>(row - load(b + v * width<T>)), exponent);
      }
      MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v)
        store(out + i * step + p * panel_width<T> + v * width<T>, sum[v]);
    }
}

template <class T>
void statistic(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
  switch (s.kind) {
    case Kind::dot: return plain_statistic<Kind::dot, T>(s, first_panel, panels, out, step);
    case Kind::sqdist:
      if (s.expanded) return expanded_sqdist<T>(s, first_panel, panels, out, step);
      return plain_statistic<Kind::sqdist, T>(s, first_panel, panels, out, step);
    case Kind::absdist: return plain_statistic<Kind::absdist, T>(s, first_panel, panels, out, step);
    case Kind::powdist:
      if (s.exponent == T(0.5)) return power_distance<Half, T>(s, first_panel, panels, out, step);
      if (s.exponent == T(1.5)) return power_distance<ThreeHalves, T>(s, first_panel, panels, out, step);
      return power_distance<AnyPower, T>(s, first_panel, panels, out, step);
    case Kind::chi2: return plain_statistic<Kind::chi2, T>(s, first_panel, panels, out, step);
    case Kind::min: return plain_statistic<Kind::min, T>(s, first_panel, panels, out, step);
    case Kind::match: return plain_statistic<Kind::match, T>(s, first_panel, panels, out, step);
    case Kind::bits: return bit_statistic<T>(s, first_panel, panels, out, step);
  }
}

}  // namespace
}  // namespace mercer
