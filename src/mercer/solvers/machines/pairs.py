"""One-vs-one: a machine for each pair of classes, scikit-learn's layout of their coefficients, and the votes."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def list_pairs(count: int) -> list[tuple[int, int]]:
    """Return all pairs of classes in scikit-learn's order.

    Examples
    --------
    >>> list_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(count), 2))


def pack_pairs(coef: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Return coefficients (vectors, pairs) in the layout (classes − 1, vectors) of ``dual_coef_``.

    A vector of class i takes part in the pairs of i with each other class j; its coefficient there is in row j, or
    j − 1 if j > i.
    """
    result = np.zeros((count - 1, len(codes)))
    for column, (i, j) in enumerate(list_pairs(count)):
        for own, row in ((i, j - 1), (j, i)):
            chosen = codes == own
            result[row, chosen] = coef[chosen, column]
    return result


def choose_winners(values: np.ndarray, count: int) -> np.ndarray:
    """Return the class with most votes, the first of equals, from values (points, pairs) positive for the first."""
    votes = np.zeros((len(values), count), dtype=np.intp)
    for column, (i, j) in enumerate(list_pairs(count)):
        first = values[:, column] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
    return np.asarray(votes.argmax(axis=1))
