"""A problem made ready for Newton's method, and what is kept of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel

from ..base import Problem
from ..centers import choose_centers
from ..evidence import DualityGap, Objective
from ..plan import Plan
from .features import FeatureSpace, NystroemFeatures
from .gram import GramSpace
from .method import NewtonMinimum, Space, State, measure_whole_gap, minimise, warn_if_stuck
from .plan import count_centers, count_product, plan_newton
from .rows import FeatureRows
from .sums import WeightedLoss

CHEAP = 1e10  # operations of a product with the n × n matrix that any fit may add


@dataclass(frozen=True)
class LossFit:
    """A function that minimises a penalised loss, with the evidence that it does."""

    kernel: Kernel
    centers: Rows
    positions: np.ndarray | None  # of the centres among the points; None if they are all of them
    coef: np.ndarray  # (m, Q)
    intercept: np.ndarray  # (Q,)
    objective: Objective
    gap: DualityGap  # how far above its minimum over all functions of the kernel it may be
    restricted_gap: float  # and over those that were searched
    converged: bool  # whether that is as small as was asked
    n_iter: int  # Newton steps, or rounds of a search
    plan: Plan | None = None  # where there was a choice of solvers


class PreparedNewton:
    """A problem that can be solved for one penalty after another, each from where the last one ended.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.newton.sums import label_loss
    >>> loss = label_loss(np.array([0, 0, 1, 1]), 2, np.ones(4))
    >>> problem = Problem(Linear(), np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.zeros((4, 1)), fit_intercept=True)
    >>> prepared = PreparedNewton(problem, loss, "newton")
    >>> [round(prepared.solve(alpha).objective, 3) for alpha in (1.0, 0.1)]
    [1.737, 0.683]
    """

    def __init__(
        self, problem: Problem, loss: WeightedLoss, solver: str, n_centers: int | None = None, random_state: Any = None
    ) -> None:
        self.problem, self.loss = problem, loss
        rng, placed = check_random_state(random_state), loss.put(problem.place)
        self._last: State | None = None
        self._centers: np.ndarray | None = None
        self._space: Space
        if solver == "nystroem":
            self._centers, triangle = choose_centers(problem, count_centers(problem, n_centers), rng)
            self._features = NystroemFeatures(problem, pick(problem.X, self._centers), triangle)
            self._space = FeatureSpace(FeatureRows(placed, self._features), problem.fit_intercept)
        else:
            self._space = GramSpace(problem, placed, solver == "newton", rng)

    def solve(self, alpha: float, tol: float = 1e-8, max_iter: int = 100) -> NewtonMinimum:
        """Minimise for one penalty."""
        found = minimise(self._space, alpha, tol=tol, max_iter=max_iter, start=self._last)
        self._last = found.state
        return replace(found, state=found.state.on_host())

    def measure_gap(self, alpha: float, found: NewtonMinimum, cost: float) -> DualityGap:
        """Return the gap to the minimum over all functions of the kernel, and not only over those of the centres.

        NaN where it would take more operations than the fit, whose ``cost`` is given.
        """
        if self._centers is None:
            return report_gap(found, found.gap)
        if count_product(self.problem) > max(cost, CHEAP):
            return report_gap(found, float("nan"))
        return report_gap(found, measure_whole_gap(self.problem, self.loss, alpha, found))

    def expand(self, state: State) -> tuple[Rows, np.ndarray | None, np.ndarray]:
        """Return the centres of a function, which of the points they are (None for all), and its coefficients."""
        if self._centers is None:
            return self.problem.X, None, state.coef
        return pick(self.problem.X, self._centers), self._centers, self._features.coefficients(state.coef)


def report_gap(found: NewtonMinimum, gap: float) -> DualityGap:
    """Return the gap of a minimum, absolute and beside the size of the objective, with both values."""
    relative = gap / found.size if found.size > 0 else (0.0 if gap == 0 else np.inf)
    return DualityGap(gap, relative, float(found.objective), found.objective - gap)


def fit_newton(
    problem: Problem,
    loss: WeightedLoss,
    alpha: float,
    *,
    solver: str = "auto",
    n_centers: int | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    random_state: Any = None,
    name: str = "Newton's method",
) -> LossFit:
    """Choose a solver, fit, and warn in the name of a model if the fit has not converged.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory; its targets have one column for each function.
    loss : WeightedLoss
        The loss, targets and weights.
    alpha : float
        The penalty α > 0.
    solver, n_centers
        As in :func:`~mercer.solvers.newton.plan.plan_newton`.
    tol, max_iter : float, int
        The duality gap to reach, relative to the objective, and the most Newton steps.
    random_state : int, RandomState or None
        The seed.
    name : str
        Whose fit it is.
    """
    plan = plan_newton(problem, solver, n_centers)
    prepared = PreparedNewton(problem, loss, plan.solver, n_centers, random_state)
    found = prepared.solve(alpha, tol, max_iter)
    warn_if_stuck(name, found, max_iter)
    gap = prepared.measure_gap(alpha, found, plan.flops)
    return LossFit(
        problem.kernel, *prepared.expand(found.state), found.state.intercept, found.objective, gap, found.gap,
        found.converged, found.n_iter, plan,
    )  # fmt: skip
