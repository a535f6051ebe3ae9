"""What support vector machines say of each point without it: exactly, by refits without each support vector.

A point with coefficient 0 has no part in the conditions that make the others optimal, so that the machine without it is
the same.  Without a support vector the coefficient of that point goes to others, in proportion to the room in their
boxes, and the solver goes on from there: few of the coefficients still have to move.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel

from .dual import DualProblem, Part
from .matrix import MachineMatrix
from .path import DENSE, LEAST, SAFETY
from .rounds import Run
from .rows import DenseRows, RowSource
from .smo import SMO

SNAP = 1e-12  # of a box: less than that is rounding


def leave_out_vectors(
    solver: SMO, kernel: Kernel, X: Rows, part: Part, beta: np.ndarray, stop: Callable[[], bool] | None = None
) -> np.ndarray:
    """Return f₋ᵢ(xᵢ) + b₋ᵢ for every support vector of a machine, in the order of its nonzero coefficients.

    Parameters
    ----------
    solver : SMO
        Tolerance and limits of each refit.
    kernel : Kernel
        The kernel.
    X : collection of n objects
        The points.
    part : tuple of array and DualProblem
        Which of the points the machine is fitted to, and its problem with targets ±1.
    beta : array of shape (points of the machine,)
        Its solution.
    stop : function, optional
        Asked before each refit; InterruptedError is raised if it returns True.

    Returns
    -------
    array of shape (support vectors,)
        ±1 of the other class for the only point of one.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(4))
    >>> part, beta = (np.arange(4), problem), np.array([0.0, -0.5, 0.5, 0.0])

    Of (2x + 1)/3 at −1, and of (x − 1)/2 at 1:

    >>> leave_out_vectors(SMO(tol=1e-9), Linear(), X, part, beta).round(3).tolist()
    [-0.333, 0.0]
    """
    (index, problem), memory = part, parse_memory(solver.memory)
    whole = len(index) == length(X) and bool((index == np.arange(len(index))).all())
    points = X if whole else pick(X, index)
    n, support, halted = len(index), np.flatnonzero(beta), Event()
    small = DENSE * n**2 <= memory
    matrix = MachineMatrix(kernel, points, memory, 0 if whole else getattr(points, "nbytes", 0))

    def find_rows(dtype: type) -> RowSource:
        return DenseRows(matrix.dense(dtype), 1) if small else matrix.rows(None, n, dtype)

    def watch(n_iter: int, violation: float) -> None:
        if halted.is_set():
            raise KeyboardInterrupt

    def solve(i: int) -> float:
        if stop is not None and stop():
            raise InterruptedError("somebody asked to stop leaving out points")
        others = np.delete(problem.target, i)
        if len(np.unique(others)) < 2:
            return float(others[0])
        without = _take_out(problem, beta, i)
        found = Run(
            solver, find_rows, matrix.largest, without, watch, None, LEAST if small else None, SAFETY
        ).solution()
        return float(found.values[i] + found.problem.intercepts(_snap(found.problem, found.beta), found.values)[0])

    if not small:  # one after the other, with all threads each
        return np.array([solve(i) for i in support.tolist()])
    with ThreadPoolExecutor(default_threads()) as pool:
        try:
            return np.array(list(pool.map(solve, support.tolist())))
        finally:  # also when one of them is interrupted
            halted.set()
            pool.shutdown(cancel_futures=True)


def _snap(problem: DualProblem, beta: np.ndarray) -> np.ndarray:
    """Return coefficients with those at a bound but for rounding, which a start may leave, exactly there.

    Where no coefficient is inside of its box the intercept is the middle of what is optimal, and not an end.
    """
    near = SNAP * (problem.upper - problem.lower)
    beta = np.where(problem.upper - beta <= near, problem.upper, beta)
    return np.where(beta - problem.lower <= near, problem.lower, beta)


def _take_out(problem: DualProblem, beta: np.ndarray, i: int) -> DualProblem:
    """Return the problem in which coefficient i is 0, from a start near a solution of the problem with it."""
    lower, upper, start = problem.lower.copy(), problem.upper.copy(), np.clip(beta, problem.lower, problem.upper)
    taken, lower[i], upper[i], start[i] = start[i], 0.0, 0.0, 0.0
    # Where others may go: support vectors first, of which those of the other sign have room enough to vanish.
    room = np.where(start != 0, (upper if taken > 0 else lower) - start, 0.0)
    total = float(room.sum())
    start = start + room * (taken / total) if total != 0 else start
    return replace(problem, lower=lower, upper=upper, start=np.clip(start, lower, upper))
