"""Many support vector machines at once: several kernels, subsets of the points, and penalties.

The matrix of a kernel over all points is computed once and serves every machine.  A machine that is fitted to most of
the points is solved on the matrix as it is: points that take no part have the box 0 ≤ β ≤ 0 and never move, and Kβ,
which the solver keeps anyway, holds the values at those points.  A machine on fewer points takes a corner of the
matrix.  Along ascending penalties each solution starts the next.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from .dual import DualProblem, DualSolution
from .matrix import MachineMatrix
from .rounds import Progress, Run
from .rows import DenseRows, RowSource
from .smo import SMO

LEAST = 256  # variables of a working set: rows that are in memory make small ones cheap
SAFETY = 4.0  # in units of the tolerance, of a bound that rounding stays about ten times below
DENSE = 16  # bytes for each pair of points: the matrix in both precisions, and corners
MOSTLY = 0.5  # share of the points from which a machine is solved on the whole matrix


@dataclass(frozen=True)
class Lane:
    """A machine to follow along the penalties: the points it is fitted to, and those at which its values are wanted.

    Its problem is the one at C = 1, with a variable for each point; a penalty multiplies its box.  It has one group and
    starts at 0.
    """

    index: np.ndarray
    held: np.ndarray
    problem: DualProblem


@dataclass(frozen=True)
class Cell:
    """A machine at one penalty, solved, with f + b at the points held out.

    ``n_iter`` are the steps from the solution of the penalty before; the first machine of a kernel takes the seconds of
    the matrix too.
    """

    values: np.ndarray
    dual: float
    duality_gap: float
    n_iter: int
    converged: bool
    seconds: float


def solve_paths(
    solver: SMO, kernels: Sequence[Kernel], X: Rows, lanes: Sequence[Lane], penalties: Sequence[float]
) -> Iterator[list[list[Cell]]]:
    """Yield for one kernel after the other the cells of each lane at each penalty.

    Machines are solved side by side, one thread each; where memory allows, those of the next kernel begin before the
    last of a kernel are done.  Where the matrix does not fit, machines are solved one after the other without it.

    Parameters
    ----------
    solver : SMO
        Tolerance and limits; ``max_time`` is for everything together.
    kernels : sequence of Kernel
        The kernels.
    X : collection of n objects
        The points.
    lanes : sequence of Lane
        The machines.
    penalties : sequence of float
        Positive numbers, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> from mercer.solvers.machines.smo import SMO
    >>> from mercer.solvers.machines.path import Lane, solve_paths
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0])
    >>> problem = DualProblem(y, np.minimum(y, 0), np.maximum(y, 0), np.zeros(3))
    >>> lane = Lane(np.array([0, 1, 2]), np.array([3]), problem)
    >>> ((cells,),) = solve_paths(SMO(), [Linear()], X, [lane], [0.1, 10.0])
    >>> [cell.values.round(4).tolist() for cell in cells]
    [[-0.1], [3.0]]
    """
    n, memory = length(X), parse_memory(solver.memory)
    left, stopped = solver.countdown(), threading.Event()

    def watch(n_iter: int, violation: float) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    def limited() -> SMO:
        watch(0, 0.0)
        return left()

    if DENSE * n**2 > memory:
        for kernel in kernels:
            yield [_follow(_Apart(kernel, X, lane), penalties, limited, watch) for lane in lanes]
        return
    ahead = 1 if 2 * DENSE * n**2 <= memory else 0
    waiting: deque[list[Future[list[Cell]]]] = deque()
    with ThreadPoolExecutor(default_threads()) as pool:
        try:
            for kernel in kernels:
                matrix = MachineMatrix(kernel, X, memory)
                sites = [_Shared(matrix, n, lane) for lane in lanes]
                waiting.append([pool.submit(_follow, site, penalties, limited, watch) for site in sites])
                del matrix, sites  # they go when their machines are solved
                if len(waiting) > ahead:
                    yield [future.result() for future in waiting.popleft()]
            while waiting:
                yield [future.result() for future in waiting.popleft()]
        finally:  # also when the caller is interrupted, or wants no more
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _follow(
    site: _Shared | _Apart, penalties: Sequence[float], limited: Callable[[], SMO], watch: Progress
) -> list[Cell]:
    """Solve a lane at every penalty, each from the solution of the last."""
    cells: list[Cell] = []
    before: tuple[DualSolution, float] | None = None
    for C in penalties:
        begin = time.perf_counter()
        problem, values = replace(site.problem, lower=C * site.problem.lower, upper=C * site.problem.upper), None
        if before is not None:
            problem, values = _carry_over(*before, problem, C)
        found, f = site.solve(limited(), problem, values, watch)
        before = found, C
        evidence = found.dual, found.duality_gap, found.n_iter, found.converged
        cells.append(Cell(f + found.intercepts[0], *evidence, time.perf_counter() - begin))
    return cells


def _carry_over(found: DualSolution, last: float, problem: DualProblem, C: float) -> tuple[DualProblem, np.ndarray]:
    """Return the problem with the start that a solution at a smaller penalty gives it, and Kβ there.

    If most coefficients are at their bounds they are likely to stay there, and all are multiplied as the bounds are;
    otherwise the solution stays as it is.
    """
    beta = found.beta
    above, below = (beta > 0) & (beta >= found.problem.upper), (beta < 0) & (beta <= found.problem.lower)
    if 2 * np.count_nonzero(above | below) < np.count_nonzero(beta):
        return replace(problem, start=beta), found.values
    start = np.clip(C / last * beta, problem.lower, problem.upper)
    start = np.where(above, problem.upper, np.where(below, problem.lower, start))  # without rounding
    return replace(problem, start=start), C / last * found.values


class _Shared:
    """A lane on a kernel matrix that other lanes share: as it is, with empty boxes, or on a corner of it."""

    def __init__(self, matrix: MachineMatrix, n: int, lane: Lane) -> None:
        self._matrix, self._n, self._lane, self.problem = matrix, n, lane, lane.problem
        self.whole, self._corners = MOSTLY * n <= len(lane.index), dict[type, RowSource]()
        if self.whole:
            p, (target, lower, upper, start) = lane.problem, np.zeros((4, n))
            target[lane.index], lower[lane.index], upper[lane.index] = p.target, p.lower, p.upper
            self.problem = DualProblem(target, lower, upper, start, p.epsilon)

    def _rows(self, dtype: type) -> RowSource:
        if self.whole:
            return DenseRows(self._matrix.dense(dtype), 1)
        if dtype not in self._corners:
            index = self._lane.index
            self._corners[dtype] = DenseRows(self._matrix.dense(dtype)[np.ix_(index, index)], 1)
        return self._corners[dtype]

    def solve(
        self, solver: SMO, problem: DualProblem, values: np.ndarray | None, watch: Progress
    ) -> tuple[DualSolution, np.ndarray]:
        """Return the solution, from a start with its Kβ if that is known, and f at the points held out."""
        found = Run(solver, self._rows, self._matrix.largest, problem, watch, values, LEAST, SAFETY).solution()
        if self.whole:
            return found, found.values[self._lane.held]
        support, f = np.flatnonzero(found.beta), np.zeros(self._n)
        if len(support):
            DenseRows(self._matrix.finest, 1).add(self._lane.index[support], found.beta[support], f)
        return found, f[self._lane.held]


class _Apart:
    """A lane by itself, with all threads, where the matrix has no room."""

    def __init__(self, kernel: Kernel, X: Rows, lane: Lane) -> None:
        self._kernel, self._points, self._held = kernel, pick(X, lane.index), pick(X, lane.held)
        self.problem = lane.problem
        self._taken = sum(getattr(points, "nbytes", 0) for points in (self._points, self._held))

    def solve(
        self, solver: SMO, problem: DualProblem, values: np.ndarray | None, watch: Progress
    ) -> tuple[DualSolution, np.ndarray]:
        """Solve, and multiply by the kernel between points held out and support vectors."""
        found = solver.solve(self._kernel, self._points, problem, watch, self._taken)
        support = np.flatnonzero(found.beta)
        if len(support) == 0:
            return found, np.zeros(length(self._held))
        K = Gram(self._kernel, self._held, pick(self._points, support), memory=solver.memory)
        return found, K @ found.beta[support]
