"""What machines in cells learn: labels or numbers, of the points that a cell has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..pairs import choose_winners, list_pairs
from ..problems import MachineProblems, Priced


@dataclass(frozen=True)
class Task:
    """Targets and prices of n points, of which a cell takes some.

    Parameters
    ----------
    form : Priced
        The machine at C = 1.
    targets : array of shape (n,)
        Numbers, or the positions of labels among the classes.
    weights : array of shape (n,)
        Positive factors of C for each point.
    class_weight : array of shape (classes,), optional
        Factors of C for each class, if there are classes.
    """

    form: Priced
    targets: np.ndarray
    weights: np.ndarray
    class_weight: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> Task:
        """Return the same of some points."""
        return replace(self, targets=self.targets[rows], weights=self.weights[rows])

    def find_classes(self, rows: np.ndarray) -> np.ndarray:
        """Return which classes some points have; none if there are no classes."""
        return np.empty(0, dtype=np.int64) if self.class_weight is None else np.unique(self.targets[rows])

    def problems(self, rows: np.ndarray, C: float = 1.0) -> MachineProblems:
        """Return the problems of some points, in which the classes that they have are counted from 0."""
        form, targets, weights = replace(self.form, C=C), self.targets[rows], self.weights[rows]
        if self.class_weight is None:
            return MachineProblems(form, targets, weights)
        classes = self.find_classes(rows)
        return MachineProblems(form, np.searchsorted(classes, targets), weights, classes, self.class_weight[classes])

    def measure(self, rows: np.ndarray, classes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the loss of values of problems at some points: their weight if wrong, or the squared error."""
        weights, targets = self.weights[rows], self.targets[rows]
        if self.class_weight is None:
            return np.asarray(weights * (targets - values[:, 0]) ** 2)
        return np.asarray(weights * (decide(classes, values) != targets))


def decide(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the class that wins at each point, from the values of all pairs of the classes that there are.

    Examples
    --------
    >>> decide(np.array([2, 5]), np.array([[-1.0], [0.5]]))
    array([2, 5])
    """
    if len(classes) == 1:
        return np.full(len(values), classes[0])
    if len(classes) == 2:
        return np.asarray(classes[(values[:, 0] >= 0).astype(np.intp)])
    return np.asarray(classes[choose_winners(values, len(classes))])


def widen_pairs(classes: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return values of all pairs of classes from those of the pairs of some of them.

    Where a cell has one class of a pair, that one wins by 1; where it has none, nobody does.  Of two classes in all the
    second is positive, of more the first of a pair.

    Examples
    --------
    >>> widen_pairs(np.array([0, 2]), np.array([[0.5]]), 3)
    array([[ 1. , -0.5, -1. ]])
    """
    signs = -1.0 if (len(classes) == 2) != (count == 2) else 1.0
    own = {(int(classes[i]), int(classes[j])): k for k, (i, j) in enumerate(list_pairs(len(classes)))}
    pairs, there = list_pairs(count), {int(code) for code in classes}
    found = np.zeros((len(values), len(pairs)))
    for column, (i, j) in enumerate(pairs):
        if (i, j) in own:
            found[:, column] = signs * values[:, own[i, j]]
        elif there & {i, j}:
            found[:, column] = (1.0 if i in there else -1.0) * (-1.0 if count == 2 else 1.0)
    return found
