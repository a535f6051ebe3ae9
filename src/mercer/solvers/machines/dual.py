"""The dual problem all support vector machines share, and the certificate that it is solved.

Every machine is min ½βᵀKβ − tᵀβ + ε‖β‖₁ over a box l ≤ β ≤ u with Σβ fixed in each of one or two groups, and
f = Σ βᵢk(xᵢ, ·).

========== ======== ======== =========================== ======= ==================================
machine    t        ε        box                         groups  Σβ
========== ======== ======== =========================== ======= ==================================
C-SVC      y = ±1   0        0 ≤ yβ ≤ C                  one     0
ε-SVR      y        epsilon  −C ≤ β ≤ C                  one     0
one-class  0        0        0 ≤ β ≤ 1                   one     νn
ν-SVC      0        0        0 ≤ yβ ≤ 1                  by y    νn/2 and −νn/2
ν-SVR      (y, y)   0        0 ≤ β ≤ C, −C ≤ β* ≤ 0      β, β*   Cνn/2 and −Cνn/2
========== ======== ======== =========================== ======= ==================================

The primal is ½‖f‖² + Σ φᵢ(tᵢ − f(xᵢ) − b) + Σβ·b with φᵢ(r) = max of βr − ε|β| over the box, b one number per group:
the hinge, the ε-insensitive loss and their kin.  Primal minus dual value is the duality gap, never negative, and a
bound on how far the objective is from its minimum.

Nothing here has a unit: targets, ε and f may be measured in any, coefficients and boxes in another.  Sums are formed in
units close to the numbers themselves, powers of two, so that problems that are equal up to such factors have equal
evidence to the last bit, and none overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.arrays.columns import power_of_two
from mercer.arrays.tensors import pack
from mercer.losses.corners import SlopeBox

from ..evidence import DualityGap, Objective, is_converged

FINEST = 1e-8  # the smallest relative gap asked for: sums of numbers that cancel to it are rounded in float64
ROUNDOFF = float(np.finfo(np.float64).eps) / 2
FARTHEST = 1e300  # an end of a box beyond any coefficient, in units of the targets: a number and not infinity


def length(values: np.ndarray) -> float:
    """Return the Euclidean length of numbers whose squares need not fit float64."""
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    # Not by BLAS, whose threads may stay busy for a while on the processors that compute kernel values next.
    return size * math.sqrt(float(np.square(values / size).sum()))


def _middle(values: np.ndarray) -> float:
    """Return the lower median, which is one of the values, or 0 if there are none."""
    at = (len(values) - 1) // 2
    return float(np.partition(values, at)[at]) if len(values) else 0.0


@dataclass(frozen=True)
class DualProblem:
    """min ½βᵀKβ − tᵀβ + ε‖β‖₁ over lower ≤ β ≤ upper, Σβ in each group as at the start.

    Parameters
    ----------
    target : array of shape (n,)
        t.
    lower, upper : arrays of shape (n,)
        The box; lower ≤ 0 ≤ upper.
    start : array of shape (n,)
        A point of the box.  Its sums are those of the solution.
    epsilon : float
        ε ≥ 0.
    second : int, optional
        Where the second group starts; n, which means no second group, if not given.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    epsilon: float = 0.0
    second: int | None = None

    def __post_init__(self) -> None:
        for name in ("target", "lower", "upper", "start"):
            object.__setattr__(self, name, pack(getattr(self, name), np.float64))

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.target)

    @property
    def groups(self) -> list[slice]:
        """The variables of each group."""
        cut = self.n if self.second is None else self.second
        return [group for group in (slice(0, cut), slice(cut, self.n)) if group.start < group.stop]

    def unit(self, largest: float) -> float:
        """Return the size of a slope t − Kβ, in which violations of optimality are measured.

        With targets, half the median distance of those that differ from the median: 1 for labels ±1, so that a
        tolerance means what it does in LIBSVM, and no matter of outliers or of the unit of y.  Without, the largest
        k(x, x) times the median end of a box, what a coefficient may do to f at its own point: 1 for weights of 1.
        """
        reach = np.maximum(self.upper, -self.lower)
        halves = self.target[reach > 0] / 2
        away = np.abs(halves - _middle(halves))
        return _middle(away[away > 0]) or largest * _middle(reach[reach > 0])

    def part(self, index: np.ndarray, start: np.ndarray) -> DualProblem:
        """Return the problem of some variables in their order, from a start of theirs."""
        second = None if self.second is None else int(np.count_nonzero(index < self.second))
        box = self.target[index], self.lower[index], self.upper[index]
        return DualProblem(*box, start, self.epsilon, second)

    def scaled(self, slope: float, coefficient: float) -> DualProblem:
        """Return the same problem with targets and ε in one unit and coefficients in another."""
        with np.errstate(over="ignore"):
            lower, upper, start = (
                np.clip(part / coefficient, -FARTHEST, FARTHEST) for part in (self.lower, self.upper, self.start)
            )
            return replace(
                self, target=self.target / slope, lower=lower, upper=upper, start=start, epsilon=self.epsilon / slope
            )

    def scores(self, beta: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how fast the dual grows when a coefficient rises, and what it loses when it falls.

        −∞ where β may not rise, +∞ where it may not fall.  β is optimal in a group when no rise is worth more than any
        fall.
        """
        slope = self.target - values
        rise = slope - np.where(beta >= 0, self.epsilon, -self.epsilon)
        fall = slope - np.where(beta > 0, self.epsilon, -self.epsilon)
        return np.where(beta < self.upper, rise, -np.inf), np.where(beta > self.lower, fall, np.inf)

    def loss(self, group: slice) -> SlopeBox:
        """Return φ of the variables of a group, whose conjugate is finite on their boxes."""
        return SlopeBox(self.lower[group], self.upper[group], self.epsilon)

    def violation(self, beta: np.ndarray, values: np.ndarray) -> float:
        """Return the largest gain of moving weight between two variables of a group, LIBSVM's stopping measure."""
        rise, fall = self.scores(beta, values)
        return max(float(rise[group].max() - fall[group].min()) for group in self.groups)

    def intercepts(self, beta: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return b of each group: the mean over free variables, else the middle of what optimality allows."""
        rise, fall = self.scores(beta, values)
        found = []
        for group in self.groups:
            up, down = rise[group], fall[group]
            free = np.isfinite(up) & np.isfinite(down)
            if self.epsilon > 0:
                free &= beta[group] != 0
            if free.any():  # the mean of equal numbers is that number, without rounding
                found.append(float(np.clip(up[free].mean(), up[free].min(), up[free].max())))
            else:
                ends = np.array([up.max(), down.min()])
                ends = ends[np.isfinite(ends)]
                found.append(float(ends.mean()) if len(ends) else 0.0)
        return np.array(found)


Part = tuple[np.ndarray, DualProblem]  # which points, and the problem on them


@dataclass(frozen=True)
class DualSolution:
    """Coefficients of a support vector machine, with the evidence that they solve its problem.

    Parameters
    ----------
    problem : DualProblem
        What was solved.
    beta : array of shape (n,)
        β.
    values : array of shape (n,)
        Kβ, recomputed and not updated.
    n_iter : int
        Pairs of coefficients that were moved.
    tol : float
        The tolerance that was asked for, and the relative gap up to which the problem counts as solved.  A violation
        of ``tol`` in units of the targets costs about ``tol`` times Σ|βt| where coefficients are as wide as their
        boxes, and Σ|βt| is at most twice the objective: so this is LIBSVM's tolerance, said of the objective.
    error : float
        How far rounding of kernel values may have moved ``values``; it counts in the gap.
    """

    problem: DualProblem
    beta: np.ndarray
    values: np.ndarray
    n_iter: int
    tol: float
    error: float = 0.0

    @cached_property
    def _units(self) -> tuple[float, float]:
        """The units of slopes and of coefficients that the numbers here are close to."""
        p, beta, values = self.problem, self.beta, self.values
        slope = max(float(np.abs(part).max(initial=0.0)) for part in (p.target, values))
        box = float(np.maximum(p.upper, -p.lower).max(initial=0.0))
        largest = max(float(np.abs(beta).max(initial=0.0)), box / FARTHEST**0.5)
        return float(power_of_two(slope)), float(power_of_two(largest))

    @cached_property
    def _scaled(self) -> DualSolution:
        """The same in these units, in which no sum overflows."""
        slope, coefficient = self._units
        problem = self.problem.scaled(slope, coefficient)
        return replace(
            self, problem=problem, beta=self.beta / coefficient, values=self.values / slope, error=self.error / slope
        )

    def times(self, unit: float, problem: DualProblem) -> DualSolution:
        """Return the solution of a problem, of which this solves the one scaled to a unit."""
        return replace(self, problem=problem, beta=self.beta * unit, values=self.values * unit, error=self.error * unit)

    @cached_property
    def intercepts(self) -> np.ndarray:
        """The constant b of each group, shape (1,) or (2,)."""
        part = self._scaled
        return self._units[0] * part.problem.intercepts(part.beta, part.values)

    @cached_property
    def violation(self) -> float:
        """The largest violation of the optimality conditions."""
        part = self._scaled
        return self._units[0] * part.problem.violation(part.beta, part.values)

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")  # what is not finite certifies nothing
    def _evidence(self) -> tuple[float, float, float, float]:
        """Dual value, the two parts of the primal and gap in the units above."""
        part = self._scaled
        p, beta, values = part.problem, part.beta, part.values
        square = float((beta * values).sum())
        dual = float((p.target * beta).sum()) - p.epsilon * float(np.abs(beta).sum()) - 0.5 * square
        loss, penalty, hidden = 0.0, 0.5 * square, 0.0
        error = 2 * (part.error + ROUNDOFF * float(np.abs(p.target[values != 0]).max(initial=0.0)))
        for group, b in zip(p.groups, p.intercepts(beta, values), strict=True):
            r, start = p.target[group] - values[group] - b, p.start[group]
            loss += float(p.loss(group).value(r).sum()) + float(b) * float(start.sum())
            # The gap changes with f(xᵢ) by the slope of the loss less βᵢ; errors of single points are independent.
            slopes = (p.loss(group).slope(moved) for moved in (r - error, r + error))
            rate = np.maximum(*(np.abs(slope - beta[group]) for slope in slopes))
            # Σβ moves a little with every rounded step, and so does what b is worth.
            hidden += error * length(rate) + abs(float(b) * float((beta[group] - start).sum()))
        return dual, loss, penalty, max(loss + penalty - dual, 0.0) + hidden

    def _in_units(self, which: int) -> float:
        slope, coefficient = self._units
        return self._evidence[which] * slope * coefficient

    @property
    def dual(self) -> float:
        """The value of the dual, tᵀβ − ε‖β‖₁ − ½βᵀKβ, which the solver maximises."""
        return self._in_units(0)

    @property
    def primal(self) -> Objective:
        """The value of the primal at f and b: Σ φ + Σβ·b, and ½‖f‖²."""
        return Objective(loss=self._in_units(1), penalty=self._in_units(2))

    @property
    def duality_gap(self) -> float:
        """Primal minus dual value and what rounding may hide: the objective is at most this far from its minimum."""
        return self._in_units(3)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the larger of the two values; where both are 0 nothing but a gap of 0 is small."""
        dual, loss, penalty, gap = self._evidence
        size = max(abs(dual), abs(loss + penalty))
        if not gap < math.inf or (size == 0 and gap > 0):
            return math.inf
        return gap / size if size > 0 else 0.0

    @property
    def gap(self) -> DualityGap:
        """Both gaps, and the values that they lie between."""
        return DualityGap(self.duality_gap, self.relative_gap, float(self.primal), self.dual)

    @property
    def free(self) -> np.ndarray:
        """Which coefficients lie strictly inside of their boxes, 0 being an end of each."""
        return (self.beta != 0) & (self.problem.lower < self.beta) & (self.beta < self.problem.upper)

    @property
    def resolution(self) -> float:
        """The difference between values of f below which rounding leaves nothing to see."""
        return 4 * self.error

    @property
    def converged(self) -> bool:
        """Whether the relative gap is as small as was asked."""
        return is_converged(self.relative_gap, max(self.tol, FINEST))
