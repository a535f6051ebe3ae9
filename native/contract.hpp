// Contraction of a strip with right-hand sides, in both directions at once.
//
// Lanes run along the columns.  Each number of the strip is loaded once per right-hand side and used for
// the row sums (K v) and, off the diagonal of a symmetric matrix, for the column sums (K^T v), whose
// vector is loaded and stored once for all rows of the strip.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

// `rows` rows of the strip with `sides` right-hand sides: rows x sides sums live in registers, and as many
// weights when scattering.  Two right-hand sides at once halve the loads of the strip, and fewer rows keep
// the chain of additions into one column sum short; both matter more than the extra pass over the columns.
template <bool scatter, int rows, int sides, class T>
MERCER_INLINE void contract_rows(const ContractArguments<T>& c, Index first_side, int first_row) {
  const Index step = c.K_step, columns = c.columns;
  const T* K = c.K + first_row * step;
  const T* v_columns = c.v_columns + first_side * c.v_step;
  T* scattered = scatter ? c.scattered + first_side * c.scattered_step : nullptr;
  Vec<T> sum[sides][rows], weight[sides][rows];
  MERCER_UNROLL for (int s = 0; s < sides; ++s)
    MERCER_UNROLL for (int i = 0; i < rows; ++i) {
      sum[s][i] = Vec<T>{};
      if constexpr (scatter) weight[s][i] = splat<T>(c.v_rows[(first_side + s) * c.v_step + first_row + i]);
    }
  for (Index j = 0; j < columns; j += width<T>) {
    Vec<T> v[sides], down[sides];
    MERCER_UNROLL for (int s = 0; s < sides; ++s) {
      v[s] = load(v_columns + s * c.v_step + j);
      if constexpr (scatter) down[s] = load(scattered + s * c.scattered_step + j);
    }
    MERCER_UNROLL for (int i = 0; i < rows; ++i) {
      const Vec<T> k = load(K + i * step + j);
      MERCER_UNROLL for (int s = 0; s < sides; ++s) {
        sum[s][i] = k * v[s] + sum[s][i];
        if constexpr (scatter) down[s] = k * weight[s][i] + down[s];
      }
    }
    if constexpr (scatter)
      MERCER_UNROLL for (int s = 0; s < sides; ++s) store(scattered + s * c.scattered_step + j, down[s]);
  }
  MERCER_UNROLL for (int s = 0; s < sides; ++s)
    MERCER_UNROLL for (int i = 0; i < rows; ++i)
      c.sums[(first_side + s) * row_block + first_row + i] += double(lane_sum<T>(sum[s][i]));
}

template <bool scatter, class T>
void contract(const ContractArguments<T>& c) {
  constexpr int together = MERCER_SIDES, rows = strip_rows / together;
  Index side = 0;
  for (; side + together <= c.right_hand_sides; side += together)
    for (int row = 0; row < strip_rows; row += rows) contract_rows<scatter, rows, together, T>(c, side, row);
  for (; side < c.right_hand_sides; ++side) contract_rows<scatter, strip_rows, 1, T>(c, side, 0);
}

// The column sums alone, of one right-hand side: sums[j] += sum_i K[i, j] v_rows[i].  The few rows of a strip
// are summed in T, everything else in double: weights of one sign add up to sums that have no digits to lose.
template <class T>
void scatter(const ContractArguments<T>& c) {
  Vec<T> weight[strip_rows];
  MERCER_UNROLL for (int i = 0; i < strip_rows; ++i) weight[i] = splat<T>(c.v_rows[i]);
  for (Index j = 0; j < c.columns; j += width<T>) {
    Vec<T> even = Vec<T>{}, odd = Vec<T>{};
    MERCER_UNROLL for (int i = 0; i < strip_rows; i += 2) {
      even = load(c.K + i * c.K_step + j) * weight[i] + even;
      odd = load(c.K + (i + 1) * c.K_step + j) * weight[i + 1] + odd;
    }
    add_widened(c.sums + j, even + odd);
  }
}

template <class T>
void widen_add(const T* from, double* to, Index count) {
  for (Index j = 0; j < count; ++j) to[j] += double(from[j]);
}

}  // namespace
}  // namespace mercer
