"""Sequential minimal optimisation: every support vector machine, by working sets.

A round picks the variables that violate optimality most, keeps some of the round before, solves the problem of these
alone to a tenth of the violation (pairs of variables, second order, in compiled code on a matrix that fits the cache),
and adds what changed to Kβ.  Kernel values are float32 where their rounding is small beside the tolerance, sums and
coefficients float64; Kβ is recomputed before the solution is believed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.place import Place
from mercer.arrays.threads import default_threads, share_of_threads
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel

from .dual import DualProblem, DualSolution, Part
from .matrix import MachineMatrix
from .rounds import Course, Progress, Run

if TYPE_CHECKING:
    from mercer._native import Plan as NativePlan

BATCH = 5e7  # kernel values of one native call: about a tenth of a second
FIRST_STEPS = 20_000  # of a problem in it; what takes more goes on by itself


@dataclass(frozen=True)
class SMO:
    """Solve the dual problem of a support vector machine.

    Parameters
    ----------
    tol : float
        The violation of the optimality conditions at which to stop, as LIBSVM measures it, in the unit of the targets
        (see :meth:`mercer.solvers.machines.dual.DualProblem.unit`); and the relative duality gap that the solution must
        have to count as converged.  Where a violation this small leaves a larger gap, the solver goes on.
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
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> from mercer.solvers.machines.smo import SMO
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

    def solve(
        self, kernel: Kernel, X: Rows, problem: DualProblem, progress: Progress | None = None, taken: int = 0
    ) -> DualSolution:
        """Solve one problem; X has a point for each variable, or for each two with the second half like the first.

        ``taken`` bytes of the memory are the caller's: those of points that were copied for this problem.
        """
        matrix = MachineMatrix(kernel, X, parse_memory(self.memory), taken)
        return Run(self, partial(matrix.rows, None, problem.n), matrix.largest, problem, progress).solution()

    def countdown(self) -> Callable[[], SMO]:
        """Return a function that gives this solver with what is left of its time, which runs from now on."""
        deadline = None if self.max_time is None else time.monotonic() + self.max_time

        def left() -> SMO:
            return self if deadline is None else replace(self, max_time=max(deadline - time.monotonic(), 0.0))

        return left

    def solve_many(
        self, kernel: Kernel, X: Rows, parts: Sequence[Part], progress: Progress | None = None
    ) -> list[DualSolution]:
        """Solve several problems, each on some points of X given by their positions.

        Small problems are solved side by side, one thread each, and so are large ones where they are many and memory
        holds most rows of each; otherwise these follow each other, with all threads.
        ``progress`` hears of all steps so far and the largest violation left whenever a problem is solved.
        """
        matrix = MachineMatrix(kernel, X, parse_memory(self.memory))
        found: dict[int, DualSolution] = {}
        for i, solution in _Crowd(self.countdown(), matrix, parts).solutions():
            found[i] = solution
            if progress is not None:
                progress(sum(s.n_iter for s in found.values()), max(s.violation for s in found.values()))
        return [found[i] for i in range(len(found))]

    def solve_at(
        self, place: Place, kernel: Kernel, X: Rows, parts: Sequence[Part], progress: Progress | None = None
    ) -> list[DualSolution]:
        """Solve the problems of a fit on the host or a device; a single one has all threads of the host."""
        if not place.on_host:
            from .device.smo import solve_on_device

            return solve_on_device(self, place, kernel, X, parts, progress)
        if len(parts) > 1:
            return self.solve_many(kernel, X, parts, progress)
        ((index, problem),) = parts
        everything = len(index) == length(X) and bool((index == np.arange(len(index))).all())
        if everything:
            return [self.solve(kernel, X, problem, progress)]
        points = pick(X, index)
        return [self.solve(kernel, points, problem, progress, getattr(points, "nbytes", 0))]


