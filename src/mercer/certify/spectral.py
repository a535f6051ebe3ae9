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
from fractions import Fraction

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.parameters import is_vector
from mercer.kernels.radial import Gaussian
from mercer.kernels.theorem import Theorem

from .layout import number

ROUNDING = 1e-12  # relative error granted to each computed term, thousands of units in the last place
MOST_INTERVALS = 20_000


@dataclass(frozen=True)
class Mixture:
    """Σ wᵢ exp(−tᵢr²/2) with exact weights wᵢ and precisions tᵢ, all different, for points with ``dim`` features."""

    weights: tuple[Fraction, ...]
    precisions: tuple[Fraction, ...]
    dim: int

    @classmethod
    def of(cls, terms: Iterable[tuple[Fraction, tuple[Fraction, ...]]], dim: int) -> Mixture | None:
        """Return the mixture of weighted Gaussians, or None if they are not all of the same shape.

        Gaussians with a length scale for each feature count as of the same shape if their length scales are multiples
        of each other: dividing each feature by its own makes all of them isotropic.
        """
        total: dict[Fraction, Fraction] = {}
        base: tuple[Fraction, ...] | None = None
        for weight, precision in terms:
            if len(precision) != dim:
                return None
            base = precision if base is None else base
            ratio = precision[0] / base[0]
            if any(p != ratio * b for p, b in zip(precision, base, strict=True)):
                return None
            total[precision[0]] = total.get(precision[0], Fraction(0)) + weight
        kept = {t: w for t, w in sorted(total.items()) if w != 0}
        return cls(tuple(kept.values()), tuple(kept), dim)

    def coefficients(self) -> np.ndarray:
        """Return wᵢ tᵢ^(−d/2)."""
        return np.array([float(w) * float(t) ** (-self.dim / 2) for w, t in self._terms()])

    def decays(self) -> np.ndarray:
        """Return how much faster than the slowest each term of g decays, ½(1/tᵢ − 1/t_max)."""
        slowest = max(self.precisions)
        return np.array([float((1 / t - 1 / slowest) / 2) for t in self.precisions])

    def at_zero(self) -> Fraction | None:
        """Return g(0) exactly, or None if it holds irrational roots."""
        powers = [_power(t, self.dim) for t in self.precisions]
        if any(p is None for p in powers):
            return None
        return sum((w / p for w, p in zip(self.weights, powers, strict=True) if p is not None), Fraction(0))

    def _terms(self) -> Iterable[tuple[Fraction, Fraction]]:
        return zip(self.weights, self.precisions, strict=True)


def precision_of(atoms: Iterable[tuple[Kernel, int]], dim: int) -> tuple[Fraction, ...] | None:
    """Return 1/σ² for each feature of a product of Gaussians, or None if another kernel is among the factors."""
    total = [Fraction(0)] * dim
    for kernel, multiplicity in atoms:
        if type(kernel) is not Gaussian:
            return None
        scale = kernel.length_scale
        scales = [float(s) for s in scale] if is_vector(scale) else [float(scale)] * dim
        if len(scales) != dim:
            return None
        total = [p + multiplicity / Fraction(s) ** 2 for p, s in zip(total, scales, strict=True)]
    return tuple(total) if any(total) else None


@dataclass(frozen=True)
class Enclosure:
    """A proof of g ≥ 0: by its slope on [0, start], on some intervals of [start, end], and by the tail beyond."""

    start: float
    intervals: int
    end: float

    def reason(self, at_zero: float) -> str:
        """Return the proof in words."""
        reasons = []
        if self.start > 0:
            reasons.append(
                f"g(0) = {number(at_zero)}, and up to u = {number(self.start)} the negative terms fade faster"
            )
        if self.intervals:
            pieces = "on" if self.intervals == 1 else f"on each of {self.intervals} intervals that cover"
            reasons.append(
                f"{pieces} [{number(self.start)}, {number(self.end)}] the positive terms at the right end outweigh the "
                "negative ones at the left end"
            )
        reasons.append("beyond that the term that decays most slowly is positive and outweighs all negative ones")
        return "interval arithmetic: " + "; ".join(reasons)


def spectral_theorem(claim: str, mixture: Mixture) -> Theorem | None:
    """Return the proof that a mixture of Gaussians is a kernel on points with ``mixture.dim`` features."""
    enclosure = nonnegative_spectrum(mixture)
    if enclosure is None:
        return None
    space = "ℝ" if mixture.dim == 1 else f"ℝ{_superscript(mixture.dim)}"
    return Theorem(
        claim,
        f"spectrum: its Fourier transform on {space} is a positive multiple of g(ω²), nowhere negative (Bochner)",
        (
            Theorem(
                f"g(u) = {_spectrum_text(mixture)} ≥ 0 for all u ≥ 0",
                enclosure.reason(float(mixture.coefficients().sum())),
            ),
        ),
    )


