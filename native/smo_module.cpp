// Python bindings of sequential minimal optimisation: a stored matrix, or kept rows of one.
#include "smo_module.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "arrays.hpp"
#include "smo_path.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

const double* numbers(nb::handle h, const char* name, int64_t n) {
  const Input a = checked_array<Input>(h, name, 1, "float64");
  expect_shape(a, name, {n});
  return static_cast<const double*>(a.data());
}

double* changed_numbers(nb::handle h, const char* name, int64_t n) {
  const Output a = checked_array<Output>(h, name, 1, "float64");
  expect_shape(a, name, {n});
  return static_cast<double*>(a.data());
}

std::pair<int64_t, double> minimise(nb::handle K, nb::handle lower, nb::handle upper, nb::handle beta, nb::handle slope,
                                    double epsilon, int64_t second, double tolerance, int64_t max_iter,
                                    const std::string& isa_name) {
  const Input matrix = checked_array<Input>(K, "K", 2, "");
  const int64_t n = int64_t(matrix.shape(0));
  expect_shape(matrix, "K", {n, n});
  if (second < 0 || second > n)
    throw wrong_value("second must lie in 0.." + std::to_string(n) + ", got " + std::to_string(second));
  const double *l = numbers(lower, "lower", n), *u = numbers(upper, "upper", n);
  double *b = changed_numbers(beta, "beta", n), *s = changed_numbers(slope, "slope", n);
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  const auto run = [&](const auto* values) {
    typedef std::remove_const_t<std::remove_pointer_t<decltype(values)>> T;
    std::vector<double> scratch(std::size_t(3 * n));
    std::vector<float> single(std::size_t(4 * n));
    for (int64_t i = 0; i < n; ++i) scratch[std::size_t(i)] = double(values[i * n + i]);
    const SmoResult found = kernels_of<T>(isa).smo({Index(n), Index(second), values, Index(n), scratch.data(), l, u,
                                                    epsilon, tolerance, Index(max_iter), b, s, scratch.data() + n,
                                                    scratch.data() + 2 * n, single.data()});
    return std::pair<int64_t, double>(int64_t(found.count), found.violation);
  };
  return dtype_name(matrix) == "float32" ? run(static_cast<const float*>(matrix.data()))
                                         : run(static_cast<const double*>(matrix.data()));
}

std::vector<std::pair<int64_t, double>> solve_path(nb::handle K, nb::handle fit, nb::handle held, nb::handle target,
                                                   nb::handle lower, nb::handle upper, nb::handle penalties,
                                                   nb::handle out, double epsilon, double tolerance, int64_t max_iter,
                                                   const std::string& isa_name) {
  const Input matrix = checked_array<Input>(K, "K", 2, "float32");
  const int64_t n = int64_t(matrix.shape(0));
  expect_shape(matrix, "K", {n, n});
  const Input own = checked_array<Input>(fit, "fit", 1, "int64"), others = checked_array<Input>(held, "held", 1, "int64");
  const Input prices = checked_array<Input>(penalties, "penalties", 1, "float64");
  const int64_t m = int64_t(own.shape(0)), h = int64_t(others.shape(0)), count = int64_t(prices.shape(0));
  const Output values = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(values, "out", {count, h});
  const SmoPath<float> path{static_cast<const float*>(matrix.data()), Index(n), checked_index(own, n),
                            checked_index(others, n), Index(m), Index(h), numbers(target, "target", m),
                            numbers(lower, "lower", m), numbers(upper, "upper", m),
                            static_cast<const double*>(prices.data()), Index(count), epsilon, tolerance,
                            Index(max_iter), static_cast<double*>(values.data())};
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  std::vector<std::pair<int64_t, double>> steps;
  for (const SmoResult& found : follow_path(kernels_of<float>(isa), path))
    steps.emplace_back(int64_t(found.count), found.violation);
  return steps;
}

void add_kept_rows(nb::handle kept, nb::handle rows, nb::handle weights, nb::handle out, int threads) {
  check_threads(threads);
  const Input matrix = checked_array<Input>(kept, "kept", 2, "");
  const Input index = checked_array<Input>(rows, "rows", 1, "int64");
  const int64_t count = int64_t(index.shape(0)), n = int64_t(matrix.shape(1));
  const int64_t* row = checked_index(index, int64_t(matrix.shape(0)));
  const double* w = numbers(weights, "weights", count);
  double* to = changed_numbers(out, "out", n);
  const Isa& isa = isa_named("");
  const nb::gil_scoped_release released;
  const auto run = [&](const auto* values) {
    typedef std::remove_const_t<std::remove_pointer_t<decltype(values)>> T;
    std::vector<const T*> pointers;
    for (int64_t i = 0; i < count; ++i) pointers.push_back(values + row[i] * n);
    constexpr Index group = 4096;
    const Index tasks = (Index(n) + group - 1) / group;
    const int useful = useful_threads(threads, tasks, double(count) * double(n));
    share_tasks(tasks, useful, [&](int, Index task) {
      kernels_of<T>(isa).weigh_rows(pointers.data(), w, Index(count), to, task * group,
                                    std::min(Index(n), (task + 1) * group));
    });
  };
  if (dtype_name(matrix) == "float32") run(static_cast<const float*>(matrix.data()));
  else run(static_cast<const double*>(matrix.data()));
}

}  // namespace

void bind_smo(nb::module_& m) {
  using namespace nb::literals;
  m.def("smo", &minimise, "K"_a, "lower"_a, "upper"_a, "beta"_a, "slope"_a, "epsilon"_a, "second"_a, "tolerance"_a,
        "max_iter"_a, "isa"_a = "",
        "Minimise b'Kb/2 - t'b + epsilon |b| over a box with fixed sums of b[:second] and b[second:], changing beta and "
        "slope = t - K beta in place; returns the number of steps and the violation left.");
  m.def("smo_path", &solve_path, "K"_a, "fit"_a, "held"_a, "target"_a, "lower"_a, "upper"_a, "penalties"_a, "out"_a,
        "epsilon"_a, "tolerance"_a, "max_iter"_a, "isa"_a = "",
        "Minimise as smo does on K[fit, fit] with the box times each of ascending penalties, each from the last; out has "
        "f + b at the points held for each; returns steps and violation of each.");
  m.def("add_kept_rows", &add_kept_rows, "kept"_a, "rows"_a, "weights"_a, "out"_a, "threads"_a,
        "out += weights @ kept[rows]");
}

}  // namespace mercer
