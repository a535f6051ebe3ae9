"""What an estimator is given besides points and a kernel, checked: targets, labels, weights and numbers."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from mercer.checks import is_whole

MOST_ROWS = 5  # that a message names
TOLERANCE = 1e-6  # of ridge by iterations, if a model does not say


def check_targets(owner: object, y: Any, n: int) -> np.ndarray:
    """Return the targets as finite numbers of shape (n,) or (n, targets)."""
    if y is None:
        raise ValueError(f"{type(owner).__name__} requires y to be passed, but the target y is None.")
    if isinstance(y, numbers.Number | str):
        raise ValueError(f"{type(owner).__name__}: y must hold one target for each of the {n} points, got {y!r}")
    try:
        values = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=owner)
    except ValueError as error:
        raise _explain_targets(owner, y, error) from None
    if len(values) != n or values.ndim > 2 or values.size == 0:
        raise ValueError(
            f"{type(owner).__name__}: X has {n} points, so y must have shape ({n},) or ({n}, targets); "
            f"got shape {values.shape}"
        )
    return np.asarray(values)


def _explain_targets(owner: object, y: Any, error: ValueError) -> ValueError:
    """Return scikit-learn's error about targets with which ones they are, and what to do."""
    head, name = str(error).partition("\n")[0], type(owner).__name__
    if "could not convert" in head:
        return ValueError(
            f"{name}: y must hold numbers: {head}. Labels of classes are for classifiers such as SVC, "
            "KernelRidgeClassifier or AutoClassifier"
        )
    if "contains NaN" not in head and "contains infinity" not in head:
        return error
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):  # scikit-learn has other ways to read numbers
        return error
    rows = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1)).tolist()
    shown = ", ".join(map(str, rows[:MOST_ROWS])) + f" and {len(rows) - MOST_ROWS} others" * (len(rows) > MOST_ROWS)
    which = f"row{'s' * (len(rows) > 1)} {shown}"
    return ValueError(f"{head} {name} learns from finite targets only: leave out {which}, in X and in y")


def check_weights(owner: object, sample_weight: Any, n: int) -> np.ndarray | None:
    """Return the weights as n numbers of which none is negative and one is positive, or None if there are none."""
    if sample_weight is None:
        return None
    name = type(owner).__name__
    weights = np.array(sample_weight, dtype=np.float64)
    weights = np.full(n, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n,):
        raise ValueError(f"{name}: sample_weight must be one number or have shape ({n},), got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(f"{name}: weights must be finite and not negative, but sample_weight[{bad}] is {weights[bad]}")
    if not weights.any():
        raise ValueError(f"{name}: all sample weights are zero, so there is nothing to fit; give some points a weight")
    return weights


def check_alpha(owner: object, alpha: Any, targets: int) -> np.ndarray:
    """Return the penalty of each target."""
    name = type(owner).__name__
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: alpha must be a number or one number for each target, got {alpha!r}") from None
    if values.ndim > 1 or (values.ndim == 1 and values.size not in (1, targets)):
        raise ValueError(
            f"{name}: alpha must be one number or one for each of the {targets} targets; got shape {values.shape}"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name}: alpha must be finite and not negative, got {alpha!r}; use a positive penalty")
    return np.broadcast_to(values.ravel(), (targets,)).copy()


def check_alphas(owner: object, alphas: Any) -> np.ndarray:
    """Return the penalties of a path."""
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"{type(owner).__name__}: alphas must be a list of positive penalties such as [0.01, 0.1, 1.0], "
            f"got {alphas!r}"
        )
    return values


def check_labels(owner: object, y: Any, n: int, *, several: bool = False) -> np.ndarray:
    """Return n labels of classes, of any type; there may be several columns of them where that has a meaning."""
    name = type(owner).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    labels = check_array(y, ensure_2d=False, dtype=None, input_name="y", estimator=owner) if several else y
    if not several or (labels.ndim == 2 and labels.shape[1] == 1):
        labels = column_or_1d(labels, warn=True)
    assert_all_finite(labels, input_name="y", estimator_name=name)
    check_classification_targets(labels)
    if len(labels) != n:
        raise ValueError(f"{name}: X has {n} points, so y must have {n} labels; got {len(labels)}")
    return np.asarray(labels)


def encode_labels(
    owner: object, labels: np.ndarray, classes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, in order, and the position of each label among them; those that occur if none are given.

    Examples
    --------
    >>> encode_labels(None, np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    name = type(owner).__name__
    if classes is None:
        classes, codes = np.unique(labels, return_inverse=True)
    else:
        places = {label: place for place, label in enumerate(classes.tolist())}
        found = [places.get(label) for label in labels.tolist()]
        if None in found:
            raise ValueError(
                f"{name}: y has the label {labels.tolist()[found.index(None)]!r}, but the classes are "
                f"{classes.tolist()}; name all classes in the first call of partial_fit"
            )
        codes = np.array(found, dtype=np.int64)
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs at least two classes with points of positive weight, but there is only one class, "
            f"{classes.tolist()[0]!r}; add points of another, or name it in classes"
        )
    return classes, codes


def check_positive(owner: object, name: str, value: Any, *, zero: bool = False) -> float:
    """Return a parameter that must be a positive number, or 0 where that has a meaning."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not (0 < float(value) < np.inf or (zero and value == 0)):
        kind = "number that is not negative" if zero else "positive number"
        raise ValueError(f"{type(owner).__name__}: {name} must be a {kind}, got {value!r}")
    return float(value)


def check_tolerance(owner: object) -> float:
    """Return the parameter ``tol`` of a model, up to which certificate iterations go on, or what stands for it."""
    value = getattr(owner, "tol", TOLERANCE)
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (real and 0 < float(value) < 1):
        raise ValueError(
            f"{type(owner).__name__}: tol is the certificate up to which iterations go on, so it lies between 0 and 1, "
            f"for example {TOLERANCE:g}; got {value!r}"
        )
    return float(value)


def check_whole(owner: object, name: str, value: Any, least: int = 1, none: bool = False) -> Any:
    """Return a parameter that must be a whole number of at least ``least``, or None where that has a meaning."""
    if value is None and none:
        return None
    if not is_whole(value, least):
        raise ValueError(
            f"{type(owner).__name__}: {name} must be a whole number of at least {least}{' or None' * none}; "
            f"got {value!r}"
        )
    return int(value)
