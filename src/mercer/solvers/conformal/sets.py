"""Sets of classes that hold the right one with a given probability, from what models say of points they have not seen.

The score of class c at x is s(x, c) = max f_j(x) − f_c(x) over the other classes j: below 0 for the class that wins,
and large for one that is far behind.  Let sᵢ be the score of point i and its own class under a model without it.  Class
c is in the set of x if fewer than coverage·(n + 1) points have sᵢ < s(x, c).

Where the model without point i also judges x, one of k folds, this is CV+ (Romano, Sesia and Candès, 2020): if points
are exchangeable, sets hold with a probability of at least 2·coverage − 1, less about 1/k, whatever the distribution,
and of about the coverage in practice.  Where points are left out one at a time, and the model of all points judges x,
the probability tends to the coverage if leaving out one point changes the model little, and nothing is proved if not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mercer.arrays.shapes import Axes

from .ranks import find_ranks


def measure_scores(values: np.ndarray) -> np.ndarray:
    """Return s(x, c) of all classes, shape (m, classes), from the value of the second of two classes or of each.

    Examples
    --------
    >>> measure_scores(np.array([1.5]))
    array([[ 1.5, -1.5]])
    >>> measure_scores(np.array([[2.0, 0.5, -1.0]]))
    array([[-1.5,  1.5,  3. ]])
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([values, -values])
    ordered = np.sort(values, axis=1)
    first = values == ordered[:, -1:]
    return np.asarray(np.where(first, ordered[:, -2:-1], ordered[:, -1:]) - values)


def assign_folds(codes: np.ndarray, count: int) -> np.ndarray:
    """Return the fold of each point, at random with a fixed seed, the points of each class spread evenly.

    The names of classes play no part.

    Examples
    --------
    >>> folds = assign_folds(np.repeat([0, 1], [6, 3]), 3)
    >>> np.bincount(folds), np.bincount(folds[:6])
    (array([3, 3, 3]), array([2, 2, 2]))
    """
    order = np.random.default_rng(0).permutation(len(codes))
    folds = np.empty(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        members = order[codes[order] == code]
        folds[members] = np.arange(len(members)) % count
    return folds


@dataclass(frozen=True)
class Conformity:
    """The scores of points and their own classes under models that have not seen them.

    Parameters
    ----------
    scores : array of shape (n,)
        sᵢ; infinite where nothing was known of the class.
    codes : int array of shape (n,)
        The classes, as positions among all.
    folds : int array of shape (n,)
        Which model each point was left out of; all 0 where there is one model to judge new points.

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 1])
    >>> known = Conformity(np.array([-2.0, -1.0, 0.5, -3.0]), codes, np.zeros(4, dtype=np.int64))
    >>> known.choose([measure_scores(np.array([0.2, 1.0]))], 0.6, conditional=False)
    array([[False, False],
           [False,  True]])
    >>> known.choose([measure_scores(np.array([0.2, 1.0]))], 0.8, conditional=False)
    array([[ True,  True],
           [False,  True]])
    """

    scores: Annotated[np.ndarray, Axes("n")]
    codes: Annotated[np.ndarray, Axes("n", below="c")]
    folds: Annotated[np.ndarray, Axes("n", below="k")]

    def choose(self, judged: Iterable[np.ndarray], coverage: float, *, conditional: bool) -> np.ndarray:
        """Return which classes are in the set of each point, shape (m, classes).

        ``judged`` are s(x, c) of new points under the model of each fold, in their order; ``conditional`` compares a
        class with the points of its own only.
        """
        ahead = np.zeros((0, 0), dtype=np.int64)
        for fold, scores in enumerate(judged):
            ahead = np.zeros(scores.shape, dtype=np.int64) if fold == 0 else ahead
            here = self.folds == fold
            for c in range(scores.shape[1]):
                others = here & (self.codes == c) if conditional else here
                ahead[:, c] += np.searchsorted(np.sort(self.scores[others]), scores[:, c], side="left")
        return np.asarray(ahead < self._rank(coverage, ahead.shape[1], conditional=conditional))

    def find_free(self, coverage: float, classes: int, *, conditional: bool) -> np.ndarray:
        """Return the classes that are in every set, because too few points could keep them out.

        Examples
        --------
        >>> known = Conformity(np.zeros(12), np.repeat([0, 1], [10, 2]), np.zeros(12, dtype=np.int64))
        >>> known.find_free(0.9, 2, conditional=True)
        array([1])
        """
        counts = self._count(classes, conditional=conditional)
        return np.flatnonzero(self._rank(coverage, classes, conditional=conditional) > counts)

    def _count(self, classes: int, *, conditional: bool) -> np.ndarray:
        if conditional:
            return np.bincount(self.codes, minlength=classes)
        return np.full(classes, len(self.codes))

    def _rank(self, coverage: float, classes: int, *, conditional: bool) -> np.ndarray:
        """Return how many points must be ahead of a class to keep it out."""
        counts = self._count(classes, conditional=conditional)
        return np.array([find_ranks(count, coverage)[1] for count in counts.tolist()])
