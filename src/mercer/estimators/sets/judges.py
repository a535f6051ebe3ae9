"""Models that have not seen some of the training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows, length
from mercer.solvers.conformal.sets import measure_scores


@dataclass(frozen=True)
class FoldJudge:
    """A model without the points of a fold, or none if they were all of one class.

    Parameters
    ----------
    model : classifier or None
        The model.
    known : int array of shape (classes,)
        The classes it knows, as positions among all.
    columns : int array, optional
        The training points it was fitted to, where points are rows of kernel values with all of them.
    """

    model: Any
    known: Annotated[np.ndarray, Axes("k")]
    columns: Annotated[np.ndarray, Axes("m")] | None = None

    def cut(self, X: Rows) -> Rows:
        """Return checked points as the model takes them."""
        return X if self.columns is None else X[:, self.columns]

    def measure(self, X: Rows, classes: int) -> np.ndarray:
        """Return s(x, c) of all classes, infinite for those that the model does not know."""
        scores = np.full((length(X), classes), np.inf)
        if self.model is None:
            scores[:, self.known] = -np.inf
        else:
            scores[:, self.known] = measure_scores(self.model._class_values(self.cut(X)))
        return scores
