"""Kernels multiplied out: sums, multiples, products and powers as one polynomial in simpler kernels."""

from __future__ import annotations

from fractions import Fraction

from mercer.kernels.algebra import Constant, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear, Polynomial

Monomial = tuple[tuple[Kernel, int], ...]  # kernels with their powers; the empty one is the constant 1
Terms = dict[Monomial, Fraction]

MOST_TERMS = 60


class _TooLargeError(ArithmeticError):
    """The polynomial has too many terms for a proof anyone would read."""


def expand(kernel: Kernel) -> Terms | None:
    """Return a kernel as weighted products of simpler ones, weights exact and zeros dropped; None if it is too long.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> [(monomial_text(m), str(w)) for m, w in expand((Linear() - 1.0) ** 2).items()]
    [('', '1'), ('Linear()', '-2'), ('Linear()²', '1')]
    """
    try:
        terms = _expand(kernel)
    except _TooLargeError:
        return None
    order = sorted(terms, key=lambda m: (sum(power for _, power in m), monomial_text(m)))
    return {monomial: terms[monomial] for monomial in order if terms[monomial] != 0}


def _expand(kernel: Kernel) -> Terms:
    if isinstance(kernel, Constant):
        return {(): Fraction(float(kernel.value))}
    if isinstance(kernel, Scaled):
        return _times({(): Fraction(float(kernel.weight))}, _expand(kernel.kernel))
    if isinstance(kernel, Sum):
        return _plus(_expand(kernel.k1), _expand(kernel.k2))
    if isinstance(kernel, Product):
        return _times(_expand(kernel.k1), _expand(kernel.k2))
    if isinstance(kernel, Power):
        return _power(_expand(kernel.kernel), int(kernel.exponent))
    if isinstance(kernel, Polynomial):
        base: Terms = {((Linear(), 1),): Fraction(1), (): Fraction(float(kernel.offset))}
        return _power(base, int(kernel.degree))
    return {((kernel, 1),): Fraction(1)}


def _plus(a: Terms, b: Terms) -> Terms:
    total = dict(a)
    for monomial, weight in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + weight
    return total


def _times(a: Terms, b: Terms) -> Terms:
    total: Terms = {}
    for left, u in a.items():
        for right, v in b.items():
            powers = dict(left)
            for kernel, power in right:
                powers[kernel] = powers.get(kernel, 0) + power
            monomial = tuple(sorted(powers.items(), key=lambda item: repr(item[0])))
            total[monomial] = total.get(monomial, Fraction(0)) + u * v
        if len(total) > MOST_TERMS:
            raise _TooLargeError
    return total


def _power(terms: Terms, exponent: int) -> Terms:
    if exponent > MOST_TERMS:
        raise _TooLargeError
    result: Terms = {(): Fraction(1)}
    for _ in range(exponent):
        result = _times(result, terms)
    return result


def monomial_text(monomial: Monomial) -> str:
    """Return a product of powers as text, empty for the constant 1."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "·".join(repr(kernel) + (str(power).translate(digits) if power > 1 else "") for kernel, power in monomial)
