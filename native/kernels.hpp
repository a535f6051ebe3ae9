// The contract between the portable half of the library (plan, pool, bindings) and the inner loops,
// which are compiled once per instruction set.
//
// The inner loops work on a *strip*: a few rows of the Gram matrix against a block of columns, small
// enough to stay in the first-level cache.  They see only plain pointers and the plain structures below,
// so that nothing compiled for a newer processor can be picked by the linker for an older one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer {

typedef std::ptrdiff_t Index;

// Rows handled together before moving on along the columns.  A multiple of every panel width below, so
// that tiles of a symmetric matrix start on a panel in both directions.
constexpr Index row_block = 96;
constexpr int max_registers = 32;
constexpr Index alignment = 64;

// Points of `bits` are rows of zeros and ones, packed into the bits of numbers; the statistic is their dot product.
enum class Kind { dot, sqdist, absdist, powdist, chi2, min, match, bits };

enum class Op { affine, add, mul, exp, log, log1p, sqrt, tanh, recip, powi, pow, left, right };

struct Instruction {
  Op op;
  int dst, a, b;
  double c0, c1;
};

// One statistic seen from one strip.  Columns are packed in panels, [panel][dimension][column in panel];
// rows are read as rows[k * row_step + i] for dimension k and row i of the strip.
template <class T>
struct StatisticView {
  Kind kind;
  T exponent;     // of powdist, sum_k |a_k - b_k|^exponent
  bool expanded;  // squared distance as |a|^2 + |b|^2 - 2 a.b, repaired where that cancels; norms are |a|^2 / 2
  Index dimension;
  const T* columns;
  const T* column_norms;
  const T* rows;
  Index row_step;
  const T* row_norms;
};

template <class T>
struct StripArguments {
  int statistics;
  const StatisticView<T>* statistic;
  Index first_panel, panels;
  Index columns;  // how many columns of these panels exist; the rest is padding
  int rows;      // how many rows of this strip exist
  const Instruction* code;
  int length;
  const T* const* left;   // factors of the strip's rows
  const T* const* right;  // factors of the block's columns
  // Register q of row i lies at reg[q] + i * reg_step[q]; the result goes to register 0.
  T* reg[max_registers];
  Index reg_step[max_registers];
};

// K is a strip, [row][step]; all `strip` rows may be read (rows that do not exist are zero).
// For every right-hand side c: sums[c * row_block + i] += K[i] . v_columns[c * v_step], and in the
// scattering version scattered[c * scattered_step + j] += sum_i K[i, j] v_rows[c * v_step + i].
template <class T>
struct ContractArguments {
  const T* K;
  Index K_step;
  Index columns;  // a multiple of the panel width
  Index right_hand_sides;
  const T* v_columns;
  const T* v_rows;
  Index v_step;
  double* sums;
  T* scattered;
  Index scattered_step;
};

// A dual problem on a stored matrix K, rows K_step apart; see smo.hpp.  Variables [0, second) and [second, n)
// are two groups, the second often empty.  rise and fall are scratch of n numbers, single of 4 n.
template <class T>
struct SmoArguments {
  Index n, second;
  const T* K;
  Index K_step;
  const double *diagonal, *lower, *upper;
  double epsilon, tolerance;
  Index max_iter;
  double *beta, *slope, *rise, *fall;
  float* single;
};

struct SmoResult {
  Index count;
  double violation;
};

template <class T>
struct Kernels {
  int strip;  // rows of a strip
  int panel;  // columns of a panel; `strip` divides it
  void (*evaluate)(const StripArguments<T>&);
  void (*gather)(const ContractArguments<T>&);
  void (*gather_scatter)(const ContractArguments<T>&);
  void (*widen_add)(const T* from, double* to, Index count);
  void (*stream)(const T* from, T* to, Index count);  // a copy past the caches; fence afterwards
  void (*scatter)(const ContractArguments<T>&);       // only the column sums
  SmoResult (*smo)(const SmoArguments<T>&);
  void (*weigh_rows)(const T* const* rows, const double* weights, Index count, double* sums, Index from, Index to);
  // A step of a triangular system with a band, see band.hpp.
  void (*band_step)(const T* rows, Index before, const T* right, Index right_step, T* window, T* squares);
  // A tile of a product of stored matrices, see update_tile.hpp.
  void (*update_tile)(const T* strip, const T* panel, Index depth, T factor, T* out, Index step);
};

struct Isa {
  const char* name;
  Kernels<float> single;
  Kernels<double> twice;
};

template <class T>
const Kernels<T>& kernels_of(const Isa& isa);
template <>
inline const Kernels<float>& kernels_of<float>(const Isa& isa) { return isa.single; }
template <>
inline const Kernels<double>& kernels_of<double>(const Isa& isa) { return isa.twice; }

// The instruction sets this processor can run, best first; the list ends with a null pointer.
const Isa* const* available_isas();

}  // namespace mercer
