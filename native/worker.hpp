// What one thread needs to evaluate strips: scratch memory, the rows of the current row block in the
// layout of the micro-kernel, and the arguments of the inner loops.
#pragma once

#include "plan.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#define MERCER_HAS_MXCSR
#endif

namespace mercer {

// Kernel values too small for a normal number are taken as zero: arithmetic on subnormal numbers traps
// into microcode and would slow a whole row down by an order of magnitude.
class FlushSubnormals {
#ifdef MERCER_HAS_MXCSR
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8000u); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
 public:
  FlushSubnormals() {}
  ~FlushSubnormals() {}
#endif
};

// Streamed stores are not ordered with what another thread does next; to be called when they are done.
inline void fence_streams() {
#ifdef MERCER_HAS_MXCSR
  _mm_sfence();
#endif
}

template <class T>
class Plan<T>::Worker {
 public:
  // tile_rows: how many rows of kernel values to keep; 0 means one strip, reused.
  Worker(const Plan& plan, Index tile_rows);
  static Index bytes(const Plan& plan, Index tile_rows);

  // Makes rows[0..count) (or first, first + 1, ... without an index) the current row block.
  void load_rows(const int64_t* index, Index first, Index count);
  Index strips() const { return (count_ + strip_ - 1) / strip_; }

  // Kernel values of one strip of the current rows against columns [start, start + count); start is a
  // multiple of the panel width and count at most the column block.  Padding is zero.
  const T* evaluate(Index strip, Index start, Index count);
  Index step() const { return step_; }
  Index padded(Index count) const { return round_up(count, panel_); }

 private:
  static Index scratch_size(const Plan& plan, Index tile_rows);

  const Plan& plan_;
  const Index strip_, panel_, step_;
  const bool keep_;
  Index count_ = 0;
  bool direct_ = false;  // rows are read in place from the packed columns
  Index first_ = 0;
  Buffer<T> scratch_;
  T *values_, *others_, *rows_, *norms_, *left_;
  std::vector<StatisticView<T>> views_;
  std::vector<const T*> left_pointers_, right_pointers_;
  StripArguments<T> arguments_;
};

template <class T>
Index Plan<T>::Worker::scratch_size(const Plan& plan, Index tile_rows) {
  const Index strip = plan.kernels_.strip, step = plan.column_block_ + plan.kernels_.panel;
  const Index statistics = Index(plan.statistics_.size());
  Index size = (tile_rows ? tile_rows : strip) * step;                            // values
  size += ((statistics - 1) * strip + (plan.registers_ - statistics)) * step;    // other registers
  for (const Statistic& s : plan.statistics_) size += row_block * (s.dimension + 1);
  return size + row_block * Index(plan.left_.size());
}

template <class T>
Index Plan<T>::Worker::bytes(const Plan& plan, Index tile_rows) {
  return Index(Buffer<T>::bytes(scratch_size(plan, tile_rows))) + Index(sizeof(Worker));
}

template <class T>
Plan<T>::Worker::Worker(const Plan& plan, Index tile_rows)
    : plan_(plan),
      strip_(plan.kernels_.strip),
      panel_(plan.kernels_.panel),
      step_(plan.column_block_ + plan.kernels_.panel),
      keep_(tile_rows > 0),
      scratch_(scratch_size(plan, tile_rows)) {
  const Index statistics = Index(plan.statistics_.size());
  values_ = scratch_.get();
  others_ = values_ + (tile_rows ? tile_rows : strip_) * step_;
  rows_ = others_ + ((statistics - 1) * strip_ + (plan.registers_ - statistics)) * step_;
  norms_ = rows_;
  for (const Statistic& s : plan.statistics_) {
    norms_ += row_block * s.dimension;
    views_.push_back({s.kind, T(s.exponent), s.expanded, s.dimension, s.columns.get(), s.column_norms.get(), nullptr, 0,
                      nullptr});
  }
  left_ = norms_ + row_block * statistics;
  left_pointers_.resize(plan.left_.size());
  right_pointers_.resize(plan.right_.size());
  arguments_ = {};
  arguments_.statistics = int(statistics);
  arguments_.statistic = views_.data();
  arguments_.code = plan.code_.data();
  arguments_.length = int(plan.code_.size());
  arguments_.left = left_pointers_.data();
  arguments_.right = right_pointers_.data();
  // Statistics are needed for all rows of a strip at once, temporaries for one row at a time.
  T* next = others_;
  for (int q = 1; q < plan.registers_; ++q) {
    arguments_.reg[q] = next;
    arguments_.reg_step[q] = q < statistics ? step_ : 0;
    next += q < statistics ? strip_ * step_ : step_;
  }
  arguments_.reg_step[0] = step_;
}

template <class T>
void Plan<T>::Worker::load_rows(const int64_t* index, Index first, Index count) {
  count_ = count;
  first_ = first;
  direct_ = plan_.symmetric_ && !index && first % panel_ == 0;
  const auto row = [&](Index i) { return index ? Index(index[i]) : first + i; };
  for (std::size_t l = 0; l < plan_.left_.size(); ++l)
    for (Index i = 0; i < count; ++i) left_[Index(l) * row_block + i] = plan_.left_[l][std::size_t(row(i))];
  if (direct_) return;
  T* to = rows_;
  for (std::size_t q = 0; q < plan_.statistics_.size(); ++q) {
    const Statistic& s = plan_.statistics_[q];
    const T* from_norms = s.symmetric ? s.column_norms.get() : s.row_norms.get();
    for (Index i = 0; i < round_up(count, strip_); ++i) {
      T* place = to + i / strip_ * strip_ * s.dimension + i % strip_;
      if (i < count) {
        const T* from = s.points + row(i) * s.dimension;
        for (Index k = 0; k < s.dimension; ++k) place[k * strip_] = from[k];
      } else {
        for (Index k = 0; k < s.dimension; ++k) place[k * strip_] = T(0);
      }
      if (s.expanded) norms_[Index(q) * row_block + i] = i < count ? from_norms[row(i)] : T(0);
    }
    to += row_block * s.dimension;
  }
}

template <class T>
const T* Plan<T>::Worker::evaluate(Index strip, Index start, Index count) {
  const Index offset = strip * strip_;
  const T* packed = rows_;
  for (std::size_t q = 0; q < views_.size(); ++q) {
    StatisticView<T>& view = views_[q];
    const Statistic& s = plan_.statistics_[q];
    if (direct_) {
      const Index row = first_ + offset;
      view.rows = s.columns.get() + row / panel_ * panel_ * s.dimension + row % panel_;
      view.row_step = panel_;
      view.row_norms = s.expanded ? s.column_norms.get() + row : nullptr;
    } else {
      view.rows = packed + offset * s.dimension;
      view.row_step = strip_;
      view.row_norms = norms_ + Index(q) * row_block + offset;
      packed += row_block * s.dimension;
    }
  }
  for (std::size_t l = 0; l < left_pointers_.size(); ++l) left_pointers_[l] = left_ + Index(l) * row_block + offset;
  for (std::size_t l = 0; l < right_pointers_.size(); ++l) right_pointers_[l] = plan_.right_[l].get() + start;
  arguments_.reg[0] = values_ + (keep_ ? offset * step_ : 0);
  arguments_.first_panel = start / panel_;
  arguments_.panels = padded(count) / panel_;
  arguments_.columns = count;
  arguments_.rows = int(count_ - offset < strip_ ? count_ - offset : strip_);
  plan_.kernels_.evaluate(arguments_);
  return arguments_.reg[0];
}

}  // namespace mercer
