"""Kernels that compare sequences as a whole, token by token: subsequences, positions, and edits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.parameters import Count, Natural, Positive

from ..prepared import Missing
from ..theorem import Theorem
from .base import CALL_CELLS, Part, StringKernel, Tokens
from .table import Coded

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict

LANES = 16  # sequences that the compiled core compares with one at a time
WIDE = 2  # numbers of a value beyond the range of floats, of which the compiled core compares one pair at a time
SHORT_WORDS = 5  # tokens of the longest words that an edit kernel is examined at


class Subsequence(StringKernel):
    """Common subsequences, weighted by how far they are spread (Lodhi and others, 2002).

    k(x, z) = Σ_u Σ_{i: x[i]=u} Σ_{j: z[j]=u} λ^{s(i)+s(j)}, where u runs over all words of ``length`` tokens, i and j
    over the increasing positions at which x and z spell u, and s(i) = last − first + 1 is the number of tokens that
    they span.  Long sequences have large values, and long words small ones; ``normalize()`` makes them comparable, and
    is right also where they are beyond the range of floats.  It takes O(length · n · m) steps for sequences of n and m
    tokens.  Sequences shorter than ``length`` have no features, so
    that k is 0.

    Parameters
    ----------
    length : int, default=3
        Tokens of a subsequence.
    decay : float, default=0.5
        The weight λ of every token that a subsequence spans, above 0 and at most 1.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: no subsequence takes one, though its span may run over it.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Examples
    --------
    "cat" and "car" share "ca"; the value is 1/(2 + λ²).

    >>> from mercer.kernels import Subsequence
    >>> Subsequence(2, decay=0.5).normalize()(["cat", "car"]).round(4)
    array([[1.    , 0.4444],
           [0.4444, 1.    ]])
    """

    length: Natural = 3
    decay: Positive = 0.5
    skip: Tokens = ""
    missing: Missing = "refuse"
    has_logarithms = True
    because = "k = φ(x)ᵀφ(z), where φ_u(x) = Σ λ^span over the places at which x spells u"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decay > 1:
            raise ValueError(
                f"Subsequence: decay must be at most 1, so that subsequences with wide gaps weigh less; "
                f"got {self.decay!r}"
            )

    def fill(self, part: Part) -> None:
        """Run the dynamic programme on some rows at a time."""
        self._run(_native.subsequences, part)

    def fill_logarithms(self, part: Part) -> None:
        """Run it again, in numbers of any size, for pairs whose value is too large or too small for floats."""
        self._run(_native.log_subsequences, part)

    def _run(self, function: Callable[..., None], part: Part) -> None:
        length = int(self.length)
        part.run(function, length, float(self.decay), cells=CALL_CELLS / length)

    def scratch(self, A: Coded, B: Coded) -> int:
        """Sums over subsequences of every length for each token of the longest sequences, in each thread."""
        longest = int(B.table.sizes[B.ids].max(initial=0)) + 1
        return default_threads() * 8 * (LANES + WIDE) * longest * (int(self.length) + 1)


class WeightedDegree(StringKernel):
    """Words in common at the same position, of every length up to a degree (Rätsch and Sonnenburg, 2004).

    k(x, z) = Σ_{d=1}^D β_d Σ_i 1[x[i:i+d] = z[i:i+d]] with β_d = 2(D − d + 1)/(D(D + 1)), which sum to 1.  Made for
    sequences that are aligned, such as windows around a site; of sequences of different lengths it compares the
    positions that both have.  With ``shift`` words may also lie up to S tokens apart (Rätsch, Sonnenburg and Schölkopf,
    2005): s tokens apart, in either direction, they count δ_s = 1/(2(s + 1)).

    Parameters
    ----------
    degree : int, default=3
        The length D of the longest words.
    shift : int, default=0
        How many tokens S words in common may lie apart.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: words that hold one count nothing.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Notes
    -----
    With shifts, k(x, z) = Σ_d β_d Σ_{i,j} w(i − j) 1[x[i:i+d] = z[j:j+d]] with w(0) = 1 and w(±s) = δ_s, and is
    positive semi-definite as w is a positive definite function of whole numbers: its Fourier series
    1 + Σ_{s=1}^S cos(sθ)/(s + 1) is at least 1/2 for every S and θ (Rogosinski and Szegő, 1928).

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2)(["abc", "abd", "xab"]).round(3)
    array([[2.667, 1.667, 0.   ],
           [1.667, 2.667, 0.   ],
           [0.   , 0.   , 2.667]])
    >>> WeightedDegree(2, shift=1)(["abc", "xab"]).round(3)
    array([[2.667, 0.417],
           [0.417, 2.667]])
    """

    degree: Natural = 3
    shift: Count = 0
    skip: Tokens = ""
    missing: Missing = "refuse"
    because = "k = φ(x)ᵀφ(z), where φ says with weight √β_d which word starts at each position"

    def weights(self) -> np.ndarray:
        """Return β_d for the lengths 1 to D."""
        degree = int(self.degree)
        return 2.0 * np.arange(degree, 0, -1) / (degree * (degree + 1))

    def fill(self, part: Part) -> None:
        """Walk along both sequences: each run of agreement holds words of every length up to its own."""
        gained = np.concatenate([[0.0], np.cumsum(self.weights())])
        farthest = min(int(self.shift), int(part.table.sizes.max(initial=0)))  # nothing lies farther apart
        part.run(_native.matching_runs, gained, self.shifts(farthest), cells=CALL_CELLS / (2 * farthest + 1))

    def shifts(self, farthest: int | None = None) -> np.ndarray:
        """Return what words in common count that lie 0, 1, … S tokens apart, or only those up to ``farthest``."""
        most = int(self.shift) if farthest is None else farthest
        return np.concatenate([[1.0], 0.5 / np.arange(2, most + 2)])

    def theorem(self) -> Theorem | None:
        """With shifts, places are compared by a positive definite function."""
        if self.shift == 0:
            return super().theorem()
        return self.prove(
            "k sums w(i − j) β_d 1[words of d tokens at i and j are equal] over places i of x and j of z, a product of "
            "kernels: w(0) = 1 and w(±s) = 1/(2(s + 1)) up to S, whose Fourier series 1 + Σ cos(sθ)/(s + 1) is at "
            "least 1/2 (Rogosinski and Szegő)"
        )


class Edit(StringKernel):
    """The exponential of the edit distance; in general it is **not** positive semi-definite.

    k(x, z) = exp(−γ · d(x, z)), where d is the smallest number of insertions, deletions and substitutions of single
    tokens that turn x into z.  The edit distance is not conditionally negative definite, so that k has negative
    eigenvalues at some strings if γ is small.  The certificate looks for them, at short words of two letters or at the
    sample it is given: a large γ may be fine for given data, and only the data can tell.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast similarity falls with the distance.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Examples
    --------
    >>> from mercer.kernels import Edit
    >>> Edit(0.5)(["kitten", "sitting"]).round(4)
    array([[1.    , 0.2231],
           [0.2231, 1.    ]])
    >>> Edit(0.1).certificate().value < 0
    True
    """

    gamma: Positive = 1.0
    missing: Missing = "refuse"

    def fill(self, part: Part) -> None:
        """Compute the distances, and their exponentials in their place."""
        part.run(_native.edit_distances)
        np.multiply(part.out, -float(self.gamma), out=part.out)
        np.exp(part.out, out=part.out)

    def block_diag(self, A: Coded) -> np.ndarray:
        """Ones: nothing is closer to a sequence than itself."""
        return np.ones(len(A))

    def certificate(self, dim: int | None = None, sample: Rows | None = None) -> Verdict:
        """Return whether this is a kernel, looked at on short words of two letters if no sample is given."""
        if dim is None and sample is None:
            sample = ["".join(word) for size in range(SHORT_WORDS + 1) for word in product("ab", repeat=size)]
        return super().certificate(dim, sample)
