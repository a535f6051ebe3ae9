"""The three answers to "is this a kernel?": Proved, Refuted and Unknown.

A proof is a tree of theorems, a refutation is a handful of points anyone can check, and everything else is Unknown: a
sample on which nothing went wrong is never called a proof.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels.theorem import UNDECIDED, Definiteness, Theorem
from mercer.markup import Markup, show_card, show_fold, show_note, show_table, show_text, tag

from .layout import align_columns, draw_proof, fold_proof, format_number, format_point, lower_digits

WIDTH = 100
SMALL = 8  # Gram matrices up to this size are printed
MOST_POINTS = 20  # that a notebook shows
NO_PROOF = "A sample without a violation is not a proof: the function may or may not be a kernel."


class Verdict:
    """An answer with its reasons; ``explain()`` gives them in words."""

    strict: bool | None = None  # whether Gram matrices at distinct points are invertible, where that is known

    def explain(self) -> str:
        """Return the reasons as text for a person to read."""
        raise NotImplementedError

    def headline(self) -> str:
        """Return the verdict in one line."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the reasons for a notebook."""
        return show_card(self.headline())

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"<{self.headline()}>"


@dataclass(frozen=True, repr=False)
class Proved(Verdict):
    """The function is a kernel, and this is why.

    Parameters
    ----------
    proof : Theorem
        The conclusion, resting on closure rules and named theorems.
    dim : int, optional
        The number of features the proof holds for; None means every number.
    definiteness : Definiteness
        Whether the kernel is strictly positive definite, and why.

    Attributes
    ----------
    strict : bool or None
        True if K is proved to be invertible at any distinct points, False if it is singular at some, None if neither is
        known.  This is about exact arithmetic: points close to each other make K singular to rounding.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print(Linear().certificate())
    Proved: this is a kernel.
    <BLANKLINE>
      Linear()
        because Σ aᵢaⱼ xᵢᵀxⱼ = ‖Σ aᵢxᵢ‖² ≥ 0
    <BLANKLINE>
    Only semi-definite: K is singular at more than 1 distinct points, because φ has 1 entry for points
    with 1 feature.
    >>> from mercer.kernels import Gaussian
    >>> Gaussian().certificate().strict, Linear().certificate().strict
    (True, False)
    """

    proof: Theorem
    dim: int | None = None
    definiteness: Definiteness = UNDECIDED

    @property
    def strict(self) -> bool | None:  # type: ignore[override]
        """Whether K is invertible at any distinct points."""
        return self.definiteness.strict

    def headline(self) -> str:
        """Return what is proved, and where."""
        return f"Proved: {self.proof.claim} is a kernel{self._name_space()}"

    def _name_space(self) -> str:
        return "" if self.dim is None else f" on points with {_count_features(self.dim)}"

    def explain(self) -> str:
        """Return the proof, the conclusion first and everything it rests on below it."""
        lines = [f"Proved: this is a kernel{self._name_space()}.", ""]
        lines += ["  " + line for line in draw_proof(self.proof)]
        for remark in self._list_remarks():
            lines += ["", *textwrap.wrap(remark, WIDTH)]
        return "\n".join(lines)

    def _list_remarks(self) -> list[str]:
        """Return what is to be said besides the proof."""
        where = self._name_space()
        strictness = [] if self.strict is None else [_explain_strictness(self.definiteness)]
        return strictness + [f"The proof is for{where[3:]} only; in other dimensions the answer may differ."] * bool(
            where
        )

    def _repr_html_(self) -> str:
        """Return the proof for a notebook, as a tree that unfolds."""
        title = f"Proved: this is a kernel{self._name_space()}."
        return show_card(title, fold_proof(self.proof), *map(show_text, self._list_remarks()))


def _explain_strictness(known: Definiteness) -> str:
    """Return a sentence on whether K is invertible at distinct points, and why."""
    where = "" if known.dim is None or known.rank is not None else f" with {_count_features(known.dim)}"
    reason = known.because
    if known.of:
        rules = " and ".join(filter(None, (", ".join(known.kept[:-1]), known.kept[-1])))
        reason = f"of {known.of}: {known.because}, and that survives {rules}"
    if known.strict:
        return f"Strictly positive definite: K is invertible at distinct points{where}, because {reason}."
    points = "some" if known.rank is None else f"more than {known.rank}"
    return f"Only semi-definite: K is singular at {points} distinct points{where}, because {reason}."


def _count_features(dim: int) -> str:
    return f"{dim} feature{'s' * (dim != 1)}"


