"""Classification by kernel ridge regression on the labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.tensors import host_array
from mercer.estimators.classifier import KernelClassifier, Labelled, winners
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import all_or_nothing, checked_rows, is_precomputed, place_of
from mercer.estimators.progress import report_progress
from mercer.estimators.targets import check_alphas
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.learning.choice import best_place, part
from mercer.solvers.base import Problem
from mercer.solvers.plan import SPECTRAL_LIMIT, make_solver, plan_problem
from mercer.solvers.ridge.banded import loo_path
from mercer.solvers.rounding import outweighs_rounding

from .ridge import KernelRidge

GRID = np.logspace(-6, 3, 19)  # times the mean of k(x, x)

SHARED = ("expansion_", "kernel_", "plan_", "dual_coef_", "intercept_", "residual_", "n_iter_", "converged_")


class KernelRidgeClassifier(CallbackSupportMixin, KernelClassifier):  # type: ignore[misc]
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
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

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
    expansion_, kernel_, plan_, dual_coef_, intercept_, residual_, n_iter_, converged_
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

    def __init__(
        self,
        alpha: Any = "loo",
        *,
        alphas: Any = None,
        kernel: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
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

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        """
        with report_progress(self, X, y), all_or_nothing(self):
            self._fit(X, y, sample_weight)
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
        check_is_fitted(self)
        if not is_precomputed(self.kernel):
            X = checked_rows(self, X, self._argument(), reset=False)
        return self.regressor_.predict(X)

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        data = self._labelled(X, y, sample_weight)
        kernel, targets = self._resolved(self.kernel, data), targets_of(data.codes, len(data.classes))
        alpha, tried = self._penalty(kernel, data, targets)
        # The regression sees all points, so that it has a coefficient for each; those without a weight stay out of it.
        everything, weights = np.zeros((length(data.X), *targets.shape[1:])), np.zeros(length(data.X))
        everything[data.kept], weights[data.kept] = targets, data.weights
        regressor = KernelRidge(
            alpha,
            kernel="precomputed" if is_precomputed(self.kernel) else kernel,
            fit_intercept=self.fit_intercept,
            solver=self.solver,
            memory=self.memory,
            random_state=self.random_state,
            assume_psd=True,
            device=self.device,
        ).fit(data.X, everything, None if (weights == 1.0).all() else weights)
        self._keep_regressor(data.classes, alpha, regressor, tried)

    def _keep_regressor(self, classes: np.ndarray, alpha: float, regressor: KernelRidge, tried: dict[str, Any]) -> None:
        self.classes_, self.alpha_, self.regressor_ = classes, alpha, regressor
        for name in ("alphas_", "loo_errors_", "loo_accuracy_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(tried)
        for name in SHARED:
            setattr(self, name, getattr(regressor, name))

    def _penalty(self, kernel: Kernel, data: Labelled, targets: np.ndarray) -> tuple[float, dict[str, Any]]:
        """Return the penalty, and what was found on the way."""
        if not isinstance(self.alpha, str):
            return self.alpha, {}
        if self.alpha != "loo":
            raise ValueError(f"{type(self).__name__}: alpha must be a number or 'loo', got {self.alpha!r}")
        weights = None if (data.weights == 1.0).all() else data.weights
        y = targets.reshape(len(targets), -1)
        device, memory = place_of(self, data.X)
        problem = Problem(kernel, data.points, y, weights, bool(self.fit_intercept), memory, device)
        grid, q = self._grid(problem), y.shape[1]
        if plan_problem(problem, np.ones(q), loo=True).solver == "primal":
            prepared = make_solver("primal").prepare(problem)
            path: list[Any] = [prepared.solve(np.full(q, a), loo=True).loo for a in grid]
            total = problem.n if problem.weights is None else float(problem.weights.sum())
            return best_of(grid, np.array([judged(left, problem.y, problem.weights) for left in path]) / total)
        if problem.n > SPECTRAL_LIMIT:
            few = check_random_state(self.random_state).choice(problem.n, SPECTRAL_LIMIT, replace=False)
            problem = part(problem, few)
        return best_of(grid, judged_path(problem, grid))

    def _grid(self, problem: Problem) -> np.ndarray:
        if self.alphas is None:
            on_host = problem.device is None
            diagonal = problem.kernel.diag(problem.X) if on_host else host_array(problem.gram().diag())
            return relative_grid(float(np.abs(diagonal).mean()))
        return check_alphas(self, self.alphas)


def targets_of(codes: np.ndarray, classes: int) -> np.ndarray:
    """Return targets of ±1: one column for two classes, otherwise one for each."""
    if classes == 2:
        return 2.0 * codes - 1.0
    return 2.0 * (codes[:, None] == np.arange(classes)) - 1.0


def relative_grid(size: float) -> np.ndarray:
    """Return the penalties to try for a kernel whose k(x, x) is of this size."""
    return GRID * (size if size > 0 else 1.0)


def judged(residuals: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Return the weighted sums, over points, of squared leave-one-out errors and of classes that are right."""
    residuals = np.nan_to_num(residuals, nan=1.0)  # nothing was left to fit: as good as a prediction of 0
    weights = np.ones(len(y)) if weights is None else weights
    right = winners(y - residuals) == winners(y)
    return float(weights @ (residuals**2).mean(axis=1)), float(weights @ right)


def judged_path(problem: Problem, grid: np.ndarray) -> np.ndarray:
    """Return the weighted means of :func:`judged` for each penalty; the error is infinite where it may be rounding."""
    path = loo_path(problem)(grid)
    total = problem.n if problem.weights is None else float(problem.weights.sum())
    means = np.array([judged(residuals, problem.y, problem.weights) for residuals in path]) / total
    means[~outweighs_rounding(problem, grid, path), 0] = np.inf
    return means


def best_of(grid: np.ndarray, means: np.ndarray) -> tuple[float, dict[str, Any]]:
    """Return the penalty of least error, the largest of equals, and what tells of the search; means has two columns."""
    best = best_place(-means[None, :, 0], grid)[1]
    return float(grid[best]), {"alphas_": grid, "loo_errors_": means[:, 0], "loo_accuracy_": float(means[best, 1])}
