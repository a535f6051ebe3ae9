"""Kernel ridge regression."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.place import list_devices
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.ridge import RidgeIntervals
from mercer.estimators.kernels import KernelLike
from mercer.estimators.online import (
    ONLINE,
    POSTPONED,
    OnlineEstimator,
    check_limits,
    check_one_penalty,
    check_positions,
    find_online,
    open_online,
    read_stream,
)
from mercer.estimators.posterior import PosteriorMethods
from mercer.estimators.progress import report_progress, with_callbacks
from mercer.estimators.targets import TOLERANCE, check_alpha, check_targets, check_tolerance, check_weights
from mercer.estimators.transaction import all_or_nothing
from mercer.formula.data import Rows, is_frame, length, pick
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.diagnosis import Diagnosis, diagnose
from mercer.solvers.ridge.fit import RidgeFit, fit_ridge
from mercer.solvers.ridge.interval import leave_one_out
from mercer.solvers.ridge.online import OnlineRidge
from mercer.solvers.ridge.postponed import PostponedFit


def keep_states(model: Any, checkpoint: Any, *data: Any) -> Any:
    """Return a context that keeps the states of a fit in a folder, or None without one."""
    if checkpoint is None:
        return nullcontext()
    from mercer.stored.engine import keep_fit  # which nothing else needs of data that is here

    return keep_fit(model, checkpoint, *data)


class KernelRidge(RidgeIntervals, PosteriorMethods, OnlineEstimator, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression: least squares in the space of a kernel, with a penalty on the norm.

    f and b minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + α‖f‖².  By the representer theorem f = Σᵢ cᵢ k(xᵢ, ·), and without an
    intercept c = (K + αW⁻¹)⁻¹y.  This is ``KernelRegressor(loss="Squared")``.  Parameters, defaults and meaning are
    scikit-learn's where it has them.

    Parameters
    ----------
    alpha : float or sequence of floats, default=1
        The penalty α ≥ 0, or one for each target.
    kernel : Kernel, str or callable, default="linear"
        A mercer kernel; a name of ``sklearn.metrics.pairwise``; a function of two rows that returns a number; or
        "precomputed", and then X is the Gram matrix: (n, n) to fit, (m, n) to predict.
    gamma : float, optional
        Of the kernels "rbf", "laplacian", "poly", "sigmoid" (one over the number of features if not given) and "chi2"
        (1 if not given).
    degree : float, default=3
        Of the kernel "poly".
    coef0 : float, default=1
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict, optional
        Keyword arguments for a function given as kernel.
    fit_intercept : bool, default=False
        Whether to fit a constant b, which the penalty leaves alone.
    scaling : {"sum", "mean"}, default="sum"
        Whether errors are summed, as above, or averaged: (1/Σw) Σ wᵢ(…)² + λ‖f‖² is the same with α = λΣw.
    solver : {"auto", "primal", "spectral", "cholesky", "partial", "cg", "blocks", "nystroem"}, default="auto"
        The algorithm; "auto" chooses by size, memory and kernel, and ``plan_`` says which and why.
    n_centers : int, optional
        How many centres a Nyström model has; "auto" makes one if this is given.  If not, as many as pay.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of solvers that choose at random.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted, that is, not positive semi-definite.
    device : str, torch.device or list of them, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.  Of
        several, such as ``["cuda:0", "cuda:1"]``, the solvers "cg" and "blocks" have each multiply by a share of the
        rows, and all else is on the first.
    tol : float, default=1e-6
        Of solvers that iterate, "partial", "cg" and "blocks": up to which certificate, the ``residual_``.  All others
        go as far as rounding allows, and so do iterations on a cluster and on tables.

    Attributes
    ----------
    expansion_ : Expansion
        The fitted function.
    kernel_ : Kernel
        The kernel used.
    plan_ : Plan
        The solver, the reason for it and the expected cost.
    dual_coef_ : array of shape (n,) or (n, targets)
        The coefficients c; with Nyström centres there are as many as those.
    intercept_ : float or array of shape (targets,)
        b.
    X_fit_ : data
        The training data (the Gram matrix if it was precomputed).
    coef_primal_ : array of shape (D,) or (D, targets)
        w of f(x) = φ(x)ᵀw, if the kernel has finitely many features φ; ``kernel_.feature_map(d)`` is φ.
    objective_ : Objective
        What was minimised, of all targets together: ``loss`` is Σ wᵢ(…)² and ``penalty`` is α‖f‖², of the sum form.
    log_marginal_likelihood_ : float
        log p(y) of the Gaussian process whose mean this is; computed when asked for.
    noise_variance_ : float or array of shape (targets,)
        α of the sum form, which is the variance of an observation of weight 1 about that function.
    residual_ : float
        The certificate: √(rᵀWr / S) with the residual r = y − b − (K + αW⁻¹)c and the value S of what is minimised, to
        which a thousandth of the targets is added.  That value is above its minimum by at most rᵀWr, which bounds the
        error of all fitted values and of f itself.  Solutions
        in explicit features bound the same gap by their gradient, those of Nyström centres give the relative size of
        the next correction.
    converged_ : bool
        Whether ``residual_`` is at most 1e-5 (``tol`` for solvers that iterate, 1e-4 for Nyström centres on a device);
        if not there is one warning, with what to do.
    n_iter_ : int
        Iterations, 0 for direct solvers.
    n_features_in_, feature_names_in_ : int, array of str
        Number and names of the columns, if the data has columns and they have names.

    Examples
    --------
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.models.ridge import KernelRidge
    >>> X, y = [[1.0], [4.0], [6.0], [9.0]], [0.8, 4.1, 6.2, 8.5]
    >>> model = KernelRidge(alpha=1.0, kernel=Linear() + Constant(1.0)).fit(X, y)
    >>> model.predict([[0.0], [1.0]]).round(4)
    array([0.1018, 1.0564])
    >>> model.leave_one_out().round(3)
    array([1.203, 3.875, 5.69 , 9.058])
    >>> model.predict_interval([[5.0]], coverage=0.6).round(2)
    array([[4.48, 5.34]])
    >>> model.interval_plan_.method
    'jackknife+'
    """

    shares_devices = True

    X_fit_: Rows
    _record: RidgeFit

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: KernelLike = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        scaling: Literal["sum", "mean"] = "sum",
        solver: str = "auto",
        n_centers: int | None = None,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.solver = solver
        self.n_centers = n_centers
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device
        self.tol = tol

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit the function to data; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes; or the path of a table on a disk, which is read a
            piece at a time.
        y : array of shape (n,) or (n, targets)
            The targets, or the name of their column.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        checkpoint : str or Path, optional
            A folder where iterations keep their state every few seconds: a fit that was killed goes on there when it
            is started again with the same model and data, whatever else has its states in that folder.  What is kept
            is removed when the fit ends.  Fits that do not iterate keep nothing.  For a table, the folder of its sums.
        """
        saving = keep_states(self, checkpoint, X, y, sample_weight)
        with report_progress(self, X, y) as on_step, all_or_nothing(self), saving as saves:
            self._fit(X, y, sample_weight, on_iteration=on_step, saves=saves, devices=list_devices(self.device))
        return self

    @in_the_kind_given
    def partial_fit(
        self,
        X: Rows,
        y: Any,
        sample_weight: Any = None,
        *,
        window: int | None = None,
        budget: int | None = None,
        forgetting: float | None = None,
    ) -> Self:
        """Go on with more points: the model is that of a fit to all points it has then.

        A point costs O(n²) operations: a Cholesky factor of K + αW⁻¹ in float64, 8n² bytes with some slack, is kept and
        follows the points.  The first call after a fit, or after loading, makes it, in O(n³).  Coefficients take n²
        operations more, and ``objective_``, ``residual_`` and ``converged_`` 2n²; both are computed when somebody first
        asks for them, or predicts, copies or saves.  The kernel is that of the first call.  A call that fails or is
        interrupted changes nothing.

        Parameters
        ----------
        X : collection of m objects
            The points, new ones even if they have been seen before.
        y : array of shape (m,) or (m, targets)
            Their targets.
        sample_weight : float or array of shape (m,), optional
            Weights that are not negative; points of weight 0 are left out.
        window : int, optional
            How many points stay: the oldest leave, O(n²) each.
        budget : int, optional
            How many points stay: whenever there is one more, the one leaves whose absence changes f least.
        forgetting : float, optional
            What the weights of earlier points are multiplied with in this call, such as 0.99.  As all of the diagonal
            of αW⁻¹ changes, this takes a new factor, n³/3 operations; a window is the cheap way to forget.

        Notes
        -----
        With ``scaling="mean"`` the penalty grows with the weights of all points, and every call takes a new factor.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian())
        >>> for x, y in zip(X, np.sin(X[:, 0])):
        ...     model = model.partial_fit([x], [y])
        >>> whole = KernelRidge(alpha=0.1, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
        >>> bool(np.allclose(model.predict(X), whole.predict(X), rtol=1e-10))
        True
        """
        limits = check_limits(self, window, budget, forgetting)
        with all_or_nothing(self):
            before = self._find_before("partial_fit")
            X = self._kernel_argument().check(read_stream(self, X, ("cholesky",)), reset=before is None)
            targets, weights = check_targets(self, y, length(X)), check_weights(self, sample_weight, length(X))
            shape = targets.shape[1:]
            if before is not None and before.targets is not None and before.targets.shape[1:] != shape:
                raise ValueError(
                    f"{type(self).__name__}: y has shape {targets.shape}, but the model was fitted to targets of shape "
                    f"{before.targets.shape}; give as many targets for each point as before, or fit anew"
                )
            online = self._open_online(self._resolve(X) if before is None else self.kernel_, before, shape)
            weights = np.ones(length(X)) if weights is None else weights
            some = np.flatnonzero(weights)
            X = X if len(some) == len(weights) else pick(X, some)
            with online.lock:
                online.learn(X, targets.reshape(len(targets), -1)[some], weights[some], **limits)
                self._keep_online(online, flat=not shape)
        return self

    def forget(self, positions: Any) -> Self:
        """Let points go: the model is that of a fit to the others.

        One costs O(n²) operations, from the factor that :meth:`partial_fit` keeps, which is made if there is none.

        Parameters
        ----------
        positions : int or int array
            Which points of ``X_fit_``; negative numbers count from the end.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> model = KernelRidge(kernel=Gaussian()).fit([[0.0], [1.0], [2.0]], [0.0, 9.0, 2.0])
        >>> model.forget(1).X_fit_.tolist()
        [[0.0], [2.0]]
        """
        with all_or_nothing(self):
            check_is_fitted(self)
            before = self._find_before("forget")
            read_stream(self, None, ("cholesky",))
            assert before is not None
            assert before.targets is not None
            gone = check_positions(self, positions, len(before.targets), before.kept)
            shape = before.targets.shape[1:]
            online = self._open_online(self.kernel_, before, shape)
            with online.lock:
                online.remove(gone)
                self._keep_online(online, flat=not shape)
        return self

    @in_the_kind_given
    def leave_one_out(self) -> np.ndarray:
        """Return what the model would predict at each training point had it been fitted without that point.

        Exactly, without refitting, with the same α: yᵢ − cᵢ/Gᵢᵢ.  Points of weight 0 were left out anyway.

        Returns
        -------
        array of shape (n,) or (n, targets), NaN if nothing is left to fit an intercept to
        """
        record = self._rows_are_here("leave_one_out")
        online = find_online(self, record)
        if online is not None:
            assert record.targets is not None
            with online.lock:
                if online.record is record:  # and nobody has gone on with points since
                    return online.leave_one_out().reshape(record.targets.shape)
        return leave_one_out(record, random_state=self.random_state, n_centers=self.n_centers)

    def diagnose(self) -> Diagnosis:
        """Return how the fit is doing: spectrum, degrees of freedom, leave-one-out error, and a sentence of advice."""
        return diagnose(self._rows_are_here("diagnose"), averaged=self.scaling == "mean")

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any, **watched: Any) -> None:
        self._check_scaling()
        tolerance = check_tolerance(self)
        argument = self._kernel_argument()
        X = argument.check(X, reset=True)
        n = length(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        kernel, place = self._resolve(X), argument.place(X)
        intercept = bool(self.fit_intercept)
        problem = Problem(kernel, argument.points(X), targets, weights, intercept, place.memory, place.device)
        penalty = self._penalty(targets.size // n, n if weights is None else float(weights.sum()))
        solving = {**self._solving(), "tolerance": tolerance, **watched}
        self._keep(fit_ridge(problem, penalty, name=type(self).__name__, **solving), X)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.ridge import fit_table
        from mercer.distributed.table import read_table

        self._check_scaling()
        table = read_table(cluster, self._kernel_argument(), "targets", X, y, sample_weight)
        record = fit_table(
            table, self._resolve(table.head), self._penalty(table.survey.outputs, table.survey.weight),
            fit_intercept=bool(self.fit_intercept), memory=self.memory, device=self.device, name=type(self).__name__,
            **self._solving(),
        )  # fmt: skip
        self._keep(record, record.expansion.centers)

    def _keep(self, record: RidgeFit, X: Rows) -> Self:
        """Become the model of a fit to checked data, which a cluster keeps but for the centres."""
        self._forget()
        self._keep_function(record, length(X))
        self.X_fit_, self._record = X, record
        for name in (ONLINE, POSTPONED):  # what is kept of points that came one by one
            self.__dict__.pop(name, None)
        return self

    def _keep_postponed(self, postponed: PostponedFit) -> Self:
        """Become the model of a fit that is computed when it is asked for."""
        self._forget()
        self._postpone(postponed)
        self.X_fit_ = postponed.points
        return self

    def _keep_evidence(self, record: RidgeFit) -> None:
        super()._keep_evidence(record)
        self._record = record

    def _find_before(self, method: str) -> RidgeFit | PostponedFit | None:
        kept = self._rows_are_here(method) if "_record" in vars(self) else None
        return super()._find_before(method) or kept

    def _open_online(
        self, kernel: Kernel, before: RidgeFit | PostponedFit | None, shape: tuple[int, ...]
    ) -> OnlineRidge:
        """Return the problem of all points so far, with the parameters as they are now."""
        self._check_scaling()
        alpha = check_one_penalty(self, check_alpha(self, self.alpha, int(np.prod(shape))))
        averaged, constant = self.scaling == "mean", bool(self.fit_intercept)
        return open_online(self, kernel, before, alpha, averaged=averaged, fit_intercept=constant)

    def _keep_online(self, online: OnlineRidge, *, flat: bool) -> None:
        self._keep_postponed(PostponedFit(online, flat=flat, name=type(self).__name__))
        self.__dict__[ONLINE] = online

    @classmethod
    def _inside(cls, outer: Any, alpha: float, record: RidgeFit | PostponedFit, X: Rows) -> Self:
        """Return the model of a fit that another estimator made, with the parameters of that one."""
        kernel = record.kernel if isinstance(record, PostponedFit) else record.expansion.kernel
        inner = cls(
            alpha, kernel=outer._kernel_argument().pass_on(kernel), fit_intercept=outer.fit_intercept,
            solver=outer.solver, memory=outer.memory, random_state=outer.random_state, assume_psd=True,
            device=outer.device, tol=getattr(outer, "tol", TOLERANCE),
        )  # fmt: skip
        for name in ("n_features_in_", "feature_names_in_") if is_frame(X) else ("n_features_in_",):
            if hasattr(outer, name):
                setattr(inner, name, getattr(outer, name))
        return inner._keep_postponed(record) if isinstance(record, PostponedFit) else inner._keep(record, X)

    def _check_scaling(self) -> None:
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")

    def _resolve(self, X: Rows) -> Kernel:
        given = {name: getattr(self, name) for name in ("gamma", "degree", "coef0", "kernel_params")}
        return self._kernel_argument().resolve(X, assume_psd=self.assume_psd, **given)

    def _penalty(self, outputs: int, weight: float) -> np.ndarray:
        """Return the penalty of each output, of the sum form."""
        return check_alpha(self, self.alpha, outputs) * (weight if self.scaling == "mean" else 1.0)

    def _solving(self) -> dict[str, Any]:
        return {"solver": self.solver, "random_state": self.random_state, "n_centers": self.n_centers}

    def _given_alpha(self) -> Any:
        return self.alpha

    def _alpha_unit(self, record: RidgeFit) -> float:
        if self.scaling == "sum":
            return 1.0
        weights = None if record.problem is None else record.problem.weights
        return float(record.problem_on_host.n if weights is None else weights.sum())

    def _whole_record(self, method: str) -> RidgeFit:
        return self._rows_are_here(method)
