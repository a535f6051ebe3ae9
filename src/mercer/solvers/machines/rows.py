"""Rows of a Gram matrix for solvers that come back to them: computed each time, or kept while they fit."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from mercer._native import add_kept_rows
from mercer.gram import Gram

CHEAP = 64  # features up to which computing a row natively takes no longer than reading it from memory
CHUNK = 512  # rows computed together
COPIED = 32  # rows copied together


class RowSource(Protocol):
    """What sequential minimal optimisation asks of K."""

    room: float  # bytes that the matrix of a working set may take

    def add(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Add weights @ K[index] to ``out``."""

    def corner(self, index: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write K[index][:, index] to ``out``."""


class FusedRows:
    """Rows that are cheaper to compute than to read: nothing is kept."""

    def __init__(self, gram: Gram, room: float = math.inf) -> None:
        self._gram, self.room = gram, room

    def add(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Add weights @ K[index] to ``out``."""
        self._gram.add_rows(index, weights, out)

    def corner(self, index: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write K[index][:, index] to ``out``."""
        return self._gram.part(index).dense(out=out)

    def part(self, index: np.ndarray) -> FusedRows:
        """Return the rows of some points, at these points."""
        return FusedRows(self._gram.part(index), self.room)


class KeptRows:
    """Rows kept in so many bytes of memory, the least recently used leaving first, and computed ``step`` at a time."""

    def __init__(self, gram: Gram, memory: int, threads: int, step: int = CHUNK, room: float = math.inf) -> None:
        n = gram.shape[1]
        self._gram, self._threads, self._step, self.room = gram, threads, step, room
        self.capacity = int(min(n, max(memory // (n * gram.dtype.itemsize), 1)))
        # Pages are taken only when rows come in, so that unused capacity costs nothing.
        self._kept = np.empty((self.capacity, n), dtype=gram.dtype)
        self._place = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self.computed = 0  # rows so far

    def add(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Add weights @ K[index] to ``out``."""
        step = min(self.capacity, max(CHUNK, self.capacity // 2))
        for start in range(0, len(index), step):
            part = index[start : start + step]
            places = self._bring(part)
            factors = np.ascontiguousarray(weights[start : start + step], dtype=np.float64)
            add_kept_rows(self._kept, places, factors, out, self._threads)

    def corner(self, index: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write K[index][:, index] to ``out``."""
        known = self._place[index] >= 0
        old, new = np.flatnonzero(known), np.flatnonzero(~known)
        if len(old) < len(new):  # little to save, and another block as large
            return self._gram.part(index).dense(out=out)
        for start in range(0, len(old), COPIED):
            part = old[start : start + COPIED]
            found = np.take(self._kept[self._place[index[part]]], index, axis=1)
            out[part] = found
            out[new[:, None], part] = found[:, new].T
        if len(new):
            out[np.ix_(new, new)] = self._gram.part(index[new]).dense()
        return out

    def _bring(self, index: np.ndarray) -> np.ndarray:
        """Return where the rows are kept, computing those that are not."""
        self._clock += 1
        places = self._place[index]
        self._used[places[places >= 0]] = self._clock
        missing = index[places < 0]
        if len(missing):
            free = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
            self._place[self._owner[free[self._owner[free] >= 0]]] = -1
            for start in range(0, len(missing), self._step):
                part = slice(start, start + self._step)
                self._kept[free[part]] = self._gram.rows(missing[part])
            self._owner[free], self._place[missing], self._used[free] = missing, free, self._clock
            self.computed += len(missing)
        return np.ascontiguousarray(self._place[index])


class DenseRows:
    """A matrix that is there as a whole, C-contiguous, in float32 or float64."""

    room = math.inf  # a working set is at most half of it

    def __init__(self, matrix: np.ndarray, threads: int) -> None:
        self.matrix, self._threads = matrix, threads

    def add(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Add weights @ K[index] to ``out``."""
        add_kept_rows(self.matrix, index, weights, out, self._threads)

    def corner(self, index: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return K[index][:, index], which is K itself when all are asked for."""
        if len(index) == len(self.matrix):
            return self.matrix
        return _take_corner(self.matrix, index, index, out)


class TwiceRows:
    """Rows of [[K, K], [K, K]], for problems with two variables a point."""

    def __init__(self, rows: RowSource, n: int) -> None:
        self._rows, self._n, self.room = rows, n, rows.room

    def add(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Add weights @ K[index] to both halves of ``out``."""
        points, where = np.unique(index % self._n, return_inverse=True)
        once = np.zeros(self._n)
        self._rows.add(points, np.bincount(where, weights=weights), once)
        out[: self._n] += once
        out[self._n :] += once

    def corner(self, index: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the corner at the points the variables belong to."""
        return self._rows.corner(index % self._n, out)


def _take_corner(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write some rows of a matrix at some columns to ``out``, a few at a time, because rows are copied on the way."""
    for start in range(0, len(rows), COPIED):
        part = slice(start, start + COPIED)
        np.take(matrix[rows[part]], columns, axis=1, out=out[part], mode="clip")
    return out
