"""Leave-one-out errors over a grid of a common factor of all length scales and of the penalty, to start tuning from.

The error of a wiggly function has several valleys: one where the length scale follows the function, and one where it is
all noise.  A gradient finds the bottom of the valley it starts in, and only a grid tells in which one that should be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.data import length, pick
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.rounding import weighted_trace

from .criterion import Criterion, LeaveOneOutCriterion
from .length_scales import stretch

OCTAVES, STRIDE = 36, 3  # how far to either side a matrix is looked for that depends on the factor, and in which steps
PROBES = 32  # rows of the matrix that are looked at
CHANGE = 0.05  # of the cosines between points, from which one factor differs from the next
OCTAVES_AT_MOST = 18  # whatever the matrix says
DEEPEST = 3  # octaves on both sides of which there is a half
MOST = OCTAVES_AT_MOST + 2 * DEEPEST  # factors
PENALTIES = np.logspace(-11.0, 1.0, 13)  # relative to the trace of WK
FLAT = 0.99  # of the error at the largest penalty: a valley that is no deeper is none


@dataclass(frozen=True)
class Point:
    """A point of the grid."""

    kernel: Kernel  # the kernel, its length scales multiplied
    alpha: float
    error: float  # the mean squared leave-one-out error
    factor: float  # what the length scales were multiplied by
    # "constant" if it is no better than the largest penalty, at which only a constant is left; "shortest" or
    # "longest" if it has the first or the last of several factors and the error still falls there
    edge: str = ""


@dataclass(frozen=True)
class ScaleGrid:
    """The errors of one kernel."""

    kernels: list[Kernel]  # the kernel with its length scales multiplied
    factors: np.ndarray  # by what, ascending, (m,)
    alphas: np.ndarray  # penalties, ascending, (p,)
    errors: np.ndarray  # mean squared leave-one-out errors, infinite where there is none, (m, p)

    def minima(self) -> list[Point]:
        """Return the points with no better neighbour, best first.

        Of equals the larger penalty comes first, and then the factor closer to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> errors = np.array([[1.0, 3.0, 2.0, 5.0], [2.0, 3.0, 3.0, 5.0], [3.0, 3.0, 4.0, 5.0]])
        >>> kernels = [Gaussian(scale) for scale in (1.0, 2.0, 4.0)]
        >>> grid = ScaleGrid(kernels, np.array([1, 2, 4]), np.array([1, 10, 100, 1000]), errors)
        >>> [(point.kernel, point.alpha, point.error) for point in grid.minima()]
        [(Gaussian(length_scale=1.0), 1.0, 1.0), (Gaussian(length_scale=1.0), 100.0, 2.0)]
        """
        m, p = self.errors.shape
        moved, penalty = np.broadcast_arrays(np.abs(np.log(self.factors))[:, None], -self.alphas)
        order = np.lexsort((moved.ravel(), penalty.ravel(), self.errors.ravel()))
        rank = np.empty((m, p), dtype=np.intp)
        rank.flat[order] = np.arange(m * p)
        padded = np.pad(rank, 1, constant_values=m * p)
        near = [(i, j) for i in (0, 1, 2) for j in (0, 1, 2) if (i, j) != (1, 1)]
        around = [padded[i : i + m, j : j + p] for i, j in near]
        lowest = (rank < np.min(around, axis=0)) & np.isfinite(self.errors)
        rows, columns = np.nonzero(lowest & ((self.errors < self._flat) | (rank == 0)))
        found = [self._point(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
        return sorted(found, key=lambda point: point.error)

    @property
    def _flat(self) -> float:
        """The error from which on there is no valley: at the largest penalty only a constant is left."""
        return float(FLAT * self.errors[:, -1].min())

    def _point(self, row: int, column: int) -> Point:
        alpha, error, last = float(self.alphas[column]), float(self.errors[row, column]), len(self.factors) - 1
        edge = ""
        if error >= self._flat > 0:
            edge = "constant"
        elif last and row in (0, last) and error < (1 - CHANGE) * self.errors[1 if row == 0 else last - 1].min():
            edge = "shortest" if row == 0 else "longest"
        return Point(self.kernels[row], alpha, error, float(self.factors[row]), edge)


def make_scale_grid(
    problem: Problem,
    on_error: Callable[[float], bool] = lambda error: False,
    criterion: Criterion | None = None,
) -> ScaleGrid:
    """Return the errors for all factors that make a difference, a path of penalties for each.

    ``on_error`` is told the least error of each factor, from 1 on; the grid ends if it returns True.  Errors are those
    of leaving out one point, unless another criterion is given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.learning.scale_grid import make_scale_grid
    >>> from mercer.solvers.base import Problem
    >>> X = np.linspace(-3.0, 3.0, 80).reshape(-1, 1)
    >>> best = make_scale_grid(Problem(Gaussian([3.0]), X, np.sin(12.0 * X))).minima()[0]
    >>> bool(best.error < 1e-4), 0.05 < best.factor < 0.2
    (True, True)
    """
    kernel, judge = problem.kernel, criterion or LeaveOneOutCriterion()
    alphas = PENALTIES * (weighted_trace(problem) or 1.0)
    rows: dict[float, tuple[Kernel, np.ndarray]] = {}

    def add(factor: float) -> bool:
        scaled = stretch(kernel, factor)
        errors = -judge.curve(replace(problem, kernel=scaled))(alphas)
        rows[factor] = scaled, errors
        return on_error(float(errors.min()))

    octaves = find_factors(kernel, problem.X)
    stopped = any(add(factor) for factor in sorted(octaves, key=lambda factor: abs(np.log(factor))))
    while not stopped and len(octaves) > 1 and len(octaves) < OCTAVES_AT_MOST:
        inner, outer = (rows[factor][1].min() for factor in octaves[-2:])
        if not outer < (1 - CHANGE) * inner:
            break  # otherwise the function is nearly a polynomial: the longer, the better
        octaves.append(2.0 * octaves[-1])
        stopped = add(octaves[-1])
    if not stopped:
        # Valleys are narrow where the penalty is small, and run between the octaves.
        deepest = sorted(octaves, key=lambda factor: rows[factor][1].min())[:DEEPEST]
        halves = {factor * step for factor in deepest for step in (2.0**-0.5, 2.0**0.5)}
        any(add(factor) for factor in sorted(halves) if octaves[0] < factor < octaves[-1])
    factors = sorted(rows)
    return ScaleGrid(
        [rows[factor][0] for factor in factors], np.array(factors), alphas, np.array([rows[f][1] for f in factors])
    )


def find_factors(kernel: Kernel, X: Any) -> list[float]:
    """Return powers of two, ascending, from where every point is alone to where all are alike; 1 if it has no say.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.learning.scale_grid import find_factors
    >>> X = np.linspace(0.0, 1.0, 11).reshape(-1, 1)
    >>> find_factors(Gaussian(), X), find_factors(Linear(), X)
    ([0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0], [1.0])
    """
    if stretch(kernel, 2.0) == kernel:
        return [1.0]
    rows = host_array(X)
    n = length(rows)
    probes = np.unique(np.arange(PROBES) * n // PROBES)
    some = pick(rows, probes)

    def cosines(octave: int) -> np.ndarray:
        scaled = stretch(kernel, 2.0**octave)
        with np.errstate(all="ignore"):
            sizes = np.sqrt(np.abs(scaled.diag(rows)))
            values = np.asarray(scaled(some, rows), dtype=np.float64) / sizes / sizes[probes, None]
        return np.nan_to_num(values)

    def active(octaves: Sequence[int]) -> list[int]:
        """Return the positions after which the matrix changes: in a row of the ordinary kind, for some other point."""
        tables = [cosines(octave) for octave in octaves]
        changes = [np.abs(after - before).max(axis=1) for before, after in pairwise(tables)]
        return [i for i, change in enumerate(changes) if np.median(change) > CHANGE]

    far = range(-OCTAVES, OCTAVES + 1, STRIDE)
    wide = active(far)
    if not wide:
        return [1.0]
    near = range(far[wide[0]], far[wide[-1] + 1] + 1)
    narrow = active(near)
    if not narrow:
        return [1.0]
    found = list(range(near[narrow[0]], near[narrow[-1] + 1] + 1))
    # Where they are too many, the shortest go: they are for points in pairs that are close together.
    return [2.0**octave for octave in found[-OCTAVES_AT_MOST:]]
