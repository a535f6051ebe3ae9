"""Kernel ridge regression."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import device_memory
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import (
    accepts_sparse,
    all_or_nothing,
    checked_rows,
    cross_kernel,
    device_of,
    is_precomputed,
    training_kernel,
)
from mercer.estimators.progress import report_progress
from mercer.estimators.targets import check_alpha, check_targets, check_weights
from mercer.expansion import Expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel, Precomputed
from mercer.solvers.base import Problem, Solution
from mercer.solvers.evidence import warn_not_converged
from mercer.solvers.plan import Plan
from mercer.solvers.ridge.diagnosis import Diagnosis, diagnose
from mercer.solvers.ridge.interval import jackknife_plus, leave_one_out
from mercer.solvers.ridge.ladder import solve_ridge


class KernelRidge(KernelParams, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression: least squares in the space of a kernel, with a penalty on the norm.

    f and b minimise Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + α‖f‖².  By the representer theorem f = Σᵢ cᵢ k(xᵢ, ·), and without an
    intercept c = (K + αW⁻¹)⁻¹y.  Parameters, defaults and meaning are scikit-learn's where it has them.

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
    solver : {"auto", "primal", "spectral", "cholesky", "cg", "nystroem"}, default="auto"
        The algorithm; "auto" chooses by size, memory and kernel, and ``plan_`` says which and why.
    n_centers : int, optional
        How many centres a Nyström model has; "auto" makes one if this is given.  If not, as many as pay.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of solvers that choose at random.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted, that is, not positive semi-definite.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

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
    residual_ : float
        The certificate: √(rᵀWr / S) with the residual r = y − b − (K + αW⁻¹)c and the value S of what is minimised, to
        which a thousandth of the targets is added.  That value is above its minimum by at most rᵀWr, which bounds the
        error of all fitted values and of f itself.  Solutions
        in explicit features bound the same gap by their gradient, those of Nyström centres give the relative size of
        the next correction.
    converged_ : bool
        Whether ``residual_`` is at most 1e-5 (1e-6 for conjugate gradients, 1e-4 for Nyström centres on a device); if
        not there is one warning, with what to do.
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
    """

    _problem: Any  # None, as the targets are, if the rows stayed on a cluster
    _targets: Any

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
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

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function to data; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,) or (n, targets)
            The targets.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with report_progress(self, X, y), all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, targets)
        """
        check_is_fitted(self)
        if is_precomputed(self.kernel):
            return np.asarray(cross_kernel(self, X) @ self.dual_coef_ + self.intercept_)
        X = checked_rows(self, X, self.kernel, reset=False)
        return self.expansion_(X, memory=self.memory, device=self.device)

    def leave_one_out(self) -> np.ndarray:
        """Return what the model would predict at each training point had it been fitted without that point.

        Exactly, without refitting, with the same α: yᵢ − cᵢ/Gᵢᵢ.  Points of weight 0 were left out anyway.

        Returns
        -------
        array of shape (n,) or (n, targets), NaN if nothing is left to fit an intercept to
        """
        self._check_rows_are_here("leave_one_out")
        return leave_one_out(self)

    def predict_interval(self, X: Rows, coverage: float = 0.9) -> np.ndarray:
        """Return intervals that hold new targets with a probability of about ``coverage``: the jackknife+.

        With the leave-one-out errors Rᵢ, the ends are quantiles of f₋ᵢ(x) − Rᵢ and f₋ᵢ(x) + Rᵢ over all i.  If points
        are exchangeable the probability is at least 2·coverage − 1 whatever the distribution, and close to
        ``coverage`` in practice.  Ends are infinite where there are too few points for the coverage.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`predict`.
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        array of shape (m, 2)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
        >>> KernelRidge(alpha=0.1, kernel=Gaussian()).fit(X, y).predict_interval([[1.5]]).round(2)
        array([[0.91, 1.11]])
        """
        self._check_rows_are_here("predict_interval")
        return jackknife_plus(self, X, coverage)

    def diagnose(self) -> Diagnosis:
        """Return how the fit is doing: spectrum, degrees of freedom, leave-one-out error, and a sentence of advice."""
        self._check_rows_are_here("diagnose")
        return diagnose(self)

    def _check_rows_are_here(self, method: str) -> None:
        """Raise if the model was fitted to rows that stayed on a cluster."""
        check_is_fitted(self)
        if self._problem is None:
            raise ValueError(
                f"{type(self).__name__}.{method} needs the training rows, which stayed on the cluster this model was "
                "fitted on; mercer.distributed.leave_one_out(model, X, y) gives leave-one-out predictions there, and "
                "a fit to X.compute() has everything if it fits into memory"
            )

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")
        X = checked_rows(self, X, self.kernel, reset=True)
        targets = check_targets(self, y, length(X))
        weights = check_weights(self, sample_weight, length(X))
        kernel, points = self._kernel_and_points(X)
        problem, kept = self._problem_of(kernel, points, targets, weights)
        penalty = check_alpha(self, self.alpha, problem.y.shape[1])
        if self.scaling == "mean":
            penalty = penalty * (problem.n if problem.weights is None else problem.weights.sum())
        chosen, solution = self._solve(problem, penalty)
        places = solution.centers if isinstance(kernel, Precomputed) else kept
        coef = solution.coef
        if places is not None and length(solution.centers) == len(places):
            coef = np.zeros((length(X), coef.shape[1]))
            coef[places] = solution.coef
        columns: Any = (slice(None), 0) if targets.ndim == 1 else slice(None)
        intercept = solution.intercept[0] if targets.ndim == 1 else solution.intercept
        explicit = solution.explicit(columns)
        self.expansion_ = Expansion(kernel, solution.centers, solution.coef[columns], intercept, explicit)
        self.kernel_, self.plan_, self.X_fit_ = kernel, chosen, X
        self.dual_coef_, self.intercept_ = coef[columns], intercept
        self.residual_, self.n_iter_, self.converged_ = solution.residual, solution.n_iter, solution.converged
        self._problem, self._penalty, self._kept, self._targets = problem, penalty, kept, targets

    def _kernel_and_points(self, X: Any) -> tuple[Kernel, Any]:
        options = ("gamma", "degree", "coef0", "kernel_params")
        given = {name: getattr(self, name) for name in options}
        kernel = training_kernel(self, self.kernel, X, assume_psd=self.assume_psd, **given)
        return kernel, np.arange(X.shape[0]) if is_precomputed(self.kernel) else X

    def _problem_of(
        self, kernel: Kernel, X: Rows, y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Problem, np.ndarray | None]:
        """Return the problem, and which points are in it if some have no weight."""
        y, kept = y.reshape(len(y), -1), None
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights)
            X, y, weights = pick(X, kept), y[kept], weights[kept]
        device = None if isinstance(kernel, Precomputed) else device_of(self, X)
        memory = parse_memory(self.memory) if device is None else device_memory(device, self.memory)
        return Problem(kernel, X, y, weights, bool(self.fit_intercept), memory, device), kept

    def _solve(self, problem: Problem, alpha: np.ndarray) -> tuple[Plan, Solution]:
        chosen, solution, prepared = solve_ridge(
            problem, alpha, self.solver, random_state=self.random_state, n_centers=self.n_centers
        )
        name = type(self).__name__
        if not solution.converged:
            warn_not_converged(
                f"{name} ({chosen.solver})", solution.residual, solution.tolerance, solution.remedy, stacklevel=6
            )
        rank = int(np.sum(getattr(prepared, "eigenvalues", np.ones(problem.n)) != 0.0))
        if self.solver == "auto" and (alpha == 0).any() and rank < problem.n:
            warnings.warn(
                f"{name}: alpha=0 and the kernel matrix is singular (rank {rank} of {problem.n}), so this is the "
                "least-squares fit of smallest norm; give a positive alpha, or say "
                f"solver={chosen.solver!r} to accept it without this warning",
                stacklevel=6,
            )
        return chosen, solution

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
