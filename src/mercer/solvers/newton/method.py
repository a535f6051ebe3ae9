"""Newton's method in the space of a kernel, for all losses whose slope has no jumps.

The problem is min F(f, b) = Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖², with one or several functions.  The intercept is always the
best one for its f, so that only f is iterated: what it takes away is a projection of the curvature.  A step that would
have to be cut short is exchanged for one on parabolas above the losses, if they have such, which needs no cutting.

The certificate is the duality gap.  The dual maximises −Σ wᵢ ℓ*(yᵢ, −Rᵢ/wᵢ) − ‖Σ Rᵢk(xᵢ, ·)‖²/4α over residuals R, with
Σ Rᵢ = 0 if there is an intercept.  The residuals R = −wℓ' of f and its best b satisfy that, because the derivative by b
is that very sum: they need neither a shift nor a clipping.  For this pair, primal minus dual is exactly ‖∇F‖²/4α, with
∇F = 2αf − Σ Rᵢk(xᵢ, ·) the gradient in the space of the kernel, and is computed as that, free of cancellation.

The gap is small or not beside what F is above the least that its losses could be: whatever is added to a loss changes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.arrays import Array
from mercer.arrays.namespace import vdot
from mercer.arrays.tensors import host_array

from ..base import Problem
from ..evidence import Objective, is_converged
from .intercept import find_intercept
from .sums import LossSums, WeightedLoss, shift

ARMIJO = 1e-4  # of the decrease that the slope promises, which a step must keep
OFF = 0.5  # of its length: how far the minimum along a step may be from its end
LONGEST, CLOSE, TRIALS = 4.0, 0.1, 7  # of a search for that minimum: lengths, how exact, how often
SHORTEST = 0.125  # length of a Newton step below which that on the parabolas above is tried
HUGE = 1e100  # rise of an objective that has overflowed: a number, as searches need it
LEAST = 1e-12  # length below which there is no step
LOOSEST, TIGHTEST = 0.25, 1e-8  # relative accuracy of a Newton step: of the first ones, and at best
ENOUGH = 0.3  # of the root of what is still to be gained, by which a step may be off
NEGATIVE = 1e-8  # relative gap below 0 that may be rounding
FEASIBLE = 1e-9  # of the sum of their sizes: by how much residuals may miss a sum of 0
QUICK = 1e-6  # relative gap from which on quick products are no use
EXACT = 8 * float(np.finfo(float).eps)  # of an intercept: by how much it may miss the best one; of an objective as well
ROUNDING = 1e-13  # relative decrease that cannot be told from none


@dataclass
class State:
    """A function and its intercept: coordinates, values at all points without the intercept, and squared norm.

    Coordinates and values are where the space is: arrays, tensors, or what stands for values in partitions.
    """

    coef: Array
    values: Array
    intercept: np.ndarray
    norm2: float

    @property
    def outputs(self) -> Array:
        """f(xᵢ) + b, of shape (n, Q)."""
        return shift(self.values, self.intercept)

    def on_host(self) -> State:
        """Return the same in arrays."""
        return State(host_array(self.coef), host_array(self.values), self.intercept, self.norm2)


class Space(Protocol):
    """Where f lives: coefficients at all points, or weights of explicit features; with the loss of its points."""

    @property
    def loss(self) -> LossSums:
        """The loss of all points."""

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""

    def judge_by(self, loss: Any) -> Space:
        """Return the space with another loss of the same points."""

    def hurry(self) -> bool:
        """Let products be exact only as far as single precision goes, until :meth:`settle`; say if that is quicker."""

    def settle(self, state: State) -> State | None:
        """Return the function with values of exact products, which all are from now on; None if they were."""

    def start(self) -> State:
        """Return f = 0."""

    def residual(self, state: State, alpha: float) -> tuple[Array, float]:
        """Return −∇F in coordinates of the space, and its squared norm."""

    def step(
        self, residual: Array, state: State, alpha: float, accuracy: float, *, above: bool = False
    ) -> tuple[Array, Array]:
        """Return the Newton step from a function in coordinates of the space, and its values at all points.

        ``above`` asks for the step to the minimum of parabolas that touch the losses and are nowhere below them.
        """

    def inner(self, first: Array, second: Array, values: Array) -> float:
        """Return the inner product of two functions by their coordinates and the values of the second."""


@dataclass(frozen=True)
class NewtonMinimum:
    """What Newton's method has reached."""

    state: State
    objective: Objective
    size: float  # how much of the objective is not bound to be there
    gap: float  # the objective is at most this far above its minimum in the space of the steps
    tolerance: float  # the gap that was asked for, relative to that size
    n_iter: int  # Newton steps taken
    slopes: Array | None = None  # of the losses, where they are no function of the state
    width: float = 0.0  # over which corners were rounded off last; slopes are those of outputs no farther away

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as was asked; beside an objective that overflows, nothing is."""
        return is_converged(self.gap, self.tolerance * self.size) and bool(np.isfinite(self.size))

    def on_host(self) -> NewtonMinimum:
        """Return the same in arrays."""
        slopes = None if self.slopes is None else host_array(self.slopes)
        return replace(self, state=self.state.on_host(), slopes=slopes)


def minimise(
    space: Space, alpha: float, *, tol: float = 1e-8, max_iter: int = 100, start: State | None = None
) -> NewtonMinimum:
    """Minimise the penalised loss by damped Newton steps; the objective never rises."""
    target = max(tol, QUICK) if space.hurry() else tol
    state, least = _balance(space, start or space.start()), space.loss.least
    objective, n_iter, stuck = evaluate(space, alpha, state), 0, False
    before: tuple[State, Objective, float] | None = None  # where a step began that the objective does not show
    while True:
        residual, norm2 = space.residual(state, alpha)
        gap, size = norm2 / (4 * alpha), max(objective - least, 0.0)
        refuted = gap < -max(tol, NEGATIVE) * size
        # Without a sum of 0 there is no point of the dual, and nothing is certified.
        gap = max(gap, 0.0) if is_balanced(space, state) else np.inf
        if gap == np.inf and n_iter == 0 and _is_exact(space, state):
            gap = 0.0
        if before is not None:
            # The gap judges such a step instead: near the target it must halve that, and a rise is taken back.
            stuck = gap > (0.5 if before[2] <= 1e3 * target * size else 1.0) * before[2]
            if gap > before[2]:
                state, objective, gap = before
        found = None
        if not (refuted or gap <= target * size or n_iter == max_iter or stuck):
            found = _search(space, alpha, state, objective, residual, _choose_accuracy(gap, size, target))
        if found is not None:
            shown = found[1] < objective - max(ROUNDING * size, _blur(objective))
            before = None if shown else (state, objective, gap)
            (state, objective), n_iter = found, n_iter + 1
            continue
        settled = space.settle(state)
        if settled is None:
            break
        # Quick products have led here; exact ones judge it, and go on if they must.
        state, stuck, target, before = _balance(space, settled), False, tol, None
        objective = evaluate(space, alpha, state)
    if refuted:
        raise np.linalg.LinAlgError(
            f"the gradient has a squared norm of {norm2:.2e}, so that the kernel matrix is not positive "
            "semi-definite; use another kernel, or see k.certificate()"
        )
    return NewtonMinimum(state, objective, size, gap, tol, n_iter)


def _choose_accuracy(gap: float, size: float, target: float) -> float:
    """Return the accuracy of a Newton step: the better the closer it is, but no better than the target needs."""
    if not (0 < gap < np.inf and size > 0):
        return LOOSEST if gap > 0 else TIGHTEST
    wanted = max(np.sqrt(gap / size), ENOUGH * np.sqrt(target * size / gap))
    return float(np.clip(wanted, TIGHTEST, LOOSEST))


def measure_whole_gap(problem: Problem, loss: WeightedLoss, alpha: float, minimum: NewtonMinimum) -> float:
    """Return the duality gap over all functions of the kernel, for a minimum among some of them, on the host.

    The residuals R of any f with its best intercept are a point of the dual over the whole space too, and
    ‖2αf − Σ Rᵢk(xᵢ, ·)‖²/4α = α‖f‖² − Σ Rᵢf(xᵢ) + RᵀKR/4α.  It takes one product with the n × n matrix, which is not
    held.
    """
    state = minimum.state
    R = loss.residuals(state.outputs) if minimum.slopes is None else -loss.weights[:, None] * minimum.slopes
    image = host_array(problem.gram(dtype=np.float64) @ R)
    if minimum.slopes is not None:
        return max(minimum.objective - loss.bound(minimum.slopes) + vdot(R, image) / (4 * alpha), minimum.gap)
    gap = alpha * state.norm2 - vdot(R, state.values) + vdot(R, image) / (4 * alpha)
    return max(gap, minimum.gap)  # which is the part of it inside the space of the steps


def is_balanced(space: Space, state: State) -> bool:
    """Whether the residuals of each output sum to 0, beside their own sizes and not beside the largest weight."""
    if not space.fit_intercept:
        return True
    sums, sizes = space.loss.residual_sums(state.outputs)
    return bool(np.abs(sums).max() <= FEASIBLE * sizes.sum() < np.inf)


def _is_exact(space: Space, state: State) -> bool:
    """Whether the intercept alone leaves residuals of nothing but its own rounding, as that of equal targets does."""
    if space.loss.joint or np.any(state.norm2):
        return False
    _, sizes = space.loss.residual_sums(state.outputs)
    bends = np.diagonal(space.loss.curvature_sums(state.outputs))
    return bool((sizes <= EXACT * bends * np.abs(state.intercept)).all() and np.isfinite(sizes).all())


def _balance(space: Space, state: State) -> State:
    """Return the function with its best intercept."""
    if not space.fit_intercept:
        return state
    return replace(state, intercept=find_intercept(space.loss, state.values, state.intercept))


def evaluate(space: Space, alpha: float, state: State) -> Objective:
    """Return F."""
    return Objective(space.loss.value(state.outputs), alpha * state.norm2)


def _blur(objective: float) -> float:
    """Return by how much an objective may change by rounding alone."""
    return EXACT * abs(objective)


def _search(
    space: Space, alpha: float, state: State, objective: Objective, residual: Array, accuracy: float
) -> tuple[State, Objective] | None:
    """Return a state that lowers the objective enough, and its objective, or None.

    A Newton step that would have to be cut short, as the first one often is, is exchanged for that to the minimum of
    the parabolas above, if there are such.
    """
    majorant, found = space.loss.has_majorant, None
    if not (majorant and state.norm2 == 0):
        found = _follow(space, alpha, state, objective, residual, accuracy, SHORTEST if majorant else 0.0)
    if found is None and majorant:
        found = _follow(space, alpha, state, objective, residual, accuracy, 0.0, above=True)
    return found


def _follow(
    space: Space, alpha: float, state: State, objective: Objective, residual: Array, accuracy: float, shortest: float,
    *, above: bool = False,
) -> tuple[State, Objective] | None:  # fmt: skip
    """Return the state at about the minimum along a step, or None if that is at less than the shortest length."""
    step, values = space.step(residual, state, alpha, accuracy, above=above)
    slope = -space.inner(residual, step, values)
    tried: dict[float, tuple[State, Objective]] = {}

    def rise(t: float) -> float:
        coef, moved = state.coef + t * step, state.values + t * values
        near = state if not tried else tried[min(tried, key=lambda other: abs(other - t))][0]
        trial = _balance(space, State(coef, moved, near.intercept, max(space.inner(coef, coef, moved), 0.0)))
        tried[t] = trial, evaluate(space, alpha, trial)
        found = float(tried[t][1]) - objective
        return found if found < HUGE else HUGE

    def is_enough(t: float) -> bool:
        return tried[t][1] <= objective + ARMIJO * t * slope

    whole = rise(1.0)
    if -slope <= _blur(objective) and np.isfinite(tried[1.0][1]):
        return tried[1.0]  # no search could see what the step gains
    # The parabola through both ends has its minimum at −slope/2(rise − slope), which is 1 for a perfect step.
    if is_enough(1.0) and abs(-0.5 * slope / (whole - slope) - 1.0) <= OFF:
        return tried[1.0]
    if whole < HUGE:
        minimize_scalar(rise, bounds=(0.0, LONGEST), method="bounded", options={"xatol": CLOSE, "maxiter": TRIALS})
    t = min(tried, key=lambda t: float(tried[t][1]) if tried[t][1] < np.inf else np.inf)
    while not is_enough(t) and t > max(shortest, LEAST):
        t /= 2
        rise(t)
    return tried[t] if is_enough(t) and t >= shortest else None
