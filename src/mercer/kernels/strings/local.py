"""The local alignment kernel: the best common parts of two sequences, softly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import mercer._native as _native
from mercer.formula.data import Rows, short
from mercer.formula.notation.tree import Node, power, times
from mercer.formula.parameters import Flag, NotNegative, Positive
from mercer.formula.statistics import Prepared

from ..algebra import Normalized
from ..base import Kernel
from ..prepared import Missing
from ..theorem import Theorem
from .base import Part, StringKernel
from .blosum import AMINO_ACIDS, read_blosum62
from .strands import locate
from .table import Coded, TokenTable

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict

LARGEST = float(np.log(np.finfo(np.float64).max))
STEEPEST = 138.0  # of β times a score or cost: the compiled core takes numbers between 2^-200 and 2^200
CELLS = 5e7  # pairs of tokens of one native call and thread: below half a second
ROUNDING = 1e-12  # of eigenvalues, next to the largest
FEW_LETTERS = 4  # of which words are made that are looked at for a counterexample


class LocalAlignment(StringKernel):
    """Common parts of two sequences, with substitutions and gaps: a soft form of the Smith–Waterman score.

    k(x, z) = Σ_π e^{β s(π)} over all local alignments π, which pair some tokens of x with as many of z, in
    their order.  The score s(π) adds up the substitution scores of all pairs and subtracts, for every gap of n tokens
    between two pairs, ``gap_open`` + (n − 1) ``gap_extend``.  The best alignment alone has the score of Smith and
    Waterman; log k / β tends to it as β grows.  See Saigo, Vert, Ueda and Akutsu, Bioinformatics (2004).

    Parameters
    ----------
    substitution : "BLOSUM62" or array of shape (letters, letters), default="BLOSUM62"
        The score of every pair of tokens, symmetric.
    alphabet : str or collection of tokens, optional
        What the rows of an array are scores of; the twenty amino acids for BLOSUM62.  Other tokens are refused.
    gap_open : float, default=11.0
        The cost of the first token of a gap.
    gap_extend : float, default=1.0
        The cost of each further one.
    beta : float, default=0.1
        How much the best alignments outweigh all others.  The larger it is, the more k(x, x) dominates; 0.5, as Saigo
        and others have it, goes with ``log=True``.
    log : bool, default=False
        Whether the kernel is log k / β, which is on the scale of scores and has no large diagonal, but in general is
        not positive semi-definite.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Notes
    -----
    k is positive semi-definite if e^{βS} is, S the substitution scores: a sum over convolutions of kernels on pairs and
    on gaps.  The certificate looks at the eigenvalues of e^{βS}; where one is negative, it looks for words at which k
    is no kernel, and so it does with ``log=True``.

    Values are sums of exponentials of scores and overflow float64 where two sequences have much in common.
    ``LocalAlignment().normalize()`` is computed from logarithms, and is what learners should be given.

    Examples
    --------
    >>> from mercer.kernels import LocalAlignment
    >>> peptides = ["HEAGAWGHEE", "PAWHEAE", "MKLVINGKTL"]
    >>> LocalAlignment().normalize()(peptides).round(3)
    array([[1.   , 0.338, 0.202],
           [0.338, 1.   , 0.22 ],
           [0.202, 0.22 , 1.   ]])
    >>> LocalAlignment(beta=0.5, log=True)(peptides).round(1)
    array([[62.2, 21. , 10.6],
           [21. , 44.2,  8.4],
           [10.6,  8.4, 48.4]])
    """

    substitution: Any = "BLOSUM62"
    alphabet: Any = None
    gap_open: NotNegative = 11.0
    gap_extend: NotNegative = 1.0
    beta: Positive = 0.1
    log: Flag = False
    missing: Missing = "refuse"
    options = ("alphabet", "log", "missing")

    def __post_init__(self) -> None:
        super().__post_init__()
        scores, letters = self.scores, self.letters
        if scores.shape != (len(letters),) * 2 or len(set(letters)) != len(letters) or not len(letters):
            raise ValueError(
                f"LocalAlignment: an array of scores needs a row and a column for each token of alphabet=…, which "
                f"holds every token once; got shape {scores.shape} and the alphabet {short(self.alphabet)}"
            )
        if not np.isfinite(scores).all() or not np.array_equal(scores, scores.T):
            raise ValueError("LocalAlignment: substitution scores must be finite and symmetric, S[a, b] = S[b, a]")
        steepest = float(self.beta) * max(float(np.abs(scores).max()), float(self.gap_open), float(self.gap_extend))
        if steepest > STEEPEST:
            raise ValueError(
                f"LocalAlignment: beta times every score and cost must be at most {STEEPEST:g}, got {steepest:g}; use "
                "a smaller beta"
            )

    @property
    def letters(self) -> tuple[Any, ...]:
        """The tokens that have scores."""
        named = isinstance(self.substitution, str)
        return tuple(AMINO_ACIDS if named and self.alphabet is None else self.alphabet or ())

    @property
    def scores(self) -> np.ndarray:
        """The substitution scores S."""
        if isinstance(self.substitution, str):
            if self.substitution != "BLOSUM62" or self.alphabet is not None:
                raise ValueError(
                    f"LocalAlignment: substitution must be 'BLOSUM62', without an alphabet, or an array of scores with "
                    f"alphabet=…; got {self.substitution!r} and alphabet={self.alphabet!r}"
                )
            return read_blosum62()
        try:
            return np.asarray(self.substitution, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"LocalAlignment: substitution must be 'BLOSUM62' or an array of scores, got {short(self.substitution)}"
            ) from None

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Raise on tokens that have no scores."""
        known = set(self.letters)
        unknown = next((code for code, token in enumerate(table.tokens) if token not in known), None)
        if unknown is not None:
            raise ValueError(
                f"{type(self).__name__}: the token {table.tokens[unknown]!r} of object {locate(unknown, table, A, B)} "
                f"has no substitution scores; there are those of {short(''.join(map(str, self.letters)))}. Leave such "
                "tokens out, or pass scores for them: substitution=array, alphabet=…"
            )
        return table

    def fill(self, part: Part) -> None:
        """Sum over alignments, and exponentiate."""
        self.fill_logarithms(part)
        if self.log:
            np.divide(part.out, float(self.beta), out=part.out)
            return
        wanted = part.first < part.last
        largest = float(part.out[wanted].max(initial=0.0))
        if largest > LARGEST:
            raise OverflowError(
                f"{self!r} overflows float64: a sum over alignments is e^{largest:.0f}. Use its normalize() or "
                "log=True, which are computed from logarithms, or a smaller beta"
            )
        np.exp(part.out, out=part.out)

    def fill_logarithms(self, part: Part) -> None:
        """Run the dynamic programme on some rows at a time."""
        place = {token: row for row, token in enumerate(self.letters)}
        rows = np.array([place[token] for token in part.table.tokens], dtype=np.int64)
        beta = float(self.beta)
        scores = np.ascontiguousarray(np.exp(beta * self.scores[np.ix_(rows, rows)]))
        opened, extended = np.exp(-beta * float(self.gap_open)), np.exp(-beta * float(self.gap_extend))
        part.run(_native.local_alignments, scores, float(opened), float(extended), cells=CELLS)

    def theorem(self) -> Theorem | None:
        """A sum of convolutions, if pairs of tokens are compared by a kernel."""
        eigenvalues = np.linalg.eigvalsh(np.exp(float(self.beta) * self.scores))
        if self.log or eigenvalues[0] <= ROUNDING * eigenvalues[-1]:
            return None
        return self.prove(
            f"k is a sum of convolutions of kernels on parts: 1 outside of an alignment, e^{{βS}} on pairs of "
            f"tokens, whose smallest eigenvalue {eigenvalues[0]:.2g} is positive, and g(x)g(z) on gaps (Saigo et al.)"
        )

    def certificate(self, dim: int | None = None, sample: Rows | None = None) -> Verdict:
        """Return whether this is a kernel, looked at on short words of some letters if no sample is given."""
        return super().certificate(dim, self.words() if dim is None and sample is None else sample)

    def words(self) -> list[Any]:
        """Return every letter, and short words of the first of them."""
        some = [word for size in (2, 3) for word in product(self.letters[:FEW_LETTERS], repeat=size)]
        found = [*((letter,) for letter in self.letters), *some]
        written = all(isinstance(letter, str) and len(letter) == 1 for letter in self.letters)
        return ["".join(word) for word in found] if written else found

    def normalize(self) -> Kernel:
        """Return k(x, z) / √(k(x, x) k(z, z)), computed from logarithms."""
        return super().normalize() if self.log else NormalizedLocalAlignment(self)


