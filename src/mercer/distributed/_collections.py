"""Dask collections as aligned lists of partitions: arrays, dataframes, series and bags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.engine import lives_elsewhere


@dataclass(frozen=True)
class Pieces:
    """The partitions of one collection.

    Parameters
    ----------
    tasks : list
        One task for each.
    counts : list of int, or None
        Their numbers of rows, if they are known.
    what : str
        The name of the argument, for messages.
    """

    tasks: list[Any]
    counts: list[int] | None
    what: str

    @property
    def total(self) -> int | None:
        """All rows, if their number is known."""
        return None if self.counts is None else sum(self.counts)


def pieces_of(collection: Any, what: str) -> Pieces:
    """Return the partitions of a collection, each with all of its columns."""
    kind = type(collection).__module__
    if hasattr(collection, "chunks") and hasattr(collection, "rechunk"):
        return _pieces_of_array(collection, what)
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{what} is a {type(collection).__name__} of {kind}, which has no partitions of rows; give a dask array, "
            "dataframe, series or bag"
        )
    return Pieces(list(collection.to_delayed()), None, what)


def _pieces_of_array(array: Any, what: str) -> Pieces:
    if array.ndim not in (1, 2):
        raise ValueError(f"{what} must have one or two dimensions, got a dask array of shape {array.shape}")
    if array.ndim == 2 and array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    counts = None if any(math.isnan(size) for size in array.chunks[0]) else [int(size) for size in array.chunks[0]]
    return Pieces(list(array.to_delayed(optimize_graph=False).ravel()), counts, what)


def aligned(X: Any, y: Any, sample_weight: Any, owner: str) -> tuple[Pieces, Pieces | None, Any]:
    """Return the partitions of all that a fit is given, row by row; one number for all weights stays a number."""
    if not lives_elsewhere(X):
        raise TypeError(
            f"{owner}: X is a {type(X).__name__} in this process, but y or sample_weight is a Dask collection; give X "
            "as one too, for example by dask.array.from_array(X, chunks=10_000), or compute() the others"
        )
    # Graphs stay as they are: to fuse their tasks would compute twice what X and y have in common.
    rows = pieces_of(X, "X")
    targets = None if y is None else _along(rows, y, "y", owner)
    weights = sample_weight
    if lives_elsewhere(weights) or (weights is not None and np.ndim(weights) > 0):
        weights = _along(rows, weights, "sample_weight", owner)
    return rows, targets, weights


def _along(rows: Pieces, collection: Any, what: str, owner: str) -> Pieces:
    """Return the partitions of a collection, cut where the rows of X are."""
    if not lives_elsewhere(collection):
        collection = _cut(rows, collection, what, owner)
    pieces = pieces_of(collection, what)
    if rows.total is not None and pieces.total is not None:
        if rows.total != pieces.total:
            raise ValueError(f"{owner}: X has {rows.total} rows, but {what} has {pieces.total}; they must be the same")
        if rows.counts != pieces.counts:
            return pieces_of(collection.rechunk({0: tuple(rows.counts or ())}), what)
        return pieces
    if len(pieces.tasks) != len(rows.tasks):
        raise ValueError(
            f"{owner}: X has {len(rows.tasks)} partitions and {what} has {len(pieces.tasks)}, and the sizes of some "
            "are not known, so that rows cannot be aligned. Take both from one collection, or find the sizes first "
            "with to_dask_array(lengths=True) or compute_chunk_sizes()"
        )
    return pieces


def _cut(rows: Pieces, values: Any, what: str, owner: str) -> Any:
    import dask.array as da

    array = np.asarray(values)
    if rows.counts is None:
        raise TypeError(
            f"{owner}: {what} is a {type(values).__name__} in this process, but the partitions of X have unknown "
            f"sizes, so that it cannot be cut along them; give {what} as a Dask collection"
        )
    if len(array) != rows.total:
        raise ValueError(f"{owner}: X has {rows.total} rows, but {what} has {len(array)}; they must be the same")
    return da.from_array(array, chunks=(tuple(rows.counts), *array.shape[1:]))
