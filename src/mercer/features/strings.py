"""Explicit maps of the kernels on strings: one column for each word that the strings of the fit have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.kernels import Fisher, Mismatch, WeightedDegree
from mercer.kernels.strings.base import StringKernel
from mercer.kernels.strings.table import Coded
from mercer.kernels.strings.windows import WindowKernel

from .composition import Node
from .explicit import NoFiniteMapError, build, examples

GAP = -1  # stands in a word where its mask does not look
LARGEST_PLACE = 2**31  # of a word in its string


@dataclass(frozen=True)
class Words:
    """Words of one kind: the string each belongs to, their codes (a row each), and what one of them counts."""

    owners: np.ndarray
    codes: np.ndarray
    weight: float | np.ndarray = 1.0  # of all, or one for each


@build.register
def _(kernel: StringKernel, d: int, X: Rows | None) -> Node:
    raise NoFiniteMapError(kernel, "has no feature map with few features for each string")


@build.register
def _(kernel: WindowKernel, d: int, X: Rows | None) -> Node:
    return Vocabulary(kernel, examples(kernel, X, "word"))


@build.register
def _(kernel: WeightedDegree, d: int, X: Rows | None) -> Node:
    if kernel.shift:
        raise NoFiniteMapError(kernel, "has no feature map with few features where words may be shifted")
    return Vocabulary(kernel, examples(kernel, X, "word"))


@build.register
def _(kernel: Fisher, d: int, X: Rows | None) -> Node:
    return Slopes(kernel)


@dataclass(frozen=True)
class Slopes:
    """The whitened slopes of the logarithm of a Markov model, one for each word."""

    kernel: Fisher

    @property
    def width(self) -> int:
        """The number of words, and one for missing objects."""
        return len(self.kernel.alphabet) ** (int(self.kernel.order) + 1) + int(self.kernel.missing == "own")

    def __call__(self, X: Rows) -> np.ndarray:
        """Return the slopes of every sequence."""
        return self.kernel.embed(X)

    def names(self, inputs: list[str]) -> list[str]:
        """Each token, behind a bar and its context."""
        words = product(map(str, self.kernel.alphabet), repeat=int(self.kernel.order) + 1)
        named = [f"{word[-1]}|{''.join(word[:-1])}" for word in words]
        return named + ["missing"] * (self.width - len(named))


class Vocabulary:
    """How often each known word occurs, as a sparse matrix; words that were not seen before have no column."""

    def __init__(self, kernel: StringKernel, X: Rows) -> None:
        self.kernel = kernel
        coded, _ = kernel.prepare(X, X)
        fixed = kernel.alphabet if isinstance(kernel, Mismatch) else coded.table.tokens
        self.tokens = {token: code for code, token in enumerate(fixed)}
        self.words = [_drop_repeated(words.codes) for words in self._split_words(coded)]
        if self.width == 0:
            raise ValueError(
                f"{kernel!r}: none of the objects is long enough for a word, so that there are no features"
            )

    def _check_fitted(self) -> None:
        """Raise if there are no words of the kernel in the codes of its tokens; files call this."""
        coded, _ = self.kernel.prepare([""], [""])
        kinds = [words.codes.shape[1] for words in self._split_words(coded)]
        placed, count = int(isinstance(self.kernel, WeightedDegree)), len(self.tokens)
        right = list(self.tokens.values()) == list(range(count)) and len(self.words) == len(kinds)
        for words, columns in zip(self.words, kinds, strict=True) if right else ():
            array = isinstance(words, np.ndarray) and words.dtype == np.int64 and words.shape == (len(words), columns)
            codes = words[:, placed:] if array else np.array([GAP - 1])
            places = words[:, :placed] if array else np.array([-1])
            right = right and GAP <= codes.min(initial=0) <= codes.max(initial=-1) < count
            right = right and 0 <= places.min(initial=0) <= places.max(initial=0) < LARGEST_PLACE
            right = right and np.array_equal(_drop_repeated(words), words)  # they are searched for in their order
        if not right or self.width == 0:
            raise ValueError(f"{self.kernel!r}: the words of the feature map do not fit the kernel")

    @property
    def width(self) -> int:
        """The number of words, and one for missing objects."""
        return sum(len(words) for words in self.words) + self._own

    @property
    def _own(self) -> int:
        """1 if missing objects have a feature of their own, behind all words, and 0 otherwise."""
        return int(getattr(self.kernel, "missing", "refuse") == "own")

    def __call__(self, X: Rows) -> sparse.csr_array:
        """Count the words of every string."""
        coded, _ = self.kernel.prepare(X, X)
        rows, columns, values = [], [], []
        first = 0
        for known, found in zip(self.words, self._split_words(coded), strict=True):
            column = _find_rows(known, found.codes)
            seen = column >= 0
            rows.append(found.owners[seen])
            columns.append(first + column[seen])
            values.append(np.broadcast_to(np.sqrt(found.weight), seen.shape)[seen])
            first += len(known)
        absent = np.flatnonzero(coded.ids == coded.table.missing)
        rows.append(absent)
        columns.append(np.full(len(absent), first))
        values.append(np.ones(len(absent)))
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.coo_array(entries, shape=(len(coded), self.width)).tocsr()

    def names(self, inputs: list[str]) -> list[str]:
        """The words, with a dot for each gap, and the position in front where it counts."""
        tokens = [str(token) for token in self.tokens]
        between = "" if all(len(token) == 1 for token in tokens) else " "
        placed = isinstance(self.kernel, WeightedDegree)
        named = [
            (f"{word[0]}:" if placed else "")
            + between.join("." if code == GAP else tokens[code] for code in word[int(placed) :])
            for words in self.words
            for word in words
        ]
        return named + ["missing"] * self._own

    def _split_words(self, coded: Coded) -> Iterator[Words]:
        """Yield the words of all strings, one kind after the other, in codes of our own."""
        translate = np.array([self.tokens.get(token, GAP - 1) for token in coded.table.tokens], dtype=np.int64)
        codes = translate[coded.table.codes] if len(translate) else coded.table.codes.astype(np.int64)
        ids, share = coded.ids + coded.table.strands, 0.5 if coded.table.strands else 1.0
        if isinstance(self.kernel, Mismatch):
            length = int(self.kernel.length)
            owners, starts = coded.table.windows(ids, length)
            yield _change_letters(self.kernel, owners, codes[starts[:, None] + np.arange(length)], share)
        elif isinstance(self.kernel, WeightedDegree):
            for size, weight in enumerate(self.kernel.weights(), start=1):
                owners, starts = coded.table.windows(coded.ids, size)
                places = starts - coded.table.starts[coded.ids][owners]
                yield Words(owners, np.column_stack([places, codes[starts[:, None] + np.arange(size)]]), float(weight))
        elif isinstance(self.kernel, WindowKernel):
            for mask in self.kernel.masks():
                owners, starts = coded.table.windows(ids, mask.span)
                each = 1.0 if coded.table.weights is None else coded.table.weights[starts] ** 2
                words = np.full((len(starts), mask.span), GAP, dtype=np.int64)
                words[:, mask.kept] = codes[starts[:, None] + np.array(mask.kept)]
                yield Words(owners, words, mask.weight * share * each)


def _change_letters(kernel: Mismatch, owners: np.ndarray, windows: np.ndarray, weight: float) -> Words:
    """Return every word within some mismatches of each window: letters are shifted along the alphabet."""
    letters, found = len(kernel.alphabet), []
    for changes in range(int(kernel.mismatches) + 1):
        for places in combinations(range(int(kernel.length)), changes):
            for shifts in product(range(1, letters), repeat=changes):
                words = windows.copy()
                words[:, places] = (words[:, places] + np.array(shifts, dtype=np.int64)) % letters
                found.append(words)
    return Words(np.tile(owners, len(found)), np.concatenate(found), weight)


def _find_rows(known: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the row of ``known``, whose rows are distinct and sorted, that equals each word, or −1."""
    numbers = _number_rows(np.concatenate([known, words]))
    ordered, wanted = numbers[: len(known)], numbers[len(known) :]
    if len(known) == 0:
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[at] == wanted, at, -1)


def _number_rows(words: np.ndarray) -> np.ndarray:
    """Return a number for each row, in the order of the rows and equal for equal ones."""
    numbers, bound = np.zeros(len(words), dtype=np.int64), 1
    for column in words.T:
        shifted = column - column.min(initial=0)
        base = int(shifted.max(initial=0)) + 1
        if bound * base >= 2**62:
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
            bound = int(numbers.max(initial=0)) + 1
        numbers = numbers * base + shifted
        bound *= base
    return numbers


def _drop_repeated(words: np.ndarray) -> np.ndarray:
    """Return the distinct rows, sorted."""
    return words[np.unique(_number_rows(words), return_index=True)[1]]
