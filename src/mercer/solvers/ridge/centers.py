"""Sums over the rows of a problem, for ridge on the functions that a few centres span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.formula.evaluation import check_overflow
from mercer.gram import Gram

from ..base import Problem

BLOCK_BYTES = 2**24  # of kernel values at a time, which the caches nearly hold


@dataclass
class RestrictedSums:
    """Σ wφφᵀ (its lower triangle), Σ wφ(y − ȳ) and Σ wφ over rows; those of two sets of rows add up."""

    inner: np.ndarray
    right: np.ndarray
    total: np.ndarray

    def __iadd__(self, other: RestrictedSums) -> RestrictedSums:
        self.inner += other.inner
        self.right += other.right
        self.total += other.total
        return self


class RestrictedRows:
    """The rows of a problem seen from m centres: k = (k(z₁, x), …, k(z_m, x)), a block of rows at a time.

    Parameters
    ----------
    problem : Problem
        The data and targets.
    centers : collection of m objects
        The centres z.
    """

    def __init__(self, problem: Problem, centers: Rows) -> None:
        self._problem = problem
        self._gram = Gram(problem.kernel, problem.X, centers, memory=problem.memory, dtype=np.float64)
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = np.ones(problem.n) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)
        self._reverse = self._gram.T if self.quick else None

    @property
    def quick(self) -> bool:
        """Whether kernel values are as quick to compute again as to keep."""
        return self._gram.backend_name == "native"

    def moments(self) -> tuple[float, np.ndarray]:
        """Return Σw and Σwy."""
        return float(self._weights.sum()), self._weights @ self._y

    def sums(self, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
        """Sum up the features φ = L⁻¹k, or k itself if there is no L."""
        from scipy.linalg import blas, solve_triangular

        m, q = self._gram.shape[1], self._y.shape[1]
        inner, others = np.zeros((m, m), order="F"), np.zeros((m, q + 1), order="F")
        for _, values, y, weights in self.pieces():
            features = values
            if triangle is not None:
                features = solve_triangular(triangle, values, lower=True, overwrite_b=True, check_finite=False)
            # All by one library: the threads of NumPy's would still be spinning when those of SciPy's begin.
            right = weights[:, None] * np.column_stack([y - target_mean, np.ones(len(y))])
            others = blas.dgemm(1.0, features, right, beta=1.0, c=others, overwrite_c=1)
            if self._problem.weights is not None:
                features *= np.sqrt(weights)
            inner = blas.dsyrk(1.0, features, beta=1.0, c=inner, lower=1, overwrite_c=1)
        check_overflow(others, repr(self._problem.kernel))
        return RestrictedSums(inner, others[:, :q], others[:, q])

    def image(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ k e and Σ e for the weighted errors e = w(y − kᵀc − b), from the rows themselves."""
        assert self._reverse is not None
        errors = self._weights[:, None] * (self._y - (self._gram @ coef + intercept))
        return np.asarray(self._reverse @ errors), errors.sum(axis=0)

    def pieces(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places among ``rows``, k of these (one column each, in Fortran order), their targets and weights.

        All k are written to the same array, one after the other: fresh memory would cost as much as they do.
        """
        n, m = self._gram.shape
        count = n if rows is None else len(rows)
        step = max(1, min(BLOCK_BYTES, self._problem.memory // 12) // (8 * m))  # there are two copies beside them
        values = np.empty((min(step, count), m))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            chosen = np.arange(part.start, part.stop) if rows is None else rows[part]
            yield part, self._gram.rows(chosen, values[: len(chosen)]).T, self._y[chosen], self._weights[chosen]


def restricted_rows(problem: Problem, centers: Rows) -> Any:
    """Return the rows of a problem as seen from centres, on its device if it has one."""
    if problem.device is None:
        return RestrictedRows(problem, centers)
    from .device.restricted import DeviceRestrictedRows

    return DeviceRestrictedRows(problem, centers)
