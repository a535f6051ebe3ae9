"""Kernels made of waves: points moved to circles, and the limit of infinitely many frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace, put_beside
from mercer.formula.data import Rows
from mercer.formula.expression import Const, Expression, Param, Stat
from mercer.formula.notation.tree import (
    ONE,
    PI,
    ZERO,
    Apply,
    Letter,
    Node,
    Number,
    Relation,
    Total,
    given,
    minus,
    power,
    scale_at,
    sum_coordinates,
    times,
)
from mercer.formula.pair import Pair
from mercer.formula.parameters import LengthScale, Natural, NotNegative, Positive
from mercer.formula.statistics import (  # fmt: skip
    CoordinateSum,
    Dot,
    Prepared,
    ScaledDistance,
    SquaredDistance,
    Statistic,
    VectorStatistic,
)

from .base import Kernel
from .theorem import PULL_BACK, RECTANGLE, SCHOENBERG, SQUARED_DISTANCE, Definiteness, Theorem, finitely, strictly

UNIT = Param("period", 1.0)
ADDITION = Theorem(
    "Σ_d cos θ(x_d − z_d) for every frequency θ",
    "cos θ(x−z) = cos θx cos θz + sin θx sin θz is an inner product of features",
)


WAVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "cosine": np.cos,
    "chord": lambda t: 4.0 * np.sin(0.5 * t) ** 2,
    "swing": lambda t: t * np.sin(t),  # what derivatives by a frequency are made of
    "sinc": lambda t: 2.0 * np.pi * np.sinc(t / np.pi),
    "sinc fall": lambda t: 4.0 * np.pi * _one_minus_sinc(t),
}
WAVE_SLOPES: dict[str, Callable[[Array, Any], Array]] = {  # f′(t), in the namespace of t
    "cosine": lambda t, xp: -xp.sin(t),
    "chord": lambda t, xp: 2.0 * xp.sin(t),
    "swing": lambda t, xp: xp.sin(t) + t * xp.cos(t),
    "sinc": lambda t, xp: 2.0 * math.pi * _slope_of_sinc(t, xp),
    "sinc fall": lambda t, xp: -4.0 * math.pi * _slope_of_sinc(t, xp),
}
APART = {"cosine": "chord", "sinc": "sinc fall"}  # f(0) + f(0) − 2 f(t), which keeps the digits of small t


@dataclass(frozen=True)
class WaveSum(CoordinateSum):
    """Σ_θ Σ_d w_d f(θ(x_d − z_d)) of a wave f, with differences formed first."""

    wave: str
    frequencies: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = ()
    centred = True
    direct_form = True

    def notation(self, x: Node, z: Node) -> Node:
        """Σ sin(2π(x − z))/(x − z); other waves occur in derivatives only."""
        if self.wave != "sinc" or self.frequencies != (2.0 * math.pi,):
            return super().notation(x, z)

        def term(a: Node, b: Node, d: Node | None) -> Node:
            turn = times(Number(2.0), PI)
            return turn if a == b else times(Apply("sin", (times(turn, minus(a, b)),)), power(minus(a, b), -1.0))

        return sum_coordinates(term, x, z)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Weighted sum of the coordinates' terms."""
        if not self.weights:
            return super().block(A, B)
        parts = (w * self.term(A[:, d, None], B[None, :, d]) for d, w in enumerate(self.weights))
        return sum(parts, np.zeros((len(A), len(B)), dtype=A.dtype))

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Σ_θ f(θ(a − b))."""
        return sum((WAVES[self.wave](theta * (a - b)) for theta in self.frequencies), np.zeros((), dtype=a.dtype))

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ 4 sin²(θ(x − z)/2) for cosines."""
        return replace(self, wave=APART[self.wave]).block(A, B) if self.wave in APART else super().apart(A, B)

    def slope(self, a: Array, b: Array) -> Array:
        """Σ_θ θ f′(θ(a − b))."""
        slope, t, xp = WAVE_SLOPES[self.wave], a - b, namespace(a)
        return sum((theta * slope(theta * t, xp) for theta in self.frequencies), 0.0 * t)

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """The weights of the coordinates."""
        return G * put_beside(G, self.weights) if self.weights else G


