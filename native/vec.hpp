// A vector of W numbers that fits one machine register, and the few operations on it that the compiler's
// vector extension does not spell: broadcast, minimum, "is any lane bad", scaling by a power of two.
//
// Everything here lives in an anonymous namespace: this header is compiled once per instruction set, and
// two versions of one function must never share a name the linker can see.
#pragma once

#include <math.h>
#include <string.h>

#include <type_traits>

#include "kernels.hpp"

// The shape of the micro-kernel: rows of a strip, vectors of a panel, and right-hand sides contracted
// together, chosen so that all sums fit the registers (32 of them with AVX-512, else 16).
#if defined(__AVX512F__)
#define MERCER_VECTOR_BYTES 64
#define MERCER_STRIP 8
#define MERCER_PANEL_VECTORS 3
#define MERCER_SIDES 2
#elif defined(__AVX2__)
#define MERCER_VECTOR_BYTES 32
#define MERCER_STRIP 4
#define MERCER_PANEL_VECTORS 3
#define MERCER_SIDES 1
#else
#define MERCER_VECTOR_BYTES 16
#define MERCER_STRIP 4
#define MERCER_PANEL_VECTORS 2
#define MERCER_SIDES 1
#endif

// Intrinsics differ between the x86 instruction sets only in their prefix and types.
#if defined(__SSE2__) && defined(__GNUC__)
#include <immintrin.h>
#if defined(__AVX512F__)
#define MERCER_X86(name) _mm512_##name
typedef __m512 X86Float;
typedef __m512d X86Double;
#elif defined(__AVX2__)
#define MERCER_X86(name) _mm256_##name
typedef __m256 X86Float;
typedef __m256d X86Double;
#else
#define MERCER_X86(name) _mm_##name
typedef __m128 X86Float;
typedef __m128d X86Double;
#endif
#endif

#if defined(__GNUC__)
#define MERCER_INLINE inline __attribute__((always_inline))
#define MERCER_NOINLINE __attribute__((noinline))
#define MERCER_LAMBDA __attribute__((always_inline))
#if defined(__clang__)
#define MERCER_UNROLL _Pragma("unroll")
#else
#define MERCER_UNROLL _Pragma("GCC unroll 16")
#endif
#else
#define MERCER_INLINE inline
#define MERCER_NOINLINE
#define MERCER_LAMBDA
#define MERCER_UNROLL
#include "vec_plain.hpp"
#endif

