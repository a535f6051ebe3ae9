"""Kernels that are sums: over features with a scale each, over interactions of features, and over frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.expression import Const, Expression, Param, Stat
from mercer.formula.notation.tree import (
    ONE,
    PI,
    Apply,
    Node,
    Number,
    exponential,
    given,
    minus,
    power,
    scale_at,
    sum_coordinates,
    times,
)
from mercer.formula.pair import Pair
from mercer.formula.parameters import LengthScale, Natural, Positive, check_length_scale
from mercer.formula.statistics import CoordinateSum, Dot, ScaledDistance, SquaredDistance

from ..base import Kernel
from ..dot import Linear
from ..radial import Gaussian
from ..theorem import RECTANGLE, Definiteness, finitely, strictly
from ..trigonometric import ADDITION, CircleDot
from .paths import check_line

UNIT = Param("length_scale", 1.0)


@dataclass(frozen=True)
class ScaledDot(ScaledDistance):
    """Σ_d x_d z_d / σ_d²."""

    native = "dot"
    degree = "product"
    takes_sparse = True
    order = 2
    block = Dot.block
    diag = Dot.diag
    apart = Dot.apart
    rise = Dot.rise
    slope = Dot.slope
    weigh_slopes = Dot.weigh_slopes

    def notation(self, x: Node, z: Node) -> Node:
        """xᵀz, or the sum over coordinates where each has a scale."""
        if not self.scale:
            return Dot(self.view, self.owner).notation(x, z)
        scales = tuple(param.value for param in self.scale)
        return sum_coordinates(lambda a, b, d: times(a, b, power(scale_at(scales, d), -2.0)), x, z)


class WeightedLinear(Kernel):
    """The linear kernel with a scale for each feature, k(x, z) = Σ_d x_d z_d / σ_d².

    Features with a large scale do not matter; learned scales (``KernelRidgeCV(length_scales="auto")``) say which.

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        σ, or one for each feature.

    Examples
    --------
    >>> from mercer.kernels import WeightedLinear
    >>> WeightedLinear([1.0, 2.0])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    length_scale: LengthScale = 1.0
    because = "pull-back: the linear kernel of x_d/σ_d"
    lemmas = (Linear().theorem(),)
    definite = finitely(separates=True, positive=False)

    def formula(self, pair: Pair) -> Expression:
        """Σ x z / σ²."""
        return pair.distance(ScaledDot, "length_scale")


@dataclass(frozen=True)
class BellSum(CoordinateSum):
    """Σ_d t_d^2p exp(−t_d²/2) with t_d = (x_d − z_d)/σ."""

    scale: Param = UNIT
    moment: int = 0  # p: 1 in the derivative by the length scale
    centred = True
    direct_form = True

    def notation(self, x: Node, z: Node) -> Node:
        """Σ exp(−(x − z)²/2σ²)."""

        def term(a: Node, b: Node, d: Node | None) -> Node:
            if a == b:
                return ONE
            return exponential(times(Number(-0.5), power(minus(a, b), 2.0), power(Number(self.scale.value), -2.0)))

        return sum_coordinates(term, x, z)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The bell of one coordinate."""
        square = ((a - b) / self.scale.value) ** 2
        return square**self.moment * np.exp(-0.5 * square)

    def apart(self, A: Any, B: Any) -> np.ndarray:
        """2 Σ (1 − exp(−t²/2))."""
        if self.moment:
            return super().apart(A, B)
        falls = (-np.expm1(-0.5 * ((A[:, d, None] - B[None, :, d]) / self.scale.value) ** 2) for d in range(A.shape[1]))
        return 2.0 * sum(falls, np.zeros((len(A), len(B)), dtype=A.dtype))

    def slope(self, a: Array, b: Array) -> Array:
        """−t/σ exp(−t²/2)."""
        t = (a - b) / self.scale.value
        return -t / self.scale.value * namespace(a).exp(-0.5 * t * t)

    def parameters(self) -> tuple[Param, ...]:
        """Return the length scale."""
        return (self.scale,)

    def log_derivative(self, name: str) -> Expression:
        """Σ t² exp(−t²/2)."""
        return Stat(replace(self, moment=1)) if name == self.scale.name and not self.moment else Const(0.0)


class Anova(Kernel):
    """The ANOVA kernel k(x, z) = (Σ_d exp(−(x_d − z_d)²/2σ²))^q: a sum of smooth functions of up to q features each.

    Parameters
    ----------
    degree : int, default=2
        q, how many features act together.
    length_scale : float, default=1.0
        σ.

    Examples
    --------
    >>> from mercer.kernels import Anova
    >>> Anova(degree=2)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 9.0]]).round(4)
    array([[4., 1.]])
    """

    degree: Natural = 2
    length_scale: Positive = 1.0
    because = "power of a conical sum: one Gaussian kernel for each feature"
    lemmas = (Gaussian().theorem(),)

    def formula(self, pair: Pair) -> Expression:
        """(Σ exp(−t²/2))^q."""
        return pair.statistic(BellSum, pair.param("length_scale")) ** int(self.degree)

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict for one feature, and for as many as act together."""
        if d is not None and d <= self.degree:
            return strictly("the power holds a multiple of the Gaussian of all features, which is strict (Bochner)")
        if self.degree == 1:
            return Definiteness(False, RECTANGLE, separates=True, positive=True)
        return Definiteness(None, separates=True, positive=True)


