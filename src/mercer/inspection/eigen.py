"""The spectrum of a kernel matrix and what penalties leave of it, as the parameters of SpectrumDisplay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from .drawing.estimator import encode_rows, find_model, get_kernel, is_precomputed, sample, sample_gram

OWNER = "SpectrumDisplay"
RANGE = (1e-9, 1e3)  # of penalties drawn, relative to the mean of k(x, x)
Found = dict[str, Any]


def decompose_gram(K: ArrayLike | Gram, alpha: float | None, max_points: int, random_state: int | None) -> Found:
    """Return the spectrum of a matrix, or of a random part of it scaled to the whole."""
    _, matrix, total = sample_gram(OWNER, K, max_points, random_state)
    return _decompose(matrix, total, alpha)


def decompose_kernel(kernel: Kernel, X: Rows, alpha: float | None, max_points: int, random_state: int | None) -> Found:
    """Return the spectrum of a kernel at some points, or at a random part of them scaled to all."""
    some = X if length(X) <= max_points else pick(X, sample(X, max_points, random_state))
    return _decompose(np.asarray(kernel(some), dtype=np.float64), length(X), alpha)


def decompose_estimator(
    estimator: BaseEstimator, X: Rows | None, alpha: float | None, max_points: int, random_state: int | None
) -> Found:
    """Return the spectrum of a fitted model's kernel at X or at the points that it keeps, with its own penalty."""
    model = find_model(estimator)
    model = getattr(model, "ridge_", getattr(model, "regressor_", model))  # where points and penalty are kept
    points = encode_rows(estimator, X) if X is not None else getattr(model, "X_fit_", None)
    if points is None:
        raise ValueError(f"{OWNER}: {type(model).__name__} does not keep its training points; pass them as X")
    penalty, weight = (_find_penalty(model, length(points)), _find_weight(model)) if alpha is None else (alpha, None)
    if weight is not None:
        penalty = (length(points) if is_mean(model) else 1.0) / (2.0 * weight)
    if is_precomputed(model):
        found = decompose_gram(points, penalty, max_points, random_state)
    else:
        found = decompose_kernel(get_kernel(OWNER, model), points, penalty, max_points, random_state)
    return {**found, "weight": weight, "mean": weight is not None and is_mean(model)}


def count_degrees(eigenvalues: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return Σ λⱼ/(λⱼ + α) for each penalty; eigenvalues below 0 count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> count_degrees(np.array([3.0, 1.0]), np.array([1.0]))
    array([1.25])
    """
    values = np.maximum(eigenvalues, 0.0)
    return np.asarray((values / (values + np.asarray(alphas)[:, None])).sum(axis=1))


def _decompose(matrix: np.ndarray, total: int, alpha: float | None) -> Found:
    n = len(matrix)
    values = np.linalg.eigvalsh(matrix)[::-1] * (total / n)
    level = float(np.abs(np.diagonal(matrix)).mean()) or 1.0
    low, high = RANGE[0] * level, RANGE[1] * level
    marked = alpha if alpha is not None and alpha > 0 else None
    if marked is not None:
        low, high = min(low, marked / 10), max(high, marked * 10)
    alphas = np.geomspace(low, high, 121)
    return {
        "eigenvalues": values,
        "alphas": alphas,
        "effective_dof": count_degrees(values, alphas),
        "alpha": marked,
        "total": None if total == n else total,
    }


def _find_weight(model: BaseEstimator) -> float | None:
    """Return C of a support vector machine, ½‖f‖² + C Σ ξᵢ, which is C times Σ ξᵢ + α‖f‖² with α = 1/(2C).

    Of m points in the mean form, ½‖f‖² + (C/m) Σ ξᵢ, it is α = m/(2C).
    """
    if not hasattr(model, "support_") and not hasattr(model, "C_"):
        return None
    C: Any = getattr(model, "C_", getattr(model, "C", None))
    return None if C is None else float(C)


def is_mean(model: BaseEstimator) -> bool:
    """Whether the penalty of a model is that of the mean of losses, rather than of their sum."""
    return bool(getattr(model, "scaling", "sum") == "mean")


def _find_penalty(model: BaseEstimator, n: int) -> float | None:
    """Return the penalty α of the sum form, or None if there is not one."""
    alpha: Any = getattr(model, "alpha_", getattr(model, "alpha", None))
    try:
        value = float(alpha)
    except (TypeError, ValueError):
        return None
    return value * n if is_mean(model) else value
