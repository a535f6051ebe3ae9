"""What classifiers with probabilities share: log-odds from an expansion, penalties, and what is kept of a fit."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.losses import Logistic, Softmax
from mercer.solvers.base import Problem
from mercer.solvers.evidence import DualityGap, Objective
from mercer.solvers.newton.fit import LossFit
from mercer.solvers.newton.sums import WeightedLoss, label_loss
from mercer.solvers.plan import Plan

from .classifier import KernelClassifier, Labelled
from .engine import where_the_data_lives
from .targets import check_positive


class ProbabilityClassifier(KernelClassifier):
    """A classifier whose functions are log-odds, fitted with a penalty on their norm."""

    alpha: float
    scaling: str
    fit_intercept: bool

    kernel_: Kernel
    X_fit_: Rows
    dual_coef_: np.ndarray
    intercept_: float | np.ndarray
    objective_: Objective
    duality_gap_: DualityGap
    restricted_gap_: float
    converged_: bool
    n_iter_: int
    plan_: Annotated[Plan, SOMETIMES]

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
        argument = self._kernel_argument()
        return self.expansion_(argument.new_points(X), memory=self.memory, device=argument.place(X).device)

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
        return Logistic() if len(self.classes_) == 2 else Softmax()

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

    def _scale_penalty(self, total: float) -> float:
        """Return α of the sum form, for points of this weight in all."""
        alpha = check_positive(self, "alpha", self.alpha)
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")
        return alpha * (total if self.scaling == "mean" else 1.0)

    def _keep(self, fit: LossFit, classes: np.ndarray, X: Rows, kept: np.ndarray | None = None) -> None:
        """Set what a fit sets; ``kept`` says which of the data X the points of the fit were, None that X are centres.

        Coefficients are those of centres, but with all points or a matrix as kernel those of all training points.
        """
        argument, positions = self._kernel_argument(), None
        if kept is not None and (fit.positions is None or argument.is_matrix):
            positions = kept if fit.positions is None else kept[fit.positions]
        column = (slice(None), 0) if len(classes) == 2 else (slice(None),)
        self.classes_, self.kernel_, self.X_fit_ = classes, fit.kernel, X
        self.intercept_ = float(fit.intercept[0]) if len(classes) == 2 else fit.intercept
        self.dual_coef_ = argument.spread(fit.coef, positions, length(X))[column]
        self.expansion_ = Expansion(fit.kernel, fit.centers, fit.coef[column], self.intercept_)
        self.objective_, self.restricted_gap_ = fit.objective, fit.restricted_gap
        self.duality_gap_ = fit.gap
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        if fit.plan is not None:
            self.plan_ = fit.plan
