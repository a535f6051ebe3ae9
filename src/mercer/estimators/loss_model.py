"""What models of any loss share: loss and penalty as parameters, targets checked, and the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags

from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Gaussian, Kernel
from mercer.losses import Loss
from mercer.losses.penalty import as_penalty
from mercer.losses.text import as_loss
from mercer.solvers.base import Problem
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.representer.norm import PenalizedFit, fit_penalized

from .kernel_argument import KernelArgument, kernel_argument
from .kernels import default_gaussian
from .penalized import PenalizedModel
from .primal import PrimalForm
from .targets import check_targets, check_weights


@dataclass(frozen=True)
class Measured:
    """Points with targets that have a weight, ready to be fitted."""

    X: Rows  # all data as given, checked
    points: Rows  # those with a weight, as the kernel takes them
    kept: np.ndarray  # which of the data they are
    targets: np.ndarray  # of shape (n, targets)
    weights: np.ndarray  # positive
    flat: bool  # whether targets were given in one dimension

    def part(self, positions: np.ndarray) -> Measured:
        """Return some of the points."""
        return replace(
            self, points=pick(self.points, positions), kept=self.kept[positions], targets=self.targets[positions],
            weights=self.weights[positions],
        )  # fmt: skip


class LossModel(PenalizedModel):
    """A model whose loss and penalty are parameters."""

    loss: Any
    penalty: Any
    assume_psd: bool

    loss_: Loss
    multiplier_: float

    def _read_loss(self, task: str) -> Loss:
        """Return the loss, if it is one for what the model is to do."""
        loss, name = as_loss(self.loss), type(self).__name__
        if loss.task != task:
            names = ("Regressor", "Classifier") if task == "regression" else ("Classifier", "Regressor")
            other = name.replace(*names)
            kinds = {"regression": "numbers", "classification": "classes"}
            raise ValueError(
                f"{name}: {loss!r} is a loss of {kinds[loss.task]}, and this model is one of {kinds[task]}; use "
                f"{other}, or another loss such as {'Huber()' if task == 'regression' else 'Logistic()'}"
            )
        return loss

    def _pose(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> Problem:
        """Return the problem of points, with a column for each function."""
        place, columns = self._kernel_argument().place(data.X), np.zeros((len(data.weights), loss.outputs))
        return Problem(kernel, data.points, columns, data.weights, bool(self.fit_intercept), place.memory, place.device)

    def _weigh(self, data: Any, loss: Loss) -> WeightedLoss:
        """Return a loss of points."""
        raise NotImplementedError

    def _pose_problem(self, kernel: Kernel, data: Any) -> tuple[Problem, WeightedLoss]:
        """Return the problem of points and its loss."""
        loss = self._weigh(data, as_loss(self.loss))
        return self._pose(kernel, data, loss), loss

    def _solve(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> PenalizedFit:
        """Return the fit of points."""
        alpha = self._scale_penalty(float(data.weights.sum()))
        return fit_penalized(self._pose(kernel, data, loss), loss, alpha, as_penalty(self.penalty), **self._options())

    def _argument(self) -> Any:
        return Gaussian() if self.kernel is None else self.kernel

    def _kernel_argument(self) -> KernelArgument:
        return kernel_argument(self, self._argument())

    def _resolve_kernel(self, argument: Any, data: Any) -> Kernel:
        """Return the kernel that an argument stands for, checked."""
        if argument is None:
            return default_gaussian(data.points, data.weights, self._kernel_argument().place(data.X).device)
        return kernel_argument(self, argument).resolve(data.X, assume_psd=self.assume_psd)


class LossRegressor(LossModel, PrimalForm, KernelParams, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of numbers."""

    def _check_measured(self, X: Rows, y: Any, sample_weight: Any) -> Measured:
        """Check what a fit is given, and leave out points of weight 0."""
        argument = self._kernel_argument()
        X = argument.check(X, reset=True)
        n = length(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        kept, points = np.flatnonzero(weights), argument.points(X)
        points = points if len(kept) == n else pick(points, kept)
        return Measured(X, points, kept, targets.reshape(n, -1)[kept], weights[kept], targets.ndim == 1)

    def _weigh(self, data: Measured, loss: Loss) -> WeightedLoss:
        loss.check_targets(data.targets, type(self).__name__)
        return WeightedLoss(loss, data.targets, data.weights, data.targets.shape[1])

    def _solve(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> PenalizedFit:
        """Return the fit; targets of residuals are measured from their mean, or an offset would cost digits."""
        if not (self.fit_intercept and loss.loss.of_residual):
            return super()._solve(kernel, data, loss)
        center = np.average(loss.targets, axis=0, weights=loss.weights)
        fit = super()._solve(kernel, data, replace(loss, targets=loss.targets - center))
        return replace(fit, intercept=fit.intercept + center)

    def _keep(self, fit: PenalizedFit, loss: Loss, X: Rows, kept: np.ndarray | None, flat: bool) -> None:
        """Set what a fit sets; ``kept`` as in ``_keep_function``."""
        self.loss_, self.multiplier_ = loss, fit.multiplier
        self._keep_function(fit, X, kept, flat)

    def __sklearn_tags__(self) -> Tags:
        return kernel_argument(self).describe(super().__sklearn_tags__())
