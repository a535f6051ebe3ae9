"""Sums of windows, Σⱼ vⱼ k(x, zⱼ), and their logarithms where they are too small to be numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.expansion import evaluate_expansion
from mercer.formula.data import Rows, length, pick
from mercer.formula.expression import Call, Const, Expression, Param, Stat
from mercer.formula.program import anonymous
from mercer.formula.statistics import AbsoluteDistance, SquaredDistance
from mercer.gram.backend import TILE_BYTES
from mercer.gram.choice import choose_backend
from mercer.kernels import Kernel
from mercer.kernels.radial import PowerDistance

from ..neighbors.ranking import ByDistance, find_only_statistic
from ..neighbors.search import find_nearest
from .shapes import CompactWindow

WEAK = 1e-295  # of the sum of weights: below, windows that are not numbers any more could matter


class WindowSum:
    """Sums of one window k, which must not be negative, over centres zⱼ, computed at a place; results are arrays."""

    def __init__(self, kernel: Kernel, centers: Rows, place: Place) -> None:
        self.kernel, self.centers, self.place = kernel, centers, place
        self._formula = anonymous(kernel.traced())
        self._log = undo_exponentials(self._formula)
        self._proved = isinstance(kernel, CompactWindow) or is_not_negative(self._formula)

    def log_sums(self, X: Rows, V: np.ndarray) -> np.ndarray:
        """Return log Σⱼ vⱼ k(x, zⱼ) for each x and each column of V, which must not be negative."""
        sums = self._sum(X, V)
        with np.errstate(divide="ignore"):
            result, log_v = np.log(sums), np.log(V)
        for rows, values in self._find_weak(X, (sums < WEAK * V.sum(axis=0)).any(axis=1)):
            for column in range(V.shape[1]):
                result[rows, column] = host_array(log_sum_exp(values + self.place.put(log_v[:, column])))
        return result

    def average(self, X: Rows, weights: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σⱼ wⱼ k(x, zⱼ) yⱼ / Σⱼ wⱼ k(x, zⱼ) for each column of Y, and where no window reaches x."""
        sums = self._sum(X, np.column_stack([weights, weights[:, None] * Y]))
        with np.errstate(divide="ignore", invalid="ignore"):
            result = sums[:, 1:] / sums[:, :1]
        for rows, values in self._find_weak(X, sums[:, 0] < WEAK * weights.sum()):
            shares = softmax(values + self.place.put(np.log(weights)))
            result[rows], sums[rows, 0] = host_array(shares @ self.place.put(Y)), 1.0
        empty = ~(sums[:, 0] > 0)
        result[empty] = 0.0
        return result, empty

    def find_nearest(self, X: Rows) -> np.ndarray | None:
        """Return the nearest centre of each point by the distance the window depends on, None if it depends on none."""
        statistic = find_only_statistic(self._formula)
        if not isinstance(statistic, SquaredDistance | AbsoluteDistance | PowerDistance):
            return None
        order = ByDistance(statistic, self._formula, None)
        return find_nearest(self.kernel, X, self.centers, 1, place=self.place, order=order)[1][:, 0]

    def _sum(self, X: Rows, V: np.ndarray) -> np.ndarray:
        if self._proved:
            where = self.place.memory, self.place.device
            return np.asarray(host_array(evaluate_expansion(self.kernel, X, self.centers, V, 0.0, *where, np.float64)))
        out = np.zeros((length(X), V.shape[1]))
        for rows, values in self._strips(self._formula, X):
            least = float(values.min())
            if least < 0:
                raise ValueError(
                    f"a window must not be negative, but {self.kernel!r} is {least} for some pair of points; use a "
                    "kernel that is nowhere negative, such as Gaussian()"
                )
            out[rows] = host_array(values @ self.place.put(V))
        return out

    def _find_weak(self, X: Rows, weak: np.ndarray) -> Iterator[tuple[np.ndarray, Array]]:
        """Yield logarithms of the window at the points where its sum is too small, if its formula gives them."""
        places = np.flatnonzero(weak)
        if self._log is None or len(places) == 0:
            return
        for rows, values in self._strips(self._log, pick(X, places)):
            yield places[rows], values

    def _strips(self, expression: Expression, X: Rows) -> Iterator[tuple[slice, Array]]:
        """Yield rows of an expression between points and centres, as arrays of the place."""
        backend = choose_backend(expression, X, self.centers, repr(self.kernel), "auto", np.float64, self.place)
        m, n = backend.shape
        row, budget = n * (backend.entry_bytes + 24), self.place.memory - backend.held
        require(row, budget, f"one row of {n} windows", "give more memory or fewer points")
        step = max(1, min(budget, TILE_BYTES) // row)
        for start in range(0, m, step):
            rows = slice(start, min(start + step, m))
            yield rows, backend.tile(rows, slice(0, n))


def log_sum_exp(values: Array) -> Array:
    """Return log Σ exp of each row, −inf for a row of nothing else."""
    xp = namespace(values)
    top = xp.max(values, axis=1)
    shift = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with np.errstate(divide="ignore"):
        return xp.log(xp.sum(xp.exp(values - shift[:, None]), axis=1)) + shift


def softmax(values: Array) -> Array:
    """Return exp of each row divided by its sum; rows of −inf only become NaN."""
    xp = namespace(values)
    with np.errstate(invalid="ignore"):
        shares = xp.exp(values - xp.max(values, axis=1, keepdims=True))
        return shares / xp.sum(shares, axis=1, keepdims=True)


def undo_exponentials(formula: Expression) -> Expression | None:
    """Return the logarithm of a formula whose exponentials it undoes, None where the formula has no such form.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> import numpy as np
    >>> undo_exponentials(np.exp(Linear().traced())) == Linear().traced(), undo_exponentials(Linear().traced())
    (True, None)
    """
    if isinstance(formula, Const | Param):
        return Const(math.log(formula.value)) if formula.value > 0 else None
    if not isinstance(formula, Call):
        return None
    match formula.op:
        case "exp":
            return formula.args[0]
        case "mul":
            first, second = map(undo_exponentials, formula.args)
            return None if first is None or second is None else first + second
        case "add" if _is_positive(formula):
            return np.log(formula)
        case "powi" | "pow":
            inner = undo_exponentials(formula.args[0])
            return None if inner is None else formula.constants[0] * inner
    return None


def _is_positive(formula: Expression) -> bool:
    """Whether a formula is a positive number plus something that is not negative."""
    if isinstance(formula, Const | Param):
        return formula.value > 0
    if isinstance(formula, Call) and formula.op == "add":
        return is_not_negative(formula) and any(map(_is_positive, formula.args))
    return False


def is_not_negative(formula: Expression) -> bool:
    """Whether a formula cannot be negative, by the signs of its parts."""
    if isinstance(formula, Const | Param):
        return formula.value >= 0
    if isinstance(formula, Stat):
        return isinstance(formula.statistic, SquaredDistance | AbsoluteDistance | PowerDistance)
    if not isinstance(formula, Call):
        return False
    if formula.op in ("exp", "sqrt", "pow", "bessel"):
        return True
    if formula.op == "powi" and formula.constants[0] % 2 == 0:
        return True
    return formula.op in ("add", "mul", "powi", "recip", "log1p", "tanh") and all(map(is_not_negative, formula.args))
