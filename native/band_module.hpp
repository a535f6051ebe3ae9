// Python bindings of triangular systems with a band.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_band(nanobind::module_& m);

}  // namespace mercer