@dataclass(frozen=True, eq=False)
class Noted(Coded):
    """Sequences, each with the logarithm of its value with itself."""

    notes: np.ndarray
    along = ("ids", "notes")


class NormalizedLocalAlignment(StringKernel):
    """The local alignment kernel divided by √(k(x, x) k(z, z)), written ``LocalAlignment().normalize()``."""

    kernel: LocalAlignment
    because = Normalized.because

    def notation(self, x: Node, z: Node) -> Node:
        """k(x, z) / √(k(x, x) k(z, z))."""
        norms = [power(self.kernel.notation(point, point), -0.5) for point in (x, z)]
        return times(self.kernel.notation(x, z), *norms)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Sum over the alignments of every sequence with itself, once."""
        A, B = self.kernel.prepare(X, Z)
        left = Noted(A.table, A.ids, super().block_diag(A))
        return left, left if B is A else Noted(B.table, B.ids, super().block_diag(B))

    def fill(self, part: Part) -> None:
        """Logarithms, which are divided as differences later."""
        self.kernel.fill_logarithms(part)

    def block(self, A: Coded, B: Coded) -> np.ndarray:
        """Divide, as a difference of logarithms."""
        left, right = cast(Noted, A), cast(Noted, B)
        values = np.exp(np.minimum(super().block(A, B) - 0.5 * (left.notes[:, None] + right.notes[None, :]), 0.0))
        self._set_missing(values, A.table, A.ids, B.ids)
        return values

    def block_diag(self, A: Coded) -> np.ndarray:
        """Ones."""
        return np.ones(len(A))

    def normalize(self) -> Kernel:
        """Return the kernel itself, which is normalised."""
        return self

    def certificate(self, dim: int | None = None, sample: Rows | None = None) -> Verdict:
        """Return whether this is a kernel, looked at where the one inside is."""
        return super().certificate(dim, self.kernel.words() if dim is None and sample is None else sample)

    def expression(self) -> str:
        """``k.normalize()``."""
        return f"{self.kernel!r}.normalize()"
