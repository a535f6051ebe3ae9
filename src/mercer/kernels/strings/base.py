"""What the kernels on strings share: objects are numbered once, and pairs of equal objects are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.statistics import Prepared

from ..prepared import ObjectKernel
from .strands import drop_tokens
from .table import Coded, TokenTable, encode

if TYPE_CHECKING:
    from mercer._native import StringTable

CALL_CELLS = 5e8  # cells of the tables of one native call and thread: about half a second
DIAGONAL = 64  # sequences whose values with themselves are computed in one block


def check_skip(kernel: object, name: str) -> None:
    """Raise unless a parameter is a collection of tokens."""
    value = getattr(kernel, name)
    try:
        frozenset(value)
    except TypeError:
        raise TypeError(
            f"{type(kernel).__name__}: {name} must be a string or a collection of hashable tokens, got {value!r}"
        ) from None


Tokens = Annotated[Any, check_skip]


class StringKernel(ObjectKernel):
    """A kernel on sequences of hashable tokens; subclasses fill the part of a block that is asked for.

    With ``missing="own"`` all missing objects (None, NaN) are one more object, which is like itself, k = 1, and like no
    other, k = 0.  Tokens in ``skip`` equal nothing, not even themselves.
    """

    structured: ClassVar[bool] = True
    relief = "use k.normalize(), shorter strings or words, or a smaller decay where the kernel has one"
    options: ClassVar[tuple[str, ...]] = ("skip", "reverse_complement", "center_weights", "shift", "missing")

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Number tokens and sequences of both collections together."""
        own = getattr(self, "missing", "refuse") == "own"
        A, B = encode(X, None if Z is X else Z, repr(self), own_missing=own)
        table = self.adapt(drop_tokens(A.table, frozenset(getattr(self, "skip", ()))), A, B)
        left = replace(A, table=table)
        return left, left if B is A else replace(B, table=table)

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Return the table as the kernel reads it; raise if it does not take the tokens."""
        return table

    def fill(self, part: Part) -> None:
        """Write the values that a part of a block asks for."""
        raise NotImplementedError

    def fill_logarithms(self, part: Part) -> None:
        """Write the logarithms of these values, for kernels that have them."""
        raise NotImplementedError

    def block(self, A: Coded, B: Coded) -> np.ndarray:
        """Compute every pair of distinct sequences once."""
        return self._fill_pairs(A, B, self.fill, (0.0, 1.0))

    def log_block(self, A: Coded, B: Coded) -> np.ndarray:
        """Compute the logarithm for every pair of distinct sequences once."""
        return self._fill_pairs(A, B, self.fill_logarithms, (-np.inf, 0.0))

    def _fill_pairs(self, A: Coded, B: Coded, fill: Callable[[Part], None], missing: tuple[float, float]) -> np.ndarray:
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
        fill(Part(A.table, rows, order, first, np.full(len(rows), len(order), dtype=np.int64), values))
        if len(shared) > 1:
            square = np.triu(values[both, : len(shared)])
            values[both, : len(shared)] = square + np.triu(square, 1).T
        position = np.empty(len(order), dtype=np.int64)
        position[np.searchsorted(columns, order)] = np.arange(len(order))
        self._set_missing(values, A.table, rows, order, missing)
        return _take(_take(values, to_rows, 0), position[to_columns], 1)

    def _set_missing(
        self,
        values: np.ndarray,
        table: TokenTable,
        rows: np.ndarray,
        columns: np.ndarray,
        missing: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Set the values of a missing object with all others, and with itself."""
        if table.missing >= 0:
            here, there = rows == table.missing, columns == table.missing
            values[here] = missing[0]
            values[:, there] = missing[0]
            values[np.ix_(here, there)] = missing[1]

    def block_diag(self, A: Coded) -> np.ndarray:
        """Compute every distinct sequence with itself."""
        return self._fill_diagonal(A, self.fill, 1.0)

    def log_block_diag(self, A: Coded) -> np.ndarray:
        """Compute the logarithm for every distinct sequence with itself."""
        return self._fill_diagonal(A, self.fill_logarithms, 0.0)

    def _fill_diagonal(self, A: Coded, fill: Callable[[Part], None], missing: float) -> np.ndarray:
        ids, inverse = np.unique(A.ids, return_inverse=True)
        found = []
        for start in range(0, len(ids), DIAGONAL):
            some = ids[start : start + DIAGONAL]
            table = A.table.part(int(some[0]), int(some[-1]) + 1)
            some = some - some[0]
            first = np.arange(len(some), dtype=np.int64)
            values = np.zeros((len(some), len(some)))
            fill(Part(table, some, some, first, first + 1, values))
            found.append(values.diagonal())
        values = np.concatenate(found)
        values[ids == A.table.missing] = missing
        return values[inverse]


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
    def arguments(self) -> tuple[StringTable, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
