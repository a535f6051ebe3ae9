"""Kernels of the angle between two points: infinitely wide layers of a network, and distances on a sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, cast

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.expression import Expression
from mercer.formula.normalization import UnitDot
from mercer.formula.notation.tree import (
    ONE,
    PI,
    ZERO,
    Apply,
    Inner,
    Node,
    Number,
    Word,
    is_single,
    length,
    minus,
    plus,
    power,
    times,
)
from mercer.formula.pair import Pair
from mercer.formula.parameters import Positive
from mercer.formula.statistics import Dot, Prepared, Statistic, square_norms

from ..base import Kernel
from ..theorem import SCHOENBERG, Definiteness, Theorem

HIGHEST = 2  # order of an arc-cosine kernel


@dataclass(frozen=True)
class Angle(UnitDot):
    """The angle θ between two points, 2 atan2(‖u − v‖, ‖u + v‖) of rows of unit length."""

    native = None  # type: ignore[assignment]
    takes_sparse = False

    def notation(self, x: Node, z: Node) -> Node:
        """∠(x, z)."""
        if x == z:
            return ZERO
        dot = times(x, z) if is_single(x) else Inner(x, z)
        return Apply(Word("arccos"), (times(dot, power(length(x), -1.0), power(length(z), -1.0)),))

    def check(self, A: Any) -> None:
        """Raise on rows without a direction."""
        empty = np.flatnonzero(~A.any(axis=1))
        if len(empty):
            raise ValueError(
                f"{self.owner} compares directions, but row {empty[0]} is 0 everywhere and has none; drop such rows"
            )

    def measure(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return the angles; right for small ones, of which a cosine loses half of the digits."""
        apart = np.clip(_square_distances(A, B), 0.0, 4.0)
        angles = 2.0 * np.arctan2(np.sqrt(apart), np.sqrt(4.0 - apart))
        half = np.asarray(math.pi / 2.0, dtype=angles.dtype)
        return np.where(_mark_zeros(A)[:, None] | _mark_zeros(B)[None, :], half, angles)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """The angles."""
        return self.measure(A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Zeros, and right angles for rows of zeros."""
        return np.where(_mark_zeros(A), math.pi / 2.0, 0.0).astype(A.dtype)

    def direct(self) -> Statistic:
        """Itself."""
        return self

    apart = Statistic.apart

    def slope(self, a: Array, b: Array) -> Array:
        """−b / sin θ, of which what follows takes the part across a; 0 at the kink."""
        return -b * _invert_sine((a * b).sum(-1)[..., None])

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """Matrix products, as for dot products."""
        return Dot.weigh_slopes(self, -E * _invert_sine(A @ B.T), A, B, C)


@dataclass(frozen=True)
class ArcAngle(Angle):
    """J_n(θ)/π, which an infinite layer of units (wᵀx)₊^n makes of the angle."""

    order: int = 1

    def notation(self, x: Node, z: Node) -> Node:
        """J_n(θ)/π."""
        if x == z:
            return Number(3.0) if self.order == 2 else ONE
        angle = Angle.notation(self, x, z)
        (cosine,) = cast(Apply, angle).arguments
        sine, rest, over = Apply("sin", (angle,)), minus(PI, angle), power(PI, -1.0)
        if self.order == 0:
            return times(over, rest)
        if self.order == 1:
            return times(over, plus(sine, times(rest, cosine)))
        square = plus(ONE, times(Number(2.0), power(cosine, 2.0)))
        return times(over, plus(times(Number(3.0), sine, cosine), times(rest, square)))

    def check(self, A: Any) -> None:
        """Nothing: at 0 all units are half on."""

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """J_0 = π − θ, J_1 = sin θ + (π − θ) cos θ, J_2 = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ)."""
        t = self.measure(A, B)
        rest, sine, cosine = math.pi - t, np.sin(t), np.cos(t)
        if self.order == 0:
            found = rest
        elif self.order == 1:
            found = sine + rest * cosine
        else:
            found = 3.0 * sine * cosine + rest * (1.0 + 2.0 * cosine**2)
        return found / math.pi

    def diag(self, A: Prepared) -> np.ndarray:
        """J_n(0)/π; at 0 what half of all units give."""
        empty = (0.5, 1.0 / math.pi, 0.5)[self.order]
        return np.where(_mark_zeros(A), empty, 3.0 if self.order == 2 else 1.0).astype(A.dtype)

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """2(J_n(0) − J_n(θ))/π in terms that vanish with θ."""
        t = self.measure(A, B)
        sine, cosine = np.sin(t), np.cos(t)
        if self.order == 0:
            fall = t
        elif self.order == 1:
            fall = 2.0 * math.pi * np.sin(0.5 * t) ** 2 - (sine - t * cosine)
        else:
            fall = 2.0 * math.pi * sine**2 + t * (1.0 + 2.0 * cosine**2) - 3.0 * sine * cosine
        zeros = _mark_zeros(A)[:, None] | _mark_zeros(B)[None, :]
        return np.where(zeros, Statistic.apart(self, A, B), 2.0 / math.pi * fall)

    def slope(self, a: Array, b: Array) -> Array:
        """J_n′(θ)/π · −b/ sin θ."""
        return b * self._fall_over_sine((a * b).sum(-1)[..., None])

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """Matrix products, as for dot products."""
        return Dot.weigh_slopes(self, E * self._fall_over_sine(A @ B.T), A, B, C)

    def _fall_over_sine(self, cosine: Array) -> Array:
        """Return −J_n′(θ)/(π sin θ)."""
        if self.order == 0:
            return _invert_sine(cosine) / math.pi
        xp = namespace(cosine)
        cosine = xp.clip(cosine, -1.0, 1.0)
        rest = math.pi - xp.acos(cosine)
        if self.order == 1:
            return rest / math.pi
        return 4.0 / math.pi * (xp.sqrt(1.0 - cosine**2) + rest * cosine)


def _square_distances(A: Prepared, B: Prepared) -> np.ndarray:
    """Return ‖a − b‖² of unit rows, near ones by differences."""
    values = square_norms(A)[:, None] + square_norms(B)[None, :] - 2.0 * (A @ B.T)
    rows, columns = np.nonzero(values < 1e-2)
    step = max(1, 2**20 // A.shape[1])
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        values[i, j] = square_norms(A[i] - B[j])
    rows, columns = np.nonzero(values > 4.0 - 1e-2)  # points opposite each other, whose sums are small
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        values[i, j] = 4.0 - square_norms(A[i] + B[j])
    return values


def _mark_zeros(A: Prepared) -> np.ndarray:
    return np.asarray(~A.any(axis=1))


def _invert_sine(cosine: Array) -> Array:
    """1 / sin θ, and 0 where θ is 0 or π."""
    square = 1.0 - cosine**2
    flat = square < 1e-14
    xp = namespace(cosine)
    return xp.where(flat, 0.0, 1.0 / xp.sqrt(xp.where(flat, 1.0, square)))


def check_order(kernel: object, name: str) -> None:
    """Raise unless an order is one of those whose function is known."""
    value = getattr(kernel, name)
    if isinstance(value, bool) or value not in range(HIGHEST + 1):
        raise ValueError(f"ArcCosine: {name} must be 0, 1 or {HIGHEST}, got {value!r}")


Order = Annotated[int, check_order]


class ArcCosine(Kernel):
    """The arc-cosine kernel k(x, z) = ‖x‖ⁿ‖z‖ⁿ J_n(θ)/π of the angle θ between x and z: an infinitely wide layer.

    J_0 = π − θ, J_1 = sin θ + (π − θ) cos θ and J_2 = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ).  It is twice the mean of
    (wᵀx)₊ⁿ (wᵀz)₊ⁿ over standard normal w: steps for n = 0, rectified linear units for n = 1.  See Cho and Saul, NIPS
    (2009).

    Parameters
    ----------
    order : int, default=1
        n: 0, 1 or 2.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> ArcCosine(0)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    array([[1. , 0.5, 0. ]])
    >>> ArcCosine(1)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]]).round(4)
    array([[2.    , 0.9549]])
    """

    order: Order = 1
    because = (
        "k(x, z) = 2∫ h(wᵀx) h(wᵀz) dN(w) with h(t) = tⁿ for t > 0 and 0 for t < 0 is an inner product of functions of "
        "w (Cho and Saul)"
    )

    def formula(self, pair: Pair) -> Expression:
        """(‖x‖‖z‖)ⁿ J_n(θ)/π."""
        layer, order = pair.statistic(ArcAngle, int(self.order)), int(self.order)
        if order == 0:
            return layer
        dot = pair.dot()
        sizes = pair.left(dot) * pair.right(dot)
        return layer * (sizes**0.5 if order == 1 else sizes)

    def definiteness(self, d: int | None) -> Definiteness:
        """Points on a ray have features along a line."""
        because = "the features of x and 2x are multiples of each other"
        return Definiteness(False, because, separates=self.order > 0, positive=self.order == 0)


class Geodesic(Kernel):
    """The powered exponential of the distance on a sphere, k(x, z) = exp(−(θ/σ)^q) of the angle θ between x and z.

    Points may have any length but 0; only their directions count.  It is a kernel for q ≤ 1 on all spheres.  For q > 1
    it is none on the circle and above, unlike in Euclidean space: the Gaussian of an angle is no kernel, and its
    certificate has points that show it.  See Gneiting, Bernoulli 19 (2013).

    Parameters
    ----------
    exponent : float, default=1.0
        q > 0.
    length_scale : float, default=1.0
        σ, as an angle.

    Examples
    --------
    >>> from mercer.kernels import Geodesic
    >>> Geodesic()([[1.0, 0.0]], [[0.0, 1.0], [5.0, 0.0]]).round(4)
    array([[0.2079, 1.    ]])
    >>> type(Geodesic(exponent=2.0).certificate(dim=3)).__name__
    'Refuted'
    """

    exponent: Positive = 1.0
    length_scale: Positive = 1.0

    domain = "directions"

    def formula(self, pair: Pair) -> Expression:
        """exp(−(θ/σ)^q)."""
        return np.exp(-((pair.statistic(Angle) * pair.param("length_scale") ** -1.0) ** float(self.exponent)))

    def theorem(self) -> Theorem | None:
        """Schoenberg's theorem for q ≤ 1."""
        if self.exponent > 1:
            return None
        angle = Theorem(
            "the angle θ is conditionally negative definite",
            "θ/π = ∫ (1[wᵀx > 0] − 1[wᵀz > 0])² dN(w) is a squared distance of functions of w",
        )
        if self.exponent == 1:
            return self.prove(SCHOENBERG, angle)
        bernstein = "s^a is a positive multiple of ∫ (1 − exp(−ts)) t^(−1−a) dt for 0 < a < 1 (Bernstein function)"
        powered = Theorem(f"θ^{self.exponent} is conditionally negative definite", bernstein, (angle,))
        return self.prove(SCHOENBERG, powered)

    def definiteness(self, d: int | None) -> Definiteness:
        """Points of one direction are the same."""
        return Definiteness(False, "x and 2x have the same features", separates=False, positive=True)
