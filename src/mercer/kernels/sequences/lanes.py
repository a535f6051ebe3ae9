"""Programmes over all pairs of two collections of series, which the native core runs for several series at a time.

A programme walks along one series, an element at a time, and keeps a row of its table for each of the others.  These
are sorted by length and packed side by side, so that an instruction serves all lanes of a group.  Tables are never
stored whole: series of any length take memory in proportion to their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import mercer._native as _native

from .data import CELLS, Ragged, begins_with

LANES = _native.path_lanes
KEPT = 2**25  # bytes of packed series and rows of tables at a time, unless a single group needs more
BYTES = np.dtype(float).itemsize
ALIGNED = 64  # bytes, a line of the cache


class Programme:
    """What is computed of pairs of series; subclasses say how a row of the table follows from the one before."""

    trim: int = 0  # by how much a series has fewer steps than elements
    width: int = 1  # numbers kept for each step of a series on the right
    start: float = 0.0  # the first of them, before the first row
    rest: float = 0.0  # the others
    empty: float = 1.0  # the value of a pair where one series has no steps

    def count_steps(self, size: np.ndarray) -> np.ndarray:
        """Return the number of steps of series with so many elements."""
        return size - self.trim

    def pack(self, B: Ragged, bunch: Bunch) -> np.ndarray:
        """Return the series of a bunch as :meth:`advance` takes them: by default side by side, padded with zeros."""
        packed = allocate((bunch.total, B.rows.shape[1], LANES))
        packed[:] = 0.0
        for position, place in zip(bunch.order, bunch.series, strict=True):
            begin, count, lane = place
            first = B.start[position]
            packed[begin : begin + count, :, lane] = B.rows[first : first + count]
        return packed

    def limit_rows(self, bunch: Bunch) -> int:
        """Return how many steps on the left may be given at a time."""
        return max(1, int(CELLS / max(1, bunch.total * LANES)))

    def advance(self, part: Stretch, bunch: Bunch, columns: np.ndarray, state: np.ndarray) -> None:
        """Bring rows of the table up to date."""
        raise NotImplementedError

    def finish(self, last: np.ndarray) -> np.ndarray:
        """Return values from what is kept at the last step of each series on the right, in the last axis."""
        return last[..., 0]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some steps of some series on the left, from ``begin`` on; series that are not given whole come alone."""

    A: Ragged
    positions: np.ndarray
    begin: int
    counts: np.ndarray  # of the steps of each
    first_group: np.ndarray  # of a bunch; what lies left of it is known by symmetry


@dataclass(frozen=True, eq=False)
class Bunch:
    """Some series on the right in groups of lanes."""

    order: np.ndarray  # their positions
    steps: np.ndarray  # of each of them
    column_begin: np.ndarray  # of each group
    column_count: np.ndarray
    total: int

    @property
    def series(self) -> Iterator[tuple[int, int, int]]:
        """Where each series begins, how many steps it has, and in which lane."""
        begins = np.repeat(self.column_begin, LANES)
        return ((int(begins[i]), int(count), i % LANES) for i, count in enumerate(self.steps))


