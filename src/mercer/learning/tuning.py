"""Length scales and penalty by a coarse grid and then by the gradient of the leave-one-out error, on random subsets.

The grid finds the valleys of the error, the gradient their bottoms.  The error of a subset of m points costs O(m³), its
gradient by every length scale no more, and each step draws another subset, so that what is found does not depend on any
one of them.  Steps are Adam's, in the logarithms of all parameters and on the logarithm of the error, so that neither
the units of the data nor those of the target matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.rounding import weighted_trace

from .adam import Adam, fall
from .criterion import Criterion, LeaveOneOutCriterion
from .length_scales import Logarithms, is_length_scale
from .scale_grid import FLAT, MOST, PENALTIES, Point, make_scale_grid

RATE = 0.2  # of the first step, in logarithms; it falls to 0 as a cosine
AVERAGED = 0.2  # of the steps, the last ones, are averaged
NARROW, WIDE = 1e-3, 1e3  # how far a length scale may go from where it starts
FINALISTS = 4  # points of the grid that are tuned, at least one of each family
RACE = 0.25  # share of the steps in which they compete
GRID_ROWS = 1000  # points of the grid and of the race, where a step takes more
CLEARLY = 0.9  # of the error of the grid
NEGLIGIBLE = 1e-4  # of the variance of the targets: an error that need not be less
OnStep = Callable[[int, float], bool]  # number of the step and error; True to stop tuning


@dataclass(frozen=True)
class Tuned:
    """What was found."""

    kernel: Kernel  # the kernel, its length scales tuned
    alpha: float
    # leave-one-out mean squared error on the subset that all were compared on; NaN if there was none
    error: float = float("nan")
    # the error of each step's subset, after the least error of each length scale of the grid
    trace: list[float] = field(default_factory=list)
    start: Point | None = None  # the point of the grid that it was tuned from
    best: Point | None = None  # the best point of the grid

    def rivals(self) -> tuple[list[Kernel], list[float]]:
        """Return the kernel and, unless it is clearly better than that, the best of the grid; and their penalties."""
        if self.best is None or self.best.kernel == self.kernel or self.error < CLEARLY * self.best.error:
            return [self.kernel], [self.alpha]
        return [self.kernel, self.best.kernel], [self.alpha, self.best.alpha]

    @property
    def edge(self) -> str:
        """What to say if the best lies at the edge of what was searched; empty if it does not."""
        if self.start is None or not self.start.edge:
            return ""
        if self.start.edge == "constant":
            if self.error < FLAT * self.start.error:
                return ""
            return (
                "no length scale and no penalty that were searched predict points left out better than a constant "
                "does, so that is nearly what was fitted; give more points, other features, or kernels and "
                "length_scales to try"
            )
        now, then = (kernel.hyperparameters() for kernel in (self.kernel, self.start.kernel))
        moved = np.array([now[name] / then[name] for name in now if is_length_scale(name)])
        short = self.start.edge == "shortest"
        if self.error < NEGLIGIBLE or (moved.max() > 2.0 if short else moved.min() < 0.5):
            return ""
        return (
            f"the best length scales found, those of {self.kernel!r}, are the {self.start.edge} searched: at them "
            + (
                "most points are alone; give more points or fewer features, or try another kernel such as Matern(0.5)"
                if short
                else "all points are nearly alike; try kernel=Linear() or Polynomial(2), or give length_scales"
            )
        )


def race(
    kernels: Sequence[Kernel],
    problem: Problem,
    rng: np.random.RandomState,
    *,
    size: int,
    steps: int,
    on_step: OnStep = lambda step, error: False,
    criterion: Criterion | None = None,
) -> Tuned:
    """Tune the best points of a grid for a while, keep the one with the smallest error, and tune that to the end.

    All errors are compared on the subset that the grid was computed from, and nothing replaces what is better there:
    the result is never worse than the best of the grid.  They are those of leaving out one point, unless another
    criterion is given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.length_scales import make_families
    >>> from mercer.learning.tuning import race
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(100, 2))
    >>> kernels = make_families(X)
    >>> data = Problem(kernels[0], X, np.sin(3.0 * X[:, :1]), fit_intercept=True)
    >>> near, far = race(kernels, data, rng, size=100, steps=40).kernel.length_scale
    >>> near < far / 5
    True
    """
    trace: list[float] = []
    stopped, judge = False, criterion or LeaveOneOutCriterion()

    def tell(error: float) -> bool:
        nonlocal stopped
        trace.append(error)
        stopped = stopped or bool(on_step(len(trace), error))
        return stopped

    few = min(size, GRID_ROWS)
    common = pick_points(problem, rng.permutation(problem.n)[:few])
    grids = []
    for kernel in kernels:
        grids.append(make_scale_grid(replace(common, kernel=kernel), tell, judge).minima())
        if stopped:
            break
    found = [Tuned(point.kernel, point.alpha, point.error, start=point) for point in pick_finalists(grids)]
    if not found:  # not one error is finite: there is nothing to go by
        return Tuned(kernels[0], weighted_trace(replace(common, kernel=kernels[0])) or 1.0, trace=trace)
    winner, best = found[0], found[0].start
    short = max(1, round(RACE * steps)) if len(found) > 1 else 0
    rounds = [(one, few, short) for one in found if short]
    for one, points, count in [*rounds, (None, size, max(1, steps - short))]:
        if stopped:
            break
        start = winner if one is None else one
        tuned = descend(start, problem, rng, size=points, steps=count, on_error=tell, criterion=judge)
        winner = min(winner, _keep_better(tuned, start, common, judge), key=lambda tuned: tuned.error)
    return replace(winner, trace=trace, best=best)


def pick_finalists(grids: Sequence[Sequence[Point]]) -> list[Point]:
    """Return the best point of each grid and the next best of all, best first."""
    firsts = [points[0] for points in grids if points]
    others = sorted((point for points in grids for point in points[1:]), key=lambda point: point.error)
    count = max(FINALISTS, len(firsts) + 1)
    return sorted([*firsts, *others][:count], key=lambda point: point.error)


def most_steps(kernels: int, steps: int) -> int:
    """Return how many steps a race takes at most."""
    return kernels * MOST + max(FINALISTS, kernels + 1) * max(1, round(RACE * steps)) + steps


def descend(
    start: Tuned,
    problem: Problem,
    rng: np.random.RandomState,
    *,
    size: int,
    steps: int,
    rate: float = RATE,
    on_error: Callable[[float], bool] = lambda error: False,
    criterion: Criterion | None = None,
) -> Tuned:
    """Follow the gradient of the error from a start, a new random subset of ``size`` points each step.

    Length scales stay within a factor of 1,000 of where they started, and the penalty between 10⁻¹¹ and 10 times the
    trace of WK.  A step from which the matrix cannot be inverted is taken back, and the penalty grows instead.
    ``on_error`` is told the error of each step, which is the last if it returns True.
    """
    n, judge = problem.n, criterion or LeaveOneOutCriterion()
    size = min(size, n)
    logarithms = Logarithms(start.kernel)
    at = logarithms.locate(start.kernel, start.alpha)
    trace = _mean_trace(replace(problem, kernel=start.kernel)) * size
    low = np.r_[np.log(PENALTIES[0] * trace), at[1:] + np.log(NARROW)]
    high = np.r_[np.log(PENALTIES[-1] * trace), at[1:] + np.log(WIDE)]
    at = np.clip(at, low, high)
    adam, last, errors = Adam(), list[np.ndarray](), list(start.trace)
    for step in range(1, steps + 1):
        subset = pick_points(problem, rng.permutation(n)[:size])
        try:
            found = judge.judge(subset, *logarithms.place(at), gradient=True)
        except np.linalg.LinAlgError:
            at[0] = min(at[0] + np.log(10.0), high[0])
            continue
        gradient = logarithms.gradient(found)
        if not (found.error > 0 and np.isfinite(gradient).all()):
            break  # nothing left to improve
        at = np.clip(at - fall(rate, step, steps) * adam.direct(gradient / found.error), low, high)
        errors.append(found.error)
        if step > (1 - AVERAGED) * steps:
            last.append(at)
        if on_error(found.error):
            break
    kernel, alpha = logarithms.place(np.mean(last, axis=0) if last else at)
    return replace(start, kernel=kernel, alpha=alpha, trace=errors)


def _mean_trace(problem: Problem) -> float:
    """Return the mean of w k(x, x), which penalties are relative to."""
    some = pick_points(problem, np.arange(min(problem.n, GRID_ROWS)))
    return max(weighted_trace(some) / some.n, np.finfo(float).tiny)


def _keep_better(tuned: Tuned, before: Tuned, common: Problem, criterion: Criterion) -> Tuned:
    """Return what was tuned, with its error on some points, or what was there before if it is better on them."""
    try:
        error = criterion.judge(common, tuned.kernel, tuned.alpha, gradient=False).error
    except np.linalg.LinAlgError:
        return before
    return replace(tuned, error=error) if error < before.error else before
