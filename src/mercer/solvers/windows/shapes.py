"""Windows: kernels that spread the mass of one point around it, their integrals where known, and samples of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

from mercer.formula.expression import Expression, reciprocal
from mercer.formula.pair import Pair
from mercer.formula.parameters import check_length_scale
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, PowerExponential, RationalQuadratic
from mercer.kernels.base import show_given

TERMS = np.array([(-1.0) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(16)])
# cos(π√t/2) = Σ TERMS[k] tᵏ vanishes at t = 1, so that 1 − t divides it; these are the coefficients of the quotient.
QUOTIENT = np.array([-TERMS[j + 1 :].sum() for j in range(15)])


class CompactWindow(Kernel):
    """A function of r = ‖x − z‖/σ that is 0 from r = 1 on.

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.
    """

    length_scale: Any = 1.0

    def __post_init__(self) -> None:
        check_length_scale(self)


class UniformWindow(CompactWindow):
    """1 inside the ball r < 1."""

    def formula(self, pair: Pair) -> Expression:
        """The positive part of 1 − r², divided by itself."""
        inside = _positive_part(1.0 - pair.squared_distance())
        return inside * reciprocal(inside)


class EpanechnikovWindow(CompactWindow):
    """1 − r² inside the ball r < 1.

    Examples
    --------
    >>> EpanechnikovWindow(2.0)([[0.0]], [[0.0], [1.0], [3.0]])
    array([[1.  , 0.75, 0.  ]])
    """

    def formula(self, pair: Pair) -> Expression:
        """The positive part of 1 − r²."""
        return _positive_part(1.0 - pair.squared_distance())


class TriangularWindow(CompactWindow):
    """1 − r inside the ball r < 1."""

    def formula(self, pair: Pair) -> Expression:
        """The positive part of 1 − r."""
        return _positive_part(1.0 - pair.squared_distance() ** 0.5)


class CosineWindow(CompactWindow):
    """cos(πr/2) inside the ball r < 1."""

    def formula(self, pair: Pair) -> Expression:
        """The power series in r², written as 1 − r² times a quotient so that it is exactly 0 at the border."""
        inside = _positive_part(1.0 - pair.squared_distance())
        t = 1.0 - inside
        total: Expression = float(QUOTIENT[-1]) + 0.0 * t
        for coefficient in QUOTIENT[-2::-1]:
            total = float(coefficient) + t * total
        return inside * total


def _positive_part(a: Expression) -> Expression:
    """max(a, 0): a root is that of the positive part."""
    return (a**0.5) ** 2


NAMES: dict[str, Callable[[Any], Kernel]] = {
    "gaussian": Gaussian,
    "exponential": lambda length_scale: Matern(0.5, length_scale),
    "uniform": UniformWindow,
    "tophat": UniformWindow,
    "epanechnikov": EpanechnikovWindow,
    "triangular": TriangularWindow,
    "linear": TriangularWindow,
    "cosine": CosineWindow,
}


def log_integral(kernel: Kernel, d: int) -> float | None:
    """Return the logarithm of ∫ k(x, z) dz over d dimensions, or None where it is not known or not finite.

    Examples
    --------
    >>> import math
    >>> round(math.exp(log_integral(Gaussian(2.0), 1)), 4), round(math.exp(log_integral(UniformWindow(), 3)), 4)
    (5.0133, 4.1888)
    """
    half = d / 2
    log_ball = half * math.log(math.pi) - math.lgamma(half + 1)  # of radius 1
    match kernel:
        case Gaussian():
            shape = half * math.log(2 * math.pi)
        case Matern() if kernel.nu == math.inf:
            shape = half * math.log(2 * math.pi)
        case Matern():
            shape = d * math.log(2) + half * math.log(math.pi / (2 * kernel.nu))
            shape += float(gammaln(kernel.nu + half) - gammaln(kernel.nu))
        case RationalQuadratic() if kernel.alpha > half:
            shape = half * math.log(2 * math.pi * kernel.alpha)
            shape += float(gammaln(kernel.alpha - half) - gammaln(kernel.alpha))
        case Laplacian():
            shape = d * math.log(2)
        case PowerExponential():  # the volume of a ball of ‖·‖_p, and an integral over its radius
            p, q = float(kernel.p), float(kernel.q)
            shape = d * (math.log(2) + math.lgamma(1 / p + 1)) - math.lgamma(d / p + 1) + math.lgamma(d / q + 1)
        case UniformWindow():
            shape = log_ball
        case EpanechnikovWindow():
            shape = log_ball + math.log(2 / (d + 2))
        case TriangularWindow():
            shape = log_ball - math.log(d + 1)
        case CosineWindow():
            shape = log_ball + math.log(d * float((TERMS / (2 * np.arange(16) + d)).sum()))
        case _:
            return None
    return shape + float(np.log(_scales(kernel, d)).sum())


def draw_noise(kernel: Any, count: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Return samples of the density proportional to k(0, ·), for the kernels whose integral is known."""
    normal = rng.normal(size=(count, d))
    match kernel:
        case Gaussian():
            sample = normal
        case Matern() if kernel.nu == math.inf:
            sample = normal
        case Matern():  # a normal distribution whose variance has a gamma distribution
            sample = normal * np.sqrt(rng.gamma(kernel.nu + d / 2, size=(count, 1)) / kernel.nu)
        case RationalQuadratic():  # Student's distribution
            sample = normal * np.sqrt(2 * kernel.alpha / rng.chisquare(2 * kernel.alpha - d, size=(count, 1)))
        case Laplacian():
            sample = rng.laplace(size=(count, d))
        case PowerExponential():  # a direction by numbers with the density exp(−|t|^p) each, and a radius
            p, q = float(kernel.p), float(kernel.q)
            sizes = rng.gamma(1 / p, size=(count, d))
            radii = rng.gamma(d / q, size=(count, 1)) ** (1 / q)
            sample = np.sign(normal) * (sizes / sizes.sum(axis=1, keepdims=True)) ** (1 / p) * radii
        case _:
            sample = (
                normal / np.linalg.norm(normal, axis=1, keepdims=True) * _draw_radii(kernel, count, d, rng)[:, None]
            )
    return np.asarray(sample * _scales(kernel, d))


