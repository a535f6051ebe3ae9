// The elementwise program: a register machine whose registers are rows of numbers.
//
// An instruction runs over one row of the strip before the next instruction starts, so the cost of
// decoding it is shared by a few hundred entries and its operands are still in the first-level cache.
#pragma once

#include "math.hpp"

namespace mercer {
namespace {

template <class T, class F>
MERCER_INLINE void each(T* to, Index columns, F f) {
  for (Index j = 0; j < columns; j += width<T>) store(to + j, f(j));
}

template <class T>
MERCER_INLINE Vec<T> integer_power(Vec<T> x, Index exponent) {
  Vec<T> result = x;
  for (--exponent; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * x;
    x = x * x;
  }
  return result;
}

MERCER_INLINE float root(float x) { return sqrtf(x); }
MERCER_INLINE double root(double x) { return ::sqrt(x); }
MERCER_INLINE float hyperbolic_tangent(float x) { return tanhf(x); }
MERCER_INLINE double hyperbolic_tangent(double x) { return ::tanh(x); }

template <class T>
void instruction(const StripArguments<T>& s, const Instruction& in, bool last, int row, Index columns) {
  // The last instruction delivers to register 0, whatever register it names.
  const int destination = last ? 0 : in.dst;
  T* to = s.reg[destination] + row * s.reg_step[destination];
  const bool loads = in.op != Op::left && in.op != Op::right;
  const bool binary = in.op == Op::add || in.op == Op::mul;
  const T* a = loads ? s.reg[in.a] + row * s.reg_step[in.a] : nullptr;
  const T* b = binary ? s.reg[in.b] + row * s.reg_step[in.b] : nullptr;
  const Vec<T> c0 = splat<T>(T(in.c0)), c1 = splat<T>(T(in.c1)), zero{}, one = splat<T>(T(1));
  constexpr double unit = Constants<T>::unit;
  const Vec<T> e0 = splat<T>(T(in.c0 * unit)), e1 = splat<T>(T(in.c1 * unit));
  switch (in.op) {
    case Op::affine: return each(to, columns, [=](Index j) MERCER_LAMBDA { return c0 * load(a + j) + c1; });
    case Op::add: return each(to, columns, [=](Index j) MERCER_LAMBDA { return c0 * load(a + j) + c1 * load(b + j); });
    case Op::mul: return each(to, columns, [=](Index j) MERCER_LAMBDA { return load(a + j) * load(b + j); });
    case Op::exp:
      return each(to, columns, [=](Index j) MERCER_LAMBDA { return exponential(e0 * load(a + j) + e1); });
    case Op::log: return each(to, columns, [=](Index j) MERCER_LAMBDA { return logarithm<T>(load(a + j)); });
    case Op::log1p: return each(to, columns, [=](Index j) MERCER_LAMBDA { return logarithm_plus_one<T>(load(a + j)); });
    case Op::sqrt:
      // Plain loops: without errno the compiler turns the call into its vector instruction.
      for (Index j = 0; j < columns; ++j) to[j] = root(a[j] < 0 ? T(0) : a[j]);
      return;
    case Op::tanh:
      for (Index j = 0; j < columns; ++j) to[j] = hyperbolic_tangent(a[j]);
      return;
    case Op::recip:
      return each(to, columns, [=](Index j) MERCER_LAMBDA {
        const Vec<T> x = load(a + j);
        return select<T>(x == zero, zero, one / x);
      });
    case Op::powi: {
      const Index exponent = Index(in.c0);
      if (exponent == 2) return each(to, columns, [=](Index j) MERCER_LAMBDA { return load(a + j) * load(a + j); });
      return each(to, columns, [=](Index j) MERCER_LAMBDA { return integer_power<T>(load(a + j), exponent); });
    }
    case Op::pow:
      if (in.c0 == 0) return each(to, columns, [=](Index) MERCER_LAMBDA { return one; });
      return each(to, columns, [=](Index j) MERCER_LAMBDA { return exponential(e0 * logarithm<T>(load(a + j))); });
    case Op::left: {
      const Vec<T> factor = splat<T>(s.left[in.a][row]);
      return each(to, columns, [=](Index) MERCER_LAMBDA { return factor; });
    }
    case Op::right: {
      const T* factor = s.right[in.a];
      return each(to, columns, [=](Index j) MERCER_LAMBDA { return load(factor + j); });
    }
  }
}

}  // namespace
}  // namespace mercer
