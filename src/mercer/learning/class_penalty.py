"""The penalty of ridge on labels of ±1, by the leave-one-out errors of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.solvers.base import Problem
from mercer.solvers.plan import SPECTRAL_LIMIT, make_solver, plan_problem
from mercer.solvers.ridge.banded import loo_path
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.rounding import outweighs_rounding

from .choice import find_best
from .search import PATH_BYTES

GRID = np.logspace(-6, 3, 19)  # times the mean of k(x, x)


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty of least error, and those it was compared with."""

    alpha: float
    alphas: np.ndarray | None = None  # those tried, (p,)
    errors: np.ndarray | None = None  # their mean squared errors, infinite where rounding could have made them, (p,)
    accuracy: float | None = None  # the share of points whose class is right when they are left out

    @classmethod
    def of(cls, grid: np.ndarray, means: np.ndarray) -> PenaltyChoice:
        """Return the penalty of least error, the largest of equals; means are of errors and of right classes."""
        best = find_best(-means[None, :, 0], grid)[1]
        return cls(float(grid[best]), grid, means[:, 0], float(means[best, 1]))


def make_targets(codes: np.ndarray, classes: int) -> np.ndarray:
    """Return targets of ±1: one column for two classes, otherwise one for each.

    Examples
    --------
    >>> make_targets(np.array([0, 1]), 2), make_targets(np.array([2]), 3)
    (array([-1.,  1.]), array([[-1., -1.,  1.]]))
    """
    if classes == 2:
        return 2.0 * codes - 1.0
    return 2.0 * (codes[:, None] == np.arange(classes)) - 1.0


def choose_penalty(problem: Problem, alphas: np.ndarray | None = None, random_state: Any = None) -> PenaltyChoice:
    """Return the penalty of least leave-one-out error, on a sample of points if there are too many of them."""
    grid = make_grid(float(abs(problem.diagonal).mean())) if alphas is None else alphas
    q = problem.y.shape[1]
    if plan_problem(problem, np.ones(q), loo=True).solver == "primal":
        prepared = make_solver("primal").prepare(problem)
        path: list[Any] = [prepared.solve(np.full(q, a), loo=True).loo for a in grid]
        total = problem.n if problem.weights is None else float(problem.weights.sum())
        return PenaltyChoice.of(grid, np.array([sum_errors(left, problem.y, problem.weights) for left in path]) / total)
    most = max(2, min(SPECTRAL_LIMIT, int((problem.memory / PATH_BYTES) ** 0.5)))
    if problem.n > most:
        few = check_random_state(random_state).choice(problem.n, most, replace=False)
        problem = pick_points(problem, few)
    return choose_on_path(problem, grid)


def choose_on_path(problem: Problem, grid: np.ndarray) -> PenaltyChoice:
    """Return the penalty of least leave-one-out error; errors are infinite where they may be rounding."""
    path = loo_path(problem)(grid)
    total = problem.n if problem.weights is None else float(problem.weights.sum())
    means = np.array([sum_errors(residuals, problem.y, problem.weights) for residuals in path]) / total
    means[~outweighs_rounding(problem, grid, path), 0] = np.inf
    return PenaltyChoice.of(grid, means)


def make_grid(size: float) -> np.ndarray:
    """Return the penalties to try for a kernel whose k(x, x) is of this size."""
    return GRID * (size if size > 0 else 1.0)


def sum_errors(residuals: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Return the weighted sums, over points, of squared leave-one-out errors and of classes that are right."""
    residuals = np.nan_to_num(residuals, nan=1.0)  # nothing was left to fit: as good as a prediction of 0
    weights = np.ones(len(y)) if weights is None else weights
    right = _winners(y - residuals) == _winners(y)
    return float(weights @ (residuals**2).mean(axis=1)), float(weights @ right)


def _winners(values: np.ndarray) -> np.ndarray:
    return values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0] > 0
