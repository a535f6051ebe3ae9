"""What models share that minimise a penalised loss: how they are asked, and what is kept of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.losses.penalty import as_penalty
from mercer.solvers.base import Problem
from mercer.solvers.evidence import DualityGap, Objective
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.plan import Plan
from mercer.solvers.representer.norm import PenalizedFit, fit_penalized

from .engine import where_the_data_lives
from .kernel_argument import DefaultGaussian
from .progress import report_progress, with_callbacks
from .targets import check_positive, check_whole
from .transaction import all_or_nothing

OnStep = Callable[[int, float], bool]  # is told of a step and its error, and says whether to stop


def go_on(step: int, error: float) -> bool:
    """Say that a fit is not to stop."""
    return False


class PenalizedModel(DefaultGaussian, CallbackSupportMixin):  # type: ignore[misc]
    """A model whose functions minimise Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖².

    Subclasses check what a fit is given, and say what the loss of that is.
    """

    alpha: float
    scaling: str
    fit_intercept: bool
    memory: float | str | None
    penalty: Any = "squared"

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

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points and what is known of them; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,) or (n, targets)
            Their labels, numbers or texts, of at least two classes; for a regression their targets.  Several targets
            are fitted with the same kernel and penalty, one function each.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with report_progress(self, X, y) as on_step, all_or_nothing(self):
            self._fit(X, y, sample_weight, on_step)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep = go_on) -> None:
        """Fit with the penalty and the kernel that were given."""
        self._options()  # which checks them
        data = self._check_data(X, y, sample_weight)
        kernel = self._resolve_kernel(self.kernel, data)
        loss = self._weigh(data)
        self._keep(self._solve(kernel, data, loss), loss.loss, data)

    def _check_data(self, X: Rows, y: Any, sample_weight: Any) -> Any:
        """Check what a fit is given, and leave out points of weight 0."""
        raise NotImplementedError

    def _weigh(self, data: Any) -> WeightedLoss:
        """Return the loss of points."""
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
            "solver": self.solver,
            "n_centers": check_whole(self, "n_centers", self.n_centers, none=True),
            "tol": None if tol is None else check_positive(self, "tol", tol),
            "max_iter": check_whole(self, "max_iter", steps, none=True),
            "random_state": self.random_state,
            "name": type(self).__name__,
        }

    def _pose(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> Problem:
        """Return the problem of points, with a column for each function."""
        place, columns = self._kernel_argument().place(data.X), np.zeros((len(data.weights), loss.outputs))
        return Problem(kernel, data.points, columns, data.weights, bool(self.fit_intercept), place.memory, place.device)

    def _pose_problem(self, kernel: Kernel, data: Any) -> tuple[Problem, WeightedLoss]:
        """Return the problem of points and its loss."""
        loss = self._weigh(data)
        return self._pose(kernel, data, loss), loss

    def _solve(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> PenalizedFit:
        """Return the fit of points."""
        alpha = self._scale_penalty(float(data.weights.sum()))
        return fit_penalized(self._pose(kernel, data, loss), loss, alpha, as_penalty(self.penalty), **self._options())

    def _evaluate(self, X: Rows) -> Array:
        """Return f(x) + b for all points."""
        check_is_fitted(self)
        argument = self._kernel_argument()
        return self.expansion_(argument.new_points(X), memory=self.memory, device=argument.place(X).device)

    def _is_flat(self, fit: LossFit, data: Any) -> bool:
        """Whether coefficients have one dimension, and the intercept is a number: only if there is one function."""
        return fit.coef.shape[1] == 1

    def _keep(self, fit: LossFit, loss: Loss, data: Any) -> None:
        """Set what a fit to data sets; ``data.kept`` says which of ``data.X`` its points were, None that X are centres.

        Coefficients are those of centres, but with all points or a matrix as kernel those of all training points.
        """
        X, kept, flat = data.X, data.kept, self._is_flat(fit, data)
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
