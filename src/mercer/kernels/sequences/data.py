"""Collections of sequences of different lengths as one array, and the native sum over their alignments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads

CELLS = 1e8  # pairs of elements of one native call: a second or two


@dataclass(frozen=True)
class Ragged:
    """Sequences of rows of one array, sliced like a list of them.

    Parameters
    ----------
    rows : array of shape (total, d)
        The elements of all sequences.
    start, size : arrays of shape (n,)
        Sequence i has ``size[i]`` rows from ``start[i]`` on.
    notes : array of shape (n,), optional
        A number for each sequence that is sliced along.
    """

    rows: np.ndarray
    start: np.ndarray
    size: np.ndarray
    notes: np.ndarray | None = None

    @classmethod
    def of(cls, parts: list[np.ndarray]) -> Ragged:
        """Put sequences one after the other."""
        size = np.array([len(part) for part in parts], dtype=np.int64)
        return cls(np.ascontiguousarray(np.concatenate(parts)), np.cumsum(size) - size, size)

    def with_notes(self, notes: np.ndarray) -> Ragged:
        """Return the same sequences with a number each."""
        return replace(self, notes=notes)

    @property
    def shape(self) -> tuple[int]:
        """The number of sequences."""
        return (len(self.size),)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.rows.nbytes + self.start.nbytes + self.size.nbytes

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, index: Any) -> Ragged:
        notes = None if self.notes is None else self.notes[index]
        return Ragged(self.rows, self.start[index], self.size[index], notes)


def log_alignments(A: Ragged, B: Ragged) -> np.ndarray:
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
