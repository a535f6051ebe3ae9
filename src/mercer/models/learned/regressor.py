"""Kernel ridge regression in a learned metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from mercer.estimators.kernels import KernelLike
from mercer.estimators.targets import check_alphas
from mercer.formula.data import Rows
from mercer.learning.choice import MakeCurves
from mercer.learning.metrics.search import OnStep
from mercer.learning.search import RidgeChoice, search_ridge
from mercer.learning.target_units import TargetUnits
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import RidgeFit

from ..ridge_cv import KernelRidgeCV
from .recursion import RecursiveFeatures

PATH_ROWS = 1500  # that the last penalty is chosen from; the metric came from fewer
MANY, ALIKE = (
    10_000,
    0.05,
)  # rows beyond which the largest penalty is taken that is no worse than this share of the error


class RecursiveFeatureRegressor(RecursiveFeatures, KernelRidgeCV):
    """Kernel ridge regression that learns the metric of its kernel: which directions of the features matter, and how.

    The kernel is a function of the distance √((x − z)ᵀM(x − z)).  M is learned in two ways.  *Recursive features*
    (Radhakrishnan, Beaglehole, Pandit and Belkin 2024): fit f, set M to the average of ∇f(xᵢ)∇f(xᵢ)ᵀ without the
    point's own term, fit again.  *Descent*: follow the gradient of the exact leave-one-out error by all entries of M at
    once.  Both are done for a diagonal M and for a full one, and the exact leave-one-out error of rows that M was not
    learned from chooses among all of them, with kernel, scale and penalty; then all rows are learned from.  There is no
    validation set to hold back.

    Parameters
    ----------
    kernel : Kernel or list of Kernels, optional
        A kernel with slopes in x, or several to choose from: of a distance, such as ``Matern``, ``Gaussian`` or
        ``PowerExponential``.  The metric is learned with the first, and all are tried in it.  Matérn kernels with
        ν = 3⁄2 and 5⁄2 if not given.
    metric : {"auto", "full", "blocks", "diagonal"}, default="auto"
        Which entries of M may differ from 0.  "auto" tries all, a full M up to 500 features.
    blocks : list of lists of columns, optional
        Columns that belong together, such as the indicators of one category; "blocks" learns a full M inside each.
    rounds : int, default=2
        Rounds of recursive features.
    refine : bool, default=True
        Whether descents follow the rounds.
    alphas : sequence of floats, optional
        Positive penalties to choose from; if not given a path over twelve decades, of which beyond 10,000 rows on the
        host the largest is taken whose error is within 5 % of the least.
    scoring : str or callable, optional
        What the last choice of the penalty goes by, as in scikit-learn; the mean squared error if not given.
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

    Attributes
    ----------
    kernel_ : Kernel
        The learned kernel, a kernel as any other: with a length scale for each feature, or after a
        :class:`~mercer.kernels.LinearMap`.
    metric_ : array of shape (d, d)
        M, of distances between points in their own units.
    feature_importances_ : array of shape (d,)
        The share of each feature, divided by its deviation, in the mean squared slope of f; their sum is 1.
    components_ : array of shape (r, d)
        Directions along which f changes most, unit vectors of features divided by their deviation.
    component_shares_ : array of shape (r,)
        Their shares in the mean squared slope.
    candidates_ : list of dict
        What was chosen from: ``"origin"`` (how it was learned), ``"kernel"``, ``"error"`` (mean squared leave-one-out
        error of rows that it was not learned from, targets divided by their deviation) and ``"alpha"``.
    alpha_, best_score_, path_, ridge_, loo_predictions_, loo_score_
        As in :class:`~mercer.models.ridge_cv.KernelRidgeCV`.
    expansion_, plan_, dual_coef_, intercept_, coef_primal_, objective_, residual_, n_iter_, converged_
        As in :class:`~mercer.models.ridge.KernelRidge`.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    Metrics are learned from at most 1,200 rows a round and 1,000 a step, and judged by at most 1,500 others; only the
    last fit sees all rows, whatever their number.  ``loo_score_`` is of all rows with the metric fixed, which has seen
    them: it is a little better than the errors in ``candidates_``.

    Examples
    --------
    One direction of three features matters:

    >>> import numpy as np
    >>> from mercer.models.learned.regressor import RecursiveFeatureRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.sin(2.0 * (X[:, 0] + X[:, 1])) + 0.01 * rng.normal(size=300)
    >>> model = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    >>> np.abs(model.components_[0]).round(1), bool(model.component_shares_[0] > 0.95)
    (array([0.7, 0.7, 0. ]), True)
    """

    def __init__(
        self,
        kernel: KernelLike | None = None,
        *,
        metric: str = "auto",
        blocks: Any = None,
        rounds: int = 2,
        refine: bool = True,
        alphas: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
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
        self.alphas = alphas
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.device = device

    def _search(self, problem: Problem, X: Rows, on_step: OnStep, curves: MakeCurves | None = None) -> RidgeChoice:
        """Learn the metric, and choose the penalty of the kernel in it."""
        alphas = None if self.alphas is None else check_alphas(self, self.alphas)
        columns = problem.y.reshape(len(problem.y), -1)
        units = TargetUnits.of(columns, problem.weights, centred=problem.fit_intercept)
        kernel = self._learn_kernel(replace(problem, y=units.relative(columns)), on_step)
        found = search_ridge(
            problem, [kernel], alphas=alphas, most=PATH_ROWS, random_state=self.random_state, curves=curves,
            scorer=None if self.scoring is None else check_scoring(self, self.scoring), name=type(self).__name__,
        )  # fmt: skip
        if alphas is not None or self.scoring is not None or problem.n <= MANY or not problem.place.on_host:
            return found
        # Errors are flat where penalties are small, and the smaller the penalty, the longer the last fit takes.
        errors = found.path["errors"][0]
        good = np.flatnonzero(errors <= (1.0 + ALIKE) * -found.score)
        if len(good) == 0 or found.path["alphas"][good[-1]] <= found.alpha:
            return found
        return replace(found, alpha=float(found.path["alphas"][good[-1]]), score=-float(errors[good[-1]]))

    def _keep(self, found: RidgeChoice, record: RidgeFit, X: Rows) -> None:
        super()._keep(found, record, X)
        self._keep_slopes(record.expansion)
