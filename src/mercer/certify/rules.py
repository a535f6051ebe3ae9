"""Proofs: the closure rules of the kernels themselves, and what needs a look at the whole expression.

Each kernel knows the closure rule that would prove it.  Three more ways are tried when that is not enough: a matrix
is decided by its eigenvalues, differences are multiplied out (what cancels is gone, as in (k + 1)² − 1 = k² + 2k), and
in a known number of dimensions a difference of Gaussians is decided by its spectrum.  Whatever decides is computed
exactly, or with a bound on every rounding error.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from mercer.kernels.algebra import Constant, Exp, Power
from mercer.kernels.base import Kernel
from mercer.kernels.theorem import UNDECIDED, Definiteness, Theorem, strictly

from .clock import PROOF_SECONDS, OutOfTimeError, ProofClock
from .domain import count_features_inside, get_matrix, get_replaceable, walk_inside_out
from .expand import Expansions, Monomial, Terms, format_sum
from .precomputed import ScaledMatrix
from .spectral import Mixture, Precision, find_precision, prove_by_spectrum, suggest_spacings
from .verdict import Proved

Finding = tuple[Theorem, Definiteness]
SPECTRAL = strictly("the Fourier transform vanishes at isolated ‖ω‖ at most, so that its support is full (Bochner)")
_SUM, _PRODUCT, _MULTIPLE = "conical sum: non-negative multiples", "product: the entrywise", "non-negative multiple of"


def prove(kernel: Kernel, dim: int | None = None) -> Proved | None:
    """Return a proof that a kernel is positive semi-definite, or None if none was found in time.

    Some differences are kernels only for few features, so that their number ``dim`` may be needed.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print(prove((Linear() + 1.0) ** 2 - 1.0))
    Proved: this is a kernel.
    <BLANKLINE>
      (Linear() + Constant(value=1.0)) ** 2 - Constant(value=1.0)
      │ because multiplied out it is 2·Linear() + Linear()², a conical sum of products of kernels
      └─ Linear()
           because Σ aᵢaⱼ xᵢᵀxⱼ = ‖Σ aᵢxᵢ‖² ≥ 0
    <BLANKLINE>
    Only semi-definite: K is singular at some distinct points, because φ has finitely many entries.
    """
    prover = Prover(ProofClock(PROOF_SECONDS))
    for features in (None,) if dim is None else (None, dim):
        try:
            theorem = prover.derive(kernel, features).proof
        except OutOfTimeError:
            return None
        if theorem is not None:
            return Proved(theorem, features, _decide_strictness(prover, kernel, dim))
    return None


def _decide_strictness(prover: Prover, kernel: Kernel, dim: int | None) -> Definiteness:
    """Return whether a kernel that is proved to be one is strictly positive definite, with the reason in full."""
    try:
        known = replace(prover.derive(kernel, dim).known, dim=dim)
    except OutOfTimeError:
        return UNDECIDED
    if not known.finite:
        return known
    d = 1 if dim is None else dim
    try:
        size = kernel.feature_dim(d)
    except Exception:  # a function of the user need not take zeros
        return UNDECIDED
    if not math.isfinite(size):
        return replace(known, because="φ has finitely many entries", of="", kept=())
    because = f"φ has {size:.0f} entr{'y' if size == 1 else 'ies'} for points with {d} feature{'s' * (d != 1)}"
    return replace(known, because=because, of="", kept=(), rank=int(size))


class Lemma(Kernel):
    """What is known of a kernel, to stand in for it while a closure rule is applied to the kernel around it."""

    text: str
    binding: int
    proof: Theorem | None
    known: Definiteness = UNDECIDED

    @property
    def precedence(self) -> int:  # type: ignore[override]
        """As tight as the kernel it stands for."""
        return self.binding

    def theorem(self) -> Theorem | None:
        """The proof that was found, if any."""
        return self.proof

    def definiteness(self, d: int | None) -> Definiteness:
        """What was found for the points it sees."""
        return self.known

    def expression(self) -> str:
        """The text of the kernel it stands for."""
        return self.text


class Prover:
    """Derives proofs from the inside to the outside, each kernel once, however often and however deep it occurs."""

    def __init__(self, clock: ProofClock) -> None:
        self.clock = clock
        self._expansions = Expansions(clock)
        self._lemmas: dict[tuple[int, int | None], Lemma] = {}
        self._outlines: dict[tuple[int, int | None], Kernel] = {}  # kernels with lemmas for their parts

    def derive(self, kernel: Kernel, dim: int | None) -> Lemma:
        """Return what is proved for points with ``dim`` features, or with any number of them if it is None."""

        def get_parts(item: tuple[Kernel, int | None]) -> list[tuple[Kernel, int | None]]:
            inner = count_features_inside(*item)
            return [(child, inner) for child in get_replaceable(item[0]).values()]

        for part in walk_inside_out((kernel, dim), get_parts, lambda item: self._key(*item) in self._lemmas):
            self.clock.check()
            self._settle(*part)
        return self._lemmas[self._key(kernel, dim)]

    def _key(self, kernel: Kernel, dim: int | None) -> tuple[int, int | None]:
        return self._expansions.number(kernel), dim

    def _settle(self, kernel: Kernel, dim: int | None) -> None:
        """Find out about a kernel all of whose parts are known."""
        inner = count_features_inside(kernel, dim)
        parts = {name: self._key(child, inner) for name, child in get_replaceable(kernel).items()}
        outline = _replace_parts(kernel, {name: self._lemmas[part] for name, part in parts.items()})
        # The text of a sum depends on what its terms are: k1 − k2 is k1 plus a negative multiple.
        text = _replace_parts(kernel, {name: self._outlines[part] for name, part in parts.items()}).expression()
        proof = outline.theorem()
        found = (proof, outline.definiteness(dim)) if proof else self._prove_otherwise(kernel, text, dim)
        key = self._key(kernel, dim)
        known = (None, UNDECIDED) if found is None else (_join_steps(found[0]), found[1])
        self._lemmas[key] = Lemma(text, kernel.precedence, *known)
        self._outlines[key] = outline

    def _prove_otherwise(self, kernel: Kernel, text: str, dim: int | None) -> Finding | None:
        """Return a proof by other means than the kernel's own closure rule."""
        matrix = get_matrix(kernel)
        if matrix is not None:
            return ScaledMatrix.of(matrix).prove(text, self.clock)
        if type(kernel) is Exp:
            return self._prove_exponential(kernel, text, dim)
        terms = self._expansions.multiply_out(kernel)
        return None if terms is None or terms == {((kernel, 1),): 1} else self._prove_sum(text, terms, dim)

    def _prove_exponential(self, kernel: Exp, text: str, dim: int | None) -> Finding | None:
        terms = self._expansions.multiply_out(kernel.kernel)
        if terms is None or () not in terms:
            return None
        del terms[()]
        rest = self._prove_sum(format_sum(terms) or "0", terms, dim)
        rule = "exponential: exp(k + c) = eᶜ exp(k), the limit of Σ kⁿ/n!, for any constant c"
        if rest is None:
            return None
        return Theorem(text, rule, rest[:1]), Exp(Lemma(text, kernel.precedence, *rest)).definiteness(dim)

    def _prove_sum(self, text: str, terms: Terms, dim: int | None) -> Finding | None:
        """Return why weighted products of kernels add up to a kernel."""
        first = next(iter(terms), ())
        if len(terms) == 1 and len(first) == 1 and first[0][1] == terms[first] == 1:
            lemma = self.derive(first[0][0], dim)
            return None if lemma.proof is None else (lemma.proof, lemma.known)
        waves = _select_gaussians(terms, dim)
        if any(weight < 0 and monomial not in waves for monomial, weight in terms.items()):
            return None
        mixed = any(weight < 0 for weight, _ in waves.values())
        parts: dict[int, Theorem] = {}  # by identity, which spares comparisons of whole proofs
        total: list[Kernel] = []
        for monomial in (m for m in terms if not (mixed and m in waves)):
            lemmas = [(self.derive(atom, dim), power) for atom, power in monomial]
            for lemma, _ in lemmas:
                if lemma.proof is None:
                    return None
                parts[id(lemma.proof)] = lemma.proof
            powers = [lemma if power == 1 else Power(lemma, power) for lemma, power in lemmas]
            total.append(math.prod(powers[1:], start=powers[0]) if powers else Constant())
        if dim is not None and mixed:
            mixture, alone = Mixture.of(waves.values(), dim), len(waves) == len(terms)
            claim = text if alone else format_sum({monomial: terms[monomial] for monomial in waves})
            proof = None if mixture is None else prove_by_spectrum(claim, mixture, self.clock)
            if proof is None:
                return None
            if alone:
                return proof, SPECTRAL
            parts[id(proof)] = proof
            total.append(Lemma(claim, 1, proof, SPECTRAL))
        if not terms:
            zero = "it is 0 everywhere"
            return Theorem(text, f"multiplied out everything cancels: {zero}"), Definiteness(False, zero)
        because = f"multiplied out it is {format_sum(terms)}, a conical sum of products of kernels"
        return Theorem(text, because, tuple(parts.values())), sum(total[1:], start=total[0]).definiteness(dim)


