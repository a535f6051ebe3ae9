"""Which solver of any loss, and why."""

from __future__ import annotations

from dataclasses import replace

from ..base import Problem
from ..costs import HOST
from ..newton.plan import SOLVERS as SMOOTH_SOLVERS
from ..newton.plan import plan_newton
from ..newton.sums import WeightedLoss
from ..plan import Plan
from .machines import PreparedMachines, has_boxes

SOLVERS = (*SMOOTH_SOLVERS, "smo", "proximal")


def plan_loss(problem: Problem, loss: WeightedLoss, solver: str = "auto", n_centers: int | None = None) -> Plan:
    """Choose how to minimise a penalised loss.

    Losses whose slope has no jumps are for Newton's method.  Piecewise linear ones with an intercept are for the dual,
    where their slopes are bounded and sum to 0.  For all others, corners are rounded off and Newton's method finds
    better slopes in rounds.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory; its targets have one column for each function.
    loss : WeightedLoss
        The loss.
    solver : {"auto", "newton", "newton-cg", "nystroem", "smo", "proximal"}
        The choice, or "auto".
    n_centers : int, optional
        Centres of Nyström features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Poisson, Quantile
    >>> y = np.zeros((500, 1))
    >>> problem = Problem(Gaussian(), np.zeros((500, 8)), y, fit_intercept=True)
    >>> [plan_loss(problem, WeightedLoss(loss, y, np.ones(500), 1)).solver for loss in (Poisson(), Quantile(0.9))]
    ['newton', 'smo']
    """
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    boxes = has_boxes(problem, loss)
    if solver == "smo" and not boxes:
        free = has_boxes(replace(problem, fit_intercept=True), loss)
        why = "and fit_intercept is False" if free else f"and {loss.loss!r} is none"
        raise ValueError(f"solver='smo' is for piecewise linear losses with an intercept, {why}; use solver='auto'")
    if loss.loss.smooth:
        if solver == "proximal":
            raise ValueError(f"solver='proximal' is for losses with corners; {loss.loss!r} has none: use 'auto'")
        return plan_newton(problem, solver, n_centers)
    if solver in ("newton", "newton-cg"):
        raise ValueError(
            f"solver={solver!r} is for losses without corners; {loss.loss!r} has some: use 'auto', 'smo' or 'proximal'"
        )
    if boxes and (solver == "smo" or (solver == "auto" and n_centers is None)):
        plan = PreparedMachines(problem, loss).plan()
        if solver == "smo" or plan.seconds <= HOST.patience:
            return plan
    plan = plan_newton(problem, "auto" if solver == "proximal" else solver, None if solver == "proximal" else n_centers)
    if plan.solver == "nystroem":
        return replace(plan, reason=f"{plan.reason}; corners of the loss are rounded off less in each round")
    reason = f"corners of the loss are rounded off less in each round, and {plan.reason}"
    return replace(plan, solver="proximal", reason=reason)
