"""What both support vector classifiers share: labels, pairs of classes, votes, and where probabilities come from."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from mercer.kernels.data import Rows
from mercer.solvers.dual import DualProblem

from ._engine import where_the_data_lives
from ._svm_base import Part, SupportVectorMachine
from ._svm_pairs import members, packed, pairs_of, winners
from ._targets import checked_labels

POINTER = (
    "{name} fits no probabilities. Calibrate its decision function, for example with "
    "sklearn.calibration.CalibratedClassifierCV({name}(), ensemble=False), or use KernelLogisticRegression, whose "
    "predict_proba is the model itself."
)


def labels_and_classes(owner: object, y: Any, n: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of n points as given, and the classes of those with a weight in order, two at least."""
    labels = checked_labels(owner, y, n)
    classes, name = np.unique(labels[weights > 0]), type(owner).__name__
    if len(classes) < 2 and (weights > 0).all():
        raise ValueError(
            f"{name}: The number of classes has to be greater than one; got {len(classes)} class, "
            f"{classes.tolist()}. Use OneClassSVM for points of one kind."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{name}: Invalid input - all samples with positive weights belong to the same class, "
            f"{classes.tolist()[0]!r}{getattr(owner, '_without_second', '')}. Give points of another a positive weight."
        )
    return labels, classes


class SupportVectorClassifier(ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    """A machine for each pair of classes; subclasses say which problem it solves."""

    _one_machine: ClassVar[bool] = False
    _without_second: ClassVar[str] = ""  # what is more to be said if there is only one class

    decision_function_shape: Literal["ovr", "ovo"]
    break_ties: bool
    probability: Any
    class_weight: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes; the matrix of the kernel if it is precomputed.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : array of shape (n,), optional
            Factors of the bound on each coefficient.  A point whose weight is 0 or less takes no part.
        """
        self._run(X, y, sample_weight)
        return self

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return how far on which side of the boundaries points are.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,), (m, classes) or (m, pairs)
            f(x) + b, positive for the second of two classes.  Of more than two: votes with the sums of f(x) + b to
            break ties ("ovr"), or the values of each pair, positive for its first class ("ovo").
        """
        return self._decisions(X)

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of all points: the one that wins most pairs, and the first of those that win equally many.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`decision_function`.

        Returns
        -------
        array of shape (m,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; choose decision_function_shape='ovr' "
                "to break ties by its values"
            )
        count = len(self.classes_)
        if count == 2:
            chosen = (self._values(X)[:, 0] >= 0).astype(np.intp)
        elif self.break_ties:
            chosen = self._decisions(X).argmax(axis=1)
        else:
            chosen = winners(self._values(X), count)
        return np.asarray(self.classes_[chosen])

    @property
    def predict_proba(self) -> NoReturn:
        """Not available, and absent for ``hasattr``; the error says where probabilities come from."""
        raise AttributeError(POINTER.format(name=type(self).__name__))

    @property
    def predict_log_proba(self) -> NoReturn:
        """Not available, as ``predict_proba``."""
        raise AttributeError(POINTER.format(name=type(self).__name__))

    def _decisions(self, X: Rows) -> np.ndarray:
        values, count = self._values(X), len(self.classes_)
        if count == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovr":
            return np.asarray(_ovr_decision_function(values < 0, -values, count))
        return values

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _problem(self, signs: np.ndarray, weights: np.ndarray, factors: np.ndarray, C: float) -> DualProblem:
        """Return the problem of a pair, from labels of ±1 and the weights of points and of their classes."""
        raise NotImplementedError

    def _prepare(self, y: Any, n: int, weights: np.ndarray) -> np.ndarray:
        name = type(self).__name__
        if self.probability not in (False, "deprecated"):
            raise ValueError(f"probability={self.probability!r}: {POINTER.format(name=name)}")
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f"{name}: decision_function_shape must be 'ovr' or 'ovo', got {self.decision_function_shape!r}"
            )
        labels, classes = labels_and_classes(self, y, n, weights)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=labels[weights > 0])
        if not (np.isfinite(self.class_weight_).all() and (self.class_weight_ >= 0).all()):
            raise ValueError(f"{name}: class weights must be finite and not negative, got {self.class_weight!r}")
        self.classes_ = classes
        return np.searchsorted(classes, labels)  # of points without a weight, which nobody asks about, any number

    def _parts(self, y: np.ndarray, weights: np.ndarray, C: float) -> list[Part]:
        count, kept, parts = len(self.classes_), np.flatnonzero(weights), []
        for pair in pairs_of(count):
            indices, signs = members(y, kept, pair, count)
            factors = self.class_weight_[y[indices]]
            parts.append((indices, self._problem(signs, weights[indices], factors, C)))
        return parts

    def _order(self, y: np.ndarray) -> np.ndarray:
        return np.argsort(y, kind="stable")

    def _keep_layout(self, y: np.ndarray) -> None:
        codes, count = y[self.support_], len(self.classes_)
        self.n_support_ = np.bincount(codes, minlength=count).astype(np.int32)
        self.dual_coef_ = self._dual_coef(packed(self._coef, codes, count))
