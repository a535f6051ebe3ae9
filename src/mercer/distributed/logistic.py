"""Kernel logistic regression over partitions: Newton's method in Nyström features, or all rows where they are few."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.targets import check_positive, check_whole
from mercer.formula.data import pick
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton.method import State, minimise, warn_if_stuck
from mercer.solvers.newton.plan import DIRECT_LIMIT, centers_of, plan_logistic

from ._features import FeaturesOf
from ._newton import ReducedSpace, reduced_loss
from .cluster import Cluster
from .gathered import fit_gathered
from .labels import Classes, resolve_kernel
from .table import read_table

EXACT = ("newton", "newton-cg")


def fit_logistic(model: Any, cluster: Cluster, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Fit to labelled rows in partitions."""
    tol = check_positive(model, "tol", model.tol)
    max_iter = check_whole(model, "max_iter", model.max_iter)
    n_centers = check_whole(model, "n_centers", model.n_centers, none=True)
    if model.solver in EXACT:
        fit_gathered(model, cluster, X, y, sample_weight)
        return
    labelled = read_table(cluster, kernel_argument(model, model._argument()), "labels", X, y, sample_weight)
    classes = Classes.of(model, labelled)
    outputs = 1 if len(classes.names) == 2 else len(classes.names)
    if model.solver == "auto" and n_centers is None and labelled.n * outputs <= DIRECT_LIMIT:
        fit_gathered(model, cluster, X, y, sample_weight)
        return
    table = classes.encode(labelled)
    kernel = resolve_kernel(model, table)
    nothing: Any = _Shape((table.n, outputs))
    problem = Problem(kernel, table.column("X"), nothing, None, bool(model.fit_intercept), parse_memory(model.memory))
    plan = plan_logistic(problem, "nystroem" if model.solver == "auto" else model.solver, n_centers)
    alpha = model._penalty_of(float(classes.mass.sum()))
    rng = check_random_state(model.random_state)
    indices, triangle = choose_centers(problem, centers_of(problem, n_centers), rng)
    centers = pick(problem.X, indices)
    loss = reduced_loss(table, classes.mass)
    space: Any = ReducedSpace(table, FeaturesOf(kernel, centers, triangle, model.device), loss)
    start = State(np.zeros(space.shape), space.nothing(), np.zeros(outputs), 0.0)
    found = minimise(space, loss, alpha, fit_intercept=problem.fit_intercept, tol=tol, max_iter=max_iter, start=start)
    warn_if_stuck(type(model).__name__, found, max_iter)
    coef = np.linalg.solve(triangle.T, found.state.coef)
    model._keep_function(classes.names, kernel, centers, coef, found.state.intercept)
    m = len(triangle)
    workers = f"values of {m} Nyström features, and the sums of gradients and Hessians"
    client = f"the choice of centres among the rows picked for it, and Newton's equations ({m * outputs} unknowns)"
    model.plan_ = cluster.plan(plan, len(table.blocks), workers, client)
    model.duality_gap_ = float("nan")  # it takes the kernel of all pairs of rows, whose blocks never meet
    model._keep_evidence(found)
    model.n_iter_ = found.n_iter


class _Shape:
    """What is known of targets that are not there."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
