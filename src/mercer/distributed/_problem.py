"""Ridge problems whose rows are in blocks: the sums that the solvers on one machine ask for, made of block sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.centers import RestrictedRows, RestrictedSums
from mercer.solvers.ridge.restricted import LeftOut
from mercer.solvers.ridge.rows import (
    ErrorRule,
    PrimalErrors,
    PrimalRows,
    PrimalSums,
    PrimalTriangle,
    SecondPass,
    features_of,
)

from ._block import Block
from ._table import Table


def problem_of(table: Table, kernel: Kernel, fit_intercept: bool, memory: int) -> Problem:
    """Return the problem of all rows, whose points, targets and weights can be picked and nothing else."""
    weights: Any = table.column("weights") if table.survey.weighted else None
    y: Any = table.column("y")
    return Problem(kernel, table.column("X"), y, weights, fit_intercept, memory)


class DistributedRestrictedRows:
    """:class:`~mercer.solvers.ridge.centers.RestrictedRows` over blocks: a task for each, and a tree of sums.

    Parameters
    ----------
    table : Table
        The blocks.
    problem : Problem
        Their problem.
    centers : collection of m objects
        The centres, which every task gets.
    device : str or torch.device, optional
        Where workers compute.
    """

    def __init__(self, table: Table, problem: Problem, centers: Rows, device: Any = None) -> None:
        self._table, self._problem = table, problem
        self._shared = problem.kernel, centers, problem.fit_intercept, table.survey.outputs, device
        head = Problem(problem.kernel, table.head, np.zeros((_count(table.head), 1)))
        self.quick = RestrictedRows(head, centers).quick

    def moments(self) -> tuple[float, np.ndarray]:
        """Return Σw and Σwy, which the survey knows."""
        moments = self._table.survey.y_moments
        assert moments is not None  # y holds targets
        return moments.weight, moments.weight * moments.mean

    def sums(self, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
        """Sum up features or kernel values over all blocks."""
        found: RestrictedSums = self._table.reduce("gram", _sums, self._shared, triangle, target_mean)
        return found

    def image(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ k e and Σ e over all blocks."""
        values, total = self._table.reduce("residual", _image, self._shared, coef, intercept)
        return values, total

    def pieces(self, rows: np.ndarray | None = None) -> Any:
        """Yield kernel values, targets and weights of some rows, which are fetched."""
        assert rows is not None  # all of them never are
        problem, kernel, centers = self._problem, self._shared[0], self._shared[1]
        weights = None if problem.weights is None else problem.weights[rows]
        some = Problem(kernel, problem.X[rows], problem.y[rows], weights, problem.fit_intercept, problem.memory)
        return RestrictedRows(some, centers).pieces()

    def squared_errors(self, left_out: LeftOut) -> np.ndarray:
        """Return Σ we² of the leave-one-out residuals e of all rows, for each output."""
        return np.asarray(self._table.reduce("leave-one-out", _squared_errors, self._shared, left_out))


class DistributedPrimalRows:
    """:class:`~mercer.solvers.ridge.rows.PrimalRows` over blocks.

    Parameters
    ----------
    table : Table
        The blocks.
    problem : Problem
        Their problem.
    feature_map : FeatureMap
        φ.
    width : int
        Its number of features.
    """

    def __init__(self, table: Table, problem: Problem, feature_map: Any, width: int) -> None:
        self._table, self.feature_map, self._width = table, feature_map, width
        self.shared = problem.kernel, feature_map, width, problem.fit_intercept, table.survey.outputs

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros of the shapes of the means."""
        return np.zeros(self._width), np.zeros(self._table.survey.outputs)

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of features and targets of the first few rows."""
        count = min(self._table.n, 1000, int(self._table.counts[0]))
        rows = np.arange(count)
        phi = features_of(self.feature_map, self._table.pick("X", rows))
        y = self._table.pick("y", rows).reshape(count, -1)
        return phi.mean(axis=0), y.mean(axis=0)

    def sums(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalSums:
        """Sum over all blocks."""
        found: PrimalSums = self._table.reduce("normal", _primal_sums, self.shared, mean, y_mean)
        return found

    def triangle(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalTriangle:
        """Reduce all blocks to one triangle."""
        found: PrimalTriangle = self._table.reduce("triangle", _primal_triangle, self.shared, mean, y_mean)
        return found

    def errors(self, rule: ErrorRule) -> PrimalErrors:
        """Sum up the errors of all blocks."""
        found: PrimalErrors = self._table.reduce("errors", _primal_error_sums, self.shared, rule)
        return found

    def second_pass(self, rule: SecondPass) -> Any:
        """Refuse: coefficients of all rows are never made."""
        raise NotImplementedError("coefficients of all rows are not computed on a cluster")

    def squared_errors(self, rule: SecondPass) -> np.ndarray:
        """Return Σ we² of the leave-one-out residuals e of all rows, for each column of a solution."""
        return np.asarray(self._table.reduce("leave-one-out", _primal_errors, self.shared, rule))


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _weights(block: Block) -> np.ndarray:
    return np.ones(len(block)) if block.weights is None else block.weights


def rows_of(block: Block, shared: tuple[Kernel, Rows, bool, int, Any]) -> Any:
    kernel, centers, fit_intercept, q, device = shared
    return RestrictedRows(block.problem(kernel, fit_intercept, q, device), centers)


def _sums(block: Block, shared: Any, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
    return rows_of(block, shared).sums(triangle, target_mean)


def _image(block: Block, shared: Any, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows_of(block, shared).image(coef, intercept)


def _squared_errors(block: Block, shared: Any, left_out: LeftOut) -> np.ndarray:
    rows = rows_of(block, shared)
    squares = np.zeros(len(left_out.alpha))
    for _, values, y, weights in rows.pieces():
        squares += weights @ left_out(values, y, weights) ** 2
    return squares


def primal_rows_of(block: Block, shared: Any) -> PrimalRows:
    kernel, feature_map, width, fit_intercept, q = shared
    return PrimalRows(block.problem(kernel, fit_intercept, q), feature_map, width)


def _primal_sums(block: Block, shared: Any, mean: np.ndarray, y_mean: np.ndarray) -> PrimalSums:
    return primal_rows_of(block, shared).sums(mean, y_mean)


def _primal_triangle(block: Block, shared: Any, mean: np.ndarray, y_mean: np.ndarray) -> PrimalTriangle:
    return primal_rows_of(block, shared).triangle(mean, y_mean)


def _primal_error_sums(block: Block, shared: Any, rule: ErrorRule) -> PrimalErrors:
    return primal_rows_of(block, shared).errors(rule)


def _primal_errors(block: Block, shared: Any, rule: SecondPass) -> np.ndarray:
    _, residuals = primal_rows_of(block, shared).second_pass(rule)
    assert residuals is not None
    return np.asarray(_weights(block) @ residuals**2)
