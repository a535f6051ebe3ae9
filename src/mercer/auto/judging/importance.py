"""Which columns matter: what it costs to deal the values of a column out anew among rows held out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.formula.data import Rows, is_frame, pick

from ..report import Importance
from ..tables.encoder import name_columns

MOST_ROWS = 1000
LEAST_ROWS = 50  # on which an importance still says something
GROUPS = 10  # of rows, each left out once for the standard error


def measure_importance(
    predict: Callable[[Any], np.ndarray], X: Rows, y: np.ndarray, score: Callable[[np.ndarray, np.ndarray], float],
    rng: np.random.RandomState | np.random.Generator, seconds: float = math.inf, repeats: int = 3,
) -> tuple[Importance, ...]:  # fmt: skip
    """Return by how much the score of a model rises when the values of a column are permuted, most first.

    Copies of the rows, as many as ``repeats``, are predicted together, once as they are and once for each column with
    the values of that column permuted within each copy.  The standard error is that of the jackknife over ten groups
    of rows, so it covers the choice of the rows as well as that of the permutations.

    Parameters
    ----------
    predict : callable
        Returns what the model makes of a table.
    X : frame or array of shape (m, columns)
        Rows held out; of more than 1,000 some are drawn.
    y : array of shape (m,)
        Their targets.
    score : callable
        Takes targets and predictions and returns a number that is small for good ones.
    rng : numpy random state or generator
        Where permutations come from.
    seconds : float
        The time there is.  Fewer rows and copies are taken if it is short, and columns that it is not enough for are
        left out.
    repeats : int
        Permutations of each column.

    Returns
    -------
    tuple of Importance

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> error = lambda y, outputs: float(np.sqrt(np.mean((y - outputs) ** 2)))
    >>> found = measure_importance(lambda X: X[:, 1], X, X[:, 1], error, np.random.default_rng(0))
    >>> [(each.name, each.value > 0) for each in found]
    [('x1', True), ('x0', False)]
    """
    begin = time.perf_counter()
    rows = rng.permutation(len(y))[:MOST_ROWS]
    if len(rows) < 2:
        return ()
    copies = repeats
    whole = _repeat(X, rows, copies)
    base = predict(whole)
    cost = max(time.perf_counter() - begin, 1e-9)
    room = (seconds - cost) / (cost * (X.shape[1] + 1))  # in calls such as the first
    if room < 1:
        copies = max(1, int(room * repeats))
        rows = rows[: max(LEAST_ROWS, int(len(rows) * min(1.0, room * repeats)))] if copies == 1 else rows
        whole = _repeat(X, rows, copies)
        base = predict(whole)
    found: list[Importance] = []
    longest = 0.0
    for j, (name, _) in enumerate(name_columns(X)):
        start = time.perf_counter()
        if start - begin + longest > seconds:
            break
        orders = [k * len(rows) + rng.permutation(len(rows)) for k in range(copies)]
        outputs = predict(_permute_column(whole, j, np.concatenate(orders)))
        found.append(Importance(name, *_measure_rise(y[rows], base, outputs, copies, score)))
        longest = max(longest, time.perf_counter() - start)
    return tuple(sorted(found, key=lambda each: -each.value))


def _measure_rise(
    y: np.ndarray, base: np.ndarray, outputs: np.ndarray, copies: int, score: Callable[[np.ndarray, np.ndarray], float]
) -> tuple[float, float]:
    """Return the mean rise of the score over all copies, and its standard error by the jackknife."""
    n = len(y)

    def rise(kept: np.ndarray) -> float:
        pairs = [(base[k * n : (k + 1) * n][kept], outputs[k * n : (k + 1) * n][kept]) for k in range(copies)]
        return float(np.mean([score(y[kept], after) - score(y[kept], before) for before, after in pairs]))

    everything = np.arange(n)
    groups = min(GROUPS, n)
    parts = np.array([rise(everything[everything % groups != group]) for group in range(groups)])
    error = math.sqrt((groups - 1) / groups * float(np.sum((parts - parts.mean()) ** 2)))
    return rise(everything), error


def _repeat(X: Rows, rows: np.ndarray, copies: int) -> Any:
    return pick(X, np.tile(rows, copies))


def _permute_column(X: Any, j: int, order: np.ndarray) -> Any:
    """Return a table with the values of one column in another order."""
    if hasattr(X, "iloc"):
        changed = X.copy(deep=False)
        changed.isetitem(j, X.iloc[order, j].array)
        return changed
    if is_frame(X):
        return X.with_columns(X[:, j].gather(order))
    changed = np.array(X)
    changed[:, j] = X[order, j]
    return changed
