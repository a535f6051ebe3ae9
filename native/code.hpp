// Reading a program from a list of tuples (op, dst, a, b, c0, c1), refusing what would read a register
// before it is written or a factor that is not there.
#pragma once

#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace mercer {

inline Kind kind_named(const std::string& name) {
  static constexpr struct { const char* name; Kind kind; } kinds[] = {
      {"dot", Kind::dot}, {"sqdist", Kind::sqdist}, {"absdist", Kind::absdist},
      {"powdist", Kind::powdist}, {"chi2", Kind::chi2}, {"min", Kind::min}, {"match", Kind::match},
      {"bits", Kind::bits}};
  std::string known;
  for (const auto& k : kinds) {
    if (name == k.name) return k.kind;
    known += (known.empty() ? "" : ", ") + std::string(k.name);
  }
  throw wrong_value("unknown statistic '" + name + "'; known are " + known);
}

inline Op op_named(const std::string& name) {
  static constexpr struct { const char* name; Op op; } ops[] = {
      {"affine", Op::affine}, {"add", Op::add}, {"mul", Op::mul}, {"exp", Op::exp}, {"log", Op::log},
      {"log1p", Op::log1p}, {"sqrt", Op::sqrt}, {"tanh", Op::tanh}, {"recip", Op::recip}, {"powi", Op::powi}, {"pow", Op::pow},
      {"left", Op::left}, {"right", Op::right}};
  std::string known;
  for (const auto& o : ops) {
    if (name == o.name) return o.op;
    known += (known.empty() ? "" : ", ") + std::string(o.name);
  }
  throw wrong_value("unknown operation '" + name + "'; known are " + known);
}

inline std::vector<Instruction> read_code(nb::list list, int statistics, size_t lefts, size_t rights) {
  std::vector<Instruction> code;
  bool written[max_registers] = {};
  for (int q = 0; q < statistics; ++q) written[q] = true;
  for (nb::handle item : list) {
    const std::string at = "code[" + std::to_string(code.size()) + "]";
    nb::tuple t;
    std::string name;
    Instruction in{};
    if (!nb::try_cast(item, t, false) || t.size() != 6 || !nb::try_cast(t[0], name) || !nb::try_cast(t[1], in.dst) ||
        !nb::try_cast(t[2], in.a) || !nb::try_cast(t[3], in.b) || !nb::try_cast(t[4], in.c0) ||
        !nb::try_cast(t[5], in.c1))
      throw wrong_type(at + " must be a tuple (op: str, dst: int, a: int, b: int, c0: float, c1: float), got " +
                       nb::cast<std::string>(nb::repr(item)));
    in.op = op_named(name);
    const auto readable = [&](int q, const char* which) {
      if (q < 0 || q >= max_registers || !written[q])
        throw wrong_value(at + " ('" + name + "') reads register " + std::to_string(q) + " as " + which +
                          ", which holds nothing yet");
    };
    const auto factor = [&](const char* side, size_t count) {
      if (in.a < 0 || size_t(in.a) >= count)
        throw wrong_value(at + " uses " + side + "[" + std::to_string(in.a) + "], but there are " +
                          std::to_string(count) + " " + side + " factors");
    };
    if (in.op == Op::left) factor("left", lefts);
    else if (in.op == Op::right) factor("right", rights);
    else readable(in.a, "a");
    if (in.op == Op::add || in.op == Op::mul) readable(in.b, "b");
    if (in.op == Op::powi && !(in.c0 >= 1 && in.c0 <= 1e9 && in.c0 == std::floor(in.c0)))
      throw wrong_value(at + ": 'powi' needs an integer exponent c0 of at least 1, got " + std::to_string(in.c0));
    if (in.dst < 0 || in.dst >= max_registers)
      throw wrong_value(at + " writes register " + std::to_string(in.dst) + "; registers are 0 to " +
                        std::to_string(max_registers - 1));
    written[in.dst] = true;
    code.push_back(in);
  }
  return code;
}

}  // namespace mercer
