"""Many problems of sequential minimal optimisation on parts of one kernel matrix."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from mercer.arrays.threads import default_threads

from .dual import DualProblem, DualSolution
from .matrix import Matrix
from .rounds import SAFETY, Limits, Run, evidence, in_own_unit, rounding, single_suffices

Part = tuple[np.ndarray, DualProblem]  # which points, and the problem on them
BATCH = 5e7  # kernel values of one native call: about a tenth of a second
FIRST_STEPS = 20_000  # of a problem in it; what takes more goes on by itself


class Many:
    """Problems on their way to solutions: small ones side by side, large ones one after the other with all threads.

    Parameters
    ----------
    limits : callable
        Returns the limits of a problem that starts now.
    matrix : Matrix
        The kernel matrix of all points.
    parts : list of Part
        The problems.
    """

    def __init__(self, limits: Callable[[], Limits], matrix: Matrix, parts: list[Part]) -> None:
        self._limits, self._matrix, self._parts = limits, matrix, parts
        self._stopped = threading.Event()

    def solutions(self) -> Iterator[tuple[int, DualSolution]]:
        """Yield the number of a problem with its solution, whenever one is solved."""
        parts, matrix = self._parts, self._matrix
        small = [i for i, (index, problem) in enumerate(parts) if len(index) == problem.n <= matrix.small]
        begun: dict[int, DualSolution] = {}
        left = dict.fromkeys(small)
        for i, solution, settled in self._batches(small):
            if settled and solution.converged:
                del left[i]
                yield i, solution
            else:
                begun[i] = solution
        large = sorted(set(range(len(parts))) - set(small))
        with ThreadPoolExecutor(default_threads()) as pool:
            try:
                yield from zip(left, pool.map(lambda i: self._one(i, begun.get(i), stored=True), left), strict=True)
                for i in large:
                    yield i, self._one(i, None, stored=False)
            except BaseException:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _one(self, i: int, before: DualSolution | None, *, stored: bool) -> DualSolution:
        index, problem = self._parts[i]
        begun = problem if before is None else replace(problem, start=before.beta)
        rows = partial(self._matrix.stored, index) if stored else partial(self._matrix.rows, index, problem.n)
        found = Run(self._limits(), rows, self._matrix.largest, begun, self._watch).solution()
        return replace(found, problem=problem, n_iter=found.n_iter + (0 if before is None else before.n_iter))

    def _watch(self, n_iter: int, violation: float) -> None:
        if self._stopped.is_set():
            raise KeyboardInterrupt

    # -- small problems on vectors, in compiled code from beginning to end ------------------------------------------

    def _in_batch(self, i: int) -> bool:
        problem, limits = self._parts[i][1], self._limits()
        if problem.second is not None or self._matrix.gram(np.float32).native_plan is None:
            return False
        scaled, _ = in_own_unit(problem, self._matrix.largest)
        tolerance = limits.tol * scaled.unit(self._matrix.largest)
        return limits.max_iter < 0 and single_suffices(scaled, self._matrix.largest, tolerance, SAFETY)

    def _batches(self, small: list[int]) -> Iterator[tuple[int, DualSolution, bool]]:
        """Yield numbers and solutions, and whether these satisfy the optimality conditions."""
        waiting = [i for i in small if self._in_batch(i)]
        scaled = {i: in_own_unit(self._parts[i][1], self._matrix.largest) for i in waiting}
        # Problems of one call have one ε and one tolerance, and together not too much work, so that Python can look for
        # Ctrl-C.
        common = {i: (problem.epsilon, problem.unit(self._matrix.largest)) for i, (problem, _) in scaled.items()}
        while waiting:
            limits = self._limits()
            if limits.max_time is not None and limits.max_time <= 0:
                return  # too late: what is left is stopped one by one
            work, batch = 0.0, []
            for i in waiting:
                if work < BATCH and common[i] == common[waiting[0]]:
                    batch.append(i)
                    work += self._parts[i][1].n ** 2
            taken = set(batch)
            waiting = [i for i in waiting if i not in taken]
            yield from self._batch(batch, [scaled[i] for i in batch], limits.tol)

    def _batch(
        self, batch: list[int], scaled: list[tuple[DualProblem, float]], tol: float
    ) -> Iterator[tuple[int, DualSolution, bool]]:
        plan, largest = self._matrix.gram(np.float32).native_plan, self._matrix.largest
        assert plan is not None
        problems = [problem for problem, _ in scaled]
        tolerance = tol * problems[0].unit(largest)
        betas, slopes = [p.start.copy() for p in problems], [np.empty(p.n) for p in problems]
        given = [
            (np.ascontiguousarray(self._parts[i][0], dtype=np.int64), p.target, p.lower, p.upper, beta, slope)
            for i, p, beta, slope in zip(batch, problems, betas, slopes, strict=True)
        ]
        steps = plan.smo_parts(given, problems[0].epsilon, tolerance, FIRST_STEPS, default_threads())
        for i, (problem, unit), beta, slope, (count, violation) in zip(
            batch, scaled, betas, slopes, steps, strict=True
        ):
            error = rounding(np.float32, largest, beta)
            found = evidence(problem, beta, problem.target - slope, int(count), tol, error)
            settled = violation <= tolerance and error <= SAFETY * tolerance
            yield i, found.times(unit, self._parts[i][1]), settled
