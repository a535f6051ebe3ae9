// A vector as a plain array with loops, for compilers without the GNU vector extension (MSVC).  Slow but
// complete: the same operators, with comparisons giving all-ones or zero in each lane.
#pragma once

#include "kernels.hpp"

namespace mercer {
namespace {

template <class E, int N>
struct alignas(16) PlainVector {
  E lane[N];
  E operator[](unsigned i) const { return lane[i]; }
};

template <class E>
struct MaskLane;
template <> struct MaskLane<float> { typedef int32_t type; };
template <> struct MaskLane<int32_t> { typedef int32_t type; };
template <> struct MaskLane<double> { typedef int64_t type; };
template <> struct MaskLane<int64_t> { typedef int64_t type; };

#define MERCER_PLAIN_OPERATOR(op)                                                              \
  template <class E, int N>                                                                    \
  inline PlainVector<E, N> operator op(const PlainVector<E, N>& a, const PlainVector<E, N>& b) { \
    PlainVector<E, N> r;                                                                       \
    for (int i = 0; i < N; ++i) r.lane[i] = E(a.lane[i] op b.lane[i]);                         \
    return r;                                                                                  \
  }
MERCER_PLAIN_OPERATOR(+)
MERCER_PLAIN_OPERATOR(-)
MERCER_PLAIN_OPERATOR(*)
MERCER_PLAIN_OPERATOR(/)
MERCER_PLAIN_OPERATOR(&)
MERCER_PLAIN_OPERATOR(|)
#undef MERCER_PLAIN_OPERATOR

#define MERCER_PLAIN_COMPARISON(op)                                                            \
  template <class E, int N>                                                                    \
  inline PlainVector<typename MaskLane<E>::type, N> operator op(const PlainVector<E, N>& a,    \
                                                               const PlainVector<E, N>& b) {   \
    PlainVector<typename MaskLane<E>::type, N> r;                                              \
    for (int i = 0; i < N; ++i) r.lane[i] = a.lane[i] op b.lane[i] ? -1 : 0;                   \
    return r;                                                                                  \
  }
MERCER_PLAIN_COMPARISON(<)
MERCER_PLAIN_COMPARISON(>)
MERCER_PLAIN_COMPARISON(>=)
MERCER_PLAIN_COMPARISON(==)
MERCER_PLAIN_COMPARISON(!=)
#undef MERCER_PLAIN_COMPARISON

template <class E, int N>
inline PlainVector<E, N> operator-(E x, const PlainVector<E, N>& b) {
  PlainVector<E, N> r;
  for (int i = 0; i < N; ++i) r.lane[i] = x - b.lane[i];
  return r;
}
template <class E, int N>
inline PlainVector<E, N> operator~(const PlainVector<E, N>& a) {
  PlainVector<E, N> r;
  for (int i = 0; i < N; ++i) r.lane[i] = ~a.lane[i];
  return r;
}
template <class E, int N>
inline PlainVector<E, N> operator<<(const PlainVector<E, N>& a, int by) {
  PlainVector<E, N> r;
  for (int i = 0; i < N; ++i) r.lane[i] = E(uint64_t(a.lane[i]) << by);
  return r;
}
template <class E, int N>
inline PlainVector<E, N> operator>>(const PlainVector<E, N>& a, int by) {
  PlainVector<E, N> r;
  for (int i = 0; i < N; ++i) r.lane[i] = a.lane[i] >> by;
  return r;
}
template <class M, class E, int N>
inline PlainVector<E, N> choose(const PlainVector<M, N>& mask, const PlainVector<E, N>& yes,
                                const PlainVector<E, N>& no) {
  PlainVector<E, N> r;
  for (int i = 0; i < N; ++i) r.lane[i] = mask.lane[i] ? yes.lane[i] : no.lane[i];
  return r;
}

}  // namespace
}  // namespace mercer