namespace mercer {
namespace {

template <class T>
struct Lanes;

#if defined(__GNUC__)
template <>
struct Lanes<float> {
  typedef float V __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef int32_t I __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef uint32_t U __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef int32_t Int;
};
template <>
struct Lanes<double> {
  typedef double V __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef int64_t I __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef uint64_t U __attribute__((vector_size(MERCER_VECTOR_BYTES), may_alias));
  typedef int64_t Int;
};
#else
template <>
struct Lanes<float> {
  typedef PlainVector<float, MERCER_VECTOR_BYTES / 4> V;
  typedef PlainVector<int32_t, MERCER_VECTOR_BYTES / 4> I;
  typedef int32_t Int;
};
template <>
struct Lanes<double> {
  typedef PlainVector<double, MERCER_VECTOR_BYTES / 8> V;
  typedef PlainVector<int64_t, MERCER_VECTOR_BYTES / 8> I;
  typedef int64_t Int;
};
#endif

template <class T>
using Vec = typename Lanes<T>::V;
template <class T>
using IntVec = typename Lanes<T>::I;

template <class T>
constexpr int width = MERCER_VECTOR_BYTES / int(sizeof(T));
constexpr int strip_rows = MERCER_STRIP;
constexpr int panel_vectors = MERCER_PANEL_VECTORS;
template <class T>
constexpr int panel_width = panel_vectors * width<T>;

// Addresses are aligned to a vector by construction.
template <class T>
MERCER_INLINE Vec<T> load(const T* p) { return *reinterpret_cast<const Vec<T>*>(p); }
template <class T>
MERCER_INLINE void store(T* p, const Vec<T>& v) { *reinterpret_cast<Vec<T>*>(p) = v; }
// x - 0 is x for every x including -0, which lets the compiler reduce this to a broadcast.
template <class T>
MERCER_INLINE Vec<T> splat(T x) { return x - Vec<T>{}; }
template <class T>
MERCER_INLINE IntVec<T> splat_int(typename Lanes<T>::Int x) { return x - IntVec<T>{}; }

#if defined(__GNUC__)
template <class T>
MERCER_INLINE IntVec<T> bits(Vec<T> x) { return (IntVec<T>)x; }
template <class T>
MERCER_INLINE Vec<T> from_bits(IntVec<T> x) { return (Vec<T>)x; }
template <class T>
MERCER_INLINE Vec<T> select(IntVec<T> mask, Vec<T> yes, Vec<T> no) { return mask ? yes : no; }
#else
template <class T>
inline IntVec<T> bits(Vec<T> x) { IntVec<T> r; memcpy(&r, &x, sizeof r); return r; }
template <class T>
inline Vec<T> from_bits(IntVec<T> x) { Vec<T> r; memcpy(&r, &x, sizeof r); return r; }
template <class T>
inline Vec<T> select(IntVec<T> mask, Vec<T> yes, Vec<T> no) { return choose(mask, yes, no); }
#endif

// Bit patterns are added, subtracted and shifted without a sign: in lanes that are replaced afterwards they may
// overflow, which only unsigned numbers are allowed to.
#if defined(__GNUC__)
template <class T>
using BitVec = typename Lanes<T>::U;
template <class T>
MERCER_INLINE IntVec<T> add_bits(IntVec<T> a, IntVec<T> b) { return (IntVec<T>)((BitVec<T>)a + (BitVec<T>)b); }
template <class T>
MERCER_INLINE IntVec<T> subtract_bits(IntVec<T> a, IntVec<T> b) { return (IntVec<T>)((BitVec<T>)a - (BitVec<T>)b); }
template <class T>
MERCER_INLINE IntVec<T> shift_bits(IntVec<T> a, int by) { return (IntVec<T>)((BitVec<T>)a << by); }
#else
template <class T, class F>
inline IntVec<T> each_unsigned(IntVec<T> a, IntVec<T> b, F f) {
  typedef std::make_unsigned_t<typename Lanes<T>::Int> Unsigned;
  for (int i = 0; i < width<T>; ++i) a.lane[i] = typename Lanes<T>::Int(f(Unsigned(a.lane[i]), Unsigned(b.lane[i])));
  return a;
}
template <class T>
inline IntVec<T> add_bits(IntVec<T> a, IntVec<T> b) {
  return each_unsigned<T>(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
inline IntVec<T> subtract_bits(IntVec<T> a, IntVec<T> b) {
  return each_unsigned<T>(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
inline IntVec<T> shift_bits(IntVec<T> a, int by) {
  return each_unsigned<T>(a, a, [by](auto x, auto) { return x << by; });
}
#endif

template <class T>
MERCER_INLINE Vec<T> absolute(Vec<T> x) {
  return from_bits<T>(bits<T>(x) & splat_int<T>(~(typename Lanes<T>::Int(1) << (8 * sizeof(T) - 1))));
}

// minimum(a, b) and maximum(a, b) give b where either is NaN, as the x86 instructions do.
#if defined(MERCER_X86)
MERCER_INLINE Vec<float> minimum(Vec<float> a, Vec<float> b) {
  return (Vec<float>)MERCER_X86(min_ps)((X86Float)a, (X86Float)b);
}
MERCER_INLINE Vec<double> minimum(Vec<double> a, Vec<double> b) {
  return (Vec<double>)MERCER_X86(min_pd)((X86Double)a, (X86Double)b);
}
MERCER_INLINE Vec<float> maximum(Vec<float> a, Vec<float> b) {
  return (Vec<float>)MERCER_X86(max_ps)((X86Float)a, (X86Float)b);
}
MERCER_INLINE Vec<double> maximum(Vec<double> a, Vec<double> b) {
  return (Vec<double>)MERCER_X86(max_pd)((X86Double)a, (X86Double)b);
}
#else
MERCER_INLINE Vec<float> minimum(Vec<float> a, Vec<float> b) { return select<float>(a < b, a, b); }
MERCER_INLINE Vec<double> minimum(Vec<double> a, Vec<double> b) { return select<double>(a < b, a, b); }
MERCER_INLINE Vec<float> maximum(Vec<float> a, Vec<float> b) { return select<float>(a > b, a, b); }
MERCER_INLINE Vec<double> maximum(Vec<double> a, Vec<double> b) { return select<double>(a > b, a, b); }
#endif

// a * b + c and c - a * b, with one rounding where the instruction set has that, in every loop alike: a compiler that is
// free to choose may round twice in one loop and once in another, and an entry would depend on the tile it is computed in.
#if defined(MERCER_X86) && defined(__FMA__)
MERCER_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)MERCER_X86(fmadd_ps)((X86Float)a, (X86Float)b, (X86Float)c);
}
MERCER_INLINE Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)MERCER_X86(fmadd_pd)((X86Double)a, (X86Double)b, (X86Double)c);
}
MERCER_INLINE Vec<float> multiply_subtract(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)MERCER_X86(fnmadd_ps)((X86Float)a, (X86Float)b, (X86Float)c);
}
MERCER_INLINE Vec<double> multiply_subtract(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)MERCER_X86(fnmadd_pd)((X86Double)a, (X86Double)b, (X86Double)c);
}
#else
template <class V>
MERCER_INLINE V multiply_add(V a, V b, V c) { return a * b + c; }
template <class V>
MERCER_INLINE V multiply_subtract(V a, V b, V c) { return c - a * b; }
#endif

