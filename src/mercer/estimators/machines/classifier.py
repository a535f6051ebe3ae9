"""What both support vector classifiers share: labels, pairs of classes, votes, and where probabilities come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.shapes import ANYTHING, Axes, Inside
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.machines.fit import MachineFit
from mercer.solvers.machines.pairs import choose_winners
from mercer.solvers.machines.platt import Calibration, couple_pairs, pair_probabilities
from mercer.solvers.machines.problems import MachineForm, MachineProblems

from ..engine import in_the_kind_given, where_the_data_lives
from ..sets.classifier import SetClassifier
from ..targets import check_labels
from .base import SupportVectorMachine

POINTER = (
    "{name} fits no probabilities, unless calibration='sigmoid' or 'isotonic' asks for them. Give that, or use "
    "KernelLogisticRegression, whose predict_proba is the model itself."
)
CALIBRATIONS = ("sigmoid", "isotonic")


def read_labels(owner: object, y: Any, weights: np.ndarray, more: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of points as given, and the classes of those with a weight in order, two at least.

    ``more`` is what else is to be said if there is only one.
    """
    labels = check_labels(owner, y, len(weights))
    classes, name = np.unique(labels[weights > 0]), type(owner).__name__
    if len(classes) < 2 and (weights > 0).all():
        raise ValueError(
            f"{name}: The number of classes has to be greater than one; got {len(classes)} class, "
            f"{classes.tolist()}. Use OneClassSVM for points of one kind."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{name}: Invalid input - all samples with positive weights belong to the same class, "
            f"{classes.tolist()[0]!r}{more}. Give points of another a positive weight."
        )
    return labels, classes


def check_calibration(owner: Any) -> None:
    """Raise if there is no such way from values to probabilities."""
    if owner.calibration is not None and owner.calibration not in CALIBRATIONS:
        known = " or ".join(map(repr, CALIBRATIONS))
        raise ValueError(f"{type(owner).__name__}: calibration must be {known}, or None; got {owner.calibration!r}")


