// Stored matrices in the order that tiles read them in.
#pragma once

#include <algorithm>

#include "buffer.hpp"

namespace mercer {

// Entries (k, i) at data[k * along + i * across] for k < depth and i < count, in panels [i / wide][k][i % wide], with zeros
// beyond the count.  Panels have room for `step` rows.
template <class T>
void pack_panels(const T* data, Index along, Index across, Index depth, Index count, Index wide, Index step, T* to) {
  constexpr Index together = 64;  // of what lies side by side in a column
  for (Index k = 0; k < depth; k += together)
    for (Index first = 0; first < count; first += wide) {
      const Index stop = std::min(depth, k + together), columns = std::min(wide, count - first);
      T* const panel = to + first * step;
      if (across == 1) {
        for (Index l = k; l < stop; ++l)
          std::memcpy(panel + l * wide, data + l * along + first, std::size_t(columns) * sizeof(T));
      } else {
        for (Index i = 0; i < columns; ++i)
          for (Index l = k; l < stop; ++l) panel[l * wide + i] = data[l * along + (first + i) * across];
      }
      if (columns == wide) continue;
      for (Index l = k; l < stop; ++l) std::fill(panel + l * wide + columns, panel + (l + 1) * wide, T(0));
    }
}

}  // namespace mercer