def _draw_radii(kernel: Kernel, count: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Return samples of r with density proportional to the window times r^(d−1)."""
    match kernel:
        case UniformWindow():
            return np.asarray(rng.beta(d, 1, size=count))
        case EpanechnikovWindow():
            return np.sqrt(rng.beta(d / 2, 2, size=count))
        case TriangularWindow():
            return np.asarray(rng.beta(d, 2, size=count))
    # cos(πr/2) is at most π/2 times the triangular window, so that samples of the latter can be thinned out.
    found = np.empty(0)
    while len(found) < count:
        r = rng.beta(d, 2, size=2 * count)
        found = np.concatenate(
            [found, r[rng.uniform(size=2 * count) * (math.pi / 2) * (1 - r) < np.cos(math.pi * r / 2)]]
        )
    return found[:count]


def _scales(kernel: Any, d: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), (d,))


def resolve_window(owner: object, kernel: Any, length_scale: Any) -> tuple[Kernel, bool]:
    """Return the window that two arguments stand for, and whether its length scale is still to be found."""
    name = type(owner).__name__
    search = isinstance(length_scale, str) and length_scale == "loo"
    if isinstance(length_scale, str) and not search:
        raise ValueError(
            f"{name}: length_scale must be a number, one for each feature, 'loo' or None; got {length_scale!r}"
        )
    if isinstance(kernel, str) and kernel in NAMES:
        search = search or length_scale is None
        return NAMES[kernel](1.0 if search else length_scale), search
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"{name}: kernel must be one of {', '.join(map(repr, NAMES))}, or a mercer kernel that is nowhere "
            f"negative, for example Gaussian() or Custom(function); got {show_given(kernel)}"
        )
    if length_scale is None:
        return kernel, False
    if "length_scale" not in kernel.get_params(deep=False):
        raise ValueError(
            f"{name}: {kernel!r} has no length scale of its own to set or to search for; leave length_scale=None"
        )
    return kernel.with_params(length_scale=1.0 if search else length_scale), search
