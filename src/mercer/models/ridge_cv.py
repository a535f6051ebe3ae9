"""Kernel ridge regression that finds its own kernel and penalty."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernel_argument import KernelArgument, TableArgument, kernel_argument
from mercer.estimators.kernels import KernelLike
from mercer.estimators.posterior import PosteriorMethods
from mercer.estimators.progress import fit_task, reporter, with_callbacks
from mercer.estimators.ridge import SearchedRidge
from mercer.estimators.targets import check_alphas, check_targets, check_weights
from mercer.estimators.transaction import all_or_nothing
from mercer.formula.data import Rows, length
from mercer.kernels import Gaussian, Kernel, Matern
from mercer.kernels.base import show_given
from mercer.learning.choice import MakeCurves
from mercer.learning.criterion import NAMES
from mercer.learning.length_scales import with_length_scale
from mercer.learning.search import RidgeChoice, search_ridge
from mercer.learning.tuning import OnStep
from mercer.messages import warn_caller
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import RidgeFit, fit_ridge

from .ridge import KernelRidge

SERIAL = 500  # points up to which one thread is enough


class KernelRidgeCV(PosteriorMethods, SearchedRidge, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression with kernel, length scales and penalty chosen by the exact leave-one-out error.

    Without arguments: a Gaussian or Matérn kernel with one length scale for each feature; the penalty α from a path; an
    intercept; and one fit of all points.  Length scales are first all multiplied by the same factors, from where every
    point is alone to where all are alike, with a path of penalties for each, on at most 1,000 points.  The best minima
    of this grid are tuned by the gradient of the leave-one-out error on random subsets of at most 1,500 points, and
    nothing that is worse than the grid is kept.  Data is used in the units it comes in: length scales start from the
    spread of each feature.  A warning says if the best lies at the edge of what was searched.

    Parameters
    ----------
    alphas : sequence of floats, optional
        Positive penalties to choose from.  If not given, 25 over twelve decades, more if the best is at their end, and
        the best of them refined.  Of equally good ones the largest is taken.
    kernel : Kernel, str, callable or sequence of Kernels, optional
        As in :class:`~mercer.models.ridge.KernelRidge`, used as it is unless ``length_scales`` says otherwise, or
        several kernels to choose from.  Gaussian and Matérn kernels (ν = 3⁄2 and 5⁄2) if not given.
    length_scales : "auto" or sequence, optional
        Length scales to try, each a number or one number for each feature, in every place of the kernel that has one;
        or "auto" to tune those of the kernel, one for each feature, from a grid of their multiples.  If not given, a
        kernel that was given keeps its own, and "auto" is used otherwise.
    cv : int, splitter or iterable, optional
        Folds to choose by, instead of leaving out one point at a time; the tuning leaves out one in any case.
    scoring : str or callable, optional
        What to choose by, as in scikit-learn; the mean squared error if not given.
    fit_intercept : bool, default=True
        Whether to fit a constant, which the penalty leaves alone.
    solver : str, default="auto"
        Of the last fit, as in :class:`~mercer.models.ridge.KernelRidge`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of subsets, and of solvers that choose at random.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.
    criterion : {"loo", "marginal"}, default="loo"
        What to choose by: the leave-one-out error, or the marginal likelihood of the Gaussian process whose mean ridge
        is, restricted if there is an intercept.  Both are tuned by their gradient, the likelihood to the end with all
        points up to 5,000.  It also finds the size of the kernel, by which ``kernel_`` and ``alpha_`` are multiplied,
        so that ``predict(X, return_std=True)`` is in the unit of the targets and ``alpha_`` is the variance of the
        noise; ``alphas`` are relative to the kernel as it is given.

    Attributes
    ----------
    alpha_ : float
        The penalty.
    kernel_ : Kernel
        The kernel, with its length scales.
    best_score_ : float
        The score that ``alpha_`` and ``kernel_`` reached, larger is better: minus the mean squared leave-one-out
        error, or ``scoring``; with ``criterion="marginal"`` the log marginal likelihood over the number of
        points (less one with an intercept) and of targets.  Several targets are divided by their deviation first,
        unless there is a ``scoring`` or a likelihood.
    path_ : dict
        ``"alphas"`` (p,); ``"kernels"``, the m kernels compared; ``"length_scales"``, the first length scale parameter
        of each (None where there is none); ``"errors"`` (m, p), minus their scores, infinite where rounding could have
        made them; and ``"tuning"``, the mean squared leave-one-out error, or minus the likelihood as above, at each
        step of the grid and of the tuning.
    ridge_ : KernelRidge
        The model fitted to all points with ``alpha_`` and ``kernel_``.
    loo_predictions_, loo_score_
        Its leave-one-out predictions, and their R²; computed when asked for.
    expansion_, plan_, dual_coef_, intercept_, coef_primal_, objective_, residual_, n_iter_, converged_
        As in that model, with ``log_marginal_likelihood_`` and ``noise_variance_``.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    The path uses all points up to 5,000 and a random 3,000 beyond: in the sum form Σ(…)² + α‖f‖² the best penalty does
    not grow with their number.  On a GPU it uses all points while three matrices of them fit there, and a random 20,000
    beyond.  Each step of the tuning is a task for ``sklearn.callback``, such as its ProgressBar.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.ridge_cv import KernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(150, 2))
    >>> y = np.sin(2.0 * X[:, 0]) + 0.05 * rng.normal(size=150)  # the second feature is noise
    >>> model = KernelRidgeCV(random_state=0).fit(X, y)
    >>> bool(model.loo_score_ > 0.98), bool(np.divide(*model.kernel_.length_scale) < 0.1)
    (True, True)
    """

    alpha_: float
    best_score_: float
    path_: dict[str, Any]
    ridge_: KernelRidge

    def __init__(
        self,
        alphas: Any = None,
        kernel: KernelLike | None = None,
        length_scales: Any = None,
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
        criterion: Literal["loo", "marginal"] = "loo",
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.length_scales = length_scales
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.device = device
        self.criterion = criterion

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Choose kernel and penalty, and fit; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, rows of numbers unless a kernel for other objects was given.
        y : array of shape (n,) or (n, targets)
            The targets; several share one kernel and one penalty.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, context)
        return self

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        argument = self._kernel_argument()
        X = argument.check(X, reset=True)
        n, place = length(X), argument.place(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        intercept = bool(self.fit_intercept)
        problem = Problem(Gaussian(), argument.points(X), targets, weights, intercept, place.memory, place.device)
        # Threads that wait for each other cost more than they gain on small matrices, above all on a busy machine.
        with threadpool_limits(1 if n <= SERIAL else None, user_api="blas"):
            found = self._search(problem, X, reporter(self, context))
            record = fit_ridge(
                replace(problem, kernel=found.kernel), np.full(targets.size // n, found.alpha), self.solver,
                random_state=self.random_state, name=type(self).__name__,
            )  # fmt: skip
        self._keep(found, record, X)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.ridge import fit_table
        from mercer.distributed.ridge_search import pool_rows
        from mercer.distributed.table import read_table

        table = read_table(cluster, self._kernel_argument(), "targets", X, y, sample_weight)
        pool, curves = pool_rows(table, bool(self.fit_intercept), self.memory, self.random_state, self.device)
        with threadpool_limits(1 if pool.n <= SERIAL else None, user_api="blas"):  # as in a fit to rows that are here
            found = self._search(pool, table.head, cluster.step, curves)
        record = fit_table(
            table, found.kernel, np.full(table.survey.outputs, found.alpha), solver=self.solver, loo=True,
            fit_intercept=bool(self.fit_intercept), memory=self.memory, device=self.device,
            random_state=self.random_state, name=type(self).__name__,
        )  # fmt: skip
        self._keep(found, record, record.expansion.centers)

    def _search(self, problem: Problem, X: Rows, on_step: OnStep, curves: MakeCurves | None = None) -> RidgeChoice:
        """Choose kernel and penalty from points that are here."""
        self._check_criterion()
        wish, alphas = self.length_scales, None if self.alphas is None else check_alphas(self, self.alphas)
        tune = (isinstance(wish, str) and wish == "auto") or (wish is None and self.kernel is None)
        found = search_ridge(
            problem, None if tune and self.kernel is None else self._kernels(X, None if tune else wish), tune=tune,
            alphas=alphas, scorer=None if self.scoring is None else check_scoring(self, self.scoring), cv=self.cv,
            random_state=self.random_state, on_step=on_step, curves=curves, criterion=self.criterion,
            name=type(self).__name__,
        )  # fmt: skip
        if found.edge:
            warn_caller(f"{type(self).__name__}: {found.edge}")
        return found

    def _given_alpha(self) -> float:
        return self.alpha_

    def _whole_record(self, method: str) -> RidgeFit:
        check_is_fitted(self)
        return self.ridge_._rows_are_here(method)

    def _check_criterion(self) -> None:
        name = type(self).__name__
        if self.criterion not in NAMES:
            raise ValueError(f"{name}: criterion must be 'loo' or 'marginal', got {self.criterion!r}")
        if self.criterion == "loo":
            return
        if self.cv is not None or self.scoring is not None:
            raise ValueError(
                f"{name}: criterion='marginal' looks at all points at once and has no folds to score; leave out cv and "
                "scoring, or say criterion='loo'"
            )
        if self._kernel_argument().is_matrix:
            raise ValueError(
                f"{name}: criterion='marginal' finds the size of the kernel, and kernel='precomputed' has the one it "
                "has; give kernel=mercer.kernels.Precomputed(K) and row numbers as X, or say criterion='loo'"
            )

    def _keep(self, found: RidgeChoice, record: RidgeFit, X: Rows) -> None:
        self._forget()
        self.alpha_, self.best_score_, self.path_ = found.alpha, found.score, found.path
        self.ridge_ = KernelRidge._inside(self, found.alpha, record, X)
        self._keep_function(record, length(X))
        self.__dict__.pop("_loo", None)

    def _kernels(self, X: Rows, length_scales: Any) -> list[Kernel]:
        """Return the kernels to choose from as they are, or with each of the length scales given."""
        several = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        kernels: list[Kernel] = [Matern(1.5), Matern(2.5), Gaussian()]
        if self.kernel is not None:
            kernels = [kernel_argument(self, kernel).resolve(X) for kernel in several]
        if length_scales is None:
            return kernels
        if isinstance(length_scales, str | numbers.Number) or len(length_scales) == 0:
            example = "'auto', or a list of length scales to try such as [0.5, 1.0, 2.0]"
            raise ValueError(f"{type(self).__name__}: length_scales must be {example}; got {length_scales!r}")
        return [with_length_scale(kernel, value) for kernel in kernels for value in length_scales]

    def _kernel_argument(self) -> KernelArgument:
        """Return the kernel as data is checked for it: the sum of several."""
        if self.kernel is None:
            return TableArgument(self, None)
        several = isinstance(self.kernel, list | tuple)
        if several and not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            raise TypeError(
                f"{type(self).__name__}: several kernels must be mercer kernels, got {show_given(self.kernel)}"
            )
        return kernel_argument(self, sum(self.kernel[1:], self.kernel[0]) if several else self.kernel)
