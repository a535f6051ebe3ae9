"""Machines with a margin in explicit features, by Newton's method on losses whose corners are rounded off.

With r = t − φᵀw − b, a machine minimises ½‖w‖² + Σ uᵢ max(0, rᵢ − ε) + Σ lᵢ max(0, −rᵢ − ε): the hinge with t = ±1 and
one of u, l equal to 0, the ε-insensitive loss with u = l = C.  Rounded off over a width h, max(0, z) becomes
(z + h)²/4h for |z| ≤ h, and each step is a Newton step from sums over rows, which add up wherever the rows are.  The
slopes β of the rounded loss are a point of the dual, so that primal minus dual value bounds the error; h falls until
that bound is as small as was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.tensors import host_array, is_tensor, on_device
from mercer.losses.corners import CornerLoss

from ..evidence import DualityGap, Objective, is_converged
from ..newton.rows import FeatureBlocks, weigh_features

FALL = 0.1  # of the width, from one solution to the next
SHARPEST = 1e-4  # of the tolerance: a width beyond which a gap that is still large stays so
NEWTON = 40  # steps at one width, at most
LONGEST, POINTS, ROUNDS = 16.0, 17, 8  # of a step: how far, and how the best length is closed in on
ROUGH, FINE = 1e-4, 1e-13  # decrease that a step must still promise, relative to the objective
INSIDE = 0.01  # of the tolerance: a gap at which no further step is taken
CENTRED = 1e-6  # of all bounds: by how much β may miss a sum of 0

Function = tuple[np.ndarray, float]  # w and b, or a change of them


@dataclass(frozen=True)
class MarginRule:
    """How rows become targets and bounds: loss, price, and of classes the pair that counts and its first's target."""

    loss: CornerLoss
    C: float
    pair: tuple[int, int] | None = None
    sign: float = 1.0

    def bound(self, y: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return t, l and u of rows, with bounds of 0 for those that do not count."""
        C = self.C * (np.ones(len(y)) if weights is None else weights)
        t = y.astype(np.float64)
        if self.pair is not None:
            first, second = (y == code for code in self.pair)
            t = self.sign * (first.astype(np.float64) - second)
        pieces = self.loss.pieces(t)
        return t, -C * pieces.lower, C * pieces.upper


@dataclass(frozen=True)
class Margin:
    """A machine φᵀw + b, with the evidence that it is solved: its gap, and 2h, by which points may miss optimality."""

    w: np.ndarray
    b: float
    objective: Objective
    gap: DualityGap
    violation: float
    n_iter: int
    tol: float

    @property
    def converged(self) -> bool:
        """Whether the relative gap is as small as was asked."""
        return is_converged(self.gap.relative, self.tol)


@dataclass
class MarginSums:
    """All that a Newton step and the certificate need of some rows; those of two sets of rows add up."""

    image: np.ndarray  # Φᵀβ
    border: np.ndarray  # Φᵀ times the curvatures
    hessian: np.ndarray
    rounded: float = 0.0  # Σ of the rounded losses
    loss: float = 0.0
    total: float = 0.0  # Σβ
    product: float = 0.0  # tᵀβ − ε‖β‖₁
    corner: float = 0.0  # Σ of the curvatures
    bounds: float = 0.0

    def __iadd__(self, other: MarginSums) -> MarginSums:
        for name, value in vars(other).items():
            total = getattr(self, name)
            total += value  # arrays in place
            setattr(self, name, total)
        return self


class MarginRows(Protocol):
    """What the solver asks of the rows of a problem, on one machine or in partitions."""

    features: int  # m

    def sums(self, at: Function, width: float) -> MarginSums:
        """Return the sums over all rows at some w and b."""

    def line(self, at: Function, direction: Function) -> Callable[[np.ndarray, float], np.ndarray]:
        """Return minus the slope of the rounded losses, Σ β·change, given lengths of a step and the width."""


class MarginBlock:
    """Rows of one machine, or of one partition: their m features, some rows at a time, targets and weights.

    Parameters
    ----------
    features : FeatureBlocks
        Of all rows.
    rule : MarginRule
        How rows become targets and bounds.
    y, weights : array of shape (n,)
        Targets or classes, and weights, if there are such.
    change : callable, optional
        What makes the features that the Hessian is one of from those of some rows.
    share : float
        Of the rows, that the Hessian is summed over at most; where more bend, some of them stand for all.
    """

    def __init__(
        self, features: FeatureBlocks, rule: MarginRule, y: np.ndarray, weights: np.ndarray | None,
        change: Callable[[Array], Array] | None = None, share: float = 1.0,
    ) -> None:  # fmt: skip
        self._points, self.features, self._change, self._share = features, features.shape[1], change, share
        self._t, self._lower, self._upper = rule.bound(y, weights)
        self._epsilon = rule.loss.pieces(self._t).epsilon

    def sums(self, at: Function, width: float) -> MarginSums:
        """Return the sums over these rows."""
        epsilon, t, u, low = self._epsilon, self._t, self._upper, self._lower
        r = t - self._apply(at[0])[:, 0] - at[1]
        above, slope_above, bend_above = _round_off(r - epsilon, width)
        below, slope_below, bend_below = _round_off(-r - epsilon, width)
        beta, bend = u * slope_above - low * slope_below, u * bend_above + low * bend_below
        hessian, border, corner = self._bend(bend)
        return MarginSums(
            np.asarray(host_array(self._points.pull(beta[:, None])))[:, 0],
            border,
            hessian,
            u @ above + low @ below,
            u @ np.maximum(r - epsilon, 0.0) + low @ np.maximum(-r - epsilon, 0.0),
            beta.sum(),
            t @ beta - epsilon * np.abs(beta).sum(),
            corner,
            (u + low).sum(),
        )

    def _apply(self, *functions: np.ndarray) -> np.ndarray:
        """Return the values of functions by their weights, a column each."""
        return np.asarray(host_array(self._points.apply(np.column_stack(functions))))

    def _bend(self, bend: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the Hessian and its border and corner, all from the rows that bend or all from some of them."""
        near = np.flatnonzero(bend)
        apart = max(1, -(-len(near) // max(1, round(self._share * len(bend)))))
        count, near = len(near), near[::apart]
        weights, m = bend[near] * (count / max(1, len(near))), self.features
        H, border = np.zeros((m, m)), np.zeros(m)
        for part, phi in self._points.some(near):
            some = phi if self._change is None else self._change(phi)
            factors = _put_beside(some, weights[part])
            H += np.asarray(host_array(weigh_features(some, factors)))
            border += np.asarray(host_array(some.T @ factors))
        return H, border, float(weights.sum())

    def line(self, at: Function, direction: Function) -> Callable[[np.ndarray, float], np.ndarray]:
        """Return the slope along a direction."""
        return self.follow(at, direction).slopes

    def follow(self, at: Function, direction: Function) -> LineBlock:
        """Return r and its change along a direction, with the bounds, of the rows that count."""
        values = self._apply(at[0], direction[0])
        r, change = self._t - values[:, 0] - at[1], values[:, 1] + direction[1]
        counts = (self._lower > 0) | (self._upper > 0)
        return LineBlock(r[counts], change[counts], self._lower[counts], self._upper[counts], self._epsilon)


@dataclass(frozen=True)
class LineBlock:
    """r of some rows, how fast it falls along a direction, their bounds, and ε."""

    r: np.ndarray
    change: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float

    def slopes(self, lengths: np.ndarray, width: float) -> np.ndarray:
        """Return Σ β·change at several points along the direction."""
        found = np.zeros(len(lengths))
        for i, length in enumerate(lengths):
            moved = self.r - length * self.change
            above, below = (_round_off(side * moved - self.epsilon, width)[1] for side in (1.0, -1.0))
            found[i] = (self.upper * above - self.lower * below) @ self.change
        return found


def fit_margin(rows: MarginRows, tol: float, max_iter: int = -1) -> Margin:
    """Solve one machine; ``max_iter`` counts Newton steps, −1 for as many as could be of use."""
    w, b, width, steps = np.zeros(rows.features), 0.0, 1.0, 0
    limit = max_iter if max_iter >= 0 else 10**6
    while True:
        last = width <= tol / 2
        for _ in range(NEWTON):
            sums = rows.sums((w, b), width)
            gradient, slope = w - sums.image, -float(sums.total)
            step, move = _solve_newton(sums, gradient, slope)
            promised = -(gradient @ step + slope * move)
            objective = 0.5 * float(w @ w) + float(sums.rounded)
            found = _certify(sums, w, b, width, steps, tol)
            if promised <= (FINE if last else ROUGH) * objective or steps >= limit:
                break
            if last and found.gap.relative <= INSIDE * tol:
                break
            w, b = _search_line(rows, (w, b), (step, move), width)
            steps += 1
        if steps >= limit or (last and (found.converged or width <= SHARPEST * tol)):
            return found
        width = FALL * width if last else max(FALL * width, tol / 2)


def _certify(sums: MarginSums, w: np.ndarray, b: float, width: float, steps: int, tol: float) -> Margin:
    objective = Objective(loss=float(sums.loss), penalty=0.5 * float(w @ w))
    dual = float(sums.product) - 0.5 * float(sums.image @ sums.image)
    feasible = abs(float(sums.total)) <= CENTRED * max(float(sums.bounds), 1.0)
    gap = max(objective - dual, 0.0) if feasible else np.inf
    relative = gap / objective if objective > 0 else (0.0 if gap == 0 else np.inf)
    return Margin(w, b, objective, DualityGap(gap, relative, float(objective), dual), 2 * width, steps, tol)


def _solve_newton(sums: MarginSums, gradient: np.ndarray, slope: float) -> tuple[np.ndarray, float]:
    """Solve for the step of w and b; b stays where nothing bends along it."""
    m = len(gradient)
    H = np.empty((m + 1, m + 1))
    H[:m, :m] = sums.hessian + np.eye(m)
    H[m, :m] = H[:m, m] = sums.border
    # Where no point is near the margin the objective is linear in b; a little curvature turns that into a long step.
    H[m, m] = max(float(sums.corner), 1e-6 * float(sums.bounds) + 1e-12)
    found = np.linalg.solve(H, -np.append(gradient, slope))
    return found[:m], float(found[m])


def _search_line(rows: MarginRows, at: Function, direction: Function, width: float) -> Function:
    """Return the minimum along a direction: the root of a slope that only grows, between ever closer points.

    Anything short of the minimum makes Newton's method crawl once the corners are sharp.
    """
    (w, b), (step, move) = at, direction
    line = rows.line(at, direction)
    low, high = 0.0, LONGEST
    slope_low = slope_high = 0.0
    for _ in range(ROUNDS):
        lengths = np.linspace(low, high, POINTS)
        slopes = np.array([float((w + t * step) @ step) for t in lengths]) - line(lengths, width)
        place = int(np.argmax(slopes > 0)) if (slopes > 0).any() else POINTS
        if place in (0, POINTS):  # rounding, or still falling at the end
            low = high = lengths[min(place, POINTS - 1)]
            break
        low, high = lengths[place - 1], lengths[place]
        slope_low, slope_high = slopes[place - 1], slopes[place]
    rise = slope_high - slope_low
    t = low - slope_low * (high - low) / rise if rise > 0 else high
    return w + t * step, b + t * move


def _round_off(z: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return max(0, z) with its corner rounded off, its slope and its curvature."""
    slope = np.clip((z + width) / (2 * width), 0.0, 1.0)
    inside = np.abs(z) < width
    value = np.where(inside, (z + width) ** 2 / (4 * width), np.maximum(z, 0.0))
    return value, slope, inside / (2 * width)


def _put_beside(A: Array, values: np.ndarray) -> Array:
    return on_device(values, A.device, np.float64) if is_tensor(A) else values
