// Copying finished rows to memory past the caches.  A dense matrix is larger than any cache, and an
// ordinary store would first read the line it is about to overwrite.
#pragma once

#include "vec.hpp"

namespace mercer {
namespace {

template <class T>
MERCER_INLINE void stream_vector(T* to, const T* from) {
  Vec<T> v;
  memcpy(&v, from, sizeof v);
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#elif defined(MERCER_X86)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
#else
  memcpy(to, &v, sizeof v);
#endif
}

template <class T>
void stream(const T* from, T* to, Index count) {
  Index j = 0;
  for (; j < count && reinterpret_cast<uintptr_t>(to + j) % MERCER_VECTOR_BYTES; ++j) to[j] = from[j];
  for (; j + width<T> <= count; j += width<T>) stream_vector(to + j, from + j);
  for (; j < count; ++j) to[j] = from[j];
}

}  // namespace
}  // namespace mercer
