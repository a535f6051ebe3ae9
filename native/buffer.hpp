// Aligned memory for packed data and scratch: zeroed, movable, freed on scope exit.
#pragma once

#include <cstring>
#include <new>
#include <utility>

#include "kernels.hpp"

namespace mercer {

inline Index divide_up(Index x, Index by) { return (x + by - 1) / by; }
inline Index round_up(Index x, Index to) { return divide_up(x, to) * to; }

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Index count)
      : data_(static_cast<T*>(::operator new(bytes(count), std::align_val_t(alignment)))) {
    std::memset(static_cast<void*>(data_), 0, bytes(count));
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() {
    if (data_) ::operator delete(data_, std::align_val_t(alignment));
  }
  T* get() { return data_; }
  const T* get() const { return data_; }
  static std::size_t bytes(Index count) { return std::size_t(round_up(count * Index(sizeof(T)) + 1, alignment)); }

 private:
  T* data_ = nullptr;
};

}  // namespace mercer
