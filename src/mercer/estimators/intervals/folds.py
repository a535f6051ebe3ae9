"""Models fitted again without some points each, which judge the points they have not seen."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags

from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length
from mercer.kernels import Precomputed
from mercer.kernels.custom import MatrixRows
from mercer.learning.error_scale import learn_scale
from mercer.solvers.base import Problem

from .rows import TrainingRows, pick_rows

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of targets and predictions
INNER = 5  # folds inside a fold, for errors that its scale is learned from


@dataclass(frozen=True)
class FoldModels:
    """Models without each fold, and how wrong they are about the points of it.

    Parameters
    ----------
    models : list of K estimators
        Fitted to all points but those of a fold.
    positions : list of K int arrays
        To which of the training points.
    fold_of : int array of shape (n,)
        The fold of each point that has a weight.
    errors : array of shape (n, q)
        The score of each point by the model that has not seen it: its absolute error, divided by the scale of errors
        there if there are scales, or how far it is outside of a band.
    scales : list of K Expansions
        The logarithms of the scales of errors; empty if there are none.
    flat : bool
        Whether targets were given in one dimension.
    """

    models: list[Any]
    positions: list[Any]
    fold_of: Annotated[np.ndarray, Axes("n", of="iu")]
    errors: Annotated[np.ndarray, Axes("n q")]
    scales: list[Expansion]
    flat: bool

    def __post_init__(self) -> None:
        count = len(self.models)
        if len(self.positions) != count or len(self.scales) not in (0, count) or self.fold_of.max(initial=0) >= count:
            raise ValueError(f"{count} folds do not go with {len(self.positions)} lists of points")

    def predict(self, X: Rows) -> np.ndarray:
        """Return what each model predicts, shape (m, K, outputs)."""
        return np.stack([_predict(*each, X) for each in zip(self.models, self.positions, strict=True)], axis=1)

    def scale(self, X: Rows) -> np.ndarray | None:
        """Return the scale of errors that belongs to each model, shape (m, K, q); None if there are none."""
        if not self.scales:
            return None
        parts = zip(self.models, self.positions, self.scales, strict=True)
        return np.stack([_measure(*part, X) for part in parts], axis=1)


def split_rows(n: int, folds: int, random_state: Any) -> np.ndarray:
    """Return the fold of each of n points, folds of about the same size, by chance.

    Without a seed the folds are the same at every call.  A seed that changes when it is used is left as it is.

    Examples
    --------
    >>> np.bincount(split_rows(7, 3, None)), split_rows(7, 3, 1).tolist() == split_rows(7, 3, 1).tolist()
    (array([3, 2, 2]), True)
    """
    rng = check_random_state(0 if random_state is None else copy.deepcopy(random_state))
    return np.asarray(rng.permutation(np.arange(n) % folds))


def fit_folds(
    model: Any,
    rows: TrainingRows,
    folds: int,
    random_state: Any,
    score: Score,
    left_out: Callable[[Any], np.ndarray] | None = None,
    *,
    scaled: bool = False,
) -> FoldModels:
    """Fit clones of a model without each fold, and let them judge the points they have not seen.

    Parameters
    ----------
    model : estimator
        What is cloned.
    rows : TrainingRows
        What it was fitted to.
    folds : int
        How many; as many as there are points leaves out one at a time.
    random_state : int, RandomState or None
        The seed of the folds.
    score : function of targets (n, q) and predictions (n, outputs)
        How wrong a prediction is, shape (n, q).
    left_out : function of a fitted model, optional
        Its leave-one-out predictions, where it knows them.
    scaled : bool, default=False
        Whether errors are divided by their scale, which is learned for each model from its own points.
    """
    kept = rows.kept
    fold_of = split_rows(len(kept), folds, random_state)
    y = rows.y.reshape(len(rows.y), -1)
    models, positions, scales = [], list[Any](), list[Expansion]()
    errors = np.empty((len(kept), y.shape[1]))
    for fold in range(folds):
        fit, held = kept[fold_of != fold], kept[fold_of == fold]
        fitted = rows.fit(clone(model), fit)
        X = pick_rows(model, rows.X, held)
        found = score(y[held], _predict(fitted, fit, X))
        if scaled:
            inside = _errors_inside(model, fitted, rows, fit, random_state, left_out)
            scales.append(learn_scale(_pose(fitted, rows, fit, inside), inside, random_state))
            found = found / _measure(fitted, fit, scales[-1], X)
        errors[fold_of == fold] = found
        fitted._drop_rows()  # which the model itself has
        models.append(fitted)
        positions.append(fit)
    return FoldModels(models, positions, fold_of, errors, scales, rows.y.ndim == 1)


def absolute_error(targets: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return abs(y − f(x))."""
    return np.abs(targets - predictions)


def _predict(model: Any, positions: np.ndarray, X: Rows) -> np.ndarray:
    """Return the predictions of a model of some training points, shape (m, outputs)."""
    X = X[:, positions] if get_tags(model).input_tags.pairwise else X
    return np.asarray(host_array(model.predict(X)), dtype=np.float64).reshape(length(X), -1)


def _measure(model: Any, positions: np.ndarray, scale: Expansion, X: Rows) -> np.ndarray:
    """Return the scale of errors of a model at points, shape (m, q)."""
    points = MatrixRows(X[:, positions]) if get_tags(model).input_tags.pairwise else host_array(X)
    return np.exp(np.asarray(scale(points)).reshape(length(X), -1))


def _errors_inside(
    model: Any,
    fitted: Any,
    rows: TrainingRows,
    fit: np.ndarray,
    random_state: Any,
    left_out: Callable[[Any], np.ndarray] | None,
) -> np.ndarray:
    """Return the errors of a model at its own points had it not seen them, shape (points, q)."""
    y = rows.y.reshape(len(rows.y), -1)[fit]
    if left_out is not None:
        return y - np.asarray(host_array(left_out(fitted))).reshape(y.shape)
    errors = np.empty(y.shape)
    count = min(INNER, len(fit))
    fold_of = split_rows(len(fit), count, random_state)
    for fold in range(count):
        inner, held = fit[fold_of != fold], fold_of == fold
        errors[held] = y[held] - _predict(rows.fit(clone(model), inner), inner, pick_rows(model, rows.X, fit[held]))
    return errors


def _pose(fitted: Any, rows: TrainingRows, fit: np.ndarray, errors: np.ndarray) -> Problem:
    """Return the problem whose points are those of a model, with its kernel."""
    X = host_array(pick_rows(fitted, rows.X, fit, both=True))
    if get_tags(fitted).input_tags.pairwise:
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
        return Problem(Precomputed(X), np.arange(len(fit)), errors)
    return Problem(fitted.kernel_, X, errors)
