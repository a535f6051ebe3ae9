"""Kernels multiplied out: sums, multiples, products and powers as one polynomial in simpler kernels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mercer.formula.parameters import make_hashable
from mercer.kernels.algebra import Constant, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear, Polynomial

from .clock import UNHURRIED, ProofClock
from .domain import get_children, walk_inside_out
from .layout import format_number, raise_digits

Monomial = tuple[tuple[Kernel, int], ...]  # kernels with their powers; the empty one is the constant 1
Terms = dict[Monomial, Fraction]
_Numbered = dict[tuple[tuple[int, int], ...], Fraction]  # the same, with a number for each kernel

MOST_TERMS = 60  # of a product; nobody reads longer proofs
MOST_SUMMED = 500  # of a sum, which is quicker and easier to read
MOST_BITS = 50_000  # of a weight
_ARITHMETIC = (Scaled, Sum, Product, Power)


class _TooLargeError(ArithmeticError):
    """The polynomial has too many terms for a proof anyone would read."""


class Expansions:
    """The kernels inside a kernel, equal ones under one number, each multiplied out once.

    Everything goes from the inside to the outside, so that neither depth nor repetition matters.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> format_sum(Expansions().multiply_out((Linear() - 1.0) ** 2))
    '1 − 2·Linear() + Linear()²'
    """

    def __init__(self, clock: ProofClock = UNHURRIED) -> None:
        self.clock = clock
        self._kernels: list[Kernel] = []  # one for each number
        self._numbers: dict[object, int] = {}
        self._seen: dict[int, tuple[Kernel, int]] = {}  # by identity; the kernel is kept, so that it stays its own
        self._expanded: dict[int, _Numbered | None] = {}

    def number(self, kernel: Kernel) -> int:
        """Return the number of a kernel, the same for equal ones."""
        for part in walk_inside_out(kernel, lambda k: get_children(k).values(), lambda k: id(k) in self._seen):
            self.clock.check()
            inner = get_children(part)
            key: object = part
            if inner:  # by the numbers of its parts, because a comparison would go through all of them again
                params = part.get_params(deep=False)
                values = (self._seen[id(v)][1] if name in inner else make_hashable(v) for name, v in params.items())
                key = (type(part), *values)
            if key not in self._numbers:
                self._numbers[key] = len(self._kernels)
                self._kernels.append(part)
            self._seen[id(part)] = part, self._numbers[key]
        return self._seen[id(kernel)][1]

    def multiply_out(self, kernel: Kernel) -> Terms | None:
        """Return a kernel as weighted products of simpler ones, weights exact and zeros dropped; None if too long."""
        start = self.number(kernel)
        for n in walk_inside_out(start, self._get_parts, self._expanded.__contains__):
            self.clock.check()
            try:
                self._expanded[n] = self._combine(n)
            except _TooLargeError:
                self._expanded[n] = None
        found = self._expanded[start]
        if found is None:
            return None
        terms = {tuple((self._kernels[n], p) for n, p in m): weight for m, weight in found.items() if weight != 0}
        order = sorted(terms, key=lambda m: (sum(power for _, power in m), format_monomial(m)))
        return {monomial: terms[monomial] for monomial in order}

    def _get_parts(self, n: int) -> list[int]:
        kernel = self._kernels[n]
        return list(map(self.number, get_children(kernel).values())) if type(kernel) in _ARITHMETIC else []

    def _combine(self, n: int) -> _Numbered:
        """Return a kernel all of whose parts are multiplied out."""
        kernel: Any = self._kernels[n]
        parts = [part for part in map(self._expanded.__getitem__, self._get_parts(n)) if part is not None]
        if len(parts) < len(self._get_parts(n)):
            raise _TooLargeError
        kind = type(kernel)  # and no other: a subclass may compute something else
        if kind is Constant:
            return {(): Fraction(float(kernel.value))}
        if kind is Scaled:
            return self._multiply({(): Fraction(float(kernel.weight))}, parts[0])
        if kind is Sum:
            return _add(*parts)
        if kind is Product:
            return self._multiply(*parts)
        if kind is Power:
            return self._raise(parts[0], int(kernel.exponent))
        if kind is Polynomial:
            base: _Numbered = {((self.number(Linear()), 1),): Fraction(1), (): Fraction(float(kernel.offset))}
            return self._raise(base, int(kernel.degree))
        return {((n, 1),): Fraction(1)}

    def _multiply(self, a: _Numbered, b: _Numbered) -> _Numbered:
        total: _Numbered = {}
        for left, u in a.items():
            self.clock.check()
            for right, v in b.items():
                powers = dict(left)
                for n, power in right:
                    powers[n] = powers.get(n, 0) + power
                monomial = tuple(sorted(powers.items()))
                total[monomial] = total.get(monomial, Fraction(0)) + u * v
            if len(total) > max(MOST_TERMS, len(a), len(b)):
                raise _TooLargeError
        if any(w.numerator.bit_length() + w.denominator.bit_length() > MOST_BITS for w in total.values()):
            raise _TooLargeError
        return total

    def _raise(self, terms: _Numbered, exponent: int) -> _Numbered:
        if exponent > MOST_TERMS:
            raise _TooLargeError
        result: _Numbered = {(): Fraction(1)}
        for _ in range(exponent):
            result = self._multiply(result, terms)
        return result


def _add(a: _Numbered, b: _Numbered) -> _Numbered:
    total = dict(a)
    for monomial, weight in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + weight
    if len(total) > MOST_SUMMED:
        raise _TooLargeError
    return total


def format_monomial(monomial: Monomial) -> str:
    """Return a product of powers as text, empty for the constant 1."""
    return "·".join(repr(kernel) + (raise_digits(power) if power > 1 else "") for kernel, power in monomial)


def format_sum(terms: Terms) -> str:
    """Return a sum of weighted products as text."""
    text = ""
    for monomial, weight in terms.items():
        size, product = format_number(abs(weight)), format_monomial(monomial)
        shown = size if not product else product if abs(weight) == 1 else f"{size}·{product}"
        text += (" − " if weight < 0 else " + ") + shown
    return text.removeprefix(" + ").strip()
