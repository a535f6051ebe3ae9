// Common fragments of distinct subtrees, from those of their children, and their sums over the nodes of two trees.
#include "trees.hpp"

#include <algorithm>
#include <vector>

#include "tasks.hpp"
#include "wide_number.hpp"
#include "trees_strips.hpp"

namespace mercer {
namespace {

constexpr Index strip_members = 2048;  // of a row of Δ that are one task
// From how many nodes on a subtree is kept for its next use, if all of them would take too much room.
constexpr double kept_sizes[] = {0, 8, 64, 512, 4096, 1e300};

// Both subtrees have the same production: every child is left as it is or replaced by a fragment of its own.
template <class Value, class Inner>
Value subset_fragments(const Subtrees& trees, double decay, int64_t x, int64_t z, const Inner& inner) {
  const int64_t *a = trees.child + trees.start[x], *b = trees.child + trees.start[z];
  Value product = decay;
  for (const int64_t* end = trees.child + trees.start[x + 1]; a != end; ++a, ++b)
    if (!trees.leaf(*a) && trees.group[*a] == trees.group[*b]) product *= Value(1.0) + inner(*a, *b);
  return product;
}

// Both subtrees have the same label: common subsequences of their children, of every length at once.  columns[j]
// holds what ends at child j of z, decayed by the children of x passed since; before it, in `ended`, decayed by
// those of z too, is all that a pair of children may extend.  Every term is positive: nothing cancels.
template <class Value, class Inner>
Value partial_fragments(const Subtrees& trees, const FragmentRule& rule, int64_t x, int64_t z, const Inner& inner,
                        std::vector<Value>& columns) {
  const Value decay = rule.decay, single = decay * decay, vertical_decay = rule.vertical_decay;
  if (trees.leaf(x) || trees.leaf(z))
    return vertical_decay * single * Value(trees.leaf(x) && trees.leaf(z) ? rule.terminal_factor : 1.0);
  const int64_t *a = trees.child + trees.start[x], *a_end = trees.child + trees.start[x + 1];
  const int64_t *b = trees.child + trees.start[z], *b_end = trees.child + trees.start[z + 1];
  columns.assign(std::size_t(b_end - b), Value(0.0));
  Value total = 0.0;
  for (; a != a_end; ++a) {
    Value ended = 0.0;
    for (int64_t j = 0; b + j != b_end; ++j) {
      const Value before = columns[std::size_t(j)];
      Value here = 0.0;
      if (trees.group[*a] == trees.group[b[j]]) {
        here = inner(*a, b[j]) * (Value(1.0) + ended);
        total += here;
      }
      ended = decay * ended + before;
      columns[std::size_t(j)] = decay * before + here;
    }
  }
  return vertical_decay * (single + total);
}

template <class Value, class Inner>
Value common_fragments(const Subtrees& trees, const FragmentRule& rule, int64_t x, int64_t z, const Inner& inner,
                       std::vector<Value>& columns) {
  return rule.partial ? partial_fragments<Value>(trees, rule, x, z, inner, columns)
                      : subset_fragments<Value>(trees, rule.decay, x, z, inner);
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

// How many pairs the subtrees of some trees make with the members of their groups.
int64_t count_table(const Subtrees& trees, const TreeRows& rows, const Members& members) {
  std::vector<char> seen(std::size_t(trees.count), 0);
  int64_t total = 0;
  for (int64_t e = 0; e < rows.entries(); ++e) {
    const int64_t t = rows.subtree[e];
    if (!seen[std::size_t(t)]) total += members.width(trees.group[t]);
    seen[std::size_t(t)] = 1;
  }
  return total;
}

// The common fragments of every subtree of the rows with the members of its group.
template <class Value>
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
    std::vector<std::vector<Value>> scratch((std::size_t(threads)));
    for (const std::vector<int64_t>& same : levels) {
      double work = 0;
      for (int64_t t : same) work += 4.0 * double(members.width(trees.group[t]));
      share_tasks(Index(same.size()), useful_threads(threads, Index(same.size()), work), [&](int worker, Index task) {
        const int64_t t = same[std::size_t(task)], g = trees.group[t];
        const int64_t* with = members.member.data() + members.first[std::size_t(g)];
        Value* to = values_.data() + place_[std::size_t(t)];
        for (int64_t i = 0; i < members.width(g); ++i)
          to[i] = common_fragments(trees, rule, t, with[i], inner, scratch[std::size_t(worker)]);
      });
    }
  }
  const Value* of(int64_t t) const { return values_.data() + place_[std::size_t(t)]; }

