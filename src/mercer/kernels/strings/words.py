"""Kernels that count common words: contiguous, with gaps, or with mismatches.  Each says which windows agree."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial
from typing import Any

from mercer.formula.data import short
from mercer.formula.parameters import Count, Flag, Natural, check_integer, check_positive

from ..prepared import Missing
from .base import Tokens
from .strands import locate, weigh_centers
from .table import Coded, TokenTable
from .windows import Mask, WindowKernel


class Spectrum(WindowKernel):
    """The number of common words of some length, each counted as often as it occurs in both.

    k(x, z) = Σ_w #_w(x) #_w(z) over all words w of ``length`` consecutive tokens.  With ``shortest`` shorter words
    count too: ``Spectrum(3, shortest=1)`` is the bag of all words of one, two and three tokens.  Sequences shorter than
    every word have no features, so that k is 0.

    Parameters
    ----------
    length : int, default=3
        Tokens of a word.
    shortest : int, optional
        Tokens of the shortest words; ``length`` if not given.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: words that hold one count nothing.
    reverse_complement : bool, default=False
        Whether words of either strand of DNA count: k(x, z) + k(x, z̄), where z̄ is z backwards with A and T, C and G
        exchanged.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Examples
    --------
    Strings are sequences of letters; lists of words are sequences too.

    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["ababa", "abba"])
    array([[8., 4.],
           [4., 3.]])
    >>> Spectrum(2)([["to", "be", "or", "not"], ["not", "to", "be"]])
    array([[3., 1.],
           [1., 2.]])
    """

    length: Natural = 3
    shortest: int | None = None
    skip: Tokens = ""
    reverse_complement: Flag = False
    missing: Missing = "refuse"
    because = "k = φ(x)ᵀφ(z), where φ counts how often each word occurs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shortest is not None:
            check_integer(self, "shortest", 1)
            if self.shortest > self.length:
                raise ValueError(
                    f"Spectrum: shortest must be at most length, got shortest={self.shortest} and length={self.length}"
                )

    def masks(self) -> list[Mask]:
        """One for each length."""
        least = self.length if self.shortest is None else self.shortest
        return [Mask(size, tuple(range(size))) for size in range(int(least), int(self.length) + 1)]


class GappedKmer(WindowKernel):
    """The number of common words with gaps: windows of ``length`` tokens that agree but for ``gaps`` of them.

    k(x, z) = Σ_M Σ_w #_{M,w}(x) #_{M,w}(z), where M chooses ``length − gaps`` of the positions of a window and
    #_{M,w} counts the windows that spell w there.  Pairs of windows that differ at h positions therefore count
    C(length − h, gaps − h) times.  Sequences shorter than a window have no features, so that k is 0.

    Parameters
    ----------
    length : int, default=6
        Tokens of a window.
    gaps : int, default=2
        How many of them are ignored.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: windows that hold one count nothing, also where a gap hides it.
    reverse_complement : bool, default=False
        Whether windows of either strand of DNA count: k(x, z) + k(x, z̄), where z̄ is z backwards with A and T, C and G
        exchanged.
    center_weights : float, optional
        A number H of tokens: a window counts 2^(−d/H) if d tokens lie between its middle and that of its string, so
        that what is near the centre of a peak counts more.  All windows count 1 if not given.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Notes
    -----
    gkm-SVM (Ghandi, Lee, Mohammad-Noori and Beer, 2014) counts gapped k-mers of both strands, which is
    ``reverse_complement=True``, and normalises; its ``wgkm`` weighs windows by their distance from the centre, as
    ``center_weights`` does.

    Examples
    --------
    >>> from mercer.kernels import GappedKmer
    >>> GappedKmer(3, 1)(["abc", "adc"])
    array([[3., 1.],
           [1., 3.]])
    >>> GappedKmer(3, 1, skip="N", reverse_complement=True)(["GAT", "ATC", "GNT"])
    array([[3., 3., 0.],
           [3., 3., 0.],
           [0., 0., 0.]])
    """

    length: Natural = 6
    gaps: Count = 2
    skip: Tokens = ""
    reverse_complement: Flag = False
    center_weights: float | None = None
    missing: Missing = "refuse"
    because = "k = φ(x)ᵀφ(z), where φ counts how often each word with gaps occurs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gaps >= self.length:
            raise ValueError(
                f"GappedKmer: gaps must be fewer than length, so that something is compared; got gaps={self.gaps} and "
                f"length={self.length}"
            )
        if self.center_weights is not None:
            check_positive(self, "center_weights")

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Let windows far from the middle of their sequence weigh less."""
        table = super().adapt(table, A, B)
        if self.center_weights is None:
            return table
        return weigh_centers(table, int(self.length), float(self.center_weights))

    def values(self) -> list[int]:
        """As many masks as look at none of the positions at which two windows differ."""
        length, gaps = int(self.length), int(self.gaps)
        return [comb(length - differences, gaps - differences) for differences in range(gaps + 1)]

    def masks(self) -> list[Mask]:
        """Every choice of positions."""
        length, gaps = int(self.length), int(self.gaps)
        return [Mask(length, kept) for kept in combinations(range(length), length - gaps)]


