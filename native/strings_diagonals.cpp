// Sums over all pairs of windows of two sequences, by how much the windows differ.
#include "strings_diagonals.hpp"

#include <algorithm>
#include <string>

#include "buffer.hpp"
#include "strings.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

constexpr int most_planes = 6;  // bytes of a value
constexpr Index rows_per_task = 4;

typedef double (*Comparison)(const DiagonalArguments&);

Comparison comparison_of(const Isa& isa) {
  const std::string name = isa.name;
#ifdef MERCER_X86_ISAS
  if (name == "avx512") return compare_windows_avx512;
  if (name == "avx2") return compare_windows_avx2;
#endif
  return compare_windows_baseline;
}

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
  const Comparison compare = comparison_of(isa);
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
  share_tasks(tasks, threads, [&](int worker, Index task) {
    for (Index i = task * rows_per_task; i < std::min(Index(block.row_count), (task + 1) * rows_per_task); ++i) {
      const Index row_windows = Index(block.row(i).size - span + 1);
      for (int64_t j = block.first[i]; j < block.last[i]; ++j) {
        const Index column_windows = Index(block.column(j).size - span + 1);
        if (row_windows < 1 || column_windows < 1) continue;
        block.values(i)[j] += compare({rows[i], row_windows, columns[j], column_windows, Index(span), planes,
                                       plane_count, padded, scratch[std::size_t(worker)].get()});
      }
    }
  });
}

}  // namespace mercer
