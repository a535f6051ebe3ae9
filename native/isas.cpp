// Which of the compiled instruction sets may be used on the processor we happen to run on.  The environment may name
// a lesser one than the best, MERCER_ISA=avx2: so that what other processors do can be tested and measured on this one.
// Nothing else needs it.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace mercer {

extern const Isa isa_baseline;
#ifdef MERCER_X86_ISAS
extern const Isa isa_avx2;
extern const Isa isa_avx512;
#endif

const Isa* const* available_isas() {
  static const Isa* const* const list = [] {
    static const Isa* found[4] = {};
    int count = 0;
#ifdef MERCER_X86_ISAS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("fma"))
      found[count++] = &isa_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found[count++] = &isa_avx2;
#endif
    found[count++] = &isa_baseline;
    const char* wanted = std::getenv("MERCER_ISA");
    if (!wanted || !*wanted) return found;
    std::string known;
    for (int first = 0; first < count; ++first) {
      if (found[first]->name == std::string(wanted)) return found + first;
      known += (first ? ", " : "") + std::string(found[first]->name);
    }
    throw std::invalid_argument("the environment variable MERCER_ISA is '" + std::string(wanted) +
                                "', but the instruction sets of this processor are " + known +
                                "; unset it to have the best of them");
  }();
  return list;
}

}  // namespace mercer
