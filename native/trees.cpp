// Common fragments of distinct subtrees, from those of their children, and their sums over the nodes of two trees.
#include "trees.hpp"

#include <algorithm>
#include <vector>

#include "tasks.hpp"

namespace mercer {
namespace {

// Both subtrees have the same production: every child is left as it is or replaced by a fragment of its own.
template <class Inner>
double subset_fragments(const Subtrees& trees, double decay, int64_t x, int64_t z, const Inner& inner) {
  const int64_t *a = trees.child + trees.start[x], *b = trees.child + trees.start[z];
  double product = decay;
  for (const int64_t* end = trees.child + trees.start[x + 1]; a != end; ++a, ++b)
    if (!trees.leaf(*a) && trees.group[*a] == trees.group[*b]) product *= 1.0 + inner(*a, *b);
  return product;
}

// Both subtrees have the same label: common subsequences of their children, of every length at once.  columns[j]
// holds what ends at child j of z, decayed by the children of x passed since; before it, in `ended`, decayed by
// those of z too, is all that a pair of children may extend.  Every term is positive: nothing cancels.
template <class Inner>
double partial_fragments(const Subtrees& trees, const FragmentRule& rule, int64_t x, int64_t z, const Inner& inner,
                         std::vector<double>& columns) {
  const double single = rule.decay * rule.decay;
  if (trees.leaf(x) || trees.leaf(z))
    return rule.vertical_decay * single * (trees.leaf(x) && trees.leaf(z) ? rule.terminal_factor : 1.0);
  const int64_t *a = trees.child + trees.start[x], *a_end = trees.child + trees.start[x + 1];
  const int64_t *b = trees.child + trees.start[z], *b_end = trees.child + trees.start[z + 1];
  columns.assign(std::size_t(b_end - b), 0.0);
  double total = 0;
  for (; a != a_end; ++a) {
    double ended = 0;
    for (int64_t j = 0; b + j != b_end; ++j) {
      const double before = columns[std::size_t(j)];
      double here = 0;
      if (trees.group[*a] == trees.group[b[j]]) {
        here = inner(*a, b[j]) * (1.0 + ended);
        total += here;
      }
      ended = rule.decay * ended + before;
      columns[std::size_t(j)] = rule.decay * before + here;
    }
  }
  return rule.vertical_decay * (single + total);
}

template <class Inner>
double common_fragments(const Subtrees& trees, const FragmentRule& rule, int64_t x, int64_t z, const Inner& inner,
                        std::vector<double>& columns) {
  return rule.partial ? partial_fragments(trees, rule, x, z, inner, columns)
                      : subset_fragments(trees, rule.decay, x, z, inner);
}

// The subtrees of the columns, group by group.
struct Members {
  std::vector<int64_t> first, member, slot;  // group g holds member[first[g]] up to member[first[g + 1]]

