// The contract between the comparison of windows along diagonals and its inner loops, which are compiled once per
// instruction set.
#pragma once

#include "kernels.hpp"

namespace mercer {

constexpr Index diagonal_lanes = 64;      // windows of a column compared at a time, at most
constexpr Index difference_values = 16;   // numbers of differences that may have a value; all larger ones have none
constexpr uint8_t no_letter = 255;        // fills a column beyond its end; no row has it

// Two sequences, both at least `span` tokens long.
struct DiagonalArguments {
  const uint8_t* row;
  Index row_windows;
  const uint8_t* column;  // followed by `diagonal_lanes + span` bytes that may be read
  Index column_windows;
  Index span;
  const uint8_t* planes;  // [plane][difference_values]: the bytes of the values, lowest first
  int plane_count;
  const int64_t* values;
  uint8_t* differences;  // scratch: row_windows + column_windows + 2 * diagonal_lanes bytes
};

// Sum over all pairs of windows of values[number of tokens in which they differ].
double compare_windows_baseline(const DiagonalArguments&);
double compare_windows_avx2(const DiagonalArguments&);
double compare_windows_avx512(const DiagonalArguments&);

}  // namespace mercer
