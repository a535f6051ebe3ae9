"""Intervals, sets and standard deviations, as displays ask estimators and the last steps of pipelines for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows, length

from .estimator import check_labels
from .fits import name_models
from .regions import encode_labels

Case = tuple[str, Any, str]  # a label, an estimator, and the method of its intervals


def list_cases(owner: str, estimators: Any, method: str | Sequence[str]) -> list[Case]:
    """Return what is drawn side by side: one estimator with a method or several, or several with one method.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression()
    >>> [(label, method) for label, _, method in list_cases("example", model, ["full", "local"])]
    [('full', 'full'), ('local', 'local')]
    >>> [(label, method) for label, _, method in list_cases("example", {"a": model, "b": model}, "auto")]
    [('a', 'auto'), ('b', 'auto')]
    """
    methods = [method] if isinstance(method, str) else list(method)
    if not methods:
        raise ValueError(f"{owner} needs a method, such as 'auto', or several of them; got none")
    if isinstance(estimators, BaseEstimator):
        labels = [type(estimators).__name__] if len(methods) == 1 else methods
        return [(label, estimators, each) for label, each in zip(labels, methods, strict=True)]
    if len(methods) > 1:
        raise ValueError(
            f"{owner} draws several models with one method, or several methods of one model; got both: method="
            f"{methods!r}"
        )
    return [(label, model, methods[0]) for label, model in name_models(owner, estimators).items()]


def open_pipeline(estimator: Any, X: Rows) -> tuple[Any, Rows]:
    """Return the last step of a pipeline and rows as it sees them; anything else, and its rows, as they are."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    return estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X


def ask_interval(owner: str, estimator: Any, X: Rows, coverage: float, method: str = "auto") -> np.ndarray:
    """Return the intervals of a regressor with one target, shape (m, 2)."""
    model, rows = open_pipeline(estimator, X)
    if is_classifier(model):
        raise ValueError(
            f"{owner} draws intervals of regressors, and {type(model).__name__} is a classifier; use SetDisplay"
        )
    if not hasattr(model, "predict_interval"):
        raise ValueError(
            f"{owner} asks for intervals, and {type(model).__name__} has no predict_interval; every regressor of "
            "mercer has it"
        )
    given = {} if method == "auto" else {"method": method}
    ends = np.asarray(model.predict_interval(rows, coverage, **given), dtype=np.float64)
    if ends.ndim != 2:
        raise ValueError(f"{owner} draws one target, and the model has {ends.shape[1]}; fit one model for each")
    return ends


def ask_set(owner: str, estimator: Any, X: Rows, coverage: float, conditional: bool = False) -> np.ndarray:
    """Return which classes are in the sets of a classifier, shape (m, classes)."""
    model, rows = open_pipeline(estimator, X)
    if not hasattr(model, "predict_set"):
        raise ValueError(
            f"{owner} asks for sets of classes, and {type(model).__name__} has no predict_set; every classifier of "
            "mercer has it"
        )
    return np.asarray(model.predict_set(rows, coverage, **({"conditional": True} if conditional else {})), dtype=bool)


def find_held(
    owner: str, estimator: Any, X: Rows, y: ArrayLike, coverage: float, method: str = "auto", conditional: bool = False
) -> np.ndarray:
    """Return whether each target is in its interval, or each label in its set, shape (m,)."""
    if is_classifier(estimator):
        sets = ask_set(owner, estimator, X, coverage, conditional)
        codes = encode_labels(owner, y, np.asarray(open_pipeline(estimator, X)[0].classes_), len(sets))
        return np.asarray(sets[np.arange(len(sets)), codes])
    ends = ask_interval(owner, estimator, X, coverage, method)
    return is_inside(check_numbers(owner, y, len(ends)), ends)


def is_inside(targets: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return whether targets lie between the ends of their intervals."""
    return np.asarray((ends[:, 0] <= targets) & (targets <= ends[:, 1]))


def check_numbers(owner: str, y: ArrayLike, n: int) -> np.ndarray:
    """Return targets as numbers, one for each point."""
    given = np.asarray(y)
    return check_labels(owner, given.reshape(len(given)) if given.size == len(given) else given, n).astype(np.float64)


def read_values(owner: str, X: Rows, by: Any) -> tuple[np.ndarray, str]:
    """Return the values that points are ordered or grouped by, and their name: a column of X, or an array.

    Examples
    --------
    >>> import numpy as np
    >>> read_values("example", np.array([[1.0, 5.0], [2.0, 6.0]]), 1)
    (array([5., 6.]), 'x1')
    """
    if isinstance(by, str | int | np.integer) and not isinstance(by, bool):
        columns: Mapping[Any, Any]
        if hasattr(X, "columns"):
            names = list(X.columns)
            columns = {name: X[name] for name in names}
        else:
            table = np.asarray(X)
            if table.ndim != 2:
                raise ValueError(f"{owner}: X has no columns, so give an array of values instead of {by!r}")
            names, columns = list(range(table.shape[1])), dict(enumerate(table.T))
        if by not in columns and not (isinstance(by, int | np.integer) and -len(names) <= by < len(names)):
            raise ValueError(f"{owner}: there is no column {by!r}; there are {names}")
        name = by if by in columns else names[int(by)]
        return np.asarray(columns[name]), name if isinstance(name, str) else f"x{name}"
    values = np.asarray(by)
    if values.shape != (length(X),):
        raise ValueError(
            f"{owner}: by must be a column of X, by name or position, or an array of {length(X)} values; got shape "
            f"{values.shape}"
        )
    return values, str(getattr(by, "name", None) or "")
