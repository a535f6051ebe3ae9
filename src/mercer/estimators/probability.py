"""What classifiers with probabilities share: log-odds from an expansion, and what is kept of a fit."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.losses import Logistic, Softmax
from mercer.solvers.base import Problem
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.newton.sums import WeightedLoss, label_loss

from .classifier import Labelled, ValueClassifier
from .engine import where_the_data_lives
from .penalized import PenalizedModel


def choose_logistic(classes: int) -> Logistic | Softmax:
    """Return the logistic loss of two classes, or of more."""
    return Logistic() if classes == 2 else Softmax()


class ProbabilityClassifier(ValueClassifier, PenalizedModel):
    """A classifier whose functions are log-odds, fitted with a penalty on their norm."""

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the log-odds of the second of two classes, or f_q(x) + b_q for each of more classes.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        return self._evaluate(X)

    @where_the_data_lives
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of all classes, in the order of ``classes_``.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        outputs = self._log_odds(X)
        return self._likelihood().predict_proba(outputs)

    @where_the_data_lives
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Return the logarithms of the probabilities, finite also where those vanish.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        outputs = self._log_odds(X)
        return self._likelihood().predict_log_proba(outputs)

    def _likelihood(self) -> Logistic | Softmax:
        return choose_logistic(len(self.classes_))

    def _log_odds(self, X: Rows) -> Array:
        """Return the outputs, of shape (m, Q)."""
        values = self.decision_function(X)
        return values.reshape(len(values), -1)

    def _pose_problem(self, kernel: Kernel, data: Labelled) -> tuple[Problem, WeightedLoss]:
        """Return the problem of labelled points and its loss."""
        loss, place = label_loss(data.codes, len(data.classes), data.weights), self._kernel_argument().place(data.X)
        targets = np.zeros((len(data.codes), loss.outputs))
        intercept = bool(self.fit_intercept)
        return Problem(kernel, data.points, targets, data.weights, intercept, place.memory, place.device), loss

    def _keep(self, fit: LossFit, classes: np.ndarray, X: Rows, kept: np.ndarray | None = None) -> None:
        """Set what a fit sets, as in ``_keep_function``."""
        self.classes_ = classes
        self._keep_function(fit, X, kept, flat=len(classes) == 2)
