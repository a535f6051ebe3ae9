"""Proofs: the closure rules of the kernels themselves, and what needs a look at the whole expression.

Each kernel knows the closure rule that would prove it.  Three more ways are tried when that is not enough: a matrix
is decided by its eigenvalues, differences are multiplied out (what cancels is gone, as in (k + 1)² − 1 = k² + 2k), and
in a known number of dimensions a difference of Gaussians is decided by its spectrum.  Whatever decides is computed
exactly, or with a bound on every rounding error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from mercer.kernels.algebra import Exp
from mercer.kernels.base import Kernel
from mercer.kernels.custom import Precomputed
from mercer.kernels.theorem import Theorem

from .clock import PROOF_SECONDS, Clock, OutOfTimeError
from .domain import features_inside, replaceable
from .expand import Expansions, Terms, monomial_text
from .layout import number
from .mixture import Mixture, precision_of
from .precomputed import matrix_theorem
from .spectral import spacings_for, spectral_theorem
from .verdict import Proved


def prove(kernel: Kernel, dim: int | None = None) -> Proved | None:
    """Return a proof that a kernel is positive semi-definite, or None if none was found in time.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    dim : int, optional
        Number of features; some differences are kernels only for few of them.

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
    prover = Prover(Clock(PROOF_SECONDS))
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

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._expansions = Expansions(clock)
        self._lemmas: dict[tuple[int, int | None], Lemma] = {}
        self._outlines: dict[tuple[int, int | None], Kernel] = {}  # kernels with lemmas for their parts

    def derive(self, kernel: Kernel, dim: int | None) -> Theorem | None:
        """Return the proof for points with ``dim`` features, or with any number of them if it is None."""
        waiting = [(kernel, dim)]
        while waiting:
            part, features = waiting[-1]
            inner = [(child, features_inside(part, features)) for child in replaceable(part).values()]
            missing = [item for item in inner if self._key(*item) not in self._lemmas]
            if missing:
                waiting += missing
                continue
            self.clock.check()
            waiting.pop()
            if self._key(part, features) not in self._lemmas:
                self._settle(part, features)
        return self._lemmas[self._key(kernel, dim)].proof

    def _key(self, kernel: Kernel, dim: int | None) -> tuple[int, int | None]:
        return self._expansions.number(kernel), dim

    def _settle(self, kernel: Kernel, dim: int | None) -> None:
        """Find out about a kernel all of whose parts are known."""
        inner = features_inside(kernel, dim)
        parts = {name: self._key(child, inner) for name, child in replaceable(kernel).items()}
        outline = _with(kernel, {name: self._lemmas[part] for name, part in parts.items()})
        # The text of a sum depends on what its terms are: k1 − k2 is k1 plus a negative multiple.
        text = _with(kernel, {name: self._outlines[part] for name, part in parts.items()}).expression()
        proof = outline.theorem() or self._further(kernel, text, dim)
        key = self._key(kernel, dim)
        self._lemmas[key] = Lemma(text, kernel.precedence, None if proof is None else _joined(proof, list(proof.parts)))
        self._outlines[key] = outline

    def _further(self, kernel: Kernel, text: str, dim: int | None) -> Theorem | None:
        """Return a proof by other means than the kernel's own closure rule."""
        if isinstance(kernel, Precomputed):
            return matrix_theorem(np.asarray(kernel.matrix), text, self.clock)
        if type(kernel) is Exp:
            return self._exponential(kernel, text, dim)
        terms = self._expansions.terms(kernel)
        return None if terms is None or terms == {((kernel, 1),): 1} else self._sum(text, terms, dim)

    def _exponential(self, kernel: Exp, text: str, dim: int | None) -> Theorem | None:
        terms = self._expansions.terms(kernel.kernel)
        if terms is None or () not in terms:
            return None
        del terms[()]
        alone = (
            len(terms) == 1 and next(iter(terms.values())) == 1 and sum(power for _, power in next(iter(terms))) == 1
        )
        rest = self.derive(next(iter(terms))[0][0], dim) if alone else self._sum(sum_text(terms) or "0", terms, dim)
        rule = "exponential: exp(k + c) = eᶜ exp(k), the limit of Σ kⁿ/n!, for any constant c"
        return None if rest is None else Theorem(text, rule, (rest,))

    def _sum(self, text: str, terms: Terms, dim: int | None) -> Theorem | None:
        """Return why weighted products of kernels add up to a kernel."""
        first = next(iter(terms), ())
        if len(terms) == 1 and len(first) == 1 and first[0][1] == terms[first] == 1:
            return self.derive(first[0][0], dim)
        parts: dict[int, Theorem] = {}  # by identity, which spares comparisons of whole proofs
        waves: Terms = {}
        for monomial, weight in terms.items():
            if dim is not None and precision_of(monomial, dim) is not None:
                waves[monomial] = weight
            elif weight < 0:
                return None
        mixed = any(weight < 0 for weight in waves.values())
        for monomial in terms:
            for atom, _ in () if mixed and monomial in waves else monomial:
                proof = self.derive(atom, dim)
                if proof is None:
                    return None
                parts[id(proof)] = proof
        if dim is not None and mixed:
            mixture, alone = _mixture(waves, dim), len(waves) == len(terms)
            claim = text if alone else sum_text(waves)
            proof = None if mixture is None else spectral_theorem(claim, mixture, self.clock)
            if proof is None or alone:
                return proof
            parts[id(proof)] = proof
        if not terms:
            return Theorem(text, "multiplied out everything cancels: it is 0 everywhere")
        because = f"multiplied out it is {sum_text(terms)}, a conical sum of products of kernels"
        return Theorem(text, because, tuple(parts.values()))


