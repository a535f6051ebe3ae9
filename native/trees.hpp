// Tree kernels on merged trees: how many fragments two trees have in common.
//
// Identical subtrees of a data set are one number each, children before their parents.  Two subtrees have
// fragments in common only if they lie in one group (same production, or same label).
#pragma once

#include <cstdint>

namespace mercer {

struct Subtrees {
  int64_t count, groups;
  const int64_t *start, *child;  // children of t: child[start[t]] up to child[start[t + 1]]
  const int64_t* group;

  bool leaf(int64_t t) const { return start[t] == start[t + 1]; }
};

// Collins and Duffy's subset trees, or Moschitti's partial trees.
struct FragmentRule {
  bool partial;
  double decay, vertical_decay, terminal_factor;
  bool leaves;  // whether a leaf is a fragment of its own; partial trees always count it

  bool counted(const Subtrees& trees, int64_t t) const { return partial || leaves || !trees.leaf(t); }
};

// A list of trees: which subtrees each consists of, children before their parents, and how often.
struct TreeRows {
  int64_t rows;
  const int64_t *start, *subtree;
  const double* count;

  int64_t entries() const { return start[rows]; }
};

// How Δ is kept: in one table of so many pairs, or, where a tree needs more of them, in strips.  Values are written as
// they are, or as logarithms, which have no bounds.
struct Keeping {
  int64_t pairs;
  bool logarithms;
  int threads;
};

// out[i, j] = common fragments of tree i of the rows and tree j of the columns.
void fill_block(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const TreeRows& columns,
                const Keeping& keeping, double* out);

// out[i] = common fragments of tree i with itself.
void fill_diagonal(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const Keeping& keeping,
                   double* out);

// The most pairs that either of them keeps of a tree that one table is too small for, or the size of the table.
int64_t count_block_pairs(const Subtrees& trees, const TreeRows& rows, const TreeRows& columns, int64_t pairs);
int64_t count_diagonal_pairs(const Subtrees& trees, const TreeRows& rows, int64_t pairs);

}  // namespace mercer
