"""The import vector machine."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.estimators.classifier import Labelled
from mercer.estimators.kernels import KernelLike
from mercer.estimators.penalized import OnStep, go_on
from mercer.estimators.probability import LogisticClassifier
from mercer.estimators.targets import check_positive, check_whole
from mercer.formula.data import Rows, pick
from mercer.losses import Loss
from mercer.solvers.newton.import_vectors import ImportVectorFit, ImportVectorSearch


class ImportVectorMachine(LogisticClassifier):
    """Kernel logistic regression on a few points, chosen one by one: a small model that has probabilities.

    Minimises the objective of :class:`~mercer.models.logistic.KernelLogisticRegression`, −Σᵢ wᵢ ln p(yᵢ | xᵢ) + α
    Σ‖f‖², over functions f = Σⱼ cⱼ k(zⱼ, ·) of import vectors z.  These are chosen among the training points greedily:
    in each round the one is added from which one Newton step promises the largest drop of the objective, and all
    coefficients are fitted again, until the objective hardly falls (Zhu and Hastie, "Kernel logistic regression and the
    import vector machine", 2005).  If no search ends early, all points are in and the model is kernel logistic
    regression itself.

    Parameters
    ----------
    alpha : float, default=0.1
        The penalty α > 0.
    kernel : Kernel, str or callable, optional
        As for :class:`~mercer.models.logistic.KernelLogisticRegression`.
    fit_intercept : bool, default=True
        Whether to fit constants, which the penalty leaves alone.
    scaling : {"sum", "mean"}, default="sum"
        Whether losses are summed or averaged.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    candidates : int, optional
        How many random points are judged in each round; all if not given.
    block_size : int, default=1
        How many points are added in a round.  With more than one, the best is followed by the next best of which at
        most half (a squared cosine of ¼) is explained by each of those before: fewer rounds, at the price of some more
        vectors.
    look_back : int, default=1
        Over how many rounds the drop of the objective is measured; more than one sees past a poor round.
    min_drop : float, default=0.001
        The search ends when that drop is below this share of the objective; 0 goes on until every point is explained.
    max_vectors : int, optional
        The most import vectors.
    deletion : bool, default=False
        Whether to remove import vectors in the end, one at a time, each while the objective rises by less than
        ``min_drop`` of it.
    tol : float, default=1e-8
        The duality gap of the last fit, relative to the objective.
    max_iter : int, default=100
        The most Newton steps of a fit.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of ``candidates``.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted.

    Attributes
    ----------
    import_vectors_ : collection of m objects
        The points chosen (rows of the Gram matrix if it was precomputed), in the order of choice.
    import_indices_ : int array of shape (m,)
        Which of the training points they are.
    n_import_vectors_ : int
        m.
    objective_history_ : array
        The objective without any vector, and after each round of the search; it falls.
    objective_ : float
        The objective in the end, in the sum form; larger than the last of the history only after deletions.
    duality_gap_ : DualityGap
        How far above the minimum over all functions of the kernel the objective may be at most: what more vectors could
        still gain.
    restricted_gap_ : float
        How far above the minimum over functions of the vectors chosen it may be at most.
    converged_ : bool
        Whether ``restricted_gap_`` is at most ``tol`` times ``objective_``.
    n_iter_ : int
        Rounds of the search.
    classes_, expansion_, expansions_, kernel_, intercept_
        As for :class:`~mercer.models.logistic.KernelLogisticRegression`.
    dual_coef_ : array of shape (m,) or (m, classes)
        The coefficients at the import vectors (at all points if the kernel is precomputed).
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.import_vector import ImportVectorMachine
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = ImportVectorMachine().fit(X, y)
    >>> model.n_import_vectors_ < 25, model.score(X, y) > 0.95
    (True, True)
    """

    import_vectors_: Rows
    import_indices_: np.ndarray
    n_import_vectors_: int
    objective_history_: np.ndarray

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        scaling: Literal["sum", "mean"] = "sum",
        class_weight: Any = None,
        candidates: int | None = None,
        block_size: int = 1,
        look_back: int = 1,
        min_drop: float = 1e-3,
        max_vectors: int | None = None,
        deletion: bool = False,
        tol: float = 1e-8,
        max_iter: int = 100,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.class_weight = class_weight
        self.candidates = candidates
        self.block_size = block_size
        self.look_back = look_back
        self.min_drop = min_drop
        self.max_vectors = max_vectors
        self.deletion = deletion
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep = go_on) -> None:
        search = self._search()
        data = self._check_data(X, y, sample_weight)
        alpha = self._scale_penalty(float(data.weights.sum()))
        problem, loss = self._pose_problem(self._resolve_kernel(self.kernel, data), data)
        rng = check_random_state(self.random_state)
        self._keep(search.search(problem, loss, alpha, rng, on_step, type(self).__name__), loss.loss, data)

    def _keep(self, fit: ImportVectorFit, loss: Loss, data: Labelled) -> None:  # type: ignore[override]
        super()._keep(fit, loss, data)
        assert fit.positions is not None  # they are some of the points
        self.import_indices_ = data.kept[fit.positions]
        self.import_vectors_ = pick(data.X, self.import_indices_)
        self.n_import_vectors_ = len(fit.positions)
        self.objective_history_ = np.array(fit.history)

    def _search(self) -> ImportVectorSearch:
        if not 0 <= self.min_drop < 1:
            raise ValueError(f"{type(self).__name__}: min_drop must be from 0 to below 1, got {self.min_drop!r}")
        return ImportVectorSearch(
            candidates=check_whole(self, "candidates", self.candidates, none=True),
            block_size=check_whole(self, "block_size", self.block_size),
            look_back=check_whole(self, "look_back", self.look_back),
            min_drop=float(self.min_drop),
            max_vectors=check_whole(self, "max_vectors", self.max_vectors, none=True),
            deletion=bool(self.deletion),
            tol=check_positive(self, "tol", self.tol),
            max_iter=check_whole(self, "max_iter", self.max_iter),
        )
