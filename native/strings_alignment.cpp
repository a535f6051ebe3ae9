// Dynamic programmes on pairs of sequences.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "strings.hpp"
#include "strings_lanes.hpp"
#include "tasks.hpp"
#include "wide_number.hpp"

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
    // Neither what lies behind a column nor a token that is none equals anything, so that they have codes of their own.
    std::fill(columns_.get(), columns_.get() + string_lanes * longest_, -2.0);
    for (Index a = 0; a < count; ++a) {
      const Sequence t = block.column(start + a);
      for (Index j = 0; j < Index(t.size); ++j)
        columns_.get()[j * string_lanes + a] = t.codes[j] == no_token ? -3.0 : double(t.codes[j]);
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

// The programme of strings_lanes.cpp in numbers that neither overflow nor underflow, for one pair.
double log_subsequences(const Sequence& s, const Sequence& t, int64_t length, double decay) {
  const std::size_t step = std::size_t(t.size + 1);
  std::vector<WideNumber> sums(std::size_t(length) * step);
  std::fill(sums.begin(), sums.begin() + std::ptrdiff_t(step), WideNumber(1.0));
  const WideNumber by = decay, square = by * by;
  WideNumber total;
  for (int64_t i = 0; i < s.size; ++i) {
    const int32_t code = s.codes[i];
    const auto agree = [&](int64_t j) { return code != no_token && code == t.codes[j]; };
    const WideNumber* const longest = sums.data() + std::size_t(length - 1) * step;
    for (int64_t j = 0; i + 1 >= length && j < t.size; ++j)
      if (agree(j)) total += longest[j];
    for (int64_t level = std::min(i + 1, length - 1); level >= 1; --level) {
      const WideNumber* const below = sums.data() + std::size_t(level - 1) * step;
      WideNumber* const to = sums.data() + std::size_t(level) * step;
      WideNumber run;
      for (int64_t j = 0; j < t.size; ++j) {
        if (run.part != 0) run *= by;
        if (agree(j)) run += square * below[j];
        if (to[j + 1].part != 0) to[j + 1] *= by;
        if (run.part != 0) to[j + 1] += run;
      }
    }
  }
  return (square * total).logarithm();
}

// Whether doubles have lost digits of a value.  They overflow to infinity.  They underflow only if the smallest weight,
// decay^(n + m), does; each of at most 3 length n m steps then errs by 2^-1022, which the steps that follow multiply by
// the number of places where a subsequence goes on, or by 1 / (1 - decay) in each sequence if that is less.
bool is_doubtful(double value, int64_t n, int64_t m, int64_t length, double decay) {
  constexpr double log_2 = 0.69314718055994530942;
  if (!std::isfinite(value)) return true;
  if (double(n + m) * std::log(decay) > -1000 * log_2) return false;
  const double ways = 1 / (1 - decay);
  const double gain = std::log(std::min(double(n), ways)) + std::log(std::min(double(m), ways));
  const double error = std::log(3.0 * double(length) * double(n) * double(m)) - 1022 * log_2 + double(length) * gain;
  return value == 0 || std::log(value) < error + 53 * log_2;
}

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

// Runs of agreement of s, from its token `shift` on, with t.
double weigh_runs(const Sequence& s, const Sequence& t, int64_t shift, const double* table, int64_t most) {
  const int64_t size = std::min(s.size - shift, t.size);
  if (size < 1) return 0;
  const int32_t* const codes = s.codes + shift;
  int64_t run = 0;
  double total = 0;
  for (int64_t i = 0; i < size; ++i) {
    run = codes[i] == t.codes[i] && codes[i] != no_token ? std::min(run + 1, most) : 0;
    total += table[run];
  }
  return total;
}

// Sums over the alignments that end at a pair of tokens: with it aligned, or in a gap of one sequence or the other.
// All three are to be multiplied by 2^(256 scale), as those of alignment.hpp are, so that they never overflow.  What is
// too small beside the largest of the three is lost, and would stay so: alignments go on from all of them alike.
struct LocalCell {
  double aligned, down, right, scale;
};

constexpr double local_step = 0x1p256, local_inverse_step = 0x1p-256, log_local_step = 256 * 0.69314718055994530942;

inline double shrink(double gap) { return gap == 0 ? 1.0 : gap == 1 ? local_inverse_step : gap == 2 ? 0x1p-512 : 0.0; }

// Saigo, Vert, Ueda and Akutsu (2004).  A gap of the row comes before one of the column, so that every alignment counts
// once.  All terms are positive: nothing cancels.
double log_local(const Sequence& s, const Sequence& t, const double* scores, int64_t letters, double open,
                 double extend, std::vector<LocalCell>& row) {
  row.assign(std::size_t(t.size + 1), {0.0, 0.0, 0.0, 0.0});
  double total = 1, scale = 0;  // the empty alignment
  for (int64_t i = 0; i < s.size; ++i) {
    const double* const score = scores + int64_t(s.codes[i]) * letters;
    LocalCell diagonal = row[0];
    LocalCell left = row[0];
    for (int64_t j = 0; j < t.size; ++j) {
      const LocalCell up = row[std::size_t(j + 1)];
      LocalCell here;
      here.scale = std::max(diagonal.scale, std::max(up.scale, left.scale));
      double one = 1, d = 1, u = 1, l = 1;
      if (here.scale > 0) {
        one = shrink(here.scale), d = shrink(here.scale - diagonal.scale);
        u = shrink(here.scale - up.scale), l = shrink(here.scale - left.scale);
      }
      here.aligned = score[t.codes[j]] * (one + d * (diagonal.aligned + diagonal.down + diagonal.right));
      here.down = u * (open * up.aligned + extend * up.down);
      here.right = l * (open * (left.aligned + left.down) + extend * left.right);
      if (std::max(here.aligned, std::max(here.down, here.right)) >= local_step) {
        here.aligned *= local_inverse_step, here.down *= local_inverse_step, here.right *= local_inverse_step;
        here.scale += 1;
      } else if (here.scale > 0 && std::max(here.aligned, std::max(here.down, here.right)) < local_inverse_step) {
        here.aligned *= local_step, here.down *= local_step, here.right *= local_step;
        here.scale -= 1;
      }
      if (here.scale > scale) total *= shrink(here.scale - scale), scale = here.scale;
      total += shrink(scale - here.scale) * here.aligned;
      if (total >= local_step) total *= local_inverse_step, scale += 1;
      diagonal = up;
      left = row[std::size_t(j + 1)] = here;
    }
  }
  return std::log(total) + scale * log_local_step;
}

}  // namespace

