"""Fingerprints as people have them: rows of bits or counts, sparse matrices, sets of hashes, and counts by hash."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, short
from mercer.formula.single import unwrap

LARGEST_COUNT = 10_000  # that a place may hold to be written as so many bits


def holds_sets(X: Rows) -> bool:
    """Whether this is a list of sets of hashes, or of counts by hash."""
    if isinstance(X, np.ndarray):
        return X.dtype == object and X.ndim == 1 and len(X) > 0 and isinstance(X[0], Set | Mapping)
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Set | Mapping)


def count_members(X: Rows, owner: str) -> list[dict[Any, float]]:
    """Return sets of hashes as counts by hash, plain values that model files hold.

    Examples
    --------
    >>> count_members([{4}, {7: 2}], "KernelRidge")
    [{4: 1.0}, {7: 2.0}]
    """
    found = []
    for row, thing in enumerate(X):
        if not isinstance(thing, Set | Mapping):
            raise _refuse_mixture(thing, row, owner)
        keys = [(key, unwrap(key)) for key in sorted(thing, key=_sort_key)]
        found.append({plain: float(thing[key]) if isinstance(thing, Mapping) else 1.0 for key, plain in keys})
    return found


def read_sets(X: Rows, Z: Rows, owner: str) -> tuple[Rows, Rows]:
    """Return sets of hashes, or counts by hash, of both sides as sparse rows with the same columns.

    Examples
    --------
    >>> A, B = read_sets([{17, 4}, {4: 2}], [{99, 4}], "Tanimoto()")
    >>> A.toarray(), B.toarray()
    (array([[1., 1., 0.],
           [2., 0., 0.]]), array([[1., 0., 1.]]))
    """
    columns: dict[Any, int] = {}
    first = _read_side(X, columns, owner)
    second = first if Z is X else _read_side(Z, columns, owner)
    width = max(1, len(columns))
    A = _build_rows(first, width)
    return A, A if Z is X else _build_rows(second, width)


def _read_side(X: Rows, columns: dict[Any, int], owner: str) -> list[tuple[list[int], list[float]]]:
    found = []
    for row, thing in enumerate(X):
        if not isinstance(thing, Set | Mapping):
            raise _refuse_mixture(thing, row, owner)
        # In an order that does not depend on how Python hashes, so that sums are the same to the last bit everywhere.
        keys = sorted(thing, key=_sort_key)
        counts = [float(thing[key]) for key in keys] if isinstance(thing, Mapping) else [1.0] * len(keys)
        if not np.isfinite(counts).all():
            raise ValueError(f"{owner}: object {row} counts {short(thing)}; counts are finite numbers")
        found.append(([columns.setdefault(key, len(columns)) for key in keys], counts))
    return found


def _refuse_mixture(thing: Any, row: int, owner: str) -> TypeError:
    return TypeError(
        f"{owner}: object {row} is {short(thing)} of type {type(thing).__name__}, but others are sets of hashes or "
        "counts by hash; give all fingerprints in one form"
    )


def _sort_key(key: Any) -> tuple[str, Any]:
    return type(key).__name__, key


def _build_rows(side: list[tuple[list[int], list[float]]], width: int) -> sparse.csr_array:
    indptr = np.cumsum([0, *(len(places) for places, _ in side)])
    places = [place for row, _ in side for place in row]
    counts = [count for _, row in side for count in row]
    built = sparse.csr_array(
        (np.array(counts, dtype=float), np.array(places, dtype=np.int64), indptr), (len(side), width)
    )
    built.sort_indices()
    return built


def check_counts(A: Any, owner: str) -> None:
    """Raise on a negative entry of an array or a sparse matrix."""
    values = A.data if sparse.issparse(A) else A
    if values.size and values.min() < 0:
        raise ValueError(
            f"{owner} compares counts, which are not negative, but {_show_first(A, values < 0)}; Tanimoto() takes "
            "numbers of any sign"
        )


def check_bits(A: Any, owner: str) -> None:
    """Raise on an entry that is neither 0 nor 1."""
    values = A.data if sparse.issparse(A) else A
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise ValueError(
            f"{owner} compares bits, which are 0 or 1, but {_show_first(A, wrong)}; use MinMax() or Tanimoto() for "
            "counts, or compare X > 0"
        )


def _show_first(A: Any, wrong: np.ndarray) -> str:
    """Say where the first of the wrong entries is, or of the wrong ones among those stored."""
    if sparse.issparse(A):
        stored, first = A.tocoo(), int(np.flatnonzero(wrong)[0])
        return f"row {stored.coords[0][first]}, column {stored.coords[1][first]} is {stored.data[first]}"
    row, column = np.argwhere(wrong)[0]
    return f"row {row}, column {column} is {A[row, column]}"


def spread_counts(A: sparse.csr_array, B: sparse.csr_array, owner: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return whole counts as bits, a count of 3 as three of them, so that dot products are sums of minima.

    min(x, z) = Σ_t 1[x ≥ t] 1[z ≥ t] over t = 1, 2, …

    Examples
    --------
    >>> from scipy import sparse
    >>> A, _ = spread_counts(sparse.csr_array([[3, 0], [1, 2]]), sparse.csr_array([[3, 0]]), "MinMax()")
    >>> (A @ A.T).toarray()
    array([[3., 1.],
           [1., 3.]])
    """
    sides = [A] if A is B else [A, B]
    for side in sides:
        if side.nnz and ((side.data != np.floor(side.data)).any() or side.data.max() > LARGEST_COUNT):
            raise ValueError(
                f"{owner} takes sparse rows of whole counts up to {LARGEST_COUNT}; use X.toarray() for other numbers"
            )
    most = int(max((side.data.max() for side in sides if side.nnz), default=1))
    keys = [_number_bits(side, max(1, most)) for side in sides]
    used = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *(found for found, _ in keys)]))
    spread = [
        sparse.csr_array((np.ones(len(found)), np.searchsorted(used, found), starts), (side.shape[0], len(used)))
        for side, (found, starts) in zip(sides, keys, strict=True)
    ]
    return spread[0], spread[-1]


def _number_bits(A: sparse.csr_array, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each bit of each row, and where rows start."""
    counts = A.data.astype(np.int64)
    total = np.concatenate([[0], np.cumsum(counts)])
    level = np.arange(total[-1]) - np.repeat(total[:-1], counts)
    return np.repeat(A.indices.astype(np.int64) * most, counts) + level, total[A.indptr]
