"""Ridge regression with several kernels, whose weights are learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.rows import TrainingRows
from mercer.estimators.progress import fit_task, reporter, with_callbacks
from mercer.estimators.ridge import SearchedRidge
from mercer.estimators.targets import check_alphas, check_targets, check_weights, check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Gaussian, Kernel
from mercer.learning.choice import choose
from mercer.learning.search import limit_path
from mercer.learning.several.each_target import fit_each_target
from mercer.learning.several.mixture import KernelMixture, stack_kernels
from mercer.learning.several.parts import share_variance, split_function
from mercer.learning.several.weights import learn_weights, merge_targets
from mercer.learning.target_units import TargetUnits
from mercer.solvers.base import Problem
from mercer.solvers.evidence import RESIDUAL, Objective, is_converged, warn_not_converged
from mercer.solvers.plan import Plan
from mercer.solvers.ridge.fit import fit_ridge, pick_points

from ..ridge import KernelRidge
from .kernel_list import KernelList, TableKernels, kernel_list

SERIAL = 500  # points up to which one thread is enough
MEASURED = 2000  # points that scales are measured at where no weights are learned
METHODS = ("loo", "average", "sum")


def _has_one_kernel(model: MultipleKernelRidge) -> bool:
    """Whether all targets share a kernel, so that there is something to transform to."""
    if model.per_target:
        raise AttributeError(
            f"{type(model).__name__}.transform: with per_target=True each target has a kernel of its own, "
            "mixture_.kernel(target)"
        )
    return True


class MultipleKernelRidge(  # type: ignore[call-arg]
    SearchedRidge, TransformerMixin, MultiOutputMixin, RegressorMixin, BaseEstimator, auto_wrap_output_keys=None,  # type: ignore[misc]
):  # fmt: skip
    """Kernel ridge regression with a weighted sum of several kernels, for columns of any kind side by side.

    f and b minimise Σᵢ vᵢ(yᵢ − f(xᵢ) − b)² + α‖f‖² in the space of the kernel Σ w_k k_k / s_k.  The scale s_k is the
    variance of the features of k_k at the training points (without an intercept the mean of k_k(x, x)), so that weights
    of strings, graphs and vectors can be compared, and a multiple of a kernel is as good as the kernel.  The weights
    w ≥ 0 and the penalty α have the smallest exact leave-one-out error that its gradient finds.

    Parameters
    ----------
    kernels : sequence of Kernels, names or functions, optional
        The kernels, such as ``[Spectrum(3).on("dna"), Gaussian().on(["a", "b"])]``.  Gaussians of four widths in the
        units of the columns if not given.
    method : {"loo", "average", "sum"}, default="loo"
        How weights are found: by the leave-one-out error; all the same, 1/m; or such that the kernel is the sum of the
        kernels as they are, without scales.
    sparse : bool, default=False
        Whether to take the fewest kernels whose leave-one-out error is within one standard error of the smallest.
    per_target : bool, default=False
        Whether each of several targets has weights and a penalty of its own (banded ridge).
    alphas : sequence of floats, optional
        Positive penalties to choose from; a path over twelve decades, refined, if not given.
    n_candidates : int, default=100
        How many weights are tried with ``per_target``.
    fit_intercept : bool, default=True
        Whether to fit a constant, which the penalty leaves alone.
    solver : str, default="auto"
        Of the last fit, as in :class:`~mercer.models.ridge.KernelRidge`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of subsets, of weights that are drawn, and of solvers that choose at random.
    device : str or torch.device, optional
        Where kernels are computed and the last fit is made; weights are learned on the host.

    Attributes
    ----------
    mixture_ : KernelMixture
        The kernels, their scales and their weights; ``print(model.mixture_)`` shows the share of each.
    weights_ : array of shape (m,) or (m, targets)
        w, of sum 1; all 0 where no kernel is better than a constant.
    shares_ : array of shape (m,) or (m, targets)
        The share of each kernel in the variance of f at the training points, of sum 1; computed when asked for.
    alpha_ : float or array of shape (targets,)
        α.
    kernel_ : Kernel
        The learned kernel Σ (w_k/s_k) k_k, which can be used anywhere else.  With ``per_target`` each target has its
        own, ``mixture_.kernel(target)``.
    X_fit_ : data
        The training data.
    ridge_ : KernelRidge
        The model fitted to all points with ``alpha_`` and ``kernel_``; not with ``per_target``.
    loo_predictions_, loo_score_
        Its leave-one-out predictions, and their R², the mean over targets; with ``per_target`` only the R².
    loo_scores_ : array of shape (targets,)
        With ``per_target``, the R² of each target.
    dual_coef_, intercept_, objective_, residual_, n_iter_, converged_
        As in :class:`~mercer.models.ridge.KernelRidge`.
    expansion_, plan_
        The same; not with ``per_target``, where ``expansion_of(target)`` is the function of a target.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    Weights are learned from at most 1,500 points, drawn at random, and the penalty then from the same path as that of
    :class:`~mercer.models.ridge_cv.KernelRidgeCV`.  With ``per_target`` those of a target are the best of the weights
    tried at all points or, beyond 2,000, at a random 2,000 of them, and then at most ten different ones are kept.
    Every step is a task for ``sklearn.callback``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> from mercer.models.learned.multiple_ridge import MultipleKernelRidge
    >>> rng = np.random.default_rng(0)
    >>> words = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(80)]
    >>> rows = [(word, float(x), float(z)) for word, x, z in zip(words, *rng.normal(size=(2, 80)))]
    >>> y = [word.count("AC") + np.sin(2.0 * x) + 0.1 * rng.normal() for word, x, z in rows]
    >>> model = MultipleKernelRidge([Spectrum(2).on(0), Gaussian().on(1), Gaussian().on(2)], random_state=0)
    >>> print(model.fit(rows, y).mixture_)
       2.5%  Spectrum(length=2, shortest=None).on(0)
      97.5%  Gaussian(length_scale=1.0).on(1)
       0.0%  Gaussian(length_scale=1.0).on(2)
    >>> model.shares_.round(2)  # few words of a finite number need little weight to say much
    array([0.53, 0.47, 0.  ])
    """

    mixture_: KernelMixture
    alpha_: float | np.ndarray
    X_fit_: Annotated[Rows, Axes("n …")]
    ridge_: Annotated[KernelRidge, SOMETIMES]
    expansion_: Annotated[Expansion, SOMETIMES]
    kernel_: Annotated[Kernel, SOMETIMES]
    plan_: Annotated[Plan, SOMETIMES]
    loo_scores_: Annotated[np.ndarray, SOMETIMES]
    _rows: Annotated[TrainingRows, SOMETIMES]

    def _check_fitted(self) -> None:
        """Raise if what comes together does not, one kernel or one for each target; files call this."""
        one = {"ridge_", "expansion_", "kernel_", "plan_"}
        there, weights = one & set(vars(self)), self.mixture_.weights
        if there not in (set(), one) or bool(self.per_target) == bool(there):
            raise ValueError("MultipleKernelRidge: some attributes of a fit are missing")
        shape = (length(self.X_fit_), *weights.shape[1:])
        constants = np.shape(self.intercept_)
        if not there and (weights.ndim != 2 or self.dual_coef_.shape != shape or constants != shape[1:]):
            raise ValueError(f"MultipleKernelRidge: coefficients or constants of {shape[1:]} targets do not fit")

    def __init__(
        self,
        kernels: Any = None,
        *,
        method: Literal["loo", "average", "sum"] = "loo",
        sparse: bool = False,
        per_target: bool = False,
        alphas: Any = None,
        n_candidates: int = 100,
        fit_intercept: bool = True,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.kernels = kernels
        self.method = method
        self.sparse = sparse
        self.per_target = per_target
        self.alphas = alphas
        self.n_candidates = n_candidates
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.device = device

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Learn weights and penalty, and fit; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points: rows that all kernels can read, such as a table with columns of several kinds.
        y : array of shape (n,) or (n, targets)
            The targets.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._forget()
            for name in ("ridge_", "expansion_", "kernel_", "plan_", "loo_scores_", "_loo"):
                self.__dict__.pop(name, None)  # of a fit of the other kind
            self._fit(X, y, sample_weight, reporter(self, context))
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points, of shape (m,) or (m, targets)."""
        check_is_fitted(self)
        if hasattr(self, "expansion_"):
            return self._evaluate(X)
        argument = self._kernel_argument()
        points = argument.new_points(X)
        place = argument.place(points)
        parts = split_function(
            self.mixture_, self.X_fit_, self.dual_coef_, points, memory=self.memory, device=place.device
        )
        return sum(parts, np.zeros((length(points), 1))) + self.intercept_

    @available_if(_has_one_kernel)  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def transform(self, X: Rows) -> np.ndarray:
        """Return the learned kernel between points and all training points, of shape (points, n).

        That is what estimators with ``kernel="precomputed"`` take, in a pipeline for example.  For features give
        ``kernel_`` to :class:`~mercer.features.Nystroem`.
        """
        check_is_fitted(self)
        points = self._kernel_argument().new_points(X)
        return np.asarray(host_array(Gram(self.kernel_, points, self.X_fit_, memory=self.memory).dense()))

    @available_if(_has_one_kernel)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Rows, y: Any, **options: Any) -> np.ndarray:
        """Fit, and return the learned kernel between all training points, of shape (n, n)."""
        return np.asarray(self.fit(X, y, **options).transform(X))

    @property
    @in_the_kind_given
    def weights_(self) -> np.ndarray:
        """The weights of the kernels, of shape (m,) or (m, targets)."""
        check_is_fitted(self)
        return self.mixture_.weights

    @property
    @in_the_kind_given
    def shares_(self) -> np.ndarray:
        """The share of each kernel in the variance of f at the training points, (m,) or for several targets (m, q).

        f is the sum of parts f_k = (w_k/s_k) Σᵢ cᵢ k_k(xᵢ, ·), and the share is cov(f_k, f) / var(f): the shares sum to
        1, unless f is constant, and one may be negative where parts work against each other.
        """
        check_is_fitted(self)
        function = getattr(self, "expansion_", None)
        centers, coef = (self.X_fit_, self.dual_coef_) if function is None else (function.centers, function.coef)
        return share_variance(self.mixture_, centers, coef, memory=self.memory)

    @property
    @in_the_kind_given
    def loo_predictions_(self) -> np.ndarray:
        """What the model would predict at each training point had it been fitted without it, exactly."""
        if hasattr(self, "loo_scores_"):
            raise AttributeError(
                f"{type(self).__name__}: with per_target=True only loo_scores_, the R² of each target, are kept; "
                "KernelRidge(alpha_[t], kernel=mixture_.kernel(t), fit_intercept=True) has the predictions of target t"
            )
        return super().loo_predictions_

    @property
    @in_the_kind_given
    def loo_score_(self) -> float:
        """R² of the leave-one-out predictions, weighted, the mean over targets."""
        check_is_fitted(self)
        return float(self.loo_scores_.mean()) if hasattr(self, "loo_scores_") else super().loo_score_

    def expansion_of(self, target: int) -> Expansion:
        """Return the function of one target, with the kernel of its own where each has one."""
        check_is_fitted(self)
        if hasattr(self, "expansion_"):
            return self.expansion_.outputs()[target]
        intercept = np.atleast_1d(self.intercept_)[target]
        return Expansion(self.mixture_.kernel(target), self.X_fit_, self.dual_coef_[:, target], intercept)

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: Any) -> None:
        if self.method not in METHODS:
            raise ValueError(f"{type(self).__name__}: method must be one of {METHODS}, got {self.method!r}")
        if self.per_target and self.sparse:
            raise ValueError(
                f"{type(self).__name__}: sparse=True chooses kernels for all targets; with per_target=True leave it out"
            )
        count = check_whole(self, "n_candidates", self.n_candidates)
        alphas = None if self.alphas is None else check_alphas(self, self.alphas)
        argument = self._kernel_argument()
        X = argument.check(X, reset=True)
        n, place = length(X), argument.place(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        kernels = argument.resolve_each(X)
        problem = Problem(Gaussian(), X, targets, weights, bool(self.fit_intercept), place.memory, place.device)
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        if len(kept) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 points with a weight, one to leave out and one to fit; got "
                f"n_samples = {len(kept)}"
            )
        data = replace(problem, y=targets.reshape(n, -1))
        data = data if len(kept) == n else pick_points(data, kept)
        # Threads that wait for each other cost more than they gain on small matrices, above all on a busy machine.
        with threadpool_limits(1 if n <= SERIAL else None, user_api="blas"):
            if self.per_target and targets.size > n:
                self._fit_each(data, kernels, alphas, count, on_step)
                self.dual_coef_ = argument.spread(self.dual_coef_, kept, n)
                self._remember(X, targets, weights)
            else:
                self._fit_all(problem, data, kernels, alphas, on_step)
        self.X_fit_ = X

    def _fit_all(self, problem: Problem, data: Problem, kernels: list[Kernel], alphas: Any, on_step: Any) -> None:
        """Fit with the same weights for all targets."""
        rng = check_random_state(self.random_state)
        relative = TargetUnits.of(data.y, data.weights, centred=data.fit_intercept).relative(data.y)
        data, hints = replace(data, y=relative), list[float]()
        if self.method == "loo":
            mixture, found = learn_weights(data, kernels, sparse=bool(self.sparse), rng=rng, on_step=on_step)
            hints = [found.alpha]
        else:
            mixture = self._measure(data, kernels, rng)
        limit, sample = limit_path(data)
        if data.n > limit:
            data = pick_points(data, rng.permutation(data.n)[:sample])
        kernel = mixture.kernel()
        alpha = choose(replace(data, y=merge_targets(data.y)), [kernel], alphas, hints=hints).alpha
        outputs = problem.y.size // len(problem.y)
        record = fit_ridge(
            replace(problem, kernel=kernel), np.full(outputs, alpha), self.solver, random_state=self.random_state,
            name=type(self).__name__,
        )  # fmt: skip
        self.mixture_, self.alpha_ = mixture, alpha
        self._keep_function(record, len(problem.y))
        self.ridge_ = KernelRidge._inside(self, alpha, record, problem.X)

    def _fit_each(self, data: Problem, kernels: list[Kernel], alphas: Any, count: int, on_step: Any) -> None:
        """Fit with weights and a penalty for each target."""
        given = None
        if self.method != "loo":
            given = self._measure(data, kernels, check_random_state(self.random_state)).weights[None]
        found = fit_each_target(
            data, kernels, alphas=alphas, weights=given, n_candidates=count, rng=self.random_state, on_step=on_step
        )
        self.mixture_, self.alpha_, self.loo_scores_ = found.mixture, found.alpha, found.scores
        self.dual_coef_, self.intercept_ = found.coef, found.intercept
        self.objective_ = Objective(*map(float, found.parts.sum(axis=1)))
        self.residual_, self.n_iter_, self.converged_ = found.residual, 0, is_converged(found.residual, RESIDUAL)
        if not self.converged_:
            warn_not_converged(type(self).__name__, found.residual, RESIDUAL, "raise the smallest of alphas")

    def _measure(self, data: Problem, kernels: list[Kernel], rng: Any) -> KernelMixture:
        """Return the mixture without learning: equal weights, or those that make it the sum of the kernels."""
        some = data if data.n <= MEASURED else pick_points(data, rng.permutation(data.n)[:MEASURED])
        mixture = stack_kernels(
            kernels, some.X, weights=some.weights, centred=some.fit_intercept, place=some.place
        ).mixture
        return mixture if self.method == "average" else mixture.weighted(mixture.scales)

    def _kernel_argument(self) -> KernelList | TableKernels:
        return kernel_list(self)
