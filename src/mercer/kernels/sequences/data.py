"""Collections of sequences of different lengths as one array, and the native sum over their alignments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads

from ..prepared import Sliced

CELLS = 1e8  # pairs of elements of one native call: a second or two


@dataclass(frozen=True, eq=False)
class Ragged(Sliced):
    """Sequences of rows of one array; each may have a number of its own, its note."""

    rows: np.ndarray  # the elements of all sequences, shape (total, d)
    start: np.ndarray
    size: np.ndarray
    notes: np.ndarray
    along = ("start", "size", "notes")

    @classmethod
    def of(cls, parts: list[np.ndarray]) -> Ragged:
        """Put sequences one after the other."""
        size = np.array([len(part) for part in parts], dtype=np.int64)
        return cls(np.ascontiguousarray(np.concatenate(parts)), np.cumsum(size) - size, size, np.zeros(len(size)))


def sum_alignments(A: Ragged, B: Ragged) -> np.ndarray:
    """Return the logarithm of the sum over alignments for every pair, some sequences of A at a time.

    Where B begins with the sequences of A, as on the diagonal of a Gram matrix, each of their pairs is computed once.
    """
    n = len(A)
    twice = A.rows is B.rows and np.array_equal(A.start, B.start[:n])
    out = np.empty((n, len(B)))
    right = B.rows, np.ascontiguousarray(B.start), np.ascontiguousarray(B.size)
    calls = np.cumsum(A.size * float(B.size.sum())) // CELLS
    bounds = [0, *(np.flatnonzero(np.diff(calls)) + 1).tolist(), n]
    for begin, end in pairwise(bounds):
        left = A.rows, np.ascontiguousarray(A.start[begin:end]), np.ascontiguousarray(A.size[begin:end])
        _native.alignments(*left, *right, begin if twice else -n, out[begin:end], default_threads())
    if twice:
        lower = np.tril_indices(n, -1)
        out[:, :n][lower] = out[:, :n].T[lower]
    return out
