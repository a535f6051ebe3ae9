// The rules of the kernel perceptron: when a point is a mistake, and what a mistake changes.
#pragma once

#include <cstdint>

namespace mercer {

// The best of all classes but one, the first of equals; one function decides between two classes.
inline int64_t rival(const double* scores, int64_t stride, int64_t outputs, int64_t label) {
  if (outputs == 1) return 1 - label;
  int64_t best = label == 0 ? 1 : 0;
  for (int64_t q = best + 1; q < outputs; ++q)
    if (q != label && scores[q * stride] > scores[best * stride]) best = q;
  return best;
}

inline bool beats(const double* scores, int64_t stride, int64_t outputs, int64_t label, int64_t other) {
  if (outputs == 1) return label == 1 ? scores[0] > 0 : scores[0] < 0;
  return scores[label * stride] > scores[other * stride];
}

// What a mistake changes: +step for the true class and -step for the other, or ±step for the only function.
template <class F>
inline void change(int64_t outputs, int64_t label, int64_t other, double step, F&& add) {
  if (outputs == 1) {
    add(0, label == 1 ? step : -step);
  } else {
    add(label, step);
    add(other, -step);
  }
}

// What is kept of vectors, [vector][output]: coefficients, the sums of their steps times the time of each, and when a
// vector came in, -1 where it has not.
struct Ledger {
  double *coef, *moment;
  int64_t* entered;
  int64_t outputs;

  // Makes the step of a mistake at a vector; says whether the vector is new.
  template <class F>
  bool learn(int64_t vector, int64_t label, int64_t other, double weight, int64_t time, F&& add) {
    change(outputs, label, other, weight, [&](int64_t q, double step) {
      coef[vector * outputs + q] += step;
      moment[vector * outputs + q] += step * double(time);
      add(q, step);
    });
    if (entered[vector] >= 0) return false;
    entered[vector] = time;
    return true;
  }
};

}  // namespace mercer
