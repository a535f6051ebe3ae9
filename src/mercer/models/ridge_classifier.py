"""Classification by kernel ridge regression on the labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from mercer.features._params import KernelParams
from mercer.gram.budget import parse_memory
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.data import Rows, length, pick
from mercer.solvers.base import Problem
from mercer.solvers.plan import SPECTRAL_LIMIT, make_solver, plan_problem

from ._kernel_argument import (
    accepts_sparse,
    all_or_nothing,
    checked_rows,
    default_gaussian,
    is_precomputed,
    training_kernel,
)
from ._targets import checked_labels, checked_weights, encoded
from .ridge import KernelRidge

GRID = np.logspace(-6, 3, 19)  # times the mean of k(x, x)

SHARED = ("expansion_", "kernel_", "plan_", "dual_coef_", "intercept_", "residual_", "n_iter_", "converged_")


class KernelRidgeClassifier(KernelParams, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    Attributes
    ----------
    classes_ : array
        The labels.
    alpha_ : float
        The penalty used.
    alphas_, loo_errors_ : array
        Those tried, if it was chosen, and the mean leave-one-out squared error of each.
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
        with all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

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

    def predict(self, X: Rows) -> np.ndarray:
        """Return the most likely class of all points.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,)
        """
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def _argument(self) -> Any:
        return Gaussian() if self.kernel is None else self.kernel

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = checked_rows(self, X, self._argument(), reset=True)
        classes, targets = self._labels(y, length(X))
        weights = checked_weights(self, sample_weight, length(X))
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, np.asarray(y))
            weights = balance if weights is None else weights * balance
        kernel = self._kernel(X, weights)
        alpha, tried = self._penalty(kernel, X, targets, weights)
        regressor = KernelRidge(
            alpha,
            kernel="precomputed" if is_precomputed(self.kernel) else kernel,
            fit_intercept=self.fit_intercept,
            solver=self.solver,
            memory=self.memory,
            random_state=self.random_state,
            assume_psd=True,
        ).fit(X, targets, weights)
        self.classes_, self.alpha_, self.regressor_ = classes, alpha, regressor
        for name in ("alphas_", "loo_errors_", "loo_accuracy_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(tried)
        for name in (
            "expansion_",
            "kernel_",
            "plan_",
            "dual_coef_",
            "intercept_",
            "residual_",
            "n_iter_",
            "converged_",
        ):
            setattr(self, name, getattr(regressor, name))

    def _labels(self, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes, and targets of ±1: one column for two classes, otherwise one for each."""
        classes, codes = encoded(self, checked_labels(self, y, n))
        if len(classes) == 2:
            return classes, 2.0 * codes - 1.0
        return classes, 2.0 * (codes[:, None] == np.arange(len(classes))) - 1.0

    def _kernel(self, X: Any, weights: np.ndarray | None) -> Kernel:
        if self.kernel is None:
            return default_gaussian(X, weights)
        return training_kernel(self, self.kernel, X, assume_psd=self.assume_psd)

    def _penalty(
        self, kernel: Kernel, X: Any, targets: np.ndarray, weights: np.ndarray | None
    ) -> tuple[float, dict[str, Any]]:
        """Return the penalty, and what was found on the way."""
        if not isinstance(self.alpha, str):
            return self.alpha, {}
        if self.alpha != "loo":
            raise ValueError(f"{type(self).__name__}: alpha must be a number or 'loo', got {self.alpha!r}")
        memory = parse_memory(self.memory)
        points = np.arange(len(targets)) if weights is None else np.flatnonzero(weights)
        everything = np.arange(length(X)) if is_precomputed(self.kernel) else X

        def problem_at(chosen: np.ndarray) -> Problem:
            y = targets.reshape(len(targets), -1)[chosen]
            part = None if weights is None else weights[chosen]
            return Problem(kernel, pick(everything, chosen), y, part, bool(self.fit_intercept), memory)

        problem = problem_at(points)
        grid = self._grid(problem)
        solver = plan_problem(problem, np.ones(problem.y.shape[1]), loo=True).solver
        if solver not in ("primal", "spectral"):
            rng = check_random_state(self.random_state)
            few = rng.choice(points, min(len(points), SPECTRAL_LIMIT), replace=False)
            problem, solver = problem_at(few), "spectral"
        prepared: Any = make_solver(solver).prepare(problem)
        q = problem.y.shape[1]
        path = (
            prepared.loo(grid) if solver == "spectral" else (prepared.solve(np.full(q, a), loo=True).loo for a in grid)
        )
        errors, accuracies = [], []
        for residuals in path:
            residuals = np.nan_to_num(residuals, nan=1.0)  # nothing was left to fit: as good as a prediction of 0
            right = _winner(problem.y - residuals) == _winner(problem.y)
            errors.append(float(np.average((residuals**2).mean(axis=1), weights=problem.weights)))
            accuracies.append(float(np.average(right, weights=problem.weights)))
        best = int(np.argmin(errors))
        found = {"alphas_": grid, "loo_errors_": np.array(errors), "loo_accuracy_": accuracies[best]}
        return float(grid[best]), found

    def _grid(self, problem: Problem) -> np.ndarray:
        if self.alphas is None:
            size = float(np.abs(problem.kernel.diag(problem.X)).mean())
            return GRID * (size if size > 0 else 1.0)
        grid = np.asarray(self.alphas, dtype=np.float64)
        if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid).all() and (grid > 0).all()):
            raise ValueError(f"{type(self).__name__}: alphas must be positive numbers in a list, got {self.alphas!r}")
        return grid

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel is None or accepts_sparse(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def _winner(values: np.ndarray) -> np.ndarray:
    return values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
