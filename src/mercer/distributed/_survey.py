"""What one pass over all partitions finds out: sizes, labels, weights, and moments of points and targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._block import Block, Intake


@dataclass
class Survey:
    """What one pass over all partitions finds.

    Parameters
    ----------
    sizes : list of (rows, rows with a weight, index)
        Of each partition that has rows with a weight.
    every : list of (rows, rows with a weight, index)
        Of each partition that has rows.
    outputs : int
        Columns of y.
    flat : bool
        Whether y has one dimension.
    weight : float
        Σw.
    weighted : bool
        Whether there are weights at all.
    nbytes : int
        Bytes of all points.
    labels : dict
        How often each label occurs with a weight, and how much weight it has, if y holds labels.
    moments : Moments
        Of all entries of X, where X holds numbers.
    y_moments : Moments
        Of each column of y, where y holds targets.
    """

    sizes: list[tuple[int, int, int]]
    every: list[tuple[int, int, int]]
    outputs: int
    flat: bool
    weight: float
    weighted: bool
    nbytes: int
    labels: dict[Any, tuple[int, float]]
    moments: Moments | None
    y_moments: Moments | None

    def __iadd__(self, other: Survey) -> Survey:
        if (self.outputs, self.flat) != (other.outputs, other.flat):
            raise ValueError(
                f"y has {self.outputs} columns in some partitions and {other.outputs} in others; it must have as many "
                "in all"
            )
        self.sizes = self.every = self.sizes + other.sizes
        self.weight += other.weight
        self.nbytes += other.nbytes
        for label, (count, weight) in other.labels.items():
            before = self.labels.get(label, (0, 0.0))
            self.labels[label] = before[0] + count, before[1] + weight
        self.moments = _merged(self.moments, other.moments)
        self.y_moments = _merged(self.y_moments, other.y_moments)
        return self


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations, which those of two sets combine to without loss of digits."""

    weight: float
    mean: Any
    squares: Any

    def merged(self, other: Moments) -> Moments:
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


def _merged(first: Moments | None, second: Moments | None) -> Moments | None:
    return None if first is None or second is None else first.merged(second)


def survey_of(block: Block, intake: Intake) -> Survey | None:
    """Return what a block has; nothing of an empty one."""
    n = len(block)
    if n == 0 and len(block.dropped) == 0:
        return None
    y = block.y if n else block.dropped
    weights = np.ones(n) if block.weights is None else block.weights
    if intake.keep_all:
        weights = (weights > 0).astype(np.float64)  # machines guess their kernel from all rows that take part
    labels: dict[Any, tuple[int, float]] = {}
    if intake.kind == "labels":
        for label in np.unique(block.dropped):
            labels[label] = 0, 0.0  # as if they were not there
        found, codes = np.unique(block.y, return_inverse=True)
        mass, counts = np.bincount(codes, weights, len(found)), np.bincount(codes, minlength=len(found))
        for label, count, weight in zip(found, counts, mass, strict=True):
            labels[label] = labels.get(label, (0, 0.0))[0] + int(count), float(weight)
    return Survey(
        sizes=[(n + len(block.dropped), n, block.index)],
        every=[(n + len(block.dropped), n, block.index)],
        outputs=1 if y.ndim == 1 else y.shape[1],
        flat=y.ndim == 1,
        weight=float(weights.sum()),
        weighted=block.weights is not None,
        nbytes=size_of(block.X),
        labels=labels,
        moments=_moments(block.X, weights) if n else Moments(0.0, 0.0, 0.0),
        y_moments=_moments_of_y(y, weights) if intake.kind == "targets" else None,
    )


def _moments_of_y(y: np.ndarray, weights: np.ndarray) -> Moments:
    y = y.reshape(len(y), -1)
    total = float(weights.sum())
    if total == 0:
        return Moments(0.0, np.zeros(y.shape[1]), np.zeros(y.shape[1]))
    mean = weights @ y / total
    return Moments(total, mean, weights @ (y - mean) ** 2)


def moments_of(block: Block) -> Moments | None:
    """Return the weighted moments of all entries of a block."""
    return _moments(block.X, np.ones(len(block)) if block.weights is None else block.weights)


def _moments(X: Any, weights: np.ndarray) -> Moments | None:
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


def size_of(value: Any) -> int:
    """Return the bytes of arrays in a result."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if hasattr(value, "data") and hasattr(value, "indices"):  # sparse
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if hasattr(value, "memory_usage"):
        return int(np.sum(value.memory_usage(index=False)))
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    if hasattr(value, "__dataclass_fields__"):
        return sum(size_of(getattr(value, name)) for name in value.__dataclass_fields__)
    return 8
