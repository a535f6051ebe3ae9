// Python bindings of the kernel perceptron.
#pragma once

#include "arrays.hpp"
#include "perceptron.hpp"

namespace mercer {

void bind_perceptron(nb::module_& m);

inline Ledger checked_ledger(nb::handle coef, nb::handle moment, nb::handle entered, int64_t vectors, int64_t outputs) {
  return {checked_data<Output, double>(coef, "coef", "float64", {vectors, outputs}),
          checked_data<Output, double>(moment, "moment", "float64", {vectors, outputs}),
          checked_data<Output, int64_t>(entered, "entered", "int64", {vectors}), outputs};
}

}  // namespace mercer
