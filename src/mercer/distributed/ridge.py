"""Kernel ridge regression over partitions: explicit features, Nyström centres, or conjugate gradients on all pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.estimators.kernels import is_precomputed, training_kernel
from mercer.estimators.targets import check_alpha
from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.models.ridge import KernelRidge
from mercer.solvers.base import Problem
from mercer.solvers.evidence import warn_not_converged
from mercer.solvers.plan import Plan, plan
from mercer.solvers.plan import _columns as explicit_columns
from mercer.solvers.ridge.nystroem import Nystroem, PreparedNystroem
from mercer.solvers.ridge.primal import REMEDY, PrimalPrepared, PrimalSolution
from mercer.solvers.ridge.rows import PrimalWeights, features_of

from ._block import Intake
from ._cluster import Cluster
from ._pairs import solve_by_iteration
from ._problem import DistributedPrimalRows, DistributedRestrictedRows, problem_of
from ._table import Table, make_table
from .plan import ClusterPlan

SOLVERS = ("primal", "nystroem", "cg")
SPANNING = 2  # rows for each feature, among which those are looked for whose features span all others
EXACT = 1e-10  # of the weights: what an expansion of few rows may leave out
RESIDUAL = "the equations of few unknowns"


def fit_ridge(model: KernelRidge, cluster: Cluster, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Fit to rows in partitions, and set what a fit sets."""
    refuse_precomputed(model)
    intake = Intake(model, model.kernel, "targets")
    table = make_table(model, cluster, intake, X, y, sample_weight)
    options = {name: getattr(model, name) for name in ("gamma", "degree", "coef0", "kernel_params")}
    kernel = training_kernel(model, model.kernel, table.head, assume_psd=model.assume_psd, **options)
    fit_table(model, table, kernel)


def fit_table(model: KernelRidge, table: Table, kernel: Kernel) -> Fitted:
    """Fit to a table that is there already."""
    if model.scaling not in ("sum", "mean"):
        raise ValueError(f"{type(model).__name__}: scaling must be 'sum' or 'mean', got {model.scaling!r}")
    survey = table.survey
    problem = problem_of(table, kernel, bool(model.fit_intercept), parse_memory(model.memory))
    penalty = check_alpha(model, model.alpha, survey.outputs)
    if model.scaling == "mean":
        penalty = penalty * survey.weight
    chosen = choose(model, table, problem, penalty)
    solve = {"primal": _primal, "nystroem": _nystroem, "cg": solve_by_iteration}[chosen.solver]
    solution, prepared, told = solve(model, table, problem, penalty)
    columns: Any = (slice(None), 0) if survey.flat else slice(None)
    intercept = solution.intercept[0] if survey.flat else solution.intercept
    explicit = solution.explicit(columns)
    model.expansion_ = Expansion(kernel, solution.centers, solution.coef[columns], intercept, explicit)
    model.kernel_, model.X_fit_ = kernel, solution.centers
    model.plan_ = cluster_plan(chosen, table, *told)
    model.dual_coef_, model.intercept_ = model.expansion_.coef, intercept
    model.residual_, model.n_iter_, model.converged_ = solution.residual, solution.n_iter, solution.converged
    here = prepared if isinstance(prepared, Problem) else None  # conjugate gradients need all points in the end
    model._problem, model._penalty, model._kept = here, penalty, None
    model._targets = None if here is None else here.y[columns]
    return Fitted(prepared, penalty)


class Fitted:
    """A fitted problem that can still say how its rows would be predicted without themselves.

    Parameters
    ----------
    prepared : object
        The prepared solver.
    penalty : array of shape (q,)
        α.
    """

    def __init__(self, prepared: Any, penalty: np.ndarray) -> None:
        self._prepared, self._penalty = prepared, penalty

    def squared_errors(self) -> np.ndarray | None:
        """Return Σ we² of the leave-one-out residuals, for each output; None where only all pairs would tell."""
        if isinstance(self._prepared, PrimalPrepared):
            found = self._prepared.weights([self._penalty])
            rows: Any = self._prepared._rows
            return np.asarray(rows.squared_errors(self._prepared.second_pass(found, True)))
        if isinstance(self._prepared, PreparedNystroem):
            ridge = self._prepared._ridge
            rows = ridge._rows
            return np.asarray(rows.squared_errors(ridge.left_out(self._penalty, ridge.solve(self._penalty).beta)))
        return None


