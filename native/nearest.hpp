// The search for the nearest points in single precision: candidates that may be among the k nearest, for each query.
#pragma once

#include "kernels.hpp"

namespace mercer {

constexpr Index nearest_rows = 8;      // queries compared with a panel together
constexpr Index nearest_columns = 48;  // points of a panel

// Some queries against some panels of points.  What is compared is |b|^2 - 2 a.b, the squared distance less |a|^2.
struct NearestArguments {
  const float* rows;  // [dimension][nearest_rows]: -2 a
  Index dimension;
  const float* columns;  // [panel][dimension][nearest_columns]
  const float* norms;    // [panel][nearest_columns]: |b|^2, infinity where there is no point
  Index first_panel, panels;
  const float* limit;  // of each row; it may fall whenever a panel is offered
  void* owner;
  // Called with the values of a row and panel that has one below the limit of the row.
  void (*offer)(void* owner, int row, Index panel, const float* values);
};

void compare_points_baseline(const NearestArguments&);
void compare_points_avx2(const NearestArguments&);
void compare_points_avx512(const NearestArguments&);

// Points that may be among the k nearest of each query: those within margin[i] of the k-th smallest number.
struct NearestSearch {
  const float* queries;  // m rows of `dimension` numbers
  Index m;
  const float* points;
  Index n, dimension;
  const double* margin;
  Index k, room;        // candidates kept for a query, at most
  Index own;            // query i is point own + i, and not its own neighbour; -1 if queries are other points
  int64_t* index;       // [m][room], in ascending order
  int64_t* count;       // [m]; -1 where there is no room for all of them
  int threads;
};

void find_candidates(const NearestSearch& search, const Isa& isa);

}  // namespace mercer
