"""What kernel classifiers share: labelled points checked, the kernel found, and classes from values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.shapes import ANYTHING, Axes, Inside
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, length, pick

from .engine import where_the_data_lives
from .intervals.rows import TrainingRows
from .kernel_argument import DefaultGaussian, KernelArgument
from .primal import PrimalForm
from .sets.classifier import SetClassifier
from .targets import check_labels, check_weights, encode_labels


@dataclass(frozen=True)
class Labelled:
    """Labelled points that have a weight, ready to be fitted."""

    X: Rows  # all data as given, checked
    points: Rows  # those with a weight, as the kernel takes them
    kept: np.ndarray  # which of the data they are
    classes: np.ndarray  # the labels that occur
    codes: np.ndarray  # the class of each point, as a position among them
    weights: np.ndarray  # positive

    def part(self, positions: np.ndarray) -> Labelled:
        """Return some of the points, in which every class must still occur."""
        return replace(
            self, points=pick(self.points, positions), kept=self.kept[positions], codes=self.codes[positions],
            weights=self.weights[positions],
        )  # fmt: skip


def count_functions(c: int) -> int:
    """Return how many columns the values of a classifier have: none of their own for two classes, or one for each."""
    return 0 if c == 2 else c


Classes = Annotated[np.ndarray, Axes("c+", of=ANYTHING)]
ClassFunction = Annotated[Expansion, Inside(q=count_functions)]


class ValueClassifier(SetClassifier, DefaultGaussian, PrimalForm, KernelParams, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier by the values of one function, or of one for each class; subclasses compute and keep them."""

    memory: float | str | None
    class_weight: Any = None  # of those that have such a parameter
    device: Any = None  # likewise

    classes_: Classes
    expansion_: ClassFunction
    _examples: Annotated[TrainingRows, SOMETIMES]

    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the value for the second of two classes, or one for each of more."""
        raise NotImplementedError

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of largest value for all points, the first of equals.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`decision_function`.

        Returns
        -------
        array of shape (m,)
        """
        values = self.decision_function(X)
        return np.asarray(self.classes_[choose_classes(values)])

    @property
    def expansions_(self) -> list[Expansion]:
        """The function of each class as an expansion of its own; for two classes the one of the second."""
        check_is_fitted(self)
        return self.expansion_.outputs()

    # -- for subclasses ---------------------------------------------------------------------------------------------

    def _check_labelled(
        self, X: Rows, y: Any, sample_weight: Any, classes: np.ndarray | None = None, *, reset: bool = True
    ) -> Labelled:
        """Check what a fit is given, and leave out points of weight 0; ``classes`` are those known beforehand."""
        return check_labelled(self, self._kernel_argument(), X, y, sample_weight, classes, reset=reset)


def check_labelled(
    owner: Any,
    argument: KernelArgument,
    X: Rows,
    y: Any,
    sample_weight: Any,
    classes: np.ndarray | None = None,
    *,
    reset: bool = True,
) -> Labelled:
    """Check what a classifier is fitted to, and leave out points of weight 0; ``classes`` are those known before."""
    X = argument.check(X, reset=reset)
    n = length(X)
    labels = check_labels(owner, y, n)
    weights = check_weights(owner, sample_weight, n)
    weights = np.ones(n) if weights is None else weights
    if owner.class_weight is not None:
        there = weights > 0  # points that are left out are not counted
        weights[there] *= compute_sample_weight(owner.class_weight, labels[there])
    kept = np.flatnonzero(weights)
    classes, codes = encode_labels(owner, labels[kept], classes)
    points = argument.points(X)
    return Labelled(X, points if len(kept) == n else pick(points, kept), kept, classes, codes, weights[kept])


def choose_classes(values: np.ndarray) -> np.ndarray:
    """Return the class of each row: of two by the sign of the only value, of more the first with the largest.

    Examples
    --------
    >>> choose_classes(np.array([-1.0, 2.0])).tolist(), choose_classes(np.array([[1.0, 3.0, 3.0]])).tolist()
    ([0, 1], [1])
    """
    values = host_array(values)
    if values.ndim == 2 and values.shape[1] > 1:
        return np.asarray(values.argmax(axis=1))
    return (values.reshape(len(values)) > 0).astype(int)
