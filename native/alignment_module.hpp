// Python bindings of the sum over all alignments of two sequences of vectors.
#pragma once

#include <nanobind/nanobind.h>

namespace mercer {

void bind_alignment(nanobind::module_& m);

}  // namespace mercer
