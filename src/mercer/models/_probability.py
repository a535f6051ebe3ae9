"""What classifiers with probabilities share: log-odds from an expansion, penalties, and what is kept of a fit."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.gram.budget import parse_memory
from mercer.kernels import Kernel
from mercer.kernels.data import Rows, length
from mercer.solvers.base import Problem
from mercer.solvers.logistic_loss import LogisticLoss, make_loss

from ._classifier import KernelClassifier, Labelled
from ._kernel_argument import checked_rows, cross_kernel, is_precomputed
from ._targets import checked_positive


def loss_of(data: Labelled) -> LogisticLoss:
    """Return the logistic loss of labelled points."""
    return make_loss(data.codes, len(data.classes), data.weights)


class ProbabilityClassifier(KernelClassifier):
    """A classifier whose functions are log-odds; subclasses set ``kernel`` and the fitted attributes used here."""

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
        check_is_fitted(self)
        if is_precomputed(self.kernel):
            return np.asarray(cross_kernel(self, X) @ self.dual_coef_ + self.intercept_)
        return self.expansion_(checked_rows(self, X, self._argument(), reset=False), memory=self.memory)

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
        values = self.decision_function(X)
        return np.column_stack([expit(-values), expit(values)]) if values.ndim == 1 else softmax(values, axis=1)

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
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.column_stack([log_expit(-values), log_expit(values)])
        return np.asarray(log_softmax(values, axis=1))

    def _problem(self, kernel: Kernel, data: Labelled) -> Problem:
        outputs = loss_of(data).outputs
        targets = np.zeros((len(data.codes), outputs))
        return Problem(kernel, data.points, targets, data.weights, bool(self.fit_intercept), parse_memory(self.memory))

    def _penalty(self, data: Labelled) -> float:
        """Return α of the sum form."""
        alpha = checked_positive(self, "alpha", self.alpha)
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")
        return alpha * (float(data.weights.sum()) if self.scaling == "mean" else 1.0)

    def _keep(
        self, kernel: Kernel, data: Labelled, centers: Rows, places: np.ndarray | None, coef: np.ndarray, b: np.ndarray
    ) -> None:
        """Set the attributes that every fitted classifier has; ``places`` are the centres among the points."""
        positions = data.kept if places is None else data.kept[places]
        full = coef
        if is_precomputed(self.kernel) or places is None:
            full = np.zeros((length(data.X), coef.shape[1]))
            full[positions] = coef
        two = coef.shape[1] == 1
        self.classes_, self.kernel_, self.X_fit_ = data.classes, kernel, data.X
        self.dual_coef_ = full[:, 0] if two else full
        self.intercept_ = float(b[0]) if two else b
        self.expansion_ = Expansion(kernel, centers, coef[:, 0] if two else coef, self.intercept_)
