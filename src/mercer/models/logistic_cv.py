"""Kernel logistic regression that chooses its penalty and its length scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.estimators.kernels import KernelLike
from mercer.estimators.penalized import OnStep, go_on
from mercer.estimators.penalty_search import PenaltySearch
from mercer.estimators.probability import LogisticClassifier
from mercer.estimators.targets import check_positive, check_whole
from mercer.formula.data import Rows
from mercer.solvers.base import Problem
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.plan import Plan

from .logistic import KernelLogisticRegression

GRID = np.logspace(-4, 2, 13)  # times the mean of k(x, x)


class KernelLogisticRegressionCV(PenaltySearch, LogisticClassifier):
    """Kernel logistic regression with the penalty and the length scale of least log-loss on points left out.

    Points are left out one at a time without refitting: one Newton step from the fit of all points gives the outputs of
    the fit without each.  That is used up to 1,500 points times functions, and verified at the best penalty by real
    refits without the ten points that it says change most: if their log-losses are off by more than a tenth in all, or
    if there are more points, or ``cv`` says so, k folds are used instead.  Fits follow the penalties downwards, each
    from the last.

    Parameters
    ----------
    alphas : sequence of floats, optional
        Positive penalties to choose from; 13 from 1e-4 to 1e2 times the mean of k(x, x) if not given.
    kernel : Kernel, str, callable or sequence of Kernels, optional
        As for :class:`~mercer.models.logistic.KernelLogisticRegression`, or several kernels to choose from.
    length_scales : sequence, optional
        Length scales to try, in every place of the kernel that has one.  If not given, a kernel that was given keeps
        its own, and the default Gaussian is tried with ¼, ½, 1 and 2 times its own.
    cv : int, splitter or iterable, optional
        Folds to choose by; if not given, points are left out one at a time where that is accurate, else five folds.
    fit_intercept : bool, default=True
        Whether to fit constants, which the penalty leaves alone.
    class_weight : dict or "balanced", optional
        Weights of the classes, in the fits and in the log-loss.
    solver, n_centers : optional
        Of the last fit, as for :class:`~mercer.models.logistic.KernelLogisticRegression`.
    tol : float, default=1e-8
        The duality gap of the last fit, relative to the objective.
    max_iter : int, default=100
        The most Newton steps of a fit.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the sample that penalties are chosen on when there are more than 5,000 points, and of solvers.
    assume_psd : bool, default=False
        Whether to use mercer kernels even if they are refuted.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen.
    kernel_ : Kernel
        The kernel chosen, with its length scale.
    best_score_ : float
        Minus the mean log-loss that they reached on points left out.
    path_ : dict
        ``"alphas"`` (p,); ``"kernels"``, the m kernels compared; ``"length_scales"`` of each (None where there is
        none); ``"log_losses"`` (m, p); and ``"by"``, "leave-one-out" or "folds".
    logistic_ : KernelLogisticRegression
        The model fitted to all points with ``alpha_`` and ``kernel_``.
    classes_, expansion_, expansions_, plan_, dual_coef_, intercept_, objective_, n_iter_
        As in that model.
    duality_gap_, restricted_gap_, converged_
        As in that model.
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Notes
    -----
    Each kernel of the path is a task for ``sklearn.callback``, such as its ProgressBar.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.logistic_cv import KernelLogisticRegressionCV
    >>> X, y = make_moons(150, noise=0.25, random_state=0)
    >>> model = KernelLogisticRegressionCV().fit(X, y)
    >>> model.path_["by"], model.path_["log_losses"].shape, model.best_score_ > -0.3
    ('leave-one-out', (4, 13), True)
    """

    _path_of = "log_losses"

    logistic_: KernelLogisticRegression
    plan_: Plan

    def __init__(
        self,
        alphas: Any = None,
        kernel: KernelLike | None = None,
        length_scales: Any = None,
        cv: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        n_centers: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.length_scales = length_scales
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep = go_on) -> None:
        check_positive(self, "tol", self.tol)
        check_whole(self, "max_iter", self.max_iter)
        self.logistic_ = self._fit_best(KernelLogisticRegression, X, y, sample_weight, on_step)

    def _find_judge(self) -> KernelLogisticRegression:
        return self.logistic_

    def _find_alphas(self, problems: list[Problem], loss: WeightedLoss) -> np.ndarray:
        if self.alphas is not None:
            return super()._find_alphas(problems, loss)
        level = float(np.mean([np.mean(problem.kernel.diag(host_array(problem.X))) for problem in problems]))
        return GRID * (level if level > 0 else 1.0)
