"""What classifiers of any loss share: values of all classes, and probabilities where the loss says such."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.data import Rows
from mercer.losses import Loss
from mercer.losses.text import as_loss
from mercer.solvers.newton.sums import WeightedLoss, weigh_loss
from mercer.solvers.representer.norm import PenalizedFit

from .classifier import Labelled, ValueClassifier
from .engine import where_the_data_lives
from .loss_model import LossModel


def has_probabilities(model: Any) -> bool:
    """Whether the best output of the loss says how likely a class is; raise a reason if not."""
    loss = as_loss(model.loss)
    if not hasattr(loss, "predict_proba"):
        raise AttributeError(
            f"{type(model).__name__}: {loss!r} says which class is more likely, and not how likely it is; use "
            "loss='Logistic', 'Softmax', 'SquaredHinge' or 'Exponential'"
        )
    return True


def count_outputs(loss: Loss, classes: int) -> int:
    """Return how many functions there are: one for two classes, unless they are judged together; else one each."""
    return classes if loss.joint or classes > 2 else 1


class LossClassifier(ValueClassifier, LossModel):
    """A model of classes."""

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return f(x) + b of the second of two classes, or of each of more; of two that are judged together, both less.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        values = self._evaluate(X)
        together = len(self.classes_) == 2 and self.loss_.joint
        return values[:, 1] - values[:, 0] if together else values

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of all classes, in the order of ``classes_``, where the loss says such.

        Each of several functions says how likely its class is against all others; these numbers are divided by their
        sum.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        values = self._evaluate(X)
        outputs = values.reshape(len(values), -1)
        return predict_classes(self.loss_, outputs)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        values = self._evaluate(X)
        outputs = values.reshape(len(values), -1)
        if self.loss_.joint or outputs.shape[1] == 1:
            return self.loss_.predict_log_proba(outputs)  # type: ignore[attr-defined]
        p = predict_classes(self.loss_, outputs)
        with np.errstate(divide="ignore"):
            return namespace(p).log(p)

    def _weigh(self, data: Labelled, loss: Loss) -> WeightedLoss:
        return weigh_loss(loss, data.codes, data.weights, count_outputs(loss, len(data.classes)))

    def _keep(
        self, fit: PenalizedFit, loss: Loss, classes: np.ndarray, X: Rows, kept: np.ndarray | None = None
    ) -> None:
        self.loss_, self.classes_, self.multiplier_ = loss, classes, fit.multiplier
        self._keep_function(fit, X, kept, flat=count_outputs(loss, len(classes)) == 1)


def predict_classes(loss: Any, outputs: Array) -> Array:
    """Return the probabilities of all classes, of shape (n, classes), from all outputs."""
    if loss.joint or outputs.shape[1] == 1:
        return loss.predict_proba(outputs)
    xp = namespace(outputs)
    p = xp.stack([loss.predict_proba(outputs[:, q : q + 1])[:, 1] for q in range(outputs.shape[1])], axis=1)
    total = xp.sum(p, axis=1)[:, None]
    return xp.where(total > 0, p / xp.where(total > 0, total, 1.0), 1.0 / p.shape[1])
