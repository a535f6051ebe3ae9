"""Which class a classifier predicts where, by how much, and where its margins are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_outlier_detector

from mercer.formula.data import Rows

from .estimator import find_model
from .outlines import Ask
from .slice import Slice

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


def make_question(estimator: BaseEstimator, view: Slice, classes: np.ndarray) -> Ask:
    """Return the function from points of a view to positions of the predicted labels among the classes."""
    order = np.argsort(classes, kind="stable")

    def ask(points: np.ndarray) -> np.ndarray:
        return np.asarray(order[np.searchsorted(classes, estimator.predict(view.points(points)), sorter=order)])

    return ask


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
