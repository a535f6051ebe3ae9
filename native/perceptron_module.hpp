// Python bindings of the kernel perceptron.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_perceptron(nanobind::module_& m);

}  // namespace mercer
