"""Weighted sums of Gaussians with exact weights and widths, and their spectrum to as many digits as it takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.formula.parameters import is_vector
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian

from .layout import number

DIGITS = 60  # of logarithms; what is closer to 0 than a third of them can tell is decided by fractions or not at all
EXACT_BITS = 2**21  # of powers that are computed as fractions
SLOWEST = 1e-280  # decays relative to the fastest below which floats would lose digits


@dataclass(frozen=True)
class Mixture:
    """Σ wᵢ exp(−tᵢr²/2) with exact weights wᵢ and precisions tᵢ, all different, for points with ``dim`` features."""

    weights: tuple[Fraction, ...]
    precisions: tuple[Fraction, ...]
    dim: int

    @classmethod
    def of(cls, terms: Iterable[tuple[Fraction, tuple[Fraction, ...]]], dim: int) -> Mixture | None:
        """Return the mixture of weighted Gaussians, or None if they are not all of the same shape.

        A precision is one for all features or one for each.  Gaussians with a length scale for each feature count as
        of the same shape if their length scales are multiples of each other: dividing each feature by its own makes
        all of them isotropic.
        """
        total: dict[Fraction, Fraction] = {}
        base: tuple[Fraction, ...] | None = None
        for weight, precision in terms:
            shape = precision[:1] if len(set(precision)) == 1 else precision
            if len(shape) not in (1, dim):
                return None
            base = shape if base is None else base
            ratio = shape[0] / base[0]
            if len(shape) != len(base) or any(p != ratio * b for p, b in zip(shape, base, strict=True)):
                return None
            total[shape[0]] = total.get(shape[0], Fraction(0)) + weight
        kept = {t: w for t, w in sorted(total.items()) if w != 0}
        return cls(tuple(kept.values()), tuple(kept), dim)

    def signs(self) -> np.ndarray:
        """Return the signs of the terms."""
        return np.array([1.0 if w > 0 else -1.0 for w in self.weights])

    def logs(self) -> np.ndarray:
        """Return log |wᵢ| tᵢ^(−d/2), less the largest of them, each to a unit in the last place."""
        with localcontext(self._context()):
            logs = self._logs()
            return np.array([float(log - max(logs)) for log in logs])

    def decays(self) -> np.ndarray | None:
        """Return how much faster than the slowest each term of g decays, in units of the largest such difference.

        None if they are so different that floats cannot hold all of them to full precision.
        """
        rates = self._rates()
        fastest = max(rates, default=Fraction(0)) or Fraction(1)
        decays = np.array([float(rate / fastest) for rate in rates])
        return None if any(rate and decay < SLOWEST for rate, decay in zip(rates, decays, strict=True)) else decays

    def unit(self) -> Fraction:
        """Return the unit of u = ω² in which the fastest of :meth:`decays` is 1."""
        return 1 / (max(self._rates(), default=Fraction(0)) or Fraction(1))

    def sign_at_zero(self) -> int | None:
        """Return the sign of g(0), or None if neither digits nor fractions decide it."""
        with localcontext(self._context()):
            logs = self._logs()
            terms = [(log - max(logs)).exp() * (1 if w > 0 else -1) for log, w in zip(logs, self.weights, strict=True)]
            total = sum(terms, Decimal(0))
            if abs(total) > len(terms) * Decimal(10) ** (-DIGITS * 2 // 3):
                return 1 if total > 0 else -1
        powers = [self._power(self.precisions[0] / t) for t in self.precisions]
        if any(power is None for power in powers):
            return None
        exact = sum((w * p for w, p in zip(self.weights, powers, strict=True) if p is not None), Fraction(0))
        return (exact > 0) - (exact < 0)

    def spectrum_text(self) -> str:
        """Return g as text, the slowest term first."""
        terms = sorted(zip((1 / (2 * t) for t in self.precisions), self._coefficients(), self.weights, strict=True))
        text = " ".join(f"{'−' if w < 0 else '+'} {number(c, 7)}·exp(−{number(rate, 7)}u)" for rate, c, w in terms)
        return text.removeprefix("+ ")

    def _rates(self) -> list[Fraction]:
        slowest = max(self.precisions, default=Fraction(1))
        return [(1 / t - 1 / slowest) / 2 for t in self.precisions]

    def _coefficients(self) -> list[Decimal]:
        with localcontext(self._context()):
            return [log.exp() for log in self._logs()]

    def _logs(self) -> list[Decimal]:
        return [
            _log(abs(w)) - Decimal(self.dim) / 2 * _log(t) for w, t in zip(self.weights, self.precisions, strict=True)
        ]

    def _context(self) -> Context:
        # The logarithms and exponentials of decimals are correctly rounded.
        digits = DIGITS + len(str(self.dim))
        return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation, DivisionByZero])

    def _power(self, ratio: Fraction) -> Fraction | None:
        """ratio^(d/2) if it is rational and not too long."""
        if max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) * self.dim > EXACT_BITS:
            return None
        if self.dim % 2 == 0:
            return ratio ** (self.dim // 2)
        above, below = math.isqrt(ratio.numerator), math.isqrt(ratio.denominator)
        rational = above**2 == ratio.numerator and below**2 == ratio.denominator
        return Fraction(above, below) ** self.dim if rational else None


def precision_of(atoms: Iterable[tuple[Kernel, int]], dim: int) -> tuple[Fraction, ...] | None:
    """Return 1/σ² of a product of Gaussians, or None if another kernel is among the factors.

    One number stands for all features if no factor has a length scale for each.
    """
    common = Fraction(0)
    own: list[Fraction] = []
    for kernel, multiplicity in atoms:
        if type(kernel) is not Gaussian:
            return None
        scale: Any = kernel.length_scale
        if not is_vector(scale):
            common += multiplicity / Fraction(float(scale)) ** 2
            continue
        if len(scale) != dim:
            return None
        own = own or [Fraction(0)] * dim
        own = [p + multiplicity / Fraction(float(s)) ** 2 for p, s in zip(own, scale, strict=True)]
    total = tuple(common + p for p in own or [Fraction(0)])
    return total if any(total) else None


def to_float(value: Fraction) -> float:
    """Return the nearest float, infinity for what is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _log(value: Fraction) -> Decimal:
    return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()
