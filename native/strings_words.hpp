// Sums over the words of single sequences: of weights of words that were collected before, and of squared counts.
#pragma once

#include <memory>
#include <vector>

#include "strings.hpp"

namespace mercer {

// Some sequences of a table.  Codes may be as large as `letters`, which then stands for tokens that are not known.
struct Sequences {
  const int32_t* codes;
  const int64_t* starts;
  const int64_t* rows;
  int64_t count;
  const double* weights = nullptr;  // of the window that starts at each code

  Sequence operator[](Index i) const {
    const int64_t start = starts[rows[i]];
    return {codes + start, starts[rows[i] + 1] - start, weights ? weights + start : nullptr};
  }
};

// Which tokens of a window spell a word, and what a word of d tokens counts.
struct WordGroup {
  int64_t span;
  std::vector<int64_t> offsets;
  std::vector<double> gains;  // [d], of the first d of the offsets; one more than there are offsets
  bool whole;                 // windows must lie inside the sequence; otherwise a word ends where its sequence does
  bool placed;                // words at different places are different

  bool operator==(const WordGroup& other) const {
    return span == other.span && offsets == other.offsets && gains == other.gains && whole == other.whole &&
           placed == other.placed;
  }
};

// Weights of words as a tree: a word of d tokens is a node d steps below its root.
class WordTree {
 public:
  WordTree(int64_t letters, int64_t outputs);

  // Adds gain times coef[row] to all words of a group, some rows at a time; false if there are more nodes than allowed.
  bool add(const Sequences& sequences, const WordGroup& group, const double* coef, int64_t most_nodes);
  // Lets every node hold the sum of all words on the way to it; nothing is added afterwards.
  void finish();
  // out[row] += the weights of all words of a sequence.
  void sum(const Sequences& sequences, double* out, int threads) const;

  int64_t letters() const { return letters_; }
  int64_t outputs() const { return outputs_; }
  int64_t nodes() const { return nodes_; }
  bool finished() const { return finished_; }

 private:
  struct Slot {
    uint64_t key;
    int32_t child;
  };
  struct Kind {
    WordGroup group;
    std::vector<int32_t> roots;  // one, or one for each place
  };

  bool direct() const { return letters_ <= 8; }
  int32_t find(int32_t node, int32_t code) const;
  int32_t grow(int32_t node, int32_t code);
  int32_t make_node(int32_t parent);
  std::size_t place(uint64_t key) const;

  int64_t letters_, outputs_, nodes_ = 0;
  bool finished_ = false;
  std::vector<Kind> kinds_;
  std::vector<int32_t> children_;  // where letters are few: [node][code], or -1
  std::vector<Slot> slots_;        // where they are many: by node and code
  std::size_t used_ = 0;
  std::vector<int32_t> parents_;
  std::vector<double> values_;  // [node][output]
};

// out[row] += sum over all windows of table[number of the window in base `letters`]; windows with tokens that are not
// known are left out.
void sum_window_table(const Sequences& sequences, int64_t letters, int64_t span, const double* table, int64_t outputs,
                      double* out, int threads);

// out[row] += weight times the sum of the squared numbers of equal windows, for every group.
void sum_window_squares(const Sequences& sequences, int64_t letters, const std::vector<WindowGroup>& groups, double* out,
                        int threads);

}  // namespace mercer
