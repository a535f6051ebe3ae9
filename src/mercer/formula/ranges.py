"""Which numbers a formula passes through, so that none leaves the range of a type on the way to a result inside.

(1e200 · xᵀz)² is an ordinary number at 1e-100, but neither its factor squared nor (xᵀz)² is.  From the sizes of the
data follow bounds for every node of a formula, as exponents of 2; a backend whose type they leave declines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .expression import Call, Const, Diagonal, Expression, Param, Stat, nodes
from .statistics import Prepared, Statistic

SLACK = 4  # bits that results at the very edge of the range may lose
ALWAYS = math.inf


@dataclass(frozen=True)
class Bounds:
    """Exponents of 2 between which the size of a number lies, and whether it is known to be at most 0."""

    low: float
    high: float
    negative: bool = False
    positive: bool = False


def sizes(statistic: Statistic, A: Prepared, B: Prepared) -> Bounds:
    """Return bounds of a statistic from the data it is computed of."""
    degree: Any = getattr(statistic, "degree", "")
    if not degree or not hasattr(A, "shape") or len(A.shape) != 2:
        return Bounds(0.0, 0.0, positive=False)
    width = math.log2(A.shape[1])
    (low, high), (other_low, other_high) = (_row_sizes(side) for side in (A, B))
    if degree == "product":
        return Bounds(low + other_low, high + other_high + width)
    top = max(high, other_high)
    return Bounds(degree * top, degree * (top + 1) + width, positive=True)


def _row_sizes(A: Any) -> tuple[float, float]:
    """Return the exponents of the smallest and the largest row that is not 0, by its largest entry."""
    if sparse.issparse(A):
        rows = abs(A).max(axis=1).toarray().ravel() if A.nnz else np.zeros(1)
    elif hasattr(A, "new_tensor"):  # points on a device
        rows = A.abs().amax(1).cpu().numpy()
    else:
        rows = np.maximum(A.max(axis=1), -A.min(axis=1))
    rows = rows[rows > 0]
    return (float(np.log2(rows.min())), float(np.log2(rows.max()))) if len(rows) else (0.0, 0.0)


def leaves_range(expression: Expression, known: Callable[[Statistic], Bounds], dtype: Any) -> bool:
    """Whether numbers on the way to a result that is in the range of a type may be outside it."""
    kind = np.finfo(dtype)
    lowest, highest = float(kind.minexp), float(kind.maxexp)
    order = list(nodes(expression))
    bounds: dict[Expression, Bounds] = {}
    for node in order:
        bounds[node] = _bounds(node, bounds, known)
    # How far what is lost at a node may be lifted again above it, and whether infinity there may pass for a number.
    lifted: dict[Expression, float] = dict.fromkeys(order, -ALWAYS)
    hidden: dict[Expression, bool] = dict.fromkeys(order, False)
    lifted[expression] = 0.0
    for node in reversed(order):
        here = bounds[node]
        if isinstance(node, Const | Param):
            if node.value and not lowest <= here.low < highest:
                return True
            continue
        if here.low < lowest and lifted[node] > (SLACK if not _decays(node) else -lowest / 4):
            return True
        if here.high > highest and hidden[node]:
            return True
        for arg, (lift, hides) in _above(node, bounds, lowest).items():
            lifted[arg] = max(lifted[arg], lifted[node] + lift)
            hidden[arg] = hidden[arg] or hides or (hidden[node] and not _decays(node))
    return False


def _decays(node: Expression) -> bool:
    """Whether a node is meant to vanish, as the values of a Gaussian kernel far from each other are."""
    return isinstance(node, Call) and node.op in ("exp", "bessel")


def _bounds(node: Expression, bounds: Mapping[Expression, Bounds], known: Callable[[Statistic], Bounds]) -> Bounds:
    if isinstance(node, Const | Param):
        exponent = math.log2(abs(node.value)) if node.value else -ALWAYS
        return Bounds(exponent, exponent, node.value <= 0, node.value >= 0)
    if isinstance(node, Stat):
        return known(node.statistic)
    if isinstance(node, Diagonal):
        return bounds[node.inner]
    assert isinstance(node, Call)
    first, *rest = (bounds[arg] for arg in node.args)
    low, high = first.low, first.high
    match node.op:
        case "add":
            (other,) = rest
            negative, positive = first.negative and other.negative, first.positive and other.positive
            return Bounds(max(low, other.low), max(high, other.high) + 1.0, negative, positive)
        case "mul":
            (other,) = rest
            opposite = (first.negative and other.positive) or (first.positive and other.negative)
            alike = (first.negative and other.negative) or (first.positive and other.positive)
            return Bounds(low + other.low, high + other.high, opposite, alike)
        case "powi" | "pow":
            return Bounds(node.constants[0] * low, node.constants[0] * high, positive=first.positive)
        case "sqrt":
            return Bounds(0.5 * low, 0.5 * high, positive=True)
        case "recip":
            return Bounds(-high, -low, first.negative, first.positive)
        case "exp":
            size = 1.5 * 2.0 ** min(high, 60.0)
            return Bounds(0.0 if first.positive else -size, 0.0 if first.negative else size, positive=True)
        case "log1p":
            return Bounds(min(low, 0.0), min(high, 12.0), first.negative, first.positive)
    return Bounds(min(low, 0.0), 0.0, first.negative, first.positive)


def _above(
    node: Expression, bounds: Mapping[Expression, Bounds], lowest: float
) -> dict[Expression, tuple[float, bool]]:
    """Return how a node lifts its arguments, and whether it hides that they are infinite."""
    if isinstance(node, Diagonal):
        return {node.inner: (0.0, True)}
    if not isinstance(node, Call):
        return {}
    first = node.args[0]
    match node.op:
        case "add":
            a, b = node.args
            lifts = {a: bounds[b].low < lowest + 64, b: bounds[a].low < lowest + 64}
            return {arg: (0.0 if lifted else -ALWAYS, False) for arg, lifted in lifts.items()}
        case "mul":
            a, b = node.args
            if a == b:
                return {a: (bounds[a].high, False)}
            return {a: (bounds[b].high, _shrinks(bounds[b])), b: (bounds[a].high, _shrinks(bounds[a]))}
        case "powi" | "pow":
            return {first: ((node.constants[0] - 1.0) * lowest, False)}
        case "sqrt":
            return {first: (-0.5 * lowest, False)}
        case "recip" | "log":
            return {first: (ALWAYS, True)}
        case "exp":
            return {first: (-ALWAYS, False)}
    return {first: (0.0, False)}


def _shrinks(other: Bounds) -> bool:
    return other.low < -SLACK
