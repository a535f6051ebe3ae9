"""A fit of any loss: the plan, the solver that it names, and a warning where that has not converged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.losses import Loss

from ..base import Problem
from ..newton.prepared import LossFit, PreparedNewton, warn_if_stuck
from ..newton.sums import WeightedLoss
from ..plan import Plan
from .machines import PreparedMachines
from .plan import plan_loss

SMOOTH, CORNERS = 1e-6, 1e-3  # relative duality gaps that are small enough, of losses without corners and with


def prepare_loss(
    problem: Problem, loss: WeightedLoss, plan: Plan, n_centers: int | None = None, random_state: Any = None
) -> PreparedNewton | PreparedMachines:
    """Return the problem made ready for the solver of a plan, to be fitted with one penalty after another."""
    if plan.solver == "smo":
        return PreparedMachines(problem, loss)
    return PreparedNewton(problem, loss, plan.solver, n_centers, random_state)


def fit_loss(
    problem: Problem,
    loss: WeightedLoss,
    alpha: float,
    *,
    solver: str = "auto",
    n_centers: int | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    random_state: Any = None,
    name: str = "the fit",
    start: tuple[np.ndarray, np.ndarray] | None = None,
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
        As in :func:`~mercer.solvers.representer.plan.plan_loss`.
    tol : float, optional
        The duality gap to reach, relative to the objective; 1e-6, or 1e-3 for losses with corners, if not given.
    max_iter : int, optional
        The most steps.
    random_state : int, RandomState or None
        The seed.
    name : str
        Whose fit it is.
    start : pair of arrays of shape (n, Q) and (Q,), optional
        Coefficients and intercepts to start Newton's method from, at all points; 0 if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Huber
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> y = np.sin(X)
    >>> problem = Problem(Gaussian(), X, y, fit_intercept=True)
    >>> fit = fit_loss(problem, WeightedLoss(Huber(0.1), y, np.ones(40), 1), 0.1)
    >>> fit.plan.solver, fit.gap.relative <= 1e-6
    ('newton', True)
    """
    plan = plan_loss(problem, loss, solver, n_centers)
    prepared = prepare_loss(problem, loss, plan, n_centers, random_state)
    tol = choose_tolerance(loss.loss, tol)
    if start is not None and isinstance(prepared, PreparedNewton):
        prepared.begin(*start)
    fit = replace(prepared.fit(alpha, tol, max_iter, plan.flops), plan=plan)
    warn_if_stuck(name, fit, tol, max_iter)
    return fit


def choose_tolerance(loss: Loss, tol: float | None) -> float:
    """Return the relative duality gap to reach."""
    return tol if tol is not None else SMOOTH if loss.smooth else CORNERS
