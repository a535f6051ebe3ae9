"""Kernels that are functions of a distance: a metric and a scalar profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.expression import Expression, scaled_bessel
from mercer.formula.notation.tree import Node, Norm, given
from mercer.formula.pair import Pair
from mercer.formula.parameters import LengthScale, Positive, check_positive
from mercer.formula.statistics import (
    CoordinateSum,
    ScaledDistance,
)

from .base import Kernel
from .theorem import FULL_SUPPORT, SCHOENBERG, SQUARED_DISTANCE, Theorem, strictly

MIXTURE = "limit of conical sums: Gaussians averaged over"


def check_gamma(kind: type[Kernel], gamma: float) -> None:
    """Raise unless γ is a positive number."""
    if not gamma > 0:
        raise ValueError(f"{kind.__name__}.from_gamma: gamma must be positive, got {gamma!r}")


class Gaussian(Kernel):
    """The Gaussian kernel k(x, z) = exp(−‖x − z‖² / 2σ²), also called RBF or squared exponential.

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(length_scale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian.from_gamma(0.5)
    Gaussian(length_scale=1.0)
    """

    length_scale: LengthScale = 1.0
    because, lemmas, definite = SCHOENBERG, (SQUARED_DISTANCE,), strictly(FULL_SUPPORT)

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return exp(−γ‖x − z‖²), scikit-learn's parametrisation: σ = 1/√(2γ)."""
        check_gamma(cls, gamma)
        return cls(length_scale=1.0 / math.sqrt(2.0 * gamma))

    def formula(self, pair: Pair) -> Expression:
        """exp(−s/2) of the squared distance s."""
        return np.exp(-0.5 * pair.squared_distance())


class Laplacian(Kernel):
    """The Laplacian kernel k(x, z) = exp(−‖x − z‖₁ / σ), with the sum of absolute differences.

    For the exponential of the Euclidean distance use ``Matern(nu=0.5)``.

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian()([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.1353]])
    >>> Laplacian.from_gamma(0.5)
    Laplacian(length_scale=2.0)
    """

    length_scale: LengthScale = 1.0
    because = SCHOENBERG
    lemmas = (
        Theorem(
            "‖x−z‖₁ is conditionally negative definite",
            "|x−z| = ∫ (1[t ≤ x] − 1[t ≤ z])² dt is a squared distance of functions of t, in each coordinate",
        ),
    )
    definite = strictly(FULL_SUPPORT)

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return exp(−γ‖x − z‖₁), scikit-learn's parametrisation: σ = 1/γ."""
        check_gamma(cls, gamma)
        return cls(length_scale=1.0 / gamma)

    def formula(self, pair: Pair) -> Expression:
        """exp(−s) of the absolute distance s."""
        return np.exp(-pair.absolute_distance())


class Matern(Kernel):
    """The Matérn kernel: like the Gaussian, but only as smooth as ν says.

    With r = √(2ν)‖x − z‖/σ it is 2^(1−ν)/Γ(ν) · r^ν K_ν(r): e^(−r) for ν = ½, (1 + r)e^(−r) for ν = 3⁄2 and
    (1 + r + r²/3)e^(−r) for ν = 5⁄2.

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness ν > 0.  Functions are ⌈ν⌉ − 1 times differentiable; ``math.inf`` gives the Gaussian.
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5
    length_scale: LengthScale = 1.0
    definite = strictly(FULL_SUPPORT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu != math.inf:
            check_positive(self, "nu")

    def formula(self, pair: Pair) -> Expression:
        """The profile for this ν."""
        s = pair.squared_distance()
        if self.nu == math.inf:
            return np.exp(-0.5 * s)
        r = math.sqrt(2.0 * self.nu) * s**0.5
        decay: Expression = np.exp(-r)
        if self.nu == 0.5:
            return decay
        if self.nu == 1.5:
            return (1.0 + r) * decay
        if self.nu == 2.5:
            return (1.0 + r + (5.0 / 3.0) * s) * decay
        return scaled_bessel(r, self.nu, self.nu)

    def theorem(self) -> Theorem | None:
        """A mixture of Gaussians."""
        averaged = f"{MIXTURE} an inverse-gamma distribution of squared length scales"
        return self.prove(averaged, Gaussian(self.length_scale).theorem())


@dataclass(frozen=True)
class PowerDistance(CoordinateSum, ScaledDistance):
    """Σ_d |x_d − z_d|^p."""

    p: float = 1.0
    native = "powdist"
    centred = True
    direct_form = True

    @property
    def exponent(self) -> float:
        """The power p."""
        return self.p

    order = degree = exponent

    def norm(self, inside: Node) -> Node:
        """‖·‖ₚ."""
        return Norm(inside, given(self.p))

    def term(self, a: Array, b: Array) -> Array:
        """|a − b|^p."""
        return _raise(abs(a - b), self.p)

    def slope(self, a: Array, b: Array) -> Array:
        """Slope p |a − b|^(p−1) with the sign of a − b, and 0 where they are equal, however steep both sides are."""
        t, xp = a - b, namespace(a)
        if self.p > 1:
            return xp.copysign(self.p * _raise(abs(t), self.p - 1.0), t)
        return self.p * xp.sign(t) * _raise(xp.where(t == 0, 1.0, abs(t)), self.p - 1.0)


def _raise(size: Array, exponent: float) -> Array:
    """Return a power of sizes, by a root where that does it."""
    if exponent in (0.5, 1.5):
        root = namespace(size).sqrt(size)
        return root if exponent == 0.5 else size * root
    return size**exponent


class PowerExponential(Kernel):
    """The kernel k(x, z) = exp(−‖x − z‖ₚ^q / σ^q) of a p-norm, with 0 < q ≤ p ≤ 2.

    The distance is ``‖u‖ₚ = (Σ |u_d|^p)^(1/p)``.

    The smaller p, the more the axes matter: a model with p = 1 looks like one of trees, a model with p = 2 is the same
    in rotated coordinates.  The smaller q, the rougher is what is learned, and the heavier the tail.  With p = 2 it is
    ``Matern(0.5)`` for q = 1 and the Gaussian of length scale σ/√2 for q = 2; with p = q = 1 it is ``Laplacian``.

    Parameters
    ----------
    p : float, default=2.0
        The power of each coordinate, at most 2.
    q : float, default=1.0
        The power of the distance, at most p.
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.

    Raises
    ------
    ValueError
        If q > p, which makes no kernel of two features or more, or p > 2, which makes none of three or more.

    Examples
    --------
    >>> from mercer.kernels import PowerExponential
    >>> PowerExponential(p=1.5, q=0.5)([[0.0, 0.0]], [[1.0, -1.0], [0.0, 8.0]]).round(4)
    array([[0.2837, 0.0591]])
    """

    p: Positive = 2.0
    q: Positive = 1.0
    length_scale: LengthScale = 1.0
    definite = strictly(FULL_SUPPORT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p > 2:
            raise ValueError(
                f"PowerExponential: p must be at most 2, got {self.p!r}: with three features or more exp(−‖x−z‖_p^q) "
                "is then no kernel, for any q; take p = 2"
            )
        if self.q > self.p:
            raise ValueError(
                f"PowerExponential: q must be at most p, got q={self.q!r} and p={self.p!r}: with two features or more "
                "exp(−‖x−z‖_p^q) is then no kernel; raise p or lower q"
            )

    def formula(self, pair: Pair) -> Expression:
        """exp(−s^(q/p)) of the sum s of p-th powers."""
        if self.p in (1, 2):  # which have fast forms
            s = pair.absolute_distance() if self.p == 1 else pair.squared_distance()
        else:
            s = pair.distance(PowerDistance, "length_scale", float(self.p))
        return np.exp(-(s ** (self.q / self.p)))

    def theorem(self) -> Theorem | None:
        """Schoenberg's theorem, of a power of a sum of powers."""
        if self.p == 2:
            sums = SQUARED_DISTANCE
        else:
            wave = (
                "|x−z|^p is a positive multiple of ∫ (1 − cos t(x−z)) |t|^(−1−p) dt for 0 < p < 2, in each coordinate"
            )
            sums = Theorem(f"Σ|x−z|^{self.p} is conditionally negative definite", wave)
        if self.q == self.p:
            return self.prove(SCHOENBERG, sums)
        bernstein = "s^a is a positive multiple of ∫ (1 − exp(−ts)) t^(−1−a) dt for 0 < a < 1 (Bernstein function)"
        return self.prove(
            SCHOENBERG, Theorem(f"(‖x−z‖_{self.p})^{self.q} is conditionally negative definite", bernstein, (sums,))
        )


class RationalQuadratic(Kernel):
    """The rational quadratic kernel k(x, z) = (1 + ‖x − z‖² / (2ασ²))^(−α), Gaussians of many length scales at once.

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.
    alpha : float, default=1.0
        α > 0; large values approach the Gaussian.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.7071]])
    """

    length_scale: LengthScale = 1.0
    alpha: Positive = 1.0
    definite = strictly(FULL_SUPPORT)

    def formula(self, pair: Pair) -> Expression:
        """exp(−α log(1 + s/2α)) of the squared distance s."""
        alpha = pair.param("alpha")
        return np.exp(-alpha * np.log1p(pair.squared_distance() / (2.0 * alpha)))

    def theorem(self) -> Theorem | None:
        """A mixture of Gaussians."""
        averaged = f"{MIXTURE} a gamma distribution of inverse squared length scales"
        return self.prove(averaged, Gaussian(self.length_scale).theorem())