@dataclass(frozen=True)
class CircleDot(VectorStatistic):
    """Σ_θ Σ_d cos θ(x_d − z_d): the dot product of points moved to circles."""

    frequencies: tuple[float, ...] = (1.0,)
    param: Param | None = None  # the hyperparameter that is the (single) frequency
    native = "dot"
    centred = True

    def notation(self, x: Node, z: Node) -> Node:
        """Σ cos θ(x − z), over whole numbers l as well if there are several frequencies θ = 2πl/L."""
        last, count = len(self.frequencies) - 1, Letter("l")
        frequency = given(self.frequencies[0]) if last == 0 else times(Number(2.0 / last), PI, count)

        def term(a: Node, b: Node, d: Node | None) -> Node:
            angle = ZERO if a == b else times(frequency, minus(a, b))
            return ONE if angle == ZERO else Apply("cos", (angle,))

        inner = sum_coordinates(term, x, z)
        return inner if last == 0 else Total(inner, Relation(count, "=", ZERO), given(last))

    def transform(self, A: Any) -> Any:
        """(cos θx, sin θx) for all frequencies and coordinates."""
        return on_circles(A, self.frequencies)

    def width(self, d: int) -> int:
        """A cosine and a sine for each frequency and coordinate."""
        return 2 * len(self.frequencies) * d

    block = Dot.block
    diag = Dot.diag
    slope = Dot.slope
    weigh_slopes = Dot.weigh_slopes

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Along the circles."""
        return off_circles(G, A, self.frequencies)

    def direct(self) -> Statistic:
        """Cosines of differences."""
        return WaveSum(self.view, self.owner, "cosine", self.frequencies)

    def parameters(self) -> tuple[Param, ...]:
        """Return the frequency."""
        return () if self.param is None else (self.param,)

    def log_derivative(self, name: str) -> Expression:
        """−Σ t sin t."""
        if self.param is None or self.param.name != name:
            return Const(0.0)
        return -Stat(WaveSum(self.view, self.owner, "swing", self.frequencies))


@dataclass(frozen=True)
class CircleDistance(ScaledDistance):
    """Σ_d 4 sin²(π(x_d − z_d)/p): the squared distance of points moved to circles of circumference p."""

    period: Param = UNIT
    native = "sqdist"
    centred = True
    order = 2

    def notation(self, x: Node, z: Node) -> Node:
        """4 Σ sin²(π(x − z)/p), each term divided by its length scale."""
        scales = tuple(param.value for param in self.scale)

        def term(a: Node, b: Node, d: Node | None) -> Node:
            angle = times(PI, minus(a, b), power(given(self.period.value), -1.0))
            return times(power(Apply("sin", (angle,)), 2.0), power(scale_at(scales, d), -2.0))

        return ZERO if x == z else times(Number(4.0), sum_coordinates(term, x, z))

    def transform(self, A: Any) -> Any:
        """Points on circles, one circle for each coordinate, its radius divided by the length scale."""
        circles = on_circles(A, (2.0 * math.pi / self.period.value,))
        pairs = circles.reshape(len(A), 2, A.shape[1])
        if self.scale:
            pairs = pairs / np.array([param.value for param in self.scale])
        if self.column is not None:
            pairs = pairs[:, :, [self.column]]
        return pairs.reshape(len(A), -1)

    def width(self, d: int) -> int:
        """A cosine and a sine for each coordinate."""
        return 2 * d

    block = SquaredDistance.block
    diag = SquaredDistance.diag
    slope = SquaredDistance.slope
    weigh_slopes = SquaredDistance.weigh_slopes

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Along the circles, whose radii are divided by the length scales already."""
        return off_circles(G, A, (2.0 * math.pi / self.period.value,))

    def direct(self) -> Statistic:
        """Sines of differences."""
        return self._sum_waves("chord")

    def _sum_waves(self, wave: str) -> WaveSum:
        weights = tuple(param.value**-2 for param in self.scale)
        return WaveSum(self.view, self.owner, wave, (2.0 * math.pi / self.period.value,), weights)

    def parameters(self) -> tuple[Param, ...]:
        """Return the length scales and the period."""
        return (*self.scale, self.period)

    def log_derivative(self, name: str) -> Expression:
        """By a length scale as for any distance; by the period −2 Σ t sin t with t = 2π(x_d − z_d)/p."""
        return -2.0 * Stat(self._sum_waves("swing")) if name == self.period.name else super().log_derivative(name)


def _one_minus_sinc(t: np.ndarray) -> np.ndarray:
    """1 − sin(t)/t, by its series where the difference would cancel."""
    square = t * t
    series = (
        square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0 * (1.0 - square / 110.0))))
    )
    return np.where(square < 0.25, series, 1.0 - np.sinc(t / np.pi))


def on_circles(A: np.ndarray, frequencies: tuple[float, ...]) -> np.ndarray:
    """(cos θx, sin θx) for every frequency and coordinate: all cosines first, then all sines."""
    angles = np.concatenate([theta * A for theta in frequencies], axis=1)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def off_circles(G: Array, P: Array, frequencies: tuple[float, ...]) -> Array:
    """Return gradients by the coordinates x, from those by points P on their circles of any radius."""
    half, d = P.shape[1] // 2, P.shape[1] // (2 * len(frequencies))
    turned = P[:, None, :half] * G[:, :, half:] - P[:, None, half:] * G[:, :, :half]
    parts = [theta * turned[:, :, i * d : (i + 1) * d] for i, theta in enumerate(frequencies)]
    return sum(parts[1:], parts[0])


