"""Values of a function or kernel on small sets of points, in float64 and again in better arithmetic.

A refutation must survive two doubts: the float64 values carry rounding errors of unknown size, and nobody may know how
they were computed.  Where the function allows it, the values are therefore computed again: in exact rational
arithmetic, in extended precision, or in intervals that contain them.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.formula.data import Rows, is_frame
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Call, Stat, nodes
from mercer.formula.statistics import BlockStatistic
from mercer.kernels.base import Kernel

from .clock import UNHURRIED, ProofClock
from .exact import compute_exact_gram, enclose_gram
from .interval import Interval

MODERATE = 3.0  # points of this size must have finite values; far out, overflow is not the function's fault
HAS_EXTENDED = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps / 4
ULPS = 4096  # of relative error that every value is granted
UNSEEN = 64 * 2.0**-23 / ULPS  # the rounding unit granted to a function that only works in float64


class OutOfRangeError(ArithmeticError):
    """The values overflow on these points, which says nothing about the function."""


class PointValues:
    """What the search needs to know of a function of two points; better arithmetic is None where there is none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epsilon = float(np.finfo(np.float64).eps)  # the rounding unit of the values
        self.clock: ProofClock = UNHURRIED  # asked before every value, or before every matrix of them

    def gram(self, points: Rows) -> np.ndarray:
        """Return k(xᵢ, xⱼ) for all ordered pairs."""
        raise NotImplementedError

    def symmetric_gram(self, points: Rows) -> np.ndarray:
        """Return k(xᵢ, xⱼ), computed for i ≤ j only where that is cheaper."""
        return self.gram(points)

    def exact(self, points: Rows) -> list[list[Fraction]] | None:
        """Return the values as fractions."""
        return None

    def extended(self, points: Rows) -> np.ndarray | None:
        """Return the values in extended precision."""
        return None

    def enclosed(self, points: Rows, rough: bool = False) -> list[list[Interval]] | None:
        """Return intervals that contain the values: surely, or (rough) if parts of them are computed well."""
        return None


class FunctionValues(PointValues):
    """Values of a Python function of two points that returns a number or an array of one, one pair at a time.

    With ``scalars`` it takes points with one feature as plain numbers.  With ``strict`` overflow is an error even far
    out, as it is on points the user chose.
    """

    def __init__(self, function: Callable[[Any, Any], Any], scalars: bool = False, strict: bool = False) -> None:
        name = getattr(function, "__name__", None) or type(function).__name__
        super().__init__("the function" if name == "<lambda>" else name)
        self.function = function
        self.scalars = scalars
        self.strict = strict

    def gram(self, points: Rows) -> np.ndarray:
        """Call the function for all ordered pairs."""
        objects = self._list_objects(points)
        return np.array([[self._compute(x, z) for z in objects] for x in objects])

    def symmetric_gram(self, points: Rows) -> np.ndarray:
        """Call the function for i ≤ j."""
        objects = self._list_objects(points)
        K = np.empty((len(objects), len(objects)))
        for i, x in enumerate(objects):
            for j in range(i, len(objects)):
                K[i, j] = K[j, i] = self._compute(x, objects[j])
        return K

    def exact(self, points: Rows) -> list[list[Fraction]] | None:
        """Give the function fractions, and see whether it returns fractions."""
        objects = self._list_objects(points)
        converted = [_convert(x, _to_fractions) for x in objects]
        rows = self._compute_again(converted, _is_exact)
        if rows is None:
            return None
        if any(new is not old for new, old in zip(converted, objects, strict=True)) and not any(
            isinstance(value, Fraction) for row in rows for value in row
        ):
            return None  # whole numbers may come from a comparison that was made in floating point
        return [[Fraction(value) for value in row] for row in rows]

    def extended(self, points: Rows) -> np.ndarray | None:
        """Give the function extended precision, and see whether it returns that."""
        if not HAS_EXTENDED:
            return None
        converted = [_convert(x, lambda a: np.asarray(a, dtype=np.longdouble)) for x in self._list_objects(points)]
        rows = self._compute_again(converted, lambda value: isinstance(value, np.longdouble))
        return None if rows is None else np.array(rows, dtype=np.longdouble)

    def _compute_again(self, objects: list[Any], accepts: Callable[[Any], bool]) -> list[list[Any]] | None:
        rows: list[list[Any]] = []
        for x in objects:
            rows.append([])
            for z in objects:
                self.clock.check()
                try:
                    value = _unwrap(self.function(x, z))
                except Exception:  # no promise was made that it works in other arithmetic
                    return None
                if not accepts(value):
                    return None
                rows[-1].append(value)
        return rows

    def _list_objects(self, points: Rows) -> list[Any]:
        if self.scalars:
            return [x[0] for x in points]
        return list(points.to_numpy() if is_frame(points) else points)

    def _compute(self, x: Any, z: Any) -> float:
        self.clock.check()
        try:
            returned = self.function(x, z)
        except Exception as error:
            if isinstance(error, OverflowError) and self._may_overflow(x, z):
                raise OutOfRangeError from error
            raise ValueError(
                f"certify: {self.name} raised {type(error).__name__}: {error} at x = {x!r}, z = {z!r}; it must return "
                "a number for every pair of points (choose the points with sample=[…], or their features with dim=)"
            ) from error
        value = _unwrap(returned)
        if isinstance(value, np.floating):
            self.epsilon = max(self.epsilon, float(np.finfo(value.dtype).eps))
        elif not isinstance(value, numbers.Real | np.bool_):
            what = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(returned)
            raise ValueError(f"certify: {self.name} must return a number, but gave {what} at x = {x!r}, z = {z!r}")
        value = float(value)
        if not np.isfinite(value):
            if self._may_overflow(x, z):
                raise OutOfRangeError
            raise ValueError(
                f"certify: {self.name} returned {value} at x = {x!r}, z = {z!r}; a kernel is finite everywhere "
                "(restrict the points with sample=[…] if it is meant for some points only)"
            )
        return value

    def _may_overflow(self, x: Any, z: Any) -> bool:
        return not self.strict and max(np.max(np.abs(x)), np.max(np.abs(z))) > MODERATE


