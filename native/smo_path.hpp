// One machine along ascending penalties, from beginning to end on a corner of a stored matrix: the boxes of its
// problem are those at penalty 1 times each penalty, every solution starts the next, and of each only its
// values at points held out are kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.hpp"

namespace mercer {

template <class T>
struct SmoPath {
  const T* K;  // n x n
  Index n;
  const int64_t *fit, *held;
  Index m, h;
  const double *target, *lower, *upper;  // of the m points of the problem, at penalty 1
  const double* penalties;
  Index count;
  double epsilon, tolerance;
  Index max_iter;
  double* values;  // count x h
};

// The constant: the mean over free variables, else the middle of what optimality allows.
inline double intercept_of(const double* beta, const double* slope, const double* rise, const double* fall, Index m,
                           bool kink) {
  double sum = 0, top = -HUGE_VAL, bottom = HUGE_VAL;
  Index free = 0;
  for (Index i = 0; i < m; ++i) {
    const double up = slope[i] + rise[i], down = slope[i] + fall[i];
    if (std::isfinite(up) && std::isfinite(down) && !(kink && beta[i] == 0)) {
      sum += up;
      ++free;
    }
    top = std::max(top, up);
    bottom = std::min(bottom, down);
  }
  if (free) return sum / double(free);
  if (std::isfinite(top) && std::isfinite(bottom)) return 0.5 * (top + bottom);
  return std::isfinite(top) ? top : std::isfinite(bottom) ? bottom : 0.0;
}

template <class T>
std::vector<SmoResult> follow_path(const Kernels<T>& kernels, const SmoPath<T>& p) {
  const Index m = p.m, h = p.h;
  std::vector<T> corner(std::size_t(m * m)), across(std::size_t(m * h));
  for (Index i = 0; i < m; ++i) {
    const T* row = p.K + p.fit[i] * p.n;
    for (Index j = 0; j < m; ++j) corner[std::size_t(i * m + j)] = row[p.fit[j]];
    for (Index j = 0; j < h; ++j) across[std::size_t(i * h + j)] = row[p.held[j]];
  }
  std::vector<double> diagonal(static_cast<std::size_t>(m)), lower(diagonal), upper(diagonal), beta(diagonal),
      rise(diagonal), fall(diagonal), slope(p.target, p.target + m);
  std::vector<float> single(std::size_t(4 * m));
  for (Index i = 0; i < m; ++i) diagonal[std::size_t(i)] = double(corner[std::size_t(i * m + i)]);
  std::vector<SmoResult> found;
  std::vector<const T*> rows;
  std::vector<double> weights;
  for (Index k = 0; k < p.count; ++k) {
    const double C = p.penalties[k], ratio = k ? C / p.penalties[k - 1] : 1.0;
    // If most coefficients are at their bounds they are likely to stay there, and all grow as the bounds do;
    // otherwise the solution stays as it is.
    Index there = 0, bound = 0;
    for (std::size_t i = 0; i < std::size_t(m); ++i) {
      there += beta[i] != 0;
      bound += beta[i] != 0 && (beta[i] >= upper[i] || beta[i] <= lower[i]);
    }
    const bool grows = ratio != 1.0 && 2 * bound >= there;
    for (std::size_t i = 0; i < std::size_t(m); ++i) {
      const bool above = beta[i] > 0 && beta[i] >= upper[i], below = beta[i] < 0 && beta[i] <= lower[i];
      lower[i] = C * p.lower[i];
      upper[i] = C * p.upper[i];
      if (!grows) continue;
      beta[i] = above ? upper[i] : below ? lower[i] : std::min(std::max(ratio * beta[i], lower[i]), upper[i]);
      slope[i] = p.target[i] - ratio * (p.target[i] - slope[i]);
    }
    const SmoResult result = kernels.smo({m, m, corner.data(), m, diagonal.data(), lower.data(), upper.data(), p.epsilon,
                                          p.tolerance, p.max_iter, beta.data(), slope.data(), rise.data(), fall.data(),
                                          single.data()});
    found.push_back(result);
    rows.clear();
    weights.clear();
    for (Index i = 0; i < m; ++i)
      if (beta[std::size_t(i)] != 0) {
        rows.push_back(across.data() + i * h);
        weights.push_back(beta[std::size_t(i)]);
      }
    double* values = p.values + k * h;
    std::fill(values, values + h, intercept_of(beta.data(), slope.data(), rise.data(), fall.data(), m, p.epsilon > 0));
    kernels.weigh_rows(rows.data(), weights.data(), Index(rows.size()), values, 0, h);
  }
  return found;
}

}  // namespace mercer
