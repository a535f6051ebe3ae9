"""Any loss over partitions: Newton's method in Nyström features, in rounds if the loss has corners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.estimators.gathered import fit_gathered
from mercer.estimators.probability import count_outputs
from mercer.formula.data import Rows, pick
from mercer.losses import Loss
from mercer.losses.penalty import SquaredNorm, as_penalty
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton.plan import DIRECT_LIMIT, count_centers, plan_spread
from mercer.solvers.newton.prepared import limit_steps, report_gap, warn_if_stuck
from mercer.solvers.representer.fit import choose_tolerance
from mercer.solvers.representer.norm import PenalizedFit

from ._block import RowBlock
from .executor import Executor
from .gathered import gather_rows
from .labels import Classes, resolve_kernel
from .newton.rows import BlockRows
from .newton.sample import minimise_rows
from .table import RowTable, read_table

Given = tuple[Any, Any, Any]  # points, what is known of them, and weights
EXACT = ("newton", "newton-cg", "smo", "proximal")  # which need all rows in one place


@dataclass(frozen=True)
class ClusterFit:
    """A fit to rows in partitions, with the classes if there are such, and whether targets had one dimension."""

    fit: PenalizedFit
    X: Rows  # what the model keeps: the centres
    loss: Loss
    classes: np.ndarray
    flat: bool = True
    kept: ClassVar[None] = None  # of the rows, which stay where they are


def fit_labels(owner: Any, cluster: Executor, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a classifier to labelled rows in partitions; all of them come here if the model keeps them all."""
    _fit_partitions(_fit_labels, owner, cluster, (X, y, sample_weight))


def fit_targets(owner: Any, cluster: Executor, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a regression to rows with targets in partitions; all of them come here if the model keeps them all."""
    _fit_partitions(_fit_targets, owner, cluster, (X, y, sample_weight))


def _fit_partitions(method: Callable[..., ClusterFit | None], owner: Any, cluster: Executor, data: Given) -> None:
    options = owner._options()
    found = None if options["solver"] in EXACT else method(owner, cluster, data, options)
    if found is None:
        fit_gathered(owner, gather_rows(cluster, owner._kernel_argument(), *data))
    else:
        owner._keep(found.fit, found.loss, found)


def _fit_labels(owner: Any, cluster: Executor, data: Given, options: dict[str, Any]) -> ClusterFit | None:
    """Return the fit to labelled rows, or None if all rows are to be gathered."""
    labelled = read_table(cluster, owner._kernel_argument(), "labels", *data)
    classes = Classes.of(owner, labelled)
    loss = owner._choose_loss(len(classes.names))
    outputs = count_outputs(loss, len(classes.names))
    if _is_small(labelled, outputs, options):
        return None
    fit = _fit(owner, classes.encode(labelled), loss, outputs, float(classes.mass.sum()), **options)
    return ClusterFit(fit, fit.centers, loss, classes.names)


def _fit_targets(owner: Any, cluster: Executor, data: Given, options: dict[str, Any]) -> ClusterFit | None:
    """Return the fit to rows with targets, or None if all rows are to be gathered."""
    table, loss = read_table(cluster, owner._kernel_argument(), "targets", *data), owner._read_loss()
    owner._check_shape(table.survey.outputs, table.survey.flat)
    outputs = owner._count_outputs(table.survey.outputs)
    if _is_small(table, outputs, options):
        return None
    most = np.max(table.each("largest", _find_largest), axis=0)  # without which counts of one block might all be 0
    table.each("check", _check_block, loss, outputs, most, type(owner).__name__)
    fit = _fit(owner, table, loss, outputs, table.survey.weight, **options)
    return ClusterFit(fit, fit.centers, loss, np.empty(0), table.survey.flat)


def _find_largest(block: RowBlock) -> np.ndarray:
    return np.asarray(block.y, dtype=np.float64).reshape(len(block), -1).max(axis=0)


def _check_block(block: RowBlock, loss: Loss, outputs: int, most: np.ndarray, name: str) -> None:
    targets = np.vstack([np.asarray(block.y, dtype=np.float64).reshape(len(block), -1), most])
    loss.check_targets(np.broadcast_to(targets, (len(targets), outputs)), name)


def _is_small(table: RowTable, outputs: int, options: dict[str, Any]) -> bool:
    return options["solver"] == "auto" and options["n_centers"] is None and table.n * outputs <= DIRECT_LIMIT


def _fit(
    owner: Any, table: RowTable, loss: Loss, outputs: int, total: float, *, solver: str, n_centers: int | None,
    tol: float | None, max_iter: int | None, random_state: Any, name: str,
) -> PenalizedFit:  # fmt: skip
    if not isinstance(as_penalty(owner.penalty), SquaredNorm):
        raise ValueError(f"{name}: rows in partitions need penalty='squared', got {owner.penalty!r}; use X.compute()")
    alpha = owner._scale_penalty(total)
    problem = Problem(
        resolve_kernel(owner, table), table.column("X"), np.broadcast_to(0.0, (table.n, outputs)), None,
        bool(owner.fit_intercept), parse_memory(owner.memory),
    )  # fmt: skip
    plan = plan_spread(problem, solver, n_centers)
    indices, triangle = choose_centers(problem, count_centers(problem, n_centers), check_random_state(random_state))
    centers, m = pick(problem.X, indices), len(triangle)
    view, tol = BlockRows(loss, outputs, problem.kernel, centers, triangle, owner.device), choose_tolerance(loss, tol)
    found = minimise_rows(table, view, problem.fit_intercept, alpha, tol=tol, max_iter=limit_steps(max_iter))
    workers = f"values of {m} Nyström features, and the sums of gradients and Hessians"
    client = f"the choice of centres among the rows picked for it, and Newton's equations ({m * outputs} unknowns)"
    gap = report_gap(found, float("nan"))  # it takes the kernel of all pairs of rows, whose blocks never meet
    plan = table.cluster.plan(plan, len(table.blocks), workers, client)
    fit = PenalizedFit(
        problem.kernel, centers, None, np.linalg.solve(triangle.T, found.state.coef), found.state.intercept,
        found.objective, gap, report_gap(found, found.gap), found.converged, found.n_iter, plan, alpha,
    )  # fmt: skip
    warn_if_stuck(name, fit, tol, max_iter)
    return fit
