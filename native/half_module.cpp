// Products with half of a symmetric matrix: every argument is checked here.
#include "half_module.hpp"

#include "arrays.hpp"
#include "half.hpp"

namespace mercer {
namespace {

template <class T>
Sides<T> sides_of(const Input& V, const Output& out, int threads) {
  return {static_cast<const T*>(V.data()), Index(V.shape(0)), Index(V.shape(1)), static_cast<double*>(out.data()), threads};
}

void half_product(nb::list strips, nb::handle V, nb::handle out, int threads, const std::string& isa_name) {
  check_threads(threads);
  const Input right = checked_array<Input>(V, "V", 2, "");
  const int64_t sides = int64_t(right.shape(0)), n = int64_t(right.shape(1));
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(to, "out", {sides, n});
  std::vector<Input> held;
  int64_t row = 0;
  for (nb::handle item : strips) {
    const std::string name = "strips[" + std::to_string(held.size()) + "]";
    held.push_back(checked_array<Input>(item, name, 2, dtype_name(right)));
    const int64_t rows = int64_t(held.back().shape(0));
    if (rows < 1 || rows > n - row)
      throw wrong_value(name + " must have 1.." + std::to_string(n - row) + " rows, got shape " + shape_text(held.back()));
    expect_shape(held.back(), name, {rows, n - row});
    row += rows;
  }
  if (row != n)
    throw wrong_value("strips must have " + std::to_string(n) + " rows together, got " + std::to_string(row));
  const Isa& isa = isa_named(isa_name);
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    std::vector<HalfStrip<T>> parts;
    for (const Input& strip : held) parts.push_back({static_cast<const T*>(strip.data()), Index(strip.shape(0))});
    const nb::gil_scoped_release released;
    multiply_half<T>(parts, sides_of<T>(right, to, threads), isa);
  };
  if (dtype_name(right) == "float32") run(float());
  else run(double());
}

// out = V A', or V A where the rows are combined.
void long_rows(nb::handle A, nb::handle V, nb::handle out, int threads, const std::string& isa_name, bool combined) {
  check_threads(threads);
  const Input matrix = checked_array<Input>(A, "A", 2, "");
  const Input right = checked_array<Input>(V, "V", 2, dtype_name(matrix));
  const int64_t rows = int64_t(matrix.shape(0)), n = int64_t(matrix.shape(1)), sides = int64_t(right.shape(0));
  expect_shape(right, "V", {sides, combined ? rows : n});
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(to, "out", {sides, combined ? n : rows});
  const Isa& isa = isa_named(isa_name);
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    const T* const values = static_cast<const T*>(matrix.data());
    const Sides<T> around = sides_of<T>(right, to, threads);
    const nb::gil_scoped_release released;
    if (combined) combine_long<T>(values, Index(n), around, isa);
    else multiply_long<T>(values, Index(rows), around, isa);
  };
  if (dtype_name(matrix) == "float32") run(float());
  else run(double());
}

void long_product(nb::handle A, nb::handle V, nb::handle out, int threads, const std::string& isa) {
  long_rows(A, V, out, threads, isa, false);
}

void long_combination(nb::handle A, nb::handle V, nb::handle out, int threads, const std::string& isa) {
  long_rows(A, V, out, threads, isa, true);
}

// left = right - V A', and image = (scale left) A.
void long_remainder(nb::handle A, nb::handle V, nb::handle right, nb::handle scale, nb::handle left, nb::handle image,
                    int threads, const std::string& isa_name) {
  check_threads(threads);
  const Input matrix = checked_array<Input>(A, "A", 2, "");
  const Input weights = checked_array<Input>(V, "V", 2, dtype_name(matrix));
  const int64_t rows = int64_t(matrix.shape(0)), n = int64_t(matrix.shape(1)), sides = int64_t(weights.shape(0));
  expect_shape(weights, "V", {sides, n});
  const Input from = checked_array<Input>(right, "right", 2, "float64");
  expect_shape(from, "right", {sides, rows});
  const Input factors = checked_array<Input>(scale, "scale", 1, "float64");
  expect_shape(factors, "scale", {rows});
  const Output to = checked_array<Output>(left, "left", 2, "float64");
  expect_shape(to, "left", {sides, rows});
  const Output sums = checked_array<Output>(image, "image", 2, "float64");
  expect_shape(sums, "image", {sides, n});
  const Isa& isa = isa_named(isa_name);
  const Remainder rest = {static_cast<const double*>(from.data()), static_cast<const double*>(factors.data()),
                          static_cast<double*>(sums.data())};
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    const T* const values = static_cast<const T*>(matrix.data());
    const Sides<T> around = sides_of<T>(weights, to, threads);
    const nb::gil_scoped_release released;
    reduce_long<T>(values, Index(rows), around, rest, isa);
  };
  if (dtype_name(matrix) == "float32") run(float());
  else run(double());
}

}  // namespace

void bind_half(nb::module_& m) {
  using namespace nb::literals;
  m.def("half_product", &half_product, "strips"_a, "V"_a, "out"_a, "threads"_a, "isa"_a = "",
        "out = V K for a symmetric K given by strips of rows from their diagonal on, K[i:j, i:], in order");
  m.def("long_product", &long_product, "A"_a, "V"_a, "out"_a, "threads"_a, "isa"_a = "",
        "out = V A' for a matrix of long rows");
  m.def("long_combination", &long_combination, "A"_a, "V"_a, "out"_a, "threads"_a, "isa"_a = "",
        "out = V A for a matrix of long rows");
  m.def("long_remainder", &long_remainder, "A"_a, "V"_a, "right"_a, "scale"_a, "left"_a, "image"_a, "threads"_a,
        "isa"_a = "", "left = right - V A' and image = (scale left) A for a matrix of long rows");
}

}  // namespace mercer
