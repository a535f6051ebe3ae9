"""Sums Σ cᵢ k(xᵢ, ·) over strings as weights of words, so that a value costs the length of its own string only.

A kernel that counts common words is φ(x)ᵀφ(z), and Σ cᵢ k(xᵢ, z) = wᵀφ(z) with w = Σ cᵢ φ(xᵢ): every word of z is
looked up once, however many strings there are in the sum.  Where all windows that there can be are few, their values
are tabulated; otherwise words are found token by token in a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, as_objects, pick

from .alignment import WeightedDegree
from .base import Part, StringKernel
from .strands import NONE
from .table import Coded, TokenTable
from .windows import WindowKernel, count_possible
from .words import Spectrum

# Costs in pairs of windows that are compared, as for windows.
STEP_COST = 64  # of a token of a word in the tree
FILL_COST = 16  # of a window in a table, for each number of differences and each of its tokens
PAIR_COST = 64  # of a kernel value, besides that of finding it
RUN_COST = 8  # of a pair of tokens of aligned sequences
GAIN = 2  # how much less all words must cost than all pairs of strings
LARGEST_TABLE = 2**27  # bytes of all windows that there can be
CALL_STEPS = 1e7  # tokens of words of one native call and thread: below half a second
NODE_BYTES = 64  # that a node of the tree takes, besides its weights

Sum = Callable[[Rows], np.ndarray]  # of the objects of a collection, of shape (objects, outputs)


@dataclass(frozen=True)
class Words:
    """Words of the tokens of a window at ``offsets``: the first d of them, or all, count ``gains[d]``."""

    span: int
    offsets: tuple[int, ...]
    gains: np.ndarray
    whole: bool = True  # words of a window that ends outside its string are none
    placed: bool = False  # words at different places are different


def list_words(kernel: StringKernel) -> list[Words]:
    """Return the kinds of words that a kernel counts; none if it does not count words."""
    if isinstance(kernel, WeightedDegree):
        if kernel.shift:  # each word would have to be told at every place around its own
            return []
        gains = np.concatenate([[0.0], kernel.weights()])
        return [Words(len(gains) - 1, tuple(range(len(gains) - 1)), gains, whole=False, placed=True)]
    if isinstance(kernel, Spectrum):
        sizes = [mask.span for mask in kernel.masks()]
        gains = np.isin(np.arange(max(sizes) + 1), sizes).astype(float)
        return [Words(max(sizes), tuple(range(max(sizes))), gains, whole=False)]
    if isinstance(kernel, WindowKernel):
        masks = kernel.masks()
        return [Words(m.span, m.kept, np.array([0.0] * len(m.kept) + [m.weight])) for m in masks]
    return []


class WordWeights:
    """f(x) = Σ cᵢ k(xᵢ, x) as a sum over the words of x.

    ``evaluate`` gives the same sum from all strings; it is asked for strings with tokens that no table has.
    """

    def __init__(self, kernel: StringKernel, centers: Rows, coef: np.ndarray, evaluate: Sum) -> None:
        self.kernel, self._evaluate = kernel, evaluate
        self._some = as_objects(centers, repr(kernel))[:1]  # so that strings and lists are not mixed up
        coded, _ = kernel.prepare(centers, centers)
        self._coded, ids = coded, np.unique(coded.ids)
        self._tokens = {token: code for code, token in enumerate(coded.table.tokens)}
        self._ids, self._coef = ids, np.zeros((len(ids), coef.shape[1]))
        np.add.at(self._coef, np.searchsorted(ids, coded.ids), coef)
        self._missing = self._coef[ids == coded.table.missing].sum(axis=0)  # of missing objects, which have no words
        self._tables: list[tuple[int, np.ndarray]] = []
        self._tree: _native.WordTree | None = None
        self._outputs, self._gaps = coef.shape[1], False
        self._depth = 1  # tokens that are looked up at a place of a string, at most

    @classmethod
    def build(cls, kernel: StringKernel, centers: Rows, coef: np.ndarray, memory: int, evaluate: Sum) -> Self | None:
        """Return the words of a sum, or None if they take too much memory or more time than all pairs of strings do."""
        words = list_words(kernel)
        if not words:
            return None
        self = cls(kernel, centers, coef, evaluate)
        if not self._tokens:  # empty strings only
            return None
        pairs = self._cost_pairs()
        if self._fits_tables(memory, pairs):
            self._fill_tables()
        else:
            self._depth = sum(len(kind.offsets) for kind in words)
            tokens = float(self._coded.table.sizes[self._ids].sum())
            if GAIN * STEP_COST * self._depth * tokens > pairs or not self._grow_tree(words, memory):
                return None
        del self._coef
        return self

    # -- values -----------------------------------------------------------------------------------------------------

    def __call__(self, X: Rows) -> np.ndarray:
        """Return f(x) for all x."""
        return self._sum(X, self._encode(X))

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return f(x) and k(x, x) for all x."""
        coded = self._encode(X)
        return self._sum(X, coded), self.kernel.block_diag(coded)

    def _encode(self, X: Rows) -> Coded:
        coded, _ = self.kernel.prepare(X, self._some)
        return cast(Coded, coded)

    def _sum(self, X: Rows, coded: Coded) -> np.ndarray:
        ids, inverse = np.unique(coded.ids, return_inverse=True)
        table, threads = self._translate(coded.table), default_threads()
        values = np.zeros((len(ids), self._outputs))
        for some in _cut_rows(table, ids, self._depth, threads):
            for span, weights in self._tables:
                _native.window_sums(table.native, ids[some], span, weights, values[some], threads)
            if self._tree is not None:
                self._tree.sum(table.native, ids[some], values[some], threads)
        values[ids == table.missing] = self._missing
        values = values[inverse]
        if self._gaps:  # of a window with unknown tokens the others may agree, which a table does not say
            unknown = np.concatenate([[0], np.cumsum(table.codes == len(self._tokens))])
            strange = np.flatnonzero(np.diff(unknown[table.starts])[coded.ids])
            if len(strange):
                values[strange] = self._evaluate(pick(X, strange))
        return values

    def _translate(self, table: TokenTable) -> TokenTable:
        """Return a table in our own numbers of tokens; one more stands for all others."""
        other = len(self._tokens)
        own = np.array([self._tokens.get(token, other) for token in table.tokens], dtype=np.int32)
        same = np.array_equal(own, np.arange(len(own)))
        codes = table.codes if same else np.where(table.codes < 0, NONE, own[table.codes]).astype(np.int32)
        return replace(table, codes=codes, tokens=(*self._tokens, None))

    @property
    def _both(self) -> np.ndarray:
        """The strings of the sum with both of their strands, if these count; new strings are then read one way only."""
        return self._ids + self._coded.table.strands

    # -- weights ----------------------------------------------------------------------------------------------------

    def _differences(self) -> list[tuple[int, list[int]]]:
        """Return the sizes of windows, each with what pairs of them that differ at 0, 1, … tokens count."""
        if not isinstance(self.kernel, WindowKernel):
            return []
        masks, values = self.kernel.masks(), self.kernel.values()
        return [(mask.span, [1]) for mask in masks] if values is None else [(masks[0].span, values)]

    def _fits_tables(self, memory: int, pairs: float) -> bool:
        """Whether tables of all windows that there can be are small, and filled in less time than all pairs take."""
        size, cost, letters = 0.0, 0.0, len(self._tokens)
        for span, values in self._differences():
            count = count_possible(letters, span)
            size += 8.0 * count * self._outputs * (len(values) + 1)
            cost += FILL_COST * count * self._outputs * (len(values) - 1) * span + STEP_COST * count
        return 0 < size <= min(LARGEST_TABLE, memory / 4) and cost < pairs

    def _fill_tables(self) -> None:
        """Add up what each window counts with all windows of the sum: windows that differ at d tokens count values[d].

        Going through the tokens of a window one after the other, ``sums[d]`` has the weights of all windows that differ
        at d of them so far and agree with the others.
        """
        letters, outputs = len(self._tokens), self._outputs
        for span, values in self._differences():
            owners, starts = self._coded.table.windows(self._both, span)
            each = self._coded.table.weights
            counted = self._coef[owners] if each is None else each[starts, None] * self._coef[owners]
            numbers = np.zeros(len(starts), dtype=np.int64)
            for place in range(span):
                numbers = numbers * letters + self._coded.table.codes[starts + place]
            weights = np.empty((letters**span, outputs))
            for output in range(outputs):
                sums = np.zeros((len(values), letters**span))
                sums[0] = np.bincount(numbers, counted[:, output], minlength=letters**span)
                for place in range(span if len(values) > 1 else 0):
                    cut = sums.reshape(len(values), letters**place, letters, -1)
                    for differences in range(len(values) - 1, 0, -1):
                        before = cut[differences - 1]
                        cut[differences] += before.sum(axis=1, keepdims=True) - before
                weights[:, output] = np.array(values, dtype=float) @ sums
            self._tables.append((span, weights))
            self._gaps = self._gaps or len(values) > 1

    def _grow_tree(self, words: list[Words], memory: int) -> bool:
        """Collect all words, and say whether memory holds them."""
        letters = len(self._tokens)
        tree = _native.WordTree(letters, self._outputs)
        most = int(memory / 4 / (NODE_BYTES + 8 * self._outputs + (4 * letters if letters <= 8 else 0)))
        for kind in words:
            group = (kind.span, np.array(kind.offsets, dtype=np.int64), kind.gains, kind.whole, kind.placed)
            for some in _cut_rows(self._coded.table, self._both, len(kind.offsets), 1):
                if not tree.add(self._coded.table.native, self._both[some], self._coef[some], *group, most):
                    return False
        tree.finish()
        self._tree = tree
        return True

    def _cost_pairs(self) -> float:
        """Return what it costs to compare all strings of the sum with each other."""
        table, ids = self._coded.table, self._ids
        values = PAIR_COST * float(len(ids)) ** 2
        if not isinstance(self.kernel, WindowKernel):
            return values + RUN_COST * float(table.sizes[ids].sum()) * len(ids)
        first = np.zeros(len(ids), dtype=np.int64)
        return values + self.kernel.cost(Part(table, ids, ids, first, first + len(ids), np.empty((0, 0))))


def _cut_rows(table: TokenTable, ids: np.ndarray, depth: int, threads: int) -> Iterator[slice]:
    """Yield parts of strings that one native call sums, words of ``depth`` tokens: in between, Python hears Ctrl-C."""
    steps = float(table.sizes[ids].sum()) * depth
    count = max(1, int(CALL_STEPS * threads * len(ids) / max(1.0, steps)))
    for start in range(0, len(ids), count):
        yield slice(start, start + count)
