// Matching windows: the windows of all columns are sorted into lists of equal ones, and each window of a row then
// visits its list.  Two random windows rarely agree, which makes this much cheaper than a product of matrices.
#include <algorithm>
#include <memory>

#include "strings.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr int64_t most_direct_slots = int64_t(1) << 22;
constexpr int64_t most_windows = int64_t(1) << 18;  // of the columns sorted together: their lists stay in cache
constexpr int64_t most_columns = int64_t(1) << 15;
constexpr uint16_t most_count = 0xFFFF;
constexpr Index fewest_rows = 16, most_rows = 256;  // of a task: many of them use the lists while these are in cache

// Columns that are sorted into lists together.
struct Columns {
  int64_t begin, end;
};

struct Entry {
  uint16_t column;  // counted from the first of the columns
  uint16_t count;
};

struct Range {
  uint32_t begin, end;
};

inline void prefetch(const void* address) {
#ifdef __GNUC__
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

void add_entries(const Entry* begin, const Entry* end, int first, double weight, double* out) {
  for (; end > begin && end[-1].column >= first; --end) out[end[-1].column] += weight * end[-1].count;
}

void add_entries(const Entry* begin, const Entry* end, const double* each, int first, double weight, double* out) {
  for (int64_t e = end - begin; e > 0 && begin[e - 1].column >= first; --e)
    out[begin[e - 1].column] += weight * each[e - 1];
}

// What a thread needs for a row: one entry for each slot, all of them 0 between rows.
struct RowCounts {
  std::vector<int32_t> counts, seen;
  std::vector<double> weights;  // where windows have weights
};

// The windows of one group in some columns, by content: each slot has a range of entries, columns ascending.
class Lists {
 public:
  Lists(const StringBlock& block, const WindowGroup& group, Columns columns)
      : block_(block), group_(group), columns_(columns) {
    int64_t windows = 0;
    for (int64_t j = columns.begin; j < columns.end; ++j) windows += count(block.column(j));
    choose_slots(windows);
    std::vector<uint32_t> slots;
    slots.reserve(std::size_t(windows));
    ranges_.assign(std::size_t(direct_ ? slot_count_ : 0), {0, 0});
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      const Sequence t = block.column(j);
      for_windows(t, group.span, [&](int64_t w) {
        const uint32_t slot = uint32_t(direct_ ? number(t.codes + w) : insert(t.codes + w));
        if (slot >= ranges_.size()) ranges_.push_back({0, 0});
        ++ranges_[slot].end;
        slots.push_back(slot);
      });
    }
    uint32_t total = 0;
    for (Range& range : ranges_) {
      const uint32_t size = range.end;
      range = {total, total};
      total += size;
    }
    entries_.resize(slots.size());
    if (block.weights) weights_.assign(slots.size(), 0.0);
    std::size_t next = 0;
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      const uint16_t column = uint16_t(j - columns.begin);
      const Sequence t = block.column(j);
      for_windows(t, group.span, [&](int64_t w) {
        Range& range = ranges_[slots[next++]];
        Entry* const last = range.end > range.begin ? &entries_[range.end - 1] : nullptr;
        if (last && last->column == column && last->count < most_count) ++last->count;
        else entries_[range.end++] = {column, 1};
        if (t.weights) weights_[range.end - 1] += t.weights[w];
      });
    }
  }

  std::size_t slots() const { return ranges_.size(); }

  void add_row(const Sequence& s, int64_t first, double* out, RowCounts& row) const {
    if (first >= columns_.end) return;
    std::vector<int32_t>&counts = row.counts, &seen = row.seen;
    first = std::max<int64_t>(0, first - columns_.begin);
    out += columns_.begin;
    seen.clear();
    const auto visit = [&](int32_t slot) {
      if (slot < 0 || counts[std::size_t(slot)]++ > 0) return;
      prefetch(ranges_.data() + slot);
      seen.push_back(slot);
    };
    if (s.weights)
      for_windows(s, group_.span, [&](int64_t w) {
        const int32_t slot = direct_ ? number(s.codes + w) : find(s.codes + w);
        if (slot >= 0) row.weights[std::size_t(slot)] += s.weights[w];
        visit(slot);
      });
    else
      for_windows(s, group_.span, [&](int64_t w) { visit(direct_ ? number(s.codes + w) : find(s.codes + w)); });
    for (const int32_t slot : seen) prefetch(entries_.data() + ranges_[std::size_t(slot)].begin);
    for (const int32_t slot : seen) {
      const Range range = ranges_[std::size_t(slot)];
      const Entry *begin = entries_.data() + range.begin, *end = entries_.data() + range.end;
      if (s.weights) {
        const double weight = group_.weight * row.weights[std::size_t(slot)];
        add_entries(begin, end, weights_.data() + range.begin, int(first), weight, out);
        row.weights[std::size_t(slot)] = 0;
      } else {
        add_entries(begin, end, int(first), group_.weight * counts[std::size_t(slot)], out);
      }
      counts[std::size_t(slot)] = 0;
    }
  }

 private:
  int64_t count(const Sequence& t) const { return std::max<int64_t>(0, t.size - group_.span + 1); }

  // Every possible content has its own slot where these are few, and contents that occur are numbered by hashing
  // otherwise.
  void choose_slots(int64_t windows) {
    const int64_t limit = std::min(most_direct_slots, 4 * windows + 4096);
    slot_count_ = 1;
    direct_ = true;
    for (std::size_t k = 0; k < group_.offsets.size() && direct_; ++k) {
      direct_ = slot_count_ <= limit / std::max<int64_t>(1, block_.letters);
      slot_count_ *= block_.letters;
    }
    if (direct_) return;
    std::size_t size = 16;
    while (size < 2 * std::size_t(windows)) size *= 2;
    table_.assign(size, -1);
  }

  int32_t number(const int32_t* window) const {
    int64_t value = 0;
    for (int64_t offset : group_.offsets) value = value * block_.letters + window[offset];
    return int32_t(value);
  }

  std::size_t place(const int32_t* window) const {
    uint64_t hash = 0;
    for (int64_t offset : group_.offsets) {
      hash = (hash ^ uint64_t(window[offset])) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    std::size_t at = std::size_t(hash) & (table_.size() - 1);
    while (table_[at] >= 0 && !same(window, known_[std::size_t(table_[at])])) at = (at + 1) & (table_.size() - 1);
    return at;
  }

  bool same(const int32_t* a, const int32_t* b) const {
    for (int64_t offset : group_.offsets)
      if (a[offset] != b[offset]) return false;
    return true;
  }

  int32_t insert(const int32_t* window) {
    const std::size_t at = place(window);
    if (table_[at] < 0) {
      table_[at] = int32_t(known_.size());
      known_.push_back(window);
    }
    return table_[at];
  }

  int32_t find(const int32_t* window) const { return table_[place(window)]; }

  const StringBlock& block_;
  const WindowGroup& group_;
  Columns columns_;
  bool direct_ = true;
  int64_t slot_count_ = 1;
  std::vector<Range> ranges_;
  std::vector<Entry> entries_;
  std::vector<double> weights_;        // of the entries, where windows have weights
  std::vector<int32_t> table_;         // where contents are hashed: the slot of each place, or -1
  std::vector<const int32_t*> known_;  // and one window of each slot
};

}  // namespace

