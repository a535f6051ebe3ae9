"""A problem made ready for Newton's method, and what is kept of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel

from ..base import Problem
from ..centers import choose_centers
from ..evidence import SCALE, DualityGap, Objective, warn_not_converged
from ..plan import Plan
from .features import FeatureSpace, NystroemFeatures
from .gram import GramSpace
from .method import NewtonMinimum, Space, State, measure_whole_gap, minimise
from .plan import DIRECT_LIMIT, count_centers, count_products
from .proximal import minimise_corners
from .rows import FeatureRows
from .sums import WeightedLoss

STEPS = 100  # of Newton's method, or of each round of the proximal one, at most
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
    restricted_gap: DualityGap  # and over those that were searched
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
            few = solver == "proximal" and problem.n * loss.outputs <= DIRECT_LIMIT
            self._space = GramSpace(problem, placed, few or solver == "newton", rng)

    def begin(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Start the next fit from a function of all points; of features of centres there is no such."""
        if isinstance(self._space, GramSpace):
            self._last = self._space.begin(coef, intercept)

    def solve(self, alpha: float, tol: float = 1e-8, max_iter: int | None = None) -> NewtonMinimum:
        """Minimise for one penalty."""
        method = minimise if self.loss.loss.smooth else minimise_corners
        found = method(self._space, alpha, tol=tol, max_iter=limit_steps(max_iter), start=self._last)
        self._last = found.state
        return found.on_host()

    def fit(self, alpha: float, tol: float = 1e-8, max_iter: int | None = None, cost: float = 0.0) -> LossFit:
        """Minimise for one penalty, and measure the gap if that takes no more operations than the fit, its ``cost``."""
        found = self.solve(alpha, tol, max_iter)
        return LossFit(
            self.problem.kernel, *self.expand(found.state), found.state.intercept, found.objective,
            self.measure_gap(alpha, found, cost), report_gap(found, found.gap), found.converged, found.n_iter,
        )  # fmt: skip

    def measure_gap(self, alpha: float, found: NewtonMinimum, cost: float) -> DualityGap:
        """Return the gap to the minimum over all functions of the kernel, and not only over those of the centres.

        NaN where it would take more operations than the fit, whose ``cost`` is given.
        """
        if self._centers is None:
            return report_gap(found, found.gap)
        if count_products(self.problem, 1) > max(cost, CHEAP):
            return report_gap(found, float("nan"))
        return report_gap(found, measure_whole_gap(self.problem, self.loss, alpha, found))

    def expand(self, state: State) -> tuple[Rows, np.ndarray | None, np.ndarray]:
        """Return the centres of a function, which of the points they are (None for all), and its coefficients."""
        if self._centers is None:
            return self.problem.X, None, state.coef
        return pick(self.problem.X, self._centers), self._centers, self._features.coefficients(state.coef)


def limit_steps(max_iter: int | None) -> int:
    """Return the most Newton steps there may be."""
    return STEPS if max_iter is None else max_iter


def report_gap(found: NewtonMinimum, gap: float) -> DualityGap:
    """Return the gap of a minimum, absolute and beside the size of the objective, with both values."""
    relative = gap / found.size if found.size > 0 else (0.0 if gap == 0 else np.inf)
    return DualityGap(gap, relative, float(found.objective), found.objective - gap)


def warn_if_stuck(name: str, fit: LossFit, tol: float, max_iter: int | None) -> None:
    """Warn if the gap is not as small as was asked, and say what to do."""
    if fit.converged:
        return
    limit = limit_steps(max_iter)
    remedy = (
        f"raise max_iter, which is {limit}, or {SCALE}"
        if fit.n_iter >= limit
        else f"after {fit.n_iter} steps this is what rounding allows with so small a penalty: raise alpha or tol, "
        f"or {SCALE}"
    )
    warn_not_converged(name, fit.restricted_gap.relative, tol, remedy, kind="relative duality gap")
