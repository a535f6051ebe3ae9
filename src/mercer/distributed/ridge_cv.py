"""Kernel ridge regression that finds kernel and penalty, over partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.formula.data import pick
from mercer.kernels import Gaussian
from mercer.learning.choice import Curves, Folds, Score, curve_of
from mercer.models.ridge_cv import OF_THE_FIT, KernelRidgeCV
from mercer.solvers.base import Problem
from mercer.solvers.centers import draw_rows

from ._block import Block, Intake
from ._cluster import Cluster
from ._graph import mapped
from ._place import place_here
from ._table import Table, copy_columns, make_table
from .ridge import fit_table, refuse_precomputed

POOL = 50_000  # rows that kernel and penalty are chosen from; all of them if there are no more


def fit_ridge_cv(model: KernelRidgeCV, cluster: Cluster, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Choose kernel and penalty from a pool of rows, kernels and folds being tasks, and fit all rows."""
    refuse_precomputed(model)
    argument = Gaussian() if model.kernel is None else model._argument()
    table = make_table(model, cluster, Intake(model, argument, "targets"), X, y, sample_weight)
    if table.n < 2:
        raise ValueError(
            f"{type(model).__name__} needs at least 2 points with a weight, one to leave out and one to fit; got "
            f"n_samples = {table.n}"
        )
    rows, targets, weights = _pool(model, table)
    curves = partial(ClusterCurves, cluster, model.device)
    model._choose(rows, targets, weights, _steps(cluster), curves, (None, parse_memory(model.memory)))
    model.ridge_ = model._last_fit()
    copy_columns(model, model.ridge_, table.head)
    fitted = fit_table(model.ridge_, table, model.kernel_)
    for name in OF_THE_FIT:
        setattr(model, name, getattr(model.ridge_, name))
    model._loo, model._targets, model._weights = None, model.ridge_._targets, None
    if model.ridge_._problem is not None:
        model._weights = model.ridge_._problem.weights
    errors = fitted.squared_errors()
    if errors is not None:
        moments = table.survey.y_moments
        assert moments is not None
        model._loo_score = float(np.mean(1.0 - errors / moments.squares))


class ClusterCurves(Curves):
    """Scores of kernels, each kernel and each fold of it a task.

    Parameters
    ----------
    cluster : Cluster
        Where tasks run.
    device : str or torch.device, optional
        Where workers compute.
    cases, score, folds
        As for :class:`~mercer.learning.choice.Curves`.
    """

    def __init__(
        self, cluster: Cluster, device: Any, cases: Sequence[Problem], score: Score, folds: Folds | None
    ) -> None:
        super().__init__(cases, score, folds)
        self._cluster, self._device = cluster, device

    def scores(self, alphas: np.ndarray) -> np.ndarray:
        """Return the scores, shape (kernels, penalties)."""
        return self._computed(range(len(self.cases)), alphas)

    def refined(self, row: int, alphas: np.ndarray) -> np.ndarray:
        """Return the scores of one kernel at other penalties."""
        return np.asarray(self._computed([row], alphas)[0])

    def _computed(self, rows: Sequence[int], alphas: np.ndarray) -> np.ndarray:
        case = self.cases[0]
        data = case.X, case.y, case.weights, case.fit_intercept, case.memory
        parts: list[Any] = [None] if self.folds is None else [[fold] for fold in self.folds]
        wanted = [(self.cases[row].kernel, part) for row in rows for part in parts]
        tasks = mapped("scores", _scored, wanted, data, self.score, alphas, self._device)
        found = np.array(self._cluster.compute(tasks)).reshape(len(rows), len(parts), len(alphas))
        return np.asarray(found.mean(axis=1))


def _scored(case: tuple[Any, Any], data: tuple[Any, ...], score: Score, alphas: np.ndarray, device: Any) -> np.ndarray:
    (kernel, folds), (X, y, weights, fit_intercept, memory) = case, data
    place, room = place_here(device, memory)
    return curve_of(Problem(kernel, X, y, weights, fit_intercept, room, place), score, folds)(alphas)


def _steps(cluster: Cluster) -> Any:
    def on_step(step: int, error: float) -> bool:
        cluster.step(error)
        return False

    return on_step


def _with_gaps(table: Table, rows: Any, targets: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Put rows without weight back to where they were, because folds count them; any row stands for them."""
    sizes = np.array([size for size, _, _ in table.survey.every])
    if sizes.sum() == table.n:
        return rows, targets, weights
    starts = dict(zip([index for _, _, index in table.survey.every], np.cumsum(sizes) - sizes, strict=True))
    places = table.each("places", _places)
    positions = np.concatenate([starts[index] + place for index, place in places])
    source, present = np.zeros(sizes.sum(), dtype=np.intp), np.zeros(sizes.sum())
    source[positions], present[positions] = np.arange(table.n), weights
    return pick(rows, source), targets[source], present


def _places(block: Block) -> tuple[int, np.ndarray]:
    return block.index, block.places


def _pool(model: KernelRidgeCV, table: Table) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the rows that are chosen from, in their order, with targets and weights."""
    memory = parse_memory(model.memory)
    weighted = table.survey.weighted
    if table.n <= POOL:
        rows, targets = table.gather("X", "the choice of a kernel", memory), table.gather("y", "targets", memory)
        weights = table.gather("weights", "weights", memory) if weighted else None
        return (rows, targets, weights) if weights is None else _with_gaps(table, rows, targets, weights)
    chosen = np.sort(draw_rows(check_random_state(model.random_state), table.n, POOL))
    weights = table.pick("weights", chosen) if weighted else None
    return table.pick("X", chosen), table.pick("y", chosen), weights
