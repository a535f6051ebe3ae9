"""Machines with a margin in explicit features, by Newton's method on losses whose corners are rounded off.

With r = t − φᵀw − b, a machine minimises ½‖w‖² + Σ uᵢ max(0, rᵢ − ε) + Σ lᵢ max(0, −rᵢ − ε): the hinge with t = ±1 and
one of u, l equal to 0, the ε-insensitive loss with u = l = C.  Rounded off over a width h, max(0, z) becomes
(z + h)²/4h for |z| ≤ h, and each step is a Newton step from sums over partitions.  The slopes β of the rounded loss are
a point of the dual, so that primal minus dual value bounds the error; h falls until that
bound is as small as was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.evidence import is_converged

from ._block import RowBlock
from ._features import FeaturesOf
from ._graph import map_blocks, sum_tasks
from .table import RowTable

FALL = 0.1  # of the width, from one solution to the next
SHARPEST = 1e-4  # of the tolerance: a width beyond which a gap that is still large stays so
NEWTON = 40  # steps at one width, at most
LONGEST, POINTS, ROUNDS = 16.0, 257, 4  # of a step: how far, and how the best length is closed in on
ROUGH, FINE = 1e-4, 1e-13  # decrease that a step must still promise, relative to the objective
CENTRED = 1e-6  # of all bounds: by how much β may miss a sum of 0


@dataclass(frozen=True)
class MarginRule:
    """How rows become targets and bounds.

    Parameters
    ----------
    C : float
        The price of a unit of error.
    epsilon : float
        ε.
    pair : pair of int, optional
        The classes, whose points count; all rows do if there is no pair.
    sign : float
        The target of the first class.
    """

    C: float
    epsilon: float
    pair: tuple[int, int] | None
    sign: float

    def rows(self, block: RowBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return t, l and u of all rows of a block, with bounds of 0 for those that do not count."""
        C = self.C * (np.ones(len(block)) if block.weights is None else block.weights)
        if self.pair is None:
            return block.y.astype(np.float64), C, C
        first, second = (block.y == code for code in self.pair)
        t = self.sign * (first.astype(np.float64) - second)
        return t, np.where(t < 0, C, 0.0), np.where(t > 0, C, 0.0)


@dataclass(frozen=True)
class Margin:
    """A machine, with the evidence that it is solved.

    Parameters
    ----------
    w, b : array of shape (m,), float
        The function φᵀw + b.
    objective, gap : float
        Its objective, and how far that may be above the minimum.
    violation : float
        2h, by which points may miss the conditions of the optimum.
    n_iter : int
        Newton steps.
    tol : float
        The relative gap up to which it counts as solved.
    """

    w: np.ndarray
    b: float
    objective: float
    gap: float
    violation: float
    n_iter: int
    tol: float

    @property
    def relative_gap(self) -> float:
        """The gap divided by the objective."""
        return self.gap / self.objective if self.objective > 0 else (0.0 if self.gap == 0 else np.inf)

    @property
    def converged(self) -> bool:
        """Whether the relative gap is as small as was asked."""
        return is_converged(self.relative_gap, self.tol)


def fit_margin(table: RowTable, features: FeaturesOf, rule: MarginRule, tol: float, max_iter: int) -> Margin:
    """Solve one machine; ``max_iter`` counts Newton steps, −1 for as many as could be of use."""
    m = len(features.triangle)
    w, b, width, steps = np.zeros(m), 0.0, 1.0, 0
    limit = max_iter if max_iter >= 0 else 10**6
    while True:
        last = width <= tol / 2
        for _ in range(NEWTON):
            sums = table.reduce("margin", _sums, features, rule, w, b, width)
            gradient, slope = w - sums["image"], -float(sums["total"])
            step, move = _newton(sums, gradient, slope)
            promised = -(gradient @ step + slope * move)
            objective = 0.5 * float(w @ w) + float(sums["rounded"])
            if promised <= (FINE if last else ROUGH) * objective or steps >= limit:
                break
            w, b = _along(table, features, rule, (w, b), (step, move), width)
            steps += 1
        found = _certified(sums, w, b, width, steps, tol)
        if steps >= limit or (last and (found.converged or width <= SHARPEST * tol)):
            return found
        width = FALL * width if last else max(FALL * width, tol / 2)


def _certified(sums: dict[str, Any], w: np.ndarray, b: float, width: float, steps: int, tol: float) -> Margin:
    objective = 0.5 * float(w @ w) + float(sums["loss"])
    dual = float(sums["product"]) - 0.5 * float(sums["image"] @ sums["image"])
    feasible = abs(float(sums["total"])) <= CENTRED * max(float(sums["bounds"]), 1.0)
    gap = max(objective - dual, 0.0) if feasible else np.inf
    return Margin(w, b, objective, gap, 2 * width, steps, tol)


