// The version of an inner loop for an instruction set.  Loops are named after the sets they are compiled for; only the
// portable half may ask, which alone knows whether there are others than the baseline.
#pragma once

#include <cstring>

#include "kernels.hpp"

namespace mercer {

template <class F>
F version_for(const Isa& isa, F baseline, F avx2, F avx512) {
  if (std::strcmp(isa.name, "avx512") == 0) return avx512;
  return std::strcmp(isa.name, "avx2") == 0 ? avx2 : baseline;
}

}  // namespace mercer

#ifdef MERCER_X86_ISAS
#define MERCER_VERSION(F, isa, loop) mercer::version_for<F>(isa, loop##_baseline, loop##_avx2, loop##_avx512)
#else
#define MERCER_VERSION(F, isa, loop) mercer::version_for<F>(isa, loop##_baseline, loop##_baseline, loop##_baseline)
#endif
