"""Rows of a table, encoded in one way or another, each way once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.formula.data import pick

from .encoder import TableEncoder

Folds = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class View:
    """Encoded rows, and the encoder that made them."""

    encoder: TableEncoder
    rows: Any


class Tables:
    """The rows that candidates are compared on, in every encoding that is asked for.

    Parameters
    ----------
    encoder : TableEncoder
        A fitted encoder.
    X : table
        The rows.
    """

    def __init__(self, encoder: TableEncoder, X: Any) -> None:
        self.encoder = encoder
        self._X = X
        self._views: dict[tuple[str, str], View] = {}

    @property
    def mixed(self) -> bool:
        """Whether there are categories, which can be encoded in two ways."""
        return bool(self.encoder.variant(categories="overlap").names("categorical"))

    def view(self, categories: str = "indicators", output: str = "auto") -> View:
        """Return the rows in an encoding."""
        key = (categories, output)
        if key not in self._views:
            encoder = self.encoder.variant(categories=categories, output=output)
            self._views[key] = View(encoder, encoder.transform(self._X))
        return self._views[key]


def shuffled_folds(n: int, k: int, rng: Any, labels: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return k folds of n rows, as positions to fit and to leave out.

    With labels every fold has its share of each class, and the only row of a class is never left out.

    Examples
    --------
    >>> import numpy as np
    >>> folds = shuffled_folds(5, 2, np.random.RandomState(0), np.array([0, 0, 1, 1, 2]))
    >>> sorted(np.concatenate([held for _, held in folds]).tolist())
    [0, 1, 2, 3]
    """
    order = rng.permutation(n)
    if labels is not None:  # rows of a class follow each other, and go to the folds in turn
        order = order[np.argsort(labels[order], kind="stable")]
        order = order[np.bincount(labels)[labels[order]] > 1]
    held = [np.sort(order[i::k]) for i in range(k)]
    return [(np.setdiff1d(np.arange(n), fold), fold) for fold in held if len(fold)]


def left_out(models: Sequence[Any], rows: Any, y: np.ndarray, folds: Folds, method: str, out: np.ndarray) -> np.ndarray:
    """Fill ``out`` with what fits without each fold make of it, one estimator for each fold, and return it."""
    for estimator, (fit, held) in zip(models, folds, strict=True):
        model = clone(estimator).fit(pick(rows, fit), y[fit])
        out[held] = getattr(model, method)(pick(rows, held))
    return out