void add_window_matches(const StringBlock& block, const std::vector<WindowGroup>& groups) {
  std::vector<Columns> parts;
  int64_t windows = 0;
  for (int64_t j = 0; j < block.column_count; ++j) {
    const int64_t more = block.column(j).size;
    if (parts.empty() || windows + more > most_windows || parts.back().end - parts.back().begin == most_columns) {
      parts.push_back({j, j});
      windows = 0;
    }
    parts.back().end = j + 1;
    windows += more;
  }
  const Index lists_count = Index(parts.size() * groups.size());
  std::vector<std::unique_ptr<Lists>> lists(parts.size() * groups.size());
  share_tasks(lists_count, std::max(1, int(std::min(Index(block.threads), lists_count))), [&](int, Index q) {
    lists[std::size_t(q)] = std::make_unique<Lists>(block, groups[std::size_t(q) % groups.size()],
                                                    parts[std::size_t(q) / groups.size()]);
  });
  std::size_t slots = 0;
  for (const auto& list : lists) slots = std::max(slots, list->slots());
  const Index rows = Index(block.row_count);
  const Index rows_per_task = std::clamp(rows / (4 * Index(block.threads)), fewest_rows, most_rows);
  const Index tasks = (rows + rows_per_task - 1) / rows_per_task;
  const int threads = useful_threads(block.threads, tasks,
                                     double(rows) * double(block.column_count) * double(groups.size()));
  const RowCounts zeros{std::vector<int32_t>(slots), {}, std::vector<double>(block.weights ? slots : 0)};
  std::vector<RowCounts> counts(size_t(threads), zeros);
  share_tasks(tasks, threads, [&](int worker, Index task) {
    const Index stop = std::min(rows, (task + 1) * rows_per_task);
    for (const auto& list : lists)
      for (Index i = task * rows_per_task; i < stop; ++i)
        list->add_row(block.row(i), block.first[i], block.values(i), counts[std::size_t(worker)]);
  });
}

}  // namespace mercer
