"""What the estimators of ridge share: which part of a fit they keep, and how they evaluate it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.solvers.evidence import Objective
from mercer.solvers.plan import Plan
from mercer.solvers.ridge.fit import RidgeFit

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