def _replace_parts(kernel: Kernel, parts: dict[str, Any]) -> Kernel:
    return cast(Kernel, replace(cast(Any, kernel), **parts)) if parts else kernel


def _select_gaussians(terms: Terms, dim: int | None) -> dict[Monomial, tuple[Fraction, Precision]]:
    """Return weights and precisions of the terms that are products of Gaussians, if the number of features is known."""
    if dim is None:
        return {}
    precisions = {monomial: find_precision(monomial, dim) for monomial in terms}
    return {monomial: (terms[monomial], found) for monomial, found in precisions.items() if found is not None}


def suggest_telling_spacings(kernel: Kernel, dim: int) -> tuple[float, ...]:
    """Return spacings of points at which a difference of Gaussians should fail, if its spectrum says so."""
    try:
        terms = Expansions(ProofClock(PROOF_SECONDS)).multiply_out(kernel)
    except OutOfTimeError:
        return ()
    waves = _select_gaussians(terms or {}, dim)
    mixture = Mixture.of(waves.values(), dim) if any(weight < 0 for weight, _ in waves.values()) else None
    return () if mixture is None else suggest_spacings(mixture)


def _join_steps(theorem: Theorem) -> Theorem:
    """Join a claim with its parts that one rule covers at once: nested sums and products, and multiples inside sums."""
    parts = theorem.parts
    for rule, absorbed in ((_SUM, (_SUM, _MULTIPLE)), (_PRODUCT, (_PRODUCT,))):
        if theorem.because.startswith(rule):
            parts = tuple(
                inner for part in parts for inner in (part.parts if part.because.startswith(absorbed) else (part,))
            )
    if theorem.because.startswith(_MULTIPLE) and theorem.claim == f"1.0 * {parts[0].claim}":
        return parts[0]
    return Theorem(theorem.claim, theorem.because, parts)