#if defined(MERCER_X86)
MERCER_INLINE Vec<float> square_root(Vec<float> x) { return (Vec<float>)MERCER_X86(sqrt_ps)((X86Float)x); }
MERCER_INLINE Vec<double> square_root(Vec<double> x) { return (Vec<double>)MERCER_X86(sqrt_pd)((X86Double)x); }
#else
template <class V>
MERCER_INLINE V square_root(V x) {
  decltype(x[0] + x[0]) lane[sizeof x / sizeof x[0]];
  memcpy(lane, &x, sizeof x);
  for (auto& value : lane) value = decltype(x[0] + x[0])(::sqrt(value));
  memcpy(&x, lane, sizeof x);
  return x;
}
#endif

// Lanes where a >= b or a > b fails, NaN included.  AVX-512 keeps one bit a lane in a mask register; spelling that
// out matters because this test stands in the epilogue of the busiest micro-kernel.
#if defined(__AVX512F__)
template <class T>
using Flags = unsigned;
MERCER_INLINE unsigned not_at_least(Vec<float> a, Vec<float> b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NGE_UQ);
}
MERCER_INLINE unsigned not_at_least(Vec<double> a, Vec<double> b) {
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_NGE_UQ);
}
MERCER_INLINE unsigned not_above(Vec<float> a, Vec<float> b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NGT_UQ);
}
MERCER_INLINE unsigned not_above(Vec<double> a, Vec<double> b) {
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_NGT_UQ);
}
MERCER_INLINE bool any(unsigned flags) { return flags != 0; }
MERCER_INLINE Vec<float> where(unsigned flags, Vec<float> yes, Vec<float> no) {
  return (Vec<float>)_mm512_mask_blend_ps(__mmask16(flags), (__m512)no, (__m512)yes);
}
MERCER_INLINE Vec<double> where(unsigned flags, Vec<double> yes, Vec<double> no) {
  return (Vec<double>)_mm512_mask_blend_pd(__mmask8(flags), (__m512d)no, (__m512d)yes);
}
#else
template <class T>
using Flags = IntVec<T>;
template <class V>
MERCER_INLINE auto not_at_least(V a, V b) { return ~(a >= b); }
template <class V>
MERCER_INLINE auto not_above(V a, V b) { return ~(a > b); }
template <class I>
MERCER_INLINE bool any(I flags) {
#if defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)flags) != 0;
#elif defined(MERCER_X86)
  return _mm_movemask_epi8((__m128i)flags) != 0;
#else
  bool found = false;
  for (unsigned i = 0; i < sizeof(I) / sizeof(flags[0]); ++i) found |= flags[i] != 0;
  return found;
#endif
}
MERCER_INLINE Vec<float> where(IntVec<float> flags, Vec<float> yes, Vec<float> no) {
  return select<float>(flags, yes, no);
}
MERCER_INLINE Vec<double> where(IntVec<double> flags, Vec<double> yes, Vec<double> no) {
  return select<double>(flags, yes, no);
}
#endif

// Adds each lane to a sum in double.
MERCER_INLINE void add_widened(double* sums, Vec<double> x) {
  Vec<double> sum;
  memcpy(&sum, sums, sizeof sum);
  sum = sum + x;
  memcpy(sums, &sum, sizeof sum);
}
MERCER_INLINE void add_widened(double* sums, Vec<float> x) {
#if defined(__AVX512F__)
  add_widened(sums, (Vec<double>)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x)));
  add_widened(sums + 8, (Vec<double>)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1)));
#elif defined(__AVX2__)
  add_widened(sums, (Vec<double>)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)));
  add_widened(sums + 4, (Vec<double>)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1)));
#else
  float lane[width<float>];
  memcpy(lane, &x, sizeof x);
  for (int i = 0; i < width<float>; ++i) sums[i] += double(lane[i]);
#endif
}

// The sum of the lanes, by halves: the order is fixed, so results do not depend on anything but the data.
template <class T>
MERCER_INLINE T lane_sum(Vec<T> x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_reduce_add_ps((__m512)x);
  else return _mm512_reduce_add_pd((__m512d)x);
#else
  T lane[width<T>];
  memcpy(lane, &x, sizeof x);
  MERCER_UNROLL for (int half = width<T> / 2; half > 0; half /= 2)
    MERCER_UNROLL for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
#endif
}

}  // namespace
}  // namespace mercer
