"""Rounds of sequential minimal optimisation: how a problem goes on anywhere, and how it does on the host."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mercer._native import smo as solve_pairs
from mercer.arrays import Array
from mercer.arrays.columns import power_of_two

from .dual import ROUNDOFF, DualProblem, DualSolution, length
from .rows import DenseRows, FusedRows, RowSource

if TYPE_CHECKING:
    from .smo import SMO

LEAST, MOST = 1024, 3072  # variables of a working set
CACHED = 2048  # of them, whose matrix stays in a shared cache: better unless more than twice as many are free
FEWEST = 16  # of them, however little memory there is
INNER = 0.1  # share of the violation down to which a working set is solved
GOAL = 0.8  # share of the tolerance below which solving a working set makes no sense: others wait
SAFETY = 0.25  # share of the tolerance that rounding of kernel values may take
STEPS = 100_000  # of a working set before Python looks around
MOST_STEPS = 10_000_000  # of a problem without a limit of its own
LOOK, SHRUNK = 5, 0.7  # rounds between looks at which variables may still move, and the share that makes others wait
HOPELESS = 2.0  # times what rounding in float64 does to slopes: smaller violations are chance
RESTARTS = 3  # recomputations of Kβ that may find the violation too large before float64 takes over
STEEPEST, LEAST_STEEP = 0.01, 0.5  # how much a tolerance is lowered at a time where the gap is still too large
SINGLE = 1e30  # k(x, x) up to which, and from whose reciprocal on, float32 holds all values that matter

Progress = Callable[[int, float], None]


def bound_rounding(dtype: type, largest: float, beta: np.ndarray) -> float:
    """Return how far rounding of kernel values, of which k(x, x) is the largest, may move Kβ."""
    return 2 * float(np.finfo(dtype).eps) * largest * length(beta)


def leave_room(xp: Any, tolerance: Array | float, rounded: Array | float, dtype: type) -> Any:
    """Return the violation of updated slopes that is small enough, with room for what rounding may hide in them."""
    enough = xp.maximum(tolerance - rounded, 0.5 * tolerance)
    return xp.maximum(enough, HOPELESS * rounded) if dtype is np.float64 else enough


@dataclass
class Course:
    """How one problem goes on, on the host or on a device: in its own unit, to a tolerance that falls with the gap.

    ``largest`` is the largest k(x, x), and ``safety`` the share of the tolerance that rounding of kernel values may
    take before they are wanted in float64.
    """

    limits: SMO
    given: DualProblem
    largest: float
    safety: float = SAFETY
    unit: float = field(init=False)
    problem: DualProblem = field(init=False)  # with slopes of about 1; coefficients scale too, for K does not
    tolerance: float = field(init=False)
    restarts: int = 0
    n_iter: int = 0

    def __post_init__(self) -> None:
        self.unit = float(power_of_two(self.given.unit(self.largest)))
        self.problem = self.given.scaled(self.unit, self.unit)
        self.tolerance = self.limits.tol * self.problem.unit(self.largest)
        self._start = time.monotonic()

    @property
    def most(self) -> int:
        """Steps at most."""
        return self.limits.max_iter if self.limits.max_iter >= 0 else max(MOST_STEPS, 1000 * self.problem.n)

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.limits.max_time is not None and time.monotonic() - self._start > self.limits.max_time

    @property
    def is_single(self) -> bool:
        """Whether float32 kernel values are likely to be enough, by the size of the box."""
        if not 1 / SINGLE <= self.largest <= SINGLE:
            return False
        reach = max(float(-self.problem.lower.min()), float(self.problem.upper.max()))
        return not self.is_coarse(np.float32, np.full(min(self.problem.n, 1000), reach))

    def bound_rounding(self, dtype: type, beta: np.ndarray) -> float:
        """Return how far rounding of kernel values may move Kβ."""
        return bound_rounding(dtype, self.largest, beta)

    def is_coarse(self, dtype: type, beta: np.ndarray) -> bool:
        """Whether kernel values round more than the tolerance has room for, and finer ones are to be had."""
        return dtype is np.float32 and self.bound_rounding(dtype, beta) > self.safety * self.tolerance

    def certify(self, beta: np.ndarray, values: np.ndarray, dtype: type) -> DualSolution:
        """Return a solution whose values may be off by about half of what rounding is bounded by."""
        error = self.bound_rounding(dtype, beta) / 2
        return DualSolution(self.problem, beta, values, self.n_iter, self.limits.tol, error)

    def judge(self, found: DualSolution, violation: float, dtype: type) -> Literal["done", "again", "finer"]:
        """Say what to do with a solution whose recomputed Kβ violates the conditions by so much.

        If it is optimal and its gap does not certify that yet, the tolerance falls.
        """
        if violation <= self.tolerance and not self.is_coarse(dtype, found.beta):
            further = self._lower(found)
            if further is None:
                return "done"
            self.tolerance, self.restarts = further, 0
        else:
            self.restarts += 1
        if dtype is np.float32 and (self.restarts >= RESTARTS or self.is_coarse(dtype, found.beta)):
            return "finer"
        return "again" if self.restarts < 2 * RESTARTS else "done"  # beyond that rounding in float64 allows no more

    def _lower(self, found: DualSolution) -> float | None:
        """Return the violation to go on to where the gap certifies no solution yet, None where that makes no sense."""
        target = float(np.abs(found.problem.target).max(initial=0.0))
        floor = 2 * HOPELESS * (self.bound_rounding(np.float64, found.beta) + ROUNDOFF * target)
        if found.converged or self.tolerance <= floor:
            return None
        factor = min(max(found.tol / (2 * found.relative_gap), STEEPEST), LEAST_STEEP)
        return max(factor * self.tolerance, floor)

    def finish(self, found: DualSolution) -> DualSolution:
        """Return the solution of the problem as it was given."""
        return found.times(self.unit, self.given)


class Run:
    """One problem on its way to a solution on the host, with rows of K in float32 or float64.

    ``values`` are Kβ at the start, if they are known.  Working sets have ``least`` variables at least; fewer are better
    where rows are cheap, and where memory is short.
    """

    def __init__(
        self,
        solver: SMO,
        rows: Callable[[type], RowSource],
        largest: float,
        problem: DualProblem,
        progress: Progress | None = None,
        values: np.ndarray | None = None,
        least: int | None = None,
        safety: float = SAFETY,
    ) -> None:
        self.course, self.solver, self.progress = Course(solver, problem, largest, safety), solver, progress
        self.problem = self.course.problem  # or the part of it that may still move
        self._least, self._source = LEAST if least is None else least, rows
        self.beta = self.problem.start.copy()
        start = None if values is None else values / self.course.unit
        self._take(np.float32 if self.course.is_single else np.float64, start)

    # -- kernel values ----------------------------------------------------------------------------------------------

    def _take(self, dtype: type, values: np.ndarray | None = None) -> None:
        """Go on with kernel values of some precision."""
        vars(self).pop("_rows", None)  # before memory is needed again
        self._dtype = dtype
        self._buffer: np.ndarray = np.empty(0, dtype=dtype)
        self._rows = self._source(dtype)
        self._complete = False  # whether the buffer holds the matrix of all variables
        self._most = max(FEWEST, int(min(MOST, math.sqrt(self._rows.room / self._buffer.itemsize))))
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
        """Go on until a recomputed Kβ is optimal and its gap certifies that, or a limit is reached."""
        course, problem = self.course, self.problem
        while True:
            settled = self._rounds() <= course.tolerance
            if settled and course.is_coarse(self._dtype, self.beta):
                self._take(np.float64)
            else:
                self._recompute()
            values = problem.target - self.slope
            found = course.certify(self.beta, values, self._dtype)
            verdict = course.judge(found, problem.violation(self.beta, values), self._dtype) if settled else "done"
            if verdict == "done":
                return course.finish(found)
            if verdict == "finer":
                self._take(np.float64)

    def _rounds(self) -> float:
        """Do rounds until the updated Kβ satisfies the conditions; return the violation."""
        problem, course = self.problem, self.course
        rounds = 0
        # From a start that is not 0 the free variables are the ones that go on moving.
        inside = (self.beta > problem.lower) & (self.beta < problem.upper) & (self.beta != 0)
        kept = np.flatnonzero(inside)[: self._most]
        while True:
            rise, fall = problem.scores(self.beta, problem.target - self.slope)
            violation = max(float(rise[g].max() - fall[g].min()) for g in problem.groups)
            left = min(STEPS, course.most - course.n_iter)
            rounded = course.bound_rounding(self._dtype, self.beta)
            enough = float(leave_room(np, course.tolerance, rounded, self._dtype))
            if violation <= enough or left <= 0 or course.is_late:
                return violation
            if self.progress is not None and course.n_iter:
                self.progress(course.n_iter, course.unit * violation)
            rounds += 1
            if self.solver.shrinking and rounds % LOOK == 0 and isinstance(self._rows, FusedRows):
                active = self._find_active(rise, fall)
                if len(active) < SHRUNK * problem.n:
                    self._shrink(self._rows, active)
                    continue
            kept = self._select(rise, fall, kept)
            goal = 0.95 * enough if len(kept) == problem.n else max(GOAL * course.tolerance, INNER * violation)
            if self._round(kept, goal, left) == 0:
                return violation

    def _find_active(self, rise: np.ndarray, fall: np.ndarray) -> np.ndarray:
        """Return the variables that may still move: those at a bound stay there if no other would take their weight."""
        moving = np.zeros(self.problem.n, dtype=bool)
        for group in self.problem.groups:
            up, down = rise[group], fall[group]
            moving[group] = (up > down.min()) & np.isfinite(up) | (down < up.max()) & np.isfinite(down)
            moving[group] |= np.isfinite(up) & np.isfinite(down) & (self.beta[group] != 0)
        return np.flatnonzero(moving)

    def _shrink(self, rows: FusedRows, active: np.ndarray) -> None:
        """Go on with the variables that may still move until they are optimal, then carry the change to all slopes."""
        few = copy(self)
        few.problem = self.problem.part(active, self.beta[active])
        few.beta, few.slope = self.beta[active], self.slope[active]
        few._rows, few._complete = rows.part(active), False
        self._buffer, self._complete = np.empty(0, dtype=self._dtype), False  # one for both, which may grow there
        few._rounds()
        self._buffer = few._buffer
        change = few.beta - self.beta[active]
        moved = np.flatnonzero(change)
        rows.add(active[moved], -change[moved], self.slope)
        self.beta[active] = few.beta

    def _round(self, chosen: np.ndarray, tolerance: float, most: int) -> int:
        """Solve the problem of the chosen variables and carry the change to all slopes; return the steps it took."""
        problem, count = self.problem, len(chosen)
        K = self._matrix(chosen)
        beta, slope = self.beta[chosen], self.slope[chosen]
        second = count if problem.second is None else int(np.count_nonzero(chosen < problem.second))
        steps, _ = solve_pairs(
            K, problem.lower[chosen], problem.upper[chosen], beta, slope, problem.epsilon, second, tolerance, most
        )
        change = beta - self.beta[chosen]
        moved = np.flatnonzero(change)
        if count == problem.n:
            self.slope[chosen] = slope
        else:
            self._rows.add(chosen[moved], -change[moved], self.slope)
        self.beta[chosen] = beta
        self.course.n_iter += steps
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
        most = min(self._most, CACHED if inside <= 2 * CACHED else MOST)
        size = min(most, max(self._least, 1 << max(inside - 1, 1).bit_length()))
        # To copy half of a matrix that is there takes longer than smaller steps save.
        if problem.n <= (2 * size if isinstance(self._rows, DenseRows) else self._most):
            return np.arange(problem.n)
        # The pair that violates most is chosen anew whatever is kept, so that every round makes progress.
        worst = [g.start + at for g in problem.groups for at in (int(rise[g].argmax()), int(fall[g].argmin()))]
        before = before[~np.isin(before, worst)][:size]
        wanted = size if len(before) == 0 else max(size - len(before) // 2, size // 2)
        new = [
            part
            for group in problem.groups
            for part in _find_worst(rise[group], fall[group], group.start, before, wanted // (2 * len(problem.groups)))
        ]
        fresh = np.unique(np.concatenate(new))
        # Of the last round free variables stay first, and those that came last: they are the ones that go on moving.
        free = (self.beta[before] > problem.lower[before]) & (self.beta[before] < problem.upper[before])
        order = np.argsort(~free, kind="stable")
        chosen = np.concatenate([fresh, before[order][: size - len(fresh)]])
        return chosen if problem.second is None else chosen[np.argsort(chosen >= problem.second, kind="stable")]


def _find_worst(rise: np.ndarray, fall: np.ndarray, start: int, before: np.ndarray, count: int) -> list[np.ndarray]:
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
