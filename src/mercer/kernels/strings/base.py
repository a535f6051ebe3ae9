"""What the kernels on strings share: objects are numbered once, and pairs of equal objects are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.statistics import Prepared

from ..base import ObjectKernel
from .table import Coded, TokenTable, encode

CALL_CELLS = 5e8  # cells of the tables of one native call and thread: about half a second
DIAGONAL = 64  # sequences whose values with themselves are computed in one block


class StringKernel(ObjectKernel):
    """A kernel on sequences of hashable tokens; subclasses fill the part of a block that is asked for."""

    structured: ClassVar[bool] = True

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Number tokens and sequences of both collections together."""
        A, B = encode(X, None if Z is X else Z, repr(self))
        self.check(A.table)
        return A, B

    def check(self, table: TokenTable) -> None:
        """Raise if the kernel does not take the tokens of a table."""

    def fill(self, part: Part) -> None:
        """Write the values that a part of a block asks for."""
        raise NotImplementedError

    def block(self, A: Coded, B: Coded) -> np.ndarray:
        """Compute every pair of distinct sequences once, then spread the values."""
        rows, to_rows = np.unique(A.ids, return_inverse=True)
        columns, to_columns = np.unique(B.ids, return_inverse=True)
        shared = np.intersect1d(rows, columns, assume_unique=True)
        # Sequences on both sides come first among the columns: the values left of the diagonal of their square are
        # then known by symmetry.
        order = np.concatenate([shared, np.setdiff1d(columns, shared, assume_unique=True)])
        place = np.searchsorted(shared, rows)
        both = np.isin(rows, shared, assume_unique=True)
        values = np.zeros((len(rows), len(order)))
        first = np.where(both, place, 0).astype(np.int64)
        self.fill(Part(A.table, rows, order, first, np.full(len(rows), len(order), dtype=np.int64), values))
        if len(shared) > 1:
            square = np.triu(values[both, : len(shared)])
            values[both, : len(shared)] = square + np.triu(square, 1).T
        position = np.empty(len(order), dtype=np.int64)
        position[np.searchsorted(columns, order)] = np.arange(len(order))
        return _take(_take(values, to_rows, 0), position[to_columns], 1)

    def block_diag(self, A: Coded) -> np.ndarray:
        """Compute every distinct sequence with itself."""
        ids, inverse = np.unique(A.ids, return_inverse=True)
        found = []
        for start in range(0, len(ids), DIAGONAL):
            some = ids[start : start + DIAGONAL]
            table = A.table.part(int(some[0]), int(some[-1]) + 1)
            some = some - some[0]
            first = np.arange(len(some), dtype=np.int64)
            values = np.zeros((len(some), len(some)))
            self.fill(Part(table, some, some, first, first + 1, values))
            found.append(values.diagonal())
        return np.concatenate(found)[inverse]


@dataclass(frozen=True, eq=False)
class Part:
    """Which values of a block a kernel is to write: columns from ``first[i]`` to ``last[i]`` of every row i."""

    table: TokenTable
    rows: np.ndarray
    columns: np.ndarray
    first: np.ndarray
    last: np.ndarray
    out: np.ndarray

    @property
    def arguments(self) -> tuple[tuple[np.ndarray, np.ndarray, int], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What every function of the compiled core starts with."""
        return self.table.native, self.rows, self.columns, self.first, self.last

    def run(self, function: Callable[..., Any], *extra: Any, cells: float = CALL_CELLS) -> None:
        """Let a function of the compiled core write all values, in calls of so many cells for each thread."""
        threads = default_threads()
        for piece in self.pieces(cells * threads):
            function(*piece.arguments, *extra, piece.out, threads)

    def pieces(self, work: float) -> Iterator[Part]:
        """Yield some rows at a time, so many that |s|·|t| sums to ``work``: in between, Python looks for Ctrl-C."""
        sizes = self.table.sizes
        cost = np.cumsum((sizes[self.rows] + 1.0) * (sizes[self.columns].sum() + len(self.columns)))
        start = 0
        while start < len(self.rows):
            before = cost[start - 1] if start else 0.0
            stop = max(start + 1, int(np.searchsorted(cost, before + work, side="right")))
            rows = slice(start, stop)
            yield Part(self.table, self.rows[rows], self.columns, self.first[rows], self.last[rows], self.out[rows])
            start = stop


def _take(values: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """Return ``values`` at some positions of an axis, without a copy if these are all of them in order."""
    if len(index) == values.shape[axis] and bool((index == np.arange(len(index))).all()):
        return values
    return np.take(values, index, axis=axis)
