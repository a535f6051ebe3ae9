"""Sums of windows, Σⱼ vⱼ k(x, zⱼ), and their logarithms where they are too small to be numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.tensors import device_memory, host_array, is_tensor, on_device
from mercer.expansion import evaluate_expansion
from mercer.formula.data import Rows, length, pick
from mercer.formula.expression import Call, Const, Expression, Param, Stat
from mercer.formula.program import UnsupportedError, anonymous
from mercer.formula.statistics import AbsoluteDistance, SquaredDistance
from mercer.gram.backend import TILE_BYTES
from mercer.gram.choice import choose_backend
from mercer.gram.torch.backend import TorchBackend
from mercer.kernels import Kernel

from ..neighbors.distance import ByDistance, only_statistic
from ..neighbors.search import nearest_by
from .shapes import CompactWindow

WEAK = 1e-295  # of the sum of weights: below, windows that are not numbers any more could matter


class WindowSum:
    """Sums of one window over centres.

    Parameters
    ----------
    kernel : Kernel
        The window k, which must not be negative.
    centers : collection of n objects
        The points zⱼ.
    memory : int or str, optional
        Budget in bytes.
    device : torch.device, optional
        Where to compute; on the host if not given.  Results are arrays in any case.
    """

    def __init__(self, kernel: Kernel, centers: Rows, memory: float | str | None = None, device: Any = None) -> None:
        self.kernel, self.centers, self.memory, self.device = kernel, centers, memory, device
        self._formula = anonymous(kernel.traced())
        self._log = logarithm(self._formula)
        self._proved = isinstance(kernel, CompactWindow) or not_negative(self._formula)

    def log_sums(self, X: Rows, V: np.ndarray) -> np.ndarray:
        """Return log Σⱼ vⱼ k(x, zⱼ) for each x and each column of V, which must not be negative."""
        sums = self._sums(X, V)
        with np.errstate(divide="ignore"):
            result, log_v = np.log(sums), np.log(V)
        for rows, values in self._weak(X, (sums < WEAK * V.sum(axis=0)).any(axis=1)):
            for column in range(V.shape[1]):
                result[rows, column] = host_array(log_sum_exp(values + beside(values, log_v[:, column])))
        return result

    def averages(self, X: Rows, weights: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σⱼ wⱼ k(x, zⱼ) yⱼ / Σⱼ wⱼ k(x, zⱼ) for each column of Y, and where no window reaches x."""
        sums = self._sums(X, np.column_stack([weights, weights[:, None] * Y]))
        with np.errstate(divide="ignore", invalid="ignore"):
            result = sums[:, 1:] / sums[:, :1]
        for rows, values in self._weak(X, sums[:, 0] < WEAK * weights.sum()):
            shares = softmax(values + beside(values, np.log(weights)))
            result[rows], sums[rows, 0] = host_array(shares @ beside(values, Y)), 1.0
        empty = ~(sums[:, 0] > 0)
        result[empty] = 0.0
        return result, empty

    def nearest(self, X: Rows) -> np.ndarray | None:
        """Return the nearest centre of each point by the distance the window depends on, None if it depends on none."""
        statistic = only_statistic(self._formula)
        if not isinstance(statistic, SquaredDistance | AbsoluteDistance):
            return None
        order = ByDistance(statistic, self._formula, None)
        found = nearest_by(order, self.kernel, X, self.centers, 1, memory=self.memory, device=self.device)
        return found[1][:, 0]

    def _sums(self, X: Rows, V: np.ndarray) -> np.ndarray:
        if self._proved:
            sums = evaluate_expansion(self.kernel, X, self.centers, V, 0.0, self.memory, self.device, np.float64)
            return np.asarray(host_array(sums))
        out = np.zeros((length(X), V.shape[1]))
        for rows, values in self._strips(self._formula, X):
            check_window(self.kernel, values)
            out[rows] = host_array(values @ beside(values, V))
        return out

    def _weak(self, X: Rows, weak: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Logarithms of the window at the points where its sum is too small, if its formula gives them."""
        places = np.flatnonzero(weak)
        if self._log is None or len(places) == 0:
            return
        for rows, values in self._strips(self._log, pick(X, places)):
            yield places[rows], values

    def _strips(self, expression: Expression, X: Rows) -> Iterator[tuple[slice, Any]]:
        """Yield rows of an expression between points and centres: tensors on a device that has a form of it."""
        backend, memory = self._backend(expression, X)
        m, n = backend.shape
        row, budget = n * (backend.entry_bytes + 24), memory - getattr(backend, "held", 0)
        require(row, budget, f"one row of {n} windows", "give more memory or fewer points")
        step = max(1, min(budget, TILE_BYTES) // row)
        for start in range(0, m, step):
            rows = slice(start, min(start + step, m))
            yield rows, backend.tile(rows, slice(0, n))

    def _backend(self, expression: Expression, X: Rows) -> tuple[Any, int]:
        """Return what gives tiles of an expression, and the memory there is for them."""
        if self.device is not None:
            try:
                tiles = TorchBackend(expression, X, self.centers, repr(self.kernel), self.device)
                return tiles, device_memory(self.device, self.memory)
            except UnsupportedError:
                pass
        points, centers = host_array(X), host_array(self.centers)
        backend = choose_backend(expression, points, centers, repr(self.kernel), "auto", np.float64)
        return backend, parse_memory(self.memory)


def beside(values: Any, array: np.ndarray) -> Any:
    """Return an array as a tensor where the values are, or as it is if they are an array."""
    return on_device(array, values.device, np.float64) if is_tensor(values) else array


def warn_unreached(owner: object, count: int, answer: str) -> None:
    """Say that some points are outside of all windows, and what they are given instead."""
    warnings.warn(
        f"{type(owner).__name__}: no window reaches {count} of the points, which get {answer} instead; use a larger "
        "length_scale, or a window without an end such as 'gaussian'",
        stacklevel=5,
    )


def check_window(kernel: Kernel, values: Any) -> None:
    """Raise if a window is negative somewhere."""
    least = float(values.min()) if len(values) else 0.0
    if least < 0:
        raise ValueError(
            f"a window must not be negative, but {kernel!r} is {least} for some pair of points; use a kernel "
            "that is nowhere negative, such as Gaussian()"
        )


def log_sum_exp(values: Any) -> Any:
    """Return log Σ exp of each row, −inf for a row of nothing else."""
    if is_tensor(values):
        return values.logsumexp(1)
    top = values.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - shift[:, None]).sum(axis=1)) + shift)


def softmax(values: Any) -> Any:
    """Return exp of each row divided by its sum; rows of −inf only become NaN."""
    if is_tensor(values):
        return values.softmax(1)
    with np.errstate(invalid="ignore"):
        shares = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def logarithm(formula: Expression) -> Expression | None:
    """Return the logarithm of a formula whose exponentials it undoes, None where the formula has no such form.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> import numpy as np
    >>> logarithm(np.exp(Linear().traced())) == Linear().traced(), logarithm(Linear().traced())
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
            first, second = map(logarithm, formula.args)
            return None if first is None or second is None else first + second
        case "add" if _positive(formula):
            return np.log(formula)
        case "powi" | "pow":
            inner = logarithm(formula.args[0])
            return None if inner is None else formula.constants[0] * inner
    return None


def _positive(formula: Expression) -> bool:
    """Whether a formula is a positive number plus something that is not negative."""
    if isinstance(formula, Const | Param):
        return formula.value > 0
    if isinstance(formula, Call) and formula.op == "add":
        return not_negative(formula) and any(map(_positive, formula.args))
    return False


def not_negative(formula: Expression) -> bool:
    """Whether a formula cannot be negative, by the signs of its parts."""
    if isinstance(formula, Const | Param):
        return formula.value >= 0
    if isinstance(formula, Stat):
        return isinstance(formula.statistic, SquaredDistance | AbsoluteDistance)
    if not isinstance(formula, Call):
        return False
    if formula.op in ("exp", "sqrt", "pow", "bessel"):
        return True
    if formula.op == "powi" and formula.constants[0] % 2 == 0:
        return True
    return formula.op in ("add", "mul", "powi", "recip", "log1p", "tanh") and all(map(not_negative, formula.args))