def _with(kernel: Kernel, parts: dict[str, Any]) -> Kernel:
    return cast(Kernel, replace(cast(Any, kernel), **parts)) if parts else kernel


def _mixture(waves: Terms, dim: int) -> Mixture | None:
    precisions = ((weight, precision_of(monomial, dim)) for monomial, weight in waves.items())
    return Mixture.of([(weight, precision) for weight, precision in precisions if precision is not None], dim)


def telling_spacings(kernel: Kernel, dim: int) -> tuple[float, ...]:
    """Return spacings of points at which a difference of Gaussians should fail, if its spectrum says so."""
    try:
        terms = Expansions(Clock(PROOF_SECONDS)).terms(kernel)
    except OutOfTimeError:
        return ()
    if terms is None:
        return ()
    waves = {m: weight for m, weight in terms.items() if precision_of(m, dim) is not None}
    mixture = _mixture(waves, dim) if any(weight < 0 for weight in waves.values()) else None
    return () if mixture is None else spacings_for(mixture)


def sum_text(terms: Terms) -> str:
    """Return a sum of weighted products as text."""
    text = ""
    for monomial, weight in terms.items():
        size = number(abs(weight))
        product = monomial_text(monomial)
        shown = size if not product else product if abs(weight) == 1 else f"{size}·{product}"
        text += (" − " if weight < 0 else " + ") + shown
    return text.removeprefix(" + ").strip()


_SUM, _PRODUCT, _MULTIPLE = "conical sum: non-negative multiples", "product: the entrywise", "non-negative multiple of"


def tidy(theorem: Theorem) -> Theorem:
    """Join nested sums, nested products and multiples inside sums, each of which one rule covers at once.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> len(tidy((Linear() + 2.0 * Linear() + 1.0).theorem()).parts)
    3
    """
    known: dict[int, Theorem] = {}
    left = [(theorem, False)]
    while left:  # parts first, in a loop, because a proof may be deep
        node, ready = left.pop()
        if ready:
            known[id(node)] = _joined(node, [known[id(part)] for part in node.parts])
        elif id(node) not in known:
            left += [(node, True), *((part, False) for part in node.parts)]
    return known[id(theorem)]


def _joined(theorem: Theorem, parts: list[Theorem]) -> Theorem:
    """Join a claim with the parts that the same rule covers, which are tidy themselves."""
    for rule, absorbed in ((_SUM, (_SUM, _MULTIPLE)), (_PRODUCT, (_PRODUCT,))):
        if theorem.because.startswith(rule):
            parts = [
                inner for part in parts for inner in (part.parts if part.because.startswith(absorbed) else (part,))
            ]
    if theorem.because.startswith(_MULTIPLE) and theorem.claim == f"1.0 * {parts[0].claim}":
        return parts[0]
    return Theorem(theorem.claim, theorem.because, tuple(parts))