def nonnegative_spectrum(mixture: Mixture) -> Enclosure | None:
    """Prove that g ≥ 0 on [0, ∞), or return None.

    All bounds are for g(u) exp(u/2t) with the largest t, whose terms do not grow and whose last term is constant.
    """
    c, decay = mixture.coefficients(), mixture.decays()
    if not (len(c) and np.isfinite(c).all() and np.isfinite(decay).all() and c.all()):
        return None
    if c[-1] < 0 or np.ptp(np.log(np.abs(c))) > 500:  # the last term has the largest precision: it decides far out
        return None
    positive, negative = np.maximum(c, 0), np.maximum(-c, 0)
    if not negative.any():
        return Enclosure(0.0, 0, 0.0)
    end = 1.0 / decay[decay > 0].min()
    for _ in range(200):
        if (negative * np.exp(-decay * end)).sum() <= c[-1] * (1 - 1e-9):
            break
        end *= 1.25
    else:
        return None
    for start in (0.0, _rising(mixture, positive, negative, decay, end)):
        intervals = _subdivide(positive, negative, decay, start, end)
        if intervals is not None:
            return Enclosure(start, intervals, float(end))
    return None


def _subdivide(positive: np.ndarray, negative: np.ndarray, decay: np.ndarray, start: float, end: float) -> int | None:
    """Return how many intervals prove that the positive terms outweigh the negative ones between start and end."""
    left, right = np.array([start]), np.array([end])
    done = 0
    while len(left) and start < end:
        if done + len(left) > MOST_INTERVALS:
            return None
        least = np.exp(-np.outer(right, decay)) @ positive * (1 - ROUNDING)
        most = np.exp(-np.outer(left, decay)) @ negative * (1 + ROUNDING)
        middle = (left + right) / 2
        if (np.exp(-np.outer(middle, decay)) @ (positive - negative) < 0).any():
            return None
        undecided = least < most
        done += int((~undecided).sum())
        left, middle, right = left[undecided], middle[undecided], right[undecided]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return done


def _rising(mixture: Mixture, positive: np.ndarray, negative: np.ndarray, decay: np.ndarray, end: float) -> float:
    """Return how far g ≥ 0 follows from g(0) ≥ 0 and a positive slope, which covers spectra that start at 0."""
    at_zero = mixture.at_zero()
    if at_zero is None or at_zero < 0:
        return 0.0
    stretch = end
    for _ in range(60):
        rise = (negative * decay * np.exp(-decay * stretch)).sum() * (1 - ROUNDING)
        fall = (positive * decay).sum() * (1 + ROUNDING)
        if rise > fall:
            return stretch
        stretch /= 2
    return 0.0


def telling_frequency(mixture: Mixture) -> float | None:
    """Return a frequency ω at which the spectrum is negative, relative to its terms as clearly as possible."""
    c, decay = mixture.coefficients(), mixture.decays()
    if not (len(c) and np.isfinite(c).all()) or not (c < 0).any():
        return None
    scale = 1.0 / max(float(decay.max()), 1e-300)
    u = np.concatenate([[0.0], scale * np.geomspace(1e-3, 1e4, 400)])
    terms = np.exp(-np.outer(u, decay)) * c
    relative = terms.sum(axis=1) / np.abs(terms).sum(axis=1)
    # The spectrum itself must not have died out where it is probed.
    alive = np.exp(-u / (2 * float(max(mixture.precisions)))) > 1e-6
    best = int(np.argmin(np.where(alive, relative, np.inf)))
    return math.sqrt(u[best]) if relative[best] < -1e-9 else None


def spacings_for(mixture: Mixture) -> tuple[float, ...]:
    """Return grid spacings that see the frequency at which the spectrum is negative, in two digits."""
    frequency = telling_frequency(mixture)
    if frequency is None:
        return ()
    widths = [1.0 / math.sqrt(float(t)) for t in mixture.precisions]
    found = [1.2 * width for width in widths] + [0.8 * max(widths)]
    if frequency > 0:
        found = [math.pi / frequency, 0.7 * math.pi / frequency, *found]
    return tuple(dict.fromkeys(float(f"{h:.2g}") for h in found if math.isfinite(h) and 1e-6 < h < 1e6))


def _power(t: Fraction, dim: int) -> Fraction | None:
    """t^(d/2) if it is rational."""
    if dim % 2 == 0:
        return t ** (dim // 2)
    above, below = math.isqrt(t.numerator), math.isqrt(t.denominator)
    root = Fraction(above, below) if above**2 == t.numerator and below**2 == t.denominator else None
    return None if root is None else root**dim


def _spectrum_text(mixture: Mixture) -> str:
    rates = [float(1 / (2 * t)) for t in mixture.precisions]
    terms = sorted(zip(rates, mixture.coefficients(), strict=True))
    text = " ".join(f"{'−' if c < 0 else '+'} {abs(c):.7g}·exp(−{rate:.7g}u)" for rate, c in terms)
    return text.removeprefix("+ ")


def _superscript(n: int) -> str:
    return str(n).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
