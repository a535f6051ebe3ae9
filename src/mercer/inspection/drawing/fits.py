"""Values of a regression, a density or any function along a line, with what a model says about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.threads import silence_warnings
from mercer.formula.data import Rows
from mercer.solvers.conformal.ranks import FEW_POINTS

from .estimator import encode_rows, find_model, is_automatic

COVERAGE = 0.9


@dataclass(frozen=True)
class Fit:
    """One curve: its label, and values on a grid of shape (r,).

    ``interval`` is of shape (r, 2); ``tube`` the ε of a support vector regression; ``support`` the values of the
    feature and the targets of its support vectors, shape (m, 2); ``density`` whether values are those of a density.
    """

    label: str
    values: np.ndarray
    interval: np.ndarray | None = None
    tube: float | None = None
    support: np.ndarray | None = None
    density: bool = False


def read_fit(owner: str, label: str, model: Any, rows: Rows, coverage: float | str | None) -> Fit:
    """Ask a fitted regressor, a fitted density or a function of points about some rows."""
    ask, density = _find_function(owner, model)
    values = np.asarray(ask(rows), dtype=np.float64)
    if values.ndim > 1 and values.shape[1] > 1:
        raise ValueError(f"{owner} draws one target, and the model has {values.shape[1]}; fit one model for each")
    if not isinstance(model, BaseEstimator) or density:
        return Fit(label, values.ravel(), density=density)
    return Fit(label, values.ravel(), _find_interval(model, rows, coverage), _find_tube(model))


def name_models(owner: str, models: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return models with labels: those given, or the names of their classes, numbered where there are several.

    Examples
    --------
    >>> list(name_models("example", [1.5, 2, 3])), list(name_models("example", {"a": 1}))
    (['float', 'int 1', 'int 2'], ['a'])
    """
    if isinstance(models, Mapping):
        found = {str(label): model for label, model in models.items()}
    else:
        if isinstance(models, BaseEstimator) or not isinstance(models, Iterable):  # a pipeline can be iterated, too
            raise TypeError(
                f"{owner} takes a mapping from labels to models or a list of models, got {type(models).__name__}; "
                "from_estimator draws a single one"
            )
        listed = list(models)
        names = [getattr(model, "__name__", type(model).__name__) for model in listed]
        total, so_far, found = Counter(names), Counter[str](), {}
        for name, model in zip(names, listed, strict=True):
            so_far[name] += 1
            found[f"{name} {so_far[name]}" if total[name] > 1 else name] = model
    if not found:
        raise ValueError(f"{owner} draws one model or more, and there is none")
    return found


def find_support(estimator: BaseEstimator, X: Rows, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return where the support vectors are, if the points drawn are those that the model was fitted to."""
    model = find_model(estimator)
    positions, vectors = getattr(model, "support_", None), getattr(model, "support_vectors_", None)
    if positions is None or vectors is None or len(positions) == 0 or positions.max() >= len(x):
        return None
    seen = np.asarray(encode_rows(estimator, X), dtype=np.float64)
    if not np.array_equal(seen[positions], np.asarray(vectors)):
        return None
    return np.column_stack([x[positions], y[positions]])


def _find_function(owner: str, model: Any) -> tuple[Callable[[Rows], Any], bool]:
    """Return the function from rows to values, and whether it is a density."""
    if not isinstance(model, BaseEstimator):
        if callable(model):
            return model, False
        raise TypeError(f"{owner} draws fitted estimators and functions of points, got {type(model).__name__}")
    check_is_fitted(model)
    if is_classifier(model):
        raise ValueError(f"{owner} draws regressors, and {type(model).__name__} is a classifier; use DecisionDisplay")
    if hasattr(model, "predict"):
        return model.predict, False
    if hasattr(model, "score_samples"):
        return lambda rows: np.exp(model.score_samples(rows)), True
    raise ValueError(
        f"{owner} draws regressors and densities, and {type(model).__name__} has neither predict nor score_samples"
    )


def _find_interval(estimator: BaseEstimator, rows: Rows, coverage: float | str | None) -> np.ndarray | None:
    if coverage is None:
        return None
    methods = getattr(estimator, "interval_methods", ("jackknife+",))
    if coverage == "auto" and methods[0] != "jackknife+":  # which would be fitted again, although nobody asked for it
        return None
    if not hasattr(estimator, "predict_interval"):
        if coverage == "auto":
            return None
        raise ValueError(
            f"{type(estimator).__name__} has no predict_interval, so there is no interval of coverage {coverage!r} "
            "to draw; leave coverage out"
        )
    try:
        if coverage != "auto":
            return np.asarray(estimator.predict_interval(rows, coverage))
        with silence_warnings(FEW_POINTS):
            return np.asarray(estimator.predict_interval(rows, COVERAGE))
    except ValueError:
        if coverage == "auto":  # no penalty, for example: the model has no intervals, and none were asked for
            return None
        raise


def _find_tube(estimator: BaseEstimator) -> float | None:
    model = find_model(estimator)
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "support_") or is_automatic(estimator):  # whose target may be transformed
        return None
    epsilon = getattr(model, "epsilon_", getattr(model, "epsilon", None))
    return None if epsilon is None else float(epsilon)
