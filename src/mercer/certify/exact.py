"""Kernels without rounding: in fractions where a formula is rational, and in intervals of decimals elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from mercer.formula.data import Rows, length
from mercer.formula.expression import Call, Const, Diagonal, Expression, Param, Stat, nodes
from mercer.formula.normalization import UnitDot
from mercer.formula.statistics import AbsoluteDistance, Dot, SquaredDistance
from mercer.kernels.categorical import Match
from mercer.kernels.fingerprints.statistics import Common, CommonCounts, Emptiness, Width
from mercer.kernels.histogram import ChiSquare, MinimumSum

from .clock import UNHURRIED, ProofClock
from .interval import OPERATIONS, Interval

MOST_BITS = 100_000  # of a fraction; beyond that decimals will do
T = TypeVar("T")
Measure = Callable[[Stat], tuple[np.ndarray, np.ndarray]]  # values of a statistic, and how far off they may be


def compute_exact_gram(formula: Expression, points: Rows, clock: ProofClock = UNHURRIED) -> list[list[Fraction]] | None:
    """Return the matrix of a formula over all pairs of points as fractions, or None if it is not rational.

    Every float is a fraction, so nothing is rounded at all.
    """
    return _Arithmetic(points, clock, lambda value: value, _FRACTIONS).compute_gram(formula)


def enclose_gram(
    formula: Expression, points: Rows, clock: ProofClock = UNHURRIED, measure: Measure | None = None
) -> list[list[Interval]] | None:
    """Return intervals that contain the values of a formula over all pairs of points, or None if it is not known.

    ``measure`` is asked for statistics of which no exact values are known; without it their formulas have no enclosure.
    """
    operations = OPERATIONS if measure is not None else {op: f for op, f in OPERATIONS.items() if op != "bessel"}
    return _Arithmetic(points, clock, Interval.of, operations, measure).compute_gram(formula)


@dataclass
class _Arithmetic(Generic[T]):
    """The formula of a kernel in fractions or intervals: each node is a function of those before it, pair by pair."""

    points: Rows
    clock: ProofClock
    lift: Callable[[Fraction], T]
    operations: dict[str, Callable[..., T]]
    measure: Measure | None = None
    slots: dict[Expression, int] = field(default_factory=dict)
    own: list[list[T]] = field(default_factory=list)  # the values of all nodes at (x, x)

    def compute_gram(self, formula: Expression) -> list[list[T]] | None:
        steps: list[Callable[[list[T], int, int], T]] = []
        for node in nodes(formula):
            step = self._find_step(node)
            if step is None:
                return None
            self.slots[node] = len(steps)
            steps.append(step)

        def evaluate(i: int, j: int) -> list[T]:
            self.clock.check()
            values: list[T] = []
            for step in steps:
                values.append(step(values, i, j))
            return values

        n = length(self.points)
        try:
            for i in range(n):
                self.own.append(evaluate(i, i))
            rows = [[evaluate(i, j)[-1] for j in range(i + 1, n)] for i in range(n)]
        except _TooLongError:
            return None
        return [[self.own[i][-1] if i == j else rows[min(i, j)][abs(i - j) - 1] for j in range(n)] for i in range(n)]

    def _find_step(self, node: Expression) -> Callable[[list[T], int, int], T] | None:
        """Return how the value of a node at the points i and j follows from those of the nodes before it."""
        if isinstance(node, Stat):
            return self._find_statistic_step(node)
        if isinstance(node, Diagonal):
            slot, left = self.slots[node.inner], node.side == "left"
            return lambda values, i, j: values[slot] if i == j else self.own[i if left else j][slot]
        if isinstance(node, Call) and node.op in self.operations:
            operation, args, constants = self.operations[node.op], [self.slots[a] for a in node.args], node.constants
            return lambda values, i, j: operation(*(values[a] for a in args), *constants)
        if isinstance(node, Const | Param):
            value = self.lift(Fraction(node.value))
            return lambda values, i, j: value
        return None

    def _find_statistic_step(self, node: Stat) -> Callable[[list[T], int, int], T] | None:
        cosine = type(node.statistic) is UnitDot
        known = Dot(node.statistic.view, node.statistic.owner) if cosine else node.statistic
        statistic = None
        if not cosine or "sqrt" in self.operations:
            with suppress(TypeError, ValueError):  # not numbers in a plain array, such as a sparse matrix
                statistic = _compute_statistic(known, self.points, self.clock)
        if statistic is None:
            if self.measure is None:
                return None
            K, errors = self.measure(node)
            around: Any = Interval.around  # only intervals are measured
            return lambda values, i, j: around(float(K[i, j]), float(errors[i, j]))
        if not cosine:
            return lambda values, i, j: self.lift(statistic(i, j))

        def compute_cosine(values: list[T], i: int, j: int) -> T:
            if i == j:
                return self.lift(Fraction(int(statistic(i, i) > 0)))
            norms = self.operations["sqrt"](self.lift(statistic(i, i) * statistic(j, j)))
            return self.operations["mul"](self.lift(statistic(i, j)), self.operations["recip"](norms))

        return compute_cosine


def _compute_statistic(statistic: Any, points: Rows, clock: ProofClock) -> Callable[[int, int], Fraction] | None:
    """Return the exact value of a statistic for any two of the points, or None if it is not rational."""
    if type(statistic) in _OF_ROWS:
        rows, of_rows = np.asarray(statistic.view.apply(points), dtype=float), _OF_ROWS[type(statistic)]
        return (lambda i, j: Fraction(of_rows(statistic, rows[i], rows[j]))) if rows.ndim == 2 else None
    if type(statistic) not in _RATIONAL or getattr(statistic, "column", None) is not None:
        return None
    power, form = _RATIONAL[type(statistic)]
    images = statistic.view.apply(points)
    if type(statistic) is Match and np.asarray(images).dtype.kind != "f":
        return None  # whole numbers that floats do not tell apart are different categories
    images = np.asarray(images, dtype=float)
    if images.ndim != 2 or not np.isfinite(images).all():
        return None
    scale = [Fraction(float(param.value)) ** power for param in getattr(statistic, "scale", ())]
    if scale and len(scale) != images.shape[1]:
        return None
    if type(statistic) is not Match:  # coordinates at which all points are 0 add nothing
        used = np.flatnonzero(images.any(axis=0))
        images, scale = images[:, used], [scale[d] for d in used] if scale else []
    whole, common = to_whole_numbers(images, clock)
    if scale:
        return lambda i, j: sum(
            (Fraction(form(a, b), common**power) / s for a, b, s in zip(whole[i], whole[j], scale, strict=True)),
            Fraction(0),
        )
    return lambda i, j: Fraction(sum(map(form, whole[i], whole[j]))) / common**power


def to_whole_numbers(images: np.ndarray, clock: ProofClock) -> tuple[list[list[int]], int]:
    """Return rows of floats as whole numbers, and the power of two to divide them by."""
    ratios = []
    for row in images:
        clock.check()
        ratios.append([x.as_integer_ratio() for x in row.tolist()])
    common = max((below for row in ratios for _, below in row), default=1)  # all are powers of two
    return [[above * (common // below) for above, below in row] for row in ratios], common


_RATIONAL: dict[type, tuple[int, Callable[[int, int], Any]]] = {  # the degree, and the term of each coordinate
    Dot: (2, lambda a, b: a * b),
    SquaredDistance: (2, lambda a, b: (a - b) ** 2),
    AbsoluteDistance: (1, lambda a, b: abs(a - b)),
    MinimumSum: (1, min),
    ChiSquare: (1, lambda a, b: Fraction((a - b) ** 2, a + b) if a + b > 0 else Fraction(0)),
    Match: (0, lambda a, b: int(a == b)),
    Common: (2, lambda a, b: a * b),
    CommonCounts: (1, min),
}
_OF_ROWS: dict[type, Callable[[Any, np.ndarray, np.ndarray], int]] = {  # of two whole rows
    Emptiness: lambda statistic, x, z: int((x == statistic.full).all() and (z == statistic.full).all()),
    Width: lambda statistic, x, z: len(x),
}


class _TooLongError(ArithmeticError):
    """A fraction has more digits than anyone wants to wait for."""


def _raise(value: Fraction, exponent: float) -> Fraction:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits * exponent > MOST_BITS:
        raise _TooLongError
    return value ** int(exponent)


_FRACTIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "powi": _raise,
    "recip": lambda a: 1 / a if a else Fraction(0),  # as kernels define it
}
