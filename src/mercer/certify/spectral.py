"""Sums and differences of Gaussians, decided by their spectrum in a known number of dimensions.

By Bochner's theorem k(x − z) is a kernel exactly if its Fourier transform is nowhere negative.  The transform of
Σ wᵢ exp(−tᵢr²/2) on ℝᵈ is, up to a constant, g(u) = Σ wᵢ tᵢ^(−d/2) exp(−u/2tᵢ) with u = ω² ≥ 0.  Each term is
monotone in u, so intervals of u give rigorous lower bounds: positive terms are least at the right end, negative ones at
the left end.  Far out the term that decays most slowly outweighs all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mercer.kernels.theorem import Theorem

from .clock import UNHURRIED, Clock
from .layout import number
from .mixture import Mixture, to_float

SLACK = 16 * float(np.finfo(np.float64).eps)  # granted to every operation, each of which errs by at most 4 units
MOST_INTERVALS = 20_000
FURTHEST = 1e290  # beyond that products of frequencies and decays might overflow


@dataclass(frozen=True)
class Enclosure:
    """A proof of g ≥ 0: by its slope on [0, start], on some intervals of [start, end], and by the tail beyond."""

    start: float
    intervals: int
    end: float

    def reason(self, mixture: Mixture) -> str:
        """Return the proof in words."""
        start, end = (number(mixture.unit() * Fraction(u)) for u in (self.start, self.end))
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


def spectral_theorem(claim: str, mixture: Mixture, clock: Clock) -> Theorem | None:
    """Return the proof that a mixture of Gaussians is a kernel on points with ``mixture.dim`` features."""
    enclosure = nonnegative_spectrum(mixture, clock)
    if enclosure is None:
        return None
    space = "ℝ" if mixture.dim == 1 else f"ℝ{_superscript(mixture.dim)}"
    return Theorem(
        claim,
        f"spectrum: its Fourier transform on {space} is a positive multiple of g(ω²), nowhere negative (Bochner)",
        (Theorem(f"g(u) = {mixture.spectrum_text()} ≥ 0 for all u ≥ 0", enclosure.reason(mixture)),),
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

    def slope(self) -> LogSum:
        """Return −d/du of the sum."""
        moving = self.decays > 0
        return LogSum(self.logs[moving] + np.log(self.decays[moving]), self.decays[moving])


def nonnegative_spectrum(mixture: Mixture, clock: Clock = UNHURRIED) -> Enclosure | None:
    """Prove that g ≥ 0 on [0, ∞), or return None.

    All bounds are for g(u) exp(u/2t) with the largest t, whose terms do not grow and whose last term is constant.
    Frequencies are measured in ``mixture.unit()``, so that the fastest decay is 1.
    """
    signs, logs, decays = mixture.signs(), mixture.logs(), mixture.decays()
    if decays is None or len(signs) == 0 or signs[-1] < 0:  # the last term has the largest precision: it decides
        return None
    positive, negative = (LogSum(logs[signs == s], decays[signs == s]) for s in (1, -1))
    if len(negative.logs) == 0:
        return Enclosure(0.0, 0, 0.0)
    end = _outweighed(negative, float(logs[-1]))
    if end is None:
        return None
    for start in (0.0, _rising(mixture, positive, negative, end)):
        intervals = _subdivide(positive, negative, start, end, clock)
        if intervals is not None:
            return Enclosure(start, intervals, end)
    return None


def _outweighed(negative: LogSum, last: float) -> float | None:
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


def _subdivide(positive: LogSum, negative: LogSum, start: float, end: float, clock: Clock) -> int | None:
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


def _rising(mixture: Mixture, positive: LogSum, negative: LogSum, end: float) -> float:
    """Return how far g ≥ 0 follows from g(0) ≥ 0 and a positive slope, which covers spectra that start at 0."""
    at_zero = mixture.sign_at_zero()
    if at_zero is None or at_zero < 0:
        return 0.0
    fall = positive.slope().bound(np.zeros(1), 1)[0]
    stretch = end
    for _ in range(60):
        if negative.slope().bound(np.array([stretch]), -1)[0] > fall:
            return stretch
        stretch /= 2
    return 0.0


def telling_frequency(mixture: Mixture) -> float | None:
    """Return a frequency ω at which the spectrum is negative, relative to its terms as clearly as possible."""
    signs, logs, decays = mixture.signs(), mixture.logs(), mixture.decays()
    if decays is None or not (signs < 0).any():
        return None
    u = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 400)])
    exponents = logs - np.outer(u, decays)
    terms = signs * np.exp(exponents - exponents.max(axis=1, keepdims=True))
    relative = terms.sum(axis=1) / np.abs(terms).sum(axis=1)
    # The spectrum itself must not have died out where it is probed.
    alive = u * to_float(mixture.unit() / (2 * max(mixture.precisions))) < -math.log(1e-6)
    best = int(np.argmin(np.where(alive | (u == 0), relative, np.inf)))
    return math.sqrt(u[best]) * math.sqrt(to_float(mixture.unit())) if relative[best] < -1e-9 else None


def spacings_for(mixture: Mixture) -> tuple[float, ...]:
    """Return grid spacings that see the frequency at which the spectrum is negative, in two digits."""
    frequency = telling_frequency(mixture)
    if frequency is None:
        return ()
    widths = [math.sqrt(to_float(1 / t)) for t in mixture.precisions]
    found = [1.2 * width for width in widths] + [0.8 * max(widths)]
    if frequency > 0:
        found = [math.pi / frequency, 0.7 * math.pi / frequency, *found]
    return tuple(dict.fromkeys(float(f"{h:.2g}") for h in found if math.isfinite(h) and 1e-6 < h < 1e6))


def _superscript(n: int) -> str:
    return str(n).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
