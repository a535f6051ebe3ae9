"""Pairs of windows that agree, which is what kernels on common words count.

All of them are sums over *masks*.  A mask looks at some positions of a window of tokens, and two windows agree if they
agree there; the kernel is the weighted number of pairs of windows, one of each sequence, that agree.  Where there are
many masks, what a pair counts depends only on the number of positions at which its windows differ, and it is cheaper to
compare all windows than to sort them once for every mask.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads

from ..theorem import Theorem
from .base import Part, StringKernel
from .strands import add_strands
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

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Put the other strands behind the sequences."""
        return add_strands(table, A, B, repr(self)) if getattr(self, "reverse_complement", False) else table

    def theorem(self) -> Theorem | None:
        """With both strands, the features of both are added."""
        if not getattr(self, "reverse_complement", False):
            return super().theorem()
        both = "with both strands the features are (φ(x) + φ(x̄))/√2, x̄ the reverse complement, as φ(x̄)ᵀφ(z̄) = φ(x)ᵀφ(z)"
        return self.prove(f"{self.because}; {both}")

    def fill(self, part: Part) -> None:
        """Count pairs of windows that agree, or compare all pairs, whichever takes less."""
        part = _read_both(part)
        masks, values = self.masks(), self.values()
        compared = self._cost_comparing(part, masks, values)
        if values is not None and compared < _cost_sorting(masks, part):
            counted = np.array(values, dtype=np.int64)
            part.run(_native.close_windows, masks[0].span, counted, cells=COMPARE_CELLS)
        else:
            self.sort(part, masks)

    def cost(self, part: Part) -> float:
        """Return what :meth:`fill` costs, in pairs of windows that are compared."""
        masks, part = self.masks(), _read_both(part)
        return min(self._cost_comparing(part, masks, self.values()), _cost_sorting(masks, part))

    def block_diag(self, A: Coded) -> np.ndarray:
        """Count how often each window occurs in a sequence, or compare all pairs of its windows."""
        ids, inverse = np.unique(A.ids, return_inverse=True)
        masks, values, first = self.masks(), self.values(), np.arange(len(ids))
        part = Part(A.table, ids, ids, first, first + 1, np.empty((0, 0)))
        counted = COUNT_COST * sum(_count_windows(A.table.sizes[ids], mask.span) for mask in masks)
        different = max(count_possible(len(A.table.tokens), len(mask.kept)) for mask in masks)
        dear = different >= MOST_WINDOWS or counted > self._cost_comparing(part, masks, values)
        if dear or A.table.weights is not None:
            return super().block_diag(A)
        squares, both = np.zeros(len(ids)), ids + A.table.strands
        step = max(1, int(CALL_PAIRS * len(ids) / max(1.0, counted / COUNT_COST)))
        for start in range(0, len(ids), step):
            groups, some = [mask.native for mask in masks], slice(start, start + step)
            _native.window_squares(A.table.native, both[some], groups, squares[some], default_threads())
        squares *= 0.5 if A.table.strands else 1.0
        squares[ids == A.table.missing] = 1.0
        return squares[inverse]

    def _cost_comparing(self, part: Part, masks: list[Mask], values: list[int] | None) -> float:
        """Return what it costs to compare all pairs of windows, infinity if the compiled core does not."""
        if values is None or not _is_comparable(masks[0].span, values, part.table):
            return inf
        mean = _count_windows(part.table.sizes[part.columns], masks[0].span) / max(1, len(part.columns))
        rows = np.maximum(part.table.sizes[part.rows] - masks[0].span + 1, 0)
        pairs = float((rows * (part.last - part.first)).sum()) * mean
        plain = part.table.weights is not None or _native.isas()[0] == "baseline"
        return pairs * (PLAIN_COST if plain else 1)

    def sort(self, part: Part, masks: list[Mask]) -> None:
        """Add up some masks at a time."""
        threads = default_threads()
        windows = int(part.table.sizes[part.columns].sum()) + 1
        pairs = len(part.rows) * len(part.columns)
        step = max(threads, int(min(CALL_PAIRS * threads // pairs, CALL_BYTES // (WINDOW_BYTES * windows))))
        for start in range(0, len(masks), step):
            groups = [mask.native for mask in masks[start : start + step]]
            _native.window_matches(*part.arguments, groups, part.out, threads)


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


def _read_both(part: Part) -> Part:
    """Return a part of which the columns are both strands, if there are any; rows need not be read backwards, too."""
    return replace(part, columns=part.columns + part.table.strands) if part.table.strands else part


def _is_comparable(span: int, values: list[int], table: TokenTable) -> bool:
    """Whether the compiled core compares such windows."""
    # Of an alphabet of one letter no windows differ, and what they would count may be negative.
    small = len(values) <= MOST_DIFFERENCES and min(values) >= 0 and max(values) <= MOST_VALUE
    return small and max(span, len(table.tokens)) <= MOST_LETTERS


def _cost_sorting(masks: list[Mask], part: Part) -> float:
    """Return what it costs to sort windows by every mask, and to visit all pairs that agree."""
    table, often = part.table, np.bincount(part.table.codes + 1)[1:] / max(1, len(part.table.codes))
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
