// Python bindings: every argument is checked here, and the interpreter lock is released while a plan works.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "alignment_module.hpp"
#include "arrays.hpp"
#include "band_module.hpp"
#include "code.hpp"
#include "half_module.hpp"
#include "nearest_module.hpp"
#include "paths_module.hpp"
#include "perceptron_module.hpp"
#include "plan.hpp"
#include "pool.hpp"
#include "smo_module.hpp"
#include "smo_parts.hpp"
#include "strings_module.hpp"
#include "sweep.hpp"
#include "tasks.hpp"
#include "trees_module.hpp"
#include "update_module.hpp"

namespace mercer {
namespace {

SmoPart read_part(nb::handle item, int64_t limit) {
  nb::tuple t;
  if (!nb::try_cast(item, t, false) || t.size() != 6)
    throw wrong_type("a part must be a tuple (rows, target, lower, upper, beta, slope)");
  const Input rows = checked_array<Input>(t[0], "rows", 1, "int64");
  const int64_t n = int64_t(rows.shape(0));
  const auto numbers = [&](int at, const char* name) {
    const Input a = checked_array<Input>(t[at], name, 1, "float64");
    expect_shape(a, name, {n});
    return static_cast<const double*>(a.data());
  };
  const auto changed = [&](int at, const char* name) {
    const Output a = checked_array<Output>(t[at], name, 1, "float64");
    expect_shape(a, name, {n});
    return static_cast<double*>(a.data());
  };
  return {Index(n),           checked_index(rows, limit), numbers(1, "target"), numbers(2, "lower"),
          numbers(3, "upper"), changed(4, "beta"),         changed(5, "slope")};
}

// The Python object: one of two plans by element type, and references to the arrays the plan reads.
class BoundPlan {
 public:
  BoundPlan(nb::list statistics, nb::list left, nb::list right, nb::list code, const std::string& isa);

  std::pair<int64_t, int64_t> shape() const { return {rows_, columns_}; }
  std::string isa() const { return isa_.name; }
  std::string dtype() const { return dtype_; }
  bool symmetric() const { return symmetric_; }

  void product(nb::handle V, nb::handle out, int64_t row_start, int64_t row_stop, int threads) const {
    check_rows(row_start, row_stop);
    multiply(V, out, threads, [=](auto& plan, auto* v, Index r, double* o) {
      plan.product(v, r, o, Index(row_start), Index(row_stop), threads);
    });
  }

  void symmetric_product(nb::handle V, nb::handle out, int64_t row_start, int64_t row_stop, int threads) const {
    require_symmetric("symmetric_product");
    check_blocks(row_start, row_stop);
    multiply(V, out, threads, [=](auto& plan, auto* v, Index r, double* o) {
      plan.symmetric_product(v, r, o, Index(row_start), Index(row_stop), threads);
    });
  }

  void residuals(nb::handle V, nb::handle weights, nb::handle errors, nb::handle out, int64_t row_start,
                 int64_t row_stop, int threads) const {
    check_threads(threads);
    check_rows(row_start, row_stop);
    const Input v = checked_array<Input>(V, "V", 2, dtype_);
    const int64_t r = int64_t(v.shape(1));
    expect_shape(v, "V", {columns_, r});
    const double* w = checked_data<Input, double>(weights, "weights", "float64", {rows_});
    double* left = checked_data<Output, double>(errors, "errors", "float64", {rows_, r});
    double* to = checked_data<Output, double>(out, "out", "float64", {columns_, r});
    visit([&](auto& plan, auto type) {
      plan.residuals(static_cast<const decltype(type)*>(v.data()), Index(r), w, left, to, Index(row_start),
                     Index(row_stop), threads);
    });
  }

  void dense(nb::handle out, nb::handle rows, int64_t column_start, int64_t column_stop, int threads) const {
    check_threads(threads);
    check_columns(column_start, column_stop);
    const Input index = checked_array<Input>(rows, "rows", 1, "int64");
    const Output to = checked_array<Output>(out, "out", 2, dtype_);
    const int64_t count = int64_t(index.shape(0));
    expect_shape(to, "out", {count, column_stop - column_start});
    const int64_t* row = checked_index(index, rows_);
    visit([&](auto& plan, auto type) {
      plan.dense(static_cast<decltype(type)*>(to.data()), row, Index(count), Index(column_start), Index(column_stop),
                 threads);
    });
  }

