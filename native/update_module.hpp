// Python bindings of products of stored matrices and of triangular systems.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_update(nanobind::module_& m);

}  // namespace mercer
