"""Choose a kernel and a penalty: every penalty of a path for every kernel, by leave-one-out or by folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.base import Problem
from mercer.solvers.ridge.banded import loo_path
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.spectral import Spectral
from mercer.solvers.rounding import outweighs_rounding, weighted_trace

from .folds import Folds

GRID = np.logspace(-11.0, 1.0, 25)  # penalties, relative to the trace of WK, as all eigenvalues are
BEYOND = np.logspace(1.5, 3.0, 4)  # where they go on if the largest is the best
FINER = 11  # penalties between the neighbours of the best
Score = Callable[[np.ndarray, np.ndarray, "np.ndarray | None"], float]  # of targets, predictions and weights
Curve = Callable[[np.ndarray], np.ndarray]  # scores of many penalties
MakeCurves = Callable[[Sequence[Problem], Score, "Folds | None"], "Curves"]


@dataclass(frozen=True)
class Choice:
    """The best kernel and penalty, and all that they were compared with."""

    kernel: Kernel
    alpha: float
    score: float  # their score; larger is better
    alphas: np.ndarray  # the penalties tried for every kernel, (p,)
    scores: np.ndarray  # the score of each kernel at each of them, (m, p)


def choose(
    problem: Problem,
    kernels: Sequence[Kernel],
    alphas: np.ndarray | None = None,
    *,
    score: Score | None = None,
    folds: Folds | None = None,
    curves: MakeCurves | None = None,
    hints: Sequence[float] = (),
) -> Choice:
    """Score every penalty with every kernel, and return the best; a decomposition serves all penalties.

    The best is the largest score of the whole table.  Of equal scores the largest penalty wins, as the simplest
    function, and then the first kernel.  A score that is not a number, or that the rounding of the matrix could have
    made, never wins; where there is no other, it is the largest penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.learning.choice import choose
    >>> from mercer.solvers.base import Problem
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> found = choose(Problem(Gaussian(), X, np.sin(X)), [Gaussian(0.01), Gaussian(2.0)])
    >>> found.kernel, found.scores.shape
    (Gaussian(length_scale=2.0), (2, 25))
    """
    cases = [replace(problem, kernel=kernel) for kernel in kernels]
    traces = [weighted_trace(case) for case in cases]
    unit = float(np.mean(traces)) or 1.0
    grid = np.union1d(GRID * unit, hints) if alphas is None else alphas
    found = (curves or Curves)(cases, score or minus_squared_error, folds)
    scores = found.scores(grid)
    row, column = find_best(scores, grid)
    alpha, best = float(grid[column]), float(scores[row, column])
    if alphas is None:
        alpha, best = _refine(lambda more: found.refine(row, more), grid, scores[row], BEYOND * unit)
    elif best == -np.inf:
        warn_caller(
            f"no leave-one-out error at alphas of at most {np.max(alphas):.3g} can be told from rounding, so the "
            f"largest of them is taken; try alphas from {GRID[0] * traces[row]:.1g} on"
        )
    return Choice(kernels[row], alpha, best, grid, scores)


def find_best(scores: np.ndarray, alphas: np.ndarray) -> tuple[int, int]:
    """Return row and column of the largest score; of equals the largest penalty, and then the first row.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.choice import find_best
    >>> find_best(np.array([[5.0, 1.0, np.nan], [1.0, 5.0, 2.0]]), np.array([0.1, 1.0, 10.0]))
    (1, 1)
    """
    values = np.where(np.isnan(scores), -np.inf, scores)
    rows, columns = np.nonzero(values == values.max())
    first = np.lexsort((rows, -np.asarray(alphas)[columns]))[0]
    return int(rows[first]), int(columns[first])


def _refine(curve: Curve, grid: np.ndarray, scores: np.ndarray, beyond: np.ndarray) -> tuple[float, float]:
    """Return the best penalty and its score after a look beyond the largest, and between the neighbours of the best."""
    column = find_best(scores[None], grid)[1]
    if column == len(grid) - 1:
        grid, scores = np.concatenate([grid, beyond]), np.concatenate([scores, curve(beyond)])
        column = find_best(scores[None], grid)[1]
    if 0 < column < len(grid) - 1:
        finer = np.geomspace(grid[column - 1], grid[column + 1], FINER)
        grid, scores = np.concatenate([grid, finer]), np.concatenate([scores, curve(finer)])
        column = find_best(scores[None], grid)[1]
    return float(grid[column]), float(scores[column])


class Curves:
    """The scores of several kernels as functions of the penalty."""

    def __init__(self, cases: Sequence[Problem], score: Score, folds: Folds | None) -> None:
        self.cases, self.score, self.folds = cases, score, folds
        self._best: tuple[int, Curve] | None = None

    def scores(self, alphas: np.ndarray) -> np.ndarray:
        """Return the scores, shape (kernels, penalties)."""
        rows: list[np.ndarray] = []
        for i, case in enumerate(self.cases):
            curve = self._make(case)
            rows.append(curve(alphas))
            best = self._best is None or np.max(rows[-1]) > max(np.max(row) for row in rows[:-1])
            if best and case.place.on_host:  # devices have less room, and compute a matrix again in no time
                self._best = i, curve
            del curve  # at most two eigendecompositions are in memory at any time
        return np.array(rows)

    def refine(self, row: int, alphas: np.ndarray) -> np.ndarray:
        """Return the scores of one kernel at other penalties."""
        if self._best is not None and self._best[0] == row:
            return self._best[1](alphas)
        return self._make(self.cases[row])(alphas)

    def _make(self, case: Problem) -> Curve:
        return make_curve(case, self.score, self.folds)


def make_curve(case: Problem, score: Score, folds: Folds | None) -> Curve:
    """Return the function from penalties to scores, by folds or by leaving out each point."""
    return make_loo_curve(case, score) if folds is None else make_fold_curve(case, score, folds)


def minus_squared_error(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None) -> float:
    """Return minus the weighted mean of squared errors over points and outputs.

    Examples
    --------
    >>> import numpy as np
    >>> minus_squared_error(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]), None)
    -2.0
    """
    return -float(np.average(np.mean((y - predictions) ** 2, axis=1), weights=weights))


def make_loo_curve(problem: Problem, score: Score) -> Curve:
    """Return the function from penalties to scores of leave-one-out predictions, −∞ where they may be rounding."""
    residuals = loo_path(problem)

    def curve(alphas: np.ndarray) -> np.ndarray:
        left = residuals(alphas)
        scores = _score_each(score, problem.y, problem.y - left, problem.weights)
        return np.where(outweighs_rounding(problem, alphas, left), scores, -np.inf)

    return curve


def make_fold_curve(problem: Problem, score: Score, folds: Folds) -> Curve:
    """Return the function from penalties to the mean score over folds."""
    cases = [(Spectral().prepare(pick_points(problem, fit)), pick_points(problem, held)) for fit, held in folds]

    def curve(alphas: np.ndarray) -> np.ndarray:
        total = np.zeros(len(alphas))
        for prepared, held in cases:
            solutions = prepared.path(alphas)
            coef = np.concatenate([solution.coef for solution in solutions], axis=1)
            intercepts = np.concatenate([solution.intercept for solution in solutions])
            function = Expansion(problem.kernel, prepared.problem.X, coef, intercepts)
            values = host_array(function(held.X, memory=problem.memory, device=problem.device))
            predictions = values.reshape(held.n, len(alphas), -1).swapaxes(0, 1)
            total += _score_each(score, held.y, predictions, held.weights)
        return total / len(cases)

    return curve


def _score_each(
    score: Score, y: np.ndarray, predictions: Iterable[np.ndarray], weights: np.ndarray | None
) -> np.ndarray:
    """Score each set of predictions; what cannot be predicted or scored never wins."""
    found = [score(y, values, weights) if np.isfinite(values).all() else -np.inf for values in predictions]
    return np.nan_to_num(np.array(found), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