class _Crowd:
    """Problems on parts of one matrix: small ones side by side, large ones too or one after the other.

    ``limits`` returns the solver of a problem that starts now.
    """

    def __init__(self, limits: Callable[[], SMO], matrix: MachineMatrix, parts: Sequence[Part]) -> None:
        self._limits, self._matrix, self._parts = limits, matrix, parts
        self._stopped = threading.Event()

    def solutions(self) -> Iterator[tuple[int, DualSolution]]:
        """Yield the number of a problem with its solution, whenever one is solved."""
        parts, matrix = self._parts, self._matrix
        small = [i for i, (index, problem) in enumerate(parts) if len(index) == problem.n <= matrix.small]
        begun: dict[int, DualSolution] = {}
        left = dict.fromkeys(small)
        for i, solution, settled in self._solve_batches(small):
            if settled and solution.converged:
                del left[i]
                yield i, solution
            else:
                begun[i] = solution
        large = sorted(set(range(len(parts))) - set(small))
        with ThreadPoolExecutor(default_threads()) as pool:
            try:
                found = pool.map(lambda i: self._solve_one(i, begun.get(i), stored=True), left)
                yield from zip(left, found, strict=True)
                beside = matrix.count_beside([len(parts[i][0]) for i in large])
                threads = max(1, default_threads() // beside)  # asked here: those of the pool know of no share
                run = map if beside == 1 else pool.map
                yield from zip(large, run(lambda i: self._solve_large(i, beside, threads), large), strict=True)
            except BaseException:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _solve_large(self, i: int, beside: int, threads: int) -> DualSolution:
        with share_of_threads(threads):
            return self._solve_one(i, None, stored=False, beside=beside)

    def _solve_one(self, i: int, before: DualSolution | None, *, stored: bool, beside: int = 1) -> DualSolution:
        index, problem = self._parts[i]
        begun = problem if before is None else replace(problem, start=before.beta)
        lazy = partial(self._matrix.rows, index, problem.n, beside=beside)
        rows = partial(self._matrix.stored, index) if stored else lazy
        found = Run(self._limits(), rows, self._matrix.largest, begun, self._watch).solution()
        return replace(found, problem=problem, n_iter=found.n_iter + (0 if before is None else before.n_iter))

    def _watch(self, n_iter: int, violation: float) -> None:
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def _solve_batches(self, small: list[int]) -> Iterator[tuple[int, DualSolution, bool]]:
        """Solve small problems on vectors in compiled code from beginning to end.

        Yields numbers and solutions, and whether these satisfy the optimality conditions.
        """
        limits, matrix = self._limits(), self._matrix
        plan = matrix.gram(np.float32).native_plan if small and limits.max_iter < 0 else None
        if plan is None:
            return
        alike = [i for i in small if self._parts[i][1].second is None]
        courses = {i: Course(limits, self._parts[i][1], matrix.largest) for i in alike}
        waiting = {i: course for i, course in courses.items() if course.is_single}
        while waiting:
            limits = self._limits()
            if limits.max_time is not None and limits.max_time <= 0:
                return  # too late: what is left is stopped one by one
            # Problems of one call have one ε and one tolerance, and together not too much work, so that Python can
            # look for Ctrl-C.
            first, work, batch = next(iter(waiting.values())), 0.0, []
            for i, course in waiting.items():
                same = (course.problem.epsilon, course.tolerance) == (first.problem.epsilon, first.tolerance)
                if work < BATCH and same:
                    batch.append(i)
                    work += course.problem.n**2
            yield from self._solve_batch(plan, {i: waiting.pop(i) for i in batch})

    def _solve_batch(self, plan: NativePlan, courses: dict[int, Course]) -> Iterator[tuple[int, DualSolution, bool]]:
        problems = {i: course.problem for i, course in courses.items()}
        betas, slopes = [p.start.copy() for p in problems.values()], [np.empty(p.n) for p in problems.values()]
        given = [
            (np.ascontiguousarray(self._parts[i][0], dtype=np.int64), p.target, p.lower, p.upper, beta, slope)
            for (i, p), beta, slope in zip(problems.items(), betas, slopes, strict=True)
        ]
        first = next(iter(courses.values()))
        steps = plan.smo_parts(given, first.problem.epsilon, first.tolerance, FIRST_STEPS, default_threads())
        for (i, course), beta, slope, (count, violation) in zip(courses.items(), betas, slopes, steps, strict=True):
            course.n_iter = int(count)
            found = course.certify(beta, course.problem.target - slope, np.float32)
            settled = violation <= course.tolerance and not course.is_coarse(np.float32, beta)
            yield i, course.finish(found), settled
