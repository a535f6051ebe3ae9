"""Folds of the points of a fit that have a weight."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

Folds = Sequence[tuple[np.ndarray, np.ndarray]]  # positions to fit and to predict


def split_kept(cv: Any, n: int, kept: np.ndarray, targets: np.ndarray | None, classifier: bool) -> list[Any]:
    """Return the folds of the points kept of n, as positions among them.

    Numbers and splitters split those points as if there were no others; splits that are given are of all n.

    Examples
    --------
    >>> split_kept([([0, 1, 2], [3, 4])], 5, np.array([0, 2, 4]), None, False)
    [(array([0, 1]), array([2]))]
    """
    if cv is None or isinstance(cv, numbers.Integral) or hasattr(cv, "split"):
        splitter = check_cv(cv, targets, classifier=classifier)
        return [tuple(map(np.asarray, split)) for split in splitter.split(np.zeros((len(kept), 1)), targets)]
    where, every = np.full(n, -1), np.arange(n)  # splits may also be given as masks
    where[kept] = np.arange(len(kept))
    found = [(where[every[np.asarray(fit)]], where[every[np.asarray(held)]]) for fit, held in cv]
    return [(fit[fit >= 0], held[held >= 0]) for fit, held in found]


def folds_among(cv: Any, n: int, kept: np.ndarray, labels: np.ndarray | None = None) -> Folds | None:
    """Return scikit-learn's folds of the points kept of n, as positions among them; None for leaving out each once.

    Labels are those of the points kept.

    Examples
    --------
    >>> import numpy as np
    >>> folds_among(3, 6, np.array([0, 1, 4]))[0]
    (array([1, 2]), array([0]))
    """
    if cv is None:
        return None
    folds = split_kept(cv, n, kept, labels, labels is not None)
    return [(fit, held) for fit, held in folds if len(fit) and len(held)]
