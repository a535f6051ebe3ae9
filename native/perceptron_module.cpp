// The strictly sequential part of the kernel perceptron, and the vote of all its functions.
#include "perceptron_module.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mercer {
namespace {

template <class T>
struct Pass {
  const T* K;
  int64_t pool, points, outputs;
  const int64_t *order, *place, *label;
  int64_t visits;
  const double* weight;
  double* scores;
  Ledger ledger;
  int64_t* wrong;
  int64_t clock, budget;
  double bias;
  bool smallest;

  int64_t run() {
    int64_t kept = 0, mistakes = 0;
    for (int64_t r = 0; r < pool; ++r) kept += ledger.entered[r] >= 0;
    for (int64_t v = 0; v < visits; ++v) {
      const int64_t i = order[v], row = place[i], time = clock + v + 1;
      const int64_t other = rival(scores + i, points, outputs, label[i]);
      wrong[i] = -1;
      if (beats(scores + i, points, outputs, label[i], other)) continue;
      wrong[i] = other;
      ++mistakes;
      kept += ledger.learn(row, label[i], other, weight[i], time,
                           [&](int64_t q, double step) { add_row(row, q, step); });
      for (; budget > 0 && kept > budget; --kept) forget(row);
    }
    return mistakes;
  }

  void add_row(int64_t row, int64_t q, double step) {
    const T* values = K + row * points;
    double* to = scores + q * points;
    for (int64_t j = 0; j < points; ++j) to[j] += step * (double(values[j]) + bias);
  }

  // The newest vector stays, so that every mistake changes something; with a budget of at least 1 there is another.
  void forget(int64_t newest) {
    int64_t victim = -1;
    double least = 0;
    for (int64_t r = 0; r < pool; ++r) {
      if (ledger.entered[r] < 0 || r == newest) continue;
      double size = 0;
      if (smallest)
        for (int64_t q = 0; q < outputs; ++q) size += std::fabs(ledger.coef[r * outputs + q]);
      if (victim < 0 || size < least || (size == least && ledger.entered[r] < ledger.entered[victim])) {
        victim = r;
        least = size;
      }
    }
    for (int64_t q = 0; q < outputs; ++q) {
      const int64_t at = victim * outputs + q;
      if (ledger.coef[at] != 0) add_row(victim, q, -ledger.coef[at]);
      ledger.coef[at] = ledger.moment[at] = 0;
    }
    ledger.entered[victim] = -1;
  }
};

int64_t perceptron(nb::handle K, nb::handle order, nb::handle place, nb::handle label, nb::handle weight,
                   nb::handle scores, nb::handle coef, nb::handle moment, nb::handle entered, nb::handle wrong,
                   int64_t clock, double bias, int64_t budget, bool smallest) {
  const Input matrix = checked_array<Input>(K, "K", 2, "");
  const Output values = checked_array<Output>(scores, "scores", 2, "float64");
  const int64_t pool = int64_t(matrix.shape(0)), points = int64_t(matrix.shape(1)), q = int64_t(values.shape(0));
  expect_shape(values, "scores", {q, points});
  if (q < 1) throw wrong_value("scores must have at least one row, got shape " + shape_text(values));
  if (budget < 0) throw wrong_value("budget must not be negative (0 for none), got " + std::to_string(budget));
  const int64_t visits = int64_t(checked_array<Input>(order, "order", 1, "int64").shape(0));
  const auto run = [&](const auto* entries) {
    typedef std::remove_const_t<std::remove_pointer_t<decltype(entries)>> T;
    Pass<T> pass{entries,
                 pool,
                 points,
                 q,
                 checked_whole(order, "order", visits, points),
                 checked_whole(place, "place", points, pool),
                 checked_whole(label, "label", points, q == 1 ? 2 : q),
                 visits,
                 checked_data<Input, double>(weight, "weight", "float64", {points}),
                 static_cast<double*>(values.data()),
                 checked_ledger(coef, moment, entered, pool, q),
                 checked_data<Output, int64_t>(wrong, "wrong", "int64", {points}),
                 clock,
                 budget,
                 bias,
                 smallest};
    const nb::gil_scoped_release released;
    return pass.run();
  };
  return dtype_name(matrix) == "float32" ? run(static_cast<const float*>(matrix.data()))
                                         : run(static_cast<const double*>(matrix.data()));
}

void perceptron_votes(nb::handle K, nb::handle vector, nb::handle label, nb::handle wrong, nb::handle step,
                      nb::handle survival, double bias, nb::handle votes) {
  const Input matrix = checked_array<Input>(K, "K", 2, "float64");
  const Output out = checked_array<Output>(votes, "votes", 2, "float64");
  const int64_t points = int64_t(matrix.shape(0)), vectors = int64_t(matrix.shape(1)), q = int64_t(out.shape(1));
  expect_shape(out, "votes", {points, q});
  if (q < 1) throw wrong_value("votes must have at least one column, got shape " + shape_text(out));
  const int64_t count = int64_t(checked_array<Input>(vector, "vector", 1, "int64").shape(0));
  const int64_t classes = q == 1 ? 2 : q;
  const int64_t* who = checked_whole(vector, "vector", count, vectors);
  const int64_t* right = checked_whole(label, "label", count, classes);
  const int64_t* other = checked_whole(wrong, "wrong", count, classes);
  const double* w = checked_data<Input, double>(step, "step", "float64", {count});
  const double* lasted = checked_data<Input, double>(survival, "survival", "float64", {count});
  const double* values = static_cast<const double*>(matrix.data());
  double* to = static_cast<double*>(out.data());
  const nb::gil_scoped_release released;
  std::vector<double> scores(static_cast<std::size_t>(q));
  for (int64_t i = 0; i < points; ++i, values += vectors, to += q) {
    std::fill(scores.begin(), scores.end(), 0.0);
    for (int64_t e = 0; e < count; ++e) {
      change(q, right[e], other[e], w[e],
             [&](int64_t c, double s) { scores[std::size_t(c)] += s * (values[who[e]] + bias); });
      if (q == 1) to[0] += scores[0] > 0 ? lasted[e] : scores[0] < 0 ? -lasted[e] : 0.0;
      else to[std::max_element(scores.begin(), scores.end()) - scores.begin()] += lasted[e];
    }
  }
}

}  // namespace

void bind_perceptron(nb::module_& m) {
  using namespace nb::literals;
  m.def("perceptron", &perceptron, "K"_a, "order"_a, "place"_a, "label"_a, "weight"_a, "scores"_a, "coef"_a, "moment"_a,
        "entered"_a, "wrong"_a, "clock"_a, "bias"_a, "budget"_a, "smallest"_a,
        "Visit the points in order.  A mistake at point i changes the coefficients of row place[i] of the pool and the "
        "scores of all points, and the class taken instead goes to wrong[i], which is -1 where there was no mistake.  "
        "More vectors than the budget (0 for none) make the oldest or smallest leave.  Returns the mistakes.");
  m.def("perceptron_votes", &perceptron_votes, "K"_a, "vector"_a, "label"_a, "wrong"_a, "step"_a, "survival"_a, "bias"_a,
        "votes"_a,
        "Go through the mistakes; after each, the function so far votes at every point, with the weight survival.");
}

}  // namespace mercer
