// Words of single sequences: see strings_words.hpp.
#include "strings_words.hpp"

#include <algorithm>

#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index rows_per_task = 16;
constexpr uint64_t mixer = 0x9E3779B97F4A7C15u;

inline uint64_t mix(uint64_t key) {
  key *= mixer;
  return key ^ (key >> 32);
}

template <class F>
void for_rows(const Sequences& sequences, double words, int threads, F&& body) {
  const Index rows = Index(sequences.count), tasks = (rows + rows_per_task - 1) / rows_per_task;
  share_tasks(tasks, useful_threads(threads, tasks, words), [&](int worker, Index task) {
    for (Index i = task * rows_per_task; i < std::min(rows, (task + 1) * rows_per_task); ++i) body(worker, i);
  });
}

double count_tokens(const Sequences& sequences) {
  double total = 0;
  for (Index i = 0; i < Index(sequences.count); ++i) total += double(sequences[i].size);
  return total;
}

// How often each key occurs: a table that is empty again at the start of each round without being cleared.
class Counter {
 public:
  // For so many keys, all below a bound; few possible ones have a slot each.
  void start(std::size_t keys, double bound) {
    direct_ = bound <= 16384;
    std::size_t size = 64;
    while (size < (direct_ ? std::size_t(bound) : 2 * keys)) size *= 2;
    if (size > slots_.size()) slots_.assign(size, {0, 0, 0}), round_ = 0;
    mask_ = slots_.size() - 1;
    ++round_;
  }

  // How often the key was there before.
  uint32_t add(uint64_t key) {
    std::size_t at = std::size_t(direct_ ? key : mix(key)) & mask_;
    while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) & mask_;
    if (slots_[at].round != round_) slots_[at] = {key, round_, 0};
    return slots_[at].count++;
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t round, count;
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  uint32_t round_ = 0;
  bool direct_ = false;
};

// The numbers that the windows of a sequence spell in base `letters`, at the offsets of a group, one after the other.
template <class F>
void for_numbers(const Sequence& s, uint64_t letters, const WindowGroup& group, F&& body) {
  if (int64_t(group.offsets.size()) < group.span) {
    for_windows(s, group.span, [&](int64_t i) {
      uint64_t number = 0;
      for (const int64_t offset : group.offsets) number = number * letters + uint64_t(s.codes[i + offset]);
      body(number);
    });
    return;
  }
  uint64_t number = 0, highest = 1;  // what the first token counts
  int64_t known = 0;                 // tokens in the number
  for (int64_t k = 1; k < group.span; ++k) highest *= letters;
  for (int64_t i = 0; i < s.size; ++i) {
    if (s.codes[i] == no_token) {
      known = 0, number = 0;
      continue;
    }
    if (known == group.span) number -= highest * uint64_t(s.codes[i - group.span]);
    else ++known;
    number = number * letters + uint64_t(s.codes[i]);
    if (known == group.span) body(number);
  }
}

// Calls body(i) for every place at which a word of a group may start.
template <class F>
void for_starts(const Sequence& s, const WordGroup& group, F&& body) {
  for_windows(s, group.whole ? group.span : 1, body);
}

}  // namespace

WordTree::WordTree(int64_t letters, int64_t outputs) : letters_(letters), outputs_(outputs) {
  if (!direct()) slots_.assign(1024, {0, -1});
}

