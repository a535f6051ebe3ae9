"""Kernel logistic regression over partitions: Newton's method in Nyström features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.formula.data import pick
from mercer.losses import Logistic, Softmax
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton.features import FeatureSpace
from mercer.solvers.newton.method import minimise
from mercer.solvers.newton.plan import DIRECT_LIMIT, count_centers, plan_newton
from mercer.solvers.newton.prepared import LossFit, report_gap, warn_if_stuck

from ._newton import BlockRows, PartitionedRows
from .cluster import Cluster
from .labels import Classes, resolve_kernel
from .table import read_table

EXACT = ("newton", "newton-cg")


def fit_partitions(
    owner: Any,
    cluster: Cluster,
    data: tuple[Any, Any, Any],
    scale_penalty: Callable[[float], float],
    *,
    solver: str,
    n_centers: int | None,
    tol: float,
    max_iter: int,
    random_state: Any,
    name: str,
) -> tuple[np.ndarray, LossFit] | None:
    """Fit to labelled rows in partitions: return the classes and the fit, or None if all rows are to be gathered."""
    if solver in EXACT:
        return None
    labelled = read_table(cluster, owner._kernel_argument(), "labels", *data)
    classes = Classes.of(owner, labelled)
    outputs = 1 if len(classes.names) == 2 else len(classes.names)
    if solver == "auto" and n_centers is None and labelled.n * outputs <= DIRECT_LIMIT:
        return None
    table = classes.encode(labelled)
    nothing = np.broadcast_to(0.0, (table.n, outputs))
    problem = Problem(
        resolve_kernel(owner, table), table.column("X"), nothing, None, bool(owner.fit_intercept),
        parse_memory(owner.memory),
    )  # fmt: skip
    plan = plan_newton(problem, "nystroem" if solver == "auto" else solver, n_centers)
    alpha = scale_penalty(float(classes.mass.sum()))
    indices, triangle = choose_centers(problem, count_centers(problem, n_centers), check_random_state(random_state))
    centers, m = pick(problem.X, indices), len(triangle)
    loss = Logistic() if outputs == 1 else Softmax()
    rows = PartitionedRows(table, BlockRows(loss, outputs, problem.kernel, centers, triangle, owner.device))
    found = minimise(FeatureSpace(rows, problem.fit_intercept), alpha, tol=tol, max_iter=max_iter)
    workers = f"values of {m} Nyström features, and the sums of gradients and Hessians"
    client = f"the choice of centres among the rows picked for it, and Newton's equations ({m * outputs} unknowns)"
    gap = report_gap(found, float("nan"))  # it takes the kernel of all pairs of rows, whose blocks never meet
    plan = cluster.plan(plan, len(table.blocks), workers, client)
    fit = LossFit(
        problem.kernel, centers, None, np.linalg.solve(triangle.T, found.state.coef), found.state.intercept,
        found.objective, gap, report_gap(found, found.gap), found.converged, found.n_iter, plan,
    )  # fmt: skip
    warn_if_stuck(name, fit, tol, max_iter)
    return classes.names, fit
