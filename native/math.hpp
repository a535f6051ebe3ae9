// exp and log for vectors, accurate to an ulp or two, and powers of what is not negative.
//
// Both take the number apart as 2^n times something near one.  For exp the rest is |r| <= ln(2)/2 and a
// polynomial 1 + r + r^2 q(r) does it, where q interpolates the series at Chebyshev points; for log the
// rest is m in [sqrt(1/2), sqrt(2)) and log m = 2 atanh(s) with s = (m-1)/(m+1), whose series is short.
//
// In single precision exp(x) is 2^(x log2(e)), and whoever multiplies x by a constant anyway takes log2(e) in
// (Constants::unit): a third less work, for up to 2 |x| ulp more of error; a rounded product x has half.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

template <class T>
struct Constants;

template <>
struct Constants<float> {
  // Adding 1.5 * 2^mantissa rounds to an integer and leaves that integer in the low bits.
  static constexpr float rounder = 12582912.0f;
  static constexpr double unit = 1.44269504088896340736;
  static constexpr float ln2_high = 0.693359375f;  // few bits: n * ln2_high is exact
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr float tiny = 1.17549435e-38f;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr int32_t root_half = 0x3f3504f3;
  static constexpr int terms = 7, atanh_terms = 5;
  static constexpr float p[terms] = {1.0f, 0.6931471824645996f, 0.24022650718688965f, 0.055503811687231064f,
                                     0.009618103504180908f, 0.0013381302123889327f, 0.00015444883320014924f};
};

template <>
struct Constants<double> {
  static constexpr double rounder = 6755399441055744.0;
  static constexpr double unit = 1.0;
  static constexpr double log2e = 1.44269504088896340736;
  static constexpr double ln2_high = 0x1.62e42fee00000p-1;
  static constexpr double ln2_low = 1.9082149292705877e-10;
  static constexpr double largest = 709.782712893384, smallest = -708.3964185322641;
  static constexpr double vanished = -746.0, overflowed = 710.0;
  static constexpr double tiny = 2.2250738585072014e-308;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr int64_t root_half = 0x3fe6a09e667f3bcd;
  static constexpr int terms = 12, atanh_terms = 11;
  static constexpr double p[terms] = {
      1.0, 1.0, 0.5, 0.16666666666666669, 0.04166666666662348, 0.008333333333330011, 0.0013888888917538296,
      0.00019841269863303223, 2.4801520792572694e-05, 2.75572680728901e-06, 2.762032742826824e-07,
      2.5100569275813683e-08};
};

template <class T>
MERCER_INLINE Vec<T> polynomial(Vec<T> r) {
  typedef Constants<T> C;
  constexpr int last = C::terms - 1;
  if constexpr (sizeof(T) == 4) {
    Vec<T> sum = splat<T>(C::p[last]);
    MERCER_UNROLL for (int i = last - 1; i >= 0; --i) sum = sum * r + splat<T>(C::p[i]);
    return sum;
  }
  // A longer sum has even and odd powers apart, so that half of it does not wait for the other, up to the terms that
  // matter to the last digit.
  const Vec<T> square = r * r;
  Vec<T> odd = splat<T>(C::p[last]), even = splat<T>(C::p[last - 1]);
  MERCER_UNROLL for (int i = last - 2; i > 2; i -= 2) {
    odd = odd * square + splat<T>(C::p[i]);
    even = even * square + splat<T>(C::p[i - 1]);
  }
  const Vec<T> tail = odd * r + even;
  return (tail * r + splat<T>(C::p[1])) * r + splat<T>(C::p[0]);
}

// exp(x / unit).
MERCER_INLINE Vec<double> exponential(Vec<double> x) {
  typedef Constants<double> C;
#if defined(__AVX512F__)
  // The scaling instruction overflows and underflows by itself; clamping keeps infinities out of r.
  x = maximum(splat<double>(C::vanished), minimum(splat<double>(C::overflowed), x));
#endif
  const Vec<double> shifted = x * splat<double>(C::log2e) + splat<double>(C::rounder);
  const Vec<double> n = shifted - splat<double>(C::rounder);
  const Vec<double> r = x - n * splat<double>(C::ln2_high) - n * splat<double>(C::ln2_low);
  const Vec<double> p = polynomial<double>(r);
#if defined(__AVX512F__)
  return (Vec<double>)_mm512_scalef_pd((__m512d)p, (__m512d)n);
#else
  // Adding n to the exponent field is right wherever the result is a normal number; what is smaller is 0.
  const IntVec<double> raised = shift_bits<double>(bits<double>(shifted), C::mantissa);
  Vec<double> y = from_bits<double>(add_bits<double>(bits<double>(p), raised));
  y = select<double>(x > splat<double>(C::largest), splat<double>(HUGE_VAL), y);
  return select<double>(x >= splat<double>(C::smallest), y, maximum(Vec<double>{}, x));
#endif
}