class KernelValues(PointValues):
    """Values of a kernel, whole matrices at a time."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(repr(kernel))
        self.formula = kernel.traced()

    def gram(self, points: Rows) -> np.ndarray:
        """Evaluate the formula."""
        return self._evaluate(points, np.float64)

    def exact(self, points: Rows) -> list[list[Fraction]] | None:
        """Evaluate the formula in fractions, if it holds only rational operations."""
        return compute_exact_gram(self.formula, points, self.clock)

    def extended(self, points: Rows) -> np.ndarray | None:
        """Evaluate the formula in extended precision, unless a part of it is only known in float64."""
        only_double = any(
            (isinstance(node, Stat) and isinstance(node.statistic, BlockStatistic))
            or (isinstance(node, Call) and node.op == "bessel")
            for node in nodes(self.formula)
        )
        return None if only_double or not HAS_EXTENDED else self._evaluate(points, np.longdouble)

    def enclosed(self, points: Rows, rough: bool = False) -> list[list[Interval]] | None:
        """Evaluate the formula in intervals of decimals, with generous errors (rough) of what is not rational in it."""

        def measure(stat: Stat) -> tuple[np.ndarray, np.ndarray]:
            self.clock.check()
            K = np.asarray(Evaluation(stat, points, None, self.name).dense(), dtype=np.float64)
            unit = UNSEEN if isinstance(stat.statistic, BlockStatistic) else self.epsilon
            return K, ULPS * unit * bound_sizes(K)

        return enclose_gram(self.formula, points, self.clock, measure if rough else None)

    def _evaluate(self, points: Rows, dtype: type[np.floating[Any]]) -> np.ndarray:
        self.clock.check()
        try:
            K = Evaluation(self.formula, points, None, self.name, dtype).dense()
        except OverflowError as error:
            raise OutOfRangeError(str(error)) from error
        if K.dtype == np.float32:  # float32 data gives float32 values
            self.epsilon = float(np.finfo(np.float32).eps)
            return K.astype(np.float64)
        return K


class MatrixValues(PointValues):
    """Values that are entries of a matrix; the points are its row numbers."""

    def __init__(self, matrix: np.ndarray, name: str) -> None:
        super().__init__(name)
        self.matrix = matrix

    def gram(self, points: Rows) -> np.ndarray:
        """Look the values up."""
        return np.asarray(self.matrix[np.ix_(points, points)], dtype=np.float64)

    def exact(self, points: Rows) -> list[list[Fraction]] | None:
        """Every float is a fraction."""
        return [[Fraction(float(value)) for value in row] for row in self.gram(points)]


def bound_sizes(K: np.ndarray) -> np.ndarray:
    """Return the sizes of the entries, each at least its Cauchy–Schwarz bound."""
    norms = np.sqrt(np.abs(np.diag(K)))
    return np.maximum(np.abs(K), np.outer(norms, norms))


def _unwrap(returned: Any) -> Any:
    """Return the number in an array of one number, and anything else as it is."""
    return returned.reshape(-1)[0] if isinstance(returned, np.ndarray) and returned.size == 1 else returned


def _convert(x: Any, convert: Callable[[Any], np.ndarray]) -> Any:
    """Return a point in other arithmetic; what is not made of numbers stays as it is."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        return convert(x)
    if isinstance(x, float | np.floating):
        return convert(np.array([x]))[0]
    return x


def _to_fractions(a: np.ndarray) -> np.ndarray:
    values = np.empty(a.shape, dtype=object)
    for position in np.ndindex(a.shape):
        values[position] = Fraction(a[position].item())
    return values


def _is_exact(value: object) -> bool:
    return isinstance(value, Fraction | numbers.Integral) and not isinstance(value, np.generic)
