"""One partition of a fit without the rows that have no weight, and what one pass over all partitions finds out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from mercer.arrays.place import Place
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.solvers.base import Problem

from ._graph import declare_sized, find_memory, find_place
from .executor import size_of

COPIES = 6  # of the rows of a block, that any task on them needs
Kind = Literal["targets", "labels", "raw"]  # what y is: numbers, classes, or whatever the model itself will check


@dataclass(frozen=True)
class RowBlock:
    """Rows of one partition that have a weight."""

    X: Rows  # the points
    y: np.ndarray  # targets, or the labels or classes of the points, (n, q) or (n,)
    weights: np.ndarray | None  # positive weights; all 1 if not given, (n,)
    index: int  # of the partition
    dropped: np.ndarray  # what y was in the rows that have no weight
    places: np.ndarray  # which rows of the partition these are, (n,)
    room: int | None = None  # bytes that a task on these rows may use; what its worker has if None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def known_weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def memory(self) -> int:
        """The bytes that a task on these rows may use: what its worker has, and at least some copies of the rows."""
        if self.room is not None:
            return self.room
        return max(find_memory(), COPIES * int(getattr(self.X, "nbytes", 0)))

    def take(self, rows: np.ndarray) -> RowBlock:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, X=pick(self.X, rows), y=self.y[rows], weights=weights, dropped=self.dropped[:0],
            places=self.places[rows],
        )  # fmt: skip

    def place(self, device: Any) -> Place:
        """Return the device of this worker that was asked for, or the host, with the memory of a task there."""
        return find_place(device, self.memory)

    def problem(self, kernel: Kernel, fit_intercept: bool, q: int, device: Any = None) -> Problem:
        """Return the ridge problem of these rows alone, in the memory that a task has, on a device of the worker."""
        place, y = self.place(device), self.y.reshape(len(self.y), q)
        return Problem(kernel, self.X, y, self.weights, fit_intercept, place.memory, place.device)


declare_sized(RowBlock)


@dataclass
class Survey:
    """What one pass over all partitions finds."""

    sizes: list[tuple[int, int, int]]  # rows, rows with a weight, and index of each partition with rows
    outputs: int  # columns of y
    flat: bool  # whether y has one dimension
    weight: float  # Σw
    weighted: bool  # whether there are weights at all
    nbytes: int  # bytes of all points
    # how often each label occurs with a weight, and how much weight it has, if y holds labels
    labels: dict[Any, tuple[int, float]]
    moments: Moments | None  # of all entries of X, where X holds numbers
    y_moments: Moments | None  # of each column of y, where y holds targets

    def __iadd__(self, other: Survey) -> Survey:
        if (self.outputs, self.flat) != (other.outputs, other.flat):
            raise ValueError(
                f"y has {self.outputs} columns in some partitions and {other.outputs} in others; it must have as many "
                "in all"
            )
        self.sizes = self.sizes + other.sizes
        self.weight += other.weight
        self.nbytes += other.nbytes
        for label, (count, weight) in other.labels.items():
            before = self.labels.get(label, (0, 0.0))
            self.labels[label] = before[0] + count, before[1] + weight
        self.moments = self.moments and other.moments and self.moments.merge(other.moments)
        self.y_moments = self.y_moments and other.y_moments and self.y_moments.merge(other.y_moments)
        return self


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations, which those of two sets combine to without loss of digits."""

    weight: float
    mean: Any
    squares: Any

    def merge(self, other: Moments) -> Moments:
        """Return those of both sets."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.weight / weight
        squares = self.squares + other.squares + apart**2 * self.weight * other.weight / weight
        return Moments(weight, mean, squares)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.squares / self.weight if self.weight > 0 else 0.0


def survey_block(block: RowBlock, kind: Kind, keep_all: bool) -> Survey | None:
    """Return what a block has; nothing of an empty one."""
    n = len(block)
    if n == 0 and len(block.dropped) == 0:
        return None
    y = block.y if n else block.dropped
    weights = block.known_weights
    if keep_all:
        weights = (weights > 0).astype(np.float64)  # machines guess their kernel from all rows that take part
    labels: dict[Any, tuple[int, float]] = {}
    if kind == "labels":
        for label in np.unique(block.dropped):
            labels[label] = 0, 0.0  # as if they were not there
        found, codes = np.unique(block.y, return_inverse=True)
        mass, counts = np.bincount(codes, weights, len(found)), np.bincount(codes, minlength=len(found))
        for label, count, weight in zip(found, counts, mass, strict=True):
            labels[label] = labels.get(label, (0, 0.0))[0] + int(count), float(weight)
    return Survey(
        sizes=[(n + len(block.dropped), n, block.index)],
        outputs=1 if y.ndim == 1 else y.shape[1],
        flat=y.ndim == 1,
        weight=float(weights.sum()),
        weighted=block.weights is not None,
        nbytes=size_of(block.X),
        labels=labels,
        moments=measure_entries(block.X, weights) if n else Moments(0.0, 0.0, 0.0),
        y_moments=measure_columns(y, weights) if kind == "targets" else None,
    )


def measure_columns(y: np.ndarray, weights: np.ndarray) -> Moments:
    """Return the weighted moments of each column of targets."""
    y = y.reshape(len(y), -1)
    total = float(weights.sum())
    if total == 0:
        return Moments(0.0, np.zeros(y.shape[1]), np.zeros(y.shape[1]))
    mean = weights @ y / total
    return Moments(total, mean, weights @ (y - mean) ** 2)


def measure_block(block: RowBlock) -> Moments | None:
    """Return the weighted moments of all entries of a block."""
    return measure_entries(block.X, block.known_weights)


def measure_entries(X: Any, weights: np.ndarray) -> Moments | None:
    """Return the weighted moments of all entries, None where X does not hold numbers only."""
    if not weights.any():
        return Moments(0.0, 0.0, 0.0) if sparse.issparse(X) or _is_table(X) else None
    if sparse.issparse(X):
        of_rows, squares = np.asarray(X.mean(axis=1)).ravel(), np.asarray(X.multiply(X).mean(axis=1)).ravel()
        mean = float(weights @ of_rows) / float(weights.sum())
        return Moments(float(weights.sum()), mean, float(weights @ squares) - float(weights.sum()) * mean**2)
    if not _is_table(X):
        return None
    mean = float(np.average(X.mean(axis=1, dtype=np.float64), weights=weights))
    of_rows = ((X - mean) ** 2).mean(axis=1, dtype=np.float64)
    return Moments(float(weights.sum()), mean, float(weights @ of_rows))


def _is_table(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
