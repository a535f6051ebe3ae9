"""Classification by kernel ridge regression on the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.place import list_devices
from mercer.estimators.classifier import Classes, ClassFunction, Labelled, ValueClassifier
from mercer.estimators.engine import Method, in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.ridge import GIVEN
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.kernels import KernelLike
from mercer.estimators.online import (
    ONLINE,
    POSTPONED,
    OnlineEstimator,
    check_limits,
    check_one_penalty,
    check_positions,
    open_online,
    read_stream,
)
from mercer.estimators.progress import report_progress, with_callbacks
from mercer.estimators.targets import check_alpha, check_alphas, check_tolerance
from mercer.estimators.transaction import all_or_nothing
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel, Linear
from mercer.learning.class_penalty import PenaltyChoice, choose_penalty, make_targets
from mercer.learning.tuning import OnStep
from mercer.solvers.base import Problem
from mercer.solvers.conformal.plan import IntervalPlan
from mercer.solvers.plan import ITERATIVE
from mercer.solvers.ridge.fit import RidgeFit, fit_ridge
from mercer.solvers.ridge.online import OnlineRidge
from mercer.solvers.ridge.postponed import PostponedFit
from mercer.solvers.saves import Saves

from .ridge import KernelRidge, keep_states


def _if_kernel_stays(method: Method) -> Method:
    """Let a method be there only if more points do not change the kernel."""
    return available_if(_keeps_its_kernel)(method)


def _keeps_its_kernel(model: Any) -> bool:
    """Whether the kernel does not depend on all points, so that more of them can follow; raise a reason if it does."""
    if type(model)._find_kernel is not KernelRidgeClassifier._find_kernel:
        raise AttributeError(
            f"{type(model).__name__} learns its kernel from all points, so that it cannot go on with more of them; fit "
            "anew, or go on with KernelRidgeClassifier(kernel=model.kernel_)"
        )
    return True


class KernelRidgeClassifier(OnlineEstimator, ValueClassifier):
    """Least squares on labels of ±1, in the space of a kernel, with the penalty found by leave-one-out.

    For every class, f minimises Σᵢ wᵢ(tᵢ − f(xᵢ) − b)² + α‖f‖² with tᵢ = 1 for points of the class and −1 for others
    (two classes need one f); the class with the largest f(x) + b wins.  α is the one with the least leave-one-out
    squared error on a grid, which one decomposition gives exactly.

    Parameters
    ----------
    alpha : float or "loo", default="loo"
        The penalty α, or "loo" to choose it from ``alphas``.
    alphas : sequence of floats, optional
        Penalties to choose from; 19 values from 1e-6 to 1e3 times the mean of k(x, x) if not given.
    kernel : Kernel, str or callable, optional
        As for :class:`KernelRidge`; if not given, the Gaussian with 2σ² = d·Var(X), which adapts to the scale and the
        number d of the features.
    fit_intercept : bool, default=True
        Whether to fit a constant b.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    solver : str, default="auto"
        As for :class:`KernelRidge`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of solvers that choose at random, and of the sample α is chosen on when there are more than 5,000
        points and no explicit features.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted.
    device : str, torch.device or list of them, optional
        As for :class:`KernelRidge`.
    tol : float, default=1e-6
        As for :class:`KernelRidge`.

    Attributes
    ----------
    classes_ : array
        The labels.
    alpha_ : float
        The penalty used.
    alphas_, loo_errors_ : array
        Those tried, if it was chosen, and the mean leave-one-out squared error of each, infinite where rounding could
        have made it.
    loo_accuracy_ : float
        The share of points whose class is right when they are left out, with the penalty chosen.
    regressor_ : KernelRidge
        The regression on the labels; its ``diagnose()`` tells more.
    interval_plan_ : IntervalPlan
        How the last intervals were made, why so, and what they promise; after :meth:`predict_interval`.
    expansion_, kernel_, plan_, dual_coef_, intercept_, coef_primal_, objective_, residual_, n_iter_, converged_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.models.ridge_classifier import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelRidgeClassifier().fit(X, y)
    >>> model.loo_accuracy_ > 0.95
    True
    >>> model.predict(X[:2])
    array([0, 0])
    """

    shares_devices = True

    classes_: Classes
    expansion_: ClassFunction
    alpha_: float
    regressor_: KernelRidge
    alphas_: Annotated[np.ndarray, SOMETIMES]
    loo_errors_: Annotated[np.ndarray, SOMETIMES]
    loo_accuracy_: Annotated[float, SOMETIMES]
    _loo: Annotated[np.ndarray, SOMETIMES]

    def __init__(
        self,
        alpha: Any = "loo",
        *,
        alphas: Any = None,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device
        self.tol = tol

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to labelled points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        checkpoint : str or Path, optional
            A folder where iterations keep their state every few seconds: a fit that was killed goes on there when it
            is started again with the same model and data, whatever else has its states in that folder.  What is kept
            is removed when the fit ends.  Fits that do not iterate keep nothing.  For a table, the folder of its sums.
        """
        saving = keep_states(self, checkpoint, X, y, sample_weight)
        with report_progress(self, X, y) as on_step, all_or_nothing(self), saving as saves:
            self._fit(X, y, sample_weight, on_step, saves)
        return self

    @_if_kernel_stays
    @in_the_kind_given
    def partial_fit(
        self,
        X: Rows,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        window: int | None = None,
        budget: int | None = None,
        forgetting: float | None = None,
    ) -> Self:
        """Go on with more points: the model is that of a fit to all points it has then, with the same kernel and α.

        Kernel and penalty are those of the first call, or of the fit before; ``alpha="loo"`` chooses from the points of
        that call.  Costs are those of :meth:`mercer.models.ridge.KernelRidge.partial_fit`.  A call that fails or is
        interrupted changes nothing.

        Parameters
        ----------
        X : collection of m objects
            The points, new ones even if they have been seen before.
        y : array of shape (m,)
            Their labels.
        classes : array, optional
            All labels that will ever come; the first call needs it.
        sample_weight : float or array of shape (m,), optional
            Weights that are not negative; points of weight 0 are left out.
        window, budget, forgetting
            As in :meth:`mercer.models.ridge.KernelRidge.partial_fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mercer.models.ridge_classifier import KernelRidgeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelRidgeClassifier().partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        >>> model.partial_fit(X[1::2], y[1::2]).score(X, y) > 0.95
        True
        """
        limits = check_limits(self, window, budget, forgetting)
        with all_or_nothing(self):
            points = read_stream(self, X, ("cholesky",))
            before = self._find_before("partial_fit")
            _check_partial_fit_first_call(self, classes)
            data = self._check_labelled(points, y, sample_weight, self.classes_, reset=before is None)
            targets = make_targets(data.codes, len(data.classes)).reshape(len(data.codes), -1)
            if before is None:
                self.kernel_ = self._resolve_kernel(self.kernel, data)
                self.alpha_ = self._choose_first(data, targets)
            online = self._open_online(before, targets.shape[1])
            with online.lock:
                online.learn(data.points, targets, data.weights, **limits)
                self._keep_online(online)
        return self

    @_if_kernel_stays
    def forget(self, positions: Any) -> Self:
        """Let points go: the model is that of a fit to the others, with the same kernel and α.

        Parameters
        ----------
        positions : int or int array
            Which points of ``regressor_.X_fit_``; negative numbers count from the end.
        """
        check_is_fitted(self)
        with all_or_nothing(self):
            read_stream(self, None, ("cholesky",))
            before = self._find_before("forget")
            assert before is not None
            assert before.targets is not None
            gone = check_positions(self, positions, len(before.targets), before.kept)
            online = self._open_online(before, before.targets[0].size)
            with online.lock:
                online.remove(gone)
                self._keep_online(online)
        return self

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for every class, or for the second of two.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        return self._evaluate(X)

    @in_the_kind_given
    def leave_one_out(self) -> np.ndarray:
        """Return the decision values of each training point by the model without it.

        Exactly, without refitting, with the same kernel and α: tᵢ − cᵢ/Gᵢᵢ for every class.  Computed when first asked
        for.  Points of weight 0 were left out anyway.

        Returns
        -------
        array of shape (n,) or (n, classes), as of :meth:`decision_function`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mercer.models.ridge_classifier import KernelRidgeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelRidgeClassifier().fit(X, y)
        >>> bool((model.leave_one_out().argmax(axis=1) == y).mean() == model.loo_accuracy_)
        True
        """
        check_is_fitted(self)
        if "_loo" not in vars(self):
            self._loo = self.regressor_.leave_one_out()
        return self._loo

    @in_the_kind_given
    def predict_interval(self, X: Rows, coverage: float = 0.9, method: str = "auto") -> np.ndarray:
        """Return intervals that hold the code of a new label with a probability of about ``coverage``.

        The code is what a decision value is fitted to: 1 for the points of a class and −1 for others, and for two
        classes 1 for the second.  An interval of f(x) + b that holds one of both codes tells whether a point is of the
        class; one that holds both, or neither, does not.  Each class has an interval of its own, with the promise for
        each by itself; :meth:`predict_set` has one promise for all classes.  Afterwards ``interval_plan_`` says what
        was done and what that promises; a penalty chosen from ``alphas`` counts as given.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`decision_function`.
        coverage : float, default=0.9
            Between 0 and 1.
        method : {"auto", "jackknife+", "full", "cv+", "local"}, default="auto"
            As for :meth:`mercer.models.ridge.KernelRidge.predict_interval` of ``regressor_``; "auto" leaves out one
            point at a time, which is exact and takes no fit.

        Returns
        -------
        array of shape (m, 2), or (m, classes, 2) if there are more than two

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.models.ridge_classifier import KernelRidgeClassifier
        >>> X = np.linspace(-3.0, 3.0, 60).reshape(-1, 1)
        >>> model = KernelRidgeClassifier(1.0).fit(X, X[:, 0] + 1.5 * np.sin(40.0 * X[:, 0]) > 0.0)
        >>> lower, upper = model.predict_interval([[-2.5], [0.0], [2.5]]).T
        >>> np.column_stack([(lower <= code) & (code <= upper) for code in (-1.0, 1.0)])
        array([[ True, False],
               [ True,  True],
               [False,  True]])
        """
        check_is_fitted(self)
        return self.regressor_.predict_interval(self._check_new(X), coverage, method)

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The methods that :meth:`predict_interval` has for this model, the one that "auto" takes first."""
        check_is_fitted(self)
        return self.regressor_.interval_methods

    @property
    def interval_plan_(self) -> IntervalPlan:
        """How the last intervals were made, why so, and what they promise; after :meth:`predict_interval`."""
        if "regressor_" not in vars(self) or "interval_plan_" not in vars(self.regressor_):
            raise AttributeError(f"this {type(self).__name__} has no interval_plan_ before predict_interval")
        plan = self.regressor_.interval_plan_
        chosen = "alphas_" in vars(self) or type(self)._find_kernel is not KernelRidgeClassifier._find_kernel
        return replace(plan, guarantee=plan.guarantee + GIVEN) if chosen and not plan.folds else plan

    def _leave_out(self) -> np.ndarray | None:
        # Iterations keep no factor that points could be left out of.
        return None if self.plan_.solver in ITERATIVE else self.leave_one_out()

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep, saves: Saves | None = None) -> None:
        tolerance, argument = check_tolerance(self), self._kernel_argument()
        data = self._check_labelled(X, y, sample_weight)
        self._remember(data.X, y, sample_weight)
        n, targets = length(data.X), make_targets(data.codes, len(data.classes))
        place = argument.place(data.X)
        # The regression sees all points, so that it has a coefficient for each; those without a weight stay out of it.
        everything, weights = np.zeros((n, *targets.shape[1:])), np.zeros(n)
        everything[data.kept], weights[data.kept] = targets, data.weights
        some = None if (data.weights == 1.0).all() else data.weights
        problem = Problem(
            Linear(), data.points, targets.reshape(len(targets), -1), some, bool(self.fit_intercept), place.memory,
            place.device,
        )  # fmt: skip
        problem = replace(problem, kernel=self._find_kernel(problem, data, on_step))
        found = self._choose(lambda alphas: choose_penalty(problem, alphas, self.random_state))
        penalty = check_alpha(self, found.alpha, problem.y.shape[1])
        whole = replace(
            problem, X=argument.points(data.X), y=everything, weights=None if (weights == 1.0).all() else weights
        )
        record = fit_ridge(
            whole, penalty, self.solver, random_state=self.random_state, name=type(self).__name__,
            on_iteration=on_step, saves=saves, devices=list_devices(self.device), tolerance=tolerance,
        )  # fmt: skip
        self._keep(data.classes, found, record, data.X)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.labels import Classes
        from mercer.distributed.ridge import fit_table
        from mercer.distributed.ridge_search import choose_penalty
        from mercer.distributed.table import read_table

        labelled = read_table(cluster, self._kernel_argument(), "labels", X, y, sample_weight)
        classes = Classes.of(self, labelled)
        table = classes.make_targets(labelled)
        kernel, intercept = self._find_cluster_kernel(cluster, table), bool(self.fit_intercept)
        found = self._choose(
            lambda alphas: choose_penalty(table, kernel, alphas, intercept, self.memory, self.random_state)
        )
        record = fit_table(
            table, kernel, check_alpha(self, found.alpha, table.survey.outputs), solver=self.solver,
            fit_intercept=intercept, memory=self.memory, device=self.device, random_state=self.random_state,
            name=type(self).__name__,
        )  # fmt: skip
        self._forget()
        self._keep(classes.names, found, record, record.expansion.centers)

    def _find_kernel(self, problem: Problem, data: Labelled, on_step: OnStep) -> Kernel:
        """Return the kernel to fit a problem of labels with."""
        return self._resolve_kernel(self.kernel, data)

    def _find_cluster_kernel(self, cluster: Any, table: Any) -> Kernel:
        """Return the kernel to fit a table of labels on a cluster with."""
        from mercer.distributed.labels import resolve_kernel

        return resolve_kernel(self, table)

    def _choose(self, choose: Callable[[np.ndarray | None], PenaltyChoice]) -> PenaltyChoice:
        """Return the penalty that was given, or the one that is found among those to be tried."""
        if not isinstance(self.alpha, str):
            return PenaltyChoice(self.alpha)
        if self.alpha != "loo":
            raise ValueError(f"{type(self).__name__}: alpha must be a number or 'loo', got {self.alpha!r}")
        return choose(None if self.alphas is None else check_alphas(self, self.alphas))

    def _choose_first(self, data: Labelled, targets: np.ndarray) -> float:
        """Return the penalty that was given, or the one of the first points of a stream."""
        if isinstance(self.alpha, str) and len(np.unique(data.codes)) < 2:
            raise ValueError(
                f"{type(self).__name__}: alpha='loo' chooses the penalty from the points of the first call of "
                "partial_fit, which are all of one class; give alpha as a number, or begin with points of several"
            )
        problem = Problem(
            self.kernel_, data.points, targets, data.weights, bool(self.fit_intercept), parse_memory(self.memory)
        )
        return float(self._choose(lambda alphas: choose_penalty(problem, alphas, self.random_state)).alpha)

    def _find_before(self, method: str) -> RidgeFit | PostponedFit | None:
        return self.regressor_._find_before(method) if "regressor_" in vars(self) else None

    def _open_online(self, before: RidgeFit | PostponedFit | None, outputs: int) -> OnlineRidge:
        """Return the problem of all points so far."""
        alpha = check_one_penalty(self, check_alpha(self, self.alpha_, outputs))
        constant = bool(self.fit_intercept)
        return open_online(self, self.kernel_, before, alpha, averaged=False, fit_intercept=constant)

    def _keep_online(self, online: OnlineRidge) -> None:
        postponed = PostponedFit(online, flat=len(self.classes_) == 2, name=type(self).__name__)
        self._keep(self.classes_, PenaltyChoice(self.alpha_), postponed, online.points)
        self.__dict__[ONLINE] = online

    def _keep(self, classes: np.ndarray, found: PenaltyChoice, record: RidgeFit | PostponedFit, X: Rows) -> None:
        self.classes_, self.alpha_ = classes, found.alpha
        tried = {"alphas_": found.alphas, "loo_errors_": found.errors, "loo_accuracy_": found.accuracy}
        for name, value in tried.items():
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)
        for name in (ONLINE, POSTPONED, "_loo"):  # what is kept of other points, or of those that came one by one
            self.__dict__.pop(name, None)
        self.regressor_ = KernelRidge._inside(self, found.alpha, record, X)
        if isinstance(record, PostponedFit):
            self._postpone(record)
        else:
            self._keep_function(record, length(X))

    def _kernel_argument(self) -> KernelArgument:
        return kernel_argument(self, self._argument())
