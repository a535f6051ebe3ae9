"""Rows of a table, encoded in one way or another, each way once; and fits that leave some of them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.formula.data import Rows, pick

from ..tables.encoder import TableEncoder

Folds = list[tuple[np.ndarray, np.ndarray]]  # positions to fit, and to leave out


@dataclass(frozen=True)
class EncodedRows:
    """Rows, the encoder that made them, and the name of the encoding."""

    encoder: TableEncoder
    rows: Rows
    way: str


class Encodings:
    """The rows X that candidates are compared on, in every encoding that is asked for.

    ``goals`` are their targets as numbers, of shape (n, q), for the statistics of categories.
    """

    def __init__(self, encoder: TableEncoder, X: Rows, goals: np.ndarray) -> None:
        self.encoder = encoder
        self._X, self._goals = X, goals
        self._made: dict[str, EncodedRows] = {}

    def encode(self, way: str = "indicators") -> EncodedRows:
        """Return the rows with indicators or statistics of categories, or with categories themselves in a frame."""
        if way not in self._made:
            self._made[way] = encode_rows(self.encoder, way, self._X, self._goals)
        return self._made[way]


def encode_rows(encoder: TableEncoder, way: str, X: Rows, goals: np.ndarray) -> EncodedRows:
    """Return training rows in an encoding; statistics of a row do not know its own target."""
    if way == "statistics":
        return EncodedRows(*encoder.variant(categories="statistics").relearn(X, goals), way)
    if way == "frame":
        encoder = encoder.variant(categories="overlap", output="frame", texts="strings")
    return EncodedRows(encoder, encoder.transform(X), way)


def shuffle_folds(n: int, k: int, rng: np.random.RandomState, labels: np.ndarray | None = None) -> Folds:
    """Return k folds of n rows, as positions to fit and to leave out.

    With labels every fold has its share of each class, and the only row of a class is never left out.
    """
    order = rng.permutation(n)
    if labels is not None:  # rows of a class follow each other, and go to the folds in turn
        order = order[np.argsort(labels[order], kind="stable")]
        order = order[np.bincount(labels)[labels[order]] > 1]
    held = [np.sort(order[i::k]) for i in range(k)]
    return [(np.setdiff1d(np.arange(n), fold), fold) for fold in held if len(fold)]


def leave_out(estimator: Any, rows: Rows, y: np.ndarray, folds: Folds, method: str, out: np.ndarray) -> np.ndarray:
    """Fill ``out`` with what fits without each fold make of it, and return it."""
    for fit, held in folds:
        model: Any = clone(estimator).fit(pick(rows, fit), y[fit])
        out[held] = getattr(model, method)(pick(rows, held))
    return out
