// Many small dual problems on parts of one Gram matrix: each thread stores the matrix of its problem in
// memory that it uses again for the next.
#pragma once

#include "plan.hpp"

namespace mercer {

struct SmoPart {
  Index n;
  const int64_t* rows;
  const double *target, *lower, *upper;
  double *beta, *slope;
};

template <class T>
struct PartScratch {
  std::vector<std::vector<T>> points;
  std::vector<T> matrix;
  std::vector<double> numbers;  // the diagonal, and what smo wants
  std::vector<float> single;
};

// slope = target - K beta, from the stored matrix.
template <class T>
void recompute(const Plan<T>& plan, const SmoPart& part, const std::vector<T>& matrix) {
  std::vector<const T*> rows;
  std::vector<double> weights;
  for (Index i = 0; i < part.n; ++i)
    if (part.beta[i] != 0) {
      rows.push_back(matrix.data() + i * part.n);
      weights.push_back(-part.beta[i]);
    }
  std::copy(part.target, part.target + part.n, part.slope);
  plan.kernels().weigh_rows(rows.data(), weights.data(), Index(rows.size()), part.slope, 0, part.n);
}

template <class T>
SmoResult solve_part(const Plan<T>& plan, const SmoPart& part, double epsilon, double tolerance, Index max_iter,
                     PartScratch<T>& scratch) {
  const std::size_t n = std::size_t(part.n);
  if (scratch.matrix.size() < n * n) scratch.matrix.resize(n * n);
  scratch.numbers.resize(3 * n);
  scratch.single.resize(4 * n);
  const Plan<T> few = plan.part(part.rows, part.n, scratch.points);
  few.symmetric_dense(scratch.matrix.data(), 0, part.n, 1);
  for (std::size_t i = 0; i < n; ++i) scratch.numbers[i] = double(scratch.matrix[i * n + i]);
  SmoArguments<T> arguments{part.n,
                            part.n,
                            scratch.matrix.data(),
                            part.n,
                            scratch.numbers.data(),
                            part.lower,
                            part.upper,
                            epsilon,
                            0.95 * tolerance,
                            max_iter,
                            part.beta,
                            part.slope,
                            scratch.numbers.data() + n,
                            scratch.numbers.data() + 2 * n,
                            scratch.single.data()};
  SmoResult total{0, 0};
  // Slopes that were updated many times have rounded: what counts is what they are when computed afresh.
  for (int attempt = 0; attempt < 3; ++attempt) {
    recompute(plan, part, scratch.matrix);
    arguments.max_iter = 0;
    total.violation = plan.kernels().smo(arguments).violation;
    if (attempt > 0 && !(total.violation > tolerance)) break;
    arguments.max_iter = max_iter - total.count;
    const SmoResult found = plan.kernels().smo(arguments);
    total = {total.count + found.count, found.violation};
    if (total.count >= max_iter) break;
  }
  return total;
}

}  // namespace mercer
