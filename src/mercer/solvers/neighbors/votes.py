"""What the nearest points say of a new one: a weighted vote for classes, or a weighted mean of targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows
from mercer.kernels import Kernel

from .search import find_nearest

Found = tuple[np.ndarray, np.ndarray]  # distances and indices
Weights = Literal["uniform", "distance"] | Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Neighbors:
    """Points, what belongs to each of them, and the search among them."""

    kernel: Kernel
    points: Annotated[Rows, Axes("n+ …")]
    # Targets (n,) or (n, outputs), or classes (n, outputs) as positions among the labels of each.
    values: Annotated[np.ndarray, Axes("n t?")]

    def find(self, X: Rows | None, k: int, place: Place) -> Found:
        """Return distances and indices of the nearest points; those of the points themselves, others only, if None."""
        queries = self.points if X is None else X
        return find_nearest(self.kernel, queries, self.points, k, place=place, exclude=X is None)

    def average(self, found: Found, weights: Weights, owner: str) -> np.ndarray:
        """Return the weighted mean of the neighbours' values."""
        return np.asarray(np.einsum("ij,ij...->i...", weigh(weights, found[0], owner), self.values[found[1]]))

    def share_votes(self, found: Found, weights: Weights, classes: list[int], owner: str) -> list[np.ndarray]:
        """Return the share of the votes for each class, an array for each output with so many classes."""
        distances, indices = found
        votes, shares = weigh(weights, distances, owner), []
        for column, count in enumerate(classes):
            places = self.values[indices, column] + count * np.arange(len(indices))[:, None]
            sums = np.bincount(places.ravel(), votes.ravel(), minlength=count * len(indices))
            shares.append(sums.reshape(len(indices), count))
        return shares


def weigh(weights: Weights, distances: np.ndarray, owner: str) -> np.ndarray:
    """Return the weight of each neighbour; those of a query add up to one.

    Examples
    --------
    >>> weigh("distance", np.array([[1.0, 3.0], [0.0, 2.0]]), "")
    array([[0.75, 0.25],
           [1.  , 0.  ]])
    """
    if callable(weights):
        values = np.asarray(weights(distances), dtype=np.float64)
        if values.shape != distances.shape or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(
                f"{owner}: the function in weights must return finite numbers that are not negative, of the shape "
                f"{distances.shape} of the distances it is given"
            )
    elif isinstance(weights, str) and weights == "uniform":
        values = np.ones_like(distances)
    else:
        nearest_first = distances[:, :1]  # dividing by it keeps the reciprocals of tiny distances finite
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(nearest_first > 0, nearest_first / distances, distances == 0)
    total = values.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        bad = int(np.flatnonzero(~(total[:, 0] > 0))[0])
        raise ValueError(
            f"{owner}: all neighbors of sample {bad} get zero weight, so that nothing can be predicted there; use a "
            "function for weights that is positive at some of the distances it is given"
        )
    return values / total