  void add_rows(nb::handle rows, nb::handle V, nb::handle out, int64_t column_start, int64_t column_stop,
                int threads) const {
    check_threads(threads);
    check_columns(column_start, column_stop);
    const Input index = checked_array<Input>(rows, "rows", 1, "int64");
    const int64_t count = int64_t(index.shape(0));
    const Input v = checked_array<Input>(V, "V", 1, dtype_);
    expect_shape(v, "V", {count});
    const Output to = checked_array<Output>(out, "out", 1, "float64");
    expect_shape(to, "out", {column_stop - column_start});
    const int64_t* row = checked_index(index, rows_);
    visit([&](auto& plan, auto type) {
      plan.add_rows(row, Index(count), static_cast<const decltype(type)*>(v.data()), static_cast<double*>(to.data()),
                    Index(column_start), Index(column_stop), threads);
    });
  }

  std::vector<std::pair<int64_t, double>> smo_parts(nb::list parts, double epsilon, double tolerance, int64_t max_iter,
                                                    int threads) const {
    require_symmetric("smo_parts");
    check_threads(threads);
    std::vector<SmoPart> problems;
    for (nb::handle item : parts) problems.push_back(read_part(item, rows_));
    std::vector<std::pair<int64_t, double>> found(problems.size());
    visit([&](auto& plan, auto type) {
      typedef decltype(type) T;
      std::vector<PartScratch<T>> scratch(static_cast<std::size_t>(threads));
      share_tasks(Index(problems.size()), threads, [&](int worker, Index i) {
        const SmoResult result = solve_part(plan, problems[std::size_t(i)], epsilon, tolerance, Index(max_iter),
                                            scratch[std::size_t(worker)]);
        found[std::size_t(i)] = {int64_t(result.count), result.violation};
      });
    });
    return found;
  }

  void perceptron(nb::handle label, nb::handle weight, nb::handle values, nb::handle coef, nb::handle moment,
                  nb::handle entered, nb::handle wrong, int64_t clock, double bias, int64_t start, int64_t stop,
                  int threads) const {
    require_symmetric("perceptron");
    check_rows(start, stop);
    check_threads(threads);
    const Output scores = checked_array<Output>(values, "values", 2, "float64");
    const int64_t outputs = int64_t(scores.shape(0));
    if (outputs < 1) throw wrong_value("values must have at least one row, got shape " + shape_text(scores));
    expect_shape(scores, "values", {outputs, rows_});
    const SweepArguments arguments{Index(rows_),
                                   Index(outputs),
                                   checked_whole(label, "label", rows_, outputs == 1 ? 2 : outputs),
                                   checked_data<Input, double>(weight, "weight", "float64", {rows_}),
                                   static_cast<double*>(scores.data()),
                                   checked_ledger(coef, moment, entered, stop - start, outputs),
                                   checked_data<Output, int64_t>(wrong, "wrong", "int64", {rows_}),
                                   clock,
                                   bias};
    visit([&](auto& plan, auto) { sweep(plan, arguments, Index(start), Index(stop), threads); });
  }

  void symmetric_dense(nb::handle out, int64_t row_start, int64_t row_stop, int threads) const {
    require_symmetric("symmetric_dense");
    check_blocks(row_start, row_stop);
    check_threads(threads);
    const Output to = checked_array<Output>(out, "out", 2, dtype_);
    expect_shape(to, "out", {rows_, rows_});
    visit([&](auto& plan, auto type) {
      plan.symmetric_dense(static_cast<decltype(type)*>(to.data()), Index(row_start), Index(row_stop), threads);
    });
  }

  int64_t workspace(int64_t r, int threads) const {
    check_sizes(r, threads);
    return single_ ? single_->workspace(Index(r), threads) : twice_->workspace(Index(r), threads);
  }

  int64_t residual_workspace(int64_t r, int threads) const {
    check_sizes(r, threads);
    return single_ ? single_->residual_workspace(Index(r), threads) : twice_->residual_workspace(Index(r), threads);
  }

 private:
  template <class T>
  std::unique_ptr<Plan<T>> build(const std::vector<Kind>& kinds, std::vector<Instruction> code, size_t lefts);

  template <class F>
  void visit(F f) const {
    const nb::gil_scoped_release released;
    if (single_) f(*single_, float());
    else f(*twice_, double());
  }

  template <class F>
  void multiply(nb::handle V, nb::handle out, int threads, F f) const {
    check_threads(threads);
    const Input v = checked_array<Input>(V, "V", 2, dtype_);
    const int64_t r = int64_t(v.shape(1));
    expect_shape(v, "V", {columns_, r});
    const Output o = checked_array<Output>(out, "out", 2, "float64");
    expect_shape(o, "out", {rows_, r});
    visit([&](auto& plan, auto type) {
      f(plan, static_cast<const decltype(type)*>(v.data()), Index(r), static_cast<double*>(o.data()));
    });
  }

