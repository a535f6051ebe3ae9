"""Proofs: the closure rules of the kernels themselves, and what needs a look at the whole expression.

Each kernel knows the closure rule that would prove it.  Three more ways are tried when that is not enough: a matrix
is decided by its eigenvalues, differences are multiplied out (what cancels is gone, as in (k + 1)² − 1 = k² + 2k), and
in a known number of dimensions a difference of Gaussians is decided by its spectrum.  Whatever decides is computed
exactly, or with a bound on every rounding error.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from mercer.kernels.algebra import Exp
from mercer.kernels.base import Kernel
from mercer.kernels.theorem import Theorem

from .clock import PROOF_SECONDS, OutOfTimeError, ProofClock
from .domain import count_features_inside, get_matrix, get_replaceable, walk_inside_out
from .expand import Expansions, Monomial, Terms, format_sum
from .precomputed import ScaledMatrix
from .spectral import Mixture, Precision, find_precision, prove_by_spectrum, suggest_spacings
from .verdict import Proved

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
    """
    prover = Prover(ProofClock(PROOF_SECONDS))
    for features in (None,) if dim is None else (None, dim):
        try:
            theorem = prover.derive(kernel, features)
        except OutOfTimeError:
            return None
        if theorem is not None:
            return Proved(theorem, features)
    return None


class Lemma(Kernel):
    """What is known of a kernel, to stand in for it while a closure rule is applied to the kernel around it."""

    text: str
    binding: int
    proof: Theorem | None

    @property
    def precedence(self) -> int:  # type: ignore[override]
        """As tight as the kernel it stands for."""
        return self.binding

    def theorem(self) -> Theorem | None:
        """The proof that was found, if any."""
        return self.proof

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

    def derive(self, kernel: Kernel, dim: int | None) -> Theorem | None:
        """Return the proof for points with ``dim`` features, or with any number of them if it is None."""

        def get_parts(item: tuple[Kernel, int | None]) -> list[tuple[Kernel, int | None]]:
            inner = count_features_inside(*item)
            return [(child, inner) for child in get_replaceable(item[0]).values()]

        for part in walk_inside_out((kernel, dim), get_parts, lambda item: self._key(*item) in self._lemmas):
            self.clock.check()
            self._settle(*part)
        return self._lemmas[self._key(kernel, dim)].proof

    def _key(self, kernel: Kernel, dim: int | None) -> tuple[int, int | None]:
        return self._expansions.number(kernel), dim

    def _settle(self, kernel: Kernel, dim: int | None) -> None:
        """Find out about a kernel all of whose parts are known."""
        inner = count_features_inside(kernel, dim)
        parts = {name: self._key(child, inner) for name, child in get_replaceable(kernel).items()}
        outline = _replace_parts(kernel, {name: self._lemmas[part] for name, part in parts.items()})
        # The text of a sum depends on what its terms are: k1 − k2 is k1 plus a negative multiple.
        text = _replace_parts(kernel, {name: self._outlines[part] for name, part in parts.items()}).expression()
        proof = outline.theorem() or self._prove_otherwise(kernel, text, dim)
        key = self._key(kernel, dim)
        self._lemmas[key] = Lemma(text, kernel.precedence, None if proof is None else _join_steps(proof))
        self._outlines[key] = outline

    def _prove_otherwise(self, kernel: Kernel, text: str, dim: int | None) -> Theorem | None:
        """Return a proof by other means than the kernel's own closure rule."""
        matrix = get_matrix(kernel)
        if matrix is not None:
            return ScaledMatrix.of(matrix).prove(text, self.clock)
        if type(kernel) is Exp:
            return self._prove_exponential(kernel, text, dim)
        terms = self._expansions.multiply_out(kernel)
        return None if terms is None or terms == {((kernel, 1),): 1} else self._prove_sum(text, terms, dim)

    def _prove_exponential(self, kernel: Exp, text: str, dim: int | None) -> Theorem | None:
        terms = self._expansions.multiply_out(kernel.kernel)
        if terms is None or () not in terms:
            return None
        del terms[()]
        rest = self._prove_sum(format_sum(terms) or "0", terms, dim)
        rule = "exponential: exp(k + c) = eᶜ exp(k), the limit of Σ kⁿ/n!, for any constant c"
        return None if rest is None else Theorem(text, rule, (rest,))

    def _prove_sum(self, text: str, terms: Terms, dim: int | None) -> Theorem | None:
        """Return why weighted products of kernels add up to a kernel."""
        first = next(iter(terms), ())
        if len(terms) == 1 and len(first) == 1 and first[0][1] == terms[first] == 1:
            return self.derive(first[0][0], dim)
        waves = _select_gaussians(terms, dim)
        if any(weight < 0 and monomial not in waves for monomial, weight in terms.items()):
            return None
        mixed = any(weight < 0 for weight, _ in waves.values())
        parts: dict[int, Theorem] = {}  # by identity, which spares comparisons of whole proofs
        for monomial in terms:
            for atom, _ in () if mixed and monomial in waves else monomial:
                proof = self.derive(atom, dim)
                if proof is None:
                    return None
                parts[id(proof)] = proof
        if dim is not None and mixed:
            mixture, alone = Mixture.of(waves.values(), dim), len(waves) == len(terms)
            claim = text if alone else format_sum({monomial: terms[monomial] for monomial in waves})
            proof = None if mixture is None else prove_by_spectrum(claim, mixture, self.clock)
            if proof is None or alone:
                return proof
            parts[id(proof)] = proof
        if not terms:
            return Theorem(text, "multiplied out everything cancels: it is 0 everywhere")
        because = f"multiplied out it is {format_sum(terms)}, a conical sum of products of kernels"
        return Theorem(text, because, tuple(parts.values()))


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
