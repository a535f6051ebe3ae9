"""The algebra: sums, multiples, products, powers, exponentials and normalisation of kernels.

Each is a small kernel that wraps others.  Its formula is the arithmetic itself, and its theorem the closure rule
that keeps positive semi-definiteness, so that the certificate of a composition is derived and never guessed.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from mercer.formula.expression import Expression
from mercer.formula.normalization import normalize_formula
from mercer.formula.pair import Pair
from mercer.formula.parameters import Finite, Natural, NotNegative, show
from mercer.formula.single import unwrap

from .base import ATOM, COMPOSE, Inner, Kernel, show_given
from .theorem import Definiteness, Theorem, finitely, of_product, of_sum, otherwise, strictly
from .value import SHALLOW

MOST_PARTS = 2**14  # of a sum or product that is balanced


def add(a: object, b: object) -> Kernel:
    """Return a + b for kernels and numbers; a number stands for the constant kernel."""
    a, b = unwrap(a), unwrap(b)
    for number, kernel in ((a, b), (b, a)):
        if isinstance(number, numbers.Real) and number == 0 and isinstance(kernel, Kernel):
            return kernel  # so that sum(kernels) works
    left, right = _as_kernel(a), _as_kernel(b)
    if left is None or right is None:
        return _refuse("added to", a, b)
    return balance(Sum(left, right))


def multiply(a: object, b: object) -> Kernel:
    """Return a · b for kernels and numbers."""
    a, b = unwrap(a), unwrap(b)
    for number, kernel in ((a, b), (b, a)):
        if isinstance(number, numbers.Real) and isinstance(kernel, Kernel):
            inner, weight = (kernel.kernel, kernel.weight) if isinstance(kernel, Scaled) else (kernel, 1.0)
            return Scaled(inner, float(number) * weight)
    if isinstance(a, Kernel) and isinstance(b, Kernel):
        return balance(Product(a, b))
    return _refuse("multiplied by", a, b)


def balance(kernel: Sum | Product) -> Kernel:
    """Return a long sum or product of kernels as one whose depth is the logarithm of its length.

    A loop over k = k + … makes a chain that is as deep as it is long; up to a depth of 64 it stays as it was written,
    and so does what has more parts than anyone writes down: k = k * k, say, doubles them each time.
    """
    if kernel.depth <= SHALLOW:
        return kernel
    kind, left = type(kernel), [cast(Kernel, kernel)]
    parts: list[Kernel] = []
    while left:
        part = left.pop()
        if isinstance(part, kind):
            left += [part.k2, part.k1]
        elif len(parts) < MOST_PARTS:
            parts.append(part)
        else:
            return kernel
    if kernel.depth <= max(part.depth for part in parts) + 2 * math.ceil(math.log2(len(parts))) + 1:
        return kernel
    while len(parts) > 1:
        parts = [kind(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def _refuse(verb: str, a: object, b: object) -> Kernel:
    """Raise for arrays and sequences, whose own operators would take over; leave other types their say."""
    other = next((value for value in (a, b) if not isinstance(value, Kernel | numbers.Real)), None)
    if isinstance(other, np.ndarray | str | bytes | list | tuple | type):
        raise TypeError(f"a kernel can be {verb} a number or another kernel, got {show_given(other)}")
    return NotImplemented


def exp(kernel: Kernel) -> Kernel:
    """Return the kernel e^k(x, z).

    Examples
    --------
    >>> from mercer.kernels import Linear, exp
    >>> exp(Linear())([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    """
    given: object = kernel
    if not isinstance(given, Kernel):
        otherwise = "" if callable(given) else "; for numbers and arrays use numpy.exp"
        raise TypeError(f"exp takes a kernel, got {show_given(given)}{otherwise}")
    return Exp(kernel)


def _as_kernel(value: object) -> Kernel | None:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real):
        number = float(value)
        return Constant(number) if number >= 0 else Scaled(Constant(-number), -1.0)
    return None


def show_operand(kernel: Kernel, precedence: int) -> str:
    """Text of an operand, in parentheses if it binds less tightly than ``precedence``."""
    text = kernel.expression()
    return f"({text})" if kernel.precedence < precedence else text


class Constant(Kernel):
    """The constant kernel k(x, z) = value, which adds a bias to every model.

    Parameters
    ----------
    value : float, default=1.0
        Zero or more.
    """

    value: NotNegative = 1.0
    because = "Σ aᵢaⱼ c = c (Σ aᵢ)² ≥ 0 for c ≥ 0"

    def formula(self, pair: Pair) -> Expression:
        """The value."""
        return pair.param("value")

    def definiteness(self, d: int | None) -> Definiteness:
        """One feature."""
        return finitely(separates=False, positive=self.value > 0)

    def feature_dim(self, d: int) -> float:
        """One constant feature."""
        return 1


class Sum(Kernel):
    """k1(x, z) + k2(x, z), written ``k1 + k2``."""

    k1: Inner
    k2: Inner
    precedence = 1
    because = "conical sum: non-negative multiples of kernels add up to a kernel"

    def formula(self, pair: Pair) -> Expression:
        """Add both formulas."""
        return pair.of("k1") + pair.of("k2")

    def terms(self) -> Iterator[tuple[float, Kernel]]:
        """Yield every term of the sum, nested sums opened, with its weight."""
        for kernel in (self.k1, self.k2):
            if isinstance(kernel, Sum):
                yield from kernel.terms()
            elif isinstance(kernel, Scaled):
                yield kernel.weight, kernel.kernel
            else:
                yield 1.0, kernel

    def definiteness(self, d: int | None) -> Definiteness:
        """One strict part suffices."""
        return of_sum(self.k1.definiteness(d), self.k2.definiteness(d), (self.k1.expression(), self.k2.expression()))

    def feature_dim(self, d: int) -> float:
        """Features side by side."""
        return self.k1.feature_dim(d) + self.k2.feature_dim(d)

    def expression(self) -> str:
        """``k1 + k2``, or ``k1 - k2`` for a negative multiple."""
        left = show_operand(self.k1, 1)
        if isinstance(self.k2, Scaled) and self.k2.weight < 0:
            return f"{left} - {show_operand(self.k2.flip(), 2)}"
        return f"{left} + {show_operand(self.k2, 2)}"


class Scaled(Kernel):
    """weight · k(x, z), written ``weight * k``; with a negative weight it may be written but is not proved."""

    kernel: Inner
    weight: Finite
    precedence = 2
    because = "non-negative multiple of a kernel"

    def formula(self, pair: Pair) -> Expression:
        """Multiply by the weight."""
        return pair.param("weight") * pair.of("kernel")

    def flip(self) -> Kernel:
        """Return the same multiple with the other sign."""
        return self.kernel if self.weight == -1 else Scaled(self.kernel, -self.weight)

    def theorem(self) -> Theorem | None:
        """Conical sum of one term."""
        return None if self.weight < 0 else super().theorem()

    def definiteness(self, d: int | None) -> Definiteness:
        """As before for a positive weight."""
        if self.weight == 0:
            return Definiteness(False, "it is 0 everywhere", separates=False)
        return self.kernel.definiteness(d).keep("positive multiples", self.kernel.expression())

    def feature_dim(self, d: int) -> float:
        """Return the dimension of the features it scales."""
        return self.kernel.feature_dim(d) if self.weight >= 0 else math.inf

    def expression(self) -> str:
        """``weight * k``."""
        return f"{show(float(self.weight))} * {show_operand(self.kernel, 3)}"


class Product(Kernel):
    """k1(x, z) · k2(x, z), written ``k1 * k2``."""

    k1: Inner
    k2: Inner
    precedence = 2
    because = "product: the entrywise product of positive semi-definite matrices is one (Schur)"

    def formula(self, pair: Pair) -> Expression:
        """Multiply both formulas."""
        return pair.of("k1") * pair.of("k2")

    def definiteness(self, d: int | None) -> Definiteness:
        """One strict part suffices beside one that is nowhere 0, or two on columns of their own."""
        parts, names = (self.k1.definiteness(d), self.k2.definiteness(d)), (self.k1.expression(), self.k2.expression())
        return of_product(*parts, names, d)

    def feature_dim(self, d: int) -> float:
        """Every product of a feature of one and a feature of the other."""
        return self.k1.feature_dim(d) * self.k2.feature_dim(d)

    def expression(self) -> str:
        """``k1 * k2``."""
        return f"{show_operand(self.k1, 2)} * {show_operand(self.k2, 3)}"


class Power(Kernel):
    """k(x, z) to a whole power, written ``k ** exponent``."""

    kernel: Inner
    exponent: Natural
    precedence = 3
    because = "power: a product of a kernel with itself (Schur)"

    def formula(self, pair: Pair) -> Expression:
        """Raise to the power."""
        return pair.of("kernel") ** self.exponent

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict as products are; odd powers φ ⊗ … ⊗ φ tell features apart, even ones not those of opposite sign."""
        inner = self.kernel.definiteness(d)
        if inner.strict or inner.separates is False or self.exponent == 1:
            return inner.keep("powers (Schur)", self.kernel.expression())
        separates = inner.separates if self.exponent % 2 == 1 else None
        return otherwise(separates, inner.positive, finite=inner.finite)

    def feature_dim(self, d: int) -> float:
        """Every monomial of that degree in the features."""
        inner = self.kernel.feature_dim(d)
        return math.comb(int(inner) + int(self.exponent) - 1, int(self.exponent)) if math.isfinite(inner) else inner

    def expression(self) -> str:
        """``k ** exponent``."""
        return f"{show_operand(self.kernel, ATOM)} ** {int(self.exponent)}"


class Exp(Kernel):
    """exp(k(x, z)), written ``exp(k)``."""

    kernel: Inner
    because = "exponential: the limit of Σ kⁿ/n!, conical sums of powers"

    def formula(self, pair: Pair) -> Expression:
        """Exponentiate."""
        return np.exp(pair.of("kernel"))

    def theorem(self) -> Theorem | None:
        """Limit of conical sums of powers; constants under the exponential only multiply."""
        terms = list(self.kernel.terms()) if isinstance(self.kernel, Sum) else []
        rest = [(weight, term) for weight, term in terms if not isinstance(term, Constant)]
        # One of the two ways only: trying both at every level would take time exponential in the depth.
        if rest and any(weight < 0 for weight, term in terms if isinstance(term, Constant)):
            because = "exponential: exp(k + c) = eᶜ exp(k), the limit of Σ kⁿ/n!, for any constant c"
            parts = [term if weight == 1 else Scaled(term, weight) for weight, term in rest]
            proved = sum(parts[1:], parts[0]).theorem()
            return None if proved is None else Theorem(repr(self), because, (proved,))
        return super().theorem()

    def definiteness(self, d: int | None) -> Definiteness:
        """A Gaussian of the features, up to a factor of x and one of z: strict where these tell points apart."""
        inner = self.kernel.definiteness(d)
        if inner.separates:
            return strictly(
                "exp(⟨u, v⟩) = exp(‖u‖²/2) exp(‖v‖²/2) exp(−‖u−v‖²/2) is a Gaussian up to factors of u and of v, and "
                "the features u and v of distinct points differ"
            )
        if inner.separates is False:
            because = inner.because or "some distinct points have the same features"
            same = replace(inner, because=because, positive=True, finite=False)
            return same.keep("exponentials", self.kernel.expression())
        return Definiteness(positive=True)

    def expression(self) -> str:
        """``exp(k)``."""
        return f"exp({self.kernel.expression()})"


class Normalized(Kernel):
    """k(x, z) / √(k(x, x) k(z, z)), written ``k.normalize()``; 0 where k(x, x) is 0."""

    kernel: Inner
    because = "normalisation: k(x,z)/√(k(x,x)k(z,z)) has the features φ(x)/‖φ(x)‖"

    def formula(self, pair: Pair) -> Expression:
        """Divide by the norms of the features."""
        return normalize_formula(pair.of("kernel"))

    def normalize(self) -> Kernel:
        """Return the kernel itself, which is normalised."""
        return self

    def definiteness(self, d: int | None) -> Definiteness:
        """As before, but features may now differ by their length no more."""
        inner = self.kernel.definiteness(d).keep("normalisation", self.kernel.expression())
        return inner if inner.strict or inner.separates is False else replace(inner, separates=None)

    def feature_dim(self, d: int) -> float:
        """As many as before."""
        return self.kernel.feature_dim(d)

    def expression(self) -> str:
        """``k.normalize()``."""
        return f"{show_operand(self.kernel, ATOM)}.normalize()"


COMPOSE.update(add=add, multiply=multiply, power=Power, exp=Exp, normalize=Normalized)
