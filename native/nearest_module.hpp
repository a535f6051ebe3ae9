// Python bindings of the search for the nearest points.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_nearest(nanobind::module_& m);

}  // namespace mercer
