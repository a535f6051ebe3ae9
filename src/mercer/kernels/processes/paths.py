"""Kernels that are covariances of random paths: Brownian motion, its relatives and its integrals, and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import ONE, Apply, Node, Relation
from mercer.formula.pair import Pair
from mercer.formula.parameters import Positive
from mercer.formula.statistics import Prepared, SquaredDistance, VectorStatistic

from ..base import Kernel
from ..dot import Linear
from ..histogram import Intersection, MinimumSum
from ..theorem import SQUARED_DISTANCE, Definiteness, Theorem, otherwise, strictly


def check_line(A: Any, owner: str) -> None:
    """Raise unless points have one feature."""
    if A.shape[1] != 1:
        raise ValueError(
            f"{owner} takes points with one feature, such as a time, got {A.shape[1]}; pick a column with k.on(0), and "
            "multiply or add kernels on several"
        )


@dataclass(frozen=True)
class Earlier(MinimumSum):
    """min(x, z) of two times."""

    def notation(self, x: Node, z: Node) -> Node:
        """min(x, z)."""
        return x if x == z else Apply("min", (x, z))

    def check(self, A: Any) -> None:
        """Raise on more than one column, and on negative times."""
        check_line(A, self.owner)
        if A.min() < 0:
            raise ValueError(
                f"{self.owner} takes times from 0 on, but row {int(np.argmin(A))} is {A.min()}; shift the data"
            )


class Wiener(Kernel):
    """The covariance of Brownian motion, k(x, z) = min(x, z), for times x, z ≥ 0.

    Draws of its process are paths with independent normal steps, 0 at time 0.  For several columns multiply kernels,
    as in ``Wiener().on(0) * Wiener().on(1)``, the Brownian sheet.

    Examples
    --------
    >>> from mercer.kernels import Wiener
    >>> Wiener()([[0.5], [2.0]])
    array([[0.5, 0.5],
           [0.5, 2. ]])
    """

    domain = "nonnegative"
    because = Intersection.because
    definite = otherwise(True, False, finite=False)

    def formula(self, pair: Pair) -> Expression:
        """min(x, z)."""
        return pair.statistic(Earlier)


class Spline(Kernel):
    """The kernel of cubic splines on times x, z ≥ 0: k(x, z) = 1 + xz + ∫₀^min(x, z) (x − t)(z − t) dt.

    With m = min(x, z) it is 1 + xz + xzm − (x + z)m²/2 + m³/3.  Ridge regression with it is a smoothing spline.  See
    Wahba, Spline Models for Observational Data (1990).

    Examples
    --------
    >>> from mercer.kernels import Spline
    >>> Spline()([[1.0]], [[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 2.3333, 3.8333]])
    """

    domain = "nonnegative"
    because = "conical sum: 1, xz, and ∫ (x − t)₊ (z − t)₊ dt, an inner product of functions of t"
    lemmas = (Linear().theorem(),)
    definite = Definiteness(None, separates=True, positive=True)

    def formula(self, pair: Pair) -> Expression:
        """1 + xz + xzm − (x + z)m²/2 + m³/3."""
        least = pair.statistic(Earlier)
        x, z = pair.left(least), pair.right(least)
        return 1.0 + x * z * (1.0 + least) - 0.5 * (x + z) * least**2 + least**3 / 3.0


class FractionalBrownian(Kernel):
    """The covariance of fractional Brownian motion, k(x, z) = (‖x‖^2H + ‖z‖^2H − ‖x − z‖^2H)/2.

    H = ½ is Brownian motion for one feature, on both sides of 0 independently, and Lévy's field for several; with
    larger H steps go on as the one before, with smaller H they turn back.

    Parameters
    ----------
    hurst : float, default=0.5
        H, at most 1, which is the linear kernel.

    Examples
    --------
    >>> from mercer.kernels import FractionalBrownian
    >>> FractionalBrownian(0.5)([[0.5], [2.0]])
    array([[0.5, 0.5],
           [0.5, 2. ]])
    """

    hurst: Positive = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hurst > 1:
            raise ValueError(
                f"FractionalBrownian: hurst must be at most 1, got {self.hurst!r}: beyond, ‖x − z‖^2H is not "
                "conditionally negative definite, and this is no kernel"
            )

    def formula(self, pair: Pair) -> Expression:
        """Half of ‖x‖^2H + ‖z‖^2H − ‖x − z‖^2H."""
        dot, exponent = pair.dot(), float(self.hurst)
        sizes = pair.left(dot) ** exponent + pair.right(dot) ** exponent
        return 0.5 * (sizes - pair.statistic(SquaredDistance) ** exponent)

    def theorem(self) -> Theorem | None:
        """The kernel that belongs to a conditionally negative definite function."""
        bernstein = "s^a is a positive multiple of ∫ (1 − exp(−ts)) t^(−1−a) dt for 0 < a < 1 (Bernstein function)"
        powered = Theorem(
            f"ψ(x, z) = ‖x−z‖^{2 * self.hurst:g} is conditionally negative definite", bernstein, (SQUARED_DISTANCE,)
        )
        rule = "ψ(x, 0) + ψ(0, z) − ψ(x, z) − ψ(0, 0) is a kernel if ψ is conditionally negative definite (Schoenberg)"
        return self.prove(rule, SQUARED_DISTANCE if self.hurst == 1 else powered)

    def definiteness(self, d: int | None) -> Definiteness:
        """Singular where 0 is a point."""
        return otherwise(True, False, finite=self.hurst == 1)


@dataclass(frozen=True)
class Same(VectorStatistic):
    """1 where two points are the same in every coordinate."""

    def notation(self, x: Node, z: Node) -> Node:
        """1[x = z]."""
        return ONE if x == z else Relation(x, "=", z, indicator=True)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """1 or 0."""
        same = A[:, :1] == B[None, :, 0]
        for d in range(1, A.shape[1]):
            same &= A[:, d, None] == B[None, :, d]
        return same.astype(A.dtype)

    def diag(self, A: Prepared) -> np.ndarray:
        """Ones."""
        return np.ones(len(A), dtype=A.dtype)

    def slope(self, a: Array, b: Array) -> Array:
        """0, as a jump has none."""
        return 0.0 * (a + b)


class White(Kernel):
    """White noise, k(x, z) = 1 where x = z and 0 elsewhere.

    ``k + s * White()`` says that each point has a deviation of its own, with variance s, which points with the same
    features share.  Noise of single observations is the penalty ``alpha`` of a model.

    Examples
    --------
    >>> from mercer.kernels import White
    >>> White()([[0.0, 1.0], [0.0, 2.0]])
    array([[1., 0.],
           [0., 1.]])
    """

    because = "1[x = z] = Σ_c 1[x = c] 1[z = c] is an inner product of indicators of points"
    definite = strictly("K is the identity")

    def formula(self, pair: Pair) -> Expression:
        """1[x = z]."""
        return pair.statistic(Same)
