// Products with a symmetric matrix of which half is stored: every number is read once and used twice.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace mercer {

constexpr Index half_rows = 8;  // used together: their numbers go into one column sum before that is stored

// A few rows of K against some columns: sums[i] += K[i] . v, and where there are weights, down[j] += sum_i weights[i] K[i, j].
template <class T>
struct HalfArguments {
  const T* K;
  Index step;  // from one row to the next
  Index rows;  // at most half_rows
  Index columns;
  const T* v;
  const T* weights;  // nullptr on the diagonal, where rows are complete
  T* down;
  double* sums;
  const T* ahead = nullptr;  // the first of half_rows / 2 rows that are fetched meanwhile
};

void use_half_baseline(const HalfArguments<float>&);
void use_half_baseline(const HalfArguments<double>&);
void use_half_avx2(const HalfArguments<float>&);
void use_half_avx2(const HalfArguments<double>&);
void use_half_avx512(const HalfArguments<float>&);
void use_half_avx512(const HalfArguments<double>&);

// Rows of the matrix from their diagonal on, K[first : first + rows, first :].
template <class T>
struct HalfStrip {
  const T* K;
  Index rows;
};

// Vectors of n numbers that a matrix is multiplied by, and what becomes of them.
template <class T>
struct Sides {
  const T* V;  // [count][n]
  Index count, n;
  double* out;  // [count][numbers of the product]
  int threads;
};

// out = V K; strips come in the order of their rows.
template <class T>
void multiply_half(const std::vector<HalfStrip<T>>& strips, const Sides<T>& sides, const Isa& isa);

// The same loop with few long rows, whose products are the row sums alone: out = V A^T for A of shape (rows, n).
template <class T>
void multiply_long(const T* A, Index rows, const Sides<T>& sides, const Isa& isa);

// And the column sums alone: out = V A for A of shape (n, columns).
template <class T>
void combine_long(const T* A, Index columns, const Sides<T>& sides, const Isa& isa);

// Both, each row used twice while it is in the cache: left = right - V A^T for A of shape (rows, n), and image = (scale left) A.
// What is left is rounded so that scale left are numbers of T: the image is that of what is told, also of many sums of it.
struct Remainder {
  const double* right;  // [count][rows]
  const double* scale;  // [rows]
  double* image;        // [count][n]
};

template <class T>
void reduce_long(const T* A, Index rows, const Sides<T>& sides, const Remainder& rest, const Isa& isa);

}  // namespace mercer
