"""Sums and differences of Gaussians, decided by their spectrum in a known number of dimensions.

By Bochner's theorem k(x − z) is a kernel exactly if its Fourier transform is nowhere negative.  The transform of
Σ wᵢ exp(−tᵢr²/2) on ℝᵈ is, up to a constant, g(u) = Σ wᵢ tᵢ^(−d/2) exp(−u/2tᵢ) with u = ω² ≥ 0.  Each term is
monotone in u, so intervals of u give rigorous lower bounds: positive terms are least at the right end, negative ones at
the left end.  Far out the term that decays most slowly outweighs all others.
"""

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
from mercer.kernels.theorem import Theorem

from .clock import UNHURRIED, ProofClock
from .layout import format_number, raise_digits, to_float

SLACK = 16 * float(np.finfo(np.float64).eps)  # granted to every operation, each of which errs by at most 4 units
MOST_INTERVALS = 20_000
FURTHEST = 1e290  # beyond that products of frequencies and decays might overflow
DIGITS = 60  # of logarithms; what is closer to 0 than a third of them can tell is decided by fractions or not at all
EXACT_BITS = 2**21  # of powers that are computed as fractions
SLOWEST = 1e-280  # decays relative to the fastest below which floats would lose digits

Precision = tuple[Fraction, ...]  # 1/σ², one for all features or one for each


