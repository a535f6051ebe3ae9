"""Sequential minimal optimisation: every support vector machine, by working sets.

A round picks the variables that violate optimality most, keeps some of the round before, solves the problem of these
alone to a tenth of the violation (pairs of variables, second order, in compiled code on a matrix that fits the cache),
and adds what changed to Kβ.  Kernel values are float32 where their rounding is small beside the tolerance, sums and
coefficients float64; Kβ is recomputed before the solution is believed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from mercer.gram import Gram
from mercer.gram.budget import parse_memory
from mercer.gram.native import default_threads
from mercer.kernels import Kernel
from mercer.kernels.data import Rows, length

from ._products import width
from ._rows import CHEAP, DenseRows, FusedRows, KeptRows, RowSource, TwiceRows
from .dual import DualProblem, DualSolution

LEAST, MOST = 1024, 2048  # variables of a working set
INNER = 0.1  # share of the violation down to which a working set is solved
SAFETY = 0.25  # share of the tolerance that rounding of kernel values may take
STEPS = 100_000  # of a working set before Python looks around
MOST_STEPS = 10_000_000  # of a problem without a limit of its own
LOOK, SHRUNK = 5, 0.7  # rounds between looks at which variables may still move, and the share that makes others wait
RESTARTS = 3  # recomputations of Kβ that may find the violation too large before float64 takes over

Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class SMO:
    """Solve the dual problem of a support vector machine.

    Parameters
    ----------
    tol : float
        The violation of the optimality conditions at which to stop, as LIBSVM measures it.
    max_iter : int
        Steps, each of which moves weight between two variables; if negative, ten million or a thousand for each
        variable, whichever is more, so that no problem runs for ever.
    max_time : float, optional
        Seconds; no limit if not given.
    memory : int or str, optional
        Budget in bytes; 60 % of what is free if not given.
    shrinking : bool
        Whether variables that are at a bound and would stay there are left alone until the others are optimal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.dual import DualProblem
    >>> from mercer.solvers.smo import SMO
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(4))
    >>> found = SMO().solve(Linear(), X, problem)
    >>> found.beta.round(6).tolist(), found.intercepts.round(6).tolist(), found.converged
    ([0.0, -0.5, 0.5, 0.0], [0.0], True)
    """

    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    memory: float | str | None = None
    shrinking: bool = True

    def solve(self, kernel: Kernel, X: Rows, problem: DualProblem, progress: Progress | None = None) -> DualSolution:
        """Solve one problem; X has a point for each variable, or for each two with the second half like the first."""
        matrix = _Matrix(kernel, X, parse_memory(self.memory))
        return _Run(self, partial(matrix.rows, None, problem.n), matrix.largest, problem, progress).solution()

    def solve_on(
        self,
        rows: Callable[[type], RowSource],
        largest: float,
        problem: DualProblem,
        progress: Progress | None = None,
        *,
        values: np.ndarray | None = None,
        least: int = LEAST,
        safety: float = SAFETY,
    ) -> DualSolution:
        """Solve one problem on rows of K that are there already.

        Parameters
        ----------
        rows : callable
            The rows, given float32 or float64.
        largest : float
            The largest k(x, x).
        problem : DualProblem
            What to solve, from its start.
        progress : callable, optional
            Told steps and violation after each round.
        values : array of shape (n,), optional
            Kβ at the start, if it is known.
        least : int
            Variables of a working set at least; fewer are better where rows are cheap.
        safety : float
            Share of the tolerance that rounding of kernel values may take before they are wanted in float64.
        """
        return _Run(self, rows, largest, problem, progress, values, least, safety).solution()

    def solve_many(
        self,
        kernel: Kernel,
        X: Rows,
        parts: Iterable[tuple[np.ndarray, DualProblem]],
        progress: Progress | None = None,
    ) -> list[DualSolution]:
        """Solve several problems, each on some points of X given by their positions.

        Small problems are solved side by side, one thread each; large ones one after the other with all threads.
        ``progress`` hears of all steps so far and the largest violation left whenever a problem is solved.
        """
        parts = list(parts)
        matrix = _Matrix(kernel, X, parse_memory(self.memory))
        deadline = None if self.max_time is None else time.monotonic() + self.max_time
        small = [i for i, (index, problem) in enumerate(parts) if len(index) == problem.n <= matrix.small]

        def one(i: int) -> DualSolution:
            index, problem = parts[i]
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            limited = replace(self, max_time=left)
            rows = partial(matrix.stored, index) if i in places else partial(matrix.rows, index, problem.n)
            return _Run(limited, rows, matrix.largest, problem, watch).solution()

        def watch(n_iter: int, violation: float) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt

        places, stopped = set(small), threading.Event()
        found: dict[int, DualSolution] = {}
        with ThreadPoolExecutor(default_threads()) as pool:
            try:
                order = small + [i for i in range(len(parts)) if i not in places]
                for i, solution in zip(order, chain(pool.map(one, small), map(one, order[len(small) :])), strict=True):
                    found[i] = solution
                    if progress is not None:
                        progress(sum(s.n_iter for s in found.values()), max(s.violation for s in found.values()))
            except BaseException:
                stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [found[i] for i in range(len(parts))]


class _Matrix:
    """The kernel matrix of all points, and rows of it or of its parts as a problem wants them."""

    def __init__(self, kernel: Kernel, X: Rows, memory: int) -> None:
        self._kernel, self._X, self._memory = kernel, X, memory
        self.largest = float(np.abs(kernel.diag(X)).max(initial=0.0))
        self.small = min(MOST, int((memory / default_threads() / 16) ** 0.5))  # points whose matrix is stored
        self._grams: dict[type, Gram] = {}
        self._matrices: dict[type, np.ndarray] = {}
        self._one_at_a_time = threading.Lock()
        self._own = threading.local()  # memory that one small problem after the other uses

    def gram(self, dtype: type) -> Gram:
        """Return the lazy matrix with values of some precision."""
        with self._one_at_a_time:
            if dtype not in self._grams:
                self._grams[dtype] = Gram(self._kernel, self._X, memory=self._memory, dtype=dtype)
            return self._grams[dtype]

    def rows(self, index: np.ndarray | None, variables: int, dtype: type) -> RowSource:
        """Return the rows of some points (all if None); twice if there are two variables a point."""
        points = length(self._X) if index is None else len(index)
        whole = self._whole(dtype)
        if whole is not None:
            rows: RowSource = DenseRows(whole if index is None else whole[np.ix_(index, index)], default_threads())
        else:
            gram = self.gram(dtype) if index is None else self.gram(dtype).part(index)
            cheap = gram.backend_name == "native" and width(self._X) <= CHEAP
            rows = FusedRows(gram) if cheap else KeptRows(gram, self._memory // 2, default_threads())
        return rows if points == variables else TwiceRows(rows, points)

    def stored(self, index: np.ndarray, dtype: type) -> RowSource:
        """Return the whole matrix of a few points, computed by one thread."""
        whole = self._whole(dtype)
        if whole is not None:
            return DenseRows(whole[np.ix_(index, index)], 1)
        size = len(index) ** 2
        buffer: np.ndarray = getattr(self._own, dtype.__name__, np.empty(0, dtype=dtype))
        if buffer.size < size:
            buffer = np.empty(size, dtype=dtype)
            setattr(self._own, dtype.__name__, buffer)
        out = buffer[:size].reshape(len(index), len(index))
        return DenseRows(self.gram(dtype).part(index, threads=1).dense(out=out), 1)

    def _whole(self, dtype: type) -> np.ndarray | None:
        """Return the matrix of all points where its entries are slow to compute and fit, each computed once."""
        gram = self.gram(dtype)
        if gram.backend_name == "native" or gram.shape[0] ** 2 * gram.dtype.itemsize > self._memory // 2:
            return None
        with self._one_at_a_time:
            if dtype not in self._matrices:
                self._matrices[dtype] = gram.dense()
            return self._matrices[dtype]


class _Run:
    """One problem on its way to a solution."""

    def __init__(
        self,
        solver: SMO,
        rows: Callable[[type], RowSource],
        largest: float,
        problem: DualProblem,
        progress: Progress | None,
        values: np.ndarray | None = None,
        least: int = LEAST,
        safety: float = SAFETY,
    ) -> None:
        self.solver, self.problem, self.progress = solver, problem, progress
        self._least, self._safety = least, safety
        self._source, self._largest = rows, largest
        self._start = time.monotonic()
        self.beta = np.array(problem.start, dtype=np.float64)
        self.n_iter = 0
        reach = max(float(-problem.lower.min()), float(problem.upper.max()))
        single = self._rounding(np.float32, reach * min(problem.n, 1000) ** 0.5) <= safety * solver.tol
        self._take(np.float32 if single else np.float64, values)

    # -- kernel values ----------------------------------------------------------------------------------------------

    def _rounding(self, dtype: type, size: float) -> float:
        """Return how far rounding of kernel values may move Kβ, for ‖β‖ of a given size."""
        return 2 * float(np.finfo(dtype).eps) * self._largest * size

    def _take(self, dtype: type, values: np.ndarray | None = None) -> None:
        self._dtype = dtype
        self._rows = self._source(dtype)
        self._buffer: np.ndarray = np.empty(0, dtype=dtype)
        self._complete = False  # whether the buffer holds the matrix of all variables
        if values is None:
            self._recompute()
        else:
            self.slope = self.problem.target - values

    def _recompute(self) -> None:
        """Compute Kβ afresh."""
        support = np.flatnonzero(self.beta)
        values = np.zeros(self.problem.n)
        if len(support):
            self._rows.add(support, self.beta[support], values)
        self.slope = self.problem.target - values

    # -- rounds -------------------------------------------------------------------------------------------------------

    def solution(self) -> DualSolution:
        """Go on until the optimality conditions hold for a recomputed Kβ, or a limit is reached."""
        restarts, violation = 0, self._rounds()
        while violation <= self.solver.tol:
            exact = self._rounding(self._dtype, float(np.linalg.norm(self.beta))) <= self._safety * self.solver.tol
            if exact or self._dtype is np.float64:
                self._recompute()
            else:
                self._take(np.float64)
            violation = self._violation()
            if violation <= self.solver.tol:
                break
            restarts += 1
            if restarts >= RESTARTS and self._dtype is np.float32:
                self._take(np.float64)
            if restarts >= 2 * RESTARTS:  # rounding in float64 allows no more
                break
            violation = self._rounds()
        else:
            self._recompute()
            violation = self._violation()
        values = self.problem.target - self.slope
        return DualSolution(self.problem, self.beta, values, self.n_iter, violation <= self.solver.tol)

    def _violation(self) -> float:
        return self.problem.violation(self.beta, self.problem.target - self.slope)

    def _rounds(self) -> float:
        """Do rounds until the updated Kβ satisfies the conditions; return the violation."""
        problem, solver = self.problem, self.solver
        rounds = 0
        # From a start that is not 0 the free variables are the ones that go on moving.
        kept = np.flatnonzero((self.beta > problem.lower) & (self.beta < problem.upper) & (self.beta != 0))[:MOST]
        while True:
            rise, fall = problem.scores(self.beta, problem.target - self.slope)
            violation = max(float(rise[g].max() - fall[g].min()) for g in problem.groups)
            most = solver.max_iter if solver.max_iter >= 0 else max(MOST_STEPS, 1000 * problem.n)
            left = min(STEPS, most - self.n_iter)
            late = solver.max_time is not None and time.monotonic() - self._start > solver.max_time
            if violation <= solver.tol or left <= 0 or late:
                return violation
            if self.progress is not None and self.n_iter:
                self.progress(self.n_iter, violation)
            rounds += 1
            if solver.shrinking and rounds % LOOK == 0 and isinstance(self._rows, FusedRows):
                active = self._active(rise, fall)
                if len(active) < SHRUNK * problem.n:
                    self._shrink(active)
                    continue
            kept = self._select(rise, fall, kept)
            goal = 0.95 * solver.tol if len(kept) == problem.n else max(0.5 * solver.tol, INNER * violation)
            if self._round(kept, goal, left) == 0:
                return violation

    def _active(self, rise: np.ndarray, fall: np.ndarray) -> np.ndarray:
        """Return the variables that may still move: those at a bound stay there if no other would take their weight."""
        moving = np.zeros(self.problem.n, dtype=bool)
        for group in self.problem.groups:
            up, down = rise[group], fall[group]
            moving[group] = (up > down.min()) & np.isfinite(up) | (down < up.max()) & np.isfinite(down)
            moving[group] |= np.isfinite(up) & np.isfinite(down) & (self.beta[group] != 0)
        return np.flatnonzero(moving)

    def _shrink(self, active: np.ndarray) -> None:
        """Go on with the variables that may still move until they are optimal, then carry the change to all slopes."""
        problem = self.problem
        second = None if problem.second is None else int(np.count_nonzero(active < problem.second))
        part = DualProblem(
            problem.target[active],
            problem.lower[active],
            problem.upper[active],
            self.beta[active],
            problem.epsilon,
            second,
        )
        few = copy(self)
        few.problem, few.beta, few.slope = part, self.beta[active], self.slope[active]
        few._rows, few._buffer = self._rows.part(active), np.empty(0, dtype=self._dtype)
        few._rounds()
        change = few.beta - self.beta[active]
        moved = np.flatnonzero(change)
        self._rows.add(active[moved], -change[moved], self.slope)
        self.beta[active], self.n_iter = few.beta, few.n_iter

    def _round(self, chosen: np.ndarray, tolerance: float, most: int) -> int:
        """Solve the problem of the chosen variables and carry the change to all slopes; return the steps it took."""
        from mercer import _native

        problem, count = self.problem, len(chosen)
        K = self._matrix(chosen)
        beta, slope = self.beta[chosen], self.slope[chosen]
        second = count if problem.second is None else int(np.count_nonzero(chosen < problem.second))
        steps, _ = _native.smo(
            K, problem.lower[chosen], problem.upper[chosen], beta, slope, problem.epsilon, second, tolerance, most
        )
        change = beta - self.beta[chosen]
        moved = np.flatnonzero(change)
        if count == problem.n:
            self.slope[chosen] = slope
        else:
            self._rows.add(chosen[moved], -change[moved], self.slope)
        self.beta[chosen] = beta
        self.n_iter += steps
        return int(steps)

    def _matrix(self, chosen: np.ndarray) -> np.ndarray:
        """Return the kernel matrix of the chosen variables, in memory that is used again in the next round."""
        count, all_of_them = len(chosen), len(chosen) == self.problem.n
        if isinstance(self._rows, DenseRows) and all_of_them:
            return self._rows.matrix
        if self._buffer.size < count * count:
            self._buffer = np.empty(count * count, dtype=self._dtype)
        K = self._buffer[: count * count].reshape(count, count)
        if not (all_of_them and self._complete):
            K = self._rows.corner(chosen, K)
        self._complete = all_of_them
        return K

    def _select(self, rise: np.ndarray, fall: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the variables of the next round, group by group: the worst violators, and some of the last round."""
        problem = self.problem
        inside = int(np.count_nonzero((self.beta > problem.lower) & (self.beta < problem.upper) & (self.beta != 0)))
        size = min(MOST, max(self._least, 1 << max(inside - 1, 1).bit_length()))
        # To copy half of a matrix that is there takes longer than smaller steps save.
        if problem.n <= (2 * size if isinstance(self._rows, DenseRows) else MOST):
            return np.arange(problem.n)
        # The pair that violates most is chosen anew whatever is kept, so that every round makes progress.
        worst = [g.start + at for g in problem.groups for at in (int(rise[g].argmax()), int(fall[g].argmin()))]
        before = before[~np.isin(before, worst)][:size]
        wanted = size if len(before) == 0 else max(size - len(before) // 2, size // 2)
        new = [
            part
            for group in problem.groups
            for part in _worst(rise[group], fall[group], group.start, before, wanted // (2 * len(problem.groups)))
        ]
        fresh = np.unique(np.concatenate(new))
        # Of the last round free variables stay first, and those that came last: they are the ones that go on moving.
        free = (self.beta[before] > problem.lower[before]) & (self.beta[before] < problem.upper[before])
        order = np.argsort(~free, kind="stable")
        chosen = np.concatenate([fresh, before[order][: size - len(fresh)]])
        return chosen if problem.second is None else chosen[np.argsort(chosen >= problem.second, kind="stable")]


def _worst(rise: np.ndarray, fall: np.ndarray, start: int, before: np.ndarray, count: int) -> list[np.ndarray]:
    """Return which variables gain most by rising and give up least by falling, among those not in ``before``."""
    old = before[(before >= start) & (before < start + len(rise))] - start
    top, bottom = rise.max(), fall.min()
    found = []
    for gain, limit in ((rise, bottom), (-fall, -top)):
        gain = gain.copy()
        gain[old] = -np.inf
        best = (
            np.argpartition(gain, len(gain) - count)[len(gain) - count :] if count < len(gain) else np.arange(len(gain))
        )
        found.append(best[gain[best] > limit] + start)
    return found
