"""What classifiers with probabilities share: log-odds from an expansion, penalties, and what is kept of a fit."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.namespace import expit, log_expit, log_softmax, softmax, stack
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.losses.logistic import LogisticLoss, make_loss
from mercer.solvers.base import Problem
from mercer.solvers.newton.method import Minimum

from .classifier import KernelClassifier, Labelled
from .engine import where_the_data_lives
from .kernels import checked_rows, cross_kernel, is_precomputed, place_of
from .targets import check_positive


def loss_of(data: Labelled) -> LogisticLoss:
    """Return the logistic loss of labelled points."""
    return make_loss(data.codes, len(data.classes), data.weights)


class ProbabilityClassifier(KernelClassifier):
    """A classifier whose functions are log-odds; subclasses set ``kernel`` and the fitted attributes used here."""

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
        check_is_fitted(self)
        if is_precomputed(self.kernel):
            return np.asarray(cross_kernel(self, X) @ self.dual_coef_ + self.intercept_)
        X = checked_rows(self, X, self._argument(), reset=False)
        return self.expansion_(X, memory=self.memory, device=self.device)

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
        values = self.decision_function(X)
        return stack([expit(-values), expit(values)], 1) if values.ndim == 1 else softmax(values)

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
        values = self.decision_function(X)
        if values.ndim == 1:
            return stack([log_expit(-values), log_expit(values)], 1)
        return log_softmax(values)

    def _problem(self, kernel: Kernel, data: Labelled) -> Problem:
        outputs = loss_of(data).outputs
        targets = np.zeros((len(data.codes), outputs))
        device, memory = place_of(self, data.X)
        return Problem(kernel, data.points, targets, data.weights, bool(self.fit_intercept), memory, device)

    def _penalty(self, data: Labelled) -> float:
        """Return α of the sum form."""
        return self._penalty_of(float(data.weights.sum()))

    def _penalty_of(self, total: float) -> float:
        """Return α of the sum form, for points of this weight in all."""
        alpha = check_positive(self, "alpha", self.alpha)
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")
        return alpha * (total if self.scaling == "mean" else 1.0)

    def _keep_evidence(self, found: Minimum) -> None:
        """Set how well the problem was solved; ``duality_gap_`` is that of another, over all functions."""
        self.objective_, self.restricted_gap_, self.converged_ = found.objective, found.gap, found.converged

    def _keep(
        self, kernel: Kernel, data: Labelled, centers: Rows, places: np.ndarray | None, coef: np.ndarray, b: np.ndarray
    ) -> None:
        """Set the attributes that every fitted classifier has; ``places`` are the centres among the points."""
        positions = data.kept if places is None else data.kept[places]
        full = coef
        if is_precomputed(self.kernel) or places is None:
            full = np.zeros((length(data.X), coef.shape[1]))
            full[positions] = coef
        self._keep_function(data.classes, kernel, centers, coef, b)
        self.X_fit_, self.dual_coef_ = data.X, full[:, 0] if coef.shape[1] == 1 else full

    def _keep_function(
        self, classes: np.ndarray, kernel: Kernel, centers: Rows, coef: np.ndarray, b: np.ndarray
    ) -> None:
        """Set the attributes that the function itself has; the centres stand for all points."""
        two = coef.shape[1] == 1
        self.classes_, self.kernel_, self.X_fit_ = classes, kernel, centers
        self.dual_coef_ = coef[:, 0] if two else coef
        self.intercept_ = float(b[0]) if two else b
        self.expansion_ = Expansion(kernel, centers, self.dual_coef_, self.intercept_)
