// Positive numbers whose powers of two have no end, for values that doubles cannot hold.
#pragma once

#include <cmath>
#include <cstdint>

namespace mercer {

// part · 2^(512 power) with a part between 2^-256 and 2^256, or 0.
struct WideNumber {
  static constexpr double high = 0x1p256, low = 0x1p-256, step = 0x1p512, back = 0x1p-512;
  double part = 0;
  int64_t power = 0;

  WideNumber() = default;
  WideNumber(double value) : part(value) { settle(); }  // NOLINT: numbers are numbers

  double logarithm() const { return std::log(part) + 512.0 * std::log(2.0) * double(power); }

  WideNumber& operator*=(const WideNumber& other) {
    part *= other.part;
    power += other.power;
    settle();
    return *this;
  }

  WideNumber& operator+=(const WideNumber& other) {
    if (part == 0 || other.power > power + 1) return *this = other.part == 0 ? *this : other;
    if (other.part == 0 || power > other.power + 1) return *this;
    if (other.power > power)
      part = part * back + other.part, power = other.power;
    else
      part += power > other.power ? other.part * back : other.part;
    settle();
    return *this;
  }

 private:
  // Twice, because a double may be further off than one step.
  void settle() {
    for (int i = 0; i < 2; ++i) {
      if (part >= high) part *= back, ++power;
      if (part < low && part > 0) part *= step, --power;
    }
  }
};

inline WideNumber operator*(WideNumber a, const WideNumber& b) { return a *= b; }
inline WideNumber operator+(WideNumber a, const WideNumber& b) { return a += b; }

// What is written down of a value: itself, or the logarithm of a wide one.
inline double written(double value) { return value; }
inline double written(const WideNumber& value) { return value.logarithm(); }

}  // namespace mercer
