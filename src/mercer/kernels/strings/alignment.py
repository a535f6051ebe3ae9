"""Kernels that compare sequences as a whole, token by token: subsequences, positions, and edits."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.parameters import Natural, Positive

from .base import CALL_CELLS, Part, StringKernel
from .table import Coded

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict

LANES = 16  # sequences that the compiled core compares with one at a time
SHORT_WORDS = 5  # tokens of the longest words that an edit kernel is examined at


class Subsequence(StringKernel):
    """Common subsequences, weighted by how far they are spread (Lodhi and others, 2002).

    k(x, z) = Σ_u Σ_{i: x[i]=u} Σ_{j: z[j]=u} λ^{s(i)+s(j)}, where u runs over all words of ``length`` tokens, i and j
    over the increasing positions at which x and z spell u, and s(i) = last − first + 1 is the number of tokens that
    they span.  Long sequences have large values; ``normalize()`` makes them comparable.  It takes
    O(length · n · m) steps for sequences of n and m tokens.  Sequences shorter than ``length`` have no features, so
    that k is 0.

    Parameters
    ----------
    length : int, default=3
        Tokens of a subsequence.
    decay : float, default=0.5
        The weight λ of every token that a subsequence spans, above 0 and at most 1.

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
        length = int(self.length)
        part.run(_native.subsequences, length, float(self.decay), cells=CALL_CELLS / length)

    def scratch(self, A: Coded, B: Coded) -> int:
        """Sums over subsequences of every length for each token of the longest sequences, in each thread."""
        longest = int(B.table.sizes[B.ids].max(initial=0)) + 1
        return default_threads() * 8 * LANES * longest * (int(self.length) + 1)


class WeightedDegree(StringKernel):
    """Words in common at the same position, of every length up to a degree (Rätsch and Sonnenburg, 2004).

    k(x, z) = Σ_{d=1}^D β_d Σ_i 1[x[i:i+d] = z[i:i+d]] with β_d = 2(D − d + 1)/(D(D + 1)), which sum to 1.  Made for
    sequences that are aligned, such as windows around a site; of sequences of different lengths it compares the
    positions that both have.

    Parameters
    ----------
    degree : int, default=3
        The length D of the longest words.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2)(["abc", "abd", "xab"]).round(3)
    array([[2.667, 1.667, 0.   ],
           [1.667, 2.667, 0.   ],
           [0.   , 0.   , 2.667]])
    """

    degree: Natural = 3
    because = "k = φ(x)ᵀφ(z), where φ says with weight √β_d which word starts at each position"

    def weights(self) -> np.ndarray:
        """Return β_d for the lengths 1 to D."""
        degree = int(self.degree)
        return 2.0 * np.arange(degree, 0, -1) / (degree * (degree + 1))

    def fill(self, part: Part) -> None:
        """Walk along both sequences: each run of agreement holds words of every length up to its own."""
        gained = np.concatenate([[0.0], np.cumsum(self.weights())])
        part.run(_native.matching_runs, gained)


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