  static void check_sizes(int64_t r, int threads) {
    check_threads(threads);
    if (r < 0) throw wrong_value("r must not be negative, got " + std::to_string(r));
  }
  void check_rows(int64_t start, int64_t stop) const {
    if (start < 0 || stop < start || stop > rows_)
      throw wrong_value("need 0 <= row_start <= row_stop <= " + std::to_string(rows_) + ", got " +
                        std::to_string(start) + " and " + std::to_string(stop));
  }
  void check_columns(int64_t start, int64_t stop) const {
    if (start < 0 || stop < start || stop > columns_)
      throw wrong_value("need 0 <= col_start <= col_stop <= " + std::to_string(columns_) + ", got " +
                        std::to_string(start) + " and " + std::to_string(stop));
  }
  void check_blocks(int64_t start, int64_t stop) const {
    check_rows(start, stop);
    for (int64_t row : {start, stop})
      if (row % row_block && row != rows_)
        throw wrong_value("row_start and row_stop must be multiples of row_block = " + std::to_string(row_block) +
                          " or the number of rows, got " + std::to_string(row));
  }
  void require_symmetric(const char* what) const {
    if (!symmetric_) throw wrong_value(std::string(what) + " needs a plan whose statistics all have B = None");
  }

  const Isa& isa_;
  int64_t rows_ = 0, columns_ = 0;
  bool symmetric_ = true;
  std::string dtype_;
  std::vector<Input> points_;  // A, B, A, B, ... ; an absent B repeats A
  std::vector<bool> paired_;   // whether B was given
  std::vector<double> exponents_;
  std::vector<Input> factors_;
  std::unique_ptr<Plan<float>> single_;
  std::unique_ptr<Plan<double>> twice_;
};

BoundPlan::BoundPlan(nb::list statistics, nb::list left, nb::list right, nb::list code, const std::string& isa)
    : isa_(isa_named(isa)) {
  if (statistics.size() == 0) throw wrong_value("a plan needs at least one statistic");
  if (statistics.size() > size_t(max_registers))
    throw wrong_value("a plan has at most " + std::to_string(max_registers) + " statistics, got " +
                      std::to_string(statistics.size()));
  std::vector<Kind> kinds;
  for (nb::handle item : statistics) {
    const std::string at = "statistics[" + std::to_string(kinds.size()) + "]";
    nb::tuple t;
    std::string kind;
    double exponent = 1;
    if (!nb::try_cast(item, t, false) || t.size() < 3 || t.size() > 4 || !nb::try_cast(t[0], kind) ||
        (t.size() == 4 && !nb::try_cast(t[3], exponent)))
      throw wrong_type(at + " must be a tuple (kind: str, A: array, B: array or None, exponent: float, 1 if left out)");
    if (!(exponent > 0 && exponent < HUGE_VAL))
      throw wrong_value(at + ": the exponent must be positive and finite, got " + std::to_string(exponent));
    kinds.push_back(kind_named(kind));
    exponents_.push_back(exponent);
    const Input A = checked_array<Input>(t[1], at + ".A", 2, dtype_);
    if (dtype_.empty()) dtype_ = dtype_name(A);
    const bool paired = !t[2].is_none();
    const Input B = paired ? checked_array<Input>(t[2], at + ".B", 2, dtype_) : A;
    if (A.shape(1) == 0)
      throw wrong_value(at + ": points must have at least one dimension, got shape " + shape_text(A));
    if (kinds.size() == 1) {
      rows_ = int64_t(A.shape(0));
      columns_ = int64_t(B.shape(0));
    }
    expect_shape(A, at + ".A", {rows_, int64_t(A.shape(1))});
    expect_shape(B, at + ".B", {columns_, int64_t(A.shape(1))});
    symmetric_ = symmetric_ && !paired;
    paired_.push_back(paired);
    points_.push_back(A);
    points_.push_back(B);
  }
  const auto take = [&](nb::list list, const char* side, int64_t count) {
    size_t i = 0;
    for (nb::handle item : list) {
      const std::string name = std::string(side) + "[" + std::to_string(i++) + "]";
      factors_.push_back(checked_array<Input>(item, name, 1, dtype_));
      expect_shape(factors_.back(), name, {count});
    }
  };
  take(left, "left", rows_);
  take(right, "right", columns_);
  std::vector<Instruction> program = read_code(code, int(kinds.size()), left.size(), right.size());
  if (dtype_ == "float32") single_ = build<float>(kinds, std::move(program), left.size());
  else twice_ = build<double>(kinds, std::move(program), left.size());
  factors_.clear();  // the plan has its own copies
}

template <class T>
std::unique_ptr<Plan<T>> BoundPlan::build(const std::vector<Kind>& kinds, std::vector<Instruction> code, size_t lefts) {
  std::vector<Points<T>> points;
  for (size_t q = 0; q < kinds.size(); ++q)
    points.push_back({kinds[q], exponents_[q], Index(points_[2 * q].shape(1)), static_cast<const T*>(points_[2 * q].data()),
                      static_cast<const T*>(points_[2 * q + 1].data()), !paired_[q]});
  std::vector<const T*> left, right;
  for (size_t i = 0; i < factors_.size(); ++i)
    (i < lefts ? left : right).push_back(static_cast<const T*>(factors_[i].data()));
  const nb::gil_scoped_release released;
  return std::make_unique<Plan<T>>(isa_, Index(rows_), Index(columns_), points, left, right, std::move(code));
}

}  // namespace
}  // namespace mercer

