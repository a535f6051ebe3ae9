// Python bindings of products of stored matrices and of triangular systems: every argument is checked here.
#include "update_module.hpp"

#include "arrays.hpp"
#include "divide.hpp"
#include "update.hpp"

namespace mercer {
namespace {

template <class T>
Stored<T> stored(const Input& A, bool symmetric) {
  return {static_cast<const T*>(A.data()), Index(A.stride(0)), Index(A.stride(1)), symmetric};
}

Part part_named(const std::string& name) {
  if (name == "all") return Part::all;
  if (name == "lower") return Part::lower;
  if (name == "upper") return Part::upper;
  throw wrong_value("part must be 'all', 'lower' or 'upper', got '" + name + "'");
}

// out += factor * left' right, for views of any strides but rows of out that are in one piece.
void add_product(nb::handle out, nb::handle left, nb::handle right, double factor, const std::string& part, bool symmetric,
                 int threads, const std::string& isa_name) {
  check_threads(threads);
  const Isa& isa = isa_named(isa_name);
  const Output to = checked_view<Output>(out, "out", 2, "");
  const Input A = checked_view<Input>(left, "left", 2, dtype_name(to));
  const Input B = checked_view<Input>(right, "right", 2, dtype_name(to));
  const int64_t rows = int64_t(to.shape(0)), columns = int64_t(to.shape(1)), depth = int64_t(A.shape(0));
  expect_shape(A, "left", {depth, rows});
  expect_shape(B, "right", {depth, columns});
  if (symmetric && depth != columns)
    throw wrong_value("right must be square to be symmetric, got shape " + shape_text(B));
  if ((columns > 1 && to.stride(1) != 1) || (rows > 1 && to.stride(0) < columns))
    throw wrong_value("rows of out must be in one piece each and lie side by side");
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    const Update<T> u = {static_cast<T*>(to.data()), Index(rows), Index(columns), Index(to.stride(0)), Index(depth),
                         stored<T>(A, false), stored<T>(B, symmetric), T(factor), part_named(part), threads};
    const nb::gil_scoped_release released;
    update<T>(u, isa);
  };
  if (dtype_name(to) == "float32") run(float());
  else run(double());
}

// V <- L^-1 V, for views of any strides.
void divide_by_triangle(nb::handle triangle, nb::handle V, int threads, const std::string& isa_name) {
  check_threads(threads);
  const Isa& isa = isa_named(isa_name);
  const Output to = checked_view<Output>(V, "V", 2, "");
  const Input L = checked_view<Input>(triangle, "triangle", 2, dtype_name(to));
  const int64_t n = int64_t(to.shape(0));
  expect_shape(L, "triangle", {n, n});
  const auto run = [&](auto type) {
    typedef decltype(type) T;
    const Division<T> d = {Index(n), Index(to.shape(1)), stored<T>(L, false), static_cast<T*>(to.data()),
                           Index(to.stride(0)), Index(to.stride(1)), threads};
    const nb::gil_scoped_release released;
    divide<T>(d, isa);
  };
  if (dtype_name(to) == "float32") run(float());
  else run(double());
}

}  // namespace

void bind_update(nb::module_& m) {
  using namespace nb::literals;
  m.def("add_product", &add_product, "out"_a, "left"_a, "right"_a, "factor"_a, "part"_a, "symmetric"_a, "threads"_a,
        "isa"_a = "", "out += factor * left' right in all of out, or in its 'lower' or 'upper' triangle; of a symmetric "
        "right matrix the lower triangle is read.");
  m.def("divide_by_triangle", &divide_by_triangle, "triangle"_a, "V"_a, "threads"_a, "isa"_a = "",
        "V = L^-1 V for the lower triangle L of a matrix; it is meant for some hundred rows.");
}

}  // namespace mercer
