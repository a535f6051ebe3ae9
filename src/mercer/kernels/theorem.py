"""Why a kernel is positive semi-definite: a claim, its reason, and the claims the reason rests on.

And what is known of its Gram matrices at distinct points: whether they are strictly so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast


@dataclass(frozen=True)
class Theorem:
    """A node of a proof.

    Parameters
    ----------
    claim : str
        What holds; for a kernel simply its formula, which is then claimed to be positive semi-definite.
    because : str
        The theorem or closure rule that gives it.
    parts : tuple of Theorem
        What the rule needs.
    """

    claim: str
    because: str
    parts: tuple[Theorem, ...] = ()

    def __post_init__(self) -> None:
        # Kept, because a proof may be deep, and a hash would go down to its leaves each time.
        vars(self)["_hash"] = hash((self.claim, self.because, self.parts))

    def __hash__(self) -> int:
        return cast(int, vars(self)["_hash"])

    def __reduce__(self) -> tuple[Any, ...]:
        return Theorem, (self.claim, self.because, self.parts)

    def __deepcopy__(self, memo: object) -> Theorem:
        return self  # texts and theorems only: a copy of a long proof would be nothing but slow


@dataclass(frozen=True)
class Definiteness:
    """What is known of the Gram matrices of a kernel at distinct points, beyond that they are positive semi-definite.

    Parameters
    ----------
    strict : bool, optional
        True if every one of them is invertible, False if some are singular, None if neither is known.
    because : str
        The theorem behind ``strict``, or the points at which the matrix is singular.
    of : str
        The kernel inside that the reason is about, if it is not the kernel itself.
    kept : tuple of str
        What is done to that kernel and keeps the property.
    separates : bool, optional
        Whether distinct points have distinct features, φ(x) ≠ φ(z); None if that is not known.
    positive : bool, optional
        True if k(x, x) > 0 everywhere, False if k(0, 0) = 0, None if neither is known.
    finite : bool
        Whether φ has finitely many entries.
    rank : int, optional
        As many as that, for points with ``dim`` features (1 if it is None).
    columns : tuple of int or str
        Columns that the kernel looks at and is strict on: K is invertible at points that all differ there.
    dim : int, optional
        The number of features of the points, None for every number of them.
    """

    strict: bool | None = None
    because: str = ""
    of: str = ""
    kept: tuple[str, ...] = ()
    separates: bool | None = None
    positive: bool | None = None
    finite: bool = False
    rank: int | None = None
    columns: tuple[int | str, ...] = ()
    dim: int | None = None

    def keep(self, rule: str, of: str) -> Definiteness:
        """Return the same for what a rule makes of the kernel of that name."""
        return replace(self, of=self.of or of, kept=tuple(dict.fromkeys((*self.kept, rule))))


def strictly(because: str) -> Definiteness:
    """Return that all Gram matrices at distinct points are invertible, for a reason."""
    return Definiteness(True, because, separates=True, positive=True)


def finitely(separates: bool | None, positive: bool | None) -> Definiteness:
    """Return that Gram matrices of more points than there are features are singular."""
    return Definiteness(False, separates=separates, positive=positive, finite=True)


def otherwise(separates: bool | None, positive: bool | None, *, finite: bool) -> Definiteness:
    """Return what is known of a kernel that no rule shows to be strict."""
    if finite:
        return finitely(separates, positive)
    vanishes = positive is False
    return Definiteness(False if vanishes else None, "k(0, 0) = 0" * vanishes, separates=separates, positive=positive)


def of_sum(first: Definiteness, second: Definiteness, names: tuple[str, str]) -> Definiteness:
    """Return what is known of a sum: one strict part suffices, as aᵀK₁a > 0 and aᵀK₂a ≥ 0."""
    for part, name in zip((first, second), names, strict=True):
        if part.strict:
            return part.keep("sums with kernels", name)
    positive = True if first.positive or second.positive else first.positive if second.positive is False else None
    return otherwise(first.separates or second.separates or None, positive, finite=first.finite and second.finite)


def of_product(first: Definiteness, second: Definiteness, names: tuple[str, str], d: int | None) -> Definiteness:
    """Return what is known of a product of kernels on points with d features.

    The entrywise product of a definite matrix and a semi-definite one with a positive diagonal is definite.  Kernels
    that are strict on columns of their own make one that is strict on all of these.
    """
    for part, other, name in ((first, second, names[0]), (second, first, names[1])):
        if part.strict and other.positive:
            return part.keep("products with kernels of positive k(x, x) (Schur)", name)
    both = first.columns and second.columns
    columns = tuple(dict.fromkeys((*first.columns, *second.columns))) if both else ()
    if len(set(map(type, columns))) == 1:  # a name and a position may mean the same column
        if len(columns) == d:
            return strictly("each factor is strict on its columns, and K is part of a Kronecker product of theirs")
        return merge_points(columns, first.positive and second.positive)
    positive = False if False in (first.positive, second.positive) else first.positive and second.positive
    return otherwise(None, positive, finite=first.finite and second.finite)


def merge_points(columns: tuple[int | str, ...], positive: bool | None, *, finite: bool = False) -> Definiteness:
    """Return what is known of a kernel that does not look at all columns, strict or not on those it looks at."""
    because = "points that differ in other columns only have the same features"
    return Definiteness(False, because, separates=False, positive=positive, finite=finite, columns=columns)


UNDECIDED = Definiteness()
FULL_SUPPORT = "the spectral density is positive everywhere (Bochner)"
RECTANGLE = "a sum over features vanishes at the corners of a rectangle with the coefficients 1, −1, −1, 1"
SCHOENBERG = "exp(−t·ψ) is positive semi-definite if ψ is conditionally negative definite (Schoenberg)"
PULL_BACK = "pull-back: k(g(x), g(z)) is a kernel for every map g, here "
SQUARED_DISTANCE = Theorem(
    "‖x−z‖² is conditionally negative definite",
    "Σ aᵢaⱼ‖xᵢ−xⱼ‖² = −2‖Σ aᵢxᵢ‖² ≤ 0 whenever Σ aᵢ = 0",
)
