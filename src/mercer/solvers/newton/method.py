"""Newton's method in the space of a kernel, for the logistic losses.

The problem is min F(f, b) = Σ wᵢ ℓᵢ(f(xᵢ) + b) + α‖f‖², with one function for two classes and otherwise one for each.
The intercept is always the best one for its f, so that only f is iterated: what it takes away is a projection of the
curvature.

The certificate is the duality gap.  The dual maximises the entropy Σ wᵢH(pᵢ) − ‖Σ Rᵢk(xᵢ, ·)‖²/4α over probabilities p,
where R = w(T − p), and Σ Rᵢ = 0 if there is an intercept.  The probabilities of f and its best b satisfy that, because
the derivative by b is that very sum: they need neither a shift nor a clipping.  For this pair, primal minus dual is
exactly ‖∇F‖²/4α, with ∇F = 2αf − Σ Rᵢk(xᵢ, ·) the gradient in the space of the kernel, and is computed as that, free of
cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.arrays.columns import like
from mercer.arrays.namespace import empty, vdot
from mercer.arrays.tensors import host_array
from mercer.losses.logistic import Curvature, LogisticLoss

from ..base import Problem
from ..evidence import is_converged, warn_not_converged

ARMIJO = 1e-4  # of the decrease that the slope promises, which a step must keep
HALVINGS = 40
LOOSEST, TIGHTEST = 0.1, 1e-8  # relative accuracy of a Newton step: of the first ones, and at best
NEGATIVE = 1e-8  # relative gap below 0 that may be rounding
FEASIBLE = 1e-9  # of the sum of their sizes: by how much residuals may miss a sum of 0
ROUNDING = 1e-13  # relative decrease that cannot be told from none


class Space(Protocol):
    """Where f lives: coefficients at all points, or weights of explicit features."""

    shape: tuple[int, int]

    def residual(self, R: Any, coef: Any, values: Any, alpha: float) -> tuple[Any, float]:
        """Return −∇F in coordinates of the space, and its squared norm."""

    def step(self, residual: Any, curvature: Curvature, alpha: float, accuracy: float) -> tuple[Any, Any]:
        """Return the Newton step in coordinates of the space, and its values at all points."""

    def inner(self, first: Any, second: Any, values: Any) -> float:
        """Return the inner product of two functions by their coordinates and the values of the second."""


@dataclass
class State:
    """A function and its intercept: coordinates, values at all points without the intercept, and squared norm.

    Coordinates and values are arrays, or tensors where the space and the loss are on a device.
    """

    coef: Any
    values: Any
    intercept: np.ndarray
    norm2: float

    @property
    def outputs(self) -> Any:
        """f(xᵢ) + b, of shape (n, Q)."""
        return self.values + like(self.values, self.intercept)

    def on_host(self) -> State:
        """Return the same in arrays."""
        return State(host_array(self.coef), host_array(self.values), self.intercept, self.norm2)


@dataclass(frozen=True)
class Minimum:
    """What Newton's method has reached.

    Parameters
    ----------
    state : State
        The function.
    objective : float
        F.
    gap : float
        The duality gap: F is at most this far above its minimum in the space of the steps.
    tolerance : float
        The gap that was asked for, relative to F.
    history : list of float
        F before the first step and after each.
    """

    state: State
    objective: float
    gap: float
    tolerance: float
    history: list[float]

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as was asked, relative to F."""
        return is_converged(self.gap, self.tolerance * self.objective)

    @property
    def n_iter(self) -> int:
        """Newton steps taken."""
        return len(self.history) - 1


def start_at_zero(space: Space, loss: LogisticLoss) -> State:
    """Return f = 0."""
    coef, values = (empty(loss.weights, shape) for shape in (space.shape, (len(loss.codes), loss.outputs)))
    coef[:], values[:] = 0.0, 0.0
    return State(coef, values, np.zeros(loss.outputs), 0.0)


