"""What a fit is given, as aligned lists of partitions: arrays, dataframes, series and bags, checked where they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from mercer.estimators.engine import lives_elsewhere
from mercer.estimators.kernel_argument import KernelArgument
from mercer.estimators.targets import check_targets, check_weights
from mercer.formula.data import Rows, concatenate, length, pick

from ._block import Kind, RowBlock
from .executor import PieceNotes, Pieces


@dataclass(frozen=True)
class Intake:
    """How partitions become blocks."""

    argument: KernelArgument  # checks the points; its owner knows number and names of columns, and nothing else
    kind: Kind  # what y is: numbers, classes, or whatever the model itself will check
    keep_all: bool  # whether rows without weight stay, because the model counts them
    room: int | None  # bytes that a task on a block may use; what its worker has if None
    notes: PieceNotes  # what says where something was wrong

    @property
    def owner(self) -> Any:
        """The estimator whose fit it is."""
        return self.argument.owner

    def describe(self) -> Any:
        """Return what the blocks depend on: how much room there is changes nothing but the size of tiles."""
        known = [vars(self.owner).get(name) for name in ("n_features_in_", "feature_names_in_")]
        return self.kind, self.keep_all, type(self.argument).__name__, self.argument.value, known

    def read(self, X: Any, y: Any, weights: Any, index: int) -> RowBlock:
        """Return the checked rows of a partition."""
        X = list_rows(X)
        n, nothing = length(X), np.zeros(0)
        try:
            self._check_lengths(n, y, weights)
            if n == 0:
                return RowBlock(X, nothing, nothing, index, nothing, np.arange(0), self.room)
            rows = self.argument.check(X, reset=False)
            values = self._read_y(y, n)
            factors = self._read_weights(weights, n)
        except (ValueError, TypeError) as error:
            found = self.notes.explain(error, index, X, y)
            if found is error:
                raise
            raise found from None
        if factors is None or self.keep_all or factors.all():
            return RowBlock(rows, values, factors, index, values[:0], np.arange(n), self.room)
        kept = np.flatnonzero(factors)
        return RowBlock(pick(rows, kept), values[kept], factors[kept], index, values[factors == 0], kept, self.room)

    def _check_lengths(self, n: int, y: Any, weights: Any) -> None:
        for what, values in (("y", y), ("sample_weight", weights)):
            if values is not None and np.ndim(values) and length(values) != n:
                raise ValueError(
                    f"{type(self.owner).__name__}: X has {n} rows, but {what} has {length(values)}; they must be the "
                    "same in every partition"
                )

    def _read_y(self, y: Any, n: int) -> np.ndarray:
        if self.kind == "targets":
            return check_targets(self.owner, y, n)
        if self.kind == "raw":
            return np.zeros(n) if y is None else np.asarray(y)
        if y is None:
            raise ValueError(f"{type(self.owner).__name__} requires y to be passed, but the target y is None.")
        labels = column_or_1d(np.asarray(y))
        assert_all_finite(labels, input_name="y", estimator_name=type(self.owner).__name__)
        return np.asarray(labels)

    def _read_weights(self, weights: Any, n: int) -> np.ndarray | None:
        if weights is None:
            return None
        values = np.asarray(weights, dtype=np.float64)
        if self.keep_all:
            return np.broadcast_to(values, (n,)).copy()  # the model itself checks them all
        if np.ndim(values) and not values.any():
            return np.zeros(n)  # the rows of a partition may all be without weight
        return check_weights(self.owner, values, n)


def cut_pieces(collection: Any, what: str) -> Pieces:
    """Return the partitions of a collection, each with all of its columns."""
    kind = type(collection).__module__
    if hasattr(collection, "chunks") and hasattr(collection, "rechunk"):
        return _cut_array(collection, what)
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{what} is a {type(collection).__name__} of {kind}, which has no partitions of rows; give a dask array, "
            "dataframe, series or bag"
        )
    return Pieces(list(collection.to_delayed()), None, what)


def _cut_array(array: Any, what: str) -> Pieces:
    if array.ndim not in (1, 2):
        raise ValueError(f"{what} must have one or two dimensions, got a dask array of shape {array.shape}")
    if array.ndim == 2 and array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    counts = None if any(math.isnan(size) for size in array.chunks[0]) else [int(size) for size in array.chunks[0]]
    return Pieces(list(array.to_delayed(optimize_graph=False).ravel()), counts, what)


def align(X: Any, y: Any, sample_weight: Any, owner: str) -> tuple[Pieces, Pieces | None, Any]:
    """Return the partitions of all that a fit is given, row by row; one number for all weights stays a number."""
    if not lives_elsewhere(X):
        raise TypeError(
            f"{owner}: X is a {type(X).__name__} in this process, but y or sample_weight is a Dask collection; give X "
            "as one too, for example by dask.array.from_array(X, chunks=10_000), or compute() the others"
        )
    # Graphs stay as they are: to fuse their tasks would compute twice what X and y have in common.
    rows = cut_pieces(X, "X")
    targets = None if y is None else _align_one(rows, y, "y", owner)
    weights = sample_weight
    if lives_elsewhere(weights) or (weights is not None and np.ndim(weights) > 0):
        weights = _align_one(rows, weights, "sample_weight", owner)
    return rows, targets, weights


def _align_one(rows: Pieces, collection: Any, what: str, owner: str) -> Pieces:
    """Return the partitions of a collection, cut where the rows of X are."""
    if not lives_elsewhere(collection):
        collection = _cut_along(rows, collection, what, owner)
    pieces = cut_pieces(collection, what)
    if rows.total is not None and pieces.total is not None:
        if rows.total != pieces.total:
            raise ValueError(f"{owner}: X has {rows.total} rows, but {what} has {pieces.total}; they must be the same")
        if rows.counts != pieces.counts:
            return cut_pieces(collection.rechunk({0: tuple(rows.counts or ())}), what)
        return pieces
    if len(pieces.tasks) != len(rows.tasks):
        raise ValueError(
            f"{owner}: X has {len(rows.tasks)} partitions and {what} has {len(pieces.tasks)}, and the sizes of some "
            "are not known, so that rows cannot be aligned. Take both from one collection, or find the sizes first "
            "with to_dask_array(lengths=True) or compute_chunk_sizes()"
        )
    return pieces


def _cut_along(rows: Pieces, values: Any, what: str, owner: str) -> Any:
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


def join_rows(parts: list[Rows]) -> Rows:
    """Return the rows of several collections of a kind as one."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts]).tocsr()
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    whole = parts[0]
    for part in parts[1:]:
        whole = concatenate(whole, part)
    return whole


def list_rows(X: Any) -> Any:
    """Return a partition of a bag as a list, and all others as they are."""
    return X if hasattr(X, "__len__") or hasattr(X, "shape") else list(X)