MERCER_INLINE Vec<float> exponential(Vec<float> x) {
  typedef Constants<float> C;
#if defined(__AVX512F__)
  // What is left of an infinite number is 0 for this instruction, and scaling makes it 0 or infinity again.
  const Vec<float> r = (Vec<float>)_mm512_reduce_ps((__m512)x, 0);
  const __m512 n = _mm512_roundscale_ps((__m512)x, 0);
  return (Vec<float>)_mm512_scalef_ps((__m512)polynomial<float>(r), n);
#else
  // 2^128 is infinity: a one with the largest exponent there is.
  const Vec<float> bounded = minimum(splat<float>(128.0f), x);
  const Vec<float> shifted = bounded + splat<float>(C::rounder);
  const Vec<float> r = bounded - (shifted - splat<float>(C::rounder));
  const IntVec<float> n = shift_bits<float>(bits<float>(shifted), C::mantissa);
  const Vec<float> y = from_bits<float>(add_bits<float>(bits<float>(polynomial<float>(r)), n));
  return select<float>(x >= splat<float>(-126.0f), y, maximum(Vec<float>{}, x));
#endif
}

template <class T>
MERCER_INLINE Vec<T> logarithm(Vec<T> x) {
  typedef Constants<T> C;
  const Vec<T> zero{}, one = splat<T>(T(1)), two = splat<T>(T(2));
  const T lift = sizeof(T) == 4 ? T(16777216.0) : T(18014398509481984.0);
  const T lifted_by = sizeof(T) == 4 ? T(24) : T(54);
  const IntVec<T> subnormal = x < splat<T>(C::tiny);
  const Vec<T> lifted = select<T>(subnormal, x * splat<T>(lift), x);
  const IntVec<T> word = bits<T>(lifted);
  const IntVec<T> exponent = subtract_bits<T>(word, splat_int<T>(C::root_half)) >> C::mantissa;
  const Vec<T> m = from_bits<T>(subtract_bits<T>(word, shift_bits<T>(exponent, C::mantissa)));
  // Integer to floating point by the rounding trick backwards: exact for |n| < 2^(mantissa - 1).
  const IntVec<T> anchor = bits<T>(splat<T>(C::rounder));
  const Vec<T> n = from_bits<T>(exponent + anchor) - splat<T>(C::rounder) -
                   select<T>(subnormal, splat<T>(lifted_by), zero);
  const Vec<T> f = m - one;
  const Vec<T> s = f / (two + f), z = s * s;
  Vec<T> tail = splat<T>(T(2) / T(2 * C::atanh_terms + 1));
  MERCER_UNROLL for (int i = C::atanh_terms - 1; i >= 1; --i) tail = tail * z + splat<T>(T(2) / T(2 * i + 1));
  tail = tail * z;
  // 2 s = f - s f, so log m = f - (h - s (h + tail)) with h = f^2 / 2: the leading term f is exact.
  const Vec<T> h = f * f * splat<T>(T(0.5));
  Vec<T> y = n * splat<T>(C::ln2_high) + (f - (h - (s * (h + tail) + n * splat<T>(C::ln2_low))));
  y = select<T>(x < zero, splat<T>(T(NAN)), y);
  y = select<T>(x == zero, splat<T>(T(-HUGE_VAL)), y);
  y = select<T>(x == splat<T>(T(HUGE_VAL)), x, y);
  return select<T>(x == x, y, x);
}

// x^exponent for x >= 0 and exponent > 0; powers by roots are several times faster.
struct Half {
  template <class T>
  static MERCER_INLINE Vec<T> of(Vec<T> x, Vec<T>) { return square_root(x); }
};
struct ThreeHalves {
  template <class T>
  static MERCER_INLINE Vec<T> of(Vec<T> x, Vec<T>) { return x * square_root(x); }
};
struct AnyPower {
  template <class T>
  static MERCER_INLINE Vec<T> of(Vec<T> x, Vec<T> exponent) {
    return exponential(exponent * splat<T>(T(Constants<T>::unit)) * logarithm<T>(x));
  }
};

// log(1 + x) for x > -1.  1 + x is rounded, and what the logarithm misses by that is a relative error of
// (u - 1) against x, which is known exactly.
template <class T>
MERCER_INLINE Vec<T> logarithm_plus_one(Vec<T> x) {
  const Vec<T> one = splat<T>(T(1)), u = one + x, rounded = u - one;
  const Vec<T> y = logarithm<T>(u);
  const Vec<T> corrected = select<T>(rounded == Vec<T>{}, x, y * (x / rounded));
  return select<T>(y == splat<T>(T(HUGE_VAL)), y, corrected);
}

}  // namespace
}  // namespace mercer
