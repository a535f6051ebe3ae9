// The inner loops of the subsequence kernel, compiled once per instruction set (MERCER_ISA names it).
//
// sums[l][j] is the weight of all common subsequences of l tokens that end at or before the current token of the row
// and before token j of the column.  Every step adds non-negative numbers, so that nothing cancels.
#include "strings_lanes.hpp"

#include "vec.hpp"

namespace mercer {
namespace {

constexpr int parts = int(string_lanes) / width<double>;
static_assert(parts * width<double> == string_lanes, "whole vectors");

// What a level gains where the tokens agree: the level below, one token earlier in both sequences.
MERCER_INLINE Vec<double> matched(const double* columns, Vec<double> code, const double* below) {
  return select<double>(load(columns) == code, load(below), Vec<double>{});
}

void finish(const SubsequenceArguments& a, double code, const double* below, Vec<double>* total) {
  const Vec<double> wanted = splat(code);
  Vec<double> sum[parts];
  MERCER_UNROLL
  for (int p = 0; p < parts; ++p) sum[p] = total[p];
  for (Index j = 0; j < a.longest; ++j) {
    MERCER_UNROLL
    for (int p = 0; p < parts; ++p) {
      const Index at = j * string_lanes + p * width<double>;
      sum[p] = sum[p] + matched(a.columns + at, wanted, below + at);
    }
  }
  MERCER_UNROLL
  for (int p = 0; p < parts; ++p) total[p] = sum[p];
}

void extend(const SubsequenceArguments& a, double code, const double* below, double* level) {
  const Vec<double> wanted = splat(code), decay = splat(a.decay), square = splat(a.decay * a.decay);
  Vec<double> run[parts];
  MERCER_UNROLL
  for (int p = 0; p < parts; ++p) run[p] = Vec<double>{};
  for (Index j = 0; j < a.longest; ++j) {
    MERCER_UNROLL
    for (int p = 0; p < parts; ++p) {
      const Index at = j * string_lanes + p * width<double>;
      double* const to = level + at + string_lanes;
      run[p] = decay * run[p] + square * matched(a.columns + at, wanted, below + at);
      store(to, decay * load(to) + run[p]);
    }
  }
}

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)

void MERCER_JOIN(subsequences_, MERCER_ISA)(const SubsequenceArguments& a) {
  const Index step = string_lanes * (a.longest + 1);
  for (Index i = 0; i < a.length * step; ++i) a.sums[i] = i < step ? 1.0 : 0.0;  // every match extends the empty word
  Vec<double> total[parts];
  for (int p = 0; p < parts; ++p) total[p] = Vec<double>{};
  for (Index i = 0; i < a.size; ++i) {
    const double code = double(a.row[i]);
    if (i + 1 >= a.length) finish(a, code, a.sums + (a.length - 1) * step, total);
    // From the longest down, so that each level still reads the token before in the level below.
    for (Index level = i + 1 < a.length - 1 ? i + 1 : a.length - 1; level >= 1; --level)
      extend(a, code, a.sums + (level - 1) * step, a.sums + level * step);
  }
  const Vec<double> square = splat(a.decay * a.decay);
  for (int p = 0; p < parts; ++p) store(a.result + p * width<double>, square * total[p]);
}

}  // namespace mercer
