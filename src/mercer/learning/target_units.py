"""Targets in units of their own: without their mean, divided by their deviation, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from .choice import Score


@dataclass(frozen=True)
class TargetUnits:
    """The mean and the deviation of each target."""

    shift: np.ndarray  # what is subtracted, (q,)
    scale: np.ndarray  # what is divided by, positive, (q,)

    @classmethod
    def of(cls, columns: np.ndarray, weights: np.ndarray | None, *, centred: bool) -> TargetUnits:
        """Return the units of targets, in which a weight counts as so many repetitions of a point.

        Examples
        --------
        >>> import numpy as np
        >>> TargetUnits.of(np.array([[1.0], [4.0]]), np.array([2.0, 1.0]), centred=True).shift
        array([2.])
        """
        # The largest is taken out first: squares of 1e-300 or 1e300 are no numbers.
        size = np.abs(columns).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        relative = columns / size
        share = None if weights is None else weights / weights.max()
        shift = np.average(relative, axis=0, weights=share) * centred
        spread = np.sqrt(np.average((relative - shift) ** 2, axis=0, weights=share))
        # A deviation within the rounding of the mean is that of a constant.
        real = spread > 4 * np.finfo(np.float64).eps * np.abs(shift)
        return cls(shift * size, np.where(real, spread, 1.0) * size)

    def relative(self, values: np.ndarray) -> np.ndarray:
        """Return targets in these units."""
        return np.asarray((values - self.shift) / self.scale)

    def absolute(self, values: np.ndarray) -> np.ndarray:
        """Return targets that were in these units."""
        return np.asarray(values * self.scale + self.shift)

    def score(self, scorer: Any, *, flat: bool) -> Score:
        """Return a scikit-learn scorer as a score of targets in these units, which it sees in their own."""

        def score(y: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None) -> float:
            truth, answers = self.absolute(y), self.absolute(predictions)
            if flat:
                truth, answers = truth[:, 0], answers[:, 0]
            options = {} if weights is None else {"sample_weight": weights}
            return float(scorer(Answers(answers), np.zeros((len(y), 1)), truth, **options))

        return score


class Answers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose predictions are known, for scikit-learn's scorers."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions, whatever X is."""
        return np.asarray(self.predictions)
