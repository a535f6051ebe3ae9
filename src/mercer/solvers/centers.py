"""Which points stand for all: centres by randomly pivoted Cholesky, or at random, wherever the problem is."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.tensors import is_tensor
from mercer.formula.data import pick
from mercer.gram import Gram
from mercer.linalg.cholesky import factorize_shifted, pick_independent
from mercer.linalg.pivoting import PivotedCholesky

from .base import Problem

PER_CENTER = 8
LEAST = 1000  # of these points in all
PERMUTED = 2**26  # rows up to which a permutation of all is cheap next to whatever is done with them
JITTER = 64 * float(np.finfo(np.float64).eps)  # of the trace, added to a matrix on a device until it has a factor

Selection = Literal["rpcholesky", "uniform"]


def draw_rows(rng: np.random.RandomState, n: int, count: int) -> np.ndarray:
    """Return ``count`` of the numbers below n, or all of them if there are fewer, in random order.

    Examples
    --------
    >>> import numpy as np
    >>> draw_rows(np.random.RandomState(0), 5, 3)
    array([2, 0, 1])
    >>> len(np.unique(draw_rows(np.random.RandomState(0), 10**12, 1000)))
    1000
    """
    if n <= PERMUTED or 8 * count >= n:
        return np.array(rng.permutation(n)[:count])  # a view would keep all of them
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        found = np.concatenate([found, rng.randint(0, n, size=count - len(found), dtype=np.int64)])
        found = found[np.sort(np.unique(found, return_index=True)[1])]  # the first of equals stays where it is
    return found


class Candidates:
    """Random points among which centres are found; those taken first stay when more are taken.

    Parameters
    ----------
    problem : Problem
        Kernel, points, memory and place.
    most : int
        How many centres may be asked for.
    rng : RandomState
        Where randomness comes from.
    selection : {"rpcholesky", "uniform"}
        By randomly pivoted Cholesky, which looks for what is not explained yet, or uniformly.
    per_center : int
        How many random points for each centre, among which it is looked for.
    """

    def __init__(
        self,
        problem: Problem,
        most: int,
        rng: np.random.RandomState,
        selection: Selection = "rpcholesky",
        per_center: int = PER_CENTER,
    ) -> None:
        self._problem, self._factor = problem, None
        if selection == "uniform":
            self._points = draw_rows(rng, problem.n, most)
            return
        # The factor that finds the pivots may take a quarter of the budget.
        affordable = max(most, int(problem.memory / 4 / (8 * most)))
        self._points = draw_rows(rng, problem.n, min(problem.n, max(per_center * most, LEAST), affordable))
        self._factor = PivotedCholesky.of(self._gram(self._points), rng)

    def take(self, count: int) -> tuple[np.ndarray, Array]:
        """Return which points are centres z, up to ``count`` of them, and L of K_zz = LLᵀ, where the problem is."""
        if self._factor is None:
            indices = self._points[:count]
            kept, triangle = _factorize(self._gram(indices).dense())
            return indices[kept], triangle
        self._factor.grow(count)
        if not len(self._factor.pivots):
            raise ValueError(f"{self._problem.kernel!r} is 0 on all of the data, so that no centre explains anything")
        return self._points[self._factor.pivots], self._factor.triangle

    def _gram(self, indices: np.ndarray) -> Gram:
        problem = self._problem
        points = pick(problem.X, indices)
        return Gram(problem.kernel, points, memory=problem.memory, dtype=np.float64, device=problem.device)


def choose_centers(problem: Problem, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, Array]:
    """Return which points are centres, found by randomly pivoted Cholesky, and the factor L of their K_zz = LLᵀ."""
    count = min(count, problem.n)
    require(
        40.0 * count**2,
        problem.memory // 2,
        f"a model of {count} centres{'' if problem.place.on_host else f' on {problem.place}'}",
        f"ask for at most {int((problem.memory / 80) ** 0.5)} centres, or give more memory",
    )
    return Candidates(problem, count, rng).take(count)


def _factorize(K: Array) -> tuple[np.ndarray, Array]:
    """Return rows that explain all others, and the Cholesky factor of K there; on a device all rows, with a shift."""
    if is_tensor(K):
        return np.arange(len(K)), factorize_shifted(K, 0.0, JITTER * float(K.trace()))[0]
    return pick_independent(K)
