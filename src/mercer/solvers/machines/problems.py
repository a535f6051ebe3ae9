"""From C, ν, ε and weights to the dual problem of each support vector machine."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.kernels import Kernel

from .dual import DualProblem

HARD = 1e10  # C = ∞ is this many times the reciprocal of the largest k(x, x)

EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "C": (lambda v: v > 0, "a positive number, or infinity for a hard margin"),
    "nu": (lambda v: 0 < v <= 1, "a number above 0 and at most 1, the share of points that may be on the wrong side"),
    "epsilon": (lambda v: 0 <= v < np.inf, "a finite number that is not negative, the error that costs nothing"),
    "tol": (lambda v: 0 < v < np.inf, "a positive number such as 1e-3"),
    "cache_size": (lambda v: v > 0, "a positive number of megabytes"),
    "max_iter": (
        lambda v: isinstance(v, numbers.Integral) and int(v) >= -1,
        "a whole number of steps, or -1 for as many as could be of use",
    ),
    "max_time": (lambda v: v > 0, "a positive number of seconds, or None for no limit"),
}


def check_options(owner: Any) -> None:
    """Raise if an option of an estimator has no meaning, saying which values have one."""
    options = owner.get_params(deep=False)
    for name, (holds, text) in EXPECTED.items():
        value = options.get(name)
        if name not in options or (name == "max_time" and value is None):
            continue
        if not isinstance(value, numbers.Real) or not holds(value):
            raise ValueError(f"{type(owner).__name__}: {name} must be {text}; got {value!r}")


def positive_weights(owner: object, sample_weight: Any, n: int) -> np.ndarray:
    """Return the weights as n finite numbers, 0 where a point takes no part; negative weights mean that too."""
    if sample_weight is None:
        return np.ones(n)
    name = type(owner).__name__
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n,):
        raise ValueError(
            f"{name}: sample_weight and X have incompatible shapes: there are {n} points, so sample_weight must be one "
            f"number or have shape ({n},); got shape {weights.shape}"
        )
    if not np.isfinite(weights).all():
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"{name}: weights must be finite, but sample_weight[{bad}] is {weights[bad]}")
    if not (weights > 0).any():
        raise ValueError(
            f"{name}: Invalid input - all samples have zero or negative weights. Give some points a positive weight."
        )
    return np.maximum(weights, 0.0)


def finite_penalty(C: float, kernel: Kernel, points: Rows) -> float:
    """Return C, or a number that is as good as infinity for the size of the kernel."""
    if np.isfinite(C):
        return float(C)
    largest = float(np.abs(kernel.diag(host_array(points))).max())
    return HARD / largest if largest > 0 else HARD


def c_svc(signs: np.ndarray, bounds: np.ndarray) -> DualProblem:
    """Return the problem of C-SVC, from labels of ±1 and C of each point."""
    return DualProblem(signs, np.minimum(signs * bounds, 0.0), np.maximum(signs * bounds, 0.0), np.zeros(len(signs)))


def nu_svc(signs: np.ndarray, weights: np.ndarray, nu: float) -> DualProblem:
    """Return the problem of ν-SVC; points of one sign come before those of the other."""
    half = nu * weights.sum() / 2
    start = np.zeros(len(signs))
    for sign in (-1.0, 1.0):
        chosen = signs == sign
        start[chosen] = sign * filled(weights[chosen], half)
    second = int(np.flatnonzero(signs != signs[0])[0])
    lower, upper = np.minimum(signs * weights, 0.0), np.maximum(signs * weights, 0.0)
    return DualProblem(np.zeros(len(signs)), lower, upper, start, second=second)


def largest_nu(weights: np.ndarray, signs: np.ndarray) -> float:
    """Return the largest ν for which ν-SVC has a solution: the lighter class must hold half of ν times all weight."""
    positive = float(weights[signs > 0].sum())
    negative = float(weights[signs < 0].sum())
    return 2 * min(positive, negative) / (positive + negative)


def epsilon_svr(y: np.ndarray, bounds: np.ndarray, epsilon: float) -> DualProblem:
    """Return the problem of ε-SVR, with C of each point."""
    return DualProblem(y, -bounds, bounds, np.zeros(len(y)), epsilon=epsilon)


def nu_svr(y: np.ndarray, bounds: np.ndarray, nu: float) -> DualProblem:
    """Return the problem of ν-SVR: first the coefficients of points above the tube, then of points below it."""
    zeros = np.zeros(len(y))
    start = filled(bounds, nu * bounds.sum() / 2)
    return DualProblem(
        np.concatenate([y, y]),
        np.concatenate([zeros, -bounds]),
        np.concatenate([bounds, zeros]),
        np.concatenate([start, -start]),
        second=len(y),
    )


def one_class(weights: np.ndarray, nu: float) -> DualProblem:
    """Return the problem of the one-class machine."""
    zeros = np.zeros(len(weights))
    return DualProblem(zeros, zeros, weights, filled(weights, nu * weights.sum()))


def filled(bounds: np.ndarray, total: float) -> np.ndarray:
    """Return numbers up to their bounds with a given sum, the first ones full.

    Examples
    --------
    >>> filled(np.array([1.0, 1.0, 1.0]), 1.5)
    array([1. , 0.5, 0. ])
    """
    before = np.concatenate([[0.0], np.cumsum(bounds)[:-1]])
    return np.clip(total - before, 0.0, bounds)
