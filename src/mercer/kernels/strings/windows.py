"""Kernels that count common words: contiguous, with mismatches, or with gaps.

All of them are sums over *masks*.  A mask looks at some positions of a window of tokens, and two windows agree if they
agree there; the kernel is the weighted number of pairs of windows, one of each sequence, that agree.  Where there are
many masks, what a pair counts depends only on the number of positions at which its windows differ, and it is cheaper to
compare all windows than to sort them once for every mask.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, inf
from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import short
from mercer.formula.parameters import Count, Natural, check_integer

from .base import Part, StringKernel
from .table import Coded, TokenTable

CALL_PAIRS = 5e7  # pairs of sequences, times masks, of one native call and thread: below half a second
CALL_BYTES = 2**26  # of lists of windows in one native call
WINDOW_BYTES = 24  # that a window takes in the lists of one mask
# Costs in units of one pair of windows that is compared, about 0.15 nanoseconds where 32 are compared at a time.
SORT_COST = 64  # of a window under one mask
AGREE_COST = 16  # of a pair of windows that agree under one mask
COUNT_COST = 32  # of a window under one mask that is counted in its own sequence only
PLAIN_COST = 8  # of a pair that is compared without vectors
COMPARE_CELLS = 2e9  # pairs of windows of one native call and thread
MOST_WINDOWS = 2.0**63  # that are told apart by numbers
MOST_DIFFERENCES, MOST_LETTERS, MOST_VALUE = 15, 254, 2**48 - 1  # what the compiled core compares


@dataclass(frozen=True)
class Mask:
    """Windows of ``span`` tokens that agree if they agree at the positions ``kept``."""

    span: int
    kept: tuple[int, ...]
    weight: float = 1.0

    @property
    def native(self) -> tuple[int, np.ndarray, float]:
        """The mask as the compiled core takes it."""
        return self.span, np.array(self.kept, dtype=np.int64), self.weight


class WindowKernel(StringKernel):
    """A weighted sum over masks of the number of pairs of windows that agree."""

    def masks(self) -> list[Mask]:
        """Return the masks."""
        raise NotImplementedError

    def values(self) -> list[int] | None:
        """Return what pairs of windows that differ at 0, 1, … positions count, None if that does not tell."""
        return None

    def fill(self, part: Part) -> None:
        """Count pairs of windows that agree, or compare all pairs, whichever takes less."""
        masks, values = self.masks(), self.values()
        compared = self._cost_comparing(part, masks, values)
        if values is not None and compared < _cost_sorting(masks, part):
            counted = np.array(values, dtype=np.int64)
            part.run(_native.close_windows, masks[0].span, counted, cells=COMPARE_CELLS)
        else:
            self.sort(part, masks)

    def cost(self, part: Part) -> float:
        """Return what :meth:`fill` costs, in pairs of windows that are compared."""
        masks = self.masks()
        return min(self._cost_comparing(part, masks, self.values()), _cost_sorting(masks, part))

    def block_diag(self, A: Coded) -> np.ndarray:
        """Count how often each window occurs in a sequence, or compare all pairs of its windows."""
        ids, inverse = np.unique(A.ids, return_inverse=True)
        masks, values, first = self.masks(), self.values(), np.arange(len(ids))
        part = Part(A.table, ids, ids, first, first + 1, np.empty((0, 0)))
        counted = COUNT_COST * sum(_count_windows(A.table.sizes[ids], mask.span) for mask in masks)
        different = max(count_possible(len(A.table.tokens), len(mask.kept)) for mask in masks)
        if different >= MOST_WINDOWS or counted > self._cost_comparing(part, masks, values):
            return super().block_diag(A)
        squares = np.zeros(len(ids))
        step = max(1, int(CALL_PAIRS * len(ids) / max(1.0, counted / COUNT_COST)))
        for start in range(0, len(ids), step):
            groups, some = [mask.native for mask in masks], slice(start, start + step)
            _native.window_squares(A.table.native, ids[some], groups, squares[some], default_threads())
        return squares[inverse]

    def _cost_comparing(self, part: Part, masks: list[Mask], values: list[int] | None) -> float:
        """Return what it costs to compare all pairs of windows, infinity if the compiled core does not."""
        if values is None or not _is_comparable(masks[0].span, values, part.table):
            return inf
        mean = _count_windows(part.table.sizes[part.columns], masks[0].span) / max(1, len(part.columns))
        rows = np.maximum(part.table.sizes[part.rows] - masks[0].span + 1, 0)
        pairs = float((rows * (part.last - part.first)).sum()) * mean
        return pairs * (PLAIN_COST if _native.isas()[0] == "baseline" else 1)

    def sort(self, part: Part, masks: list[Mask]) -> None:
        """Add up some masks at a time."""
        threads = default_threads()
        windows = int(part.table.sizes[part.columns].sum()) + 1
        pairs = len(part.rows) * len(part.columns)
        step = max(threads, int(min(CALL_PAIRS * threads // pairs, CALL_BYTES // (WINDOW_BYTES * windows))))
        for start in range(0, len(masks), step):
            groups = [mask.native for mask in masks[start : start + step]]
            _native.window_matches(*part.arguments, groups, part.out, threads)


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

    Examples
    --------
    >>> from mercer.kernels import GappedKmer
    >>> GappedKmer(3, 1)(["abc", "adc"])
    array([[3., 1.],
           [1., 3.]])
    """

    length: Natural = 6
    gaps: Count = 2
    because = "k = φ(x)ᵀφ(z), where φ counts how often each word with gaps occurs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gaps >= self.length:
            raise ValueError(
                f"GappedKmer: gaps must be fewer than length, so that something is compared; got gaps={self.gaps} and "
                f"length={self.length}"
            )

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

    def check(self, table: TokenTable) -> None:
        """Raise on tokens that are not in the alphabet."""
        alphabet = set(self.alphabet)
        unknown = [token for token in table.tokens if token not in alphabet]
        if unknown:
            raise ValueError(
                f"{self!r}: the token {unknown[0]!r} is not in the alphabet {short(self.alphabet)}; pass "
                "alphabet=… with every token there may be, or map the objects first, as in k.after(str.upper)"
            )

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


