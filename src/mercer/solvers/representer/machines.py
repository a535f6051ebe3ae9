"""Losses with corners in the dual: one box for each point, solved as support vector machines are."""

from __future__ import annotations

import numpy as np

from mercer.formula.data import pick
from mercer.losses.corners import CornerLoss

from ..base import Problem
from ..evidence import DualityGap, Objective
from ..machines.dual import DualProblem
from ..machines.fit import plan_machines
from ..machines.problems import Priced
from ..machines.smo import SMO
from ..newton.prepared import LossFit
from ..newton.sums import WeightedLoss
from ..plan import Plan


class PreparedMachines:
    """A loss with corners and an intercept, by sequential minimal optimisation: a machine for each output.

    Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖² is 2α times ½‖f‖² + C Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) with C = 1/(2α).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Quantile
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> y = np.sin(X)
    >>> loss = WeightedLoss(Quantile(0.25), y, np.ones(40), 1)
    >>> fit = PreparedMachines(Problem(Gaussian(), X, y, fit_intercept=True), loss).fit(0.1)
    >>> fit.converged, fit.gap.relative <= 1e-3
    (True, True)
    """

    def __init__(self, problem: Problem, loss: WeightedLoss) -> None:
        self.problem, self.loss = problem, loss

    def plan(self) -> Plan:
        """Return what solving is expected to take."""
        everything = np.arange(self.problem.n)
        parts = [(everything, pose_machine(self.loss, 1.0, q)) for q in range(self.loss.outputs)]
        return plan_machines(parts, self.problem.X, self.problem.place)

    def fit(self, alpha: float, tol: float = 1e-3, max_iter: int | None = None, cost: float = 0.0) -> LossFit:
        """Minimise for one penalty; the gap costs nothing more."""
        problem, everything = self.problem, np.arange(self.problem.n)
        parts = [(everything, pose_machine(self.loss, 1 / (2 * alpha), q)) for q in range(self.loss.outputs)]
        solver = make_smo(problem, tol, max_iter)
        solutions = solver.solve_at(problem.place, problem.kernel, problem.X, parts)
        coef = np.column_stack([found.beta for found in solutions])
        support = np.flatnonzero((coef != 0).any(axis=1))
        support = support if len(support) else everything[:1]  # a function that is 0 is one of some point too
        gap = 2 * alpha * sum(found.duality_gap for found in solutions)
        loss, penalty = (2 * alpha * sum(getattr(s.primal, part) for s in solutions) for part in ("loss", "penalty"))
        objective = Objective(loss, penalty)
        relative = gap / objective if objective > 0 else (0.0 if gap == 0 else np.inf)
        evidence = DualityGap(gap, relative, float(objective), objective - gap)
        return LossFit(
            problem.kernel, pick(problem.X, support), support, coef[support],
            np.array([found.intercepts[0] for found in solutions]), objective,
            evidence, evidence, all(found.converged for found in solutions), sum(found.n_iter for found in solutions),
        )  # fmt: skip


def has_boxes(problem: Problem, loss: WeightedLoss) -> bool:
    """Whether all outputs have a piecewise linear loss and an intercept, and so a dual with a box for each point."""
    corners = all(isinstance(loss.loss.column(q), CornerLoss) for q in range(loss.outputs))
    return corners and problem.fit_intercept


def pose_machine(loss: WeightedLoss, C: float, q: int) -> DualProblem:
    """Return the dual problem of an output, with the price C of a loss."""
    own = loss.loss.column(q)
    assert isinstance(own, CornerLoss)
    return Priced(own, C).problem(loss.targets[:, q], loss.weights)


def make_smo(problem: Problem, tol: float, max_iter: int | None) -> SMO:
    """Return the solver, within the memory of a problem."""
    return SMO(tol, -1 if max_iter is None else max_iter, None, problem.memory)
