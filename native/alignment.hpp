// The sum over all alignments of two sequences of vectors, as a logarithm.
#pragma once

#include <cstdint>

namespace mercer {

// A number value * 2^(256 scale), the value between 2^-256 and 2^256, or zero.
struct WideNumber {
  double value, scale;
};

// x has p frames of d numbers and z has q; scratch has room for 2q + 1 numbers.  Pairs of frames count g / (2 - g), or
// just g if `plain`.
double log_alignments(const double* x, int64_t p, const double* z, int64_t q, int64_t d, bool plain,
                      WideNumber* scratch);

}  // namespace mercer