@dataclass(frozen=True)
class Mixture:
    """Σ wᵢ exp(−tᵢr²/2) with exact weights wᵢ and precisions tᵢ, all different, for points with ``dim`` features."""

    weights: tuple[Fraction, ...]
    precisions: tuple[Fraction, ...]
    dim: int

    @classmethod
    def of(cls, terms: Iterable[tuple[Fraction, Precision]], dim: int) -> Mixture | None:
        """Return the mixture of weighted Gaussians, or None if they are not all of the same shape.

        Gaussians with a length scale for each feature count as of the same shape if their length scales are multiples
        of each other: dividing each feature by its own makes all of them isotropic.
        """
        total: dict[Fraction, Fraction] = {}
        base: Precision | None = None
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

    @property
    def signs(self) -> np.ndarray:
        """The signs of the terms."""
        return np.array([1.0 if w > 0 else -1.0 for w in self.weights])

    @property
    def logs(self) -> np.ndarray:
        """The log |wᵢ| tᵢ^(−d/2), less the largest of them, each to a unit in the last place."""
        with localcontext(self._context()):
            logs = self._compute_logs()
            return np.array([float(log - max(logs)) for log in logs])

    @property
    def decays(self) -> np.ndarray | None:
        """How much faster than the slowest each term of g decays, in units of the largest such difference.

        None if they are so different that floats cannot hold all of them to full precision.
        """
        rates, unit = self._compute_rates(), self.unit
        decays = np.array([float(rate * unit) for rate in rates])
        return None if any(rate and decay < SLOWEST for rate, decay in zip(rates, decays, strict=True)) else decays

    @property
    def unit(self) -> Fraction:
        """The unit of u = ω² in which the fastest of the decays is 1."""
        return 1 / (max(self._compute_rates(), default=Fraction(0)) or Fraction(1))

    def find_sign_at_zero(self) -> int | None:
        """Return the sign of g(0), or None if neither digits nor fractions decide it."""
        with localcontext(self._context()):
            logs = self._compute_logs()
            terms = [(log - max(logs)).exp() * (1 if w > 0 else -1) for log, w in zip(logs, self.weights, strict=True)]
            total = sum(terms, Decimal(0))
            if abs(total) > len(terms) * Decimal(10) ** (-DIGITS * 2 // 3):
                return 1 if total > 0 else -1
        exact = Fraction(0)
        for weight, precision in zip(self.weights, self.precisions, strict=True):
            power = self._raise(self.precisions[0] / precision)
            if power is None:
                return None
            exact += weight * power
        return (exact > 0) - (exact < 0)

    def format_spectrum(self) -> str:
        """Return g as text, the slowest term first."""
        with localcontext(self._context()):
            sizes = [log.exp() for log in self._compute_logs()]
        terms = sorted(zip((1 / (2 * t) for t in self.precisions), sizes, self.weights, strict=True))
        text = " ".join(
            f"{'−' if w < 0 else '+'} {format_number(c, 7)}·exp(−{format_number(rate, 7)}u)" for rate, c, w in terms
        )
        return text.removeprefix("+ ")

    def _compute_rates(self) -> list[Fraction]:
        slowest = max(self.precisions, default=Fraction(1))
        return [(1 / t - 1 / slowest) / 2 for t in self.precisions]

    def _compute_logs(self) -> list[Decimal]:
        half = Decimal(self.dim) / 2
        return [_log(abs(w)) - half * _log(t) for w, t in zip(self.weights, self.precisions, strict=True)]

    def _context(self) -> Context:
        # The logarithms and exponentials of decimals are correctly rounded.
        digits = DIGITS + len(str(self.dim))
        return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation, DivisionByZero])

    def _raise(self, ratio: Fraction) -> Fraction | None:
        """ratio^(d/2) if it is rational and not too long."""
        if max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) * self.dim > EXACT_BITS:
            return None
        if self.dim % 2 == 0:
            return ratio ** (self.dim // 2)
        above, below = math.isqrt(ratio.numerator), math.isqrt(ratio.denominator)
        rational = above**2 == ratio.numerator and below**2 == ratio.denominator
        return Fraction(above, below) ** self.dim if rational else None


def _log(value: Fraction) -> Decimal:
    return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def find_precision(atoms: Iterable[tuple[Kernel, int]], dim: int) -> Precision | None:
    """Return 1/σ² of a product of Gaussians, or None if another kernel is among the factors."""
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


@dataclass(frozen=True)
class Enclosure:
    """A proof of g ≥ 0: by its slope on [0, start], on some intervals of [start, end], and by the tail beyond."""

    start: float
    intervals: int
    end: float

    def explain(self, mixture: Mixture) -> str:
        """Return the proof in words."""
        start, end = (format_number(mixture.unit * Fraction(u)) for u in (self.start, self.end))
        reasons = []
        if self.start > 0:
            reasons.append(f"g(0) ≥ 0, and up to u = {start} the negative terms fade faster")
        if self.intervals:
            pieces = "on" if self.intervals == 1 else f"on each of {self.intervals} intervals that cover"
            reasons.append(
                f"{pieces} [{start}, {end}] the positive terms at the right end outweigh the negative ones at the left "
                "end"
            )
        reasons.append(
            f"from u = {end} on the term that decays most slowly is positive and outweighs all negative ones"
        )
        return "interval arithmetic: " + "; ".join(reasons)


def prove_by_spectrum(claim: str, mixture: Mixture, clock: ProofClock) -> Theorem | None:
    """Return the proof that a mixture of Gaussians is a kernel on points with ``mixture.dim`` features."""
    enclosure = enclose_spectrum(mixture, clock)
    if enclosure is None:
        return None
    space = "ℝ" if mixture.dim == 1 else f"ℝ{raise_digits(mixture.dim)}"
    return Theorem(
        claim,
        f"spectrum: its Fourier transform on {space} is a positive multiple of g(ω²), nowhere negative (Bochner)",
        (Theorem(f"g(u) = {mixture.format_spectrum()} ≥ 0 for all u ≥ 0", enclosure.explain(mixture)),),
    )


@dataclass(frozen=True)
class LogSum:
    """Σ exp(aᵢ − dᵢu), bounded through its logarithm, in which nothing overflows and nothing underflows."""

    logs: np.ndarray
    decays: np.ndarray

    def bound(self, u: np.ndarray, side: float) -> np.ndarray:
        """Return what the logarithm at each u is surely not below (side −1) or not above (side 1)."""
        if len(self.logs) == 0:
            return np.full(len(u), -np.inf)
        fall = np.outer(u, self.decays)
        terms = self.logs - fall + side * SLACK * (np.abs(self.logs) + fall + 1)
        top = terms.max(axis=1)
        result = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        return np.asarray(result + side * SLACK * (len(self.logs) + np.abs(result) + 1))

    def differentiate(self) -> LogSum:
        """Return −d/du of the sum."""
        moving = self.decays > 0
        return LogSum(self.logs[moving] + np.log(self.decays[moving]), self.decays[moving])


def enclose_spectrum(mixture: Mixture, clock: ProofClock = UNHURRIED) -> Enclosure | None:
    """Prove that g ≥ 0 on [0, ∞), or return None.

    All bounds are for g(u) exp(u/2t) with the largest t, whose terms do not grow and whose last term is constant.
    Frequencies are measured in ``mixture.unit``, so that the fastest decay is 1.
    """
    signs, logs, decays = mixture.signs, mixture.logs, mixture.decays
    if decays is None or len(signs) == 0 or signs[-1] < 0:  # the last term has the largest precision: it decides
        return None
    positive, negative = (LogSum(logs[signs == s], decays[signs == s]) for s in (1, -1))
    if len(negative.logs) == 0:
        return Enclosure(0.0, 0, 0.0)
    end = _find_tail(negative, float(logs[-1]))
    if end is None:
        return None
    for start in (0.0, _find_rise(mixture, positive, negative, end)):
        intervals = _subdivide(positive, negative, start, end, clock)
        if intervals is not None:
            return Enclosure(start, intervals, end)
    return None


def _find_tail(negative: LogSum, last: float) -> float | None:
    """Return from where on the constant term is surely more than all negative ones."""
    needed = (negative.logs + math.log(len(negative.logs)) - last) / negative.decays
    end = max(0.0, float(needed.max()))
    for _ in range(200):
        if end > FURTHEST:
            return None
        if negative.bound(np.array([end]), 1)[0] <= last - SLACK * (abs(last) + 1):
            return end
        end = 1.25 * end + 1e-3
    return None


def _subdivide(positive: LogSum, negative: LogSum, start: float, end: float, clock: ProofClock) -> int | None:
    """Return how many intervals prove that the positive terms outweigh the negative ones between start and end."""
    left, right = np.array([start]), np.array([end])
    done = 0
    while len(left) and start < end:
        clock.check()
        if done + len(left) > MOST_INTERVALS:
            return None
        middle = left / 2 + right / 2
        if (positive.bound(middle, 1) < negative.bound(middle, -1)).any():
            return None
        undecided = ~(positive.bound(right, -1) >= negative.bound(left, 1))
        done += int((~undecided).sum())
        left, middle, right = left[undecided], middle[undecided], right[undecided]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return done


def _find_rise(mixture: Mixture, positive: LogSum, negative: LogSum, end: float) -> float:
    """Return how far g ≥ 0 follows from g(0) ≥ 0 and a positive slope, which covers spectra that start at 0."""
    at_zero = mixture.find_sign_at_zero()
    if at_zero is None or at_zero < 0:
        return 0.0
    fall = positive.differentiate().bound(np.zeros(1), 1)[0]
    stretch = end
    for _ in range(60):
        if negative.differentiate().bound(np.array([stretch]), -1)[0] > fall:
            return stretch
        stretch /= 2
    return 0.0


def find_telling_frequency(mixture: Mixture) -> float | None:
    """Return a frequency ω at which the spectrum is negative, relative to its terms as clearly as possible."""
    signs, logs, decays = mixture.signs, mixture.logs, mixture.decays
    if decays is None or not (signs < 0).any():
        return None
    u = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 400)])
    exponents = logs - np.outer(u, decays)
    terms = signs * np.exp(exponents - exponents.max(axis=1, keepdims=True))
    relative = terms.sum(axis=1) / np.abs(terms).sum(axis=1)
    # The spectrum itself must not have died out where it is probed.
    alive = u * to_float(mixture.unit / (2 * max(mixture.precisions))) < -math.log(1e-6)
    best = int(np.argmin(np.where(alive | (u == 0), relative, np.inf)))
    return math.sqrt(u[best]) * math.sqrt(to_float(mixture.unit)) if relative[best] < -1e-9 else None


def suggest_spacings(mixture: Mixture) -> tuple[float, ...]:
    """Return grid spacings that see the frequency at which the spectrum is negative, in two digits."""
    frequency = find_telling_frequency(mixture)
    if frequency is None:
        return ()
    widths = [math.sqrt(to_float(1 / t)) for t in mixture.precisions]
    found = [1.2 * width for width in widths] + [0.8 * max(widths)]
    if frequency > 0:
        found = [math.pi / frequency, 0.7 * math.pi / frequency, *found]
    return tuple(dict.fromkeys(float(f"{h:.2g}") for h in found if math.isfinite(h) and 1e-6 < h < 1e6))
