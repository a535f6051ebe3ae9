"""Checking a suspected violation: points and coefficients become evidence only beyond every rounding error.

Never calling a true kernel refuted matters more than finding every violation.  Where a formula is known, intervals that
contain the exact value decide.  Elsewhere the bound on rounding errors is generous, the points are shaken to see errors
no formula for the bound knows of (such as those of ‖x‖² + ‖z‖² − 2xᵀz far from the origin, or of float32 inside the
function), and where possible the value is computed again in better arithmetic.  Where it is not, nobody knows how the
function computes, and errors of single precision are granted.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from mercer.formula.data import Rows

from .interval import DIGITS, Interval
from .layout import format_number, to_float
from .values import ULPS, UNSEEN, MatrixValues, PointValues, bound_sizes
from .verdict import Refuted

SHAKES = (2.0**-48, 2.0**-48, 2.0**-40, 2.0**-30, 2.0**-22)  # relative; the last is seen even through float32
SPREAD = 16  # how many times the largest jump under shaking is added to the bound
T = TypeVar("T", Fraction, Interval)


def compute_form(K: np.ndarray, a: np.ndarray) -> float:
    """Return Σ aᵢaⱼKᵢⱼ, summed without further rounding."""
    terms = np.outer(a, a) * K
    return float(terms.sum()) if terms.dtype == np.longdouble else math.fsum(terms.ravel())


def compute_granted_error(K: np.ndarray, a: np.ndarray, epsilon: float) -> float:
    """Return the error of Σ aᵢaⱼKᵢⱼ if each value errs by many units in the last place of its Cauchy–Schwarz bound."""
    weights = np.abs(np.outer(a, a))
    return ULPS * epsilon * float((weights * bound_sizes(K)).sum()) + 1e-290 * float(weights.sum())


def confirm(values: PointValues, points: Rows, a: np.ndarray, floor: float = 0.0) -> Refuted | None:
    """Return the refutation by Σ aᵢaⱼ k(xᵢ, xⱼ) < 0, or None if rounding or an error of ``floor`` could explain it."""
    try:
        K = values.gram(points)
        value = compute_form(K, a)
        bound = compute_granted_error(K, a, values.epsilon) + floor
        if value >= -bound:
            return None
        enclosure = _sum_exactly(values.enclosed(points), a, Interval.of)
        if enclosure is not None:
            if enclosure.high >= 0:
                return None
            middle, width = _force_below_zero(enclosure.middle), enclosure.width
            check = (
                f"The value was enclosed by interval arithmetic with {DIGITS} digits: it is {format_number(middle)}, "
                f"and no rounding error is larger than {format_number(width)}."
            )
            return _refute_exactly(values, points, a, K) or _refute(values, points, a, K, middle, width, check)
        bound += SPREAD * _measure_noise(values, points, lambda G: compute_form(G, a), value)
        if value >= -bound:
            return None
        exact = values.exact(points)
        if exact is not None:
            found = _refute_exactly(values, points, a, K, exact)
        else:
            again = _check_again(values, points, K, a, lambda G: compute_form(G, a), lambda form: -form, bound)
            found = None if again is None else _refute(values, points, a, K, *again)
        # Where large numbers cancelled on the way, the bound is too small; intervals see that.
        enclosure = None if found is None else _sum_exactly(values.enclosed(points, rough=True), a, Interval.of)
        return None if enclosure is not None and enclosure.high >= 0 else found
    except (ArithmeticError, ValueError):
        return None  # shaken points may leave the domain of the function


def confirm_exactly(values: MatrixValues, rows: np.ndarray, a: np.ndarray) -> Refuted | None:
    """Return the refutation of a matrix by some of its rows, where the matrix itself is taken to be exact."""
    return _refute_exactly(values, rows, a / np.abs(a).max(), values.gram(rows))


def confirm_asymmetry(values: PointValues, points: Rows) -> Refuted | None:
    """Return the refutation by k(x, z) ≠ k(z, x) for two points, or None if rounding could explain the difference."""

    def compute_gap(G: np.ndarray) -> float:
        return float(G[0, 1] - G[1, 0])

    try:
        K = values.gram(points)
        gap, a = compute_gap(K), np.ones(2)
        bound = compute_granted_error(K, a, values.epsilon)
        if abs(gap) > bound:
            bound += SPREAD * _measure_noise(values, points, compute_gap, gap)
        again = _check_again(values, points, K, a, compute_gap, abs, bound) if abs(gap) > bound else None
    except (ArithmeticError, ValueError):
        return None
    if again is None:
        return None
    gap, bound, check = again
    reason = (
        f"It is not symmetric: k(x₁, x₂) = {format_number(K[0, 1])} but k(x₂, x₁) = {format_number(K[1, 0])}, and an "
        f"inner product does not depend on the order. The value {format_number(-abs(gap))} is minus the difference of "
        "the two."
    )
    return Refuted(points, a, -abs(gap), bound, reason, check, K, values.name, symmetric=False)


def _check_again(
    values: PointValues,
    points: Rows,
    K: np.ndarray,
    a: np.ndarray,
    form: Callable[[np.ndarray], float],
    excess: Callable[[float], float],
    bound: float,
) -> tuple[float, float, str] | None:
    """Return a form of K in extended precision or as it is, its error, and how it was checked, if it is beyond that."""
    value = form(K)
    extended = values.extended(points)
    if extended is None:
        bound = max(bound, compute_granted_error(K, a, UNSEEN))
        check = f" of {format_number(abs(value))}."
    else:
        if abs(form(extended) - value) > bound:
            return None
        value = form(extended)
        check = f", and checked in extended precision, which gives {format_number(value)}."
    check = f"The value was computed in float64, where rounding can account for at most {format_number(bound)}{check}"
    return (value, bound, check) if excess(value) > bound else None


def _measure_noise(values: PointValues, points: Rows, form: Callable[[np.ndarray], float], value: float) -> float:
    """Return how much a form of the Gram matrix jumps when the points are shaken.

    A smooth change cancels between a step to one side and the same step to the other; rounding errors do not.
    """
    rng = np.random.default_rng(0)
    largest = 0.0
    for amplitude in SHAKES:
        moved = shake(points, rng, amplitude)
        if moved is None:
            return 0.0
        largest = max(largest, abs(form(values.gram(moved[0])) + form(values.gram(moved[1])) - 2 * value))
        if SPREAD * largest >= abs(value):
            break  # enough to doubt it
    return largest


def shake(points: Rows, factors: np.random.Generator, amplitude: float) -> tuple[Rows, Rows] | None:
    """Move points a little to both sides, or return None if they are not made of floats.

    Every coordinate is multiplied by 1 + δ and 1 − δ with a random |δ| ≤ amplitude.  Equal coordinates move together,
    zeros stay and signs are kept, so that what a function sees as equal, absent or positive remains so.
    """
    if isinstance(points, np.ndarray):
        if points.dtype.kind != "f":
            return None
        values, inverse = np.unique(points, return_inverse=True)
        step = factors.uniform(-amplitude, amplitude, len(values))
        inverse = inverse.reshape(points.shape)
        there, back = ((values * (1.0 + side * step)).astype(points.dtype)[inverse] for side in (1, -1))
        there.flags.writeable = back.flags.writeable = False  # or a function could change the evidence
        return there, back
    if not all(isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f") for x in points):
        return None
    flat = shake(np.concatenate([np.ravel(x) for x in points]), factors, amplitude)
    return None if flat is None else (_cut_like(points, flat[0]), _cut_like(points, flat[1]))


def _cut_like(points: Rows, flat: np.ndarray) -> list[Any]:
    """Cut a flat array into numbers and arrays of the points' shapes."""
    parts = np.split(flat, np.cumsum([np.size(x) for x in points])[:-1])
    pairs = zip(points, parts, strict=True)
    return [float(part[0]) if isinstance(x, float) else part.reshape(x.shape) for x, part in pairs]


