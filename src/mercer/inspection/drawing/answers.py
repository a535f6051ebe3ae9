"""What a fitted model answers about a table: numbers, or the chances of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.auto.tables.encoder import TableEncoder
from mercer.formula.data import Rows, is_frame

Ask = Callable[[Any], np.ndarray]


def read_table(owner: str, X: Rows) -> Any:
    """Return a frame as it is and anything else as an array of two axes."""
    table = X if is_frame(X) else np.asarray(X)
    if len(table.shape) != 2 or 0 in table.shape:
        raise ValueError(f"{owner} needs a table: X must be an array of shape (n, d) or a frame; got {table.shape}")
    return table


def find_encoder(estimator: BaseEstimator, X: Any) -> TableEncoder:
    """Return what the columns of a table are: as the model says if it is automatic, or as they look."""
    encoder = getattr(estimator, "encoder_", None)
    return encoder if isinstance(encoder, TableEncoder) else TableEncoder().fit(X)


def find_column(owner: str, column: int | str, names: Sequence[str]) -> str:
    """Return the name of a column that is given by name or position."""
    if isinstance(column, str) and column in names:
        return column
    if isinstance(column, int | np.integer) and -len(names) <= column < len(names):
        return names[column]
    listed = ", ".join(map(repr, names[:20])) + " …" * (len(names) > 20)
    raise ValueError(f"{owner}: there is no column {column!r}; there are {listed}")


def make_answers(owner: str, estimator: BaseEstimator, chances: bool = True) -> tuple[Ask, np.ndarray | None, str]:
    """Return the function from tables to answers, the classes if answers have a column for each, and what they are.

    Classes have probabilities if the model does and ``chances`` are wanted, and otherwise 1 for the one predicted.
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "predict"):
        raise ValueError(f"{owner} asks for predictions, and {type(estimator).__name__} has no predict")
    if not is_classifier(estimator):
        return lambda table: _check_one(owner, np.asarray(estimator.predict(table))), None, "prediction"
    classes = np.asarray(estimator.classes_)
    if chances and hasattr(estimator, "predict_proba"):
        return lambda table: np.asarray(estimator.predict_proba(table)), classes, "probability"
    return lambda table: (np.asarray(estimator.predict(table))[:, None] == classes).astype(float), classes, "share"


def _check_one(owner: str, values: np.ndarray) -> np.ndarray:
    if values.ndim > 1 and values.shape[1] > 1:
        raise ValueError(f"{owner} draws one target, and the model has {values.shape[1]}; fit one model for each")
    return values.reshape(len(values)).astype(np.float64)
