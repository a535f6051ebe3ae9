// The search for the nearest points: every argument is checked here.
#include "nearest_module.hpp"

#include "arrays.hpp"
#include "nearest.hpp"

namespace mercer {
namespace {

void nearest_candidates(nb::handle queries, nb::handle points, nb::handle margin, int64_t k, int64_t own,
                        nb::handle index, nb::handle count, int threads, const std::string& isa_name) {
  check_threads(threads);
  const Input a = checked_array<Input>(queries, "queries", 2, "float32");
  const Input b = checked_array<Input>(points, "points", 2, "float32");
  const int64_t m = int64_t(a.shape(0)), n = int64_t(b.shape(0)), dimension = int64_t(a.shape(1));
  expect_shape(b, "points", {n, dimension});
  const Input error = checked_array<Input>(margin, "margin", 1, "float64");
  expect_shape(error, "margin", {m});
  if (own < -1 || (own >= 0 && own + m > n)) throw wrong_value("queries must be some of the points, or own -1");
  const int64_t most = n - int64_t(own >= 0);
  if (k < 1 || k > most) throw wrong_value("k must lie in 1.." + std::to_string(most) + ", got " + std::to_string(k));
  const Output found = checked_array<Output>(index, "index", 2, "int64");
  const int64_t room = int64_t(found.shape(1));
  expect_shape(found, "index", {m, room});
  const Output counts = checked_array<Output>(count, "count", 1, "int64");
  expect_shape(counts, "count", {m});
  if (room < k) throw wrong_value("there must be room for k candidates");
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  find_candidates({static_cast<const float*>(a.data()), Index(m), static_cast<const float*>(b.data()), Index(n),
                   Index(dimension), static_cast<const double*>(error.data()), Index(k), Index(room), Index(own),
                   static_cast<int64_t*>(found.data()), static_cast<int64_t*>(counts.data()), threads},
                  isa);
}

}  // namespace

void bind_nearest(nb::module_& m) {
  using namespace nb::literals;
  m.def("nearest_candidates", &nearest_candidates, "queries"_a, "points"_a, "margin"_a, "k"_a, "own"_a, "index"_a,
        "count"_a, "threads"_a, "isa"_a = "",
        "index[i, :count[i]] = points within margin[i] of the k-th smallest squared distance, in ascending order; "
        "count[i] = -1 where there is no room for them");
}

}  // namespace mercer
