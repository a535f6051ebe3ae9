"""A fit in cells: a grid is searched on small parts of each, and its machines are fitted to all of its points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.place import Place
from mercer.arrays.threads import default_threads
from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.words import count_things

from ...costs import HOST, Cost
from ...plan import Plan
from ..fit import PASSES, fit_machines
from ..rounds import Progress
from ..smo import SMO
from .choice import PairChoice, choose_pairs
from .crew import share_work
from .cuts import cut_points
from .function import CellFunction, CellMachine
from .grid import BYTES, PartScores, search_part
from .task import Task

ROOM = 0.8  # share of the memory that matrices of parts may take
FEWEST = 32  # points of a part, however little memory there is
LOOSE = 1e-2  # tolerance of machines in the grid at least: it decides between pairs, which takes few digits


@dataclass(frozen=True)
class CellPlan:
    """How points are cut and searched.

    Parameters
    ----------
    cell_size : int
        Points of a cell at most, without those of neighbours.
    search_size : int
        Points of a part of it, on which the grid is searched, at most.
    overlap : float
        Share of the points on the two sides of a cut that are in its band.
    folds : int
        Folds of a part.
    seed : int
        Of the folds.
    """

    cell_size: int
    search_size: int
    overlap: float
    folds: int
    seed: int


@dataclass(frozen=True)
class CellFit:
    """Machines in cells, with what was found on the way.

    Parameters
    ----------
    function : CellFunction
        The machines.
    choice : PairChoice
        The pairs of the cells, and what they were chosen by.
    parts : int
        Parts that the grid was searched on.
    early : int
        Machines of the grid that stopped at a limit.
    """

    function: CellFunction
    choice: PairChoice
    parts: int
    early: int


def fit_cells(
    plan: CellPlan, task: Task, kernels: Sequence[Kernel], penalties: np.ndarray, X: np.ndarray, solver: SMO,
    report: Callable[[int, float], Any], stretch: np.ndarray | None = None,
) -> CellFit:  # fmt: skip
    """Cut, search and fit; ``report`` hears of every part that is searched and every cell that is fitted.

    ``penalties`` are in ascending order.  ``stretch`` is the length that counts as 1 in each column.
    """
    cuts, cells = cut_points(X, plan.cell_size, plan.overlap, stretch)
    steps = count()
    scores, owners = [], []
    for owner, found in _search(plan, task, kernels, penalties, X, solver, cells, stretch):
        scores.append(found)
        owners.append(owner)
        report(next(steps), float(found.early))
    choice = choose_pairs(scores, owners, len(cells), (len(penalties), len(kernels)))
    members = {cell: rows for cell, rows, _ in cuts.weigh(X)}
    memory, left = parse_memory(solver.memory), solver.countdown()
    workers = min(default_threads(), len(cells))

    def fit(cell: int, watch: Progress) -> CellMachine:
        i, j = choice.pairs[cell]
        limits = replace(left(), memory=memory // workers)
        return _fit_cell(limits, task, kernels[j], float(penalties[i]), X, members[cell], watch)

    machines = []
    for machine in share_work(fit, range(len(cells)), workers):
        machines.append(machine)
        report(next(steps), 0.0)
    classes = 0 if task.class_weight is None else len(task.class_weight)
    return CellFit(CellFunction(cuts, machines, classes), choice, len(scores), sum(one.early for one in scores))


def _search(
    plan: CellPlan, task: Task, kernels: Sequence[Kernel], penalties: np.ndarray, X: np.ndarray, solver: SMO,
    cells: list[np.ndarray], stretch: np.ndarray | None,
) -> Iterator[tuple[int, PartScores]]:  # fmt: skip
    """Yield the number of a cell and the scores of the grid on a part of it, for all parts."""
    if len(kernels) * len(penalties) == 1:
        return
    memory, left = parse_memory(solver.memory), solver.countdown()
    size = min(plan.search_size, int((ROOM * memory / BYTES) ** 0.5))  # smaller where there is little memory
    least = BYTES * float(max(plan.folds, FEWEST)) ** 2 / ROOM
    require(least, memory, f"a search with {plan.folds} folds", "give more memory or fewer folds")
    # Points that are all the same cannot be cut, so that a part may be left with fewer points than folds.
    parts = [
        (c, cell[part])
        for c, cell in enumerate(cells)
        for part in cut_points(X[cell], size, 0.0, stretch)[1]
        if len(part) >= plan.folds
    ]
    largest = max(len(rows) for _, rows in parts)
    workers = max(1, min(default_threads(), len(parts), int(ROOM * memory / (BYTES * largest**2))))
    tol = max(LOOSE, solver.tol)

    def search(number: int, watch: Progress) -> PartScores:
        rng = np.random.default_rng([plan.seed, number])
        room = int(ROOM * memory / workers)

        def limits() -> SMO:
            return replace(left(), tol=tol, memory=room)

        return search_part(limits, kernels, X, task, parts[number][1], penalties, plan.folds, rng, watch)

    found = share_work(search, range(len(parts)), workers)
    yield from ((owner, scores) for (owner, _), scores in zip(parts, found, strict=True))


def _fit_cell(
    solver: SMO, task: Task, kernel: Kernel, C: float, X: np.ndarray, rows: np.ndarray, watch: Progress
) -> CellMachine:
    classes, n = task.find_classes(rows), len(rows)
    if len(classes) == 1:
        return CellMachine(None, classes, C, n, 0, None, converged=True)
    points = np.ascontiguousarray(X[rows])
    memory = max(1, parse_memory(solver.memory) - 2 * points.nbytes)  # as many may be support vectors
    limits = replace(solver, memory=memory)
    found = fit_machines(task.problems(rows, C), kernel, points, limits, Place.find(None, memory), watch)
    support = found.support if len(found.support) else np.zeros(1, dtype=np.int64)  # a constant needs some centre
    coef = found.coef if len(found.support) else np.zeros((1, len(found.intercept)))
    function = Expansion(kernel, points[support], coef, found.intercept)
    return CellMachine(function, classes, C, n, int(found.n_iter.sum()), found.gap, found.converged)


def plan_cells(plan: CellPlan, fit: CellFit, n: int, d: int) -> Plan:
    """Return what was done, and about what that takes."""
    sizes = np.array([machine.size for machine in fit.function.machines], dtype=np.float64)
    reason = (
        f"machines of {n} points take time that grows as the square of their number; the grid was searched on "
        f"{count_things(fit.parts, 'part')} of up to {plan.search_size} points, which left out {fit.choice.stopped} of "
        f"{fit.choice.fits + fit.choice.stopped} fits, and {count_things(len(sizes), 'cell')} of {int(sizes.min())} to "
        f"{int(sizes.max())} points were fitted"
    )
    # A fit of the grid computes no kernel values, and reads each about as often as one that does.
    work = PASSES * ((2.0 * d + 20.0) * float((sizes**2).sum()) + 4.0 * fit.choice.fits * min(n, plan.search_size) ** 2)
    memory = BYTES * float(min(n, plan.search_size)) ** 2 + 4.0 * float(sizes.max()) ** 2
    cost = Cost(memory, ((work, HOST.entries),), HOST)
    return Plan("cells", reason, int(cost.memory), cost.flops, cost.seconds)
