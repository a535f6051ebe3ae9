"""Machines in cells as one function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mercer.arrays.shapes import Axes
from mercer.expansion import Expansion

from ...evidence import DualityGap
from .cuts import Cuts
from .task import widen_pairs


@dataclass(frozen=True)
class CellMachine:
    """The machines of one cell.

    Parameters
    ----------
    function : Expansion or None
        Those of all pairs of classes that the cell has, or the only one; None if all of its points have one class.
    classes : array of int
        Which classes it has, if there are any.
    C : float
        The price of an error.
    size : int
        Points that it was fitted to, with those of neighbours.
    n_iter : int
        Steps.
    gap : DualityGap or None
        The largest relative one of its problems; None if there are none.
    converged : bool
        Whether all are solved.
    """

    function: Expansion | None
    classes: Annotated[np.ndarray, Axes("k", of="iu")]
    C: float
    size: int
    n_iter: int
    gap: DualityGap | None
    converged: bool

    def evaluate(self, X: np.ndarray, count: int, memory: int) -> np.ndarray:
        """Return the values of all pairs among ``count`` classes, or the only value if there are none."""
        values = np.empty((len(X), 0))
        if self.function is not None:
            values = np.asarray(self.function(X, memory=memory))
        return values if count == 0 else widen_pairs(self.classes, values, count)


@dataclass(frozen=True)
class CellFunction:
    """Machines in cells as one function, their mean with the weights of the cells: it is continuous.

    Parameters
    ----------
    cuts : Cuts
        The cells.
    machines : list of CellMachine
        One for each.
    count : int
        The number of classes; 0 for a regression.
    """

    cuts: Cuts
    machines: list[CellMachine]
    count: int

    def __call__(self, X: np.ndarray, memory: int) -> np.ndarray:
        """Return f + b of all pairs of classes, or of the only problem, shape (points, problems)."""
        found = np.zeros((len(X), max(1, self.count * (self.count - 1) // 2)))
        for cell, rows, weights in self.cuts.weigh(X):
            found[rows] += weights[:, None] * self.machines[cell].evaluate(X[rows], self.count, memory)
        return found
