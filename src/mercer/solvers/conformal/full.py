"""Full conformal intervals where residuals are linear in the new target, as they are in ridge regression."""

from __future__ import annotations

import numpy as np

from .ranks import find_ranks


def full_conformal(offsets: np.ndarray, slopes: np.ndarray, coverage: float) -> np.ndarray:
    """Return the hull of all new targets that are no stranger than the points there are.

    A target t at a new point, counted from what the model predicts there, changes the residuals of all points in the
    fit to n + 1 points to aᵢ + bᵢt, and its own is t.  It belongs to the set if
    1 + #{i : abs(aᵢ + bᵢt) ≥ abs(t)} > (1 − coverage)(n + 1).  The set holds the new target with a probability of at
    least ``coverage``, exactly, if points are exchangeable; its hull does so all the more (Nouretdinov, Melluish and
    Vovk, the ridge regression confidence machine).

    Every point is on the side of t from 0 on to where abs(aᵢ + bᵢt) first falls below abs(t), and where bᵢ < −1 once
    more from some place on.  The ends of the hull are found by sorting these places.

    Parameters
    ----------
    offsets, slopes : arrays of shape (m, n)
        aᵢ and bᵢ, for each of m new points.
    coverage : float
        Between 0 and 1.

    Returns
    -------
    array of shape (m, 2)
        The ends, counted from the predictions.  0 always lies between them.

    Examples
    --------
    Where other residuals do not depend on t, their sizes are sorted:

    >>> full_conformal(np.array([[1.0, -2.0, 3.0]]), np.zeros((1, 3)), 0.5)
    array([[-2.,  2.]])
    """
    rank = find_ranks(offsets.shape[1], coverage)[0]
    return np.column_stack([-_find_end(offsets, -slopes, rank), _find_end(offsets, slopes, rank)])


def _find_end(offsets: np.ndarray, slopes: np.ndarray, rank: int) -> np.ndarray:
    """Return the largest t ≥ 0 at which at least ``rank`` points have residuals of at least t; infinite if all have."""
    if rank < 1:
        return np.full(len(offsets), np.inf)
    b = np.where(offsets < 0, -slopes, slopes)
    a = np.abs(offsets)
    with np.errstate(divide="ignore", invalid="ignore"):
        leaves = np.where(b < 1.0, a / (1.0 - b), np.inf)
        returns = np.where(b < -1.0, -a / (1.0 + b), np.inf)
    leaves[(a == 0.0) & (np.abs(b) >= 1.0)] = np.inf  # such a residual is t itself, or more
    returns[a == 0.0] = np.inf
    leaves = -np.sort(-leaves, axis=1)
    there = np.arange(1, leaves.shape[1] + 1) + np.zeros((len(leaves), 1), dtype=np.int64)
    for row in np.flatnonzero(np.isfinite(returns).any(axis=1)):
        again = np.sort(returns[row][np.isfinite(returns[row])])
        there[row] += np.searchsorted(again, leaves[row], side="right")
        if len(again) + np.count_nonzero(np.isinf(leaves[row])) >= rank:
            leaves[row, 0], there[row, 0] = np.inf, rank
    return np.asarray(np.take_along_axis(leaves, np.argmax(there >= rank, axis=1)[:, None], axis=1)[:, 0])