template <class F>  // write(i, j, value) is called for every value that is asked for, and perhaps for others
void for_subsequences(const StringBlock& block, int64_t length, double decay, const Isa& isa, F&& write) {
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
      for (Index j = start; j < stop; ++j) write(i, j, result[j - start]);
    }
  });
}

void subsequence_block(const StringBlock& block, int64_t length, double decay, const Isa& isa) {
  for_subsequences(block, length, decay, isa, [&](Index i, Index j, double value) { block.values(i)[j] = value; });
}

void log_subsequence_block(const StringBlock& block, int64_t length, double decay, const Isa& isa) {
  for_subsequences(block, length, decay, isa, [&](Index i, Index j, double value) {
    if (j < block.first[i] || j >= block.last[i]) return;
    const Sequence s = block.row(i), t = block.column(j);
    double& out = block.values(i)[j];
    if (std::min(s.size, t.size) < length) {
      out = -HUGE_VAL;
    } else if (is_doubtful(value, s.size, t.size, length, decay)) {
      out = log_subsequences(s, t, length, decay);
    } else {
      out = std::log(value);
    }
  });
}

void run_block(const StringBlock& block, const double* table, int64_t size, const std::vector<double>& shifts) {
  const double entries = double(block.row_count) * double(block.column_count) * 16 * double(shifts.size());
  share_tasks(Index(block.row_count), useful_threads(block.threads, Index(block.row_count), entries),
              [&](int, Index i) {
                for (int64_t j = block.first[i]; j < block.last[i]; ++j) {
                  const Sequence s = block.row(i), t = block.column(j);
                  double total = weigh_runs(s, t, 0, table, size - 1);
                  for (std::size_t by = 1; by < shifts.size(); ++by)
                    total += shifts[by] * (weigh_runs(s, t, int64_t(by), table, size - 1) +
                                           weigh_runs(t, s, int64_t(by), table, size - 1));
                  block.values(i)[j] = total;
                }
              });
}

void local_block(const StringBlock& block, const double* scores, double open, double extend) {
  const int threads = useful_threads(block.threads, Index(block.row_count),
                                     double(block.row_count) * double(block.column_count) * 1024);
  std::vector<std::vector<LocalCell>> scratch((std::size_t(threads)));
  share_tasks(Index(block.row_count), threads, [&](int worker, Index i) {
    for (int64_t j = block.first[i]; j < block.last[i]; ++j)
      block.values(i)[j] = log_local(block.row(i), block.column(j), scores, block.letters, open, extend,
                                     scratch[std::size_t(worker)]);
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
