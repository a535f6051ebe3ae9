"""Sums over pairs of nodes of two trees of the fragments rooted at both, computed once for distinct subtrees.

With C the counts of distinct subtrees in each tree and Δ(s, t) the weighted number of fragments that subtrees s and t
share at their roots, the kernel matrix is C Δ Cᵀ.  Δ is never stored as a whole: of the subtrees of a few rows, each
meets those subtrees of the columns that lie in its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads

from .forest import Forest

PAIR = 4  # work on a pair of subtrees, next to a pair of children of theirs
WORK = PAIR * 2**21  # in one native call: a fraction of a second, and 16 MB
BOOKKEEPING = 64  # bytes for each distinct subtree: its place, level, slot and weight
DIAGONAL = 1024  # trees of which one native call computes the diagonal


@dataclass(frozen=True)
class FragmentRule:
    """Which fragments count, and how much: the arguments of the compiled core."""

    partial: bool
    decay: float
    vertical_decay: float = 1.0
    terminal_factor: float = 1.0
    leaves: bool = True


def fragments(rule: FragmentRule, A: Forest, B: Forest, owner: str) -> np.ndarray:
    """Return the weighted number of common fragments for every pair of a tree of A and a tree of B."""
    table = (A.table.start, A.table.child, A.table.group)
    threads = default_threads()
    columns = B.rows()
    out = np.empty((len(A), len(B)))
    for part in _parts(A, B):
        rows = A[part]
        _native.tree_block(*table, *rows.rows(), *columns, **asdict(rule), out=out[part], threads=threads)
    return _finite(out, owner)


def fragments_diag(rule: FragmentRule, A: Forest, owner: str) -> np.ndarray:
    """Return the weighted number of common fragments of every tree of A with itself."""
    table = (A.table.start, A.table.child, A.table.group)
    out = np.empty(len(A))
    for start in range(0, len(A), DIAGONAL):
        part = slice(start, start + DIAGONAL)
        _native.tree_diag(*table, *A[part].rows(), **asdict(rule), out=out[part])
    return _finite(out, owner)


def fragments_bytes(A: Forest, B: Forest) -> int:
    """Return the bytes of the common fragments that one native call keeps, of one tree at least."""
    present = np.unique(B.counts.indices)
    members = np.bincount(A.table.group[present], minlength=int(A.table.group.max()) + 1)
    before = np.concatenate([[0], np.cumsum(members[A.table.group[A.counts.indices]])])[A.counts.indptr]
    kept = max(int(np.diff(before).max(initial=0)), min(int(before[-1]), WORK // PAIR))
    return 8 * kept + BOOKKEEPING * len(A.table.group)


def _parts(A: Forest, B: Forest) -> Iterator[slice]:
    """Cut the rows so that the work on one part is little enough."""
    group, children = A.table.group, np.diff(A.table.start)
    present = np.unique(B.counts.indices)
    members, below = (
        np.bincount(group[present], weights=weights, minlength=int(group.max()) + 1)
        for weights in (None, children[present])
    )
    work = PAIR * members[group] + children * below[group]
    before = np.concatenate([[0], np.cumsum(work[A.counts.indices])])[A.counts.indptr]
    first = 0
    while first < len(A):
        last = max(int(np.searchsorted(before, before[first] + WORK, side="right")) - 1, first + 1)
        yield slice(first, last)
        first = last


def _finite(values: np.ndarray, owner: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise OverflowError(
            f"{owner}: the number of common fragments of these trees is beyond float64; use a smaller decay"
        )
    return values
