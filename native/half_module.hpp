// Python bindings of products with half of a symmetric matrix.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_half(nanobind::module_& m);

}  // namespace mercer
