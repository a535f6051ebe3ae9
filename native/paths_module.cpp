// Python bindings of the programmes over pairs of series: every argument is checked here.
#include "paths_module.hpp"

#include <string>

#include "arrays.hpp"
#include "paths.hpp"

namespace mercer {
namespace {

const int64_t* read_counts(nb::handle h, const std::string& name, int64_t size) {
  const Input a = checked_array<Input>(h, name, 1, "int64");
  expect_shape(a, name, {size});
  return static_cast<const int64_t*>(a.data());
}

// Pieces [begin, begin + count) of something with `total` places.
void check_pieces(const int64_t* begin, const int64_t* count, int64_t pieces, int64_t total, const std::string& name) {
  for (int64_t i = 0; i < pieces; ++i)
    if (begin[i] < 0 || count[i] < 0 || count[i] > total || begin[i] > total - count[i])
      throw wrong_value(name + " " + std::to_string(i) + " lies outside its " + std::to_string(total) + " places");
}

// Fills what all programmes share: the series on the left, the groups, and where they stand.
PathBlock read_block(const PathStep& step, nb::handle row_begin, nb::handle row_count, nb::handle first_group,
                     nb::handle column_begin, nb::handle column_count, nb::handle state, int threads) {
  check_threads(threads);
  const Output to = checked_array<Output>(state, "state", 4, "float64");
  PathBlock b{};
  b.step = step;
  b.series = Index(to.shape(0));
  b.total = Index(to.shape(1));
  expect_shape(to, "state", {b.series, b.total, step.width, path_lanes});
  b.groups = Index(checked_array<Input>(column_begin, "column_begin", 1, "int64").shape(0));
  b.row_begin = read_counts(row_begin, "row_begin", b.series);
  b.row_count = read_counts(row_count, "row_count", b.series);
  b.first_group = read_counts(first_group, "first_group", b.series);
  b.column_begin = read_counts(column_begin, "column_begin", b.groups);
  b.column_count = read_counts(column_count, "column_count", b.groups);
  check_pieces(b.column_begin, b.column_count, b.groups, b.total, "group");
  // Groups that share columns would be written by two threads at once.
  for (Index g = 1; g < b.groups; ++g)
    if (b.column_begin[g] < b.column_begin[g - 1] + b.column_count[g - 1]) throw wrong_value("groups must not overlap");
  b.state = static_cast<double*>(to.data());
  b.threads = threads;
  return b;
}

void read_points(PathBlock& b, nb::handle rows, nb::handle columns) {
  const Input points = checked_array<Input>(rows, "rows", 2, "float64");
  const Input packed = checked_array<Input>(columns, "columns", 3, "float64");
  b.dimension = Index(points.shape(1));
  expect_shape(packed, "columns", {b.total, b.dimension, path_lanes});
  check_pieces(b.row_begin, b.row_count, b.series, int64_t(points.shape(0)), "series");
  b.rows = static_cast<const double*>(points.data());
  b.columns = static_cast<const double*>(packed.data());
}

PathStep read_step(int64_t levels, int64_t order) {
  if (order < 1 || order > most_orders || levels < 0 || levels > most_orders)
    throw wrong_value("order must lie in 1.." + std::to_string(most_orders) + " and levels in 0.." +
                      std::to_string(most_orders));
  if (levels == 0) return {Programme::signature, 0, Index(order), Index(order)};
  return {Programme::truncated, Index(levels), Index(order), Index(levels * order)};
}

void advance_signatures(nb::handle rows, nb::handle row_begin, nb::handle row_count, nb::handle first_group,
                        nb::handle columns, nb::handle column_begin, nb::handle column_count, int64_t levels,
                        int64_t order, nb::handle state, int threads, const std::string& isa_name) {
  PathBlock b = read_block(read_step(levels, order), row_begin, row_count, first_group, column_begin, column_count,
                           state, threads);
  read_points(b, rows, columns);
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  advance_paths(b, isa);
}

void advance_lifted(nb::handle table, nb::handle row_begin, nb::handle row_count, nb::handle first_group,
                    nb::handle lane_begin, nb::handle lane_count, nb::handle column_begin, nb::handle column_count,
                    int64_t levels, int64_t order, nb::handle state, int threads, const std::string& isa_name) {
  PathBlock b = read_block(read_step(levels, order), row_begin, row_count, first_group, column_begin, column_count,
                           state, threads);
  const Input values = checked_array<Input>(table, "table", 2, "float64");
  const int64_t height = int64_t(values.shape(0)), width = int64_t(values.shape(1));
  check_pieces(b.row_begin, b.row_count, b.series, height - 1, "series");
  b.lane_begin = read_counts(lane_begin, "lane_begin", b.groups * path_lanes);
  b.lane_count = read_counts(lane_count, "lane_count", b.groups * path_lanes);
  check_pieces(b.lane_begin, b.lane_count, b.groups * path_lanes, width - 1, "lane");
  for (Index lane = 0; lane < b.groups * path_lanes; ++lane)
    if (b.lane_count[lane] > b.column_count[lane / path_lanes]) throw wrong_value("lanes must fit their group");
  b.table = static_cast<const double*>(values.data());
  b.table_step = Index(width);
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  advance_paths(b, isa);
}

void advance_warpings(nb::handle rows, nb::handle row_begin, nb::handle row_count, nb::handle first_group,
                      nb::handle columns, nb::handle column_begin, nb::handle column_count, int64_t first_row,
                      nb::object band, nb::handle state, int threads, const std::string& isa_name) {
  PathBlock b = read_block({Programme::warping, 1, 1, 1}, row_begin, row_count, first_group, column_begin,
                           column_count, state, threads);
  read_points(b, rows, columns);
  if (first_row < 0 || first_row > (int64_t(1) << 60)) throw wrong_value("first_row must lie in 0..2^60");
  b.first_row = Index(first_row);
  if (!band.is_none()) {
    const Input reach = checked_array<Input>(band, "band", 3, "float64");
    expect_shape(reach, "band", {b.series, b.groups, path_lanes});
    b.band = static_cast<const double*>(reach.data());
    for (Index q = 0; q < b.series * b.groups * path_lanes; ++q)
      if (!(b.band[q] >= 0)) throw wrong_value("band must not be negative");
  }
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  advance_paths(b, isa);
}

}  // namespace

void bind_paths(nb::module_& m) {
  using namespace nb::literals;
  m.attr("path_lanes") = int(path_lanes);
  m.attr("most_orders") = int(most_orders);
  m.def("advance_signatures", &advance_signatures, "rows"_a, "row_begin"_a, "row_count"_a, "first_group"_a,
        "columns"_a, "column_begin"_a, "column_count"_a, "levels"_a, "order"_a, "state"_a, "threads"_a, "isa"_a = "",
        "Advances inner products of signatures by some segments of the series on the left; levels 0 means all of them.");
  m.def("advance_lifted", &advance_lifted, "table"_a, "row_begin"_a, "row_count"_a, "first_group"_a, "lane_begin"_a,
        "lane_count"_a, "column_begin"_a, "column_count"_a, "levels"_a, "order"_a, "state"_a, "threads"_a,
        "isa"_a = "", "The same of segments whose inner products are the increments of a table of kernel values.");
  m.def("advance_warpings", &advance_warpings, "rows"_a, "row_begin"_a, "row_count"_a, "first_group"_a, "columns"_a,
        "column_begin"_a, "column_count"_a, "first_row"_a, "band"_a.none(), "state"_a, "threads"_a, "isa"_a = "",
        "Advances the costs of the cheapest alignments by some elements of the series on the left.");
}

}  // namespace mercer
