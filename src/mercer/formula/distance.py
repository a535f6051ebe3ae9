"""Squared distances in feature space, derived from a kernel's formula.

k(x, x) + k(z, z) − 2 k(x, z) cancels when x is close to z, or when both are far from 0.  Every node of a formula
therefore gives, besides its values at (x, x), (z, z) and (x, z), the two differences that a node above it needs:

    apart = a + b − 2c    and    rise = a − b    for a, b, c = the values at (x, x), (z, z), (x, z).

Statistics form them from differences of points; identities carry them through sums, products, powers, exponentials and
the other operations, without ever subtracting values that are nearly equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from .data import pick
from .expression import VALUES, Call, Const, Diagonal, Expression, Param, Stat, inverse_norms, nodes, rebuild

if TYPE_CHECKING:
    from .evaluation import Evaluation

Array = Any  # an array that broadcasts to a tile, or a number


@dataclass(frozen=True)
class PairValues:
    """Values of a node at (x, x), (z, z) and (x, z), and the differences between them, over a tile."""

    a: Array
    b: Array
    c: Array
    apart: Array
    rise: Array

    @property
    def vanishes(self) -> bool:
        """Whether the node is 0 wherever both points are the same, as distances are."""
        return not np.any(self.a) and not np.any(self.b)


class Distances:
    """k(x, x) + k(z, z) − 2 k(x, z) for the formula of an evaluation, any tile of them."""

    def __init__(self, evaluation: Evaluation) -> None:
        # Over statistics that keep the digits of points close to each other.
        def use_direct(node: Expression) -> Expression:
            return Stat(node.statistic.direct()) if isinstance(node, Stat) else node

        self._values = evaluation.of(rebuild(evaluation.expression, use_direct))
        self._order = list(nodes(self._values.expression))

    def tile(self, rows: Any, columns: slice) -> np.ndarray:
        """Return one tile; ``rows`` is a slice or an array of positions."""
        known: dict[Expression, PairValues] = {}
        with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
            readers = Counter(part for node in self._order for part in _read_by(node))
            for node in self._order:
                known[node] = self._measure(node, known, rows, columns)
                for part in _read_by(node):
                    readers[part] -= 1
                    if not readers[part]:
                        known.pop(part, None)
        n, m = self._values.shape
        count, width = len(np.arange(n)[rows]), len(np.arange(m)[columns])
        return np.broadcast_to(known[self._order[-1]].apart, (count, width))

    def _measure(self, node: Expression, known: dict[Expression, PairValues], rows: Any, columns: slice) -> PairValues:
        if not isinstance(node, Stat):
            return _compose(node, known)
        A, B = self._values.prepare(node.statistic)
        A, B, stat = A[rows] if isinstance(rows, slice) else pick(A, rows), B[columns], node.statistic
        left, right = stat.diag(A)[:, None], stat.diag(B)[None, :]
        return PairValues(left, right, stat.block(A, B), stat.apart(A, B), stat.rise(A, B))


def _read_by(node: Expression) -> list[Expression]:
    """Return the nodes that the identities of a node look at: those inside it, down to the third level."""
    found, level = [], [node]
    for _ in range(3):
        level = [inner for part in level for inner in part.children]
        found += level
    return found


def _compose(node: Expression, known: dict[Expression, PairValues]) -> PairValues:
    if isinstance(node, Const | Param):
        return PairValues(node.value, node.value, node.value, 0.0, 0.0)
    if isinstance(node, Diagonal):
        inner = known[node.inner]
        if node.side == "left":
            return PairValues(inner.a, inner.b, inner.a, -inner.rise, inner.rise)
        return PairValues(inner.a, inner.b, inner.b, inner.rise, inner.rise)
    assert isinstance(node, Call)
    args = [known[arg] for arg in node.args]
    if node.op == "mul":
        return _normalize(node, known) or _fall_as_matern(node, known) or _multiply(*args)
    if node.op == "add":
        f, g = args
        return PairValues(f.a + g.a, f.b + g.b, f.c + g.c, f.apart + g.apart, f.rise + g.rise)
    rule = _RULES.get(node.op)
    a, b, c = (VALUES[node.op](np.asarray(value), *node.constants) for value in (args[0].a, args[0].b, args[0].c))
    if rule is None:
        return _subtract(a, b, c)
    apart, rise = (np.asarray(found) for found in rule(args[0], a, b, c, *node.constants))
    plain = _subtract(a, b, c)  # where a rule divides by 0
    apart = np.where(np.isfinite(apart), apart, plain.apart)
    return PairValues(a, b, c, apart, np.where(np.isfinite(rise), rise, plain.rise))


def _subtract(a: Array, b: Array, c: Array) -> PairValues:
    return PairValues(a, b, c, a + b - 2.0 * c, a - b)


def _multiply(f: PairValues, g: PairValues) -> PairValues:
    apart = 0.5 * (f.rise * g.rise + (f.a + f.b) * g.apart) + g.c * f.apart
    rise = 0.5 * (f.rise * (g.a + g.b) + (f.a + f.b) * g.rise)
    return PairValues(f.a * g.a, f.b * g.b, f.c * g.c, apart, rise)


def _power(f: PairValues, exponent: float) -> PairValues:
    """Return a whole power, by squares."""
    result, square, left = None, f, int(exponent)
    while left:
        if left % 2:
            result = square if result is None else _multiply(result, square)
        left //= 2
        square = _multiply(square, square) if left else square
    assert result is not None
    return result


def _normalize(node: Call, known: dict[Expression, PairValues]) -> PairValues | None:
    """Divided by √(k(x, x) k(z, z)), features are (apart − (√a − √b)²) / √(ab) apart."""
    inner, factor = node.args
    if not (isinstance(factor, Call) and factor.op == "mul") or factor != inverse_norms(inner):
        return None
    k = known[inner]
    left, right = np.sqrt(np.maximum(k.a, 0.0)), np.sqrt(np.maximum(k.b, 0.0))
    size = left * right
    gap = _divide(k.rise, left + right)
    one, other = (left > 0) * 1.0, (right > 0) * 1.0
    apart = np.where(size > 0, _divide(k.apart - gap * gap, size), one + other)
    return PairValues(one, other, _divide(k.c, size), apart, one - other)


def _fall_as_matern(node: Call, known: dict[Expression, PairValues]) -> PairValues | None:
    """(1 + r + t) e^(−r) of distances r and t falls by P(2, r) − t e^(−r), with the incomplete gamma function P."""
    factor, decay = node.args
    if not (isinstance(decay, Call) and decay.op == "exp" and isinstance(factor, Call) and factor.op == "add"):
        return None
    exponent = decay.args[0]
    if not (isinstance(exponent, Call) and exponent.op == "mul" and exponent.args[0] == Const(-1.0)):
        return None
    r = exponent.args[1]
    rest: Expression | None = None
    if factor != 1.0 + r:
        factor, rest = factor.args
    if factor != 1.0 + r or not all(known[part].vanishes for part in (r, rest) if part is not None):
        return None
    distance, values = known[r], known[decay].c
    t = 0.0 if rest is None else known[rest].c
    fall = special.gammainc(2.0, distance.c) - t * values
    return PairValues(distance.a + 1.0, distance.b + 1.0, (1.0 + distance.c + t) * values, 2.0 * fall, 0.0)


def _divide(a: Array, b: Array) -> np.ndarray:
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def _apart_of_exp(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """2e^m (cosh(rise/2) − e^(−apart/2)) with m the mean of f at both points, in terms that are not negative."""
    top = np.maximum(a, b)
    half = np.expm1(-0.5 * np.abs(f.rise))
    apart = top * half * half - 2.0 * np.exp(0.5 * (f.a + f.b)) * np.expm1(-0.5 * f.apart)
    return apart, -np.sign(f.rise) * top * np.expm1(-np.abs(f.rise))


def _steps(f: PairValues) -> tuple[Array, Array]:
    """Return a − c and b − c."""
    return 0.5 * (f.apart + f.rise), 0.5 * (f.apart - f.rise)


def _apart_of_sqrt(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    p, q = _steps(f)
    apart, rise = _divide(p, a + c) + _divide(q, b + c), _divide(f.rise, a + b)
    if np.all(f.c >= 0) and np.all(f.a >= 0) and np.all(f.b >= 0):
        return apart, rise
    there = (f.a >= 0) & (f.b >= 0) & (f.c >= 0)  # elsewhere a root stands for 0, and nothing cancels
    return np.where(there, apart, a + b - 2.0 * c), np.where(there, rise, a - b)


def _apart_of_recip(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    there = (a != 0) & (b != 0) & (c != 0)  # elsewhere 1/0 stands for 0, and nothing cancels
    apart = -0.5 * (f.apart * (f.a + f.b) - f.rise * f.rise) * a * b * c
    return np.where(there, apart, a + b - 2.0 * c), np.where(there, -f.rise * a * b, a - b)


def _apart_of_log1p(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    if f.vanishes:
        return -2.0 * c, 0.0
    p, q = _steps(f)
    return np.log1p(p / (1.0 + f.c)) + np.log1p(q / (1.0 + f.c)), np.log1p(f.rise / (1.0 + f.b))


def _apart_of_log(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    p, q = _steps(f)
    return np.log1p(p / f.c) + np.log1p(q / f.c), np.log1p(f.rise / f.b)


def _apart_of_tanh(f: PairValues, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    p, q = _steps(f)
    return np.tanh(p) * (1.0 - a * c) + np.tanh(q) * (1.0 - b * c), np.tanh(f.rise) * (1.0 - a * b)


def _apart_of_pow(f: PairValues, a: Array, b: Array, c: Array, exponent: float) -> tuple[Array, Array]:
    p, q = _steps(f)
    apart = c * (np.expm1(exponent * np.log1p(p / f.c)) + np.expm1(exponent * np.log1p(q / f.c)))
    return apart, b * np.expm1(exponent * np.log1p(f.rise / f.b))


def _apart_of_powi(f: PairValues, a: Array, b: Array, c: Array, exponent: float) -> tuple[Array, Array]:
    found = _power(f, exponent)
    return found.apart, found.rise


def _apart_of_bessel(f: PairValues, a: Array, b: Array, c: Array, exponent: float, order: float) -> tuple[Array, Array]:
    from .bessel import matern_fall

    if not f.vanishes or order != exponent:
        return a + b - 2.0 * c, a - b
    return 2.0 * matern_fall(np.asarray(f.c), exponent), 0.0


_RULES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "exp": _apart_of_exp,
    "log": _apart_of_log,
    "log1p": _apart_of_log1p,
    "sqrt": _apart_of_sqrt,
    "recip": _apart_of_recip,
    "tanh": _apart_of_tanh,
    "pow": _apart_of_pow,
    "powi": _apart_of_powi,
    "bessel": _apart_of_bessel,
}