class SupportVectorClassifier(SetClassifier, ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    """A machine for each pair of classes; subclasses say which problem it solves."""

    decision_function_shape: Literal["ovr", "ovo"]
    break_ties: bool
    probability: Any
    calibration: Any
    class_weight: Any
    random_state: Any

    classes_: Annotated[np.ndarray, Axes("c", of=ANYTHING)]
    class_weight_: Annotated[np.ndarray, Axes("c")]
    _function: Annotated[Expansion, Inside(n=lambda s: max(s, 1), q=lambda c: c * (c - 1) // 2), Inside(q="p")]
    _calibration: Annotated[Calibration, SOMETIMES]

    def _check_fitted(self) -> None:
        """Raise if probabilities are none of these pairs; files call this."""
        super()._check_fitted()
        if "_calibration" in vars(self) and not self._calibration.fits(len(self.intercept_)):
            raise ValueError(f"{type(self).__name__}: there are no probabilities for {len(self.intercept_)} pairs")

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
            chosen = choose_winners(self._values(X), count)
        return np.asarray(self.classes_[chosen])

    @property
    def predict_proba(self) -> Callable[[Rows], np.ndarray]:
        """Return the probabilities of all classes at points, shape (m, classes), if ``calibration`` asks for them.

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
    @in_the_kind_given
    def probA_(self) -> np.ndarray:  # noqa: N802
        """A of P(first class of a pair) = 1/(1 + exp(A·v + B)), v its value, positive for the first class."""
        return self._read_sigmoids("probA_")[0]

    @property
    @in_the_kind_given
    def probB_(self) -> np.ndarray:  # noqa: N802
        """B of the same."""
        return self._read_sigmoids("probB_")[1]

    def _read_sigmoids(self, name: str) -> np.ndarray:
        if not hasattr(self, "classes_"):
            raise AttributeError(f"this {type(self).__name__} has no {name}, because it is not fitted")
        found: Calibration | None = vars(self).get("_calibration")
        warn_caller(
            f"Attribute `{name}` was deprecated in version 1.9 of scikit-learn and will be removed in its 1.11, as "
            "`probability=True`",
            FutureWarning,
        )
        return np.empty((2, 0)) if found is None else found.sigmoids

    @where_the_data_lives
    def _probabilities(self, X: Rows) -> np.ndarray:
        check_is_fitted(self)
        if "_calibration" not in vars(self):
            raise NotFittedError("predict_proba is not available when fitted with probability=False; fit again")
        count, values = len(self.classes_), self._values(X)
        toward_first = -values if count == 2 else values  # our own sign is that of the second of two
        return couple_pairs(pair_probabilities(toward_first, self._calibration), count)

    @where_the_data_lives
    def _log_probabilities(self, X: Rows) -> np.ndarray:
        return np.asarray(np.log(np.maximum(host_array(self._probabilities(X)), np.finfo(np.float64).tiny)))

    # scikit-learn reads from the name of a method which of the columns it wants.
    _probabilities.__name__, _log_probabilities.__name__ = "predict_proba", "predict_log_proba"

    def _check_probability(self) -> None:
        if not self._wants_probability():
            raise AttributeError(POINTER.format(name=type(self).__name__))

    def _wants_probability(self) -> bool:
        asked = isinstance(self.probability, bool | np.bool) and bool(self.probability)
        return asked or self.calibration is not None

    def _decisions(self, X: Rows) -> np.ndarray:
        return self._show_decisions(self._values(X))

    def _show_decisions(self, values: np.ndarray) -> np.ndarray:
        """Return decisions in the shape that was asked for, from the values of all pairs."""
        if len(self.classes_) == 2:
            return values[:, 0]
        return self._vote(values) if self.decision_function_shape == "ovr" else values

    def _vote(self, values: np.ndarray) -> np.ndarray:
        """Return a value for each of several classes: votes, with the sums of values to break ties."""
        return np.asarray(_ovr_decision_function(values < 0, -values, len(self.classes_)))

    def _class_values(self, X: Rows) -> np.ndarray:
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else self._vote(values)

    def _make_judge(self, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        return clone(self).set_params(probability="deprecated", calibration=None, verbose=False)

    def _pair_problems(self, form: MachineForm, y: Any, weights: np.ndarray, more: str = "") -> MachineProblems:
        """Check the labels of points, and return the problems of all pairs of classes."""
        name = type(self).__name__
        if not isinstance(self.probability, bool | np.bool) and self.probability != "deprecated":
            raise ValueError(f"{name}: probability must be True or False, got {self.probability!r}")
        check_calibration(self)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f"{name}: decision_function_shape must be 'ovr' or 'ovo', got {self.decision_function_shape!r}"
            )
        labels, classes = read_labels(self, y, weights, more)
        factors = compute_class_weight(self.class_weight, classes=classes, y=labels[weights > 0])
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(f"{name}: class weights must be finite and not negative, got {self.class_weight!r}")
        seed = 0 if self.random_state is None else self.random_state
        folds = check_random_state(seed) if self._wants_probability() else None
        codes = np.searchsorted(classes, labels)  # of points without a weight, which nobody asks about, any number
        return MachineProblems(form, codes, weights, classes, factors, folds, self.calibration or "sigmoid")

    def _keep(self, fit: MachineFit, kernel: Kernel, X: Rows) -> None:
        assert fit.classes is not None
        assert fit.class_weight is not None
        self._forget()  # rows of a cluster stay there; other fits remember theirs
        self.classes_, self.class_weight_ = fit.classes, fit.class_weight
        self.__dict__.pop("_calibration", None)
        if fit.calibration is not None:
            self._calibration = fit.calibration
        if self.probability != "deprecated":
            name = type(self).__name__
            warn_caller(
                "The `probability` parameter was deprecated in version 1.9 of scikit-learn and will be removed in its "
                f"1.11. Use `{name}(calibration='sigmoid')` or `CalibratedClassifierCV({name}(), ensemble=False)` "
                f"instead of `{name}(probability=True)`, or KernelLogisticRegression, whose probabilities are the "
                "model itself.",
                FutureWarning,
            )
        super()._keep(fit, kernel, X)
