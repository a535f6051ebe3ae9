"""Sums over the rows of a problem on a device, for ridge on the functions that a few centres span."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.formula.data import Rows
from mercer.formula.evaluation import check_overflow
from mercer.gram import Gram

from ...base import Problem
from ..centers import RestrictedSums

BLOCK_BYTES = 2**29  # of kernel values at a time


class DeviceRestrictedRows:
    """:class:`~mercer.solvers.ridge.centers.RestrictedRows` of rows that are sent to a device; sums come back.

    Parameters
    ----------
    problem : Problem
        The data and targets, with a device.
    centers : collection of m objects
        The centres z.
    """

    def __init__(self, problem: Problem, centers: Rows) -> None:
        place = problem.device
        self._problem = problem
        self._gram = Gram(problem.kernel, problem.X, centers, memory=problem.memory, dtype=np.float64, device=place)
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = np.ones(problem.n) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)

    def sums(self, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
        """Sum up the features φ = L⁻¹k, or k itself if there is no L."""
        torch, place = load_torch(), self._problem.device
        m, q = self._gram.shape[1], self._y.shape[1]
        L = None if triangle is None else on_device(triangle, place, np.float64)
        inner = torch.zeros(m, m, dtype=torch.float64, device=place)
        others = torch.zeros(m, q + 1, dtype=torch.float64, device=place)
        for part, rows in self._parts():
            features = self._gram.rows(rows).T
            if L is not None:
                features = torch.linalg.solve_triangular(L, features, upper=False)
            weights = self._weights[part, None]
            right = np.column_stack([self._y[part] - target_mean, np.ones(len(rows))])
            others += features @ on_device(weights * right, place, np.float64)
            if self._problem.weights is not None:
                features = features * on_device(np.sqrt(weights[:, 0]), place, np.float64)
            inner += features @ features.T
        check_overflow(host_array(others), repr(self._problem.kernel))
        return RestrictedSums(host_array(inner), host_array(others[:, :q]), host_array(others[:, q]))

    def image(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ k e and Σ e for the weighted errors e = w(y − kᵀc − b), from the rows themselves."""
        errors = self._weights[:, None] * (self._y - (host_array(self._gram @ coef) + intercept))
        return np.asarray(host_array(self._gram.T @ errors)), errors.sum(axis=0)

    def pieces(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places of rows, k of these (one column each) on the host, their targets and weights."""
        for part, rows in self._parts():
            yield part, host_array(self._gram.rows(rows)).T, self._y[part], self._weights[part]

    def _parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        count = self._problem.n
        step = max(1, min(BLOCK_BYTES, self._problem.memory // 12) // (8 * self._gram.shape[1]))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            yield part, np.arange(part.start, part.stop)
