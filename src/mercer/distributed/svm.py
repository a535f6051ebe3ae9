"""Support vector machines over partitions: exact where a worker can hold the rows of a problem, else in features.

The exact machines are the ordinary ones, solved by SMO, each pair of classes a task on some worker.  Beyond that
:class:`SVC` and :class:`SVR` are solved in Nyström features, where every step is a sum over partitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from mercer.arrays.budget import MemoryBudgetError, parse_memory, show_bytes
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.machines.base import DualityGap, SupportVectorMachine
from mercer.estimators.machines.classifier import SupportVectorClassifier
from mercer.estimators.machines.kernel import gamma_of, is_function, training_kernel
from mercer.formula.data import length, pick
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.machines.dual import DualSolution
from mercer.solvers.machines.pairs import pairs_of
from mercer.solvers.machines.problems import check_options, finite_penalty, positive_weights
from mercer.solvers.machines.smo import SMO
from mercer.solvers.newton.plan import count_centers

from ._features import FeaturesOf
from ._graph import find_memory, find_place, map_blocks
from ._margins import Margin, MarginRule, fit_margin
from .cluster import Cluster
from .gathered import tell
from .labels import Classes
from .table import RowTable, read_table

EXACT_ROWS = 100_000  # of one problem; SMO on more takes longer than anyone waits
SHARE = 0.3  # of a worker's memory for the rows of one problem


def fit_svm(model: SupportVectorMachine, cluster: Cluster, X: Any, y: Any = None, sample_weight: Any = None) -> None:
    """Fit to rows in partitions."""
    check_options(model)
    if is_function(model.kernel):
        raise ValueError(
            f"{type(model).__name__}: a function given as kernel is called once for all rows, which is not possible "
            "in partitions; wrap it as mercer.kernels.Custom(function, vectorized=True)"
        )
    if isinstance(model, SupportVectorClassifier) and model._wants_probability():
        raise ValueError(
            f"{type(model).__name__}: probability=True is not possible for rows in partitions; use "
            "KernelLogisticRegression, whose probabilities are the model itself"
        )
    table = read_table(cluster, kernel_argument(model), "raw", X, y, sample_weight, keep_all=True)
    kernel = _kernel(model, table)
    room = _room(model, cluster)
    if table.n <= EXACT_ROWS and 2 * table.survey.nbytes <= room:
        _fit_exactly(model, table, kernel, y is not None, sample_weight is not None)
    elif hasattr(model, "C") and type(model).__name__ in ("SVC", "SVR"):
        _fit_features(model, cluster, kernel, X, y, sample_weight, room)
    else:
        raise MemoryBudgetError(
            f"{type(model).__name__}: {table.n} rows of {show_bytes(table.survey.nbytes)} are more than one worker can "
            f"solve exactly ({EXACT_ROWS} rows in {show_bytes(room / 2)}); only SVC and SVR go on in Nyström features"
        )


def _kernel(model: Any, table: RowTable) -> Kernel:
    """Return the kernel that an argument stands for; γ = "scale" from the variance of all entries."""
    model._gamma = gamma_of(model, table.head)
    if isinstance(model.kernel, str) and isinstance(model.gamma, str) and model.gamma == "scale":
        moments = table.survey.moments
        assert moments is not None  # rows of numbers, or the check of the data would have failed
        model._gamma = 1.0 / (table.head.shape[1] * moments.variance) if moments.variance > 0 else 1.0
    return training_kernel(model, table.head, np.arange(length(table.head))).solved


def _room(model: Any, cluster: Cluster) -> float:
    """Return the bytes that the rows of one problem may have."""
    room = float(parse_memory(model.memory))
    if cluster.client is not None:
        limits = [worker["memory_limit"] for worker in cluster.client.scheduler_info(n_workers=-1)["workers"].values()]
        room = min([room, *(SHARE * limit for limit in limits if limit)])
    return room


# -- exactly --------------------------------------------------------------------------------------------------------


def _fit_exactly(model: Any, table: RowTable, kernel: Kernel, labelled: bool, weighted: bool) -> None:
    n, memory = table.n, parse_memory(model.memory)
    sample_weight = table.gather("weights", "the weights", memory) if weighted else None
    weights = positive_weights(model, sample_weight, n)
    y = table.gather("y", "the targets", memory) if labelled else None
    targets = model._prepare(y, n, weights)
    C = getattr(model, "C", 1.0)
    C = float(C) if np.isfinite(C) else finite_penalty(C, kernel, table.gather("X", "a hard margin", memory))
    parts = model._parts(targets, weights, C)
    blocks = table.cluster.keep(table.blocks)
    held = replace(table, blocks=blocks)
    solver = SMO(model.tol, model.max_iter, model.max_time, None, bool(model.shrinking))
    given = [[held.pick_later("X", indices), problem] for indices, problem in parts]
    solutions = table.cluster.compute(map_blocks("smo", _solved, given, solver, kernel, len(parts) > 1, model.device))
    table.cluster.count("rows of problems", 2 * sum(len(indices) for indices, _ in parts) / n * table.survey.nbytes)
    training: Any = _Training(kernel)
    found = [model._read(solution) for solution in solutions]
    model._keep_solutions(training, held.column("X"), parts, found, targets)
    model._keep_evidence(parts, solutions)
    many = f"{len(parts)} machines, each" if len(parts) > 1 else "one machine,"
    what = f"SMO for {many} on a worker that fetches the rows of its problem"
    tell(model, table, what, "labels, weights and the support vectors found")


def _solved(given: list[Any], solver: SMO, kernel: Kernel, several: bool, device: Any) -> DualSolution:
    """Solve one machine as the fit on one machine does it, which treats several problems otherwise than one."""
    rows, problem = given
    place = find_place(None if sparse.issparse(rows) else device, find_memory())
    limited, parts = replace(solver, memory=place.memory), [(np.arange(length(rows)), problem)]
    if not place.on_host:
        from mercer.solvers.machines.device.smo import DeviceSMO

        return DeviceSMO(limited, place.device, place.memory).solve_many(kernel, rows, parts)[0]
    return limited.solve_many(kernel, rows, parts)[0] if several else limited.solve(kernel, rows, problem)


class _Training:
    """The kernel of a fit whose points are elsewhere."""

    def __init__(self, kernel: Kernel) -> None:
        self.solved = self.shown = kernel


# -- in Nyström features --------------------------------------------------------------------------------------------


def _fit_features(
    model: Any, cluster: Cluster, kernel: Kernel, X: Any, y: Any, sample_weight: Any, room: float
) -> None:
    """Solve every machine in the features of common centres, one after the other."""
    classify = isinstance(model, SupportVectorClassifier)
    table = read_table(cluster, kernel_argument(model), "labels" if classify else "targets", X, y, sample_weight)
    nothing: Any = np.empty((0, 1))
    problem = Problem(kernel, table.column("X"), nothing, None, True, parse_memory(model.memory))
    rng = check_random_state(getattr(model, "random_state", 0))  # SVR has none: the same rows give the same machine
    indices, triangle = choose_centers(problem, count_centers(problem, None), rng)
    centers = pick(problem.X, indices)
    features = FeaturesOf(kernel, centers, triangle, model.device)
    if not np.isfinite(model.C):
        raise ValueError(f"{type(model).__name__}: a hard margin is not possible in Nyström features; give a finite C")
    if classify:
        classes = Classes.of(model, table)
        table = classes.encode(table)
        count = len(classes.names)
        rules = [MarginRule(model.C, 0.0, pair, -1.0 if count == 2 else 1.0) for pair in pairs_of(count)]
        model.classes_ = classes.names
        model.class_weight_ = np.ones(count) if classes.factors is None else classes.factors
    else:
        rules = [MarginRule(model.C, float(model.epsilon), None, 1.0)]
    found = [fit_margin(table, features, rule, model.tol, model.max_iter) for rule in rules]
    _keep(model, table, kernel, centers, indices, triangle, found, classify)
    what = f"values of {len(triangle)} Nyström features, and the sums of gradients and Hessians"
    why = (
        f"Newton's method in {len(triangle)} Nyström features, because the rows of a problem are more than the "
        f"{EXACT_ROWS} in {show_bytes(room / 2)} that one worker solves exactly"
    )
    model.plan_ = why
    tell(model, table, what, f"the choice of centres, and Newton's equations of {len(rules)} machines")


def _keep(
    model: Any, table: RowTable, kernel: Kernel, centers: Any, indices: np.ndarray, triangle: np.ndarray,
    found: list[Margin], classify: bool,
) -> None:  # fmt: skip
    coef = np.linalg.solve(triangle.T, np.column_stack([margin.w for margin in found]))
    order = np.arange(len(indices))
    codes = table.pick("y", indices) if classify else np.zeros(len(indices), dtype=np.int64)
    if classify:
        order = np.argsort(codes, kind="stable")
    model.support_, model.intercept_ = indices[order].astype(np.int64), np.array([margin.b for margin in found])
    model.support_vectors_, model._coef = pick(centers, order), coef[order]
    model.kernel_, model.shape_fit_, model._X_fit = kernel, table.column("X").shape, None
    counts = np.bincount(codes.astype(np.intp), minlength=len(model.classes_) if classify else 1)
    model.n_support_ = counts.astype(np.int32)
    model.dual_coef_ = model._dual_coef(model._coef.T)
    model._keep_function(model.support_vectors_, pick(centers, [0]))
    steps = np.array([margin.n_iter for margin in found], dtype=np.int64)
    model.n_iter_ = int(steps[0]) if model._one_machine else steps
    model.converged_ = all(margin.converged for margin in found)
    model.fit_status_ = 0 if model.converged_ else 1
    model.violation_ = max(margin.violation for margin in found)
    model.duality_gap_ = DualityGap(max(margin.gap for margin in found), max(margin.relative_gap for margin in found))
    if not model.converged_:
        model._warn(int(steps.sum()))
