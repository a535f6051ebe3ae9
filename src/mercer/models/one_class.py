"""The one-class support vector machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.kernels import KernelLike
from mercer.estimators.machines.base import SupportVectorMachine
from mercer.estimators.progress import with_callbacks
from mercer.formula.data import Rows
from mercer.solvers.machines.problems import MachineProblems, SharedRegion


class OneClassSVM(OutlierMixin, SupportVectorMachine):  # type: ignore[misc]
    """Novelty detection: the region that holds most points, as the set where a function of the kernel is large.

    f = Σᵢ βᵢ k(xᵢ, ·) where β minimises ½βᵀKβ with 0 ≤ βᵢ ≤ wᵢ and Σβᵢ = νΣw.  Points with f(x) < ρ are outliers: at
    most a share ν of all weight, and at least that share is on support vectors.  Parameters, defaults and attributes
    are scikit-learn's where it has them.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol
        As for :class:`~mercer.models.svm.SVC`.
    nu : float, default=0.5
        ν, above 0 and at most 1.
    shrinking, cache_size, verbose, max_iter, max_time, memory, assume_psd, device
        As for :class:`~mercer.models.svm.SVC`.

    Attributes
    ----------
    offset_ : array of shape (1,)
        ρ: the decision function is ``score_samples`` minus this.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As for :class:`~mercer.models.svr.SVR`; the intercept is −ρ.
    alpha_, margin_set_
        As for :class:`~mercer.models.svm.SVC`, with Cᵢ = wᵢ; points on the margin have f(x) = ρ.
    objective_ : Objective
        What was minimised: ``loss`` is Σ wᵢ max(0, ρ − f(xᵢ)) − νρΣw, ``penalty`` is ½‖f‖².
    expansion_, coef_primal_, kernel_, plan_, duality_gap_, violation_, converged_, fit_status_
        As for :class:`~mercer.models.svm.SVC`.
    shape_fit_, n_features_in_, feature_names_in_
        The shape of the training data, and number and names of its columns.

    Examples
    --------
    >>> from mercer.models.one_class import OneClassSVM
    >>> model = OneClassSVM(gamma="auto", nu=0.5).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes; the matrix of the kernel if it is precomputed.
        y : object, optional
            Not used.
        sample_weight : array of shape (n,), optional
            Bounds on each coefficient.  A point whose weight is 0 or less takes no part.
        """
        return self._run(X, y, sample_weight)

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return f(x) − ρ, positive inside the region.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,)
        """
        return self._values(X)[:, 0]

    @where_the_data_lives
    def score_samples(self, X: Rows) -> np.ndarray:
        """Return f(x).

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`decision_function`.

        Returns
        -------
        array of shape (m,)
        """
        return self._values(X)[:, 0] + self.offset_

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return 1 for points inside the region and −1 for others.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`decision_function`.

        Returns
        -------
        array of int, shape (m,)
        """
        return np.where(self._values(X)[:, 0] > 0, 1, -1).astype(np.intp)

    @property
    @in_the_kind_given
    def offset_(self) -> np.ndarray:
        """ρ."""
        return -self.intercept_

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        return MachineProblems(SharedRegion(float(self.nu)), np.ones(len(weights)), weights)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.svm import fit_svm

        self._keep(*fit_svm(self, cluster, X, None, sample_weight))
