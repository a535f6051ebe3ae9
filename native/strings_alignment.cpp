// Dynamic programmes on pairs of sequences.
#include <algorithm>
#include <string>

#include "buffer.hpp"
#include "strings.hpp"
#include "strings_lanes.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr Index rows_per_task = 64;

typedef void (*SubsequenceLoop)(const SubsequenceArguments&);

SubsequenceLoop loop_of(const Isa& isa) {
  const std::string name = isa.name;
#ifdef MERCER_X86_ISAS
  if (name == "avx512") return subsequences_avx512;
  if (name == "avx2") return subsequences_avx2;
#endif
  return subsequences_baseline;
}

// The subsequence kernel of any sequence with up to `string_lanes` columns of a block.
class Subsequences {
 public:
  Subsequences(const StringBlock& block, Index start, Index length, double decay, SubsequenceLoop loop)
      : length_(length), decay_(decay), loop_(loop) {
    const Index count = std::min(string_lanes, Index(block.column_count) - start);
    for (Index a = 0; a < count; ++a) longest_ = std::max(longest_, Index(block.column(start + a).size));
    columns_ = Buffer<double>(string_lanes * longest_ + 1);
    std::fill(columns_.get(), columns_.get() + string_lanes * longest_, -1.0);  // a code no token has
    for (Index a = 0; a < count; ++a) {
      const Sequence t = block.column(start + a);
      for (Index j = 0; j < Index(t.size); ++j) columns_.get()[j * string_lanes + a] = double(t.codes[j]);
    }
    sums_ = Buffer<double>(length * string_lanes * (longest_ + 1));
  }

  const double* row(const Sequence& s) {
    loop_({s.codes, Index(s.size), columns_.get(), longest_, length_, decay_, sums_.get(), result_.get()});
    return result_.get();
  }

 private:
  Index length_, longest_ = 0;
  double decay_;
  SubsequenceLoop loop_;
  Buffer<double> columns_, sums_, result_{string_lanes};
};

// Myers' bit-parallel edit distance in blocks of 64 tokens of the pattern.
class EditDistance {
 public:
  explicit EditDistance(int64_t letters) : letters_(letters) {}

  void pattern(const Sequence& s) {
    s_ = s;
    words_ = std::size_t((s.size + 63) / 64);
    where_.assign(std::size_t(letters_) * words_, 0);
    for (int64_t i = 0; i < s.size; ++i)
      where_[std::size_t(s.codes[i]) * words_ + std::size_t(i / 64)] |= uint64_t(1) << (i % 64);
  }

  int64_t to(const Sequence& t) {
    if (s_.size == 0) return t.size;
    plus_.assign(words_, ~uint64_t(0));
    minus_.assign(words_, 0);
    int64_t distance = s_.size;
    const int top = int((s_.size - 1) % 64);
    for (int64_t j = 0; j < t.size; ++j) {
      const uint64_t* found = where_.data() + std::size_t(t.codes[j]) * words_;
      uint64_t carry_plus = 1, carry_minus = 0;  // the row above the pattern grows by one with every token
      for (std::size_t b = 0; b < words_; ++b) {
        const uint64_t up = plus_[b], down = minus_[b];
        const uint64_t vertical = found[b] | down, equal = found[b] | carry_minus;
        const uint64_t horizontal = (((equal & up) + up) ^ up) | equal;
        uint64_t grow = down | ~(horizontal | up), shrink = up & horizontal;
        if (b + 1 == words_) distance += int64_t((grow >> top) & 1) - int64_t((shrink >> top) & 1);
        const uint64_t next_plus = grow >> 63, next_minus = shrink >> 63;
        grow = (grow << 1) | carry_plus;
        shrink = (shrink << 1) | carry_minus;
        plus_[b] = shrink | ~(vertical | grow);
        minus_[b] = grow & vertical;
        carry_plus = next_plus;
        carry_minus = next_minus;
      }
    }
    return distance;
  }

 private:
  Sequence s_{nullptr, 0};
  std::size_t words_ = 0;
  std::vector<uint64_t> where_, plus_, minus_;
  int64_t letters_;
};

double weigh_runs(const Sequence& s, const Sequence& t, const double* table, int64_t most) {
  const int64_t size = std::min(s.size, t.size);
  int64_t run = 0;
  double total = 0;
  for (int64_t i = 0; i < size; ++i) {
    run = s.codes[i] == t.codes[i] ? std::min(run + 1, most) : 0;
    total += table[run];
  }
  return total;
}

}  // namespace

void subsequence_block(const StringBlock& block, int64_t length, double decay, const Isa& isa) {
  const SubsequenceLoop loop = loop_of(isa);
  const Index groups = (Index(block.column_count) + string_lanes - 1) / string_lanes;
  const Index strips = (Index(block.row_count) + rows_per_task - 1) / rows_per_task;
  const int threads = std::max(1, int(std::min(Index(block.threads), groups * strips)));
  share_tasks(groups * strips, threads, [&](int, Index task) {
    const Index start = task / strips * string_lanes, strip = task % strips * rows_per_task;
    const Index stop = std::min(start + string_lanes, Index(block.column_count));
    Subsequences columns(block, start, Index(length), decay, loop);
    for (Index i = strip; i < std::min(strip + rows_per_task, Index(block.row_count)); ++i) {
      if (block.last[i] <= start || block.first[i] >= stop) continue;
      const double* result = columns.row(block.row(i));
      std::copy(result, result + (stop - start), block.values(i) + start);
    }
  });
}

void run_block(const StringBlock& block, const double* table, int64_t size) {
  const double entries = double(block.row_count) * double(block.column_count) * 16;
  share_tasks(Index(block.row_count), useful_threads(block.threads, Index(block.row_count), entries),
              [&](int, Index i) {
                for (int64_t j = block.first[i]; j < block.last[i]; ++j)
                  block.values(i)[j] = weigh_runs(block.row(i), block.column(j), table, size - 1);
              });
}

void edit_block(const StringBlock& block) {
  const int threads = useful_threads(block.threads, Index(block.row_count),
                                     double(block.row_count) * double(block.column_count) * 16);
  std::vector<EditDistance> workers(std::size_t(threads), EditDistance(block.letters));
  share_tasks(Index(block.row_count), threads, [&](int worker, Index i) {
    EditDistance& distance = workers[std::size_t(worker)];
    distance.pattern(block.row(i));
    for (int64_t j = block.first[i]; j < block.last[i]; ++j)
      block.values(i)[j] = double(distance.to(block.column(j)));
  });
}

}  // namespace mercer
