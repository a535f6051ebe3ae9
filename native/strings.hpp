// Kernels between sequences of tokens: values for rows and columns of a block, each given by its number in a
// table of coded sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace mercer {

constexpr int32_t no_token = -1;  // a code that equals nothing, not even itself; windows that hold it are none

// One sequence: its codes, which lie in [0, letters) or are no_token, and what the window that starts at each counts
// (nullptr: 1).
struct Sequence {
  const int32_t* codes;
  int64_t size;
  const double* weights = nullptr;

  double weight(int64_t i) const { return weights ? weights[i] : 1.0; }
};

// Calls body(i) for the start i of every window of `span` tokens, in the order of their starts.
template <class F>
void for_windows(const Sequence& s, int64_t span, F&& body) {
  for (int64_t begin = 0, end; begin + span <= s.size; begin = end + 1) {
    for (end = begin; end < s.size && s.codes[end] != no_token;) ++end;
    for (int64_t i = begin; i + span <= end; ++i) body(i);
  }
}

// Which values to compute: out[i][first[i] .. last[i]) for every row i.  What the rest of a row holds afterwards is
// not defined, so that a loop may do more than it was asked for.
struct StringBlock {
  const int32_t* codes;
  const int64_t* starts;  // sequence q has the codes in [starts[q], starts[q + 1])
  int64_t letters;
  const int64_t* rows;
  int64_t row_count;
  const int64_t* columns;
  int64_t column_count;
  const int64_t *first, *last;
  double* out;
  int threads;
  const double* weights = nullptr;  // of the window that starts at each code

  Sequence at(int64_t q) const {
    return {codes + starts[q], starts[q + 1] - starts[q], weights ? weights + starts[q] : nullptr};
  }
  Sequence row(int64_t i) const { return at(rows[i]); }
  Sequence column(int64_t j) const { return at(columns[j]); }
  double* values(int64_t i) const { return out + i * column_count; }
};

// Windows of `span` tokens, compared at the positions `offsets` only.
struct WindowGroup {
  int64_t span;
  std::vector<int64_t> offsets;
  double weight;
};

// Adds, for every group, its weight times the number of pairs of windows that agree.
void add_window_matches(const StringBlock& block, const std::vector<WindowGroup>& groups);

// Adds the sum over all pairs of windows of `span` tokens of values[number of places at which they differ], 0 where
// there is no such value.  There are at most 254 letters, 254 tokens in a window and 16 values, in [0, 2^48).
void add_close_windows(const StringBlock& block, int64_t span, const std::vector<int64_t>& values, const Isa& isa);

// Sum over common subsequences of `length` tokens of decay^(span in one sequence + span in the other).
void subsequence_block(const StringBlock& block, int64_t length, double decay, const Isa& isa);

// Its logarithm, also where the sum itself leaves the range of numbers; minus infinity for 0.
void log_subsequence_block(const StringBlock& block, int64_t length, double decay, const Isa& isa);

// Sum over positions at which both agree of table[min(length of the run of agreement so far, size - 1)]; the same with
// one sequence moved by s = 1, 2, ... tokens, either of them, counts shifts[s] times.
void run_block(const StringBlock& block, const double* table, int64_t size, const std::vector<double>& shifts);

// The logarithm of the sum over all local alignments of the product of scores[pair of codes] over aligned pairs, of
// `open` for every gap, and of `extend` for each of its tokens but the first; the empty alignment counts 1.
void local_block(const StringBlock& block, const double* scores, double open, double extend);

// Number of insertions, deletions and substitutions that turn one sequence into the other.
void edit_block(const StringBlock& block);

}  // namespace mercer
