// Python bindings of the lengths of the columns of L^-1 Y: every argument is checked here.
#include "band_module.hpp"

#include "arrays.hpp"
#include "band_squares.hpp"

namespace mercer {
namespace {

void squares_of(nb::handle columns, nb::handle right, nb::handle out, int threads, const std::string& isa_name) {
  check_threads(threads);
  const Isa& isa = isa_named(isa_name);
  const Input L = checked_array<Input>(columns, "columns", 2, "float64");
  const Input Y = checked_array<Input>(right, "right", 2, "");
  const Output to = checked_array<Output>(out, "out", 1, "float64");
  const Index n = Index(L.shape(0)), width = Index(L.shape(1)) - 1, count = Index(Y.shape(1));
  if (width < 0) throw wrong_value("columns must have the diagonal at least, got shape " + shape_text(L));
  expect_shape(Y, "right", {int64_t(n), int64_t(count)});
  expect_shape(to, "out", {int64_t(count)});
  double* const result = static_cast<double*>(to.data());
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    const T* const y = static_cast<const T*>(Y.data());
    const nb::gil_scoped_release released;
    band_squares<T>(isa, static_cast<const double*>(L.data()), n, width, y, count, result, threads);
  };
  if (dtype_name(Y) == "float32") run(float());
  else run(double());
}

}  // namespace

void bind_band(nb::module_& m) {
  using namespace nb::literals;
  m.def("band_squares", &squares_of, "columns"_a, "right"_a, "out"_a, "threads"_a, "isa"_a = "",
        "out[j] = the sum of the squares of column j of X, where L X = right and columns[j, k] = L[j + k, j].");
}

}  // namespace mercer
