"""What kernels and penalties are judged by: the leave-one-out error, or the marginal likelihood.

Both are variances in the unit of the squared targets, smaller is better, and both have gradients by the logarithms of
the penalty and of all hyperparameters, so that one grid and one descent serve them.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.loo_gradient import leave_one_out
from mercer.solvers.ridge.posterior.profile import find_profile, profile_path

from .choice import Curve, Curves, make_loo_curve, minus_squared_error

NAMES = ("loo", "marginal")


class Judgement(Protocol):
    """An error, and its gradient by logarithms if it was asked for."""

    @property
    def error(self) -> float:
        """What is minimised."""

    @property
    def by_log_alpha(self) -> float:
        """Its slope by log α."""

    @property
    def by_log_hyperparameter(self) -> dict[str, float]:
        """Its slope by log θ, by name."""


class Criterion(Protocol):
    """How a kernel and a penalty are judged."""

    def judge(self, problem: Problem, kernel: Kernel, alpha: float, *, gradient: bool) -> Judgement:
        """Return the error of one kernel and one penalty; raise LinAlgError where rounding leaves none."""

    def curve(self, problem: Problem) -> Curve:
        """Return the function from many penalties to minus their errors."""


class LeaveOneOutCriterion:
    """The mean squared leave-one-out error."""

    def judge(self, problem: Problem, kernel: Kernel, alpha: float, *, gradient: bool) -> Judgement:
        """Return the exact error, and its gradient."""
        return leave_one_out(
            kernel, problem.X, problem.y, alpha, weights=problem.weights, fit_intercept=problem.fit_intercept,
            gradient=gradient, device=problem.device,
        )  # fmt: skip

    def curve(self, problem: Problem) -> Curve:
        """Return minus the errors of many penalties."""
        return make_loo_curve(problem, minus_squared_error)


class MarginalCriterion:
    """The variance of white noise that is as likely as the targets, at the best size of the kernel."""

    def judge(self, problem: Problem, kernel: Kernel, alpha: float, *, gradient: bool) -> Judgement:
        """Return the exact variance, and its gradient."""
        return find_profile(problem, kernel, alpha, gradient=gradient)

    def curve(self, problem: Problem) -> Curve:
        """Return minus the variances of many penalties."""
        errors = profile_path(problem)
        return lambda alphas: -errors(alphas)


class MarginalCurves(Curves):
    """The marginal likelihoods of several kernels as functions of the penalty."""

    def _make(self, case: Problem) -> Curve:
        return MarginalCriterion().curve(case)


def log_likelihoods(errors: np.ndarray, unit: float) -> np.ndarray:
    """Return log p for each degree of freedom, −½ log 2πeE, of variances E in the square of a unit.

    Examples
    --------
    >>> import numpy as np
    >>> log_likelihoods(np.array([1.0, np.inf]), 1.0).round(4)
    array([-1.4189,    -inf])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * (np.log(2.0 * np.pi) + 1.0 + np.log(errors)) - np.log(unit))


def make_criterion(name: Literal["loo", "marginal"]) -> Criterion:
    """Return the criterion of a name.

    Examples
    --------
    >>> type(make_criterion("marginal")).__name__
    'MarginalCriterion'
    """
    return MarginalCriterion() if name == "marginal" else LeaveOneOutCriterion()