def run(programme: Programme, A: Ragged, B: Ragged) -> np.ndarray:
    """Return the values of a programme for every pair of a series of A and a series of B.

    Where B begins with the series of A, as on the diagonal of a Gram matrix, pairs of these are computed once.
    """
    n, m = len(A), len(B)
    twice = begins_with(B, A)
    steps = programme.count_steps(B.size)
    order = np.lexsort((steps, np.arange(m) >= n if twice else np.zeros(m)))
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m)
    rows = order[order < n] if twice else np.argsort(programme.count_steps(A.size), kind="stable")
    out = np.full((n, m), programme.empty)
    first = 0
    for bunch in split_columns(programme, order, steps, B.rows.shape[1]):
        columns = programme.pack(B, bunch)
        known = np.maximum(0, (rank[:n] - first) // LANES) if twice else np.zeros(n, dtype=np.int64)
        for positions in split_rows(programme, A, rows[known[rows] < len(bunch.column_begin)], bunch):
            values = _run_part(programme, A, positions, known[positions], bunch, columns)
            for position, mine in zip(positions, values, strict=True):
                new = slice(int(known[position]) * LANES, None)
                out[position, bunch.order[new]] = mine[new]
                if twice:
                    both = bunch.order[new] < n
                    out[bunch.order[new][both], position] = mine[new][both]
        first += len(bunch.order)
    return out


def run_diagonal(programme: Programme, A: Ragged) -> np.ndarray:
    """Return the values of a programme for every series with itself."""
    out = np.empty(len(A))
    order = np.argsort(A.size, kind="stable")
    for begin in range(0, len(A), LANES):  # as many at a time as share a group
        some = A[order[begin : begin + LANES]]
        out[order[begin : begin + LANES]] = np.diag(run(programme, some, some))
    return out


def count_scratch(programme: Programme, A: Ragged, B: Ragged) -> int:
    """Return the bytes that a block takes beside its entries: packed series, and a row of the table for each of A."""
    longest = int(programme.count_steps(B.size).max(initial=0))
    line = longest * LANES * BYTES
    groups = len(B) // LANES + 1
    packed, rows = B.rows.shape[1] * line, programme.width * line
    return max(packed + rows, min(2 * KEPT, groups * (packed + len(A) * rows)))


def allocate(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array that begins with a line of the cache, with any values."""
    size = int(np.prod(shape))
    whole = np.empty(size + ALIGNED // BYTES)
    offset = -whole.ctypes.data % ALIGNED // BYTES
    return whole[offset : offset + size].reshape(shape)


def split_columns(programme: Programme, order: np.ndarray, steps: np.ndarray, d: int) -> Iterator[Bunch]:
    """Yield series on the right in bunches that fit the memory."""
    room = KEPT // (BYTES * LANES * (programme.width + d))
    longest = np.maximum.reduceat(steps[order], np.arange(0, len(order), LANES))  # of each group
    group = 0
    while group < len(longest):
        count = max(1, int(np.searchsorted(np.cumsum(longest[group:]), room, side="right")))
        lengths = longest[group : group + count]
        mine = order[group * LANES : (group + count) * LANES]
        yield Bunch(mine, steps[mine], np.cumsum(lengths) - lengths, lengths, int(lengths.sum()))
        group += count


def split_rows(programme: Programme, A: Ragged, rows: np.ndarray, bunch: Bunch) -> Iterator[np.ndarray]:
    """Yield positions of series on the left that are given at a time; one that is too long for it comes alone."""
    counts = programme.count_steps(A.size[rows])
    states = max(1, KEPT // max(1, BYTES * LANES * programme.width * bunch.total))
    limit = programme.limit_rows(bunch)
    begin = 0
    while begin < len(rows):
        fits = int(np.searchsorted(np.cumsum(counts[begin:]), limit, side="right"))
        end = begin + max(1, min(states, fits))
        yield rows[begin:end]
        begin = end


def _run_part(
    programme: Programme, A: Ragged, positions: np.ndarray, known: np.ndarray, bunch: Bunch, columns: np.ndarray
) -> np.ndarray:
    """Return the values of some series on the left with all of a bunch, of shape (series, columns)."""
    if not bunch.total:
        return np.full((len(positions), len(bunch.order)), programme.empty)
    state = allocate((len(positions), bunch.total, programme.width, LANES))
    state[:] = programme.rest
    state[:, :, 0] = programme.start
    counts = programme.count_steps(A.size[positions])
    step = programme.limit_rows(bunch) if len(positions) == 1 else int(counts.max())
    for begin in range(0, int(counts.max()), max(1, step)):
        now = np.minimum(counts - begin, step)
        programme.advance(Stretch(A, positions, begin, now, known), bunch, columns, state)
    lane = np.arange(len(bunch.order)) % LANES
    last = np.repeat(bunch.column_begin, LANES)[: len(lane)] + bunch.steps - 1
    values = programme.finish(state[:, np.maximum(last, 0), :, lane]).T
    values = np.where((bunch.steps == 0)[None, :] | (counts == 0)[:, None], programme.empty, values)
    return np.asarray(values)