@dataclass(frozen=True)
class LineWave(CircleDot):
    """cos θ(x − z) of points with one feature."""

    def notation(self, x: Node, z: Node) -> Node:
        """Cos 2πf(x − z)."""
        if x == z or not self.frequencies[0]:
            return ONE
        turn = times(Number(2.0), PI, given(round(self.frequencies[0] / (2.0 * math.pi), 12)))
        return Apply("cos", (times(turn, minus(x, z)),))

    def check(self, A: Any) -> None:
        """Raise on more than one column."""
        check_line(A, self.owner)


def check_numbers(kernel: object, name: str) -> None:
    """Raise unless a parameter is a list of numbers, none below 0."""
    try:
        values = np.asarray(getattr(kernel, name), dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(
            f"{type(kernel).__name__}: {name} must be a list of numbers that are not negative, one for each component, "
            f"got {getattr(kernel, name)!r}"
        )


def check_scales(kernel: object, name: str) -> None:
    """Raise unless a parameter is a list of positive numbers."""
    check_numbers(kernel, name)
    check_length_scale(kernel, name)


Numbers = Annotated[Sequence[float] | np.ndarray, check_numbers]
Scales = Annotated[Sequence[float] | np.ndarray, check_scales]


class SpectralMixture(Kernel):
    """The spectral mixture k(x, z) = Σ_q w_q exp(−(x − z)²/2σ_q²) cos 2πf_q(x − z) of points with one feature.

    Its spectrum is a mixture of bells around the frequencies f_q with widths 1/2πσ_q, which comes near that of any
    stationary kernel.  For several columns multiply kernels on each.  See Wilson and Adams, ICML (2013).

    Parameters
    ----------
    weights : sequence of floats, default=(1.0,)
        w_q, the share of each component.
    frequencies : sequence of floats, default=(1.0,)
        f_q, in periods for each unit of x.
    length_scales : sequence of floats, default=(1.0,)
        σ_q, over which waves stay in step.

    Examples
    --------
    >>> from mercer.kernels import SpectralMixture
    >>> SpectralMixture([2.0, 1.0], [0.5, 0.0], [4.0, 1.0])([[0.0]], [[0.0], [1.0], [2.0]]).round(4)
    array([[ 3.    , -1.3319,  1.9003]])
    """

    weights: Numbers = (1.0,)
    frequencies: Numbers = (1.0,)
    length_scales: Scales = (1.0,)
    because = "conical sum: each component is a product of a Gaussian and a cosine, with a positive spectrum (Bochner)"
    lemmas = (Gaussian().theorem(), ADDITION)

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = [len(np.atleast_1d(part)) for part in (self.weights, self.frequencies, self.length_scales)]
        if len(set(counts)) != 1:
            raise ValueError(
                f"SpectralMixture: each component has a weight, a frequency and a length scale, got {counts[0]}, "
                f"{counts[1]} and {counts[2]} of them"
            )

    def formula(self, pair: Pair) -> Expression:
        """Σ w exp(−s/2σ²) cos."""
        square = pair.statistic(SquaredDistance)
        total: Expression = Const(0.0)
        parts = zip(*(pair.params(name) for name in ("weights", "frequencies", "length_scales")), strict=True)
        for weight, frequency, scale in parts:
            wave = pair.statistic(LineWave, (2.0 * math.pi * frequency.value,), frequency)
            total = total + weight * np.exp(-0.5 * square * scale**-2.0) * wave
        return total

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict if a component has a weight."""
        if np.any(np.asarray(self.weights, dtype=float) > 0):
            return strictly("the spectral density is positive everywhere (Bochner)")
        return Definiteness(False, "it is 0 everywhere")
