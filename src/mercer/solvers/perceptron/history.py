"""What a perceptron went through: its mistakes in order, and the function after each of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mercer.expansion import Expansion
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel

from .solver import Kept


class History:
    """Every mistake of a perceptron, from which each function that there was is rebuilt exactly.

    A mistake is five numbers, and a vector is kept once, however often it was wrong: there is nothing here that
    predictions by a vote would not need anyway.  ``model.history_`` has it.

    Parameters
    ----------
    kept : Kept
        What the perceptron keeps.
    kernel : Kernel
        Its kernel k.
    fit_intercept : bool
        Whether functions are made of k + 1.
    classes : array
        The labels.

    Attributes
    ----------
    points : int array of shape (mistakes,)
        Which point was wrong: its position in the data of ``fit``, or among all that ``partial_fit`` was given, one
        call after the other.
    times : int array of shape (mistakes,)
        How many points had been seen by then, in all epochs and with this one.
    labels, taken : arrays of shape (mistakes,)
        The class of the point, and the one that it was taken for.  Of two it is the other one, also at a value of 0,
        which is a mistake.
    steps : array of shape (mistakes,)
        By how much functions changed: the weight of the point.
    seen : int
        How many points have been seen in all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPerceptron
    >>> from mercer.kernels import Linear
    >>> X, y = np.array([[1.0], [-1.0], [2.0], [0.5]]), np.array(["up", "down", "down", "up"])
    >>> model = KernelPerceptron("plain", kernel=Linear(), fit_intercept=False)
    >>> history = model.partial_fit(X, y, classes=["down", "up"]).history_
    >>> history.points.tolist(), history.labels.tolist(), len(history)
    ([0, 2, 3], ['up', 'down', 'up'], 3)
    >>> [float(history.function(step)([[1.0]])[0]) for step in range(4)]
    [0.0, 1.0, -1.0, -0.5]
    """

    def __init__(self, kept: Kept, kernel: Kernel, fit_intercept: bool, classes: np.ndarray) -> None:
        log = kept.log
        self._kept, self._kernel, self._fit_intercept = kept, kernel, fit_intercept
        self.points = kept.origin[log.vector]
        self.times, self.steps, self.seen = log.time, log.step, kept.seen
        labels: Any = np.asarray(classes)
        taken = 1 - log.label if kept.outputs == 1 else log.wrong
        self.labels, self.taken = labels[log.label], labels[taken]

    def __len__(self) -> int:
        """Return the number of mistakes."""
        return len(self.times)

    def __repr__(self) -> str:
        return f"History({len(self)} mistakes at {self.seen} points seen)"

    def count(self, seen: int) -> int:
        """Return how many mistakes there had been after so many points, so that ``function(count(seen))`` is f then."""
        return int(np.searchsorted(self.times, seen, side="right"))

    def vectors(self, step: int) -> Rows:
        """Return the points that were wrong in the first steps, each once, in the order of the data."""
        return pick(self._kept.vectors, self._touched(self._check_step(step)))

    def function(self, step: int) -> Expansion:
        """Return f after some mistakes, from 0, where it is 0 everywhere, to all of them.

        It is the function itself, whatever the ``kind`` of the model: a mean or a vote is made of these.

        Parameters
        ----------
        step : int
            The number of mistakes; a negative one counts from the end, so that −1 is the last function.

        Returns
        -------
        Expansion
        """
        step, log, kept = self._check_step(step), self._kept.log, self._kept
        coef = np.zeros_like(kept.coef)
        vector, size = log.vector[:step], log.step[:step]
        if kept.outputs == 1:
            np.add.at(coef[:, 0], vector, np.where(log.label[:step] == 1, size, -size))
        else:
            np.add.at(coef, (vector, log.label[:step]), size)
            np.subtract.at(coef, (vector, log.wrong[:step]), size)
        touched = self._touched(step) if step else np.array([0])  # an expansion has at least one centre
        coef = coef[touched]
        intercept = coef.sum(axis=0) * float(self._fit_intercept)
        centres = pick(kept.vectors, touched)
        if kept.outputs == 1:
            return Expansion(self._kernel, centres, coef[:, 0], intercept[0])
        return Expansion(self._kernel, centres, coef, intercept)

    def _touched(self, step: int) -> np.ndarray:
        return np.unique(self._kept.log.vector[:step])

    def _check_step(self, step: int) -> int:
        number = operator.index(step)
        if not -len(self) - 1 <= number <= len(self):
            raise ValueError(f"there were {len(self)} mistakes, so step must be between 0 and {len(self)}; got {step}")
        return number if number >= 0 else number + len(self) + 1
