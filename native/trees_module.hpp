// Python bindings of tree kernels.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_trees(nanobind::module_& m);

}  // namespace mercer
