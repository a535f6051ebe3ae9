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

import numpy as np

from mercer.formula.data import Rows, length

from .interval import DIGITS, Interval
from .layout import number
from .values import ULPS, UNSEEN, Enclosed, MatrixValues, Values, entry_sizes, shaken
from .verdict import Refuted

SHAKES = (2.0**-48, 2.0**-48, 2.0**-40, 2.0**-30, 2.0**-22)  # relative; the last is seen even through float32
SPREAD = 16  # how many times the largest jump under shaking is added to the bound


def quadratic_form(K: np.ndarray, a: np.ndarray) -> float:
    """Σ aᵢaⱼKᵢⱼ, summed without further rounding."""
    return math.fsum((np.outer(a, a) * K).ravel())


def granted_error(K: np.ndarray, a: np.ndarray, epsilon: float) -> float:
    """Return the error of Σ aᵢaⱼKᵢⱼ if each value errs by many units in the last place of its Cauchy–Schwarz bound."""
    weights = np.abs(np.outer(a, a))
    return ULPS * epsilon * float((weights * entry_sizes(K)).sum()) + 1e-290 * float(weights.sum())


def confirm(values: Values, points: Rows, a: np.ndarray, floor: float = 0.0) -> Refuted | None:
    """Return the refutation by Σ aᵢaⱼ k(xᵢ, xⱼ) < 0, or None if rounding could explain the sum.

    Parameters
    ----------
    values : Values
        The function.
    points : collection
        The n points.
    a : array of shape (n,)
        Their coefficients.
    floor : float
        An error to grant in addition.
    """
    try:
        K = values.gram(points)
        value = quadratic_form(K, a)
        bound = granted_error(K, a, values.epsilon) + floor
        if value >= -bound:
            return None
        enclosure = _enclosed_form(values.enclosed(points), a)
        if enclosure is not None:
            return None if enclosure.high >= 0 else _surely_negative(values, points, a, K, enclosure)
        found = _confirm_otherwise(values, points, a, K, bound)
        # Where large numbers cancelled on the way, the bound is too small; intervals see that.
        enclosure = None if found is None else _enclosed_form(values.roughly_enclosed(points), a)
        return None if enclosure is not None and enclosure.high >= 0 else found
    except (ArithmeticError, ValueError):
        return None  # shaken points may leave the domain of the function


def _confirm_otherwise(values: Values, points: Rows, a: np.ndarray, K: np.ndarray, bound: float) -> Refuted | None:
    """Return the refutation by a function that nobody can look into, if it stands up to all doubts."""
    value = quadratic_form(K, a)
    bound += SPREAD * _noise(values, points, lambda G: quadratic_form(G, a), value)
    if value >= -bound:
        return None
    exact = _exact_form(values, points, a)
    if exact is not None:
        if exact >= 0:
            return None
        return _refuted(values, points, a, K, _below_zero(exact), 0.0, _exact_check(exact))
    extended = values.extended(points)
    if extended is None:
        bound = max(bound, granted_error(K, a, UNSEEN))
        return _refuted(values, points, a, K, value, bound, _float64_check(value, bound)) if value < -bound else None
    better = float((np.outer(a, a).astype(np.longdouble) * extended).sum())
    if not (better < -bound and abs(better - value) <= bound):
        return None
    return _refuted(values, points, a, K, better, bound, _extended_check(better, bound))


def confirm_exactly(values: MatrixValues, rows: np.ndarray, a: np.ndarray) -> Refuted | None:
    """Return the refutation of a matrix by some of its rows, where the matrix itself is taken to be exact."""
    a = a / np.abs(a).max()
    exact = _exact_form(values, rows, a)
    if exact is None or exact >= 0:
        return None
    return _refuted(values, rows, a, values.gram(rows), _below_zero(exact), 0.0, _exact_check(exact))


def confirm_asymmetry(values: Values, points: Rows) -> Refuted | None:
    """Return the refutation by k(x, z) ≠ k(z, x) for two points, or None if rounding could explain the difference."""
    try:
        K = values.gram(points)
        gap = float(K[0, 1] - K[1, 0])
        bound = granted_error(K, np.ones(2), values.epsilon)
        if abs(gap) > bound:
            bound += SPREAD * _noise(values, points, lambda G: float(G[0, 1] - G[1, 0]), gap)
        if abs(gap) <= bound:
            return None
        extended = values.extended(points)
    except (ArithmeticError, ValueError):
        return None
    if extended is None:
        bound = max(bound, granted_error(K, np.ones(2), UNSEEN))
        check = _float64_check(gap, bound)
        if abs(gap) <= bound:
            return None
    else:
        better = float(extended[0, 1] - extended[1, 0])
        if abs(better - gap) > bound:
            return None
        gap, check = better, _extended_check(better, bound)
    reason = (
        f"It is not symmetric: k(x₁, x₂) = {number(K[0, 1])} but k(x₂, x₁) = {number(K[1, 0])}, and an inner product "
        f"does not depend on the order. The value {number(-abs(gap))} is minus the difference of the two."
    )
    return Refuted(points, np.ones(2), -abs(gap), bound, reason, check, K, values.name, symmetric=False)


