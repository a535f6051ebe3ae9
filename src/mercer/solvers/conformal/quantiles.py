"""Conformalised quantiles: a band between two quantiles, made as much wider as the points left out ask for."""

from __future__ import annotations

import numpy as np

from .ranks import find_ranks, join_ends, pick_rank


def measure_excess(bands: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return how far targets are outside of their bands, negative inside: max(lower − y, y − upper).

    Examples
    --------
    >>> measure_excess(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.5, 0.75]))
    array([ 0.5 , -0.25])
    """
    return np.maximum(bands[:, 0] - targets, targets - bands[:, -1])


def split_quantiles(bands: np.ndarray, excess: np.ndarray, coverage: float) -> np.ndarray:
    """Return bands moved outwards by the ⌈coverage·(n + 1)⌉-th smallest excess at n points held out (Romano et al.).

    A new target lies inside with a probability of at least ``coverage``, if points are exchangeable.

    Parameters
    ----------
    bands : array of shape (m, 2)
        Two quantiles at new points, of a model that has not seen the points held out.
    excess : array of shape (n,)
        What :func:`measure_excess` gives at those.
    coverage : float
        Between 0 and 1.

    Examples
    --------
    >>> split_quantiles(np.array([[0.0, 1.0]]), np.array([0.1, -0.2, 0.3, 0.2]), 0.6)
    array([[-0.2,  1.2]])
    """
    radius = pick_rank(excess[None], find_ranks(len(excess), coverage)[1])
    return join_ends(bands[:, 0] - radius, bands[:, -1] + radius)


def quantiles_plus(by_fold: np.ndarray, fold_of: np.ndarray, excess: np.ndarray, coverage: float) -> np.ndarray:
    """Return the same with every point left out once: ranks of lower₋ᵢ(x) − Eᵢ and upper₋ᵢ(x) + Eᵢ, as in CV+.

    No points are given up to be held out; the price is the promise of CV+, at least 1 − 2(1 − coverage) − √(2/n) in
    the worst case (Gupta, Kuchibhotla and Ramdas).

    Parameters
    ----------
    by_fold : array of shape (m, K, 2)
        Two quantiles at new points, of the models without each fold.
    fold_of : int array of shape (n,)
        The fold of each point.
    excess : array of shape (n,)
        What :func:`measure_excess` gives at each point with the model without its fold.
    coverage : float
        Between 0 and 1.

    Examples
    --------
    >>> quantiles_plus(np.array([[[0.0, 1.0]]]), np.array([0, 0, 0]), np.array([0.5, -0.1, 0.2]), 0.75)
    array([[-0.5,  1.5]])
    """
    below, above = find_ranks(len(excess), coverage)
    lower, upper = by_fold[:, fold_of, 0] - excess, by_fold[:, fold_of, -1] + excess
    return join_ends(pick_rank(lower, below), pick_rank(upper, above))
