"""What both support vector classifiers share: labels, pairs of classes, votes, and where probabilities come from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.solvers.machines.dual import DualProblem
from mercer.solvers.machines.pairs import members, packed, pairs_of, winners

from ..engine import where_the_data_lives
from ..targets import check_labels
from .base import Part, SupportVectorMachine
from .kernel import TrainingKernel
from .probability import FOLDS, coupled, fit_sigmoid, folds_of, pair_probabilities

POINTER = (
    "{name} fits no probabilities, unless probability=True asks for them. Calibrate its decision function, for example "
    "with sklearn.calibration.CalibratedClassifierCV({name}(), ensemble=False), or use KernelLogisticRegression, whose "
    "predict_proba is the model itself."
)


def labels_and_classes(owner: object, y: Any, n: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of n points as given, and the classes of those with a weight in order, two at least."""
    labels = check_labels(owner, y, n)
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
    random_state: Any

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
    def predict_proba(self) -> Callable[[Rows], np.ndarray]:
        """Return the probabilities of all classes at points, shape (m, classes), if ``probability=True``.

        Absent for ``hasattr`` otherwise; the error says where probabilities come from.
        """
        self._check_probability()
        return self._probabilities

    @property
    def predict_log_proba(self) -> Callable[[Rows], np.ndarray]:
        """Return the logarithms of :attr:`predict_proba`, likewise."""
        self._check_probability()
        return self._log_probabilities

    @property
    def probA_(self) -> np.ndarray:  # noqa: N802
        """A of P(first class of a pair) = 1/(1 + exp(A·v + B)), v its value, positive for the first class."""
        return self._platt("probA_")

    @property
    def probB_(self) -> np.ndarray:  # noqa: N802
        """B of the same."""
        return self._platt("probB_")

    def _platt(self, name: str) -> np.ndarray:
        found: np.ndarray | None = getattr(self, f"_{name[:-1]}", None)
        if found is None:
            raise AttributeError(f"this {type(self).__name__} has no {name}, because it is not fitted")
        warnings.warn(
            f"Attribute `{name}` was deprecated in version 1.9 of scikit-learn and will be removed in its 1.11, as "
            "`probability=True`",
            FutureWarning,
            stacklevel=3,
        )
        return found

    @where_the_data_lives
    def _probabilities(self, X: Rows) -> np.ndarray:
        check_is_fitted(self)
        if not len(self._probA):
            raise NotFittedError("predict_proba is not available when fitted with probability=False; fit again")
        count = len(self.classes_)
        return coupled(pair_probabilities(self._toward_first(self._values(X)), self._probA, self._probB), count)

    @where_the_data_lives
    def _log_probabilities(self, X: Rows) -> np.ndarray:
        return np.asarray(np.log(np.maximum(host_array(self._probabilities(X)), np.finfo(np.float64).tiny)))

    def _toward_first(self, values: np.ndarray) -> np.ndarray:
        """Return values of pairs, positive for the first class, which of two classes in all is not our own sign."""
        return -values if len(self.classes_) == 2 else values

    def _check_probability(self) -> None:
        if not self._wants_probability():
            raise AttributeError(POINTER.format(name=type(self).__name__))

    def _wants_probability(self) -> bool:
        return not isinstance(self.probability, str) and bool(self.probability)

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
        if not isinstance(self.probability, bool | np.bool) and self.probability != "deprecated":
            raise ValueError(f"{name}: probability must be True or False, got {self.probability!r}")
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

    def _calibrate(self, training: TrainingKernel, y: np.ndarray, weights: np.ndarray, C: float, device: Any) -> None:
        """Fit a sigmoid for each pair to values at points that were left out of its machine, a fold at a time."""
        self._probA = self._probB = np.empty(0)
        if self.probability != "deprecated":
            name = type(self).__name__
            warnings.warn(
                "The `probability` parameter was deprecated in version 1.9 of scikit-learn and will be removed in its "
                f"1.11. Use `CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`, "
                "or KernelLogisticRegression, whose probabilities are the model itself.",
                FutureWarning,
                stacklevel=8,
            )
        if not self._wants_probability():
            return
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        count, kept = len(self.classes_), np.flatnonzero(weights)
        cases = [members(y, kept, pair, count) for pair in pairs_of(count)]
        folds = [folds_of(signs, rng) for _, signs in cases]
        machines, parts = [], []  # which pair and which of its points are left out; and the problem of the others
        for pair, ((indices, signs), places) in enumerate(zip(cases, folds, strict=True)):
            for fold in range(FOLDS):
                fit = places != fold
                if fit.all() or len(np.unique(signs[fit])) < 2:
                    continue
                factors = self.class_weight_[y[indices[fit]]]
                parts.append((indices[fit], self._fold_problem(signs[fit], weights[indices[fit]], factors, C)))
                machines.append((pair, ~fit))
        values = self._left_out(training, len(y), machines, parts, cases, device)
        sign = -1.0 if count == 2 else 1.0
        found = [
            fit_sigmoid(sign * v, sign * signs > 0, weights[indices])
            for v, (indices, signs) in zip(values, cases, strict=True)
        ]
        self._probA, self._probB = np.array([A for A, _ in found]), np.array([B for _, B in found])

    def _left_out(
        self, training: TrainingKernel, n: int, machines: list[Any], parts: list[Part], cases: list[Any], device: Any
    ) -> list[np.ndarray]:
        """Return the values of each pair at its points, each from a machine without it; 0 where there is none."""
        values = [np.zeros(len(indices)) for indices, _ in cases]
        if not parts:
            return values
        coef, intercepts = np.zeros((n, len(parts))), np.zeros(len(parts))
        for column, solution in enumerate(self._solve(training, n, parts, None, device)):
            try:
                coef[parts[column][0], column], intercepts[column] = self._read(solution)
            except ValueError:  # without a margin the others say nothing
                continue
        points = host_array(training.points)
        image = Gram(training.solved, points, memory=self.memory, dtype=np.float64) @ coef + intercepts
        for column, (pair, held) in enumerate(machines):
            values[pair][held] = image[cases[pair][0][held], column]
        return values

    def _fold_problem(self, signs: np.ndarray, weights: np.ndarray, factors: np.ndarray, C: float) -> DualProblem:
        """Return the problem of a pair without the points of a fold."""
        return self._problem(signs, weights, factors, C)

    def _order(self, y: np.ndarray) -> np.ndarray:
        return np.argsort(y, kind="stable")

    def _keep_layout(self, y: np.ndarray) -> None:
        codes, count = y[self.support_], len(self.classes_)
        self.n_support_ = np.bincount(codes, minlength=count).astype(np.int32)
        self.dual_coef_ = self._dual_coef(packed(self._coef, codes, count))
