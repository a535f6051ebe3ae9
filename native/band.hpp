// One step of a triangular system with a band, for a panel of right-hand sides; compiled once per instruction set.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

// x = D^-1 (right - A w) for strip_rows rows (A, D) of the triangle, where w are the `before` rows of the solution
// above them; the window is followed by the place of x.  `rows` is A by columns, [column][row], then D by columns, with
// reciprocals on its diagonal.  Rows of right-hand sides lie right_step apart, anywhere in memory.
template <class T>
void band_step(const T* rows, Index before, const T* right, Index right_step, T* window, T* squares) {
  typedef Vec<T> V;
  constexpr int R = strip_rows, P = panel_vectors, W = width<T>, panel = panel_width<T>;
  V x[R][P];
  MERCER_UNROLL
  for (int r = 0; r < R; ++r) {
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) memcpy(&x[r][p], right + r * right_step + p * W, sizeof(V));
  }
  for (Index k = 0; k < before; ++k, rows += R, window += panel) {
    V known[P];
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) known[p] = load(window + p * W);
    MERCER_UNROLL
    for (int r = 0; r < R; ++r) {
      const V entry = splat<T>(rows[r]);
      MERCER_UNROLL
      for (int p = 0; p < P; ++p) x[r][p] = x[r][p] - entry * known[p];
    }
  }
  MERCER_UNROLL
  for (int k = 0; k < R; ++k, rows += R, window += panel) {
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) {
      x[k][p] = x[k][p] * splat<T>(rows[k]);
      store(window + p * W, x[k][p]);
    }
    MERCER_UNROLL
    for (int r = k + 1; r < R; ++r) {
      const V entry = splat<T>(rows[r]);
      MERCER_UNROLL
      for (int p = 0; p < P; ++p) x[r][p] = x[r][p] - entry * x[k][p];
    }
  }
  MERCER_UNROLL
  for (int p = 0; p < P; ++p) {
    V sum = load(squares + p * W);
    MERCER_UNROLL
    for (int r = 0; r < R; ++r) sum = sum + x[r][p] * x[r][p];
    store(squares + p * W, sum);
  }
}

}  // namespace
}  // namespace mercer
