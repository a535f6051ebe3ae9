"""Classification by kernel ridge regression in a learned metric."""

from __future__ import annotations

from typing import Any

from mercer.estimators.classifier import Labelled
from mercer.estimators.kernels import KernelLike
from mercer.kernels import Kernel
from mercer.learning.class_penalty import PenaltyChoice
from mercer.learning.tuning import OnStep
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.postponed import PostponedFit

from ..ridge_classifier import KernelRidgeClassifier
from .recursion import RecursiveFeatures


class RecursiveFeatureClassifier(RecursiveFeatures, KernelRidgeClassifier):
    """Least squares on labels of ±1 with a kernel whose metric is learned.

    The metric M of the distance √((x − z)ᵀM(x − z)) is learned as in
    :class:`~mercer.models.learned.regressor.RecursiveFeatureRegressor`, one for all classes: from the slopes
    of the functions of all of them, and by the gradient of their mean squared leave-one-out error.  The rest is
    :class:`~mercer.models.ridge_classifier.KernelRidgeClassifier`.

    Parameters
    ----------
    kernel : Kernel or list of Kernels, optional
        A kernel with slopes in x, or several to choose from, the first of which the metric is learned with; Matérn
        kernels with ν = 3⁄2 and 5⁄2 if not given.
    metric : {"auto", "full", "blocks", "diagonal"}, default="auto"
        Which entries of M may differ from 0.  "auto" tries all, a full M up to 500 features.
    blocks : list of lists of columns, optional
        Columns that belong together, such as the indicators of one category; "blocks" learns a full M inside each.
    rounds : int, default=2
        Rounds of recursive features.
    refine : bool, default=True
        Whether descents follow the rounds.
    alpha : float or "loo", default="loo"
        The penalty α, or "loo" to choose it from ``alphas``.
    alphas : sequence of floats, optional
        Penalties to choose from; 19 values from 1e-6 to 1e3 times the mean of k(x, x) if not given.
    fit_intercept : bool, default=True
        Whether to fit a constant b.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    solver : str, default="auto"
        Of the last fit, as for :class:`~mercer.models.ridge.KernelRidge`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of subsets, and of solvers that choose at random.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    metric_, feature_importances_, components_, component_shares_, candidates_
        As for :class:`~mercer.models.learned.regressor.RecursiveFeatureRegressor`.
    classes_, alpha_, alphas_, loo_errors_, loo_accuracy_, regressor_
        As for :class:`~mercer.models.ridge_classifier.KernelRidgeClassifier`.
    expansion_, kernel_, plan_, dual_coef_, intercept_, coef_primal_, objective_, residual_, n_iter_, converged_
        As for :class:`~mercer.models.ridge.KernelRidge`.

    Examples
    --------
    Two classes that differ by the sign of a sum of two features of five:

    >>> import numpy as np
    >>> from mercer.models.learned.classifier import RecursiveFeatureClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = np.where(X[:, 0] + X[:, 3] > 0, "up", "down")
    >>> model = RecursiveFeatureClassifier(random_state=0).fit(X, y)
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [0, 3]
    """

    def __init__(
        self,
        kernel: KernelLike | None = None,
        *,
        metric: str = "auto",
        blocks: Any = None,
        rounds: int = 2,
        refine: bool = True,
        alpha: Any = "loo",
        alphas: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.kernel = kernel
        self.metric = metric
        self.blocks = blocks
        self.rounds = rounds
        self.refine = refine
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.device = device

    def _leave_out(self) -> None:
        """Sets are made of folds: the metric was learned from all points, and would not be what it is without one."""

    def _find_kernel(self, problem: Problem, data: Labelled, on_step: OnStep) -> Kernel:
        return self._learn_kernel(problem, on_step)

    def _find_cluster_kernel(self, cluster: Any, table: Any) -> Kernel:
        from mercer.distributed.ridge_search import pool_rows

        pool, _ = pool_rows(table, bool(self.fit_intercept), self.memory, self.random_state, self.device)
        return self._learn_kernel(pool, cluster.step)

    def _keep(self, classes: Any, found: PenaltyChoice, record: RidgeFit | PostponedFit, X: Any) -> None:
        super()._keep(classes, found, record, X)
        self._keep_slopes(self.expansion_)
