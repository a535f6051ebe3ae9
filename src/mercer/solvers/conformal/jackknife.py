"""The jackknife+ and CV+ of Barber, Candès, Ramdas and Tibshirani: points are judged by models that never saw them."""

from __future__ import annotations

import numpy as np

from .ranks import find_ranks, join_ends, pick_rank

BLOCK_BYTES = 2**26  # of predictions at a time


def jackknife_plus(
    left_out: np.ndarray, errors: np.ndarray, coverage: float, scales: np.ndarray | None = None
) -> np.ndarray:
    """Return ranks of f₋ᵢ(x) − Rᵢ and f₋ᵢ(x) + Rᵢ over all i, where Rᵢ = abs(yᵢ − f₋ᵢ(xᵢ)).

    The lower end is the ⌊(1 − coverage)(n + 1)⌋-th smallest of the former, the upper end the ⌈coverage·(n + 1)⌉-th of
    the latter.  If points are exchangeable and models treat them alike, a new target lies inside with a probability of
    at least 1 − 2(1 − coverage), in the worst case, and of about ``coverage`` where models are stable.

    Parameters
    ----------
    left_out : array of shape (m, n) or (m, n, q)
        f₋ᵢ(x), what the model without point i predicts at new points.
    errors : array of shape (n,) or (n, q)
        Rᵢ.
    coverage : float
        Between 0 and 1.
    scales : array of the shape of ``left_out``, optional
        s₋ᵢ(x), by which errors at x are measured; ``errors`` are then Rᵢ/s₋ᵢ(xᵢ).

    Returns
    -------
    array of shape (m, 2) or (m, q, 2)

    Examples
    --------
    >>> jackknife_plus(np.array([[0.0, 0.1, 0.2]]), np.array([1.0, 2.0, 3.0]), 0.75)
    array([[-2.8,  3.2]])
    """
    below, above = find_ranks(len(errors), coverage)
    radii = errors if scales is None else errors * scales
    return join_ends(pick_rank(left_out - radii, below), pick_rank(left_out + radii, above))


def cv_plus(
    by_fold: np.ndarray,
    fold_of: np.ndarray,
    errors: np.ndarray,
    coverage: float,
    scales: np.ndarray | None = None,
) -> np.ndarray:
    """Return the same with few models: point i is judged by the one that was fitted without the fold of i.

    Of K folds of n points, the probability is at least 1 − 2(1 − coverage) − √(2/n), in the worst case.

    Parameters
    ----------
    by_fold : array of shape (m, K) or (m, K, q)
        What the models without each fold predict at new points.
    fold_of : int array of shape (n,)
        The fold of each point.
    errors : array of shape (n,) or (n, q)
        abs(yᵢ − f(xᵢ)) with the model without the fold of i; divided by its scale, if there are ``scales``.
    coverage : float
        Between 0 and 1.
    scales : array of the shape of ``by_fold``, optional
        The scale of errors at new points that belongs to each model.

    Returns
    -------
    array of shape (m, 2) or (m, q, 2)

    Examples
    --------
    >>> cv_plus(np.array([[0.0, 0.2]]), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]), 0.75)
    array([[-2.8,  3.2]])
    """
    step = max(1, BLOCK_BYTES // (8 * 4 * max(errors.size, 1)))
    parts = []
    for start in range(0, max(len(by_fold), 1), step):
        some = slice(start, start + step)
        measured = None if scales is None else scales[some][:, fold_of]
        parts.append(jackknife_plus(by_fold[some][:, fold_of], errors, coverage, measured))
    return np.concatenate(parts)
