"""Classification by kernel ridge regression over partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.estimators.targets import check_alphas
from mercer.kernels import Kernel
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_classifier import KernelRidgeClassifier, best_of, judged, judged_path, relative_grid
from mercer.solvers.base import Problem
from mercer.solvers.plan import SPECTRAL_LIMIT, plan
from mercer.solvers.ridge.primal import PrimalPrepared
from mercer.solvers.ridge.rows import SecondPass
from mercer.solvers.sampling import LIMIT, some_rows

from ._block import Block, Intake
from ._cluster import Cluster
from ._labels import Classes, resolved_kernel
from ._problem import DistributedPrimalRows, primal_rows_of, problem_of
from ._table import Table, copy_columns, make_table
from .ridge import columns_of, fit_table, refuse_precomputed


def fit_ridge_classifier(
    model: KernelRidgeClassifier, cluster: Cluster, X: Any, y: Any, sample_weight: Any = None
) -> None:
    """Fit to labelled rows in partitions."""
    refuse_precomputed(model)
    intake = Intake(model, model._argument(), "labels")
    labelled = make_table(model, cluster, intake, X, y, sample_weight)
    classes = Classes.of(model, labelled)
    table = classes.targets(labelled)
    kernel = resolved_kernel(model, table)
    alpha, tried = _penalty(model, table, kernel)
    regressor = KernelRidge(
        alpha, kernel=kernel, fit_intercept=model.fit_intercept, solver=model.solver, memory=model.memory,
        random_state=model.random_state, assume_psd=True, device=model.device,
    )  # fmt: skip
    copy_columns(model, regressor, table.head)
    fit_table(regressor, table, kernel)
    model._keep_regressor(classes.names, alpha, regressor, tried)


def _penalty(model: KernelRidgeClassifier, table: Table, kernel: Kernel) -> tuple[float, dict[str, Any]]:
    """Return the penalty, from sums of leave-one-out errors over all rows or from a sample of them."""
    if not isinstance(model.alpha, str):
        return model.alpha, {}
    if model.alpha != "loo":
        raise ValueError(f"{type(model).__name__}: alpha must be a number or 'loo', got {model.alpha!r}")
    problem = problem_of(table, kernel, bool(model.fit_intercept), parse_memory(model.memory))
    grid = _grid(model, table, kernel)
    d, q = columns_of(table, kernel), table.survey.outputs
    if plan(kernel, table.n, d, outputs=q, loo=True, memory=problem.memory).solver == "primal":
        assert d is not None
        rows: Any = DistributedPrimalRows(table, problem, kernel.feature_map(d), int(kernel.feature_dim(d)))
        prepared = PrimalPrepared(problem, rows)
        rule = prepared.second_pass(prepared.weights(grid), True)
        sums = table.reduce("leave-one-out", _judged, rows.shared, rule)
        return best_of(grid, sums / table.survey.weight)
    few = np.arange(table.n)
    if table.n > SPECTRAL_LIMIT:
        rng = check_random_state(model.random_state)
        few = rng.choice(table.n, SPECTRAL_LIMIT, replace=False) if table.n <= LIMIT else some_rows(
            rng, table.n, SPECTRAL_LIMIT
        )  # fmt: skip
    weights = problem.weights[few] if problem.weights is not None else None
    sample = Problem(kernel, problem.X[few], problem.y[few], weights, problem.fit_intercept, problem.memory)
    return best_of(grid, judged_path(sample, grid))


def _grid(model: KernelRidgeClassifier, table: Table, kernel: Kernel) -> np.ndarray:
    if model.alphas is not None:
        return check_alphas(model, model.alphas)
    return relative_grid(float(table.reduce("diagonal", _size_of, kernel)) / table.n)


def _size_of(block: Block, kernel: Kernel) -> np.ndarray:
    return np.asarray(np.abs(kernel.diag(block.X)).sum(), dtype=np.float64)


def _judged(block: Block, shared: Any, rule: SecondPass) -> np.ndarray:
    """Return the sums of squared errors and of right classes of a block, a row for each penalty."""
    _, residuals = primal_rows_of(block, shared).second_pass(rule)
    assert residuals is not None
    y = block.y.reshape(len(block), -1)
    parts = residuals.reshape(len(y), -1, y.shape[1]).swapaxes(0, 1)
    return np.array([judged(part, y, block.weights) for part in parts])