def _sum_exactly(K: list[list[T]] | None, a: np.ndarray, lift: Callable[[Fraction], T]) -> T | None:
    """Return Σ aᵢaⱼKᵢⱼ in the arithmetic of the values."""
    if K is None:
        return None
    weights = [lift(Fraction(float(c))) for c in a]
    pairs = itertools.product(range(len(weights)), repeat=2)
    return sum((weights[i] * weights[j] * K[i][j] for i, j in pairs), lift(Fraction(0)))


def _refute_exactly(
    values: PointValues, points: Rows, a: np.ndarray, K: np.ndarray, exact: list[list[Fraction]] | None = None
) -> Refuted | None:
    value = _sum_exactly(values.exact(points) if exact is None else exact, a, Fraction)
    if value is None or value >= 0:
        return None
    # Floats such as 0.1 are fractions with a large power of two below, which nobody wants to read.
    short = value.numerator.bit_length() + value.denominator.bit_length() <= 72
    shown = f"it is exactly {value}".replace("-", "−") if short else f"it is {format_number(value)}"
    check = f"The value was checked in exact rational arithmetic: {shown}, with no rounding error at all."
    return _refute(values, points, a, K, _force_below_zero(value), 0.0, check)


def _refute(
    values: PointValues, points: Rows, a: np.ndarray, K: np.ndarray, value: float, bound: float, check: str
) -> Refuted:
    shown = format_number(value)
    if len(a) == 1:
        reason = f"k(x₁, x₁) = {shown} is negative, but a kernel gives the squared length ‖φ(x₁)‖² there."
        return Refuted(points, a, value, bound, reason, check, K, values.name)
    reason = f"At these points Σ aᵢaⱼ k(xᵢ, xⱼ) = {shown} < 0, but a kernel gives ‖Σ aᵢφ(xᵢ)‖² ≥ 0."
    if len(a) == 2 and min(K[0, 0], K[1, 1]) >= 0:
        first, both, second = (Fraction(float(entry)) for entry in (K[0, 0], K[0, 1], K[1, 1]))
        square, product = format_number(both**2), format_number(first * second)
        if square != product:
            reason += (
                f" (Two points suffice: k(x₁, x₂)² = {square} is more than k(x₁, x₁) k(x₂, x₂) = {product}, "
                "against Cauchy–Schwarz.)"
            )
    return Refuted(points, a, value, bound, reason, check, K, values.name)


def _force_below_zero(value: Fraction | float) -> float:
    """Return the nearest float that is finite and negative."""
    return max(min(to_float(value), -math.ulp(0.0)), -sys.float_info.max)
