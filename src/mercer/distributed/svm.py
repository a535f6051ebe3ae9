"""Support vector machines over partitions: exact where a worker can hold the rows of a problem, else in features.

The exact machines are the ordinary ones, solved by SMO, each pair of classes a task on some worker.  Beyond that
machines with a price on errors are solved in Nyström features, where every step is a sum over partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from mercer.arrays.budget import MemoryBudgetError, parse_memory, show_bytes
from mercer.arrays.place import Place
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.machines.base import SupportVectorMachine, check_options, check_positive_weights
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.evidence import DualityGap, Objective, is_converged
from mercer.solvers.machines.dual import DualSolution
from mercer.solvers.machines.fit import MachineFit, join_evidence, keep_solutions, plan_machines
from mercer.solvers.machines.pairs import list_pairs
from mercer.solvers.machines.smo import SMO
from mercer.solvers.newton.plan import count_centers, plan_spread
from mercer.solvers.newton.prepared import limit_steps

from ._block import RowBlock
from ._graph import find_memory, find_place
from .executor import Executor
from .labels import Classes
from .newton.rows import BlockRows
from .newton.sample import minimise_rows
from .table import RowTable, read_table

EXACT_ROWS = 100_000  # of one problem; SMO on more takes longer than anyone waits
SHARE = 0.3  # of a worker's memory for the rows of one problem
AIM = 0.01  # of the tolerance, which elsewhere is one of violations: relative gaps are .002 to .03 of it then
Fit = tuple[MachineFit, Kernel, Rows]  # with the kernel and the points


def fit_svm(
    machine: SupportVectorMachine,
    cluster: Executor,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    features_of: Literal["labels", "targets"] | None = None,
) -> Fit:
    """Fit to rows in partitions; ``features_of`` says what y is if the problems may be solved in features."""
    check_options(machine)
    argument = machine._kernel_argument
    name = type(machine).__name__
    if argument.uncut:
        raise ValueError(f"{name}: {argument.uncut}")
    if getattr(machine, "probability", False) is True or getattr(machine, "calibration", None) is not None:
        raise ValueError(
            f"{name}: calibrated probabilities are not possible for rows in partitions; use "
            "KernelLogisticRegression, whose probabilities are the model itself"
        )
    table = read_table(cluster, kernel_argument(machine), "raw", X, y, sample_weight, keep_all=True)
    moments = table.survey.moments  # of numbers
    spread = None if moments is None else moments.variance
    kernel = argument.train(table.head, np.arange(length(table.head)), spread)
    room = _find_room(machine.memory, cluster)
    if table.n <= EXACT_ROWS and 2 * table.survey.nbytes <= room:
        return _fit_exactly(machine, table, kernel, y is not None, sample_weight is not None)
    if features_of is None:
        raise MemoryBudgetError(
            f"{name}: {table.n} rows of {show_bytes(table.survey.nbytes)} are more than one worker can solve exactly "
            f"({EXACT_ROWS} rows in {show_bytes(room / 2)}); only SVC and SVR go on in Nyström features"
        )
    table = read_table(cluster, kernel_argument(machine), features_of, X, y, sample_weight)
    why = (
        f"the rows of a problem are more than the {EXACT_ROWS} in {show_bytes(room / 2)} that one worker solves exactly"
    )
    return _fit_features(machine, table, kernel, why, classify=features_of == "labels")


def _find_room(memory: float | str | None, cluster: Executor) -> float:
    """Return the bytes that the rows of one problem may have."""
    room = float(parse_memory(memory))
    if cluster.client is not None:
        limits = [worker["memory_limit"] for worker in cluster.client.scheduler_info(n_workers=-1)["workers"].values()]
        room = min([room, *(SHARE * limit for limit in limits if limit)])
    return room


# -- exactly --------------------------------------------------------------------------------------------------------


def _fit_exactly(machine: SupportVectorMachine, table: RowTable, kernel: Kernel, labelled: bool, weighted: bool) -> Fit:
    memory = parse_memory(machine.memory)
    sample_weight = table.gather("weights", "the weights", memory) if weighted else None
    y = table.gather("y", "the targets", memory) if labelled else None
    problems = machine._problems(y, check_positive_weights(machine, sample_weight, table.n))
    if problems.is_hard:
        problems = problems.soften(kernel, table.gather("X", "a hard margin", memory))
    held = replace(table, blocks=table.cluster.keep_rows(table.blocks))
    solver, parts = machine._solver(None), problems.parts()
    given = [[held.pick_later("X", index), problem] for index, problem in parts]
    tasks = table.cluster.map("smo", _solve, given, solver, kernel, len(parts) > 1, machine.device, table.cluster.room)
    solutions = table.cluster.compute(tasks)
    moved = 2 * sum(len(index) for index, _ in parts) / table.n * table.survey.nbytes
    table.cluster.count("rows of problems", moved)
    many = f"{len(parts)} machines, each" if len(parts) > 1 else "one machine,"
    plan = table.cluster.plan(
        plan_machines(parts, table.head, Place.find(None, machine.memory)),
        len(table.blocks),
        f"SMO for {many} on a worker that fetches the rows of its problem",
        "labels, weights and the support vectors found",
    )
    return keep_solutions(problems, parts, solutions, solver, plan), kernel, held.column("X")


def _solve(given: list[Any], solver: SMO, kernel: Kernel, several: bool, device: Any, room: int | None) -> DualSolution:
    """Solve one machine as the fit on one machine does it, which treats several problems otherwise than one."""
    rows, problem = given
    place = find_place(None if sparse.issparse(rows) else device, room or find_memory())
    limited, parts = replace(solver, memory=place.memory), [(np.arange(length(rows)), problem)]
    if several and place.on_host:
        return limited.solve_many(kernel, rows, parts)[0]
    return limited.solve_at(place, kernel, rows, parts)[0]


# -- in Nyström features --------------------------------------------------------------------------------------------


def _fit_features(machine: SupportVectorMachine, table: RowTable, kernel: Kernel, why: str, *, classify: bool) -> Fit:
    """Solve every machine in the features of common centres, one after the other."""
    options = machine.get_params(deep=False)
    if not np.isfinite(options["C"]):
        raise ValueError(
            f"{type(machine).__name__}: a hard margin is not possible in Nyström features; give a finite C"
        )
    nothing: Any = np.empty((0, 1))
    problem = Problem(kernel, table.column("X"), nothing, None, True, parse_memory(machine.memory))
    rng = check_random_state(options.get("random_state", 0))  # SVR has none: the same rows give the same machine
    indices, triangle = choose_centers(problem, count_centers(problem, None), rng)
    names = factors = None
    codes = np.zeros(len(indices), dtype=np.intp)
    if classify:
        classes = Classes.of(machine, table)
        table, names = classes.encode(table), classes.names
        factors = np.ones(len(names)) if classes.factors is None else classes.factors
        codes = table.pick("y", indices).astype(np.intp)
    C = options["C"] / (table.survey.weight if options["scaling"] == "mean" else 1.0)
    tables = [table] if names is None else _list_pairs(table, names)
    loss = EpsilonInsensitive(float(options.get("epsilon", 0.0))) if names is None else Hinge()
    centers, m = pick(problem.X, indices), len(triangle)
    view = BlockRows(loss, 1, kernel, centers, triangle, machine.device)
    found = [_solve_in_features(part, view, C, machine.tol, machine.max_iter) for part in tables]
    order = np.argsort(codes, kind="stable")
    coef = np.linalg.solve(triangle.T, np.column_stack([margin.w for margin in found]))[order]
    plan = plan_spread(problem, "auto", None, rows=sum(part.n for part in tables))
    plan = table.cluster.plan(
        replace(plan, solver="newton", reason=f"in {m} Nyström features, {why}"),
        len(table.blocks),
        f"values of {m} Nyström features, and the sums of gradients and Hessians",
        f"the choice of centres, and Newton's equations of {len(tables)} machines",
    )
    gap, objective = join_evidence([(margin.gap, margin.objective) for margin in found])
    fit = MachineFit(
        support=indices[order].astype(np.int64), coef=coef, intercept=np.array([margin.b for margin in found]),
        dual_coef=coef.T, n_support=np.bincount(codes, minlength=1 if names is None else len(names)).astype(np.int32),
        n_iter=np.array([margin.n_iter for margin in found], dtype=np.int64),
        violation=max(margin.violation for margin in found), gap=gap, objective=objective,
        converged=all(margin.converged for margin in found), plan=plan, classes=names, class_weight=factors,
    )  # fmt: skip
    return fit, kernel, table.column("X")


@dataclass(frozen=True)
class Margin:
    """A machine φᵀw + b, with the evidence that it is solved.

    Its slopes are those of outputs at most ``violation`` away.
    """

    w: np.ndarray
    b: float
    objective: Objective
    gap: DualityGap
    violation: float
    n_iter: int
    converged: bool


def _list_pairs(table: RowTable, names: np.ndarray) -> list[RowTable]:
    """Return the rows of each pair of classes, with 1 for the one that has positive values and 0 for the other."""
    if len(names) == 2:
        return [table]
    return [_pick_pair(table, pair, names) for pair in list_pairs(len(names))]


def _pick_pair(table: RowTable, pair: tuple[int, int], names: np.ndarray) -> RowTable:
    found, labels = table.narrow("pair", _take_pair, *pair), table.survey.labels
    return replace(found, survey=replace(found.survey, labels={names[q]: labels[names[q]] for q in pair}))


def _take_pair(block: RowBlock, first: int, second: int) -> RowBlock:
    block = block.take(np.flatnonzero((block.y == first) | (block.y == second)))
    return replace(block, y=(block.y == first).astype(np.intp))


def _solve_in_features(table: RowTable, view: BlockRows, C: float, tol: float, max_iter: int) -> Margin:
    """Minimise ½‖w‖² + C Σ wᵢ ℓᵢ over the rows of a table."""
    most = max_iter if max_iter >= 0 else None
    found = minimise_rows(table, view, True, 0.5 / C, tol=AIM * tol, max_iter=limit_steps(None), most=most).on_host()
    objective = Objective(C * found.objective.loss, C * found.objective.penalty)
    absolute = C * found.gap
    relative = absolute / objective if objective > 0 else (0.0 if absolute == 0 else np.inf)
    return Margin(
        found.state.coef[:, 0], float(found.state.intercept[0]), objective,
        DualityGap(absolute, relative, float(objective), objective - absolute), found.width, found.n_iter,
        is_converged(relative, tol),
    )  # fmt: skip
