// Dot products of rows of zeros and ones: a number holds as many of them as it has bits, and two numbers add as many
// as both have.
//
// The lanes are those of the other statistics, so that nothing is summed across them.  Without an instruction that
// counts the ones of a lane they are counted in each byte, and bytes are added up before they overflow.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

constexpr Index byte_sums = 31;  // words whose ones a byte can count: 8 each, and 255 in all

template <class T>
MERCER_INLINE IntVec<T> repeat(int64_t pattern) { return splat_int<T>(static_cast<typename Lanes<T>::Int>(pattern)); }

#if defined(__AVX2__) && defined(__GNUC__)
#if defined(__AVX512F__)
typedef __m512i X86Integer;
MERCER_INLINE X86Integer ones_of_nibbles() { return _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)); }
#define MERCER_LOOK_UP _mm512_shuffle_epi8
#else
typedef __m256i X86Integer;
MERCER_INLINE X86Integer ones_of_nibbles() { return _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)); }
#define MERCER_LOOK_UP _mm256_shuffle_epi8
#endif

template <class T>
MERCER_INLINE IntVec<T> count_in_bytes(IntVec<T> x) {
  const IntVec<T> low = repeat<T>(0x0f0f0f0f0f0f0f0f);
  const X86Integer table = ones_of_nibbles();
  return add_bits<T>((IntVec<T>)MERCER_LOOK_UP(table, (X86Integer)(x & low)),
                     (IntVec<T>)MERCER_LOOK_UP(table, (X86Integer)((x >> 4) & low)));
}
#undef MERCER_LOOK_UP
#else
template <class T>
MERCER_INLINE IntVec<T> count_in_bytes(IntVec<T> x) {
  const IntVec<T> pairs = repeat<T>(0x3333333333333333), low = repeat<T>(0x0f0f0f0f0f0f0f0f);
  x = subtract_bits<T>(x, (x >> 1) & repeat<T>(0x5555555555555555));
  x = add_bits<T>(x & pairs, (x >> 2) & pairs);
  return add_bits<T>(x & low, (x >> 4) & low);
}
#endif

// The sum of the bytes of each lane.
template <class T>
MERCER_INLINE IntVec<T> add_bytes(IntVec<T> x) {
  const IntVec<T> every_second = repeat<T>(0x00ff00ff00ff00ff), every_fourth = repeat<T>(0x0000ffff0000ffff);
  x = (x & every_second) + ((x >> 8) & every_second);
  x = (x & every_fourth) + ((x >> 16) & every_fourth);
  if constexpr (sizeof(T) == 8) x = (x & repeat<T>(0xffffffff)) + ((x >> 32) & repeat<T>(0xffffffff));
  return x;
}

// Whole numbers below 2^23 or 2^52 as digits of a number that large, from which it is taken away again.
template <class T>
MERCER_INLINE Vec<T> to_number(IntVec<T> count) {
  constexpr T large = sizeof(T) == 8 ? T(4503599627370496.0) : T(8388608.0);
  return from_bits<T>(count | bits<T>(splat<T>(large))) - splat<T>(large);
}

template <class T>
MERCER_INLINE IntVec<T> splat_word(const T* word) {
  typename Lanes<T>::Int x;
  memcpy(&x, word, sizeof x);
  return splat_int<T>(x);
}

template <class T>
using Counts = IntVec<T>[strip_rows][panel_vectors];

template <class T>
MERCER_INLINE void store_counts(const Counts<T>& count, T* to, Index step) {
  MERCER_UNROLL for (int i = 0; i < strip_rows; ++i)
    MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) store(to + i * step + v * width<T>, to_number<T>(count[i][v]));
}

template <class T>
void common_bits(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
  const Index panel_size = s.dimension * panel_width<T>;
  for (Index p = 0; p < panels; ++p) {
    const T* b = s.columns + (first_panel + p) * panel_size;
    Counts<T> total = {};
    for (Index start = 0; start < s.dimension; start += byte_sums) {
      const Index stop = start + byte_sums < s.dimension ? start + byte_sums : s.dimension;
      Counts<T> bytes = {};
      for (Index k = start; k < stop; ++k, b += panel_width<T>) {
        IntVec<T> column[panel_vectors];
        MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) column[v] = bits<T>(load(b + v * width<T>));
        MERCER_UNROLL for (int i = 0; i < strip_rows; ++i) {
          const IntVec<T> row = splat_word<T>(s.rows + k * s.row_step + i);
          MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v)
            bytes[i][v] = add_bits<T>(bytes[i][v], count_in_bytes<T>(row & column[v]));  // beyond the sign
        }
      }
      MERCER_UNROLL for (int i = 0; i < strip_rows; ++i)
        MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) total[i][v] = total[i][v] + add_bytes<T>(bytes[i][v]);
    }
    store_counts<T>(total, out + p * panel_width<T>, step);
  }
}

#if defined(__AVX512F__) && defined(__GNUC__)
// Processors since 2019 have the instruction; it is asked for at run time, as older ones with AVX-512 have it not.
template <class T>
__attribute__((target("avx512vpopcntdq"))) void counted_bits(const StatisticView<T>& s, Index first_panel, Index panels,
                                                              T* out, Index step) {
  const Index panel_size = s.dimension * panel_width<T>;
  for (Index p = 0; p < panels; ++p) {
    const T* b = s.columns + (first_panel + p) * panel_size;
    Counts<T> total = {};
    for (Index k = 0; k < s.dimension; ++k, b += panel_width<T>) {
      IntVec<T> column[panel_vectors];
      MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) column[v] = bits<T>(load(b + v * width<T>));
      MERCER_UNROLL for (int i = 0; i < strip_rows; ++i) {
        const IntVec<T> row = splat_word<T>(s.rows + k * s.row_step + i);
        MERCER_UNROLL for (int v = 0; v < panel_vectors; ++v) {
          const __m512i both = (__m512i)(row & column[v]);
          total[i][v] = total[i][v] +
                        (IntVec<T>)(sizeof(T) == 8 ? _mm512_popcnt_epi64(both) : _mm512_popcnt_epi32(both));
        }
      }
    }
    store_counts<T>(total, out + p * panel_width<T>, step);
  }
}
#endif

template <class T>
void bit_statistic(const StatisticView<T>& s, Index first_panel, Index panels, T* out, Index step) {
#if defined(__AVX512F__) && defined(__GNUC__)
  static const bool counts = __builtin_cpu_supports("avx512vpopcntdq");
  if (counts) return counted_bits<T>(s, first_panel, panels, out, step);
#endif
  common_bits<T>(s, first_panel, panels, out, step);
}

}  // namespace
}  // namespace mercer
