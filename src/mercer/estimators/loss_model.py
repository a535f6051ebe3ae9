"""What models of any loss share: loss and penalty as parameters, targets checked, and the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.losses.text import as_loss
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.newton.sums import WeightedLoss, weigh_loss
from mercer.solvers.representer.norm import PenalizedFit

from .intervals.regressor import IntervalRegressor
from .intervals.rows import TrainingRows
from .penalized import PenalizedModel
from .primal import PrimalForm
from .probability import ProbabilityClassifier
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
    codes: ClassVar[None] = None  # there are no classes

    def part(self, positions: np.ndarray) -> Measured:
        """Return some of the points."""
        return replace(
            self, points=pick(self.points, positions), kept=self.kept[positions], targets=self.targets[positions],
            weights=self.weights[positions],
        )  # fmt: skip


class LossModel(PenalizedModel):
    """A model whose loss and penalty are parameters."""

    loss: Any
    _task: ClassVar[str]  # what losses it takes are for

    loss_: Loss
    multiplier_: float

    def _read_loss(self) -> Loss:
        """Return the loss, if it is one for what the model is to do."""
        loss, name, task = as_loss(self.loss), type(self).__name__, self._task
        if loss.task != task:
            names = ("Regressor", "Classifier") if task == "regression" else ("Classifier", "Regressor")
            other = name.replace(*names)
            kinds = {"regression": "numbers", "classification": "classes"}
            raise ValueError(
                f"{name}: {loss!r} is a loss of {kinds[loss.task]}, and this model is one of {kinds[task]}; use "
                f"{other}, or another loss such as {'Huber()' if task == 'regression' else 'Logistic()'}"
            )
        return loss

    def _options(self) -> dict[str, Any]:
        """Return how to solve, checked as the loss is, before any data is looked at."""
        self._read_loss()
        return super()._options()

    def _keep(self, fit: Any, loss: Loss, data: Any) -> None:
        self.loss_, self.multiplier_ = loss, fit.multiplier
        super()._keep(fit, loss, data)


class LossClassifier(ProbabilityClassifier, LossModel):
    """A model of classes."""

    _task = "classification"

    def _choose_loss(self, classes: int) -> Loss:
        return self._read_loss()

    def _fitted_loss(self) -> Loss:
        return self.loss_

    def _find_multiplier(self, total: float) -> float:
        return self.multiplier_


class LossRegressor(IntervalRegressor, LossModel, PrimalForm, KernelParams, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of numbers."""

    _task = "regression"
    _rows: Annotated[TrainingRows, SOMETIMES]  # beside X_fit_, which is the same object

    def _keep(self, fit: Any, loss: Loss, data: Any) -> None:
        super()._keep(fit, loss, data)
        self._forget()
        if isinstance(data, Measured):  # all rows were here
            n = length(data.X)
            targets, weights = np.zeros((n, data.targets.shape[1])), np.zeros(n)
            targets[data.kept], weights[data.kept] = data.targets, data.weights
            same = len(data.kept) == n and bool((data.weights == 1.0).all())
            self._rows = TrainingRows(data.X, targets[:, 0] if data.flat else targets, None if same else weights)

    def _check_data(self, X: Rows, y: Any, sample_weight: Any) -> Measured:
        argument = self._kernel_argument()
        X = argument.check(X, reset=True)
        n = length(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        self._check_shape(targets.size // n, targets.ndim == 1)
        weights = np.ones(n) if weights is None else weights
        kept, points = np.flatnonzero(weights), argument.points(X)
        points = points if len(kept) == n else pick(points, kept)
        return Measured(X, points, kept, targets.reshape(n, -1)[kept], weights[kept], targets.ndim == 1)

    def _weigh(self, data: Measured) -> WeightedLoss:
        outputs = self._count_outputs(data.targets.shape[1])
        weighted = weigh_loss(self._read_loss(), data.targets, data.weights, outputs)
        weighted.loss.check_targets(weighted.targets, type(self).__name__)
        return weighted

    def _check_shape(self, targets: int, flat: bool) -> None:
        """Raise if there cannot be so many targets, given in one dimension or not."""

    def _count_outputs(self, targets: int) -> int:
        """Return how many functions there are of so many targets."""
        return targets

    def _is_flat(self, fit: LossFit, data: Any) -> bool:
        return bool(data.flat)

    def _solve(self, kernel: Kernel, data: Any, loss: WeightedLoss) -> PenalizedFit:
        """Return the fit; targets of residuals are measured from their mean, or an offset would cost digits."""
        if not (self.fit_intercept and loss.loss.of_residual):
            return super()._solve(kernel, data, loss)
        center = np.average(loss.targets, axis=0, weights=loss.weights)
        fit = super()._solve(kernel, data, replace(loss, targets=loss.targets - center))
        return replace(fit, intercept=fit.intercept + center)
