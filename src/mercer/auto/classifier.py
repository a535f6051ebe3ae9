"""Classification on tables, with everything chosen."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from mercer.formula.data import Rows

from .base import AutoModel
from .search._classification import ClassificationSearch
from .search.combination import warm_chances
from .search.trials import Trial


class AutoClassifier(ClassifierMixin, AutoModel):  # type: ignore[misc]
    """Kernel classification on a table: columns are understood, kernels tuned, models compared, and the best is fitted.

    As :class:`AutoRegressor`, for classes.  Kernels are learned by the exact leave-one-out error of least squares on
    labels.  Candidates are kernel logistic regressions with them, each with the penalty of least log-loss on rows left
    out, and are combined by the same log-loss; ``temperature_`` then makes the probabilities as sure as they should be.

    Parameters
    ----------
    model : {"auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen"}, default="auto"
        What to try; "auto" is logistic regression.
    kernel, budget, memory, test, refit, random_state, loss, types
        As for :class:`AutoRegressor`, with a loss of classes such as "SquaredHinge"; rows held out have their share of
        each class.

    Attributes
    ----------
    classes_ : array
        The labels.
    temperature_ : float
        T of the probabilities ∝ p^(1/T); above 1 if the combination p was too sure of itself.
    report_, members_, model_, kernel_, encoder_, n_features_in_, feature_names_in_
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
    temperature_: float

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

    def _code_targets(self, values: np.ndarray) -> np.ndarray:
        check_classification_targets(values)
        self.classes_, codes = np.unique(values, return_inverse=True)
        return np.asarray(codes)

    def _calibrate(self, search: ClassificationSearch, trials: list[Trial], weights: np.ndarray) -> None:
        self.temperature_ = search.find_temperature(trials, weights)

    def _finish(self, outputs: np.ndarray) -> np.ndarray:
        return warm_chances(outputs, self.temperature_)
