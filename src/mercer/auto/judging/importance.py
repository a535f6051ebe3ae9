"""Which columns matter: what it costs to deal the values of a column out anew among rows held out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from mercer.formula.data import Rows, pick

from ..report import ENOUGH, Importance
from ..tables.frames import copy_cells, name_columns, replace_cells

MOST_ROWS = 1000
LEAST_ROWS = 50  # on which an importance still says something
TOGETHER = 10_000  # rows that are predicted in one call
GROUPS = 10  # of rows, each left out once for the standard error


def measure_importance(
    predict: Callable[[Any], np.ndarray], X: Rows, y: np.ndarray, score: Callable[[np.ndarray, np.ndarray], float],
    rng: np.random.RandomState | np.random.Generator, seconds: float = math.inf, repeats: int = 3,
) -> tuple[Importance, ...]:  # fmt: skip
    """Return by how much the score of a model rises when the values of a column are permuted, most first.

    Copies of the rows, as many as ``repeats``, are predicted as they are and for each column with the values of that
    column permuted within each copy, many columns in one call.  The standard error is that of the jackknife over ten
    groups of rows, so it covers the choice of the rows as well as that of the permutations.

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
    rows, copies = rng.permutation(len(y))[:MOST_ROWS], repeats
    if len(rows) < 2:
        return ()
    base = predict(_repeat(X, rows, copies))
    cost = max(time.perf_counter() - begin, 1e-9)
    room = (seconds - cost) / (cost * (X.shape[1] + 1))  # in calls such as the first
    if room < 1:
        copies = max(1, int(room * repeats))
        rows = rows[: max(LEAST_ROWS, int(len(rows) * min(1.0, room * repeats)))] if copies == 1 else rows
        base = predict(_repeat(X, rows, copies))
    names = [name for name, _ in name_columns(X)]
    size = copies * len(rows)
    cost *= size / (min(len(y), MOST_ROWS) * repeats)  # of one column
    found: list[Importance] = []
    while len(found) < len(names):
        start = time.perf_counter()
        count = int(min(max(1, TOGETHER // size), (seconds - (start - begin)) // cost, len(names) - len(found)))
        if count < 1:
            break
        columns = range(len(found), len(found) + count)
        orders = [[k * len(rows) + rng.permutation(len(rows)) for k in range(copies)] for _ in columns]
        outputs = predict(_permute_columns(_repeat(X, rows, copies * count), columns, orders, size))
        for i, j in enumerate(columns):
            part = outputs[i * size : (i + 1) * size]
            found.append(Importance(names[j], *_measure_rise(y[rows], base, part, copies, score)))
        cost = max(time.perf_counter() - start, 1e-9) / count
    return tuple(sorted(found, key=lambda each: -each.value))


def find_clear(importances: Sequence[Importance], rows: int) -> tuple[Importance, ...]:
    """Return the importances that so many rows show to be above 0: by a one-sided test at 5 %, with Student's t.

    Examples
    --------
    >>> found = (Importance("size", 1.0, 0.1), Importance("place", 0.1, 0.1))
    >>> [each.name for each in find_clear(found, 100)], find_clear(found, 2)
    (['size'], ())
    """
    if rows < ENOUGH:
        return ()
    limit = float(stdtrit(min(GROUPS, rows) - 1, 0.95))
    return tuple(each for each in importances if each.value > limit * each.error)


def _measure_rise(
    y: np.ndarray, base: np.ndarray, outputs: np.ndarray, copies: int, score: Callable[[np.ndarray, np.ndarray], float]
) -> tuple[float, float]:
    """Return the mean rise of the score over all copies, and its standard error by the jackknife."""
    n = len(y)

    def rise(kept: np.ndarray) -> float:
        pairs = [(base[k * n : (k + 1) * n][kept], outputs[k * n : (k + 1) * n][kept]) for k in range(copies)]
        return float(np.mean([score(y[kept], after) - score(y[kept], before) for before, after in pairs]))

    if np.allclose(
        base, outputs, rtol=1e-12, atol=0.0
    ):  # equal rows at other places of a matrix may differ by rounding
        return 0.0, 0.0
    everything = np.arange(n)
    groups = min(GROUPS, n)
    parts = np.array([rise(everything[everything % groups != group]) for group in range(groups)])
    error = math.sqrt((groups - 1) / groups * float(np.sum((parts - parts.mean()) ** 2)))
    return rise(everything), error


def _repeat(X: Rows, rows: np.ndarray, copies: int) -> Any:
    return pick(X, np.tile(rows, copies))


def _permute_columns(X: Any, columns: Iterable[int], orders: list[list[np.ndarray]], size: int) -> Any:
    """Return a table of as many parts as there are columns, each with the values of its column in another order."""
    changed = copy_cells(X)
    for part, (j, order) in enumerate(zip(columns, orders, strict=True)):
        places = np.arange(X.shape[0])
        places[part * size : (part + 1) * size] = part * size + np.concatenate(order)
        changed = replace_cells(changed, j, X, places)
    return changed
