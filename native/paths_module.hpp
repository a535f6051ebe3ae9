// Python bindings of the programmes over pairs of series.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_paths(nanobind::module_& m);

}  // namespace mercer
