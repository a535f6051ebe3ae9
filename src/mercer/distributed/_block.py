"""One partition of a fit: checked as an estimator checks its data, without the rows that have no weight."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from mercer.estimators.kernels import checked_rows
from mercer.estimators.targets import check_targets, check_weights
from mercer.formula.data import Rows, concatenate, length, pick
from mercer.kernels import Kernel
from mercer.solvers.base import Problem

from ._graph import worker_memory
from ._place import place_here

COPIES = 6  # of the rows of a block, that any task on them needs


@dataclass(frozen=True)
class Block:
    """Rows of one partition that have a weight.

    Parameters
    ----------
    X : collection
        The points.
    y : array of shape (n, q) or (n,)
        Targets, or the labels or classes of the points.
    weights : array of shape (n,), optional
        Positive weights; all 1 if not given.
    index : int
        Of the partition.
    dropped : array
        What y was in the rows that have no weight.
    places : int array of shape (n,)
        Which rows of the partition these are.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    index: int
    dropped: np.ndarray
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def problem(self, kernel: Kernel, fit_intercept: bool, q: int, device: Any = None) -> Problem:
        """Return the ridge problem of these rows alone, in the memory that a task has, on a device of the worker."""
        place, memory = self.place(device)
        return Problem(kernel, self.X, self.y.reshape(len(self.y), q), self.weights, fit_intercept, memory, place)

    def place(self, device: Any) -> tuple[Any, int]:
        """Return the device of this worker that was asked for, None for the host, and the memory of a task there."""
        return place_here(device, self.memory)

    @property
    def memory(self) -> int:
        """The bytes that a task on these rows may use: what its worker has, and at least some copies of the rows."""
        return max(worker_memory(), COPIES * int(getattr(self.X, "nbytes", 0)))


@dataclass(frozen=True)
class Intake:
    """How partitions become blocks.

    Parameters
    ----------
    owner : estimator
        Whose fit it is; it knows number and names of columns, and nothing else.
    argument : Kernel, str or callable
        Its kernel, as data is checked for it.
    kind : {"targets", "labels", "raw"}
        What y is: numbers, classes, or whatever the model itself will check.
    keep_all : bool
        Whether rows without weight stay, because the model counts them.
    """

    owner: Any
    argument: Any
    kind: Literal["targets", "labels", "raw"]
    keep_all: bool = False

    def head(self, X: Any, count: int) -> Any:
        """Return the first rows as they come."""
        X = _listed(X)
        return None if length(X) == 0 else pick(X, np.arange(min(count, length(X))))

    def block(self, X: Any, y: Any, weights: Any, index: int) -> Block:
        """Return the checked rows of a partition."""
        X = _listed(X)
        n, nothing = length(X), np.zeros(0)
        with _naming(index):
            self._check_lengths(n, y, weights)
            if n == 0:
                return Block(X, nothing, nothing, index, nothing, np.arange(0))
            rows = checked_rows(self.owner, X, self.argument, reset=False)
            values = self._y(y, n)
            factors = self._weights(weights, n)
        if factors is None or self.keep_all or factors.all():
            return Block(rows, values, factors, index, values[:0], np.arange(n))
        kept = np.flatnonzero(factors)
        return Block(pick(rows, kept), values[kept], factors[kept], index, values[factors == 0], kept)

    def _check_lengths(self, n: int, y: Any, weights: Any) -> None:
        for what, values in (("y", y), ("sample_weight", weights)):
            if values is not None and np.ndim(values) and length(values) != n:
                raise ValueError(
                    f"{type(self.owner).__name__}: X has {n} rows, but {what} has {length(values)}; they must be the "
                    "same in every partition"
                )

    def _y(self, y: Any, n: int) -> np.ndarray:
        if self.kind == "targets":
            return check_targets(self.owner, y, n)
        if self.kind == "raw":
            return np.zeros(n) if y is None else np.asarray(y)
        if y is None:
            raise ValueError(f"{type(self.owner).__name__} requires y to be passed, but the target y is None.")
        labels = column_or_1d(np.asarray(y))
        assert_all_finite(labels, input_name="y", estimator_name=type(self.owner).__name__)
        return np.asarray(labels)

    def _weights(self, weights: Any, n: int) -> np.ndarray | None:
        if weights is None:
            return None
        values = np.asarray(weights, dtype=np.float64)
        if self.keep_all:
            return np.broadcast_to(values, (n,)).copy()  # the model itself checks them all
        if np.ndim(values) and not values.any():
            return np.zeros(n)  # the rows of a partition may all be without weight
        return check_weights(self.owner, values, n)


def with_y(block: Block, y: np.ndarray) -> Block:
    """Return the same rows with other targets."""
    return replace(block, y=y)


def joined(parts: list[Rows]) -> Rows:
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


def _listed(X: Any) -> Any:
    """Return a partition of a bag as a list, and all others as they are."""
    return X if hasattr(X, "__len__") or hasattr(X, "shape") else list(X)


@contextmanager
def _naming(index: int) -> Iterator[None]:
    """Say in which partition something was wrong."""
    try:
        yield
    except (ValueError, TypeError) as error:
        error.add_note(f"This was found in partition {index}, counted from 0.")
        raise
