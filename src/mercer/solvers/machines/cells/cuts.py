"""Cuts of space into cells by hyperplanes, and the weights of cells that fade into each other at the cuts.

A set of points is cut across the direction in which it is longest, where a given share of them is on each side, until
the parts are small enough.  At a cut the weight of the upper side grows linearly from 0 to 1 over a band,

    w(x) = min(max(1/2 + (⟨v, x⟩ − t) / 2h, 0), 1),

and that of a cell is the product over the cuts that lead to it.  So weights are continuous and have the sum 1 at every
point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mercer.arrays.shapes import Axes

LOOKED_AT = 2000  # points of a set whose longest direction is looked for
TURNS = 20  # of the power method: a direction that is nearly the longest will do


@dataclass(frozen=True)
class Cuts:
    """Cuts that make a binary tree, whose leaves are cells.

    Parameters
    ----------
    directions : array of shape (cuts, d)
        v of each cut.
    levels, widths : arrays of shape (cuts,)
        t and h; a band of width 0 is none.
    lower, upper : arrays of int, shape (cuts,)
        What comes below and above: the number of a cut, or −1 − c for cell c.
    """

    directions: Annotated[np.ndarray, Axes("t d", of="float64")]
    levels: Annotated[np.ndarray, Axes("t", of="float64")]
    widths: Annotated[np.ndarray, Axes("t", of="float64")]
    lower: Annotated[np.ndarray, Axes("t", of="int64")]
    upper: Annotated[np.ndarray, Axes("t", of="int64")]

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.levels) + 1

    def weigh(self, X: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield for each cell that has a weight anywhere its number, the positions of points, and their weights.

        Examples
        --------
        >>> cuts, parts = cut_points(np.arange(8.0).reshape(-1, 1), 4, overlap=0.25)
        >>> [(cell, rows.tolist(), weights.tolist()) for cell, rows, weights in cuts.weigh(np.array([[2.0], [3.5]]))]
        [(0, [0, 1], [1.0, 0.5]), (1, [1], [0.5])]
        """
        if len(X):
            yield from self._spread(0 if len(self.levels) else -1, X, np.arange(len(X)), np.ones(len(X)))

    def _spread(
        self, node: int, X: np.ndarray, rows: np.ndarray, weights: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        if node < 0:
            yield -1 - node, rows, weights
            return
        above = self._rise(node, X[rows])
        for child, share in ((int(self.lower[node]), 1.0 - above), (int(self.upper[node]), above)):
            chosen = share > 0
            if chosen.any():
                yield from self._spread(child, X, rows[chosen], (weights * share)[chosen])

    def _rise(self, node: int, X: np.ndarray) -> np.ndarray:
        """Return the weight of the upper side of a cut."""
        far, width = _project(X, self.directions[node]) - self.levels[node], self.widths[node]
        return np.clip(0.5 + far / (2 * width), 0.0, 1.0) if width > 0 else (far >= 0).astype(np.float64)


def cut_points(
    X: np.ndarray, size: int, overlap: float = 0.0, stretch: np.ndarray | None = None
) -> tuple[Cuts, list[np.ndarray]]:
    """Cut points into cells of at most ``size`` each; points that are all the same stay together.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    size : int
        Points of a cell at most, without those of its neighbours' that it has a weight at.
    overlap : float
        Share of the points on the two sides of a cut that are in its band.
    stretch : array of shape (d,), optional
        The length that counts as 1 in each column, as a kernel measures it.

    Returns
    -------
    cuts : Cuts
        The tree.
    parts : list of arrays of int
        The points of each cell, every point in one of them.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    >>> cuts, parts = cut_points(X, 2)
    >>> [part.tolist() for part in parts], cuts.count
    ([[0, 1], [2, 3]], 2)
    """
    directions, parts = list[np.ndarray](), list[np.ndarray]()
    levels, widths = list[float](), list[float]()
    lower, upper = list[int](), list[int]()

    def grow(rows: np.ndarray) -> int:
        """Cut some points, and return the number of the cut or cell."""
        few = -(-len(rows) // size)  # cells that these points need
        found = _cut_once(X[rows], (few // 2) / few, overlap, stretch) if few > 1 else None
        if found is None:
            parts.append(rows)
            return -len(parts)
        node, (direction, level, width, above) = len(levels), found
        directions.append(direction)
        levels.append(level)
        widths.append(width)
        lower.append(0)
        upper.append(0)
        lower[node], upper[node] = grow(rows[~above]), grow(rows[above])
        return node

    grow(np.arange(len(X)))
    found = np.array(directions).reshape(len(levels), X.shape[1])
    places = np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)
    return Cuts(found, np.array(levels, dtype=np.float64), np.array(widths, dtype=np.float64), *places), parts


def _cut_once(
    X: np.ndarray, share: float, overlap: float, stretch: np.ndarray | None
) -> tuple[np.ndarray, float, float, np.ndarray] | None:
    """Return direction, level and width of a cut with a share of the points below it, and which are above it."""
    direction = _find_longest(X) if stretch is None else _find_longest(X / stretch) / stretch
    far = _project(X, direction)
    order = np.sort(far)
    steps = np.flatnonzero(order[1:] > order[:-1])  # a cut lies between points that differ
    if len(steps) == 0:
        return None
    at = int(steps[np.abs(steps + 1 - share * len(X)).argmin()])
    level = 0.5 * (order[at] + order[at + 1])
    above = far >= level
    if above.all():  # numbers so close that nothing lies between them
        level, above = float(order[at + 1]), far >= order[at + 1]
    width = float(np.quantile(np.abs(far - level), overlap)) if overlap > 0 else 0.0
    return direction, float(level), width, above


def _find_longest(X: np.ndarray) -> np.ndarray:
    """Return about the direction in which points vary most, of some of them if there are many."""
    some = X[np.unique(np.arange(min(len(X), LOOKED_AT)) * len(X) // min(len(X), LOOKED_AT))].astype(np.float64)
    some = some - some.mean(axis=0)
    size = float(np.abs(some).max(initial=0.0))
    some = some / (size or 1.0)
    direction = some[int((some**2).sum(axis=1).argmax())]  # a point far out
    for _ in range(TURNS):
        direction = some.T @ (some @ direction)
        length = float(np.linalg.norm(direction))
        if length == 0:
            break
        direction = direction / length
    return direction if direction[np.abs(direction).argmax()] >= 0 else -direction  # of the two, always the same


def _project(X: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return ⟨v, x⟩ of each point, which depends on nothing else: BLAS rounds by where among others a point stands."""
    return np.asarray(np.einsum("ij,j->i", X, direction, dtype=np.float64))
