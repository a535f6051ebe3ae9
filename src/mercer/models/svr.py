"""Support vector regression."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.regressor import IntervalRegressor
from mercer.estimators.kernels import KernelLike
from mercer.estimators.machines.base import SupportVectorMachine
from mercer.estimators.targets import check_targets
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.losses import EpsilonInsensitive
from mercer.solvers.machines.fit import MachineFit
from mercer.solvers.machines.problems import MachineProblems, Priced, SharedTube


class SupportVectorRegressor(IntervalRegressor, RegressorMixin, SupportVectorMachine):  # type: ignore[misc]
    """What both regressions share."""

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,)
        """
        return self._values(X)[:, 0]

    @property
    @in_the_kind_given
    def alpha_(self) -> np.ndarray:
        """α and α* of all m training points, shape (m, 2): β = α − α*, and one of the two is 0.

        0 ≤ α ≤ Cᵢ pulls f up to points above the tube, 0 ≤ α* ≤ Cᵢ down to those below it.
        """
        beta = self._spread("alpha_")
        return np.maximum(np.hstack([beta, -beta]), 0.0)

    def _keep(self, fit: MachineFit, kernel: Kernel, X: Rows) -> None:
        self._forget()
        super()._keep(fit, kernel, X)

    def _check_new(self, X: Rows) -> Rows:
        return self._kernel_argument.check(X, reset=False)

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        return np.asarray(column_or_1d(check_targets(self, y, n), warn=True))


class SVR(SupportVectorRegressor):
    """Support vector regression: errors up to ε cost nothing, larger ones in proportion.

    f and b minimise ½‖f‖² + Σᵢ Cᵢ max(0, abs(yᵢ − f(xᵢ) − b) − ε).  By the representer theorem f = Σᵢ βᵢ k(xᵢ, ·),
    and β maximises the dual Σ yᵢβᵢ − ε‖β‖₁ − ½βᵀKβ with −Cᵢ ≤ βᵢ ≤ Cᵢ and Σβᵢ = 0.  Points inside the tube have βᵢ
    = 0.  This is ``KernelRegressor(loss="EpsilonInsensitive(ε)")`` with α = 1/(2C).  Parameters, defaults and
    attributes are scikit-learn's where it has them.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol
        As for :class:`~mercer.models.svm.SVC`.
    C : float, default=1.0
        The price C > 0 of a unit of error; Cᵢ is C times the weight of the point.
    epsilon : float, default=0.1
        ε, half of the width of the tube.
    shrinking, cache_size, verbose, max_iter, max_time, memory, assume_psd, device, scaling
        As for :class:`~mercer.models.svm.SVC`.

    Attributes
    ----------
    support_, support_vectors_
        Positions of the support vectors, and themselves (empty if the kernel is precomputed).
    n_support_ : array of int, shape (1,)
        Their number.
    dual_coef_ : array of shape (1, vectors)
        β.
    intercept_ : array of shape (1,)
        b.
    coef_ : array of shape (1, d)
        The weights of the features, if the kernel is linear.
    n_iter_ : int
        Steps, each of which moves two coefficients.
    alpha_ : array of shape (m, 2)
        The multipliers α and α* of all m training points, between 0 and Cᵢ; β = α − α*, and one of the two is 0.
    margin_set_ : array of int
        The positions of the training points with 0 < abs(βᵢ) < Cᵢ, which lie exactly on the edge of the tube.
    objective_ : Objective
        What was minimised: ``loss`` is Σ Cᵢ max(0, …), ``penalty`` is ½‖f‖².
    expansion_, coef_primal_, kernel_, plan_, duality_gap_, violation_, converged_, fit_status_
        As for :class:`~mercer.models.svm.SVC`.
    shape_fit_, n_features_in_, feature_names_in_
        The shape of the training data, and number and names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.svr import SVR
    >>> X = np.linspace(0.0, 6.0, 50).reshape(-1, 1)
    >>> model = SVR(C=10.0, epsilon=0.1).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.11), model.n_support_.item() < 10
    (True, True)
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
        scaling: Literal["sum", "mean"] = "sum",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device
        self.scaling = scaling

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        form = Priced(EpsilonInsensitive(self.epsilon), float(self.C))
        problems = MachineProblems(form, self._check_targets(y, len(weights)), weights)
        return problems.average() if self.scaling == "mean" else problems

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.svm import fit_svm

        self._keep(*fit_svm(self, cluster, X, y, sample_weight, features_of="targets"))


class NuSVR(SupportVectorRegressor):
    """Support vector regression with a bound ν on the share of errors, from which the width of the tube follows.

    f, b and ε minimise ½‖f‖² + Σᵢ Cᵢ (νε + max(0, abs(yᵢ − f(xᵢ) − b) − ε)).  At most a share ν of all weight is
    outside the tube, and at least that share is on support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        ν, above 0 and at most 1.
    C : float, default=1.0
        The price C > 0 of a unit of error; Cᵢ is C times the weight of the point.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, max_time, memory, assume_psd, device
        As for :class:`~mercer.models.svm.SVC`.

    Attributes
    ----------
    epsilon_ : float
        The ε found; :class:`SVR` with it has the same solution.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, alpha_, margin_set_
        As for :class:`SVR`.
    objective_ : Objective
        What was minimised: ``loss`` is Σ Cᵢ(νε + max(0, …)), ``penalty`` is ½‖f‖².
    expansion_, coef_primal_, kernel_, plan_, duality_gap_, violation_, converged_, fit_status_
        As for :class:`~mercer.models.svm.SVC`.
    shape_fit_, n_features_in_, feature_names_in_
        The shape of the training data, and number and names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.svr import NuSVR
    >>> X = np.linspace(0.0, 6.0, 50).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
    >>> model = NuSVR(nu=0.2, C=10.0).fit(X, y)
    >>> bool(np.mean(np.abs(y - model.predict(X)) > model.epsilon_ + model.tol) <= 0.2)
    True
    """

    epsilon_: float

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        form = SharedTube(float(self.C), float(self.nu))
        return MachineProblems(form, self._check_targets(y, len(weights)), weights)

    def _keep(self, fit: MachineFit, kernel: Kernel, X: Rows) -> None:
        assert fit.epsilon is not None
        self.epsilon_ = fit.epsilon
        super()._keep(fit, kernel, X)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.svm import fit_svm

        self._keep(*fit_svm(self, cluster, X, y, sample_weight))
