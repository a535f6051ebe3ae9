"""Sums over the rows of a problem, for ridge on the functions that a few centres span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.formula.evaluation import check_overflow
from mercer.gram import Gram
from mercer.linalg.cholesky import solve_triangle
from mercer.linalg.sums import add_product, add_square, zeros

from ...base import Problem

BLOCK_BYTES = 2**24  # of kernel values at a time, which the caches nearly hold
DEVICE_BYTES = 2**29


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

    Values and sums are computed where the problem is; sums come back as arrays.

    Parameters
    ----------
    problem : Problem
        The data and targets.
    centers : collection of m objects
        The centres z.
    """

    def __init__(self, problem: Problem, centers: Rows) -> None:
        self._problem, self._place = problem, problem.place
        self._gram = Gram(
            problem.kernel, problem.X, centers, memory=problem.memory, dtype=np.float64, device=problem.device
        )
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = np.ones(problem.n) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)

    @property
    def quick(self) -> bool:
        """Whether kernel values are as quick to compute again as to keep."""
        return self._gram.cheap

    def moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Σw, the weighted mean of y, and Σw(y − that)²."""
        total = float(self._weights.sum())
        mean = self._weights @ self._y / total
        with np.errstate(over="ignore"):
            return total, mean, self._weights @ (self._y - mean) ** 2

    def sums(self, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
        """Sum up the features φ = L⁻¹k, or k itself if there is no L."""
        m, q, put = self._gram.shape[1], self._y.shape[1], self._place.put
        L = None if triangle is None else put(triangle)
        targets = self._weights[:, None] * np.column_stack([self._y - target_mean, np.ones(self._problem.n)])
        streamed = L is None and self.quick  # values are quicker to compute again than to read
        others = self._gram.T @ targets if streamed else zeros(self._place, (m, q + 1))
        inner = zeros(self._place, (m, m))
        for part, features, _, weights in self._blocks():
            if L is not None:
                features = solve_triangle(L, features, overwrite=True)
            if not streamed:
                others = add_product(others, features, put(targets[part]))
            if self._problem.weights is not None:
                features *= put(np.sqrt(weights))
            inner = add_square(inner, features)
        others = host_array(others)
        kernel = self._problem.kernel
        check_overflow(others, repr(kernel), formula=kernel.traced())
        return RestrictedSums(host_array(inner), others[:, :q], others[:, q])

    def image(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ k e, Σ e and Σ e²/w for the weighted errors e = w(y − kᵀc − b), from the rows themselves."""
        errors, image = map(host_array, self._gram.residuals(coef, self._y - intercept, self._weights))
        weighted = self._weights[:, None] * errors
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->j", weighted, errors)
        return np.asarray(image), weighted.sum(axis=0), squares

    def pieces(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places among ``rows``, k of these (one column each) on the host, their targets and weights."""
        for part, values, y, weights in self._blocks(rows):
            yield part, host_array(values), y, weights

    def _blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, Array, np.ndarray, np.ndarray]]:
        """Yield the same with k where the problem is.

        On the host all k are written to one array, one after the other: fresh memory would cost as much as they do.
        """
        n, m = self._gram.shape
        count = n if rows is None else len(rows)
        room = BLOCK_BYTES if self._place.on_host else DEVICE_BYTES
        step = max(1, min(room, self._problem.memory // 12) // (8 * m))  # there are two copies beside them
        values = np.empty((min(step, count), m)) if self._place.on_host else None
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            chosen = np.arange(part.start, part.stop) if rows is None else rows[part]
            out = None if values is None else values[: len(chosen)]
            yield part, self._gram.rows(chosen, out).T, self._y[chosen], self._weights[chosen]
