"""Kernels without rounding: in fractions where a formula is rational, and in intervals of decimals elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from mercer.formula.data import Rows, length
from mercer.formula.expression import Call, Const, Diagonal, Expression, Param, Stat, nodes
from mercer.formula.statistics import AbsoluteDistance, Dot, SquaredDistance, UnitDot
from mercer.kernels.categorical import Match
from mercer.kernels.histogram import ChiSquare, MinimumSum

from .clock import UNHURRIED, Clock
from .interval import OPERATIONS, Interval

MOST_BITS = 100_000  # of a fraction; beyond that decimals will do
T = TypeVar("T")
Measured = Callable[[Stat], tuple[np.ndarray, np.ndarray]]


def exact_gram(formula: Expression, points: Rows, clock: Clock = UNHURRIED) -> list[list[Fraction]] | None:
    """Return the matrix of a formula over all pairs of points as fractions, or None if it is not rational.

    Every float is a fraction, so nothing is rounded at all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> exact_gram(((Linear() - 1) ** 2).traced(), np.array([[0.5]]))
    [[Fraction(9, 16)]]
    """
    return _gram(formula, points, lambda value: value, _FRACTIONS, clock)


def enclosed_gram(
    formula: Expression, points: Rows, clock: Clock = UNHURRIED, measured: Measured | None = None
) -> list[list[Interval]] | None:
    """Return intervals that contain the values of a formula over all pairs of points, or None if it is not known.

    Parameters
    ----------
    formula : Expression
        The formula.
    points : collection
        The points.
    clock : Clock
        The time limit.
    measured : callable, optional
        Gives values of a statistic, and how far off they may be, where no exact ones are known; without it those
        formulas have no enclosure.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> K = enclosed_gram(Gaussian().traced(), np.array([[0.0], [1.0]]))
    >>> float(K[0][1].low), bool(K[0][1].high - K[0][1].low < 1e-55)
    (0.6065306597126334, True)
    """
    operations = OPERATIONS if measured is not None else {op: f for op, f in OPERATIONS.items() if op != "bessel"}
    return _gram(formula, points, Interval.of, operations, clock, measured)


def _gram(
    formula: Expression,
    points: Rows,
    lift: Callable[[Fraction], T],
    operations: dict[str, Callable[..., T]],
    clock: Clock,
    measured: Measured | None = None,
) -> list[list[T]] | None:
    slots: dict[Expression, int] = {}
    steps: list[Callable[[list[T], int, int], T]] = []  # the value of each node from those before it
    own: list[list[T]] = []  # the values of all nodes at (x, x)
    for node in nodes(formula):
        step = _step(node, points, slots, own, lift, operations, clock)
        if step is None and measured is not None and isinstance(node, Stat):
            step = _measured_step(*measured(node))
        if step is None:
            return None
        slots[node] = len(steps)
        steps.append(step)

    def evaluate(i: int, j: int) -> list[T]:
        clock.check()
        values: list[T] = []
        for step in steps:
            values.append(step(values, i, j))
        return values

    n = length(points)
    try:
        for i in range(n):
            own.append(evaluate(i, i))
        rows = [[evaluate(i, j)[-1] for j in range(i + 1, n)] for i in range(n)]
    except _TooLongError:
        return None
    return [[own[i][-1] if i == j else rows[min(i, j)][abs(i - j) - 1] for j in range(n)] for i in range(n)]


def _step(
    node: Expression,
    points: Rows,
    slots: dict[Expression, int],
    own: list[list[T]],
    lift: Callable[[Fraction], T],
    operations: dict[str, Callable[..., T]],
    clock: Clock,
) -> Callable[[list[T], int, int], T] | None:
    """Return how the value of a node at the points i and j follows from those of the nodes before it."""
    if isinstance(node, Stat):
        cosine = type(node.statistic) is UnitDot
        known = Dot(node.statistic.view, node.statistic.owner) if cosine else node.statistic
        if cosine and "sqrt" not in operations:
            return None
        try:
            statistic = _statistic(known, points, clock)
        except (TypeError, ValueError):
            return None  # not numbers in a plain array, such as a sparse matrix
        if statistic is None:
            return None
        if not cosine:
            return lambda values, i, j: lift(statistic(i, j))

        def angle(values: list[T], i: int, j: int) -> T:
            if i == j:
                return lift(Fraction(int(statistic(i, i) > 0)))
            norms = operations["sqrt"](lift(statistic(i, i) * statistic(j, j)))
            return operations["mul"](lift(statistic(i, j)), operations["recip"](norms))

        return angle
    if isinstance(node, Diagonal):
        slot, left = slots[node.inner], node.side == "left"
        return lambda values, i, j: values[slot] if i == j else own[i if left else j][slot]
    if isinstance(node, Call):
        operation, args, constants = operations.get(node.op), [slots[arg] for arg in node.args], node.constants
        return None if operation is None else lambda values, i, j: operation(*(values[a] for a in args), *constants)
    if isinstance(node, Const | Param):
        value = lift(Fraction(node.value))
        return lambda values, i, j: value
    return None


def _measured_step(K: np.ndarray, errors: np.ndarray) -> Callable[[Any, int, int], Any]:
    return lambda values, i, j: Interval.around(float(K[i, j]), float(errors[i, j]))


def _statistic(statistic: Any, points: Rows, clock: Clock) -> Callable[[int, int], Fraction] | None:
    """Return the exact value of a statistic for any two of the points, or None if it is not rational."""
    form = _RATIONAL.get(type(statistic))
    if form is None or getattr(statistic, "column", None) is not None:
        return None
    images = statistic.view.apply(points)
    if type(statistic) is Match and np.asarray(images).dtype.kind != "f":
        return None  # whole numbers that floats do not tell apart are different categories
    images = np.asarray(images, dtype=float)
    if images.ndim != 2 or not np.isfinite(images).all():
        return None
    power = _DEGREE[type(statistic)]
    scale = [Fraction(float(param.value)) ** power for param in getattr(statistic, "scale", ())]
    if scale and len(scale) != images.shape[1]:
        return None
    if type(statistic) is not Match:  # coordinates at which all points are 0 add nothing
        used = np.flatnonzero(images.any(axis=0))
        images, scale = images[:, used], [scale[d] for d in used] if scale else []
    whole, common = _whole_numbers(images, clock)
    if scale:
        return lambda i, j: sum(
            (Fraction(form(a, b), common**power) / s for a, b, s in zip(whole[i], whole[j], scale, strict=True)),
            Fraction(0),
        )
    if type(statistic) is ChiSquare:
        return lambda i, j: sum((_chi(a, b) for a, b in zip(whole[i], whole[j], strict=True)), Fraction(0)) / common
    return lambda i, j: Fraction(sum(map(form, whole[i], whole[j])), common**power)


def _whole_numbers(images: np.ndarray, clock: Clock) -> tuple[list[list[int]], int]:
    """Return rows of floats as whole numbers, and the power of two to divide them by."""
    ratios = []
    for row in images:
        clock.check()
        ratios.append([x.as_integer_ratio() for x in row.tolist()])
    common = max((below for row in ratios for _, below in row), default=1)  # all are powers of two
    return [[above * (common // below) for above, below in row] for row in ratios], common


def _chi(a: int, b: int) -> Fraction:
    return Fraction((a - b) ** 2, a + b) if a + b > 0 else Fraction(0)


_RATIONAL: dict[type, Callable[[int, int], Any]] = {
    Dot: lambda a, b: a * b,
    SquaredDistance: lambda a, b: (a - b) ** 2,
    AbsoluteDistance: lambda a, b: abs(a - b),
    MinimumSum: min,
    ChiSquare: _chi,
    Match: lambda a, b: int(a == b),
}
_DEGREE = {Dot: 2, SquaredDistance: 2, AbsoluteDistance: 1, MinimumSum: 1, ChiSquare: 1, Match: 0}


class _TooLongError(ArithmeticError):
    """A fraction has more digits than anyone wants to wait for."""


def _power(value: Fraction, exponent: float) -> Fraction:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits * exponent > MOST_BITS:
        raise _TooLongError
    return value ** int(exponent)


_FRACTIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "powi": _power,
    "recip": lambda a: 1 / a if a else Fraction(0),  # as kernels define it
}
