"""The algebra: sums, multiples, products, powers, exponentials and normalisation of kernels.

Each is a small kernel that wraps others.  Its formula is the arithmetic itself, and its theorem the closure rule
that keeps positive semi-definiteness, so that the certificate of a composition is derived and never guessed.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import cast

import numpy as np

from mercer.formula.expression import Expression
from mercer.formula.normalization import normalised
from mercer.formula.pair import Pair
from mercer.formula.parameters import check_finite, check_integer, check_positive, show

from .base import ATOM, COMPOSE, Kernel
from .theorem import Theorem
from .value import SHALLOW

MOST_PARTS = 2**14  # of a sum or product that is balanced


def plus(a: object, b: object) -> Kernel:
    """Return a + b for kernels and numbers; a number stands for the constant kernel."""
    if isinstance(a, numbers.Real) and a == 0 and isinstance(b, Kernel):
        return b  # so that sum(kernels) works
    if isinstance(b, numbers.Real) and b == 0 and isinstance(a, Kernel):
        return a
    left, right = _as_kernel(a), _as_kernel(b)
    if left is None or right is None:
        return _refuse("added to", a, b)
    return balanced(Sum(left, right))


def times(a: object, b: object) -> Kernel:
    """Return a · b for kernels and numbers."""
    for number, kernel in ((a, b), (b, a)):
        if isinstance(number, numbers.Real) and isinstance(kernel, Kernel):
            inner, weight = (kernel.kernel, kernel.weight) if isinstance(kernel, Scaled) else (kernel, 1.0)
            return Scaled(inner, float(number) * weight)
    if isinstance(a, Kernel) and isinstance(b, Kernel):
        return balanced(Product(a, b))
    return _refuse("multiplied by", a, b)


def balanced(kernel: Sum | Product) -> Kernel:
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
    other = b if isinstance(a, Kernel) else a
    if isinstance(other, np.ndarray | str | bytes | list | tuple):
        raise TypeError(f"a kernel can be {verb} a number or another kernel, got {other!r}")
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
    if not isinstance(kernel, Kernel):
        raise TypeError(f"exp takes a kernel, got {kernel!r}; for numbers and arrays use numpy.exp")
    return Exp(kernel)


def _as_kernel(value: object) -> Kernel | None:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real):
        number = float(value)
        return Constant(number) if number >= 0 else Scaled(Constant(-number), -1.0)
    return None


def check_kernels(kernel: Kernel, *names: str) -> None:
    """Raise unless the parameters named are kernels."""
    for name in names:
        value = getattr(kernel, name)
        if not isinstance(value, Kernel):
            raise TypeError(f"{type(kernel).__name__}: {name} must be a kernel, got {value!r}")


def inside(kernel: Kernel, precedence: int) -> str:
    """Text of an operand, in parentheses if it binds less tightly than ``precedence``."""
    text = kernel.expression()
    return f"({text})" if kernel.precedence < precedence else text


def _closure(kernel: Kernel, rule: str, *parts: Theorem | None) -> Theorem | None:
    proved = tuple(part for part in parts if part is not None)
    return Theorem(repr(kernel), rule, proved) if len(proved) == len(parts) else None


class Constant(Kernel):
    """The constant kernel k(x, z) = value, which adds a bias to every model.

    Parameters
    ----------
    value : float, default=1.0
        Zero or more.
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, "value", allow_zero=True)

    def formula(self, pair: Pair) -> Expression:
        """The value."""
        return pair.param("value")

    def theorem(self) -> Theorem:
        """A square of a number."""
        return Theorem(repr(self), "Σ aᵢaⱼ c = c (Σ aᵢ)² ≥ 0 for c ≥ 0")

    def feature_dim(self, d: int) -> float:
        """One constant feature."""
        return 1


class Sum(Kernel):
    """k1(x, z) + k2(x, z), written ``k1 + k2``."""

    k1: Kernel
    k2: Kernel
    precedence = 1

    def __post_init__(self) -> None:
        check_kernels(self, "k1", "k2")

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

    def theorem(self) -> Theorem | None:
        """Conical sum."""
        return _closure(
            self, "conical sum: non-negative multiples of kernels add up to a kernel",
            self.k1.theorem(), self.k2.theorem(),
        )  # fmt: skip

    def feature_dim(self, d: int) -> float:
        """Features side by side."""
        return self.k1.feature_dim(d) + self.k2.feature_dim(d)

    def expression(self) -> str:
        """``k1 + k2``, or ``k1 - k2`` for a negative multiple."""
        left = inside(self.k1, 1)
        if isinstance(self.k2, Scaled) and self.k2.weight < 0:
            return f"{left} - {inside(self.k2.flipped(), 2)}"
        return f"{left} + {inside(self.k2, 2)}"


