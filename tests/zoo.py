"""The zoo: every kernel we ship, with data it takes, its formula in plain Python, and the laws it should obey."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma, kv

from mercer.kernels import (
    ArcCosine,
    Chi2,
    Constant,
    Cosine,
    Custom,
    Fourier,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    Tanimoto,
    Wendland,
    exp,
)


@dataclass
class Entry:
    name: str
    kernel: Any
    formula: Callable[[Any, Any], float]
    X: Any
    Z: Any
    psd: bool = True
    unit: bool = False  # k(x, x) is exactly 1
    shifts: bool = False  # k(x + t, z + t) = k(x, z)
    strict: bool = False  # matrices at distinct points are invertible, in every dimension
    finite: bool = False  # matrices of more points than there are features are singular
    numeric: bool = True
    own_function: bool = False  # holds a function of this file, which pickle cannot import

    @property
    def picklable(self) -> bool:
        return not self.own_function

    @property
    def takes_rows(self) -> bool:
        return self.numeric and not isinstance(self.kernel, Custom | Constant | FromFeatures)

    @property
    def checks_numbers(self) -> bool:
        return self.numeric and not isinstance(self.kernel, Custom | Constant)

    def loops(self, X: Any, Z: Any) -> np.ndarray:
        """Evaluate one pair after the other."""
        return np.array([[self.formula(x, z) for z in Z] for x in X], dtype=float)


def _dot(x, z):
    return sum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def _square(x, z, scale=(1.0, 1.0, 1.0)):
    return sum(((float(a) - float(b)) / s) ** 2 for a, b, s in zip(x, z, scale, strict=True))


def _power(x, z, p, q, scale=(1.0, 1.0, 1.0)):
    return sum((abs(float(a) - float(b)) / s) ** p for a, b, s in zip(x, z, scale, strict=True)) ** (q / p)


def _bessel(x, z, nu, scale):
    r = math.sqrt(2 * nu * _square(x, z, (scale,) * 3))
    return 1.0 if r == 0 else 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)


def _chi2(x, z):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def _circle(x, z, period, scale=(1.0, 1.0, 1.0)):
    pairs = zip(x, z, scale, strict=True)
    return sum(math.sin(math.pi * (a - b) / period) ** 2 / s**2 for a, b, s in pairs)


def _ratio(common, total):
    return float(common / (total - common)) if total else 1.0


def _wendland(r):  # of the fifth dimension, l = 5, four times differentiable
    return max(1 - r, 0.0) ** 7 * (48 * r**2 + 21 * r + 3) / 3


def _arc_cosine(x, z):
    size = math.sqrt(_dot(x, x) * _dot(z, z))
    t = 2 * math.atan2(
        np.linalg.norm(x / np.linalg.norm(x) - z / np.linalg.norm(z)),
        np.linalg.norm(x / np.linalg.norm(x) + z / np.linalg.norm(z)),
    )
    return size / math.pi * (math.sin(t) + (math.pi - t) * math.cos(t))


def _cubes(x):
    return [1.0, x[0], x[1] * x[2], x[0] ** 3]


def common_letters(x, z):
    return len(set(x) & set(z))


def _outer(X, Z):
    return np.asarray(X) @ np.asarray(Z).T + 1


_rng = np.random.default_rng(7)
# Multiples of 1/16, so that a shift by a million is exact even in float32; two points occur in both collections.
POINTS = np.round(16 * _rng.normal(size=(7, 3))) / 16
OTHERS = np.concatenate([np.round(16 * _rng.normal(size=(3, 3))) / 16, POINTS[[0, 4]]])
BARS = np.abs(POINTS) * (POINTS > -1)
OTHER_BARS = np.abs(OTHERS)
COLOURS = [["red", "round", 1], ["red", "square", 2], ["blue", "round", 2], ["green", "round", 1]]
OTHER_COLOURS = [["red", "round", 1], ["pink", "flat", 3]]
WORDS, OTHER_WORDS = ["abc", "bcd", "xyz", "ab"], ["abc", "zzz", "dx"]
ROOT = _rng.normal(size=(4, 3))
MATRIX = ROOT @ ROOT.T
SCALES = (0.5, 2.0, 1.3)


def _real(name, kernel, formula, **laws):
    return Entry(name, kernel, formula, POINTS, OTHERS, **laws)


ROUND = {"unit": True, "shifts": True}
RADIAL = ROUND | {"strict": True}
ZOO = [
    _real("Linear", Linear(), _dot, finite=True),
    _real("Polynomial", Polynomial(degree=3, offset=0.5), lambda x, z: (_dot(x, z) + 0.5) ** 3, finite=True),
    _real("Polynomial without offset", Polynomial(degree=2, offset=0), lambda x, z: _dot(x, z) ** 2, finite=True),
    _real("Sigmoid", Sigmoid(0.3, -0.2), lambda x, z: math.tanh(0.3 * _dot(x, z) - 0.2), psd=False),
    _real("Gaussian", Gaussian(1.5), lambda x, z: math.exp(-_square(x, z) / 4.5), **RADIAL),
    _real("Gaussian, many", Gaussian(SCALES), lambda x, z: math.exp(-_square(x, z, SCALES) / 2), **RADIAL),
    _real("Laplacian", Laplacian(0.7), lambda x, z: math.exp(-np.abs(x - z).sum() / 0.7), **RADIAL),
    _real("Laplacian, many", Laplacian(SCALES), lambda x, z: math.exp(-(np.abs(x - z) / SCALES).sum()), **RADIAL),
    _real("Matern 1/2", Matern(0.5, 1.2), lambda x, z: _bessel(x, z, 0.5, 1.2), **RADIAL),
    _real("Matern 3/2", Matern(1.5, 1.2), lambda x, z: _bessel(x, z, 1.5, 1.2), **RADIAL),
    _real("Matern 5/2", Matern(2.5, 1.2), lambda x, z: _bessel(x, z, 2.5, 1.2), **RADIAL),
    _real("Matern 0.3", Matern(0.3, 1.2), lambda x, z: _bessel(x, z, 0.3, 1.2), **RADIAL),
    _real("Matern 1", Matern(1, 1.2), lambda x, z: _bessel(x, z, 1.0, 1.2), **RADIAL),
    _real("Matern 3.2", Matern(3.2, 1.2), lambda x, z: _bessel(x, z, 3.2, 1.2), **RADIAL),
    _real("Matern 50", Matern(50, 1.2), lambda x, z: _bessel(x, z, 50.0, 1.2), **RADIAL),
    _real("Matern inf", Matern(math.inf, 1.2), lambda x, z: math.exp(-_square(x, z) / 2.88), **RADIAL),
    _real(
        "Matern, many", Matern(1.5, SCALES),
        lambda x, z: (1 + (3 * _square(x, z, SCALES)) ** 0.5) * math.exp(-((3 * _square(x, z, SCALES)) ** 0.5)),
        **RADIAL,
    ),
    _real(
        "RationalQuadratic", RationalQuadratic(1.4, 0.6), lambda x, z: (1 + _square(x, z) / 2.352) ** -0.6, **RADIAL
    ),
    _real(
        "RationalQuadratic, many", RationalQuadratic(SCALES, 2.0),
        lambda x, z: (1 + _square(x, z, SCALES) / 4) ** -2.0, **RADIAL,
    ),
    _real(
        "Power", PowerExponential(1.5, 0.7, 1.3), lambda x, z: math.exp(-_power(x, z, 1.5, 0.7, (1.3,) * 3)), **RADIAL
    ),
    _real(
        "Power, many", PowerExponential(0.6, 0.6, SCALES),
        lambda x, z: math.exp(-_power(x, z, 0.6, 0.6, SCALES)), **RADIAL,
    ),
    _real("Power of a sum", PowerExponential(1, 0.5), lambda x, z: math.exp(-(np.abs(x - z).sum() ** 0.5)), **RADIAL),
    _real("Power of a norm", PowerExponential(2, 0.8), lambda x, z: math.exp(-(_square(x, z) ** 0.4)), **RADIAL),
    _real("Periodic", Periodic(1.1, 2.3), lambda x, z: math.exp(-2 * _circle(x, z, 2.3) / 1.21), **ROUND),
    _real("Periodic, many", Periodic(SCALES, 2.3), lambda x, z: math.exp(-2 * _circle(x, z, 2.3, SCALES)), **ROUND),
    _real("Cosine", Cosine(1.7), lambda x, z: float(np.cos(1.7 * (x - z)).sum()), shifts=True, finite=True),
    _real(
        "Fourier", Fourier(5),
        lambda x, z: sum(math.cos(2 * math.pi * m / 5 * t) for m in range(6) for t in x - z), shifts=True, finite=True,
    ),
    _real(
        "Sinc", Sinc(),
        lambda x, z: sum(2 * math.pi if t == 0 else math.sin(2 * math.pi * t) / t for t in x - z), shifts=True,
    ),
    _real("Constant", Constant(0.4), lambda x, z: 0.4, shifts=True, finite=True),
    _real(
        "FromFeatures", FromFeatures(_cubes), lambda x, z: _dot(_cubes(x), _cubes(z)), own_function=True, finite=True
    ),
    _real("Custom, vectorised", Custom(_outer, vectorized=True), lambda x, z: _dot(x, z) + 1, own_function=True),
    Entry("Chi2", Chi2(0.8), lambda x, z: math.exp(-0.8 * _chi2(x, z)), BARS, OTHER_BARS, unit=True),
    Entry("Intersection", Intersection(), lambda x, z: float(np.minimum(x, z).sum()), BARS, OTHER_BARS),
    _real("Tanimoto", Tanimoto(), lambda x, z: _ratio(_dot(x, z), _dot(x, x) + _dot(z, z)), strict=True),
    _real("Wendland", Wendland(5, 2, 4.0), lambda x, z: _wendland(math.sqrt(_square(x, z)) / 4), **ROUND),
    _real("ArcCosine", ArcCosine(1), lambda x, z: _arc_cosine(x, z)),
    Entry(
        "Overlap", Overlap(), lambda x, z: sum(a == b for a, b in zip(x, z, strict=True)), COLOURS, OTHER_COLOURS,
        numeric=False,
    ),
    Entry("Custom", Custom(common_letters), common_letters, WORDS, OTHER_WORDS, numeric=False, own_function=True),
    Entry("Precomputed", Precomputed(MATRIX), lambda i, j: MATRIX[i, j], [0, 3, 1, 0], [1, 0, 3], numeric=False),
    _real(
        "a sum", 2.0 * Gaussian(1.5) + Polynomial() * Linear(),
        lambda x, z: 2 * math.exp(-_square(x, z) / 4.5) + (_dot(x, z) + 1) ** 2 * _dot(x, z), strict=True,
    ),
    _real("an exponential", exp(0.3 * Linear()), lambda x, z: math.exp(0.3 * _dot(x, z)), strict=True),
    _real(
        "a normalised one", (Polynomial() + Gaussian()).normalize(),
        lambda x, z: ((_dot(x, z) + 1) ** 2 + math.exp(-_square(x, z) / 2))
        / math.sqrt(((_dot(x, x) + 1) ** 2 + 1) * ((_dot(z, z) + 1) ** 2 + 1)),
    ),
    _real(
        "a normalised one of differences", (Gaussian() + Cosine()).normalize(),
        lambda x, z: (math.exp(-_square(x, z) / 2) + float(np.cos(x - z).sum())) / 4, shifts=True, strict=True,
    ),
    _real(
        "on and after", Gaussian().on([0, -1]).after(np.tanh) + Laplacian().on(1),
        lambda x, z: math.exp(-((np.tanh(x) - np.tanh(z)) ** 2)[[0, 2]].sum() / 2) + math.exp(-abs(x[1] - z[1])),
    ),
]  # fmt: skip


def choose(law: str | None = None) -> list[Any]:
    """Return the entries that obey a law, or all, as parameters of a test."""
    return [pytest.param(entry, id=entry.name) for entry in ZOO if law is None or getattr(entry, law)]
