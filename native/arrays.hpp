// Checking of what Python hands over.  Arrays are never converted or copied silently: what is not as
// expected is refused with a message that says what was given.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "kernels.hpp"

namespace mercer {

namespace nb = nanobind;
typedef nb::ndarray<nb::ro> Input;
typedef nb::ndarray<> Output;

inline std::string name_of_type(nb::handle h) { return nb::cast<std::string>(h.type().attr("__name__")); }

inline nb::builtin_exception wrong_type(const std::string& message) { return nb::type_error(message.c_str()); }
inline nb::builtin_exception wrong_value(const std::string& message) { return nb::value_error(message.c_str()); }

template <class A>
std::string dtype_name(const A& a) {
  const nb::dlpack::dtype t = a.dtype();
  const char* kind = t.code == uint8_t(nb::dlpack::dtype_code::Float)  ? "float"
                     : t.code == uint8_t(nb::dlpack::dtype_code::Int)  ? "int"
                     : t.code == uint8_t(nb::dlpack::dtype_code::UInt) ? "uint"
                     : t.code == uint8_t(nb::dlpack::dtype_code::Bool) ? "bool"
                                                                       : "other";
  return kind + std::to_string(int(t.bits));
}

template <class A>
std::string shape_text(const A& a) {
  std::string text = "(";
  for (size_t i = 0; i < a.ndim(); ++i) text += (i ? ", " : "") + std::to_string(a.shape(i));
  return text + (a.ndim() == 1 ? ",)" : ")");
}

template <class A>
bool contiguous(const A& a) {
  if (a.size() == 0) return true;
  int64_t expected = 1;
  for (size_t i = a.ndim(); i-- > 0;) {
    if (a.shape(i) > 1 && a.stride(i) != expected) return false;
    expected *= int64_t(a.shape(i));
  }
  return true;
}

// An array of the given number of dimensions and type name ("" for either floating-point type), whose numbers lie anywhere.
template <class A>
A checked_view(nb::handle h, const std::string& name, size_t dimensions, const std::string& dtype) {
  A a;
  const bool writable = std::is_same_v<A, Output>;
  if (!nb::try_cast(h, a, false))
    throw wrong_type(name + " must be a " + (writable ? "writable " : "") + "NumPy array, got " +
                     (writable && nb::isinstance<Input>(h) ? "a read-only array" : name_of_type(h)));
  if (a.device_type() != nb::device::cpu::value) throw wrong_type(name + " must be in the memory of the CPU");
  const std::string given = dtype_name(a);
  if (dtype.empty() ? given != "float32" && given != "float64" : given != dtype)
    throw wrong_type(name + " must have dtype " + (dtype.empty() ? "float32 or float64" : dtype) + ", got " + given);
  if (a.ndim() != dimensions)
    throw wrong_value(name + " must have " + std::to_string(dimensions) + " dimension" + (dimensions == 1 ? "" : "s") +
                      ", got shape " + shape_text(a));
  if (a.size() && reinterpret_cast<std::uintptr_t>(a.data()) % (a.dtype().bits / 8))
    throw wrong_value(name + " must be aligned: its numbers start between those of the memory; np.require(" + name +
                      ", requirements='A') is a copy that does not");
  return a;
}

// The same, in one piece.
template <class A>
A checked_array(nb::handle h, const std::string& name, size_t dimensions, const std::string& dtype) {
  const A a = checked_view<A>(h, name, dimensions, dtype);
  if (!contiguous(a)) throw wrong_value(name + " must be C-contiguous");
  return a;
}

template <class A>
void expect_shape(const A& a, const std::string& name, std::initializer_list<int64_t> shape) {
  std::string expected = "(";
  size_t i = 0;
  bool same = a.ndim() == shape.size();
  for (int64_t extent : shape) {
    expected += (i ? ", " : "") + std::to_string(extent);
    same = same && int64_t(a.shape(i)) == extent;
    ++i;
  }
  expected += shape.size() == 1 ? ",)" : ")";
  if (!same) throw wrong_value(name + " must have shape " + expected + ", got " + shape_text(a));
}

// Row numbers, each of which must lie in [0, limit).
inline const int64_t* checked_index(const Input& index, int64_t limit) {
  const int64_t* row = static_cast<const int64_t*>(index.data());
  for (size_t i = 0; i < index.shape(0); ++i)
    if (row[i] < 0 || row[i] >= limit)
      throw wrong_value("rows must lie in 0.." + std::to_string(limit - 1) + ", got " + std::to_string(row[i]));
  return row;
}

// The numbers of an array of a type and a shape.
template <class A, class T>
auto* checked_data(nb::handle h, const char* name, const char* dtype, std::initializer_list<int64_t> shape) {
  const A a = checked_array<A>(h, name, shape.size(), dtype);
  expect_shape(a, name, shape);
  if constexpr (std::is_same_v<A, Output>) return static_cast<T*>(a.data());
  else return static_cast<const T*>(a.data());
}

// Whole numbers, each of which must lie in [0, limit).
inline const int64_t* checked_whole(nb::handle h, const char* name, int64_t n, int64_t limit) {
  const int64_t* values = checked_data<Input, int64_t>(h, name, "int64", {n});
  for (int64_t i = 0; i < n; ++i)
    if (values[i] < 0 || values[i] >= limit)
      throw wrong_value(std::string(name) + " must lie in 0.." + std::to_string(limit - 1) + ", got " +
                        std::to_string(values[i]));
  return values;
}

constexpr int most_threads = 1024;

inline void check_threads(int threads) {
  if (threads < 1 || threads > most_threads)
    throw wrong_value("threads must lie in 1.." + std::to_string(most_threads) + ", got " + std::to_string(threads));
}

inline const Isa& isa_named(const std::string& name) {
  std::string known;
  for (const Isa* const* isa = available_isas(); *isa; ++isa) {
    if (name.empty() || name == (*isa)->name) return **isa;
    known += (known.empty() ? "" : ", ") + std::string((*isa)->name);
  }
  throw wrong_value("instruction set '" + name + "' is not available here; available are " + known);
}

}  // namespace mercer
