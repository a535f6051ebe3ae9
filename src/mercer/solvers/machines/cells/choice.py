"""The choice of a pair (C, kernel) for each cell: that of all cells together, unless its own is clearly better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .grid import PartScores


@dataclass(frozen=True)
class PairChoice:
    """Pairs of cells, and what they were chosen by.

    Parameters
    ----------
    pairs : array of int, shape (cells, 2)
        Positions of C and of the kernel.
    best : array of int, shape (2,)
        Those of all cells together.
    means : array of shape (penalties, kernels)
        Mean losses over all parts.
    folds : array of shape (penalties, kernels, folds)
        The same fold by fold, NaN for pairs that no part has tried in it.
    fits, stopped : int
        Pairs that were tried in a fold of a part, and that were not.
    """

    pairs: np.ndarray
    best: np.ndarray
    means: np.ndarray
    folds: np.ndarray
    fits: int
    stopped: int


def choose_pairs(scores: Sequence[PartScores], owners: Sequence[int], cells: int, shape: tuple[int, int]) -> PairChoice:
    """Choose a pair for every cell, from the scores of parts that belong to them.

    The mean loss of a pair in a part is that over the folds in which it was tried; parts count by their points.  A cell
    takes the pair with the least loss of all cells, unless the least loss in the cell itself is less by more than its
    standard error.
    """
    if not scores:
        places, nothing = np.zeros((cells, 2), dtype=np.int64), np.zeros(shape)
        return PairChoice(places, places[0], nothing, nothing[..., None], 0, 0)
    loss, square, weight = (np.stack([getattr(one, name) for one in scores]) for name in ("loss", "square", "weight"))
    tried = weight > 0
    total = weight.max(axis=(1, 2)).sum(axis=-1)[:, None, None]  # of the points of a part
    factor = total / weight.sum(axis=-1)  # what is known of a part stands for all of it
    sums, errors = factor * loss.sum(axis=-1), factor**2 * square.sum(axis=-1)
    means = sums.sum(axis=0) / total.sum()
    best, pairs = int(means.argmin()), []
    for cell in range(cells):
        own = np.array(owners) == cell
        here, mass = sums[own].sum(axis=0).ravel(), float(total[own].sum())
        first = int(here.argmin())
        error = float(np.sqrt(errors[own].sum(axis=0).ravel()[first]))
        pairs.append(first if here[best] > here[first] + error and mass > 0 else best)
    with np.errstate(invalid="ignore"):
        folds = loss.sum(axis=0) / weight.sum(axis=0)
    chosen = np.column_stack(np.unravel_index(pairs, shape)).astype(np.int64)
    at = np.array(np.unravel_index(best, shape), dtype=np.int64)
    return PairChoice(chosen, at, means, folds, int(tried.sum()), int((~tried).sum()))
