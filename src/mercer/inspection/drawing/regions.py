"""Which class a classifier predicts where, by how much, and where its margins are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_outlier_detector

from mercer.formula.data import Rows

from .estimator import find_model

PROBABILITIES = (0.1, 0.9)  # the margins of a model of probabilities


def name_classes(owner: str, estimator: BaseEstimator) -> tuple[np.ndarray, list[str]]:
    """Return the values that are predicted, and their names."""
    if is_outlier_detector(estimator):
        return np.array([-1, 1]), ["outliers", "inliers"]
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise ValueError(
            f"{owner} draws classifiers with one label for each point, and {type(estimator).__name__} is none; "
            "FitDisplay draws regressors"
        )
    return np.asarray(classes), [str(label) for label in np.asarray(classes).tolist()]


def encode_labels(owner: str, y: ArrayLike, classes: np.ndarray, n: int) -> np.ndarray:
    """Return the position of each label among the classes."""
    labels = np.asarray(y).ravel()
    if len(labels) != n:
        raise ValueError(f"{owner}: X has {n} points, so y must have as many labels; got {len(labels)}")
    codes = np.full(n, -1)
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).any():
        unknown = sorted({str(label) for label in labels[codes < 0]})
        raise ValueError(f"{owner}: y has labels the classifier does not know: {', '.join(unknown)}")
    return codes


def compute_leads(estimator: BaseEstimator, grid: Rows, classes: np.ndarray) -> np.ndarray:
    """Return how far each class is ahead of the best other one, shape (points, classes).

    Scores give smooth boundaries, but only if the class with the largest is the one predicted everywhere, without ties.
    """
    predicted = np.searchsorted(classes, estimator.predict(grid))
    everywhere = np.arange(len(predicted))
    for method in ("decision_function", "predict_proba"):
        if not hasattr(estimator, method):
            continue
        scores = np.asarray(getattr(estimator, method)(grid))
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if scores.shape[1] == len(classes):
            leads = _subtract_rivals(scores)
            if (leads[everywhere, predicted] > 0).all():
                return leads
    return _subtract_rivals(_smooth(predicted, len(classes)))


def _smooth(predicted: np.ndarray, count: int) -> np.ndarray:
    """Return the share of each class around each point of a square grid, whose level lines have no stairs."""
    from scipy.ndimage import gaussian_filter

    side = math.isqrt(len(predicted))
    members = (predicted.reshape(side, side) == np.arange(count)[:, None, None]).astype(np.float64)
    return np.asarray([gaussian_filter(member, 1.0, mode="nearest") for member in members]).reshape(count, -1).T


def _subtract_rivals(scores: np.ndarray) -> np.ndarray:
    """Return each column minus the largest of the others."""
    two = np.sort(scores, axis=1)[:, -2:]
    best = scores == two[:, 1:]
    return np.asarray(scores - np.where(best, two[:, :1], two[:, 1:]))


def compute_margin(estimator: BaseEstimator, grid: Rows) -> tuple[np.ndarray | None, tuple[float, ...], str]:
    """Return values, their levels and what these are; None where a classifier has no margins."""
    if not hasattr(estimator, "decision_function") or len(getattr(estimator, "classes_", ())) != 2:
        return None, (), ""
    if hasattr(find_model(estimator), "support_"):
        return np.asarray(estimator.decision_function(grid)), (-1.0, 1.0), "margin f = ±1"
    if hasattr(estimator, "predict_proba"):
        low, high = PROBABILITIES
        return np.asarray(estimator.predict_proba(grid))[:, 1], (low, high), f"probability {low:g} and {high:g}"
    return None, (), ""
