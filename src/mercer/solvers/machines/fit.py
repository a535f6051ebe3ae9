"""A fit of support vector machines: everything that a model keeps of it, wherever it was solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays.place import Place
from mercer.formula.data import Rows
from mercer.kernels import Kernel

from ..costs import DEVICE, HOST, Cost
from ..evidence import DualityGap, Objective
from ..plan import Plan
from ..products import width
from .dual import DualSolution, Part
from .pairs import pack_pairs
from .platt import Calibration, calibrate, leave_out_folds
from .problems import MachineProblems
from .rounds import Progress
from .smo import SMO

PASSES = 3  # times that about all kernel values are computed


@dataclass(frozen=True)
class MachineFit:
    """Machines, with the evidence that they solve their problems.

    Parameters
    ----------
    support : array of int, shape (vectors,)
        Positions of the support vectors among the training points, class by class.
    coef : array of shape (vectors, machines)
        Their coefficients in each function.
    intercept : array of shape (machines,)
        The constants.
    dual_coef : array of shape (rows, vectors)
        The coefficients in scikit-learn's layout.
    n_support : array of int, shape (classes,) or (1,)
        Support vectors of each class.
    n_iter : array of int, shape (machines,)
        Steps.
    violation, converged
        The largest violation of all problems, and whether all are solved.
    gap : DualityGap
        That of the machine with the largest relative one.
    objective : Objective
        Loss and penalty, the sum over all machines.
    plan : Plan
        What ran and why.
    classes, class_weight : arrays of shape (classes,), optional
        The labels and the factors of C for each, if there are classes.
    epsilon : float, optional
        Half of the width of the tube, if it was not given.
    calibration : Calibration, optional
        What turns values of pairs into probabilities, if they were wanted.
    free : array of bool, shape (vectors, machines), optional
        Which coefficients lie strictly inside of their boxes; None in features, where coefficients have none.
    """

    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    dual_coef: np.ndarray
    n_support: np.ndarray
    n_iter: np.ndarray
    violation: float
    gap: DualityGap
    objective: Objective
    converged: bool
    plan: Plan
    classes: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    epsilon: float | None = None
    calibration: Calibration | None = None
    free: np.ndarray | None = None


def fit_machines(
    problems: MachineProblems, kernel: Kernel, points: Rows, solver: SMO, place: Place, progress: Progress | None = None
) -> MachineFit:
    """Solve all problems on the host or on a device.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.losses import Hinge
    >>> from mercer.solvers.machines.problems import MachineProblems, Priced
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> problems = MachineProblems(Priced(Hinge(), 10.0), np.array([0, 0, 1, 1]), np.ones(4), np.array(["no", "yes"]))
    >>> fit = fit_machines(problems, Linear(), X, SMO(), Place.find(None, None))
    >>> fit.support, fit.coef[:, 0], fit.converged
    (array([1, 2], dtype=int32), array([-0.5,  0.5]), True)
    """
    problems = problems.soften(kernel, points)
    parts = problems.parts()
    solutions = solver.solve_at(place, kernel, points, parts, progress)
    found = None
    if problems.folds is not None:
        found = calibrate(leave_out_folds(problems, kernel, points, solver, place), problems.calibration)
    return keep_solutions(problems, parts, solutions, solver, plan_machines(parts, points, place), found)


def keep_solutions(
    problems: MachineProblems, parts: Sequence[Part], solutions: Sequence[DualSolution], solver: SMO, plan: Plan,
    calibration: Calibration | None = None,
) -> MachineFit:  # fmt: skip
    """Return what solutions, found anywhere, say about their problems."""
    n, count = len(problems.targets), len(parts)
    coef, intercept, free = np.zeros((n, count)), np.zeros(count), np.zeros((n, count), dtype=bool)
    for column, ((index, _), found) in enumerate(zip(parts, solutions, strict=True)):
        coef[index, column], intercept[column] = problems.form.read(found, solver)
        # ν-SVR has two variables for each point.
        free[index, column] = found.free.reshape(-1, len(index)).any(axis=0)
    order = np.arange(n) if problems.classes is None else np.argsort(problems.targets, kind="stable")
    support = order[(coef[order] != 0).any(axis=1)].astype(np.int32)
    coef, free, n_support = coef[support], free[support], np.array([len(support)])
    dual_coef = coef.T
    if problems.classes is not None:
        codes = problems.targets[support]
        n_support = np.bincount(codes, minlength=len(problems.classes))
        dual_coef = pack_pairs(coef, codes, len(problems.classes))
    gap, objective = join_evidence([(found.gap, found.primal) for found in solutions])
    return MachineFit(
        support, coef, intercept, dual_coef, n_support.astype(np.int32),
        np.array([found.n_iter for found in solutions], dtype=np.int64),
        max(0.0, *(float(found.violation) for found in solutions)), gap, objective,
        all(found.converged for found in solutions), plan, problems.classes, problems.class_weight,
        problems.form.find_epsilon(solutions[0]), calibration, free,
    )  # fmt: skip


def join_evidence(found: Sequence[tuple[DualityGap, Objective]]) -> tuple[DualityGap, Objective]:
    """Return the gap with the largest relative size, and the sum of the objectives.

    Examples
    --------
    >>> join_evidence([(DualityGap(0.1, 0.2), Objective(1.0, 2.0)), (DualityGap(0.2, 0.1), Objective(1.0, 3.0))])
    (DualityGap(absolute=0.1, relative=0.2, primal=nan, dual=nan), 7.0)
    """
    gaps, objectives = zip(*found, strict=True)
    total = Objective(sum(one.loss for one in objectives), sum(one.penalty for one in objectives))
    return max(gaps, key=lambda gap: gap.relative), total


def plan_machines(parts: Sequence[Part], points: Rows, place: Place) -> Plan:
    """Return what solving problems is expected to take."""
    sizes = np.array([len(index) for index, _ in parts], dtype=np.float64)
    largest = int(sizes.max())
    where = f"{largest} points" if len(parts) == 1 else f"{len(parts)} pairs of classes of up to {largest} points"
    speed = HOST if place.on_host else DEVICE
    work = PASSES * (2.0 * width(points) + 20.0) * float((sizes**2).sum())
    cost = Cost(min(4.0 * largest**2, place.memory / 2), ((work, speed.entries),), speed)
    reason = (
        f"in the dual problem of {where}{'' if place.on_host else f' on {place}'} coefficients that are bounded and "
        "have a fixed sum can be improved two at a time"
    )
    return Plan("smo", reason, int(cost.memory), cost.flops, cost.seconds)