std::size_t WordTree::place(uint64_t key) const {
  std::size_t at = std::size_t(mix(key)) & (slots_.size() - 1);
  while (slots_[at].child >= 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

int32_t WordTree::find(int32_t node, int32_t code) const {
  const uint64_t key = uint64_t(node) * uint64_t(letters_) + uint64_t(code);
  return direct() ? children_[std::size_t(key)] : slots_[place(key)].child;
}

int32_t WordTree::make_node(int32_t parent) {
  parents_.push_back(parent);
  values_.resize(values_.size() + std::size_t(outputs_));
  if (direct()) children_.resize(children_.size() + std::size_t(letters_), -1);
  return int32_t(nodes_++);
}

int32_t WordTree::grow(int32_t node, int32_t code) {
  const int32_t known = find(node, code);
  if (known >= 0) return known;
  const int32_t made = make_node(node);
  const uint64_t key = uint64_t(node) * uint64_t(letters_) + uint64_t(code);
  if (direct()) {
    children_[std::size_t(key)] = made;
    return made;
  }
  if (2 * ++used_ > slots_.size()) {
    std::vector<Slot> before(2 * slots_.size(), {0, -1});
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.child >= 0) slots_[place(slot.key)] = slot;
  }
  slots_[place(key)] = {key, made};
  return made;
}

bool WordTree::add(const Sequences& sequences, const WordGroup& group, const double* coef, int64_t most_nodes) {
  if (kinds_.empty() || !(kinds_.back().group == group)) kinds_.push_back({group, {}});
  std::vector<int32_t>& roots = kinds_.back().roots;
  const int64_t depth = int64_t(group.offsets.size());
  for (Index r = 0; r < Index(sequences.count); ++r) {
    const Sequence s = sequences[r];
    const double* c = coef + r * outputs_;
    for_starts(s, group, [&](int64_t i) {
      if (nodes_ > most_nodes) return;
      while (roots.empty() || (group.placed && i >= int64_t(roots.size()))) roots.push_back(make_node(-1));
      int32_t node = roots[std::size_t(group.placed ? i : 0)];
      for (int64_t d = 0; d < depth && i + group.offsets[std::size_t(d)] < s.size; ++d) {
        const int32_t code = s.codes[i + group.offsets[std::size_t(d)]];
        if (code == no_token) break;
        node = grow(node, code);
        const double gain = group.gains[std::size_t(d + 1)] * s.weight(i);
        if (gain != 0)
          for (int64_t o = 0; o < outputs_; ++o) values_[std::size_t(node * outputs_ + o)] += gain * c[o];
      }
    });
    if (nodes_ > most_nodes) return false;
  }
  return true;
}

void WordTree::finish() {
  // Parents come before their children.
  for (int64_t node = 0; node < nodes_; ++node) {
    const int64_t parent = parents_[std::size_t(node)];
    for (int64_t o = 0; parent >= 0 && o < outputs_; ++o)
      values_[std::size_t(node * outputs_ + o)] += values_[std::size_t(parent * outputs_ + o)];
  }
  std::vector<int32_t>().swap(parents_);
  finished_ = true;
}

void WordTree::sum(const Sequences& sequences, double* out, int threads) const {
  for_rows(sequences, count_tokens(sequences) * double(kinds_.size()), threads, [&](int, Index r) {
    const Sequence s = sequences[r];
    double* to = out + r * outputs_;
    for (const Kind& kind : kinds_) {
      const WordGroup& group = kind.group;
      const int64_t depth = int64_t(group.offsets.size());
      for_starts(s, group, [&](int64_t i) {
        if (i >= int64_t(kind.roots.size()) && (group.placed || kind.roots.empty())) return;
        int32_t node = kind.roots[std::size_t(group.placed ? i : 0)];
        for (int64_t d = 0; d < depth && i + group.offsets[std::size_t(d)] < s.size; ++d) {
          const int32_t code = s.codes[i + group.offsets[std::size_t(d)]];
          const int32_t next = code != no_token && code < letters_ ? find(node, code) : -1;
          if (next < 0) break;
          node = next;
        }
        for (int64_t o = 0; o < outputs_; ++o) to[o] += s.weight(i) * values_[std::size_t(node * outputs_ + o)];
      });
    }
  });
}

void sum_window_table(const Sequences& sequences, int64_t letters, int64_t span, const double* table, int64_t outputs,
                      double* out, int threads) {
  int64_t highest = 1;  // what the first token of a window counts in its number
  for (int64_t k = 1; k < span; ++k) highest *= letters;
  for_rows(sequences, count_tokens(sequences), threads, [&](int, Index r) {
    const Sequence s = sequences[r];
    double* to = out + r * outputs;
    int64_t number = 0, known = 0;
    for (int64_t i = 0; i < s.size; ++i) {
      const int64_t code = s.codes[i];
      if (code == no_token || code >= letters) {
        known = number = 0;
        continue;
      }
      if (known == span) number -= highest * s.codes[i - span];
      else ++known;
      number = number * letters + code;
      if (known < span) continue;
      for (int64_t o = 0; o < outputs; ++o) to[o] += s.weight(i - span + 1) * table[number * outputs + o];
    }
  });
}

void sum_window_squares(const Sequences& sequences, int64_t letters, const std::vector<WindowGroup>& groups, double* out,
                        int threads) {
  std::vector<Counter> counters(std::size_t(std::max(1, threads)));
  for_rows(sequences, 2 * count_tokens(sequences) * double(groups.size()), threads, [&](int worker, Index r) {
    const Sequence s = sequences[r];
    Counter& counter = counters[std::size_t(worker)];
    for (const WindowGroup& group : groups) {
      if (s.size < group.span) continue;
      double bound = 1;
      for (std::size_t k = 0; k < group.offsets.size(); ++k) bound *= double(letters);
      counter.start(std::size_t(s.size - group.span + 1), bound);
      int64_t squares = 0;
      for_numbers(s, uint64_t(letters), group, [&](uint64_t number) {
        squares += 2 * int64_t(counter.add(number)) + 1;  // (c + 1)^2 - c^2
      });
      out[r] += group.weight * double(squares);
    }
  });
}

}  // namespace mercer