@dataclass(frozen=True, repr=False, eq=False)
class Refuted(Verdict):
    """The function is not a kernel: at some points Σ aᵢaⱼ k(xᵢ, xⱼ) is negative.

    Parameters
    ----------
    points : array of shape (n, d) or sequence of objects
        The points x₁ … xₙ.
    coefficients : array of shape (n,)
        The numbers a₁ … aₙ.
    value : float
        Σ aᵢaⱼ k(xᵢ, xⱼ), below 0 by more than ``error_bound``; −|k(x, z) − k(z, x)| for an asymmetric function.
    error_bound : float
        What rounding can have contributed to the value; 0 for exact arithmetic.
    reason : str
        What is wrong, in a sentence.
    check : str
        How the value was computed a second time.
    gram : array of shape (n, n)
        The values k(xᵢ, xⱼ).
    name : str
        The function.
    symmetric : bool
        False if it was refuted because k(x, z) ≠ k(z, x); then the coefficients mean nothing.

    Examples
    --------
    >>> import mercer
    >>> verdict = mercer.certify(lambda x, z: (x - z) @ (x - z))
    >>> verdict.coefficients
    array([ 1., -1.])
    >>> verdict.value
    -2.0
    """

    points: Rows
    coefficients: np.ndarray
    value: float
    error_bound: float
    reason: str
    check: str
    gram: np.ndarray
    name: str = "the function"
    symmetric: bool = True

    def headline(self) -> str:
        """Return what is wrong, and by how much."""
        n = len(self.coefficients)
        return f"Refuted: {self.name} is not a kernel ({n} point{'s' * (n > 1)}, value {format_number(self.value)})"

    def explain(self) -> str:
        """Return the points, the coefficients and how sure the value is."""
        n = len(self.coefficients)
        lines = [f"Refuted: {self.name} is not a kernel.", "", *textwrap.wrap(self.reason, WIDTH), ""]
        lines += ["  " + line for line in align_columns(self._tabulate())]
        if 1 < n <= SMALL:
            rows = [[format_number(value) for value in row] for row in self.gram]
            lines += ["", "The Gram matrix k(xᵢ, xⱼ):", "", *("  " + line for line in align_columns(rows, right=True))]
        elif n > SMALL:
            lines += ["", f"The Gram matrix k(xᵢ, xⱼ) has shape {n} × {n}; it is in the attribute gram."]
        return "\n".join([*lines, "", *textwrap.wrap(self.check, WIDTH)])

    def _tabulate(self) -> list[tuple[str, ...]]:
        """Return the points and their coefficients as rows of text, below the headings."""
        names = [f"x{lower_digits(i + 1)}" for i in range(len(self.coefficients))]
        columns = [["", *names], ["xᵢ", *map(format_point, self._list_points())]]
        if self.symmetric:
            columns.insert(1, ["aᵢ", *map(format_number, self.coefficients)])
        return list(zip(*columns, strict=True))

    def _repr_html_(self) -> str:
        """Return the points, the coefficients, the matrix and how sure the value is, for a notebook."""
        n = len(self.coefficients)
        head, *rows = self._tabulate()
        left_out = n - len(rows[:MOST_POINTS])
        more = show_note(f"and {left_out} more in the attribute points") if left_out else Markup("")
        values = [[format_number(value) for value in row] for row in self.gram] if n <= SMALL else []
        names = [row[0] for row in rows]
        matrix = show_table(
            ["", *names], [[name, *row] for name, row in zip(names, values, strict=False)], range(1, n + 1)
        )
        bound = f" ± {format_number(self.error_bound)}" if self.error_bound else ", exactly"
        what = "Σ aᵢaⱼ k(xᵢ, xⱼ)" if self.symmetric else "−|k(x₁, x₂) − k(x₂, x₁)|"
        return show_card(
            f"Refuted: {self.name} is not a kernel.",
            show_text(self.reason),
            show_table(head, rows[:MOST_POINTS], numbers=[1] if self.symmetric else []),
            more,
            show_text(f"{what} = {format_number(self.value)}{bound} < 0"),
            show_fold("The Gram matrix k(xᵢ, xⱼ)", matrix) if values else Markup(""),
            show_note(self.check),
        )

    def _list_points(self) -> list[object]:
        if hasattr(self.points, "iloc") or hasattr(self.points, "iter_rows"):
            return [tuple(row) for row in self.points.to_numpy()]
        return list(self.points.toarray() if hasattr(self.points, "tocsr") else self.points)


@dataclass(frozen=True, repr=False)
class Unknown(Verdict):
    """Neither a proof nor a violation was found.

    Parameters
    ----------
    tried : tuple of str
        What was tried, in order.
    name : str
        The function.
    """

    tried: tuple[str, ...]
    name: str = "the function"

    def headline(self) -> str:
        """Return the verdict with how much was tried."""
        return f"Unknown: whether {self.name} is a kernel ({len(self.tried)} thing{'s' * (len(self.tried) != 1)} tried)"

    def explain(self) -> str:
        """Return what was tried and what it does not mean."""
        lines = [f"Unknown: neither a proof nor a violation was found for {self.name}.", "", "Tried:"]
        for item in self.tried:
            lines += textwrap.wrap(item, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        return "\n".join([*lines, "", NO_PROOF])

    def _repr_html_(self) -> str:
        """Return what was tried, for a notebook."""
        tried = tag("ul", *(tag("li", item) for item in self.tried), style="margin: 0.2em 0; padding-left: 1.4em")
        title = f"Unknown: neither a proof nor a violation was found for {self.name}."
        return show_card(title, show_text("Tried:", tried), show_note(NO_PROOF))
