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

}  // namespace mercer