NB_MODULE(_native, m) {
  using namespace mercer;
  using namespace nb::literals;
  available_isas();  // which complains of what the environment names before anything is computed
  m.doc() = "Lazy Gram matrices: kernel values are computed tile by tile in cache and used on the spot.";
  m.def("isas", [] {
    std::vector<std::string> names;
    for (const Isa* const* isa = available_isas(); *isa; ++isa) names.push_back((*isa)->name);
    return names;
  }, "Instruction sets this processor can run, best first; from the one on that MERCER_ISA names, if it names one.");
  nb::class_<BoundPlan>(m, "Plan", "A Gram matrix given by statistics of pairs of points and a program on them.")
      .def(nb::init<nb::list, nb::list, nb::list, nb::list, const std::string&>(), "statistics"_a, "left"_a, "right"_a,
           "code"_a, "isa"_a = "")
      .def_prop_ro("shape", &BoundPlan::shape)
      .def_prop_ro("isa", &BoundPlan::isa)
      .def_prop_ro("dtype", &BoundPlan::dtype)
      .def_prop_ro("symmetric", &BoundPlan::symmetric)
      .def_prop_ro("row_block", [](const BoundPlan&) { return row_block; })
      .def("product", &BoundPlan::product, "V"_a, "out"_a, "row_start"_a, "row_stop"_a, "threads"_a,
           "out[row_start:row_stop] = K[row_start:row_stop] @ V")
      .def("symmetric_product", &BoundPlan::symmetric_product, "V"_a, "out"_a, "row_start"_a, "row_stop"_a, "threads"_a,
           "Adds to out what the tiles of these rows on and above the diagonal contribute to K @ V.")
      .def("residuals", &BoundPlan::residuals, "V"_a, "weights"_a, "errors"_a, "out"_a, "row_start"_a, "row_stop"_a,
           "threads"_a, "errors -= K @ V and out += K.T @ (weights * errors) with these, for some rows, of which each kernel "
           "value is computed once.")
      .def("dense", &BoundPlan::dense, "out"_a, "rows"_a, "col_start"_a, "col_stop"_a, "threads"_a,
           "out[a, :] = K[rows[a], col_start:col_stop]")
      .def("add_rows", &BoundPlan::add_rows, "rows"_a, "V"_a, "out"_a, "col_start"_a, "col_stop"_a, "threads"_a,
           "out[j] += sum over a of V[a] K[rows[a], col_start + j] for col_start + j below col_stop")
      .def("smo_parts", &BoundPlan::smo_parts, "parts"_a, "epsilon"_a, "tolerance"_a, "max_iter"_a, "threads"_a,
           "Solve several problems (rows, target, lower, upper, beta, slope) as smo does, each on the matrix of its rows, one "
           "thread each; returns steps and violation of each.")
      .def("perceptron", &BoundPlan::perceptron, "label"_a, "weight"_a, "values"_a, "coef"_a, "moment"_a, "entered"_a,
           "wrong"_a, "clock"_a, "bias"_a, "start"_a, "stop"_a, "threads"_a,
           "Visit the points of a range in order, as the function perceptron does.  A mistake at point i changes the "
           "coefficients of the range and adds its row to the values of the range, for which no other rows are computed.")
      .def("symmetric_dense", &BoundPlan::symmetric_dense, "out"_a, "row_start"_a, "row_stop"_a, "threads"_a,
           "out[i, j] = out[j, i] = K[i, j] for the rows i of the range and all j >= i, each tile evaluated once")
      .def("workspace", &BoundPlan::workspace, "r"_a, "threads"_a, "Bytes of scratch that a product allocates.")
      .def("residual_workspace", &BoundPlan::residual_workspace, "r"_a, "threads"_a,
           "Bytes of scratch that residuals allocate.");
  bind_smo(m);
  bind_alignment(m);
  bind_band(m);
  bind_trees(m);
  bind_strings(m);
  bind_perceptron(m);
  bind_nearest(m);
  bind_paths(m);
  bind_half(m);
  bind_update(m);
  m.def("_stop_threads", [] {
    const nb::gil_scoped_release released;
    stop_threads();
  });
  nb::module_::import_("atexit").attr("register")(m.attr("_stop_threads"));
}
