// Sums over all pairs of windows of two sequences, by how much the windows differ.
#include "strings_diagonals.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "strings.hpp"
#include "tasks.hpp"
#include "versions.hpp"

namespace mercer {
namespace {

constexpr int most_planes = 6;  // bytes of a value
constexpr Index rows_per_task = 4;

typedef double (*Comparison)(const DiagonalArguments&);

// Sequences as bytes, each with room for whole vectors behind it.
class ByteSequences {
 public:
  ByteSequences(const StringBlock& block, const int64_t* ids, int64_t count, int64_t padding) {
    Index total = 0;
    for (int64_t q = 0; q < count; ++q) {
      begins_.push_back(total);
      total += Index(block.at(ids[q]).size + padding);
    }
    bytes_ = Buffer<uint8_t>(total + 1);
    std::fill(bytes_.get(), bytes_.get() + total, no_letter);
    for (int64_t q = 0; q < count; ++q) {
      const Sequence s = block.at(ids[q]);
      for (int64_t i = 0; i < s.size; ++i) bytes_.get()[begins_[std::size_t(q)] + i] = uint8_t(s.codes[i]);
    }
  }

  const uint8_t* operator[](int64_t q) const { return bytes_.get() + begins_[std::size_t(q)]; }

 private:
  std::vector<Index> begins_;
  Buffer<uint8_t> bytes_;
};

// Windows one after the other, with no token between them that is none.
struct Run {
  Index begin, windows;
};

std::vector<Run> list_runs(const Sequence& s, int64_t span) {
  std::vector<Run> runs;
  for_windows(s, span, [&](int64_t i) {
    if (runs.empty() || runs.back().begin + runs.back().windows != Index(i)) runs.push_back({Index(i), 0});
    ++runs.back().windows;
  });
  return runs;
}

// As compare_windows does, where each window has a weight.
double compare_weighted(const DiagonalArguments& a, const double* row_weights, const double* column_weights) {
  uint8_t* const origin = a.differences + a.row_windows;
  double result = 0;
  for (Index i = 0; i < a.row_windows; ++i) {
    uint8_t* const d = origin - i;
    for (Index j = 0; j < (i > 0 ? 1 : a.column_windows); ++j) {
      Index differing = 0;
      for (Index l = 0; l < a.span; ++l) differing += a.row[i + l] != a.column[j + l];
      d[j] = uint8_t(differing);
    }
    double sum = 0;
    for (Index j = 0; j < a.column_windows; ++j)
      if (d[j] < difference_values) sum += double(a.values[d[j]]) * column_weights[j];
    result += row_weights[i] * sum;
    if (i + 1 == a.row_windows) break;
    const uint8_t leaving = a.row[i], coming = a.row[i + a.span];
    for (Index j = 0; j < a.column_windows; ++j)
      d[j] = uint8_t(d[j] + (a.column[j] == leaving) - (a.column[j + a.span] == coming));
  }
  return result;
}

}  // namespace

void add_close_windows(const StringBlock& block, int64_t span, const std::vector<int64_t>& values, const Isa& isa) {
  uint8_t planes[most_planes * difference_values] = {};
  int64_t padded[difference_values] = {};
  int plane_count = 1;
  for (std::size_t d = 0; d < values.size(); ++d) {
    padded[d] = values[d];
    for (int p = 0; p < most_planes; ++p) {
      const uint8_t byte = uint8_t(uint64_t(values[d]) >> (8 * p));
      planes[std::size_t(p) * difference_values + d] = byte;
      if (byte) plane_count = std::max(plane_count, p + 1);
    }
  }
  const Comparison compare = MERCER_VERSION(Comparison, isa, compare_windows);
  const int64_t padding = int64_t(diagonal_lanes) + span;
  const ByteSequences columns(block, block.columns, block.column_count, padding);
  const ByteSequences rows(block, block.rows, block.row_count, 0);
  int64_t longest = 0, longest_row = 0;
  double cells = 0;
  for (int64_t j = 0; j < block.column_count; ++j) longest = std::max(longest, block.column(j).size);
  for (int64_t i = 0; i < block.row_count; ++i) {
    longest_row = std::max(longest_row, block.row(i).size);
    cells += double(block.row(i).size) * double(longest) * double(block.last[i] - block.first[i]) / 16;
  }
  const Index tasks = (Index(block.row_count) + rows_per_task - 1) / rows_per_task;
  const int threads = useful_threads(block.threads, tasks, cells);
  std::vector<Buffer<uint8_t>> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(Index(longest + longest_row) + 2 * diagonal_lanes);
  std::vector<std::vector<Run>> column_runs;
  for (int64_t j = 0; j < block.column_count; ++j) column_runs.push_back(list_runs(block.column(j), span));
  share_tasks(tasks, threads, [&](int worker, Index task) {
    for (Index i = task * rows_per_task; i < std::min(Index(block.row_count), (task + 1) * rows_per_task); ++i) {
      const std::vector<Run> row_runs = list_runs(block.row(i), span);
      for (int64_t j = block.first[i]; j < block.last[i]; ++j) {
        for (const Run& r : row_runs)
          for (const Run& c : column_runs[std::size_t(j)]) {
            const DiagonalArguments pair{rows[i] + r.begin, r.windows, columns[j] + c.begin, c.windows, Index(span),
                                         planes, plane_count, padded, scratch[std::size_t(worker)].get()};
            block.values(i)[j] += block.weights ? compare_weighted(pair, block.row(i).weights + r.begin,
                                                                   block.column(j).weights + c.begin)
                                                : compare(pair);
          }
      }
    }
  });
}

}  // namespace mercer
