"""What a model was fitted to, so that others can be fitted to some of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.utils import get_tags

from mercer.arrays.shapes import ANYTHING, Axes
from mercer.formula.data import Rows, pick


@dataclass(frozen=True)
class TrainingRows:
    """What a model was fitted to.

    Parameters
    ----------
    X : collection of n objects
        The points, checked; the Gram matrix if the kernel is precomputed.
    y : array of shape (n,) or (n, q)
        Their targets or labels.
    weights : array of shape (n,), optional
        Their weights, none of them negative.
    """

    X: Annotated[Rows, Axes("n …")]
    y: Annotated[np.ndarray, Axes("n q?", of=ANYTHING)]
    weights: Annotated[np.ndarray, Axes("n")] | None = None

    @property
    def kept(self) -> np.ndarray:
        """The positions of points with a weight."""
        return np.arange(len(self.y)) if self.weights is None else np.flatnonzero(self.weights)

    def fit(self, model: Any, positions: np.ndarray) -> Any:
        """Return a model fitted to some of the rows."""
        X = pick_rows(model, self.X, positions, both=True)
        weights = {} if self.weights is None else {"sample_weight": self.weights[positions]}
        return model.fit(X, self.y[positions], **weights)


def pick_rows(model: Any, X: Rows, positions: np.ndarray, *, both: bool = False) -> Rows:
    """Return some rows; of a matrix between training points ``both`` takes the columns of the same points."""
    some = pick(X, positions)
    return some[:, positions] if both and get_tags(model).input_tags.pairwise else some