 private:
  std::vector<int64_t> place_;
  std::vector<Value> values_;
};

// Adds what one subtree has in common with the members of its group, as often as it occurs.
template <class Value>
void add_subtree(const Subtrees& trees, const FragmentRule& rule, int64_t t, double count, const Value* from,
                 const Members& members, std::vector<Value>& weight) {
  if (!rule.counted(trees, t)) return;
  Value* sum = weight.data() + members.first[std::size_t(trees.group[t])];
  const Value times = count;
  for (int64_t i = 0; i < members.width(trees.group[t]); ++i) sum[i] += times * from[i];
}

// Kernel values of one row with all columns, from the sums over the row's subtrees.
template <class Value>
void sum_columns(const Members& members, const TreeRows& columns, const std::vector<Value>& weight, double* out) {
  for (int64_t column = 0; column < columns.rows; ++column) {
    Value total = 0.0;
    for (int64_t e = columns.start[column]; e < columns.start[column + 1]; ++e)
      total += Value(columns.count[e]) * weight[std::size_t(members.slot[std::size_t(columns.subtree[e])])];
    out[column] = written(total);
  }
}

template <class Value>
void fill_from_table(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const TreeRows& columns,
                     const Members& members, int threads, double* out) {
  const Fragments<Value> common(trees, rule, rows, members, threads);
  const int useful = useful_threads(threads, Index(rows.rows), double(rows.rows) * double(columns.entries()));
  std::vector<std::vector<Value>> weights((std::size_t(useful)));
  share_tasks(Index(rows.rows), useful, [&](int worker, Index row) {
    std::vector<Value>& weight = weights[std::size_t(worker)];
    weight.assign(members.member.size(), Value(0.0));
    for (int64_t e = rows.start[row]; e < rows.start[row + 1]; ++e) {
      const int64_t t = rows.subtree[e];
      add_subtree(trees, rule, t, rows.count[e], common.of(t), members, weight);
    }
    sum_columns(members, columns, weight, out + row * columns.rows);
  });
}

// From which size on subtrees are kept for their next use, and how many pairs are then kept at most.
struct StripPlan {
  double smallest;
  int64_t pairs;
};

StripPlan plan_strips(const Subtrees& trees, const TreeRows& rows, const StripOrder& order, const Members& members,
                      int64_t pairs) {
  StripPlan best{0, -1};
  for (const double smallest : kept_sizes) {
    int64_t now = 0, most = 0;
    const auto width = [&](int64_t e) { return members.width(trees.group[rows.subtree[e]]); };
    order.walk(
        smallest, [&](int64_t e, bool) { most = std::max(most, now += width(e)); },
        [&](int64_t e) { now -= width(e); });
    if (best.pairs < 0 || most < best.pairs) best = {smallest, most};
    if (best.pairs <= pairs) break;
  }
  return best;
}

template <class Value>
void fill_in_strips(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, int64_t row,
                    const TreeRows& columns, const Members& members, const Keeping& keeping, double* out) {
  const StripOrder order(trees, rows, row);
  const StripPlan plan = plan_strips(trees, rows, order, members, keeping.pairs);
  std::vector<std::vector<Value>> strip(std::size_t(trees.count)), scratch((std::size_t(keeping.threads)));
  std::vector<Value> weight(members.member.size(), Value(0.0));
  const auto none = [](int64_t, int64_t) { return Value(0.0); };  // a leaf has no children to ask about
  const auto compute = [&](int64_t e, bool first) {
    const int64_t t = rows.subtree[e], g = trees.group[t], width = members.width(g);
    const int64_t* with = members.member.data() + members.first[std::size_t(g)];
    std::vector<Value>& to = strip[std::size_t(t)];
    to.resize(std::size_t(width));
    const Index tasks = (width + strip_members - 1) / strip_members;
    share_tasks(tasks, useful_threads(keeping.threads, tasks, 4.0 * double(width)), [&](int worker, Index task) {
      std::vector<Value>& own = scratch[std::size_t(worker)];
      const auto inner = [&](int64_t x, int64_t z) {
        if (trees.leaf(x)) return common_fragments(trees, rule, x, z, none, own);
        return strip[std::size_t(x)][std::size_t(members.slot[std::size_t(z)] - members.first[std::size_t(trees.group[x])])];
      };
      const int64_t end = std::min(width, (task + 1) * strip_members);
      for (int64_t i = task * strip_members; i < end; ++i)
        to[std::size_t(i)] = common_fragments(trees, rule, t, with[i], inner, own);
    });
    if (first) add_subtree(trees, rule, t, rows.count[e], to.data(), members, weight);
  };
  order.walk(plan.smallest, compute, [&](int64_t e) { std::vector<Value>().swap(strip[std::size_t(rows.subtree[e])]); });
  sum_columns(members, columns, weight, out);
}

template <class Value>
void fill_values(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const TreeRows& columns,
                 const Keeping& keeping, double* out) {
  const Members members(trees, columns);
  if (count_table(trees, rows, members) <= keeping.pairs)
    return fill_from_table<Value>(trees, rule, rows, columns, members, keeping.threads, out);
  for (int64_t row = 0; row < rows.rows; ++row)
    fill_in_strips<Value>(trees, rule, rows, row, columns, members, keeping, out + row * columns.rows);
}

// One row in a table of its own, so that its numbers are as few as its subtrees.
class OwnTable {
 public:
  explicit OwnTable(const Subtrees& trees) : number_(std::size_t(trees.count)), group_(std::size_t(trees.groups), -1) {}