  Members(const Subtrees& trees, const TreeRows& columns)
      : first(std::size_t(trees.groups + 1), 0), slot(std::size_t(trees.count), -1) {
    for (int64_t e = 0; e < columns.entries(); ++e) slot[std::size_t(columns.subtree[e])] = 0;
    for (int64_t t = 0; t < trees.count; ++t)
      if (slot[std::size_t(t)] == 0) ++first[std::size_t(trees.group[t] + 1)];
    for (std::size_t g = 1; g < first.size(); ++g) first[g] += first[g - 1];
    member.resize(std::size_t(first.back()));
    std::vector<int64_t> next(first);
    for (int64_t t = 0; t < trees.count; ++t)
      if (slot[std::size_t(t)] == 0) {
        const int64_t place = next[std::size_t(trees.group[t])]++;
        member[std::size_t(place)] = t;
        slot[std::size_t(t)] = place;
      }
  }
  int64_t width(int64_t g) const { return first[std::size_t(g + 1)] - first[std::size_t(g)]; }
};

// The common fragments of every subtree of the rows with the members of its group.
class Fragments {
 public:
  Fragments(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const Members& members, int threads)
      : place_(std::size_t(trees.count), -1) {
    std::vector<int64_t> level(std::size_t(trees.count), 0);
    std::vector<std::vector<int64_t>> levels;
    int64_t total = 0;
    for (int64_t e = 0; e < rows.entries(); ++e) {
      const int64_t t = rows.subtree[e];
      if (place_[std::size_t(t)] >= 0) continue;
      place_[std::size_t(t)] = total;
      total += members.width(trees.group[t]);
      int64_t& height = level[std::size_t(t)];
      for (int64_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
        height = std::max(height, level[std::size_t(trees.child[i])] + 1);
      if (std::size_t(height) >= levels.size()) levels.resize(std::size_t(height + 1));
      levels[std::size_t(height)].push_back(t);
    }
    values_.resize(std::size_t(total));
    const auto inner = [&](int64_t x, int64_t z) {
      const std::size_t group = std::size_t(trees.group[x]);
      return of(x)[members.slot[std::size_t(z)] - members.first[group]];
    };
    std::vector<std::vector<double>> scratch((std::size_t(threads)));
    for (const std::vector<int64_t>& same : levels) {
      double work = 0;
      for (int64_t t : same) work += 4.0 * double(members.width(trees.group[t]));
      share_tasks(Index(same.size()), useful_threads(threads, Index(same.size()), work), [&](int worker, Index task) {
        const int64_t t = same[std::size_t(task)], g = trees.group[t];
        const int64_t* with = members.member.data() + members.first[std::size_t(g)];
        double* to = values_.data() + place_[std::size_t(t)];
        for (int64_t i = 0; i < members.width(g); ++i)
          to[i] = common_fragments(trees, rule, t, with[i], inner, scratch[std::size_t(worker)]);
      });
    }
  }
  const double* of(int64_t t) const { return values_.data() + place_[std::size_t(t)]; }

 private:
  std::vector<int64_t> place_;
  std::vector<double> values_;
};

// Kernel values of one row with all columns; `weight` is scratch.
void fill_row(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, int64_t row, const Fragments& common,
              const Members& members, const TreeRows& columns, std::vector<double>& weight, double* out) {
  weight.assign(members.member.size(), 0.0);
  for (int64_t e = rows.start[row]; e < rows.start[row + 1]; ++e) {
    const int64_t t = rows.subtree[e], g = trees.group[t];
    if (!rule.counted(trees, t)) continue;
    const double* from = common.of(t);
    double* sum = weight.data() + members.first[std::size_t(g)];
    for (int64_t i = 0; i < members.width(g); ++i) sum[i] += rows.count[e] * from[i];
  }
  for (int64_t column = 0; column < columns.rows; ++column) {
    out[column] = 0;
    for (int64_t e = columns.start[column]; e < columns.start[column + 1]; ++e)
      out[column] += columns.count[e] * weight[std::size_t(members.slot[std::size_t(columns.subtree[e])])];
  }
}

// One row in a table of its own, so that its numbers are as few as its subtrees.
class OwnTable {
 public:
  explicit OwnTable(const Subtrees& trees) : number_(std::size_t(trees.count)), group_(std::size_t(trees.groups), -1) {}

  double with_itself(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, int64_t row) {
    const int64_t first = rows.start[row], n = rows.start[row + 1] - first;
    start_.assign(1, 0), child_.clear(), groups_.clear(), all_.resize(std::size_t(n));
    int64_t groups = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t t = rows.subtree[first + i];
      number_[std::size_t(t)] = all_[std::size_t(i)] = i;
      for (int64_t c = trees.start[t]; c < trees.start[t + 1]; ++c)
        child_.push_back(number_[std::size_t(trees.child[c])]);
      start_.push_back(int64_t(child_.size()));
      int64_t& group = group_[std::size_t(trees.group[t])];
      if (group < 0) group = groups++;
      groups_.push_back(group);
    }
    for (int64_t i = 0; i < n; ++i) group_[std::size_t(trees.group[rows.subtree[first + i]])] = -1;
    const int64_t ends[2] = {0, n};
    const Subtrees own{n, groups, start_.data(), child_.data(), groups_.data()};
    const TreeRows itself{1, ends, all_.data(), rows.count + first};
    const Members members(own, itself);
    const Fragments common(own, rule, itself, members, 1);
    double value;
    fill_row(own, rule, itself, 0, common, members, itself, weight_, &value);
    return value;
  }

 private:
  std::vector<int64_t> number_, group_, start_, child_, groups_, all_;
  std::vector<double> weight_;
};

}  // namespace

void fill_block(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const TreeRows& columns, double* out,
                int threads) {
  const Members members(trees, columns);
  const Fragments common(trees, rule, rows, members, threads);
  const int useful = useful_threads(threads, Index(rows.rows), double(rows.rows) * double(columns.entries()));
  std::vector<std::vector<double>> weights((std::size_t(useful)));
  share_tasks(Index(rows.rows), useful, [&](int worker, Index row) {
    fill_row(trees, rule, rows, row, common, members, columns, weights[std::size_t(worker)], out + row * columns.rows);
  });
}

void fill_diagonal(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, double* out) {
  OwnTable own(trees);
  for (int64_t row = 0; row < rows.rows; ++row) out[row] = own.with_itself(trees, rule, rows, row);
}

}  // namespace mercer