def _noise(values: Values, points: Rows, form: Callable[[np.ndarray], float], value: float) -> float:
    """Return how much a form of the Gram matrix jumps when the points are shaken.

    A smooth change cancels between a step to one side and the same step to the other; rounding errors do not.
    """
    rng = np.random.default_rng(0)
    largest = 0.0
    for amplitude in SHAKES:
        moved = shaken(points, rng, amplitude)
        if moved is None:
            return 0.0
        largest = max(largest, abs(form(values.gram(moved[0])) + form(values.gram(moved[1])) - 2 * value))
        if SPREAD * largest >= abs(value):
            break  # enough to doubt it
    return largest


def _exact_form(values: Values, points: Rows, a: np.ndarray) -> Fraction | None:
    K = values.exact(points)
    if K is None:
        return None
    weights = [Fraction(float(c)) for c in a]
    return sum(
        (weights[i] * weights[j] * K[i][j] for i in range(length(points)) for j in range(length(points))), Fraction(0)
    )


def _enclosed_form(K: Enclosed | None, a: np.ndarray) -> Interval | None:
    if K is None:
        return None
    weights = [Interval.of(Fraction(float(c))) for c in a]
    pairs = itertools.product(range(len(weights)), repeat=2)
    return sum((weights[i] * weights[j] * K[i][j] for i, j in pairs), Interval.of(Fraction(0)))


def _surely_negative(values: Values, points: Rows, a: np.ndarray, K: np.ndarray, enclosure: Interval) -> Refuted:
    exact = _exact_form(values, points, a)
    if exact is not None:
        return _refuted(values, points, a, K, _below_zero(exact), 0.0, _exact_check(exact))
    value = _below_zero(enclosure.middle)
    return _refuted(values, points, a, K, value, enclosure.width, _enclosed_check(value, enclosure.width))


def _refuted(
    values: Values, points: Rows, a: np.ndarray, K: np.ndarray, value: float, bound: float, check: str
) -> Refuted:
    return Refuted(points, a, value, bound, _reason(K, a, value), check, K, values.name)


def _reason(K: np.ndarray, a: np.ndarray, value: float) -> str:
    shown = number(value)
    if len(a) == 1:
        return f"k(x₁, x₁) = {shown} is negative, but a kernel gives the squared length ‖φ(x₁)‖² there."
    text = f"At these points Σ aᵢaⱼ k(xᵢ, xⱼ) = {shown} < 0, but a kernel gives ‖Σ aᵢφ(xᵢ)‖² ≥ 0."
    if len(a) == 2 and min(K[0, 0], K[1, 1]) >= 0:
        first, both, second = (Fraction(float(entry)) for entry in (K[0, 0], K[0, 1], K[1, 1]))
        square, product = number(both**2), number(first * second)
        if square != product:
            text += (
                f" (Two points suffice: k(x₁, x₂)² = {square} is more than k(x₁, x₁) k(x₂, x₂) = {product}, "
                "against Cauchy–Schwarz.)"
            )
    return text


def _below_zero(value: Fraction | float) -> float:
    """Return the nearest float that is finite and negative."""
    try:
        return max(min(float(value), -math.ulp(0.0)), -sys.float_info.max)
    except OverflowError:
        return -sys.float_info.max


def _exact_check(value: Fraction) -> str:
    # Floats such as 0.1 are fractions with a large power of two below, which nobody wants to read.
    short = value.numerator.bit_length() + value.denominator.bit_length() <= 72
    shown = f"it is exactly {value}".replace("-", "−") if short else f"it is {number(value)}"
    return f"The value was checked in exact rational arithmetic: {shown}, with no rounding error at all."


def _enclosed_check(value: float, width: float) -> str:
    return (
        f"The value was enclosed by interval arithmetic with {DIGITS} digits: it is {number(value)}, and no rounding "
        f"error is larger than {number(width)}."
    )


def _extended_check(value: float, bound: float) -> str:
    return (
        f"The value was computed in float64, where rounding can account for at most {number(bound)}, and checked "
        f"in extended precision, which gives {number(value)}."
    )


def _float64_check(value: float, bound: float) -> str:
    return (
        f"The value was computed in float64, where rounding can account for at most {number(bound)} of "
        f"{number(abs(value))}."
    )
