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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


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
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.target)

    @property
    def groups(self) -> list[slice]:
        """The variables of each group."""
        cut = self.n if self.second is None else self.second
        return [group for group in (slice(0, cut), slice(cut, self.n)) if group.start < group.stop]

    def scores(self, beta: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how fast the dual grows when a coefficient rises, and what it loses when it falls.

        −∞ where β may not rise, +∞ where it may not fall.  β is optimal in a group when no rise is worth more than any
        fall.
        """
        slope = self.target - values
        rise = slope - np.where(beta >= 0, self.epsilon, -self.epsilon)
        fall = slope - np.where(beta > 0, self.epsilon, -self.epsilon)
        return np.where(beta < self.upper, rise, -np.inf), np.where(beta > self.lower, fall, np.inf)

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
            if free.any():
                found.append(float(up[free].mean()))
            else:
                ends = np.array([up.max(), down.min()])
                ends = ends[np.isfinite(ends)]
                found.append(float(ends.mean()) if len(ends) else 0.0)
        return np.array(found)


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
    converged : bool
        Whether the violation is as small as was asked.
    """

    problem: DualProblem
    beta: np.ndarray
    values: np.ndarray
    n_iter: int
    converged: bool

    @cached_property
    def intercepts(self) -> np.ndarray:
        """The constant b of each group, shape (1,) or (2,)."""
        return self.problem.intercepts(self.beta, self.values)

    @cached_property
    def violation(self) -> float:
        """The largest violation of the optimality conditions."""
        return self.problem.violation(self.beta, self.values)

    @cached_property
    def dual(self) -> float:
        """The value of the dual, tᵀβ − ε‖β‖₁ − ½βᵀKβ, which the solver maximises."""
        p, beta = self.problem, self.beta
        return float(p.target @ beta - p.epsilon * np.abs(beta).sum() - 0.5 * beta @ self.values)

    @cached_property
    def primal(self) -> float:
        """The value of the primal at f and b."""
        p, total = self.problem, 0.5 * float(self.beta @ self.values)
        for group, b in zip(p.groups, self.intercepts, strict=True):
            r = p.target[group] - self.values[group] - b
            gain = np.maximum(p.upper[group] * (r - p.epsilon), p.lower[group] * (r + p.epsilon))
            total += float(np.maximum(gain, 0.0).sum()) + b * float(p.start[group].sum())
        return total

    @property
    def duality_gap(self) -> float:
        """Primal minus dual value: the objective is at most this far from its minimum."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the larger of the two values."""
        return self.duality_gap / max(abs(self.primal), abs(self.dual), np.finfo(np.float64).tiny)
