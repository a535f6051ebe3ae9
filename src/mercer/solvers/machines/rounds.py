"""Rounds of sequential minimal optimisation: one problem on its way to a solution."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Protocol

import numpy as np

from mercer.arrays.columns import power_of_two

from .dual import ROUNDOFF, DualProblem, DualSolution, length
from .rows import DenseRows, FusedRows, RowSource

LEAST, MOST = 1024, 3072  # variables of a working set
INNER = 0.1  # share of the violation down to which a working set is solved
SAFETY = 0.25  # share of the tolerance that rounding of kernel values may take
STEPS = 100_000  # of a working set before Python looks around
MOST_STEPS = 10_000_000  # of a problem without a limit of its own
LOOK, SHRUNK = 5, 0.7  # rounds between looks at which variables may still move, and the share that makes others wait
HOPELESS = 2.0  # times what rounding in float64 does to slopes: smaller violations are chance
RESTARTS = 3  # recomputations of Kβ that may find the violation too large before float64 takes over
STEEPEST, LEAST_STEEP = 0.01, 0.5  # how much a tolerance is lowered at a time where the gap is still too large
SINGLE = 1e30  # k(x, x) up to which, and from whose reciprocal on, float32 holds all values that matter

Progress = Callable[[int, float], None]


class Limits(Protocol):
    """When to stop, and whether to shrink: what a run asks of its solver."""

    @property
    def tol(self) -> float:
        """The violation to reach in units of the problem's slopes, and the relative gap."""

    @property
    def max_iter(self) -> int:
        """Steps, or a negative number."""

    @property
    def max_time(self) -> float | None:
        """Seconds."""

    @property
    def shrinking(self) -> bool:
        """Whether variables at a bound may wait."""


def rounding(dtype: type, largest: float, beta: np.ndarray) -> float:
    """Return how far rounding of kernel values, of which k(x, x) is the largest, may move Kβ."""
    return 2 * float(np.finfo(dtype).eps) * largest * length(beta)


def single_suffices(problem: DualProblem, largest: float, tolerance: float, safety: float) -> bool:
    """Whether float32 kernel values are likely to be enough for a problem, by the size of its box."""
    if not 1 / SINGLE <= largest <= SINGLE:
        return False
    reach = max(float(-problem.lower.min()), float(problem.upper.max()))
    return rounding(np.float32, largest, np.full(min(problem.n, 1000), reach)) <= safety * tolerance


def in_own_unit(problem: DualProblem, largest: float) -> tuple[DualProblem, float]:
    """Return the problem with slopes of about 1, and their unit, a power of two; coefficients scale, for K does not."""
    unit = float(power_of_two(problem.unit(largest)))
    return problem.scaled(unit, unit), unit


def evidence(
    problem: DualProblem, beta: np.ndarray, values: np.ndarray, n_iter: int, tol: float, error: float
) -> DualSolution:
    """Return a solution whose values may be off by about half of what rounding is bounded by."""
    return DualSolution(problem, beta, values, n_iter, tol, error / 2)


def next_tolerance(found: DualSolution, tolerance: float, largest: float) -> float | None:
    """Return the violation to go on to where the gap certifies no solution yet, or None where that makes no sense."""
    target = float(np.abs(found.problem.target).max(initial=0.0))
    floor = 2 * HOPELESS * (rounding(np.float64, largest, found.beta) + ROUNDOFF * target)
    if found.converged or tolerance <= floor:
        return None
    factor = min(max(found.tol / (2 * found.relative_gap), STEEPEST), LEAST_STEEP)
    return max(factor * tolerance, floor)


class Run:
    """One problem on its way to a solution."""

    def __init__(
        self,
        solver: Limits,
        rows: Callable[[type], RowSource],
        largest: float,
        problem: DualProblem,
        progress: Progress | None,
        values: np.ndarray | None = None,
        least: int | None = None,
        safety: float = SAFETY,
    ) -> None:
        self._given, self.solver, self.progress = problem, solver, progress
        self.problem, self._unit = in_own_unit(problem, largest)
        self._tolerance = solver.tol * self.problem.unit(largest)
        self._least, self._safety = LEAST if least is None else least, safety
        self._source, self._largest = rows, largest
        self._start = time.monotonic()
        self.beta = self.problem.start.copy()
        self.n_iter = 0
        single = single_suffices(self.problem, largest, self._tolerance, safety)
        self._take(np.float32 if single else np.float64, None if values is None else values / self._unit)

    # -- kernel values ----------------------------------------------------------------------------------------------

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
        """Go on until a recomputed Kβ is optimal and its gap certifies that, or a limit is reached."""
        restarts = 0
        while True:
            settled = self._rounds() <= self._tolerance
            if settled and self._coarse():
                self._take(np.float64)
            else:
                self._recompute()
            values = self.problem.target - self.slope
            found = evidence(self.problem, self.beta, values, self.n_iter, self.solver.tol, self._rounding())
            if not settled:
                break
            if self._violation() > self._tolerance:
                restarts += 1
                if restarts >= RESTARTS and self._dtype is np.float32:
                    self._take(np.float64)
                elif restarts >= 2 * RESTARTS:  # rounding in float64 allows no more
                    break
                continue
            further = next_tolerance(found, self._tolerance, self._largest)
            if further is None:
                break
            self._tolerance, restarts = further, 0
            if self._coarse():
                self._take(np.float64)
        return found.times(self._unit, self._given)

    def _rounding(self) -> float:
        return rounding(self._dtype, self._largest, self.beta)

    def _coarse(self) -> bool:
        """Whether kernel values round more than the tolerance has room for, and finer ones are to be had."""
        return self._dtype is np.float32 and self._rounding() > self._safety * self._tolerance

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
            # What rounding may hide in updated slopes is left as room for recomputed ones.
            rounded = self._rounding()
            finest = HOPELESS * rounded if self._dtype is np.float64 else 0.0
            enough = max(self._tolerance - rounded, 0.5 * self._tolerance, finest)
            if violation <= enough or left <= 0 or late:
                return violation
            if self.progress is not None and self.n_iter:
                self.progress(self.n_iter, self._unit * violation)
            rounds += 1
            if solver.shrinking and rounds % LOOK == 0 and isinstance(self._rows, FusedRows):
                active = self._active(rise, fall)
                if len(active) < SHRUNK * problem.n:
                    self._shrink(active)
                    continue
            kept = self._select(rise, fall, kept)
            goal = 0.95 * enough if len(kept) == problem.n else max(0.5 * self._tolerance, INNER * violation)
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
        assert isinstance(self._rows, FusedRows)
        few = copy(self)
        few.problem, few.beta, few.slope = part, self.beta[active], self.slope[active]
        few._rows, few._buffer = self._rows.part(active), np.empty(0, dtype=self._dtype)
        few._complete = False
        few._rounds()
        change = few.beta - self.beta[active]
        moved = np.flatnonzero(change)
        self._rows.add(active[moved], -change[moved], self.slope)
        self.beta[active], self.n_iter = few.beta, few.n_iter

    def _round(self, chosen: np.ndarray, tolerance: float, most: int) -> int:
        """Solve the problem of the chosen variables and carry the change to all slopes; return the steps it took."""
        import mercer._native as _native

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
