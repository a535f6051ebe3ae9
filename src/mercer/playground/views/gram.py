"""The Gram matrix, with points in an order that shows its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..composing import read_kernel
from ..fitting import Fit, guard
from ..limits import pick_some
from ..state import State

MOST = 200  # points of a picture, of which each takes a few dots of a screen


@dataclass(frozen=True, eq=False)
class GramPicture:
    """The matrix K of some points.

    Parameters
    ----------
    matrix : array of shape (m, m)
        k of the points in this order.
    order : int array of shape (m,)
        The positions of the points, by class and then by the first input.
    total : int
        How many points there are; more than m if only some are shown.
    low, high : float
        The least and the largest value.
    """

    matrix: np.ndarray
    order: np.ndarray
    total: int
    low: float
    high: float


def draw_gram(given: Fit | State, most: int = MOST) -> GramPicture:
    """Return the Gram matrix of a state, whether its learner can use it or not.

    Parameters
    ----------
    given : Fit or State
        What is looked at.
    most : int, default=200
        How many points are shown; of more, some at equal distances in the order.

    Examples
    --------
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.gram import draw_gram
    >>> found = draw_gram(PRESETS["three"].make())
    >>> found.matrix.round(2).tolist()
    [[1.0, 0.61, 0.01], [0.61, 1.0, 0.14], [0.01, 0.14, 1.0]]
    """
    state = get_state(given)
    order = sort_points(state)[pick_some(state.n, most)]
    matrix = evaluate(state, state.x[order])
    low, high = (float(matrix.min()), float(matrix.max())) if matrix.size else (0.0, 0.0)
    return GramPicture(matrix, order, state.n, low, high)


def get_state(given: Fit | State) -> State:
    """Return the state of what is looked at."""
    return given.state if isinstance(given, Fit) else given


def sort_points(state: State) -> np.ndarray:
    """Return the positions of the points, by class and then by the first input."""
    classes = state.y if state.task == "classification" else np.zeros(state.n)
    return np.lexsort((state.x[:, 0], classes))


def evaluate(state: State, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """Return k between points, or raise a PlayError."""
    if len(X) == 0 or (Z is not None and len(Z) == 0):
        return np.empty((len(X), len(X if Z is None else Z)))
    with guard():
        kernel = read_kernel(state.kernel, state.dim)
        return np.asarray(kernel(X) if Z is None else kernel(X, Z), dtype=np.float64)