def count_possible(letters: int, size: int) -> float:
    """Return how many different words of some size there can be, infinity where a float cannot say.

    Examples
    --------
    >>> count_possible(4, 3), count_possible(26, 1000)
    (64.0, inf)
    """
    try:
        return float(letters) ** size
    except OverflowError:
        return inf


def _is_comparable(span: int, values: list[int], table: TokenTable) -> bool:
    """Whether the compiled core compares such windows."""
    # Of an alphabet of one letter no windows differ, and what they would count may be negative.
    small = len(values) <= MOST_DIFFERENCES and min(values) >= 0 and max(values) <= MOST_VALUE
    return small and max(span, len(table.tokens)) <= MOST_LETTERS


def _cost_sorting(masks: list[Mask], part: Part) -> float:
    """Return what it costs to sort windows by every mask, and to visit all pairs that agree."""
    table, often = part.table, np.bincount(part.table.codes) / max(1, len(part.table.codes))
    alike = float((often**2).sum())  # the chance that two tokens are equal
    share = float((len(part.columns) - part.first).sum()) / max(1, len(part.rows) * len(part.columns))
    cost = 0.0
    for (span, kept), count in Counter((mask.span, len(mask.kept)) for mask in masks).items():
        rows, columns = (_count_windows(table.sizes[ids], span) for ids in (part.rows, part.columns))
        cost += count * (SORT_COST * (rows + columns) + AGREE_COST * share * rows * columns * alike**kept)
    return cost


def _count_windows(sizes: np.ndarray, span: int) -> float:
    """Return how many windows of some tokens sequences have."""
    return float(np.maximum(sizes - span + 1, 0).sum())