def choose(model: KernelRidge, table: Table, problem: Problem, penalty: np.ndarray) -> Plan:
    """Return which solver and why; those that hold the n × n matrix on one machine are not among them."""
    name, n, d = type(model).__name__, table.n, columns_of(table, problem.kernel)
    if model.solver not in ("auto", *SOLVERS):
        raise ValueError(
            f"{name}: solver={model.solver!r} needs the {n} × {n} matrix on one machine; for rows in partitions there "
            "are 'primal', 'nystroem' and 'cg', which has the same answer, and 'auto' chooses among them"
        )
    if (penalty == 0).any():
        raise ValueError(f"{name}: rows in partitions need a positive alpha, got {model.alpha!r}")
    sizes: dict[str, Any] = {"outputs": len(penalty), "alphas": len(np.unique(penalty)), "memory": problem.memory}
    sizes["n_centers"] = model.n_centers
    if model.solver != "auto":
        return plan(problem.kernel, n, d, solver=model.solver, **sizes)
    if model.n_centers is not None:
        asked = f"{model.n_centers} centres were asked for"
        return replace(plan(problem.kernel, n, d, solver="nystroem", **sizes), reason=asked)
    found = plan(problem.kernel, n, d, **sizes)
    if found.solver in ("spectral", "cholesky"):
        reason = f"{found.reason}, and products with it in partitions give the same answer without holding it"
        return replace(plan(problem.kernel, n, d, solver="cg", **sizes), reason=reason)
    return found


def cluster_plan(chosen: Plan, table: Table, workers: str, client: str) -> ClusterPlan:
    """Return the plan with what ran where."""
    cluster = table.cluster
    return ClusterPlan(
        chosen.solver, chosen.reason, chosen.memory, chosen.flops, chosen.seconds,
        partitions=len(table.blocks), passes=cluster.steps, workers=workers, client=client, moved=dict(cluster.moved),
    )  # fmt: skip


def refuse_precomputed(model: Any) -> None:
    """Raise if the kernel is a matrix, which is no set of rows that could be cut."""
    if is_precomputed(model.kernel):
        raise ValueError(
            f"{type(model).__name__}: kernel='precomputed' is not possible for rows in partitions, because a matrix "
            "of all pairs has no rows of its own; give a kernel and the points"
        )


# -- the solvers ----------------------------------------------------------------------------------------------------


def _nystroem(model: KernelRidge, table: Table, problem: Problem, penalty: np.ndarray) -> Any:
    solver = Nystroem(n_centers=model.n_centers, random_state=model.random_state)
    rows: Any = partial(DistributedRestrictedRows, table, device=model.device)
    prepared = PreparedNystroem(solver, problem, rows)
    solution = prepared.solve(penalty)
    m = len(solution.coef)
    where = "" if model.device is None else f", on {model.device}"
    workers = f"kernel values at {m} centres and their sums of products{where}"
    client = f"the choice of centres among the rows picked for it, and {RESIDUAL} ({m} × {m})"
    return solution, prepared, (workers, client)


def _primal(model: KernelRidge, table: Table, problem: Problem, penalty: np.ndarray) -> Any:
    kernel, d = problem.kernel, columns_of(table, problem.kernel)
    assert d is not None  # the plan has seen to it
    D = int(kernel.feature_dim(d))
    require(32.0 * D * D, problem.memory, f"the normal equations of {D} features", "use solver='nystroem'")
    rows: Any = DistributedPrimalRows(table, problem, kernel.feature_map(d), D)
    prepared = PrimalPrepared(problem, rows)
    found = prepared.weights([penalty])
    centers, coef = _spanning(table, rows.feature_map, found, D, model.random_state)
    solution = PrimalSolution(
        centers, coef, found.intercept, found.alpha, float(found.residuals.max()), remedy=REMEDY, w=found.w,
        feature_map=rows.feature_map,
    )  # fmt: skip
    if not solution.converged:
        warn_not_converged(f"{type(model).__name__} (primal)", solution.residual, solution.tolerance, REMEDY)
    workers = f"{D} explicit features of each row and their sums of products"
    return solution, prepared, (workers, f"{RESIDUAL} ({D} × {D})")


def _spanning(table: Table, feature_map: Any, found: PrimalWeights, D: int, seed: Any) -> tuple[Any, np.ndarray]:
    """Return rows z and coefficients with Σ cⱼ φ(zⱼ) = w, so that f is an expansion without all rows."""
    from scipy.linalg import qr, solve_triangular
    from sklearn.utils import check_random_state

    from mercer.formula.data import pick
    from mercer.solvers.sampling import some_rows

    rng, count = check_random_state(seed), SPANNING * D
    while True:
        positions = some_rows(rng, table.n, count)
        rows = table.pick("X", positions)
        q, r, order = qr(features_of(feature_map, rows).T, mode="economic", pivoting=True)
        size = np.abs(np.diagonal(r))
        rank = int(np.sum(size > 1e-13 * max(float(size[0]), np.finfo(float).tiny)))
        inside = q[:, :rank].T @ found.w
        missed = np.linalg.norm(found.w - q[:, :rank] @ inside)
        if missed <= EXACT * np.linalg.norm(found.w) or count >= min(table.n, 64 * D):
            coef = solve_triangular(r[:rank, :rank], inside)
            return pick(rows, order[:rank]), np.asarray(coef)
        count *= 2


def columns_of(table: Table, kernel: Kernel) -> int | None:
    """Return the number of columns that explicit features can be computed of, None if there are none such."""
    return explicit_columns(kernel, table.head)