def _newton(sums: dict[str, Any], gradient: np.ndarray, slope: float) -> tuple[np.ndarray, float]:
    """Solve for the step of w and b; b stays where nothing bends along it."""
    m = len(gradient)
    H = np.empty((m + 1, m + 1))
    H[:m, :m] = sums["hessian"] + np.eye(m)
    H[m, :m] = H[:m, m] = sums["border"]
    # Where no point is near the margin the objective is linear in b; a little curvature turns that into a long step.
    H[m, m] = max(float(sums["corner"]), 1e-6 * float(sums["bounds"]) + 1e-12)
    found = np.linalg.solve(H, -np.append(gradient, slope))
    return found[:m], float(found[m])


def _along(
    table: RowTable, features: FeaturesOf, rule: MarginRule, at: tuple[np.ndarray, float],
    direction: tuple[np.ndarray, float], width: float,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the minimum along a direction: the root of a slope that only grows, between ever closer points.

    Anything short of the minimum makes Newton's method crawl once the corners are sharp.
    """
    (w, b), (step, move) = at, direction
    lines = table.cluster.keep(map_blocks("line", _line, table.blocks, features, rule, at, direction))
    low, high = 0.0, LONGEST
    slope_low = slope_high = 0.0
    for _ in range(ROUNDS):
        lengths = np.linspace(low, high, POINTS)
        tasks = map_blocks("slope", _slopes, lines, lengths, rule.epsilon, width)
        (found,) = table.cluster.compute([sum_tasks("slope", tasks)])
        slopes = np.array([float((w + t * step) @ step) for t in lengths]) - found
        place = int(np.argmax(slopes > 0)) if (slopes > 0).any() else POINTS
        if place in (0, POINTS):  # rounding, or still falling at the end
            low = high = lengths[min(place, POINTS - 1)]
            break
        low, high = lengths[place - 1], lengths[place]
        slope_low, slope_high = slopes[place - 1], slopes[place]
    rise = slope_high - slope_low
    t = low - slope_low * (high - low) / rise if rise > 0 else high
    return w + t * step, b + t * move


def _rounded(z: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return max(0, z) with its corner rounded off, its slope and its curvature."""
    slope = np.clip((z + width) / (2 * width), 0.0, 1.0)
    inside = np.abs(z) < width
    value = np.where(inside, (z + width) ** 2 / (4 * width), np.maximum(z, 0.0))
    return value, slope, inside / (2 * width)


def _sums(block: RowBlock, features: FeaturesOf, rule: MarginRule, w: np.ndarray, b: float, width: float) -> Any:
    """Return all sums that a Newton step and the certificate need."""
    t, lower, upper = rule.rows(block)
    m = len(features.triangle)
    names = ("rounded", "loss", "total", "product", "corner", "bounds")
    sums: dict[str, Any] = dict.fromkeys(names, 0.0)
    sums |= {"image": np.zeros(m), "border": np.zeros(m), "hessian": np.zeros((m, m))}
    for rows, phi in features(block):
        r = t[rows] - phi @ w - b
        above, slope_above, bend_above = _rounded(r - rule.epsilon, width)
        below, slope_below, bend_below = _rounded(-r - rule.epsilon, width)
        u, low = upper[rows], lower[rows]
        beta, bend = u * slope_above - low * slope_below, u * bend_above + low * bend_below
        sums["rounded"] += u @ above + low @ below
        sums["loss"] += u @ np.maximum(r - rule.epsilon, 0.0) + low @ np.maximum(-r - rule.epsilon, 0.0)
        sums["total"] += beta.sum()
        sums["product"] += t[rows] @ beta - rule.epsilon * np.abs(beta).sum()
        sums["corner"] += bend.sum()
        sums["bounds"] += (u + low).sum()
        sums["image"] += phi.image(beta)
        sums["border"] += phi.image(bend)
        sums["hessian"] += phi.bent(bend)
    return Sums(sums)


def _line(
    block: RowBlock, features: FeaturesOf, rule: MarginRule, at: tuple[np.ndarray, float],
    direction: tuple[np.ndarray, float],
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Return r and its change along a direction, with the bounds, of the rows that count."""
    t, lower, upper = rule.rows(block)
    r, change = np.empty(len(t)), np.empty(len(t))
    for rows, phi in features(block):
        r[rows], change[rows] = t[rows] - phi @ at[0] - at[1], phi @ direction[0] + direction[1]
    counts = (lower > 0) | (upper > 0)
    return r[counts], change[counts], lower[counts], upper[counts]


def _slopes(line: tuple[np.ndarray, ...], lengths: np.ndarray, epsilon: float, width: float) -> np.ndarray:
    """Return Σ β·change at several points along a direction: minus the slope of the rounded losses."""
    r, change, lower, upper = line
    found = np.zeros(len(lengths))
    for i, length in enumerate(lengths):
        moved = r - length * change
        beta = upper * _rounded(moved - epsilon, width)[1] - lower * _rounded(-moved - epsilon, width)[1]
        found[i] = beta @ change
    return found


class Sums(dict[str, Any]):
    """Named sums, which add up name by name."""

    def __iadd__(self, other: dict[str, Any]) -> Sums:
        for name, value in other.items():
            self[name] = self[name] + value
        return self
