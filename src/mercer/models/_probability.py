"""What classifiers with probabilities share: labels, weights and kernel checked, and predictions from an expansion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.features._params import KernelParams
from mercer.gram.budget import parse_memory
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.data import Rows, length, pick
from mercer.solvers.base import Problem
from mercer.solvers.logistic_loss import LogisticLoss, make_loss

from ._kernel_argument import (
    accepts_sparse,
    checked_rows,
    cross_kernel,
    default_gaussian,
    is_precomputed,
    training_kernel,
)
from ._targets import checked_labels, checked_positive, checked_weights, encoded


@dataclass(frozen=True)
class Labelled:
    """Labelled points that have a weight, ready to be fitted.

    Parameters
    ----------
    X : collection of all n objects
        The data as given, checked.
    points : collection
        The points with a weight (positions, if the kernel is precomputed).
    kept : int array
        Which of the data they are.
    classes : array
        The labels that occur.
    codes : int array
        The class of each point, as a position among them.
    weights : array
        The weights of the points, positive.
    """

    X: Any
    points: Any
    kept: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    @property
    def loss(self) -> LogisticLoss:
        """The logistic loss of the points."""
        return make_loss(self.codes, len(self.classes), self.weights)

    def part(self, positions: np.ndarray) -> Labelled:
        """Return some of the points, in which every class must still occur."""
        return replace(
            self, points=pick(self.points, positions), kept=self.kept[positions], codes=self.codes[positions],
            weights=self.weights[positions],
        )  # fmt: skip


class ProbabilityClassifier(KernelParams, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    def predict(self, X: Rows) -> np.ndarray:
        """Return the most likely class of all points.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,)
        """
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @property
    def expansions_(self) -> list[Expansion]:
        """The function of each class as an expansion of its own; for two classes the one of the second."""
        check_is_fitted(self)
        f = self.expansion_
        if f.coef.ndim == 1:
            return [f]
        return [Expansion(f.kernel, f.centers, f.coef[:, j], f.intercept[j]) for j in range(f.coef.shape[1])]

    def _argument(self) -> Any:
        return Gaussian() if self.kernel is None else self.kernel

    def _labelled(self, X: Rows, y: Any, sample_weight: Any) -> Labelled:
        """Check what a fit is given, and leave out points of weight 0."""
        X = checked_rows(self, X, self._argument(), reset=True)
        n = length(X)
        labels = checked_labels(self, y, n)
        weights = checked_weights(self, sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, labels)
        kept = np.flatnonzero(weights)
        classes, codes = encoded(self, labels[kept])
        points = np.arange(n) if is_precomputed(self.kernel) else X  # a precomputed kernel takes positions
        return Labelled(X, points if len(kept) == n else pick(points, kept), kept, classes, codes, weights[kept])

    def _resolved(self, argument: Any, data: Labelled) -> Kernel:
        """Return the kernel that an argument stands for, checked."""
        if argument is None:
            return default_gaussian(pick(data.X, data.kept), data.weights)
        return training_kernel(self, argument, data.X, assume_psd=self.assume_psd)

    def _problem(self, kernel: Kernel, data: Labelled) -> Problem:
        outputs = data.loss.outputs
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel is None or accepts_sparse(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
