// The inner loops, compiled once per instruction set (MERCER_ISA names it): a strip of the Gram matrix is
// evaluated -- statistics, then program -- and contracted while it is in cache.
#include "band.hpp"
#include "contract.hpp"
#include "program.hpp"
#include "smo.hpp"
#include "statistics.hpp"
#include "stream.hpp"
#include "update_tile.hpp"

namespace mercer {
namespace {

template <class T>
void evaluate(const StripArguments<T>& s) {
  for (int q = 0; q < s.statistics; ++q)
    statistic<T>(s.statistic[q], s.first_panel, s.panels, s.reg[q], s.reg_step[q]);
  const Index padded = s.panels * panel_width<T>;
  for (int row = 0; row < s.rows; ++row) {
    for (int i = 0; i < s.length; ++i) instruction<T>(s, s.code[i], i + 1 == s.length, row, padded);
    // A program may make infinities out of padding: zero it, so that a contraction cannot see it.
    T* result = s.reg[0] + row * s.reg_step[0];
    for (Index j = s.columns; j < padded; ++j) result[j] = T(0);
  }
  for (int row = s.rows; row < strip_rows; ++row) {
    T* result = s.reg[0] + row * s.reg_step[0];
    for (Index j = 0; j < padded; ++j) result[j] = T(0);
  }
}

template <class T>
constexpr Kernels<T> kernels() {
  return {strip_rows, panel_width<T>, evaluate<T>, contract<false, T>, contract<true, T>, widen_add<T>, stream<T>,
          scatter<T>, smo<T>, weigh_rows<T>, band_step<T>, update_tile<T>};
}

static_assert(row_block % panel_width<float> == 0 && row_block % panel_width<double> == 0, "aligned tiles");
static_assert(panel_width<float> % strip_rows == 0 && panel_width<double> % strip_rows == 0, "aligned strips");

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)
#define MERCER_TEXT_(a) #a
#define MERCER_TEXT(a) MERCER_TEXT_(a)

extern const Isa MERCER_JOIN(isa_, MERCER_ISA);
const Isa MERCER_JOIN(isa_, MERCER_ISA) = {MERCER_TEXT(MERCER_ISA), kernels<float>(), kernels<double>()};

}  // namespace mercer
