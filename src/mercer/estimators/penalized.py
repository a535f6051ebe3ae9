"""What models share that minimise a penalised loss: how they are asked, and what is kept of a fit."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.solvers.evidence import DualityGap, Objective
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.plan import Plan

from .kernel_argument import KernelArgument
from .targets import check_positive, check_whole


class PenalizedModel:
    """A model whose functions minimise Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖²."""

    alpha: float
    scaling: str
    fit_intercept: bool
    kernel: Any
    memory: float | str | None

    kernel_: Kernel
    X_fit_: Rows
    dual_coef_: np.ndarray
    intercept_: float | np.ndarray
    expansion_: Expansion
    objective_: Objective
    duality_gap_: DualityGap
    restricted_gap_: float
    converged_: bool
    n_iter_: int
    plan_: Annotated[Plan, SOMETIMES]

    def _kernel_argument(self) -> KernelArgument:
        raise NotImplementedError

    def _scale_penalty(self, total: float) -> float:
        """Return α of the sum form, for points of this weight in all."""
        alpha = check_positive(self, "alpha", self.alpha)
        if self.scaling not in ("sum", "mean"):
            raise ValueError(f"{type(self).__name__}: scaling must be 'sum' or 'mean', got {self.scaling!r}")
        return alpha * (total if self.scaling == "mean" else 1.0)

    def _options(self) -> dict[str, Any]:
        """Return how to solve, checked."""
        tol, steps = getattr(self, "tol", None), getattr(self, "max_iter", None)
        return {
            "solver": self.solver,  # type: ignore[attr-defined]
            "n_centers": check_whole(self, "n_centers", self.n_centers, none=True),  # type: ignore[attr-defined]
            "tol": None if tol is None else check_positive(self, "tol", tol),
            "max_iter": check_whole(self, "max_iter", steps, none=True),
            "random_state": self.random_state,  # type: ignore[attr-defined]
            "name": type(self).__name__,
        }

    def _evaluate(self, X: Rows) -> Array:
        """Return f(x) + b for all points."""
        check_is_fitted(self)
        argument = self._kernel_argument()
        return self.expansion_(argument.new_points(X), memory=self.memory, device=argument.place(X).device)

    def _keep_function(self, fit: LossFit, X: Rows, kept: np.ndarray | None, flat: bool) -> None:
        """Set what a fit sets; ``kept`` says which of the data X the points of the fit were, None that X are centres.

        Coefficients are those of centres, but with all points or a matrix as kernel those of all training points.  One
        function is ``flat``: its coefficients have one dimension, and its intercept is a number.
        """
        argument, positions = self._kernel_argument(), None
        if kept is not None and (fit.positions is None or argument.is_matrix):
            positions = kept if fit.positions is None else kept[fit.positions]
        column = (slice(None), 0) if flat else (slice(None),)
        self.kernel_, self.X_fit_ = fit.kernel, X
        self.intercept_ = float(fit.intercept[0]) if flat else fit.intercept
        self.dual_coef_ = argument.spread(fit.coef, positions, length(X))[column]
        self.expansion_ = Expansion(fit.kernel, fit.centers, fit.coef[column], self.intercept_)
        self.objective_, self.duality_gap_ = fit.objective, fit.gap
        self.restricted_gap_, self.converged_ = fit.restricted_gap.absolute, fit.converged
        self.n_iter_ = fit.n_iter
        if fit.plan is not None:
            self.plan_ = fit.plan
