"""Numbers of labels and of whatever else occurs in graphs, to be found again in other graphs."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np


class LabelNumbers:
    """Numbers of the labels of nodes or of edges, in the order in which they occur.

    Parameters
    ----------
    what : str
        What they are labels of, for messages.

    Examples
    --------
    >>> numbers = LabelNumbers("node labels")
    >>> numbers.number([("C", "H"), ("H",)], np.array([2, 1]), "k").tolist()
    [0, 1, 1]
    >>> numbers.copy().number([("O", "C")], np.array([2]), "k").tolist()
    [2, 0]
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._codes: dict[Any, int] = {}
        self._given: bool | None = None  # whether graphs had labels, unless none had anything to label

    @property
    def names(self) -> tuple[Any, ...]:
        """The labels in the order of their numbers."""
        return tuple(self._codes)

    def copy(self) -> LabelNumbers:
        """Return the same numbers, to which others are added without changing these."""
        other = LabelNumbers(self._what)
        other._codes, other._given = dict(self._codes), self._given
        return other

    def number(self, labels: list[tuple[Any, ...] | None], sizes: np.ndarray, owner: str) -> np.ndarray:
        """Return the numbers of all labels, 0 for all if there are none at all."""
        given = [i for i, some in enumerate(labels) if some is not None and sizes[i]]
        absent = [i for i, some in enumerate(labels) if some is None and sizes[i]]
        if given and absent:
            raise ValueError(
                f"{owner}: graph {given[0]} has {self._what}, but graph {absent[0]} (counted through all graphs given) "
                "has none; give them to all graphs or to none"
            )
        if self._given is not None and (absent if self._given else given):
            had, have = ("", "no ") if self._given else ("no ", "")
            raise ValueError(
                f"{owner}: earlier graphs have {had}{self._what}, but graph {(given + absent)[0]} has {have}such; give "
                "them to all graphs or to none"
            )
        if given or absent:
            self._given = bool(given)
        total = int(sizes.sum())
        if not given:
            return np.zeros(total, dtype=np.int64)
        codes = self._codes
        stream = chain.from_iterable(some for some in labels if some is not None)
        return np.fromiter((codes.setdefault(label, len(codes)) for label in stream), np.int64, total)


class Numbers(NamedTuple):
    """Codes of what occurs: numbers below ``known`` of what a book has, and −1, −2, … of ``fresh`` other things."""

    codes: np.ndarray
    known: int
    fresh: int


class Book:
    """What occurs in some graphs, by number.  Once it is closed, it finds what it has, and all else is negative.

    Examples
    --------
    >>> book = Book()
    >>> book.number("paths", np.array([7, 3, 7])).codes.tolist()
    [1, 0, 1]
    >>> book.close()
    >>> book.number("paths", np.array([3, 5, 4, 5]))
    Numbers(codes=array([ 0, -2, -1, -2]), known=2, fresh=2)
    """

    def __init__(self) -> None:
        self.nodes, self.edges = LabelNumbers("node labels"), LabelNumbers("edge labels")
        self._pages: dict[Hashable, np.ndarray] = {}
        self._chapters: dict[Hashable, Book] = {}
        self._closed = False
        self._width: int | None = None  # of attributes, unless no graph had nodes

    def close(self) -> None:
        """Add nothing any more."""
        self._closed = True
        for chapter in self._chapters.values():
            chapter.close()

    def chapter(self, name: Hashable) -> Book:
        """Return a book within this one, with pages of its own."""
        return self._chapters.setdefault(name, Book())

    def relabel(self) -> Book:
        """Return an open book that has these labels and as many attributes, and nothing else."""
        other = Book()
        other.nodes, other.edges, other._width = self.nodes.copy(), self.edges.copy(), self._width
        return other

    def check_width(self, width: int, owner: str) -> None:
        """Raise unless nodes have as many attributes as those of earlier graphs."""
        if self._width not in (None, width):
            raise ValueError(
                f"{owner}: nodes of earlier graphs have {self._width} attributes, but those of these graphs have "
                f"{width}; all need the same"
            )
        self._width = width

    def number(self, page: Hashable, keys: np.ndarray) -> Numbers:
        """Return the numbers of keys on a page, in the order of keys; negative ones are on none."""
        if not self._closed:
            self._pages[page], codes = np.unique(keys, return_inverse=True)
            return Numbers(codes, len(self._pages[page]), 0)
        known = self._pages.get(page, keys[:0])
        codes, found = np.zeros(keys.shape, dtype=np.int64), np.zeros(keys.shape, dtype=bool)
        if len(known):
            codes = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            found = known[codes] == keys
        others, inverse = np.unique(keys[~found], return_inverse=True)
        codes[~found] = -1 - inverse
        return Numbers(codes, len(known), len(others))

    def recall(self, page: Hashable, value: np.ndarray) -> np.ndarray:
        """Return what a page says: the value, if it is written now, and otherwise the one that was."""
        if not self._closed:
            self._pages[page] = value
        return self._pages[page]


def join(first: np.ndarray, second: np.ndarray, known: int, fresh: int) -> np.ndarray:
    """Return a key for each pair of codes, where the second are numbers from −fresh up to but not including known.

    It is what it was with fewer fresh codes if both are known, and negative if one of them is not.

    Examples
    --------
    >>> join(np.array([2, 2, -1]), np.array([1, -1, 1]), 3, 1).tolist()
    [7, -13, -3]
    """
    if fresh == 0 and first.min(initial=0) >= 0:
        return first * known + second
    lowest = min(0, int(first.min(initial=0)))
    every = (first - lowest) * (known + fresh) + second + fresh
    return np.where((first < 0) | (second < 0), -1 - every, first * known + second)
