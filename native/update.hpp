// Products of stored matrices, added to a third one: with a triangle of it alone, and of a matrix that a triangle tells.
#pragma once

#include "kernels.hpp"

namespace mercer {

// The matrix with the entry (k, i) at data[k * along + i * across].  Of a symmetric one the entries with k >= i are read.
template <class T>
struct Stored {
  const T* data;
  Index along, across;
  bool symmetric;
};

enum class Part { all, lower, upper };  // triangles with the diagonal

// out[r, c] += factor * sum_k left(k, r) right(k, c); rows of out lie `step` apart.
template <class T>
struct Update {
  T* out;
  Index rows, columns, step, depth;
  Stored<T> left, right;
  T factor;
  Part part;
  int threads;
};

// Every entry is added up in an order that the sizes alone decide.
template <class T>
void update(const Update<T>& u, const Isa& isa);

}  // namespace mercer
