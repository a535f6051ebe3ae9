"""Kernels that are functions of a distance: a metric and a scalar profile."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from mercer.formula.expression import Expression, scaled_bessel
from mercer.formula.pair import Pair
from mercer.formula.parameters import LengthScale, Positive, check_positive

from .base import Kernel
from .theorem import FULL_SUPPORT, SCHOENBERG, SQUARED_DISTANCE, Theorem, strictly

MIXTURE = "limit of conical sums: Gaussians averaged over"


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
        if not gamma > 0:
            raise ValueError(f"Gaussian.from_gamma: gamma must be positive, got {gamma!r}")
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
