// The contract between the dynamic programme of the subsequence kernel and its inner loops, which are compiled once
// per instruction set.
#pragma once

#include "kernels.hpp"

namespace mercer {

constexpr Index string_lanes = 16;  // columns that one pass over a row's sequence is shared by; several vectors

// One sequence against `string_lanes` others.  All arrays but `row` are aligned.
struct SubsequenceArguments {
  const int32_t* row;
  Index size;
  const double* columns;  // codes as numbers, [token][lane]; what pads shorter columns equals no code of a row
  Index longest;
  Index length;  // of the subsequences
  double decay;
  double* sums;    // scratch: [level < length][token <= longest][lane]
  double* result;  // [lane]
};

void subsequences_baseline(const SubsequenceArguments&);
void subsequences_avx2(const SubsequenceArguments&);
void subsequences_avx512(const SubsequenceArguments&);

}  // namespace mercer
