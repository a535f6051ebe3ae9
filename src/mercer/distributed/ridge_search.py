"""The choice of kernel and penalty of ridge over partitions: from sums over all rows, or from a pool of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.formula.data import Rows, pick
from mercer.kernels import Gaussian, Kernel
from mercer.learning.choice import Curves, MakeCurves, Score, make_curve
from mercer.learning.class_penalty import PenaltyChoice, choose_on_path, make_grid, sum_errors
from mercer.learning.folds import Folds
from mercer.solvers.base import Problem
from mercer.solvers.centers import PERMUTED, draw_rows
from mercer.solvers.plan import SPECTRAL_LIMIT, count_columns, plan
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.primal.rows import SecondPass
from mercer.solvers.ridge.primal.solver import PrimalPrepared

from ._block import RowBlock
from ._graph import find_place
from ._ridge_rows import PrimalView, TablePrimalRows, make_problem
from .executor import Executor
from .table import RowTable

PATH = 20  # bytes for each pair of rows, that a path of penalties takes
POOL = 50_000  # rows that kernel and penalty are chosen from; all of them if there are no more


def pool_rows(
    table: RowTable, fit_intercept: bool, memory: float | str | None, random_state: Any, device: Any
) -> tuple[Problem, MakeCurves]:
    """Return the problem of the rows that are chosen from, in their order, and what scores kernels as tasks."""
    budget, weighted = parse_memory(memory), table.survey.weighted
    weights = None
    if table.n <= POOL:
        rows, targets = table.gather("X", "the choice of a kernel", budget), table.gather("y", "targets", budget)
        if weighted:
            rows, targets, weights = _fill_gaps(table, rows, targets, table.gather("weights", "weights", budget))
    else:
        chosen = np.sort(draw_rows(check_random_state(random_state), table.n, POOL))
        rows, targets = table.pick("X", chosen), table.pick("y", chosen)
        weights = table.pick("weights", chosen) if weighted else None
    curves = partial(ClusterCurves, table.cluster, device)
    return Problem(Gaussian(), rows, targets, weights, fit_intercept, budget), curves


def _fill_gaps(
    table: RowTable, rows: Rows, targets: np.ndarray, weights: np.ndarray
) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Put rows without weight back to where they were, because folds count them; any row stands for them."""
    sizes = np.array([size for size, _, _ in table.survey.sizes])
    if sizes.sum() == table.n:
        return rows, targets, weights
    starts = dict(zip([index for _, _, index in table.survey.sizes], np.cumsum(sizes) - sizes, strict=True))
    positions = np.concatenate([starts[index] + places for index, places in table.each("places", _read_places)])
    source, present = np.zeros(sizes.sum(), dtype=np.intp), np.zeros(sizes.sum())
    source[positions], present[positions] = np.arange(table.n), weights
    return pick(rows, source), targets[source], present


def _read_places(block: RowBlock) -> tuple[int, np.ndarray]:
    return block.index, block.places


class ClusterCurves(Curves):
    """Scores of kernels, each kernel and each fold of it a task."""

    def __init__(
        self, cluster: Executor, device: Any, cases: Sequence[Problem], score: Score, folds: Folds | None
    ) -> None:
        super().__init__(cases, score, folds)
        self._cluster, self._device = cluster, device

    def scores(self, alphas: np.ndarray) -> np.ndarray:
        """Return the scores, shape (kernels, penalties)."""
        return self._compute(range(len(self.cases)), alphas)

    def refine(self, row: int, alphas: np.ndarray) -> np.ndarray:
        """Return the scores of one kernel at other penalties."""
        return np.asarray(self._compute([row], alphas)[0])

    def _compute(self, rows: Sequence[int], alphas: np.ndarray) -> np.ndarray:
        parts: list[Any] = [None] if self.folds is None else [[fold] for fold in self.folds]
        wanted = [(self.cases[row].kernel, part) for row in rows for part in parts]
        tasks = self._cluster.map("scores", _score_kernel, wanted, self.cases[0], self.score, alphas, self._device)
        found = np.array(self._cluster.compute(tasks)).reshape(len(rows), len(parts), len(alphas))
        return np.asarray(found.mean(axis=1))


def _score_kernel(
    case: tuple[Kernel, Folds | None], problem: Problem, score: Score, alphas: np.ndarray, device: Any
) -> np.ndarray:
    (kernel, folds), place = case, find_place(device, problem.memory)
    return make_curve(replace(problem, kernel=kernel, memory=place.memory, device=place.device), score, folds)(alphas)


def choose_penalty(
    table: RowTable, kernel: Kernel, alphas: np.ndarray | None, fit_intercept: bool, memory: float | str | None,
    random_state: Any,
) -> PenaltyChoice:  # fmt: skip
    """Return the penalty for targets of ±1, by leave-one-out errors of all rows or of a sample of them."""
    problem, n = make_problem(table, kernel, fit_intercept, parse_memory(memory)), table.n
    grid = make_grid(float(table.reduce("diagonal", _sum_diagonal, kernel)) / n) if alphas is None else alphas
    d = count_columns(kernel, table.head)
    if plan(kernel, n, d, outputs=table.survey.outputs, loo=True, memory=problem.memory).solver == "primal":
        assert d is not None
        rows: Any = TablePrimalRows(table, problem, kernel.feature_map(d), int(kernel.feature_dim(d)))
        prepared = PrimalPrepared(problem, rows)
        rule = prepared.second_pass(prepared.weights(grid), True)
        sums = table.reduce("leave-one-out", _sum_block_errors, rows.view, rule)
        return PenaltyChoice.of(grid, sums / table.survey.weight)
    few, most = np.arange(n), min(SPECTRAL_LIMIT, int((problem.memory / PATH) ** 0.5))
    if n > most:
        rng = check_random_state(random_state)
        few = rng.choice(n, most, replace=False) if n <= PERMUTED else draw_rows(rng, n, most)
    return choose_on_path(pick_points(problem, few), grid)


def _sum_diagonal(block: RowBlock, kernel: Kernel) -> np.ndarray:
    return np.asarray(np.abs(kernel.diag(block.X)).sum(), dtype=np.float64)


def _sum_block_errors(block: RowBlock, view: PrimalView, rule: SecondPass) -> np.ndarray:
    """Return the sums of squared errors and of right classes of a block, a row for each penalty."""
    _, residuals = view(block).second_pass(rule)
    assert residuals is not None
    y = block.y.reshape(len(block), -1)
    parts = residuals.reshape(len(y), -1, y.shape[1]).swapaxes(0, 1)
    return np.array([sum_errors(part, y, block.weights) for part in parts])
