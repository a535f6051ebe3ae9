"""A fit in cells: a grid is searched on small parts of each, and its machines are fitted to all of its points."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes
from mercer.arrays.threads import default_threads, share_of_threads
from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.words import count_things

from ...costs import HOST, Cost
from ...evidence import DualityGap
from ...plan import Plan
from ..fit import PASSES, fit_machines
from ..path import DENSE
from ..rounds import Progress
from ..smo import SMO
from .choice import Choice, choose_pairs
from .cuts import Cuts, cut_points
from .grid import PartScores, search_part
from .task import Task, widen_pairs

LOOSE = 1e-2  # tolerance of machines in the grid at least: it decides between pairs, which takes few digits

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True)
class CellMachine:
    """The machines of one cell.

    Parameters
    ----------
    function : Expansion or None
        Those of all pairs of classes that the cell has, or the only one; None if all of its points have one class.
    classes : array of int
        Which classes it has, if there are any.
    C : float
        The price of an error.
    size : int
        Points that it was fitted to, with those of neighbours.
    n_iter : int
        Steps.
    gap : DualityGap or None
        The largest relative one of its problems; None if there are none.
    converged : bool
        Whether all are solved.
    """

    function: Expansion | None
    classes: Annotated[np.ndarray, Axes("k", of="iu")]
    C: float
    size: int
    n_iter: int
    gap: DualityGap | None
    converged: bool

    def evaluate(self, X: np.ndarray, count: int, memory: int) -> np.ndarray:
        """Return the values of all pairs among ``count`` classes, or the only value if there are none."""
        values = np.empty((len(X), 0))
        if self.function is not None:
            values = np.asarray(self.function(X, memory=memory))
        return values if count == 0 else widen_pairs(self.classes, values, count)


@dataclass(frozen=True)
class CellFunction:
    """Machines in cells as one function, their mean with the weights of the cells: it is continuous.

    Parameters
    ----------
    cuts : Cuts
        The cells.
    machines : list of CellMachine
        One for each.
    count : int
        The number of classes; 0 for a regression.
    """

    cuts: Cuts
    machines: list[CellMachine]
    count: int

    def __call__(self, X: np.ndarray, memory: int) -> np.ndarray:
        """Return f + b of all pairs of classes, or of the only problem, shape (points, problems)."""
        found = np.zeros((len(X), max(1, self.count * (self.count - 1) // 2)))
        for cell, rows, weights in self.cuts.weigh(X):
            found[rows] += weights[:, None] * self.machines[cell].evaluate(X[rows], self.count, memory)
        return found


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
    choice : Choice
        The pairs of the cells, and what they were chosen by.
    parts : int
        Parts that the grid was searched on.
    early : int
        Machines of the grid that stopped at a limit.
    """

    function: CellFunction
    choice: Choice
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
    parts = [
        (c, cell[part])
        for c, cell in enumerate(cells)
        for part in cut_points(X[cell], plan.search_size, 0.0, stretch)[1]
    ]
    memory, left = parse_memory(solver.memory), solver.countdown()
    loose = max(LOOSE, solver.tol)
    done, scores = 0, list[PartScores]()

    def search(number: int, threads: int, watch: Progress) -> PartScores:
        rows, rng = parts[number][1], np.random.default_rng([plan.seed, number])
        limits = replace(left(), tol=loose, memory=memory // threads)
        return search_part(limits, kernels, X, task, rows, penalties, plan.folds, rng, watch)

    alone = len(kernels) * len(penalties) == 1
    for found in _share(search, [] if alone else range(len(parts))):
        scores.append(found)
        report(done, float(found.early))
        done += 1
    choice = choose_pairs(scores, [c for c, _ in parts], len(cells), (len(penalties), len(kernels)))
    members = {cell: rows for cell, rows, _ in cuts.weigh(X)}
    again = solver.countdown()

    def fit(cell: int, threads: int, watch: Progress) -> CellMachine:
        i, j = choice.pairs[cell]
        limits = replace(again(), memory=memory // threads)
        return _fit_cell(limits, task, kernels[j], float(penalties[i]), X, members[cell], watch)

    machines = []
    for machine in _share(fit, range(len(cells))):
        machines.append(machine)
        report(done, 0.0)
        done += 1
    count = 0 if task.class_weight is None else len(task.class_weight)
    return CellFit(CellFunction(cuts, machines, count), choice, len(parts), sum(one.early for one in scores))


def _fit_cell(
    solver: SMO, task: Task, kernel: Kernel, C: float, X: np.ndarray, rows: np.ndarray, watch: Progress
) -> CellMachine:
    classes, n = task.find_classes(rows), len(rows)
    if len(classes) == 1:
        return CellMachine(None, classes, C, n, 0, None, converged=True)
    points, memory = np.ascontiguousarray(X[rows]), parse_memory(solver.memory)
    found = fit_machines(task.problems(rows, C), kernel, points, solver, Place.find(None, memory), watch)
    support = found.support if len(found.support) else np.zeros(1, dtype=np.int64)  # a constant needs some centre
    coef = found.coef if len(found.support) else np.zeros((1, len(found.intercept)))
    function = Expansion(kernel, points[support], coef, found.intercept)
    return CellMachine(function, classes, C, n, int(found.n_iter.sum()), found.gap, found.converged)


def _share(work: Callable[[Item, int, Progress], Found], items: Sequence[Item]) -> Iterator[Found]:
    """Do work on items side by side, one thread each where there are enough; yield what is found in their order.

    Work is told how many run at once, and given a function that raises when nobody wants more.
    """
    if not items:
        return
    threads = default_threads()
    workers, stopped = min(threads, len(items)), threading.Event()

    def watch(n_iter: int, violation: float) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    def run(item: Item) -> Found:
        watch(0, 0.0)
        with share_of_threads(threads // workers):
            return work(item, workers, watch)

    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from pool.map(run, items)
        finally:  # also when the caller is interrupted, or wants no more
            stopped.set()
            pool.shutdown(cancel_futures=True)


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
    memory = DENSE * float(min(n, plan.search_size)) ** 2 + 4.0 * float(sizes.max()) ** 2
    cost = Cost(memory, ((work, HOST.entries),), HOST)
    return Plan("cells", reason, int(cost.memory), cost.flops, cost.seconds)
