"""Rounds of recursive features: solve, average the outer products of slopes, measure distances by them, again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.slopes import slope_at_itself
from mercer.gram.slopes import sum_slopes
from mercer.solvers.base import Problem
from mercer.solvers.ridge.cholesky import Cholesky

from .judge import MetricTrial
from .metric import Metric, Structure


def average_slopes(problem: Problem, alpha: float) -> np.ndarray:
    """Return (1/Σw) Σᵢ wᵢ ∇f(xᵢ)∇f(xᵢ)ᵀ of the ridge fit, summed over outputs, of shape (d, d).

    The slope at a point leaves out the point's own term cᵢk(xᵢ, ·), which says nothing about its neighbours; of a
    function of a distance it is 0 anyway.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Matern
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> M = average_slopes(Problem(Matern(1.5, 3.0), X, np.sin(X[:, :1]), fit_intercept=True), 1e-3)
    >>> bool(M[0, 0] > 100 * M[1, 1])  # the second feature does not matter
    True
    """
    solution = Cholesky("double").prepare(problem).solve(np.full(problem.y.shape[1], alpha))
    slopes = host_array(sum_slopes(problem.kernel, problem.X, problem.X, solution.coef, problem.memory, problem.device))
    own = 0.5 * slope_at_itself(problem.kernel.traced(), host_array(problem.X), repr(problem.kernel))
    slopes = slopes - solution.coef[:, :, None] * own[:, None, :]
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    rows = (slopes * np.sqrt(weights / weights.sum())[:, None, None]).reshape(-1, slopes.shape[2])
    return np.asarray(rows.T @ rows)


def advance(problem: Problem, at: MetricTrial, structure: Structure) -> Metric:
    """Return the metric M = (1/n) Σ ∇f∇fᵀ of the fit of a candidate; its scale is still to be found."""
    mapped = replace(problem, kernel=at.kernel, X=at.metric.map(problem.X))
    G = average_slopes(mapped, at.alpha)
    root = at.metric.root  # slopes by x are those by xR times Rᵀ
    G = root[:, None] * G * root if root.ndim == 1 else root @ G @ root.T
    size = float(np.trace(G))
    if not (np.isfinite(size) and size > 0):
        return at.metric  # f is flat: there is nothing to learn
    return structure.take_root(G / size)
