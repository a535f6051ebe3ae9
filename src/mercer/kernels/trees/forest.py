"""Many trees as a table of their distinct subtrees, and for each tree how often it has which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, number_objects

from ..prepared import HeldArrays, Sliced
from .parse import read_nodes


class Merger:
    """Numbers for distinct subtrees: identical ones get one number, children smaller ones than their parents."""

    def __init__(self) -> None:
        self.labels: dict[Any, int] = {}
        self.numbers: dict[tuple[int, ...], int] = {}  # number of the label and numbers of the children → number

    def add(self, tree: Any) -> list[int]:
        """Return the number of the subtree at every node, the root's last."""
        found: list[int] = []
        stack: list[int] = []
        for label, children in read_nodes(tree):
            first = len(stack) - children
            key = (self.labels.setdefault(label, len(self.labels)), *stack[first:])
            number = self.numbers.setdefault(key, len(self.numbers))
            del stack[first:]
            stack.append(number)
            found.append(number)
        return found

    def counts(self, X: Rows, owner: str) -> sparse.csr_array:
        """Return how often each tree has each subtree, with as many columns as there are subtrees so far."""
        known: dict[str, list[int]] = {}
        rows = []
        for position, tree in number_objects(X, owner):
            text = tree if isinstance(tree, str) else None
            if text is not None and text in known:
                rows.append(known[text])
                continue
            try:
                rows.append(self.add(tree))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{owner}: object {position}: {error}") from None
            if text is not None:
                known[text] = rows[-1]
        ends = np.cumsum([0, *map(len, rows)])
        entries = np.fromiter((number for row in rows for number in row), dtype=np.int64, count=int(ends[-1]))
        counts = sparse.csr_array((np.ones(len(entries)), entries, ends), shape=(len(rows), len(self.numbers)))
        counts.sum_duplicates()
        return counts

    def forests(self, X: Rows, Z: Rows, owner: str, *, by_label: bool) -> tuple[Forest, Forest]:
        """Return both collections over one table of subtrees; they are one object if X is Z."""
        left = self.counts(X, owner)
        right = left if Z is X else self.counts(Z, owner)
        table = self.table(by_label=by_label)
        for side in (left, right):
            side.resize(side.shape[0], len(self.numbers))
        A = Forest(table, left)
        return A, A if Z is X else Forest(table, right)

    def _check_fitted(self) -> None:
        """Raise if labels and subtrees are not numbered in order, children before their parents; files call this."""
        ordered = all(list(each.values()) == list(range(len(each))) for each in (self.labels, self.numbers))
        keys = enumerate(self.numbers) if ordered else ()
        right = all(_is_key(key, len(self.labels), position) for position, key in keys)
        if not ordered or not right:
            raise ValueError("subtrees are not numbered in order, children before their parents")

    def table(self, *, by_label: bool) -> SubtreeTable:
        """Return children and groups of all subtrees."""
        keys = list(self.numbers)
        ends = np.cumsum([0, *(len(key) - 1 for key in keys)])
        child = np.fromiter((c for key in keys for c in key[1:]), dtype=np.int64, count=int(ends[-1]))
        if by_label:
            return SubtreeTable(ends, child, np.array([key[0] for key in keys], dtype=np.int64))
        productions: dict[tuple[int, ...], int] = {}
        group = [productions.setdefault((key[0], *(keys[c][0] for c in key[1:])), len(productions)) for key in keys]
        return SubtreeTable(ends, child, np.array(group, dtype=np.int64))

    def inner_nodes(self) -> np.ndarray:
        """Return how many nodes with children each subtree has."""
        sizes: list[int] = []
        for key in self.numbers:
            sizes.append(sum(sizes[c] for c in key[1:]) + (len(key) > 1))
        return np.array(sizes, dtype=np.int64)

    def texts(self) -> list[str]:
        """Return every subtree as an s-expression."""
        labels = [str(label) for label in self.labels]
        texts: list[str] = []
        for key in self.numbers:
            inside = " ".join([labels[key[0]], *(texts[c] for c in key[1:])])
            texts.append(f"({inside})" if len(key) > 1 else inside)
        return texts


def _is_key(key: Any, labels: int, position: int) -> bool:
    """Whether a subtree is given as its label and its children, which stand before it."""
    whole = isinstance(key, tuple) and len(key) > 0 and all(type(part) is int and part >= 0 for part in key)
    return whole and key[0] < labels and max(key[1:], default=-1) < position


@dataclass(frozen=True, eq=False)
class SubtreeTable(HeldArrays):
    """Distinct subtrees, children before their parents; subtrees of different groups have no fragment in common."""

    start: np.ndarray  # where the children of each subtree start
    child: np.ndarray  # the children, as numbers of subtrees
    group: np.ndarray  # the number of the production or of the label at the root


@dataclass(frozen=True, eq=False)
class Forest(Sliced):
    """Trees of a collection: how often each has which of the subtrees of a table."""

    table: SubtreeTable
    counts: sparse.csr_array
    along = ("counts",)

    @property
    def native(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, subtrees and counts of the trees, as the compiled core takes them."""
        counts = self.counts
        return counts.indptr.astype(np.int64), counts.indices.astype(np.int64), counts.data


@dataclass(frozen=True, eq=False)
class WeighedForest(Sliced):
    """Trees of a collection as weighted counts of their subtrees, each divided by a power of 2."""

    features: sparse.csr_array
    powers: np.ndarray
    along = ("features", "powers")
