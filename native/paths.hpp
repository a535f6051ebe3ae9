// Dynamic programmes over pairs of series of vectors: one series against several others, a row of the table at a time.
//
// The row that a programme stands at is kept outside, so that a long series can be given in parts.
#pragma once

#include "kernels.hpp"

namespace mercer {

constexpr Index path_lanes = 8;   // columns that one pass over a row's series is shared by; whole vectors
constexpr Index most_orders = 16;  // terms of the exponential of a segment, and levels of a truncated signature

enum class Programme { signature, truncated, warping };

struct PathStep {
  Programme programme;
  Index levels, order;  // of signatures; for a warping both are 1
  Index width;          // numbers kept for each column and lane: order, levels * order, or 1
};

// Some rows of one series against `path_lanes` others.
struct PathArguments {
  PathStep step;
  const double* rows;  // [row][dimension]: increments for signatures, elements for warpings; null with a table
  Index row_count, dimension;
  const double* columns;  // [column][dimension][lane], of the longest of the lanes; shorter ones are padded
  Index column_count;
  const double* table;  // values of the static kernel, [row_count + 1][table_step]; null with rows
  Index table_step;
  const int64_t *lane_begin, *lane_count;  // the columns of each lane there, and how many increments it has
  Index first_row;     // number of the first row in the whole series
  const double* band;  // [lane]: warpings visit |row - column| <= band; null for all
  double* state;       // [column][width][lane]
  double* scratch;     // [column][lane]
};

void advance_paths_baseline(const PathArguments&);
void advance_paths_avx2(const PathArguments&);
void advance_paths_avx512(const PathArguments&);

// Several series, in whole or (a single one) in part, against several groups of `path_lanes` columns.
struct PathBlock {
  PathStep step;
  const double* rows;
  Index dimension;
  const int64_t *row_begin, *row_count, *first_group;  // of each series on the left; earlier groups are left out
  Index series;
  const double* columns;
  const int64_t *column_begin, *column_count;  // of each group
  Index groups, total;
  const double* table;
  Index table_step;
  const int64_t *lane_begin, *lane_count;  // [group][lane]
  Index first_row;
  const double* band;  // [series][group][lane], or null
  double* state;       // [series][total][width][lane]
  int threads;
};

void advance_paths(const PathBlock& block, const Isa& isa);

}  // namespace mercer
