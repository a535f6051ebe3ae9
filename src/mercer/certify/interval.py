"""Intervals of decimals: arithmetic whose results surely contain the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DecimalException
from fractions import Fraction

import numpy as np

from mercer.formula.bessel import matern_profile

DIGITS = 60  # enough to see a violation through the cancellation of numbers a trillion trillion times as large
_DOWN, _UP = (
    Context(prec=DIGITS, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN) for rounding in (ROUND_FLOOR, ROUND_CEILING)
)
_ZERO, _ONE = Decimal(0), Decimal(1)


BESSEL = 1e-9  # error granted to Bessel functions, which are computed in float64


class TooWideError(ArithmeticError):
    """Nothing is known about a result, such as of a division by what may be zero."""


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``.

    Examples
    --------
    >>> third = Interval.of(Fraction(1, 3))
    >>> third.low < third.high, (third + third.exp()).contains(Fraction(17, 10))
    (True, False)
    """

    low: Decimal
    high: Decimal

    @classmethod
    def of(cls, value: Fraction) -> Interval:
        """Enclose a fraction."""
        above, below = Decimal(value.numerator), Decimal(value.denominator)
        return cls(_DOWN.divide(above, below), _UP.divide(above, below))

    @classmethod
    def around(cls, value: float, error: float) -> Interval:
        """Enclose what was computed with some error."""
        return cls(_DOWN.subtract(Decimal(value), Decimal(error)), _UP.add(Decimal(value), Decimal(error)))

    @property
    def middle(self) -> float:
        """A float in the middle."""
        return float(_UP.add(self.low, self.high)) / 2

    @property
    def width(self) -> float:
        """How far apart both ends are, at most."""
        return float(_UP.subtract(self.high, self.low))

    def contains(self, value: Fraction) -> bool:
        """Whether a fraction lies inside."""
        return Fraction(self.low) <= value <= Fraction(self.high)

    def __add__(self, other: Interval) -> Interval:
        return Interval(_DOWN.add(self.low, other.low), _UP.add(self.high, other.high))

    def __mul__(self, other: Interval) -> Interval:
        if self.low >= 0 and other.low >= 0:
            return Interval(_DOWN.multiply(self.low, other.low), _UP.multiply(self.high, other.high))
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(_DOWN.multiply(a, b) for a, b in pairs), max(_UP.multiply(a, b) for a, b in pairs))

    def exp(self) -> Interval:
        """Return the exponential."""
        return self._increasing(Context.exp)

    def log(self) -> Interval:
        """Return the natural logarithm."""
        if self.low <= 0:
            raise TooWideError
        return self._increasing(Context.ln)

    def sqrt(self) -> Interval:
        """Return the square root, 0 for what is negative."""
        positive = self.positive_part()
        return positive if positive.high == 0 else positive._increasing(Context.sqrt).positive_part()

    def positive_part(self) -> Interval:
        """max(a, 0)."""
        return Interval(max(self.low, _ZERO), max(self.high, _ZERO))

    def reciprocal(self) -> Interval:
        """1 / a, and 0 for what is exactly 0, as kernels define it."""
        if self.low == 0 == self.high:
            return self
        if self.low <= 0 <= self.high:
            raise TooWideError
        return Interval(_DOWN.divide(_ONE, self.high), _UP.divide(_ONE, self.low))

    def power(self, exponent: int) -> Interval:
        """Return a whole power."""
        if exponent % 2 == 0 and self.low < 0:
            # Copied signs, because a minus would round to whatever precision is set outside.
            least = _ZERO if self.high >= 0 else self.high.copy_negate()
            return Interval(least, max(self.low.copy_negate(), self.high)).power(exponent)
        result, square = Interval(_ONE, _ONE), self
        while exponent:
            if exponent % 2:
                result = result * square
            exponent //= 2
            square = square * square if exponent else square
        return result

    def tanh(self) -> Interval:
        """1 − 2/(1 + e^(2a))."""
        two, one = Interval(Decimal(2), Decimal(2)), Interval(_ONE, _ONE)
        low, high = (((two * Interval(end, end)).exp() + one).reciprocal() for end in (self.low, self.high))
        minus_two = Interval(Decimal(-2), Decimal(-2))
        return Interval((one + minus_two * low).low, (one + minus_two * high).high)

    def _increasing(self, function: Callable[[Context, Decimal], Decimal]) -> Interval:
        # Functions of decimals err by at most half a unit, so the neighbours on both sides enclose the result.
        try:
            return Interval(_DOWN.next_minus(function(_DOWN, self.low)), _UP.next_plus(function(_UP, self.high)))
        except DecimalException as error:
            raise TooWideError from error


def _bessel(a: Interval, exponent: float, order: float) -> Interval:
    """Enclose the profile of a Matérn kernel, which decreases from 1 to 0."""
    if exponent != order:
        raise TooWideError  # a derivative
    ends = np.array([float(a.high), float(a.low)])
    least, most = matern_profile(np.maximum(ends, 0.0), order)
    return Interval(Interval.around(least, BESSEL * least).low, Interval.around(most, BESSEL * most).high)


OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": Interval.__add__,
    "mul": Interval.__mul__,
    "exp": Interval.exp,
    "log": Interval.log,
    "log1p": lambda a: (a + Interval(_ONE, _ONE)).log(),
    "tanh": Interval.tanh,
    "sqrt": Interval.sqrt,
    "recip": Interval.reciprocal,
    "powi": lambda a, exponent: a.power(int(exponent)),
    "bessel": _bessel,
    "pow": lambda a, exponent: (a.positive_part().log() * Interval.of(Fraction(exponent))).exp(),
}
