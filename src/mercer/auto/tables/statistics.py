"""What the targets of a category are on average, without any row's own target.

For a category i with nᵢ rows of mean target ȳᵢ, and the mean ȳ and deviation σ of all targets, the statistic is

    tᵢ = (nᵢ / (nᵢ + m)) (ȳᵢ − ȳ) / σ,

a mean that is pulled to the overall one as if m more rows were there.  m is the variance within categories over the
variance between them (the best linear guess if categories are random), between 1 and 1000.  A category without rows
has tᵢ = 0.  Training rows take the statistics of the four fifths of the rows that they are not among.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold

FOLDS = 5
SEED = 0  # of the folds: rows of one table are always shared out in the same way
MOST_TARGETS = 10
LEAST, MOST, UNKNOWN = 1.0, 1000.0, 10.0  # of m; the last if no category has two rows


def check_goals(y: ArrayLike | None, n: int) -> np.ndarray:
    """Return targets as columns of floats, at most ten: of indicators of classes, those of the most frequent.

    Two columns that always add up to the same are one: the second.
    """
    if y is None:
        raise ValueError(
            'TableEncoder(categories="statistics") requires y to be passed, but the target y is None: call fit(X, y) '
            "or relearn(X, y) with numbers, one column for each class or output"
        )
    goals = np.asarray(y)
    if goals.dtype.kind not in "iufb" or goals.ndim > 2 or len(goals) != n:
        raise ValueError(
            f"TableEncoder: the statistics of categories need y as numbers of shape ({n},) or ({n}, outputs), classes "
            f"as columns of 0 and 1; got {goals.dtype} of shape {goals.shape}"
        )
    goals = goals.astype(np.float64).reshape(n, -1)
    if goals.shape[1] == 2 and np.ptp(goals.sum(axis=1)) == 0:
        return goals[:, 1:]
    kept = np.sort(np.argsort(-goals.mean(axis=0), kind="stable")[:MOST_TARGETS])
    return goals[:, kept]


def learn_statistics(codes: np.ndarray, levels: int, goals: np.ndarray) -> np.ndarray:
    """Return the statistics of all categories, and last those of an unknown one, of shape (levels + 1, q).

    Parameters
    ----------
    codes : int array of shape (n,)
        The category of each row, −1 for one that is unknown.
    levels : int
        How many there are.
    goals : array of shape (n, q)
        Targets.

    Examples
    --------
    >>> learn_statistics(np.array([0, 0, 1, 1]), 2, np.array([[0.0], [0.0], [1.0], [1.0]])).round(2).tolist()
    [[-0.67], [0.67], [0.0]]
    """
    codes, goals = codes[codes >= 0], goals[codes >= 0]
    found = np.zeros((levels + 1, goals.shape[1]))
    if len(codes):
        mean, deviation = goals.mean(axis=0), goals.std(axis=0)
        away = (goals - mean) / np.where(deviation > 0, deviation, 1.0)
        counts = np.bincount(codes, minlength=levels)
        for j, column in enumerate(away.T):
            sums = np.bincount(codes, weights=column, minlength=levels)
            found[:-1, j] = sums / (counts + find_pull(counts, sums, float(column @ column)))
    return found


def find_pull(counts: np.ndarray, sums: np.ndarray, squares: float) -> float:
    """Return m, from the number of rows of each category, their sums of centred targets, and the sum of all squares."""
    counts, sums = counts[counts > 0], sums[counts > 0]
    n, levels = int(counts.sum()), len(counts)
    if levels < 2 or n <= levels:
        return UNKNOWN
    explained = float((sums**2 / counts).sum())
    within = max(squares - explained, 0.0) / (n - levels)
    size = (n - float((counts.astype(np.float64) ** 2).sum()) / n) / (levels - 1)
    between = (explained / (levels - 1) - within) / size
    return float(np.clip(within / between, LEAST, MOST)) if between > 0 else MOST


def cross_fit(codes: np.ndarray, levels: int, goals: np.ndarray) -> np.ndarray:
    """Return the statistics of the categories of training rows, each from the folds it is not in, of shape (n, q)."""
    found = np.zeros(goals.shape)
    if len(codes) > 1:
        for fit, held in KFold(min(FOLDS, len(codes)), shuffle=True, random_state=SEED).split(codes):
            found[held] = learn_statistics(codes[fit], levels, goals[fit])[codes[held]]
    return found
