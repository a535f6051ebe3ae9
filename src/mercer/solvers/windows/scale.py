"""The length scale of a window, found by leaving every point out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory, require
from mercer.formula.data import Rows, length, pick
from mercer.formula.expression import Stat, evaluate
from mercer.formula.program import anonymous
from mercer.formula.statistics import Scaled
from mercer.gram.choice import choose_backend
from mercer.kernels import Kernel

from ..neighbors.distance import only_statistic
from .sums import logarithm

ENTRIES = 2**22  # pairs of points the criterion looks at: all up to 2,048 points, then all with some
STEPS = 15  # length scales tried before the best is refined
PRECISION = 1e-3  # of the logarithm of the length scale


class Search(NamedTuple):
    """The length scale found, those tried with their criterion, and how many points were left out in turn."""

    length_scale: float
    tried: np.ndarray
    losses: np.ndarray
    points: int


class LeaveOneOut:
    """Logarithms of a window between some points, the queries, and all others, for any length scale.

    Distances are computed once and kept.  All points at the same place are left out together, so that repeating a point
    is as good as giving it a weight, and copies of a point do not make narrow windows look good.

    Parameters
    ----------
    owner : estimator
        For messages.
    kernel : Kernel
        The window, with one length scale.
    X : collection of n objects
        The points.
    memory : int or str, optional
        Budget in bytes.
    random_state : int, RandomState or None
        The seed of the choice of queries where not all points can be.
    """

    def __init__(self, owner: object, kernel: Kernel, X: Rows, memory: Any, random_state: Any) -> None:
        n, name = length(X), type(owner).__name__
        statistic = only_statistic(anonymous(kernel.traced()))
        if not isinstance(statistic, Scaled):
            raise ValueError(
                f"{name}: a length scale can be searched for only if the window is a function of one distance, and "
                f"{kernel!r} is not; give it its length scale"
            )
        budget = parse_memory(memory)
        count = min(n, max(1, min(ENTRIES, budget // 64) // n))
        require(64 * n * count, budget, f"the distances of one point to {n} others", "give length_scale a number")
        every = np.arange(n)
        self.queries = (
            every if count == n else np.sort(check_random_state(random_state).choice(n, count, replace=False))
        )
        self._kernel: Any = kernel
        tile = choose_backend(Stat(statistic), pick(X, self.queries), X, repr(kernel), "auto", np.float64)
        self._values = tile.tile(slice(0, count), slice(0, n))
        self._same = self._values == 0
        self._order = statistic.order

    def log_window(self, length_scale: float) -> np.ndarray:
        """Return log k between each query and each point, −inf where the two are at the same place."""
        formula = anonymous(self._kernel.with_params(length_scale=length_scale).traced())
        undone = logarithm(formula)
        values = evaluate(formula if undone is None else undone, lambda _: self._values, lambda _: self._values)
        with np.errstate(divide="ignore"):
            result = np.log(values) if undone is None else np.array(values, dtype=np.float64)
        result[self._same] = -np.inf
        return np.asarray(result)

    def remaining(self, V: np.ndarray) -> np.ndarray:
        """Return the sum of each column of V over the points that are left when a query is left out."""
        return np.asarray(V.sum(axis=0) - self._same @ V)

    def minimise(self, loss: Callable[[float], float]) -> Search:
        """Return the length scale of least loss, between a tenth of small and twice the largest distance.

        A grid over the whole range finds the valley, and a bounded search its bottom.
        """
        distances = self._values ** (1.0 / self._order)
        positive = np.where(distances > 0, distances, np.inf).min(axis=1)
        positive = positive[np.isfinite(positive)]
        if len(positive) == 0:  # all points are the same one: no scale is better than another
            return Search(1.0, np.empty(0), np.empty(0), 0)
        small = np.quantile(np.unique(positive), 0.05)  # of different numbers, so that repetitions do not count
        low, high = np.log(0.1 * small), np.log(2.0 * distances.max())
        tried = list(np.linspace(low, high, STEPS))
        losses = [loss(float(np.exp(t))) for t in tried]

        def traced(t: float) -> float:
            tried.append(t)
            losses.append(loss(float(np.exp(t))))
            return losses[-1] if np.isfinite(losses[-1]) else float(np.finfo(np.float64).max)

        best = int(np.argmin(losses))
        bounds = (tried[max(best - 1, 0)], tried[min(best + 1, STEPS - 1)])
        minimize_scalar(traced, bounds=bounds, method="bounded", options={"xatol": PRECISION})
        order = np.argsort(tried, kind="stable")
        scales, values = np.exp(np.array(tried)[order]), np.array(losses)[order]
        return Search(float(scales[np.argmin(values)]), scales, values, len(self.queries))
