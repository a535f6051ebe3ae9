"""Classification on tables, with everything chosen."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError
from mercer.estimators.sets.classifier import SetClassifier
from mercer.formula.data import Rows
from mercer.solvers.conformal.ranks import check_coverage
from mercer.solvers.conformal.sets import Conformity, measure_scores
from mercer.stored.plan import StoredPlan
from mercer.stored.predict import predict_stored
from mercer.stored.table import as_table, is_stored

from .base import AutoModel
from .chances import raise_chances
from .judging.judge import TableJudge
from .search._classification import ClassificationSearch
from .search.combination import warm_chances
from .search.trials import Trial
from .tables.frames import check_table

OWN_ROWS = 5000  # rows up to which a model is asked for its own sets, for which it may be fitted again


class AutoClassifier(SetClassifier, ClassifierMixin, AutoModel):  # type: ignore[misc]
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
        X : frame, array or path
            Rows with the columns of the fit, in any order if they have names; a Parquet file or folder is read a piece
            at a time.

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

    def predict_set(self, X: Rows, coverage: float = 0.9, conditional: bool = False) -> np.ndarray:
        """Return for each row a set of classes that holds the right one with a probability of about ``coverage``.

        One model of up to 5,000 rows gives its own sets, as those of
        :meth:`mercer.models.logistic.KernelLogisticRegression.predict_set`, with kernel and penalty counted as given.
        Otherwise class c is in the set if −ln p_c, less that of the likeliest other class, is no larger than for all
        but a share of 1 − coverage of the rows held out and their classes (split conformal; their probabilities are of
        the fit without them), or of the rows left out in the comparison of candidates if none were held out.  The
        class that is predicted is in every set.

        Parameters
        ----------
        X : frame or array
            Rows, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.
        conditional : bool, default=False
            Whether sets hold the right class with this probability for the rows of each class, and not only on the
            whole.

        Returns
        -------
        bool array of shape (m, classes)
            Which classes are in each set, in the order of ``classes_``.
        """
        check_is_fitted(self)
        share = check_coverage(coverage, f"{type(self).__name__}.predict_set")
        if is_stored(self, X):
            found: np.ndarray = predict_stored(self, "predict_set", as_table(X), share, conditional)
            return found
        kept = not isinstance(getattr(self.model_, "plan_", None), StoredPlan)  # else its rows are on a disk
        if len(self.members_) > 1 or self.report_.n_rows > OWN_ROWS or not kept:
            return super().predict_set(X, share, conditional)
        rows = self.members_[0].encoder.transform(check_table(self, X, reset=False))
        try:
            own = self.model_.predict_set(rows, share, conditional)
        except MemoryBudgetError:  # rows held out take none
            return super().predict_set(X, share, conditional)
        chances = self.predict_proba(X)
        sets = chances == chances.max(axis=1, keepdims=True)  # which may not be the class of the largest value
        sets[:, np.searchsorted(self.classes_, self.model_.classes_)] |= own
        return np.asarray(sets)

    def _class_values(self, X: Rows) -> np.ndarray:
        return np.asarray(np.log(raise_chances(self.predict_proba(X))))

    def _keep_judged(self, judge: TableJudge, trials: list[Trial], weights: np.ndarray) -> None:
        super()._keep_judged(judge, trials, weights)
        codes, chances = judge.list_chances(trials, weights, self._finish)
        scores = measure_scores(np.log(raise_chances(chances)))[np.arange(len(codes)), codes]
        self._conformity, self._judges = Conformity(scores, codes.astype(np.int64), np.zeros(len(codes), np.int64)), []

    def _code_targets(self, values: np.ndarray) -> np.ndarray:
        check_classification_targets(values)
        self.classes_, codes = np.unique(values, return_inverse=True)
        return np.asarray(codes)

    def _calibrate(self, search: ClassificationSearch, trials: list[Trial], weights: np.ndarray) -> None:
        self.temperature_ = search.find_temperature(trials, weights)

    def _finish(self, outputs: np.ndarray) -> np.ndarray:
        return warm_chances(outputs, self.temperature_)
