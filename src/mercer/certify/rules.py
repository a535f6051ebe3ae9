"""Proofs: the closure rules of the kernels themselves, and what needs a look at the whole expression.

Each kernel knows the closure rule that would prove it.  Three more ways are tried when that is not enough: a matrix
is decided by its eigenvalues, differences are multiplied out (what cancels is gone, as in (k + 1)² − 1 = k² + 2k), and
in a known number of dimensions a difference of Gaussians is decided by its spectrum.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.custom import Precomputed
from mercer.kernels.pullback import After, On
from mercer.kernels.theorem import Theorem

from .expand import Terms, expand, monomial_text
from .layout import number
from .precomputed import matrix_theorem
from .spectral import Mixture, precision_of, spacings_for, spectral_theorem
from .verdict import Proved


def prove(kernel: Kernel, dim: int | None = None) -> Proved | None:
    """Return a proof that a kernel is positive semi-definite, or None if none was found.

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
    theorem = _derive(kernel, None)
    if theorem is not None:
        return Proved(tidy(theorem))
    theorem = None if dim is None else _derive(kernel, dim)
    return None if theorem is None else Proved(tidy(theorem), dim)


class Lemma(Kernel):
    """A kernel with a proof found by other means, to stand in for it while the closure rules are applied."""

    kernel: Kernel
    proof: Theorem

    @property
    def precedence(self) -> int:  # type: ignore[override]
        """As tight as the kernel it stands for."""
        return self.kernel.precedence

    def theorem(self) -> Theorem:
        """The proof that was found."""
        return self.proof

    def expression(self) -> str:
        """The text of the kernel it stands for."""
        return self.kernel.expression()


def _derive(kernel: Kernel, dim: int | None) -> Theorem | None:
    known = kernel.theorem()
    if known is not None:
        return known
    if isinstance(kernel, Precomputed):
        return matrix_theorem(np.asarray(kernel.matrix), repr(kernel))
    lemmas = _lemmas(kernel, dim)
    if lemmas:
        known = cast(Kernel, replace(cast(Any, kernel), **lemmas)).theorem()
        if known is not None:
            return known
    return _multiplied_out(kernel, dim)


def _lemmas(kernel: Kernel, dim: int | None) -> dict[str, Lemma]:
    if isinstance(kernel, On):
        dim = kernel.width(dim)
    elif isinstance(kernel, After):
        dim = None  # nothing is known about the images
    found = {}
    for field in fields(cast(Any, kernel)):
        child = getattr(kernel, field.name)
        proof = _derive(child, dim) if isinstance(child, Kernel) else None
        if proof is not None:
            found[field.name] = Lemma(child, proof)
    return found


def _multiplied_out(kernel: Kernel, dim: int | None) -> Theorem | None:
    terms = expand(kernel)
    if terms is None or terms.get((), 0) < 0 or terms == {((kernel, 1),): 1}:
        return None
    parts: dict[Theorem, None] = {}
    waves: Terms = {}
    for monomial, weight in terms.items():
        if dim is not None and precision_of(monomial, dim) is not None:
            waves[monomial] = weight
            continue
        proofs = [_derive(atom, dim) for atom, _ in monomial]
        if weight < 0 or any(proof is None for proof in proofs):
            return None
        parts |= dict.fromkeys(proof for proof in proofs if proof is not None)
    if dim is not None and any(weight < 0 for weight in waves.values()):
        mixture = _mixture(waves, dim)
        alone = len(waves) == len(terms)
        proof = None if mixture is None else spectral_theorem(repr(kernel) if alone else sum_text(waves), mixture)
        if proof is None or alone:
            return proof
        parts[proof] = None
    else:
        parts |= dict.fromkeys(cast(Theorem, atom.theorem()) for monomial in waves for atom, _ in monomial)
    if not terms:
        return Theorem(repr(kernel), "multiplied out everything cancels: it is 0 everywhere")
    because = f"multiplied out it is {sum_text(terms)}, a conical sum of products of kernels"
    return Theorem(repr(kernel), because, tuple(parts))


def _mixture(waves: Terms, dim: int) -> Mixture | None:
    precisions = ((weight, precision_of(monomial, dim)) for monomial, weight in waves.items())
    return Mixture.of([(weight, precision) for weight, precision in precisions if precision is not None], dim)


def telling_spacings(kernel: Kernel, dim: int) -> tuple[float, ...]:
    """Return spacings of points at which a difference of Gaussians should fail, if its spectrum says so."""
    terms = expand(kernel)
    if terms is None:
        return ()
    waves = {m: weight for m, weight in terms.items() if precision_of(m, dim) is not None}
    mixture = _mixture(waves, dim) if any(weight < 0 for weight in waves.values()) else None
    return () if mixture is None else spacings_for(mixture)


def sum_text(terms: Terms) -> str:
    """Return a sum of weighted products as text."""
    text = ""
    for monomial, weight in terms.items():
        size = number(abs(float(weight)))
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
    for rule, absorbed in ((_SUM, (_SUM, _MULTIPLE)), (_PRODUCT, (_PRODUCT,))):
        if theorem.because.startswith(rule):
            parts = [
                inner for part in parts for inner in (part.parts if part.because.startswith(absorbed) else (part,))
            ]
    if theorem.because.startswith(_MULTIPLE) and theorem.claim == f"1.0 * {parts[0].claim}":
        return parts[0]
    return Theorem(theorem.claim, theorem.because, tuple(parts))