def minimise(
    space: Space,
    loss: LogisticLoss,
    alpha: float,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-8,
    max_iter: int = 100,
    start: State | None = None,
) -> Minimum:
    """Minimise the penalised loss by damped Newton steps; the objective never rises.

    Parameters
    ----------
    space : Space
        Where f lives.
    loss : LogisticLoss
        The loss, of labelled points.
    alpha : float
        The penalty α > 0.
    fit_intercept : bool
        Whether there is an intercept.
    tol : float
        The gap to reach, relative to the objective.
    max_iter : int
        The most steps.
    start : State, optional
        Where to start; at f = 0 if not given.
    """
    state = start or start_at_zero(space, loss)
    state = _with_best_intercept(loss, state, fit_intercept)
    objective = loss.value(state.outputs) + alpha * state.norm2
    history, gap, stuck = [objective], np.inf, False
    for n_iter in range(max_iter + 1):
        R = loss.residuals(state.outputs)
        residual, norm2 = space.residual(R, state.coef, state.values, alpha)
        gap = norm2 / (4 * alpha)
        if gap < -max(tol, NEGATIVE) * objective:
            raise np.linalg.LinAlgError(
                f"the gradient has a squared norm of {norm2:.2e}, so that the kernel matrix is not positive "
                "semi-definite; use another kernel, or see k.certificate()"
            )
        # Without a sum of 0 there is no point of the dual, and nothing is certified.
        gap = max(gap, 0.0) if not fit_intercept or _is_balanced(loss, state) else np.inf
        if gap <= tol * objective or n_iter == max_iter or stuck:
            break
        curvature = loss.curvature(state.outputs, fit_intercept)
        accuracy = float(np.clip(np.sqrt(gap / objective), TIGHTEST, LOOSEST))
        step, values = space.step(residual, curvature, alpha, accuracy)
        slope = -space.inner(residual, step, values)
        found = _search(space, loss, alpha, state, objective, (step, values, slope), fit_intercept)
        if found is None:
            break
        state, lower = found
        stuck = not lower < objective * (1 - ROUNDING) and gap <= 1e3 * tol * objective
        objective = lower
        history.append(objective)
    return Minimum(state, objective, gap, tol, history)


def whole_gap(problem: Problem, loss: LogisticLoss, alpha: float, minimum: Minimum) -> float:
    """Return the duality gap over all functions of the kernel, for a minimum among some of them.

    The residuals R of any f with its best intercept are a point of the dual over the whole space too, and
    ‖2αf − Σ Rᵢk(xᵢ, ·)‖²/4α = α‖f‖² − Σ Rᵢf(xᵢ) + RᵀKR/4α.  It takes one product with the n × n matrix, which is not
    held.

    Parameters
    ----------
    problem : Problem
        Kernel and all points.
    loss : LogisticLoss
        The loss, of labelled points.
    alpha : float
        The penalty α > 0.
    minimum : Minimum
        What was found, on the host.
    """
    state = minimum.state
    R = loss.residuals(state.outputs)
    image = host_array(problem.gram(dtype=np.float64) @ R)
    gap = alpha * state.norm2 - vdot(R, state.values) + vdot(R, image) / (4 * alpha)
    return max(gap, minimum.gap)  # which is the part of it inside the space of the steps


def warn_if_stuck(name: str, minimum: Minimum, max_iter: int) -> None:
    """Warn if the gap is not as small as was asked, and say what to do."""
    if minimum.converged:
        return
    remedy = (
        f"raise max_iter, which is {max_iter}"
        if minimum.n_iter >= max_iter
        else f"after {minimum.n_iter} steps this is what rounding allows with so small a penalty: raise alpha or tol"
    )
    relative = minimum.gap / minimum.objective if minimum.objective > 0 else np.inf
    warn_not_converged(name, relative, minimum.tolerance, remedy, kind="relative duality gap", stacklevel=6)


def _is_balanced(loss: LogisticLoss, state: State) -> bool:
    """Whether the residuals of each output sum to 0, beside their own sizes and not beside the largest weight."""
    sums, sizes = loss.residual_sums(state.values, state.intercept)
    return bool(np.abs(sums).max() <= FEASIBLE * sizes.sum())


def _with_best_intercept(loss: LogisticLoss, state: State, fit_intercept: bool) -> State:
    if not fit_intercept:
        return state
    return State(state.coef, state.values, loss.best_intercept(state.values, state.intercept), state.norm2)


def _search(
    space: Space,
    loss: LogisticLoss,
    alpha: float,
    state: State,
    objective: float,
    direction: tuple[Any, Any, float],
    fit_intercept: bool,
) -> tuple[State, float] | None:
    """Return the first state on the way that lowers the objective enough, and its objective; None if there is none."""
    step, values, slope = direction
    cross, length2 = space.inner(state.coef, step, values), space.inner(step, step, values)
    t = 1.0
    for _ in range(HALVINGS):
        norm2 = max(state.norm2 + 2 * t * cross + t * t * length2, 0.0)
        trial = State(state.coef + t * step, state.values + t * values, state.intercept, norm2)
        trial = _with_best_intercept(loss, trial, fit_intercept)
        lower = loss.value(trial.outputs) + alpha * norm2
        if lower <= objective + ARMIJO * t * slope:
            return trial, lower
        t /= 2
    return None