class Scaled(Kernel):
    """weight · k(x, z), written ``weight * k``; with a negative weight it may be written but is not proved."""

    kernel: Kernel
    weight: float
    precedence = 2

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")
        check_finite(self, "weight")

    def formula(self, pair: Pair) -> Expression:
        """Multiply by the weight."""
        return pair.param("weight") * pair.of("kernel")

    def flipped(self) -> Kernel:
        """Return the same multiple with the other sign."""
        return self.kernel if self.weight == -1 else Scaled(self.kernel, -self.weight)

    def theorem(self) -> Theorem | None:
        """Conical sum of one term."""
        if self.weight < 0:
            return None
        return _closure(self, "non-negative multiple of a kernel", self.kernel.theorem())

    def feature_dim(self, d: int) -> float:
        """Return the dimension of the features it scales."""
        return self.kernel.feature_dim(d) if self.weight >= 0 else math.inf

    def expression(self) -> str:
        """``weight * k``."""
        return f"{show(float(self.weight))} * {inside(self.kernel, 3)}"


class Product(Kernel):
    """k1(x, z) · k2(x, z), written ``k1 * k2``."""

    k1: Kernel
    k2: Kernel
    precedence = 2

    def __post_init__(self) -> None:
        check_kernels(self, "k1", "k2")

    def formula(self, pair: Pair) -> Expression:
        """Multiply both formulas."""
        return pair.of("k1") * pair.of("k2")

    def theorem(self) -> Theorem | None:
        """Schur product."""
        return _closure(
            self, "product: the entrywise product of positive semi-definite matrices is one (Schur)",
            self.k1.theorem(), self.k2.theorem(),
        )  # fmt: skip

    def feature_dim(self, d: int) -> float:
        """Every product of a feature of one and a feature of the other."""
        return self.k1.feature_dim(d) * self.k2.feature_dim(d)

    def expression(self) -> str:
        """``k1 * k2``."""
        return f"{inside(self.k1, 2)} * {inside(self.k2, 3)}"


class Power(Kernel):
    """k(x, z) to a whole power, written ``k ** exponent``."""

    kernel: Kernel
    exponent: int
    precedence = 3

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")
        check_integer(self, "exponent", 1)

    def formula(self, pair: Pair) -> Expression:
        """Raise to the power."""
        return pair.of("kernel") ** self.exponent

    def theorem(self) -> Theorem | None:
        """Repeated product."""
        return _closure(self, "power: a product of a kernel with itself (Schur)", self.kernel.theorem())

    def feature_dim(self, d: int) -> float:
        """Every monomial of that degree in the features."""
        inner = self.kernel.feature_dim(d)
        return math.comb(int(inner) + int(self.exponent) - 1, int(self.exponent)) if math.isfinite(inner) else inner

    def expression(self) -> str:
        """``k ** exponent``."""
        return f"{inside(self.kernel, ATOM)} ** {int(self.exponent)}"


class Exp(Kernel):
    """exp(k(x, z)), written ``exp(k)``."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")

    def formula(self, pair: Pair) -> Expression:
        """Exponentiate."""
        return np.exp(pair.of("kernel"))

    def theorem(self) -> Theorem | None:
        """Limit of conical sums of powers; constants under the exponential only multiply."""
        terms = list(self.kernel.terms()) if isinstance(self.kernel, Sum) else []
        rest = [(weight, term) for weight, term in terms if not isinstance(term, Constant)]
        # One of the two ways only: trying both at every level would take time exponential in the depth.
        if rest and any(weight < 0 for weight, term in terms if isinstance(term, Constant)):
            rule = "exponential: exp(k + c) = eᶜ exp(k), the limit of Σ kⁿ/n!, for any constant c"
            parts = [term if weight == 1 else Scaled(term, weight) for weight, term in rest]
            return _closure(self, rule, sum(parts[1:], parts[0]).theorem())
        return _closure(
            self, "exponential: the limit of Σ kⁿ/n!, conical sums of powers", self.kernel.theorem()
        )  # fmt: skip

    def expression(self) -> str:
        """``exp(k)``."""
        return f"exp({self.kernel.expression()})"


class Normalized(Kernel):
    """k(x, z) / √(k(x, x) k(z, z)), written ``k.normalize()``; 0 where k(x, x) is 0."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")

    def formula(self, pair: Pair) -> Expression:
        """Divide by the norms of the features."""
        return normalised(pair.of("kernel"))

    def theorem(self) -> Theorem | None:
        """Features of unit length."""
        return _closure(
            self, "normalisation: k(x,z)/√(k(x,x)k(z,z)) has the features φ(x)/‖φ(x)‖", self.kernel.theorem()
        )

    def feature_dim(self, d: int) -> float:
        """As many as before."""
        return self.kernel.feature_dim(d)

    def expression(self) -> str:
        """``k.normalize()``."""
        return f"{inside(self.kernel, ATOM)}.normalize()"


COMPOSE.update(plus=plus, times=times, power=Power, normalize=Normalized)
