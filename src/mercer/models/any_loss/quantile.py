"""Several quantiles at once, whose curves never cross."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags

from mercer.arrays.namespace import namespace
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.regressor import FOLDS
from mercer.estimators.kernels import KernelLike
from mercer.estimators.loss_model import LossRegressor
from mercer.formula.data import Rows
from mercer.losses import Quantile
from mercer.losses.each import Each
from mercer.messages import warn_caller
from mercer.solvers.conformal.plan import IntervalPlan
from mercer.solvers.conformal.quantiles import measure_excess, quantiles_plus
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.plan import Plan


class KernelQuantileRegressor(LossRegressor):
    """Quantile regression: one function for each level τ, below which a share τ of all targets is.

    Each function minimises Σᵢ wᵢ max(τrᵢ, (τ − 1)rᵢ) + α‖f‖² with rᵢ = yᵢ − f(xᵢ) − b.  All levels share the kernel,
    its values and the penalty.  Curves of different levels never cross: at each point the predictions are sorted, which
    leaves them as they are where they are in order, and where they are not never makes the sum of their pinball losses
    larger (Chernozhukov, Fernández-Val and Galichon, 2010).

    Parameters
    ----------
    levels : float or sequence of floats, default=(0.05, 0.5, 0.95)
        The levels τ between 0 and 1, in growing order.
    alpha : float, default=0.1
        The penalty α > 0.
    kernel, fit_intercept, scaling, solver, n_centers, tol, max_iter, memory, random_state, assume_psd, device
        As for :class:`~mercer.models.any_loss.regressor.KernelRegressor`.

    Attributes
    ----------
    loss_ : Loss
        The pinball losses of all levels.
    expansion_ : Expansion
        The functions before they are sorted, one output for each level.
    kernel_, plan_, objective_, duality_gap_, restricted_gap_, converged_, multiplier_, n_iter_
        As for :class:`~mercer.models.any_loss.regressor.KernelRegressor`; objective and gap are those of all levels
        together.
    dual_coef_ : array of shape (m,) or (m, levels)
        The coefficients of f at its centres.
    intercept_ : float or array of shape (levels,)
        b.
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.any_loss.quantile import KernelQuantileRegressor
    >>> X = np.linspace(0.0, 6.0, 200).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.3 * np.cos(91.0 * X[:, 0])
    >>> model = KernelQuantileRegressor([0.1, 0.9]).fit(X, y)
    >>> low, high = model.predict(X).T
    >>> bool(0.75 < np.mean((low <= y) & (y <= high)) < 0.85)
    True
    """

    plan_: Plan
    loss = None

    def __init__(
        self,
        levels: Any = (0.05, 0.5, 0.95),
        alpha: float = 0.1,
        *,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        scaling: Literal["sum", "mean"] = "sum",
        solver: str = "auto",
        n_centers: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.levels = levels
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the quantiles of all levels, sorted at each point.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m, levels), or (m,) for one level that was given as a number
        """
        values = self._evaluate(X)
        return values if values.ndim == 1 else namespace(values).sort(values, axis=1)

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The methods that :meth:`predict_interval` has for this model: the conformalised band of two quantiles."""
        return ("quantile",)

    @in_the_kind_given
    def score(self, X: Rows, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean pinball loss over all points and levels: the larger the better, and at most 0.

        Parameters
        ----------
        X : collection of m objects
            The points.
        y : array of shape (m,)
            Their targets.
        sample_weight : array of shape (m,), optional
            Weights.
        """
        predicted = np.asarray(self.predict(X)).reshape(len(y), -1)
        losses = self.loss_.value(np.broadcast_to(np.asarray(y, dtype=float)[:, None], predicted.shape), predicted)
        return -float(np.average(np.asarray(losses).mean(axis=1), weights=sample_weight))

    def _rank_methods(self) -> list[tuple[str, str]]:
        return [("quantile", "the model is one of quantiles, whose band follows the noise")]

    def _make_interval(self, method: str, X: Rows, coverage: float) -> tuple[np.ndarray, IntervalPlan]:
        """Return the band between the quantiles that leave out as much on either side, widened as in CV+."""
        levels = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]
        band = clone(self).set_params(levels=levels)
        folds = self._find_folds(f"{method} {coverage!r}", band, lambda y, f: measure_excess(f, y[:, 0])[:, None])
        ends = quantiles_plus(folds.predict(self._check_new(X)), folds.fold_of, folds.errors[:, 0], coverage)
        return ends, self._describe(method, coverage, len(folds.fold_of), len(folds.models))

    def _count_folds(self, key: str, n: int) -> int:
        return min(n, FOLDS)  # these fits take long, and bands that follow the noise differ less

    def _read_loss(self) -> Each:
        """Return the losses of all levels."""
        levels = [self.levels] if np.ndim(self.levels) == 0 else list(self.levels)
        losses = Each(tuple(Quantile(level) for level in levels))
        if not levels or any(low >= high for low, high in pairwise(levels)):
            raise ValueError(
                f"{type(self).__name__}: levels must grow from one to the next, as in [0.05, 0.5, 0.95]; got "
                f"{self.levels!r}"
            )
        return losses

    def _count_outputs(self, targets: int) -> int:
        return int(np.size(self.levels))

    def _is_flat(self, fit: LossFit, data: Any) -> bool:
        return np.ndim(self.levels) == 0

    def _check_shape(self, targets: int, flat: bool) -> None:
        """Raise if there are several targets, and warn of one in a table of its own, as scikit-learn does."""
        if targets != 1:
            raise ValueError(
                f"{type(self).__name__}: y must have one target for each point, got {targets}; fit one model for each, "
                "or sklearn.multioutput.MultiOutputRegressor"
            )
        if not flat:
            warn_caller(
                f"A column-vector y was passed when a 1d array was expected; {type(self).__name__} takes y.ravel()",
                DataConversionWarning,
            )

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.any_loss import fit_targets

        fit_targets(self, cluster, X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scores are losses, and not shares of a variance
        return tags
