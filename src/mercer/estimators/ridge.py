"""What the estimators of ridge share: which part of a fit they keep, and how they evaluate it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.solvers.evidence import Objective
from mercer.solvers.plan import Plan
from mercer.solvers.ridge.fit import RidgeFit

from .engine import in_the_kind_given
from .intervals.ridge import SearchedIntervals
from .kernel_argument import KernelArgument, kernel_argument
from .primal import PrimalForm


class RidgeEstimator(PrimalForm, KernelParams, CallbackSupportMixin):  # type: ignore[misc]
    """An estimator whose function is a ridge fit."""

    kernel: Any
    memory: float | str | None
    device: Any

    kernel_: Kernel
    plan_: Plan
    dual_coef_: np.ndarray
    intercept_: float | np.ndarray
    expansion_: Expansion
    objective_: Objective
    residual_: float
    n_iter_: int
    converged_: bool

    def _kernel_argument(self) -> KernelArgument:
        return kernel_argument(self)

    def _keep_function(self, record: RidgeFit, n: int) -> None:
        """Set the attributes that a fit to n points has, wherever it was made."""
        function = record.expansion
        self.expansion_, self.kernel_, self.plan_ = function, function.kernel, record.plan
        self.dual_coef_ = self._kernel_argument().spread(function.coef, record.positions, n)
        self.intercept_ = function.intercept[()]
        self.objective_ = record.objective
        self.residual_, self.n_iter_, self.converged_ = record.residual, record.n_iter, record.converged

    def _evaluate(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points."""
        check_is_fitted(self)
        argument = self._kernel_argument()
        points = argument.new_points(X)
        return self.expansion_(points, memory=self.memory, device=argument.place(points).device)

    def __sklearn_tags__(self) -> Tags:
        return self._kernel_argument().describe(super().__sklearn_tags__())


class SearchedRidge(SearchedIntervals, RidgeEstimator):
    """An estimator that looks for a kernel and a penalty, and keeps the model that was fitted with them."""

    ridge_: Any
    _loo: Annotated[np.ndarray, SOMETIMES]

    @property
    @in_the_kind_given
    def loo_predictions_(self) -> np.ndarray:
        """What the model would predict at each training point had it been fitted without it, exactly.

        Computed when first asked for; beyond 5,000 points that takes longer than the fit.
        """
        check_is_fitted(self)
        if "_loo" not in vars(self):
            self._loo = self.ridge_.leave_one_out()
        return self._loo

    @property
    @in_the_kind_given
    def loo_score_(self) -> float:
        """R² of the leave-one-out predictions, weighted, the mean over targets."""
        check_is_fitted(self)
        record = self.ridge_._record
        if record.loo_score is not None:  # the rows stayed on a cluster, which summed their errors up
            return record.loo_score
        assert record.problem is not None
        assert record.targets is not None
        some = slice(None) if record.kept is None else record.kept
        truth, left_out, weights = record.targets[some], self.loo_predictions_[some], record.problem.weights
        size = float(np.abs(truth).max()) or 1.0  # squares of 1e-300 or 1e300 are no numbers
        return float(r2_score(truth / size, left_out / size, sample_weight=weights))
