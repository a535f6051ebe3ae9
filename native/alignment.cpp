// M(i, j) = kappa(i, j) (M(i-1, j-1) + M(i-1, j) + M(i, j-1)), kappa = g / (2 - g) or g, g = exp(-|x_i - z_j|^2 / 2).
//
// The number of alignments grows like 5.8^length and kappa falls without bound, so that plain numbers would overflow
// or vanish.  A wide number does neither and is nearly as fast, because neighbours mostly have the same scale.
#include "alignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

constexpr double step = 0x1p256, inverse_step = 0x1p-256;
constexpr double log_step = 256 * 0.69314718055994530942;
constexpr double none = -std::numeric_limits<double>::infinity();  // the scale of zero

// 2^(-256 gap) for a whole number gap >= 0.
inline double shrink(double gap) {
  return gap == 0 ? 1.0 : gap == 1 ? inverse_step : gap == 2 ? 0x1p-512 : gap == 3 ? 0x1p-768 : 0.0;
}

inline WideNumber sum(const WideNumber& diagonal, const WideNumber& up, const WideNumber& left) {
  // The element on the left is known last.
  if (diagonal.scale == up.scale && up.scale == left.scale) return {(diagonal.value + up.value) + left.value, up.scale};
  const double scale = std::max(diagonal.scale, std::max(up.scale, left.scale));
  const auto part = [scale](const WideNumber& c) { return c.value == 0 ? 0.0 : c.value * shrink(scale - c.scale); };
  return {(part(diagonal) + part(up)) + part(left), scale};
}

inline WideNumber local(double half_square, bool plain) {
  if (!(half_square < 1e300)) return {0.0, none};
  const double steps = half_square < log_step ? 0.0 : std::floor(half_square / log_step);
  const double g = std::exp(-(half_square - steps * log_step));
  if (plain) return {g, -steps};
  return {g / (2.0 - (steps == 0 ? g : 0.0)), -steps};
}

inline WideNumber times(const WideNumber& a, const WideNumber& b) {
  WideNumber c{a.value * b.value, a.scale + b.scale};
  if (c.value == 0) return {0.0, none};
  if (c.value < inverse_step) {
    c.value *= step;
    c.scale -= 1;
  } else if (c.value >= step) {
    c.value *= inverse_step;
    c.scale += 1;
  }
  return c;
}

}  // namespace

double log_alignments(const double* x, int64_t p, const double* z, int64_t q, int64_t d, bool plain,
                      WideNumber* scratch) {
  WideNumber *row = scratch, *kappa = scratch + q + 1;
  for (int64_t j = 0; j <= q; ++j) row[j] = {0.0, none};
  row[0] = {1.0, 0.0};
  for (int64_t i = 0; i < p; ++i) {
    const double* a = x + i * d;
    for (int64_t j = 0; j < q; ++j) {
      const double* b = z + j * d;
      double square = 0;
      for (int64_t c = 0; c < d; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
      kappa[j] = local(0.5 * square, plain);
    }
    WideNumber diagonal = row[0], left{0.0, none};
    row[0] = left;
    for (int64_t j = 0; j < q; ++j) {
      const WideNumber up = row[j + 1];
      left = times(kappa[j], sum(diagonal, up, left));
      diagonal = up;
      row[j + 1] = left;
    }
  }
  return row[q].value == 0 ? none : std::log(row[q].value) + row[q].scale * log_step;
}

}  // namespace mercer
