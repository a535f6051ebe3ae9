"""Support vector machines that choose their penalty and length scale: a whole grid in one fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimators.classifier import Classes
from mercer.estimators.engine import in_the_kind_given
from mercer.estimators.intervals.regressor import IntervalRegressor
from mercer.estimators.intervals.rows import TrainingRows
from mercer.estimators.kernels import KernelLike
from mercer.estimators.machines.classifier import POINTER, check_calibration, read_labels
from mercer.estimators.machines.search import Fold, SupportVectorSearch
from mercer.estimators.sets.classifier import SetClassifier
from mercer.estimators.targets import check_targets
from mercer.formula.data import Rows
from mercer.solvers.machines.platt import calibrate, join_pairs

from .svm import SVC
from .svr import SVR


class SVCCV(SetClassifier, ClassifierMixin, SupportVectorSearch):  # type: ignore[misc]
    """Support vector classification with C and length scale chosen by cross-validation, all in one fit.

    The same scores as scikit-learn's GridSearchCV over :class:`~mercer.models.svm.SVC`, from shared work: the kernel
    matrix of all points is computed once for each length scale and serves every fold, every C and every pair of
    classes; values at the points of a fold come with the solution of the others; solutions follow ascending C, each
    from the last; and machines are solved side by side on all cores.

    Parameters
    ----------
    Cs : sequence of floats, optional
        Positive penalties to choose from; if not given, 8 from 10⁻¹ to 10²·⁵, divided by the mean of k(x, x).
    length_scales : "auto" or sequence, optional
        Length scales to choose from, each a number or one number for each feature, in every place of the kernel that
        has one; "auto" is 8 from ⅛ to 4 times the median distance between points.  If not given, a kernel that was
        given keeps its own, and the grid is one of C alone; without a kernel it is "auto".
    kernel : Kernel, str or callable, optional
        As for :class:`~mercer.models.svm.SVC`, on objects of any kind; a Gaussian if not given.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn: stratified by class if a number.
    scoring : str or callable, optional
        What to choose by, as in scikit-learn, from predictions or decision values; accuracy if not given.
    class_weight : dict or "balanced", optional
        Factors of C for each class; "balanced" counts all classes of the training points of a fold as equally large.
    tol : float, default=1e-3
        The largest violation of the optimality conditions to stop at.
    max_iter : int, default=-1
        Steps at most for each machine, -1 for no limit.
    max_time : float, optional
        Seconds at most for the grid, and again for the last fit.
    refit : bool, default=True
        Whether to fit the best to all points.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    assume_psd : bool, default=False
        Whether to use a mercer kernel or a matrix even if it is refuted, as for :class:`~mercer.models.svm.SVC`.
    calibration : {"sigmoid", "isotonic"}, optional
        Whether and how to turn decision values into probabilities, as for :class:`~mercer.models.svm.SVC`: on the
        values of points left out by the folds, with the best parameters, so that nothing more is fitted.

    Attributes
    ----------
    cv_results_ : dict
        The table of all cells with the keys of scikit-learn's GridSearchCV: ``params``, ``param_C``,
        ``param_length_scale``, ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``mean_fit_time`` and so on.  The time of a kernel matrix counts for the fold that needed it first.
    best_params_, best_score_, best_index_
        The cell with the best mean score, the first of equals.
    C_, length_scale_, kernel_
        Its penalty, its length scale (that of ``kernel``, or None, if there was no choice), and the kernel with it.
    best_estimator_ : SVC
        The machine fitted to all points with them.
    classes_ : array of shape (classes,)
        The labels.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, expansions_
        As in that machine.
    alpha_, margin_set_, coef_primal_, objective_, duality_gap_, violation_, converged_, n_iter_, plan_
        As in that machine.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    The matrix of n points takes 4n² bytes, twice as many more where a large C asks for values in float64, and all of it
    twice while one length scale ends and the next begins.  Without room for that, every machine is solved by itself.
    Distances are not kept between length scales: for a few dozen features computing them again takes no longer than
    reading them.  Each length scale is a task for ``sklearn.callback``, such as its ProgressBar.

    Scores of a weighted fit are weighted too, as GridSearchCV's are if metadata routing says so.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.svm_cv import SVCCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SVCCV(Cs=[1.0, 10.0, 100.0], length_scales=[0.1, 0.3, 1.0]).fit(X, y)
    >>> model.best_params_, model.best_score_ > 0.95
    ({'C': 1.0, 'length_scale': 0.3}, True)
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]])
    array([0, 1])
    """

    classes_: Classes

    def __init__(
        self,
        Cs: Any = None,
        length_scales: Any = None,
        *,
        kernel: KernelLike | None = None,
        cv: Any = 5,
        scoring: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        refit: bool = True,
        memory: float | str | None = None,
        assume_psd: bool = False,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
    ) -> None:
        self.Cs = Cs
        self.length_scales = length_scales
        self.kernel = kernel
        self.cv = cv
        self.scoring = scoring
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.refit = refit
        self.memory = memory
        self.assume_psd = assume_psd
        self.calibration = calibration

    @in_the_kind_given
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of all points, as :meth:`mercer.models.svm.SVC.predict` of the best machine.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,)
        """
        return np.asarray(self._best(X).predict(X))

    @in_the_kind_given
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the decision values, as :meth:`mercer.models.svm.SVC.decision_function` of the best machine.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`predict`.

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        return np.asarray(self._best(X).decision_function(X))

    @property
    def predict_proba(self) -> Callable[[Rows], np.ndarray]:
        """Return the probabilities of all classes at points, shape (m, classes), if ``calibration`` asks for them."""
        self._check_calibrated()
        return self._probabilities

    @property
    def predict_log_proba(self) -> Callable[[Rows], np.ndarray]:
        """Return the logarithms of :attr:`predict_proba`, likewise."""
        self._check_calibrated()
        return self._log_probabilities

    @in_the_kind_given
    def leave_one_out(self, method: Literal["refit", "span"] = "refit") -> np.ndarray:
        """Return the decision values of each training point by the best machine without it.

        As :meth:`mercer.models.svm.SVC.leave_one_out` does, with the parameters chosen from all points.

        Parameters
        ----------
        method : {"refit", "span"}, default="refit"
            Exactly, or by the span estimate, as there.

        Returns
        -------
        array of shape (n,) or (n, classes)
        """
        return np.asarray(self._find_judge().leave_one_out(method))

    @in_the_kind_given
    def _probabilities(self, X: Rows) -> np.ndarray:
        return np.asarray(self._best(X).predict_proba(X))

    @in_the_kind_given
    def _log_probabilities(self, X: Rows) -> np.ndarray:
        return np.asarray(self._best(X).predict_log_proba(X))

    # scikit-learn reads from the name of a method which of the columns it wants.
    _probabilities.__name__, _log_probabilities.__name__ = "predict_proba", "predict_log_proba"

    def _check_calibrated(self) -> None:
        if self.calibration is None:
            raise AttributeError(POINTER.format(name=type(self).__name__))

    def _find_judge(self) -> SVC:
        check_is_fitted(self)
        self._check_refit()
        machine: Any = self.best_estimator_
        return machine

    def _keep_values(self, folds: list[Fold], values: list[np.ndarray], y: np.ndarray, weights: np.ndarray) -> None:
        """Calibrate the best machine on the values of its folds."""
        if self.calibration is None:
            return
        held, codes = [(fold.held, fold.machine.classes_) for fold in folds], np.searchsorted(self.classes_, y)
        pairs = join_pairs(held, values, codes, weights, self.classes_)
        machine = self._find_judge()
        machine.calibration, machine._calibration = self.calibration, calibrate(pairs, self.calibration)

    def _machine(self, kernel: Any, C: float) -> SVC:
        return SVC(
            C=C, kernel=kernel, class_weight=self.class_weight, tol=self.tol, max_iter=self.max_iter,
            max_time=self.max_time, memory=self.memory, assume_psd=self.assume_psd,
        )  # fmt: skip

    def _read_targets(self, y: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
        check_calibration(self)
        labels, self.classes_ = read_labels(self, y, weights)
        return labels, 1.0


class SVRCV(IntervalRegressor, RegressorMixin, SupportVectorSearch):  # type: ignore[misc]
    """Support vector regression with C and length scale chosen by cross-validation, all in one fit.

    The same scores as scikit-learn's GridSearchCV over :class:`~mercer.models.svr.SVR`, from shared work, as in
    :class:`SVCCV`.

    Parameters
    ----------
    Cs : sequence of floats, optional
        Positive penalties to choose from; if not given, 8 from 10⁻¹ to 10²·⁵ times the deviation of y, divided by the
        mean of k(x, x).
    length_scales, kernel
        As for :class:`SVCCV`.
    epsilon : float, default=0.1
        The error that costs nothing.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str or callable, optional
        What to choose by, as in scikit-learn; R² if not given.
    tol, max_iter, max_time, refit, memory, assume_psd
        As for :class:`SVCCV`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, C_, length_scale_, kernel_
        As for :class:`SVCCV`.
    best_estimator_ : SVR
        The machine fitted to all points with the best parameters.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_
        As in that machine.
    alpha_, margin_set_, coef_primal_, objective_, duality_gap_, violation_, converged_, n_iter_, plan_
        As in that machine.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.svm_cv import SVRCV
    >>> X = np.linspace(0.0, 6.0, 80).reshape(-1, 1)
    >>> model = SVRCV(epsilon=0.01, cv=4).fit(X[::-1], np.sin(X[::-1, 0]))
    >>> model.cv_results_["mean_test_score"].shape, model.score(X, np.sin(X[:, 0])) > 0.99
    ((64,), True)
    """

    def __init__(
        self,
        Cs: Any = None,
        length_scales: Any = None,
        *,
        kernel: KernelLike | None = None,
        epsilon: float = 0.1,
        cv: Any = 5,
        scoring: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        refit: bool = True,
        memory: float | str | None = None,
        assume_psd: bool = False,
    ) -> None:
        self.Cs = Cs
        self.length_scales = length_scales
        self.kernel = kernel
        self.epsilon = epsilon
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.refit = refit
        self.memory = memory
        self.assume_psd = assume_psd

    @in_the_kind_given
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points, of the best machine.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,)
        """
        return np.asarray(self._best(X).predict(X))

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        self._forget()
        super()._fit(X, y, sample_weight, context)

    def _training_rows(self) -> TrainingRows | None:
        self._check_refit()
        return self.best_estimator_._training_rows()

    def _drop_rows(self) -> None:
        self.best_estimator_._drop_rows()

    def _check_new(self, X: Rows) -> Rows:
        return self._best(X)._check_new(X)

    def _machine(self, kernel: Any, C: float) -> SVR:
        return SVR(
            C=C, kernel=kernel, epsilon=self.epsilon, tol=self.tol, max_iter=self.max_iter, max_time=self.max_time,
            memory=self.memory, assume_psd=self.assume_psd,
        )  # fmt: skip

    def _read_targets(self, y: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
        targets = np.asarray(column_or_1d(check_targets(self, y, len(weights)), warn=True))
        return targets, float(targets[weights > 0].std())
