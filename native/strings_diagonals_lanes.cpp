// The inner loops of the comparison of windows, compiled once per instruction set (MERCER_ISA names it).
//
// Windows i of the row and j of the column differ at as many places as windows i - 1 and j - 1 do, less the pair of
// tokens that was left behind and more the pair that came in.  These numbers of differences stay where they are along
// a diagonal j - i, and one step of i moves all diagonals on.  Values are looked up 16 at a time, byte by byte.
#include "strings_diagonals.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mercer {
namespace {

#if defined(__AVX512BW__)

typedef __m512i Bytes;
constexpr Index lanes = 64;
inline Bytes read(const uint8_t* from) { return _mm512_loadu_si512(from); }
inline void write(uint8_t* to, Bytes v) { _mm512_storeu_si512(to, v); }
inline Bytes fill(uint8_t v) { return _mm512_set1_epi8(char(v)); }
inline Bytes read_table(const uint8_t* from) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Bytes subtract_equal(Bytes d, Bytes a, Bytes b) {
  return _mm512_mask_sub_epi8(d, _mm512_cmpeq_epi8_mask(a, b), d, _mm512_set1_epi8(1));
}
inline Bytes add_equal(Bytes d, Bytes a, Bytes b) {
  return _mm512_mask_add_epi8(d, _mm512_cmpeq_epi8_mask(a, b), d, _mm512_set1_epi8(1));
}
inline Bytes add_saturated(Bytes d, Bytes by) { return _mm512_adds_epu8(d, by); }
inline Bytes either(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
inline Bytes look_up(Bytes table, Bytes at) { return _mm512_shuffle_epi8(table, at); }
inline Bytes add_bytes(Bytes sums, Bytes v) { return _mm512_add_epi64(sums, _mm512_sad_epu8(v, _mm512_setzero_si512())); }
inline double total(Bytes sums) { return double(_mm512_reduce_add_epi64(sums)); }

#elif defined(__AVX2__)

typedef __m256i Bytes;
constexpr Index lanes = 32;
inline Bytes read(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline void write(uint8_t* to, Bytes v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
inline Bytes fill(uint8_t v) { return _mm256_set1_epi8(char(v)); }
inline Bytes read_table(const uint8_t* from) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Bytes subtract_equal(Bytes d, Bytes a, Bytes b) { return _mm256_add_epi8(d, _mm256_cmpeq_epi8(a, b)); }
inline Bytes add_equal(Bytes d, Bytes a, Bytes b) { return _mm256_sub_epi8(d, _mm256_cmpeq_epi8(a, b)); }
inline Bytes add_saturated(Bytes d, Bytes by) { return _mm256_adds_epu8(d, by); }
inline Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
inline Bytes look_up(Bytes table, Bytes at) { return _mm256_shuffle_epi8(table, at); }
inline Bytes add_bytes(Bytes sums, Bytes v) { return _mm256_add_epi64(sums, _mm256_sad_epu8(v, _mm256_setzero_si256())); }
inline double total(Bytes sums) {
  int64_t parts[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), sums);
  return double(parts[0] + parts[1] + parts[2] + parts[3]);
}

#endif

#if defined(__AVX2__)

static_assert(lanes <= diagonal_lanes, "columns are padded enough");

// Differences of the window that starts at `one` with `lanes` windows that start from `many` on.
inline Bytes compare(const uint8_t* one, const uint8_t* many, Index span) {
  Bytes d = fill(uint8_t(span));
  for (Index l = 0; l < span; ++l) d = subtract_equal(d, read(many + l), fill(one[l]));
  return d;
}

template <int plane_count>
double compare_windows(const DiagonalArguments& a) {
  uint8_t* const origin = a.differences + a.row_windows;  // of the diagonal j = i
  for (Index j = 0; j < a.column_windows; j += lanes) write(origin + j, compare(a.row, a.column + j, a.span));
  uint8_t outside[lanes];
  const Index whole = (a.column_windows - 1) / lanes * lanes;
  for (Index j = 0; j < lanes; ++j) outside[j] = whole + j < a.column_windows ? 0 : 0x80;
  // A look-up reads the lowest four bits, and gives 0 where the highest is set: by so much it is, from 16 on.
  const Bytes beyond = read(outside), up = fill(uint8_t(0x80 - difference_values));
  Bytes table[plane_count], sums[plane_count];
  for (int p = 0; p < plane_count; ++p) table[p] = read_table(a.planes + p * difference_values), sums[p] = fill(0);
  for (Index i = 0; i < a.row_windows; ++i) {
    uint8_t* const d = origin - i;
    if (i > 0) {
      Index differing = 0;  // where the diagonal starts
      for (Index l = 0; l < a.span; ++l) differing += a.row[i + l] != a.column[l];
      d[0] = uint8_t(differing);
    }
    const Bytes leaving = fill(a.row[i]), coming = fill(i + 1 < a.row_windows ? a.row[i + a.span] : 0);
    for (Index j = 0; j < whole; j += lanes) {
      const Bytes now = read(d + j), at = add_saturated(now, up);
      for (int p = 0; p < plane_count; ++p) sums[p] = add_bytes(sums[p], look_up(table[p], at));
      write(d + j, subtract_equal(add_equal(now, read(a.column + j), leaving), read(a.column + j + a.span), coming));
    }
    const Bytes now = read(d + whole), at = either(add_saturated(now, up), beyond);
    for (int p = 0; p < plane_count; ++p) sums[p] = add_bytes(sums[p], look_up(table[p], at));
    write(d + whole,
          subtract_equal(add_equal(now, read(a.column + whole), leaving), read(a.column + whole + a.span), coming));
  }
  double result = 0, unit = 1;
  for (int p = 0; p < plane_count; ++p, unit *= 256) result += unit * total(sums[p]);
  return result;
}

#else

constexpr Index exact = Index(1) << 15;  // values below 2^48 whose sum a 64-bit number holds

double compare_windows(const DiagonalArguments& a) {
  uint8_t* const origin = a.differences + a.row_windows;
  double result = 0;
  for (Index i = 0; i < a.row_windows; ++i) {
    uint8_t* const d = origin - i;
    for (Index j = 0; j < (i > 0 ? 1 : a.column_windows); ++j) {
      Index differing = 0;
      for (Index l = 0; l < a.span; ++l) differing += a.row[i + l] != a.column[j + l];
      d[j] = uint8_t(differing);
    }
    for (Index start = 0; start < a.column_windows; start += exact) {
      const Index stop = start + exact < a.column_windows ? start + exact : a.column_windows;
      int64_t sum = 0;
      for (Index j = start; j < stop; ++j) sum += d[j] < difference_values ? a.values[d[j]] : 0;
      result += double(sum);
    }
    if (i + 1 == a.row_windows) break;
    const uint8_t leaving = a.row[i], coming = a.row[i + a.span];
    const uint8_t *left = a.column, *right = a.column + a.span;
    for (Index j = 0; j < a.column_windows; ++j) d[j] = uint8_t(d[j] + (left[j] == leaving) - (right[j] == coming));
  }
  return result;
}

#endif

}  // namespace

#define MERCER_JOIN_(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_(a, b)

double MERCER_JOIN(compare_windows_, MERCER_ISA)(const DiagonalArguments& a) {
#if defined(__AVX2__)
  switch (a.plane_count) {
    case 1: return compare_windows<1>(a);
    case 2: return compare_windows<2>(a);
    case 3: return compare_windows<3>(a);
    default: return compare_windows<6>(a);
  }
#else
  return compare_windows(a);
#endif
}

}  // namespace mercer