  // Calls visit(trees, rows) with the table of one row.
  template <class Visit>
  void visit(const Subtrees& trees, const TreeRows& rows, int64_t row, Visit&& visit) {
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
    visit(own, TreeRows{1, ends, all_.data(), rows.count + first});
  }

 private:
  std::vector<int64_t> number_, group_, start_, child_, groups_, all_;
};

}  // namespace

void fill_block(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const TreeRows& columns,
                const Keeping& keeping, double* out) {
  const auto fill = keeping.logarithms ? fill_values<WideNumber> : fill_values<double>;
  fill(trees, rule, rows, columns, keeping, out);
}

void fill_diagonal(const Subtrees& trees, const FragmentRule& rule, const TreeRows& rows, const Keeping& keeping,
                   double* out) {
  OwnTable own(trees);
  for (int64_t row = 0; row < rows.rows; ++row)
    own.visit(trees, rows, row, [&](const Subtrees& table, const TreeRows& itself) {
      fill_block(table, rule, itself, itself, keeping, out + row);
    });
}

int64_t count_block_pairs(const Subtrees& trees, const TreeRows& rows, const TreeRows& columns, int64_t pairs) {
  const Members members(trees, columns);
  int64_t most = std::min(pairs, count_table(trees, rows, members));
  for (int64_t row = 0; row < rows.rows; ++row) {
    int64_t total = 0;
    for (int64_t e = rows.start[row]; e < rows.start[row + 1]; ++e) total += members.width(trees.group[rows.subtree[e]]);
    if (total > pairs)
      most = std::max(most, plan_strips(trees, rows, StripOrder(trees, rows, row), members, pairs).pairs);
  }
  return most;
}

int64_t count_diagonal_pairs(const Subtrees& trees, const TreeRows& rows, int64_t pairs) {
  OwnTable own(trees);
  int64_t most = 0;
  for (int64_t row = 0; row < rows.rows; ++row)
    own.visit(trees, rows, row, [&](const Subtrees& table, const TreeRows& itself) {
      most = std::max(most, count_block_pairs(table, itself, itself, pairs));
    });
  return most;
}

}  // namespace mercer
