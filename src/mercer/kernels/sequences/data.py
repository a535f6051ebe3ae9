"""Collections of sequences of different lengths as one array, and the native sum over their alignments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, advise_on, is_missing_object, number_objects, refuse_masked, short
from mercer.formula.parameters import is_vector

from ..prepared import Sliced

CELLS = 1e8  # pairs of elements of one native call: a second or two


@dataclass(frozen=True, eq=False)
class Ragged(Sliced):
    """Sequences of rows of one array."""

    rows: np.ndarray  # the elements of all sequences, shape (total, d)
    start: np.ndarray
    size: np.ndarray
    along = ("start", "size")

    @classmethod
    def of(cls, parts: list[np.ndarray]) -> Ragged:
        """Put sequences one after the other."""
        size = np.array([len(part) for part in parts], dtype=np.int64)
        return cls(np.ascontiguousarray(np.concatenate(parts)), np.cumsum(size) - size, size)


def read_both(X: Rows, Z: Rows, owner: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the sequences of two collections as arrays of shape (elements, features), one list if Z is X."""
    A = read_sequences(X, owner)
    B = A if Z is X else read_sequences(Z, owner)
    if A[0].shape[1] != B[0].shape[1]:
        raise ValueError(
            f"{owner}: elements of X have {A[0].shape[1]} features but those of Z have {B[0].shape[1]}; both need the "
            "same"
        )
    return A, B


def read_sequences(X: Rows, owner: str) -> list[np.ndarray]:
    """Return the sequences of a collection as arrays of shape (elements, features)."""
    numbered = number_objects(X, owner)
    parts = [read_sequence(thing, row, owner) for row, thing in numbered]
    widths = np.array([part.shape[1] for part in parts])
    if (widths != widths[0]).any():
        wrong = int(np.argmax(widths != widths[0]))
        raise ValueError(
            f"{owner}: elements of sequence {numbered[0][0]} have {widths[0]} features, but those of sequence "
            f"{numbered[wrong][0]} have {widths[wrong]}; all need the same"
        )
    return parts


def read_sequence(thing: Any, position: int, owner: str) -> np.ndarray:
    """Return one sequence as an array of shape (elements, features)."""
    refuse_masked(thing, owner)
    if is_missing_object(thing):
        raise TypeError(
            f"{owner} needs sequences of numbers or of vectors of equal length, but object {position} is {thing}. "
            f"{advise_on(thing)}"
        )
    try:
        values = np.asarray(thing)
        values = values.astype(float) if values.dtype.kind in "biufO" else values
    except (TypeError, ValueError):
        values = np.empty(0, dtype=object)
    if values.dtype.kind != "f" or values.ndim not in (1, 2):
        raise TypeError(
            f"{owner} needs sequences of numbers or of vectors of equal length, but object {position} is "
            f"{short(thing)} of type {type(thing).__name__}; for strings and other tokens there is Subsequence"
        )
    if values.size == 0:
        raise ValueError(f"{owner}: sequence {position} is empty; drop it, or give it at least one element")
    if not np.isfinite(values).all():
        raise ValueError(f"{owner}: sequence {position} holds NaN or infinity; cut it there or fill the gap first")
    return values[:, None] if values.ndim == 1 else values


def read_scaled(X: Rows, Z: Rows, scale: Any, owner: str) -> tuple[Ragged, Ragged]:
    """Return the sequences of two collections in units of one length scale, or of one for each feature."""
    A, B = read_both(X, Z, owner)
    scales = np.asarray(scale, dtype=float)
    if is_vector(scale) and len(scales) != A[0].shape[1]:
        raise ValueError(
            f"{owner} has {len(scales)} length scales but elements have {A[0].shape[1]} features; give one length "
            "scale, or one for each feature"
        )
    left = Ragged.of([part / scales for part in A])
    return left, left if B is A else Ragged.of([part / scales for part in B])


def begins_with(B: Ragged, A: Ragged) -> bool:
    """Whether B begins with the sequences of A, as on the diagonal of a Gram matrix."""
    n = len(A)
    return A.rows is B.rows and np.array_equal(A.start, B.start[:n]) and np.array_equal(A.size, B.size[:n])


def sum_alignments(A: Ragged, B: Ragged, *, plain: bool = False) -> np.ndarray:
    """Return the logarithm of the sum over alignments for every pair, some sequences of A at a time.

    Pairs of elements count g/(2 − g), or g itself if ``plain``.  Where B begins with the sequences of A, each of their
    pairs is computed once.
    """
    n = len(A)
    twice = begins_with(B, A)
    out = np.empty((n, len(B)))
    right = B.rows, np.ascontiguousarray(B.start), np.ascontiguousarray(B.size)
    calls = np.cumsum(A.size * float(B.size.sum())) // CELLS
    bounds = [0, *(np.flatnonzero(np.diff(calls)) + 1).tolist(), n]
    for begin, end in pairwise(bounds):
        left = A.rows, np.ascontiguousarray(A.start[begin:end]), np.ascontiguousarray(A.size[begin:end])
        _native.alignments(*left, *right, begin if twice else -n, plain, out[begin:end], default_threads())
    if twice:
        lower = np.tril_indices(n, -1)
        out[:, :n][lower] = out[:, :n].T[lower]
    return out


def sum_own_alignments(A: Ragged, *, plain: bool = False) -> np.ndarray:
    """Return the logarithm of the sum over alignments of every sequence with itself."""
    return np.array([sum_alignments(A[i : i + 1], A[i : i + 1], plain=plain)[0, 0] for i in range(len(A))])
