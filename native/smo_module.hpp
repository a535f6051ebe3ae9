// Python bindings of sequential minimal optimisation.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_smo(nanobind::module_& m);

}  // namespace mercer
