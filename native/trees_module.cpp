// Python bindings of tree kernels: a block of kernel values between two lists of merged trees, and their diagonal.
#include "trees_module.hpp"

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "trees.hpp"

namespace mercer {
namespace {

Input index_array(nb::handle h, const std::string& name) { return checked_array<Input>(h, name, 1, "int64"); }

const int64_t* data_of(const Input& a) { return static_cast<const int64_t*>(a.data()); }

// Positions where the parts of a flat array start, and its length at the end.
int64_t checked_starts(const Input& a, const std::string& name, int64_t length) {
  const int64_t parts = int64_t(a.shape(0)) - 1;
  bool right = parts >= 0 && data_of(a)[0] == 0 && data_of(a)[parts] == length;
  for (int64_t i = 0; right && i < parts; ++i) right = data_of(a)[i] <= data_of(a)[i + 1];
  if (!right) throw wrong_value(name + " must rise from 0 to " + std::to_string(length));
  return parts;
}

// The arrays of a table of subtrees, checked, and kept alive.
class BoundSubtrees {
 public:
  BoundSubtrees(nb::handle start, nb::handle child, nb::handle group, bool partial)
      : start_(index_array(start, "start")), child_(index_array(child, "child")), group_(index_array(group, "group")) {
    const int64_t count = checked_starts(start_, "start", int64_t(child_.shape(0)));
    expect_shape(group_, "group", {count});
    trees = {count, 0, data_of(start_), data_of(child_), data_of(group_)};
    for (int64_t t = 0; t < count; ++t) {
      if (trees.group[t] < 0 || trees.group[t] >= count) throw wrong_value("groups must be numbered from 0");
      trees.groups = std::max(trees.groups, trees.group[t] + 1);
      for (int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
        if (trees.child[i] < 0 || trees.child[i] >= t) throw wrong_value("children must come before their parents");
    }
    if (partial) return;
    std::vector<int64_t> children(std::size_t(trees.groups), -1);
    for (int64_t t = 0; t < count; ++t) {
      int64_t& expected = children[std::size_t(trees.group[t])];
      const int64_t found = trees.start[t + 1] - trees.start[t];
      if (expected >= 0 && expected != found) throw wrong_value("a production must always have as many children");
      expected = found;
    }
  }
  Subtrees trees;

 private:
  Input start_, child_, group_;
};

// A list of trees, checked, and kept alive.
class BoundRows : public TreeRows {
 public:
  BoundRows(nb::handle start, nb::handle subtree, nb::handle count, const Subtrees& trees, const std::string& name)
      : start_(index_array(start, name + "_start")),
        subtree_(index_array(subtree, name + "_subtree")),
        count_(checked_array<Input>(count, name + "_count", 1, "float64")) {
    const int64_t length = int64_t(subtree_.shape(0));
    rows = checked_starts(start_, name + "_start", length);
    expect_shape(count_, name + "_count", {length});
    this->start = data_of(start_);
    this->subtree = checked_index(subtree_, trees.count);
    this->count = static_cast<const double*>(count_.data());
    std::vector<int64_t> seen(std::size_t(trees.count), -1);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t e = this->start[row]; e < this->start[row + 1]; ++e) {
        const int64_t t = this->subtree[e];
        seen[std::size_t(t)] = row;
        for (int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
          if (seen[std::size_t(trees.child[i])] != row)
            throw wrong_value(name + "_subtree must list children before their parents in every row");
      }
  }

 private:
  Input start_, subtree_, count_;
};

void tree_block(nb::handle start, nb::handle child, nb::handle group, nb::handle row_start, nb::handle row_subtree,
                nb::handle row_count, nb::handle column_start, nb::handle column_subtree, nb::handle column_count,
                bool partial, double decay, double vertical_decay, double terminal_factor, bool leaves, int64_t pairs,
                bool logarithms, nb::handle out, int threads) {
  check_threads(threads);
  const BoundSubtrees table(start, child, group, partial);
  const BoundRows rows(row_start, row_subtree, row_count, table.trees, "row");
  const BoundRows columns(column_start, column_subtree, column_count, table.trees, "column");
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(to, "out", {rows.rows, columns.rows});
  double* values = static_cast<double*>(to.data());
  const FragmentRule rule{partial, decay, vertical_decay, terminal_factor, leaves};
  const nb::gil_scoped_release released;
  fill_block(table.trees, rule, rows, columns, {pairs, logarithms, threads}, values);
}

void tree_diag(nb::handle start, nb::handle child, nb::handle group, nb::handle row_start, nb::handle row_subtree,
               nb::handle row_count, bool partial, double decay, double vertical_decay, double terminal_factor,
               bool leaves, int64_t pairs, bool logarithms, nb::handle out, int threads) {
  check_threads(threads);
  const BoundSubtrees table(start, child, group, partial);
  const BoundRows rows(row_start, row_subtree, row_count, table.trees, "row");
  const Output to = checked_array<Output>(out, "out", 1, "float64");
  expect_shape(to, "out", {rows.rows});
  double* values = static_cast<double*>(to.data());
  const FragmentRule rule{partial, decay, vertical_decay, terminal_factor, leaves};
  const nb::gil_scoped_release released;
  fill_diagonal(table.trees, rule, rows, {pairs, logarithms, threads}, values);
}

int64_t tree_pairs(nb::handle start, nb::handle child, nb::handle group, nb::handle row_start, nb::handle row_subtree,
                   nb::handle row_count, nb::handle column_start, nb::handle column_subtree, nb::handle column_count,
                   int64_t pairs) {
  const BoundSubtrees table(start, child, group, true);
  const BoundRows rows(row_start, row_subtree, row_count, table.trees, "row");
  const BoundRows columns(column_start, column_subtree, column_count, table.trees, "column");
  const nb::gil_scoped_release released;
  return std::max({count_block_pairs(table.trees, rows, columns, pairs), count_diagonal_pairs(table.trees, rows, pairs),
                   count_diagonal_pairs(table.trees, columns, pairs)});
}

}  // namespace

void bind_trees(nb::module_& m) {
  using namespace nb::literals;
  m.def("tree_block", &tree_block, "start"_a, "child"_a, "group"_a, "row_start"_a, "row_subtree"_a, "row_count"_a,
        "column_start"_a, "column_subtree"_a, "column_count"_a, "partial"_a, "decay"_a, "vertical_decay"_a,
        "terminal_factor"_a, "leaves"_a, "pairs"_a, "logarithms"_a, "out"_a, "threads"_a,
        "out[i, j] = common fragments of tree i of the rows and tree j of the columns, both lists of subtrees");
  m.def("tree_diag", &tree_diag, "start"_a, "child"_a, "group"_a, "row_start"_a, "row_subtree"_a, "row_count"_a,
        "partial"_a, "decay"_a, "vertical_decay"_a, "terminal_factor"_a, "leaves"_a, "pairs"_a, "logarithms"_a, "out"_a,
        "threads"_a, "out[i] = common fragments of tree i of the rows with itself");
  m.def("tree_pairs", &tree_pairs, "start"_a, "child"_a, "group"_a, "row_start"_a, "row_subtree"_a, "row_count"_a,
        "column_start"_a, "column_subtree"_a, "column_count"_a, "pairs"_a,
        "How many pairs of subtrees either of them keeps at most, of trees that `pairs` are enough for or not");
}

}  // namespace mercer
