// The inner loops of the search for the nearest points, compiled once per instruction set (MERCER_ISA names it).
#include "nearest.hpp"

#include "vec.hpp"

namespace mercer {
namespace {

constexpr int part = panel_width<float>;
static_assert(nearest_columns % part == 0 && nearest_rows % strip_rows == 0, "whole panels and strips");

// Whether a strip of rows has a value below its limit in a part of a panel; values are written in any case.
MERCER_INLINE bool compare_part(const NearestArguments& a, const float* columns, const float* norms, int first,
                                float* values) {
  Vec<float> sum[strip_rows][panel_vectors];
  MERCER_UNROLL
  for (int i = 0; i < strip_rows; ++i) {
    MERCER_UNROLL
    for (int p = 0; p < panel_vectors; ++p) sum[i][p] = load(norms + p * width<float>);
  }
  for (Index k = 0; k < a.dimension; ++k) {
    Vec<float> b[panel_vectors];
    MERCER_UNROLL
    for (int p = 0; p < panel_vectors; ++p) b[p] = load(columns + k * nearest_columns + p * width<float>);
    MERCER_UNROLL
    for (int i = 0; i < strip_rows; ++i) {
      const Vec<float> x = splat(a.rows[k * nearest_rows + first + i]);
      MERCER_UNROLL
      for (int p = 0; p < panel_vectors; ++p) sum[i][p] = multiply_add(x, b[p], sum[i][p]);
    }
  }
  bool found = false;
  MERCER_UNROLL
  for (int i = 0; i < strip_rows; ++i) {
    Vec<float> least = sum[i][0];
    MERCER_UNROLL
    for (int p = 1; p < panel_vectors; ++p) least = minimum(sum[i][p], least);
    found |= any(not_at_least(least, splat(a.limit[first + i])));
  }
  if (!found) return false;
  MERCER_UNROLL
  for (int i = 0; i < strip_rows; ++i) {
    MERCER_UNROLL
    for (int p = 0; p < panel_vectors; ++p) store(values + i * nearest_columns + p * width<float>, sum[i][p]);
  }
  return true;
}

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)

void MERCER_JOIN(compare_points_, MERCER_ISA)(const NearestArguments& a) {
  alignas(64) float values[strip_rows * nearest_columns];
  for (Index panel = a.first_panel; panel < a.first_panel + a.panels; ++panel) {
    const float* columns = a.columns + panel * a.dimension * nearest_columns;
    const float* norms = a.norms + panel * nearest_columns;
    for (int first = 0; first < int(nearest_rows); first += strip_rows) {
      for (Index at = 0; at < nearest_columns; at += part) {
        for (Index i = 0; part < nearest_columns && i < strip_rows * nearest_columns; ++i) values[i] = INFINITY;
        if (!compare_part(a, columns + at, norms + at, first, values + at)) continue;
        for (int i = 0; i < strip_rows; ++i) a.offer(a.owner, first + i, panel, values + i * nearest_columns);
      }
    }
  }
}

}  // namespace mercer
