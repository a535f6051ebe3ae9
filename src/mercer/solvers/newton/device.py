"""What Newton's method for the logistic losses needs on a device; the method itself is the one of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.formula.data import Rows, pick, take
from mercer.gram import Gram

from ..base import Problem

BLOCK = 2**26  # entries of features in work at a time
SHARE = 3  # one part in so many of the budget is for features that are kept


class DeviceFeatures:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ, of all points, on a device.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory, with a device.
    indices : array of shape (m,)
        Which points the centres z are.
    triangle : tensor of shape (m, m)
        L.
    """

    def __init__(self, problem: Problem, indices: np.ndarray, triangle: Any) -> None:
        self.problem, self.indices, self.triangle = problem, indices, triangle
        self.centers: Rows = pick(problem.X, indices)
        self._step = max(1, min(problem.n, BLOCK // len(self.indices), problem.memory // (64 * len(self.indices))))
        self._stored = self._kept()

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return self.problem.n, len(self.indices)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows of the features in float64, with their places."""
        if self._stored is None:
            yield from self._computed()
            return
        for start in range(0, self.problem.n, self._step):
            rows = slice(start, min(start + self._step, self.problem.n))
            yield rows, self._stored[rows].double()

    def coefficients(self, weights: Any) -> np.ndarray:
        """Return L⁻ᵀw, the coefficients of the function at the centres, as an array."""
        w = on_device(weights, self.problem.device, np.float64)
        return np.asarray(host_array(load_torch().linalg.solve_triangular(self.triangle.T, w, upper=True)))

    def _kept(self) -> Any | None:
        """Return all features, in float32 if there is no room for more, or None if there is none for that either."""
        torch, room = load_torch(), self.problem.memory // SHARE
        n, m = self.shape
        if 4 * n * m > room:
            return None
        kind = torch.float64 if 8 * n * m <= room else torch.float32
        stored = torch.empty(n, m, dtype=kind, device=self.problem.device)
        for rows, block in self._computed():
            stored[rows] = block
        return stored

    def _computed(self) -> Iterator[tuple[slice, Any]]:
        n = self.problem.n
        for start in range(0, n, self._step):
            rows = slice(start, min(start + self._step, n))
            values = self._gram(self.centers, take(self.problem.X, rows.start, rows.stop)).dense()
            yield rows, load_torch().linalg.solve_triangular(self.triangle, values, upper=False).T

    def _gram(self, X: Rows, Z: Rows | None = None) -> Gram:
        problem = self.problem
        return Gram(problem.kernel, X, Z, memory=problem.memory, dtype=np.float64, device=problem.device)