def _slope_of_sinc(t: Array, xp: Any) -> Array:
    """(t cos t − sin t)/t², by its series where the difference would cancel."""
    square = t * t
    inner = 1.0 - square / 28.0 * (1.0 - square / 54.0 * (1.0 - square / 88.0 * (1.0 - square / 130.0)))
    safe = xp.where(square < 0.25, 1.0, t)
    series = -t / 3.0 * (1.0 - square / 10.0 * inner)
    return xp.where(square < 0.25, series, (safe * xp.cos(safe) - xp.sin(safe)) / safe / safe)


class Periodic(Kernel):
    """The periodic kernel k(x, z) = exp(−2 Σ_d sin²(π(x_d − z_d)/p) / σ²).

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.
    period : float, default=1.0
        p, after which everything repeats.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=2.0)([[0.0]], [[0.5], [1.0], [2.0]]).round(4)
    array([[0.3679, 0.1353, 1.    ]])
    """

    length_scale: LengthScale = 1.0
    period: Positive = 1.0
    because = PULL_BACK + "x ↦ (cos 2πx/p, sin 2πx/p) in each coordinate"
    lemmas = (Theorem("exp(−‖u−v‖²/2σ²)", SCHOENBERG, (SQUARED_DISTANCE,)),)
    definite = Definiteness(False, "points a period apart have the same features", separates=False, positive=True)

    def formula(self, pair: Pair) -> Expression:
        """A Gaussian between points on circles."""
        return np.exp(-0.5 * pair.distance(CircleDistance, "length_scale", pair.param("period")))


class Cosine(Kernel):
    """The trigonometric kernel k(x, z) = Σ_d cos θ(x_d − z_d), with the features (cos θx_d, sin θx_d).

    Parameters
    ----------
    frequency : float, default=1.0
        θ, zero or more; with 0 the kernel is the number of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Cosine
    >>> Cosine(frequency=np.pi)([[0.0, 0.0]], [[1.0, 0.5]]).round(4)
    array([[-1.]])
    """

    frequency: NotNegative = 1.0
    because = ADDITION.because
    definite = finitely(separates=False, positive=True)

    def formula(self, pair: Pair) -> Expression:
        """Σ cos θ(x − z)."""
        frequency = pair.param("frequency")
        return pair.statistic(CircleDot, (frequency.value,), frequency)

    def feature_dim(self, d: int) -> float:
        """A cosine and a sine for each input."""
        return 2 * d


class Fourier(Kernel):
    """The kernel of φ_L, k(x, z) = Σ_{l=0}^L Σ_d cos((2πl/L)(x_d − z_d)).

    Its first term is that of φ_0, which is 1 for each coordinate.  Times 2π/L it converges to :class:`Sinc` as L grows.

    Parameters
    ----------
    order : int, default=4
        L, which makes L + 1 frequencies 2πl/L, from 0 to 2π.

    Examples
    --------
    >>> from mercer.kernels import Fourier
    >>> Fourier(order=4)([[0.0]], [[0.0], [1.0], [4.0]]).round(4)
    array([[5., 1., 5.]])
    """

    order: Natural = 4
    because = "conical sum: one cosine kernel for each frequency"
    lemmas = (ADDITION,)
    definite = finitely(separates=False, positive=True)

    @property
    def frequencies(self) -> tuple[float, ...]:
        """The L + 1 frequencies 2πl/L."""
        return tuple(2.0 * math.pi * l / int(self.order) for l in range(int(self.order) + 1))  # noqa: E741

    def formula(self, pair: Pair) -> Expression:
        """Σ cos θ(x − z) over all frequencies."""
        return pair.statistic(CircleDot, self.frequencies)

    def feature_dim(self, d: int) -> float:
        """A cosine and a sine for each frequency and input."""
        return 2 * (int(self.order) + 1) * d


SINC_NODES = 32


class Sinc(Kernel):
    """The band-limited kernel k(x, z) = Σ_d sin(2π(x_d − z_d))/(x_d − z_d), 2π for each coordinate that agrees.

    It is ∫₀^{2π} cos t(x_d − z_d) dt, the limit of ``2π/L * Fourier(L)``; Gauss–Legendre nodes give its feature map to
    rounding with few features, as many as the spread of the data asks for.

    Examples
    --------
    >>> from mercer.kernels import Sinc
    >>> Sinc()([[0.0]], [[0.0], [0.25], [0.5]]).round(4)
    array([[6.2832, 4.    , 0.    ]])
    """

    because = "limit: sin(2πt)/t = ∫₀^{2π} cos(ut) du is a limit of conical sums of cosine kernels"
    lemmas = (ADDITION,)

    def formula(self, pair: Pair) -> Expression:
        """Σ sin(2π(x − z))/(x − z)."""
        return pair.statistic(WaveSum, "sinc", (2.0 * math.pi,))

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict for one feature: an entire function has isolated zeros."""
        if d == 1:
            return strictly("the spectral density is positive on an interval, on which no Σ aᵢ exp(iωxᵢ) vanishes")
        return Definiteness(False, RECTANGLE, separates=True, positive=True)

    def feature_dim(self, d: int) -> float:
        """A cosine and a sine for each quadrature node and input, for data within a few units of each other."""
        return 2 * SINC_NODES * d
