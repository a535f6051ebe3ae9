"""Classification on tables, with everything chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer.formula.data import Rows

from .base import AutoModel
from .search._classification import ClassificationSearch


class AutoClassifier(ClassifierMixin, AutoModel):  # type: ignore[misc]
    """Kernel classification on a table: columns are understood, kernels tuned, models compared, and the best is fitted.

    As :class:`AutoRegressor`, for classes.  Length scales are tuned by the exact leave-one-out error of least squares
    on the labels; logistic regression and support vector machines take the kernel from there, and are also tried with
    one length scale for all columns.  The accuracy on training rows left out decides; candidates that are within half
    a standard error of the best count as equal, and among them the least log-loss wins.

    Parameters
    ----------
    model : {"auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen"}, default="auto"
        What to try; "auto" tries logistic regression and support vectors.
    kernel, budget, memory, test, refit, random_state, loss
        As for :class:`AutoRegressor`, with a loss of classes such as "SquaredHinge"; rows held out have their share of
        each class.

    Attributes
    ----------
    classes_ : array
        The labels.
    report_, model_, kernel_, encoder_, n_features_in_, feature_names_in_
        As for :class:`AutoRegressor`.
    extra_ : dict
        How decision values become probabilities, where the model has none of its own: a logistic regression on the
        values of rows left out, as ``slopes`` and ``offsets``.

    Notes
    -----
    The class predicted is always the one of largest probability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import AutoClassifier
    >>> iris = load_iris(as_frame=True)
    >>> model = AutoClassifier("svm", kernel="Gaussian(2.0)", random_state=0).fit(iris.data, iris.target)
    >>> model.predict(iris.data.head(2)), model.predict_proba(iris.data.head(2)).shape
    (array([0, 0]), (2, 3))
    """

    classes_: np.ndarray

    _search = ClassificationSearch
    models = ClassificationSearch.models

    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of largest probability for each row.

        Parameters
        ----------
        X : frame or array
            Rows with the columns of the fit, in any order if they have names.

        Returns
        -------
        array of shape (m,)
        """
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of all classes, in the order of ``classes_``.

        Parameters
        ----------
        X : frame or array
            Rows, as in :meth:`predict`.

        Returns
        -------
        array of shape (m, classes)
        """
        return self._predict(X)

    def _check_targets(self, y: ArrayLike, n: int) -> np.ndarray:
        labels = column_or_1d(y.to_numpy() if hasattr(y, "to_numpy") else y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        if labels.dtype == object:
            missing = [i for i, value in enumerate(labels) if value is None or value != value]
            if missing:
                raise ValueError(
                    f"{type(self).__name__}: Input y contains NaN: the label of row {missing[0]} is missing"
                )
        check_classification_targets(labels)
        check_consistent_length(np.empty(n), labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but all rows have the label {self.classes_[0]!r}: "
                "one class"
            )
        return np.asarray(codes)
