"""Values of a function or kernel on small sets of points, in float64 and again in better arithmetic.

A refutation must survive three doubts: the float64 values carry rounding errors of unknown size, so the points are
also moved a little (:func:`shaken`) to see how much the values jump; and where the
function allows it, the values are computed again in exact rational arithmetic or in extended precision.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from mercer.formula.data import Rows, is_frame, length
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Call, Expression, Stat, nodes
from mercer.formula.statistics import BlockStatistic
from mercer.kernels.base import Kernel

from .clock import UNHURRIED, Clock
from .exact import enclosed_gram, exact_gram
from .interval import Interval

MODERATE = 3.0  # points of this size must have finite values; far out, overflow is not the function's fault
HAS_EXTENDED = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps / 4

Exact = list[list[Fraction]]
Enclosed = list[list[Interval]]


ULPS = 4096  # of relative error that every value is granted
UNSEEN = 64 * 2.0**-23 / ULPS  # the rounding unit granted to a function that only works in float64


class OutOfRangeError(ArithmeticError):
    """The values overflow on these points, which says nothing about the function."""


class Values(Protocol):
    """What the search needs to know of a function of two points."""

    name: str
    epsilon: float  # the rounding unit of the values
    clock: Clock  # asked before every value, or before every matrix of them

    def gram(self, points: Rows) -> np.ndarray:
        """Return k(xᵢ, xⱼ) for all ordered pairs."""

    def symmetric_gram(self, points: Rows) -> np.ndarray:
        """Return k(xᵢ, xⱼ), computed for i ≤ j only where that is cheaper."""

    def exact(self, points: Rows) -> Exact | None:
        """Return the values as fractions, or None if the function cannot."""

    def extended(self, points: Rows) -> np.ndarray | None:
        """Return the values in extended precision, or None if the function cannot."""

    def enclosed(self, points: Rows) -> Enclosed | None:
        """Return intervals that surely contain the values, or None if nobody knows how they are computed."""

    def roughly_enclosed(self, points: Rows) -> Enclosed | None:
        """Return intervals that contain the values if their parts are computed well, or None if that is not known."""


class FunctionValues:
    """Values of a Python function of two points, one pair at a time.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` returns a number or an array of one number.
    scalars : bool
        Whether points with one feature are given as plain numbers.
    strict : bool
        Whether overflow is an error even far out, as it is on points the user chose.
    """

    def __init__(self, function: Callable[[Any, Any], Any], scalars: bool = False, strict: bool = False) -> None:
        self.function = function
        self.scalars = scalars
        self.strict = strict
        self.epsilon = float(np.finfo(np.float64).eps)
        self.clock = UNHURRIED
        self.calls = 0
        name = getattr(function, "__name__", None) or type(function).__name__
        self.name = "the function" if name == "<lambda>" else name

    def gram(self, points: Rows) -> np.ndarray:
        """Call the function for all ordered pairs."""
        objects = self._objects(points)
        return np.array([[self._number(x, z) for z in objects] for x in objects])

    def symmetric_gram(self, points: Rows) -> np.ndarray:
        """Call the function for i ≤ j."""
        objects = self._objects(points)
        K = np.empty((len(objects), len(objects)))
        for i, x in enumerate(objects):
            for j in range(i, len(objects)):
                K[i, j] = K[j, i] = self._number(x, objects[j])
        return K

    def exact(self, points: Rows) -> Exact | None:
        """Give the function fractions, and see whether it returns fractions."""
        objects = self._objects(points)
        converted = [_converted(x, _fractions) for x in objects]
        rows = self._again(converted, lambda value: value if _is_exact(value) else None)
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
        converted = [_converted(x, lambda a: np.asarray(a, dtype=np.longdouble)) for x in self._objects(points)]
        rows = self._again(converted, lambda value: value if isinstance(value, np.longdouble) else None)
        return None if rows is None else np.array(rows, dtype=np.longdouble)

    def enclosed(self, points: Rows) -> Enclosed | None:
        """Return None: a function may do anything."""
        return None

    roughly_enclosed = enclosed

    def _again(self, objects: list[Any], accept: Callable[[Any], Any]) -> list[list[Any]] | None:
        rows = []
        for x in objects:
            row = []
            for z in objects:
                self.clock.check()
                try:
                    returned = self.function(x, z)
                except Exception:  # no promise was made that it works in other arithmetic
                    return None
                if isinstance(returned, np.ndarray) and returned.size == 1:
                    returned = returned.reshape(-1)[0]
                row.append(accept(returned))
                if row[-1] is None:
                    return None
            rows.append(row)
        return rows

    def _objects(self, points: Rows) -> list[Any]:
        if self.scalars:
            return [x[0] for x in points]
        return list(points.to_numpy() if is_frame(points) else points)

    def _number(self, x: Any, z: Any) -> float:
        self.calls += 1
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
        value = self._checked(returned, x, z)
        if not np.isfinite(value):
            if self._may_overflow(x, z):
                raise OutOfRangeError
            raise ValueError(
                f"certify: {self.name} returned {value} at x = {x!r}, z = {z!r}; a kernel is finite everywhere "
                "(restrict the points with sample=[…] if it is meant for some points only)"
            )
        return value

    def _checked(self, returned: Any, x: Any, z: Any) -> float:
        item = returned
        if isinstance(item, np.ndarray) and item.size == 1:
            item = item.reshape(-1)[0]
        if isinstance(item, np.floating):
            self.epsilon = max(self.epsilon, float(np.finfo(item.dtype).eps))
        if isinstance(item, numbers.Real | np.bool_):
            return float(item)
        what = f"an array of shape {item.shape}" if isinstance(item, np.ndarray) else repr(returned)
        raise ValueError(f"certify: {self.name} must return a number, but gave {what} at x = {x!r}, z = {z!r}")

    def _may_overflow(self, x: Any, z: Any) -> bool:
        return not self.strict and max(np.max(np.abs(x)), np.max(np.abs(z))) > MODERATE


class KernelValues:
    """Values of a kernel, whole matrices at a time."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.formula: Expression = kernel.traced()
        self.name = repr(kernel)
        self.epsilon = float(np.finfo(np.float64).eps)
        self.clock = UNHURRIED
        self.calls = 0

    def gram(self, points: Rows) -> np.ndarray:
        """Evaluate the formula."""
        return self._dense(points, np.float64)

    symmetric_gram = gram

    def exact(self, points: Rows) -> Exact | None:
        """Evaluate the formula in fractions, if it holds only rational operations."""
        return exact_gram(self.formula, points, self.clock)

    def enclosed(self, points: Rows) -> Enclosed | None:
        """Evaluate the formula in intervals of decimals, if all it takes from the points is rational."""
        return enclosed_gram(self.formula, points, self.clock)

    def roughly_enclosed(self, points: Rows) -> Enclosed | None:
        """Evaluate the formula in intervals, with generous errors of what is taken from the points."""
        return enclosed_gram(self.formula, points, self.clock, lambda stat: self._measured(stat, points))

    def extended(self, points: Rows) -> np.ndarray | None:
        """Evaluate the formula in extended precision, unless a part of it is only known in float64."""
        only_double = any(
            (isinstance(node, Stat) and isinstance(node.statistic, BlockStatistic))
            or (isinstance(node, Call) and node.op == "bessel")
            for node in nodes(self.formula)
        )
        return None if only_double or not HAS_EXTENDED else self._dense(points, np.longdouble)

    def _measured(self, stat: Stat, points: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return values of a statistic in float64, and the errors to grant them."""
        self.clock.check()
        K = np.asarray(Evaluation(stat, points, None, self.name).dense(), dtype=np.float64)
        unit = UNSEEN if isinstance(stat.statistic, BlockStatistic) else self.epsilon
        return K, ULPS * unit * entry_sizes(K)

    def _dense(self, points: Rows, dtype: Any) -> np.ndarray:
        self.calls += length(points) ** 2
        self.clock.check()
        try:
            K = Evaluation(self.formula, points, None, self.name, dtype).dense()
        except OverflowError as error:
            raise OutOfRangeError(str(error)) from error
        if K.dtype == np.float32:  # float32 data gives float32 values
            self.epsilon = float(np.finfo(np.float32).eps)
            return K.astype(np.float64)
        return K


class MatrixValues:
    """Values that are entries of a matrix; the points are its row numbers."""

    def __init__(self, matrix: np.ndarray, name: str) -> None:
        self.matrix = matrix
        self.name = name
        self.epsilon = float(np.finfo(np.float64).eps)
        self.clock = UNHURRIED

    def gram(self, points: Rows) -> np.ndarray:
        """Look the values up."""
        return np.asarray(self.matrix[np.ix_(points, points)], dtype=np.float64)

    symmetric_gram = gram

    def exact(self, points: Rows) -> Exact | None:
        """Every float is a fraction."""
        return [[Fraction(float(value)) for value in row] for row in self.gram(points)]

    def extended(self, points: Rows) -> np.ndarray | None:
        """Return None: the exact values are better."""
        return None

    def enclosed(self, points: Rows) -> Enclosed | None:
        """Return None: the exact values are better."""
        return None

    roughly_enclosed = enclosed


def entry_sizes(K: np.ndarray) -> np.ndarray:
    """Return the sizes of the entries, each at least its Cauchy–Schwarz bound."""
    norms = np.sqrt(np.abs(np.diag(K)))
    return np.maximum(np.abs(K), np.outer(norms, norms))


def shaken(points: Rows, factors: np.random.Generator, amplitude: float) -> tuple[Rows, Rows] | None:
    """Move points a little to both sides, or return None if they are not made of floats.

    Every coordinate is multiplied by 1 + δ and 1 − δ with a random |δ| ≤ amplitude.  Equal coordinates move together,
    zeros stay and signs are kept, so that what a function sees as equal, absent or positive remains so.
    """
    if isinstance(points, np.ndarray):
        if points.dtype.kind != "f":
            return None
        values, inverse = np.unique(points, return_inverse=True)
        step = factors.uniform(-amplitude, amplitude, len(values))
        there, back = (values * (1.0 + step), values * (1.0 - step))
        inverse = inverse.reshape(points.shape)
        return _frozen(there.astype(points.dtype)[inverse]), _frozen(back.astype(points.dtype)[inverse])
    if not all(isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f") for x in points):
        return None
    flat = shaken(np.concatenate([np.ravel(x) for x in points]), factors, amplitude)
    return None if flat is None else (_like(points, flat[0]), _like(points, flat[1]))


def _like(points: Rows, flat: np.ndarray) -> list[Any]:
    """Cut a flat array into numbers and arrays of the points' shapes."""
    parts = np.split(flat, np.cumsum([np.size(x) for x in points])[:-1])
    pairs = zip(points, parts, strict=True)
    return [float(part[0]) if isinstance(x, float) else part.reshape(x.shape) for x, part in pairs]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False  # a function that changes its arguments would change the evidence
    return array


def _converted(x: Any, convert: Callable[[Any], np.ndarray]) -> Any:
    """Return a point in other arithmetic; what is not made of numbers stays as it is."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        return convert(x)
    if isinstance(x, float | np.floating):
        return convert(np.array([x]))[0]
    return x


def _fractions(a: Any) -> np.ndarray:
    values = np.empty(a.shape, dtype=object)
    for position in np.ndindex(a.shape):
        values[position] = Fraction(a[position].item())
    return values


def _is_exact(value: Any) -> bool:
    return isinstance(value, Fraction | numbers.Integral) and not isinstance(value, np.generic)
