// Part of an epoch of the perceptron in which every point is visited once, in the order of a plan's points.  The values of
// all points are kept up to date, and no kernel values are computed but the rows of mistakes.
#pragma once

#include "perceptron.hpp"
#include "plan.hpp"

namespace mercer {

struct SweepArguments {
  Index points, outputs;
  const int64_t* label;
  const double* weight;
  double* values;  // of each function at all points, [output][point]
  Ledger ledger;   // of the points that are visited
  int64_t* wrong;  // for each point the class taken instead of its own, or -1
  int64_t clock;   // visits before the first
  double bias;
};

// Visits [start, stop), whose values know all mistakes before them; afterwards they know each other's.
template <class T>
void sweep(const Plan<T>& plan, const SweepArguments& arguments, Index start, Index stop, int threads);

}  // namespace mercer
