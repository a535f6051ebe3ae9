// A tile of a product of stored matrices, compiled once per instruction set.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

// out += factor * A' B for strip_rows columns of A and a panel of columns of B, packed as [k][column]; rows of out lie
// `step` apart, anywhere in memory.
template <class T>
void update_tile(const T* strip, const T* panel, Index depth, T factor, T* out, Index step) {
  typedef Vec<T> V;
  constexpr int R = strip_rows, P = panel_vectors, W = width<T>, wide = panel_width<T>;
#if defined(__GNUC__)
  MERCER_UNROLL
  for (int r = 0; r < R; ++r) {
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) __builtin_prefetch(out + r * step + p * W, 1, 3);
  }
#endif
  V sum[R][P];
  MERCER_UNROLL
  for (int r = 0; r < R; ++r) {
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) sum[r][p] = V{};
  }
  for (Index k = 0; k < depth; ++k, strip += R, panel += wide) {
    V known[P];
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) known[p] = load(panel + p * W);
    MERCER_UNROLL
    for (int r = 0; r < R; ++r) {
      const V entry = splat<T>(strip[r]);
      MERCER_UNROLL
      for (int p = 0; p < P; ++p) sum[r][p] = sum[r][p] + entry * known[p];
    }
  }
  MERCER_UNROLL
  for (int r = 0; r < R; ++r) {
    MERCER_UNROLL
    for (int p = 0; p < P; ++p) {
      T* const place = out + r * step + p * W;
      V total;
      memcpy(&total, place, sizeof total);
      total = total + sum[r][p] * splat<T>(factor);
      memcpy(place, &total, sizeof total);
    }
  }
}

}  // namespace
}  // namespace mercer
