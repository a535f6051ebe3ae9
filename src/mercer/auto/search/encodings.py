"""Rows of a table, encoded in one way or another, each way once; and fits that leave some of them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from mercer.formula.data import Rows, pick

from ..tables.encoder import TableEncoder

Folds = list[tuple[np.ndarray, np.ndarray]]  # positions to fit, and to leave out


@dataclass(frozen=True)
class EncodedRows:
    """Rows, and the encoder that made them."""

    encoder: TableEncoder
    rows: Rows


class Encodings:
    """The rows X that candidates are compared on, in every encoding that is asked for."""

    def __init__(self, encoder: TableEncoder, X: Rows) -> None:
        self.encoder = encoder
        self._X = X
        self._made: dict[tuple[str, str], EncodedRows] = {}

    @property
    def has_categories(self) -> bool:
        """Whether there are categories, which can be encoded in two ways."""
        return bool(self.encoder.variant(categories="overlap").names("categorical"))

    def encode(self, categories: str = "indicators", output: str = "auto") -> EncodedRows:
        """Return the rows in an encoding."""
        key = (categories, output)
        if key not in self._made:
            texts = "strings" if categories == "overlap" else "words"  # for kernels on columns
            encoder = self.encoder.variant(categories=categories, output=output, texts=texts)
            self._made[key] = EncodedRows(encoder, encoder.transform(self._X))
        return self._made[key]


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


def leave_out(
    models: Sequence[BaseEstimator], rows: Rows, y: np.ndarray, folds: Folds, method: str, out: np.ndarray
) -> np.ndarray:
    """Fill ``out`` with what fits without each fold make of it, one estimator for each fold, and return it."""
    for estimator, (fit, held) in zip(models, folds, strict=True):
        model: Any = clone(estimator).fit(pick(rows, fit), y[fit])
        out[held] = getattr(model, method)(pick(rows, held))
    return out
