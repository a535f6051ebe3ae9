// A plan is a Gram matrix that is never stored: the packed points, the factors and the program that turns
// statistics into kernel values, and the ways to use it -- products with vectors, and dense pieces.
//
// Work is cut into tasks by the sizes alone, never by the number of threads, and every sum is formed in
// one order: the result is the same to the last bit however many threads do the work.
#pragma once

#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"

namespace mercer {

template <class T>
struct Points {
  Kind kind;
  double exponent;  // of powdist
  Index dimension;
  const T* left;
  const T* right;
  bool symmetric;  // right is left; equal pointers alone would not say so, the lengths may differ
};

template <class T>
class Plan {
 public:
  Plan(const Isa& isa, Index rows, Index columns, const std::vector<Points<T>>& points,
       const std::vector<const T*>& left, const std::vector<const T*>& right, std::vector<Instruction> code);

  // The plan of some rows and the same columns of a symmetric one; it reads the points copied to `storage`.
  Plan part(const int64_t* rows, Index count, std::vector<std::vector<T>>& storage) const;

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  bool symmetric() const { return symmetric_; }
  const Kernels<T>& kernels() const { return kernels_; }

  void product(const T* V, Index r, double* out, Index row_start, Index row_stop, int threads) const;
  void symmetric_product(const T* V, Index r, double* out, Index row_start, Index row_stop, int threads) const;
  // errors -= K V, and out += K^T W errors with these, for some rows.
  void residuals(const T* V, Index r, const double* weights, double* errors, double* out, Index row_start,
                 Index row_stop, int threads) const;
  // out[j] += sum_a V[a] K[rows[a], j] for some columns j; who does so often keeps an adder.
  class Adder;
  void add_rows(const int64_t* rows, Index count, const T* V, double* out, Index column_start, Index column_stop,
                int threads) const;
  void dense(T* out, const int64_t* rows, Index count, Index column_start, Index column_stop, int threads) const;
  void symmetric_dense(T* out, Index row_start, Index row_stop, int threads) const;
  Index workspace(Index r, int threads) const;
  Index residual_workspace(Index r, int threads) const;

 private:
  Plan(const Kernels<T>& kernels, Index rows, Index columns, const std::vector<Points<T>>& points,
       const std::vector<const T*>& left, const std::vector<const T*>& right, std::vector<Instruction> code);

  struct Statistic {
    Kind kind;
    double exponent;
    bool expanded, symmetric;
    Index dimension;
    const T* points;         // rows, as given by the caller
    Buffer<T> columns;       // packed
    Buffer<T> column_norms;  // half of the squares; empty unless expanded
    Buffer<T> row_norms;     // empty unless expanded and not symmetric
  };
  class Worker;  // one thread's scratch, and the evaluation of strips with it

  void pack(Statistic& s, const T* right);
  Index product_groups(Index blocks) const;
  Buffer<T> pack_right_hand_sides(const T* V, Index r, Index& step) const;

  const Kernels<T>& kernels_;
  Index rows_, columns_, padded_columns_, column_block_;
  bool symmetric_;
  int registers_;
  std::vector<Statistic> statistics_;
  std::vector<std::vector<T>> left_;
  std::vector<Buffer<T>> right_;
  std::vector<Instruction> code_;
};

}  // namespace mercer
