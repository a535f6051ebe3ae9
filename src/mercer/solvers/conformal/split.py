"""Split conformal: the errors at points held out are those at new points."""

from __future__ import annotations

import numpy as np

from .ranks import find_ranks, pick_rank


def split_conformal(
    predictions: np.ndarray, errors: np.ndarray, coverage: float, scales: np.ndarray | None = None
) -> np.ndarray:
    """Return the prediction ± the ⌈coverage·(n + 1)⌉-th smallest error at n points held out.

    If new points and those held out are exchangeable, a target lies inside with a probability of at least ``coverage``,
    and of at most coverage + 1/(n + 1) where no errors are equal.

    Parameters
    ----------
    predictions : array of shape (m,) or (m, q)
        Of a model that has not seen the points held out.
    errors : array of shape (n,) or (n, q)
        abs(y − f(x)) at the points held out; divided by scales there, if there are ``scales``.
    coverage : float
        Between 0 and 1.
    scales : array of the shape of the predictions, optional
        By how much wider intervals are in some places than in others.

    Returns
    -------
    array of shape (m, 2) or (m, q, 2), infinite if n is too small

    Examples
    --------
    >>> split_conformal(np.array([0.0, 5.0]), np.array([1.0, 3.0, 2.0, 4.0]), 0.5)
    array([[-3.,  3.],
           [ 2.,  8.]])
    """
    radius = pick_rank(errors[None], find_ranks(len(errors), coverage)[1])
    radius = radius if scales is None else radius * scales
    return np.stack([predictions - radius, predictions + radius], axis=-1)
