"""Kernels multiplied out: sums, multiples, products and powers as one polynomial in simpler kernels."""

from __future__ import annotations

from fractions import Fraction

from mercer.formula.parameters import make_hashable
from mercer.kernels.algebra import Constant, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear, Polynomial

from .clock import PROOF_SECONDS, Clock
from .domain import children

Monomial = tuple[tuple[Kernel, int], ...]  # kernels with their powers; the empty one is the constant 1
Terms = dict[Monomial, Fraction]
_Numbered = dict[tuple[tuple[int, int], ...], Fraction]  # the same, with a number for each kernel

MOST_TERMS = 60  # of a product; nobody reads longer proofs
MOST_SUMMED = 500  # of a sum, which is quicker and easier to read
MOST_BITS = 50_000  # of a weight
_ARITHMETIC = (Scaled, Sum, Product, Power)


def expand(kernel: Kernel) -> Terms | None:
    """Return a kernel as weighted products of simpler ones, weights exact and zeros dropped; None if it is too long.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> [(monomial_text(m), str(w)) for m, w in expand((Linear() - 1.0) ** 2).items()]
    [('', '1'), ('Linear()', '-2'), ('Linear()²', '1')]
    """
    return Expansions(Clock(PROOF_SECONDS)).terms(kernel)


class _TooLargeError(ArithmeticError):
    """The polynomial has too many terms for a proof anyone would read."""


class Expansions:
    """The kernels inside a kernel, equal ones under one number, each multiplied out once.

    Everything goes from the inside to the outside, so that neither depth nor repetition matters.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._kernels: list[Kernel] = []  # one for each number
        self._numbers: dict[object, int] = {}
        self._seen: dict[int, tuple[Kernel, int]] = {}  # by identity; the kernel is kept, so that it stays its own
        self._expanded: dict[int, _Numbered | None] = {}

    def number(self, kernel: Kernel) -> int:
        """Return the number of a kernel, the same for equal ones."""
        waiting = [kernel]
        while waiting:
            inner = children(waiting[-1])
            missing = [part for part in inner.values() if id(part) not in self._seen]
            if missing:
                waiting += missing
                continue
            self.clock.check()
            part = waiting.pop()
            self._seen[id(part)] = part, self._numbered(part, inner)
        return self._seen[id(kernel)][1]

    def terms(self, kernel: Kernel) -> Terms | None:
        """Return a kernel multiplied out, or None if that is too long."""
        found = self._expand(self.number(kernel))
        if found is None:
            return None
        terms = {tuple((self._kernels[n], p) for n, p in m): weight for m, weight in found.items() if weight != 0}
        order = sorted(terms, key=lambda m: (sum(power for _, power in m), monomial_text(m)))
        return {monomial: terms[monomial] for monomial in order}

    def _numbered(self, kernel: Kernel, inner: dict[str, Kernel]) -> int:
        key: object = kernel
        if inner:  # by the numbers of its parts, because a comparison would go through all of them again
            params = kernel.get_params(deep=False)
            values = (self._seen[id(v)][1] if name in inner else make_hashable(v) for name, v in params.items())
            key = (type(kernel), *values)
        if key not in self._numbers:
            self._numbers[key] = len(self._kernels)
            self._kernels.append(kernel)
        return self._numbers[key]

    def _expand(self, number: int) -> _Numbered | None:
        waiting = [number]
        while waiting:
            kernel = self._kernels[waiting[-1]]
            inner = children(kernel).values() if type(kernel) in _ARITHMETIC else ()
            missing = [n for n in map(self.number, inner) if n not in self._expanded]
            if missing:
                waiting += missing
                continue
            self.clock.check()
            n = waiting.pop()
            parts = [self._expanded[self.number(part)] for part in inner]
            try:
                self._expanded[n] = self._combined(n, kernel, parts)
            except _TooLargeError:
                self._expanded[n] = None
        return self._expanded[number]

    def _combined(self, number: int, kernel: Kernel, parts: list[_Numbered | None]) -> _Numbered:
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            raise _TooLargeError
        if type(kernel) is Constant:
            return {(): Fraction(float(kernel.value))}
        if type(kernel) is Scaled:
            return self._times({(): Fraction(float(kernel.weight))}, known[0])
        if type(kernel) is Sum:
            return _plus(*known)
        if type(kernel) is Product:
            return self._times(*known)
        if type(kernel) is Power:
            return self._power(known[0], int(kernel.exponent))
        if type(kernel) is Polynomial:
            base: _Numbered = {((self.number(Linear()), 1),): Fraction(1), (): Fraction(float(kernel.offset))}
            return self._power(base, int(kernel.degree))
        return {((number, 1),): Fraction(1)}

    def _times(self, a: _Numbered, b: _Numbered) -> _Numbered:
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

    def _power(self, terms: _Numbered, exponent: int) -> _Numbered:
        if exponent > MOST_TERMS:
            raise _TooLargeError
        result: _Numbered = {(): Fraction(1)}
        for _ in range(exponent):
            result = self._times(result, terms)
        return result


def _plus(a: _Numbered, b: _Numbered) -> _Numbered:
    total = dict(a)
    for monomial, weight in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + weight
    if len(total) > MOST_SUMMED:
        raise _TooLargeError
    return total


def monomial_text(monomial: Monomial) -> str:
    """Return a product of powers as text, empty for the constant 1."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "·".join(repr(kernel) + (str(power).translate(digits) if power > 1 else "") for kernel, power in monomial)
