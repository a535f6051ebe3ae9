"""What Newton's method for the logistic losses needs on a device; the method itself is the one of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.formula.data import Rows, pick, take
from mercer.gram import Gram

from ..base import Problem
from ..ridge.device.cg import DevicePreconditioner
from ..ridge.device.nystroem import JITTER, _factor
from ..sampling import some_rows

BLOCK = 2**26  # entries of features in work at a time
SHARE = 3  # one part in so many of the budget is for features that are kept


def low_rank(problem: Problem, rank: int, rng: np.random.RandomState) -> Any:
    """Return F of shape (n, r) with FFᵀ ≈ K, from randomly pivoted Cholesky with at most ``rank`` columns."""
    noise = on_device(np.ones(problem.n), problem.device, np.float64)
    factor = DevicePreconditioner(problem.gram(dtype=np.float64), noise, rank, rng).factor
    return factor if factor.shape[1] else noise[:, None] * 0.0


class DeviceFeatures:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ, of all points, on a device.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory, with a device.
    n_centers : int
        How many centres z to choose by randomly pivoted Cholesky.
    points_per_centre : int
        Among how many random points for each.
    rng : RandomState
        Where randomness comes from.
    """

    def __init__(self, problem: Problem, n_centers: int, points_per_centre: int, rng: np.random.RandomState) -> None:
        self.problem = problem
        count = min(n_centers, problem.n)
        require(
            40.0 * count**2,
            problem.memory // 2,
            f"a model of {count} centres on {problem.device}",
            f"ask for at most {int((problem.memory / 80) ** 0.5)} centres, or give more memory",
        )
        self.indices = self._choose(count, points_per_centre, rng)
        self.centers: Rows = pick(problem.X, self.indices)
        K = self._gram(self.centers).dense()
        self.triangle = _factor(K, JITTER * float(K.trace()))
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

    def _choose(self, count: int, points_per_centre: int, rng: np.random.RandomState) -> np.ndarray:
        problem = self.problem
        affordable = int(problem.memory / 4 / (8 * count))
        some = some_rows(rng, problem.n, max(count, min(max(points_per_centre * count, 1000), affordable)))
        noise = on_device(np.ones(len(some)), problem.device, np.float64)
        pivots = DevicePreconditioner(self._gram(pick(problem.X, some)), noise, count, rng).pivots
        if len(pivots) == 0:
            raise ValueError(f"{problem.kernel!r} is 0 on all of the data, so that no centre explains anything")
        return np.asarray(some[pivots])

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
