// Triangular systems for many right-hand sides, in their place.
#pragma once

#include "update.hpp"

namespace mercer {

// V <- L^-1 V for the n x n lower triangle of L and V of shape (n, columns): entries (row, column) at
// data[row * along + column * across].  n is small: what is known of the triangle stays in the second cache.
template <class T>
struct Division {
  Index n, columns;
  Stored<T> triangle;
  T* V;
  Index along, across;
  int threads;
};

template <class T>
void divide(const Division<T>& d, const Isa& isa);

}  // namespace mercer
