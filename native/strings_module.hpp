// Python bindings of the kernels between sequences.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_strings(nanobind::module_& m);

}  // namespace mercer