class Mismatch(WindowKernel):
    """The number of words that are almost common: words with up to some mismatches count as well.

    k(x, z) = Σ_w #_w(x) #_w(z) over all words w of ``length`` tokens of the alphabet, where #_w counts the windows that
    differ from w at no more than ``mismatches`` positions.  How many words are close to two windows depends only on the
    number of positions at which the windows differ, so that k is computed as a weighted sum of kernels with gaps, and
    the cost does not grow with the alphabet.  Sequences shorter than a word have no features, so that k is 0.

    Parameters
    ----------
    length : int, default=5
        Tokens of a word.
    mismatches : int, default=1
        How many of them may differ.
    alphabet : str or collection of tokens, default="ACGT"
        What words are made of; other tokens are refused.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: windows that hold one count nothing.
    reverse_complement : bool, default=False
        Whether windows of either strand of DNA count: k(x, z) + k(x, z̄), where z̄ is z backwards with A and T, C and G
        exchanged.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(3, 1)(["ACG", "ACT", "TTT"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    length: Natural = 5
    mismatches: Count = 1
    alphabet: Any = "ACGT"
    skip: Tokens = ""
    reverse_complement: Flag = False
    missing: Missing = "refuse"
    because = "k = φ(x)ᵀφ(z), where φ counts the windows that are close to each word"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mismatches >= self.length:
            raise ValueError(
                f"Mismatch: mismatches must be fewer than length, because all words are alike otherwise; got "
                f"mismatches={self.mismatches} and length={self.length}"
            )
        try:
            distinct = len(set(self.alphabet))
        except TypeError:
            raise TypeError(
                f"Mismatch: alphabet must be a string or a collection of hashable tokens, got {self.alphabet!r}"
            ) from None
        if distinct == 0 or distinct != len(self.alphabet):
            raise ValueError(
                f"Mismatch: alphabet must hold every token once, and at least one; got {short(self.alphabet)}"
            )

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Raise on tokens that are not in the alphabet."""
        alphabet = set(self.alphabet)
        unknown = next((code for code, token in enumerate(table.tokens) if token not in alphabet), None)
        if unknown is not None:
            raise ValueError(
                f"{self!r}: the token {table.tokens[unknown]!r} of object {locate(unknown, table, A, B)} is not in the "
                f"alphabet {short(self.alphabet)}; pass alphabet=… with every token there may be, skip=… with those "
                "that are none, such as 'N', or map the objects first, as in k.after(str.upper)"
            )
        return super().adapt(table, A, B)

    def values(self) -> list[int]:
        """As many words as are close to two windows."""
        return [self.close_words(differences) for differences in range(self._most_differences() + 1)]

    def masks(self) -> list[Mask]:
        """Every choice of positions, weighted so that pairs of windows count as often as they have common words."""
        length = int(self.length)
        weights: dict[int, int] = {}
        for gaps in range(self._most_differences(), -1, -1):
            counted = sum(weight * comb(length - gaps, more - gaps) for more, weight in weights.items())
            weights[gaps] = self.close_words(gaps) - counted
        return [
            Mask(length, kept, float(weight))
            for gaps, weight in weights.items()
            for kept in combinations(range(length), length - gaps)
        ]

    def _most_differences(self) -> int:
        """Return at how many positions windows with a common word differ, at most."""
        return min(2 * int(self.mismatches), int(self.length))

    def close_words(self, differences: int) -> int:
        """Return the number of words close to both of two windows that differ at some positions.

        Examples
        --------
        >>> from mercer.kernels import Mismatch
        >>> [Mismatch(3, 1).close_words(h) for h in range(4)]
        [10, 4, 2, 0]
        """
        letters, equal = len(self.alphabet), int(self.length) - differences
        total = 0
        for changed in range(min(equal, int(self.mismatches)) + 1):  # where the windows agree and the word does not
            left = int(self.mismatches) - changed
            outside = comb(equal, changed) * (letters - 1) ** changed
            for one in range(max(0, differences - left), differences + 1):  # where the word follows the first window
                for other in range(max(0, differences - left), differences - one + 1):  # and the second
                    neither = differences - one - other
                    ways = factorial(differences) // (factorial(one) * factorial(other) * factorial(neither))
                    total += outside * ways * (letters - 2) ** neither
        return total
