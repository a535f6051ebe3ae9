// Sharing out pairs of series: a task is one series against one group of columns.
#include "paths.hpp"

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "tasks.hpp"
#include "versions.hpp"

namespace mercer {
namespace {

typedef void (*Advance)(const PathArguments&);

}  // namespace

void advance_paths(const PathBlock& block, const Isa& isa) {
  const Advance advance = MERCER_VERSION(Advance, isa, advance_paths);
  Index longest = 0;
  double rows = 0, columns = 0;
  for (Index g = 0; g < block.groups; ++g) {
    longest = std::max(longest, Index(block.column_count[g]));
    columns += double(block.column_count[g]);
  }
  for (Index i = 0; i < block.series; ++i) rows += double(block.row_count[i]);
  const Index tasks = block.series * block.groups;
  const int threads = useful_threads(block.threads, tasks, rows * columns * double(path_lanes));
  std::vector<Buffer<double>> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(longest * path_lanes);
  const Index step = block.step.width * path_lanes;
  share_tasks(tasks, threads, [&](int worker, Index task) {
    const Index i = task / block.groups, g = task % block.groups;
    if (g < block.first_group[i] || block.row_count[i] == 0 || block.column_count[g] == 0) return;
    PathArguments a{};
    a.step = block.step;
    a.rows = block.rows ? block.rows + block.row_begin[i] * block.dimension : nullptr;
    a.row_count = Index(block.row_count[i]);
    a.dimension = block.dimension;
    a.columns = block.columns ? block.columns + block.column_begin[g] * block.dimension * path_lanes : nullptr;
    a.column_count = Index(block.column_count[g]);
    a.table = block.table ? block.table + block.row_begin[i] * block.table_step : nullptr;
    a.table_step = block.table_step;
    a.lane_begin = block.lane_begin ? block.lane_begin + g * path_lanes : nullptr;
    a.lane_count = block.lane_count ? block.lane_count + g * path_lanes : nullptr;
    a.first_row = block.first_row;
    a.band = block.band ? block.band + task * path_lanes : nullptr;
    a.state = block.state + (i * block.total + Index(block.column_begin[g])) * step;
    a.scratch = scratch[std::size_t(worker)].get();
    advance(a);
  });
}

}  // namespace mercer
